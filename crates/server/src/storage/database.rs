//! The open database: the store and the engine over it, which can be opened again after the disk was full.
//!
//! Opening again is a restart without the process: store, engine and everything that they keep in memory are
//! dropped and built anew from the files. So nothing in memory can be ahead of what the files say: catalogue,
//! counters, latches and positions in streams are read or begun as after a kill. Requests get a temporary
//! error meanwhile. It does not know when that is worth trying (`recovery`).

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwapOption, Guard};
use keywright_engine::{Engine, EngineConfig, KeepingFigures};
use keywright_store::Store as _;
use keywright_store_local::{Fault, FaultCause, Figures, ScrubStep};

use super::any_store::AnyStore;
use super::backend::{Backend, EncryptedFolder, Folder, Outage, Unopened};
use super::encryption::rotation::Rotation;
use super::health::{self, Health};
use crate::clock::Clock;
use crate::limits::{
    FAILOVER_RETRY_MS, FAILOVER_WAIT_MS_MAX, REOPEN_WAIT_MS_MAX, STORE_LOST_MS, STORE_SILENT_MS,
};
use crate::process::environment;
use crate::process::failure::Failure;

/// Interval at which requests that still run are counted.
const UNUSED_CHECK: Duration = Duration::from_millis(5);

/// Copies of backups leave so much of the disk of the database free, in addition to what the store needs to
/// go on: a twentieth, up to a bound.
const COPIES_LEAVE_PART: u64 = 20;
const COPIES_LEAVE_BYTES_MAX: u64 = 256 * MIB;
const MIB: u64 = 1024 * 1024;

/// A store and the engine over it.
pub(crate) struct Running {
    pub(crate) engine: Engine<AnyStore>,
    store: AnyStore,
}

/// Why nothing is running.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Absence {
    Reopening,
    Down(String),
}

/// The database of a server.
pub(crate) struct Database {
    backend: Backend,
    engine_config: EngineConfig,
    clock: Arc<Clock>,
    running: ArcSwapOption<Running>,
    absence: Mutex<Absence>,
    opened_again: AtomicU64,
}

/// The figures of a store that several servers may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// Servers that work, this one included.
    pub(crate) processes: usize,
    /// Questions to the store that this server waited for.
    pub(crate) round_trips: u64,
    /// How long ago the oldest time was that the store keeps versions of, if this server moves it.
    pub(crate) versions_kept: Option<Duration>,
}

/// A shared store that gives no session, or confirms no commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) reason: String,
    pub(crate) advice: String,
    /// What fails meanwhile: `requests` or `writes`.
    pub(crate) failing: &'static str,
    pub(crate) lasted: Duration,
}

/// Why the store was not opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotReopened {
    /// Requests still used it. It runs as before.
    InUse,
    /// For good: the server must be restarted.
    Down,
}

impl Database {
    pub(crate) async fn open(
        backend: Backend,
        engine_config: EngineConfig,
        clock: Arc<Clock>,
    ) -> Result<Self, Failure> {
        let running = open(&backend, &engine_config, &clock).await?;
        Ok(Self {
            backend,
            engine_config,
            clock,
            running: ArcSwapOption::from_pointee(running),
            absence: Mutex::new(Absence::Reopening),
            opened_again: AtomicU64::new(0),
        })
    }

    /// What is running; `None` while the store is being opened again. Meant for one request.
    pub(crate) fn running(&self) -> Guard<Option<Arc<Running>>> {
        self.running.load()
    }

    pub(crate) fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// The engine, for one piece of background work.
    pub(crate) fn engine(&self) -> Option<Engine<AnyStore>> {
        self.running.load().as_ref().map(|running| running.engine.clone())
    }

    /// Why the store refuses writes.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.running.load().as_ref().and_then(|running| running.store.fault())
    }

    pub(crate) fn figures(&self) -> Option<Figures> {
        self.running.load().as_ref().and_then(|running| running.store.figures())
    }

    /// A piece of the scrub; `None` where there is nothing to scrub, or while the store is opened again.
    pub(crate) fn scrub_step(&self, now_ms: u64) -> Option<ScrubStep> {
        self.running.load().as_ref().and_then(|running| running.store.scrub_step(now_ms))
    }

    /// What changes the keys of an encrypted folder; `None` for other stores, and while the store is opened
    /// again.
    pub(crate) fn rotation(&self) -> Option<Rotation> {
        let folder = self.encrypted()?;
        let store = self.running.load().as_ref()?.store.local()?.clone();
        Some(Rotation { folder, store, is_remote: true })
    }

    /// The data folder, if there is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.backend.folder().map(Folder::path)
    }

    /// What an encrypted data folder has.
    pub(crate) fn encrypted(&self) -> Option<EncryptedFolder> {
        self.backend.folder()?.encrypted()
    }

    /// What to do about damaged files.
    pub(crate) fn damage_advice(&self) -> String {
        health::damage_advice(&self.backend.place())
    }

    /// How the store is shared with other servers; `None` for a store of one server.
    pub(crate) fn sharing(&self) -> Option<Sharing> {
        let running = self.running.load();
        let running = running.as_ref().filter(|running| running.engine.is_shared())?;
        let round_trips = running.store.round_trips();
        let versions_kept = running.store.versions_kept().filter(|_| running.engine.does_upkeep());
        Some(Sharing { processes: running.engine.processes(), round_trips, versions_kept })
    }

    /// Why the last round of a shared store's upkeep failed, if it did.
    pub(crate) fn upkeep_fault(&self) -> Option<String> {
        self.running.load().as_ref()?.engine.upkeep_fault()
    }

    /// What history and jobs take, and how far restores are behind in milliseconds; `None` while the store is
    /// opened again.
    pub(crate) fn keeping(&self) -> Option<(KeepingFigures, u64)> {
        let running = self.running.load();
        let engine = &running.as_ref()?.engine;
        Some((engine.keeping_figures(), engine.restorable_lag_ms()))
    }

    /// How often the store was opened again.
    pub(crate) fn opened_again(&self) -> u64 {
        self.opened_again.load(Ordering::Relaxed)
    }

    /// Bytes that the store needs on disk to go on.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.figures().map_or(0, |figures| figures.room_bytes)
    }

    /// Why a folder may not take so many bytes more of copies, exports or archives, if it may not. On the
    /// disk of the database, they leave it twice what it needs to go on, as its buffers may fill meanwhile.
    pub(crate) fn refuses_copy(&self, folder: &Path, bytes: usize) -> Option<String> {
        let disk = self.backend.disk_shared_with(folder)?;
        let left = (disk.bytes / COPIES_LEAVE_PART).min(COPIES_LEAVE_BYTES_MAX);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let needed = self.room_bytes().saturating_mul(2).saturating_add(left).saturating_add(bytes);
        (disk.free_bytes < needed).then(|| {
            format!(
                "less than {} MiB are free on the disk of {}, which the database needs too",
                needed.div_ceil(MIB),
                folder.display()
            )
        })
    }

    pub(crate) fn has_room(&self) -> bool {
        self.backend.has_room(self.room_bytes())
    }

    /// The state of the database, as far as it decides about the server's.
    pub(crate) fn health(&self) -> Health {
        let Some(fault) = self.fault() else {
            let running = self.running.load();
            let Some(running) = running.as_ref() else { return self.absent() };
            let outage = running.store.outage();
            let has_writes = outage.as_ref().is_none_or(|outage| !outage.has_reads);
            if has_writes && running.engine.has_heard_from_store(STORE_SILENT_MS) {
                return self.serving(&running.store);
            }
            return Health::StoreSilent { place: self.backend.place(), outage };
        };
        let reason = fault.reason;
        match fault.cause {
            FaultCause::NoRoom => {
                Health::DiskFull { reason, folder: self.backend.place(), room_bytes: self.room_bytes() }
            }
            FaultCause::Damage => Health::MergeFailed { reason, folder: self.backend.place() },
            FaultCause::Write | FaultCause::Sync | FaultCause::Defect => Health::WritesFailed { reason },
        }
    }

    /// Since when a shared store is lost, if it is.
    pub(crate) fn lost(&self) -> Option<Lost> {
        let running = self.running.load();
        let running = running.as_ref().filter(|running| running.engine.is_shared())?;
        let lost = Duration::from_millis(STORE_LOST_MS);
        let outage = running.store.outage().filter(|outage| outage.lasted >= lost);
        let lasted = match &outage {
            Some(outage) => outage.lasted,
            None if running.engine.has_heard_from_store(STORE_SILENT_MS) => return None,
            None => Duration::from_millis(STORE_SILENT_MS),
        };
        let (reason, advice) = health::explain_silence(&self.backend.place(), outage.as_ref());
        let failing = outage.as_ref().map_or("requests", Outage::failing);
        Some(Lost { reason, advice, failing, lasted })
    }

    /// Where a shared store answers, for messages.
    pub(crate) fn answering(&self) -> String {
        let running = self.running.load();
        let answering = running.as_ref().and_then(|running| running.store.answering());
        answering.unwrap_or_else(|| self.backend.place())
    }

    /// Servers of the store's address to which a fail-over would not be followed, as warnings. Asks them, for
    /// a few seconds at most.
    pub(crate) async fn warnings_of_servers(&self) -> Vec<String> {
        let store = self.running.load().as_ref().map(|running| running.store.clone());
        match store {
            Some(store) => store.warnings_of_servers().await,
            None => Vec::new(),
        }
    }

    /// The state of a database that takes requests.
    fn serving(&self, store: &AnyStore) -> Health {
        let damaged = store.damage();
        match damaged.first() {
            None => Health::Serving,
            Some(first) => Health::Degraded {
                places: damaged.len(),
                first: first.to_string(),
                folder: self.backend.place(),
            },
        }
    }

    fn absent(&self) -> Health {
        match self.absence().clone() {
            Absence::Reopening => Health::Reopening,
            Absence::Down(reason) => Health::Down { reason },
        }
    }

    fn absence(&self) -> MutexGuard<'_, Absence> {
        self.absence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the store and opens it again, with a new engine. Only for a store whose files can be trusted.
    pub(crate) async fn reopen(&self) -> Result<(), NotReopened> {
        let Some(running) = self.running.swap(None) else { return Err(NotReopened::InUse) };
        let running = match unused(running).await {
            Ok(running) => running,
            Err(used) => {
                self.running.store(Some(used));
                return Err(NotReopened::InUse);
            }
        };
        match self.open_again(running).await {
            Ok(running) => {
                self.running.store(Some(Arc::new(running)));
                self.opened_again.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(reason) => {
                *self.absence() = Absence::Down(reason.to_string());
                Err(NotReopened::Down)
            }
        }
    }

    async fn open_again(&self, running: Running) -> Result<Running, Failure> {
        let Running { engine, store } = running;
        drop(engine);
        let mut waited_ms = 0;
        while !store.is_unshared() {
            if waited_ms >= REOPEN_WAIT_MS_MAX {
                return Err(Failure::new("a snapshot of it is still in use"));
            }
            tokio::time::sleep(UNUSED_CHECK).await;
            waited_ms += millis(UNUSED_CHECK);
        }
        tokio::task::block_in_place(|| store.close());
        // While it was closed, a sync may have failed.
        if let Some(fault) = store.fault()
            && !fault.cause.may_reopen()
        {
            return Err(Failure::new(fault.reason));
        }
        drop(store);
        open(&self.backend, &self.engine_config, &self.clock).await
    }

    /// Writes what is kept in memory only, and closes the store. No request may be running.
    pub(crate) async fn shut_down(&self) -> Result<(), Failure> {
        let Some(engine) = self.engine() else { return Err(Failure::new("the store is not open")) };
        engine.shutdown().await.map_err(|error| Failure::new(error.to_string()))
    }
}

/// Opens store and engine, and waits for what may pass by itself, such as a fail-over of a shared store.
async fn open(
    backend: &Backend,
    engine_config: &EngineConfig,
    clock: &Arc<Clock>,
) -> Result<Running, Failure> {
    let (begun, wait) = (environment::instant(), Duration::from_millis(FAILOVER_WAIT_MS_MAX));
    let mut is_first = true;
    loop {
        let unopened = match open_once(backend, engine_config, clock).await {
            Ok(running) => return Ok(running),
            Err(unopened) => unopened,
        };
        let Some(passing) = unopened.passing.filter(|_| begun.elapsed() < wait) else {
            return Err(unopened.failure);
        };
        if is_first {
            let place = backend.place();
            tracing::warn!("the store {place} {passing}: trying again for {} s", wait.as_secs());
        }
        is_first = false;
        tokio::time::sleep(Duration::from_millis(FAILOVER_RETRY_MS)).await;
    }
}

async fn open_once(
    backend: &Backend,
    engine_config: &EngineConfig,
    clock: &Arc<Clock>,
) -> Result<Running, Unopened> {
    let store = backend.open_for_server().await?;
    if let Some(warning) = store.connections_warning() {
        tracing::warn!("{warning}");
    }
    let opened = Engine::open(store.clone(), clock.clone(), engine_config.clone()).await;
    let engine = opened.map_err(|error| Unopened {
        // A part of a shared store may fail over after the store was opened.
        passing: (store.capabilities().is_shared && error.is_of_store())
            .then(|| format!("failed while the database was opened: {error}")),
        failure: Failure::new(format!("cannot open the database: {error}")),
    })?;
    Ok(Running { engine, store })
}

/// Waits until no request uses the engine any more; gives it back if that takes too long.
async fn unused(mut running: Arc<Running>) -> Result<Running, Arc<Running>> {
    let begun = environment::instant();
    loop {
        if running.engine.is_unshared() {
            match Arc::try_unwrap(running) {
                Ok(running) => return Ok(running),
                Err(shared) => running = shared,
            }
        }
        if begun.elapsed() >= Duration::from_millis(REOPEN_WAIT_MS_MAX) {
            return Err(running);
        }
        tokio::time::sleep(UNUSED_CHECK).await;
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
