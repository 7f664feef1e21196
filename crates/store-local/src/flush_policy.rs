//! The flush policy: an early flush of the memtable when overwritten versions slow down scans.
//!
//! A memtable keeps every version of a key until it is flushed to a table, which has each key once. Scans
//! pass over all versions: a counter that is written a thousand times a second makes a query of neighbouring
//! rows pass over fifty thousand versions before the memtable is full. So it is flushed early once versions
//! pile up.
//!
//! An early flush has a price: the live rows go into a small table, which must be merged with others. It pays
//! where overwritten versions are most of the memtable, and where a few keys have very many. It does not pay
//! where many keys are written and some more often: with a million keys under Zipf's law, early flushes cost
//! two fifths of the write rate. Deleted rows gain nothing: their tombstones stay until a merge into the last
//! level.

use keywright_store::ByHash;

/// Keys whose versions are counted one by one. Beyond it, keys written once are dropped, and all keys if that
/// is not enough: a key that is written all the time soon has a count again.
const KEYS_MAX: usize = 32 * 1024;
/// Mean versions per repeatedly written key, weighted by versions, from which scans near such keys become
/// slow.
const VERSIONS_MEAN_MAX: u64 = 1024;
/// Overwritten versions per key from which they are most of the memtable.
const OVERWRITTEN_PER_KEY: u64 = 4;

/// Counts of the writes since the last flush. They go by the hashes of keys and are approximate.
pub(crate) struct FlushPolicy {
    versions: ByHash<u32>,
    /// Versions beyond the first of each key.
    overwritten: u64,
    /// First versions.
    keys: u64,
    /// The number of versions of the keys that have several, summed over these keys.
    repeated: u64,
    /// The squares of these numbers, summed over the same keys.
    repeated_squared: u64,
    /// Overwritten versions that every memtable may hold.
    overwritten_free: u64,
}

impl FlushPolicy {
    pub(crate) fn new(overwritten_free: u64) -> Self {
        Self {
            versions: ByHash::default(),
            overwritten: 0,
            keys: 0,
            repeated: 0,
            repeated_squared: 0,
            overwritten_free,
        }
    }

    /// Counts one more version of a key.
    pub(crate) fn count(&mut self, key: u64) {
        if let Some(versions) = self.versions.get_mut(&key) {
            let (before, after) = (u64::from(*versions), u64::from(*versions) + 1);
            *versions += 1;
            self.overwritten += 1;
            let (repeated, squared) = if before == 1 { (2, 4) } else { (1, after * after - before * before) };
            self.repeated += repeated;
            self.repeated_squared += squared;
            return;
        }
        if self.versions.len() >= KEYS_MAX {
            self.versions.retain(|_, versions| *versions > 1);
            if self.versions.len() > KEYS_MAX / 2 {
                self.versions.clear();
            }
        }
        self.keys += 1;
        self.versions.insert(key, 1);
    }

    /// Whether scans pass over so many overwritten versions that an early flush pays.
    pub(crate) fn is_flush_due(&self) -> bool {
        assert!(
            self.repeated_squared >= self.repeated,
            "a sum of squares is not below the sum of its numbers"
        );
        let mostly_overwritten = self.overwritten >= OVERWRITTEN_PER_KEY * self.keys + self.overwritten_free;
        // The mean number of versions of a key, over all versions of repeatedly written keys.
        let mean = self.repeated_squared / self.repeated.max(1);
        mostly_overwritten || (self.overwritten >= 2 * self.overwritten_free && mean >= VERSIONS_MEAN_MAX)
    }

    /// Starts over for a new memtable.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.overwritten_free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are passed as hashes, which are spread over all 64 bits.
    fn hash(key: u64) -> u64 {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn after(keys: impl IntoIterator<Item = u64>) -> FlushPolicy {
        let mut policy = FlushPolicy::new(2048);
        keys.into_iter().for_each(|key| policy.count(hash(key)));
        policy
    }

    /// Writes of `hot` keys until a flush is due, after `others` keys were written once.
    fn writes_until_flush(others: u64, hot: u64) -> u64 {
        let mut policy = after(1_000_000..1_000_000 + others);
        let mut writes: u64 = 0;
        while !policy.is_flush_due() {
            policy.count(hash(writes % hot));
            writes += 1;
        }
        writes
    }

    #[test]
    fn a_few_keys_written_over_and_over_make_a_flush_due_after_any_other_writes() {
        assert_eq!(writes_until_flush(0, 1), 2053);
        assert_eq!(writes_until_flush(0, 200), 3048);
        for others in [30_000, 40_000, 100_000, 1_000_000] {
            assert!(writes_until_flush(others, 1) <= 4_098, "{others}");
            assert!(writes_until_flush(others, 20) <= 22_000, "{others}");
        }
    }

    #[test]
    fn rows_that_are_rarely_overwritten_make_no_flush_due() {
        assert!(!after(0..1_000_000).is_flush_due());
        assert!(!after((0..60_000).map(|write| write % 30_000)).is_flush_due());
        assert!(!after((0..200_000).map(|write| write % 100_000)).is_flush_due());
        assert!(!after((0..1_000_000).map(|write| if write % 500 == 0 { 7 } else { write })).is_flush_due());
        // Roughly Zipf's law: of 131,072 keys, those from 2^n to 2^(n + 1) get the same share of writes for
        // every n.
        let zipf = |write: u64| {
            let random = hash(write + 1).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let first = 1_u64 << (((random >> 40) * 17) >> 24);
            first + (random & (first - 1))
        };
        assert!(!after((0..50_000).map(zipf)).is_flush_due());
    }

    #[test]
    fn counts_of_keys_are_bounded() {
        let policy = after((0..3_000_000).map(|write| write / 2));
        assert!(policy.versions.len() <= KEYS_MAX);
        assert!(!policy.is_flush_due());
    }

    #[test]
    fn a_flush_clears_all_counts() {
        let mut policy = after((0..5_000).map(|write| write % 200));
        assert!(policy.is_flush_due());
        policy.clear();
        assert!(!policy.is_flush_due());
    }
}
