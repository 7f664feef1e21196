//! TransactGetItems: its typed request.

use super::checks;
use super::parts::{ReturnConsumedCapacity, TransactGetItemsParts, TransactGetParts};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Placeholders, Projection};
use crate::messages::Wording;
use crate::value::Item;

/// One item to read.
#[derive(Clone, Debug)]
pub struct TransactGet {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// Attributes of the primary key, not yet compared with the table's schema.
    pub key: Item,
    /// The parts of the item to return; absent: the whole item.
    pub projection: Option<Projection>,
}

/// A TransactGetItems validated as far as that is possible without the tables.
#[derive(Clone, Debug)]
pub struct TransactGetItems {
    /// The reads, in the client's order.
    pub gets: Vec<TransactGet>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl TransactGetItems {
    /// Validates the parts item by item: the first fault in the request's order is the error.
    pub fn validate(parts: TransactGetItemsParts) -> Result<Self, Error> {
        let gets = parts.transact_items.into_iter().map(|item| TransactGet::validate(item.get));
        Ok(Self {
            gets: gets.collect::<Result<_, _>>()?,
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        })
    }
}

impl TransactGet {
    fn validate(parts: TransactGetParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
        // Observed: unlike in other operations, names without an expression are ignored.
        let names = parts.projection_expression.as_ref().and(parts.expression_attribute_names.as_deref());
        let mut placeholders = Placeholders::new(names, None, Wording::Legacy)?;
        let projection = checks::projection(parts.projection_expression.as_ref(), None, &mut placeholders)?;
        placeholders.finish()?;
        let key = checks::item(parts.key, Wording::Legacy)?;
        Ok(Self { table, key, projection })
    }
}
