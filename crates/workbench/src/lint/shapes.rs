//! Which texts a key template can make, and whether two templates can make the same one.
//!
//! It knows templates and attributes; it does not know tables or patterns.

use std::collections::BTreeSet;

use super::context::is_time;
use crate::model::{Attribute, AttributeFormat, Entity, Part, Template};
use keywright_semantics::value::ValueType;

/// Listed values are tried one by one up to so many combinations; beyond that they are any text.
const VARIANTS_MAX: usize = 64;

/// What may stand at one place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Letters {
    Only(char),
    Digits,
    /// Whatever a time is written with.
    Time,
    Hexadecimal,
    /// Anything but the templates' delimiters.
    Word,
    Any,
}

/// One place of a shape: exactly one letter, or any number of them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    One(Letters),
    Many(Letters),
}

type Shape = Vec<Place>;

/// Whether two entities' templates of one key attribute can make the same value. Values are taken to have no delimiter in
/// them, unless their format or list says so: that they may is what L009 warns of.
pub(super) fn can_be_equal(entity: &Entity, one: &Template, other_entity: &Entity, two: &Template) -> bool {
    let delimiters: BTreeSet<char> = [one, two].into_iter().flat_map(delimiters).collect();
    let (ours, theirs) = (shapes(entity, one), shapes(other_entity, two));
    ours.iter().any(|shape| theirs.iter().any(|other| meet(shape, other, &delimiters)))
}

/// The letters that follow attributes in a template.
fn delimiters(template: &Template) -> impl Iterator<Item = char> {
    template.parts.windows(2).filter_map(|pair| match pair {
        [Part::Attribute { .. } | Part::Shard { .. }, Part::Literal(text)] => text.chars().next(),
        _ => None,
    })
}

/// The shapes of a template's texts: one for each combination of listed values.
fn shapes(entity: &Entity, template: &Template) -> Vec<Shape> {
    let whole = template.whole().is_some();
    let mut shapes = vec![Shape::new()];
    for part in &template.parts {
        let variants: Vec<Shape> = match part {
            Part::Literal(text) => vec![literal(text)],
            Part::Shard { .. } | Part::Attribute { pad: Some(_), .. } => vec![several(Letters::Digits)],
            Part::Attribute { name, pad: None } => of_attribute(entity.attribute(name), whole),
        };
        if shapes.len() * variants.len() > VARIANTS_MAX {
            for shape in &mut shapes {
                shape.extend(several(Letters::Word));
            }
            continue;
        }
        shapes = shapes
            .iter()
            .flat_map(|shape| variants.iter().map(|variant| [shape.as_slice(), variant].concat()))
            .collect();
    }
    shapes
}

fn literal(text: &str) -> Shape {
    text.chars().map(|letter| Place::One(Letters::Only(letter))).collect()
}

fn several(letters: Letters) -> Shape {
    vec![Place::One(letters.clone()), Place::Many(letters)]
}

/// An attribute that is the whole key may be any text; nothing closes it.
fn of_attribute(attribute: Option<&Attribute>, whole: bool) -> Vec<Shape> {
    let Some(attribute) = attribute else { return vec![several(Letters::Any)] };
    let listed: Option<Vec<String>> = attribute.values.iter().map(crate::model::Node::scalar).collect();
    if let Some(values) = listed.filter(|values| !values.is_empty()) {
        return values.iter().map(|value| literal(value)).collect();
    }
    let letters = match attribute.format {
        Some(AttributeFormat::Sequence) => Letters::Digits,
        Some(AttributeFormat::Uuid) => Letters::Hexadecimal,
        Some(format) if is_time(format) => Letters::Time,
        _ if attribute.value_type == ValueType::N => Letters::Digits,
        _ if whole => Letters::Any,
        _ => Letters::Word,
    };
    vec![several(letters)]
}

/// Whether a text has both shapes: the places of both are walked together, every pair of places once.
fn meet(one: &Shape, two: &Shape, delimiters: &BTreeSet<char>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(0, 0)];
    while let Some((ours, theirs)) = open.pop() {
        if !seen.insert((ours, theirs)) {
            continue;
        }
        match (one.get(ours), two.get(theirs)) {
            (None, None) => return true,
            (our_place, their_place) => {
                if let Some(Place::Many(_)) = our_place {
                    open.push((ours + 1, theirs));
                }
                if let Some(Place::Many(_)) = their_place {
                    open.push((ours, theirs + 1));
                }
                open.extend(
                    step(our_place, their_place, delimiters).map(|(us, them)| (ours + us, theirs + them)),
                );
            }
        }
    }
    false
}

/// How far both shapes move when one letter is read that suits both.
fn step(one: Option<&Place>, two: Option<&Place>, delimiters: &BTreeSet<char>) -> Option<(usize, usize)> {
    let (one, two) = (one?, two?);
    common(one.letters(), two.letters(), delimiters).then_some((one.moves(), two.moves()))
}

impl Place {
    const fn letters(&self) -> &Letters {
        match self {
            Self::One(letters) | Self::Many(letters) => letters,
        }
    }

    const fn moves(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(_) => 0,
        }
    }
}

fn common(one: &Letters, two: &Letters, delimiters: &BTreeSet<char>) -> bool {
    match (one, two) {
        (Letters::Only(letter), other) | (other, Letters::Only(letter)) => match other {
            Letters::Only(own) => letter == own,
            Letters::Digits => letter.is_ascii_digit() || matches!(letter, '-' | '.'),
            Letters::Time => letter.is_ascii_digit() || "-:T.Z+".contains(*letter),
            Letters::Hexadecimal => letter.is_ascii_hexdigit() || *letter == '-',
            Letters::Word => !delimiters.contains(letter),
            Letters::Any => true,
        },
        // All kinds have the digits in common.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(attributes: &str) -> Entity {
        let text = format!(
            "format: 1\nmodel: m\ntables: {{Tab: {{key: {{pk: S}}}}}}\nentities:\n  E: {{key: {{pk: k}}, attrs: {attributes}}}\n"
        );
        crate::model::parse(&text).expect("a model").entities.remove(0)
    }

    #[test]
    fn templates_that_part_before_or_after_an_attribute_never_make_one_key() {
        let own = entity("{a: S, b: S, n: N, d: {type: S, format: date}, v: {type: S, values: [x, y]}}");
        let equal = |one: &str, two: &str| {
            let parsed = |text: &str| Template::parse(text).expect(text);
            let forth = can_be_equal(&own, &parsed(one), &own, &parsed(two));
            assert_eq!(forth, can_be_equal(&own, &parsed(two), &own, &parsed(one)), "{one} and {two}");
            forth
        };
        for (one, two) in [
            ("u#{a}", "u#{b}"),
            ("{a}", "u#{b}"),
            ("{a}#x", "u#{b}"),
            ("u#{a}#{b}", "u#{b}#x"),
            ("{d}", "{n}"),
            ("c#{v}", "c#x"),
        ] {
            assert!(equal(one, two), "{one} and {two}");
        }
        for (one, two) in [
            ("u#{a}", "o#{a}"),
            ("u#{a}#follower", "u#{a}#following"),
            ("u#{a}", "u#{a}#post"),
            ("{n}", "PROFILE"),
            ("c#{v}", "c#z"),
            ("ITEM#{n:pad(5)}", "ITEMS#{a}"),
        ] {
            assert!(!equal(one, two), "{one} and {two}");
        }
    }
}
