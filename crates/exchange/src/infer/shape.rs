//! Splits a key's text into segments, and judges which of them can be literals of the design.

use keywright_model::template::times::{is_whole_time, time_before};

/// The delimiters of composed keys, the most reliable first.
const DELIMITERS: [char; 4] = ['#', '|', ':', '/'];

/// The role of an attribute in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Partition,
    Sort,
}

/// A key's text in parts, which are literals or values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    pub(super) parts: Vec<&'a str>,
    /// The delimiter after each part except the last.
    pub(super) between: Vec<&'a str>,
}

/// The delimiter of a composed key's text. All except `#` also occur in
/// dates and paths, so they count only after a word or a whole time.
pub(super) fn delimiter(text: &str) -> Option<char> {
    DELIMITERS.into_iter().find(|delimiter| match text.split_once(*delimiter) {
        Some((before, _)) => {
            *delimiter == '#'
                || (!before.is_empty() && before.chars().all(char::is_alphabetic))
                || matches!(time_before(text, &delimiter.to_string()), 1.. if !is_whole_time(text))
        }
        None => false,
    })
}

/// The segments of a key's text between its delimiters. A time keeps its colons.
pub(super) fn segments(text: &str, delimiter: Option<char>) -> Vec<&str> {
    let Some(delimiter) = delimiter else { return vec![text] };
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let from = time_before(rest, &delimiter.to_string());
        let end = rest.get(from..).and_then(|tail| tail.find(delimiter)).map(|at| from + at);
        let cut = end.and_then(|end| Some((rest.get(..end)?, rest.get(end + delimiter.len_utf8()..)?)));
        let Some((segment, tail)) = cut else { break };
        found.push(segment);
        rest = tail;
    }
    found.push(rest);
    found
}

/// The segments of a key's text, and the delimiters between them.
pub(super) fn cut(text: &str) -> Cut<'_> {
    let delimiter = delimiter(text);
    let parts = segments(text, delimiter);
    let mut between = Vec::new();
    let mut at = 0;
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        at += part.len();
        let end = at + delimiter.map_or(0, char::len_utf8);
        between.push(text.get(at..end).unwrap_or_default());
        at = end;
    }
    Cut { parts, between }
}

/// Signs that designs put before a literal to sort it before or after everything else.
const SIGNS: [char; 9] = ['"', '~', '$', '!', '@', '_', '*', '.', '^'];

/// Whether a segment can be a literal of the design (`ORDER` in `ORDER#17`), judged by its characters.
pub(super) fn reads_like_a_word(segment: &str) -> bool {
    let bare = segment.trim_matches(SIGNS);
    let upper = !bare.chars().any(char::is_lowercase);
    // `USER.EMAIL` can be a literal, `example.com` cannot.
    let joins = |letter: char| letter == '_' || letter == '-' || letter == '.' && upper;
    bare.starts_with(char::is_alphabetic)
        && bare.chars().all(|letter| letter.is_alphabetic() || joins(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_keeps_its_colons_with_any_delimiter() {
        for time in [
            "2026-01-01",
            "2026-01-01T10:20",
            "2026-01-01T10:20:30",
            "2026-01-01T10:20:30Z",
            "2026-01-01T10:20:30.123Z",
            "2026-01-01T10:20:30+02:00",
        ] {
            assert!(is_whole_time(time), "{time}");
            assert_eq!(delimiter(time), None, "{time}");
            for (text, parts) in [
                (format!("msg:{time}:01H"), vec!["msg", time, "01H"]),
                (format!("{time}:01H"), vec![time, "01H"]),
                (format!("msg#{time}"), vec!["msg", time]),
                (format!("msg/{time}/a/b"), vec!["msg", time, "a", "b"]),
            ] {
                let cut = cut(&text);
                assert_eq!(cut.parts, parts, "{text}");
                let last = vec![""];
                let between = cut.between.iter().chain(&last);
                let joined: String =
                    cut.parts.iter().zip(between).flat_map(|(part, then)| [*part, *then]).collect();
                assert_eq!(joined, text);
            }
        }
        assert_eq!(["2026-1-1", "order", "2026-01-01TX"].map(|text| time_before(text, ":")), [0, 0, 0]);
        assert_eq!(cut("a:10:20").parts, ["a", "10", "20"]);
    }
}
