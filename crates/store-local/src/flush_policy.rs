//! How many replaced rows lie in the engine's write buffer.
//!
//! The buffer keeps every version of a key until it is written out as a table, which has each key once. A scan passes
//! all of them, one by one: a counter that is written a thousand times a second would make a query of its neighbours
//! pass fifty thousand versions of it before the buffer is full. So a buffer is written out early once versions pile up.
//!
//! Writing out has a price: the rows that are not replaced go into a table, which is merged with others. It is paid where
//! most of the buffer is replaced versions, and where a key or a few have very many. It is not where many keys are written
//! and some of them more often: with a million keys by Zipf's law, early tables cost two fifths of the writes.
//! Rows that are deleted are not helped: what marks them stays until tables are merged down to the last level.

use keywright_store::ByHash;

/// So many keys' versions are counted one by one. When there are more, those written once are forgotten, and if that is
/// not enough, all: a key that is written all the time soon has a count again.
const KEYS_MAX: usize = 32 * 1024;
/// Versions that a key written again has on average, by which reads beside such keys suffer.
const VERSIONS_MEAN_MAX: u64 = 1024;
/// So many replaced versions to each row are most of the buffer.
const AGAIN_TO_ONE: u64 = 4;

/// What was written since the buffer was last written out. Counts are of keys' hashes, and about right.
pub(crate) struct FlushPolicy {
    versions: ByHash<u32>,
    /// Versions beyond the first of each key.
    again: u64,
    /// First versions.
    first: u64,
    /// Of the keys that have several versions: how many these are, and the sum of their squares.
    several: u64,
    several_squared: u64,
    /// As many replaced versions are left to every buffer.
    again_free: u64,
}

impl FlushPolicy {
    pub(crate) fn new(again_free: u64) -> Self {
        Self { versions: ByHash::default(), again: 0, first: 0, several: 0, several_squared: 0, again_free }
    }

    /// Notes one more version of a key.
    pub(crate) fn note(&mut self, key: u64) {
        if let Some(versions) = self.versions.get_mut(&key) {
            let (before, after) = (u64::from(*versions), u64::from(*versions) + 1);
            *versions += 1;
            self.again += 1;
            let (several, squared) = if before == 1 { (2, 4) } else { (1, after * after - before * before) };
            self.several += several;
            self.several_squared += squared;
            return;
        }
        if self.versions.len() >= KEYS_MAX {
            self.versions.retain(|_, versions| *versions > 1);
            if self.versions.len() > KEYS_MAX / 2 {
                self.versions.clear();
            }
        }
        self.first += 1;
        self.versions.insert(key, 1);
    }

    /// Whether scans pass so many replaced rows that writing out the buffer is worth it.
    pub(crate) fn is_deep(&self) -> bool {
        let mostly_replaced = self.again >= AGAIN_TO_ONE * self.first + self.again_free;
        // Of the versions of keys that have several, each has so many beside it, itself included.
        let mean = self.several_squared / self.several.max(1);
        mostly_replaced || (self.again >= 2 * self.again_free && mean >= VERSIONS_MEAN_MAX)
    }

    /// The buffer was written out.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.again_free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys come as hashes, which differ in all their bits.
    fn hash(key: u64) -> u64 {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn after(keys: impl IntoIterator<Item = u64>) -> FlushPolicy {
        let mut replaced = FlushPolicy::new(2048);
        keys.into_iter().for_each(|key| replaced.note(hash(key)));
        replaced
    }

    /// How many writes of these keys make the buffer deep, after others that were written once.
    fn writes_until_deep(others: u64, hot: u64) -> u64 {
        let mut replaced = after(1_000_000..1_000_000 + others);
        let mut writes: u64 = 0;
        while !replaced.is_deep() {
            replaced.note(hash(writes % hot));
            writes += 1;
        }
        writes
    }

    #[test]
    fn a_few_keys_written_over_and_over_make_a_buffer_deep_whatever_was_written_before() {
        assert_eq!(writes_until_deep(0, 1), 2053);
        assert_eq!(writes_until_deep(0, 200), 3048);
        for others in [30_000, 40_000, 100_000, 1_000_000] {
            assert!(writes_until_deep(others, 1) <= 4_098, "{others}");
            assert!(writes_until_deep(others, 20) <= 22_000, "{others}");
        }
    }

    #[test]
    fn a_buffer_of_rows_that_are_hardly_replaced_is_not_deep() {
        assert!(!after(0..1_000_000).is_deep());
        assert!(!after((0..60_000).map(|write| write % 30_000)).is_deep());
        assert!(!after((0..200_000).map(|write| write % 100_000)).is_deep());
        assert!(!after((0..1_000_000).map(|write| if write % 500 == 0 { 7 } else { write })).is_deep());
        // About Zipf's law: of 131,072 keys, those from 2^n to 2^(n + 1) have as many writes together for every n.
        let zipf = |write: u64| {
            let random = hash(write + 1).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let first = 1_u64 << (((random >> 40) * 17) >> 24);
            first + (random & (first - 1))
        };
        assert!(!after((0..50_000).map(zipf)).is_deep());
    }

    #[test]
    fn what_is_known_of_keys_is_bounded() {
        let replaced = after((0..3_000_000).map(|write| write / 2));
        assert!(replaced.versions.len() <= KEYS_MAX);
        assert!(!replaced.is_deep());
    }

    #[test]
    fn what_was_written_out_is_forgotten() {
        let mut replaced = after((0..5_000).map(|write| write % 200));
        assert!(replaced.is_deep());
        replaced.clear();
        assert!(!replaced.is_deep());
    }
}
