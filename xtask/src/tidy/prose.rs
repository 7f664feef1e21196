//! The words and the width of comments, documents and messages.

use super::allowance::{Fault, Rule};
use super::source::{Source, part_of};
use super::text::{Kind, Piece, pieces};

/// What prose does not say, and what it says instead.
const WORDS: &[(&str, &str)] = &[
    ("second item", "derived item"),
    ("second items", "derived items"),
    ("former", "the old value, a stale copy, or legacy for texts of before 2026"),
    ("makeup", "provenance"),
    ("nought", "zero"),
    ("beside", "next to, with"),
    ("whoever", "the caller, the writer, the reader"),
    ("how manieth", "the index of"),
    ("is told", "reports, says"),
    ("are told", "report, say"),
];

/// A line of a comment or a document has no more columns.
const COLUMNS_MAX: usize = 110;
/// A quotation at least this long may be a text of the service, which keeps its line.
const QUOTATION_COLUMNS: usize = 60;

/// Files that must name the words: this one, and the glossary.
const WITH_WORDS: &[&str] = &["xtask/src/tidy/prose.rs", "xtask/src/tidy/names.rs"];
const GLOSSARY: &str = "CONTRIBUTING.md";
/// Texts of the service, which are what they are.
const SERVICE_TEXTS: &[&str] = &["crates/semantics/src/messages"];

pub(super) fn check_source(source: &Source, faults: &mut Vec<Fault>) {
    if WITH_WORDS.contains(&source.shown.as_str()) {
        return;
    }
    let pieces = pieces(&source.text);
    let is_of_the_service = SERVICE_TEXTS.iter().any(|folder| source.shown.starts_with(folder));
    let prose = pieces.iter().filter(|piece| piece.kind == Kind::Comment || !is_of_the_service);
    check_words(&source.shown, prose.copied(), faults);
    let lines: Vec<&str> = source.text.lines().collect();
    let mut is_code = false;
    let mut last_line = 0;
    for piece in pieces.iter().filter(|piece| piece.kind == Kind::Comment) {
        if piece.line > last_line + 1 {
            is_code = false;
        }
        last_line = piece.line;
        let prose = piece.text.trim_start_matches(['/', '!', '*', ' ']);
        is_code ^= prose.starts_with("```");
        let line = lines.get(piece.line - 1).copied().unwrap_or_default();
        if !is_code && is_too_wide(line, prose) {
            faults.push(too_wide(&source.shown, piece.line, line));
        }
    }
}

pub(super) fn check_document(shown: &str, text: &str, faults: &mut Vec<Fault>) {
    let mut is_code = false;
    for (line, number) in text.lines().zip(1..) {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            continue;
        }
        if is_too_wide(line, line.trim_start()) {
            faults.push(too_wide(shown, number, line));
        }
        let is_glossary = shown == GLOSSARY && line.starts_with('|');
        if !is_glossary {
            let piece = Piece { kind: Kind::Comment, line: number, text: line };
            check_words(shown, std::iter::once(piece), faults);
        }
    }
}

fn check_words<'a>(shown: &str, prose: impl Iterator<Item = Piece<'a>>, faults: &mut Vec<Fault>) {
    for piece in prose {
        let text = piece.text.to_lowercase();
        for (word, instead) in WORDS.iter().filter(|(word, _)| has_word(&text, word)) {
            let place = format!("{}:{}", shown, piece.line);
            let text = format!("{place}: \"{word}\": write {instead}");
            faults.push(Fault { rule: Rule::Words, part: part_of(shown).to_owned(), text });
        }
    }
}

/// Whether the word stands in the text, not as a part of another one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    })
}

fn is_too_wide(line: &str, prose: &str) -> bool {
    line.chars().count() > COLUMNS_MAX
        && !prose.starts_with('|')
        && !prose.contains("](")
        && !prose.contains("://")
        && !has_long_quotation(prose)
}

fn has_long_quotation(prose: &str) -> bool {
    ['"', '`'].into_iter().any(|quote| {
        let inner = prose.split(quote).skip(1).step_by(2);
        inner.into_iter().any(|quotation| quotation.chars().count() >= QUOTATION_COLUMNS)
    })
}

fn too_wide(shown: &str, number: usize, line: &str) -> Fault {
    let columns = line.chars().count();
    let text = format!("{shown}:{number}: {columns} columns: wrap comments and prose at {COLUMNS_MAX}");
    Fault { rule: Rule::Columns, part: part_of(shown).to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of_source(text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check_source(&Source::new("crates/a/src/b.rs", text.to_owned(), false).unwrap(), &mut faults);
        faults.into_iter().map(|fault| fault.text).collect()
    }

    #[test]
    fn a_banned_word_is_refused_in_comments_and_messages_with_what_to_write_instead() {
        let faults = faults_of_source("//! Second items.\nconst A: &str = \"Nought\";\n");
        assert_eq!(
            faults,
            [
                "crates/a/src/b.rs:1: \"second items\": write derived items",
                "crates/a/src/b.rs:2: \"nought\": write zero"
            ]
        );
    }

    #[test]
    fn names_and_parts_of_words_are_not_prose() {
        assert!(
            faults_of_source("//! Besides, `former_copy` is no transformer.\nfn beside() {}\n").is_empty()
        );
    }

    #[test]
    fn wide_comments_are_refused_but_not_tables_links_code_and_quoted_texts() {
        let wide = "word ".repeat(30);
        assert_eq!(faults_of_source(&format!("//! {wide}\n")).len(), 1);
        for prose in [
            format!("| {wide} |"),
            format!("see https://example.com/{wide}"),
            format!("the service says \"{wide}\""),
            format!("```\n//! {wide}\n//! ```"),
        ] {
            assert!(faults_of_source(&format!("//! {prose}\n")).is_empty(), "{prose}");
        }
        assert!(faults_of_source(&format!("const A: &str = \"{wide}\";\n")).is_empty());
    }

    #[test]
    fn documents_are_checked_outside_code_and_the_glossary() {
        let wide = "word ".repeat(30);
        let check = |shown: &str, text: &str| {
            let mut faults = Vec::new();
            check_document(shown, text, &mut faults);
            faults.len()
        };
        assert_eq!(check("docs/a.md", &format!("{wide}\nbeside\n")), 2);
        assert_eq!(check("docs/a.md", &format!("```\n{wide} beside\n```\n")), 0);
        assert_eq!(check("CONTRIBUTING.md", "| next to | beside |\n"), 0);
        assert_eq!(check("CONTRIBUTING.md", "beside\n"), 1);
    }
}
