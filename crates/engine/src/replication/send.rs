//! Sending a table's changes to one of its replicas, a bounded piece in each call.
//!
//! The log says which items have changed since the cursor; they are sent as they are now. One commit at the
//! receiver writes them and moves the cursor. A kill at any moment repeats a piece at most, which changes
//! nothing.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{LogEntry, LogPosition, LogRead, Snapshot, Store};

use super::apply::{Applied, Apply, Sent};
use super::pair::{Pair, Piece};
use super::pass;
use crate::catalogue::{OtherRows, Shard, Table};
use crate::changes::place_of;
use crate::changes::replicated::{Cursor, Pass, Way};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{self, Space, TableId, log_of};
use crate::support::links::{Arrival, Choice, Due, OnWay, Plan};
use crate::support::version::Version;
use crate::write::version_record::VersionRecord;

/// Records that one piece reads, and their bytes.
pub(super) const READ_ENTRIES_MAX: usize = 1_000;
const READ_BYTES_MAX: usize = 1024 * 1024;

/// Sends the next piece.
pub(super) async fn send<S: Store>(engine: &Engine<S>, pair: Pair<'_>, now_ms: u64) -> Result<Piece, Error> {
    let Some(shard) = pair.sender.replication_log().and_then(|log| log.open_shards().next()) else {
        return Ok(Piece::End);
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let Some((cursor, row)) = pair.way().read(&view).await? else {
        owe(engine, pair.way(), view.version().0).await?;
        return Ok(Piece::More);
    };
    if cursor.is_lost() {
        return Ok(Piece::End);
    }
    match cursor.pass {
        Some(Pass::Items { .. } | Pass::Deleted { .. }) => {
            pass::send(engine, pair, &view, (cursor, row)).await
        }
        Some(Pass::Drain) | None => {
            // While nothing can be sent, it is enough to know whether something waits.
            let most = if engine.links().is_cut(&pair.route(), now_ms) { 1 } else { READ_ENTRIES_MAX };
            let changes = Changes::read((pair.sender.id, shard), &view, &cursor, most).await?;
            let Plan { arrivals, rest } = engine.links().plan(&pair.route(), &changes.on_way(), now_ms);
            let sending = Sending { engine, pair, view: &view, changes: &changes };
            match sending.run((cursor, row), &arrivals).await? {
                Applied::Overtaken => Ok(Piece::At(now_ms.saturating_add(1))),
                Applied::Done => Ok(changes.rest(rest)),
            }
        }
    }
}

/// Sends chosen changes of the log, also those that a simulation holds; how many there were.
pub(super) async fn send_chosen<S: Store>(
    engine: &Engine<S>,
    pair: Pair<'_>,
    choice: &Choice,
) -> Result<(Applied, usize), Error> {
    let shard = pair.sender.replication_log().and_then(|log| log.open_shards().next());
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let found = pair.way().read(&view).await?;
    let (Some(shard), Some((cursor, row))) = (shard, found) else { return Ok((Applied::Done, 0)) };
    if matches!(cursor.pass, Some(Pass::Items { .. } | Pass::Deleted { .. })) {
        return Ok((Applied::Done, 0));
    }
    let changes = Changes::read((pair.sender.id, shard), &view, &cursor, READ_ENTRIES_MAX).await?;
    let arrivals = engine.links().deliver(&pair.route(), &changes.on_way(), choice);
    let count = arrivals.iter().map(|arrival| arrival.entries.len()).sum();
    let sending = Sending { engine, pair, view: &view, changes: &changes };
    Ok(match sending.run((cursor, row), &arrivals).await? {
        Applied::Done => (Applied::Done, count),
        Applied::Overtaken => (Applied::Overtaken, 0),
    })
}

/// Writes the missing cursor of a way: everything is to be sent. In a copy of a store all are missing.
pub(super) async fn owe<S: Store>(engine: &Engine<S>, way: Way, version: u64) -> Result<(), Error> {
    let key = way.key();
    let owe = |tables: &mut [Table], rows: &mut OtherRows| {
        let is_member = |table: &Table| table.receivers().any(|receiver| receiver == way.receiver);
        if rows.found(0).is_none() && tables.iter().any(is_member) {
            rows.put(key.clone(), Cursor::owing(version).encode());
        }
        Ok(())
    };
    let keys = std::slice::from_ref(&key);
    engine.catalogue().change_all(&[way.sender], keys, || Ok(()), owe).await.map(|_| ())
}

/// The next changes of a log.
pub(super) struct Changes {
    pub records: Vec<(LogPosition, VersionRecord)>,
    /// Whether the log ends with them.
    pub is_whole: bool,
}

impl Changes {
    pub(super) async fn read(
        (sender, shard): (TableId, &Shard),
        view: &impl Snapshot,
        cursor: &Cursor,
        most: usize,
    ) -> Result<Self, Error> {
        let read = LogRead {
            id: log_of(sender, shard.number),
            after: cursor.after(shard),
            entries_max: most,
            bytes_max: READ_BYTES_MAX,
        };
        let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
        let is_whole = is_whole(&entries, most);
        let record = |entry: &LogEntry| {
            let record = VersionRecord::decode(&entry.bytes).map_err(|_| fault::internal())?;
            Ok((entry.position, record))
        };
        Ok(Self { records: entries.iter().map(record).collect::<Result<_, Error>>()?, is_whole })
    }

    pub(super) fn on_way(&self) -> Vec<OnWay<'_>> {
        let on_way = self.records.iter().map(|(place, record)| OnWay {
            place: *place,
            at_ms: record.at.ms(),
            key: &record.within,
        });
        on_way.collect()
    }

    /// What follows once all that is due was sent.
    fn rest(&self, rest: Option<Due>) -> Piece {
        match rest {
            Some(due) => due.into(),
            None if self.is_whole => Piece::End,
            None => Piece::More,
        }
    }
}

/// Whether a read of the log came to its end, and not only to its limits.
fn is_whole(entries: &[LogEntry], most: usize) -> bool {
    let bytes: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    entries.len() < most && bytes < READ_BYTES_MAX
}

/// Changes on their way to a replica.
struct Sending<'a, S: Store> {
    engine: &'a Engine<S>,
    pair: Pair<'a>,
    view: &'a S::Snapshot,
    changes: &'a Changes,
}

impl<S: Store> Sending<'_, S> {
    /// Commits these arrivals one after the other, and moves the cursor with each. A pass is drained with the
    /// one that has the end of the log.
    async fn run(
        &self,
        (mut cursor, mut row): (Cursor, Bytes),
        arrivals: &[Arrival],
    ) -> Result<Applied, Error> {
        let (route, page) = (self.pair.route(), self.changes.on_way());
        let nothing = Arrival { entries: Vec::new(), passed: 0 };
        let is_drained = page.is_empty() && self.changes.is_whole && cursor.pass.is_some();
        let mut before = 0;
        for arrival in arrivals.iter().chain(is_drained.then_some(&nothing)) {
            let mut next = Cursor { moves: cursor.moves + 1, ..cursor.clone() };
            let last = arrival.passed.checked_sub(1).and_then(|entry| self.changes.records.get(entry));
            next.last = last.map(|(position, _)| place_of(*position)).or(cursor.last);
            if self.changes.is_whole && arrival.passed == page.len() {
                (next.pass, next.owed) = (None, None);
            }
            let (sent, made_ms) = self.rows(arrival).await?;
            let apply = Apply { engine: self.engine, pair: self.pair, row: &row, next: &next };
            if apply.run(&sent, made_ms).await? == Applied::Overtaken {
                return Ok(Applied::Overtaken);
            }
            self.engine.links().arrived(&route, &page, arrival, before);
            before = arrival.passed;
            (cursor, row) = (next.clone(), next.encode());
        }
        Ok(Applied::Done)
    }

    /// The items of an arrival as they are now, each once, and when the last of their changes was made.
    async fn rows(&self, arrival: &Arrival) -> Result<(Vec<Sent>, u64), Error> {
        let mut changed: BTreeMap<Bytes, Version> = BTreeMap::new();
        let mut made_ms = 0;
        for (_, record) in arrival.entries.iter().filter_map(|entry| self.changes.records.get(*entry)) {
            changed.entry(record.within.clone()).or_insert_with(|| record.before.clone());
            made_ms = made_ms.max(record.at.ms());
        }
        let Pair { sender, receiver } = self.pair;
        Ok((read_rows((sender.id, &receiver.region), self.view, changed).await?, made_ms))
    }
}

/// The items as they are now, except those that the receiver wrote last itself.
pub(super) async fn read_rows(
    (sender, receiver): (TableId, &str),
    view: &impl Snapshot,
    changed: BTreeMap<Bytes, Version>,
) -> Result<Vec<Sent>, Error> {
    let key = |within: &Bytes| {
        let mut key = layout::table_prefix(Space::Items, sender);
        key.extend_from_slice(within);
        Bytes::from(key)
    };
    let keys: Vec<Bytes> = changed.keys().map(key).collect();
    let items = view.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    let sent = pass::with_versions(sender, view, keys.into_iter().zip(items)).await?;
    let is_foreign = |one: &Sent| one.incoming.version.region != receiver;
    let with_replaced = |(one, replaced): (Option<Sent>, Version)| {
        // Without version and item, the deletion was so long ago that all have it.
        let one = one.filter(is_foreign)?;
        Some(Sent { replaced: Some(replaced), ..one })
    };
    Ok(sent.into_iter().zip(changed.into_values()).filter_map(with_replaced).collect())
}
