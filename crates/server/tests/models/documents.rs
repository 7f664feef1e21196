//! The reference pages name every rule, field, setting and operation that the program has. Only names and
//! severities are compared: wording is free.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use keywright_wire::{Operation, is_served};
use serde_json::Value;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    std::fs::read_to_string(path).expect("a reference page")
}

/// What the binary prints to standard output.
fn printed(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_keywright")).args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The words that stand between backquotes in a page, in cells such as `` `eq`, `between` `` too.
fn names(page: &str) -> BTreeSet<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_rules_page_has_every_rule_with_its_severity() {
    let page = page("rules.md");
    let listed: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with("| L"))
        .map(|line| line.split('|').skip(1).take(2).map(str::trim).collect::<Vec<_>>().join(" "))
        .collect();
    let rules: BTreeSet<String> = printed(&["model", "explain"])
        .lines()
        .map(|line| {
            let (id, rest) = line.split_once("  ").expect("an id");
            let severity = rest.trim_start().split("  ").next().expect("a severity");
            format!("{id} {}", severity.trim())
        })
        .collect();
    assert_eq!(listed, rules);
}

#[test]
fn the_model_file_page_has_every_field_of_the_schema() {
    let page = page("model-file.md");
    let schema: Value = serde_json::from_str(&printed(&["model", "schema"])).expect("JSON");
    let mut fields = BTreeSet::new();
    collect_fields(&schema, &mut fields);
    let named: BTreeSet<&str> = names(&page)
        .into_iter()
        .flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '-'))
        .collect();
    let missing: Vec<&String> = fields.iter().filter(|field| !named.contains(field.as_str())).collect();
    assert!(!fields.is_empty() && missing.is_empty(), "{missing:?}");
}

/// The names under `properties`, wherever they stand.
fn collect_fields(schema: &Value, fields: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        fields.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => members.values().for_each(|value| collect_fields(value, fields)),
        Value::Array(values) => values.iter().for_each(|value| collect_fields(value, fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_settings_page_has_every_flag_of_the_server_and_no_other() {
    let page = page("settings.md");
    let help = printed(&["serve", "--help"]);
    let flags: BTreeSet<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"))
        .filter_map(|line| line.split([' ', '[', '=']).next())
        .collect();
    let listed: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `--"))
        .filter_map(|line| line.split([' ', '`', '[']).next())
        .collect();
    assert_eq!(listed, flags);
}

#[test]
fn the_operations_page_lists_what_is_served_and_what_is_not() {
    let page = page("operations.md");
    let (served, unserved) = page.split_once("## Not served").expect("two lists");
    for operation in Operation::ALL {
        let (here, there) = if is_served(*operation) { (served, unserved) } else { (unserved, served) };
        assert!(names(here).contains(operation.name()), "{} is missing", operation.name());
        assert!(!names(there).contains(operation.name()), "{} is in the wrong list", operation.name());
    }
}
