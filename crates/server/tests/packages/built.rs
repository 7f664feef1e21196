//! The packages that `cargo xtask dist` makes of the binary under test, made once per run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The folder of the packages.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    // Packages of an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    make(&folder, &["archive", "deb", "npm", "sbom", "wheel"]);
    folder
});

/// The path of the one package with this beginning and ending.
pub(crate) fn package(start: &str, end: &str) -> PathBuf {
    let entries = std::fs::read_dir(&*FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(start) && name.ends_with(end)
        })
        .collect();
    assert_eq!(found.len(), 1, "{start}…{end}: {found:?}");
    found[0].clone()
}

pub(crate) fn folder() -> &'static Path {
    &FOLDER
}

pub(crate) fn make(folder: &Path, parts: &[&str]) {
    let output = dist(folder, parts);
    assert!(output.status.success(), "{}", text(&output));
}

/// Runs `cargo xtask dist` with the binary under test, without its debug information.
pub(crate) fn dist(folder: &Path, parts: &[&str]) -> Output {
    std::fs::create_dir_all(folder).unwrap();
    let binary = folder.join("stripped");
    let stripped = Command::new("strip").arg("-o").arg(&binary).arg(env!("CARGO_BIN_EXE_keywright")).status();
    let binary = if stripped.is_ok_and(|status| status.success()) {
        binary
    } else {
        env!("CARGO_BIN_EXE_keywright").into()
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    cargo.args(["run", "--quiet", "--package", "xtask", "--", "dist", "--fast", "--binary"]).arg(binary);
    // Build scripts look at it, and would be compiled again.
    cargo.arg("--output").arg(folder).args(parts).env_remove("RUSTC_BOOTSTRAP").output().unwrap()
}

/// Runs a program and returns what it printed; its failure fails the test.
pub(crate) fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What a command wrote.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a program is on this machine. A test that leaves something out without it says so.
pub(crate) fn has(program: &str, left_out: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("LEFT OUT: {program} is not here: {left_out}");
    }
    found
}
