//! The settings of one server. Flags override the environment, the environment overrides the file, and the
//! rest are defaults.
//! They are validated once.
//!
//! It opens no file but the configuration file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use keywright_engine::{BranchLimits, CountedTogether, Guarding, ThroughputConfig};
use serde::Deserialize;

use super::arguments::{
    ClockArguments, DurabilityArgument, EncryptionArguments, LimitArguments, OwnPort, ServeArguments,
    SimulationArguments, StudioArguments, WatchArguments, host,
};
use super::backups::{self, Backups, InFile, ScheduleInFile};
use super::buckets::{self, ObjectStores, StoreArguments};
use super::encryption;
use super::kinesis::{self, KinesisArguments};
use super::kms::{self, KmsArguments};
use super::peers::{self, PeerInFile};
use super::replication::{Given, ReplicationSettings};
use super::s3::{S3Arguments, Secrets};
use super::storage::{Place, STORE, Storage, chosen};
use super::throughput;
use super::tls::{self, TlsArguments, TlsFiles};
use super::triggers::{self, TriggerInFile, Triggers};
use crate::audit::{AuditSettings, DataEvents, LogPlace};
use crate::clock::{ClockSetting, ManualStart, Pace};
use crate::connection::hosts::AllowedHosts;
use crate::http::proxies::TrustedProxies;
use crate::http::request_log::RequestLog;
use crate::http::request_rates::AccountRate;
use crate::http::web_guard::{HostCheck, Origins, WebGuard};
use crate::limits::{self, Limits, PerAddress};
use crate::management::ManagementConfig;
use crate::outgoing::json_service::ServiceSettings;
use crate::peers::PeerSettings;
use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::process::log::{LogFormat, LogSettings};
use crate::simulation::{Reach, SimulationSetting};
use crate::storage::buckets::BucketSettings;
use crate::storage::encryption::source::KeySource;
use crate::storage::encryption::swap::BACKUPS;
use crate::storage::encryption::{census, model_files};
use crate::storage::scrub::ScrubSetting;
use crate::storage::store_url::{Password, StoreUrl};
use crate::studio::{ModelsIn, StudioConfig};

const DEFAULT_FILE: &str = "keywright.toml";
const DEFAULT_PORT: u16 = 8000;
pub(crate) const DEFAULT_MANAGEMENT_PORT: u16 = 8200;
const DEFAULT_STUDIO_PORT: u16 = 8100;
const DEFAULT_CACHE_MIB: u64 = 64;
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// Shorter shards cost more than they serve: every change of shards waits for the table's writers.
const STREAM_SHARD_MS_MIN: u64 = 100;
/// Size of the block cache by default.
pub(crate) const DEFAULT_CACHE_BYTES: u64 = DEFAULT_CACHE_MIB * MIB;

/// Everything `serve` needs. Invariant: without credentials the address is loopback, unless
/// `--allow-anonymous-network` is set.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) address: SocketAddr,
    /// Where to write the address once requests are accepted.
    pub(crate) ready_file: Option<PathBuf>,
    pub(crate) storage: Storage,
    /// `None` if nobody has set it.
    pub(crate) scrub: Option<ScrubSetting>,
    pub(crate) credentials: Option<PathBuf>,
    /// The file of users that is applied at start.
    pub(crate) access: Option<PathBuf>,
    /// `None` for the key in the store.
    pub(crate) session_token_key: Option<PathBuf>,
    /// Which web pages and which `Host` names are admitted.
    pub(crate) web_guard: WebGuard,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) throughput: ThroughputConfig,
    pub(crate) clock: ClockSetting,
    /// Whether replication can be simulated, and from where requests may change that.
    pub(crate) simulation: (SimulationSetting, Reach),
    pub(crate) transition_ms: u64,
    pub(crate) replication: ReplicationSettings,
    /// The servers that own other regions.
    pub(crate) peers: Vec<PeerSettings>,
    pub(crate) policy_change_wait_ms: u64,
    pub(crate) guarding: Guarding,
    pub(crate) gone_ms: Option<u64>,
    /// How long a stream shard stays open; `None` for the engine's default.
    pub(crate) stream_shard_ms: Option<u64>,
    /// How long after its expiry time an item is deleted; `None` for the engine's default.
    pub(crate) ttl_delay_ms: Option<u64>,
    pub(crate) strict_metrics: bool,
    pub(crate) limits: Limits,
    /// Of the accounts that have one.
    pub(crate) rates: Vec<AccountRate>,
    pub(crate) branches: BranchLimits,
    pub(crate) backups: Backups,
    pub(crate) buckets: BucketSettings,
    /// `None` if no Kinesis is named.
    pub(crate) kinesis: Option<ServiceSettings>,
    /// Where the key of the data folder comes from; `None` if it is not encrypted.
    pub(crate) keys: Option<KeySource>,
    /// `None` if no KMS is named.
    pub(crate) kms: Option<crate::kms::Settings>,
    pub(crate) triggers: Triggers,
    /// `None` if it is off.
    pub(crate) management: Option<ManagementConfig>,
    /// `None` if it is off.
    pub(crate) studio: Option<StudioConfig>,
    pub(crate) request_log: Option<RequestLog>,
    /// `None` if there is no audit log.
    pub(crate) audit: Option<AuditSettings>,
    pub(crate) log: LogSettings,
}

/// The configuration file. Its keys are the names of the flags, with hyphens or underscores.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(alias = "host")]
    host: Option<String>,
    port: Option<u16>,
    #[serde(rename = "ready-file", alias = "ready_file")]
    ready: Option<PathBuf>,
    #[serde(alias = "management_port")]
    management_port: Option<PortInFile>,
    #[serde(alias = "management_host")]
    management_host: Option<String>,
    #[serde(alias = "studio_port")]
    studio_port: Option<PortInFile>,
    #[serde(alias = "studio_host")]
    studio_host: Option<String>,
    #[serde(alias = "studio_read_only")]
    studio_read_only: Option<bool>,
    models: Option<PathBuf>,
    #[serde(alias = "request_log")]
    request_log: Option<String>,
    #[serde(alias = "audit_log")]
    audit_log: Option<PathBuf>,
    #[serde(default, alias = "audit_data")]
    audit_data: Vec<String>,
    #[serde(alias = "audit_keep")]
    audit_keep: Option<String>,
    #[serde(alias = "audit_required")]
    audit_required: Option<bool>,
    #[serde(alias = "log_level")]
    log_level: Option<String>,
    #[serde(alias = "log_format")]
    log_format: Option<String>,
    data: Option<PathBuf>,
    #[serde(alias = "in_memory")]
    in_memory: Option<bool>,
    store: Option<String>,
    #[serde(rename = "store-password-file", alias = "store_password_file")]
    store_password: Option<PathBuf>,
    durability: Option<String>,
    #[serde(alias = "cache_mib")]
    cache_mib: Option<u64>,
    scrub: Option<String>,
    credentials: Option<PathBuf>,
    access: Option<PathBuf>,
    #[serde(alias = "session_token_key")]
    session_token_key: Option<PathBuf>,
    #[serde(alias = "allow_anonymous_network")]
    allow_anonymous_network: Option<bool>,
    #[serde(default, alias = "cors_origin")]
    cors_origin: Vec<String>,
    #[serde(default, alias = "allowed_host")]
    allowed_host: Vec<String>,
    #[serde(default, alias = "trusted_proxy")]
    trusted_proxy: Vec<String>,
    #[serde(alias = "tls_certificate")]
    tls_certificate: Option<PathBuf>,
    #[serde(alias = "tls_key")]
    tls_key: Option<PathBuf>,
    #[serde(alias = "tls_client_ca")]
    tls_client_ca: Option<PathBuf>,
    #[serde(alias = "tls_client_auth")]
    tls_client_auth: Option<String>,
    #[serde(alias = "transition_ms")]
    transition_ms: Option<u64>,
    #[serde(alias = "source_region_hours")]
    source_region_hours: Option<u32>,
    #[serde(alias = "replication_verify_hours")]
    replication_verify_hours: Option<u32>,
    #[serde(alias = "replication_backlog_mib")]
    replication_backlog_mib: Option<u32>,
    #[serde(alias = "replica_lost_days")]
    replica_lost_days: Option<u32>,
    #[serde(default)]
    peer: Vec<PeerInFile>,
    #[serde(alias = "policy_change_wait_ms")]
    policy_change_wait_ms: Option<u64>,
    #[serde(alias = "strict_metrics")]
    strict_metrics: Option<bool>,
    #[serde(alias = "ttl_delay_ms")]
    ttl_delay_ms: Option<u64>,
    #[serde(alias = "stream_shard_ms")]
    stream_shard_ms: Option<u64>,
    throttle: Option<String>,
    #[serde(alias = "time_scale")]
    time_scale: Option<String>,
    clock: Option<String>,
    simulate: Option<SimulateInFile>,
    #[serde(alias = "simulate_beyond_loopback")]
    simulate_beyond_loopback: Option<bool>,
    #[serde(alias = "burst_start_s")]
    burst_start_s: Option<u64>,
    #[serde(default)]
    throughput: throughput::Section,
    #[serde(default)]
    quotas: throughput::Quotas,
    #[serde(alias = "connections_max")]
    connections_max: Option<usize>,
    #[serde(alias = "connections_per_address")]
    connections_per_address: Option<u32>,
    #[serde(alias = "requests_per_address")]
    requests_per_address: Option<u32>,
    #[serde(default, alias = "requests_per_second")]
    requests_per_second: Vec<String>,
    #[serde(alias = "body_budget_mib")]
    body_budget_mib: Option<u64>,
    #[serde(alias = "decode_budget_mib")]
    decode_budget_mib: Option<u64>,
    #[serde(alias = "answer_budget_mib")]
    answer_budget_mib: Option<u64>,
    #[serde(rename = "backup-to", alias = "backup_to")]
    backup_place: Option<String>,
    #[serde(alias = "pitr_default")]
    pitr_default: Option<bool>,
    #[serde(alias = "pitr_lag_ms")]
    pitr_lag_ms: Option<u64>,
    #[serde(alias = "export_min_window_ms")]
    export_min_window_ms: Option<u64>,
    #[serde(alias = "job_threads")]
    job_threads: Option<usize>,
    #[serde(alias = "job_memory_mib")]
    job_memory_mib: Option<u64>,
    #[serde(alias = "load_rate")]
    load_rate: Option<u64>,
    #[serde(default, alias = "backup_schedule")]
    backup_schedule: Vec<ScheduleInFile>,
    #[serde(alias = "s3_endpoint")]
    s3_endpoint: Option<String>,
    #[serde(alias = "s3_region")]
    s3_region: Option<String>,
    #[serde(alias = "s3_access_key_id")]
    s3_access_key_id: Option<String>,
    #[serde(alias = "s3_secret_access_key")]
    s3_secret_access_key: Option<String>,
    #[serde(alias = "s3_session_token")]
    s3_session_token: Option<String>,
    #[serde(alias = "s3_allow_http")]
    s3_allow_http: Option<bool>,
    #[serde(alias = "s3_virtual_host")]
    s3_virtual_host: Option<bool>,
    #[serde(alias = "s3_folder")]
    s3_folder: Option<PathBuf>,
    #[serde(default, alias = "s3_buckets")]
    s3_buckets: Vec<String>,
    #[serde(default)]
    s3: buckets::Sections,
    #[serde(alias = "kinesis_endpoint")]
    kinesis_endpoint: Option<String>,
    #[serde(alias = "kinesis_region")]
    kinesis_region: Option<String>,
    #[serde(alias = "kinesis_access_key_id")]
    kinesis_access_key_id: Option<String>,
    #[serde(alias = "kinesis_secret_access_key")]
    kinesis_secret_access_key: Option<String>,
    #[serde(alias = "kinesis_session_token")]
    kinesis_session_token: Option<String>,
    #[serde(alias = "kinesis_allow_http")]
    kinesis_allow_http: Option<bool>,
    #[serde(rename = "encryption-key-file", alias = "encryption_key_file")]
    encryption_key: Option<PathBuf>,
    #[serde(alias = "encryption_key_command")]
    encryption_key_command: Option<String>,
    #[serde(alias = "require_encryption")]
    require_encryption: Option<bool>,
    #[serde(alias = "plain_backups")]
    plain_backups: Option<bool>,
    #[serde(alias = "plain_exports")]
    plain_exports: Option<bool>,
    #[serde(alias = "kms_key_id")]
    kms_key_id: Option<String>,
    #[serde(alias = "kms_endpoint")]
    kms_endpoint: Option<String>,
    #[serde(alias = "kms_region")]
    kms_region: Option<String>,
    #[serde(alias = "kms_allow_http")]
    kms_allow_http: Option<bool>,
    #[serde(alias = "lambda_endpoint")]
    lambda_endpoint: Option<String>,
    #[serde(alias = "lambda_access_key_id")]
    lambda_access_key_id: Option<String>,
    #[serde(default, alias = "trigger_hosts")]
    trigger_hosts: Vec<String>,
    #[serde(default)]
    trigger: Vec<TriggerInFile>,
    #[serde(alias = "branches_per_account")]
    branches_per_account: Option<usize>,
    #[serde(alias = "branch_mib_per_account")]
    branch_mib_per_account: Option<u64>,
}

/// Whether replication can be simulated, or the file that says how.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SimulateInFile {
    Switch(bool),
    File(PathBuf),
}

impl SimulateInFile {
    fn read(self) -> SimulationSetting {
        match self {
            Self::Switch(true) => SimulationSetting::Zero,
            Self::Switch(false) => SimulationSetting::Off,
            Self::File(path) => SimulationSetting::File(path),
        }
    }
}

/// A port as a number, or a word.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PortInFile {
    Number(u16),
    Word(String),
}

impl PortInFile {
    fn read(&self, setting: &str) -> Result<OwnPort, Failure> {
        match self {
            Self::Number(port) => Ok(OwnPort::Port(*port)),
            Self::Word(word) => word.parse().map_err(|fault| Failure::new(format!("{setting}: {fault}"))),
        }
    }
}

impl File {
    fn read(named: Option<&Path>) -> Result<Self, Failure> {
        let path = named.unwrap_or(Path::new(DEFAULT_FILE));
        if named.is_none() && !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path).map_err(failed("read the configuration file", path))?;
        toml::from_str(&text).map_err(|error| {
            Failure::new(format!("the configuration file {} is not valid:\n{error}", path.display()))
        })
    }

    fn backups(&mut self) -> InFile {
        InFile {
            to: self.backup_place.take(),
            plain_backups: self.plain_backups,
            plain_exports: self.plain_exports,
            pitr_default: self.pitr_default,
            pitr_lag_ms: self.pitr_lag_ms,
            export_min_window_ms: self.export_min_window_ms,
            job_threads: self.job_threads,
            job_memory_mib: self.job_memory_mib,
            load_rate: self.load_rate,
            schedules: std::mem::take(&mut self.backup_schedule),
        }
    }

    fn stores(&mut self) -> buckets::InFile {
        let s3 = S3Arguments {
            s3_endpoint: self.s3_endpoint.take(),
            s3_region: self.s3_region.take(),
            s3_access_key_id: self.s3_access_key_id.take(),
            s3_allow_http: self.s3_allow_http,
            s3_virtual_host: self.s3_virtual_host,
        };
        let (s3_folder, s3_buckets) = (self.s3_folder.take(), std::mem::take(&mut self.s3_buckets));
        buckets::InFile {
            arguments: StoreArguments { s3, s3_folder, s3_buckets },
            secrets: Secrets {
                secret_access_key: self.s3_secret_access_key.take(),
                session_token: self.s3_session_token.take(),
            },
            sections: std::mem::take(&mut self.s3),
        }
    }

    fn kinesis(&mut self) -> kinesis::InFile {
        kinesis::InFile {
            arguments: KinesisArguments {
                kinesis_endpoint: self.kinesis_endpoint.take(),
                kinesis_region: self.kinesis_region.take(),
                kinesis_access_key_id: self.kinesis_access_key_id.take(),
                kinesis_allow_http: self.kinesis_allow_http,
            },
            secret_access_key: self.kinesis_secret_access_key.take(),
            session_token: self.kinesis_session_token.take(),
        }
    }

    fn tls(&mut self) -> Result<TlsArguments, Failure> {
        Ok(TlsArguments {
            tls_certificate: self.tls_certificate.take(),
            tls_key: self.tls_key.take(),
            tls_client_ca: self.tls_client_ca.take(),
            tls_client_auth: tls::auth_in_file(self.tls_client_auth.as_deref())?,
        })
    }

    fn encryption(&mut self) -> EncryptionArguments {
        EncryptionArguments {
            encryption_key_file: self.encryption_key.take(),
            encryption_key_command: self.encryption_key_command.take(),
            kms_key_id: self.kms_key_id.take(),
        }
    }

    fn kms(&mut self) -> KmsArguments {
        KmsArguments {
            kms_endpoint: self.kms_endpoint.take(),
            kms_region: self.kms_region.take(),
            kms_allow_http: self.kms_allow_http,
        }
    }

    fn triggers(&mut self) -> triggers::InFile {
        triggers::InFile {
            lambda_endpoint: self.lambda_endpoint.take(),
            lambda_access_key_id: self.lambda_access_key_id.take(),
            trigger_hosts: std::mem::take(&mut self.trigger_hosts),
            sections: std::mem::take(&mut self.trigger),
        }
    }

    fn durability(&self) -> Result<Option<DurabilityArgument>, Failure> {
        match self.durability.as_deref() {
            None => Ok(None),
            Some("synced") => Ok(Some(DurabilityArgument::Synced)),
            Some("relaxed") => Ok(Some(DurabilityArgument::Relaxed)),
            Some(other) => Err(Failure::new(format!(
                "durability = \"{other}\" is not known: write \"synced\" or \"relaxed\""
            ))),
        }
    }
}

fn replication(arguments: &ServeArguments, file: &File) -> ReplicationSettings {
    ReplicationSettings::of(Given {
        source_region_hours: arguments.source_region_hours.or(file.source_region_hours),
        verify_hours: arguments.replication_verify_hours.or(file.replication_verify_hours),
        backlog_mib: arguments.replication_backlog_mib.or(file.replication_backlog_mib),
        lost_days: arguments.replica_lost_days.or(file.replica_lost_days),
    })
}

impl Config {
    pub(crate) fn merge(arguments: ServeArguments) -> Result<Self, Failure> {
        let mut file = File::read(arguments.config.as_deref())?;
        let durability = arguments.durability.or(file.durability()?).unwrap_or(DurabilityArgument::Synced);
        let limits = limits_of(&arguments.limits, &file)?;
        let rates = rates(&arguments.limits, &file)?;
        let replication = replication(&arguments, &file);
        let host = first(arguments.host, file.host.as_deref(), host)?.unwrap_or(LOOPBACK);
        let mut watching = Watching::merge(&arguments.watching, &file)?;
        let credentials = arguments.credentials.or(file.credentials.take());
        let allowed = arguments.allow_anonymous_network.or(file.allow_anonymous_network).unwrap_or(false);
        let access = arguments.access.or(file.access.take());
        let verifies = credentials.is_some() || access.is_some();
        let session_token_key = arguments.session_token_key.or(file.session_token_key.take());
        check_session_key(session_token_key.as_deref(), verifies)?;
        let consent = Consent { verifies, anonymous: allowed };
        check_exposure(host, consent)?;
        let flags = Place { in_memory: arguments.in_memory, data: arguments.data, store: arguments.store };
        let in_file = Place { in_memory: file.in_memory, data: file.data.take(), store: file.store.take() };
        let password_files = (arguments.store_password_file, file.store_password.take());
        let sizes = (arguments.cache_mib.or(file.cache_mib), arguments.write_buffer_kib);
        let chosen = chosen([flags, Place::of_variables()?, in_file])?;
        let storage = storage(chosen, password_files, durability, sizes)?;
        let scrub = first(arguments.scrub, file.scrub.as_deref(), str::parse)
            .map_err(|fault| Failure::new(format!("scrub: {fault}")))?;
        let clock = clock(arguments.clock, &file, &storage)?;
        let simulation = simulation(arguments.simulation, &mut file, (host, &storage))?;
        let address = SocketAddr::new(host, arguments.port.or(file.port).unwrap_or(DEFAULT_PORT));
        let peers = peers(&mut file, (credentials.is_some(), &clock), address)?;
        let stores = ObjectStores::merge(arguments.stores, file.stores());
        let kms = kms::merge(arguments.kms, file.kms())?;
        let keys = encryption::merge(&arguments.encryption, &file.encryption(), kms.as_ref(), &storage)?;
        let is_required = arguments.require_encryption.or(file.require_encryption).unwrap_or(false);
        encryption::check_required(is_required, keys.as_ref(), &storage)?;
        let audit = watching.audit.take().map(|audit| placed(audit, &storage)).transpose()?;
        let backed_up = (&storage, keys.is_some());
        let backups = backups::merge(&arguments.backups, file.backups(), backed_up, &stores)?;
        let buckets = stores.buckets()?;
        let kinesis = kinesis::merge(&arguments.kinesis, &file.kinesis())?;
        let tls = tls::merge(arguments.tls, file.tls()?)?;
        let triggers = triggers::merge(arguments.triggers, file.triggers())?;
        let branches = branch_limits(&arguments.limits, &file, verifies);
        let allowed_hosts = first_given(arguments.allowed_host, std::mem::take(&mut file.allowed_host));
        let management = watching.management(&allowed_hosts)?;
        let studio = studio(arguments.studio, &file, (host, &storage), consent, &allowed_hosts)?;
        let web_guard = WebGuard::new(
            Origins::new(&first_given(arguments.cors_origin, file.cors_origin), verifies)?,
            AllowedHosts::new(host, &allowed_hosts)?,
            HostCheck::of(host, verifies),
        );
        let proxies = first_given(arguments.trusted_proxy, std::mem::take(&mut file.trusted_proxy));
        Ok(Self {
            address,
            ready_file: arguments.ready_file.or(file.ready),
            storage,
            scrub,
            web_guard,
            trusted_proxies: TrustedProxies::new(&proxies)?,
            credentials,
            access,
            session_token_key,
            tls,
            throughput: throughput::merge(
                &arguments.throughput,
                file.throttle.as_deref(),
                file.burst_start_s,
                (file.throughput, file.quotas),
            )?,
            clock,
            simulation,
            transition_ms: arguments.transition_ms.or(file.transition_ms).unwrap_or(0),
            replication,
            peers,
            guarding: if arguments.guard_slots { Guarding::Slots } else { Guarding::ByStore },
            gone_ms: arguments.gone_ms,
            policy_change_wait_ms: arguments
                .policy_change_wait_ms
                .or(file.policy_change_wait_ms)
                .unwrap_or(0),
            ttl_delay_ms: arguments.ttl_delay_ms.or(file.ttl_delay_ms),
            strict_metrics: arguments.strict_metrics.or(file.strict_metrics).unwrap_or(false),
            stream_shard_ms: shard_time(arguments.stream_shard_ms.or(file.stream_shard_ms))?,
            limits,
            rates,
            branches,
            backups,
            buckets,
            kinesis,
            keys,
            kms,
            triggers,
            management,
            studio,
            request_log: watching.request_log,
            audit,
            log: watching.log,
        })
    }
}

fn storage(
    chosen: StoreUrl,
    (given, in_file): (Option<PathBuf>, Option<PathBuf>),
    durability: DurabilityArgument,
    sizes: (Option<u64>, Option<u64>),
) -> Result<Storage, Failure> {
    if given.is_some() && !matches!(chosen, StoreUrl::Postgres(_)) {
        return Err(Failure::new(
            "--store-password-file is the password of a PostgreSQL, and --store names none: give --store, or leave \
             it out",
        ));
    }
    Ok(match chosen {
        StoreUrl::Memory => Storage::Memory,
        StoreUrl::Postgres(url) => {
            let password = Password::find(STORE, given.or(in_file).as_deref())?;
            Storage::Postgres { url, password }
        }
        StoreUrl::Tikv(url) => Storage::Tikv { url },
        StoreUrl::Folder(path) => folder(path, durability, sizes),
    })
}

/// A data folder with its memory.
fn folder(path: PathBuf, durability: DurabilityArgument, sizes: (Option<u64>, Option<u64>)) -> Storage {
    let (cache_mib, write_buffer_kib) = sizes;
    let write_buffer_bytes = write_buffer_kib.map(|kib| kib.saturating_mul(KIB));
    let cache_bytes = cache_mib.unwrap_or(DEFAULT_CACHE_MIB).saturating_mul(MIB);
    Storage::Folder { path, durability, cache_bytes, write_buffer_bytes }
}

/// The servers that own other regions.
fn peers(
    file: &mut File,
    (has_credentials, clock): (bool, &ClockSetting),
    address: SocketAddr,
) -> Result<Vec<PeerSettings>, Failure> {
    let surroundings = peers::Surroundings { has_credentials, clock, address };
    peers::read(std::mem::take(&mut file.peer), surroundings)
}

/// How the engine's clock goes. Servers that share a store must agree on the time: theirs is the machine's.
fn clock(arguments: ClockArguments, file: &File, storage: &Storage) -> Result<ClockSetting, Failure> {
    let pace: Option<Pace> = first(arguments.time_scale, file.time_scale.as_deref(), str::parse)
        .map_err(|fault| Failure::new(format!("time-scale: {fault}")))?;
    let start: Option<ManualStart> = first(arguments.clock, file.clock.as_deref(), str::parse)
        .map_err(|fault| Failure::new(format!("clock: {fault}")))?;
    let setting = match (pace, start) {
        (Some(_), Some(_)) => {
            return Err(Failure::new("time-scale and clock exclude each other: choose one"));
        }
        (Some(pace), None) => ClockSetting::Paced(pace),
        (None, Some(start)) => ClockSetting::Manual(start),
        (None, None) => return Ok(ClockSetting::Machine),
    };
    if matches!(storage, Storage::Postgres { .. } | Storage::Tikv { .. }) {
        return Err(Failure::new(
            "several servers may share this store, and must agree on the time: \
                    leave out time-scale and clock, or choose --data or --in-memory",
        ));
    }
    Ok(setting)
}

/// Whether replication can be simulated, and from where requests may change that.
fn simulation(
    arguments: SimulationArguments,
    file: &mut File,
    (host, storage): (IpAddr, &Storage),
) -> Result<(SimulationSetting, Reach), Failure> {
    let in_file = file.simulate.take().map(SimulateInFile::read);
    let setting = arguments.simulate.or(in_file).unwrap_or_default();
    let beyond = arguments.simulate_beyond_loopback.or(file.simulate_beyond_loopback);
    let reach = if beyond == Some(true) { Reach::Network } else { Reach::Machine };
    if setting == SimulationSetting::Off {
        return Ok((setting, reach));
    }
    if matches!(storage, Storage::Postgres { .. } | Storage::Tikv { .. }) {
        return Err(Failure::new(
            "several servers may share this store, and one of them cannot simulate faults for the others: leave \
             out simulate, or choose --data or --in-memory",
        ));
    }
    if !host.is_loopback() && reach == Reach::Machine {
        return Err(Failure::new(format!(
            "refusing to simulate faults on {host}: anyone who reaches the port could hold back replication. Leave \
             out --simulate, or, on a network you trust, pass --simulate-beyond-loopback."
        )));
    }
    Ok((setting, reach))
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The settings of `WatchArguments`, merged.
struct Watching {
    port: OwnPort,
    port_is_named: bool,
    host: IpAddr,
    request_log: Option<RequestLog>,
    audit: Option<AuditSettings>,
    log: LogSettings,
}

impl Watching {
    fn merge(arguments: &WatchArguments, file: &File) -> Result<Self, Failure> {
        let port = match (arguments.management_port, &file.management_port) {
            (Some(port), _) => port,
            (None, Some(port)) => port.read("management-port")?,
            (None, None) => OwnPort::Port(DEFAULT_MANAGEMENT_PORT),
        };
        let named = |name: &str| {
            let name = name.to_owned();
            move |fault: Failure| Failure::new(format!("{name}: {fault}"))
        };
        let level =
            first(arguments.log_level, file.log_level.as_deref(), |text| ValueEnum::from_str(text, true));
        let format =
            first(arguments.log_format, file.log_format.as_deref(), |text| ValueEnum::from_str(text, true));
        let request_log = first(arguments.request_log, file.request_log.as_deref(), str::parse);
        Ok(Self {
            port,
            port_is_named: arguments.management_port.is_some() || file.management_port.is_some(),
            host: first(arguments.management_host, file.management_host.as_deref(), host)?
                .unwrap_or(LOOPBACK),
            request_log: request_log.map_err(named("request-log"))?,
            audit: audit(arguments, file)?,
            log: LogSettings {
                level: level.map_err(named("log-level"))?,
                format: format.map_err(named("log-format"))?.unwrap_or(LogFormat::Text),
            },
        })
    }

    /// Nothing on this port is signed, so pages are judged as on an API port without credentials.
    fn management(&self, allowed_hosts: &[String]) -> Result<Option<ManagementConfig>, Failure> {
        let OwnPort::Port(port) = self.port else { return Ok(None) };
        let web_guard = WebGuard::new(
            Origins::new(&[], false)?,
            AllowedHosts::new(self.host, allowed_hosts)?,
            HostCheck::of(self.host, false),
        );
        let address = SocketAddr::new(self.host, port);
        Ok(Some(ManagementConfig { address, web_guard, port_is_named: self.port_is_named }))
    }
}

/// The audit log. Its other settings mean nothing without a file, so they are refused then.
fn audit(arguments: &WatchArguments, file: &File) -> Result<Option<AuditSettings>, Failure> {
    let named = |name: &'static str| move |fault: Failure| Failure::new(format!("{name}: {fault}"));
    let words = first_given(arguments.audit_data.clone(), file.audit_data.clone());
    let data = DataEvents::of(&words).map_err(|fault| Failure::new(format!("audit-data: {fault}")))?;
    let keep = first(arguments.audit_keep, file.audit_keep.as_deref(), str::parse);
    let keep = keep.map_err(named("audit-keep"))?;
    let is_required = arguments.audit_required.or(file.audit_required).unwrap_or(false);
    let Some(log) = arguments.audit_log.clone().or_else(|| file.audit_log.clone()) else {
        let others = [
            (data != DataEvents::None, "audit-data"),
            (keep.is_some(), "audit-keep"),
            (is_required, "audit-required"),
        ];
        return match others.iter().find(|(is_given, _)| *is_given) {
            None => Ok(None),
            Some((_, name)) => Err(Failure::new(format!("{name} needs a log: add audit-log FILE"))),
        };
    };
    let file_bytes_max =
        arguments.audit_file_kib.map_or(limits::AUDIT_FILE_BYTES_MAX, |kib| kib.saturating_mul(1_024));
    let keep = keep.unwrap_or_default();
    Ok(Some(AuditSettings { file: log, place: LogPlace::Apart, data, keep, is_required, file_bytes_max }))
}

/// Finds out whether the log lies in the data folder, and refuses names there that are the database's.
fn placed(audit: AuditSettings, storage: &Storage) -> Result<AuditSettings, Failure> {
    let Storage::Folder { path, .. } = storage else { return Ok(audit) };
    let whole = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        std::fs::canonicalize(&absolute).unwrap_or(absolute)
    };
    let folder = audit.file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let log = whole(folder.unwrap_or(Path::new("."))).join(audit.file.file_name().unwrap_or_default());
    let Ok(within) = log.strip_prefix(whole(path)) else { return Ok(audit) };
    let first = within.iter().next().unwrap_or_default().to_string_lossy();
    if census::is_of_database(&first) || [model_files::FOLDER, BACKUPS].contains(&&*first) {
        return Err(Failure::new(format!(
            "the audit log {} would be among the files of the database: take another name than {first}",
            audit.file.display()
        )));
    }
    Ok(AuditSettings { place: LogPlace::DataFolder, ..audit })
}

/// The studio is on while the API listens on loopback. Beyond, it must be given an address: no server opens
/// pages to a network by accident.
fn studio(
    arguments: StudioArguments,
    file: &File,
    (api_host, storage): (IpAddr, &Storage),
    consent: Consent,
    allowed_hosts: &[String],
) -> Result<Option<StudioConfig>, Failure> {
    let named_port = match (arguments.studio_port, &file.studio_port) {
        (Some(port), _) => Some(port),
        (None, Some(port)) => Some(port.read("studio-port")?),
        (None, None) => None,
    };
    let named = first(arguments.studio_host, file.studio_host.as_deref(), host)?;
    let OwnPort::Port(port) = named_port.unwrap_or(OwnPort::Port(DEFAULT_STUDIO_PORT)) else {
        return Ok(None);
    };
    let host = match named {
        Some(host) => host,
        None if api_host.is_loopback() => LOOPBACK,
        None if named_port.is_none() => return Ok(None),
        None => {
            return Err(Failure::new(format!(
                "--studio-port {port} has no effect with --host {api_host}, where the studio needs an address of its \
                 own: add --studio-host ADDRESS, or write --studio-port off"
            )));
        }
    };
    check_exposure(host, consent)?;
    let models = match (arguments.models.or_else(|| file.models.clone()), storage) {
        (Some(folder), _) => ModelsIn::Shared(folder),
        (None, Storage::Memory | Storage::Postgres { .. } | Storage::Tikv { .. }) => ModelsIn::Memory,
        (None, Storage::Folder { path, .. }) => ModelsIn::Folder(path.join(model_files::FOLDER)),
    };
    Ok(Some(StudioConfig {
        address: SocketAddr::new(host, port),
        hosts: AllowedHosts::new(host, allowed_hosts)?,
        read_only: arguments.studio_read_only.or(file.studio_read_only).unwrap_or(false),
        models,
    }))
}

/// The flag's or variable's value, else that of the file.
fn first<T>(
    given: Option<T>,
    in_file: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    match given {
        Some(value) => Ok(Some(value)),
        None => Ok(in_file.map(parse).transpose()?),
    }
}

/// The first list that is not empty.
fn first_given(flags: Vec<String>, file: Vec<String>) -> Vec<String> {
    if flags.is_empty() { file } else { flags }
}

fn limits_of(arguments: &LimitArguments, file: &File) -> Result<Limits, Failure> {
    let connections_max =
        arguments.connections_max.or(file.connections_max).unwrap_or(limits::CONNECTIONS_MAX);
    if connections_max == 0 {
        return Err(Failure::new("--connections-max 0 admits no client: write at least 1"));
    }
    let budget = |name: &str, mib: u64, mib_min: u64| {
        let bytes = usize::try_from(mib.saturating_mul(MIB)).unwrap_or(usize::MAX);
        let too_small =
            || format!("{name} {mib} is too small for the largest request: write at least {mib_min}");
        if mib < mib_min { Err(too_small()) } else { Ok(bytes) }
    };
    let body_mib = arguments.body_budget_mib.or(file.body_budget_mib).unwrap_or(limits::BODY_BUDGET_MIB);
    let decode_mib =
        arguments.decode_budget_mib.or(file.decode_budget_mib).unwrap_or(limits::DECODE_BUDGET_MIB);
    let answer_mib =
        arguments.answer_budget_mib.or(file.answer_budget_mib).unwrap_or(limits::ANSWER_BUDGET_MIB);
    Ok(Limits {
        connections_max,
        connections_per_address: PerAddress::from_setting(
            arguments.connections_per_address.or(file.connections_per_address),
            limits::CONNECTIONS_PER_ADDRESS,
        ),
        requests_per_address: PerAddress::from_setting(
            arguments.requests_per_address.or(file.requests_per_address),
            limits::REQUESTS_PER_ADDRESS,
        ),
        body_budget_bytes: budget("--body-budget-mib", body_mib, limits::BODY_BUDGET_MIB_MIN)?,
        decode_budget_bytes: budget("--decode-budget-mib", decode_mib, limits::DECODE_BUDGET_MIB_MIN)?,
        answer_budget_bytes: budget("--answer-budget-mib", answer_mib, limits::ANSWER_BUDGET_MIB_MIN)?,
        check_ms: arguments.check_ms.unwrap_or(limits::CHECK_MS).max(1),
        budget_wait_ms: arguments.budget_wait_ms.unwrap_or(limits::BUDGET_WAIT_MS_MAX),
    })
}

/// The rates of accounts: those of the command line if there are any, else those of the file.
fn rates(arguments: &LimitArguments, file: &File) -> Result<Vec<AccountRate>, Failure> {
    if !arguments.requests_per_second.is_empty() {
        return Ok(arguments.requests_per_second.clone());
    }
    let rates = file.requests_per_second.iter().map(|text| text.parse::<AccountRate>());
    rates.collect::<Result<_, _>>().map_err(|fault| Failure::new(format!("requests-per-second: {fault}")))
}

/// The limits on branches. Where signatures are not verified, a client can name any account: then all
/// accounts share them.
fn branch_limits(arguments: &LimitArguments, file: &File, verifies: bool) -> BranchLimits {
    let count = arguments.branches_per_account.or(file.branches_per_account);
    let mib = arguments.branch_mib_per_account.or(file.branch_mib_per_account);
    let count = count.unwrap_or(limits::BRANCHES_PER_ACCOUNT);
    let bytes = mib.unwrap_or(limits::BRANCH_MIB_PER_ACCOUNT).saturating_mul(MIB);
    BranchLimits {
        count_max: (count > 0).then_some(count),
        bytes_max: (bytes > 0).then_some(bytes),
        counted: if verifies { CountedTogether::Account } else { CountedTogether::Everything },
    }
}

/// What allows listening beyond loopback.
#[derive(Clone, Copy, Debug)]
struct Consent {
    verifies: bool,
    anonymous: bool,
}

fn check_exposure(host: IpAddr, consent: Consent) -> Result<(), Failure> {
    if host.is_loopback() || consent.verifies || consent.anonymous {
        return Ok(());
    }
    Err(Failure::new(format!(
        "refusing to listen on {host} without credentials: anyone who reaches the port could read and change everything. \
         Make a key with `keywright credentials add` and pass --credentials FILE, or, on a network you trust, pass \
         --allow-anonymous-network."
    )))
}

/// A key of sessions is of no use where nobody begins one.
fn check_session_key(key: Option<&Path>, verifies: bool) -> Result<(), Failure> {
    if key.is_some() && !verifies {
        return Err(Failure::new(
            "--session-token-key needs --credentials or --access: without them there are no sessions",
        ));
    }
    Ok(())
}

/// Every change of shards waits for the table's writers, and the store keeps each shard for a day.
fn shard_time(ms: Option<u64>) -> Result<Option<u64>, Failure> {
    match ms {
        Some(ms) if ms < STREAM_SHARD_MS_MIN => Err(Failure::new(format!(
            "--stream-shard-ms {ms} is too short: write at least {STREAM_SHARD_MS_MIN} ms"
        ))),
        _ => Ok(ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> ServeArguments {
        ServeArguments::default()
    }

    #[test]
    fn defaults_are_loopback_port_8000_and_a_synced_folder() {
        let config = Config::merge(arguments()).unwrap();
        assert_eq!(config.address.to_string(), "127.0.0.1:8000");
        assert_eq!(
            config.storage,
            Storage::Folder {
                path: PathBuf::from("keywright-data"),
                durability: DurabilityArgument::Synced,
                cache_bytes: 64 * MIB,
                write_buffer_bytes: None,
            }
        );
    }

    #[test]
    fn listening_beyond_loopback_needs_credentials_or_consent() {
        let open = ServeArguments { host: Some("0.0.0.0".parse().unwrap()), ..arguments() };
        assert!(Config::merge(open.clone()).unwrap_err().to_string().contains("0.0.0.0"));
        assert!(
            Config::merge(ServeArguments { allow_anonymous_network: Some(true), ..open.clone() }).is_ok()
        );
        assert!(Config::merge(ServeArguments { credentials: Some("keys.toml".into()), ..open }).is_ok());
    }

    #[test]
    fn simulating_beyond_loopback_needs_consent() {
        let of = |simulate: Option<&str>, beyond: Option<bool>| {
            let simulate = simulate.map(|text| text.parse().unwrap());
            let simulation = SimulationArguments { simulate, simulate_beyond_loopback: beyond };
            let host = Some("0.0.0.0".parse().unwrap());
            Config::merge(ServeArguments {
                host,
                simulation,
                allow_anonymous_network: Some(true),
                ..arguments()
            })
        };
        assert!(of(None, None).is_ok() && of(Some("false"), None).is_ok());
        for simulate in ["true", "faults.json"] {
            let fault = of(Some(simulate), None).unwrap_err().to_string();
            assert!(fault.contains("--simulate-beyond-loopback"), "{fault}");
            assert!(of(Some(simulate), Some(false)).is_err());
        }
        let config = of(Some("faults.json"), Some(true)).unwrap();
        assert_eq!(config.simulation, (SimulationSetting::File("faults.json".into()), Reach::Network));
    }

    #[test]
    fn the_studio_is_on_while_all_is_on_loopback_and_beyond_only_by_an_address() {
        let of = |arguments: ServeArguments| Config::merge(arguments).map(|config| config.studio);
        let studio = |studio: StudioArguments| ServeArguments { studio, ..arguments() };
        let own = of(arguments()).unwrap().unwrap();
        assert_eq!((own.address.to_string().as_str(), own.read_only), ("127.0.0.1:8100", false));
        assert_eq!(own.models, ModelsIn::Folder(Path::new("keywright-data").join("models")));
        let off = StudioArguments { studio_port: Some(OwnPort::Off), ..StudioArguments::default() };
        assert!(of(studio(off)).unwrap().is_none());
        let everywhere: IpAddr = "0.0.0.0".parse().unwrap();
        let open =
            ServeArguments { host: Some(everywhere), allow_anonymous_network: Some(true), ..arguments() };
        assert!(of(open.clone()).unwrap().is_none(), "no page beyond loopback by accident");
        let port = StudioArguments { studio_port: Some(OwnPort::Port(1)), ..StudioArguments::default() };
        let fault = of(ServeArguments { studio: port, ..open.clone() }).unwrap_err().to_string();
        assert!(fault.contains("add --studio-host ADDRESS"), "a port without effect is refused: {fault}");
        let named = StudioArguments { studio_host: Some(everywhere), ..StudioArguments::default() };
        let both = ServeArguments { studio: named.clone(), ..open };
        assert_eq!(of(both).unwrap().unwrap().address.to_string(), "0.0.0.0:8100");
        assert!(of(studio(named)).unwrap_err().to_string().contains("0.0.0.0"));
    }

    #[test]
    fn a_stream_shard_time_below_the_minimum_is_refused() {
        let with = |ms| Config::merge(ServeArguments { stream_shard_ms: Some(ms), ..arguments() });
        assert!(with(99).unwrap_err().to_string().contains("100 ms"));
        assert_eq!(with(100).unwrap().stream_shard_ms, Some(100));
    }

    #[test]
    fn limits_come_from_flags_then_the_file_and_too_small_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        std::fs::write(&path, "connections-max = 5\nrequests_per_address = 0\nbody-budget-mib = 64\n")
            .unwrap();
        let with = |limits| ServeArguments { config: Some(path.clone()), limits, ..arguments() };
        let flags = LimitArguments { connections_max: Some(7), ..LimitArguments::default() };
        let merged = Config::merge(with(flags)).unwrap().limits;
        assert_eq!((merged.connections_max, merged.requests_per_address), (7, PerAddress::Unlimited));
        assert_eq!(merged.body_budget_bytes, 64 << 20);
        let small = LimitArguments { answer_budget_mib: Some(31), ..LimitArguments::default() };
        assert!(Config::merge(with(small)).unwrap_err().to_string().contains("32"));
    }

    #[test]
    fn flags_win_over_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        std::fs::write(&path, "port = 9001\nin-memory = true\ntransition-ms = 5\n").unwrap();
        let from_file = Config::merge(ServeArguments { config: Some(path.clone()), ..arguments() }).unwrap();
        assert_eq!((from_file.address.port(), from_file.storage), (9001, Storage::Memory));
        assert_eq!(from_file.transition_ms, 5);
        let with_flags =
            ServeArguments { config: Some(path), port: Some(7), data: Some("d".into()), ..arguments() };
        let merged = Config::merge(with_flags).unwrap();
        assert_eq!(merged.address.port(), 7);
        assert!(matches!(merged.storage, Storage::Folder { .. }));
    }

    #[test]
    fn an_unknown_setting_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        std::fs::write(&path, "prot = 9001\n").unwrap();
        let fault =
            Config::merge(ServeArguments { config: Some(path), ..arguments() }).unwrap_err().to_string();
        assert!(fault.contains("prot"), "{fault}");
    }
}
