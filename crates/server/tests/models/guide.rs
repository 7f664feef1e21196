//! `docs/modeling.md` as a newcomer would follow it: a shell runs every block of commands, and its output is
//! compared with the text block after it. A line `…` matches any lines, `…` within a line any text.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::snapshot::assert_names;

/// Number of command blocks in the guide, so that none is lost unnoticed.
const BLOCKS: usize = 11;

/// A fenced block.
struct Block {
    language: String,
    text: String,
}

fn blocks(guide: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for line in guide.lines() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                open = true;
                found.push(Block { language: language.to_owned(), text: String::new() });
            }
            None if open => {
                if let Some(block) = found.last_mut() {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
            None => {}
        }
    }
    found
}

/// Runs a block of commands with the binary in `PATH`.
fn shell(folder: &Path, commands: &str) -> Output {
    let own = Path::new(env!("CARGO_BIN_EXE_keywright")).parent().expect("a folder").to_path_buf();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&others)));
    Command::new("sh")
        .args(["-eu", "-c", commands])
        .current_dir(folder)
        .env("PATH", path.expect("a path"))
        .output()
        .expect("a shell")
}

/// Whether a text matches the guide's.
fn shows(pattern: &str, text: &str) -> bool {
    let mut rest = text.lines();
    let mut skipping = false;
    for wanted in pattern.lines() {
        if wanted == "…" {
            skipping = true;
            continue;
        }
        let found = if skipping {
            rest.any(|line| alike(wanted, line))
        } else {
            rest.next().is_some_and(|line| alike(wanted, line))
        };
        if !found {
            return false;
        }
        skipping = false;
    }
    skipping || rest.next().is_none()
}

/// Compares lines; the width of columns does not matter.
fn alike(wanted: &str, line: &str) -> bool {
    let narrow = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (wanted, line) = (narrow(wanted), narrow(line));
    match wanted.split_once('…') {
        None => wanted == line,
        Some((start, end)) => line.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

#[test]
fn every_command_of_the_guide_prints_what_the_guide_says() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/modeling.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let folder = tempfile::tempdir().expect("a folder");
    let mut commands = 0;
    let mut printed = String::new();
    for block in blocks(&guide) {
        match block.language.as_str() {
            "sh" => {
                commands += 1;
                let output = shell(folder.path(), &block.text);
                assert!(
                    output.status.success(),
                    "{}\n{}",
                    block.text,
                    String::from_utf8_lossy(&output.stderr)
                );
                printed = String::from_utf8_lossy(&output.stdout).into_owned();
            }
            "text" => assert!(
                shows(&block.text, &printed),
                "the guide shows\n{}\nand it prints\n{printed}",
                block.text
            ),
            other => panic!("a block in {other} is not tested"),
        }
    }
    assert_eq!(commands, BLOCKS, "blocks of commands were added or removed");
}

#[test]
fn every_command_and_option_that_the_guide_names_is_in_a_block_that_is_run() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/modeling.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let run: String =
        blocks(&guide).into_iter().filter(|block| block.language == "sh").map(|block| block.text).collect();
    let prose = guide.split("```").step_by(2).collect::<String>();
    let named = prose.split('`').skip(1).step_by(2).filter(|code| code.starts_with("keywright model "));
    let options = prose.split('`').skip(1).step_by(2).filter(|code| code.starts_with("--"));
    // The guide's options of `import` and `export` that need a server or a second file; other tests use them.
    let elsewhere = ["--endpoint", "--side", "--no-side", "--base", "--no-base"];
    for code in named.chain(options).filter(|code| !elsewhere.contains(code)) {
        assert!(run.contains(code), "{code} is named and not run");
    }
}

#[test]
fn the_guide_is_compared_line_by_line_but_for_its_gaps() {
    assert!(shows("a\n…\nz", "a\nb\nc\nz"));
    assert!(shows("a … c\n…", "a b c\nmore"));
    assert!(!shows("a\nz", "a\nb\nz"));
    assert!(!shows("a", "a\nb"));
    assert!(!shows("…\nx", "a\nb"));
}

#[test]
fn a_failing_check_names_the_rule_and_fails() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models/complaints.yaml");
    let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["model", "check"])
        .arg(model)
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(report.lines().any(|line| line.contains("L002") && line.contains("P5")), "{report}");
    assert_names(&String::from_utf8_lossy(&output.stderr), &["complaints.yaml"]);
}
