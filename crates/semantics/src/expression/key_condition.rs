//! Key conditions: which items of a table or index a Query asks for.
//!
//! It does not know the key: whether the attributes are the right ones is decided when a Query is bound to its index.

use super::placeholders::Placeholders;
use crate::error::Error;
use crate::value::AttributeValue;

/// What a key attribute must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPredicate {
    Eq(AttributeValue),
    Lt(AttributeValue),
    Le(AttributeValue),
    Gt(AttributeValue),
    Ge(AttributeValue),
    Between(AttributeValue, AttributeValue),
    BeginsWith(AttributeValue),
}

impl KeyPredicate {
    /// The values it compares with.
    pub fn operands(&self) -> impl Iterator<Item = &AttributeValue> {
        let (first, second) = match self {
            Self::Between(lower, upper) => (lower, Some(upper)),
            Self::Eq(value)
            | Self::Lt(value)
            | Self::Le(value)
            | Self::Gt(value)
            | Self::Ge(value)
            | Self::BeginsWith(value) => (value, None),
        };
        std::iter::once(first).chain(second)
    }
}

/// One attribute and its predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyClause {
    pub attribute: String,
    pub predicate: KeyPredicate,
}

/// The clauses of a key condition in the order written, no attribute twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    pub clauses: Vec<KeyClause>,
}

/// Prints the canonical text, with placeholders for values and for names that need them.
impl std::fmt::Display for KeyCondition {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}

/// Parses a `KeyConditionExpression` and binds its placeholders.
pub fn parse_key_condition(text: &str, placeholders: &mut Placeholders) -> Result<KeyCondition, Error> {
    let _ = (text, placeholders);
    unimplemented!()
}
