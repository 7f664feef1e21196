//! Conditions and filters: their text, and whether they hold.

use super::expression::Expression;
use super::{Item, Key, number_of, text};

#[derive(Clone, Debug)]
pub enum Condition {
    Exists(&'static str),
    OfType(&'static str, &'static str),
    TextIs(&'static str, String),
    TextIn(&'static str, Vec<String>),
    BeginsWith(&'static str, String),
    /// A substring, or an element of the set.
    Contains(&'static str, String),
    /// The attribute `n`.
    LessThan(i64),
    Between(i64, i64),
    /// The list `t`.
    LongerThan(usize),
    /// `m.a`.
    NestedIs(i64),
    /// Compares two attributes: `n` and `m.a`.
    NestedIsGreater,
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    pub fn text(&self, expression: &mut Expression) -> String {
        match self {
            Self::Exists(name) => format!("attribute_exists({name})"),
            Self::OfType(name, kind) => format!("attribute_type({name}, {})", expression.text(kind)),
            Self::TextIs(name, wanted) => format!("{name} = {}", expression.text(wanted)),
            Self::TextIn(name, wanted) => {
                let wanted: Vec<String> = wanted.iter().map(|one| expression.text(one)).collect();
                format!("{name} IN ({})", wanted.join(", "))
            }
            Self::BeginsWith(name, prefix) => format!("begins_with({name}, {})", expression.text(prefix)),
            Self::Contains(name, part) => format!("contains({name}, {})", expression.text(part)),
            Self::LessThan(bound) => format!("n < {}", expression.number(*bound)),
            Self::Between(least, greatest) => {
                format!("n BETWEEN {} AND {}", expression.number(*least), expression.number(*greatest))
            }
            Self::LongerThan(length) => {
                format!("size(t) > {}", expression.number(i64::try_from(*length).unwrap()))
            }
            Self::NestedIs(wanted) => format!("m.a = {}", expression.number(*wanted)),
            Self::NestedIsGreater => "m.a > n".to_owned(),
            Self::Not(inner) => format!("NOT ({})", inner.text(expression)),
            Self::And(one, two) => format!("({}) AND ({})", one.text(expression), two.text(expression)),
            Self::Or(one, two) => format!("({}) OR ({})", one.text(expression), two.text(expression)),
        }
    }

    /// Evaluates against an item with its key, or against no item (`None`).
    pub fn holds(&self, key: &Key, item: Option<&Item>) -> bool {
        let attribute = |name: &str| {
            let item = item?;
            match name {
                "pk" => Some(text(key.0.as_str())),
                "sk" => Some(text(key.1.as_str())),
                other => item.get(other).cloned(),
            }
        };
        let text_of = |name: &str| attribute(name).and_then(|value| Some(value["S"].as_str()?.to_owned()));
        let n = || number_of(&attribute("n")?);
        let nested = || number_of(&attribute("m")?["M"]["a"]);
        match self {
            Self::Exists(name) => attribute(name).is_some(),
            Self::OfType(name, kind) => attribute(name).is_some_and(|value| value.get(*kind).is_some()),
            Self::TextIs(name, wanted) => text_of(name).as_ref() == Some(wanted),
            Self::TextIn(name, wanted) => text_of(name).is_some_and(|found| wanted.contains(&found)),
            Self::BeginsWith(name, prefix) => text_of(name).is_some_and(|found| found.starts_with(prefix)),
            Self::Contains(name, part) => {
                let in_set = |value: serde_json::Value| {
                    value["SS"].as_array().is_some_and(|set| set.iter().any(|one| one == part.as_str()))
                };
                text_of(name).is_some_and(|found| found.contains(part)) || attribute(name).is_some_and(in_set)
            }
            Self::LessThan(bound) => n().is_some_and(|n| n < *bound),
            Self::Between(least, greatest) => n().is_some_and(|n| (*least..=*greatest).contains(&n)),
            Self::LongerThan(length) => attribute("t")
                .is_some_and(|value| value["L"].as_array().is_some_and(|list| list.len() > *length)),
            Self::NestedIs(wanted) => nested() == Some(*wanted),
            Self::NestedIsGreater => nested().is_some_and(|nested| n().is_some_and(|n| nested > n)),
            Self::Not(inner) => !inner.holds(key, item),
            Self::And(one, two) => one.holds(key, item) && two.holds(key, item),
            Self::Or(one, two) => one.holds(key, item) || two.holds(key, item),
        }
    }

    /// Whether it names a key attribute of the index that is read, which a filter may not.
    pub fn names(&self, name: &str) -> bool {
        match self {
            Self::Exists(own)
            | Self::OfType(own, _)
            | Self::TextIs(own, _)
            | Self::TextIn(own, _)
            | Self::BeginsWith(own, _)
            | Self::Contains(own, _) => *own == name,
            Self::LessThan(_) | Self::Between(..) => name == "n",
            Self::LongerThan(_) => name == "t",
            Self::NestedIs(_) => name == "m",
            Self::NestedIsGreater => name == "m" || name == "n",
            Self::Not(inner) => inner.names(name),
            Self::And(one, two) | Self::Or(one, two) => one.names(name) || two.names(name),
        }
    }
}
