//! Request cases: one file for each operation, one row for each fault, the message in the last column.
//!
//! A row is `name | body | outcome | message`; `<a*256>` stands for 256 times `a`. The overlay of the shape table names
//! these rows.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use keywright_wire::{Operation, decode_parts, render_error};

struct Case {
    file: String,
    name: String,
    body: String,
    outcome: String,
    message: String,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let columns: Vec<&str> = line.splitn(4, " | ").collect();
            let column = |index: usize| expanded(columns.get(index).copied().unwrap_or_default().trim());
            found.push(Case {
                file: file.clone(),
                name: column(0),
                body: column(1),
                outcome: column(2),
                message: column(3),
            });
        }
    }
    found
}

/// The text with every `<a*256>` written out.
fn expanded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let repeat = after.split_once('>').and_then(|(inside, tail)| {
            let (unit, count) = inside.rsplit_once('*')?;
            Some((unit.repeat(count.parse().ok()?), tail))
        });
        rest = if let Some((repeated, tail)) = repeat {
            out.push_str(&repeated);
            tail
        } else {
            out.push('<');
            after
        };
    }
    out + rest
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[test]
fn every_request_case_is_answered_as_the_service_does() {
    let mut wrong = Vec::new();
    for case in cases() {
        let operation = Operation::ALL.iter().find(|operation| snake_case(operation.name()) == case.file);
        let answer =
            decode_parts(*operation.expect("a case file is named after an operation"), case.body.as_bytes());
        let (outcome, message) = match answer {
            Ok(_) => ("ok".to_owned(), String::new()),
            Err(error) => {
                let type_name = render_error(&error).type_name;
                (type_name.split_once('#').unwrap().1.to_owned(), error.message)
            }
        };
        if (&outcome, &message) != (&case.outcome, &case.message) {
            wrong.push(format!(
                "{}/{}\n  wanted {}: {}\n  found  {outcome}: {message}",
                case.file, case.name, case.outcome, case.message
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_served_operation_has_a_case_file() {
    let cases = cases();
    for operation in Operation::ALL.iter().filter(|operation| operation.is_served()) {
        assert!(cases.iter().any(|case| case.file == snake_case(operation.name())), "{}", operation.name());
    }
}
