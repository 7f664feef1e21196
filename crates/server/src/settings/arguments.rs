//! The flags and variables of `keywright serve`, as the command line's library reads them.
//!
//! It does not know defaults: `config` merges it with the configuration file.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::buckets::StoreArguments;
use super::kinesis::KinesisArguments;
use super::kms::KmsArguments;
use super::tls::TlsArguments;
use super::triggers::TriggerArguments;
use crate::audit::Keep;
use crate::clock::{ManualStart, Pace};
use crate::http::request_log::RequestLog;
use crate::http::request_rates::AccountRate;
use crate::process::log::{LogFormat, LogLevel};
use crate::simulation::SimulationSetting;
use crate::storage::scrub::ScrubSetting;

/// When a write is acknowledged, and so which failures can lose an acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityArgument {
    /// A write is acknowledged after it is on disk (fsync, shared by concurrent writers).
    Synced,
    /// A write is acknowledged before it is on disk: a crash of the machine may lose up to the last second of
    /// acknowledged writes. A crash of the process alone loses none.
    Relaxed,
}

/// Every flag can also be set as an environment variable `KEYWRIGHT_NAME` or as a line `name = …` of the
/// configuration file. Flags override variables, variables override the file.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct ServeArguments {
    /// Read settings from this TOML file [default: keywright.toml in the current folder, if it exists]
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Listen on this address; localhost is 127.0.0.1 [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "KEYWRIGHT_HOST", value_parser = host)]
    pub(crate) host: Option<IpAddr>,
    /// Listen on this port; 0 picks a free one [default: 8000]
    #[arg(long, value_name = "PORT", env = "KEYWRIGHT_PORT")]
    pub(crate) port: Option<u16>,
    /// Write the server's address as JSON to this file when it accepts requests; the file is removed when the
    /// server stops
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_READY_FILE")]
    pub(crate) ready_file: Option<PathBuf>,
    /// Keep all data in this folder; it is created if missing [default: keywright-data] [env: KEYWRIGHT_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Keep all data in memory; it is lost when the process ends [env: KEYWRIGHT_IN_MEMORY]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) in_memory: Option<bool>,
    /// Keep all data in this store: embedded:DIR (as --data DIR), memory: (as --in-memory), or one that
    /// several servers may share: postgres://USER@HOST:PORT/DATABASE?schema=NAME or tikv://PD:PORT/PREFIX
    /// [env: KEYWRIGHT_STORE]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Read the password of --store from the first line of this file; KEYWRIGHT_STORE_PASSWORD can hold it
    /// too
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_STORE_PASSWORD_FILE")]
    pub(crate) store_password_file: Option<PathBuf>,
    /// When a write is acknowledged [default: synced]
    #[arg(long, value_name = "MODE", env = "KEYWRIGHT_DURABILITY")]
    pub(crate) durability: Option<DurabilityArgument>,
    /// Size of the block cache, in MiB [default: 64]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_CACHE_MIB")]
    pub(crate) cache_mib: Option<u64>,
    /// Read all files of the data folder once in this period and report damage: a time such as 7d or 12h, or
    /// off [default: 7d]
    #[arg(long, value_name = "PERIOD", env = "KEYWRIGHT_SCRUB")]
    pub(crate) scrub: Option<ScrubSetting>,
    /// Size of the write buffer, in KiB: tests set a small one, so that tables are written and merged all the
    /// time
    #[arg(long, value_name = "KIB", env = "KEYWRIGHT_WRITE_BUFFER_KIB", hide = true)]
    pub(crate) write_buffer_kib: Option<u64>,
    /// For tests: guard the writers of a shared store by slots, as over TiKV
    #[arg(long, hide = true)]
    pub(crate) guard_slots: bool,
    /// For tests: how long a server over a shared store may be silent before its rows are removed
    #[arg(long, hide = true)]
    pub(crate) gone_ms: Option<u64>,
    /// Verify every signature against the keys in this file (see `keywright credentials add`)
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_CREDENTIALS")]
    pub(crate) credentials: Option<PathBuf>,
    /// Make the users, groups, roles and policies of this JSON file at start, and verify every signature
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_ACCESS")]
    pub(crate) access: Option<PathBuf>,
    /// Seal session tokens under the key in this file, which servers with different stores can share
    /// [default: a key in the store]
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_SESSION_TOKEN_KEY")]
    pub(crate) session_token_key: Option<PathBuf>,
    /// Allow listening beyond loopback without --credentials: anyone who reaches the port can read and change
    /// everything
    #[arg(long, env = "KEYWRIGHT_ALLOW_ANONYMOUS_NETWORK", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) allow_anonymous_network: Option<bool>,
    /// Allow web pages of this origin, in addition to pages of this machine; `*` allows all. Can be repeated
    /// [default: all pages with --credentials, otherwise pages of this machine]
    #[arg(long, value_name = "ORIGIN", env = "KEYWRIGHT_CORS_ORIGIN", value_delimiter = ',')]
    pub(crate) cors_origin: Vec<String>,
    /// Without --credentials: also accept requests whose Host header is this name or address, and not only
    /// the names of this machine. Beyond loopback only browsers are checked. Can be repeated
    #[arg(long, value_name = "NAME", env = "KEYWRIGHT_ALLOWED_HOST", value_delimiter = ',')]
    pub(crate) allowed_host: Vec<String>,
    /// Believe the X-Forwarded-For of proxies at these addresses, such as 10.0.0.0/8: policies and the audit
    /// log see the address of the client. Can be repeated
    #[arg(long, value_name = "CIDR", env = "KEYWRIGHT_TRUSTED_PROXY", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
    /// How long a table stays in CREATING, UPDATING or DELETING, in milliseconds [default: 0]
    #[arg(long, value_name = "MS", env = "KEYWRIGHT_TRANSITION_MS")]
    pub(crate) transition_ms: Option<u64>,
    /// For how many hours a region that a new replica was filled from cannot be removed; 0 for none
    /// [default: 24]
    #[arg(long, value_name = "HOURS", env = "KEYWRIGHT_SOURCE_REGION_HOURS")]
    pub(crate) source_region_hours: Option<u32>,
    /// How many hours after one comparison of a table with its replicas the next one begins; 0 for none but
    /// those that `keywright global verify` begins [default: 168]
    #[arg(long, value_name = "HOURS", env = "KEYWRIGHT_REPLICATION_VERIFY_HOURS")]
    pub(crate) replication_verify_hours: Option<u32>,
    /// How many MiB of changes a table keeps for a replica that is not reached; beyond them all of its items
    /// are sent later [default: 1024]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_REPLICATION_BACKLOG_MIB")]
    pub(crate) replication_backlog_mib: Option<u32>,
    /// After how many days without reaching a replica it is lost, and has to rejoin by `keywright global
    /// rejoin` [default: 30]
    #[arg(long, value_name = "DAYS", env = "KEYWRIGHT_REPLICA_LOST_DAYS")]
    pub(crate) replica_lost_days: Option<u32>,
    /// How long after a change of a resource policy the next one is refused, in milliseconds; 15000 as the
    /// service [default: 0]
    #[arg(long, value_name = "MS", env = "KEYWRIGHT_POLICY_CHANGE_WAIT_MS")]
    pub(crate) policy_change_wait_ms: Option<u64>,
    /// How long after its expiry time an item is deleted by time to live, in milliseconds [default: 60000]
    #[arg(long, value_name = "MS", env = "KEYWRIGHT_TTL_DELAY_MS")]
    pub(crate) ttl_delay_ms: Option<u64>,
    /// Serve the metrics of the service alone, without UserErrors and ThrottledRequests of a table
    #[arg(long, env = "KEYWRIGHT_STRICT_METRICS", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) strict_metrics: Option<bool>,
    /// How long a stream shard is open before a child shard follows it, in milliseconds, at least 100
    /// [default: 4 hours]
    #[arg(long, value_name = "MS", env = "KEYWRIGHT_STREAM_SHARD_MS")]
    pub(crate) stream_shard_ms: Option<u64>,
    #[command(flatten)]
    pub(crate) studio: StudioArguments,
    #[command(flatten)]
    pub(crate) watching: WatchArguments,
    #[command(flatten)]
    pub(crate) throughput: ThroughputArguments,
    #[command(flatten)]
    pub(crate) clock: ClockArguments,
    #[command(flatten)]
    pub(crate) simulation: SimulationArguments,
    #[command(flatten)]
    pub(crate) backups: BackupArguments,
    #[command(flatten)]
    pub(crate) stores: StoreArguments,
    #[command(flatten)]
    pub(crate) kinesis: KinesisArguments,
    #[command(flatten)]
    pub(crate) encryption: EncryptionArguments,
    /// Refuse to start if the data folder is not encrypted
    #[arg(long, env = "KEYWRIGHT_REQUIRE_ENCRYPTION", num_args = 0..=1, default_missing_value = "true", require_equals = true, help_heading = "Encryption")]
    pub(crate) require_encryption: Option<bool>,
    #[command(flatten)]
    pub(crate) kms: KmsArguments,
    #[command(flatten)]
    pub(crate) triggers: TriggerArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

/// The key of an encrypted data folder. docs/guide/encryption.md explains it. The variable
/// `KEYWRIGHT_ENCRYPTION_KEY` can hold the key itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Encryption")]
pub(crate) struct EncryptionArguments {
    /// Encrypt the data folder under the key in this file: 32 bytes in base64, as `keywright encryption
    /// new-key` makes them
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_ENCRYPTION_KEY_FILE")]
    pub(crate) encryption_key_file: Option<PathBuf>,
    /// The same with the key that this command of the shell prints, for example that of a vault
    #[arg(long, value_name = "COMMAND", env = "KEYWRIGHT_ENCRYPTION_KEY_COMMAND")]
    pub(crate) encryption_key_command: Option<String>,
    /// The same with a key that lies in the folder, encrypted under this key of --kms-endpoint
    #[arg(long, value_name = "KEY", env = "KEYWRIGHT_KMS_KEY_ID")]
    pub(crate) kms_key_id: Option<String>,
}

/// Backups, points in time, and the jobs that they make. docs/guide/backup.md explains them.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Backups")]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct BackupArguments {
    /// Copy backups into this folder or s3://BUCKET/PREFIX, or off: then their items stay in the database
    /// [default: backups in the data folder; off without one]
    #[arg(long, value_name = "PLACE", env = "KEYWRIGHT_BACKUP_TO")]
    pub(crate) backup_to: Option<String>,
    /// Do not encrypt copies of backups, although the server has an encryption key
    #[arg(long, env = "KEYWRIGHT_PLAIN_BACKUPS", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) plain_backups: Option<bool>,
    /// Allow exports of tables of an encrypted data folder, whose files are not encrypted by Keywright
    #[arg(long, env = "KEYWRIGHT_PLAIN_EXPORTS", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) plain_exports: Option<bool>,
    /// Turn point-in-time recovery on for each new table
    #[arg(long, env = "KEYWRIGHT_PITR_DEFAULT", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) pitr_default: Option<bool>,
    /// How far the latest time to which a table can be restored is behind, in milliseconds [default: 0]
    #[arg(long, value_name = "MS", env = "KEYWRIGHT_PITR_LAG_MS")]
    pub(crate) pitr_lag_ms: Option<u64>,
    /// The shortest window of an incremental export, in milliseconds [default: 900000]
    #[arg(long, value_name = "MS", env = "KEYWRIGHT_EXPORT_MIN_WINDOW_MS")]
    pub(crate) export_min_window_ms: Option<u64>,
    /// Jobs at work at a time; further ones wait [default: 2]
    #[arg(long, value_name = "COUNT", env = "KEYWRIGHT_JOB_THREADS")]
    pub(crate) job_threads: Option<usize>,
    /// Memory for all jobs together, in MiB, at least 32 [default: 64]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_JOB_MEMORY_MIB")]
    pub(crate) job_memory_mib: Option<u64>,
    /// Rows that all jobs together write in a second [default: no limit]
    #[arg(long, value_name = "ROWS", env = "KEYWRIGHT_LOAD_RATE")]
    pub(crate) load_rate: Option<u64>,
}

/// Limits of throughput, as the service has them. docs/guide/throttling.md explains them.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Throughput")]
pub(crate) struct ThroughputArguments {
    /// Which limits refuse requests: off; table (provisioned units, ceilings, quotas); full (also partitions,
    /// and the level of on-demand tables). The tag keywright:throttle chooses for one table [default: off]
    #[arg(long, value_name = "WHICH", env = "KEYWRIGHT_THROTTLE")]
    pub(crate) throttle: Option<String>,
    /// Burst capacity of a new table, in seconds of its provisioned units, at most 300 [default: 300]
    #[arg(long, value_name = "SECONDS", env = "KEYWRIGHT_BURST_START_S")]
    pub(crate) burst_start_s: Option<u64>,
}

/// The time that tables, metrics and limits live in. docs/guide/clock.md explains it.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Clock")]
pub(crate) struct ClockArguments {
    /// Seconds that pass in the database for each real one, such as 60 or 0.1 [default: 1]
    #[arg(long, value_name = "NUMBER", env = "KEYWRIGHT_TIME_SCALE")]
    pub(crate) time_scale: Option<Pace>,
    /// Stop the database's clock at manual@TIME; POST /_keywright/clock moves it
    #[arg(long, value_name = "CLOCK", env = "KEYWRIGHT_CLOCK", conflicts_with = "time_scale")]
    pub(crate) clock: Option<ManualStart>,
}

/// Faults between the regions of global tables. docs/guide/global-tables.md explains them.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct SimulationArguments {
    /// Let tests delay, hold, repeat and reorder replication between regions, and set clocks of regions
    /// wrong: by this JSON file, or without one by POST /_keywright/simulation [default: off]
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_SIMULATE", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) simulate: Option<SimulationSetting>,
    /// Allow --simulate on an address beyond loopback: anyone who reaches the port, with --credentials those
    /// whose policies allow it, can hold back replication
    #[arg(long, env = "KEYWRIGHT_SIMULATE_BEYOND_LOOPBACK", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) simulate_beyond_loopback: Option<bool>,
}

/// The studio: pages to look at and change tables and models. docs/guide/studio.md shows it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Studio")]
pub(crate) struct StudioArguments {
    /// Serve the studio on this port; 0 picks a free one, off serves none. A taken port is replaced by a
    /// free one [default: 8100]
    #[arg(long, value_name = "PORT", env = "KEYWRIGHT_STUDIO_PORT")]
    pub(crate) studio_port: Option<OwnPort>,
    /// Serve the studio on this address. Beyond loopback it asks for --credentials as --host does
    /// [default: 127.0.0.1 while --host is loopback, else no studio]
    #[arg(long, value_name = "ADDRESS", env = "KEYWRIGHT_STUDIO_HOST", value_parser = host)]
    pub(crate) studio_host: Option<IpAddr>,
    /// Let the studio read tables and models, and change none
    #[arg(long, env = "KEYWRIGHT_STUDIO_READ_ONLY", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) studio_read_only: Option<bool>,
    /// Folder of the studio's model files, which all accounts share [default: models in the data folder, with
    /// --credentials a folder in it for each account; in memory if the data is]
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_MODELS")]
    pub(crate) models: Option<PathBuf>,
}

/// How the server can be watched. docs/guide/operations.md shows it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Watching")]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct WatchArguments {
    /// Serve metrics and health on this port; 0 picks a free one, off serves none [default: 8200]
    #[arg(long, value_name = "PORT", env = "KEYWRIGHT_MANAGEMENT_PORT")]
    pub(crate) management_port: Option<OwnPort>,
    /// Serve them on this address: beyond loopback everyone who reaches the port can read them
    /// [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "KEYWRIGHT_MANAGEMENT_HOST", value_parser = host)]
    pub(crate) management_host: Option<IpAddr>,
    /// Log a line for each request, without values of items: all, errors, or slow:MS for those that took so
    /// many milliseconds [default without a value: all]
    #[arg(long, value_name = "WHICH", env = "KEYWRIGHT_REQUEST_LOG", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    pub(crate) request_log: Option<RequestLog>,
    /// Record who did what in this file, as JSON lines of CloudTrail's form
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_AUDIT_LOG")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Record requests about items too, without their values: all, writes, or those on these tables. Denied
    /// ones always are [default: off]
    #[arg(long, value_name = "WHICH", env = "KEYWRIGHT_AUDIT_DATA", value_delimiter = ',')]
    pub(crate) audit_data: Vec<String>,
    /// Keep closed files of the audit log for so many days, as 90d, or the newest so many, as 100
    /// [default: off, which keeps all]
    #[arg(long, value_name = "HOW LONG", env = "KEYWRIGHT_AUDIT_KEEP")]
    pub(crate) audit_keep: Option<Keep>,
    /// While the audit log cannot be written, refuse changes that it would record
    #[arg(long, env = "KEYWRIGHT_AUDIT_REQUIRED", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) audit_required: Option<bool>,
    /// For tests: size of the audit log's files
    #[arg(long, hide = true)]
    pub(crate) audit_file_kib: Option<u64>,
    /// Log messages of this level and above [default: warn, or what RUST_LOG says]
    #[arg(long, value_name = "LEVEL", env = "KEYWRIGHT_LOG_LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
    /// Format of the log lines on standard error [default: text]
    #[arg(long, value_name = "FORMAT", env = "KEYWRIGHT_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

/// Limits on what one client can use. docs/reference/limits.md gives the reasons.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArguments {
    /// Maximum number of open connections; the limit on open files can lower it [default: 10000]
    #[arg(long, value_name = "COUNT", env = "KEYWRIGHT_CONNECTIONS_MAX")]
    pub(crate) connections_max: Option<usize>,
    /// Maximum number of connections of one address; 0 for no limit [default: 1000, no limit on loopback]
    #[arg(long, value_name = "COUNT", env = "KEYWRIGHT_CONNECTIONS_PER_ADDRESS")]
    pub(crate) connections_per_address: Option<u32>,
    /// Maximum number of concurrent requests of one address; 0 for no limit [default: 500, no limit on
    /// loopback]
    #[arg(long, value_name = "COUNT", env = "KEYWRIGHT_REQUESTS_PER_ADDRESS")]
    pub(crate) requests_per_address: Option<u32>,
    /// Maximum number of requests of an account per second, such as 123456789012=1000. Can be repeated
    /// [default: no limit]
    #[arg(long, value_name = "ACCOUNT=N", env = "KEYWRIGHT_REQUESTS_PER_SECOND", value_delimiter = ',')]
    pub(crate) requests_per_second: Vec<AccountRate>,
    /// Memory for all request bodies, in MiB, at least 64 [default: 256]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_BODY_BUDGET_MIB")]
    pub(crate) body_budget_mib: Option<u64>,
    /// Memory for all decoded requests, in MiB, at least 64 [default: 256]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_DECODE_BUDGET_MIB")]
    pub(crate) decode_budget_mib: Option<u64>,
    /// Memory for all large responses, in MiB, at least 32 [default: 256]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_ANSWER_BUDGET_MIB")]
    pub(crate) answer_budget_mib: Option<u64>,
    /// Maximum number of branches of an account, or of all accounts without --credentials; 0 for no limit
    /// [default: 1000]
    #[arg(long, value_name = "COUNT", env = "KEYWRIGHT_BRANCHES_PER_ACCOUNT")]
    pub(crate) branches_per_account: Option<usize>,
    /// What all branches of an account, or of all accounts without --credentials, may copy, in MiB; 0 for no
    /// limit [default: 512]
    #[arg(long, value_name = "MIB", env = "KEYWRIGHT_BRANCH_MIB_PER_ACCOUNT")]
    pub(crate) branch_mib_per_account: Option<u64>,
    /// For tests: how often connections are checked
    #[arg(long, hide = true)]
    pub(crate) check_ms: Option<u32>,
    /// For tests: how long a request waits for memory
    #[arg(long, hide = true)]
    pub(crate) budget_wait_ms: Option<u64>,
}

/// Whether and where something besides the API is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnPort {
    Off,
    Port(u16),
}

impl FromStr for OwnPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let port = text.parse().map_err(|_| format!("\"{text}\" is not known: write a port, or off"))?;
        Ok(Self::Port(port))
    }
}

/// An address to listen on. `localhost` is the one that all programs try.
pub(crate) fn host(text: &str) -> Result<IpAddr, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    text.parse().map_err(|_| {
        format!("\"{text}\" is not an address of this machine: write one such as 127.0.0.1 or 0.0.0.0, or localhost")
    })
}
