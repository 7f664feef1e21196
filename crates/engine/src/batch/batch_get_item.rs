//! BatchGetItem: many items of many tables, read on one snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{TableUsage, Usage, read_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::BATCH_GET_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::UnprocessedKeys;
use keywright_semantics::request::batch_get_item::{BatchGetItem, BatchGetTable};
use keywright_semantics::request::parts::KeysAndAttributesParts;
use keywright_semantics::response::{BatchGetItemOutput, CapacityForm};
use keywright_store::{Snapshot, Store};

use crate::bind::key::bind_row;
use crate::read::get_item::{check_projection, project};
use crate::read::page::read_mode;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::lane::Pace;
use crate::support::meter::Meter;

/// Keys of one read of the store: it bounds what is read beyond the response's limit.
const CHUNK_KEYS_MAX: usize = 16;

/// One table's keys, bound.
struct BoundTable<'r> {
    request: &'r BatchGetTable,
    keys: Vec<Bytes>,
}

pub(crate) async fn batch_get_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &BatchGetItem,
) -> Result<BatchGetItemOutput, Error> {
    let tables = bind(engine, caller, request)?;
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut answer = Answer::default();
    let mut pace = engine.pace();
    for table in &tables {
        answer.read(&mut pace, &snapshot, table).await?;
    }
    engine.charge(answer.meter.total());
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
        found.push(engine.catalogue().lookup(caller, &asked.table)?);
    }
    let mut seen = BTreeSet::new();
    let mut tables = Vec::with_capacity(found.len());
    for (asked, table) in request.tables.iter().zip(found) {
        let mut keys = Vec::with_capacity(asked.keys.len());
        for key in &asked.keys {
            let key = bind_row(table.id, &table.schema, key)?;
            if !seen.insert(key.clone()) {
                return Err(Error::validation(messages::BATCH_DUPLICATE_KEYS));
            }
            keys.push(key);
        }
        check_projection(&Arc::clone(&table), asked.projection.as_ref())?;
        tables.push(BoundTable { request: asked, keys });
    }
    Ok(tables)
}

/// The response under construction.
#[derive(Default)]
struct Answer {
    responses: Vec<(String, Vec<EncodedItem>)>,
    unprocessed: UnprocessedKeys,
    meter: Meter,
    bytes: usize,
}

impl Answer {
    /// Reads a table's keys until the response is full; the rest is returned as unprocessed.
    async fn read<T: Snapshot>(
        &mut self,
        pace: &mut Pace<'_>,
        snapshot: &T,
        table: &BoundTable<'_>,
    ) -> Result<(), Error> {
        let asked = table.request;
        let name = &asked.table.as_given;
        let mut items = Vec::new();
        let mut done = 0;
        'full: for keys in table.keys.chunks(CHUNK_KEYS_MAX) {
            if self.bytes >= BATCH_GET_BYTES_MAX {
                break;
            }
            let rows = snapshot.get_many(keys).await.map_err(|error| fault::storage(&error))?;
            for row in rows {
                let item = row.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
                let bytes = item.as_ref().map_or(0, EncodedItem::size_bytes);
                if self.bytes + bytes > BATCH_GET_BYTES_MAX {
                    self.bytes = BATCH_GET_BYTES_MAX;
                    break 'full;
                }
                self.bytes += bytes;
                done += 1;
                let units = read_units(bytes, read_mode(asked.consistency));
                self.meter.add(name, TableUsage { table: Usage::reading(units), ..TableUsage::default() });
                if let Some(item) = item {
                    items.push(project(pace, item, asked.projection.as_ref()).await?);
                }
            }
        }
        assert!(items.len() <= done, "an item is returned for a key that was read");
        assert!(self.bytes <= BATCH_GET_BYTES_MAX, "a response keeps its size limit");
        self.responses.push((name.clone(), items));
        if let Some(keys) = asked.parts.keys.get(done..).filter(|keys| !keys.is_empty()) {
            let parts = KeysAndAttributesParts { keys: keys.to_vec(), ..asked.parts.clone() };
            self.unprocessed.push((name.clone(), parts));
        }
        Ok(())
    }
}
