//! Maps whose keys are hashes already.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Takes a hash as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    /// Keys are 64-bit numbers, which come by `write_u64`; no other bytes are told apart.
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map from hashes, which are not hashed once more.
pub type ByHash<V> = HashMap<u64, V, BuildHasherDefault<Prehashed>>;
