//! Attribute values as trees, and what can be wrong with one that a client sent.
//!
//! It does not know how a value is stored (`codec`) or written on the wire (the `wire` crate).

use std::collections::BTreeMap;

use crate::number::Number;

/// An item: attribute name to value.
pub type Item = BTreeMap<String, AttributeValue>;

/// One attribute value. Invariant of sets built by `sense` or the codec: not empty, sorted, no duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    S(String),
    N(Number),
    B(Vec<u8>),
    Bool(bool),
    Null,
    L(Vec<AttributeValue>),
    M(Item),
    Ss(Vec<String>),
    Ns(Vec<Number>),
    Bs(Vec<Vec<u8>>),
}
