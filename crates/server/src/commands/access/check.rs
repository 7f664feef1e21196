//! `keywright access check`: what policy documents in files do otherwise than it seems.
//!
//! And what files of users name and do not have. What is found is the crate `access`'s; this reads the files
//! and prints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use keywright_access::check::{CheckFault, Checked, check};
use keywright_access::file::{self, FileFinding};
use keywright_access::lint::Known;
use keywright_engine::built_in_policy;
use serde_json::{Value, json};

use crate::model::format::{Format, one_of};
use crate::process::failure::Failure;
use crate::process::io_fault::Explained;
use crate::process::output;
use crate::storage::private_file;

/// The exit status if something is found.
const FOUND: u8 = 1;
/// The exit status if a file could not be checked.
const UNREAD: u8 = 2;

/// Check the policy documents of files.
///
/// A file is one policy document, or JSON with documents within it. It reports documents that are malformed,
/// statements that do something else than they seem to, names that a file of users does not have, and secrets
/// of keys that are missing or cannot be read. No server is asked. Exit status: 0 if nothing is found, 1 if
/// something is, 2 if a file could not be checked.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// Files to check
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A key attribute of the tables and indexes that the policies are for; may be repeated
    #[arg(long = "key", value_name = "ATTRIBUTE")]
    key_attributes: Vec<String>,
    /// A rule whose findings are left out; may be repeated
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Json]))]
    format: Format,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    let known = Known { key_attributes: &arguments.key_attributes };
    let mut lines = Vec::new();
    for path in &arguments.files {
        let (documents, names) = read(path, known)?;
        for document in &documents {
            lines.extend(findings(path, document, &arguments.allow));
        }
        lines.extend(
            names_of(path, names, &documents).filter(|line| !arguments.allow.contains(&line.rule.to_owned())),
        );
    }
    match arguments.format {
        Format::Json => output::say(&Value::Array(lines.iter().map(Line::json).collect()).to_string()),
        _ if lines.is_empty() => output::say("nothing found"),
        _ => lines.iter().for_each(|line| output::say(&line.text())),
    }
    Ok(if lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

/// The documents of a file, and what it names and does not have if it is a file of users.
fn read(path: &Path, known: Known<'_>) -> Result<(Vec<Checked>, Vec<FileFinding>), Failure> {
    let fault = |what: &dyn std::fmt::Display| {
        Failure::new(format!("cannot check {}: {what}", path.display())).with_status(UNREAD)
    };
    let text = std::fs::read_to_string(path).map_err(|error| fault(&Explained(&error)))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let unreadable = |secret: &str| match private_file::read(&folder.join(secret)) {
        Ok(Some(_)) => None,
        Ok(None) => Some("it does not exist: make it, or correct the path".to_owned()),
        Err(why) => Some(why),
    };
    let names = file::check(&text, |arn| built_in_policy(arn).is_some(), unreadable);
    match (check(&text, known), names) {
        (Ok(documents), names) => Ok((documents, names.unwrap_or_default())),
        (Err(CheckFault::NoDocument), Some(names)) => Ok((Vec::new(), names)),
        (Err(error), _) => Err(fault(&error)),
    }
}

/// Lines on names. A document that is malformed has a line already.
fn names_of(path: &Path, names: Vec<FileFinding>, documents: &[Checked]) -> impl Iterator<Item = Line> {
    let is_said = |finding: &FileFinding| {
        documents.iter().any(|document| document.outcome.is_err() && document.path == finding.path)
    };
    names.into_iter().filter(move |finding| !is_said(finding)).map(|finding| Line {
        file: path.display().to_string(),
        document: finding.path,
        statement: None,
        rule: finding.rule.name(),
        text: finding.text,
    })
}

/// One line of the report.
struct Line {
    file: String,
    document: String,
    /// From one; none for a document that is malformed.
    statement: Option<usize>,
    rule: &'static str,
    text: String,
}

impl Line {
    fn text(&self) -> String {
        let document = if self.document.is_empty() { String::new() } else { format!("{}: ", self.document) };
        let statement = self.statement.map_or_else(String::new, |number| format!("statement {number}: "));
        format!("{}: {document}{statement}{}: {}", self.file, self.rule, self.text)
    }

    fn json(&self) -> Value {
        json!({
            "file": self.file,
            "document": self.document,
            "statement": self.statement,
            "rule": self.rule,
            "text": self.text,
        })
    }
}

fn findings(path: &Path, document: &Checked, allowed: &[String]) -> Vec<Line> {
    let line = |statement, rule, text| Line {
        file: path.display().to_string(),
        document: document.path.clone(),
        statement,
        rule,
        text,
    };
    match &document.outcome {
        Err(fault) => vec![line(None, "malformed", fault.advice())],
        Ok(findings) => {
            let shown =
                findings.iter().filter(|finding| !allowed.iter().any(|rule| rule == finding.rule.name()));
            shown
                .map(|finding| line(Some(finding.statement + 1), finding.rule.name(), finding.text.clone()))
                .collect()
        }
    }
}
