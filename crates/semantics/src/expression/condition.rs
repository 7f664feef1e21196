//! Conditions and filters: parsed, bound and evaluated on an item's stored form.

use super::path::DocumentPath;
use super::placeholders::Placeholders;
use crate::codec::MapRef;
use crate::error::Error;

/// Where a condition stands; it decides how its faults are introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// `ConditionExpression`.
    Condition,
    /// `FilterExpression`.
    Filter,
}

/// A condition with every placeholder bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {}

impl Condition {
    /// Whether the condition holds; a missing item has no attributes.
    pub fn evaluate(&self, item: Option<MapRef<'_>>) -> bool {
        let _ = item;
        unimplemented!()
    }

    /// Every document path it mentions, in the order written.
    pub fn paths(&self) -> Vec<&DocumentPath> {
        unimplemented!()
    }

    /// The top-level attributes it mentions, each once, in the order written.
    pub fn attributes(&self) -> Vec<&str> {
        unimplemented!()
    }

    /// How many operators and functions it has.
    pub fn operator_count(&self) -> usize {
        unimplemented!()
    }
}

/// Prints the canonical text, with placeholders for values and for names that need them.
impl std::fmt::Display for Condition {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}

/// Parses a `ConditionExpression` or `FilterExpression` and binds its placeholders.
pub fn parse_condition(
    text: &str,
    kind: ConditionKind,
    placeholders: &mut Placeholders,
) -> Result<Condition, Error> {
    let _ = (text, kind, placeholders);
    unimplemented!()
}
