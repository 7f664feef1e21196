//! How far a member of a group has sent its changes to another one, as rows.
//!
//! ```text
//! places of replicas | sender's table id | receiver's table id     a cursor
//! ```
//!
//! A cursor is moved by the commit that writes changes at the receiver, so what was sent and what
//! the row says are one in every case. A row goes with the sender's table.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitVersion, LogPosition, Snapshot, Store};
use serde::{Deserialize, Serialize};

use super::just_before;
use crate::catalogue::{RecordPlace, Shard, record_in};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{Space, TableId, log_of, table_prefix};
use crate::support::stamp::Stamp;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// The format of a row that says why a pass is owed.
const FORMAT_OWED: u8 = 2;

/// A pass over the sender's rows, for a receiver that does not have them all: a member that has just joined,
/// or one in a copy of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pass {
    /// Items, after the one with this key within the table.
    Items { after: Option<Vec<u8>> },
    /// Versions of deleted items, after the one of this key.
    Deleted { after: Option<Vec<u8>> },
    /// All rows were sent. What was logged meanwhile is not yet.
    Drain,
}

/// Why a receiver that had joined is owed a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Owed {
    /// At this time more waited for it than a log keeps.
    Backlog {
        /// In milliseconds since 1970.
        at_ms: u64,
    },
    /// At this time it had not been reached for so long that deletions are remembered for it no longer. It is
    /// not sent anything, nor does it send, until it rejoins.
    Lost {
        /// In milliseconds since 1970.
        at_ms: u64,
    },
    /// At this time it rejoined.
    Rejoined {
        /// In milliseconds since 1970.
        at_ms: u64,
    },
    /// At this time one of the two had an older state than the other has seen, as after a restore.
    Restored {
        /// In milliseconds since 1970.
        at_ms: u64,
    },
}

/// How far a sender's changes have come to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The last record of the sender's log that was sent.
    pub last: Option<RecordPlace>,
    /// The pass that the receiver is owed.
    pub pass: Option<Pass>,
    /// How often the row was written: no two values of it are equal.
    pub moves: u64,
    /// Why the pass is owed, if it is not the one of a newcomer.
    #[serde(skip)]
    pub owed: Option<Owed>,
}

impl Cursor {
    /// At the beginning of the sender's log.
    pub(crate) const fn first() -> Self {
        Self { last: None, pass: None, moves: 0, owed: None }
    }

    /// Everything is to be sent: the sender's rows, and what is logged after this version of the store.
    pub(crate) const fn owing(version: u64) -> Self {
        let last = RecordPlace { version, index: u32::MAX };
        Self { last: Some(last), pass: Some(Pass::Items { after: None }), moves: 0, owed: None }
    }

    /// Whether the receiver is lost to the sender.
    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self.owed, Some(Owed::Lost { .. }))
    }

    /// Whether a pass is to begin.
    pub(crate) fn begins(&self) -> bool {
        self.pass == Some(Pass::Items { after: None })
    }

    pub(crate) fn encode(&self) -> Bytes {
        let row = match &self.owed {
            None => postcard::to_extend(self, vec![FORMAT]),
            Some(owed) => postcard::to_extend(&(self, owed), vec![FORMAT_OWED]),
        };
        row.expect("a row of owned values encodes into a vector").into()
    }

    pub(crate) fn decode(row: &Bytes) -> Result<Self, Error> {
        let read = match row.split_first() {
            Some((&FORMAT, row)) => postcard::from_bytes(row),
            Some((&FORMAT_OWED, row)) => postcard::from_bytes::<(Self, Owed)>(row)
                .map(|(cursor, owed)| Self { owed: Some(owed), ..cursor }),
            _ => return Err(fault::internal()),
        };
        read.map_err(|_fault| fault::internal())
    }

    /// The position after which the next record of the sender's log is.
    pub(crate) fn after(&self, shard: &Shard) -> Option<LogPosition> {
        let sent =
            self.last.map(|place| LogPosition { version: CommitVersion(place.version), index: place.index });
        sent.max(just_before(shard.start))
    }
}

/// A record of a sender's log. No two histories of the sender have the same one, but for those that agree up
/// to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub place: RecordPlace,
    pub at: Stamp,
}

/// The way of changes from one member to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub sender: TableId,
    pub receiver: TableId,
}

impl Way {
    /// Its two ends.
    pub(crate) const fn tables(self) -> (TableId, TableId) {
        (self.sender, self.receiver)
    }

    /// The end that is not this table.
    pub(crate) fn other_than(self, table: TableId) -> TableId {
        if self.sender == table { self.receiver } else { self.sender }
    }

    /// The way back.
    pub(crate) const fn back(self) -> Self {
        Self { sender: self.receiver, receiver: self.sender }
    }

    /// The key of its cursor.
    pub(crate) fn key(self) -> Bytes {
        let mut key = table_prefix(Space::ReplicaCursors, self.sender);
        key.extend_from_slice(&self.receiver.0.to_be_bytes());
        key.into()
    }

    /// Its cursor in a view, with its row; `None` if there is none.
    pub(crate) async fn read(self, view: &impl Snapshot) -> Result<Option<(Cursor, Bytes)>, Error> {
        let row = view.get(&self.key()).await.map_err(|error| fault::storage(&error))?;
        row.map(|row| Ok((Cursor::decode(&row)?, row))).transpose()
    }
}

/// Removes the records of a table's log that all its replicas have.
pub(super) async fn trim<S: Store>(
    engine: &Engine<S>,
    view: &S::Snapshot,
    table: TableId,
) -> Result<(), Error> {
    // The members as the view has them: one that joined later has its place among those of its source.
    let Some(table) = record_in(view, table).await? else { return Ok(()) };
    let Some(shard) = table.replication_log().and_then(|log| log.open_shards().next()) else { return Ok(()) };
    let mut least = LogPosition::LAST;
    for receiver in table.receivers() {
        let way = Way { sender: table.id, receiver };
        // Without a cursor the replica is owed a pass, which begins its place anew.
        let Some((cursor, _)) = way.read(view).await? else { return Ok(()) };
        let Some(sent) = cursor.after(shard) else { return Ok(()) };
        least = least.min(sent);
    }
    if least == LogPosition::LAST {
        return Ok(());
    }
    let cleared = engine.store().trim_log(log_of(table.id, shard.number), least).await;
    cleared.map_err(|error| fault::storage(&error))
}
