//! BatchWriteItem: its typed request.

use super::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics, WriteRequestParts};
use super::table_ref::TableRef;
use crate::value::Item;

/// One put or delete.
#[derive(Clone, Debug)]
pub enum BatchWrite {
    Put(Item),
    Delete(Item),
}

/// The writes to one table.
#[derive(Clone, Debug)]
pub struct BatchWriteTable {
    pub table: TableRef,
    pub writes: Vec<BatchWrite>,
    /// What the client wrote, in the same order, to be given back for writes that were not made.
    pub parts: Vec<WriteRequestParts>,
}

/// A BatchWriteItem that makes sense without knowing the tables.
#[derive(Clone, Debug)]
pub struct BatchWriteItem {
    pub tables: Vec<BatchWriteTable>,
    pub capacity: ReturnConsumedCapacity,
    pub metrics: ReturnItemCollectionMetrics,
}
