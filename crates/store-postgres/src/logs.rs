//! Logs in commit order.
//!
//! A transaction cannot know its place in a log before it commits, and the order in which transactions began
//! is not the order in which they commit. So a commit puts its entries into an inbox. Who reads a shard first
//! moves all that is in its inbox to the log and numbers it (`keywright_settle`), one mover at a time. Of two
//! commits that conflict the later one began after the earlier one had committed, so it has the greater
//! transaction id and is moved together with it or after it.
//!
//! A view reads only what it sees: it stops before the first entry of a commit that came later.

use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{CommitVersion, LogEntry, LogId, LogPosition, LogRead, StoreError};
use tokio_postgres::types::ToSql;

use crate::connection::Pool;

/// Entries of one fetch.
const FETCH_MAX: usize = 1_000;

fn columns(id: LogId) -> (i64, i64) {
    (id.log.cast_signed(), id.shard.cast_signed())
}

/// A position as stored; positions after the last possible one are that one.
fn stored(position: LogPosition) -> (i64, i32) {
    let version = i64::try_from(position.version.0).unwrap_or(i64::MAX);
    (version, i32::try_from(position.index).unwrap_or(i32::MAX))
}

/// Reads the entries that the view with this snapshot sees.
pub(crate) async fn read(pool: &Arc<Pool>, seen: &str, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
    let session = pool.take_for_log().await?;
    let connection = session.connection();
    let (log, shard) = columns(read.id);
    let place: [&(dyn ToSql + Sync); 2] = [&log, &shard];
    let settling = connection.wire.client.query_one(&connection.statements.settle, &place);
    session.answer(settling).await.map_err(|fault| fault.of_read())?;
    let mut entries: Vec<LogEntry> = Vec::new();
    let mut bytes = 0_usize;
    let mut after = read.after.map_or((-1, 0), stored);
    loop {
        let wanted = read.entries_max.max(1).saturating_sub(entries.len()).min(FETCH_MAX);
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let budget = i64::try_from(read.bytes_max.saturating_sub(bytes)).unwrap_or(i64::MAX);
        let columns: [&(dyn ToSql + Sync); 7] = [&log, &shard, &after.0, &after.1, &seen, &limit, &budget];
        let reading = connection.wire.client.query(&connection.statements.read_log, &columns);
        let rows = session.answer(reading).await.map_err(|fault| fault.of_read())?;
        for row in &rows {
            let is_seen: bool = row.get(3);
            if !is_seen || (bytes >= read.bytes_max && !entries.is_empty()) {
                return Ok(entries);
            }
            let (version, place, entry): (i64, i32, &[u8]) = (row.get(0), row.get(1), row.get(2));
            after = (version, place);
            bytes = bytes.saturating_add(entry.len());
            let position =
                LogPosition { version: CommitVersion(version.cast_unsigned()), index: place.cast_unsigned() };
            entries.push(LogEntry { position, bytes: Bytes::copy_from_slice(entry) });
        }
        // Fewer rows came because there are no more, or because their budget is used.
        if rows.len() < wanted || entries.len() >= read.entries_max.max(1) {
            return Ok(entries);
        }
    }
}

/// Removes the entries up to and including a position.
pub(crate) async fn trim(pool: &Arc<Pool>, id: LogId, through: LogPosition) -> Result<(), StoreError> {
    let session = pool.take_for_log().await?;
    let connection = session.connection();
    let (log, shard) = columns(id);
    let place: [&(dyn ToSql + Sync); 2] = [&log, &shard];
    let settling = connection.wire.client.query_one(&connection.statements.settle, &place);
    session.answer(settling).await.map_err(|fault| fault.of_read())?;
    let (version, place) = stored(through);
    let columns: [&(dyn ToSql + Sync); 4] = [&log, &shard, &version, &place];
    let trimming = connection.wire.client.execute(&connection.statements.trim_log, &columns);
    session.answer(trimming).await.map(|_count| ()).map_err(|fault| fault.of_read())
}
