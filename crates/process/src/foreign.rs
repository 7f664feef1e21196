//! Foreign text in what people read: lines of the log and messages on a terminal.
//!
//! Names and messages of clients, endpoints and files can have line breaks that forge a line, sequences that
//! command a terminal, and marks that turn the direction of the text. What is dangerous is written as JSON
//! escapes it, `\u001b`, so that a line of JSON stays one. It does not know where the text comes from.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of one foreign message in a line.
const MESSAGE_BYTES_MAX: usize = 4 * 1024;
/// Bytes of one foreign name in a line. The longest honest one, the ARN of an index, has 600.
const NAME_BYTES_MAX: usize = 640;
/// Stands where a text was cut.
const CUT: &str = "…";

/// Whether a line break or tab is part of the text's own layout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Kept,
    Escaped,
}

/// A message as part of a line: escaped, line breaks too, and cut at some length.
pub fn inline(text: &str) -> Cow<'_, str> {
    let shown = clipped(text, MESSAGE_BYTES_MAX);
    escaped(shown, Breaks::Escaped)
}

/// A whole message of one or more lines: escaped, but for line breaks and tabs. What is foreign in it must
/// have come through `inline`.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(Cow::Borrowed(text), Breaks::Kept)
}

/// A name of at most so many bytes.
pub fn name(text: &str) -> Cow<'_, str> {
    clipped(text, NAME_BYTES_MAX)
}

/// A value of a `name=value` line: as it is if it has only letters, digits and marks of names, else quoted.
pub fn value(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+*".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

/// A string of JSON that may stand in a line, and between single quotes of a shell.
pub fn quoted(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => written.extend(['\\', letter]),
            '\'' => escape(letter, &mut written),
            _ if is_dangerous(letter) => escape(letter, &mut written),
            _ => written.push(letter),
        }
    }
    written.push('"');
    written
}

fn clipped(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(bytes_max);
    Cow::Owned(format!("{}{CUT}", text.get(..end).unwrap_or_default()))
}

fn escaped(text: Cow<'_, str>, breaks: Breaks) -> Cow<'_, str> {
    let stays = |letter: char| {
        let is_break = matches!(letter, '\n' | '\t') && breaks == Breaks::Kept;
        is_break || !is_dangerous(letter)
    };
    if text.chars().all(stays) {
        return text;
    }
    let mut written = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if stays(letter) {
            written.push(letter);
        } else {
            escape(letter, &mut written);
        }
    }
    Cow::Owned(written)
}

/// Controls, separators of lines and paragraphs, and marks that turn the direction of text. All are of the
/// first plane, so that four digits name them.
pub const fn is_dangerous(letter: char) -> bool {
    letter.is_ascii_control()
        || matches!(
            letter,
            '\u{80}'..='\u{9f}'
                | '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

fn escape(letter: char, written: &mut String) {
    // Writing to a String does not fail.
    let _ = write!(written, "\\u{:04x}", u32::from(letter));
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "Shop\n2026-11-27T16:00:00Z request\r\u{1b}[2J\u{9b}31m\u{2028}\u{202e}\u{2066}\0é";

    #[test]
    fn foreign_text_makes_no_line_and_no_command_of_a_terminal() {
        for shown in [inline(HOSTILE).into_owned(), value(HOSTILE).into_owned(), quoted(HOSTILE)] {
            assert!(!shown.chars().any(|letter| letter.is_control() || is_dangerous(letter)), "{shown}");
            assert!(shown.contains("Shop\\u000a2026"), "{shown}");
            assert!(shown.contains("\\u001b[2J\\u009b31m\\u2028\\u202e\\u2066\\u0000é"), "{shown}");
        }
        let read: String = serde_json::from_str(&quoted(HOSTILE)).unwrap();
        assert_eq!(read, HOSTILE);
    }

    #[test]
    fn a_message_of_several_lines_keeps_them() {
        assert_eq!(lines("one\n\ttwo\u{1b}[0m\r\n"), "one\n\ttwo\\u001b[0m\\u000d\n");
        assert!(matches!(lines("plain é"), Cow::Borrowed("plain é")));
        let line = r#"{"message":"a\nb"}"#;
        assert_eq!(lines(line), line);
    }

    #[test]
    fn a_value_that_could_be_taken_for_another_one_is_quoted() {
        let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Shop";
        assert_eq!(value(arn), arn);
        for (text, shown) in
            [("Shop", "Shop"), ("", r#""""#), ("a b", r#""a b""#), ("x,y", r#""x,y""#), ("a=b", r#""a=b""#)]
        {
            assert_eq!(value(text), shown);
        }
        assert_eq!(quoted("it's \\ \""), r#""it\u0027s \\ \"""#);
    }

    #[test]
    fn long_text_is_cut_between_two_letters() {
        let long = "é".repeat(8_000);
        let shown = inline(&long);
        assert!(shown.len() <= MESSAGE_BYTES_MAX + CUT.len() && shown.ends_with("é…"), "{}", shown.len());
        assert!(name(&long).len() <= NAME_BYTES_MAX + CUT.len());
        assert_eq!(name("Shop"), "Shop");
    }
}
