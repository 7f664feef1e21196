//! What PutItem, UpdateItem and DeleteItem share: the condition, and what the response carries.

use super::checks;
use super::common::OnConditionFailure;
use super::parts::{
    ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue, ReturnValuesOnConditionCheckFailure,
};
use crate::error::Error;
use crate::expression::{Condition, ConditionKind, Placeholders};

/// The part of a single-item write that does not depend on the operation.
#[derive(Clone, Debug)]
pub struct ConditionalWrite {
    /// The condition of either dialect.
    pub condition: Option<Box<Condition>>,
    /// PutItem and DeleteItem accept `None` and `AllOld` only.
    pub return_values: ReturnValue,
    /// Whether the error of a failed condition carries the item.
    pub on_condition_failure: OnConditionFailure,
    /// What the response reports of consumed capacity.
    pub capacity: ReturnConsumedCapacity,
    /// Whether the response reports the size of the item collection.
    pub metrics: ReturnItemCollectionMetrics,
}

/// The members of a request that become a [`ConditionalWrite`]; `expected` is the legacy condition, parsed.
pub(super) struct ConditionalWriteParts<'p> {
    pub condition: Option<&'p String>,
    pub expected: Option<Box<Condition>>,
    pub return_values: ReturnValue,
    pub on_condition_failure: Option<ReturnValuesOnConditionCheckFailure>,
    pub capacity: Option<ReturnConsumedCapacity>,
    pub metrics: Option<ReturnItemCollectionMetrics>,
}

impl ConditionalWrite {
    /// Parses the condition, which is the last expression of a request: every placeholder must be used by
    /// now.
    pub(super) fn parse(
        parts: ConditionalWriteParts<'_>,
        mut placeholders: Placeholders<'_>,
    ) -> Result<Self, Error> {
        let condition = match parts.condition {
            None => parts.expected,
            text => checks::condition(text, ConditionKind::Condition, &mut placeholders)?.map(Box::new),
        };
        placeholders.finish()?;
        Ok(Self {
            condition,
            return_values: parts.return_values,
            on_condition_failure: checks::on_condition_failure(parts.on_condition_failure),
            capacity: parts.capacity.unwrap_or(ReturnConsumedCapacity::None),
            metrics: parts.metrics.unwrap_or(ReturnItemCollectionMetrics::None),
        })
    }
}
