//! Which attributes, and which parts of them, a read shows.

use serde_json::{Map, Value, json};

/// One place in an item; no two of a projection overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Attribute(&'static str),
    /// `m.a`.
    Nested,
    /// `t[k]`.
    Element(usize),
}

pub fn text(projection: &[Shown]) -> String {
    let one = |shown: &Shown| match shown {
        Shown::Attribute(name) => (*name).to_owned(),
        Shown::Nested => "m.a".to_owned(),
        Shown::Element(place) => format!("t[{place}]"),
    };
    projection.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The projected part of an item.
pub fn apply(projection: &[Shown], item: &Value) -> Value {
    let mut left = Map::new();
    let mut elements: Vec<(usize, Value)> = Vec::new();
    for shown in projection {
        match shown {
            Shown::Attribute(name) => {
                if let Some(value) = item.get(name) {
                    left.insert((*name).to_owned(), value.clone());
                }
            }
            Shown::Nested => {
                if let Some(value) = item.get("m").and_then(|map| map["M"].get("a")) {
                    left.insert("m".to_owned(), json!({"M": {"a": value}}));
                }
            }
            Shown::Element(place) => {
                if let Some(value) = item.get("t").and_then(|list| list["L"].get(place)) {
                    elements.push((*place, value.clone()));
                }
            }
        }
    }
    if !elements.is_empty() {
        elements.sort_by_key(|(place, _)| *place);
        let elements: Vec<Value> = elements.into_iter().map(|(_, value)| value).collect();
        left.insert("t".to_owned(), json!({ "L": elements }));
    }
    Value::Object(left)
}
