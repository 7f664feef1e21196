//! The wording of help texts, of the model commands' text output and of their messages. Other tests assert
//! facts.

use std::process::Command;

use crate::support::model_command;
use crate::support::snapshot::{assert_snapshot, session};

/// Commands with a help text of their own.
const COMMANDS: [&str; 35] = [
    "",
    "serve",
    "credentials",
    "credentials add",
    "backup",
    "backup list",
    "backup prune",
    "backup verify",
    "bench",
    "completions",
    "copy",
    "export",
    "man",
    "history",
    "jobs",
    "restore",
    "rollback",
    "data",
    "data load",
    "data dump",
    "model",
    "model apply",
    "model init",
    "model check",
    "model cost",
    "model prices",
    "model design",
    "model diff",
    "model explain",
    "model export",
    "model heat",
    "model import",
    "model schema",
    "model show",
    "simulate",
];

#[test]
fn help_texts_are_those_of_the_snapshot() {
    let mut text = String::new();
    for command in COMMANDS {
        // Help shows the values of variables that are set.
        let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
            .args(command.split_whitespace())
            .arg("--help")
            .env_clear()
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}");
        text.push_str(&session(&format!("{command} --help"), &output));
    }
    assert_snapshot("models/snapshots/help.txt", &text.replace("keywright  --help", "keywright --help"));
}

/// A change of the starter model that needs a migration plan.
const CHANGED: (&str, &str) =
    ("gsi1: {pk: \"ORDER#{orderId}\", sk: \"ORDER\"}", "gsi1: {pk: \"O#{orderId}\", sk: \"ORDER\"}");

/// Commands of which each prints one kind of text or message, in a folder with the starter model.
const OUTPUTS: [&str; 25] = [
    "init",
    "check model.yaml",
    "check broken.yaml",
    "cost model.yaml",
    "heat model.yaml",
    "show model.yaml keys --pattern ZZ",
    "show model.yaml keys --pattern Q1",
    "show model.yaml keys",
    "diff model.yaml model.yaml",
    "diff model.yaml changed.yaml",
    "design model.yaml --explain",
    "design model.yaml -o broken.yaml",
    "explain L002",
    "explain L099",
    "export model.yaml --to create-table -o table.json",
    "export model.yaml --to workbench -o out.json",
    "export model.yaml --to cli --json",
    "export model.yaml --to workbench --regions eu-west-1",
    "export model.yaml --to cli --base x.json",
    "export model.yaml --to cloudformation --regions mars",
    "import",
    "import table.json -o broken.yaml",
    "import table.json --side model.yaml",
    "import out.json -o again.yaml",
    "import table.json --endpoint http://localhost:1",
];

#[test]
fn texts_and_messages_of_the_model_commands_are_those_of_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let broken = "format: 1\nmodel: shop\ntables:\n  Shop: {key: {pk: S, sk: X}}\nentites: {}\n";
    std::fs::write(path.join("broken.yaml"), broken).unwrap();
    let mut text = String::new();
    for command in OUTPUTS {
        if command.contains("changed.yaml") {
            let model = std::fs::read_to_string(path.join("model.yaml")).unwrap();
            assert!(model.contains(CHANGED.0));
            std::fs::write(path.join("changed.yaml"), model.replace(CHANGED.0, CHANGED.1)).unwrap();
        }
        let output = model_command(path, &command.split_whitespace().collect::<Vec<_>>());
        text.push_str(&session(&format!("model {command}"), &output));
    }
    assert_snapshot("models/snapshots/texts.txt", &text);
}
