//! Reads that are asked at the same time share statements, and each has the answer to its own question.

use bytes::Bytes;
use futures_util::future::join_all;
use keywright_store::kit::block_on;
use keywright_store::{Direction, KeyRange, Scan, ScanPage, Store as _, StoreError, Transaction as _};
use keywright_store_postgres::{PostgresOptions, PostgresStore};

use crate::kit::RUNTIME;
use crate::server::{server, url_or_say};

const KEYS: usize = 200;
/// Statements for that many reads at most. Each alone would take as many as there are keys.
const STATEMENTS_MAX: u64 = 60;

fn open(url: &str) -> PostgresStore {
    let options = PostgresOptions::parse(url).unwrap();
    block_on(PostgresStore::open(options, RUNTIME.handle().clone())).unwrap()
}

fn key(number: usize) -> Bytes {
    format!("key{number:04}").into()
}

/// The value of a key: some have none, and some are larger than a page that shares a statement takes.
fn value(number: usize) -> Option<Bytes> {
    match number % 50 {
        3 | 13 | 23 | 33 | 43 => None,
        7 => Some(vec![u8::try_from(number % 251).unwrap(); 150_000].into()),
        _ => Some(format!("value{number}").into()),
    }
}

fn fill(store: &PostgresStore) {
    let mut writing = block_on(store.begin()).unwrap();
    for (number, value) in (0..KEYS).filter_map(|number| Some((number, value(number)?))) {
        writing.put(key(number), value);
    }
    block_on(writing.commit()).unwrap();
}

/// The answers to reads that are asked at once, and the statements that they took.
fn at_once<A: Send + 'static>(
    store: &PostgresStore,
    read: impl Fn(PostgresStore, usize) -> std::pin::Pin<Box<dyn Future<Output = A> + Send>>,
) -> (Vec<A>, u64) {
    let before = store.round_trips();
    let reads: Vec<_> = (0..KEYS).map(|number| RUNTIME.spawn(read(store.clone(), number))).collect();
    let answers = RUNTIME.block_on(join_all(reads));
    (answers.into_iter().map(Result::unwrap).collect(), store.round_trips() - before)
}

fn get_all(store: &PostgresStore) -> (Vec<Result<Option<Bytes>, StoreError>>, u64) {
    at_once(store, |store, number| Box::pin(async move { store.get(&key(number)).await }))
}

#[test]
fn gets_at_the_same_time_share_statements() {
    let Some(url) = url_or_say("shared_gets") else { return };
    let store = open(&url);
    fill(&store);
    let (found, statements) = get_all(&store);
    for (number, found) in found.into_iter().enumerate() {
        assert_eq!(found, Ok(value(number)), "{number}");
    }
    assert!(statements < STATEMENTS_MAX, "{statements} statements");
}

/// A scan of a few rows, every second one backward.
fn few(number: usize) -> Scan {
    let range = KeyRange { start: key(number), end: Some(key(number + 8)) };
    let direction = if number.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
    Scan { range, direction, rows_max: 2 + number % 3, bytes_max: 1 << 20 }
}

fn expected(scan: &Scan, first: usize) -> ScanPage {
    let mut entries: Vec<_> = (first..KEYS.min(first + 8))
        .filter_map(|number| Some(keywright_store::Entry { key: key(number), value: value(number)? }))
        .collect();
    if scan.direction == Direction::Backward {
        entries.reverse();
    }
    let more = entries.len() > scan.rows_max;
    entries.truncate(scan.rows_max);
    ScanPage { entries, more }
}

#[test]
fn small_pages_at_the_same_time_share_statements() {
    let Some(url) = url_or_say("shared_pages") else { return };
    let store = open(&url);
    fill(&store);
    let (pages, statements) = at_once(&store, |store, number| {
        Box::pin(async move { store.scan(&few(number)).await.unwrap().page })
    });
    for (number, page) in pages.into_iter().enumerate() {
        assert_eq!(page, expected(&few(number), number), "{number}");
    }
    // Those with a large value are asked once more, each by itself.
    let with_large = (0..KEYS).filter(|number| (0..8).any(|more| (number + more) % 50 == 7)).count();
    let alone = u64::try_from(with_large).unwrap();
    assert!(statements < STATEMENTS_MAX + alone, "{statements} statements, {alone} of single pages");
}

#[test]
fn a_read_that_fails_fails_alone() {
    let Some(url) = url_or_say("shared_fault") else { return };
    let server = server().unwrap();
    server.execute("CREATE ROLE reader LOGIN");
    server.execute("GRANT CREATE ON DATABASE postgres TO reader");
    let store = open(&url.replace("postgres@", "reader@"));
    fill(&store);
    // The superuser's policy fails for one row.
    server.execute(
        "CREATE FUNCTION shared_fault.damaged() RETURNS boolean LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'this row is damaged'; END $$",
    );
    server.execute(
        "CREATE POLICY damage ON shared_fault.keywright_rows USING (CASE WHEN key = 'key0050' \
         THEN shared_fault.damaged() ELSE true END)",
    );
    server.execute("ALTER TABLE shared_fault.keywright_rows ENABLE ROW LEVEL SECURITY");
    server.execute("ALTER TABLE shared_fault.keywright_rows FORCE ROW LEVEL SECURITY");
    let (found, statements) = get_all(&store);
    for (number, found) in found.into_iter().enumerate() {
        match found {
            Err(StoreError::Io(text)) if number == 50 => assert!(text.contains("is damaged"), "{text}"),
            found => assert_eq!(found, Ok(value(number)), "{number}"),
        }
    }
    assert!(statements < u64::try_from(KEYS).unwrap(), "{statements} statements");
}
