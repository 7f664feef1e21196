//! Matches a text against a template and extracts the values of its attributes.

use super::times::time_before;
use super::{Part, Template};

/// How much of a place's value a prefix of a text contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The value begins so.
    Beginning,
}

impl Template {
    /// The places of the template, each with its value in a text, in order; `None` if the text does not fit.
    /// A value is as short as the literals around it allow, and never empty. Padded numbers and shards have
    /// only digits.
    pub fn fit<'s, 't>(&'s self, text: &'t str) -> Option<Vec<(&'s Part, &'t str)>> {
        let mut values = Vec::new();
        let mut rest = text;
        let mut at = 0;
        while let Some(part) = self.parts.get(at) {
            match (part, self.parts.get(at + 1)) {
                (Part::Literal(word), _) => rest = rest.strip_prefix(word.as_str())?,
                (_, None) => {
                    values.push((part, rest));
                    rest = "";
                }
                (_, Some(Part::Literal(word))) => {
                    let last = at + 2 == self.parts.len();
                    let end =
                        if last { rest.len().checked_sub(word.len())? } else { end_before(rest, word)? };
                    let (value, tail) = rest.split_at_checked(end)?;
                    values.push((part, value));
                    rest = tail;
                }
                // Nothing tells where the first of two adjacent places ends: no text fits.
                (_, Some(_)) => return None,
            }
            at += 1;
        }
        let filled = values.iter().all(|(part, value)| can_be(part, value));
        if !rest.is_empty() || !filled {
            return None;
        }
        let bytes = values.iter().map(|(_, value)| value.len()).sum::<usize>();
        assert_eq!(self.literal_bytes() + bytes, text.len(), "words and values make up the text");
        debug_assert_eq!(self.with_values(&values), text, "a text that fits is made of its values");
        Some(values)
    }

    /// The text with these values at the places, in order.
    fn with_values(&self, values: &[(&Part, &str)]) -> String {
        let mut values = values.iter().map(|(_, value)| *value);
        let texts = self.parts.iter().map(|part| match part {
            Part::Literal(word) => word.as_str(),
            Part::Attribute { .. } | Part::Shard { .. } => values.next().unwrap_or_default(),
        });
        texts.collect()
    }

    /// Whether the template can produce a text.
    pub fn fits(&self, text: &str) -> bool {
        self.fit(text).is_some()
    }

    /// The places of the template that a prefix of a text reaches, in order; `None` if no text of the
    /// template begins with it. Only the last place can be shown in part.
    pub fn fit_prefix<'s, 't>(&'s self, prefix: &'t str) -> Option<Vec<(&'s Part, &'t str, Extent)>> {
        let mut values = Vec::new();
        let mut rest = prefix;
        for (at, part) in self.parts.iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            if let Part::Literal(word) = part {
                rest = match rest.strip_prefix(word.as_str()) {
                    Some(after) => after,
                    None if word.starts_with(rest) => "",
                    None => return None,
                };
                continue;
            }
            let end = match self.parts.get(at + 1) {
                Some(Part::Literal(word)) => end_before(rest, word).filter(|end| *end < rest.len()),
                _ => None,
            };
            match end.and_then(|end| rest.split_at_checked(end)) {
                Some(("", _)) => return None,
                Some((value, after)) => {
                    values.push((part, value, Extent::Whole));
                    rest = after;
                }
                None => values.push((part, std::mem::take(&mut rest), Extent::Beginning)),
            }
        }
        let before = values.iter().rev().skip(1);
        assert!(
            before.into_iter().all(|(_, _, extent)| *extent == Extent::Whole),
            "only the last value is cut"
        );
        rest.is_empty().then_some(values)
    }
}

/// Whether a place can have this value.
fn can_be(place: &Part, value: &str) -> bool {
    let is_number = match place {
        Part::Attribute { pad, .. } => pad.is_some(),
        Part::Shard { .. } => true,
        Part::Literal(_) => false,
    };
    !value.is_empty() && (!is_number || value.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The end of a value that a literal follows. A colon inside a whole time is not taken for the literal.
fn end_before(text: &str, word: &str) -> Option<usize> {
    match time_before(text, word) {
        0 => text.find(word),
        time => Some(time),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_fits_a_template_or_does_not() {
        let cases: [(&str, &str, Option<&[&str]>); 11] = [
            ("c#{id}", "c#12", Some(&["12"])),
            ("c#{id:pad(3)}", "c#1a2", None),
            ("c#{id|shard(3)}", "c#x", None),
            ("c#{id}", "d#12", None),
            ("c#{id}", "c#", None),
            ("{a}#x#{b:pad(3)}", "1#x#002", Some(&["1", "002"])),
            ("u#{a}#end", "u#1#2#end", Some(&["1#2"])),
            ("meta", "meta", Some(&[])),
            ("meta", "metadata", None),
            ("m:{at}:{id}", "m:2026-01-01T10:20:30Z:01H", Some(&["2026-01-01T10:20:30Z", "01H"])),
            ("{all}", "anything", Some(&["anything"])),
        ];
        for (text, key, expected) in cases {
            let template = Template::parse(text).expect(text);
            let found = template.fit(key);
            let values: Option<Vec<&str>> =
                found.as_ref().map(|found| found.iter().map(|(_, value)| *value).collect());
            assert_eq!(values.as_deref(), expected, "{text} {key}");
        }
        let template = Template::parse("{id:pad(3)}#{at|shard(9)}").expect("a template");
        let fitted = template.fit("007#4").expect("it fits");
        let readable: Vec<(Option<&str>, &str)> =
            fitted.iter().map(|(part, value)| (part.readable(), *value)).collect();
        assert_eq!(readable, [(Some("id"), "007"), (None, "4")]);
    }

    /// A template whose places all have a word between them.
    fn templates() -> impl Strategy<Value = Template> {
        let place = prop_oneof![
            Just("{a}".to_owned()),
            Just("{b:pad(3)}".to_owned()),
            Just("{c|shard(9)}".to_owned())
        ];
        (proptest::option::of("[a-c#:]{1,2}"), proptest::collection::vec((place, "[a-c#:]{1,2}"), 0..3))
            .prop_filter_map("a template", |(first, rest)| {
                let rest: String = rest.into_iter().flat_map(|(place, word)| [place, word]).collect();
                Template::parse(&format!("{}{rest}", first.unwrap_or_default())).ok()
            })
    }

    proptest! {
        #[test]
        fn a_text_that_fits_is_made_of_its_values(template in templates(), text in "[a-c#:0-9]{0,8}") {
            if let Some(values) = template.fit(&text) {
                prop_assert_eq!(template.with_values(&values), text);
            }
        }

        #[test]
        fn a_text_of_a_template_fits_it(
            template in templates(), values in proptest::collection::vec("[0-9]{1,3}", 3)
        ) {
            let values: Vec<(&Part, &str)> =
                template.parts.iter().filter(|part| part.attribute().is_some()).zip(values.iter().map(String::as_str)).collect();
            let text = template.with_values(&values);
            prop_assert_eq!(template.fit(&text), Some(values));
        }
    }

    #[test]
    fn a_prefix_of_a_text_shows_the_values_that_it_reaches() {
        use Extent::{Beginning, Whole};
        type Shown = (&'static str, Extent);
        let cases: [(&str, &str, Option<&[Shown]>); 9] = [
            ("o#{day}#{id}", "o#", Some(&[])),
            ("o#{day}#{id}", "o", Some(&[])),
            ("o#{day}#{id}", "o#2026-01", Some(&[("2026-01", Beginning)])),
            ("o#{day}#{id}", "o#2026-01-02#", Some(&[("2026-01-02", Whole)])),
            ("o#{day}#{id}", "o#2026-01-02#7", Some(&[("2026-01-02", Whole), ("7", Beginning)])),
            ("o#{day}#{id}", "p#", None),
            ("o#{day}#{id}", "o##7", None),
            (
                "m:{at}:{id}",
                "m:2026-01-01T10:20:30Z:01H",
                Some(&[("2026-01-01T10:20:30Z", Whole), ("01H", Beginning)]),
            ),
            ("meta", "metadata", None),
        ];
        for (text, prefix, expected) in cases {
            let template = Template::parse(text).expect(text);
            let found = template.fit_prefix(prefix);
            let values: Option<Vec<Shown>> =
                found.map(|found| found.into_iter().map(|(_, value, extent)| (value, extent)).collect());
            assert_eq!(values.as_deref(), expected, "{text} {prefix}");
        }
    }

    #[test]
    fn the_template_with_more_literal_bytes_is_the_more_specific() {
        let bytes = |text: &str| Template::parse(text).expect(text).literal_bytes();
        assert!(bytes("u#{a}#end") > bytes("u#{a}"));
    }
}
