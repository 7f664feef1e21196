//! Checks of files: one policy document, or any JSON with documents within it, such as an access file.
//!
//! It does not read files, and what else such a file says is not its matter.

use crate::document::{Document, DocumentFault, Json, PolicyKind};
use crate::lint::{Finding, Known, lint};

/// Levels of JSON that are searched for documents.
const DEPTH_MAX: usize = 16;

/// What was found in one document of a file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Where in the file it is, such as `users[0].policies.inline`; empty for the file itself.
    pub path: String,
    /// What it is for, as its members and its place say.
    pub kind: PolicyKind,
    /// Its findings, or why it is no document.
    pub outcome: Result<Vec<Finding>, DocumentFault>,
}

/// Why a file cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckFault {
    /// It is not JSON, or has a member twice: what is wrong, and at which line.
    NotJson(String),
    /// It has no document: no object with the member `Statement`.
    NoDocument,
}

impl std::fmt::Display for CheckFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(fault) => write!(formatter, "not JSON: {fault}"),
            Self::NoDocument => formatter
                .write_str("no policy document in it: a document is an object with the member Statement"),
        }
    }
}

impl std::error::Error for CheckFault {}

/// Checks all documents of a file.
pub fn check(text: &str, known: Known<'_>) -> Result<Vec<Checked>, CheckFault> {
    let json = Json::read(text).map_err(CheckFault::NotJson)?;
    let mut checked = Vec::new();
    if let Some(kind) = kind_of(&json, "") {
        // The text's own size and characters count too.
        let outcome = Document::parse(text, kind).map(|document| lint(&document, known));
        return Ok(vec![Checked { path: String::new(), kind, outcome }]);
    }
    search(&json, "", DEPTH_MAX, known, &mut checked);
    if checked.is_empty() { Err(CheckFault::NoDocument) } else { Ok(checked) }
}

fn search(json: &Json, path: &str, depth: usize, known: Known<'_>, checked: &mut Vec<Checked>) {
    if let Some(kind) = kind_of(json, path) {
        let outcome = Document::of_json(json, kind).map(|document| lint(&document, known));
        checked.push(Checked { path: path.to_owned(), kind, outcome });
        return;
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                search(value, &path, depth, known, checked);
            }
        }
        Json::List(list) => {
            for (index, value) in list.iter().enumerate() {
                search(value, &format!("{path}[{index}]"), depth, known, checked);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}

/// What a document is for; none if it is none.
fn kind_of(json: &Json, path: &str) -> Option<PolicyKind> {
    let member = |json: &Json, name: &str| match json {
        Json::Object(members) => {
            members.iter().find(|(member, _)| member == name).map(|(_, value)| value.clone())
        }
        _ => None,
    };
    let statements = match member(json, "Statement")? {
        Json::List(list) => list,
        one => vec![one],
    };
    let has = |name: &str| statements.iter().any(|statement| member(statement, name).is_some());
    let last = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let names_stream = statements.iter().any(|statement| match member(statement, "Resource") {
        Some(Json::Text(text)) => text.contains("/stream/"),
        Some(Json::List(names)) => {
            names.iter().any(|one| matches!(one, Json::Text(text) if text.contains("/stream/")))
        }
        _ => false,
    });
    Some(match has("Principal") || has("NotPrincipal") {
        true if !has("Resource") && !has("NotResource") => PolicyKind::Trust,
        true if names_stream => PolicyKind::Stream,
        true => PolicyKind::Table,
        false if last.contains("boundary") => PolicyKind::Boundary,
        false => PolicyKind::Identity,
    })
}
