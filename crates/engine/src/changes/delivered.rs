//! How far the logs of destinations are delivered, as rows: what `destinations` notes and trimming follows.
//!
//! ```text
//! destinations | table id | shard     the place of the last record that is done, what was done with records
//! ```
//!
//! A row goes with its shard. Others change nothing but their own row, so deliveries do not meet.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitVersion, LogPosition, Snapshot, Store};
use serde::{Deserialize, Serialize};

use super::just_before;
use crate::catalogue::{ChangeLog, Counts, RecordPlace, Shard, Table};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{Space, TableId, log_of, table_prefix};

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// How far a shard is delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The last record that was delivered, dropped or skipped.
    pub last: Option<RecordPlace>,
    pub counts: Counts,
    /// Why the next record could not be delivered yet.
    pub waits_for: Option<String>,
}

impl Cursor {
    pub(crate) fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a row of owned values encodes into a vector").into()
    }

    /// The cursor of a row; one at the beginning if there is none.
    pub(crate) fn decode(row: Option<&Bytes>) -> Result<Self, Error> {
        let Some(row) = row else { return Ok(Self::default()) };
        let row = row.strip_prefix(&[FORMAT]).ok_or_else(fault::internal)?;
        postcard::from_bytes(row).map_err(|_fault| fault::internal())
    }

    /// The position after which the next record is.
    pub(crate) fn after(&self, shard: &Shard) -> Option<LogPosition> {
        let done = self.last.map(position);
        done.max(just_before(shard.start))
    }
}

const fn position(place: RecordPlace) -> LogPosition {
    LogPosition { version: CommitVersion(place.version), index: place.index }
}

/// The prefix of all rows of a table.
pub(crate) fn rows_prefix(table: TableId) -> Vec<u8> {
    table_prefix(Space::Destinations, table)
}

pub(crate) fn key(table: TableId, shard: u32) -> Bytes {
    let mut key = rows_prefix(table);
    key.extend_from_slice(&shard.to_be_bytes());
    key.into()
}

pub(crate) async fn read(view: &impl Snapshot, table: TableId, shard: u32) -> Result<Option<Bytes>, Error> {
    view.get(&key(table, shard)).await.map_err(|error| fault::storage(&error))
}

/// Removes the records of a destination's log that are done.
pub(super) async fn trim<S: Store>(
    engine: &Engine<S>,
    view: &S::Snapshot,
    (table, log): (&Table, &ChangeLog),
) -> Result<(), Error> {
    for shard in &log.shards {
        let row = read(view, table.id, shard.number).await?;
        let Some(last) = Cursor::decode(row.as_ref())?.last else { continue };
        let cleared = engine.store().trim_log(log_of(table.id, shard.number), position(last)).await;
        cleared.map_err(|error| fault::storage(&error))?;
    }
    Ok(())
}
