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
use crate::name_map;
use crate::value::{AttributeValue, Item, ValueFault};

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

/// The order in which a client wrote the attributes of an item or key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeOrder(Ranks);

/// For each attribute, as the client wrote them, its place by name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ranks {
    /// Of at most [`FEW_ATTRIBUTES`], four bits each, the first attribute lowest: most items take no
    /// allocation.
    Few(u64),
    Many(Vec<usize>),
}

/// Attributes whose places fit in a word.
const FEW_ATTRIBUTES: usize = 16;
/// Bits of a place among so many.
const RANK_BITS: usize = 4;

const _: () = assert!(FEW_ATTRIBUTES == 1 << RANK_BITS, "a place fits its bits");
const _: () = assert!(FEW_ATTRIBUTES * RANK_BITS == 64, "all places fit a word");

impl AttributeOrder {
    /// Sorts the attributes by name.
    fn sorting(attributes: &mut [(String, AttributeValue)]) -> Self {
        if attributes.len() > FEW_ATTRIBUTES {
            return Self(Ranks::Many(sort_many(attributes)));
        }
        let mut written: [u8; FEW_ATTRIBUTES] = std::array::from_fn(|place| u8::try_from(place).unwrap_or(0));
        name_map::sort_few(attributes, |place| written.swap(place - 1, place));
        let ranks = (0_u64..).zip(written).take(attributes.len());
        Self(Ranks::Few(
            ranks.fold(0, |ranks, (rank, written)| ranks | (rank << (RANK_BITS * usize::from(written)))),
        ))
    }

    /// The attributes as the client wrote them.
    fn part(&self, item: &Item) -> AttributeMapPart {
        let by_name: Vec<_> = item.iter().collect();
        let attribute =
            |rank: usize| by_name.get(rank).map(|(name, value)| ((*name).clone(), Ok((*value).clone())));
        let part: AttributeMapPart = match &self.0 {
            Ranks::Few(ranks) => (0..by_name.len())
                .filter_map(|written| {
                    attribute(usize::try_from((ranks >> (RANK_BITS * written)) & 0xF).ok()?)
                })
                .collect(),
            Ranks::Many(ranks) => ranks.iter().filter_map(|rank| attribute(*rank)).collect(),
        };
        assert_eq!(part.len(), item.len(), "each attribute has its place");
        part
    }
}

/// Sorts attributes by name; returns for each, as they stood, its place.
fn sort_many(attributes: &mut [(String, AttributeValue)]) -> Vec<usize> {
    let mut by_name: Vec<usize> = (0..attributes.len()).collect();
    by_name.sort_by_key(|place| attributes.get(*place).map(|(name, _)| name.as_str()));
    let mut ranks = vec![0; attributes.len()];
    for (rank, place) in by_name.into_iter().enumerate() {
        if let Some(slot) = ranks.get_mut(place) {
            *slot = rank;
        }
    }
    attributes.sort_by(|(one, _), (other, _)| name_map::order_of(one, other));
    ranks
}

/// The order of the attributes, and the item of them.
fn ordered(part: AttributeMapPart) -> Result<(AttributeOrder, Item), Error> {
    let mut attributes = checks::attributes(part, Wording::Legacy)?;
    let order = AttributeOrder::sorting(&mut attributes);
    Ok((order, attributes.into_iter().collect()))
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
                (Some(put), _) => {
                    let (order, item) = ordered(put.item)?;
                    checks::check_item_size(&item)?;
                    (order, BatchWrite::Put(item))
                }
                (None, Some(delete)) => {
                    let (order, key) = ordered(delete.key)?;
                    (order, BatchWrite::Delete(key))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_not_done_goes_back_as_it_was_written() {
        let part = |names: &[&str]| -> AttributeMapPart {
            names.iter().map(|name| ((*name).to_owned(), Ok((*name).into()))).collect()
        };
        let many: Vec<String> = (0..40).map(|number| format!("{}", number * 23 % 40)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let lists = [&["b", "a", "d", "c"][..], &["a", "b"], &["z"], &["c", "b", "a"], &many[..]];
        for names in lists.into_iter().chain((1..40).map(|count| &many[..count])) {
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
