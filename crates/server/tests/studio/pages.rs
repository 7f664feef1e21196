//! The pages in Chromium: each `*.mjs` next to this file, run by Node.
//!
//! `cargo xtask test` installs what they need and sets `KEYWRIGHT_CLIENTS` to its folder. Without it they are
//! ignored; with it a missing part fails them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// What the test files import.
const SHARED: &str = "lib";
/// It opens every view of every example. Of the others the largest takes longest.
const LONGEST: &str = "model-workspace";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/studio")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let is_test = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "mjs")
            && !path.file_stem().unwrap().to_str().unwrap().starts_with(SHARED)
    };
    let mut files: Vec<PathBuf> = entries.filter(is_test).collect();
    // The last is run first: what takes longest, as a long file that starts late is what costs most.
    let is_longest = |path: &PathBuf| path.file_stem().is_some_and(|name| name == LONGEST);
    files.sort_by_key(|path| (is_longest(path), path.metadata().unwrap().len()));
    files
}

/// What a file's tests say, if they fail.
fn failure(file: &Path, clients: &Path) -> Option<String> {
    let mut node = Command::new("node");
    node.arg(file).current_dir(folder()).env("KEYWRIGHT_BINARY", env!("CARGO_BIN_EXE_keywright"));
    node.env("KEYWRIGHT_STUDIO_MODULES", clients.join("studio/node_modules"));
    node.env("KEYWRIGHT_STUDIO_FAILURES", clients.join("studio/failures"));
    // Pictures for people: each takes a browser without a graphics card some tenths of a second.
    if std::env::var_os("KEYWRIGHT_TEST_LONG").is_some() {
        node.env("KEYWRIGHT_STUDIO_PICTURES", clients.join("studio/pictures"));
    }
    let output = node.output().unwrap();
    let name = file.file_name().unwrap().display();
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = |is_wanted: fn(&&str) -> bool| said.lines().filter(is_wanted).collect::<Vec<_>>().join("\n");
    let second = lines(|line| line.starts_with("PASSED ONLY"));
    if !second.is_empty() {
        eprintln!("{name}: {second}");
    }
    let bad = lines(|line| !line.starts_with("ok "));
    let errors = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("== {name}\n{bad}\n{errors}"))
}

#[test]
#[ignore = "needs Chromium, Node and npm: run `cargo xtask test`"]
fn the_pages_work_in_chromium() {
    let clients =
        PathBuf::from(std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the folder"));
    let left = Mutex::new(files());
    let failed = Mutex::new(Vec::new());
    // A file waits now and then, and this is the longest of all tests.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(file) = left.lock().unwrap().pop() else { break };
                    failed.lock().unwrap().extend(failure(&file, &clients));
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
