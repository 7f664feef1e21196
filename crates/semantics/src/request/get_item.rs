//! GetItem: its typed request.

use super::common::Consistency;
use super::parts::ReturnConsumedCapacity;
use super::table_ref::TableRef;
use crate::expression::Projection;
use crate::value::Item;

/// A GetItem that makes sense without knowing the table.
#[derive(Clone, Debug)]
pub struct GetItem {
    pub table: TableRef,
    pub key: Item,
    pub projection: Option<Projection>,
    pub consistency: Consistency,
    pub capacity: ReturnConsumedCapacity,
}
