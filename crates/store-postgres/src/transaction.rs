//! A transaction: a view, a buffer of writes, and one commit.
//!
//! The commit's statements and COMMIT are sent together. Keys that are protected and present are locked for
//! reading, those that may be absent get a row without value: PostgreSQL then refuses the commit if another
//! one changed them after the view, and lets no other change them before the end.

use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{
    Capabilities, CommitError, CommitVersion, LogEntry, LogId, LogRead, Scan, ScanPage, Snapshot, StoreError,
    Transaction, WriteBuffer,
};
use tokio::time::Instant;
use tokio_postgres::types::ToSql;

use crate::connection::Unanswered;
use crate::view::{PostgresView, optional};
use crate::{fault, outcome};

/// A key must fit into a third of an index page (2,704 bytes), with the rest of its index entry.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 2_600,
    value_bytes_max: 16 * 1024 * 1024,
    transaction_bytes_max: 64 * 1024 * 1024,
    is_shared: true,
    shares_protection: true,
};

/// A commit with more bytes may be sent in pieces. If its client is paused or cut off between two of them,
/// other writers wait for its locks: so PostgreSQL ends it sooner than other forgotten transactions.
const AT_ONCE_BYTES: usize = 32 * 1024;
const BOUND: &str = "SET LOCAL idle_in_transaction_session_timeout = '8s'";

/// A view to which writes are buffered.
pub struct PostgresTransaction {
    view: PostgresView,
    /// The version that a commit gets: the transaction's id.
    id: CommitVersion,
    began: Instant,
    buffer: WriteBuffer,
    /// Protected keys that the view has: their rows are there to be locked.
    present: Vec<Bytes>,
}

impl PostgresTransaction {
    pub(crate) fn new(view: PostgresView, id: CommitVersion, began: Instant) -> Self {
        Self { view, id, began, buffer: WriteBuffer::new(CAPABILITIES), present: Vec::new() }
    }

    /// Protects keys whose values in the view are these.
    pub(crate) fn protect_read(&mut self, keys: &[Bytes], values: &[Option<Bytes>]) {
        let present = keys.iter().zip(values).filter(|(_, value)| value.is_some());
        self.present.extend(present.map(|(key, _)| key.clone()));
        keys.iter().cloned().for_each(|key| self.buffer.protect(key));
    }

    async fn send(mut self) -> Result<CommitVersion, CommitError> {
        let guarded: Vec<&[u8]> = self.buffer.guarded().map(AsRef::as_ref).collect();
        let maybe_absent = self.buffer.guarded().filter(|key| !self.present.contains(key));
        let maybe_absent: Vec<&[u8]> = maybe_absent.map(AsRef::as_ref).collect();
        let (keys, values): (Vec<&[u8]>, Vec<Option<&[u8]>>) =
            self.buffer.writes().map(|(key, value)| (key.as_ref(), value.map(AsRef::as_ref))).unzip();
        let appends = Appends::of(self.buffer.appends());
        let connection = self.view.session.connection();
        let (client, statements) = (&connection.wire.client, &connection.statements);
        let sizes = keys.iter().zip(&values).map(|(key, value)| key.len() + value.map_or(0, <[u8]>::len));
        let is_large = sizes.sum::<usize>() > AT_ONCE_BYTES;
        let guarding: [&(dyn ToSql + Sync); 1] = [&guarded];
        let placing: [&(dyn ToSql + Sync); 1] = [&maybe_absent];
        let writing: [&(dyn ToSql + Sync); 2] = [&keys, &values];
        let appending: [&(dyn ToSql + Sync); 4] =
            [&appends.logs, &appends.shards, &appends.places, &appends.entries];
        // Each future sends its statement when it is first polled, and all are polled in this order.
        let asked = async {
            let (bound, guard, absent, write, append, commit) = futures_util::join!(
                optional(is_large, client.batch_execute(BOUND)),
                optional(!guarded.is_empty(), client.query(&statements.guard, &guarding)),
                optional(!maybe_absent.is_empty(), client.execute(&statements.guard_absent, &placing)),
                optional(!keys.is_empty(), client.execute(&statements.write, &writing)),
                optional(!self.buffer.appends().is_empty(), client.execute(&statements.append, &appending)),
                client.batch_execute("COMMIT"),
            );
            bound.and(guard).and(absent).and(write).and(append).and(commit)
        };
        let (server, warned) = (connection.identity.clone(), connection.wire.warnings());
        let answered = self.view.session.answer_to_commit(Box::pin(asked)).await;
        let is_warned = connection.wire.warnings() != warned;
        let ended = match answered {
            Ok(()) if !is_warned => None,
            // Of a commit PostgreSQL warns that it did not wait for the synchronous standby.
            Ok(()) => {
                self.view.session.in_transaction = false;
                self.view.session.pool.doubt();
                Some(CommitError::Unknown)
            }
            Err(Unanswered::Error(error)) => Some(fault::of_commit(&error)),
            Err(Unanswered::Silence) => Some(CommitError::Unknown),
        };
        match ended {
            None => {
                self.view.session.in_transaction = false;
                Ok(self.id)
            }
            Some(CommitError::Unknown) => {
                let pool = Arc::clone(&self.view.session.pool);
                let (id, began) = (self.id, self.began);
                // Its place in the pool is needed to ask.
                drop(self);
                outcome::of(&pool, id, began, server).await
            }
            Some(error) => Err(error),
        }
    }
}

/// The columns of appended entries. Ids are stored as signed numbers of the same bits.
#[derive(Default)]
struct Appends<'a> {
    logs: Vec<i64>,
    shards: Vec<i64>,
    places: Vec<i32>,
    entries: Vec<&'a [u8]>,
}

impl<'a> Appends<'a> {
    fn of(appends: &'a [(LogId, Bytes)]) -> Self {
        let mut columns = Self::default();
        for (place, (id, entry)) in (0..).zip(appends) {
            columns.logs.push(id.log.cast_signed());
            columns.shards.push(id.shard.cast_signed());
            columns.places.push(place);
            columns.entries.push(entry);
        }
        columns
    }
}

impl Snapshot for PostgresTransaction {
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

impl Transaction for PostgresTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let values = self.view.get_many(keys).await?;
        self.protect_read(keys, &values);
        Ok(values)
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
        self.send().await
    }
}
