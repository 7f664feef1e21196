//! `keywright migrate`: brings tables of other databases to an endpoint, with their keys, indexes and items.
//! `keywright replicate`: a table follows another one for good.
//!
//! - `from`: what `--from` names; `definition`: the table to create; `side`: a table at an endpoint;
//!   `state_file`: how far a migration has come; `target_table`: the table that it fills, by `writes`.
//! - `follow`: a table in use, copied and followed; `source_stream`: what it is followed by. `live` and
//!   `replicate`: the commands on top of it; `show`: what they say meanwhile. `both_ways`: two tables that
//!   are both written.
//! - `file`: database files of DynamoDB Local and dynoxide. `export`: exports of the service and increments.
//!
//! Every migration goes over public APIs, says what it will do, and goes on where it was stopped. It writes
//! only into tables that it created.
//!
//! Layers: definition, extent, from, side, state_file, writes < target_table < follow < source_stream <
//! both_ways < show < export, file, live, replicate

#![expect(clippy::doc_markdown, reason = "the order of layers names modules")]

mod both_ways;
mod definition;
mod export;
mod extent;
mod file;
mod follow;
mod from;
mod live;
mod replicate;
mod show;
mod side;
mod source_credentials;
mod source_stream;
mod state_file;
mod state_lock;
mod target_table;
mod writes;

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use self::definition::KeyArgument;
use self::extent::Extent;
use self::from::From;
use self::live::{Choices, Comparison};
use self::side::Side;
use self::source_credentials::SourceCredentials;
use self::source_stream::Missing;
use self::state_file::StateFile;
use crate::client::aws_settings::named_endpoint;
use crate::client::confirm::confirm;
use crate::client::endpoint::{Credentials, Endpoint};
use crate::process::failure::Failure;
use crate::settings::s3::S3Arguments;

/// Segments of the Scan, unless the command line says otherwise, and at most.
const SEGMENTS: &str = "4";
const SEGMENTS_MAX: u64 = 64;

/// Migrate tables from another database to an endpoint
///
/// From a database file of DynamoDB Local or dynoxide: --from FILE.db. From a table that is in use at an
/// endpoint, such as the service itself: --from https://ENDPOINT/TABLE --live, which copies its items and
/// follows its stream. From exports of the service, a full one and increments:
/// --from aws://TABLE?export=PLACE/ID,ID. The target tables are created; one that exists is refused, but an
/// empty one for exports. The command says what it will do. After a stop the same command goes on.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct MigrateArguments {
    /// FILE.db, https://ENDPOINT/TABLE with --live, or `aws://TABLE?export=PLACE/ID`, where PLACE is a folder or
    /// `s3://BUCKET/PREFIX`
    #[arg(long, value_name = "SOURCE")]
    from: From,
    /// Only this table of a file. Can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// The name of the target table [default: that of the source]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Copy a table that is in use, and follow its changes
    #[arg(long)]
    live: bool,
    /// End once the target has caught up: stop the writers of the source first
    #[arg(long, requires = "live")]
    cutover: bool,
    /// Turn the source's stream on if it is off
    #[arg(long, requires = "live")]
    enable_stream: bool,
    /// Do not compare both sides at the end, which reads all items of both
    #[arg(long, requires = "cutover")]
    no_compare: bool,
    /// So many scans of the source side by side
    #[arg(long, value_name = "COUNT", requires = "live", default_value = SEGMENTS, value_parser = RangedU64ValueParser::<usize>::new().range(1..=SEGMENTS_MAX))]
    segments: usize,
    /// The file that says how far the migration has come [default: NAME.migrate.json in this folder]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The partition key of the table that exports are of, with its type, such as pk:S
    #[arg(long, value_name = "NAME:TYPE", conflicts_with = "like")]
    key: Option<KeyArgument>,
    /// The sort key, such as sk:N
    #[arg(long, value_name = "NAME:TYPE", requires = "key")]
    sort: Option<KeyArgument>,
    /// Create the table of exports as this file describes it, which has the answer of DescribeTable
    #[arg(long, value_name = "FILE")]
    like: Option<PathBuf>,
    /// Say what the command would do, and end
    #[arg(long)]
    dry_run: bool,
    /// The endpoint of the target, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB,
    /// AWS_ENDPOINT_URL, or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    source: SourceCredentials,
    #[command(flatten)]
    s3: S3Arguments,
}

pub(crate) use self::replicate::{ReplicateArguments, run as replicate};

pub(crate) fn run(arguments: &MigrateArguments) -> Result<(), Failure> {
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    if !arguments.dry_run {
        confirm(&target, "this creates tables and puts items into them")?;
    }
    let side = |table: &str| Side {
        endpoint: target.endpoint.clone(),
        credentials: arguments.credentials.clone(),
        table: arguments.name.clone().unwrap_or_else(|| table.to_owned()),
    };
    match &arguments.from {
        From::File(path) => {
            arguments.refuse_live()?;
            arguments.refuse_key()?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let to = format!("{} in {}", target.endpoint, side("").region()?);
            let state = arguments.state_file(&file, &path.display().to_string(), &to)?;
            file::run(&file::Request {
                path,
                tables: &arguments.table,
                name: arguments.name.as_deref(),
                target: side(""),
                state,
                extent: arguments.extent(),
            })
        }
        From::Table { endpoint, table } => {
            arguments.refuse_table()?;
            arguments.refuse_key()?;
            if !arguments.live {
                return Err(Failure::new(format!("{table} at {endpoint} may be in use"))
                    .advising("pass --live to copy it and follow its changes"));
            }
            let credentials = arguments.source.credentials(endpoint)?;
            let source = Side { endpoint: endpoint.clone(), credentials, table: table.clone() };
            let target = side(table);
            let state = arguments.state_file(&target.table, &source.shown()?, &target.shown()?)?;
            live::run(&source, &target, &state, arguments.choices())
        }
        From::Exports(place) => {
            arguments.refuse_live()?;
            arguments.refuse_table()?;
            let definition = match (&arguments.key, &arguments.like) {
                (Some(key), _) => Some(definition::with_key(&place.table, key, arguments.sort.as_ref())),
                (None, Some(path)) => Some(definition::like(path)?),
                (None, None) => None,
            };
            let target = side(&place.table);
            let from = format!("{} in {}", place.ids.join(", "), place.root);
            let state = arguments.state_file(&target.table, &from, &target.shown()?)?;
            let extent = arguments.extent();
            export::run(&export::Request { place, s3: &arguments.s3, definition, target, state, extent })
        }
    }
}

fn refuse(flag: Option<&str>, reason: &str) -> Result<(), Failure> {
    flag.map_or(Ok(()), |flag| Err(Failure::new(format!("{flag} {reason}"))))
}

impl MigrateArguments {
    fn refuse_live(&self) -> Result<(), Failure> {
        let wrong = self.live.then_some("--live");
        refuse(wrong, "is about a table at an endpoint: write --from https://ENDPOINT/TABLE")
    }

    fn refuse_table(&self) -> Result<(), Failure> {
        refuse((!self.table.is_empty()).then_some("--table"), "chooses tables of a file")
    }

    fn refuse_key(&self) -> Result<(), Failure> {
        let wrong = self.key.as_ref().map(|_| "--key").or(self.like.as_ref().map(|_| "--like"));
        refuse(wrong, "is about exports, which do not say the key of their table")
    }

    fn choices(&self) -> Choices {
        Choices {
            until: if self.cutover { follow::Until::CaughtUp } else { follow::Until::Stopped },
            stream: if self.enable_stream { Missing::TurnOn } else { Missing::Refuse },
            comparison: if self.no_compare { Comparison::LeftOut } else { Comparison::Whole },
            segments: self.segments,
            extent: self.extent(),
        }
    }

    const fn extent(&self) -> Extent {
        if self.dry_run { Extent::Shown } else { Extent::Done }
    }

    /// Takes the state file of a migration.
    fn state_file(&self, name: &str, from: &str, to: &str) -> Result<StateFile, Failure> {
        let path = self.state.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.migrate.json")));
        StateFile::hold(&path, format!("the migration from {from} to {to}"))
    }
}
