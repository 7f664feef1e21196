//! Divides Rust source into comments, strings and code, which the compiler's own tokens do not keep.

/// A piece of source on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Comment,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) kind: Kind,
    /// From 1.
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// All comments and string literals, cut at the ends of lines.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut line = 1;
    let rest = |at: usize| source.get(at..).unwrap_or_default();
    while let Some(character) = rest(at).chars().next() {
        let here = rest(at);
        let (kind, length) = if here.starts_with("//") {
            (Some(Kind::Comment), here.find('\n').unwrap_or(here.len()))
        } else if here.starts_with("/*") {
            (Some(Kind::Comment), block_comment(here))
        } else if character == '"' {
            (Some(Kind::Text), string(here))
        } else if let Some(length) = raw_string(here) {
            (Some(Kind::Text), length)
        } else if character == '\'' {
            (None, quoted(here))
        } else if character.is_alphanumeric() || character == '_' {
            (None, here.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(here.len()))
        } else {
            (None, character.len_utf8())
        };
        let text = here.get(..length).unwrap_or(here);
        if let Some(kind) = kind {
            pieces.extend(text.split('\n').zip(line..).map(|(text, line)| Piece { kind, line, text }));
        }
        line += text.matches('\n').count();
        at += length;
    }
    pieces
}

fn block_comment(here: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = here.get(at..).filter(|rest| !rest.is_empty()) {
        let step = if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(here: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in here.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    here.len()
}

/// The length of `r"…"`, `r#"…"#`, `br"…"` or `b"…"`.
fn raw_string(here: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c"].into_iter().find(|prefix| here.starts_with(prefix))?;
    let rest = here.get(prefix.len()..)?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest.get(hashes..)?.strip_prefix('"')?;
    if !prefix.contains('r') {
        return (hashes == 0).then(|| prefix.len() + string(rest));
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(prefix.len() + hashes + 1 + length)
}

/// A character literal, or the sign of a lifetime.
fn quoted(here: &str) -> usize {
    let mut characters = here.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((after, escaped))) => {
            let from = after + escaped.len_utf8();
            here.get(from..).and_then(|rest| rest.find('\'')).map_or(here.len(), |at| from + at + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(Kind, usize, &str)> {
        pieces(source).into_iter().map(|piece| (piece.kind, piece.line, piece.text)).collect()
    }

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let source =
            "//! One\nlet a = 'x'; // two\nlet b: &'a str = \"three // no\";\n/* four\n/* five */ */ code\n";
        let expected = [
            (Kind::Comment, 1, "//! One"),
            (Kind::Comment, 2, "// two"),
            (Kind::Text, 3, "\"three // no\""),
            (Kind::Comment, 4, "/* four"),
            (Kind::Comment, 5, "/* five */ */"),
        ];
        assert_eq!(found(source), expected);
    }

    #[test]
    fn raw_strings_escapes_and_quotes_end_where_they_end() {
        let source = "a(r#\"x \"y\" // z\"#, \"q\\\"r\", b\"s\", '\"', '\\'', '\\u{41}', br\"t\"); // end";
        let expected = [
            (Kind::Text, 1, "r#\"x \"y\" // z\"#"),
            (Kind::Text, 1, "\"q\\\"r\""),
            (Kind::Text, 1, "b\"s\""),
            (Kind::Text, 1, "br\"t\""),
            (Kind::Comment, 1, "// end"),
        ];
        assert_eq!(found(source), expected);
    }

    #[test]
    fn a_string_over_several_lines_is_one_piece_for_each() {
        assert_eq!(
            found("\"a\nb\" //c"),
            [(Kind::Text, 1, "\"a"), (Kind::Text, 2, "b\""), (Kind::Comment, 2, "//c")]
        );
    }
}
