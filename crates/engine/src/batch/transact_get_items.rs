//! TransactGetItems: up to 100 items, read from one snapshot.

use std::collections::BTreeSet;

use bytes::Bytes;
use keywright_semantics::capacity::{ReadMode, TableUsage, Usage, read_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::TRANSACTION_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::transact_get_items::TransactGetItems;
use keywright_semantics::response::{CapacityForm, TransactGetItemsOutput};
use keywright_store::{Snapshot, Store};

use crate::batch::cancel::cancelled_by_fault;
use crate::bind::key::bind_row;
use crate::bind::{BindFault, FaultScope};
use crate::read::get_item::{check_projection, project};
use crate::state::Engine;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::meter::Meter;

pub(crate) async fn transact_get_items<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &TransactGetItems,
) -> Result<TransactGetItemsOutput, Error> {
    let keys = bind(engine, caller, request)?;
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let rows = snapshot.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    assert_eq!(rows.len(), request.gets.len(), "the store answers every key");
    let mut meter = Meter::default();
    let mut responses = Vec::with_capacity(rows.len());
    let mut bytes_read = 0;
    let mut pace = engine.pace();
    for (get, row) in request.gets.iter().zip(rows) {
        let item = row.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        let bytes = item.as_ref().map_or(0, EncodedItem::size_bytes);
        bytes_read += bytes;
        let units = read_units(bytes, ReadMode::Transactional);
        meter.add(&get.table.as_given, TableUsage { table: Usage::reading(units), ..TableUsage::default() });
        let item = match item {
            Some(item) => Some(project(&mut pace, item, get.projection.as_ref()).await?),
            None => None,
        };
        responses.push(item.filter(|item| !item.is_empty()));
    }
    if bytes_read > TRANSACTION_BYTES_MAX {
        return Err(Error::validation(messages::TRANSACTION_TOO_LARGE));
    }
    engine.charge(meter.total());
    Ok(TransactGetItemsOutput {
        responses,
        consumed_capacity: meter.report(request.capacity, CapacityForm::TransactRead),
    })
}

fn bind<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &TransactGetItems,
) -> Result<Vec<Bytes>, Error> {
    let mut tables = Vec::with_capacity(request.gets.len());
    for get in &request.gets {
        tables.push(engine.catalogue().lookup(caller, &get.table)?);
    }
    let mut seen = BTreeSet::new();
    let mut bound: Vec<Result<Bytes, BindFault>> = Vec::with_capacity(tables.len());
    for (get, table) in request.gets.iter().zip(&tables) {
        check_projection(table, get.projection.as_ref())?;
        let key = bind_row(table.id, &table.schema, &get.key);
        match &key {
            Ok(row) if !seen.insert(row.clone()) => {
                return Err(Error::validation(messages::TRANSACTION_DUPLICATE_ITEM));
            }
            Err(fault) if fault.scope == FaultScope::Request => return Err(fault.clone().into()),
            Ok(_) | Err(_) => bound.push(key),
        }
    }
    let count = bound.len();
    let mut keys = Vec::with_capacity(count);
    for (place, key) in bound.into_iter().enumerate() {
        keys.push(key.map_err(|fault| cancelled_by_fault(count, place, fault.message))?);
    }
    Ok(keys)
}
