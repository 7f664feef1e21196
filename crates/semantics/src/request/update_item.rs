//! UpdateItem: its typed request.

use super::common::OnConditionFailure;
use super::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue};
use super::table_ref::TableRef;
use crate::expression::{Condition, Update};
use crate::value::Item;

/// An UpdateItem that makes sense without knowing the table.
#[derive(Clone, Debug)]
pub struct UpdateItem {
    pub table: TableRef,
    pub key: Item,
    /// Absent: the item is created if missing, and otherwise left as it is.
    pub update: Option<Update>,
    pub condition: Option<Condition>,
    pub return_values: ReturnValue,
    pub on_condition_failure: OnConditionFailure,
    pub capacity: ReturnConsumedCapacity,
    pub metrics: ReturnItemCollectionMetrics,
}
