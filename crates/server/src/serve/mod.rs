//! `keywright serve`: opens the store and the engine, listens, and stops cleanly.

pub(crate) mod banner;
pub(crate) mod descriptors;
pub(crate) mod overview;
pub(crate) mod ready_file;
pub(crate) mod timers;
pub(crate) mod tls;

use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use keywright_engine::{EngineConfig, Lane, Observer};
use keywright_semantics::event_sources::target::Target;
use keywright_store_local::{Durability, LocalOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::access::start::StartFile;
use crate::clock::{Clock, Desk};
use crate::commands::about::LONG_VERSION;
use crate::connection::handshake::Handshakes;
use crate::connection::listener::{self, Bound};
use crate::deliveries::Figures;
use crate::destinations;
use crate::http::auth::Authenticator;
use crate::http::branches;
use crate::http::credentials::CredentialFile;
use crate::http::request_metrics::RequestMetrics;
use crate::http::request_rates::RequestRates;
use crate::http::sessions::Sessions;
use crate::http::{Service, ServiceParts};
use crate::jobs;
use crate::limits::{CHANGES_SECONDS_MAX, DRAIN_SECONDS_MAX, UNREACHABLE_PLACES_LISTED};
use crate::management::Management;
use crate::process::failure::Failure;
use crate::process::{log, output};
use crate::settings::arguments::DurabilityArgument;
use crate::settings::config::Config;
use crate::settings::storage::Storage;
use crate::settings::variables;
#[cfg(feature = "postgres")]
use crate::storage::backend::Postgres;
#[cfg(feature = "tikv")]
use crate::storage::backend::Tikv;
use crate::storage::backend::{Backend, Folder};
use crate::storage::buckets::Buckets;
use crate::storage::copies::BackupStore;
use crate::storage::database::Database;
use crate::storage::private_file;
use crate::storage::{recovery, scrub};
use crate::studio::{Api, Studio, Surroundings};
use crate::targets::Targets;
use crate::triggers;
use banner::{Addresses, StudioLine};
use descriptors::DataIn;
use overview::{Heartbeat, Overview};
use ready_file::{Listening, ReadyFile};

/// `program` is the whole command line, whose variables are known.
pub(crate) fn run(mut config: Config, program: &clap::Command) -> Result<(), Failure> {
    private_file::restrict_umask();
    log::start(config.log);
    for complaint in variables::misspelt(program) {
        tracing::warn!("{complaint}");
    }
    config.ready_file.as_deref().map_or(Ok(()), ReadyFile::clear)?;
    let data_in = match config.storage {
        Storage::Folder { .. } => DataIn::Files,
        Storage::Memory | Storage::Postgres { .. } | Storage::Tikv { .. } => DataIn::Memory,
    };
    if config.scrub.is_some() && data_in == DataIn::Memory {
        tracing::warn!(
            "--scrub has no effect: only a data folder has files to read; shared stores check their own"
        );
    }
    let shares = descriptors::share(data_in, config.limits.connections_max)?;
    config.limits.connections_max = shares.connections_max;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    match config.storage.clone() {
        Storage::Memory => runtime.block_on(serve(config, Backend::Memory)),
        Storage::Folder { path, durability, cache_bytes, write_buffer_bytes } => {
            let durability = match durability {
                DurabilityArgument::Synced => Durability::Synced,
                DurabilityArgument::Relaxed => Durability::Relaxed,
            };
            let default = LocalOptions::default();
            let options = LocalOptions {
                durability,
                cache_bytes,
                files_max: shares.store_files_max,
                scrub_period: config.scrub.unwrap_or_default().period(),
                memtable_bytes: write_buffer_bytes.unwrap_or(default.memtable_bytes),
                ..default
            };
            runtime.block_on(serve(config, Backend::Folder(Folder::new(path, options))))
        }
        #[cfg(feature = "postgres")]
        Storage::Postgres { url, password } => {
            let backend = Postgres::new(&url, password.as_ref())?;
            runtime.block_on(serve(config, Backend::Postgres(Box::new(backend))))
        }
        #[cfg(not(feature = "postgres"))]
        Storage::Postgres { .. } => Err(Failure::new(
            "this keywright was built without PostgreSQL: take a released one, or \
                                         build it with `cargo build --release --features postgres`",
        )),
        #[cfg(feature = "tikv")]
        Storage::Tikv { url } => {
            let backend = Tikv::new(&url)?;
            runtime.block_on(serve(config, Backend::Tikv(backend)))
        }
        #[cfg(not(feature = "tikv"))]
        Storage::Tikv { .. } => Err(Failure::new(
            "this keywright was built without TiKV: build it with \
                                     `cargo build --release --features tikv`",
        )),
    }
}

fn engine_config(config: &Config, metrics: &Arc<RequestMetrics>) -> EngineConfig {
    let default = EngineConfig::default();
    let observer: Arc<dyn Observer> = metrics.clone();
    EngineConfig {
        transition_ms: config.transition_ms,
        policy_change_wait_ms: config.policy_change_wait_ms,
        ttl_delay_ms: config.ttl_delay_ms.unwrap_or(default.ttl_delay_ms),
        strict_metrics: config.strict_metrics,
        stream_shard_open_ms_max: config.stream_shard_ms.unwrap_or(default.stream_shard_open_ms_max),
        lane: Arc::new(lane()),
        observer,
        throughput: config.throughput,
        branches: config.branches,
        pitr_default: config.backups.pitr_default,
        pitr_lag_ms: config.backups.pitr_lag_ms,
        export_window_ms_min: config.backups.export_min_window_ms,
        job_threads: config.backups.job_threads,
        load_rate: config.backups.load_rate,
        seals: config.backups.to.is_some(),
        ..default
    }
}

/// Where triggers may send records.
fn targets(config: &Config, buckets: &Arc<Buckets>) -> Targets {
    let triggers = &config.triggers;
    let of_sections = triggers.sections.iter().flat_map(|section| {
        let settings = &section.settings;
        [Some(&settings.target), settings.on_failure.as_ref()].into_iter().flatten().map(Target::text)
    });
    Targets {
        functions: triggers.functions.clone(),
        hosts: triggers.hosts.clone(),
        buckets: Arc::clone(buckets),
        of_sections: of_sections.collect(),
    }
}

/// Number of threads for long computations: all processors but one, so that short requests always find one
/// free. A machine with one processor shares it.
fn lane() -> Lane {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Lane::new(processors.saturating_sub(1).max(1), |work| tokio::task::block_in_place(work))
}

/// Who may sign requests, as far as it is known without a store.
struct Signers {
    authenticator: Authenticator,
    /// Users that are made before the server listens.
    access: Option<StartFile>,
    /// None if their key is in the store.
    sessions: Option<Sessions>,
}

impl Signers {
    fn read(config: &Config) -> Result<Self, Failure> {
        let credentials = config.credentials.as_deref().map(CredentialFile::read).transpose()?;
        let access = config.access.as_deref().map(|path| StartFile::read(path, credentials.as_ref()));
        let access = access.transpose()?;
        let sessions = config.session_token_key.as_deref().map(Sessions::of_file).transpose()?;
        let authenticator = match credentials {
            None if access.is_none() => Authenticator::Unverified,
            credentials => Authenticator::with_keys(credentials.unwrap_or_default().into_map()),
        };
        Ok(Self { authenticator, access, sessions })
    }
}

async fn apply(access: Option<&StartFile>, database: &Database) -> Result<(), Failure> {
    match access {
        Some(access) => access.apply(database).await,
        None => Ok(()),
    }
}

/// Everything that can fail for other reasons comes before the store is opened: a failed start makes no data
/// folder.
async fn serve(mut config: Config, backend: Backend) -> Result<(), Failure> {
    let Signers { authenticator, access, sessions } = Signers::read(&config)?;
    let verifies = authenticator.verifies();
    let handshakes = config.tls.as_ref().map(tls::acceptor).transpose()?.map(Handshakes::new);
    let bound = Bound::new(config.address, handshakes.clone())?;
    let studio = config.studio.take().map(|own| {
        Bound::any_port(own.address, handshakes).map(|(address, listener)| (own, address, listener))
    });
    let studio = studio.transpose()?;
    // Before the banner is printed: a stop signal right after it must end the server cleanly too.
    let stop_signal = listener::stop_signal()?;
    let management = config.management.clone().map(Management::start).transpose()?;
    let metrics = Arc::new(RequestMetrics::default());
    let engine_config = engine_config(&config, &metrics);
    let lane = Arc::clone(&engine_config.lane);
    let clock = Arc::new(Clock::new(config.clock));
    let database = Arc::new(Database::open(backend, engine_config, Arc::clone(&clock)).await?);
    apply(access.as_ref(), &database).await?;
    warn_of_places(&database);
    let backups = BackupStore::new(config.backups.to.clone(), config.backups.s3.clone().unwrap_or_default());
    let backups = Arc::new(backups);
    let buckets = Arc::new(Buckets::new(config.buckets.clone()));
    let targets = Arc::new(targets(&config, &buckets));
    let (deliveries, figures) = (Arc::default(), Arc::<Figures>::default());

    let ((moves, wishes), (stop, stopping)) = (mpsc::channel(1), watch::channel(false));
    let parts = ServiceParts {
        database: Arc::clone(&database),
        backups: Arc::clone(&backups),
        targets: Arc::clone(&targets),
        deliveries: Arc::clone(&figures),
        lane,
        metrics,
        authenticator,
        sessions,
        is_secure: config.tls.is_some(),
        web_guard: config.web_guard,
        limits: config.limits,
        rates: RequestRates::new(&config.rates),
        request_log: config.request_log,
        clock: clock.is_manual().then(|| Desk { clock, moves }),
    };
    let service = Arc::new(Service::new(parts, stopping.clone()));
    let heartbeat = Arc::new(Heartbeat::new());
    let addresses = Addresses {
        api: bound.address(),
        secure: bound.secure(),
        studio: studio
            .as_ref()
            .map(|(own, address, _)| StudioLine { address: *address, wanted: own.address.port() }),
        management: management.as_ref().map(Management::address),
    };
    let listening = Listening {
        api: bound.address(),
        studio: addresses.studio.map(|studio| banner::endpoint(studio.address, bound.secure())),
        management: addresses.management.map(|address| banner::endpoint(address, false)),
    };
    let banner = banner::serving(addresses, &config.storage, verifies);
    let secure = bound.secure();
    let endpoint = banner::endpoint(bound.address(), secure);
    let listener = bound.listen()?;
    if let Some(management) = &management {
        let delivered = (Arc::clone(&deliveries), Arc::clone(&figures));
        let overview =
            Overview::new(Arc::clone(&service), Arc::clone(&heartbeat), delivered, stopping.clone());
        management.watch(Arc::new(overview));
    }
    let ready_file = config.ready_file.as_deref().map(|path| ReadyFile::write(path, &endpoint, &listening));
    let ready_file = ready_file.transpose()?;
    output::announce(banner);

    let mut tasks = Tasks::default();
    tasks.spawn("background work", timers::run(Arc::clone(&database), wishes, stopping.clone()));
    tasks.spawn("the watch over the store", recovery::run(Arc::clone(&database), stopping.clone()));
    let stores = jobs::Stores { backups, buckets };
    tasks.spawn("the jobs", jobs::run(Arc::clone(&database), stores, config.backups, stopping.clone()));
    let delivering = destinations::run(Arc::clone(&database), config.kinesis, deliveries, stopping.clone());
    tasks.spawn("the deliveries to Kinesis", delivering);
    let tools = triggers::Tools::new(Arc::clone(&database), targets, figures);
    tasks.spawn("the triggers", triggers::run(Arc::new(tools), config.triggers.sections, stopping.clone()));
    tasks.spawn("the scrub", scrub::run(Arc::clone(&database), stopping.clone()));
    tasks.spawn("the heartbeat", heartbeat.run(stopping.clone()));
    if let Some((own, _, listener)) = studio {
        let api: Arc<dyn Api> = service.clone();
        let surroundings = Surroundings {
            endpoint,
            secure,
            storage: config.storage.shown(),
            limits: config.limits,
            version: LONG_VERSION,
        };
        let studio = Studio::new(own, api, surroundings, stopping.clone());
        tasks.spawn("the studio", listener.run(Arc::new(studio), stopping.clone()));
    }
    tasks.spawn("the listener", listener.run(Arc::clone(&service), stopping));
    let outcome = tokio::select! {
        signalled = stop_signal => signalled,
        early = tasks.ended() => Err(Failure::new(format!("{early} ended unexpectedly; the server stops"))),
    };
    drop(ready_file);
    stop.send_replace(true);
    outcome.and(stop_all(&service, &database, tasks).await)
}

/// Ends what runs, in bounded time, and closes the database. It is left as after a crash if writes go on.
async fn stop_all(service: &Service, database: &Database, mut tasks: Tasks) -> Result<(), Failure> {
    service.refuse_waiting();
    if tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS_MAX), tasks.all_ended()).await.is_err() {
        tracing::warn!("some requests were still running after {DRAIN_SECONDS_MAX} seconds and were cut off");
        tasks.cut_off().await;
    }
    let changes_ended =
        tokio::time::timeout(Duration::from_secs(CHANGES_SECONDS_MAX), service.changes_ended()).await;
    if changes_ended.is_err() {
        // The next start recounts the counters that such a write may still change.
        tracing::warn!("some writes were still running: the database is left as after a crash");
        return Ok(());
    }
    database
        .shut_down()
        .await
        .map_err(|error| Failure::new(format!("cannot close the database cleanly: {error}")))
}

/// Warns of tables that no request can name, and of those that this release does not serve.
fn warn_of_places(database: &Database) {
    warn_of_unreachable(database);
    warn_of_refused(database);
}

/// Names the places with tables that no request can name: a server of an earlier release took them.
fn warn_of_unreachable(database: &Database) {
    let places = database.engine().map(|engine| engine.unreachable_places(UNREACHABLE_PLACES_LISTED + 1));
    let places = places.unwrap_or_default();
    for (place, tables) in places.iter().take(UNREACHABLE_PLACES_LISTED) {
        let place = branches::shown(place);
        tracing::warn!(
            "no request can name the place {place}, which has {tables} tables: copy them to another place with \
             POST {path} and {{\"from\": {place}, \"to\": PLACE}}, or drop them with DELETE {path} and \
             {{\"branch\": {place}}}",
            path = branches::PATH
        );
    }
    if places.len() > UNREACHABLE_PLACES_LISTED {
        tracing::warn!("more than {UNREACHABLE_PLACES_LISTED} places have names that no request can give");
    }
}

/// Names the tables that a later release wrote and that this one does not serve.
fn warn_of_refused(database: &Database) {
    for sentence in database.engine().map(|engine| engine.refused_tables()).unwrap_or_default() {
        tracing::warn!("{sentence}");
    }
}

/// The tasks that run as long as the server does. If one ends early the server stops, because the process
/// would look alive and serve nobody.
#[derive(Default)]
struct Tasks(JoinSet<&'static str>);

impl Tasks {
    /// A task that panics counts as ended; the panic is in the log.
    fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(async move {
            let _panicked = AssertUnwindSafe(task).catch_unwind().await;
            name
        });
    }

    /// Waits for the next task to end and returns its name.
    async fn ended(&mut self) -> &'static str {
        match self.0.join_next().await {
            Some(Ok(name)) => name,
            Some(Err(_)) | None => "a task",
        }
    }

    /// Aborts the remaining tasks.
    async fn cut_off(&mut self) {
        self.0.abort_all();
        self.all_ended().await;
    }

    async fn all_ended(&mut self) {
        while !self.0.is_empty() {
            self.ended().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_ends_or_panics_is_named() {
        let mut tasks = Tasks::default();
        tasks.spawn("one that waits", std::future::pending());
        tasks.spawn("one that returns", async {});
        assert_eq!(tasks.ended().await, "one that returns");
        tasks.spawn("one that panics", async { panic!("a defect") });
        assert_eq!(tasks.ended().await, "one that panics");
    }
}
