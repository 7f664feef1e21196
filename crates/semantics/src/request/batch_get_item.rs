//! BatchGetItem: its typed request.

use std::collections::BTreeSet;

use super::checks::{self, Dialects, Member};
use super::common::Consistency;
use super::parts::{BatchGetItemParts, KeysAndAttributesParts, ReturnConsumedCapacity};
use super::table_ref::TableRef;
use crate::codec::EncodedItem;
use crate::error::Error;
use crate::expression::{Placeholders, Projection};
use crate::limits::BATCH_GET_KEYS_MAX;
use crate::messages::{Wording, item as messages, shape};
use crate::value::Item;

const OPERATION: &str = "BatchGetItem";

/// The keys to read from one table.
#[derive(Clone, Debug)]
pub struct BatchGetTable {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The primary keys, in the client's order, none twice in the same spelling.
    pub keys: Vec<Item>,
    /// The parts of each item to return; absent: whole items.
    pub projection: Option<Projection>,
    /// From `ConsistentRead`; eventual unless the client asks for a strong read.
    pub consistency: Consistency,
    /// The client's own parts, to return those that were not read. Their `keys` are those above, in the same
    /// order.
    pub parts: KeysAndAttributesParts,
}

/// A BatchGetItem validated as far as that is possible without the tables.
#[derive(Clone, Debug)]
pub struct BatchGetItem {
    /// At least one table, with at most [`BATCH_GET_KEYS_MAX`] keys together.
    pub tables: Vec<BatchGetTable>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl BatchGetItem {
    /// Validates the parts table by table, in the service's order of checks. Observed: repeated keys are
    /// reported before a missing table, so this check is here.
    pub fn validate(parts: BatchGetItemParts) -> Result<Self, Error> {
        if parts.request_items.is_empty() {
            let violation = shape::unechoed_violation("RequestItems", &shape::length_at_least(1));
            return Err(Error::validation(shape::violations(&[violation])));
        }
        let is_mixed = mixes_dialects(&parts);
        let mut keys_left = BATCH_GET_KEYS_MAX;
        let mut tables = Vec::with_capacity(parts.request_items.len());
        for (name, table) in parts.request_items {
            tables.push(BatchGetTable::validate(name, table, &mut keys_left)?);
        }
        // Observed: the service refuses this; its message and the order of checks are not recorded.
        if is_mixed {
            let text = messages::mixed_parameters(&["AttributesToGet"], &["ProjectionExpression"]);
            return Err(Error::validation(text));
        }
        Ok(Self { tables, capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None) })
    }
}

impl BatchGetTable {
    fn validate(name: String, parts: KeysAndAttributesParts, keys_left: &mut usize) -> Result<Self, Error> {
        let table = TableRef::of(name)?;
        Dialects {
            legacy: &[Member::of("AttributesToGet", parts.attributes_to_get.as_ref())],
            projection: &[Member::of("ProjectionExpression", parts.projection_expression.as_ref())],
            expressions: &[],
            names: checks::names(parts.expression_attribute_names.as_ref()),
            values: checks::NO_VALUES,
            wording: Wording::Present,
        }
        .check()?;
        checks::check_attributes_to_get(parts.attributes_to_get.as_ref())?;
        let mut placeholders =
            Placeholders::new(parts.expression_attribute_names.as_deref(), None, Wording::Present)?;
        let projection = checks::projection(
            parts.projection_expression.as_ref(),
            parts.attributes_to_get.as_ref(),
            &mut placeholders,
        )?;
        placeholders.finish()?;
        let keys = distinct_keys(&parts, keys_left)?;
        assert_eq!(keys.len(), parts.keys.len(), "each key has its part");
        Ok(Self { table, keys, projection, consistency: Consistency::of(parts.consistent_read), parts })
    }
}

/// Whether the request has the legacy dialect for one table and expressions for another.
fn mixes_dialects(parts: &BatchGetItemParts) -> bool {
    let tables = || parts.request_items.iter().map(|(_, table)| table);
    tables().any(|table| table.attributes_to_get.is_some())
        && tables().any(|table| table.projection_expression.is_some())
}

/// The keys, none twice. Each takes one of the keys that the batch may still have. Observed: equal numbers in
/// different spellings are different keys.
fn distinct_keys(parts: &KeysAndAttributesParts, keys_left: &mut usize) -> Result<Vec<Item>, Error> {
    let mut seen = BTreeSet::new();
    let keys = parts.keys.iter().map(|part| {
        let key = checks::item_ref(&part.attributes, Wording::Present)?;
        if !seen.insert((EncodedItem::encode(&key).as_bytes().clone(), part.spellings())) {
            return Err(Error::validation(messages::KEYS_REPEATED));
        }
        match keys_left.checked_sub(1) {
            Some(left) => *keys_left = left,
            None => return Err(Error::validation(messages::too_many_requests(OPERATION))),
        }
        Ok(key)
    });
    keys.collect()
}
