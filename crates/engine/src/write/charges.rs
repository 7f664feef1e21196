//! What the writes of a group are charged: table and indexes, against their limits and in the figures.

use keywright_semantics::capacity::{HalfUnits, Usage, WriteMode, write_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::schema::IndexKind;
use keywright_semantics::throttle::{Direction, Throttled};
use keywright_store::Store;

use crate::catalogue::Table;
use crate::insights::contributor::KeySource;
use crate::state::Engine;
use crate::state::admission::ReadOf;
use crate::support::layout::{IndexId, within_index, within_items};
use crate::throughput::{Arm, Demand, Together};
use crate::write::change::{Action, Change, Outcome, Refusal};
use crate::write::group::{GroupEnd, GroupKind};

/// How the writes of a group are charged; the service's own deletes are free.
const fn mode(kind: GroupKind) -> Option<WriteMode> {
    match kind {
        // A replica is written for the same units as the item where the change was made.
        GroupKind::Single | GroupKind::Replicated => Some(WriteMode::Plain),
        GroupKind::Transaction => Some(WriteMode::Transactional),
        GroupKind::Expiry => None,
    }
}

fn is_limited<S: Store>(engine: &Engine<S>, kind: GroupKind, actions: &[Action<'_>]) -> bool {
    let is_limited = matches!(kind, GroupKind::Single | GroupKind::Transaction);
    is_limited && actions.iter().any(|action| engine.is_limited(&action.table))
}

/// Refuses a group before the store is read. Writes of a batch are decided on later, each on its own.
pub(crate) fn check<S: Store>(
    engine: &Engine<S>,
    kind: GroupKind,
    actions: &[Action<'_>],
) -> Result<(), Vec<Option<Throttled>>> {
    let is_batch = kind == GroupKind::Single && actions.len() > 1;
    if is_batch || !is_limited(engine, kind, actions) {
        return Ok(());
    }
    let demands: Vec<_> = limited(engine, actions).map(|action| own_part(action, HalfUnits(0))).collect();
    engine.check_demands(&demands).map_err(|refusals| spread(engine, actions, refusals))
}

/// Charges a group before its commit, and returns the charges; or says which of its writes limits refuse.
pub(crate) fn admit<'a, S: Store>(
    engine: &Engine<S>,
    kind: GroupKind,
    actions: &'a [Action<'_>],
    outcomes: &[Outcome],
) -> Result<Vec<Demand<'a>>, Vec<Option<Throttled>>> {
    let Some(mode) = mode(kind).filter(|_| is_limited(engine, kind, actions)) else { return Ok(Vec::new()) };
    let pairs = actions.iter().zip(outcomes).filter(|(action, _)| engine.is_limited(&action.table));
    let demands: Vec<_> = pairs.map(|(action, outcome)| whole(action, &outcome.change, mode)).collect();
    let together = match kind {
        GroupKind::Transaction => Together::All,
        GroupKind::Single | GroupKind::Expiry | GroupKind::Replicated => Together::Each,
    };
    match engine.admit_demands(&demands, together) {
        Ok(()) => Ok(demands),
        Err(refusals) => Err(spread(engine, actions, refusals)),
    }
}

fn limited<'a, 'r, S: Store>(
    engine: &Engine<S>,
    actions: &'a [Action<'r>],
) -> impl Iterator<Item = &'a Action<'r>> {
    actions.iter().filter(|action| engine.is_limited(&action.table))
}

/// One answer for every action, from those for the actions on limited tables.
fn spread<S: Store>(
    engine: &Engine<S>,
    actions: &[Action<'_>],
    refusals: Vec<Option<Throttled>>,
) -> Vec<Option<Throttled>> {
    let mut refusals = refusals.into_iter();
    let of =
        |action: &Action<'_>| engine.is_limited(&action.table).then(|| refusals.next()).flatten().flatten();
    actions.iter().map(of).collect()
}

/// What an action asks of its table alone.
fn own_part<'a>(action: &'a Action<'_>, units: HalfUnits) -> Demand<'a> {
    let arm =
        Arm { index: None, direction: Direction::Write, key: Some(within_items(&action.key.row)), units };
    Demand { table: &action.table, arms: vec![arm] }
}

/// What an action asks of its table, with its local indexes, and of the entries of global indexes.
fn whole<'a>(action: &'a Action<'_>, change: &Change, mode: WriteMode) -> Demand<'a> {
    let table = &*action.table;
    let mut demand = own_part(action, HalfUnits(0));
    let mut own = write_units(change.larger_image_bytes(), mode);
    for (position, index) in &change.indexes {
        let Some(id) = global(table, *position) else {
            own += index.units;
            continue;
        };
        let put = index.put.as_ref().map(|entry| &entry.key);
        let keys: Vec<_> = index.delete.iter().chain(put).collect();
        let count = u64::try_from(keys.len()).unwrap_or(1).max(1);
        for key in keys {
            demand.arms.push(Arm {
                index: Some(id),
                direction: Direction::Write,
                key: Some(within_index(key)),
                units: HalfUnits(index.units.0.div_ceil(count)),
            });
        }
    }
    if let Some(arm) = demand.arms.first_mut() {
        arm.units = own;
    }
    demand
}

/// The id of the global index at this position; a local index is part of the table.
fn global(table: &Table, position: usize) -> Option<IndexId> {
    let (schema, state) = table.indexes_with_states().nth(position)?;
    (schema.kind == IndexKind::Global).then_some(state.id)
}

/// Reports what a group consumed: one figure for each table and global index. A failed condition costs the
/// write of the item it failed on.
pub(crate) fn note<S: Store>(engine: &Engine<S>, kind: GroupKind, actions: &[Action<'_>], end: &GroupEnd) {
    let Some(mode) = mode(kind) else { return };
    if actions.iter().any(|action| engine.observes_keys(&action.table)) {
        note_keys(engine, mode, actions, end);
    }
    // Most groups write to one table.
    let mut sums = Sums(Vec::with_capacity(1));
    match end {
        GroupEnd::Written(outcomes) => {
            let is_redelivered =
                |outcome: &&Outcome| kind == GroupKind::Replicated && outcome.change.taken.is_none();
            for outcome in outcomes.iter().filter(|outcome| !is_redelivered(outcome)) {
                let (table, change) = (&*outcome.table, &outcome.change);
                sums.add(table, None, write_units(change.larger_image_bytes(), mode));
                for (position, index) in &change.indexes {
                    sums.add(table, global(table, *position), index.units);
                }
            }
        }
        GroupEnd::Refused(refusals) => {
            for (action, refusal) in actions.iter().zip(refusals) {
                let Some(Refusal::Condition { item }) = refusal else { continue };
                let units = write_units(item.as_ref().map_or(0, EncodedItem::size_bytes), WriteMode::Plain);
                sums.add(&action.table, None, units);
                if engine.is_limited(&action.table) {
                    engine.take(&own_part(action, units));
                }
            }
        }
        GroupEnd::Replayed(_)
        | GroupEnd::Overtaken
        | GroupEnd::Conflict(_)
        | GroupEnd::TooLarge
        | GroupEnd::Throttled(_) => {}
    }
    for (table, index, units) in sums.0 {
        engine.note_consumed(table, index, Usage::writing(units));
    }
}

/// Reports what a group consumed of each key, and which keys limits refused. A write that moves an entry of a
/// global index counts for both of its keys.
fn note_keys<S: Store>(engine: &Engine<S>, mode: WriteMode, actions: &[Action<'_>], end: &GroupEnd) {
    for (place, action) in actions.iter().enumerate() {
        let (table, Some(given)) = (&*action.table, action.given) else { continue };
        let (of, given) = (ReadOf { table, index: None }, KeySource::Given(given));
        match end {
            GroupEnd::Written(outcomes) => {
                if let Some(outcome) = outcomes.get(place) {
                    note_key_of_table(engine, of, (&outcome.change, mode), given);
                    note_keys_of_indexes(engine, table, &outcome.change);
                }
            }
            GroupEnd::Refused(refusals) => {
                if let Some(Some(Refusal::Condition { item })) = refusals.get(place) {
                    let units =
                        write_units(item.as_ref().map_or(0, EncodedItem::size_bytes), WriteMode::Plain);
                    engine.note_key(of, Usage::writing(units), given);
                }
            }
            GroupEnd::Throttled(refusals) => {
                if let Some(Some(throttled)) = refusals.get(place) {
                    engine.note_refused_key(of, throttled, given);
                }
            }
            GroupEnd::Replayed(_) | GroupEnd::Overtaken | GroupEnd::Conflict(_) | GroupEnd::TooLarge => {}
        }
    }
}

/// The units of a table, with its local indexes.
fn note_key_of_table<S: Store>(
    engine: &Engine<S>,
    of: ReadOf<'_>,
    (change, mode): (&Change, WriteMode),
    given: KeySource<'_>,
) {
    let local = change.indexes.iter().filter(|(position, _)| global(of.table, *position).is_none());
    let own = write_units(change.larger_image_bytes(), mode);
    let units = local.fold(own, |sum, (_, index)| sum + index.units);
    engine.note_key(of, Usage::writing(units), given);
}

fn note_keys_of_indexes<S: Store>(engine: &Engine<S>, table: &Table, change: &Change) {
    for (position, index) in &change.indexes {
        let Some(id) = global(table, *position) else { continue };
        let deleted = index.delete.as_ref().and(change.old.as_ref());
        let put = index.put.as_ref().and(change.new.as_ref());
        let entries = u64::from(deleted.is_some()) + u64::from(put.is_some());
        let usage = Usage::writing(HalfUnits(index.units.0.div_ceil(entries.max(1))));
        for image in deleted.into_iter().chain(put) {
            engine.note_key(ReadOf { table, index: Some(id) }, usage, KeySource::Stored(image.view()));
        }
    }
}

/// Units by table and global index, in the order in which they appear.
struct Sums<'a>(Vec<(&'a Table, Option<IndexId>, HalfUnits)>);

impl<'a> Sums<'a> {
    fn add(&mut self, table: &'a Table, index: Option<IndexId>, units: HalfUnits) {
        let same = |(other, place, _): &&mut (&Table, Option<IndexId>, HalfUnits)| {
            other.id == table.id && *place == index
        };
        match self.0.iter_mut().find(same) {
            Some((_, _, sum)) => *sum += units,
            None => self.0.push((table, index, units)),
        }
    }
}
