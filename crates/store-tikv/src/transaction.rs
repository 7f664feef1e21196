//! A transaction: a view, a buffer of writes, and one commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{
    Capabilities, CommitError, CommitVersion, LogEntry, LogId, LogRead, Scan, ScanPage, Snapshot, StoreError,
    Transaction,
};
use tikv_client::TimestampExt as _;

use crate::keys::Origin;
use crate::link::Link;
use crate::view::TikvView;

/// Sizes that TiKV takes with its default settings, where one entry of its Raft log has at most 8 MiB.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 4 * 1024,
    value_bytes_max: 4 * 1024 * 1024,
    transaction_bytes_max: 64 * 1024 * 1024,
    is_shared: true,
};

/// A view to which writes are buffered.
pub struct TikvTransaction {
    view: TikvView,
    transaction: tikv_client::Transaction,
    protected: BTreeSet<Bytes>,
    /// `None` removes the key.
    writes: BTreeMap<Bytes, Option<Bytes>>,
    appends: Vec<(LogId, Bytes)>,
    /// Bytes of all writes, each counted, also those that a later one replaced.
    bytes: usize,
    too_large: bool,
}

impl TikvTransaction {
    pub(crate) async fn begin(link: &Arc<Link>) -> Result<Self, StoreError> {
        let transaction = link.begin().await?;
        let view = TikvView { link: Arc::clone(link), at: transaction.start_timestamp().version() };
        Ok(Self {
            view,
            transaction,
            protected: BTreeSet::new(),
            writes: BTreeMap::new(),
            appends: Vec::new(),
            bytes: 0,
            too_large: false,
        })
    }

    fn note(&mut self, key_bytes: usize, value_bytes: usize) {
        self.bytes = self.bytes.saturating_add(key_bytes).saturating_add(value_bytes);
        self.too_large |=
            key_bytes > CAPABILITIES.key_bytes_max || value_bytes > CAPABILITIES.value_bytes_max;
    }
}

impl Snapshot for TikvTransaction {
    fn version(&self) -> CommitVersion {
        self.view.version()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.view.get(key).await
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.view.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.view.scan(scan).await
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.view.read_log(read).await
    }
}

impl Transaction for TikvTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.protected.extend(keys.iter().cloned());
        self.view.get_many(keys).await
    }

    fn protect(&mut self, key: &[u8]) {
        self.protected.insert(Bytes::copy_from_slice(key));
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.note(key.len(), value.len());
        self.writes.insert(key, Some(value));
    }

    fn delete(&mut self, key: Bytes) {
        self.note(key.len(), 0);
        self.writes.insert(key, None);
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.note(0, bytes.len());
        self.appends.push((id, bytes));
    }

    async fn commit(self) -> Result<CommitVersion, CommitError> {
        if self.too_large || self.bytes > CAPABILITIES.transaction_bytes_max {
            return Err(CommitError::TooLarge);
        }
        if self.writes.is_empty() && self.appends.is_empty() && self.protected.is_empty() {
            return Ok(self.view.version());
        }
        let Self { view, transaction, protected, writes, appends, .. } = self;
        let keys = &view.link.keys;
        let guarded = protected.iter().filter(|key| !writes.contains_key(*key)).map(|key| keys.row(key));
        let guarded: Vec<Vec<u8>> = guarded.collect();
        let mut rows: Vec<(Vec<u8>, Option<Bytes>)> =
            writes.into_iter().map(|(key, value)| (keys.row(&key), value)).collect();
        for (place, (id, entry)) in (0..).zip(appends) {
            rows.push((keys.inbox(id, Origin { start: view.at, place }), Some(entry)));
        }
        view.link.commit(transaction, rows, guarded).await
    }
}
