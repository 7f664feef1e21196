//! Finds the test programs: asks cargo to build them, reads its messages, and separates those that must run
//! alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::compiler;
use crate::cargo::cargo;

/// Test programs, or modules of test programs, that run while nothing else does: they bound how long a server
/// may take to answer, or how much memory it may use, and other programs on the same cores would disturb
/// that.
const ALONE: &[&str] = &["hostile_clients", "shares"];

/// Modules of which each test in a browser runs as a program of its own: each takes as long as other
/// programs, and side by side with these they are done earlier than one after the other.
const APART: &[&str] = &["pages"];
/// How the names of those tests end.
const BROWSER: &str = "_in_chromium";

/// Programs that run again: with their servers in memory replaced by several over one store, or with
/// encrypted data folders.
const AGAIN: &[Again] = &[
    Again { program: "server::clients", over: Over::PostgreSql(1), wholly: &[], shortly: &[] },
    Again {
        program: "server::clients",
        over: Over::PostgreSql(3),
        wholly: &[],
        shortly: &["rust_sdk::", "boto3", "r28_", "r29_", "s01_"],
    },
    Again { program: "server::clients", over: Over::Tikv(3), wholly: &[], shortly: &[] },
    Again {
        program: "server::cluster",
        over: Over::Tikv(3),
        wholly: &[
            "branches::",
            "bulk_puts::",
            "jobs::",
            "kills::",
            "large_commits::",
            "limits::",
            "rolling::",
            "tables::",
            "takeover::",
            "transfers::",
        ],
        shortly: &["kills::", "large_commits::", "tables::"],
    },
    Again {
        program: "server::isolation",
        over: Over::Tikv(3),
        wholly: &["equivalence::", "histories::", "killed::"],
        shortly: &["killed::histories"],
    },
    Again {
        program: "server::crashes",
        over: Over::EncryptedFolders,
        wholly: &[
            "power_loss::",
            "kills::",
            "failing_disk::",
            "full_disk::",
            "damaged_files::",
            "minutes::",
            "backup_folders::",
        ],
        shortly: &[
            "power_loss::a_loss_of_power_takes",
            "failing_disk::",
            "kills::a_killed",
            "damaged_files::each",
            "minutes::",
            "backup_folders::",
        ],
    },
];

/// A key for folders of tests.
const KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

struct Again {
    program: &'static str,
    over: Over,
    /// The tests of a long run; all if none is named.
    wholly: &'static [&'static str],
    /// The tests of a run that is not long; it is left out if there are none.
    shortly: &'static [&'static str],
}

/// What is different when a program runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// So many servers over one store.
    PostgreSql(u32),
    /// The same, where the test engine of the store on TiKV is built.
    Tikv(u32),
    EncryptedFolders,
}

impl Over {
    fn name(self, program: &str) -> String {
        match self {
            Self::PostgreSql(servers) => format!("{program} over PostgreSQL, servers: {servers}"),
            Self::Tikv(servers) => format!("{program} over TiKV, servers: {servers}"),
            Self::EncryptedFolders => format!("{program} on encrypted folders"),
        }
    }

    fn environment(self) -> (&'static str, String) {
        match self {
            Self::PostgreSql(servers) => ("KEYWRIGHT_TEST_STORE", format!("postgres:{servers}")),
            Self::Tikv(servers) => ("KEYWRIGHT_TEST_STORE", format!("tikv:{servers}")),
            Self::EncryptedFolders => ("KEYWRIGHT_ENCRYPTION_KEY", KEY.to_owned()),
        }
    }
}

/// The test engine of the store on TiKV.
const TIKV_ENGINE: &str = "target/tikv-engine/unistore-server";

/// One run of one program.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// `crate::program`, with the module if only one module of it runs.
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// The package's folder, where cargo runs its tests too.
    pub(super) folder: PathBuf,
    /// Arguments that choose tests, in addition to the caller's.
    pub(super) chosen: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) is_alone: bool,
}

/// How many tests run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    Short,
}

/// The jobs with those that run again.
pub(super) fn with_repetitions(jobs: Vec<Job>, extent: Extent) -> Vec<Job> {
    let has_tikv = jobs.iter().any(|job| job.name.starts_with("store-tikv::"));
    let again = |again: &Again| {
        if matches!(again.over, Over::Tikv(_)) && !has_tikv {
            return None;
        }
        let job = jobs.iter().find(|job| job.name == again.program)?;
        let chosen = if extent == Extent::All { again.wholly } else { again.shortly };
        (extent == Extent::All || !chosen.is_empty()).then(|| Job {
            name: again.over.name(&job.name),
            chosen: job.chosen.iter().cloned().chain(chosen.iter().map(|name| (*name).to_owned())).collect(),
            environment: vec![again.over.environment()],
            ..job.clone()
        })
    };
    let again: Vec<Job> = AGAIN.iter().filter_map(again).collect();
    jobs.into_iter().chain(again).collect()
}

/// The profile that `cargo build` takes too: `test` is for a plain `cargo test`.
const PROFILE: [&str; 2] = ["--profile", "dev"];

/// Builds all tests. `arguments` are cargo's, such as `-p keywright-engine`. Tests that the caller chooses by
/// name stay in one program.
#[expect(clippy::print_stdout, reason = "a task for the terminal")]
pub(super) fn build(root: &Path, arguments: &[String], has_all_tests: bool) -> Result<Vec<Job>, String> {
    if chooses_packages(arguments) {
        return build_some(root, &PROFILE, arguments, has_all_tests);
    }
    // The store on PostgreSQL and files of SQLite are left out of the binary by default, and their tests are
    // not.
    let mut chosen = vec!["--workspace", "--features", "keywright-server/postgres,keywright-server/sqlite"];
    chosen.extend(PROFILE);
    // TiKV's client takes a minute to build, and its tests need an engine that is built by hand.
    if root.join(TIKV_ENGINE).exists() {
        chosen.extend(["--features", "keywright-server/tikv"]);
    } else {
        println!(
            "PASSED OVER: the store on TiKV (crates/store-tikv/tests/engine/build.sh builds its engine)"
        );
        chosen.extend(["--exclude", "keywright-store-tikv"]);
    }
    build_some(root, &chosen, arguments, has_all_tests)
}

/// Builds the tests that these arguments of cargo choose.
fn build_some(
    root: &Path,
    chosen: &[&str],
    arguments: &[String],
    has_all_tests: bool,
) -> Result<Vec<Job>, String> {
    let mut cargo = cargo();
    compiler::use_for(&mut cargo)?;
    cargo.current_dir(root).args(["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    let output = cargo
        .args(chosen)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo test: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build".to_owned());
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut jobs = Vec::new();
    for job in messages.lines().filter_map(job_of) {
        let listed = listed(&job)?;
        divide(job, &listed, if has_all_tests { APART } else { &[] }, &mut jobs);
    }
    Ok(jobs)
}

pub(super) fn chooses_packages(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| {
        ["-p", "--package"].contains(&argument.as_str()) || argument.starts_with("--package=")
    })
}

/// The program that a message of cargo is about, if it is one with tests.
fn job_of(message: &str) -> Option<Job> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_test = message.get("profile")?.get("test")?.as_bool()?;
    let program = PathBuf::from(message.get("executable")?.as_str()?);
    let folder = Path::new(message.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    let target = message.get("target")?;
    let package = folder.file_name()?.to_str()?.to_owned();
    let name = match target.get("kind")?.get(0)?.as_str()? {
        "lib" => package,
        _ => format!("{package}::{}", target.get("name")?.as_str()?),
    };
    let is_alone = ALONE.iter().any(|alone| name.ends_with(&format!("::{alone}")));
    is_test.then_some(Job { name, program, folder, chosen: Vec::new(), environment: Vec::new(), is_alone })
}

/// The tests of a program, a line for each.
fn listed(job: &Job) -> Result<String, String> {
    let listed = Command::new(&job.program)
        .current_dir(&job.folder)
        .args(["--list", "--format", "terse"])
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", job.program.display()))?;
    Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
}

/// The job, one more for each of its modules that runs alone, and one for each test in a browser of its
/// modules that run apart.
fn divide(mut job: Job, listed: &str, apart: &[&str], jobs: &mut Vec<Job>) {
    let tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    for module in ALONE.iter().map(|name| format!("{name}::")) {
        if tests.iter().any(|test| test.starts_with(&module)) {
            job.chosen.extend(["--skip".to_owned(), module.clone()]);
            let name = format!("{}::{}", job.name, module.trim_end_matches(':'));
            jobs.push(Job { name, chosen: vec![module], is_alone: true, ..job.clone() });
        }
    }
    for module in apart.iter().map(|name| format!("{name}::")) {
        let own = tests.iter().filter(|test| test.starts_with(&module) && test.ends_with(BROWSER));
        let own: Vec<String> = own.map(|test| (*test).to_owned()).collect();
        jobs.extend(own.iter().map(|test| Job {
            name: format!("{}::{test}", job.name),
            chosen: vec![test.clone()],
            ..job.clone()
        }));
        job.chosen.extend(own.into_iter().flat_map(|test| ["--skip".to_owned(), test]));
    }
    jobs.push(job);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/server/Cargo.toml",
        "target":{"kind":["test"],"name":"transport"},"profile":{"test":true},"executable":"/w/target/transport-1"}"#;

    #[test]
    fn a_test_program_is_named_after_its_crate_and_file() {
        let message = MESSAGE.replace('\n', "");
        let job = job_of(&message).unwrap();
        assert_eq!((job.name.as_str(), job.is_alone), ("server::transport", false));
        assert_eq!(job.folder, Path::new("/w/crates/server"));
        let library = job_of(&message.replace("[\"test\"]", "[\"lib\"]")).unwrap();
        assert_eq!(library.name, "server");
        assert!(job_of(&message.replace("\"transport\"", "\"hostile_clients\"")).unwrap().is_alone);
    }

    #[test]
    fn a_program_runs_again_over_postgresql_with_all_or_some_of_its_tests() {
        let job = job_of(&MESSAGE.replace('\n', "").replace("\"transport\"", "\"clients\"")).unwrap();
        let again = |extent| with_repetitions(vec![job.clone()], extent).pop().unwrap();
        assert_eq!(again(Extent::All).environment, [("KEYWRIGHT_TEST_STORE", "postgres:3".to_owned())]);
        assert!(again(Extent::All).chosen.is_empty() && !again(Extent::Short).chosen.is_empty());
        let tikv = Job { name: "store-tikv::it".to_owned(), ..job.clone() };
        let with_engine = with_repetitions(vec![job.clone(), tikv], Extent::All);
        let over_tikv = |job: &&Job| job.environment == [("KEYWRIGHT_TEST_STORE", "tikv:3".to_owned())];
        assert_eq!(with_engine.iter().filter(over_tikv).count(), 1, "where the engine is built");
        let other = job_of(&MESSAGE.replace('\n', "")).unwrap();
        assert_eq!(with_repetitions(vec![other], Extent::All).len(), 1);
        let crashes = job_of(&MESSAGE.replace('\n', "").replace("\"transport\"", "\"crashes\"")).unwrap();
        let again = with_repetitions(vec![crashes], Extent::All).pop().unwrap();
        assert_eq!(again.name, "server::crashes on encrypted folders");
        assert_eq!(again.environment, [("KEYWRIGHT_ENCRYPTION_KEY", KEY.to_owned())]);
        assert!(!again.chosen.is_empty(), "tests that need a plain folder are left out");
    }

    #[test]
    fn tests_in_a_browser_run_apart_and_modules_with_bounds_alone() {
        let job = job_of(&MESSAGE.replace('\n', "")).unwrap();
        let listed = "calls::a: test\npages::b_in_chromium: test\npages::c_in_chromium: test\npages::all: test\nshares::d: test\n";
        let divided = |apart: &[&str]| {
            let mut jobs = Vec::new();
            divide(job.clone(), listed, apart, &mut jobs);
            jobs.into_iter().map(|job| (job.name, job.chosen.join(" "), job.is_alone)).collect::<Vec<_>>()
        };
        let job = |name: &str, chosen: &str, is_alone| {
            (format!("server::transport{name}"), chosen.to_owned(), is_alone)
        };
        let alone = job("::shares", "shares::", true);
        let page = |name: &str| job(&format!("::pages::{name}"), &format!("pages::{name}"), false);
        let rest = job("", "--skip shares:: --skip pages::b_in_chromium --skip pages::c_in_chromium", false);
        assert_eq!(divided(&["pages"]), [alone.clone(), page("b_in_chromium"), page("c_in_chromium"), rest]);
        assert_eq!(divided(&[]), [alone, job("", "--skip shares::", false)]);
    }

    #[test]
    fn libraries_examples_and_other_messages_are_no_test_programs() {
        assert!(job_of(&MESSAGE.replace('\n', "").replace("true", "false")).is_none());
        assert!(job_of(r#"{"reason":"build-finished","success":true}"#).is_none());
        assert!(job_of("no message").is_none());
    }
}
