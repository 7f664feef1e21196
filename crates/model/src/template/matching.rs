//! Matches a text against a template and extracts the variables.

use super::times::time_before;

/// A template's text in pieces: literals and the contents of `{…}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Word(&'a str),
    Place(&'a str),
}

impl<'a> Part<'a> {
    pub const fn place(&self) -> Option<&'a str> {
        match self {
            Self::Word(_) => None,
            Self::Place(place) => Some(place),
        }
    }
}

/// The pieces of a template such as `c#{customerId}`.
pub fn parts(template: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((word, after)) = rest.split_once('{') {
        let Some((place, tail)) = after.split_once('}') else {
            break;
        };
        if !word.is_empty() {
            found.push(Part::Word(word));
        }
        found.push(Part::Place(place));
        rest = tail;
    }
    if !rest.is_empty() {
        found.push(Part::Word(rest));
    }
    found
}

/// The variable that a place names: `orderId` in `orderId:pad(10)`.
pub fn variable(place: &str) -> &str {
    place.split([':', '|']).next().unwrap_or(place).trim()
}

/// The values of a template's variables in a text, in order; `None` if the text does not fit. A value is as
/// short as the literals around it allow, and never empty.
pub fn fit<'t>(parts: &[Part<'_>], text: &'t str) -> Option<Vec<&'t str>> {
    let mut values = Vec::new();
    let mut rest = text;
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        match (part, parts.get(at + 1)) {
            (Part::Word(word), _) => rest = rest.strip_prefix(word)?,
            (Part::Place(_), None) => {
                values.push(rest);
                rest = "";
            }
            (Part::Place(_), Some(Part::Word(word))) => {
                let last = at + 2 == parts.len();
                let end = if last { rest.len().checked_sub(word.len())? } else { end_before(rest, word)? };
                let (value, tail) = rest.split_at_checked(end)?;
                values.push(value);
                rest = tail;
            }
            // Nothing tells where the first of two adjacent places ends: no text fits.
            (Part::Place(_), Some(Part::Place(_))) => return None,
        }
        at += 1;
    }
    let filled = values.iter().all(|value| !value.is_empty());
    (rest.is_empty() && filled).then_some(values)
}

/// The end of a value that a literal follows. A colon inside a whole time is not taken for the literal.
fn end_before(text: &str, word: &str) -> Option<usize> {
    match time_before(text, word) {
        0 => text.find(word),
        time => Some(time),
    }
}

/// Number of literal characters: of two templates that fit, the one with more is the more specific.
pub fn word_bytes(template: &str) -> usize {
    parts(template).iter().map(|part| if let Part::Word(word) = part { word.len() } else { 0 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_a_template_or_does_not() {
        let cases: [(&str, &str, Option<&[&str]>); 9] = [
            ("c#{id}", "c#12", Some(&["12"])),
            ("c#{id}", "d#12", None),
            ("c#{id}", "c#", None),
            ("{a}#x#{b:pad(3)}", "1#x#002", Some(&["1", "002"])),
            ("u#{a}#end", "u#1#2#end", Some(&["1#2"])),
            ("meta", "meta", Some(&[])),
            ("meta", "metadata", None),
            ("m:{at}:{id}", "m:2026-01-01T10:20:30Z:01H", Some(&["2026-01-01T10:20:30Z", "01H"])),
            ("{all}", "anything", Some(&["anything"])),
        ];
        for (template, text, expected) in cases {
            assert_eq!(fit(&parts(template), text).as_deref(), expected, "{template} {text}");
        }
        assert_eq!(variable("id:pad(3)"), "id");
        assert!(word_bytes("u#{a}#end") > word_bytes("u#{a}"));
    }
}
