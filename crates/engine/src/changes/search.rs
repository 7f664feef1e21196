//! Binary search in a shard's log, by commit version: the log can be read forward only.

use keywright_semantics::error::Error;
use keywright_store::{CommitVersion, LogEntry, LogId, LogPosition, LogRead, Snapshot};

use super::record::written_ms;
use crate::support::fault;

/// Entries and bytes of one read of the log.
const TAIL_ENTRIES: usize = 1000;
const TAIL_BYTES: usize = 8 * 1024 * 1024;

/// After every entry of this commit.
const fn end_of(version: u64) -> LogPosition {
    LogPosition { version: CommitVersion(version), index: u32::MAX }
}

async fn read(
    snapshot: &impl Snapshot,
    id: LogId,
    after: LogPosition,
    entries_max: usize,
) -> Result<Vec<LogEntry>, Error> {
    let read = LogRead { id, after: Some(after), entries_max, bytes_max: TAIL_BYTES };
    snapshot.read_log(read).await.map_err(|error| fault::storage(&error))
}

/// The greatest version of the entries before the first one for which `is_beyond` holds; `start` if there is
/// none.
/// `is_beyond` holds for every entry after the first for which it holds.
async fn find_version(
    snapshot: &impl Snapshot,
    id: LogId,
    start: u64,
    is_beyond: impl Fn(&LogEntry) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let (mut low, mut high) = (start, snapshot.version().0.max(start));
    while low < high {
        let middle = low + (high - low) / 2;
        match read(snapshot, id, end_of(middle), 1).await?.first() {
            Some(entry) if !is_beyond(entry)? => {
                assert!(entry.position.version.0 > middle, "a read of the log begins after its position");
                low = entry.position.version.0;
            }
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

/// The last entry of a shard whose entries are of version `start` or later.
pub(crate) async fn last(
    snapshot: &impl Snapshot,
    id: LogId,
    start: u64,
) -> Result<Option<LogPosition>, Error> {
    let newest = find_version(snapshot, id, start.saturating_sub(1), |_| Ok(false)).await?;
    let mut last = None;
    let mut after = end_of(newest.saturating_sub(1));
    loop {
        let entries = read(snapshot, id, after, TAIL_ENTRIES).await?;
        let Some(entry) = entries.last() else { return Ok(last) };
        after = entry.position;
        last = Some(entry.position);
    }
}

/// A position after all entries that a view sees, and before all others.
///
/// A store that numbers entries when they are first read gives some of them versions after the view's.
pub(crate) async fn end(snapshot: &impl Snapshot, id: LogId) -> Result<LogPosition, Error> {
    let mut after = end_of(snapshot.version().0);
    while let Some(entry) = read(snapshot, id, after, TAIL_ENTRIES).await?.last() {
        after = entry.position;
    }
    Ok(after)
}

/// A position after all entries written before this time, and before all others. Entries are in commit order;
/// their times are in this order too, except within the duration of a commit.
pub(crate) async fn written_before(
    snapshot: &impl Snapshot,
    id: LogId,
    start: u64,
    ms: u64,
) -> Result<LogPosition, Error> {
    let last = last_written_before(snapshot, id, start, ms).await?;
    Ok(last.unwrap_or(end_of(start.saturating_sub(1))))
}

/// The last entry written before this time, in a shard whose entries before version `start` are trimmed.
///
/// A store that numbers entries when they are first read gives those of many commits one version, and some
/// that this search is the first to read versions after the view's. So the entries after the one that was
/// found by its version are looked at too.
pub(crate) async fn last_written_before(
    snapshot: &impl Snapshot,
    id: LogId,
    start: u64,
    ms: u64,
) -> Result<Option<LogPosition>, Error> {
    let is_late = |entry: &LogEntry| {
        written_ms(&entry.bytes).map(|written| written >= ms).map_err(|_| fault::internal())
    };
    let start = start.saturating_sub(1);
    let version = find_version(snapshot, id, start, is_late).await?;
    let mut last = None;
    let mut after = end_of(version.saturating_sub(1).max(start));
    loop {
        let entries = read(snapshot, id, after, TAIL_ENTRIES).await?;
        if entries.is_empty() {
            return Ok(last);
        }
        for entry in entries {
            if is_late(&entry)? {
                return Ok(last);
            }
            after = entry.position;
            last = Some(entry.position);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use keywright_store::memory::MemoryStore;
    use keywright_store::{Store, Transaction};

    use super::*;
    use crate::tests::harness::block_on;

    const ID: LogId = LogId { log: 9, shard: 2 };

    /// The bytes of a record up to its time.
    fn at(ms: u64) -> Bytes {
        [&[1, 0, 0], ms.to_be_bytes().as_slice()].concat().into()
    }

    /// One commit that appends entries with these times, and writes another row.
    fn commit(store: &MemoryStore, times: &[u64]) {
        block_on(async {
            let mut txn = store.begin().await.expect("begins");
            txn.put(Bytes::from_static(b"row"), Bytes::new());
            for ms in times {
                txn.append(ID, at(*ms));
            }
            txn.commit().await.expect("commits");
        });
    }

    #[test]
    fn the_last_entry_is_found_at_any_version() {
        for before in 0..6 {
            for after in [0, 1, 2, 7, 40] {
                for size in [0, 1, 3] {
                    let store = MemoryStore::new();
                    (0..before).for_each(|_| commit(&store, &[]));
                    let start = u64::try_from(before).expect("small") + 1;
                    commit(&store, &vec![5; size]);
                    (0..after).for_each(|_| commit(&store, &[]));
                    let found = block_on(async {
                        let snapshot = store.snapshot().await.expect("a snapshot");
                        last(&snapshot, ID, start).await
                    });
                    let index = u32::try_from(size).expect("small").checked_sub(1);
                    let version = CommitVersion(start);
                    let expected = index.map(|index| LogPosition { version, index });
                    assert_eq!(found.expect("reads"), expected, "{before} {after} {size}");
                }
            }
        }
    }

    #[test]
    fn entries_of_one_version_are_divided_by_their_times_too() {
        let store = MemoryStore::new();
        commit(&store, &[1, 2]);
        commit(&store, &[3, 4, 4, 7, 9]);
        commit(&store, &[9]);
        for (ms, expected) in [(0, None), (1, None), (2, Some((1, 0))), (4, Some((2, 0))), (7, Some((2, 2)))]
        {
            let last = block_on(async {
                let snapshot = store.snapshot().await.expect("a snapshot");
                last_written_before(&snapshot, ID, 1, ms).await.expect("reads")
            });
            let last = last.map(|position| (position.version.0, position.index));
            assert_eq!(last, expected, "{ms}");
        }
    }

    #[test]
    fn entries_are_divided_by_their_times() {
        let store = MemoryStore::new();
        for round in 0..50 {
            commit(&store, &[]);
            commit(&store, &[round * 10, round * 10]);
        }
        for ms in [0, 1, 10, 11, 250, 255, 490, 491, 10_000] {
            let times = block_on(async {
                let snapshot = store.snapshot().await.expect("a snapshot");
                let position = written_before(&snapshot, ID, 1, ms).await.expect("reads");
                read(&snapshot, ID, position, 1000).await.expect("reads")
            });
            let expected = 2 * (0..50).filter(|round| round * 10 >= ms).count();
            assert_eq!(times.len(), expected, "{ms}");
            let last = block_on(async {
                let snapshot = store.snapshot().await.expect("a snapshot");
                last_written_before(&snapshot, ID, 1, ms).await.expect("reads")
            });
            // Each round's second commit has two entries.
            let early = u64::try_from(50 - expected / 2).expect("small");
            let place = LogPosition { version: CommitVersion(early * 2), index: 1 };
            assert_eq!(last, (early > 0).then_some(place), "{ms}");
        }
    }
}
