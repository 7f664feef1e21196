//! The inbox of a log shard: entries that have no position yet, and their moves to the log.
//!
//! A move takes the first commits of the inbox whole, in the order in which their transactions began. All
//! moves of a shard write its head row, so they come one after the other, and a move's timestamp is the
//! version of the entries that it moves. Of two commits that conflict the later one began after the earlier
//! one had committed, so it is moved together with it or after it.

use std::collections::HashSet;

use bytes::{Buf as _, Bytes};
use keywright_store::{CommitError, CommitVersion, LogEntry, LogId, LogPosition, StoreError};
use tikv_client::TimestampExt as _;

use crate::keys::{Keys, Origin, Span, after};
use crate::link::{Link, Pair};
use crate::regions::ReadFrom;

/// Entries of one move, which writes two rows for each, and keys of one fetch. A commit with more is moved
/// alone.
const PIECE_MAX: usize = 125;
/// Entries of a shard's first move, whose sizes nobody knows.
const PIECE_FIRST: usize = 32;
/// Bytes of the entries of one move of several commits: an entry of TiKV's Raft log has at most 8 MiB.
const PIECE_BYTES: usize = 4 * 1024 * 1024;

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

/// An entry of the log, and where it was in the inbox.
pub(crate) fn read_row(key: &[u8], mut bytes: Bytes) -> Result<(Origin, LogEntry), StoreError> {
    let (version, index) = numbers(key).ok_or_else(corrupt)?;
    if bytes.len() < 12 {
        return Err(corrupt());
    }
    let origin = Origin { start: bytes.get_u64(), place: bytes.get_u32() };
    let position = LogPosition { version: CommitVersion(version), index };
    Ok((origin, LogEntry { position, bytes }))
}

/// The entries that a view sees in the inbox, as far as they were asked for.
pub(crate) struct Seen<'a> {
    link: &'a Link,
    at: u64,
    /// Where the entries are that were not fetched yet; `None` once all were.
    rest: Option<Span>,
    fetched: HashSet<Origin>,
    last: Option<Origin>,
}

impl<'a> Seen<'a> {
    pub(crate) fn by(link: &'a Link, at: u64, id: LogId) -> Self {
        Self { link, at, rest: Some(link.keys.inbox_of(id)), fetched: HashSet::new(), last: None }
    }

    /// Whether there is none.
    pub(crate) async fn is_empty(&mut self) -> Result<bool, StoreError> {
        if self.fetched.is_empty() {
            self.fetch().await?;
        }
        Ok(self.fetched.is_empty())
    }

    pub(crate) async fn contains(&mut self, origin: Origin) -> Result<bool, StoreError> {
        while self.rest.is_some() && self.last.is_none_or(|last| last < origin) {
            self.fetch().await?;
        }
        Ok(self.fetched.contains(&origin))
    }

    async fn fetch(&mut self) -> Result<(), StoreError> {
        let Some((from, to)) = self.rest.take() else { return Ok(()) };
        let keys = self.link.scan_keys(self.at, (from, to.clone()), PIECE_MAX).await?;
        for key in &keys {
            let origin = origin_of(key)?;
            self.fetched.insert(origin);
            self.last = Some(origin);
        }
        if keys.len() == PIECE_MAX {
            self.rest = keys.into_iter().next_back().map(|last| (after(last), to));
        }
        Ok(())
    }
}

/// What a move did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The log at this version has what was moved, by this move or another one.
    pub(crate) at: u64,
    /// Whether the inbox held no more.
    pub(crate) all: bool,
}

/// The moves of one reader.
pub(crate) struct Mover<'a> {
    link: &'a Link,
    id: LogId,
    /// Entries of the next fetch, going by the sizes of those before.
    fetch_entries: usize,
}

impl<'a> Mover<'a> {
    pub(crate) fn of(link: &'a Link, id: LogId) -> Self {
        Self { link, id, fetch_entries: PIECE_FIRST }
    }

    /// Moves the first entries of the inbox to the log.
    pub(crate) async fn step(&mut self) -> Result<Moved, StoreError> {
        let transaction = self.link.begin().await?;
        let now = transaction.start_timestamp().version();
        let inbox = self.link.keys.inbox_of(self.id);
        let mut rows = self.link.scan(now, inbox, self.fetch_entries, ReadFrom::Start).await?;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(Moved { at: now, all: true });
        };
        let (first, last) = (start_of(first)?, start_of(last)?);
        let ended = rows.len() < self.fetch_entries;
        if !ended && first == last {
            // More of this commit may follow.
            let commit = self.link.keys.inbox_of_commit(self.id, first);
            rows = self.link.scan(now, commit, usize::MAX, ReadFrom::Start).await?;
        }
        let fetched = rows.len();
        let bytes = keep_piece(&mut rows, ended)?;
        self.fetch_entries = (PIECE_BYTES / (bytes / rows.len().max(1) + 1)).clamp(1, PIECE_MAX);
        let all = ended && rows.len() == fetched;
        let writes = moves(&self.link.keys, self.id, CommitVersion(now), rows)?;
        match self.link.commit(transaction, writes, Vec::new()).await {
            Ok(version) => Ok(Moved { at: version.0, all }),
            // Another process moved the same ones, or this one did.
            Err(CommitError::Conflict | CommitError::Unknown) => {
                Ok(Moved { at: self.link.now().await?, all: false })
            }
            Err(CommitError::Failed(error)) => Err(error),
            Err(CommitError::TooLarge) => Err(corrupt()),
        }
    }
}

fn start_of((key, _): &Pair) -> Result<u64, StoreError> {
    origin_of(key).map(|origin| origin.start)
}

/// Keeps the first commit, and those after it up to the bytes of a move. Unless these rows are the last ones,
/// a later commit at their end may not be whole, and is left. Returns how many bytes are kept.
fn keep_piece(rows: &mut Vec<Pair>, are_last: bool) -> Result<usize, StoreError> {
    let starts = rows.iter().map(start_of).collect::<Result<Vec<u64>, StoreError>>()?;
    let (mut bytes, mut kept) = (0_usize, 0_usize);
    for commit in starts.chunk_by(|one, next| one == next) {
        let end = kept + commit.len();
        let of_commit: usize = rows.iter().take(end).skip(kept).map(|(_, entry)| entry.len()).sum();
        let is_whole = are_last || end < rows.len();
        if kept > 0 && (!is_whole || bytes.saturating_add(of_commit) > PIECE_BYTES) {
            break;
        }
        bytes = bytes.saturating_add(of_commit);
        kept = end;
    }
    rows.truncate(kept);
    Ok(bytes)
}

type Writes = Vec<(Vec<u8>, Option<Bytes>)>;

fn moves(keys: &Keys, id: LogId, version: CommitVersion, rows: Vec<Pair>) -> Result<Writes, StoreError> {
    let mut writes = vec![(keys.head(id), Some(Bytes::copy_from_slice(&version.0.to_be_bytes())))];
    for (index, (key, entry)) in (0..).zip(rows) {
        let position = LogPosition { version, index };
        writes.push((keys.log(id, position), Some(stored(origin_of(&key)?, &entry))));
        writes.push((key, None));
    }
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_keeps_to_its_bytes_and_takes_whole_commits() {
        const ID: LogId = LogId { log: 1, shard: 2 };
        const MAX: usize = PIECE_BYTES;
        let keys = Keys::of("test");
        // Starts and sizes of entries, whether the inbox ends with them, and what is kept.
        for (entries, are_last, kept, bytes) in [
            (&[(1, 1), (2, 2), (3, 3)][..], true, 3, 6),
            (&[(1, 1), (2, 2), (3, 3)], false, 2, 3),
            (&[(1, 1), (2, 2), (2, 3)], false, 1, 1),
            (&[(1, MAX), (2, 1)], true, 1, MAX),
            (&[(1, MAX), (1, 1), (2, 1)], true, 2, MAX + 1),
            (&[(1, 1), (2, MAX - 1), (3, 0), (4, 1)], true, 3, MAX),
            (&[(1, 1), (2, MAX - 1), (2, 1)], true, 1, 1),
            (&[(1, 5), (1, 5)], false, 2, 10),
        ] {
            let row = |(place, (start, size)): (u32, &(u64, usize))| {
                (keys.inbox(ID, Origin { start: *start, place }), Bytes::from(vec![0; *size]))
            };
            let mut rows: Vec<Pair> = (0..).zip(entries).map(row).collect();
            let found = (keep_piece(&mut rows, are_last), rows.len());
            assert_eq!(found, (Ok(bytes), kept), "{entries:?}, {are_last}");
        }
    }
}
