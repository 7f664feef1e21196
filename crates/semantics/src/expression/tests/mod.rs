//! Tests of the expression language as tables: text, then the expected error or outcome.

mod bounds;
mod condition_errors;
mod evaluation;
mod key_conditions;
mod legacy;
mod placeholders;
mod projections;
mod round_trip;
mod update_errors;
mod updates;

use super::Placeholders;
use crate::codec::EncodedItem;
use crate::number::Number;
use crate::request::parts::AttributeMapPart;
use crate::value::{AttributeValue, Item};

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(Number::from(number))
}

fn b(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(bytes.to_vec())
}

fn l(elements: &[AttributeValue]) -> AttributeValue {
    AttributeValue::L(elements.to_vec())
}

fn m(entries: &[(&str, AttributeValue)]) -> AttributeValue {
    AttributeValue::M(item(entries))
}

fn ss(members: &[&str]) -> AttributeValue {
    AttributeValue::Ss(members.iter().map(ToString::to_string).collect())
}

fn ns(members: &[i64]) -> AttributeValue {
    AttributeValue::Ns(members.iter().map(|member| Number::from(*member)).collect())
}

fn item(entries: &[(&str, AttributeValue)]) -> Item {
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn encoded(item: &Item) -> EncodedItem {
    EncodedItem::encode(item)
}

/// Placeholders from short lists, leaked so that tests need not own them. An empty list is an absent map.
fn placeholders(names: &[(&str, &str)], values: &[(&str, AttributeValue)]) -> Placeholders<'static> {
    let names: Vec<(String, String)> =
        names.iter().map(|(placeholder, name)| ((*placeholder).to_owned(), (*name).to_owned())).collect();
    let values: AttributeMapPart =
        values.iter().map(|(placeholder, value)| ((*placeholder).to_owned(), Ok(value.clone()))).collect();
    let (names, values): (&'static Vec<_>, &'static AttributeMapPart) =
        (Box::leak(Box::new(names)), Box::leak(Box::new(values)));
    let names = (!names.is_empty()).then_some(names.as_slice());
    let values = (!values.is_empty()).then_some(values);
    Placeholders::new(names, values, crate::messages::Wording::Present)
        .expect("the placeholders of this test are well-formed")
}
