//! The client of TiKV, with limits on how long an answer is waited for.
//!
//! The client works as tasks of the runtime; callers may poll outside of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use keywright_store::{CommitError, CommitVersion, StoreError};
use tikv_client::{
    BoundRange, CheckLevel, Config, Error, KvPair, Snapshot, Timestamp, TimestampExt as _, Transaction,
    TransactionClient, TransactionOptions,
};
use tokio::runtime::Handle;

use crate::fault;
use crate::keys::Keys;
use crate::options::TikvOptions;

/// How long one request of the client waits for its answer.
const REQUEST_WAIT: Duration = Duration::from_secs(4);
/// How long an answer is waited for, with all retries.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// Pause before a read is tried again.
const PAUSE: Duration = Duration::from_millis(20);
/// A page of the largest values.
const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Rows that one commit of `clear` removes. The client sends all keys of a commit with each part of it, so
/// many small commits are faster than a large one.
const PIECE_ROWS: usize = 250;
/// Prewrite, the commit's timestamp, and the commit of the primary key.
const COMMIT_ROUND_TRIPS: u64 = 3;

/// The connection of one store.
pub(crate) struct Link {
    client: TransactionClient,
    pub(crate) keys: Keys,
    runtime: Handle,
    round_trips: AtomicU64,
}

/// A key as it is in TiKV, and its value.
pub(crate) type Pair = (Vec<u8>, Bytes);

impl Link {
    /// Connects to PD.
    pub(crate) async fn open(options: &TikvOptions, runtime: Handle) -> Result<Self, String> {
        let mut config = Config::default()
            .with_timeout(REQUEST_WAIT)
            .with_grpc_max_decoding_message_size(MESSAGE_BYTES_MAX);
        if let Some(tls) = &options.tls {
            config = config.with_security(&tls.ca, &tls.certificate, &tls.key);
        }
        let pds = options.pds.clone();
        let dialling = runtime.spawn(async move {
            tokio::time::timeout(ANSWER_WAIT, TransactionClient::new_with_config(pds, config)).await
        });
        let client = match dialling.await {
            Ok(Ok(Ok(client))) => client,
            Ok(Ok(Err(error))) => return Err(fault::text(&error)),
            Ok(Err(_late)) => return Err(silence()),
            Err(_ended) => return Err("TiKV: the server is shutting down".to_owned()),
        };
        Ok(Self { client, keys: Keys::of(&options.prefix), runtime, round_trips: AtomicU64::new(0) })
    }

    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    fn count(&self, round_trips: u64) {
        self.round_trips.fetch_add(round_trips, Ordering::Relaxed);
    }

    /// Asks until there is an answer, but not for ever. Only for questions that can be put twice.
    async fn ask<T, F>(
        &self,
        question: impl Fn(TransactionClient) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send,
    {
        self.count(1);
        let client = self.client.clone();
        let asked = self.runtime.spawn(async move {
            let deadline = tokio::time::Instant::now() + ANSWER_WAIT;
            let mut last = None;
            loop {
                match tokio::time::timeout_at(deadline, question(client.clone())).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) if fault::passes(&error) => last = Some(fault::of_read(&error)),
                    Ok(Err(error)) => return Err(fault::of_read(&error)),
                    Err(_late) => return Err(last.unwrap_or_else(|| StoreError::Io(silence()))),
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        asked.await.unwrap_or(Err(StoreError::Closed))
    }

    /// The newest timestamp.
    pub(crate) async fn now(&self) -> Result<u64, StoreError> {
        self.ask(|client| async move { client.current_timestamp().await }).await.map(|now| now.version())
    }

    /// A transaction at the newest timestamp.
    pub(crate) async fn begin(&self) -> Result<Transaction, StoreError> {
        self.ask(|client| async move { client.begin_with_options(settings()).await }).await
    }

    pub(crate) async fn get(&self, at: u64, key: Vec<u8>) -> Result<Option<Bytes>, StoreError> {
        self.ask(move |client| {
            let key = key.clone();
            async move { Ok(view(&client, at).get(key).await?.and_then(opened)) }
        })
        .await
    }

    /// The pairs of the keys that are present, in any order.
    pub(crate) async fn get_many(&self, at: u64, keys: Vec<Vec<u8>>) -> Result<Vec<Pair>, StoreError> {
        self.ask(move |client| {
            let keys = keys.clone();
            async move {
                let pairs = view(&client, at).batch_get(keys).await?;
                Ok(pairs.filter_map(pair).collect())
            }
        })
        .await
    }

    /// The first pairs of a range, or the last ones, from the greatest key on.
    pub(crate) async fn scan(
        &self,
        at: u64,
        range: (Vec<u8>, Vec<u8>),
        rows_max: usize,
        backward: bool,
    ) -> Result<Vec<Pair>, StoreError> {
        let limit = u32::try_from(rows_max).unwrap_or(u32::MAX);
        self.ask(move |client| {
            let range = BoundRange::from(range.clone());
            async move {
                let mut view = view(&client, at);
                if backward {
                    Ok(view.scan_reverse(range, limit).await?.filter_map(pair).collect())
                } else {
                    Ok(view.scan(range, limit).await?.filter_map(pair).collect())
                }
            }
        })
        .await
    }

    /// The first keys of a range.
    pub(crate) async fn scan_keys(
        &self,
        at: u64,
        range: (Vec<u8>, Vec<u8>),
        rows_max: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let limit = u32::try_from(rows_max).unwrap_or(u32::MAX);
        self.ask(move |client| {
            let range = BoundRange::from(range.clone());
            async move { Ok(view(&client, at).scan_keys(range, limit).await?.map(Into::into).collect()) }
        })
        .await
    }

    /// Removes every row of a range, in as many commits as it takes.
    pub(crate) async fn clear(&self, range: (Vec<u8>, Vec<u8>)) -> Result<(), StoreError> {
        loop {
            let transaction = self.begin().await?;
            let at = transaction.start_timestamp().version();
            let rows = self.scan_keys(at, range.clone(), PIECE_ROWS).await?;
            if rows.is_empty() {
                return Ok(());
            }
            let removals = rows.into_iter().map(|key| (key, None)).collect();
            match self.commit(transaction, removals, Vec::new()).await {
                Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => {}
                Err(CommitError::Failed(error)) => return Err(error),
                Err(CommitError::TooLarge) => return Err(StoreError::Closed),
            }
        }
    }

    /// Writes all of it (`None` removes a key) and lets nothing have changed these keys since the transaction
    /// began. Goes on if nobody waits for it.
    pub(crate) async fn commit(
        &self,
        mut transaction: Transaction,
        writes: Vec<(Vec<u8>, Option<Bytes>)>,
        protected: Vec<Vec<u8>>,
    ) -> Result<CommitVersion, CommitError> {
        self.count(COMMIT_ROUND_TRIPS);
        let start = transaction.start_timestamp();
        let committed = self.runtime.spawn(async move {
            let committing = async {
                for (key, value) in writes {
                    match value {
                        Some(value) => transaction.put(key, closed(&value)).await?,
                        None => transaction.delete(key).await?,
                    }
                }
                transaction.lock_keys(protected).await?;
                transaction.commit().await
            };
            let ended = match tokio::time::timeout(ANSWER_WAIT, committing).await {
                Ok(Ok(version)) => Ok(CommitVersion(version.unwrap_or(start).version())),
                Ok(Err(error)) => Err(fault::of_commit(&error)),
                Err(_late) => Err(CommitError::Unknown),
            };
            if ended == Err(CommitError::Conflict) {
                // The locks that were written would keep others waiting. What is not removed expires.
                tokio::spawn(async move { tokio::time::timeout(ANSWER_WAIT, transaction.rollback()).await });
            }
            ended
        });
        committed.await.unwrap_or(Err(CommitError::Unknown))
    }
}

/// Not every server tells an empty value from none, so a value is stored with a byte before it.
const FIRST: u8 = 0;

fn closed(value: &[u8]) -> Vec<u8> {
    [&[FIRST], value].concat()
}

/// A value as the caller wrote it.
fn opened(stored: Vec<u8>) -> Option<Bytes> {
    (!stored.is_empty()).then(|| Bytes::from(stored).slice(1..))
}

fn pair(pair: KvPair) -> Option<Pair> {
    Some((pair.0.into(), opened(pair.1)?))
}

fn silence() -> String {
    format!("TiKV: no answer within {} s", ANSWER_WAIT.as_secs())
}

fn settings() -> TransactionOptions {
    TransactionOptions::new_optimistic().drop_check(CheckLevel::None)
}

fn view(client: &TransactionClient, at: u64) -> Snapshot {
    client.snapshot(Timestamp::from_version(at), settings())
}
