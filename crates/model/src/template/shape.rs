//! The texts that a key template produces: whether two templates produce the same texts, and whether they can
//! produce a common one.
//!
//! A variable counts by its position, type and format; its name does not matter for the text. Values can
//! contain delimiters here; `overlap` is about entities of one model, whose formats and values are known.

use std::collections::BTreeSet;

use keywright_semantics::value::ValueType;

use super::texts::{Letters, Place, Texts, literal, meet};
use super::{Part, Template};

/// A template with the types of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pieces: Vec<(Part, Option<ValueType>)>,
}

impl Shape {
    /// The shape of a template; without a template, any text.
    pub fn of(template: Option<&Template>, type_of: impl Fn(&str) -> Option<ValueType>) -> Self {
        let any = Template::of_attribute("");
        let typed = |part: &Part| (part.clone(), part.attribute().and_then(&type_of));
        Self { pieces: template.unwrap_or(&any).parts.iter().map(typed).collect() }
    }

    /// The pairs of variables by position, if literals, types and formats are equal.
    pub fn alike<'a>(&'a self, other: &'a Self) -> Option<Vec<(&'a str, &'a str)>> {
        if self.pieces.len() != other.pieces.len() {
            return None;
        }
        let mut names = Vec::new();
        for ((one, first), (two, second)) in self.pieces.iter().zip(&other.pieces) {
            let same = match (one, two) {
                (Part::Literal(one), Part::Literal(two)) => one == two,
                (Part::Attribute { pad: one, .. }, Part::Attribute { pad: two, .. }) => one == two,
                (Part::Shard { shards: one, .. }, Part::Shard { shards: two, .. }) => one == two,
                _ => false,
            };
            if !same || first != second {
                return None;
            }
            names.extend(one.attribute().zip(two.attribute()));
        }
        Some(names)
    }

    /// Whether both can produce a common text.
    pub fn meets(&self, other: &Self) -> bool {
        meet(&self.texts(), &other.texts(), &BTreeSet::new())
    }

    /// Whether both can produce a common text for one item: equal places cancel out, and the rest must have
    /// the same length.
    pub fn may_be_of_one_item(&self, other: &Self) -> bool {
        let mut rest: Vec<&(Part, Option<ValueType>)> = other.places().collect();
        let mut own = 0_usize;
        for place in self.places() {
            match rest.iter().position(|known| *known == place) {
                Some(at) => drop(rest.swap_remove(at)),
                None => own += 1,
            }
        }
        let (letters, others) = (self.letters(), other.letters());
        self.meets(other)
            && match (own > 0, !rest.is_empty()) {
                (true, true) => true,
                (true, false) => letters <= others,
                (false, true) => letters >= others,
                (false, false) => letters == others,
            }
    }

    /// Whether a prefix query by this template, up to its first variable, can find texts of the other.
    pub fn begins_like(&self, other: &Self) -> bool {
        let mut texts = match self.pieces.first() {
            Some((Part::Literal(word), _)) => literal(word),
            _ => Texts::new(),
        };
        texts.push(Place::Many(Letters::Any));
        meet(&texts, &other.texts(), &BTreeSet::new())
    }

    fn places(&self) -> impl Iterator<Item = &(Part, Option<ValueType>)> {
        self.pieces.iter().filter(|(part, _)| part.attribute().is_some())
    }

    /// The number of letters in its literals.
    fn letters(&self) -> usize {
        let letters = self.pieces.iter().map(|(part, _)| match part {
            Part::Literal(text) => text.chars().count(),
            Part::Attribute { .. } | Part::Shard { .. } => 0,
        });
        letters.sum()
    }

    fn texts(&self) -> Texts {
        let texts = self.pieces.iter().flat_map(|(part, value_type)| match (part, value_type) {
            (Part::Literal(text), _) => literal(text),
            (_, Some(ValueType::N)) => vec![Place::Many(Letters::Number)],
            _ => vec![Place::Many(Letters::Any)],
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(template: &str) -> Shape {
        let template = Template::parse(template).expect("a template");
        Shape::of(Some(&template), |name| Some(if name == "n" { ValueType::N } else { ValueType::S }))
    }

    #[test]
    fn templates_write_the_same_when_words_types_and_padding_agree() {
        assert_eq!(shape("o#{a}").alike(&shape("o#{b}")), Some(vec![("a", "b")]));
        for other in ["p#{a}", "o#{n}", "o#{a}#", "o#{a:pad(3)}", "o#x"] {
            assert_eq!(shape("o#{a}").alike(&shape(other)), None, "{other}");
        }
    }

    #[test]
    fn templates_meet_when_one_text_can_be_written_by_both() {
        for (one, other) in
            [("o#{a}", "o#{a}#{b}"), ("{a}", "u#{n}"), ("u#{a}", "{b}#x"), ("x{n}", "x7"), ("u", "u")]
        {
            assert!(shape(one).meets(&shape(other)) && shape(other).meets(&shape(one)), "{one} {other}");
        }
        for (one, other) in
            [("u", "m"), ("o#{a}", "ord#{a}"), ("o#{n}", "o#x"), ("{n}#a", "{a}#b"), ("x{n}y", "xzy")]
        {
            assert!(!shape(one).meets(&shape(other)) && !shape(other).meets(&shape(one)), "{one} {other}");
        }
    }

    #[test]
    fn one_item_has_two_texts_where_one_of_them_has_more_than_the_other() {
        for (one, other) in
            [("o#{a}", "o#{b}#{a}"), ("{a}", "u#{a}"), ("u", "{a}#u"), ("{a}#{b}", "{b}-{a}#")]
        {
            assert!(!shape(one).may_be_of_one_item(&shape(other)), "{one} {other}");
            assert!(!shape(other).may_be_of_one_item(&shape(one)), "{one} {other}");
        }
        for (one, other) in [("{a|shard(20)}", "{a|shard(40)}"), ("o#{a}", "o#{b}"), ("{a}#{b}", "{b}#{a}")] {
            assert!(shape(one).may_be_of_one_item(&shape(other)), "{one} {other}");
        }
    }

    #[test]
    fn texts_with_the_prefix_of_a_key_are_found_by_it() {
        assert!(shape("o#{a}").begins_like(&shape("o#{b}#{a}")));
        assert!(!shape("o#{a}").begins_like(&shape("ord#{a}")));
        assert!(shape("{a}").begins_like(&shape("ord#{a}")));
    }
}
