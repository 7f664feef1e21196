//! The end of what is kept for a time: transfers 90 days after their end, client tokens once they are not
//! valid any more. One process does it.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Store, Transaction};

use super::row::{self, Transfer};
use super::token::{self, TokenRow};
use crate::monitoring::STORE_WIDE;
use crate::state::Engine;
use crate::support::fault;
use crate::support::rows::each_row;
use crate::support::stamp::DAY_MS;
use crate::support::wake::NextWake;

/// How long a transfer is kept after its end.
const KEPT_MS: u64 = 90 * DAY_MS;
/// The time between two looks.
const LOOK_MS: u64 = 3_600_000;
/// Rows that one commit removes.
const REMOVED_MAX: usize = 500;

/// Removes some rows that are kept no longer.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let due = &engine.due().old_transfers;
    if !engine.owns(STORE_WIDE) {
        return Ok(NextWake::default());
    }
    if now_ms < due.at_ms() {
        return Ok(NextWake { at_ms: Some(due.at_ms()) });
    }
    due.begin(now_ms.saturating_add(LOOK_MS));
    let mut old = find(engine, now_ms).await?;
    if old.len() > REMOVED_MAX {
        due.wake_at(now_ms);
        old.truncate(REMOVED_MAX);
    }
    if !old.is_empty() {
        let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
        // A token may have been used anew meanwhile.
        let found = txn.get_for_write(&old).await.map_err(|error| fault::storage(&error))?;
        for (key, row) in old.into_iter().zip(found) {
            if row.is_some_and(|row| is_old(&key, &row, now_ms)) {
                txn.delete(key);
            }
        }
        if txn.commit().await.is_err() {
            // A later look finds them again.
            due.wake_at(now_ms.saturating_add(LOOK_MS / 60));
        }
    }
    Ok(NextWake { at_ms: Some(due.at_ms()) })
}

async fn find<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<Vec<Bytes>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut old = Vec::new();
    for range in [row::all(), token::all()] {
        let read = each_row(&view, range, |entry| {
            if is_old(&entry.key, &entry.value, now_ms) {
                old.push(entry.key.clone());
            }
        });
        read.await.map_err(|error| fault::storage(&error))?;
    }
    Ok(old)
}

/// Whether a row is kept no longer. One that cannot be read stays, for people to look at.
fn is_old(key: &Bytes, row: &[u8], now_ms: u64) -> bool {
    if token::is_of_token(key) {
        return TokenRow::decode(row).is_ok_and(|token| !token.is_valid(now_ms));
    }
    let ended_ms = Transfer::decode(row).ok().and_then(|transfer| transfer.ended_ms);
    ended_ms.is_some_and(|ended_ms| ended_ms.saturating_add(KEPT_MS) <= now_ms)
}
