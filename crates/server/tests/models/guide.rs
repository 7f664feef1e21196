//! `docs/tutorial.md` and `docs/guide/*.md` as a newcomer would follow them: each `sh` block is run by a
//! shell, and its output is compared with the `text` block after it. A line `…` stands for any lines, `…`
//! within a line for any text. Blocks in other languages (`console`, `python`, …) are shown to the reader and
//! not run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::support::snapshot::assert_names;
use crate::support::{Server, bounded};

/// The least number of command blocks in all documents, so that none is lost unnoticed.
const BLOCKS_MIN: usize = 24;

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

/// Runs a block of commands with the binary in `PATH`; a sentence if it does not end in time.
fn shell_within(patience: Duration, folder: &Path, commands: &str) -> Result<Output, String> {
    let own = Path::new(env!("CARGO_BIN_EXE_keywright")).parent().expect("a folder").to_path_buf();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&others)));
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", commands]).current_dir(folder).env("PATH", path.expect("a path"));
    bounded::output(&mut shell, patience)
}

fn shell(folder: &Path, commands: &str) -> Output {
    shell_within(bounded::PATIENCE, folder, commands).unwrap_or_else(|fault| panic!("{fault}:\n{commands}"))
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

/// The repository's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The documents whose commands are run: path and text.
fn documents() -> Vec<(PathBuf, String)> {
    let docs = root().join("docs");
    let guides = std::fs::read_dir(docs.join("guide")).expect("docs/guide");
    let mut paths: Vec<PathBuf> = guides.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.push(docs.join("tutorial.md"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a document");
            (path, text)
        })
        .collect()
}

/// Copies the examples to the same folders below this one, where the guides use them.
fn copy_examples(folder: &Path) {
    for own in ["examples/models", "examples/simulations"] {
        let target = folder.join(own);
        std::fs::create_dir_all(&target).expect("a folder");
        for entry in std::fs::read_dir(root().join(own)).expect("the examples") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), target.join(entry.file_name())).expect("a copy");
        }
    }
}

/// Runs a document's commands in a new folder and compares what they print; returns the number of command
/// blocks.
fn follow(path: &Path, text: &str) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    copy_examples(folder.path());
    let mut commands = 0;
    let mut printed = String::new();
    for block in blocks(text) {
        match block.language.as_str() {
            "sh" => {
                commands += 1;
                let output = shell(folder.path(), &block.text);
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{}: {}\n{errors}", path.display(), block.text);
                printed = String::from_utf8_lossy(&output.stdout).into_owned();
            }
            "text" => assert!(
                shows(&block.text, &printed),
                "{} shows\n{}\nand the command prints\n{printed}",
                path.display(),
                block.text
            ),
            _ => {}
        }
    }
    commands
}

#[test]
fn every_command_of_the_documents_prints_what_they_show() {
    let commands: usize = documents().iter().map(|(path, text)| follow(path, text)).sum();
    assert!(commands >= BLOCKS_MIN, "blocks of commands were removed: {commands} are left");
}

#[test]
fn every_model_command_and_option_that_the_documents_name_is_run() {
    let documents = documents();
    let run: String = documents
        .iter()
        .flat_map(|(_, text)| blocks(text))
        .filter(|block| block.language == "sh")
        .map(|block| block.text)
        .collect();
    for (path, text) in &documents {
        let prose = text.split("```").step_by(2).collect::<String>();
        let named = prose.split('`').skip(1).step_by(2);
        // A command is run with other file names: its first three words are looked for.
        for code in named.filter(|code| code.starts_with("keywright model ")) {
            let command = code.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
            assert!(run.contains(&command), "{}: {code} is named and not run", path.display());
        }
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
fn a_block_that_serves_or_leaves_something_that_prints_fails_instead_of_hanging() {
    let folder = tempfile::tempdir().expect("a folder");
    let fault =
        |commands| shell_within(Duration::from_secs(1), folder.path(), commands).err().unwrap_or_default();
    let serves = fault("keywright --in-memory --port 0 --studio-port off --management-port off");
    assert!(serves.starts_with("it has not ended within 1s"), "{serves}");
    assert!(fault("sleep 60 &").starts_with("what it has started still prints after 1s"));
    assert_eq!(fault("sleep 60 > /dev/null 2>&1 &\nkill $!"), "");
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

/// The blocks of a page of the reference in one language, one after the other.
fn reference(page: &str, language: &str) -> String {
    let text = std::fs::read_to_string(root().join("docs/reference").join(page)).expect("a page");
    blocks(&text).into_iter().filter(|block| block.language == language).map(|block| block.text).collect()
}

#[test]
fn the_banner_of_the_readme_is_the_servers() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("keywright-data");
    let server = Server::start(&["--data", data.to_str().expect("a path"), "--studio-port", "0"]);
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the readme");
    let shown = blocks(&readme).into_iter().find(|block| block.language == "text").expect("a banner").text;
    // Ports and the folder are this run's.
    let word = |word: &str| match word.split_once("127.0.0.1:") {
        Some((_, rest)) => {
            format!("ADDRESS{}", rest.trim_start_matches(|digit: char| digit.is_ascii_digit()))
        }
        None if word.ends_with("/keywright-data") => "FOLDER".to_owned(),
        None => word.to_owned(),
    };
    let banner = |text: &str| text.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    assert_eq!(banner(&server.banner), banner(&shown));
}

#[test]
fn the_settings_of_the_reference_start_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keywright.toml");
    let settings = reference("settings.md", "toml");
    assert!(settings.contains("[throughput]") && settings.contains("[quotas]"), "{settings}");
    std::fs::write(&file, settings).expect("a file");
    Server::start(&["--in-memory", "--config", file.to_str().expect("a path")]);
}

#[test]
fn the_fragments_of_the_reference_to_the_model_file_are_one_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let fragments = reference("model-file.md", "yaml");
    std::fs::write(folder.path().join("library.yaml"), format!("format: 1\nmodel: library\n{fragments}"))
        .expect("a file");
    let shown = shell(folder.path(), "keywright model show library.yaml");
    let errors = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{errors}");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("Loan"));
}
