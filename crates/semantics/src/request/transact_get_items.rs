//! TransactGetItems: its typed request.

use super::parts::{ReturnConsumedCapacity, TransactGetItemsParts, TransactGetParts};
use super::sense;
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Placeholders, Projection};
use crate::messages::Wording;
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

impl TransactGetItems {
    /// Understands the parts item by item: the first fault in the request's order wins.
    pub fn sense(parts: TransactGetItemsParts) -> Result<Self, Error> {
        let gets = parts.transact_items.into_iter().map(|item| TransactGet::sense(item.get));
        Ok(Self {
            gets: gets.collect::<Result<_, _>>()?,
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        })
    }
}

impl TransactGet {
    fn sense(parts: TransactGetParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
        // Observed, unlike outside of transactions: names beside no expression are not looked at.
        let names = parts.projection_expression.as_ref().and(parts.expression_attribute_names.as_deref());
        let mut placeholders = Placeholders::new(names, None, Wording::Former)?;
        let projection = sense::projection(parts.projection_expression.as_ref(), None, &mut placeholders)?;
        placeholders.finish()?;
        let key = sense::item(parts.key, Wording::Former)?;
        Ok(Self { table, key, projection })
    }
}
