//! Rows that are no records, read and written in the commit of a change of tables: those of a backup or a
//! job, which must not be there without it.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::Transaction;

use crate::support::fault;

/// The other rows of a change: what it has read under protection, and what it writes.
#[derive(Debug, Default)]
pub(crate) struct OtherRows {
    found: Vec<Option<Bytes>>,
    /// Keys with their new values; `None` removes the row.
    written: Vec<(Bytes, Option<Bytes>)>,
}

impl OtherRows {
    /// Reads rows: if another commit changes one of them, the change conflicts.
    pub(super) async fn read(txn: &mut impl Transaction, keys: &[Bytes]) -> Result<Self, Error> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let found = txn.get_for_write(keys).await.map_err(|error| fault::storage(&error))?;
        Ok(Self { found, written: Vec::new() })
    }

    /// The row at this place of the keys that were asked for.
    pub(crate) fn found(&self, place: usize) -> Option<&Bytes> {
        self.found.get(place).and_then(Option::as_ref)
    }

    pub(crate) fn put(&mut self, key: Bytes, value: Bytes) {
        self.written.push((key, Some(value)));
    }

    pub(crate) fn delete(&mut self, key: Bytes) {
        self.written.push((key, None));
    }

    pub(super) const fn writes_nothing(&self) -> bool {
        self.written.is_empty()
    }

    /// Buffers what is written.
    pub(super) fn write(self, txn: &mut impl Transaction) {
        for (key, value) in self.written {
            match value {
                Some(value) => txn.put(key, value),
                None => txn.delete(key),
            }
        }
    }
}
