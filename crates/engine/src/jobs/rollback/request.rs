//! What a rollback is asked to do: to which time, which items.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::expression::{Condition, ConditionKind, Placeholders, parse_condition};
use keywright_semantics::messages::{Wording, backup as messages, data_plane};
use keywright_semantics::request::TableRef;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::Store;
use serde::{Deserialize, Serialize};

use crate::bind::item::check_condition;
use crate::bind::key::bind_row;
use crate::catalogue::Table;
use crate::history::item::window_of;
use crate::history::merge::Part;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::{self, within_items};
use crate::support::stamp::Stamp;

/// What is brought back, and to which time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollbackRequest {
    /// The table.
    pub table: String,
    /// The time, in milliseconds since 1970: all changes from then on are undone.
    pub to_ms: u64,
    /// The whole key of an item, or the partition key of some: only these. `None` is the whole table.
    pub key: Option<Item>,
    /// Only the items that match.
    pub filter: Option<RollbackFilter>,
    /// Also items whose time to live has passed meanwhile. Time to live deletes them again.
    pub with_expired: bool,
}

/// A filter expression. It is judged on the item as it was at the time; if there was none, on the present
/// one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollbackFilter {
    /// The expression.
    pub expression: String,
    /// What its names that begin with `#` stand for.
    pub names: Vec<(String, String)>,
    /// What its values that begin with `:` stand for.
    pub values: Item,
}

/// A filter as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Filter {
    expression: String,
    names: Vec<(String, String)>,
    /// The stored form of an item with these attributes.
    values: Vec<u8>,
}

/// The items of a rollback, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scope {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    filter: Option<Filter>,
    with_expired: bool,
}

impl Scope {
    pub(super) const fn with_expired(&self) -> bool {
        self.with_expired
    }

    /// Its part of the table from this key on; from its beginning, if the key is empty.
    pub(super) fn part_from(&self, from: &[u8]) -> Part {
        let start = if from.is_empty() { &self.start } else { from };
        Part { start: Bytes::copy_from_slice(start), end: self.end.as_deref().map(Bytes::copy_from_slice) }
    }

    /// The filter, parsed anew: its stored form is the client's text.
    pub(super) fn condition(&self, table: &Table) -> Result<Option<Condition>, Error> {
        let Some(filter) = &self.filter else { return Ok(None) };
        let values = EncodedItem::from_stored(Bytes::copy_from_slice(&filter.values));
        let values = values.map_err(fault::corrupt)?.decode();
        parse(table, &filter.expression, &filter.names, &values).map(Some)
    }
}

fn parse(
    table: &Table,
    expression: &str,
    names: &[(String, String)],
    values: &Item,
) -> Result<Condition, Error> {
    let value = |(name, value): (&String, &AttributeValue)| (name.clone(), Ok(value.clone()));
    let values: Vec<_> = values.iter().map(value).collect();
    let names = (!names.is_empty()).then_some(names);
    let mut placeholders =
        Placeholders::new(names, (!values.is_empty()).then_some(&values), Wording::Legacy)?;
    let condition = parse_condition(expression, ConditionKind::Filter, &mut placeholders)?;
    placeholders.finish()?;
    check_condition(&table.schema, Some(&condition))?;
    Ok(condition)
}

/// A request that fits its table.
pub(super) struct Checked {
    pub table: Arc<Table>,
    /// All commits before it stay.
    pub to: Stamp,
    pub scope: Scope,
}

/// Checks a request.
pub(super) async fn check<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &RollbackRequest,
) -> Result<Checked, Error> {
    let name = &request.table;
    if engine.is_shared() {
        engine.catalogue().follow(engine.env().now_ms()).await?;
    }
    let named = TableRef::named(name.clone());
    let table = engine.catalogue().lookup(namespace, &named)?;
    check_time(engine, &table, request.to_ms)?;
    let part = match &request.key {
        None => Part::default(),
        Some(key) => part_of(&table, key)?,
    };
    if let Some(filter) = &request.filter {
        parse(&table, &filter.expression, &filter.names, &filter.values)?;
    }
    let filter = request.filter.as_ref().map(|filter| Filter {
        expression: filter.expression.clone(),
        names: filter.names.clone(),
        values: EncodedItem::encode(&filter.values).as_bytes().to_vec(),
    });
    let scope = Scope {
        start: part.start.to_vec(),
        end: part.end.map(|end| end.to_vec()),
        filter,
        with_expired: request.with_expired,
    };
    Ok(Checked { table, to: Stamp::first_of(request.to_ms), scope })
}

/// Checks that a table can be read as of a time.
pub(super) fn check_time<S: Store>(engine: &Engine<S>, table: &Table, to_ms: u64) -> Result<(), Error> {
    let ends = window_of(engine, table).filter(|_| table.history.recovery().is_some());
    let Some((earliest_ms, latest_ms)) = ends else {
        let text = messages::recovery_not_enabled(&table.name);
        return Err(Error::new(ErrorKind::PointInTimeRecoveryUnavailable, text));
    };
    if (earliest_ms..=latest_ms).contains(&to_ms) {
        return Ok(());
    }
    let text = messages::outside_window(to_ms, earliest_ms, latest_ms);
    Err(Error::new(ErrorKind::InvalidRestoreTime, text))
}

/// The items of a key: one item, or those with a partition key.
fn part_of(table: &Table, key: &Item) -> Result<Part, Error> {
    let schema = &table.schema;
    let is_partition = !schema.key.sort.is_empty() && key.len() == schema.key.partition.len();
    if !is_partition {
        // No item's key is the beginning of another's.
        return Ok(Part::beginning_with(&within_items(&bind_row(table.id, schema, key)?)));
    }
    let mut of_partition = schema.clone();
    of_partition.key.sort.clear();
    let row = bind_row(table.id, &of_partition, key)
        .map_err(|_fault| Error::validation(data_plane::KEY_DOES_NOT_MATCH_SCHEMA))?;
    Ok(Part::beginning_with(&layout::collection_of(&within_items(&row))))
}
