//! What the caller does: it asks for the lanes that this process delivers, reads their records, and notes
//! what their target has taken.
//!
//! Every note compares the lane's row with the one that the caller knows. `None` means that another process
//! has moved it, or that the mapping is gone: then the caller asks again.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::event_sources::settings::Settings;
use keywright_semantics::event_sources::view::{Counts, Failure, State};
use keywright_semantics::key::partition_hash;
use keywright_semantics::request::StreamRef;
use keywright_semantics::response::StreamRecord;
use keywright_store::{CommitError, LogPosition, Store, Transaction};

use super::operations::removal;
use super::row::{self, Kept, Place, Stored};
use super::{FOLLOW_MS, LOOK_MS, TRIES_MAX};
use crate::bind::key::stored_values;
use crate::catalogue::{ChangeLog, Shard, Table};
use crate::changes::just_before;
use crate::changes::settle::settle;
use crate::state::Engine;
use crate::streams::{PageBounds, find_stream, shard_id, shard_page};
use crate::support::env::Namespace;
use crate::support::fault;

/// The place of a record in its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TriggerPosition(LogPosition);

/// A record for a lane.
#[derive(Clone, Debug)]
pub struct TriggerRecord {
    /// Its place.
    pub position: TriggerPosition,
    /// The record.
    pub record: StreamRecord,
}

/// Some records of a lane.
#[derive(Clone, Debug)]
pub struct TriggerPage {
    /// Those of the lane.
    pub records: Vec<TriggerRecord>,
    /// The last record that was read, also of another lane; `None`: there is none.
    pub last: Option<TriggerPosition>,
    /// Whether the shard has ended.
    pub is_at_end: bool,
    /// The last of the records that were trimmed before the lane has seen them.
    pub lost_to: Option<TriggerPosition>,
}

/// A window whose state is passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerWindow {
    /// Its first moment, in milliseconds since 1970.
    pub start_ms: u64,
    /// The state, as JSON.
    pub state: String,
}

/// How far a lane has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerProgress {
    /// The last record that is done.
    pub after: Option<TriggerPosition>,
    /// The last record of the batch that was begun: it is sent again as it was.
    pub until: Option<TriggerPosition>,
    /// How often that batch has failed.
    pub attempts: u32,
    /// The window that is open.
    pub window: Option<TriggerWindow>,
    /// Whether the shard has ended.
    pub is_done: bool,
    /// What was done so far.
    pub counts: Counts,
    /// What failed last.
    pub failure: Option<Failure>,
}

/// A lane of a shard, as this process delivers it.
#[derive(Clone, Debug)]
pub struct TriggerLane {
    /// The mapping's id.
    pub uuid: String,
    /// Raised by every change of the mapping.
    pub generation: u64,
    /// The mapping's account and region.
    pub namespace: Namespace,
    /// The name of the table.
    pub table: String,
    /// The stream.
    pub stream_arn: String,
    /// What the mapping does.
    pub settings: Settings,
    /// The section of the settings file that made it.
    pub section: Option<String>,
    /// The shard, as clients name it.
    pub shard_id: String,
    /// The number of the lane in its shard.
    pub lane: u32,
    /// How far it has come.
    pub progress: TriggerProgress,
    stream: StreamRef,
    shard: u32,
    row: Option<Bytes>,
}

impl TriggerLane {
    /// Lanes of each shard.
    fn lanes(&self) -> u32 {
        self.settings.parallelization.max(1)
    }
}

impl From<Place> for TriggerProgress {
    fn from(place: Place) -> Self {
        let position = |stored: (u64, u32)| TriggerPosition(row::position(stored));
        Self {
            after: place.after.map(position),
            until: place.until.map(position),
            attempts: place.attempts,
            window: place.window.map(|(start_ms, state)| TriggerWindow { start_ms, state }),
            is_done: place.is_done,
            counts: place.counts.into(),
            failure: place.failure.map(Failure::from),
        }
    }
}

impl From<&TriggerProgress> for Place {
    fn from(progress: &TriggerProgress) -> Self {
        let stored = |position: TriggerPosition| row::stored_position(position.0);
        Self {
            after: progress.after.map(stored),
            until: progress.until.map(stored),
            attempts: progress.attempts,
            window: progress.window.as_ref().map(|window| (window.start_ms, window.state.clone())),
            is_done: progress.is_done,
            counts: progress.counts.into(),
            failure: progress.failure.clone().map(Into::into),
        }
    }
}

impl<S: Store> Engine<S> {
    /// Whether triggers may have come, gone or changed since they were asked for.
    pub fn triggers_are_due(&self) -> bool {
        self.env().now_ms() >= self.due().triggers.at_ms()
    }

    /// The lanes that this process delivers: those whose shards have records left, and whose shards' parents
    /// are done. Mappings whose deletion has ended are removed.
    pub async fn trigger_lanes(&self) -> Result<Vec<TriggerLane>, Error> {
        let now_ms = self.env().now_ms();
        let next_ms = if self.is_shared() { FOLLOW_MS } else { LOOK_MS };
        self.due().triggers.begin(now_ms.saturating_add(next_ms));
        if row::there_are_none(self.store()).await? {
            return Ok(Vec::new());
        }
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mappings = row::all(&view).await?;
        drop(view);
        let mut lanes = Vec::new();
        for stored in mappings.iter().filter(|stored| self.owns(stored.owner())) {
            if let Some(transition) = stored.transition.filter(|transition| transition.until_ms > now_ms) {
                self.due().triggers.wake_at(transition.until_ms);
            }
            match stored.state(now_ms) {
                None => self.remove(stored).await?,
                Some(State::Enabled | State::Updating) if stored.is_enabled => {
                    lanes.extend(self.lanes_of(stored).await?);
                }
                Some(_) => {}
            }
        }
        Ok(lanes)
    }

    /// The lanes of one mapping.
    async fn lanes_of(&self, stored: &Stored) -> Result<Vec<TriggerLane>, Error> {
        let Some(stream) = StreamRef::read(&stored.stream_arn()) else { return Ok(Vec::new()) };
        let namespace = stored.namespace();
        // The look at the places comes first: a shard that is closed later is not done in them.
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let (start, kept) = row::places(&view, &stored.uuid).await?;
        drop(view);
        let Ok(mut found) = find_stream(self, &namespace, &stream) else { return Ok(Vec::new()) };
        if settle(self, &found.table).await? {
            let Ok(again) = find_stream(self, &namespace, &stream) else { return Ok(Vec::new()) };
            found = again;
        }
        let log = found.stream().log;
        self.forget_places(stored, log, &kept).await?;
        let mut of_shards: BTreeMap<u32, Vec<&Kept>> = BTreeMap::new();
        for kept in &kept {
            of_shards.entry(kept.shard).or_default().push(kept);
        }
        let lanes = stored.lanes();
        let is_done = |shard: u32| {
            let kept = of_shards.get(&shard).map(Vec::as_slice).unwrap_or_default();
            kept.len() == usize::try_from(lanes).unwrap_or(usize::MAX)
                && kept.iter().all(|kept| kept.place.is_done)
        };
        let is_ready = |shard: &&Shard| {
            let parent = shard.parent.filter(|parent| log.shard(*parent).is_some());
            !is_done(shard.number) && parent.is_none_or(is_done)
        };
        let mut ready = Vec::new();
        for shard in log.shards.iter().filter(is_ready) {
            for lane in 0..lanes {
                let kept = of_shards.get(&shard.number).into_iter().flatten().find(|kept| kept.lane == lane);
                let place = kept
                    .map_or_else(|| Place { after: start, ..Place::default() }, |kept| kept.place.clone());
                if place.is_done {
                    continue;
                }
                ready.push(TriggerLane {
                    uuid: stored.uuid.clone(),
                    generation: stored.generation,
                    namespace: namespace.clone(),
                    table: stored.table_name.clone(),
                    stream_arn: stored.stream_arn(),
                    settings: stored.settings(),
                    section: stored.section.clone(),
                    shard_id: shard_id(shard),
                    lane,
                    progress: place.into(),
                    stream: stream.clone(),
                    shard: shard.number,
                    row: kept.map(|kept| kept.row.clone()),
                });
            }
        }
        Ok(ready)
    }

    /// The next records of a lane after a place; `None` if the stream or the shard is gone.
    pub async fn trigger_records(
        &self,
        lane: &TriggerLane,
        after: Option<TriggerPosition>,
        (records_max, bytes_max): (usize, usize),
    ) -> Result<Option<TriggerPage>, Error> {
        let Ok(found) = find_stream(self, &lane.namespace, &lane.stream) else { return Ok(None) };
        let stream = found.stream();
        let Some(shard) = stream.log.shard(lane.shard) else { return Ok(None) };
        let after = after.map(|after| after.0);
        let horizon = shard.trimmed.and_then(just_before);
        let lost_to = horizon.filter(|_| after.is_some() && after < horizon).map(TriggerPosition);
        let bounds = PageBounds { after: after.max(horizon), entries_max: records_max, bytes_max };
        let page = shard_page(self, (&found.table, stream, shard), bounds).await?;
        let last = page.records.last().map(|(position, _)| TriggerPosition(*position));
        let lanes = lane.lanes();
        let own = |(_, record): &(LogPosition, StreamRecord)| {
            lanes == 1 || lane_of(&found.table, record, lanes) == lane.lane
        };
        let record = |(position, record)| TriggerRecord { position: TriggerPosition(position), record };
        let records = page.records.into_iter().filter(own).map(record).collect();
        Ok(Some(TriggerPage { records, last, is_at_end: page.is_at_end, lost_to }))
    }

    /// Whether the mapping of a lane is as the lane knows it: neither changed nor disabled nor deleted.
    pub async fn is_trigger_unchanged(&self, lane: &TriggerLane) -> Result<bool, Error> {
        let found = self.store().get(&row::key(&lane.uuid)).await.map_err(|error| fault::storage(&error))?;
        let Some(found) = found else { return Ok(false) };
        Ok(Stored::decode(&found)?.generation == lane.generation)
    }

    /// Notes how far a lane has come. `None`: another process has moved it, or the mapping is gone or has
    /// another number of lanes.
    pub async fn note_trigger(
        &self,
        lane: &TriggerLane,
        progress: TriggerProgress,
    ) -> Result<Option<TriggerLane>, Error> {
        assert!(progress.after >= lane.progress.after, "a lane never goes back");
        let place_key = row::place_key(&lane.uuid, lane.shard, lane.lane);
        let new = Place::from(&progress).encode();
        let keys = [row::key(&lane.uuid), place_key.clone()];
        let noted = TriggerLane { progress, row: Some(new.clone()), ..lane.clone() };
        if lane.row.as_ref() == Some(&new) {
            return Ok(Some(noted));
        }
        for _ in 0..TRIES_MAX {
            let begun = self.store().begin_with(&keys).await;
            let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
            let [mapping, place] = rows.as_slice() else { return Err(fault::internal()) };
            let Some(mapping) = mapping else { return Ok(None) };
            // Among another number of lanes this one has other records, and its place may be equal by chance.
            if Stored::decode(mapping)?.lanes() != lane.lanes() {
                return Ok(None);
            }
            if place.as_ref() == Some(&new) {
                return Ok(Some(noted));
            }
            if *place != lane.row {
                return Ok(None);
            }
            txn.put(place_key.clone(), new.clone());
            match txn.commit().await {
                Ok(_version) => return Ok(Some(noted)),
                Err(CommitError::Conflict | CommitError::Unknown) => {}
                Err(CommitError::TooLarge) => return Err(fault::internal()),
                Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
            }
        }
        Err(fault::internal())
    }

    /// Removes a mapping whose deletion has ended.
    async fn remove(&self, stored: &Stored) -> Result<(), Error> {
        let (mut txn, rows) =
            self.store().begin_with(&[stored.key()]).await.map_err(|error| fault::storage(&error))?;
        if rows.first().and_then(Option::as_ref) != Some(&stored.encode()) {
            return Ok(());
        }
        let (_, kept) = row::places(&txn, &stored.uuid).await?;
        for (key, _) in removal(&stored.uuid, &kept) {
            txn.delete(key);
        }
        // After another end a later look finds it again.
        let _ended = txn.commit().await;
        Ok(())
    }

    /// Removes the places of shards that are forgotten, also of those that were not delivered to their end.
    /// What they have counted goes to a shard that is done and still there, of which no place moves.
    async fn forget_places(&self, stored: &Stored, log: &ChangeLog, kept: &[Kept]) -> Result<(), Error> {
        // Over a shared store, this process may not have seen the newest shard yet.
        let newest = log.shards.iter().map(|shard| shard.number).max();
        let is_old = |kept: &&Kept| log.shard(kept.shard).is_none() && Some(kept.shard) < newest;
        let old: Vec<&Kept> = kept.iter().filter(is_old).collect();
        let heir = kept.iter().find(|kept| kept.place.is_done && log.shard(kept.shard).is_some());
        let (Some(heir), false) = (heir, old.is_empty()) else { return Ok(()) };
        let key = row::place_key(&stored.uuid, heir.shard, heir.lane);
        let keys = [stored.key(), key.clone()];
        let begun = self.store().begin_with(&keys).await;
        let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
        if rows.get(1).and_then(Option::as_ref) != Some(&heir.row) {
            return Ok(());
        }
        let counts = old.iter().map(|old| Counts::from(old.place.counts));
        let counts = counts.fold(Counts::from(heir.place.counts), Counts::plus);
        let mut place = Place { counts: counts.into(), ..heir.place.clone() };
        if old.iter().any(|old| !old.place.is_done) {
            place.failure = Some(Failure::lost(self.env().now_ms()).into());
        }
        txn.put(key, place.encode());
        for old in old {
            txn.delete(row::place_key(&stored.uuid, old.shard, old.lane));
        }
        // After another end a later look finds them again.
        let _ended = txn.commit().await;
        Ok(())
    }
}

/// The lane of a record: all changes of items with one partition key are in one.
fn lane_of(table: &Table, record: &StreamRecord, lanes: u32) -> u32 {
    let values = stored_values(&table.schema.key.partition, record.keys.view()).unwrap_or_default();
    let hash = partition_hash(values).0;
    // Not the bytes that choose the shard: all of a shard have similar ones.
    let tail = hash.last_chunk::<4>().map_or(0, |tail| u32::from_be_bytes(*tail));
    tail % lanes
}
