//! Says in one sentence that the compiler is older than the workspace needs, before anything else fails to build.

use std::process::{Command, exit};

fn main() {
    println!("cargo::rerun-if-changed=../Cargo.toml");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let manifest = std::fs::read_to_string("../Cargo.toml").unwrap_or_default();
    let needed = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let here = said.split_whitespace().nth(1);
    let (Some(needed), Some(here)) = (needed, here) else { return };
    if version(here) < version(needed) {
        let needed = needed.trim_matches('"');
        eprintln!("rustc {here} is older than {needed}, which Keywright needs: run `rustup update stable`");
        exit(1);
    }
}

/// `"1.95"` and `1.95.0-nightly` as numbers.
fn version(text: &str) -> Vec<u32> {
    let numbers = text.trim_matches('"').split('-').next().unwrap_or_default().split('.');
    numbers.take(2).filter_map(|number| number.parse().ok()).collect()
}
