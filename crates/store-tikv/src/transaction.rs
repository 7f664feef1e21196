//! A transaction: a view, a buffer of writes, and one commit.

use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{
    Capabilities, CommitError, CommitVersion, LogEntry, LogId, LogRead, Scan, ScanPage, Snapshot, StoreError,
    Transaction, WriteBuffer,
};
use tikv_client::TimestampExt as _;
use tokio::time::Instant;

use crate::keys::Origin;
use crate::link::Link;
use crate::view::TikvView;

/// Sizes that TiKV takes with its default settings, where one entry of its Raft log has at most 8 MiB.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 4 * 1024,
    value_bytes_max: 4 * 1024 * 1024,
    transaction_bytes_max: 64 * 1024 * 1024,
    is_shared: true,
    shares_protection: false,
};

/// A view to which writes are buffered.
pub struct TikvTransaction {
    view: TikvView,
    transaction: tikv_client::Transaction,
    buffer: WriteBuffer,
}

impl TikvTransaction {
    pub(crate) async fn begin(link: &Arc<Link>) -> Result<Self, StoreError> {
        let began = Instant::now();
        let transaction = link.begin().await?;
        let at = transaction.start_timestamp().version();
        let view = TikvView { link: Arc::clone(link), at, began };
        Ok(Self { view, transaction, buffer: WriteBuffer::new(CAPABILITIES) })
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
        keys.iter().cloned().for_each(|key| self.buffer.protect(key));
        self.view.get_many(keys).await
    }

    fn protect(&mut self, key: &[u8]) {
        self.buffer.protect(Bytes::copy_from_slice(key));
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.buffer.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.buffer.delete(key);
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.buffer.append(id, bytes);
    }

    async fn commit(self) -> Result<CommitVersion, CommitError> {
        self.buffer.check()?;
        if self.buffer.is_empty() {
            return Ok(self.view.version());
        }
        if self.view.is_outdated() {
            // The commits with which it conflicts may be forgotten.
            return Err(CommitError::Conflict);
        }
        let Self { view, transaction, buffer } = self;
        let keys = &view.link.keys;
        let guarded: Vec<Vec<u8>> = buffer.guarded().map(|key| keys.row(key)).collect();
        let mut rows: Vec<(Vec<u8>, Option<Bytes>)> =
            buffer.writes().map(|(key, value)| (keys.row(key), value.cloned())).collect();
        for (place, (id, entry)) in (0..).zip(buffer.appends()) {
            rows.push((keys.inbox(*id, Origin { start: view.at, place }), Some(entry.clone())));
        }
        view.link.commit(transaction, rows, guarded).await
    }
}
