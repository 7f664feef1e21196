//! The steps of a verification.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::Store;

use super::ends::Ends;
use super::part::{self, Part, Rows};
use super::repair;
use super::rule::{self, Remedy, agree};
use crate::catalogue::Table;
use crate::changes::replicated::Way;
use crate::replication::tombstones::sent_before;
use crate::state::Engine;
use crate::state::verification::{
    DIFFERENCES_KEPT_MAX, Held, HeldState, Mode, ReplicaDifference, Run, Suspect, VerifiedReplica,
};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::stamp::Stamp;
use crate::support::version::Version;
use crate::write::version_rows::StoredVersion;

/// Suspects that a run keeps; further parts wait until some of them are decided.
const SUSPECTS_MAX: usize = 10_000;
/// Suspects that one step looks at.
const LOOKED_AT_MAX: usize = 100;
/// The time between two looks at suspects.
const LOOK_MS: u64 = 100;
/// Steps after which they are looked at also if the clock stands, as it may in tests of applications.
const LOOK_STEPS: u32 = 4;
/// For how long a change may be on its way before its item is given up.
const ARRIVAL_MS_MAX: u64 = 60_000;

/// What follows a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next step is due at this time.
    At(u64),
    Ended,
}

/// Does the next step of a run.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    (base, run): (TableId, &mut Run),
    now_ms: u64,
) -> Result<Next, Error> {
    let Some(other) = run.others.get(run.place).copied() else { return Ok(Next::Ended) };
    let table = |id: TableId| engine.catalogue().with_id(id).filter(|table| table.takes_data());
    let (Some(base), Some(other)) = (table(base), table(other)) else {
        return Ok(go_on(run, now_ms, true));
    };
    if !base.replicas().any(|member| member.table == other.id) {
        return Ok(go_on(run, now_ms, true));
    }
    let ends = Ends { base, other };
    if run.mode != Mode::Discard && are_lost(engine, &ends).await? {
        figures(run)?.is_lost = true;
        return Ok(go_on(run, now_ms, false));
    }
    run.steps = run.steps.saturating_add(1);
    if !run.suspects.is_empty() && (now_ms >= run.look_ms || run.steps >= LOOK_STEPS) {
        run.steps = 0;
        run.look_ms = now_ms.saturating_add(LOOK_MS);
        look(engine, &ends, run, now_ms).await?;
    }
    if !run.is_read && run.suspects.len() < SUSPECTS_MAX {
        compare(engine, &ends, run, now_ms).await?;
        return Ok(Next::At(now_ms));
    }
    if run.suspects.is_empty() {
        return Ok(go_on(run, now_ms, false));
    }
    Ok(Next::At(run.look_ms))
}

/// Whether two members have lost each other.
async fn are_lost<S: Store>(engine: &Engine<S>, ends: &Ends) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let way = Way { sender: ends.base.id, receiver: ends.other.id };
    for way in [way, way.back()] {
        if way.read(&view).await?.is_some_and(|(cursor, _)| cursor.is_lost()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Goes on to the next replica.
fn go_on(run: &mut Run, now_ms: u64, is_gone: bool) -> Next {
    if let Some(replica) = run.shown.replicas.get_mut(run.place) {
        replica.is_gone = is_gone;
    }
    run.suspects.clear();
    (run.place, run.after, run.is_read) = (run.place + 1, None, false);
    if run.place < run.others.len() { Next::At(now_ms) } else { Next::Ended }
}

/// The figures of the replica that is compared now.
fn figures(run: &mut Run) -> Result<&mut VerifiedReplica, Error> {
    run.shown.replicas.get_mut(run.place).ok_or_else(fault::internal)
}

/// Compares the next part of the keys.
async fn compare<S: Store>(engine: &Engine<S>, ends: &Ends, run: &mut Run, now_ms: u64) -> Result<(), Error> {
    let after = run.after.clone();
    let (mut of_base, mut of_other);
    {
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        of_base = part::read(&view, ends.base.id, (after.as_deref(), None)).await?;
        of_other = part::read(&view, ends.other.id, (after.as_deref(), of_base.until.as_deref())).await?;
    }
    // Above all that the view shows.
    let since = engine.stamps().beginning(now_ms);
    // Both end where the shorter one does.
    of_base.cut(of_other.until.as_ref());
    of_other.cut(of_base.until.as_ref());
    let sum = of_base.sum(&run.key);
    if sum != of_other.sum(&run.key) {
        let found = suspects((&of_base, &of_other), run, (since, now_ms));
        run.suspects.extend(found);
    }
    let figures = figures(run)?;
    figures.items = figures.items.saturating_add(sum.items);
    figures.deleted = figures.deleted.saturating_add(sum.deleted);
    run.is_read = of_base.until.is_none();
    run.after = of_base.until;
    Ok(())
}

/// The keys of a part that two members do not have alike.
fn suspects((base, other): (&Part, &Part), run: &Run, (since, now_ms): (Stamp, u64)) -> Vec<Suspect> {
    let missing = other.rows.keys().filter(|within| !base.rows.contains_key(*within));
    let all = base.rows.keys().chain(missing);
    let suspect = |within: &Bytes| {
        let (base, other) = (base.held(&run.key, within), other.held(&run.key, within));
        let suspect =
            Suspect { within: within.clone(), base, other, since, found_ms: now_ms, is_repaired: false };
        (!agree(&suspect.base, &suspect.other, now_ms)).then_some(suspect)
    };
    all.filter_map(suspect).collect()
}

/// Looks at suspects again, at those whose changes would have been sent by now.
async fn look<S: Store>(engine: &Engine<S>, ends: &Ends, run: &mut Run, now_ms: u64) -> Result<(), Error> {
    let sent = sent_before(engine, &ends.base, now_ms, &[ends.base.id, ends.other.id]).await?;
    let is_late = |found_ms: u64| now_ms >= found_ms.saturating_add(ARRIVAL_MS_MAX);
    let is_due = |suspect: &Suspect| suspect.since < sent || is_late(suspect.found_ms);
    let suspects = std::mem::take(&mut run.suspects);
    let (mut due, mut rest): (Vec<_>, Vec<_>) = suspects.into_iter().partition(is_due);
    rest.extend(due.drain(LOOKED_AT_MAX.min(due.len())..));
    if due.len() == LOOKED_AT_MAX {
        run.look_ms = now_ms;
    }
    let keys: Vec<Bytes> = due.iter().map(|suspect| suspect.within.clone()).collect();
    let (of_base, of_other);
    {
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        of_base = part::read_keys(&view, ends.base.id, &keys).await?;
        of_other = part::read_keys(&view, ends.other.id, &keys).await?;
    }
    let since = engine.stamps().beginning(now_ms);
    for (suspect, rows) in due.into_iter().zip(of_base.into_iter().zip(of_other)) {
        let now =
            Suspect { base: rows.0.held(&run.key), other: rows.1.held(&run.key), since, ..suspect.clone() };
        if agree(&now.base, &now.other, now_ms) {
            if suspect.is_repaired {
                figures(run)?.repaired += 1;
                note(ends, run, (&suspect, true), &rows);
            }
            continue;
        }
        let is_same = (&now.base, &now.other) == (&suspect.base, &suspect.other);
        if !(is_same && suspect.since < sent) {
            if is_late(suspect.found_ms) {
                figures(run)?.undecided += 1;
            } else {
                rest.push(now);
            }
            continue;
        }
        if run.mode == Mode::Discard && is_new(&now.base, ends, run.shown.begun_ms) {
            // It is sent as any change once the member has rejoined.
            continue;
        }
        let remedy = match run.mode {
            Mode::Discard => rule::discard(&now.base, &now.other),
            Mode::Compare | Mode::Repair => rule::remedy(&now.base, &now.other, &ends.other.region),
        };
        let may_repair = run.shown.repairs && !suspect.is_repaired && remedy != Remedy::Nothing;
        if may_repair && repair::run(engine, ends, run, (&now, remedy)).await? == repair::Repaired::Sent {
            // Once it has arrived, both have the same.
            rest.push(Suspect { is_repaired: true, found_ms: now_ms, ..now });
            continue;
        }
        figures(run)?.differences += 1;
        note(ends, run, (&now, false), &rows);
    }
    run.suspects = rest;
    Ok(())
}

/// Whether the base itself wrote this after the run had begun.
fn is_new(base: &Held, ends: &Ends, begun_ms: u64) -> bool {
    match base {
        Held::Item { version, .. } | Held::Deleted { version, .. } => {
            version.region == ends.base.region && version.stamp >= Stamp::first_of(begun_ms)
        }
        Held::Nothing | Held::Damaged(_) => false,
    }
}

/// Lists a difference.
fn note(ends: &Ends, run: &mut Run, (found, is_repaired): (&Suspect, bool), rows: &(Rows, Rows)) {
    if run.shown.differences.len() >= DIFFERENCES_KEPT_MAX {
        return;
    }
    run.shown.differences.push(ReplicaDifference {
        region: ends.other.region.clone(),
        key: key_of(&ends.base, &rows.0).or_else(|| key_of(&ends.base, &rows.1)),
        here: shown(&found.base),
        there: shown(&found.other),
        is_repaired,
    });
}

/// The key attributes that rows show.
fn key_of(table: &Table, rows: &Rows) -> Option<EncodedItem> {
    let deleted = || StoredVersion::decode(rows.version.as_ref()?).ok()?.deleted;
    let Some(item) = &rows.item else { return deleted().map(|deleted| deleted.keys) };
    let item = EncodedItem::from_stored(item.clone()).ok().filter(|item| item.validate().is_ok())?;
    Some(item.view().encode_subset(|name| table.schema.key.contains(name)))
}

fn shown(held: &Held) -> HeldState {
    let of = |version: &Version| (version.region.clone(), version.stamp.ms());
    match held {
        Held::Nothing => HeldState::Nothing,
        Held::Item { version, .. } => {
            let (region, at_ms) = of(version);
            HeldState::Item(region, at_ms)
        }
        Held::Deleted { version, .. } => {
            let (region, at_ms) = of(version);
            HeldState::Deleted(region, at_ms)
        }
        Held::Damaged(_) => HeldState::Damaged,
    }
}
