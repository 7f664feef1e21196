//! One type for every kind of store, so that the engine is compiled once. It hands each call on, and knows
//! nothing else about a store.
//!
//! What belongs to a store behind a network is boxed: it is large, and would make every request's future so.

use std::time::Duration;

use bytes::Bytes;
use keywright_store::memory::{MemorySnapshot, MemoryStore, MemoryTransaction};
use keywright_store::{
    Capabilities, CommitError, CommitVersion, FirstPage, KeyRange, LogEntry, LogId, LogPosition, LogRead,
    Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
use keywright_store_local::{LocalSnapshot, LocalStore, LocalTransaction};
#[cfg(feature = "postgres")]
use keywright_store_postgres::{PostgresStore, PostgresTransaction, PostgresView};
#[cfg(feature = "tikv")]
use keywright_store_tikv::{TikvStore, TikvTransaction, TikvView};

#[derive(Clone)]
pub(crate) enum AnyStore {
    Memory(MemoryStore),
    Local(LocalStore),
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
    #[cfg(feature = "tikv")]
    Tikv(TikvStore),
}

pub(crate) enum AnySnapshot {
    Memory(MemorySnapshot),
    Local(LocalSnapshot),
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresView>),
    #[cfg(feature = "tikv")]
    Tikv(Box<TikvView>),
}

pub(crate) enum AnyTransaction {
    Memory(MemoryTransaction),
    Local(LocalTransaction),
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresTransaction>),
    #[cfg(feature = "tikv")]
    Tikv(Box<TikvTransaction>),
}

/// The same expression for the one that is there.
macro_rules! of {
    ($any:expr, $one:ident => $call:expr) => {
        match $any {
            Self::Memory($one) => $call,
            Self::Local($one) => $call,
            #[cfg(feature = "postgres")]
            Self::Postgres($one) => $call,
            #[cfg(feature = "tikv")]
            Self::Tikv($one) => $call,
        }
    };
}

/// What the same expression for the one that is there becomes.
macro_rules! awaited {
    ($any:expr, $one:ident => $call:expr) => {
        match $any {
            Self::Memory($one) => $call.await,
            Self::Local($one) => $call.await,
            #[cfg(feature = "postgres")]
            Self::Postgres($one) => Box::pin($call).await,
            #[cfg(feature = "tikv")]
            Self::Tikv($one) => Box::pin($call).await,
        }
    };
}

/// What the same call of the store that is there makes, in the variant of its kind.
macro_rules! opened {
    ($any:expr, $made:ident, $store:ident => $call:expr) => {
        match $any {
            Self::Memory($store) => $call.await.map($made::Memory),
            Self::Local($store) => $call.await.map($made::Local),
            #[cfg(feature = "postgres")]
            Self::Postgres($store) => Box::pin($call).await.map(Box::new).map($made::Postgres),
            #[cfg(feature = "tikv")]
            Self::Tikv($store) => Box::pin($call).await.map(Box::new).map($made::Tikv),
        }
    };
}

impl Store for AnyStore {
    type Snapshot = AnySnapshot;
    type Transaction = AnyTransaction;

    fn capabilities(&self) -> Capabilities {
        of!(self, store => store.capabilities())
    }

    async fn snapshot(&self) -> Result<AnySnapshot, StoreError> {
        opened!(self, AnySnapshot, store => store.snapshot())
    }

    async fn begin(&self) -> Result<AnyTransaction, StoreError> {
        opened!(self, AnyTransaction, store => store.begin())
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        awaited!(self, store => store.get(key))
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        awaited!(self, store => store.get_many(keys))
    }

    async fn scan(&self, scan: &Scan) -> Result<FirstPage<AnySnapshot>, StoreError> {
        match self {
            Self::Memory(store) => Ok(store.scan(scan).await?.map(AnySnapshot::Memory)),
            Self::Local(store) => Ok(store.scan(scan).await?.map(AnySnapshot::Local)),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => {
                Ok(Box::pin(store.scan(scan)).await?.map(|view| AnySnapshot::Postgres(Box::new(view))))
            }
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => {
                Ok(Box::pin(store.scan(scan)).await?.map(|view| AnySnapshot::Tikv(Box::new(view))))
            }
        }
    }

    async fn begin_with(&self, keys: &[Bytes]) -> Result<(AnyTransaction, Vec<Option<Bytes>>), StoreError> {
        match self {
            Self::Memory(store) => {
                let (txn, values) = store.begin_with(keys).await?;
                Ok((AnyTransaction::Memory(txn), values))
            }
            Self::Local(store) => {
                let (txn, values) = store.begin_with(keys).await?;
                Ok((AnyTransaction::Local(txn), values))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => {
                let (txn, values) = Box::pin(store.begin_with(keys)).await?;
                Ok((AnyTransaction::Postgres(Box::new(txn)), values))
            }
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => {
                let (txn, values) = Box::pin(store.begin_with(keys)).await?;
                Ok((AnyTransaction::Tikv(Box::new(txn)), values))
            }
        }
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        awaited!(self, store => store.clear_range(range))
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        awaited!(self, store => store.trim_log(id, through))
    }

    async fn tend(&self) -> Result<Option<Duration>, StoreError> {
        awaited!(self, store => store.tend())
    }

    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        awaited!(self, store => store.size_estimate_bytes(range))
    }
}

macro_rules! impl_snapshot {
    ($any:ident) => {
        impl Snapshot for $any {
            fn version(&self) -> CommitVersion {
                of!(self, view => view.version())
            }

            fn changed_at(&self, first_byte: u8) -> CommitVersion {
                of!(self, view => view.changed_at(first_byte))
            }

            async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
                awaited!(self, view => view.get(key))
            }

            async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
                awaited!(self, view => view.get_many(keys))
            }

            async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
                awaited!(self, view => view.scan(scan))
            }

            async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
                awaited!(self, view => view.read_log(read))
            }
        }
    };
}

impl_snapshot!(AnySnapshot);
impl_snapshot!(AnyTransaction);

impl Transaction for AnyTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        awaited!(self, txn => txn.get_for_write(keys))
    }

    fn protect(&mut self, key: &[u8]) {
        of!(self, txn => txn.protect(key));
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        of!(self, txn => txn.put(key, value));
    }

    fn delete(&mut self, key: Bytes) {
        of!(self, txn => txn.delete(key));
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        of!(self, txn => txn.append(id, bytes));
    }

    async fn commit(self) -> Result<CommitVersion, CommitError> {
        awaited!(self, txn => txn.commit())
    }
}
