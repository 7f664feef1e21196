//! BatchGetItem: many items of many tables, of one version of the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage, read_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::BATCH_GET_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::UnprocessedKeys;
use keywright_semantics::request::batch_get_item::{BatchGetItem, BatchGetTable};
use keywright_semantics::request::parts::KeysAndAttributesParts;
use keywright_semantics::response::{BatchGetItemOutput, CapacityForm};
use keywright_semantics::throttle::Throttled;
use keywright_store::{Snapshot, Store};

use crate::bind::key::bind_row;
use crate::catalogue::Table;
use crate::insights::contributor::KeySource;
use crate::read::get_item::{check_projection, project};
use crate::read::page::read_mode;
use crate::state::Engine;
use crate::state::admission::ReadOf;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::lane::Pace;
use crate::support::layout::within_items;
use crate::support::meter::Meter;

/// Keys of one read of the store: it bounds what is read beyond the response's limit.
const CHUNK_KEYS_MAX: usize = 16;

/// One table's keys, bound.
struct BoundTable<'r> {
    request: &'r BatchGetTable,
    table: Arc<Table>,
    keys: Vec<Bytes>,
}

pub(crate) async fn batch_get_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &BatchGetItem,
) -> Result<BatchGetItemOutput, Error> {
    let tables = bind(engine, caller, request)?;
    let mut rows = Rows::of(engine, &tables).await?;
    let mut answer = Answer::default();
    let mut pace = engine.pace();
    for table in &tables {
        match engine.region_view(&table.table, table.request.consistency).await? {
            None => answer.read(engine, &mut pace, &mut rows, table).await?,
            Some(view) => answer.read(engine, &mut pace, &mut Rows::InRegion(view), table).await?,
        }
    }
    if answer.processed == 0
        && let Some(throttled) = answer.throttled
    {
        return Err(throttled.into_error());
    }
    Ok(BatchGetItemOutput {
        responses: answer.responses,
        unprocessed_keys: answer.unprocessed,
        consumed_capacity: answer.meter.report(request.capacity, CapacityForm::Plain),
    })
}

fn bind<'r, S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &'r BatchGetItem,
) -> Result<Vec<BoundTable<'r>>, Error> {
    let mut found = Vec::with_capacity(request.tables.len());
    for asked in &request.tables {
        found.push(engine.catalogue().lookup_for(caller, &asked.table)?);
    }
    let mut seen = BTreeSet::new();
    let mut tables = Vec::with_capacity(found.len());
    for (asked, table) in request.tables.iter().zip(found) {
        let mut keys = Vec::with_capacity(asked.keys.len());
        for (key, part) in asked.keys.iter().zip(&asked.parts.keys) {
            let key = bind_row(table.id, &table.schema, key)?;
            if !seen.insert((key.clone(), part.spellings())) {
                return Err(Error::validation(messages::BATCH_DUPLICATE_KEYS));
            }
            keys.push(key);
        }
        check_projection(&table, asked.projection.as_ref())?;
        tables.push(BoundTable { request: asked, table, keys });
    }
    Ok(tables)
}

/// Where the rows of a batch come from.
enum Rows<S: Store> {
    /// All of them, in the order of the tables and their keys.
    Read(std::vec::IntoIter<Option<Bytes>>),
    In(S::Snapshot),
    InRegion(Arc<S::Snapshot>),
}

impl<S: Store> Rows<S> {
    /// A small batch is one read of the store.
    async fn of(engine: &Engine<S>, tables: &[BoundTable<'_>]) -> Result<Self, Error> {
        let store = engine.store();
        let count: usize = tables.iter().map(|table| table.keys.len()).sum();
        if count > CHUNK_KEYS_MAX || tables.iter().any(|table| table.table.strong.is_some()) {
            return Ok(Self::In(store.snapshot().await.map_err(|error| fault::storage(&error))?));
        }
        let mut keys = Vec::with_capacity(count);
        keys.extend(tables.iter().flat_map(|table| table.keys.iter().cloned()));
        let rows = store.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
        assert_eq!(rows.len(), keys.len(), "the store answers every key");
        Ok(Self::Read(rows.into_iter()))
    }

    /// The rows of the next keys.
    async fn next(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, Error> {
        let rows = match self {
            Self::Read(rows) => return Ok(rows.by_ref().take(keys.len()).collect()),
            Self::In(view) => view.get_many(keys).await,
            Self::InRegion(view) => view.get_many(keys).await,
        };
        rows.map_err(|error| fault::storage(&error))
    }
}

/// The response under construction.
#[derive(Default)]
struct Answer {
    responses: Vec<(String, Vec<EncodedItem>)>,
    unprocessed: UnprocessedKeys,
    meter: Meter,
    bytes: usize,
    processed: usize,
    /// Why the first refused item was refused.
    throttled: Option<Throttled>,
}

impl Answer {
    /// Reads a table's keys until the response is full; the rest, and what limits refuse, is returned as
    /// unprocessed.
    async fn read<S: Store>(
        &mut self,
        engine: &Engine<S>,
        pace: &mut Pace<'_>,
        rows: &mut Rows<S>,
        table: &BoundTable<'_>,
    ) -> Result<(), Error> {
        let asked = table.request;
        let name = asked.table.as_given();
        let of = ReadOf { table: &table.table, index: None };
        let mut items = Vec::new();
        let mut left = Vec::new();
        let mut units = HalfUnits(0);
        let mut done = 0;
        'full: for keys in table.keys.chunks(CHUNK_KEYS_MAX) {
            if self.bytes >= BATCH_GET_BYTES_MAX {
                break;
            }
            for (row, key) in rows.next(keys).await?.into_iter().zip(keys) {
                let item = row.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
                let bytes = item.as_ref().map_or(0, EncodedItem::size_bytes);
                if self.bytes + bytes > BATCH_GET_BYTES_MAX {
                    self.bytes = BATCH_GET_BYTES_MAX;
                    break 'full;
                }
                done += 1;
                let cost = read_units(bytes, read_mode(asked.consistency));
                let given = asked.keys.get(done - 1).map(KeySource::Given);
                if let Err(throttled) = engine.admit_item_read(of, cost, || within_items(key)) {
                    if let Some(given) = given {
                        engine.note_refused_key(of, &throttled, given);
                    }
                    self.throttled.get_or_insert(throttled);
                    left.push(done - 1);
                    continue;
                }
                if let Some(given) = given {
                    engine.note_key(of, Usage::reading(cost), given);
                }
                self.bytes += bytes;
                self.processed += 1;
                units += cost;
                if let Some(item) = item {
                    items.push(project(pace, item, asked.projection.as_ref()).await?);
                }
            }
        }
        if units > HalfUnits(0) {
            let usage = Usage::reading(units);
            engine.note_consumed(&table.table, None, usage);
            self.meter.add(name, TableUsage { table: usage, ..TableUsage::default() });
        }
        assert!(items.len() <= done, "an item is returned for a key that was read");
        assert!(self.bytes <= BATCH_GET_BYTES_MAX, "a response keeps its size limit");
        self.responses.push((name.to_owned(), items));
        left.extend(done..asked.parts.keys.len());
        if !left.is_empty() {
            let keys = left.into_iter().filter_map(|place| asked.parts.keys.get(place).cloned()).collect();
            let parts = KeysAndAttributesParts { keys, ..asked.parts.clone() };
            self.unprocessed.push((name.to_owned(), parts));
        }
        Ok(())
    }
}
