//! Logs in commit order.
//!
//! A transaction cannot know its place in a log before it commits, and the order in which transactions began
//! is not the order in which they commit. So a commit puts its entries into an inbox. Who reads a shard moves
//! what is in its inbox to the log, in the order in which the transactions began; the moves of a shard all
//! write its head row, so they come one after the other, and a move's timestamp is the version of the entries
//! that it moves. Of two commits that conflict the later one began after the earlier one had committed, so it
//! is moved together with it or after it.
//!
//! A view reads only what it sees: it stops before the first entry of a commit that came later.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use keywright_store::{CommitError, CommitVersion, LogEntry, LogId, LogPosition, LogRead, StoreError};
use tikv_client::TimestampExt as _;

use crate::keys::{Keys, Origin, after};
use crate::link::Link;

/// Entries of one fetch, and of one move, which writes two rows for each.
const FETCH_MAX: usize = 125;
/// Attempts to move entries that others move too.
const TRIES: usize = 1_000;

/// A log row's value: where the entry was in the inbox, and the entry.
fn stored(origin: Origin, entry: &[u8]) -> Bytes {
    [&origin.start.to_be_bytes()[..], &origin.place.to_be_bytes(), entry].concat().into()
}

/// The last two numbers of a key of the inbox or the log.
fn numbers(key: &[u8]) -> Option<(u64, u32)> {
    let (_, mut tail) = key.split_at_checked(key.len().checked_sub(12)?)?;
    Some((tail.get_u64(), tail.get_u32()))
}

fn corrupt() -> StoreError {
    StoreError::Corrupt("TiKV: a row of a log is too short".to_owned())
}

fn origin_of(key: &[u8]) -> Result<Origin, StoreError> {
    numbers(key).map(|(start, place)| Origin { start, place }).ok_or_else(corrupt)
}

fn read_row(key: &[u8], mut bytes: Bytes) -> Result<(Origin, LogEntry), StoreError> {
    let (version, index) = numbers(key).ok_or_else(corrupt)?;
    if bytes.len() < 12 {
        return Err(corrupt());
    }
    let origin = Origin { start: bytes.get_u64(), place: bytes.get_u32() };
    let position = LogPosition { version: CommitVersion(version), index };
    Ok((origin, LogEntry { position, bytes }))
}

/// The entries of one answer.
struct Page {
    read: LogRead,
    entries: Vec<LogEntry>,
    bytes: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        self.entries.len() >= self.read.entries_max.max(1)
            || (self.bytes >= self.read.bytes_max && !self.entries.is_empty())
    }

    /// Adds the entries of the log at a version, up to the first one that is not seen.
    async fn fill(
        &mut self,
        link: &Link,
        at: u64,
        is_seen: impl Fn(Origin) -> bool + Send,
    ) -> Result<(), StoreError> {
        while !self.is_full() {
            let last = self.entries.last().map(|entry| entry.position).or(self.read.after);
            let range = link.keys.log_between(self.read.id, last, LogPosition::LAST);
            let wanted = self.read.entries_max.max(1).saturating_sub(self.entries.len()).min(FETCH_MAX);
            let rows = link.scan(at, range, wanted, false).await?;
            let ended = rows.len() < wanted;
            for (key, value) in rows {
                let (origin, entry) = read_row(&key, value)?;
                if self.is_full() || !is_seen(origin) {
                    return Ok(());
                }
                self.bytes = self.bytes.saturating_add(entry.bytes.len());
                self.entries.push(entry);
            }
            if ended {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Reads the entries that a view at this version sees.
pub(crate) async fn read(link: &Arc<Link>, at: u64, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
    let mut page = Page { read, entries: Vec::new(), bytes: 0 };
    page.fill(link, at, |_origin| true).await?;
    if page.is_full() {
        return Ok(page.entries);
    }
    let seen = inbox(link, at, read.id).await?;
    if !seen.is_empty() {
        settle(link, read.id).await?;
        let now = link.now().await?;
        page.fill(link, now, |origin| seen.contains(&origin)).await?;
    }
    Ok(page.entries)
}

/// The entries that a view at this version sees in the inbox.
async fn inbox(link: &Link, at: u64, id: LogId) -> Result<HashSet<Origin>, StoreError> {
    let (mut from, to) = link.keys.inbox_of(id);
    let mut seen = HashSet::new();
    loop {
        let keys = link.scan_keys(at, (from, to.clone()), FETCH_MAX).await?;
        for key in &keys {
            seen.insert(origin_of(key)?);
        }
        match keys.into_iter().next_back() {
            Some(last) if seen.len() % FETCH_MAX == 0 => from = after(last),
            _ => return Ok(seen),
        }
    }
}

/// Moves to the log what is in the inbox.
async fn settle(link: &Link, id: LogId) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let transaction = link.begin().await?;
        let now = transaction.start_timestamp().version();
        let rows = link.scan(now, link.keys.inbox_of(id), FETCH_MAX, false).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let writes = moves(&link.keys, id, CommitVersion(now), rows)?;
        match link.commit(transaction, writes, Vec::new()).await {
            // There may be more; or another process moved it.
            Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => {}
            Err(CommitError::Failed(error)) => return Err(error),
            Err(CommitError::TooLarge) => return Err(corrupt()),
        }
    }
    Err(StoreError::Io("TiKV: the entries of a log could not be moved".to_owned()))
}

type Writes = Vec<(Vec<u8>, Option<Bytes>)>;

fn moves(
    keys: &Keys,
    id: LogId,
    version: CommitVersion,
    rows: Vec<(Vec<u8>, Bytes)>,
) -> Result<Writes, StoreError> {
    let mut writes = vec![(keys.head(id), Some(Bytes::copy_from_slice(&version.0.to_be_bytes())))];
    for (index, (key, entry)) in (0..).zip(rows) {
        let position = LogPosition { version, index };
        writes.push((keys.log(id, position), Some(stored(origin_of(&key)?, &entry))));
        writes.push((key, None));
    }
    Ok(writes)
}

/// Removes the entries up to and including a position.
pub(crate) async fn trim(link: &Link, id: LogId, through: LogPosition) -> Result<(), StoreError> {
    settle(link, id).await?;
    link.clear(link.keys.log_between(id, None, through)).await
}
