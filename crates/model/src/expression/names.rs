//! The attribute names in an expression's text.

use std::ops::Range;

/// Keywords of expressions, which are not attributes.
const KEYWORDS: &[&str] = &["and", "or", "not", "between", "in", "set", "remove", "add", "delete"];

/// Whether a character can be part of an attribute's name in an expression.
pub fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The places of the names in a text: of attributes, and of members inside documents.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut sign = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let length = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
        let (word, left) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        if length == 0 {
            sign = first;
        } else {
            let keyword = KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword));
            let function = left.trim_start().starts_with('(');
            let number = word.bytes().all(|byte| byte.is_ascii_digit());
            if !matches!(sign, ':' | '#') && !keyword && !function && !number {
                found.push(start..start + length);
            }
            sign = ' ';
        }
        rest = left;
    }
    found
}

/// Whether the expression language can read a name without a placeholder.
fn is_plain(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A text with every name at these places replaced.
pub(super) fn with_names(
    text: &str,
    places: &[Range<usize>],
    mut other: impl FnMut(&str) -> String,
) -> String {
    let mut made = String::with_capacity(text.len());
    let mut end = 0;
    for place in places {
        made.push_str(text.get(end..place.start).unwrap_or_default());
        made.push_str(&other(text.get(place.clone()).unwrap_or_default()));
        end = place.end;
    }
    made.push_str(text.get(end..).unwrap_or_default());
    made
}

/// A text that the parser can read: names such as `_id` are replaced by placeholders.
pub(super) struct Readable {
    pub(super) text: String,
    names: Vec<String>,
}

/// What every placeholder of `Readable` begins with.
const PLACEHOLDER: &str = "#unreadable_";

impl Readable {
    pub(super) fn of(text: &str) -> Self {
        let mut names = Vec::new();
        let text = with_names(text, &places(text), |name| {
            if is_plain(name) {
                return name.to_owned();
            }
            names.push(name.to_owned());
            format!("{PLACEHOLDER}{}", names.len() - 1)
        });
        Self { text, names }
    }

    /// The name that a placeholder stands for. An author's own placeholder stands for itself.
    pub(super) fn name(&self, placeholder: &str) -> String {
        let number = placeholder.strip_prefix(PLACEHOLDER).and_then(|number| number.parse::<usize>().ok());
        let known = number.and_then(|number| self.names.get(number));
        known.map_or_else(|| placeholder.to_owned(), String::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_words_of_the_language_are_not() {
        let text = "status = :s AND attribute_exists(info.name) OR size (tags[10]) > :n and _id <> #x";
        let made = with_names(text, &places(text), str::to_uppercase);
        assert_eq!(made, "STATUS = :s AND attribute_exists(INFO.NAME) OR size (TAGS[10]) > :n and _ID <> #x");
    }

    #[test]
    fn names_that_the_language_cannot_read_come_back() {
        let readable = Readable::of("_id = :id AND plain = :p AND größe > :g");
        assert_eq!(readable.text, "#unreadable_0 = :id AND plain = :p AND #unreadable_1 > :g");
        assert_eq!(readable.name("#unreadable_1"), "größe");
        assert_eq!(readable.name("#status"), "#status");
    }
}
