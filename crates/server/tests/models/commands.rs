//! `keywright model init`, `check`, `explain` and `schema` as other programs see them: standard output,
//! standard error and status. Standard error is a pipe here, so that a progress bar would be noticed.

use std::path::{Path, PathBuf};
use std::process::Output;

use keywright_model::json::Json;
use keywright_workbench::lint::RULES;

use crate::support::snapshot::assert_names;
use crate::support::{model_command as keywright, model_command_to};

fn streams(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths
}

#[test]
fn init_writes_a_model_that_passes_and_overwrites_nothing_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let made = keywright(folder.path(), &["init"]);
    let (data, talk) = streams(&made);
    assert!(
        made.status.success() && data.is_empty() && talk.contains("keywright model check model.yaml"),
        "{talk}"
    );
    assert!(keywright(folder.path(), &["check", "model.yaml"]).status.success());
    std::fs::write(folder.path().join("model.yaml"), "mine").unwrap();
    let again = keywright(folder.path(), &["init"]);
    assert_eq!(again.status.code(), Some(1));
    assert_names(&streams(&again).1, &["model.yaml", "--force"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("model.yaml")).unwrap(), "mine");
    assert!(keywright(folder.path(), &["init", "--force"]).status.success());
    let (starter, _) = streams(&keywright(folder.path(), &["init", "-"]));
    assert_eq!(starter, std::fs::read_to_string(folder.path().join("model.yaml")).unwrap());
}

#[test]
fn a_check_prints_its_report_and_nothing_else_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    for (place, path) in examples().iter().enumerate() {
        let fails = path.ends_with("complaints.yaml");
        // Every form of the one that fails, and of each other one a form.
        let formats = ["text", "json", "junit", "markdown"];
        let formats = if fails { &formats[..] } else { &formats[place % 4..=place % 4] };
        for &format in formats {
            let output = keywright(folder.path(), &["check", path.to_str().unwrap(), "--format", format]);
            let (data, talk) = streams(&output);
            assert_eq!(output.status.code(), Some(i32::from(fails)), "{}: {talk}", path.display());
            assert_eq!(talk.lines().count(), usize::from(fails), "{talk}");
            assert!(!data.contains('\u{1b}') && !talk.contains('\u{1b}'), "{data}{talk}");
            match format {
                "json" => assert!(Json::parse(&data).unwrap().get("patterns").is_some()),
                "junit" => assert!(data.starts_with("<?xml") && data.trim_end().ends_with("</testsuite>")),
                "markdown" => assert!(data.starts_with("# ")),
                _ => assert!(data.starts_with("pattern ")),
            }
        }
    }
}

#[test]
fn a_broken_model_has_no_report_and_its_errors_give_their_positions() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("shop.yaml"),
        "format: 1\nmodel: shop\ntables:\n  Shop: {key: {pk: S, sk: X}}\nentites: {}\n",
    )
    .unwrap();
    let output = keywright(folder.path(), &["check", "shop.yaml"]);
    let (data, talk) = streams(&output);
    assert_eq!((output.status.code(), data.as_str()), (Some(1), ""));
    let faults: Vec<&str> = talk.lines().filter(|line| line.contains("shop.yaml:")).collect();
    assert_eq!(faults.len(), 2, "{talk}");
    assert_names(faults[0], &["shop.yaml:4:27:", "`X`"]);
    assert_names(faults[1], &["shop.yaml:5:1:", "`entites`", "`entities`"]);
    let missing = keywright(folder.path(), &["check", "gone.yaml"]);
    assert_names(&streams(&missing).1, &["gone.yaml"]);
}

#[test]
fn items_are_read_from_files_next_to_the_model() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("models")).unwrap();
    let model = "format: 1
model: shop
tables: {Shop: {key: {pk: S}}}
entities: {Order: {key: {pk: \"o#{id}\"}, attrs: {id: S}}}
patterns: [{id: P, get: Order, given: {id: eq}, example: {id: a}, expect: {count: 1}}]
data: items.json
";
    std::fs::write(folder.path().join("models/shop.yaml"), model).unwrap();
    std::fs::write(folder.path().join("models/items.json"), "{\"Order\": [{\"id\": \"a\"}]}").unwrap();
    let output = keywright(folder.path(), &["check", "models/shop.yaml"]);
    assert!(output.status.success(), "{:?}", streams(&output));
    std::fs::write(folder.path().join("models/items.json"), "{\"Order\": [\n{\"ids\": \"a\"}]}").unwrap();
    let (_, talk) = streams(&keywright(folder.path(), &["check", "models/shop.yaml"]));
    assert_names(&talk, &["models/shop.yaml:6:7:", "items.json:2:9:", "`Order`", "`ids`"]);
}

#[test]
fn every_rule_is_explained_with_its_source_and_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let (list, _) = streams(&keywright(folder.path(), &["explain"]));
    assert_eq!(list.lines().count(), RULES.len());
    for rule in RULES {
        let output = keywright(folder.path(), &["explain", &rule.id.to_lowercase()]);
        let (data, talk) = streams(&output);
        assert!(output.status.success() && talk.is_empty(), "{talk}");
        assert!(
            data.starts_with(rule.id) && data.contains("\nFix: ") && data.contains("\nSource: "),
            "{data}"
        );
        assert!(list.contains(&format!("{}  ", rule.id)), "{list}");
    }
    let unknown = keywright(folder.path(), &["explain", "L099"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert_names(&streams(&unknown).1, &["`L099`"]);
}

#[test]
fn the_schema_is_a_json_schema() {
    let folder = tempfile::tempdir().unwrap();
    let output = keywright(folder.path(), &["schema"]);
    let (data, talk) = streams(&output);
    assert!(output.status.success() && talk.is_empty(), "{talk}");
    let schema = Json::parse(&data).unwrap();
    assert!(schema.str_at("$schema").is_some_and(|dialect| dialect.contains("json-schema.org")), "{data}");
    assert!(schema.at(&["properties", "patterns"]).is_some());
}

/// Every command that prints data, with arguments.
const PRINTING: [&[&str]; 14] = [
    &["--help"],
    &["show", "--help"],
    &["init", "-"],
    &["schema"],
    &["explain"],
    &["explain", "L002"],
    &["prices"],
    &["check", "model.yaml"],
    &["show", "model.yaml"],
    &["cost", "model.yaml"],
    &["heat", "model.yaml"],
    &["diff", "model.yaml", "model.yaml"],
    &["export", "model.yaml", "--to", "create-table"],
    &["import", "table.json"],
];

/// A folder with the files that these commands read.
fn folder_to_print_from() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    assert!(keywright(folder.path(), &["init"]).status.success());
    let exported =
        keywright(folder.path(), &["export", "model.yaml", "--to", "create-table", "-o", "table.json"]);
    assert!(exported.status.success(), "{}", streams(&exported).1);
    folder
}

#[test]
#[cfg(target_os = "linux")]
fn a_failed_write_of_the_output_fails_the_command_and_is_reported_once() {
    let folder = folder_to_print_from();
    for arguments in PRINTING {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = model_command_to(folder.path(), arguments, full.into());
        let (_, talk) = streams(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {talk}");
        assert_eq!(talk.matches("the disk is full").count(), 1, "{talk}");
    }
}

#[test]
fn a_folder_a_binary_and_a_missing_file_are_reported_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("models")).unwrap();
    std::fs::write(folder.path().join("program"), b"\x7fELF\xff\xfe\0").unwrap();
    for (name, parts) in [
        ("models", ["cannot read models: this is a folder", "name a file"]),
        ("program", ["cannot read program: this is no text in UTF-8", "convert it"]),
        ("shop.yaml", ["cannot read shop.yaml: there is no such file", "correct the path"]),
        (
            "program/shop.yaml",
            ["cannot read program/shop.yaml: a part of this path is a file", "move that file"],
        ),
    ] {
        for command in ["check", "cost", "import"] {
            let output = keywright(folder.path(), &[command, name]);
            let (_, talk) = streams(&output);
            assert_eq!(output.status.code(), Some(1), "{command} {name}: {talk}");
            assert_names(&talk, &parts);
            assert!(!talk.contains("os error"), "{talk}");
        }
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = folder_to_print_from();
    for arguments in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = model_command_to(folder.path(), arguments, writer.into());
        let (_, talk) = streams(&output);
        assert!(output.status.success() && !talk.contains("standard output"), "{arguments:?}: {talk}");
    }
}
