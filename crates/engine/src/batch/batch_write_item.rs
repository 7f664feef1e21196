//! BatchWriteItem: puts and deletes of many tables, without conditions.
//!
//! The service does not make a batch atomic. Here as many writes as fit share one commit, and so one sync.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::WriteMode;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::UnprocessedItems;
use keywright_semantics::request::batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use keywright_semantics::response::{BatchWriteItemOutput, CapacityForm};
use keywright_semantics::size::item_bytes;
use keywright_semantics::throttle::Throttled;
use keywright_semantics::value::Item;
use keywright_store::Store;

use crate::bind::item::check_put;
use crate::bind::key::{ItemKey, are_distinct, bind_key};
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::meter::Meter;
use crate::write::change::{Action, Effect};
use crate::write::collections::CollectionReport;
use crate::write::group::{GroupEnd, GroupKind, binding_steps, run};
use crate::write::single_write::refused;

/// One write and its position in the request.
#[derive(Clone, Copy)]
struct Place<'r> {
    table: &'r BatchWriteTable,
    write: &'r BatchWrite,
    /// Among the writes of its table.
    position: usize,
    /// Among all writes.
    number: usize,
}

/// The table that a write was checked against, and the keys of its item.
struct Checked {
    table: Arc<Table>,
    key: ItemKey,
}

impl<'r> Place<'r> {
    fn item(self) -> &'r Item {
        match self.write {
            BatchWrite::Put(item) => item,
            BatchWrite::Delete(key) => key,
        }
    }
}

pub(crate) async fn batch_write_item<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &BatchWriteItem,
) -> Result<BatchWriteItemOutput, Error> {
    let places = places(request);
    let steps = binding_steps(bytes_of(&places));
    let checked = engine.pace().turn(steps, |_| check(engine, caller, request, &places)).await??;
    let mut answer = Answer::default();
    let mut throttled: Option<Throttled> = None;
    let mut groups = vec![places.clone()];
    while let Some(group) = groups.pop() {
        let bind = || {
            let mut tables = Tables::of(engine, caller);
            group.iter().map(|place| bind_write(tables.of_place(*place)?, *place, &checked)).collect()
        };
        let steps = if group.len() == places.len() { steps } else { binding_steps(bytes_of(&group)) };
        match run(engine, GroupKind::Single, None, steps, bind).await? {
            GroupEnd::TooLarge if group.len() > 1 => {
                let (first, second) = group.split_at(group.len() / 2);
                groups.extend([second.to_vec(), first.to_vec()]);
            }
            // What limits let through is written without the rest.
            GroupEnd::Throttled(refusals) => {
                assert_eq!(refusals.len(), group.len(), "every write of a group is refused or not");
                let mut rest = Vec::new();
                for (place, refusal) in group.into_iter().zip(refusals) {
                    match refusal {
                        None => rest.push(place),
                        Some(refusal) => {
                            answer.leave(place);
                            throttled.get_or_insert(refusal);
                        }
                    }
                }
                if !rest.is_empty() {
                    groups.push(rest);
                }
            }
            end => answer.add(request, &group, end)?,
        }
    }
    if answer.left == places.len()
        && let Some(throttled) = throttled
    {
        return Err(throttled.into_error());
    }
    Ok(BatchWriteItemOutput {
        unprocessed_items: answer.unprocessed,
        item_collection_metrics: answer.collections.report(request.metrics),
        consumed_capacity: answer.meter.report(request.capacity, CapacityForm::Plain),
    })
}

fn bytes_of(places: &[Place<'_>]) -> usize {
    places.iter().map(|place| item_bytes(place.item())).sum()
}

fn places(request: &BatchWriteItem) -> Vec<Place<'_>> {
    let mut places = Vec::with_capacity(request.tables.iter().map(|table| table.writes.len()).sum());
    for table in &request.tables {
        for (position, write) in table.writes.iter().enumerate() {
            places.push(Place { table, write, position, number: places.len() });
        }
    }
    places
}

/// Checks that every table exists, every write fits its table, and no item is written twice. Otherwise
/// nothing is written. Returns what was found for each write.
fn check<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &BatchWriteItem,
    places: &[Place<'_>],
) -> Result<Vec<Checked>, Error> {
    for table in &request.tables {
        engine.catalogue().lookup_for(caller, &table.table)?;
    }
    let mut checked = Vec::with_capacity(places.len());
    let mut tables = Tables::of(engine, caller);
    for place in places {
        match tables.of_place(*place).and_then(|table| check_write(table, *place)) {
            Ok(write) => checked.push(write),
            // A key that repeats before this write is the first fault.
            Err(error) => return Err(check_distinct(&checked).err().unwrap_or(error)),
        }
    }
    check_distinct(&checked)?;
    let strong = checked.iter().filter(|write| write.table.strong.is_some());
    let strong: Vec<(&Table, &Bytes)> = strong.map(|write| (&*write.table, &write.key.row)).collect();
    if !strong.is_empty() {
        engine.contend(&strong)?;
    }
    Ok(checked)
}

fn check_write(table: Arc<Table>, place: Place<'_>) -> Result<Checked, Error> {
    let key = match place.write {
        BatchWrite::Put(item) => check_put(table.id, &table.schema, item)?,
        BatchWrite::Delete(key) => bind_key(table.id, &table.schema, key)?,
    };
    Ok(Checked { table, key })
}

fn check_distinct(checked: &[Checked]) -> Result<(), Error> {
    let keys = checked.iter().map(|write| &write.key);
    if are_distinct(keys) { Ok(()) } else { Err(Error::validation(messages::BATCH_DUPLICATE_KEYS)) }
}

/// The tables of writes that follow each other, each looked up once.
struct Tables<'e, 'r, S: Store> {
    engine: &'e Engine<S>,
    caller: &'e Caller,
    last: Option<(&'r BatchWriteTable, Arc<Table>)>,
}

impl<'e, 'r, S: Store> Tables<'e, 'r, S> {
    const fn of(engine: &'e Engine<S>, caller: &'e Caller) -> Self {
        Self { engine, caller, last: None }
    }

    fn of_place(&mut self, place: Place<'r>) -> Result<Arc<Table>, Error> {
        match &self.last {
            Some((named, table)) if std::ptr::eq(*named, place.table) => Ok(Arc::clone(table)),
            _ => {
                let table = self.engine.catalogue().lookup_for(self.caller, &place.table.table)?;
                self.last = Some((place.table, Arc::clone(&table)));
                Ok(table)
            }
        }
    }
}

/// Binds a write. What was checked against the same table needs no second check.
fn bind_write<'r>(table: Arc<Table>, place: Place<'r>, checked: &[Checked]) -> Result<Action<'r>, Error> {
    let known = checked.get(place.number).filter(|write| Arc::ptr_eq(&write.table, &table));
    let key = match known {
        Some(write) => write.key.clone(),
        None => check_write(Arc::clone(&table), place)?.key,
    };
    let effect = match place.write {
        BatchWrite::Put(item) => Effect::Put(EncodedItem::encode(item)),
        BatchWrite::Delete(_) => Effect::Delete,
    };
    Ok(Action { table, key, effect, condition: None, given: Some(place.item()) })
}

/// The response under construction.
#[derive(Default)]
struct Answer {
    meter: Meter,
    collections: CollectionReport,
    unprocessed: UnprocessedItems,
    /// The number of unprocessed writes.
    left: usize,
}

impl Answer {
    fn add(&mut self, request: &BatchWriteItem, group: &[Place<'_>], end: GroupEnd) -> Result<(), Error> {
        match end {
            GroupEnd::Written(outcomes) => {
                assert_eq!(outcomes.len(), group.len(), "every write of a group has an outcome");
                for (place, outcome) in group.iter().zip(&outcomes) {
                    let name = place.table.table.as_given();
                    if request.capacity != ReturnConsumedCapacity::None {
                        self.meter.add(name, outcome.change.usage(&outcome.table, WriteMode::Plain));
                    }
                    if request.metrics == ReturnItemCollectionMetrics::Size {
                        self.collections.add(name, place.item(), outcome);
                    }
                }
                Ok(())
            }
            GroupEnd::Conflict(_) => {
                for place in group {
                    self.leave(*place);
                }
                Ok(())
            }
            GroupEnd::Refused(refusals) => Err(refusals
                .into_iter()
                .flatten()
                .next()
                .map_or_else(fault::internal, |refusal| refused(refusal, OnConditionFailure::Nothing))),
            GroupEnd::Replayed(_) | GroupEnd::Overtaken | GroupEnd::TooLarge | GroupEnd::Throttled(_) => {
                Err(fault::internal())
            }
        }
    }

    /// Returns a write as unprocessed, for the client to send again.
    fn leave(&mut self, place: Place<'_>) {
        self.left += 1;
        let name = place.table.table.as_given();
        let Some(parts) = place.table.part(place.position) else { return };
        match self.unprocessed.iter_mut().find(|(table, _)| table == name) {
            Some((_, writes)) => writes.push(parts),
            None => self.unprocessed.push((name.to_owned(), vec![parts])),
        }
    }
}
