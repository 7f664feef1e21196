//! The engine's state: the store, the environment, the catalogue, and what is kept in memory only.
//!
//! It knows no operation: `dispatch` runs those on it.

pub(crate) mod admission;
mod backlogs;
pub(crate) mod branching;
pub(crate) mod clocks;
mod due;
pub(crate) mod heat;
mod insights;
pub(crate) mod keeping;
mod load_pace;
pub(crate) mod members;
pub(crate) mod next_expiry;
pub(crate) mod peering;
pub(crate) mod purge_progress;
pub(crate) mod recount;
pub(crate) mod scaling_schedule;
pub(crate) mod shard_loads;
mod shared_reads;
pub(crate) mod shared_tables;
pub(crate) mod shipping;
pub(crate) mod stamps;
pub(crate) mod stats;
mod trial;
pub(crate) mod trimmed_history;
pub(crate) mod use_exchange;
pub(crate) mod verification;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keywright_semantics::capacity::Usage;
use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_store::{Capabilities, Store};
use tokio::sync::Mutex as AsyncMutex;

use crate::catalogue::{Catalogue, OtherRows, Table, Target, record_bytes};
use crate::directory::Directory;
use crate::insights::Insights;
use crate::metrics::Metrics;
use crate::metrics::series::Naming;
use crate::support::config::{EngineConfig, Guarding};
use crate::support::env::{AccountId, Env, Namespace, Region};
use crate::support::fault;
use crate::support::lane::{Lane, Pace, Presence};
use crate::support::latch::Latches;
use crate::support::layout::{IndexId, TableId};
use crate::support::links::Links;
use crate::support::observer::Observer;
use crate::support::peers::Peers;
use branching::Branching;
use due::DueWork;
use insights::Observed;
use keeping::Keeping;
use load_pace::LoadPace;
use members::Members;
use next_expiry::NextExpiry;
use peering::Peering;
use purge_progress::PurgeProgress;
use recount::Recounting;
use scaling_schedule::ScalingSchedule;
use shard_loads::{ShardLoads, TrimTimes};
use shared_tables::SharedTables;
use shipping::Shipping;
use stamps::Stamps;
use stats::Stats;

pub use clocks::ClockNotice;
pub use heat::{Heat, HotItem, HotKey, PartitionHeat};
pub use keeping::KeepingFigures;
pub use shipping::{ReplicaConflict, ShippingFigures};
pub use trial::{Trial, TrialArm, TrialPart};
use trimmed_history::TrimmedHistory;
use use_exchange::UseExchange;
use verification::Verifications;
pub use verification::{
    HeldState, ReplicaDifference, Verdict, Verification, VerificationFigures, VerifiedReplica,
};

use crate::throughput::Ledgers;

/// A database over a store. Clones are handles of the same database.
pub struct Engine<S: Store> {
    shared: Arc<Shared<S>>,
    /// Whether the client of the request that this clone executes still waits.
    presence: Option<Presence>,
    /// Receives the figures of the request that this clone executes, instead of the engine's observer.
    observer: Option<Arc<dyn Observer>>,
    /// Whether contributor insights count the request that this clone executes.
    observed: Observed,
}

impl<S: Store> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            presence: self.presence.clone(),
            observer: self.observer.clone(),
            observed: self.observed,
        }
    }
}

struct Shared<S: Store> {
    store: S,
    env: Arc<dyn Env>,
    config: EngineConfig,
    opened_ms: u64,
    catalogue: Catalogue<S>,
    directory: Directory<S>,
    stats: Stats,
    metrics: Metrics,
    insights: Insights,
    recounting: Recounting<S::Snapshot>,
    purge_progress: PurgeProgress,
    trimmed_history: TrimmedHistory,
    latches: Arc<Latches>,
    shard_loads: ShardLoads,
    shipping: Shipping,
    peering: Peering,
    strong_tables: SharedTables<S::Snapshot>,
    verifications: Verifications,
    trim_times: TrimTimes,
    next_expiry: NextExpiry,
    branching: Branching,
    members: Members,
    stamps: Stamps,
    ledgers: Ledgers,
    use_exchange: Mutex<UseExchange>,
    /// When partitions and peaks are saved next.
    throughput_save_ms: AtomicU64,
    /// When expired tokens are looked for next.
    token_sweep_ms: AtomicU64,
    /// When the store's upkeep is due next.
    upkeep_due_ms: AtomicU64,
    /// Why the last round of the store's upkeep failed.
    upkeep_fault: Mutex<Option<String>>,
    scaling: ScalingSchedule,
    due: DueWork,
    keeping: Keeping,
    load_pace: LoadPace,
    restore_turn: AsyncMutex<()>,
}

impl<S: Store> Engine<S> {
    /// An engine over a store whose catalogue has been read.
    pub(crate) fn new(
        store: S,
        env: Arc<dyn Env>,
        config: EngineConfig,
        (catalogue, directory): (Catalogue<S>, Directory<S>),
    ) -> Self {
        let seed = env.random_u128();
        let latches = Latches::new(seed);
        let insights = Insights::new(seed);
        let members = Members::new(env.random_u128(), config.gone_ms);
        let Capabilities { is_shared, shares_protection, .. } = store.capabilities();
        let has_slots = is_shared && (!shares_protection || config.guarding == Guarding::Slots);
        let catalogue = if has_slots { catalogue.with_slots(members.own()) } else { catalogue };
        let opened_ms = env.now_ms();
        let load_pace = LoadPace::new(config.load_rate);
        let metrics = Metrics::new(if config.strict_metrics { Naming::Strict } else { Naming::WithTables });
        let shared = Shared {
            store,
            opened_ms,
            env,
            config,
            catalogue,
            directory,
            stats: Stats::default(),
            metrics,
            insights,
            recounting: Recounting::default(),
            purge_progress: PurgeProgress::default(),
            trimmed_history: TrimmedHistory::default(),
            latches,
            shard_loads: ShardLoads::default(),
            shipping: Shipping::default(),
            peering: Peering::default(),
            strong_tables: SharedTables::default(),
            verifications: Verifications::default(),
            trim_times: TrimTimes::default(),
            next_expiry: if is_shared { NextExpiry::shared() } else { NextExpiry::default() },
            branching: Branching::default(),
            members,
            stamps: Stamps::new(is_shared),
            ledgers: if is_shared { Ledgers::of_several() } else { Ledgers::default() },
            use_exchange: Mutex::default(),
            throughput_save_ms: AtomicU64::new(0),
            token_sweep_ms: AtomicU64::new(0),
            upkeep_due_ms: AtomicU64::new(0),
            upkeep_fault: Mutex::default(),
            scaling: ScalingSchedule::default(),
            due: DueWork::default(),
            keeping: Keeping::default(),
            load_pace,
            restore_turn: AsyncMutex::default(),
        };
        Self { shared: Arc::new(shared), presence: None, observer: None, observed: Observed::Yes }
    }

    /// The same database for one request: its long computations stop if the client leaves before the commit.
    #[must_use]
    pub fn for_client(&self, presence: Presence) -> Self {
        Self { presence: Some(presence), ..self.clone() }
    }

    /// The same database for one request, whose figures go to this observer and not to the engine's.
    #[must_use]
    pub fn observed_by(&self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self.clone() }
    }

    fn observer(&self) -> &dyn Observer {
        self.observer.as_deref().unwrap_or(&*self.shared.config.observer)
    }

    /// Reports the capacity that a request has consumed of a table or index.
    pub(crate) fn note_consumed(&self, table: &Table, index: Option<IndexId>, usage: Usage) {
        self.observer().charged(usage);
        self.metrics().consumed(table, index, usage);
    }

    /// Reports that a write met another writer.
    pub(crate) fn note_conflict(&self) {
        self.observer().conflicted();
    }

    /// The accounts and regions that have tables and that a request can name, with the numbers of their
    /// tables; at most `most`, in order.
    pub fn places(&self, most: usize) -> Vec<(Namespace, usize)> {
        self.shared.catalogue.places(most, Namespace::can_be_named)
    }

    /// The same of those that no request can name: the store of an earlier release has tables there.
    pub fn unreachable_places(&self, most: usize) -> Vec<(Namespace, usize)> {
        self.shared.catalogue.places(most, |namespace| !namespace.can_be_named())
    }

    /// The regions in which an account has a table of this name; at most `most`, in order.
    pub fn regions_of(&self, account: &AccountId, table: &str, most: usize) -> Vec<Region> {
        self.shared.catalogue.regions_of(account, table, most)
    }

    /// Whether there is a table of this name.
    pub async fn has_table(&self, namespace: &Namespace, table: &str) -> Result<bool, Error> {
        if self.is_shared() {
            self.catalogue().follow(self.env().now_ms()).await?;
        }
        Ok(self.catalogue().find(namespace, table).is_some())
    }

    /// Whether this is the only handle: no request runs on the database.
    pub fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    /// Whether other processes may change the store at the same time.
    pub fn is_shared(&self) -> bool {
        self.shared.store.capabilities().is_shared
    }

    pub(crate) fn members(&self) -> &Members {
        &self.shared.members
    }

    /// The key of the row that a commit with a stamp protects in a shared store.
    pub(crate) fn joined_key(&self) -> bytes::Bytes {
        self.members().own().joined_key()
    }

    /// The stamps of this process's commits.
    pub(crate) fn stamps(&self) -> &Stamps {
        &self.shared.stamps
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        &self.shared.ledgers
    }

    /// What processes over one store have told each other of used limits.
    pub(crate) fn use_exchange(&self) -> MutexGuard<'_, UseExchange> {
        self.shared.use_exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn throughput_save(&self) -> &AtomicU64 {
        &self.shared.throughput_save_ms
    }

    pub(crate) fn token_sweep(&self) -> &AtomicU64 {
        &self.shared.token_sweep_ms
    }

    pub(crate) fn upkeep_due(&self) -> &AtomicU64 {
        &self.shared.upkeep_due_ms
    }

    /// Why the last round of the store's upkeep failed, if it did.
    pub fn upkeep_fault(&self) -> Option<String> {
        self.shared.upkeep_fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_upkeep_fault(&self, fault: Option<String>) {
        *self.shared.upkeep_fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    pub(crate) fn keeping(&self) -> &Keeping {
        &self.shared.keeping
    }

    /// What history and jobs take, as last measured.
    pub fn keeping_figures(&self) -> KeepingFigures {
        self.keeping().get()
    }

    /// How far the latest time to which a table can be restored is behind.
    pub fn restorable_lag_ms(&self) -> u64 {
        let now_ms = self.env().now_ms();
        now_ms.saturating_sub(self.settled_before(now_ms).ms())
    }

    /// How fast restores write.
    pub(crate) fn load_pace(&self) -> &LoadPace {
        &self.shared.load_pace
    }

    /// Held while the restores that run are counted and one more begins.
    pub(crate) fn restore_turn(&self) -> &AsyncMutex<()> {
        &self.shared.restore_turn
    }

    /// When jobs and backups are looked at.
    pub(crate) fn due(&self) -> &DueWork {
        &self.shared.due
    }

    /// When the work on scaling is due.
    pub(crate) fn scaling(&self) -> &ScalingSchedule {
        &self.shared.scaling
    }

    /// Whether an operation that failed may end otherwise now: another process has made or changed what this
    /// one did not know when its catalogue had this epoch.
    pub(crate) async fn was_outdated(&self, epoch: u64, error: &Error) -> Result<bool, Error> {
        if !self.is_shared() || !may_come_of_catalogue(error) {
            return Ok(false);
        }
        self.catalogue().follow(self.env().now_ms()).await?;
        Ok(self.catalogue().epoch() != epoch)
    }

    /// Whether this process does the background work of a table.
    pub(crate) fn owns(&self, table: TableId) -> bool {
        !self.is_shared() || self.members().owns(table)
    }

    /// The lane for long computations; callers of the engine may use it for theirs.
    pub fn lane(&self) -> &Lane {
        &self.shared.config.lane
    }

    /// A new account of how much one request computes.
    pub(crate) fn pace(&self) -> Pace<'_> {
        Pace::new(self.lane(), self.presence.as_ref())
    }

    /// Changes a table's record for a client, unless the client has left before its turn came, or the record
    /// grows while there is no room for definitions.
    pub(crate) async fn change_table<R>(
        &self,
        id: impl Into<Target> + Copy + Sync,
        change: impl Fn(&mut Table) -> Result<R, Error>,
    ) -> Result<(Arc<Table>, R), Error> {
        let only = |tables: &mut [Table], _: &mut OtherRows| {
            let [table] = tables else { return Err(fault::internal()) };
            change(table)
        };
        let (tables, result) = self.change_tables(&[id], only).await?;
        let table = tables.into_iter().next().ok_or_else(fault::internal)?;
        Ok((table, result))
    }

    /// The same for the records of several tables in one commit, which may write other rows too.
    pub(crate) async fn change_tables<R>(
        &self,
        ids: &[impl Into<Target> + Copy + Sync],
        change: impl Fn(&mut [Table], &mut OtherRows) -> Result<R, Error>,
    ) -> Result<(Vec<Arc<Table>>, R), Error> {
        let full = self.catalogue().record_bytes() >= self.config().record_bytes_max;
        let permit = || self.pace().check_presence();
        let bytes = |tables: &[Table]| tables.iter().map(record_bytes).sum::<usize>();
        let checked = |tables: &mut [Table], rows: &mut OtherRows| {
            let before = if full { bytes(tables) } else { usize::MAX };
            let result = change(tables, rows)?;
            if full && bytes(tables) > before {
                let text = messages::definitions_limit(self.config().record_bytes_max);
                return Err(Error::new(ErrorKind::LimitExceeded, text));
            }
            Ok(result)
        };
        self.catalogue().change_all(ids, &[], permit, checked).await
    }

    pub(crate) fn store(&self) -> &S {
        &self.shared.store
    }

    pub(crate) fn env(&self) -> &dyn Env {
        &*self.shared.env
    }

    /// When this process opened the database.
    pub(crate) fn opened_ms(&self) -> u64 {
        self.shared.opened_ms
    }

    /// The servers that own other regions.
    pub(crate) fn peers(&self) -> &dyn Peers {
        &*self.shared.config.peers
    }

    /// What is known of contacts with them.
    pub(crate) fn peering(&self) -> &Peering {
        &self.shared.peering
    }

    /// What the simulation of strongly consistent tables keeps.
    pub(crate) fn shared_tables(&self) -> &SharedTables<S::Snapshot> {
        &self.shared.strong_tables
    }

    /// What is simulated on the way from region to region.
    pub(crate) fn links(&self) -> &Links {
        &self.shared.config.links
    }

    pub(crate) fn config(&self) -> &EngineConfig {
        &self.shared.config
    }

    pub(crate) fn catalogue(&self) -> &Catalogue<S> {
        &self.shared.catalogue
    }

    pub(crate) fn directory(&self) -> &Directory<S> {
        &self.shared.directory
    }

    pub(crate) fn latches(&self) -> &Arc<Latches> {
        &self.shared.latches
    }

    pub(crate) fn shard_loads(&self) -> &ShardLoads {
        &self.shared.shard_loads
    }

    /// What is known of the changes that replicas send each other.
    pub(crate) fn shipping(&self) -> &Shipping {
        &self.shared.shipping
    }

    /// The verifications of replicas.
    pub(crate) fn verifications(&self) -> &Verifications {
        &self.shared.verifications
    }

    pub(crate) fn next_expiry(&self) -> &NextExpiry {
        &self.shared.next_expiry
    }

    pub(crate) fn trim_times(&self) -> &TrimTimes {
        &self.shared.trim_times
    }

    pub(crate) fn purge_progress(&self) -> &PurgeProgress {
        &self.shared.purge_progress
    }

    /// Up to which day undo rows are trimmed.
    pub(crate) fn trimmed_history(&self) -> &TrimmedHistory {
        &self.shared.trimmed_history
    }

    pub(crate) fn recounting(&self) -> &Recounting<S::Snapshot> {
        &self.shared.recounting
    }

    pub(crate) fn branching(&self) -> &Branching {
        &self.shared.branching
    }

    /// Metrics of tables and indexes, per minute.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// What contributor insights count.
    pub(crate) fn insights(&self) -> &Insights {
        &self.shared.insights
    }

    pub(crate) fn stats(&self) -> &Stats {
        &self.shared.stats
    }
}

/// Whether an error may be another one with a newer catalogue. Nothing was written.
fn may_come_of_catalogue(error: &Error) -> bool {
    match &*error.detail {
        ErrorDetail::Reasons(reasons) => reasons.iter().any(|reason| {
            matches!(reason, CancellationReason::ResourceNotFound | CancellationReason::Validation { .. })
        }),
        ErrorDetail::None | ErrorDetail::Item(_) | ErrorDetail::Throttling(_) | ErrorDetail::Denied(_) => {
            matches!(error.kind, ErrorKind::ResourceNotFound | ErrorKind::Validation)
        }
    }
}
