//! The last verification of a table, as a row: when it ended, and whether replicas differed.
//!
//! ```text
//! places of replicas | table id | "v"     the last verification
//! ```
//!
//! The keys of places are longer. The row goes with the table, and with its group.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Store, Transaction};
use serde::{Deserialize, Serialize};

use crate::state::Engine;
use crate::state::verification::{Verdict, Verification};
use crate::support::fault;
use crate::support::layout::{Space, TableId, table_prefix};

/// The first byte of a row: its format. The first one did not say whether replicas were compared.
const FORMAT: u8 = 2;

/// What is kept of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastVerification {
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// Items that differ from a replica's.
    pub differences: u64,
    /// Items whose changes did not arrive in time.
    pub undecided: u64,
    /// Replicas that were not compared: they were not reached, or are lost.
    pub uncompared: u64,
}

fn key(table: TableId) -> Bytes {
    let mut key = table_prefix(Space::ReplicaCursors, table);
    key.push(b'v');
    key.into()
}

/// Stores what a verification found.
pub(super) async fn note<S: Store>(
    engine: &Engine<S>,
    table: TableId,
    shown: &Verification,
) -> Result<(), Error> {
    if shown.verdict() == Verdict::Running || engine.catalogue().with_id(table).is_none() {
        return Ok(());
    }
    let sum = |count: fn(&crate::state::verification::VerifiedReplica) -> u64| -> u64 {
        shown.replicas.iter().map(count).sum()
    };
    let last = LastVerification {
        ended_ms: shown.ended_ms.unwrap_or(shown.begun_ms),
        differences: sum(|replica| replica.differences),
        undecided: sum(|replica| replica.undecided),
        uncompared: sum(|replica| u64::from(replica.is_uncompared())),
    };
    let row = postcard::to_extend(&last, vec![FORMAT]).expect("a row of numbers encodes into a vector");
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    txn.put(key(table), row.into());
    match txn.commit().await {
        // Without the row the next one is earlier.
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}

/// The last verification that a table's row knows.
pub(in crate::replication) async fn last_of<S: Store>(
    engine: &Engine<S>,
    table: TableId,
) -> Result<Option<LastVerification>, Error> {
    let row = engine.store().get(&key(table)).await.map_err(|error| fault::storage(&error))?;
    // Another release may have written it in another form.
    Ok(row.and_then(|row| postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()))
}
