//! TransactGetItems: up to 100 items of one version of the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, ReadMode, TableUsage, Usage, read_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::TRANSACTION_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::transact_get_items::TransactGetItems;
use keywright_semantics::response::{CapacityForm, TransactGetItemsOutput};
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use crate::batch::cancel::{cancelled_by_fault, cancelled_by_limits};
use crate::bind::key::bind_row;
use crate::bind::transaction::check_tables;
use crate::bind::{BindFault, FaultScope};
use crate::catalogue::Table;
use crate::insights::contributor::KeySource;
use crate::read::get_item::{check_projection, project};
use crate::state::Engine;
use crate::state::admission::ReadOf;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::layout::within_items;
use crate::support::meter::Meter;
use crate::throughput::{Arm, Demand, Together};

pub(crate) async fn transact_get_items<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &TransactGetItems,
) -> Result<TransactGetItemsOutput, Error> {
    let (tables, keys) = bind(engine, caller, request)?;
    let rows = engine.store().get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    assert_eq!(rows.len(), request.gets.len(), "the store answers every key");
    let mut meter = Meter::default();
    let mut responses = Vec::with_capacity(rows.len());
    let mut bytes_read = 0;
    let mut demands = Vec::with_capacity(rows.len());
    let mut pace = engine.pace();
    for ((get, row), (table, key)) in request.gets.iter().zip(rows).zip(tables.iter().zip(&keys)) {
        let item = row.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        let bytes = item.as_ref().map_or(0, EncodedItem::size_bytes);
        bytes_read += bytes;
        let units = read_units(bytes, ReadMode::Transactional);
        meter.add(get.table.as_given(), TableUsage { table: Usage::reading(units), ..TableUsage::default() });
        let arm = Arm { index: None, direction: Direction::Read, key: Some(within_items(key)), units };
        demands.push(Demand { table, arms: vec![arm] });
        let item = match item {
            Some(item) => Some(project(&mut pace, item, get.projection.as_ref()).await?),
            None => None,
        };
        responses.push(item.filter(|item| !item.is_empty()));
    }
    if bytes_read > TRANSACTION_BYTES_MAX {
        return Err(Error::validation(messages::TRANSACTION_TOO_LARGE));
    }
    admit(engine, request, &demands)?;
    note_consumed(engine, request, &demands);
    Ok(TransactGetItemsOutput {
        responses,
        consumed_capacity: meter.report(request.capacity, CapacityForm::TransactRead),
    })
}

fn bind<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &TransactGetItems,
) -> Result<(Vec<Arc<Table>>, Vec<Bytes>), Error> {
    let mut tables = Vec::with_capacity(request.gets.len());
    for get in &request.gets {
        tables.push(engine.catalogue().lookup_for(caller, &get.table)?);
    }
    check_tables(tables.iter().map(|table| &**table))?;
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
    Ok((tables, keys))
}

/// Charges all reads, or cancels the transaction.
fn admit<S: Store>(
    engine: &Engine<S>,
    request: &TransactGetItems,
    demands: &[Demand<'_>],
) -> Result<(), Error> {
    if demands.iter().all(|demand| !engine.is_limited(demand.table)) {
        return Ok(());
    }
    engine.admit_demands(demands, Together::All).map_err(|refusals| {
        for ((get, demand), refusal) in request.gets.iter().zip(demands).zip(&refusals) {
            if let Some(throttled) = refusal {
                engine.note_refused_key(read_of(demand), throttled, KeySource::Given(&get.key));
            }
        }
        cancelled_by_limits(refusals)
    })
}

const fn read_of<'a>(demand: &Demand<'a>) -> ReadOf<'a> {
    ReadOf { table: demand.table, index: None }
}

/// Reports what the transaction consumed of each table.
fn note_consumed<S: Store>(engine: &Engine<S>, request: &TransactGetItems, demands: &[Demand<'_>]) {
    let units_of = |demand: &Demand<'_>| demand.arms.iter().fold(HalfUnits(0), |sum, arm| sum + arm.units);
    for (get, demand) in request.gets.iter().zip(demands) {
        engine.note_key(read_of(demand), Usage::reading(units_of(demand)), KeySource::Given(&get.key));
    }
    let mut seen: Vec<(&Table, HalfUnits)> = Vec::new();
    for demand in demands {
        match seen.iter_mut().find(|(table, _)| table.id == demand.table.id) {
            Some((_, units)) => *units += units_of(demand),
            None => seen.push((demand.table, units_of(demand))),
        }
    }
    for (table, units) in seen {
        engine.note_consumed(table, None, Usage::reading(units));
    }
}
