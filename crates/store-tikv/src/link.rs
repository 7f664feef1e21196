//! The client of TiKV, with limits on how long an answer is waited for.
//!
//! The client works as tasks of the runtime; callers may poll outside of it. Where it fails for good, the
//! link helps: it resolves locks that the client cannot (`locks`), and connects anew with the addresses of
//! the store's URL where none of those is left that PD had named.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use keywright_store::{CommitError, CommitVersion, StoreError};
use tikv_client::{
    BoundRange, CheckLevel, Config, Error, KvPair, Snapshot, Timestamp, TimestampExt as _, Transaction,
    TransactionClient, TransactionOptions,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::cluster::{CallError, Cluster};
use crate::fault;
use crate::keys::{self, Keys, Span};
use crate::locks::{self, Left};
use crate::options::TikvOptions;
use crate::outcome;
use crate::protocol::PdCall;
use crate::regions::{Part, ReadFrom, Regions};

/// How long one request of the client waits for its answer.
const REQUEST_WAIT: Duration = Duration::from_secs(4);
/// How long one attempt may take, with the client's own retries.
const ATTEMPT_WAIT: Duration = Duration::from_secs(5);
/// How long an answer is waited for, with all retries.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// The same if a lock is in the way: a dead client's expires after 20 s at most.
const UNLOCKED_WAIT: Duration = Duration::from_secs(30);
/// Pauses before a read is tried again.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// How long a commit that met locks waits until they are gone, so that the next attempt does not meet them.
const LOCK_WAIT: Duration = Duration::from_secs(4);
/// The client connects anew at most as often.
const RENEWAL: Duration = Duration::from_secs(2);
/// A page of the largest values.
const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Rows that one commit of `clear` removes. The client sends all keys of a commit with each part of it, so
/// many small commits are faster than a large one.
const PIECE_ROWS: usize = 250;
/// Prewrite, the commit's timestamp, and the commit of the primary key.
const COMMIT_ROUND_TRIPS: u64 = 3;

/// The connection of one store.
pub(crate) struct Link {
    connection: Arc<Connection>,
    pub(crate) keys: Keys,
    /// How long old versions of rows are kept.
    pub(crate) retention: Duration,
    runtime: Handle,
    round_trips: AtomicU64,
}

/// What the tasks of the runtime share.
struct Connection {
    options: TikvOptions,
    client: RwLock<TransactionClient>,
    renewed: Mutex<Instant>,
    cluster: Cluster,
    regions: Regions,
}

/// What the client says of a commit.
enum Ended {
    Committed(u64),
    Conflict,
    /// It may have happened or not.
    Unknown(StoreError),
}

/// A key as it is in TiKV, and its value.
pub(crate) type Pair = (Vec<u8>, Bytes);

/// Where the locks are that a question can meet.
#[derive(Clone)]
enum Meets {
    None,
    /// In ascending order.
    Keys(Vec<Vec<u8>>),
    Span(Span),
}

impl Connection {
    async fn open(options: &TikvOptions) -> Result<Self, String> {
        let cluster = Cluster::of(options);
        let client = RwLock::new(connect(options, &cluster).await?);
        let renewed = Mutex::new(Instant::now());
        Ok(Self { options: options.clone(), client, renewed, cluster, regions: Regions::default() })
    }

    fn client(&self) -> TransactionClient {
        self.client.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connects anew, unless somebody just did.
    async fn renew(&self) {
        {
            let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
            if renewed.elapsed() < RENEWAL {
                return;
            }
            *renewed = Instant::now();
        }
        let connecting = connect(&self.options, &self.cluster);
        if let Ok(Ok(client)) = tokio::time::timeout(REQUEST_WAIT, connecting).await {
            *self.client.write().unwrap_or_else(PoisonError::into_inner) = client;
        }
    }

    /// Resolves what has expired of the locks that were met.
    async fn release(&self, meets: &Meets) -> Result<(), CallError> {
        let client = self.client();
        match meets {
            Meets::None => Ok(()),
            Meets::Keys(keys) => locks::release(&client, &self.cluster, keys).await.map(|_running| ()),
            Meets::Span(span) => {
                locks::sweep(&client, &self.cluster, span.clone(), None).await.map(|_left| ())
            }
        }
    }

    /// Waits until the transactions have ended that hold locks on these keys now, but not for long.
    async fn wait_for_locks(&self, mut keys: Vec<Vec<u8>>) {
        keys.sort_unstable();
        let waiting = async {
            let mut met: Option<BTreeSet<u64>> = None;
            let mut pause = PAUSE;
            loop {
                let found = locks::release(&self.client(), &self.cluster, &keys).await;
                if let Ok(found) = found
                    && met.get_or_insert_with(|| found.clone()).is_disjoint(&found)
                {
                    return;
                }
                tokio::time::sleep(pause).await;
                pause = PAUSE_MAX.min(pause * 2);
            }
        };
        let _in_time = tokio::time::timeout(LOCK_WAIT, waiting).await;
    }
}

async fn connect(options: &TikvOptions, cluster: &Cluster) -> Result<TransactionClient, String> {
    let mut config =
        Config::default().with_timeout(REQUEST_WAIT).with_grpc_max_decoding_message_size(MESSAGE_BYTES_MAX);
    if let Some(tls) = &options.tls {
        config = config.with_security(&tls.ca, &tls.certificate, &tls.key);
    }
    // The client waits for ever for an address that does not even refuse.
    let pds = cluster.reachable().await;
    let dialling = TransactionClient::new_with_config(pds, config);
    match tokio::time::timeout(ANSWER_WAIT, dialling).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => Err(fault::text(&error)),
        Err(_late) => Err(silence()),
    }
}

impl Link {
    /// Connects to PD.
    pub(crate) async fn open(options: &TikvOptions, runtime: Handle) -> Result<Self, String> {
        let wanted = options.clone();
        let connection = runtime.spawn(async move { Connection::open(&wanted).await }).await;
        let connection = connection.map_err(|_ended| "TiKV: the server is shutting down".to_owned())??;
        Ok(Self {
            connection: Arc::new(connection),
            keys: Keys::of(&options.prefix),
            retention: options.retention,
            runtime,
            round_trips: AtomicU64::new(0),
        })
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
        meets: Meets,
        question: impl Fn(TransactionClient) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send,
    {
        self.count(1);
        let connection = Arc::clone(&self.connection);
        let asked = self.runtime.spawn(async move {
            let begun = Instant::now();
            let mut deadline = begun + ANSWER_WAIT;
            let (mut last, mut pause) = (None, PAUSE);
            loop {
                let attempt = deadline.min(Instant::now() + ATTEMPT_WAIT);
                match tokio::time::timeout_at(attempt, question(connection.client())).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) if !fault::passes(&error) => return Err(fault::of_read(&error)),
                    Ok(Err(error)) => {
                        last = Some(fault::of_read(&error));
                        if fault::is_lock(&error) {
                            deadline = begun + UNLOCKED_WAIT;
                            // If it fails, the next attempt meets the lock again.
                            let _ = tokio::time::timeout_at(deadline, connection.release(&meets)).await;
                        } else if fault::is_lost(&error) {
                            connection.renew().await;
                        }
                    }
                    Err(_late) => connection.renew().await,
                }
                if Instant::now() + pause >= deadline {
                    return Err(last.unwrap_or_else(|| StoreError::Io(silence())));
                }
                tokio::time::sleep(pause).await;
                pause = PAUSE_MAX.min(pause * 2);
            }
        });
        asked.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs this as a task of the runtime, also if nobody waits for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.runtime.spawn(work).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Asks PD what the client cannot ask.
    pub(crate) async fn ask_pd<Q: PdCall + Clone>(&self, question: Q) -> Result<Q::Answer, CallError> {
        let connection = Arc::clone(&self.connection);
        let asked = self.runtime.spawn(async move { connection.cluster.ask_pd(question).await });
        asked.await.unwrap_or_else(|_ended| Err(CallError::Failed("the server is shutting down".to_owned())))
    }

    /// Resolves expired locks that are not later than `until`, or than now.
    pub(crate) async fn sweep(&self, span: Span, until: Option<u64>) -> Result<Left, CallError> {
        let connection = Arc::clone(&self.connection);
        let swept = self
            .runtime
            .spawn(async move { locks::sweep(&connection.client(), &connection.cluster, span, until).await });
        swept.await.unwrap_or_else(|_ended| Err(CallError::Failed("the server is shutting down".to_owned())))
    }

    /// The newest timestamp.
    pub(crate) async fn now(&self) -> Result<u64, StoreError> {
        let now = self.ask(Meets::None, |client| async move { client.current_timestamp().await });
        now.await.map(|now| now.version())
    }

    /// A transaction at the newest timestamp.
    pub(crate) async fn begin(&self) -> Result<Transaction, StoreError> {
        self.ask(Meets::None, |client| async move { client.begin_with_options(settings()).await }).await
    }

    pub(crate) async fn get(&self, at: u64, key: Vec<u8>) -> Result<Option<Bytes>, StoreError> {
        self.ask(Meets::Keys(vec![key.clone()]), move |client| {
            let key = key.clone();
            async move { Ok(view(&client, at).get(key).await?.and_then(opened)) }
        })
        .await
    }

    /// The pairs of the keys that are present, in any order. The keys are in ascending order.
    pub(crate) async fn get_many(&self, at: u64, keys: Vec<Vec<u8>>) -> Result<Vec<Pair>, StoreError> {
        self.ask(Meets::Keys(keys.clone()), move |client| {
            let keys = keys.clone();
            async move {
                let pairs = view(&client, at).batch_get(keys).await?;
                Ok(pairs.filter_map(pair).collect())
            }
        })
        .await
    }

    /// The part of a range that lies in its first region, or the last one.
    async fn part(&self, span: Span, from: ReadFrom) -> Result<Part, StoreError> {
        if let Some(part) = self.connection.regions.known_part(&span, from) {
            return Ok(part);
        }
        self.count(1);
        let connection = Arc::clone(&self.connection);
        let asked = self
            .runtime
            .spawn(async move { connection.regions.part(&connection.cluster, &span, from).await });
        asked
            .await
            .unwrap_or_else(|_ended| Err(CallError::Failed("the server is shutting down".to_owned())))
            .map_err(|error| StoreError::Io(format!("TiKV: {}", error.text())))
    }

    /// The first pairs of a range, or the last ones, from the greatest key on. Asks one region after the
    /// other, until there are as many as wanted.
    pub(crate) async fn scan(
        &self,
        at: u64,
        range: Span,
        rows_max: usize,
        from: ReadFrom,
    ) -> Result<Vec<Pair>, StoreError> {
        let (mut rows, mut rest) = (Vec::new(), Some(range));
        while let Some(range) = rest
            && rows.len() < rows_max
        {
            let (part, next) = self.part(range, from).await?;
            rows.extend(self.scan_part(at, part, rows_max - rows.len(), from).await?);
            rest = next;
        }
        Ok(rows)
    }

    async fn scan_part(
        &self,
        at: u64,
        range: Span,
        rows_max: usize,
        from: ReadFrom,
    ) -> Result<Vec<Pair>, StoreError> {
        let limit = u32::try_from(rows_max).unwrap_or(u32::MAX);
        self.ask(Meets::Span(range.clone()), move |client| {
            let range = BoundRange::from(range.clone());
            async move {
                let mut view = view(&client, at);
                match from {
                    ReadFrom::Start => Ok(view.scan(range, limit).await?.filter_map(pair).collect()),
                    ReadFrom::End => Ok(view.scan_reverse(range, limit).await?.filter_map(pair).collect()),
                }
            }
        })
        .await
    }

    /// The first keys of a range. Asks one region after the other, like `scan`.
    pub(crate) async fn scan_keys(
        &self,
        at: u64,
        range: Span,
        rows_max: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let (mut keys, mut rest) = (Vec::new(), Some(range));
        while let Some(range) = rest
            && keys.len() < rows_max
        {
            let (part, next) = self.part(range, ReadFrom::Start).await?;
            keys.extend(self.scan_keys_of_part(at, part, rows_max - keys.len()).await?);
            rest = next;
        }
        Ok(keys)
    }

    async fn scan_keys_of_part(
        &self,
        at: u64,
        range: Span,
        rows_max: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let limit = u32::try_from(rows_max).unwrap_or(u32::MAX);
        self.ask(Meets::Span(range.clone()), move |client| {
            let range = BoundRange::from(range.clone());
            async move { Ok(view(&client, at).scan_keys(range, limit).await?.map(Into::into).collect()) }
        })
        .await
    }

    /// Removes every row of a range, in as many commits as it takes: on and on through the range, until it
    /// holds nothing from its beginning to its end.
    pub(crate) async fn clear(&self, range: Span) -> Result<(), StoreError> {
        let mut rest = range.clone();
        loop {
            let transaction = self.begin().await?;
            let at = transaction.start_timestamp().version();
            let rows = self.scan_keys(at, rest.clone(), PIECE_ROWS).await?;
            let Some(last) = rows.last().cloned() else {
                if rest == range {
                    return Ok(());
                }
                rest = range.clone();
                continue;
            };
            let removals = rows.into_iter().map(|key| (key, None)).collect();
            match self.commit(transaction, removals, Vec::new()).await {
                Ok(_) => rest.0 = keys::after(last),
                Err(CommitError::Conflict | CommitError::Unknown) => {}
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
        let keys: Vec<Vec<u8>> = writes.iter().map(|(key, _)| key).chain(&protected).cloned().collect();
        let connection = Arc::clone(&self.connection);
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
            let (ended, met_lock) = match tokio::time::timeout(ANSWER_WAIT, committing).await {
                Ok(Ok(version)) => (Ended::Committed(version.unwrap_or(start.clone()).version()), false),
                Ok(Err(error)) if fault::is_conflict(&error) => (Ended::Conflict, fault::is_lock(&error)),
                Ok(Err(error)) => (Ended::Unknown(fault::of_read(&error)), fault::is_lock(&error)),
                Err(_late) => (Ended::Unknown(StoreError::Io(silence())), false),
            };
            let ended = match (ended, keys.first()) {
                (Ended::Committed(version), _) => Ok(CommitVersion(version)),
                (Ended::Conflict, _) => Err(CommitError::Conflict),
                // The client takes the first key as the primary, where the outcome stands.
                (Ended::Unknown(reason), Some(primary)) => {
                    connection.renew().await;
                    outcome::of(&connection.cluster, primary, start.version(), reason).await
                }
                (Ended::Unknown(_), None) => Err(CommitError::Unknown),
            };
            if matches!(ended, Err(CommitError::Conflict | CommitError::Failed(_))) {
                // The locks that were written would keep others waiting. What is not removed expires.
                tokio::spawn(async move { tokio::time::timeout(ANSWER_WAIT, transaction.rollback()).await });
            }
            if met_lock {
                connection.wait_for_locks(keys).await;
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
