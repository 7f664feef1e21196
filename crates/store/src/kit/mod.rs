//! The test suite that every backend must pass: the guarantees of the contract, as functions over any store.
//!
//! A backend implements [`Subject`] and calls [`store_kit!`](crate::store_kit), which makes one test per
//! check. The checks assume a store without faults; callers test their own handling of faults.

#![expect(missing_docs, reason = "the name of a check is what it checks")]

mod conflicts;
mod logs;
mod reading;
mod threads;
mod writing;

pub use conflicts::*;
pub use logs::*;
pub use reading::*;
pub use threads::*;
pub use writing::*;

use bytes::Bytes;
pub use pollster::block_on;

use crate::contract::{
    CommitError, CommitVersion, Direction, Entry, FirstPage, KeyRange, Scan, ScanPage, Snapshot, Store,
    Transaction,
};

/// How the kit creates and reopens a store.
pub trait Subject {
    /// The backend under test.
    type Store: Store;

    /// Whether the backend can run here; checks of one that cannot are passed over.
    fn is_available(&self) -> bool {
        true
    }

    /// Names of the checks that the engine under test cannot pass, and that are passed over.
    fn passed_over(&self) -> &'static [&'static str] {
        &[]
    }

    /// A new, empty store.
    fn create(&self) -> Self::Store;

    /// Ends a store as abruptly as the backend can within one process, and opens it again. The caller has
    /// dropped all other handles. A store that cannot be reopened returns itself.
    fn reopen(&self, store: Self::Store) -> Self::Store;
}

/// Makes one test per check of the kit.
#[macro_export]
macro_rules! store_kit {
    ($subject:expr) => {
        $crate::store_kit!(@each $subject;
            rows_are_in_bytewise_order
            empty_and_inverted_ranges_hold_nothing
            a_scan_stops_at_its_budget_in_both_directions
            pages_join_to_the_whole_range
            values_of_any_size_come_back
            a_snapshot_never_moves
            get_many_answers_in_the_order_asked
            reads_of_the_store_show_the_newest_commit
            a_scan_of_the_store_is_a_page_of_one_version
            a_size_estimate_is_of_the_right_order
            a_transaction_does_not_see_its_own_writes
            the_last_write_of_a_key_counts
            a_dropped_transaction_writes_nothing
            a_transaction_that_writes_nothing_commits
            versions_grow_across_reopening
            acknowledged_commits_survive_reopening
            a_large_transaction_is_written_whole
            a_transaction_beyond_the_capabilities_is_refused
            long_keys_are_kept
            clearing_a_range_leaves_its_neighbours
            a_commit_nobody_waits_for_is_whole_or_absent
            a_token_row_resolves_an_unknown_commit
            a_lost_update_is_refused
            write_skew_is_refused
            a_condition_alone_is_refused_when_its_key_changed
            a_protected_absent_key_conflicts_when_it_appears
            a_key_protected_without_reading_conflicts_when_it_changed
            a_change_raises_the_last_change_of_its_first_byte
            a_blind_write_conflicts_with_a_later_commit
            a_key_written_and_deleted_again_has_changed
            reads_and_scans_are_not_protected
            transactions_on_different_keys_do_not_conflict
            clearing_a_range_changes_its_keys
            a_conflict_is_found_however_long_the_transaction_was_open
            log_entries_are_in_commit_order_under_a_slow_writer
            log_entries_of_a_commit_keep_their_order
            log_shards_are_separate_from_each_other_and_from_rows
            a_snapshot_does_not_see_later_log_entries
            a_log_read_stops_at_its_budget
            a_trimmed_log_keeps_what_comes_after
            logs_survive_reopening
            upkeep_is_not_noticed
            counters_of_many_threads_lose_nothing
            put_if_absent_lets_one_thread_win
            readers_see_whole_commits_only
            reads_of_the_store_see_whole_commits_only
            a_log_reader_misses_nothing_while_threads_append
            one_thread_sees_the_commits_of_another
        );
    };
    (@each $subject:expr; $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                let passed_over = $crate::kit::Subject::passed_over(&$subject);
                if $crate::kit::Subject::is_available(&$subject)
                    && !passed_over.contains(&stringify!($check))
                {
                    $crate::kit::$check(&$subject);
                }
            }
        )*

        #[test]
        fn only_checks_of_the_kit_are_passed_over() {
            let checks = [$(stringify!($check)),*];
            let passed_over = $crate::kit::Subject::passed_over(&$subject);
            assert!(passed_over.iter().all(|name| checks.contains(name)), "{passed_over:?}");
        }
    };
}

pub(crate) fn key(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Keys with one prefix sort by their number.
pub(crate) fn numbered(prefix: &str, number: usize) -> Bytes {
    Bytes::from(format!("{prefix}{number:08}"))
}

pub(crate) fn everything() -> KeyRange {
    KeyRange { start: Bytes::new(), end: None }
}

pub(crate) fn range(start: &str, end: &str) -> KeyRange {
    KeyRange { start: key(start), end: Some(key(end)) }
}

pub(crate) fn begin<S: Store>(store: &S) -> S::Transaction {
    block_on(store.begin()).expect("a transaction begins")
}

pub(crate) fn snapshot<S: Store>(store: &S) -> S::Snapshot {
    block_on(store.snapshot()).expect("a snapshot opens")
}

pub(crate) fn get(view: &impl Snapshot, key: &[u8]) -> Option<Bytes> {
    block_on(view.get(key)).expect("a read succeeds")
}

pub(crate) fn get_for_write(transaction: &mut impl Transaction, keys: &[Bytes]) -> Vec<Option<Bytes>> {
    block_on(transaction.get_for_write(keys)).expect("a read succeeds")
}

pub(crate) fn commit(transaction: impl Transaction) -> Result<CommitVersion, CommitError> {
    block_on(transaction.commit())
}

/// Commits rows that no other transaction writes.
pub(crate) fn put_all<S: Store>(store: &S, rows: impl IntoIterator<Item = (Bytes, Bytes)>) -> CommitVersion {
    let mut transaction = begin(store);
    for (key, value) in rows {
        transaction.put(key, value);
    }
    commit(transaction).expect("nothing conflicts")
}

pub(crate) fn put<S: Store>(store: &S, name: &str, value: &str) -> CommitVersion {
    put_all(store, [(key(name), key(value))])
}

pub(crate) fn scan(view: &impl Snapshot, range: KeyRange, direction: Direction) -> ScanPage {
    scan_within(view, range, direction, usize::MAX, usize::MAX)
}

pub(crate) fn scan_within(
    view: &impl Snapshot,
    range: KeyRange,
    direction: Direction,
    rows_max: usize,
    bytes_max: usize,
) -> ScanPage {
    block_on(view.scan(&Scan { range, direction, rows_max, bytes_max })).expect("a scan succeeds")
}

/// The rows of a range by scans of `rows_max` rows, as a caller reads them that wants all of one version.
pub(crate) fn scan_all<S: Store>(
    store: &S,
    mut rest: KeyRange,
    direction: Direction,
    rows_max: usize,
) -> Vec<Entry> {
    let first = Scan { range: rest.clone(), direction, rows_max, bytes_max: usize::MAX };
    let FirstPage { page, view } = block_on(store.scan(&first)).expect("a scan succeeds");
    if !page.more {
        return page.entries;
    }
    assert!(!page.entries.is_empty(), "one row is always returned");
    let mut entries = if view.is_some() { page.entries } else { Vec::new() };
    let view = view.unwrap_or_else(|| snapshot(store));
    loop {
        match (direction, entries.last()) {
            (Direction::Forward, Some(last)) => rest.start = [last.key.as_ref(), &[0]].concat().into(),
            (Direction::Backward, Some(last)) => rest.end = Some(last.key.clone()),
            (_, None) => {}
        }
        let page = scan_within(&view, rest.clone(), direction, rows_max, usize::MAX);
        entries.extend(page.entries);
        if !page.more {
            return entries;
        }
    }
}

pub(crate) fn keys(page: &ScanPage) -> Vec<Bytes> {
    page.entries.iter().map(|entry| entry.key.clone()).collect()
}
