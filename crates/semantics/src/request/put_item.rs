//! PutItem: its typed request.

use super::common::{OnConditionFailure, ReturnOld};
use super::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use super::table_ref::TableRef;
use crate::expression::Condition;
use crate::value::Item;

/// A PutItem that makes sense without knowing the table.
#[derive(Clone, Debug)]
pub struct PutItem {
    pub table: TableRef,
    pub item: Item,
    pub condition: Option<Condition>,
    pub return_values: ReturnOld,
    pub on_condition_failure: OnConditionFailure,
    pub capacity: ReturnConsumedCapacity,
    pub metrics: ReturnItemCollectionMetrics,
}
