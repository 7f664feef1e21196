//! Sending a table's changes to a remote member, a bounded batch in each call. A simulation may hold
//! changes back.
//!
//! The receiver commits a batch together with its own place; the place here moves after the answer. A kill on
//! either side repeats a batch at most, which changes nothing there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Store, Transaction};

use super::Unsent;
use super::ask::{ask, ends, refused};
use super::message::{Answer, Batch, Message, Row};
use super::places;
use crate::catalogue::{RemoteMember, Shard, Table};
use crate::changes::place_of;
use crate::changes::replicated::{Cursor, Mark, Owed, Pass, Way};
use crate::replication::apply::Sent;
use crate::replication::backlog::{begin_anew, begin_anew_above};
use crate::replication::pair::COMMIT_ITEMS_MAX;
use crate::replication::pass;
use crate::replication::send::{Changes, READ_ENTRIES_MAX, owe, read_rows};
use crate::state::{Engine, ShippingFigures};
use crate::support::fault;
use crate::support::links::{Arrival, Due, Plan, Route};
use crate::support::version::Version;

/// Bytes of the items of one batch; the last may go beyond.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Items that are read at once: with the largest items, several megabytes.
const READ_ITEMS_MAX: usize = 16;

/// The time until a batch is sent again that the receiver's simulation does not let in.
const HELD_MS: u64 = 250;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shipped {
    /// More may follow at once.
    More,
    /// A simulation holds the rest back until this time, or until it changes.
    Held(Option<u64>),
    /// The remote member has everything.
    All,
}

/// A batch to be sent, and where the sender's place is after it.
struct Piece {
    sent: Vec<Sent>,
    next: Cursor,
    begins_pass: bool,
    made_ms: u64,
    /// The last record of the log that it has.
    mark: Option<Mark>,
    /// The changes of the log that it has.
    arrival: Option<(Changes, Arrival)>,
}

/// What a call does next.
enum Next {
    Send(Box<Piece>),
    Held(Option<u64>),
    Nothing,
}

/// A table, and the remote member that is sent its changes.
struct Shipping<'a, S: Store> {
    engine: &'a Engine<S>,
    table: &'a Arc<Table>,
    member: &'a RemoteMember,
}

/// Sends the next batch.
pub(super) async fn ship<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    member: &RemoteMember,
) -> Result<Shipped, Unsent> {
    let Some(shard) = table.replication_log().and_then(|log| log.open_shards().next()) else {
        return Ok(Shipped::All);
    };
    let shipping = Shipping { engine, table, member };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let Some((cursor, row)) = shipping.way().read(&view).await? else {
        owe(engine, shipping.way(), keywright_store::Snapshot::version(&view).0).await?;
        return Ok(Shipped::More);
    };
    if cursor.is_lost() {
        return Ok(Shipped::All);
    }
    if !engine.peering().contact(shipping.way().tables()).is_compared && !shipping.is_cut() {
        drop(view);
        return match places::compare(engine, (table, member, shard), (&cursor, &row)).await? {
            places::Compared::Lost => shipping.lose().await,
            places::Compared::Fits => Ok(Shipped::More),
        };
    }
    let piece = match &cursor.pass {
        Some(Pass::Items { .. } | Pass::Deleted { .. }) if shipping.is_cut() => {
            return Ok(Shipped::Held(None));
        }
        Some(pass @ (Pass::Items { .. } | Pass::Deleted { .. })) => {
            let (sent, next) = pass::next(table.id, &view, Some(pass)).await?;
            let begins_pass = cursor.begins();
            let next = Cursor { pass: Some(next), moves: cursor.moves + 1, ..cursor.clone() };
            #[cfg(test)]
            let next = if engine.links().is_broken(crate::support::links::Broken::Scan) {
                let version = keywright_store::Snapshot::version(&view).0;
                Cursor { last: Cursor::owing(version).last, ..next }
            } else {
                next
            };
            Piece { sent, next, begins_pass, made_ms: 0, mark: None, arrival: None }
        }
        Some(Pass::Drain) | None => match shipping.logged(shard, &view, &cursor).await? {
            Next::Send(piece) => *piece,
            Next::Held(at_ms) => return Ok(Shipped::Held(at_ms)),
            Next::Nothing if cursor.pass.is_none() => return Ok(Shipped::All),
            Next::Nothing => {
                let next = Cursor { pass: None, owed: None, ..cursor };
                shipping.advance(&row, &next).await?;
                return Ok(Shipped::More);
            }
        },
    };
    drop(view);
    shipping.deliver(piece, (&cursor, &row)).await
}

impl<S: Store> Shipping<'_, S> {
    fn way(&self) -> Way {
        Way { sender: self.table.id, receiver: self.member.table() }
    }

    fn route(&self) -> Route<'_> {
        let Table { account, name, region, id, .. } = &**self.table;
        Route { account, table: name, from: (region, *id), to: (&self.member.region, self.member.table()) }
    }

    fn is_cut(&self) -> bool {
        self.engine.links().is_cut(&self.route(), self.engine.env().now_ms())
    }

    /// The next changes of the log that arrive, as many as one batch holds.
    async fn logged(&self, shard: &Shard, view: &S::Snapshot, cursor: &Cursor) -> Result<Next, Error> {
        // While nothing can be sent, it is enough to know whether something waits.
        let most = if self.is_cut() { 1 } else { READ_ENTRIES_MAX };
        let changes = Changes::read((self.table.id, shard), view, cursor, most).await?;
        if changes.records.is_empty() {
            return Ok(Next::Nothing);
        }
        let now_ms = self.engine.env().now_ms();
        let Plan { arrivals, rest } = self.engine.links().plan(&self.route(), &changes.on_way(), now_ms);
        match arrivals.into_iter().next() {
            Some(arrival) => Ok(Next::Send(Box::new(self.piece((changes, arrival), view, cursor).await?))),
            None => Ok(Next::Held(match rest {
                Some(Due::At(at_ms)) => Some(at_ms),
                Some(Due::Held) | None => None,
            })),
        }
    }

    /// The batch of an arrival, or of its beginning: as many items as one message holds.
    async fn piece(
        &self,
        (changes, arrival): (Changes, Arrival),
        view: &S::Snapshot,
        cursor: &Cursor,
    ) -> Result<Piece, Error> {
        // Each item once, in the order of its first change, with the version that this change replaced.
        let mut order: Vec<(Bytes, Version)> = Vec::new();
        let mut known = BTreeSet::new();
        for (_, record) in arrival.entries.iter().filter_map(|entry| changes.records.get(*entry)) {
            if order.len() < COMMIT_ITEMS_MAX && known.insert(record.within.clone()) {
                order.push((record.within.clone(), record.before.clone()));
            }
        }
        let (mut sent, mut covered, mut bytes) = (Vec::new(), BTreeSet::new(), 0);
        'batch: for some in order.chunks(READ_ITEMS_MAX) {
            let due: BTreeMap<Bytes, Version> = some.iter().cloned().collect();
            let rows = read_rows((self.table.id, &self.member.region), view, due).await?;
            let mut rows: BTreeMap<Bytes, Sent> =
                rows.into_iter().map(|row| (row.within.clone(), row)).collect();
            for (within, _) in some {
                if bytes >= BATCH_BYTES_MAX {
                    break 'batch;
                }
                covered.insert(within.clone());
                if let Some(row) = rows.remove(within) {
                    bytes += size(&row);
                    sent.push(row);
                }
            }
        }
        assert!(sent.len() <= COMMIT_ITEMS_MAX, "a batch fits into a commit of the receiver");
        let is_covered = |entry: &usize| {
            changes.records.get(*entry).is_some_and(|(_, record)| covered.contains(&record.within))
        };
        let (taken, left): (Vec<usize>, Vec<usize>) = arrival.entries.iter().copied().partition(is_covered);
        assert!(!taken.is_empty(), "a batch has a change that waits");
        let passed = left.iter().copied().min().map_or(arrival.passed, |first| first.min(arrival.passed));
        let arrival = Arrival { entries: taken, passed };
        let last = passed.checked_sub(1).and_then(|last| changes.records.get(last));
        let made =
            arrival.entries.iter().filter_map(|entry| Some(changes.records.get(*entry)?.1.at.ms())).max();
        let mut next = Cursor { moves: cursor.moves + 1, ..cursor.clone() };
        next.last = last.map(|(position, _)| place_of(*position)).or(cursor.last);
        if changes.is_whole && passed == changes.records.len() {
            (next.pass, next.owed) = (None, None);
        }
        let made_ms = made.unwrap_or(0);
        let last = arrival.entries.iter().max().and_then(|last| changes.records.get(*last));
        let mark = last.map(|(position, record)| Mark { place: place_of(*position), at: record.at });
        Ok(Piece { sent, next, begins_pass: false, made_ms, mark, arrival: Some((changes, arrival)) })
    }

    /// Sends a batch, and moves the place behind it once the receiver has it.
    async fn deliver(&self, piece: Piece, (cursor, row): (&Cursor, &Bytes)) -> Result<Shipped, Unsent> {
        let Self { engine, table, member } = self;
        let Piece { sent, mut next, begins_pass, made_ms, mark, arrival } = piece;
        let arrived = || {
            if let Some((changes, arrival)) = &arrival {
                engine.links().arrived(&self.route(), &changes.on_way(), arrival, 0);
            }
        };
        assert_eq!(next.moves, cursor.moves + 1, "the receiver counts the moves");
        if sent.is_empty() && !begins_pass {
            // The receiver wrote all of it itself: its place stays.
            next.moves = cursor.moves;
            self.advance(row, &next).await?;
            arrived();
            return Ok(Shipped::More);
        }
        let rows = sent.iter().map(row_of).collect::<Result<Vec<Row>, Error>>()?;
        let ends = ends(table, member)?;
        let batch = Batch { ends, moves: next.moves, begins_pass, made_ms, mark, rows };
        #[cfg(test)]
        let moved = next.encode();
        #[cfg(test)]
        let row = if engine.links().is_broken(crate::support::links::Broken::Place) {
            self.advance(row, &next).await?;
            &moved
        } else {
            row
        };
        match ask(*engine, &member.region, &Message::Batch(batch)).await? {
            Answer::Taken => {
                self.advance(row, &next).await?;
                arrived();
                self.note(&sent, made_ms);
                Ok(Shipped::More)
            }
            Answer::Lost => self.lose().await,
            Answer::Held => Ok(Shipped::Held(Some(self.engine.env().now_ms().saturating_add(HELD_MS)))),
            Answer::Elsewhere { moves } => {
                self.begin_anew(row, moves).await?;
                Ok(Shipped::More)
            }
            other => Err(refused(&member.region, other)),
        }
    }

    /// The receiver has seen another state of this table than the present one, or has an older state itself:
    /// everything is sent to it again.
    async fn begin_anew(&self, row: &Bytes, moves: u64) -> Result<(), Error> {
        let view = self.engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let found = self.way().read(&view).await?;
        drop(view);
        // Another process may have moved the place meanwhile.
        if found.is_none_or(|(_, found)| found != *row) {
            return Ok(());
        }
        let owed = Owed::Restored { at_ms: self.engine.env().now_ms() };
        begin_anew_above(self.engine, self.way(), (owed, moves)).await?.done()
    }

    /// The receiver has lost this member.
    async fn lose(&self) -> Result<Shipped, Unsent> {
        let at_ms = self.engine.env().now_ms();
        begin_anew(self.engine, self.way(), Owed::Lost { at_ms }).await?.done()?;
        self.engine.verifications().note_loss([self.table.id]);
        self.engine.shipping().note(self.table.id);
        Ok(Shipped::More)
    }

    /// Moves the place, unless another process has.
    async fn advance(&self, before: &Bytes, next: &Cursor) -> Result<(), Error> {
        let (key, after) = (self.way().key(), next.encode());
        if after == *before {
            return Ok(());
        }
        let begun = self.engine.store().begin_with(std::slice::from_ref(&key)).await;
        let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
        if rows.first().and_then(Option::as_ref) != Some(before) {
            return Ok(());
        }
        txn.put(key, after);
        match txn.commit().await {
            // If it was not moved, the batch is sent again.
            Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
            Err(CommitError::TooLarge) => Err(fault::internal()),
            Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
        }
    }

    /// Counts what the receiver has acknowledged.
    fn note(&self, sent: &[Sent], made_ms: u64) {
        let now_ms = self.engine.env().now_ms();
        let latency_ms = if made_ms == 0 { 0 } else { now_ms.saturating_sub(made_ms) };
        if made_ms > 0 {
            self.engine.metrics().add_to(self.table, now_ms, |of_sender| {
                of_sender.replicated(&self.member.region, latency_ms);
            });
        }
        let sent = u64::try_from(sent.len()).unwrap_or(u64::MAX);
        let figures = ShippingFigures { sent, outdated: 0, latency_ms, last_ms: now_ms };
        self.engine.shipping().add(self.way().tables(), figures);
    }
}

fn size(sent: &Sent) -> usize {
    sent.incoming.item.as_ref().map_or(0, EncodedItem::size_bytes)
}

/// A row as messages have it.
pub(in crate::replication) fn row_of(sent: &Sent) -> Result<Row, Error> {
    let image = sent.image().ok_or_else(fault::internal)?;
    Ok(Row {
        version: sent.incoming.version.clone(),
        image: image.as_bytes().to_vec(),
        deleted: sent.incoming.deleted.as_ref().map(|deleted| deleted.at),
        replaced: sent.replaced.clone(),
    })
}
