//! GetItem: one item by its key, with one read of the store.

use keywright_semantics::capacity::{TableUsage, Usage, read_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::Projection;
use keywright_semantics::request::get_item::GetItem;
use keywright_semantics::response::{CapacityForm, GetItemOutput};
use keywright_store::{Snapshot, Store};

use crate::bind::item::check_paths;
use crate::bind::key::bind_row;
use crate::catalogue::Table;
use crate::insights::contributor::KeySource;
use crate::read::page::read_mode;
use crate::state::Engine;
use crate::state::admission::ReadOf;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::lane::Pace;
use crate::support::layout::within_items;
use crate::support::meter::consumed;

pub(crate) async fn get_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &GetItem,
) -> Result<GetItemOutput, Error> {
    let table = engine.catalogue().lookup(&caller.namespace, &request.table)?;
    let row = bind_row(table.id, &table.schema, &request.key)?;
    check_projection(&table, request.projection.as_deref())?;
    let of = ReadOf { table: &table, index: None };
    let key = KeySource::Given(&request.key);
    engine.admit_read(of, || within_items(&row)).map_err(|throttled| {
        engine.note_refused_key(of, &throttled, key);
        throttled.into_error()
    })?;
    let stored = match engine.region_view(&table, request.consistency).await? {
        None => engine.store().get(&row).await,
        Some(view) => view.get(&row).await,
    };
    let stored = stored.map_err(|error| fault::storage(&error))?;
    let found = stored.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
    let bytes = found.as_ref().map_or(0, EncodedItem::size_bytes);
    let read = Usage::reading(read_units(bytes, read_mode(request.consistency)));
    engine.charge_read(of, read.read, || vec![within_items(&row)]);
    engine.note_key(of, read, key);
    let usage = || TableUsage { table: read, ..TableUsage::default() };
    let consumed_capacity = consumed(request.capacity, request.table.as_given(), CapacityForm::Plain, usage);
    let item = match (found, request.projection.as_deref()) {
        (Some(item), Some(_)) => {
            Some(project(&mut engine.pace(), item, request.projection.as_deref()).await?)
        }
        (found, _) => found,
    };
    Ok(GetItemOutput { item, consumed_capacity })
}

/// The projected part of an item.
pub(crate) async fn project(
    pace: &mut Pace<'_>,
    item: EncodedItem,
    projection: Option<&Projection>,
) -> Result<EncodedItem, Error> {
    let Some(projection) = projection else { return Ok(item) };
    let steps = projection.work().steps(item.size_bytes());
    pace.turn(steps, |_| projection.project(item.view())).await
}

/// Checks that a projection does not go below key attributes.
pub(crate) fn check_projection(table: &Table, projection: Option<&Projection>) -> Result<(), Error> {
    let Some(projection) = projection else { return Ok(()) };
    let paths: Vec<_> = projection.paths().iter().collect();
    Ok(check_paths(&table.schema, &paths)?)
}
