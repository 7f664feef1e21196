//! The pages in Chromium: each `*.mjs` next to this file, run by Node.
//!
//! `cargo xtask test` runs each file as a program of its own. It installs what they need and sets
//! `KEYWRIGHT_CLIENTS` to its folder. Without it they are ignored; with it a missing part fails them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the test files import.
const SHARED: &str = "lib";

/// A test for each file, whose name says that it needs Chromium.
macro_rules! pages {
    ($($test:ident: $file:literal,)*) => {
        const FILES: &[&str] = &[$($file),*];

        $(
            #[test]
            #[ignore = "needs Chromium, Node and npm: run `cargo xtask test`"]
            fn $test() {
                run($file);
            }
        )*
    };
}

pages! {
    data_grid_in_chromium: "data-grid.mjs",
    data_regions_in_chromium: "data-regions.mjs",
    data_rights_in_chromium: "data-rights.mjs",
    data_tables_in_chromium: "data-tables.mjs",
    frame_in_chromium: "frame.mjs",
    model_collections_in_chromium: "model-collections.mjs",
    model_history_in_chromium: "model-history.mjs",
    model_operate_in_chromium: "model-operate.mjs",
    model_rules_in_chromium: "model-rules.mjs",
    model_simulate_in_chromium: "model-simulate.mjs",
    model_transfers_in_chromium: "model-transfers.mjs",
    model_workspace_in_chromium: "model-workspace.mjs",
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/studio")
}

/// Runs a file's tests, and fails with what they say if one of them does.
fn run(file: &str) {
    let clients =
        PathBuf::from(std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the folder"));
    let mut node = Command::new("node");
    node.arg(file).current_dir(folder()).env("KEYWRIGHT_BINARY", env!("CARGO_BIN_EXE_keywright"));
    node.env("KEYWRIGHT_STUDIO_MODULES", clients.join("studio/node_modules"));
    node.env("KEYWRIGHT_STUDIO_FAILURES", clients.join("studio/failures"));
    // Pictures for people: each takes a browser without a graphics card some tenths of a second.
    if std::env::var_os("KEYWRIGHT_TEST_LONG").is_some() {
        node.env("KEYWRIGHT_STUDIO_PICTURES", clients.join("studio/pictures"));
    }
    let output = node.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = |is_wanted: fn(&&str) -> bool| said.lines().filter(is_wanted).collect::<Vec<_>>().join("\n");
    let second = lines(|line| line.starts_with("PASSED ONLY"));
    if !second.is_empty() {
        eprintln!("{file}: {second}");
    }
    let bad = lines(|line| !line.starts_with("ok "));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "== {file}\n{bad}\n{errors}");
}

#[test]
fn every_file_of_tests_in_the_folder_is_run() {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap());
    let is_module = |name: &String| Path::new(name).extension().is_some_and(|ending| ending == "mjs");
    let mut found: Vec<String> = names.filter(|name| is_module(name) && !name.starts_with(SHARED)).collect();
    found.sort();
    assert_eq!(found, FILES);
}
