//! The steps of a verification.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::Store;

use super::ends::{End, Ends};
use super::floors::{Floors, public_ids};
use super::part::{self, Rows};
use super::repair;
use super::rule::{self, Remedy, agree};
use super::there;
use crate::catalogue::Table;
use crate::changes::replicated::Way;
use crate::replication::peers::Unsent;
use crate::state::Engine;
use crate::state::verification::{
    Compared, DIFFERENCES_KEPT_MAX, Held, HeldState, Marks, Mode, ReplicaDifference, Run, Suspect,
    VerifiedReplica,
};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::peers::PeerFault;
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
) -> Result<Next, Unsent> {
    let Some(other) = run.others.get(run.place) else { return Ok(Next::Ended) };
    let Some(ends) = ends(engine, base, other) else { return Ok(go_on(run, now_ms, Left::Group)) };
    if let End::There(member) = &ends.other
        && now_ms < engine.peering().region_retry_ms(&member.region)
    {
        let why = engine.peering().last_fault((ends.base.id, member.table()), &member.region);
        return Err(Unsent::Silent(PeerFault(why.unwrap_or_default())));
    }
    if run.mode != Mode::Discard && are_lost(engine, &ends).await? {
        figures(run)?.is_lost = true;
        return Ok(go_on(run, now_ms, Left::Compared));
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
        return Ok(go_on(run, now_ms, Left::Compared));
    }
    Ok(Next::At(run.look_ms))
}

/// When a replica is given up whose server does not answer: its changes would count as late then.
pub(super) const fn late_ms(run: &Run) -> u64 {
    run.answered_ms.saturating_add(ARRIVAL_MS_MAX)
}

/// Gives up a replica that cannot be compared, or what follows after the last one.
pub(super) fn give_up(run: &mut Run, now_ms: u64) -> Next {
    run.answered_ms = now_ms;
    let why = run.hindered.take().unwrap_or_else(|| "no [[peer]] names its server".to_owned());
    let last = run.shown.replicas.len().saturating_sub(1);
    if let Some(replica) = run.shown.replicas.get_mut(run.place.min(last)) {
        replica.unreached = Some(why);
    }
    go_on(run, now_ms, Left::Compared)
}

/// The two members that a run compares now, while both are members.
fn ends<S: Store>(engine: &Engine<S>, base: TableId, other: &Compared) -> Option<Ends> {
    let table = |id: TableId| engine.catalogue().with_id(id).filter(|table| table.takes_data());
    let base = table(base)?;
    let remote = base.remote.members.iter().find(|member| member.table() == other.table);
    let other = match remote {
        Some(member) if member.receives() => End::There(Box::new(member.clone())),
        Some(_) => return None,
        None => {
            End::Here(table(other.table).filter(|other| base.replicas().any(|one| one.table == other.id))?)
        }
    };
    Some(Ends { base, other })
}

/// Whether two members have lost each other.
async fn are_lost<S: Store>(engine: &Engine<S>, ends: &Ends) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let way = Way { sender: ends.base.id, receiver: ends.other.id() };
    for way in [way, way.back()] {
        if way.read(&view).await?.is_some_and(|(cursor, _)| cursor.is_lost()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Why a run goes on to the next replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// The replica is no member any more.
    Group,
    /// It was compared as far as it could be.
    Compared,
}

/// Goes on to the next replica.
fn go_on(run: &mut Run, now_ms: u64, left: Left) -> Next {
    if let Some(replica) = run.shown.replicas.get_mut(run.place) {
        replica.is_gone = left == Left::Group;
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
async fn compare<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    run: &mut Run,
    now_ms: u64,
) -> Result<(), Unsent> {
    let (after, key) = (run.after.clone(), run.key);
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut of_base = part::read(&view, ends.base.id, (after.as_deref(), None)).await?;
    // Both end where the shorter one does.
    let of_other = match &ends.other {
        End::Here(other) => {
            let range = (after.as_deref(), of_base.until.as_deref());
            let mut of_other = part::read(&view, other.id, range).await?;
            drop(view);
            of_base.cut(of_other.until.as_ref());
            of_other.cut(of_base.until.as_ref());
            (of_base.sum(&key) != of_other.sum(&key)).then(|| of_other.all_held(&key))
        }
        End::There(member) => {
            drop(view);
            there::compare(
                engine,
                (&ends.base, member),
                (&key, after.as_ref(), run.mode == Mode::Discard),
                &mut of_base,
            )
            .await?
        }
    };
    // Above all that was read.
    let since = engine.stamps().beginning(now_ms);
    if let Some(of_other) = of_other {
        let found = suspects((&of_base.all_held(&key), &of_other), (since, now_ms));
        run.suspects.extend(found);
    }
    let (sum, figures) = (of_base.sum(&key), figures(run)?);
    figures.items = figures.items.saturating_add(sum.items);
    figures.deleted = figures.deleted.saturating_add(sum.deleted);
    run.is_read = of_base.until.is_none();
    run.after = of_base.until;
    Ok(())
}

/// What one member has of each key of a part.
type AllHeld = BTreeMap<Bytes, Held>;

/// The keys of a part that two members do not have alike.
fn suspects((base, other): (&AllHeld, &AllHeld), (since, now_ms): (Stamp, u64)) -> Vec<Suspect> {
    let missing = other.keys().filter(|within| !base.contains_key(*within));
    let of = |all: &AllHeld, within: &Bytes| all.get(within).cloned().unwrap_or(Held::Nothing);
    let suspect = |within: &Bytes| {
        let (base, other) = (of(base, within), of(other, within));
        let since = Marks { here: since, there: BTreeMap::new() };
        let suspect =
            Suspect { within: within.clone(), base, other, since, found_ms: now_ms, is_repaired: false };
        (!agree(&suspect.base, &suspect.other, now_ms)).then_some(suspect)
    };
    base.keys().chain(missing).filter_map(suspect).collect()
}

/// Looks at suspects again, at those whose changes would have been sent by now.
async fn look<S: Store>(engine: &Engine<S>, ends: &Ends, run: &mut Run, now_ms: u64) -> Result<(), Unsent> {
    let mut floors = Floors::read(engine, ends, (&run.key, run.mode == Mode::Discard), now_ms).await?;
    let is_late = |suspect: &Suspect| now_ms >= suspect.found_ms.saturating_add(ARRIVAL_MS_MAX);
    let is_due = |suspect: &Suspect| floors.is_due(&suspect.since) || is_late(suspect);
    let suspects = std::mem::take(&mut run.suspects);
    let (mut due, mut rest): (Vec<_>, Vec<_>) = suspects.into_iter().partition(is_due);
    rest.extend(due.drain(LOOKED_AT_MAX.min(due.len())..));
    if due.len() == LOOKED_AT_MAX {
        run.look_ms = now_ms;
    }
    let read = read_again(engine, ends, (run, &mut floors), &due).await;
    let read = match read {
        Ok(read) => read,
        Err(fault) => {
            run.suspects = rest;
            run.suspects.append(&mut due);
            return Err(fault);
        }
    };
    let here = engine.stamps().beginning(now_ms);
    let mut failed = None;
    for (suspect, (rows, other)) in due.into_iter().zip(read) {
        let base = rows.held(&run.key);
        let is_same = (&base, &other) == (&suspect.base, &suspect.other);
        let mut since = Marks { here, there: BTreeMap::new() };
        if is_same {
            since = suspect.since.clone();
            floors.mark(&mut since);
        }
        let is_final = is_same && floors.are_above(&suspect.since);
        let now = Suspect { base, other, since, ..suspect.clone() };
        if failed.is_some() {
            rest.push(suspect);
            continue;
        }
        match decide(engine, ends, run, (&suspect, now, is_final), (&rows, now_ms)).await {
            Ok(Some(again)) => rest.push(again),
            Ok(None) => {}
            Err(fault) => {
                rest.push(suspect);
                failed = Some(fault);
            }
        }
    }
    run.suspects = rest;
    failed.map_or(Ok(()), Err)
}

/// Reads the rows of suspects: those of the base, and what the other one has.
async fn read_again<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    (run, floors): (&Run, &mut Floors),
    due: &[Suspect],
) -> Result<Vec<(Rows, Held)>, Unsent> {
    let keys: Vec<Bytes> = due.iter().map(|suspect| suspect.within.clone()).collect();
    let of_other = match &ends.other {
        End::Here(other) => {
            let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
            let rows = part::read_keys(&view, other.id, &keys).await?;
            rows.iter().map(|rows| rows.held(&run.key)).collect()
        }
        End::There(member) => {
            let asked = (&run.key, keys.as_slice(), run.mode == Mode::Discard);
            let looked = there::look(engine, (&ends.base, member), &public_ids(ends), asked).await?;
            floors.add(member.table(), &looked);
            looked.held
        }
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let of_base = part::read_keys(&view, ends.base.id, &keys).await?;
    Ok(of_base.into_iter().zip(of_other).collect())
}

/// Decides about a suspect that was read again: it is looked at once more, or counted.
async fn decide<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    run: &mut Run,
    (before, now, is_final): (&Suspect, Suspect, bool),
    (rows, now_ms): (&Rows, u64),
) -> Result<Option<Suspect>, Unsent> {
    if agree(&now.base, &now.other, now_ms) {
        if before.is_repaired {
            note(engine, ends, run, ((before, true), rows)).await?;
            figures(run)?.repaired += 1;
        }
        return Ok(None);
    }
    if !is_final {
        if now_ms < now.found_ms.saturating_add(ARRIVAL_MS_MAX) {
            return Ok(Some(now));
        }
        figures(run)?.undecided += 1;
        return Ok(None);
    }
    if run.mode == Mode::Discard && is_new(&now.base, ends, run.keeps_from) {
        // It is sent as any change once the member has rejoined.
        return Ok(None);
    }
    let remedy = match run.mode {
        Mode::Discard => rule::discard(&now.base, &now.other),
        Mode::Compare | Mode::Repair => rule::remedy(&now.base, &now.other, ends.other.region()),
    };
    let may_repair = run.shown.repairs && !before.is_repaired && remedy != Remedy::Nothing;
    if may_repair && repair::run(engine, ends, run, (&now, remedy)).await? == repair::Repaired::Sent {
        // Once it has arrived, both have the same.
        return Ok(Some(Suspect { is_repaired: true, found_ms: now_ms, ..now }));
    }
    note(engine, ends, run, ((&now, false), rows)).await?;
    figures(run)?.differences += 1;
    Ok(None)
}

/// Whether the base itself wrote this later than what is discarded.
fn is_new(base: &Held, ends: &Ends, keeps_from: Stamp) -> bool {
    match base {
        Held::Item { version, .. } | Held::Deleted { version, .. } => {
            version.region == ends.base.region && version.stamp >= keeps_from
        }
        Held::Nothing | Held::Damaged(_) => false,
    }
}

/// Lists a difference.
async fn note<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    run: &mut Run,
    ((found, is_repaired), of_base): ((&Suspect, bool), &Rows),
) -> Result<(), Unsent> {
    if run.shown.differences.len() >= DIFFERENCES_KEPT_MAX {
        return Ok(());
    }
    let mut key = key_of(&ends.base, of_base);
    if key.is_none() {
        let of_other = ends.other.fetch(engine, &ends.base, &found.within).await?;
        let is_key = |name: &str| ends.base.schema.key.contains(name);
        key = of_other.as_ref().and_then(|sent| Some(sent.image()?.view().encode_subset(is_key)));
    }
    run.shown.differences.push(ReplicaDifference {
        region: ends.other.region().to_owned(),
        key,
        here: shown(&found.base),
        there: shown(&found.other),
        is_repaired,
    });
    Ok(())
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
