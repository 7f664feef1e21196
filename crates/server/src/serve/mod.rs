//! `keywright serve`: opens the store and the engine, listens, and stops cleanly.

pub(crate) mod banner;
mod clock_notices;
pub(crate) mod descriptors;
pub(crate) mod huge_pages;
pub(crate) mod overview;
mod peering;
pub(crate) mod ready_file;
pub(crate) mod timers;
pub(crate) mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use keywright_engine::{EngineConfig, Lane, Links, Observer, Peers as _, RowSeal};
use keywright_semantics::event_sources::target::Target;
use keywright_store_local::{Durability, LocalOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::access::start::StartFile;
use crate::audit::{self, Audit, AuditSettings, LogPlace};
use crate::client::listing::counted;
use crate::clock::{Clock, Desk};
use crate::commands::about::LONG_VERSION;
use crate::connection::listener::{self, Bound, Listener};
use crate::deliveries::Figures;
use crate::destinations;
use crate::http::auth::Authenticator;
use crate::http::branches;
use crate::http::credentials::{Credential, CredentialFile};
use crate::http::peer_door::PeerDoor;
use crate::http::request_metrics::RequestMetrics;
use crate::http::request_rates::RequestRates;
use crate::http::sessions::Sessions;
use crate::http::{Service, ServiceParts};
use crate::jobs;
use crate::kms;
use crate::limits::{
    AUDIT_FINISH_SECONDS_MAX, CHANGES_SECONDS_MAX, DRAIN_SECONDS_MAX, UNREACHABLE_PLACES_LISTED,
};
use crate::management::{Management, ManagementConfig};
use crate::peers::{PeerKey, PeerServers, PeerSettings};
use crate::process::failure::Failure;
use crate::process::{log, output};
use crate::settings::arguments::DurabilityArgument;
use crate::settings::backups::Backups;
use crate::settings::config::Config;
#[cfg(feature = "postgres")]
use crate::settings::storage::STORE;
use crate::settings::storage::Storage;
use crate::settings::variables;
use crate::simulation::{self, SimulationSetting};
#[cfg(feature = "postgres")]
use crate::storage::backend::Postgres;
#[cfg(feature = "tikv")]
use crate::storage::backend::Tikv;
use crate::storage::backend::{Backend, EncryptedFolder, Folder};
use crate::storage::buckets::Buckets;
use crate::storage::copies::BackupStore;
use crate::storage::database::Database;
use crate::storage::encryption::backup_keys::BackupKey;
use crate::storage::encryption::source::KeySource;
use crate::storage::encryption::swap;
use crate::storage::private_file;
use crate::storage::{outages, recovery, scrub};
use crate::studio::{Api, FileForm, PlainFiles, Studio, StudioConfig, Surroundings};
use crate::targets::Targets;
use crate::triggers;
use banner::{Addresses, Door, StudioLine};
use descriptors::DataIn;
use overview::{Heartbeat, Overview};
use ready_file::{Listening, ReadyFile};
use tls::{Hangups, Tls};

/// Accounts and regions with tables that are looked at for those of other servers.
const PLACES_MAX: usize = 10_000;

/// `program`: the command line, whose variables are known, of the server and of all commands.
pub(crate) fn run(mut config: Config, program: [fn() -> clap::Command; 2]) -> Result<(), Failure> {
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
            let folder = Folder::new(path, options, config.keys.clone());
            runtime.block_on(serve(config, Backend::Folder(Box::new(folder))))
        }
        #[cfg(feature = "postgres")]
        Storage::Postgres { url, password } => {
            let backend = Postgres::new(STORE, &url, password.as_ref())?;
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
        source_region_ms: config.replication.source_region_ms,
        verification_interval_ms: config.replication.verification_interval_ms,
        backlog_bytes_max: config.replication.backlog_bytes_max,
        replica_lost_ms: config.replication.lost_ms,
        policy_change_wait_ms: config.policy_change_wait_ms,
        guarding: config.guarding,
        gone_ms: config.gone_ms.unwrap_or(default.gone_ms),
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

/// What seals users and their secrets in a shared store. A folder is encrypted as a whole.
fn secrets(config: &Config) -> Result<Option<Arc<dyn RowSeal>>, Failure> {
    match (&config.keys, &config.storage) {
        (Some(source), Storage::Postgres { .. } | Storage::Tikv { .. }) => source.row_seal(),
        _ => Ok(None),
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

/// Where backups are copied.
fn backups(config: &Config) -> Arc<BackupStore> {
    let Backups { to, s3, form, .. } = &config.backups;
    let folder = match &config.storage {
        Storage::Folder { path, .. } => Some(path.clone()),
        Storage::Memory | Storage::Postgres { .. } | Storage::Tikv { .. } => None,
    };
    let key = config.keys.clone().map(|source| BackupKey::new(source, folder));
    Arc::new(BackupStore::new((to.clone(), s3.clone().unwrap_or_default()), (*form, key)))
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
    /// The servers that own other regions, with their keys; `None` if there are none.
    peers: Option<PeerDoor>,
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
        let keys = credentials.as_ref().map(CredentialFile::of_peers).unwrap_or_default();
        let simulates = config.simulation.0 != SimulationSetting::Off;
        let servers = peer_servers(&config.peers, &keys, simulates)?;
        let peers = (!servers.is_empty()).then(|| PeerDoor::new(Arc::new(servers), keys));
        let sessions = config.session_token_key.as_deref().map(Sessions::of_file).transpose()?;
        let authenticator = match credentials {
            None if access.is_none() => Authenticator::Unverified,
            credentials => Authenticator::with_keys(credentials.unwrap_or_default().into_map()),
        };
        Ok(Self { authenticator, peers, access, sessions })
    }
}

/// Clients of the servers that own other regions, each with the secret of its key.
fn peer_servers(
    settings: &[PeerSettings],
    keys: &BTreeMap<String, Credential>,
    simulates: bool,
) -> Result<PeerServers, Failure> {
    let with_key = |peer: &PeerSettings| {
        match keys.get(&peer.key_id) {
        Some(key) => {
            let (secret, account) = (key.secret_access_key.clone(), key.account.clone());
            Ok((peer.clone(), PeerKey { secret, account }))
        }
        None => Err(Failure::new(format!(
            "the [[peer]] of region {} names key-id {:?}, and the credentials file has no such key for replication",
            peer.region, peer.key_id
        ))
        .advising("make one with `keywright credentials add --for replication`")),
    }
    };
    PeerServers::new(settings.iter().map(with_key).collect::<Result<_, _>>()?, simulates)
}

/// The engine's settings with the secrets and peers of a server.
fn with_secrets(
    config: &Config,
    engine_config: EngineConfig,
    servers: Option<&Arc<PeerServers>>,
) -> Result<EngineConfig, Failure> {
    let engine_config = EngineConfig { secrets: secrets(config)?, ..engine_config };
    Ok(match servers {
        Some(servers) => EngineConfig { peers: Arc::<PeerServers>::clone(servers), ..engine_config },
        None => engine_config,
    })
}

/// What requests know of the simulation, on a server that simulates.
fn desk(
    config: &Config,
    (links, servers): (&Arc<Links>, Option<&Arc<PeerServers>>),
    clock: &Arc<Clock>,
) -> Result<Option<Arc<simulation::Desk>>, Failure> {
    let elsewhere = servers.map(|servers| servers.regions()).unwrap_or_default();
    Ok(simulation::Desk::open(&config.simulation, (links, elsewhere), clock)?.map(Arc::new))
}

/// Refuses to serve tables in a region that another server owns.
fn check_regions(database: &Database) -> Result<(), Failure> {
    let Some(engine) = database.engine() else { return Ok(()) };
    let places = engine.places(PLACES_MAX);
    match places.iter().find(|(place, _)| engine.is_of_peer(&place.region)) {
        Some((place, count)) => Err(Failure::new(format!(
            "this server has {} in region {}, which a [[peer]] gives to another server",
            counted(u64::try_from(*count).unwrap_or(u64::MAX), "table"),
            place.region
        ))
        .advising("name a region without tables here, or delete these tables without the [[peer]]")),
        None => Ok(()),
    }
}

/// The ports of the API and the studio, and what they share.
struct Ports {
    bound: Bound,
    studio: Option<(StudioConfig, SocketAddr, Listener)>,
    /// `None` without TLS.
    tls: Option<(Arc<Tls>, Hangups)>,
}

impl Ports {
    fn take(config: &mut Config) -> Result<Self, Failure> {
        let tls = config.tls.take().map(Tls::open).transpose()?.map(Arc::new);
        let handshakes = tls.as_ref().map(|tls| tls.handshakes());
        let bound = Bound::new(config.address, handshakes.clone())?;
        let studio = config.studio.take().map(|own| {
            Bound::any_port(own.address, handshakes).map(|(address, listener)| (own, address, listener))
        });
        let studio = studio.transpose()?;
        let hangups = tls.is_some().then(Hangups::hear).transpose()?;
        let ports = Self { bound, studio, tls: tls.zip(hangups) };
        if config.credentials.is_some() || config.access.is_some() {
            ports.warn_of_plain(config.management.as_ref());
        }
        Ok(ports)
    }

    /// Warns of ports beyond this machine to which secrets are sent in the clear.
    fn warn_of_plain(&self, management: Option<&ManagementConfig>) {
        let studio = self.studio.iter().map(|(_, address, _)| *address);
        let plain = std::iter::once(self.bound.address()).chain(studio);
        let mut beyond = plain.filter(|address| !address.ip().is_loopback() && self.tls.is_none());
        if let Some(address) = beyond.next() {
            tracing::warn!(
                "{address} is reached without TLS: the network in between can read all items, and the secrets of \
                 new keys and sessions. Pass --tls-certificate and --tls-key, or put a proxy with TLS before \
                 this server and listen on loopback"
            );
        }
        if let Some(address) = management.map(|management| management.address)
            && !address.ip().is_loopback()
        {
            tracing::warn!(
                "the management port {address} has no TLS: a secret that is sent to it as a password can be \
                 read on the way. Let readers of the metrics sign their requests, or put a proxy with TLS \
                 before it"
            );
        }
    }
}

/// The audit log, which is opened before the database unless it lies in the data folder.
enum AuditStart {
    None,
    Started(Audit),
    InDataFolder(AuditSettings),
}

impl AuditStart {
    fn of(settings: Option<AuditSettings>) -> Result<Self, Failure> {
        match settings {
            None => Ok(Self::None),
            Some(settings) if settings.place == LogPlace::DataFolder => Ok(Self::InDataFolder(settings)),
            Some(settings) => Audit::start(settings, audit::Form::Plain).map(Self::Started),
        }
    }

    /// The log, once the database is open and its keys are known.
    fn within(self, database: &Database) -> Result<Option<Arc<Audit>>, Failure> {
        let audit = match self {
            Self::None => return Ok(None),
            Self::Started(audit) => audit,
            Self::InDataFolder(settings) => {
                let encrypted = database.encrypted().map(|folder| audit::Form::Encrypted(folder.keyring));
                Audit::start(settings, encrypted.unwrap_or(audit::Form::Plain))?
            }
        };
        Ok(Some(Arc::new(audit)))
    }
}

/// Warns of a server that verifies signatures, and of which nobody can have a key.
fn warn_of_nobody(authenticator: &Authenticator, database: &Database) {
    let has_users = database.engine().is_none_or(|engine| engine.user_count() > 0);
    if authenticator.verifies() && !authenticator.has_keys() && !has_users {
        tracing::warn!(
            "nobody can use this server: neither --credentials nor --access names a key, and the store has no user. Add \
             a user with a key to the access file, or make a root key with `keywright credentials`"
        );
    }
}

async fn apply(
    access: Option<&StartFile>,
    authenticator: &Authenticator,
    database: &Database,
) -> Result<(), Failure> {
    check_regions(database)?;
    if let Some(access) = access {
        access.apply(database).await?;
    }
    warn_of_nobody(authenticator, database);
    Ok(())
}

/// What is said of the ports once they are served.
struct Announced {
    banner: String,
    /// The URL of the API.
    endpoint: String,
    listening: Listening,
}

impl Announced {
    fn of(
        bound: &Bound,
        studio: Option<&(StudioConfig, SocketAddr, Listener)>,
        management: Option<&Management>,
        region: &str,
        (data, door, warnings): ((&Storage, Option<&str>), Door, &[String]),
    ) -> Self {
        let addresses = Addresses {
            api: bound.address(),
            secure: bound.secure(),
            studio: studio
                .map(|(own, address, _)| StudioLine { address: *address, wanted: own.address.port() }),
            management: management.map(Management::address),
        };
        let listening = Listening {
            api: bound.address(),
            studio: addresses.studio.map(|studio| banner::endpoint(studio.address, bound.secure())),
            management: addresses.management.map(|address| banner::endpoint(address, false)),
        };
        let endpoint = banner::endpoint(bound.address(), bound.secure());
        let banner = banner::serving(addresses, region, data, door, warnings);
        Self { banner, endpoint, listening }
    }
}

/// What encrypts the database, for people.
fn encrypted_by(config: &Config, encrypted: Option<&EncryptedFolder>) -> Option<String> {
    match &config.storage {
        Storage::Memory | Storage::Folder { .. } => encrypted.map(|folder| folder.source.shown()),
        Storage::Postgres { .. } | Storage::Tikv { .. } => config.keys.as_ref().map(KeySource::shown),
    }
}

/// Everything that can fail for other reasons comes before the store is opened: a failed start makes no data
/// folder.
async fn serve(mut config: Config, backend: Backend) -> Result<(), Failure> {
    let Signers { authenticator, peers, access, sessions } = Signers::read(&config)?;
    let kms = config.kms.take().map(kms::Client::new).transpose()?.map(Arc::new);
    let Ports { bound, studio, tls } = Ports::take(&mut config)?;
    // Before the banner is printed: a stop signal right after it must end the server cleanly too.
    let stop_signal = listener::stop_signal()?;
    let management = config.management.clone().map(Management::start).transpose()?;
    let audit = AuditStart::of(config.audit.take())?;
    let metrics = Arc::new(RequestMetrics::default());
    let servers = peers.as_ref().map(PeerDoor::servers);
    let engine_config = with_secrets(&config, engine_config(&config, &metrics), servers.as_ref())?;
    let lane = Arc::clone(&engine_config.lane);
    let clock = Arc::new(Clock::new(config.clock));
    let simulation = desk(&config, (&engine_config.links, servers.as_ref()), &clock)?;
    let database = Arc::new(Database::open(backend, engine_config, Arc::clone(&clock)).await?);
    let audit = audit.within(&database)?;
    apply(access.as_ref(), &authenticator, &database).await?;
    let door = looked_over(&database, authenticator.verifies());
    let (backups, buckets) = (backups(&config), Arc::new(Buckets::new(config.buckets.clone())));
    let targets = Arc::new(targets(&config, &buckets));
    let (deliveries, figures) = (Arc::default(), Arc::<Figures>::default());

    let ((moves, wishes), (stop, stopping)) = (mpsc::channel(1), watch::channel(false));
    let encrypted = database.encrypted();
    let encrypted_by = encrypted_by(&config, encrypted.as_ref());
    let parts = ServiceParts {
        database: Arc::clone(&database),
        backups: Arc::clone(&backups),
        kms,
        targets: Arc::clone(&targets),
        deliveries: Arc::clone(&figures),
        lane,
        metrics,
        authenticator,
        peers,
        sessions,
        is_secure: tls.is_some(),
        web_guard: config.web_guard,
        proxies: config.trusted_proxies,
        limits: config.limits,
        rates: RequestRates::new(&config.rates),
        request_log: config.request_log,
        audit,
        clock: clock.is_manual().then(|| Desk { clock, moves }),
        simulation: simulation.clone(),
    };
    let service = Arc::new(Service::new(parts, stopping.clone()));
    let heartbeat = Arc::new(Heartbeat::new());
    let data = (&config.storage, encrypted_by.as_deref());
    let warnings = warnings(door, simulation.as_deref());
    let region = region_to_try(&database, servers.as_deref());
    let Announced { banner, endpoint, listening } =
        Announced::of(&bound, studio.as_ref(), management.as_ref(), &region, (data, door, &warnings));
    let secure = bound.secure();
    let listener = bound.listen()?;
    if let Some(management) = &management {
        let delivered = (Arc::clone(&deliveries), Arc::clone(&figures));
        let overview =
            Overview::new(Arc::clone(&service), Arc::clone(&heartbeat), delivered, stopping.clone());
        let overview = overview.with_tls(tls.as_ref().map(|(tls, _)| Arc::clone(tls)));
        management.watch(Arc::new(overview));
    }
    let ready_file = config.ready_file.as_deref().map(|path| ReadyFile::write(path, &endpoint, &listening));
    let ready_file = ready_file.transpose()?;
    output::announce(banner);

    let mut tasks = Tasks::default();
    tasks.spawn("background work", timers::run(Arc::clone(&database), wishes, stopping.clone()));
    tasks.spawn("the peers", peering::run(Arc::clone(&database), servers, stopping.clone()));
    watch(&mut tasks, &database, &stopping);
    let stores = jobs::Stores { backups, buckets };
    tasks.spawn("the jobs", jobs::run(Arc::clone(&database), stores, config.backups, stopping.clone()));
    let delivering = destinations::run(Arc::clone(&database), config.kinesis, deliveries, stopping.clone());
    tasks.spawn("the deliveries to Kinesis", delivering);
    let tools = triggers::Tools::new(Arc::clone(&database), targets, figures);
    tasks.spawn("the triggers", triggers::run(Arc::new(tools), config.triggers.sections, stopping.clone()));
    tasks.spawn("the watch over the simulation's file", simulation::run(simulation, stopping.clone()));
    tasks.spawn("the heartbeat", heartbeat.run(stopping.clone()));
    if let Some((tls, hangups)) = tls {
        tasks.spawn("the watch over the TLS files", tls::run(tls, hangups, stopping.clone()));
    }
    if let Some((own, _, listener)) = studio {
        let api: Arc<dyn Api> = service.clone();
        let surroundings = Surroundings {
            endpoint,
            secure,
            storage: config.storage.shown(),
            limits: config.limits,
            version: LONG_VERSION,
            model_form: model_form(encrypted),
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

/// Starts what watches over the store and over memory.
fn watch(tasks: &mut Tasks, database: &Arc<Database>, stopping: &watch::Receiver<bool>) {
    tasks.spawn("the watch over the store", recovery::run(Arc::clone(database), stopping.clone()));
    tasks.spawn("the watch over outages", outages::run(Arc::clone(database), stopping.clone()));
    tasks.spawn("the scrub", scrub::run(Arc::clone(database), stopping.clone()));
    tasks.spawn("the watch over memory", huge_pages::run(stopping.clone()));
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
    if let Some(audit) = service.audit()
        && tokio::time::timeout(Duration::from_secs(AUDIT_FINISH_SECONDS_MAX), audit.finish()).await.is_err()
    {
        tracing::warn!(
            "the audit log was still being written after {AUDIT_FINISH_SECONDS_MAX} seconds: its last records \
             may be missing"
        );
    }
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

/// The region of the line to copy.
fn region_to_try(database: &Database, servers: Option<&PeerServers>) -> String {
    let places = database.engine().map(|engine| engine.places(PLACES_MAX)).unwrap_or_default();
    let with_tables: Vec<String> = places.iter().map(|(place, _)| place.region.as_str().to_owned()).collect();
    let is_of_peer = |region: &str| servers.is_some_and(|servers| servers.owns(region));
    banner::region_to_try(&with_tables, is_of_peer).to_owned()
}

/// What the banner warns of.
fn warnings(door: Door, simulation: Option<&simulation::Desk>) -> Vec<String> {
    let is_acting = simulation.is_some_and(simulation::Desk::is_acting);
    door.warning().into_iter().chain(is_acting.then(|| simulation::ACTING.to_owned())).collect()
}

/// Who may send requests. Warns of what is in the store and not as it should be, and of users whom nobody
/// judges.
fn looked_over(database: &Database, verifies: bool) -> Door {
    warn_of_places(database);
    if verifies {
        return Door::Closed;
    }
    let door = Door::Open { users: database.engine().map_or(0, |engine| engine.user_count()) };
    if let Some(warning) = door.warning() {
        tracing::warn!("{warning}");
    }
    door
}

/// How the studio's files in the data folder lie on disk.
fn model_form(encrypted: Option<EncryptedFolder>) -> Arc<dyn FileForm> {
    match encrypted {
        Some(folder) => folder.models,
        None => Arc::new(PlainFiles::default()),
    }
}

/// Warns of tables that ask for encryption in a store that is not encrypted, and of a folder that a command
/// has left next to it.
fn warn_of_plain_data(database: &Database) {
    let tables = database.engine().map_or(0, |engine| engine.tables_with_key());
    let asking = format!("tables that ask for encryption (SSESpecification): {tables};");
    if tables > 0 && database.sharing().is_some() {
        tracing::warn!(
            "{asking} a shared store has the items as they are, also with --require-encryption: encrypt its disks"
        );
    }
    let Some(folder) = database.folder() else { return };
    if tables > 0 && database.encrypted().is_none() {
        tracing::warn!("{asking} the data folder is not encrypted: run `keywright encryption enable`");
    }
    if let Some(left) = swap::left_of(folder) {
        tracing::warn!(
            "{} is what an interrupted `keywright encryption enable` or `disable` has left of the folder: run it \
             again",
            left.display()
        );
    }
}

/// Warns of tables that no request can name, of those that this release does not serve, and of data that is
/// not encrypted and should be.
fn warn_of_places(database: &Database) {
    warn_of_unreachable(database);
    warn_of_refused(database);
    warn_of_plain_data(database);
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
