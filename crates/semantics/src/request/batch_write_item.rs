//! BatchWriteItem: its typed request.

use super::checks;
use super::parts::{
    AttributeMapPart, BatchWriteItemParts, ReturnConsumedCapacity, ReturnItemCollectionMetrics,
    WriteRequestParts,
};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::limits::BATCH_WRITES_MAX;
use crate::messages::{Wording, item as messages, value as value_messages};
use crate::value::{Item, ValueFault};

const OPERATION: &str = "BatchWriteItem";

/// One put or delete.
#[derive(Clone, Debug)]
pub enum BatchWrite {
    /// Puts this whole item.
    Put(Item),
    /// Deletes the item with this primary key.
    Delete(Item),
}

/// The writes to one table.
#[derive(Clone, Debug)]
pub struct BatchWriteTable {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The writes in the client's order.
    pub writes: Vec<BatchWrite>,
    /// The client's own parts, in the same order, to return those that were not written.
    pub parts: Vec<WriteRequestParts>,
}

/// A BatchWriteItem validated as far as that is possible without the tables.
#[derive(Clone, Debug)]
pub struct BatchWriteItem {
    /// At least one table, with at most [`BATCH_WRITES_MAX`] writes together.
    pub tables: Vec<BatchWriteTable>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
    /// Whether the response carries the sizes of item collections.
    pub metrics: ReturnItemCollectionMetrics,
}

impl BatchWriteItem {
    /// Validates the parts table by table, in the service's order of checks. Observed: a missing table is
    /// reported before repeated keys and after large items, so repeated keys are checked later.
    pub fn validate(parts: BatchWriteItemParts) -> Result<Self, Error> {
        if parts.request_items.is_empty() {
            return Err(Error::validation(messages::request_items_required(OPERATION)));
        }
        let tables =
            parts.request_items.into_iter().map(|(name, writes)| BatchWriteTable::validate(name, writes));
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        if tables.iter().map(|table| table.writes.len()).sum::<usize>() > BATCH_WRITES_MAX {
            return Err(Error::validation(messages::too_many_requests(OPERATION)));
        }
        Ok(Self {
            tables,
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
            metrics: parts.return_item_collection_metrics.unwrap_or(ReturnItemCollectionMetrics::None),
        })
    }
}

impl BatchWriteTable {
    fn validate(name: String, parts: Vec<WriteRequestParts>) -> Result<Self, Error> {
        let table = TableRef::of(name)?;
        if parts.iter().any(|part| part.put_request.is_some() == part.delete_request.is_some()) {
            // Observed: the service has the message of an attribute value here, even if there is no action at
            // all.
            return Err(Error::validation(value_messages::fault(&ValueFault::SeveralTypes, Wording::Legacy)));
        }
        let writes = parts.iter().filter_map(|part| match (&part.put_request, &part.delete_request) {
            (Some(put), _) => Some(validate_put(&put.item)),
            (None, Some(delete)) => {
                Some(checks::item_ref(&delete.key, Wording::Legacy).map(BatchWrite::Delete))
            }
            (None, None) => None,
        });
        let writes = writes.collect::<Result<Vec<_>, _>>()?;
        assert_eq!(writes.len(), parts.len(), "each write has its part");
        Ok(Self { table, writes, parts })
    }
}

fn validate_put(part: &AttributeMapPart) -> Result<BatchWrite, Error> {
    let item = checks::item_ref(part, Wording::Legacy)?;
    checks::check_item_size(&item)?;
    Ok(BatchWrite::Put(item))
}
