//! The conflict detector: the versions of recently committed keys, by which a commit is refused if a key of
//! its conflict set has changed since the transaction began.
//!
//! It knows hashes of keys only. Two keys with the same hash cost a needless retry, never a missed conflict.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use keywright_store::ByHash;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Beyond this many keys the older half is dropped. Transactions that began before that are refused as
/// conflicts.
const KEYS_MAX: usize = 512 * 1024;

/// Hashes keys with a seed of its own per opened store, so that a client cannot prepare colliding keys.
pub(crate) struct KeyHasher {
    seed: u64,
}

impl KeyHasher {
    pub(crate) fn new() -> Self {
        Self { seed: RandomState::new().hash_one(()) }
    }

    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.seed)
    }
}

/// Invariant: every key committed at a version above `floor` is in `versions` with the newest such version.
pub(crate) struct ConflictDetector {
    versions: ByHash<u64>,
    /// Version and key of each write, in commit order.
    order: VecDeque<(u64, u64)>,
    /// Writes at or before this version are dropped.
    floor: u64,
}

impl ConflictDetector {
    pub(crate) fn new(version: u64) -> Self {
        Self { versions: ByHash::default(), order: VecDeque::new(), floor: version }
    }

    /// Whether any of the keys may have been committed after `started`.
    pub(crate) fn changed_since(&self, started: u64, keys: impl IntoIterator<Item = u64>) -> bool {
        keys.into_iter().any(|key| {
            started < self.floor || self.versions.get(&key).is_some_and(|version| *version > started)
        })
    }

    /// Records a write of the commit at `version`.
    pub(crate) fn insert(&mut self, key: u64, version: u64) {
        assert!(version > self.floor, "a commit is newer than everything that was pruned");
        let last = self.order.back().map_or(0, |(last, _)| *last);
        assert!(version >= last, "commits are recorded in order");
        self.versions.insert(key, version);
        self.order.push_back((version, key));
    }

    /// Drops writes that no transaction begun at `oldest` or later can conflict with.
    pub(crate) fn prune(&mut self, oldest: u64) {
        self.drop_through(oldest);
        if self.order.len() > KEYS_MAX
            && let Some((middle, _)) = self.order.get(KEYS_MAX / 2)
        {
            self.drop_through(*middle);
        }
        assert!(self.versions.len() <= self.order.len(), "every remembered key has a recorded write");
    }

    fn drop_through(&mut self, floor: u64) {
        while let Some((version, key)) = self.order.pop_front_if(|(version, _)| *version <= floor) {
            if self.versions.get(&key) == Some(&version) {
                self.versions.remove(&key);
            }
        }
        self.floor = self.floor.max(floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_conflicts_with_older_transactions_only() {
        let mut detector = ConflictDetector::new(0);
        detector.insert(1, 5);
        assert!(detector.changed_since(4, [1]));
        assert!(!detector.changed_since(5, [1]));
        assert!(!detector.changed_since(4, [2]));
    }

    #[test]
    fn pruning_keeps_what_the_oldest_transaction_needs() {
        let mut detector = ConflictDetector::new(0);
        detector.insert(1, 5);
        detector.insert(2, 6);
        detector.insert(1, 7);
        detector.prune(6);
        assert!(detector.changed_since(6, [1]));
        assert!(!detector.changed_since(6, [2]));
        assert_eq!(detector.order.len(), 1);
    }

    #[test]
    fn a_transaction_older_than_the_floor_conflicts() {
        let mut detector = ConflictDetector::new(0);
        detector.prune(9);
        assert!(detector.changed_since(8, [1]));
        assert!(!detector.changed_since(8, []));
        assert!(!detector.changed_since(9, [1]));
    }

    #[test]
    fn memory_is_bounded_while_a_transaction_stays_open() {
        let mut detector = ConflictDetector::new(0);
        for version in 1..=1_000_000 {
            detector.insert(version, version);
            detector.prune(0);
        }
        assert!(detector.order.len() <= KEYS_MAX && detector.versions.len() <= KEYS_MAX);
        assert!(detector.changed_since(0, [3]), "the transaction is older than the floor");
        assert!(!detector.changed_since(999_999, [3]));
        assert!(detector.changed_since(999_999, [1_000_000]));
    }

    #[test]
    #[should_panic(expected = "recorded in order")]
    fn a_commit_out_of_order_is_caught() {
        let mut detector = ConflictDetector::new(0);
        detector.insert(1, 5);
        detector.insert(2, 4);
    }
}
