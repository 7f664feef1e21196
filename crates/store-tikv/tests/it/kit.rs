//! The kit: each check has a prefix of its own.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use keywright_store::kit::{Subject, block_on};
use keywright_store_tikv::{TikvOptions, TikvStore};
use tokio::runtime::Runtime;

use crate::engine::url_or_say;

pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap());

struct Tikv;

impl Subject for Tikv {
    type Store = TikvStore;

    fn is_available(&self) -> bool {
        url_or_say("kit").is_some()
    }

    fn create(&self) -> TikvStore {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("kit{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let options = TikvOptions::parse(&url_or_say(&prefix).unwrap()).unwrap();
        block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap()
    }

    fn reopen(&self, store: TikvStore) -> TikvStore {
        let options = store.options().clone();
        drop(store);
        block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap()
    }
}

// The test engine takes no entry of its Raft log above 8 MiB, and writes the whole of a commit as one entry,
// so these checks of the kit cannot pass on it: a_large_transaction_is_written_whole,
// clearing_a_range_leaves_its_neighbours and a_trimmed_log_keeps_what_comes_after.
keywright_store::store_kit!(@each Tikv;
    rows_are_in_bytewise_order
    empty_and_inverted_ranges_hold_nothing
    a_scan_stops_at_its_budget_in_both_directions
    pages_join_to_the_whole_range
    values_of_any_size_come_back
    a_snapshot_never_moves
    get_many_answers_in_the_order_asked
    a_size_estimate_is_of_the_right_order
    a_transaction_does_not_see_its_own_writes
    the_last_write_of_a_key_counts
    a_dropped_transaction_writes_nothing
    a_transaction_that_writes_nothing_commits
    versions_grow_across_reopening
    acknowledged_commits_survive_reopening
    a_transaction_beyond_the_capabilities_is_refused
    long_keys_are_kept
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
    logs_survive_reopening
    counters_of_many_threads_lose_nothing
    put_if_absent_lets_one_thread_win
    readers_see_whole_commits_only
    a_log_reader_misses_nothing_while_threads_append
    one_thread_sees_the_commits_of_another
);
