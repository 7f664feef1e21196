//! `cargo xtask instructions [--update]`: counts the instructions of hot operations under callgrind and
//! compares them with the checked-in figures, so that none grows unnoticed. A figure that has fallen must be
//! updated too, or it could grow back unnoticed.
//!
//! Instruction counts do not depend on other load of the machine, so a change of a few percent shows. They do
//! depend on the compiler and on the processor's features: figures of another machine may need `--update`
//! once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::cargo::cargo;

const FIGURES: &str = "xtask/instructions.txt";
/// Without link-time optimisation, so that a change counts where it is made.
const PROFILE: &str = "quick";
const PROGRAM: &str = "target/quick/keywright-hot";
/// An operation's count is the difference of two runs, divided: what happens once drops out.
const TIMES_FEW: u64 = 64;
/// Beginning of the names of operations that the whole server does, over HTTP.
const OVER_HTTP: &str = "http-";

/// How an operation is counted.
struct Way {
    /// Requests of the longer run.
    times_many: u64,
    /// A difference beyond this is a fault, in thousandths.
    tolerance_per_mille: u64,
}

/// Over HTTP the lengths of dates and the runtime's turns make a difference, and more code of others has a
/// part in it: more requests, and a tolerance of its own.
fn way(name: &str) -> Way {
    if name.starts_with(OVER_HTTP) {
        Way { times_many: TIMES_FEW + 1_000, tolerance_per_mille: 50 }
    } else {
        Way { times_many: TIMES_FEW + 256, tolerance_per_mille: 30 }
    }
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let updating = arguments.iter().any(|argument| argument == "--update");
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("instructions: valgrind is not installed, and nothing is counted without it".to_owned());
    }
    build(root)?;
    let counted = count_all(root)?;
    if updating {
        let text: String = counted.iter().fold(String::new(), |mut text, (name, count)| {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{name} {count}");
            text
        });
        std::fs::write(root.join(FIGURES), text).map_err(|error| format!("{FIGURES}: {error}"))?;
        return Ok(format!("instructions: {} figures written to {FIGURES}", counted.len()));
    }
    let text = std::fs::read_to_string(root.join(FIGURES))
        .map_err(|error| format!("cannot read {FIGURES}: {error}"))?;
    compare(&known(&text)?, &counted)
}

fn build(root: &Path) -> Result<(), String> {
    let status = cargo()
        .current_dir(root)
        .args(["build", "--quiet", "--profile", PROFILE, "-p", "keywright-hot", "--features", "http"])
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the program does not build".to_owned()) }
}

fn count_all(root: &Path) -> Result<BTreeMap<String, u64>, String> {
    let listed = Command::new(root.join(PROGRAM)).output().map_err(|error| format!("{PROGRAM}: {error}"))?;
    let names = String::from_utf8(listed.stdout).map_err(|error| format!("{PROGRAM}: {error}"))?;
    let left = Mutex::new(
        names.lines().flat_map(|name| [(name, TIMES_FEW), (name, way(name).times_many)]).collect::<Vec<_>>(),
    );
    let work = || {
        let mut counts = Vec::new();
        while let Some((name, times)) = left.lock().ok().and_then(|mut left| left.pop()) {
            counts.push(((name, times), collected(root, name, times)?));
        }
        Ok::<_, String>(counts)
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let counts: Result<Vec<_>, String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended =
            workers.into_iter().map(|worker| worker.join().map_err(|_| "a count panicked".to_owned())?);
        ended.collect()
    });
    let counts: BTreeMap<_, u64> = counts?.into_iter().flatten().collect();
    let of = |name, times| counts.get(&(name, times)).copied().unwrap_or_default();
    let each = |name| {
        let times_many = way(name).times_many;
        of(name, times_many).saturating_sub(of(name, TIMES_FEW)) / (times_many - TIMES_FEW)
    };
    Ok(names.lines().map(|name| (name.to_owned(), each(name))).collect())
}

/// The instructions of a whole run.
fn collected(root: &Path, name: &str, times: u64) -> Result<u64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(root.join(PROGRAM))
        .args([name, &times.to_string()])
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected :"));
    count
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("valgrind says nothing about {name}:\n{said}"))
}

fn known(text: &str) -> Result<BTreeMap<String, u64>, String> {
    text.lines()
        .map(|line| {
            let pair =
                line.split_once(' ').and_then(|(name, count)| Some((name.to_owned(), count.parse().ok()?)));
            pair.ok_or_else(|| format!("{FIGURES}: not a name and a number: {line}"))
        })
        .collect()
}

fn compare(known: &BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) -> Result<String, String> {
    let mut lines = Vec::new();
    let mut differs = false;
    for (name, count) in counted {
        let Some(before) = known.get(name) else {
            lines.push(format!("{name:<24}{count:>10}  new: take it in with --update"));
            differs = true;
            continue;
        };
        let tolerance = way(name).tolerance_per_mille;
        let verdict = if *count * 1000 > *before * (1000 + tolerance) {
            "  more than allowed"
        } else if *count * 1000 < *before * (1000 - tolerance) {
            "  less: take it in with --update"
        } else {
            ""
        };
        differs |= !verdict.is_empty();
        lines.push(format!("{name:<24}{before:>10} -> {count:>10}{verdict}"));
    }
    for name in known.keys().filter(|name| !counted.contains_key(*name)) {
        lines.push(format!("{name:<24} is not counted any more: take that in with --update"));
        differs = true;
    }
    let text = lines.join("\n");
    if differs { Err(text) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_over_http_have_a_tolerance_of_their_own() {
        let of = |name: &str, count| BTreeMap::from([(name.to_owned(), count)]);
        assert!(compare(&of("http-get-item", 1000), &of("http-get-item", 1050)).is_ok());
        assert!(compare(&of("http-get-item", 1000), &of("http-get-item", 1051)).is_err());
    }

    fn figures(count: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("get-item".to_owned(), count)])
    }

    #[test]
    fn a_difference_beyond_the_tolerance_and_a_name_that_comes_or_goes_is_a_fault() {
        assert!(compare(&figures(1000), &figures(1030)).is_ok());
        assert!(compare(&figures(1000), &figures(970)).is_ok());
        assert!(compare(&figures(1000), &figures(969)).unwrap_err().contains("less"));
        assert!(compare(&figures(1000), &BTreeMap::new()).unwrap_err().contains("not counted any more"));
        assert!(compare(&figures(1000), &figures(1031)).unwrap_err().contains("more than allowed"));
        assert!(compare(&BTreeMap::new(), &figures(1)).unwrap_err().contains("new"));
    }

    #[test]
    fn figures_read_as_they_are_written() {
        assert_eq!(known("get-item 1000\n"), Ok(figures(1000)));
        assert!(known("get-item").is_err());
    }
}
