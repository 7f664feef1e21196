//! How deep replaced rows lie in the engine's write buffer.
//!
//! The buffer keeps every version of a key until it is written out as a table, which has each key once. A scan passes
//! all of them, one by one: a counter that is written a thousand times a second would make a query of its neighbours
//! pass fifty thousand versions of it before the buffer is full. So a buffer is written out early once versions pile up.

use keywright_store::ByHash;

/// So many versions of one key are enough.
const VERSIONS_MAX: u32 = 2048;
/// Of so many keys it is known how often they were written; with more, the buffer is full before versions pile up on
/// all of them, and those known first are the ones written most.
const KEYS_MAX: usize = 32 * 1024;
/// So many replaced versions are left to every buffer, beside one of each key: writing out a table has its price too.
const REPLACED_FREE: u64 = 2048;

/// What was written since the buffer was last written out.
#[derive(Default)]
pub(crate) struct Replaced {
    versions: ByHash<u32>,
    /// Versions beyond the first of each key.
    again: u64,
    deepest: u32,
    bytes: u64,
}

impl Replaced {
    /// Notes one more version of a key.
    pub(crate) fn note(&mut self, key: u64) {
        if let Some(versions) = self.versions.get_mut(&key) {
            *versions += 1;
            self.deepest = self.deepest.max(*versions);
            self.again += 1;
        } else if self.versions.len() < KEYS_MAX {
            self.versions.insert(key, 1);
        }
    }

    /// Notes bytes written, by which it is known when the engine has written out a full buffer by itself.
    pub(crate) fn note_bytes(&mut self, bytes: u64, buffer_bytes: u64) {
        self.bytes += bytes;
        if self.bytes >= buffer_bytes {
            self.clear();
        }
    }

    /// Whether scans pass so many replaced rows that writing out the buffer is worth it.
    pub(crate) fn is_deep(&self) -> bool {
        let keys = u64::try_from(self.versions.len()).unwrap_or(u64::MAX);
        self.deepest >= VERSIONS_MAX || self.again >= keys + REPLACED_FREE
    }

    /// The buffer was written out.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: impl IntoIterator<Item = u64>) -> Replaced {
        let mut replaced = Replaced::default();
        // Keys come as hashes, which differ in all their bits.
        keys.into_iter().for_each(|key| replaced.note(key.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        replaced
    }

    #[test]
    fn one_key_written_over_and_over_makes_the_buffer_deep() {
        // Many keys once, so that it is the one key alone.
        let keys = (1..=30_000).chain(std::iter::repeat_n(0, 2047));
        assert!(!after(keys.clone()).is_deep());
        assert!(after(keys.chain([0])).is_deep());
    }

    #[test]
    fn a_buffer_of_few_keys_is_deep_long_before_it_is_full_and_one_of_many_is_not() {
        assert!(!after((0..2_400).map(|write| write % 200)).is_deep());
        assert!(after((0..2_500).map(|write| write % 200)).is_deep());
        assert!(!after(0..1_000_000).is_deep());
        assert!(!after((0..60_000).map(|write| write % 30_000)).is_deep());
    }

    #[test]
    fn what_was_written_out_is_forgotten() {
        let mut replaced = after((0..5_000).map(|write| write % 200));
        replaced.note_bytes(1000, 2000);
        assert!(replaced.is_deep());
        replaced.note_bytes(1000, 2000);
        assert!(!replaced.is_deep());
    }
}
