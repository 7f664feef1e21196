//! Requests on mappings: one commit each.

use std::collections::BTreeSet;

use bytes::Bytes;
use keywright_semantics::event_sources::fault::{Fault, FaultKind};
use keywright_semantics::event_sources::request::{Create, List, Start, Update};
use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::{Counts, Mapping, Response, State};
use keywright_store::{CommitError, CommitVersion, Snapshot, Store, Transaction};

use super::row::{self, Kept, Place, Stored, StoredTransition, Transition};
use super::view;
use super::{TRIES_MAX, failed};
use crate::state::Engine;
use crate::streams::find_stream;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::Space;
use crate::tables::create::uuid;

/// Mappings of an installation: each has a reader of its own for every shard.
const MAPPINGS_MAX: usize = 1_000;
/// Why a mapping is in its state.
const BY_USER: &str = "User action";

/// The key of a row that each creation and each new target writes: of two at a time, the later one sees the
/// other's mapping.
fn creations_key() -> Bytes {
    [&[Space::TriggerPlaces.byte()], &b"creations"[..]].concat().into()
}

/// What a commit is to write.
pub(super) type Writes = Vec<(Bytes, Option<Bytes>)>;

/// What a commit has seen.
pub(super) struct Seen {
    /// The row of the mapping.
    pub row: Option<Bytes>,
    /// All mappings that are not gone.
    pub mappings: Vec<Stored>,
    pub version: CommitVersion,
    /// Where the mapping begins, and its places.
    pub places: (Option<(u64, u32)>, Vec<Kept>),
}

/// Commits what `make` makes of a mapping's row, again after a conflict. It writes nothing if `make` has
/// nothing to write. Of two commits that make a mapping, or give one another target, the later sees the
/// other.
pub(super) async fn commit<S: Store, R>(
    engine: &Engine<S>,
    uuid: &str,
    make: impl Fn(Seen) -> Result<(Writes, R), Fault>,
) -> Result<R, Fault> {
    let now_ms = engine.env().now_ms();
    let keys = [row::key(uuid), creations_key()];
    for _ in 0..TRIES_MAX {
        let begun = engine.store().begin_with(&keys).await;
        let (mut txn, rows) = begun.map_err(|error| failed(fault::storage(&error)))?;
        let mut mappings = row::all(&txn).await.map_err(failed)?;
        mappings.retain(|mapping| mapping.state(now_ms).is_some());
        let seen = Seen {
            row: rows.into_iter().next().flatten(),
            mappings,
            version: txn.version(),
            places: row::places(&txn, uuid).await.map_err(failed)?,
        };
        let (writes, result) = make(seen)?;
        if writes.is_empty() {
            return Ok(result);
        }
        for (key, value) in writes {
            match value {
                Some(value) => txn.put(key, value),
                None => txn.delete(key),
            }
        }
        match txn.commit().await {
            Ok(_version) => return Ok(result),
            Err(CommitError::Conflict) => {}
            Err(CommitError::Failed(error)) => return Err(failed(fault::storage(&error))),
            Err(CommitError::TooLarge | CommitError::Unknown) => return Err(failed(fault::internal())),
        }
    }
    Err(Fault::new(
        FaultKind::ResourceConflict,
        "Another request changes the event source mapping. Try again.",
    ))
}

/// A transition that begins now; none if transitions take no time.
pub(super) fn transition<S: Store>(
    engine: &Engine<S>,
    state: StoredTransition,
    now_ms: u64,
) -> Option<Transition> {
    let until_ms = now_ms.saturating_add(engine.config().transition_ms);
    (until_ms > now_ms).then_some(Transition { state, until_ms })
}

/// The driver looks for triggers now, and when a transition ends.
pub(super) fn wake<S: Store>(engine: &Engine<S>, stored: &Stored) {
    let due = &engine.due().triggers;
    due.wake_at(engine.env().now_ms());
    if let Some(transition) = stored.transition {
        due.wake_at(transition.until_ms);
    }
}

/// The answer to a change: the state that it begins, also where that takes no time.
fn answer<S: Store>(engine: &Engine<S>, stored: &Stored, state: State) -> Response {
    wake(engine, stored);
    let mapping = Mapping { state, ..view::without_figures(stored, engine.env().now_ms()) };
    Response::One(Box::new(mapping))
}

pub(super) async fn create<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    create: Create,
) -> Result<Response, Fault> {
    let arn = &create.stream.arn;
    let found = find_stream(engine, namespace, &create.stream)
        .map_err(|_| Fault::parameter(format!("Stream not found: {arn}")))?;
    if !found.stream().log.is_open() {
        return Err(Fault::parameter(format!("The stream is disabled: {arn}")));
    }
    let now_ms = engine.env().now_ms();
    let stored = Stored {
        uuid: uuid(engine.env().random_u128()),
        account: namespace.account.to_string(),
        region: namespace.region.to_string(),
        table: found.table.id.0,
        table_name: found.table.name.clone(),
        stream_label: create.stream.label.clone(),
        is_latest: create.start == Start::Latest,
        settings: create.settings.clone().into(),
        is_enabled: create.is_enabled,
        transition: transition(engine, StoredTransition::Creating, now_ms),
        reason: BY_USER.to_owned(),
        modified_ms: now_ms,
        section: None,
        generation: 1,
    };
    commit(engine, &stored.uuid, |seen| {
        if seen.mappings.len() >= MAPPINGS_MAX {
            let message =
                format!("There are {MAPPINGS_MAX} event source mappings already: delete one first.");
            return Err(Fault::parameter(message));
        }
        check_new(&stored, &create.settings.target, &seen.mappings)?;
        Ok((insertion(&stored, seen.version), ()))
    })
    .await?;
    Ok(answer(engine, &stored, State::Creating))
}

/// Refuses a second mapping of a stream to a target.
fn check_new(stored: &Stored, target: &Target, others: &[Stored]) -> Result<(), Fault> {
    let (account, region) = (&stored.account, &stored.region);
    let name = target.arn(region, account);
    let is_same = |other: &&Stored| {
        other.uuid != stored.uuid
            && other.stream_arn() == stored.stream_arn()
            && other.settings().target.arn(region, account) == name
    };
    match others.iter().find(is_same) {
        None => Ok(()),
        Some(other) => Err(Fault::new(
            FaultKind::ResourceConflict,
            format!(
                "The event source arn (\" {} \") and function (\" {} \") provided mapping already exists. Please \
                 update or delete the existing mapping with UUID {}",
                stored.stream_arn(),
                target.text(),
                other.uuid
            ),
        )),
    }
}

/// The rows of a new mapping. LATEST begins after the version that its commit has seen.
pub(super) fn insertion(stored: &Stored, version: CommitVersion) -> Writes {
    let mut writes: Writes =
        vec![(stored.key(), Some(stored.encode())), (creations_key(), Some(row::start_row(version)))];
    if stored.is_latest {
        writes.push((row::start_key(&stored.uuid), Some(row::start_row(version))));
    }
    writes
}

/// The mapping of a row, if it is the caller's and not gone.
fn own(row: Option<&Bytes>, namespace: &Namespace, now_ms: u64) -> Result<(Stored, State), Fault> {
    let stored = row.map(|row| Stored::decode(row).map_err(failed)).transpose()?;
    let state = stored.as_ref().filter(|stored| stored.namespace() == *namespace);
    let state = state.and_then(|stored| stored.state(now_ms));
    stored.zip(state).ok_or_else(Fault::not_found)
}

pub(super) async fn get<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    uuid: &str,
) -> Result<Response, Fault> {
    let found = engine.store().get(&row::key(uuid)).await;
    let found = found.map_err(|error| failed(fault::storage(&error)))?;
    let (stored, _) = own(found.as_ref(), namespace, engine.env().now_ms())?;
    let mapping = view::with_figures(engine, &stored).await.map_err(failed)?;
    Ok(Response::One(Box::new(mapping)))
}

pub(super) async fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    list: List,
) -> Result<Response, Fault> {
    let now_ms = engine.env().now_ms();
    let view = engine.store().snapshot().await.map_err(|error| failed(fault::storage(&error)))?;
    let mut found = row::all(&view).await.map_err(failed)?;
    drop(view);
    let target = match &list.target {
        Some(text) => Some(Target::parse(text).map_err(Fault::parameter)?),
        None => None,
    };
    let name = target.map(|target| target.arn(namespace.region.as_str(), namespace.account.as_str()));
    found.retain(|stored| {
        stored.namespace() == *namespace
            && stored.state(now_ms).is_some()
            && list.stream.as_ref().is_none_or(|arn| *arn == stored.stream_arn())
            && name
                .as_ref()
                .is_none_or(|name| stored.settings().target.arn(&stored.region, &stored.account) == *name)
            && list.marker.as_ref().is_none_or(|marker| stored.uuid > *marker)
    });
    let more = found.len() > list.limit;
    found.truncate(list.limit);
    let next_marker = found.last().filter(|_| more).map(|stored| stored.uuid.clone());
    let mut mappings = Vec::with_capacity(found.len());
    for stored in &found {
        mappings.push(view::with_figures(engine, stored).await.map_err(failed)?);
    }
    Ok(Response::Page { mappings, next_marker })
}

/// Refuses a change of a mapping that the settings file would undo at once. One whose section is gone, or
/// whose stream has ended, is nobody's but the caller's.
fn check_not_of_file<S: Store>(engine: &Engine<S>, stored: &Stored, what: &str) -> Result<(), Fault> {
    let Some(section) = stored.section.as_ref().filter(|_| stored.reason != row::NO_SECTION) else {
        return Ok(());
    };
    if view::has_ended(engine, stored) {
        return Ok(());
    }
    Err(Fault::parameter(format!(
        "Cannot {what} the event source mapping: the section [[trigger]] {section:?} of the server's settings file \
         makes it. Change that section, and start the server again."
    )))
}

fn check_settled(state: State, what: &str) -> Result<(), Fault> {
    if !state.is_transient() {
        return Ok(());
    }
    let message =
        format!("Cannot {what} the event source mapping because it is in use: it is {}.", state.name());
    Err(Fault::new(FaultKind::ResourceInUse, message))
}

pub(super) async fn update<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    update: Update,
) -> Result<Response, Fault> {
    let now_ms = engine.env().now_ms();
    let make = |seen: Seen| {
        let (before, state) = own(seen.row.as_ref(), namespace, now_ms)?;
        check_not_of_file(engine, &before, "update")?;
        check_settled(state, "update")?;
        let settings = before.settings().changed(update.changes.clone())?;
        if update.changes.target.is_some() {
            check_new(&before, &settings.target, &seen.mappings)?;
        }
        let is_enabled = update.is_enabled.unwrap_or(before.is_enabled);
        let kind = match (before.is_enabled, is_enabled) {
            (false, true) => StoredTransition::Enabling,
            (true, false) => StoredTransition::Disabling,
            _ => StoredTransition::Updating,
        };
        let after = Stored {
            settings: settings.into(),
            is_enabled,
            transition: transition(engine, kind, now_ms),
            reason: BY_USER.to_owned(),
            modified_ms: now_ms,
            // The caller has it now: no section of the file keeps it.
            section: None,
            generation: before.generation + 1,
            ..before.clone()
        };
        let mut writes = replacement(&seen, &before, &after);
        if update.changes.target.is_some() {
            writes.push((creations_key(), Some(row::start_row(seen.version))));
        }
        Ok((writes, (after, kind)))
    };
    let (after, kind) = commit(engine, &update.uuid, make).await?;
    let state = match kind {
        StoredTransition::Enabling => State::Enabling,
        StoredTransition::Disabling => State::Disabling,
        _ => State::Updating,
    };
    Ok(answer(engine, &after, state))
}

/// The writes that make one mapping another. If the number of lanes changes, the new ones begin where the
/// last of the old ones is: records are sent again, and none is left out.
pub(super) fn replacement(seen: &Seen, before: &Stored, after: &Stored) -> Writes {
    assert_eq!(before.uuid, after.uuid, "a mapping is replaced by itself");
    let mut writes: Writes = vec![(after.key(), Some(after.encode()))];
    if before.lanes() == after.lanes() {
        return writes;
    }
    let (start, kept) = &seen.places;
    let shards: BTreeSet<u32> = kept.iter().map(|kept| kept.shard).collect();
    for shard in shards {
        let lanes: Vec<&Kept> = kept.iter().filter(|kept| kept.shard == shard).collect();
        let is_whole = lanes.len() == usize::try_from(before.lanes()).unwrap_or(usize::MAX);
        let first = lanes.iter().map(|kept| kept.place.after).min().flatten();
        let counts = lanes.iter().map(|kept| Counts::from(kept.place.counts));
        let counts = counts.fold(Counts::default(), Counts::plus);
        let failure = lanes.iter().find_map(|kept| kept.place.failure.clone());
        for lane in 0..after.lanes() {
            let place = Place {
                // A lane without a row is at the start.
                after: if is_whole { first } else { *start },
                is_done: is_whole && lanes.iter().all(|kept| kept.place.is_done),
                counts: if lane == 0 { counts.into() } else { Place::default().counts },
                failure: failure.clone().filter(|_| lane == 0),
                ..Place::default()
            };
            writes.push((row::place_key(&before.uuid, shard, lane), Some(place.encode())));
        }
        for kept in lanes.iter().filter(|kept| kept.lane >= after.lanes()) {
            writes.push((row::place_key(&before.uuid, shard, kept.lane), None));
        }
    }
    writes
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    uuid: &str,
) -> Result<Response, Fault> {
    let now_ms = engine.env().now_ms();
    let make = |seen: Seen| {
        let (before, state) = own(seen.row.as_ref(), namespace, now_ms)?;
        check_not_of_file(engine, &before, "delete")?;
        check_settled(state, "delete")?;
        let after = Stored {
            transition: transition(engine, StoredTransition::Deleting, now_ms),
            modified_ms: now_ms,
            generation: before.generation + 1,
            ..before
        };
        let writes = match after.transition {
            Some(_) => vec![(after.key(), Some(after.encode()))],
            None => removal(&after.uuid, &seen.places.1),
        };
        Ok((writes, after))
    };
    let gone = commit(engine, uuid, make).await?;
    Ok(answer(engine, &gone, State::Deleting))
}

/// The writes that remove a mapping with its places.
pub(super) fn removal(uuid: &str, kept: &[Kept]) -> Writes {
    let mut writes: Writes = vec![(row::key(uuid), None), (row::start_key(uuid), None)];
    writes.extend(kept.iter().map(|kept| (row::place_key(uuid, kept.shard, kept.lane), None)));
    writes
}
