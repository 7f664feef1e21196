//! Hash maps whose keys are hashes already, so that they are not hashed again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher that returns the 64-bit key it was given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    /// Never called: keys are `u64`, which hash through `write_u64`.
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map whose keys are 64-bit hashes. They must be spread evenly, as a good hash function leaves them.
pub type ByHash<V> = HashMap<u64, V, BuildHasherDefault<Prehashed>>;
