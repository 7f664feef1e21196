//! The files of request cases below `tests/cases`: one for each operation, one row for each case.
//!
//! A row is `name | body | outcome | message`; `<a*256>` means 256 times `a`.

use std::path::Path;

#[allow(dead_code, reason = "the walk through the service model reads fewer columns")]
pub(crate) struct Case {
    /// The operation's name in snake case.
    pub file: String,
    pub name: String,
    pub body: String,
    pub outcome: String,
    pub message: String,
}

pub(crate) fn cases() -> Vec<Case> {
    cases_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"))
}

/// The cases of the files in a folder.
pub(crate) fn cases_in(folder: &Path) -> Vec<Case> {
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

pub(crate) fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
