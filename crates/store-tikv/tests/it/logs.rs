//! Reading a log moves no more entries out of its inbox than the page needs.

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{LogEntry, LogId, LogRead, Snapshot as _, Store as _, Transaction as _};
use keywright_store_tikv::{TikvOptions, TikvStore};
use tikv_client::TransactionOptions;

use crate::engine::url_or_say;
use crate::kit::RUNTIME;
use crate::raw::Client;

const ID: LogId = LogId { log: 1, shard: 2 };
/// The byte of keys in the inbox.
const INBOX: u8 = 2;

/// A store of this prefix with so many commits, which append so many entries of this size each.
async fn with_entries(
    prefix: &str,
    (commits, entries): (u32, u32),
    bytes: usize,
) -> Option<(TikvStore, Client)> {
    let url = url_or_say(prefix)?;
    let store = TikvStore::open(TikvOptions::parse(&url).unwrap(), RUNTIME.handle().clone()).await.unwrap();
    for commit in 0..commits {
        let mut transaction = store.begin().await.unwrap();
        for entry in 0..entries {
            let number = commit * entries + entry;
            transaction.append(ID, [&number.to_be_bytes()[..], &vec![0; bytes]].concat().into());
        }
        transaction.commit().await.unwrap();
    }
    let raw = RUNTIME.spawn(async move { Client::open(&url).await }).await.unwrap();
    Some((store, raw))
}

/// Entries in the inbox.
async fn left(raw: &Client) -> usize {
    let from = [raw.prefix.as_bytes(), b"/", &[INBOX]].concat();
    let to = [raw.prefix.as_bytes(), b"/", &[INBOX + 1]].concat();
    let now = raw.tikv.current_timestamp().await.unwrap();
    let mut view = raw.tikv.snapshot(now, TransactionOptions::new_optimistic());
    view.scan_keys(from..to, 10_000).await.unwrap().count()
}

async fn read(
    store: &TikvStore,
    after: Option<&LogEntry>,
    entries_max: usize,
    bytes_max: usize,
) -> Vec<LogEntry> {
    let view = store.snapshot().await.unwrap();
    let after = after.map(|entry| entry.position);
    view.read_log(LogRead { id: ID, after, entries_max, bytes_max }).await.unwrap()
}

fn number(entry: &LogEntry) -> u32 {
    let bytes: Bytes = entry.bytes.slice(..4);
    u32::from_be_bytes(bytes.as_ref().try_into().unwrap())
}

#[test]
fn a_page_moves_what_it_needs_of_many_entries() {
    const COMMITS: u32 = 40;
    const ENTRIES: u32 = 25;
    let _inside = RUNTIME.enter();
    block_on(async {
        let made = with_entries("log-pages", (COMMITS, ENTRIES), 10).await;
        let Some((store, raw)) = made else { return };
        let asked = store.round_trips();
        let first = read(&store, None, 10, usize::MAX).await;
        let trips = store.round_trips() - asked;
        let moved = usize::try_from(COMMITS * ENTRIES).unwrap() - left(&raw).await;
        assert_eq!(first.iter().map(number).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        assert_eq!(moved, usize::try_from(ENTRIES).unwrap(), "the first commit is moved, whole");
        assert!(trips <= 10, "{trips} round trips");
        // The pages together have every entry once.
        let mut all = first;
        loop {
            let page = read(&store, all.last(), 90, usize::MAX).await;
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        assert_eq!(all.iter().map(number).collect::<Vec<_>>(), (0..COMMITS * ENTRIES).collect::<Vec<_>>());
        assert!(all.is_sorted_by(|one, next| one.position < next.position));
        assert_eq!(left(&raw).await, 0);
    });
}

#[test]
fn a_page_moves_what_it_needs_of_large_entries() {
    const COMMITS: u32 = 60;
    const BYTES: usize = 400 * 1024;
    let _inside = RUNTIME.enter();
    block_on(async {
        let Some((store, raw)) = with_entries("log-bytes", (COMMITS, 1), BYTES).await else { return };
        let page = read(&store, None, usize::MAX, 1024 * 1024).await;
        assert_eq!(page.iter().map(number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(usize::try_from(COMMITS).unwrap() - left(&raw).await, 10, "four megabytes are moved");
        let rest = read(&store, page.last(), usize::MAX, usize::MAX).await;
        assert_eq!(rest.iter().map(number).collect::<Vec<_>>(), (3..COMMITS).collect::<Vec<_>>());
    });
}

#[test]
fn a_commit_with_more_entries_than_a_move_has_is_moved_whole() {
    // The test engine keeps all keys of a commit with each lock, and takes 8 MiB of them.
    const ENTRIES: u32 = 150;
    let _inside = RUNTIME.enter();
    block_on(async {
        let Some((store, raw)) = with_entries("log-whole", (2, ENTRIES), 10).await else { return };
        let page = read(&store, None, 1, usize::MAX).await;
        assert_eq!(page.iter().map(number).collect::<Vec<_>>(), [0]);
        assert_eq!(left(&raw).await, usize::try_from(ENTRIES).unwrap());
    });
}

#[test]
fn a_trimmed_log_keeps_what_nobody_has_read_unless_all_is_trimmed() {
    let _inside = RUNTIME.enter();
    block_on(async {
        let Some((store, raw)) = with_entries("log-trims", (4, 10), 10).await else { return };
        let page = read(&store, None, 5, usize::MAX).await;
        store.trim_log(ID, page[4].position).await.unwrap();
        let rest = read(&store, None, usize::MAX, usize::MAX).await;
        assert_eq!(rest.iter().map(number).collect::<Vec<_>>(), (5..40).collect::<Vec<_>>());
        let mut transaction = store.begin().await.unwrap();
        transaction.append(ID, Bytes::from("last"));
        transaction.commit().await.unwrap();
        store.trim_log(ID, keywright_store::LogPosition::LAST).await.unwrap();
        assert!(read(&store, None, usize::MAX, usize::MAX).await.is_empty());
        assert_eq!(left(&raw).await, 0);
    });
}
