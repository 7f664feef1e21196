//! Every command of `docs/modeling.md`, run as it stands there.

use std::path::Path;
use std::process::Command;

#[test]
fn every_command_of_the_guide_succeeds() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/modeling.md");
    let text = std::fs::read_to_string(guide).expect("the guide");
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = false;
    let mut commands = 0;
    for line in text.lines() {
        if line.starts_with("```") {
            shell = line == "```sh";
            continue;
        }
        let Some(arguments) = line.strip_prefix("keywright ").filter(|_| shell) else { continue };
        commands += 1;
        let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
            .args(arguments.split_whitespace())
            .current_dir(folder.path())
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(commands, 18, "commands were added or removed");
}

#[test]
fn a_failing_check_says_why_and_fails() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models/complaints.yaml");
    let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["model", "check"])
        .arg(model)
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("error L002: P5 scans"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the check fails"));
}
