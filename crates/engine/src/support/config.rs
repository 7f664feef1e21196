//! Settings of an engine.

use std::sync::Arc;

use keywright_semantics::limits::{
    EXPORT_WINDOW_MS_MIN, LOCAL_COLLECTION_BYTES_MAX, SOURCE_REGION_MS, STREAM_SHARD_OPEN_MS_MAX, TABLES_MAX,
};

use crate::support::image_memory::ImageMemory;
use crate::support::lane::Lane;
use crate::support::links::Links;
use crate::support::observer::{Observer, Unobserved};
use crate::support::peers::{NoPeers, Peers};
use crate::support::throughput::ThroughputConfig;

/// Definitions of all tables of all accounts and regions: some 30,000 plain tables, or 600 with every index
/// and tag.
const RECORD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// One machine's writes cannot fill more shards.
const STREAM_SHARDS_MAX: u32 = 64;
/// 64 open shards, each replaced after four hours, are 384 in a day.
const STREAM_SHARDS_KEPT_MAX: usize = 1000;
/// The service takes up to a few days. With a minute, applications still see expired items now and then.
const TTL_DELAY_MS: u64 = 60_000;

/// What branches may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchLimits {
    /// Branches at one time; `None` for any number.
    pub count_max: Option<usize>,
    /// Bytes that all of them have copied; `None` for any number.
    pub bytes_max: Option<u64>,
    /// Which branches the limits count.
    pub counted: CountedTogether,
}

/// Which branches one limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedTogether {
    /// Those of one account.
    Account,
    /// Those of all accounts: for a server on which a client can name any account.
    Everything,
}

/// Thirty days.
const REPLICA_LOST_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// Some fifteen million changes.
const BACKLOG_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// A week.
const VERIFICATION_INTERVAL_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// A minute.
const GONE_MS: u64 = 60_000;

/// Jobs of each kind that one process works on at a time; further ones wait.
const JOB_THREADS: usize = 2;

/// Seals rows with secrets, in a store that others can read. What a sealed row says is known to those who
/// have the same key, and it is good for its own key of the store alone.
pub trait RowSeal: std::fmt::Debug + Send + Sync {
    /// Seals a row.
    fn seal(&self, key: &[u8], row: &[u8]) -> Vec<u8>;

    /// The row; `None` if it was sealed under another key, or changed.
    fn open(&self, key: &[u8], sealed: &[u8]) -> Option<Vec<u8>>;
}

/// How writers of a shared store keep changes of their tables from being missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarding {
    /// As it costs the store least.
    #[default]
    ByStore,
    /// By slots, as in a store where commits that protect one row conflict: for tests.
    Slots,
}

/// Settings of one engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Seals users, groups, roles and policies with their secrets, and the key of sessions.
    pub secrets: Option<Arc<dyn RowSeal>>,
    /// How long a table or index stays CREATING, UPDATING or DELETING beyond the work itself.
    pub transition_ms: u64,
    /// For how long a region that a new replica was filled from cannot be removed; the service's time is a
    /// day.
    pub source_region_ms: u64,
    /// How often a table is compared with its replicas; `None`: only when somebody asks for it.
    pub verification_interval_ms: Option<u64>,
    /// After this time without reaching a replica it is lost.
    pub replica_lost_ms: u64,
    /// How many bytes of a table's log may wait for a replica; beyond them all rows are sent to it.
    pub backlog_bytes_max: u64,
    /// The size beyond which an item collection of a table with local indexes must not grow.
    pub item_collection_bytes_max: u64,
    /// Tables that one account may have in one region.
    pub tables_max: usize,
    /// Bytes of the definitions of all tables of all accounts and regions, deleted ones with a stream
    /// included.
    pub record_bytes_max: usize,
    /// Limits on branches.
    pub branches: BranchLimits,
    /// Open shards of one stream.
    pub stream_shards_max: u32,
    /// Shards of one stream, closed ones included; at this number none is split or replaced until old ones
    /// expire.
    pub stream_shards_kept_max: usize,
    /// How long a stream's shard takes records before a new shard replaces it.
    pub stream_shard_open_ms_max: u64,
    /// How long after its expiry time an item is deleted.
    pub ttl_delay_ms: u64,
    /// How long after a change of a resource policy the next one is refused; the service's is 15 seconds.
    pub policy_change_wait_ms: u64,
    /// Whether new tables have point-in-time recovery.
    pub pitr_default: bool,
    /// How far the latest time to which a table can be restored is behind.
    pub pitr_lag_ms: u64,
    /// The shortest window of an incremental export.
    pub export_window_ms_min: u64,
    /// Jobs that this process works on at a time: so many of those that the engine does alone, and so many of
    /// those that need objects.
    pub job_threads: usize,
    /// Rows that all restores of this process together write in a second; `None` for no limit. What a caller
    /// feeds from outside is not among them.
    pub load_rate: Option<u64>,
    /// Whether backups are copied to a store of their own. Without one they keep the history of their tables.
    pub seals: bool,
    /// Whether metrics are those of the service alone, without ours of tables.
    pub strict_metrics: bool,
    /// Runs long computations.
    pub lane: Arc<Lane>,
    /// What is simulated on the way from region to region.
    pub links: Arc<Links>,
    /// The servers that own other regions.
    pub peers: Arc<dyn Peers>,
    /// Memory for the images of large items that are being written.
    pub images: Arc<ImageMemory>,
    /// Receives what requests consume.
    pub observer: Arc<dyn Observer>,
    /// Limits of throughput.
    pub throughput: ThroughputConfig,
    /// How writers of a shared store keep changes of their tables from being missed.
    pub guarding: Guarding,
    /// A process that gave no sign of life for so long is gone: its rows are removed.
    pub gone_ms: u64,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            secrets: None,
            transition_ms: 0,
            source_region_ms: SOURCE_REGION_MS,
            replica_lost_ms: REPLICA_LOST_MS,
            backlog_bytes_max: BACKLOG_BYTES_MAX,
            verification_interval_ms: Some(VERIFICATION_INTERVAL_MS),
            item_collection_bytes_max: LOCAL_COLLECTION_BYTES_MAX,
            tables_max: TABLES_MAX,
            record_bytes_max: RECORD_BYTES_MAX,
            branches: BranchLimits { count_max: None, bytes_max: None, counted: CountedTogether::Account },
            stream_shards_max: STREAM_SHARDS_MAX,
            stream_shards_kept_max: STREAM_SHARDS_KEPT_MAX,
            stream_shard_open_ms_max: STREAM_SHARD_OPEN_MS_MAX,
            ttl_delay_ms: TTL_DELAY_MS,
            policy_change_wait_ms: 0,
            pitr_default: false,
            pitr_lag_ms: 0,
            export_window_ms_min: EXPORT_WINDOW_MS_MIN,
            job_threads: JOB_THREADS,
            load_rate: None,
            seals: false,
            strict_metrics: false,
            lane: Arc::default(),
            links: Arc::default(),
            peers: Arc::new(NoPeers),
            images: Arc::default(),
            observer: Arc::new(Unobserved),
            throughput: ThroughputConfig::default(),
            guarding: Guarding::ByStore,
            gone_ms: GONE_MS,
        }
    }
}
