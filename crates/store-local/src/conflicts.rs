//! Which keys were committed lately, so that a commit can be refused when a key of its conflict set has moved.
//!
//! It knows hashes only: two keys with one hash cost a needless retry, never a missed conflict.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use keywright_store::ByHash;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Beyond this many keys the older half is forgotten; transactions begun before are refused as conflicts.
const KEYS_MAX: usize = 512 * 1024;

/// Hashes keys, differently in every store that is opened, so that nobody can prepare keys that meet.
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
    /// Commits in order, oldest first.
    order: VecDeque<(u64, u64)>,
    /// What was committed at or before this version is forgotten.
    floor: u64,
}

impl ConflictDetector {
    pub(crate) fn new(version: u64) -> Self {
        Self { versions: ByHash::default(), order: VecDeque::new(), floor: version }
    }

    /// Whether any of the keys may have been committed after `started`.
    pub(crate) fn moved_since(&self, started: u64, keys: impl IntoIterator<Item = u64>) -> bool {
        keys.into_iter().any(|key| {
            started < self.floor || self.versions.get(&key).is_some_and(|version| *version > started)
        })
    }

    pub(crate) fn insert(&mut self, key: u64, version: u64) {
        self.versions.insert(key, version);
        self.order.push_back((version, key));
    }

    /// Forgets what no transaction begun at `oldest` or later can conflict with.
    pub(crate) fn prune(&mut self, oldest: u64) {
        self.forget_through(oldest);
        if self.order.len() > KEYS_MAX
            && let Some((middle, _)) = self.order.get(KEYS_MAX / 2)
        {
            self.forget_through(*middle);
        }
    }

    fn forget_through(&mut self, floor: u64) {
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
        let mut recent = ConflictDetector::new(0);
        recent.insert(1, 5);
        assert!(recent.moved_since(4, [1]));
        assert!(!recent.moved_since(5, [1]));
        assert!(!recent.moved_since(4, [2]));
    }

    #[test]
    fn pruning_keeps_what_the_oldest_transaction_needs() {
        let mut recent = ConflictDetector::new(0);
        recent.insert(1, 5);
        recent.insert(2, 6);
        recent.insert(1, 7);
        recent.prune(6);
        assert!(recent.moved_since(6, [1]));
        assert!(!recent.moved_since(6, [2]));
        assert_eq!(recent.order.len(), 1);
    }

    #[test]
    fn a_transaction_older_than_what_is_remembered_conflicts() {
        let mut recent = ConflictDetector::new(0);
        recent.prune(9);
        assert!(recent.moved_since(8, [1]));
        assert!(!recent.moved_since(8, []));
        assert!(!recent.moved_since(9, [1]));
    }

    #[test]
    fn memory_is_bounded_while_a_transaction_stays_open() {
        let mut recent = ConflictDetector::new(0);
        for version in 1..=1_000_000 {
            recent.insert(version, version);
            recent.prune(0);
        }
        assert!(recent.order.len() <= KEYS_MAX && recent.versions.len() <= KEYS_MAX);
        assert!(recent.moved_since(0, [3]), "too old to be judged");
        assert!(!recent.moved_since(999_999, [3]));
        assert!(recent.moved_since(999_999, [1_000_000]));
    }
}
