//! Query: its typed request.

use std::num::NonZeroU32;

use super::common::{Consistency, SelectMode, SortOrder};
use super::parts::ReturnConsumedCapacity;
use super::table_ref::TableRef;
use crate::expression::{Condition, KeyCondition, Projection};
use crate::value::Item;

/// A Query that makes sense without knowing the table.
#[derive(Clone, Debug)]
pub struct Query {
    pub table: TableRef,
    pub index: Option<String>,
    pub key_condition: KeyCondition,
    pub filter: Option<Condition>,
    pub projection: Option<Projection>,
    pub select: Option<SelectMode>,
    pub limit: Option<NonZeroU32>,
    pub consistency: Consistency,
    pub order: SortOrder,
    pub exclusive_start_key: Option<Item>,
    pub capacity: ReturnConsumedCapacity,
}
