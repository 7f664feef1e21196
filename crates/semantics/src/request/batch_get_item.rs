//! BatchGetItem: its typed request.

use super::common::Consistency;
use super::parts::{KeysAndAttributesParts, ReturnConsumedCapacity};
use super::table_ref::TableRef;
use crate::expression::Projection;
use crate::value::Item;

/// The keys asked of one table.
#[derive(Clone, Debug)]
pub struct BatchGetTable {
    pub table: TableRef,
    pub keys: Vec<Item>,
    pub projection: Option<Projection>,
    pub consistency: Consistency,
    /// What the client wrote, to be given back for keys that were not read; its `keys` are those above, in order.
    pub parts: KeysAndAttributesParts,
}

/// A BatchGetItem that makes sense without knowing the tables.
#[derive(Clone, Debug)]
pub struct BatchGetItem {
    pub tables: Vec<BatchGetTable>,
    pub capacity: ReturnConsumedCapacity,
}
