//! `cargo xtask test`: installs the official clients that the tests drive, runs all test programs side by
//! side, and reports totals, seconds per program and the slowest tests.
//!
//! Random tests take fixed seeds, so that a run can be repeated. `--long` gives them random seeds and more
//! cases, and also runs libraries on top of the SDKs. It does not know what any test checks.

mod clients;
pub(crate) mod compiler;
mod outcome;
mod programs;
mod schedule;

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::budgets::{Budgets, Verdict};
use crate::clock::Stopwatch;
use crate::tidy::workspace_root;
use outcome::Totals;
use programs::{Extent, Job};
use schedule::{Ended, LastTimes};

/// `cargo xtask pages`: what the tests of the studio compare.
pub(crate) fn pages(root: &Path) -> Result<String, String> {
    clients::pages(root)
}

/// Installs one language's clients into the first folder, from the lists in the second.
type Install = fn(&Path, &Path) -> Result<(), String>;

/// Languages whose clients may be missing, and what the names of tests that need them contain.
const OPTIONAL_CLIENTS: &[(&str, Install, &str)] = &[
    ("Go", clients::go, "the_go_sdk"),
    ("Java", clients::java, "the_java_sdk"),
    ("JavaScript", clients::javascript, "the_javascript_sdk"),
    ("Chromium", clients::studio, "in_chromium"),
    ("moto", clients::moto, "moto::"),
    ("rclone", clients::rclone, "stores::rclone::"),
    ("kinesalite", clients::kinesalite, "kinesis::kinesalite::"),
    ("DuckDB", clients::duckdb, "readers::duckdb::"),
    ("Rust function", clients::rust_function, "functions_in_rust"),
    ("Java encryption", clients::java_encryption, "java_encryption"),
    ("Python encryption", clients::python_encryption, "python_encryption"),
];
/// Libraries on top of the SDKs, a large store, another server and a client that encrypts, which take minutes
/// to install. They are installed and run with `--long`, or if a test program's argument names them.
const LONG_CLIENTS: &[(&str, Install, &str)] = &[
    ("ecosystem", clients::ecosystem, "ecosystem::"),
    ("SeaweedFS", clients::seaweedfs, "stores::seaweedfs::"),
    ("dynoxide", clients::dynoxide, "foreign::dynoxide::"),
    ("Rust encryption", clients::rust_encryption, "rust_encryption"),
];
/// The public conformance suite: a checkout of it, which is never part of this repository. Its tests are what
/// the names of ours that need it contain.
const CONFORMANCE: (&str, &str) = ("KEYWRIGHT_CONFORMANCE_SUITE", "conformance::");
/// How many lines of what a failed test said are repeated at the end.
const FAILURE_LINES: usize = 30;
/// How many of the slowest tests are printed.
const SLOWEST: usize = 20;
/// The seed of random tests without `--long`; `.cargo/config.toml` sets the same for a plain `cargo test`.
const FIXED_SEED: u64 = 1;

/// A program that has not ended by then hangs: it is eight times the greatest budget. With `--long`, this
/// many times as long.
const PROGRAM_WITHIN: Duration = Duration::from_secs(20 * 60);

/// Set for `--long`: tests whose count has no variable of its own multiply it by this.
const LONG: (&str, &str) = ("KEYWRIGHT_TEST_LONG", "20");
/// The same as a number.
const LONG_FACTOR: u32 = 20;
/// Counts with `--long` of tests that read their count from a variable of their own: 20 times their default,
/// ten times for strongly consistent tables, twice for the rivals of each model, and ten gigabytes to
/// restore.
const LONG_COUNTS: &[(&str, &str)] = &[
    ("PROPTEST_CASES", "5120"),
    ("KEYWRIGHT_CASES", "800"),
    ("KEYWRIGHT_COPY_ITEMS", "1000000"),
    ("KEYWRIGHT_DAMAGED_FOLDERS", "240"),
    ("KEYWRIGHT_DAMAGES", "1200"),
    ("KEYWRIGHT_FAILOVERS", "20"),
    ("KEYWRIGHT_HISTORIES", "3000"),
    ("KEYWRIGHT_STRONG_HISTORIES", "10000"),
    ("KEYWRIGHT_KILLS", "160"),
    ("KEYWRIGHT_POWER_LOSSES", "480"),
    ("KEYWRIGHT_RESTORE_MIB", "10240"),
    ("KEYWRIGHT_RIVALS", "60"),
    ("KEYWRIGHT_SEQUENCES", "1200"),
];

/// What `cargo xtask test` was asked for.
struct Request {
    is_long: bool,
    /// Arguments for cargo.
    cargo: Vec<String>,
    /// Arguments for every test program.
    program: Vec<String>,
}

impl Request {
    fn parse(arguments: &[String]) -> Self {
        let mut parts = arguments.splitn(2, |argument| argument == "--");
        let mut cargo = parts.next().unwrap_or_default().to_vec();
        let program = parts.next().unwrap_or_default().to_vec();
        let is_long = cargo.iter().any(|argument| argument == "--long");
        cargo.retain(|argument| argument != "--long");
        Self { is_long, cargo, program }
    }

    /// Whether clients are asked for that take minutes to install: those of tests whose names contain this.
    fn wants(&self, tests: &str) -> bool {
        let module = tests.trim_end_matches("::");
        self.is_long || self.program.iter().any(|argument| argument.starts_with(module))
    }

    /// Whether the public conformance suite is asked for: it takes minutes.
    fn wants_conformance(&self) -> bool {
        self.is_long || self.program.iter().any(|argument| argument.starts_with("conformance"))
    }

    /// Chosen packages come without the feature, and chosen tests would be joined to those that run again.
    fn repeats_over_postgresql(&self) -> bool {
        !programs::chooses_packages(&self.cargo) && (self.is_long || self.program.is_empty())
    }
}

/// Where everything is, and how every program is started.
struct Setting {
    root: PathBuf,
    clients: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Setting {
    fn command(&self, job: &Job) -> Command {
        let mut command = Command::new(&job.program);
        command.args(&job.chosen);
        // Seconds of single tests are an unstable option of the test harness, which this variable unlocks.
        command.args(["-Z", "unstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
        command.env("CARGO_MANIFEST_DIR", &job.folder);
        // What failed is said at the end, in few lines: a trace would hide it.
        command.env("RUST_BACKTRACE", "0");
        command.current_dir(&job.folder).args(&self.arguments).env("KEYWRIGHT_CLIENTS", &self.clients);
        // Commands that are clients read the settings of the AWS CLI; a test must not find those of its user.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
            command.env_remove(name);
        }
        let none = self.clients.join("no-aws-settings");
        command.env("AWS_CONFIG_FILE", &none).env("AWS_SHARED_CREDENTIALS_FILE", &none);
        command.envs(self.environment.iter().chain(&job.environment).map(|(name, value)| (name, value)));
        command
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<String, String> {
    let all = Stopwatch::start();
    let request = Request::parse(arguments);
    let root = workspace_root()?;
    let budgets = Budgets::read(&root)?;
    let (mut jobs, setting) = std::thread::scope(|scope| {
        // Installing mostly waits for the network, building for the processor.
        let setting = scope.spawn(|| {
            let setting = prepare(root.clone(), &request);
            (setting, all.elapsed().as_secs())
        });
        let jobs = programs::build(&root, &request.cargo, request.program.is_empty());
        let built = all.elapsed().as_secs();
        let (setting, installed) = setting.join().map_err(|_| "the installation of clients panicked")?;
        let jobs = jobs?;
        say(&format!("built in {built} s, clients ready after {installed} s; {} programs", jobs.len()));
        Ok::<_, String>((jobs, setting?))
    })?;
    if request.repeats_over_postgresql() {
        let extent = if request.is_long { Extent::All } else { Extent::Short };
        jobs = programs::with_repetitions(jobs, extent);
    }
    let times = setting.root.join("target/test-times.txt");
    let before = LastTimes::read(&times, &budgets);
    let mut last = before.clone();
    let mut ended = Vec::new();
    let within = PROGRAM_WITHIN * if request.is_long { LONG_FACTOR } else { 1 };
    schedule::run_all(jobs, &before, within, &|job| setting.command(job), |one| {
        show(&one);
        last.take(&one);
        ended.push(one);
    });
    // Some tests of a program do not show how long all of them take.
    if request.program.is_empty() {
        last.write(&times)?;
    }
    let verdict = if request.is_long {
        Verdict::default()
    } else {
        budgets.judge(ended.iter().map(|one| (one.name.as_str(), one.ms)))
    };
    summary(&ended, all, &verdict)
}

/// Installs the clients and says with what the programs are started.
fn prepare(root: PathBuf, request: &Request) -> Result<Setting, String> {
    let clients = root.join("target/clients");
    std::fs::create_dir_all(&clients)
        .map_err(|error| format!("cannot create {}: {error}", clients.display()))?;
    let scripts = root.join("crates/server/tests/clients");
    let installed = |name: &str, outcome: Result<(), String>| {
        let fault = outcome.as_ref().err();
        fault.inspect(|fault| say(&format!("tests that need the {name} clients are skipped: {fault}")));
        outcome.is_ok()
    };
    let with_python = installed("Python", clients::python(&clients, &scripts));
    let mut arguments = request.program.clone();
    // Those tests are ignored unless they are asked for, so that a run without clients does not call them
    // passed.
    if with_python {
        arguments.push("--include-ignored".to_owned());
        let (wanted, left_out): (Vec<_>, Vec<_>) =
            LONG_CLIENTS.iter().partition(|(_, _, tests)| request.wants(tests));
        let missing = OPTIONAL_CLIENTS
            .iter()
            .chain(wanted)
            .filter(|(name, install, _)| !installed(name, install(&clients, &scripts)));
        for (_, _, tests) in missing.chain(left_out) {
            arguments.extend(["--skip".to_owned(), (*tests).to_owned()]);
        }
    }
    if !request.wants_conformance() || !with_python || !has_suite(std::env::var_os(CONFORMANCE.0).as_deref())
    {
        arguments.extend(["--skip".to_owned(), CONFORMANCE.1.to_owned()]);
    }
    let random = RandomState::new().hash_one("seed");
    let environment = environment(request.is_long, random, |name| std::env::var(name).ok());
    if request.is_long {
        let shown: Vec<String> = environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        say(&format!("long run: {}", shown.join(" ")));
    }
    Ok(Setting { root, clients, arguments, environment })
}

/// Installs what the public conformance suite needs, and says loudly why it is left out.
fn has_suite(folder: Option<&OsStr>) -> bool {
    let outcome = match folder {
        None => Err(format!("{} is not set: set it to a checkout of dynamodb-conformance", CONFORMANCE.0)),
        Some(folder) => clients::conformance(Path::new(folder)),
    };
    if let Err(fault) = &outcome {
        say(&format!("LEFT OUT: the public conformance suite with limits of throughput: {fault}"));
    }
    outcome.is_ok()
}

/// The seeds and counts of random tests. What the caller's environment says comes first.
fn environment(
    is_long: bool,
    random: u64,
    callers: impl Fn(&str) -> Option<String>,
) -> Vec<(&'static str, String)> {
    let seed = if is_long { random % 1_000_000_000 } else { FIXED_SEED };
    let mut variables = vec![("PROPTEST_RNG_SEED", seed.to_string())];
    if is_long {
        variables.push(("KEYWRIGHT_SEED", seed.to_string()));
        let counts = LONG_COUNTS.iter().chain([&LONG]);
        variables.extend(counts.map(|(name, count)| (*name, (*count).to_owned())));
    }
    variables.retain(|(name, _)| match callers(name) {
        None => true,
        // The fixed seed comes from cargo's configuration, not from the caller.
        Some(value) => *name == "PROPTEST_RNG_SEED" && value == FIXED_SEED.to_string(),
    });
    variables
}

/// One line for a program that passed, everything it printed for one that failed.
fn show(ended: &Ended) {
    let totals = ended.report.totals;
    let verdict = if ended.succeeded { "ok" } else { "FAILED" };
    say(&format!("{:>8}  {} {verdict}: {} passed", seconds(ended.ms), ended.name, totals.passed));
    if !ended.succeeded {
        say(&ended.stdout);
    }
    // A test that leaves something out, because a tool is missing, says so here.
    for line in ended.stderr.lines().filter(|line| !line.trim().is_empty()) {
        say(&format!("          {}: {line}", ended.name));
    }
}

fn summary(ended: &[Ended], all: Stopwatch, verdict: &Verdict) -> Result<String, String> {
    let mut totals = Totals::default();
    for one in ended {
        totals.add(one.report.totals);
    }
    let sum: u64 = ended.iter().map(|one| one.ms).sum();
    let failed: Vec<&str> = ended.iter().filter(|one| !one.succeeded).map(|one| one.name.as_str()).collect();
    let mut lines = vec![slowest(ended)];
    lines.push(format!(
        "{} programs: {} one after the other, {} s side by side and with building",
        ended.len(),
        seconds(sum),
        all.elapsed().as_secs()
    ));
    if !failed.is_empty() {
        lines.extend(ended.iter().flat_map(|one| outcome::failures(&one.stdout, FAILURE_LINES)));
        lines.push(format!("failed: {}", failed.join(", ")));
    }
    lines.push(format!("{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.ignored));
    lines.extend(verdict.over.iter().map(|line| format!("over its budget: {line}")));
    lines.extend(verdict.faults.iter().map(|line| format!("failed: {line}")));
    let text = lines.join("\n");
    if failed.is_empty() && totals.failed == 0 && verdict.faults.is_empty() { Ok(text) } else { Err(text) }
}

fn slowest(ended: &[Ended]) -> String {
    let mut tests: Vec<(u64, &str, &str)> = ended
        .iter()
        .flat_map(|one| one.report.tests.iter().map(|(test, ms)| (*ms, one.name.as_str(), test.as_str())))
        .collect();
    tests.sort_unstable_by(|a, b| b.cmp(a));
    let lines = tests.iter().take(SLOWEST);
    let lines: Vec<String> =
        lines.map(|(ms, program, test)| format!("{:>8}  {program} {test}", seconds(*ms))).collect();
    format!("\nslowest tests\n{}\n", lines.join("\n"))
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments_are_divided_between_cargo_and_the_programs() {
        let request = Request::parse(&words("--long -p keywright-engine -- some::test --exact"));
        assert!(request.is_long);
        assert_eq!(request.cargo, words("-p keywright-engine"));
        assert_eq!(request.program, words("some::test --exact"));
        let plain = Request::parse(&[]);
        assert!(!plain.is_long && plain.cargo.is_empty() && plain.program.is_empty());
    }

    #[test]
    fn what_takes_minutes_to_install_runs_with_long_or_by_name() {
        let wants = |line: &str| Request::parse(&words(line)).wants("ecosystem::");
        assert!(wants("--long") && wants("-p keywright-server -- ecosystem::pynamodb"));
        assert!(!wants("-p keywright-server") && !wants("-p ecosystem -- requirements"));
        let wants = |line: &str| Request::parse(&words(line)).wants("stores::seaweedfs::");
        assert!(wants("-- stores::seaweedfs::what") && !wants("--test backup_sets -- stores"));
        let wants = |line: &str| Request::parse(&words(line)).wants("rust_encryption");
        assert!(wants("-- rust_encryption_writes") && !wants("-- java_encryption"));
        let wants = |line: &str| Request::parse(&words(line)).wants_conformance();
        assert!(wants("--long") && wants("--test clients -- conformance") && !wants("--test clients"));
    }

    #[test]
    fn seeds_are_fixed_without_long_and_random_with_it() {
        let seed = |is_long, callers: Option<&str>| {
            let callers = callers.map(str::to_owned);
            let variables = environment(is_long, 77, |_| callers.clone());
            variables.iter().find(|(name, _)| *name == "PROPTEST_RNG_SEED").map(|(_, value)| value.clone())
        };
        assert_eq!(seed(false, None).as_deref(), Some("1"));
        assert_eq!(seed(true, None).as_deref(), Some("77"));
        assert_eq!(seed(true, Some("1")).as_deref(), Some("77"));
        assert_eq!(seed(true, Some("5")), None);
        assert!(environment(true, 77, |_| None).iter().any(|(name, _)| *name == LONG.0));
    }
}
