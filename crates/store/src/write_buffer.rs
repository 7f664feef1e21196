//! What a transaction has written and not sent yet, for stores that send it as a whole.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::contract::{Capabilities, CommitError, LogId};

/// The writes of one transaction, and the keys that must not change before its commit.
#[derive(Debug)]
pub struct WriteBuffer {
    capabilities: Capabilities,
    protected: BTreeSet<Bytes>,
    /// `None` removes the key.
    writes: BTreeMap<Bytes, Option<Bytes>>,
    appends: Vec<(LogId, Bytes)>,
    /// Bytes of all writes, each counted, also those that a later one replaced.
    bytes: usize,
    has_large_row: bool,
}

impl WriteBuffer {
    /// An empty buffer of a store with these capabilities.
    pub const fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            protected: BTreeSet::new(),
            writes: BTreeMap::new(),
            appends: Vec::new(),
            bytes: 0,
            has_large_row: false,
        }
    }

    /// Protects a key.
    pub fn protect(&mut self, key: Bytes) {
        self.protected.insert(key);
    }

    /// Writes a key; the last write of a key counts.
    pub fn put(&mut self, key: Bytes, value: Bytes) {
        self.note(key.len(), value.len());
        self.writes.insert(key, Some(value));
    }

    /// Removes a key.
    pub fn delete(&mut self, key: Bytes) {
        self.note(key.len(), 0);
        self.writes.insert(key, None);
    }

    /// Appends an entry to a log.
    pub fn append(&mut self, id: LogId, entry: Bytes) {
        self.note(0, entry.len());
        self.appends.push((id, entry));
    }

    fn note(&mut self, key_bytes: usize, value_bytes: usize) {
        self.bytes = self.bytes.saturating_add(key_bytes).saturating_add(value_bytes);
        self.has_large_row |=
            key_bytes > self.capabilities.key_bytes_max || value_bytes > self.capabilities.value_bytes_max;
    }

    /// Fails if the store could not commit so much.
    pub fn check(&self) -> Result<(), CommitError> {
        if self.has_large_row || self.bytes > self.capabilities.transaction_bytes_max {
            return Err(CommitError::TooLarge);
        }
        Ok(())
    }

    /// Whether a commit has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty() && self.protected.is_empty()
    }

    /// Keys that are protected and not written.
    pub fn guarded(&self) -> impl Iterator<Item = &Bytes> {
        self.protected.iter().filter(|key| !self.writes.contains_key(*key))
    }

    /// Each written key with its last value, in order; `None` removes it.
    pub fn writes(&self) -> impl Iterator<Item = (&Bytes, Option<&Bytes>)> {
        self.writes.iter().map(|(key, value)| (key, value.as_ref()))
    }

    /// The entries for logs, in the order in which they were appended.
    pub fn appends(&self) -> &[(LogId, Bytes)] {
        &self.appends
    }
}
