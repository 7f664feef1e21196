//! The options of `keywright bench`, and the validated plan that they become.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use keywright_process::failure::Failure;
use keywright_semantics::place::RegionName;

use super::client::{Credentials, Endpoint};
use super::keys::Spread;
use super::pace::Pace;
use super::workload::{DataSet, Kind, PARTITION_ITEMS};
use crate::Settings;

/// The endpoint if nothing names one.
const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:8000";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}

/// Benchmarks one or more DynamoDB endpoints, interleaved.
///
/// Latency counts from the time when a request was due (with --rate) or was sent (without).
#[derive(Clone, Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub struct BenchArguments {
    /// Benchmark this endpoint; several are interleaved and compared with the first [default:
    /// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, that of the profile, or http://127.0.0.1:8000]
    #[arg(long = "endpoint", alias = "endpoint-url", value_name = "[NAME=]URL")]
    endpoints: Vec<Endpoint>,
    /// Benchmark these operations [default: all]
    #[arg(long = "operation", value_name = "NAME", value_delimiter = ',')]
    operations: Vec<Kind>,
    /// Number of connections, each with one request at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    connections: u32,
    /// Send at this fixed rate (open loop) instead of as fast as responses arrive (closed loop)
    #[arg(long, value_name = "PER-SECOND", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: Option<u64>,
    /// Measure each operation on each endpoint for this long, over all rounds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Number of rounds; each round measures every endpoint once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Warm up for this long before each measurement
    #[arg(long, value_name = "MS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(..=600_000))]
    warm_up_ms: u64,
    /// After each measurement wait this long for outstanding responses, then count them as unanswered
    #[arg(long, alias = "patience-ms", value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    drain_ms: u64,
    /// Number of items in the table, in partitions of 100
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    items: u64,
    /// Size of each item, as DynamoDB counts
    #[arg(long, value_name = "BYTES", default_value_t = 500, value_parser = clap::value_parser!(u32).range(100..=400_000))]
    item_bytes: u32,
    /// Distribution of requests over the items
    #[arg(long, value_name = "SPREAD", default_value = "uniform")]
    keys: Spread,
    /// Use this table. One that does not exist is created and filled, and removed at the end
    #[arg(long, value_name = "NAME", default_value = "keywright-bench")]
    table: String,
    /// Keep the table that this run creates: the next run uses it again, without filling it
    #[arg(long)]
    keep_table: bool,
    /// Use strongly consistent reads
    #[arg(long)]
    consistent: bool,
    /// Send from this many threads [default: half of the processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Also measure the machine's limits: a bare HTTP server with responses of the same size and, in a closed
    /// loop, the bare store
    #[arg(long)]
    limits: bool,
    /// Create the bare store in this folder; choose one on the disk of the server's data
    #[arg(long, value_name = "DIR", requires = "limits", default_value = ".")]
    limits_folder: PathBuf,
    /// Report percentiles per second, and plot them into this SVG file
    #[arg(long, value_name = "FILE")]
    trend: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub(super) format: Format,
    /// Sign with this access key
    #[arg(long, value_name = "ID", env = "AWS_ACCESS_KEY_ID", default_value = "local")]
    access_key_id: String,
    /// Sign with this secret
    #[arg(
        long,
        value_name = "SECRET",
        env = "AWS_SECRET_ACCESS_KEY",
        default_value = "local",
        hide_env_values = true
    )]
    secret_access_key: String,
    /// Measure the first endpoint with this access key too, as a target of this name; can be repeated
    #[arg(long = "also-as", value_name = "NAME=ID:SECRET", hide_env_values = true)]
    others: Vec<OtherKey>,
    /// Sign for this region [default: AWS_REGION, AWS_DEFAULT_REGION, the region of the profile, else
    /// us-east-1]
    #[arg(long, value_name = "NAME", value_parser = region)]
    region: Option<String>,
}

/// The options of the process that `--limits` starts.
#[derive(Clone, Debug, Args)]
pub struct FixedHttpArguments {
    /// Size of every response's body
    #[arg(long)]
    pub(super) answer_bytes: usize,
}

/// Another access key, and the name of its target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OtherKey {
    name: String,
    id: String,
    secret: String,
}

impl FromStr for OtherKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(name, key)| {
            let (id, secret) = key.split_once(':')?;
            (![name, id, secret].contains(&"")).then_some((name, id, secret))
        });
        // The text may hold a secret.
        let (name, id, secret) = parts.ok_or("write NAME=ID:SECRET, as in reader=AKIA…:…")?;
        Ok(Self { name: name.to_owned(), id: id.to_owned(), secret: secret.to_owned() })
    }
}

/// What becomes of the table that a run creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftover {
    Removed,
    Kept,
}

/// What names the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The command line, or nothing: then it is this machine.
    CommandLine,
    Settings,
}

/// A validated run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) kinds: Vec<Kind>,
    pub(super) data: DataSet,
    pub(super) spread: Spread,
    pub(super) pace: Pace,
    pub(super) connections: u32,
    pub(super) threads: u32,
    pub(super) rounds: u32,
    /// Length of one measurement.
    pub(super) measured: Duration,
    pub(super) warm_up: Duration,
    /// How long outstanding responses are awaited after a measurement.
    pub(super) drain: Duration,
    pub(super) seed: u64,
    pub(super) credentials: Credentials,
    pub(super) leftover: Leftover,
    /// Folder of the bare store; `None` without `--limits`.
    pub(super) limits: Option<PathBuf>,
    /// File of the plot; `None` without `--trend`.
    pub(super) trend: Option<PathBuf>,
}

impl Plan {
    /// What the run does, and how long it measures.
    pub(super) fn announced(&self) -> String {
        let bare = match (&self.limits, self.pace) {
            (None, _) => 0,
            // The bare store has no fixed rate.
            (Some(_), Pace::Open { .. }) => 1,
            (Some(_), Pace::Closed) => 2,
        };
        let targets = self.endpoints.len() + bare;
        let round = self.measured + self.warm_up;
        let turns = u32::try_from(self.kinds.len() * targets).unwrap_or(u32::MAX).saturating_mul(self.rounds);
        format!(
            "Measures {} on {} for {}, after {} items are loaded where they are missing.",
            counted(self.kinds.len(), "operation"),
            counted(targets, "target"),
            spoken(round.saturating_mul(turns)),
            self.data.items
        )
    }
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A time in minutes and seconds, rounded up.
fn spoken(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("about {seconds} s"),
        (minutes, 0) => format!("about {minutes} min"),
        (minutes, seconds) => format!("about {minutes} min {seconds} s"),
    }
}

impl BenchArguments {
    /// The plan, and whether the user's settings name the endpoint.
    pub(super) fn plan(&self, settings: &dyn Settings) -> Result<(Plan, NamedBy), Failure> {
        let set = if self.endpoints.is_empty() { settings.endpoint()? } else { None };
        let region = settings.region(self.region.as_deref())?;
        let mut endpoints = match &set {
            Some(url) => vec![url.parse()?],
            None if self.endpoints.is_empty() => vec![DEFAULT_ENDPOINT.parse()?],
            None => self.endpoints.clone(),
        };
        if let Some(first) = endpoints.first().cloned() {
            endpoints.extend(self.others.iter().map(|other| Endpoint {
                name: other.name.clone(),
                signer: Some(Credentials {
                    access_key_id: other.id.clone(),
                    secret: other.secret.clone(),
                    region: region.clone(),
                }),
                ..first.clone()
            }));
        }
        let processors =
            std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
        let threads = self.threads.unwrap_or((processors / 2).max(1)).min(self.connections);
        let kinds = if self.operations.is_empty() { Kind::ALL.to_vec() } else { self.operations.clone() };
        if self.limits && !self.limits_folder.is_dir() {
            return Err(Failure::new(format!(
                "{} is not a folder: name one on the disk of the server's data with --limits-folder",
                self.limits_folder.display()
            )));
        }
        for (place, endpoint) in endpoints.iter().enumerate() {
            if endpoints.iter().take(place).any(|other| other.name == endpoint.name) {
                return Err(Failure::new(format!(
                    "two endpoints have the name {}: name them with NAME=URL",
                    endpoint.name
                )));
            }
        }
        let leftover = if self.keep_table { Leftover::Kept } else { Leftover::Removed };
        let plan = Plan {
            endpoints,
            kinds,
            data: DataSet {
                table: self.table.clone(),
                items: self.items.next_multiple_of(PARTITION_ITEMS),
                item_bytes: usize::try_from(self.item_bytes).map_err(|error| error.to_string())?,
                consistent: self.consistent,
            },
            spread: self.keys,
            pace: self.rate.map_or(Pace::Closed, |per_second| Pace::Open { per_second }),
            connections: self.connections,
            threads,
            rounds: self.rounds,
            measured: Duration::from_secs(self.seconds) / self.rounds,
            warm_up: Duration::from_millis(self.warm_up_ms),
            drain: Duration::from_millis(self.drain_ms),
            seed: self.seed,
            credentials: Credentials {
                access_key_id: self.access_key_id.clone(),
                secret: self.secret_access_key.clone(),
                region,
            },
            leftover,
            limits: self.limits.then(|| self.limits_folder.clone()),
            trend: self.trend.clone(),
        };
        Ok((plan, if set.is_some() { NamedBy::Settings } else { NamedBy::CommandLine }))
    }
}

/// A region by the rule of the server.
fn region(text: &str) -> Result<String, String> {
    let name = RegionName::parse(text).ok_or_else(|| format!("write {}", RegionName::FORM))?;
    Ok(name.as_str().to_owned())
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains("://") => (Some(name), url),
            _ => (None, text),
        };
        let authority = url
            .strip_prefix("http://")
            .ok_or_else(|| {
                format!("{url} does not start with http://, the only scheme that `bench` supports")
            })?
            .trim_end_matches('/');
        let wrong = || format!("{url} is not http://HOST:PORT");
        if authority.is_empty() || authority.contains(['/', '?', '#', '@', ' ']) || name == Some("") {
            return Err(wrong());
        }
        let authority = match authority.rsplit_once(':') {
            // The colons inside brackets belong to an IPv6 address.
            Some((_, port)) if !port.ends_with(']') => {
                port.parse::<u16>().map_err(|_| wrong())?;
                authority.to_owned()
            }
            _ => format!("{authority}:80"),
        };
        Ok(Self { name: name.unwrap_or(&authority).to_owned(), authority, fixed: false, signer: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_how_long_it_measures() {
        assert_eq!(spoken(Duration::from_secs(92)), "about 1 min 32 s");
        assert_eq!(spoken(Duration::from_millis(900)), "about 1 s");
        assert_eq!(spoken(Duration::from_mins(2)), "about 2 min");
    }

    #[test]
    fn another_key_has_a_name_an_id_and_a_secret() {
        let ann = OtherKey { name: "ann".to_owned(), id: "AKIA1".to_owned(), secret: "a+b/c=".to_owned() };
        assert_eq!("ann=AKIA1:a+b/c=".parse(), Ok(ann));
        for wrong in ["", "ann", "ann=AKIA1", "=AKIA1:s", "ann=:s", "ann=AKIA1:"] {
            let fault = wrong.parse::<OtherKey>().unwrap_err();
            assert!(fault.contains("NAME=ID:SECRET"), "{fault}");
        }
    }

    #[test]
    fn endpoints_can_have_names_and_omit_the_port() {
        let read = |text: &str| text.parse::<Endpoint>().map(|endpoint| (endpoint.name, endpoint.authority));
        let pair = |name: &str, authority: &str| Ok((name.to_owned(), authority.to_owned()));
        assert_eq!(read("http://localhost:8000"), pair("localhost:8000", "localhost:8000"));
        assert_eq!(read("ours=http://127.0.0.1:8000/"), pair("ours", "127.0.0.1:8000"));
        assert_eq!(read("http://db.example"), pair("db.example:80", "db.example:80"));
        assert!(read("https://db.example").unwrap_err().contains("http://"));
        assert_eq!(read("http://[::1]:8000"), pair("[::1]:8000", "[::1]:8000"));
        for wrong in ["http://db.example/path", "http://h:99999", "http://h?x=1", "=http://h:1", "http://h:x"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
