//! How a key's text is built: its segments, and which of them are words of the design rather than values.

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

/// Whether a segment reads like a word of the design (`ORDER` in `ORDER#17`) and not like a value.
pub(super) fn is_word(segment: &str, at: usize, count: usize, role: Role) -> bool {
    let bare = segment.trim_matches('"');
    if bare.is_empty() {
        return true;
    }
    if bare.chars().any(|letter| letter.is_ascii_digit()) || !bare.starts_with(char::is_alphabetic) {
        return false;
    }
    let plain = bare.chars().all(|letter| letter.is_alphabetic() || letter == '_' || letter == '-');
    let lower = bare.chars().all(|letter| !letter.is_uppercase());
    let upper = bare.chars().all(|letter| !letter.is_lowercase());
    match (count, role) {
        (1, Role::Partition) => false,
        (1, Role::Sort) => plain && (lower || upper),
        _ if at == 0 => plain,
        _ if at + 1 == count => plain && lower,
        _ => plain && (lower || upper),
    }
}

/// The words of a key's text, with `*` for everything else: texts of one pattern have one shape.
pub(super) fn shape(text: &str, role: Role) -> String {
    let delimiter = delimiter(text);
    let parts = segments(text, delimiter);
    let count = parts.len();
    let words: Vec<&str> = parts
        .into_iter()
        .enumerate()
        .map(|(at, part)| if is_word(part, at, count, role) { part } else { "*" })
        .collect();
    words.join(&delimiter.map(String::from).unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_design_are_told_from_values() {
        let cases = [
            ("c#12345", Role::Sort, "c#*"),
            ("metadata", Role::Sort, "metadata"),
            ("\"count\"", Role::Sort, "\"count\""),
            ("Complaint123", Role::Partition, "*"),
            ("User:UserA", Role::Partition, "User:*"),
            ("2023-04-01T12:00:00.001Z", Role::Sort, "*"),
            ("comm#2023-04-30T12:00:24#comm1", Role::Sort, "comm#*#*"),
            ("u#12345#follower", Role::Partition, "u#*#follower"),
            ("SUB#123#SKU#999", Role::Sort, "SUB#*#SKU#*"),
            ("#META#", Role::Sort, "#META#"),
            ("c#ABC", Role::Sort, "c#*"),
            ("alice", Role::Partition, "*"),
        ];
        for (text, role, expected) in cases {
            assert_eq!(shape(text, role), expected, "{text}");
        }
    }
}
