//! BatchWriteItem: its typed request.

use super::checks;
use super::parts::{
    AttributeMapPart, BatchWriteItemParts, DeleteRequestParts, PutRequestParts, ReturnConsumedCapacity,
    ReturnItemCollectionMetrics, WriteRequestParts,
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
    /// In which order the client wrote the attributes of each write.
    pub orders: Vec<AttributeOrder>,
}

/// The order in which a client wrote the attributes of an item or key: for each of them, its place by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeOrder(Vec<usize>);

impl AttributeOrder {
    fn of(part: &AttributeMapPart) -> Self {
        let mut by_name: Vec<usize> = (0..part.len()).collect();
        by_name.sort_unstable_by_key(|place| part.get(*place).map(|(name, _)| name.as_str()));
        let mut places = vec![0; part.len()];
        for (rank, place) in by_name.into_iter().enumerate() {
            if let Some(slot) = places.get_mut(place) {
                *slot = rank;
            }
        }
        Self(places)
    }

    /// The attributes as the client wrote them.
    fn part(&self, item: &Item) -> AttributeMapPart {
        let by_name: Vec<_> = item.iter().collect();
        let written = self.0.iter().filter_map(|rank| by_name.get(*rank));
        let part: AttributeMapPart =
            written.map(|(name, value)| ((*name).clone(), Ok((*value).clone()))).collect();
        assert_eq!(part.len(), item.len(), "each attribute has its place");
        part
    }
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
        let (mut writes, mut orders) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
        for part in parts {
            let (order, write) = match (part.put_request, part.delete_request) {
                (Some(put), _) => (AttributeOrder::of(&put.item), validate_put(put.item)?),
                (None, Some(delete)) => {
                    let order = AttributeOrder::of(&delete.key);
                    (order, BatchWrite::Delete(checks::item(delete.key, Wording::Legacy)?))
                }
                (None, None) => continue,
            };
            orders.push(order);
            writes.push(write);
        }
        assert_eq!(writes.len(), orders.len(), "each write has its order");
        Ok(Self { table, writes, orders })
    }

    /// A write as the client asked for it, to be returned as one that was not done.
    pub fn part(&self, position: usize) -> Option<WriteRequestParts> {
        let (write, order) = (self.writes.get(position)?, self.orders.get(position)?);
        Some(match write {
            BatchWrite::Put(item) => {
                let put = PutRequestParts { item: order.part(item) };
                WriteRequestParts { put_request: Some(put), delete_request: None }
            }
            BatchWrite::Delete(key) => {
                let delete = DeleteRequestParts { key: order.part(key) };
                WriteRequestParts { put_request: None, delete_request: Some(delete) }
            }
        })
    }
}

fn validate_put(part: AttributeMapPart) -> Result<BatchWrite, Error> {
    let item = checks::item(part, Wording::Legacy)?;
    checks::check_item_size(&item)?;
    Ok(BatchWrite::Put(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_not_done_goes_back_as_it_was_written() {
        let part = |names: &[&str]| -> AttributeMapPart {
            names.iter().map(|name| ((*name).to_owned(), Ok((*name).into()))).collect()
        };
        for names in [&["b", "a", "d", "c"][..], &["a", "b"], &["z"], &["c", "b", "a"]] {
            let put = PutRequestParts { item: part(names) };
            let put = WriteRequestParts { put_request: Some(put), delete_request: None };
            let delete = DeleteRequestParts { key: part(names) };
            let delete = WriteRequestParts { put_request: None, delete_request: Some(delete) };
            let parts = vec![put, delete];
            let table = BatchWriteTable::validate("Shop".to_owned(), parts.clone()).unwrap();
            assert_eq!([table.part(0), table.part(1)], [parts.first().cloned(), parts.get(1).cloned()]);
        }
    }
}
