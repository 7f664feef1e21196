//! The texts that a key template can produce, and whether two templates can produce the same text.
//!
//! It knows templates and attributes; it does not know tables or patterns.

use std::collections::BTreeSet;

use crate::template::texts::{Kinds, Letters, Texts, literal, meet, several};
use crate::{Attribute, AttributeFormat, Entity, Model, Part, Template};
use keywright_semantics::value::ValueType;

/// Most combinations of listed values that are tried one by one. Beyond this a place counts as any text.
const VARIANTS_MAX: usize = 64;

/// An entity's template of a key attribute.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The entity, whose attributes say what values they have.
    pub entity: &'a Entity,
    /// Its template of the key attribute.
    pub template: &'a Template,
    /// Stored texts of the key attribute in a live table. Empty
    /// when all items are examples by the model's author.
    pub stored: &'a [String],
}

/// Values of one length are taken for random ids from this
/// many bytes on: the length of the shortest random ids.
const RANDOM_BYTES_MIN: usize = 20;

/// Whether two entities' templates for one key attribute can produce the same value.
/// Values are assumed to contain no delimiter, unless their format or list of values
/// has one; lint rule L009 warns of values that might. For a live table the stored
/// values show which characters occur, and two disjoint sets of random ids never meet.
pub fn can_be_equal(one: Side<'_>, two: Side<'_>) -> bool {
    let delimiters: BTreeSet<char> =
        [one, two].into_iter().flat_map(|side| delimiters(side.template)).collect();
    let (our_values, their_values) = (one.values(), two.values());
    if one.are_random_apart(&our_values, two, &their_values) || one.never_meets(two) || two.never_meets(one) {
        return false;
    }
    let (ours, theirs) = (one.shapes(&our_values), two.shapes(&their_values));
    ours.iter().any(|shape| theirs.iter().any(|other| meet(shape, other, &delimiters)))
}

impl<'a> Side<'a> {
    /// The stored values at each place of the template, in order. Empty if any stored text does not fit.
    fn values(self) -> Vec<BTreeSet<&'a str>> {
        let mut columns: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); self.template.attributes().count()];
        for text in self.stored {
            let Some(values) = self.template.fit(text) else { return Vec::new() };
            for (column, (_, value)) in columns.iter_mut().zip(values) {
                column.insert(value);
            }
        }
        columns
    }

    /// Whether the template is a constant that does not occur among the other side's stored texts.
    fn never_meets(self, other: Self) -> bool {
        let word = self.template.is_constant() && !other.stored.is_empty();
        word && !other.stored.contains(&self.template.to_string())
    }

    /// Whether both templates begin with the same prefix,
    /// followed by random ids that have no value in common.
    fn are_random_apart(self, ours: &[BTreeSet<&str>], other: Self, theirs: &[BTreeSet<&str>]) -> bool {
        let (Some(ours), Some(theirs)) = (ours.first(), theirs.first()) else { return false };
        self.template.prefix() == other.template.prefix()
            && are_random(ours)
            && are_random(theirs)
            && ours.is_disjoint(theirs)
    }

    /// The texts of a template, one set for each combination of listed values.
    fn shapes(self, values: &[BTreeSet<&str>]) -> Vec<Texts> {
        let whole = self.template.whole().is_some();
        let mut values = values.iter();
        let mut shapes = vec![Texts::new()];
        for part in &self.template.parts {
            let seen = part.attribute().and_then(|_| values.next());
            let variants: Vec<Texts> = match part {
                Part::Literal(text) => vec![literal(text)],
                Part::Shard { .. } | Part::Attribute { pad: Some(_), .. } => vec![several(Letters::Digits)],
                Part::Attribute { name, pad: None } => of_attribute(self.entity.attribute(name), whole, seen),
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
        assert!((1..=VARIANTS_MAX).contains(&shapes.len()), "a template has a text, and few sets of them");
        shapes
    }
}

/// Pairs of entities of one table that can have the same key, as indexes into the model's entities. `stored`
/// gives the texts of an entity's key attribute in a live table.
pub fn meeting(model: &Model, stored: &dyn Fn(&Entity, &str) -> Vec<String>) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (place, entity) in model.entities.iter().enumerate() {
        let Some(table) = model.table(&entity.table) else { continue };
        let others = model.entities.iter().enumerate().skip(place + 1);
        for (other_place, other) in others.filter(|(_, other)| other.table == entity.table) {
            let same = table.key_parts().all(|part| {
                let (Some(one), Some(two)) = (entity.template(&part.name), other.template(&part.name)) else {
                    return false;
                };
                let (ours, theirs) = (stored(entity, &part.name), stored(other, &part.name));
                let one = Side { entity, template: &one, stored: &ours };
                can_be_equal(one, Side { entity: other, template: &two, stored: &theirs })
            });
            if same && entity.key.templates.iter().len() > 0 {
                found.push((place, other_place));
            }
        }
    }
    found
}

/// Whether values are random: UUIDs, or long texts of one length that contain digits.
fn are_random(values: &BTreeSet<&str>) -> bool {
    let length = values.first().map_or(0, |first| first.len());
    let alike = |value: &&str| {
        value.len() == length
            && value.contains(|letter: char| letter.is_ascii_digit())
            && value.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    };
    length >= RANDOM_BYTES_MIN && !values.iter().all(|value| is_time(value)) && values.iter().all(alike)
}

/// Whether a text begins with a date.
fn is_time(text: &str) -> bool {
    let digits = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    (0..4).all(digits) && text.get(4..5) == Some("-") && digits(5)
}

/// The characters that follow attributes in a template.
fn delimiters(template: &Template) -> impl Iterator<Item = char> {
    template.parts.windows(2).filter_map(|pair| match pair {
        [Part::Attribute { .. } | Part::Shard { .. }, Part::Literal(text)] => text.chars().next(),
        _ => None,
    })
}

/// An attribute that is the whole key can hold any text, because no delimiter ends it.
fn of_attribute(attribute: Option<&Attribute>, whole: bool, seen: Option<&BTreeSet<&str>>) -> Vec<Texts> {
    let Some(attribute) = attribute else { return vec![several(Letters::Any)] };
    let listed: Option<Vec<String>> = attribute.values.iter().map(crate::Node::scalar).collect();
    if let Some(values) = listed.filter(|values| !values.is_empty()) {
        return values.iter().map(|value| literal(value)).collect();
    }
    let letters = match attribute.format {
        Some(AttributeFormat::Sequence) => Letters::Digits,
        Some(AttributeFormat::Uuid) => Letters::Hexadecimal,
        Some(format) if format.is_time() => Letters::Time,
        _ if attribute.value_type == ValueType::N => Letters::Digits,
        _ if seen.is_some_and(|values| !values.is_empty()) => {
            Letters::Seen(seen.map(Kinds::of).unwrap_or_default())
        }
        _ if whole => Letters::Any,
        _ => Letters::Word,
    };
    vec![several(letters)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(attributes: &str) -> Entity {
        let text = format!(
            "format: 1\nmodel: m\ntables: {{Tab: {{key: {{pk: S}}}}}}\nentities:\n  E: {{key: {{pk: k}}, attrs: {attributes}}}\n"
        );
        crate::parse(&text).expect("a model").entities.remove(0)
    }

    #[test]
    fn templates_that_differ_before_or_after_an_attribute_never_make_the_same_key() {
        let own = entity("{a: S, b: S, n: N, d: {type: S, format: date}, v: {type: S, values: [x, y]}}");
        let equal = |one: &str, two: &str| {
            let (first, second) = (Template::parse(one).expect(one), Template::parse(two).expect(two));
            let side = |template| Side { entity: &own, template, stored: &[] };
            let forth = can_be_equal(side(&first), side(&second));
            assert_eq!(forth, can_be_equal(side(&second), side(&first)), "{one} and {two}");
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

    #[test]
    fn stored_values_limit_the_characters_of_keys() {
        let own = entity("{a: S, b: S}");
        let equal = |one: (&str, &[&str]), two: (&str, &[&str])| {
            let parsed = |(text, _): (&str, &[&str])| Template::parse(text).expect(text);
            let texts = |(_, texts): (&str, &[&str])| texts.iter().map(|text| (*text).to_owned()).collect();
            let (first, second) = (parsed(one), parsed(two));
            let (ours, theirs): (Vec<String>, Vec<String>) = (texts(one), texts(two));
            let sides = [(&first, &ours), (&second, &theirs)];
            let [ours, theirs] =
                sides.map(|(template, stored)| Side { entity: &own, template, stored: stored.as_slice() });
            can_be_equal(ours, theirs)
        };
        let random = ["0c3f2a5e-aaaa-4bbb-8ccc-ddddeeeeffff", "1c3f2a5e-aaaa-4bbb-8ccc-ddddeeeeffff"];
        assert!(!equal(("{a}", &["alice"]), ("profile", &["profile"])));
        assert!(equal(("{a}", &["alice", "profile"]), ("profile", &["profile"])));
        assert!(equal(("{a}", &["alice"]), ("{b}", &["bob"])));
        assert!(!equal(("{a}", &["v0", "v1"]), ("LANG#{b}", &["LANG#en"])));
        assert!(!equal(("{a}", &["2026-01-01T10:00"]), ("META", &["META"])));
        assert!(!equal(("{a}", &random[..1]), ("{a}", &random[1..])));
        assert!(equal(("{a}", &random), ("{a}", &random[1..])));
        assert!(equal(("{a}", &["2026-01-01T10:00:00.000Z"]), ("{a}", &["2026-01-02T10:00:00.000Z"])));
    }
}
