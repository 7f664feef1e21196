//! `cargo xtask test`: installs the official clients that the tests drive, runs every test, and adds up the results.
//!
//! It knows how to fetch Python and JavaScript packages into `target/clients`; it does not know what any test checks.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tidy::workspace_root;

/// What the names of tests that need the JavaScript clients contain.
const JAVASCRIPT_TESTS: &str = "the_javascript_sdk";

/// Passed, failed and ignored tests over all test programs.
#[derive(Default)]
struct Totals {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Totals {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        for count in counts.split([';', '.']) {
            let mut words = count.split_whitespace();
            let (Some(number), Some(name)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match name {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<String, String> {
    let root = workspace_root()?;
    let clients = root.join("target/clients");
    std::fs::create_dir_all(&clients)
        .map_err(|error| format!("cannot make {}: {error}", clients.display()))?;
    let scripts = root.join("crates/server/tests/clients");
    let installed = |name: &str, outcome: Result<(), String>| {
        let fault = outcome.as_ref().err();
        fault.inspect(|fault| say(&format!("tests that need the {name} clients are skipped: {fault}")));
        outcome.is_ok()
    };
    let with_python = installed("Python", python(&clients, &scripts));
    let with_javascript = installed("JavaScript", javascript(&clients, &scripts));
    let mut arguments = arguments.to_vec();
    // Those tests are ignored unless they are asked for, so that a run without clients does not call them passed.
    if with_python {
        if !arguments.iter().any(|argument| argument == "--") {
            arguments.push("--".to_owned());
        }
        arguments.push("--include-ignored".to_owned());
        if !with_javascript {
            arguments.extend(["--skip".to_owned(), JAVASCRIPT_TESTS.to_owned()]);
        }
    }
    let mut totals = Totals::default();
    let success = cargo_test(&root, &clients, &arguments, &mut totals)?;
    let line = format!("{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.ignored);
    if success && totals.failed == 0 { Ok(line) } else { Err(line) }
}

#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
fn say(line: &str) {
    println!("{line}");
}

fn cargo_test(
    root: &Path,
    clients: &Path,
    arguments: &[String],
    totals: &mut Totals,
) -> Result<bool, String> {
    let mut process = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .env("KEYWRIGHT_CLIENTS", clients)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run cargo test: {error}"))?;
    if let Some(output) = process.stdout.take() {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            totals.add(&line);
            say(&line);
        }
    }
    let status = process.wait().map_err(|error| format!("cargo test ended badly: {error}"))?;
    Ok(status.success())
}

/// A virtual environment with boto3 and the AWS CLI, made anew when the list of packages changes.
fn python(clients: &Path, scripts: &Path) -> Result<(), String> {
    let folder = clients.join("python");
    let requirements = scripts.join("requirements.txt");
    let libraries = scripts.join("libraries.txt");
    let wanted = format!("{}{}", read(&requirements)?, read(&libraries)?);
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = |arguments: &[&str], list: &Path| {
        let mut install = Command::new(folder.join("bin/python"));
        quietly(install.args(["-m", "pip", "install", "--quiet"]).args(arguments).arg("-r").arg(list))
    };
    pip(&[], &requirements)?;
    // Libraries that demand older clients than those under test; their own needs are in the list.
    pip(&["--no-deps"], &libraries)?;
    write(&receipt, &wanted)
}

/// The JavaScript SDK, installed anew when its version changes.
fn javascript(clients: &Path, scripts: &Path) -> Result<(), String> {
    let folder = clients.join("javascript");
    let wanted = read(&scripts.join("package.json"))?;
    let receipt = folder.join("installed.txt");
    if std::fs::read_to_string(&receipt).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    write(&folder.join("package.json"), &wanted)?;
    let mut install = Command::new("npm");
    quietly(install.args(["install", "--no-package-lock", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    write(&receipt, &wanted)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a command; its output appears only when it fails.
fn quietly(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} failed: {}", said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_programs_are_added_up() {
        let mut totals = Totals::default();
        totals.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        );
        totals.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s");
        totals.add("running 3 tests");
        assert_eq!((totals.passed, totals.failed, totals.ignored), (15, 2, 1));
    }
}
