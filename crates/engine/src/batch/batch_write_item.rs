//! BatchWriteItem: puts and deletes of many tables, without conditions.
//!
//! The service does not make a batch atomic. Here as many writes as fit share one commit, and so one sync.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::WriteMode;
use keywright_semantics::error::Error;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::UnprocessedItems;
use keywright_semantics::request::batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::response::{BatchWriteItemOutput, CapacityForm};
use keywright_semantics::size::item_bytes;
use keywright_semantics::throttle::Throttled;
use keywright_semantics::value::Item;
use keywright_store::Store;

use crate::bind::item::{bind_put, check_put};
use crate::bind::key::{bind_key, check_key_within};
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
    position: usize,
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
    let places: Vec<Place<'_>> = request.tables.iter().flat_map(places).collect();
    let steps = binding_steps(bytes_of(&places));
    engine.pace().turn(steps, |_| check(engine, caller, request, &places)).await??;
    let mut answer = Answer::default();
    let mut throttled: Option<Throttled> = None;
    let mut groups = vec![places.clone()];
    while let Some(group) = groups.pop() {
        let bind = || {
            let mut tables = Tables::of(engine, caller);
            group.iter().map(|place| bind_write(tables.of_place(*place)?, *place)).collect()
        };
        let steps = binding_steps(bytes_of(&group));
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
            end => answer.add(&group, end)?,
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

fn places(table: &BatchWriteTable) -> impl Iterator<Item = Place<'_>> {
    table.writes.iter().enumerate().map(move |(position, write)| Place { table, write, position })
}

/// Checks that every table exists, every write fits its table, and no item is written twice. Otherwise
/// nothing is written.
fn check<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &BatchWriteItem,
    places: &[Place<'_>],
) -> Result<(), Error> {
    for table in &request.tables {
        engine.catalogue().lookup_for(caller, &table.table)?;
    }
    let mut seen: BTreeSet<Bytes> = BTreeSet::new();
    let mut shared: Vec<(Arc<Table>, Bytes)> = Vec::new();
    let mut tables = Tables::of(engine, caller);
    for place in places {
        let table = tables.of_place(*place)?;
        let key = match place.write {
            BatchWrite::Put(item) => {
                check_key_within(&table.schema, item)?;
                check_put(table.id, &table.schema, item)?
            }
            BatchWrite::Delete(key) => bind_key(table.id, &table.schema, key)?,
        };
        if table.strong.is_some() {
            shared.push((table, key.row.clone()));
        }
        if !seen.insert(key.row) {
            return Err(Error::validation(messages::BATCH_DUPLICATE_KEYS));
        }
    }
    if shared.is_empty() {
        return Ok(());
    }
    let writes: Vec<(&Table, &Bytes)> = shared.iter().map(|(table, row)| (&**table, row)).collect();
    engine.contend(&writes)
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

fn bind_write(table: Arc<Table>, place: Place<'_>) -> Result<Action<'_>, Error> {
    let (key, effect) = match place.write {
        BatchWrite::Put(item) => {
            check_key_within(&table.schema, item)?;
            let put = bind_put(table.id, &table.schema, item)?;
            (put.key, Effect::Put(put.item))
        }
        BatchWrite::Delete(key) => (bind_key(table.id, &table.schema, key)?, Effect::Delete),
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
    fn add(&mut self, group: &[Place<'_>], end: GroupEnd) -> Result<(), Error> {
        match end {
            GroupEnd::Written(outcomes) => {
                assert_eq!(outcomes.len(), group.len(), "every write of a group has an outcome");
                for (place, outcome) in group.iter().zip(&outcomes) {
                    let name = &place.table.table.as_given;
                    self.meter.add(name, outcome.change.usage(&outcome.table, WriteMode::Plain));
                    self.collections.add(name, place.item(), outcome);
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
        let name = &place.table.table.as_given;
        let Some(parts) = place.table.part(place.position) else { return };
        match self.unprocessed.iter_mut().find(|(table, _)| table == name) {
            Some((_, writes)) => writes.push(parts),
            None => self.unprocessed.push((name.clone(), vec![parts])),
        }
    }
}
