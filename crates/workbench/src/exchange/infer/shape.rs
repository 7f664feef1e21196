//! How a key's text is built: its segments, and which of them could be words of the design rather than values.

/// What stands between the parts of a composed key, the most telling first.
const DELIMITERS: [char; 4] = ['#', '|', ':', '/'];

/// Where in a key an attribute stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Partition,
    Sort,
}

/// The delimiter of a key's text, if it is composed. All but `#` also occur inside dates and paths, so they count only
/// behind a word.
pub(super) fn delimiter(text: &str) -> Option<char> {
    DELIMITERS.into_iter().find(|delimiter| match text.split_once(*delimiter) {
        Some((before, _)) => {
            *delimiter == '#' || (!before.is_empty() && before.chars().all(char::is_alphabetic))
        }
        None => false,
    })
}

/// The segments of a key's text between its delimiters.
pub(super) fn segments(text: &str, delimiter: Option<char>) -> Vec<&str> {
    match delimiter {
        Some(delimiter) => text.split(delimiter).collect(),
        None => vec![text],
    }
}

/// Signs that designs put before a word, so that it sorts before or after everything else.
const SIGNS: [char; 9] = ['"', '~', '$', '!', '@', '_', '*', '.', '^'];

/// Whether a segment could be a word of the design (`ORDER` in `ORDER#17`), as far as its letters tell.
pub(super) fn reads_like_a_word(segment: &str) -> bool {
    let bare = segment.trim_matches(SIGNS);
    bare.starts_with(char::is_alphabetic)
        && bare.chars().all(|letter| letter.is_alphabetic() || letter == '_' || letter == '-')
}

/// Whether the text is a date or a time as ISO 8601 writes it.
pub(super) fn is_time(text: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    digits(0..4)
        && text.get(4..5) == Some("-")
        && digits(5..7)
        && text.get(7..8) == Some("-")
        && digits(8..10)
}
