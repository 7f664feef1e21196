//! TransactGetItems: its typed request.

use super::parts::ReturnConsumedCapacity;
use super::table_ref::TableRef;
use crate::expression::Projection;
use crate::value::Item;

/// One item to read.
#[derive(Clone, Debug)]
pub struct TransactGet {
    pub table: TableRef,
    pub key: Item,
    pub projection: Option<Projection>,
}

/// A TransactGetItems that makes sense without knowing the tables.
#[derive(Clone, Debug)]
pub struct TransactGetItems {
    pub gets: Vec<TransactGet>,
    pub capacity: ReturnConsumedCapacity,
}
