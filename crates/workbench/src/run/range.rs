//! The constraint that a pattern's given values put on one key attribute: none, one value, or a range.

use std::cmp::Ordering;

use keywright_semantics::schema::KeyType;
use keywright_semantics::value::{AttributeValue, Item};

use keywright_model::data::{fill, key_text};
use keywright_model::{GivenOp, Part, Template};

/// Above every text that continues a prefix: the last code point.
const LAST: char = '\u{10ffff}';

/// A condition on one key attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    /// Unconstrained: the whole range.
    Free,
    Equal(AttributeValue),
    BeginsWith(String),
    Between(AttributeValue, AttributeValue),
    Below(AttributeValue, Inclusive),
    Above(AttributeValue, Inclusive),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inclusive {
    Yes,
    No,
}

/// A given value of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) attribute: String,
    pub(super) op: GivenOp,
    /// One value; two for between.
    pub(super) values: Vec<AttributeValue>,
}

impl Known {
    /// Whether a value satisfies the constraint.
    pub(super) fn admits(&self, value: &AttributeValue) -> bool {
        let compared_with = |place: usize| self.values.get(place).and_then(|bound| order(value, bound));
        match self.op {
            GivenOp::Eq => self.values.first() == Some(value),
            GivenOp::BeginsWith => match (value, self.values.first()) {
                (AttributeValue::S(text), Some(AttributeValue::S(prefix))) => text.starts_with(prefix),
                _ => false,
            },
            GivenOp::Between => {
                compared_with(0).is_some_and(Ordering::is_ge) && compared_with(1).is_some_and(Ordering::is_le)
            }
            GivenOp::Lt => compared_with(0).is_some_and(Ordering::is_lt),
            GivenOp::Le => compared_with(0).is_some_and(Ordering::is_le),
            GivenOp::Gt => compared_with(0).is_some_and(Ordering::is_gt),
            GivenOp::Ge => compared_with(0).is_some_and(Ordering::is_ge),
        }
    }
}

/// The order of two values of one key type.
fn order(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        (AttributeValue::S(left), AttributeValue::S(right)) => Some(left.cmp(right)),
        (AttributeValue::N(left), AttributeValue::N(right)) => Some(left.cmp(right)),
        (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// The condition, and the given attributes it uses.
pub(super) struct Bounded {
    pub(super) bound: Bound,
    pub(super) used: Vec<String>,
}

/// The condition on a key attribute with a template.
pub(super) fn bound(template: &Template, key_type: KeyType, known: &[Known]) -> Result<Bounded, String> {
    if let Some(attribute) = template.whole() {
        let Some(given) = known.iter().find(|given| given.attribute == attribute) else {
            return Ok(Bounded { bound: Bound::Free, used: Vec::new() });
        };
        return Ok(Bounded { bound: whole(given, key_type)?, used: vec![attribute.to_owned()] });
    }
    let mut prefix = String::new();
    let mut used = Vec::new();
    for (place, part) in template.parts.iter().enumerate() {
        let Some(name) = part.attribute() else {
            if let Part::Literal(text) = part {
                prefix.push_str(text);
            }
            continue;
        };
        let Some(given) = known.iter().find(|given| given.attribute == name) else {
            return Ok(Bounded { bound: begins(prefix), used });
        };
        let texts = texts(part, given)?;
        // The shard alone does not determine the value.
        if !matches!(part, Part::Shard { .. }) {
            used.push(name.to_owned());
        }
        if given.op == GivenOp::Eq {
            prefix.push_str(texts.first().map(String::as_str).unwrap_or_default());
            continue;
        }
        let rest = template.parts.get(place + 1..).unwrap_or_default();
        return Ok(Bounded { bound: within(&prefix, given.op, &texts, rest)?, used });
    }
    let value = match key_type {
        KeyType::S => AttributeValue::S(prefix),
        KeyType::N => AttributeValue::number(&prefix).map_err(|_| format!("`{prefix}` is no number"))?,
        KeyType::B => AttributeValue::B(prefix.into_bytes()),
    };
    Ok(Bounded { bound: Bound::Equal(value), used })
}

fn begins(prefix: String) -> Bound {
    if prefix.is_empty() { Bound::Free } else { Bound::BeginsWith(prefix) }
}

/// The template is one attribute.
fn whole(given: &Known, key_type: KeyType) -> Result<Bound, String> {
    let template = Template { parts: vec![Part::Attribute { name: given.attribute.clone(), pad: None }] };
    let typed = |value: &AttributeValue| {
        let item = Item::from([(given.attribute.clone(), value.clone())]);
        fill(&template, key_type, &item).map_err(|fault| fault.to_string())
    };
    let values = given.values.iter().map(typed).collect::<Result<Vec<_>, _>>()?;
    let mut values = values.into_iter();
    let first = values.next().ok_or_else(|| format!("no value for `{}`", given.attribute))?;
    Ok(match given.op {
        GivenOp::Eq => Bound::Equal(first),
        GivenOp::Between => {
            let second = values.next().ok_or_else(|| two_wanted(&given.attribute))?;
            Bound::Between(first, second)
        }
        GivenOp::BeginsWith => match first {
            AttributeValue::S(text) => Bound::BeginsWith(text),
            _ => return Err(format!("`{}` is no text: begins-with needs one", given.attribute)),
        },
        GivenOp::Lt => Bound::Below(first, Inclusive::No),
        GivenOp::Le => Bound::Below(first, Inclusive::Yes),
        GivenOp::Gt => Bound::Above(first, Inclusive::No),
        GivenOp::Ge => Bound::Above(first, Inclusive::Yes),
    })
}

fn two_wanted(attribute: &str) -> String {
    format!("`{attribute}` is given between two values: write `example: {{{attribute}: [from, to]}}`")
}

/// The given values as this part of a template writes them.
fn texts(part: &Part, given: &Known) -> Result<Vec<String>, String> {
    let lone = Template { parts: vec![Part::Literal(String::new()), part.clone()] };
    let text = |value: &AttributeValue| {
        if given.op == GivenOp::BeginsWith {
            return key_text(value).ok_or_else(|| format!("`{}` is no text", given.attribute));
        }
        let item = Item::from([(given.attribute.clone(), value.clone())]);
        match fill(&lone, KeyType::S, &item) {
            Ok(AttributeValue::S(text)) => Ok(text),
            Ok(_) => Err(format!("`{}` is no text", given.attribute)),
            Err(fault) => Err(fault.to_string()),
        }
    };
    given.values.iter().map(text).collect()
}

/// A range over the part of a composed key that follows `prefix`; `rest` follows the attribute.
fn within(prefix: &str, op: GivenOp, texts: &[String], rest: &[Part]) -> Result<Bound, String> {
    let at = |place: usize| texts.get(place).map(|text| format!("{prefix}{text}"));
    let first = at(0).ok_or("no value for a range")?;
    // Keys that continue after the attribute sort above the attribute's own text.
    let upto = |text: String| if rest.is_empty() { text } else { format!("{text}{LAST}") };
    let end = format!("{prefix}{LAST}");
    let (low, high) = match op {
        GivenOp::Eq => (first.clone(), upto(first)),
        GivenOp::BeginsWith => return Ok(Bound::BeginsWith(first)),
        GivenOp::Between => (first, upto(at(1).ok_or("a range needs two values")?)),
        GivenOp::Ge => (first, end),
        GivenOp::Gt => (format!("{}{}", upto(first), '\0'), end),
        GivenOp::Le => (prefix.to_owned(), upto(first)),
        GivenOp::Lt if rest.is_empty() => (prefix.to_owned(), just_below(&first)),
        GivenOp::Lt => (prefix.to_owned(), first),
    };
    let low = if low.is_empty() { "\0".to_owned() } else { low };
    Ok(Bound::Between(AttributeValue::S(low), AttributeValue::S(high)))
}

/// A text below `text` and above every realistic key below it.
fn just_below(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let last = letters.pop().and_then(|letter| char::from_u32(u32::from(letter).saturating_sub(1)));
    letters.extend(last);
    letters.push(LAST);
    letters.into_iter().collect()
}

/// One condition that covers the conditions of several entities in the same partition.
pub(super) fn cover(bounds: &[Bound]) -> Bound {
    let Some((first, others)) = bounds.split_first() else { return Bound::Free };
    if others.iter().all(|other| other == first) {
        return first.clone();
    }
    let edges: Option<Vec<(String, String)>> = bounds.iter().map(edges).collect();
    let Some(edges) = edges else { return Bound::Free };
    let low = edges.iter().map(|(low, _)| low).min();
    let high = edges.iter().map(|(_, high)| high).max();
    match (low, high) {
        (Some(low), Some(high)) => {
            Bound::Between(AttributeValue::S(low.clone()), AttributeValue::S(high.clone()))
        }
        _ => Bound::Free,
    }
}

fn edges(bound: &Bound) -> Option<(String, String)> {
    match bound {
        Bound::Equal(AttributeValue::S(text)) => Some((text.clone(), text.clone())),
        Bound::BeginsWith(prefix) => Some((prefix.clone(), format!("{prefix}{LAST}"))),
        Bound::Between(AttributeValue::S(low), AttributeValue::S(high)) => Some((low.clone(), high.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound_of(template: &str, given: &[(&str, GivenOp, &[&str])]) -> Bound {
        let known: Vec<Known> = given
            .iter()
            .map(|(attribute, op, values)| Known {
                attribute: (*attribute).to_owned(),
                op: *op,
                values: values.iter().map(|value| (*value).into()).collect(),
            })
            .collect();
        let template = Template::parse(template).expect(template);
        bound(&template, KeyType::S, &known).unwrap_or_else(|fault| panic!("{fault}")).bound
    }

    fn between(low: &str, high: &str) -> Bound {
        Bound::Between(low.into(), high.into())
    }

    #[test]
    fn givens_bind_a_composed_key_from_the_left() {
        use GivenOp::{Between, Eq, Gt, Lt};
        assert_eq!(bound_of("o#{id}", &[]), Bound::BeginsWith("o#".to_owned()));
        assert_eq!(bound_of("{id}#x", &[]), Bound::Free);
        assert_eq!(bound_of("o#{id}", &[("id", Eq, &["7"])]), Bound::Equal("o#7".into()));
        assert_eq!(bound_of("{s}#{d}", &[("s", Eq, &["OPEN"])]), Bound::BeginsWith("OPEN#".to_owned()));
        assert_eq!(
            bound_of("{s}#{d}", &[("s", Eq, &["A"]), ("d", Between, &["1", "2"])]),
            between("A#1", "A#2")
        );
        assert_eq!(bound_of("d#{d}#{id}", &[("d", Between, &["1", "2"])]), between("d#1", "d#2\u{10ffff}"));
        assert_eq!(bound_of("d#{d}", &[("d", Gt, &["1"])]), between("d#1\0", "d#\u{10ffff}"));
        assert_eq!(bound_of("d#{d}", &[("d", Lt, &["5"])]), between("d#", "d#4\u{10ffff}"));
        assert_eq!(bound_of("{s}#{d}", &[("d", Eq, &["1"])]), Bound::Free);
    }

    #[test]
    fn several_entities_are_covered_by_one_range() {
        let both = [Bound::Equal("PROFILE".into()), Bound::BeginsWith("ORDER#".to_owned())];
        assert_eq!(cover(&both), between("ORDER#", "PROFILE"));
        assert_eq!(cover(&[Bound::Free, Bound::BeginsWith("a".to_owned())]), Bound::Free);
    }
}
