//! `keywright replicate`: a table follows another one, of this server, another endpoint or the service, until
//! the command is stopped.
//!
//! One way: what is written to the target besides stays until the source writes the item. If the stream no
//! longer has what comes next, the command copies the source anew, and removes from the target what the
//! source does not have.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;

use super::definition;
use super::extent::Extent;
use super::follow::progress::Progress;
use super::follow::{Follower, Interruption, Sides, Stream, Until, follow};
use super::show::{Purpose, Show};
use super::side::{Side, identity, region_of_host};
use super::source_credentials::SourceCredentials;
use super::source_stream::{Missing, refuse_itself, stream};
use super::state_file::StateFile;
use super::target_table::{self, Begun};
use super::{SEGMENTS, SEGMENTS_MAX};
use crate::client::aws_settings::{NamedBy, Target, named_endpoint};
use crate::client::confirm::confirm;
use crate::client::endpoint::{Client, Credentials, Endpoint, block_on};
use crate::client::endpoint_url;
use crate::connection::listener::stop_signal;
use crate::data::table;
use crate::process::failure::Failure;
use crate::process::output;

const AWS_SCHEME: &str = "aws:";
const FORM: &str = "write TABLE, https://ENDPOINT/TABLE or aws:REGION/TABLE";

/// A table that is named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TablePlace {
    /// `None`: the endpoint of the command.
    endpoint: Option<Endpoint>,
    table: String,
}

impl FromStr for TablePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix(AWS_SCHEME) {
            let (region, table) = rest.split_once('/').filter(|(_, table)| is_name(table)).ok_or(FORM)?;
            let region = endpoint_url::region(region)?;
            let endpoint = format!("https://dynamodb.{region}.amazonaws.com").parse()?;
            return Ok(Self { endpoint: Some(endpoint), table: table.to_owned() });
        }
        if text.contains("://") {
            let (endpoint, table) = text.rsplit_once('/').filter(|(_, table)| is_name(table)).ok_or(FORM)?;
            // Of `https://host` alone, the last part is the host.
            if endpoint.ends_with('/') {
                return Err(FORM.to_owned());
            }
            return Ok(Self { endpoint: Some(endpoint.parse()?), table: table.to_owned() });
        }
        if is_name(text) { Ok(Self { endpoint: None, table: text.to_owned() }) } else { Err(FORM.to_owned()) }
    }
}

/// Whether a text can be a table's name. The endpoint has the rest of the rule.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', ':'])
}

/// Let a table follow another one, at this endpoint, at another, or of AWS
///
/// Copies the items of --from, then applies each change of its stream to --to, until Ctrl-C. The target is
/// created, unless there is an empty table of the name. After a stop or a kill the same command goes on. As
/// streams keep changes for 24 hours, after a longer stop it copies anew and removes what is gone.
#[derive(Debug, Args)]
pub(crate) struct ReplicateArguments {
    /// The table to follow: TABLE at --endpoint, https://ENDPOINT/TABLE, or aws:REGION/TABLE
    #[arg(long, value_name = "TABLE")]
    from: TablePlace,
    /// The table that follows it, in the same forms
    #[arg(long, value_name = "TABLE")]
    to: TablePlace,
    /// Take a target that has items: those that differ are replaced, and those that the source does not have
    /// are deleted
    #[arg(long)]
    overwrite: bool,
    /// End once everything is copied, and the stream shows nothing more
    #[arg(long)]
    once: bool,
    /// Turn the source's stream on if it is off
    #[arg(long)]
    enable_stream: bool,
    /// So many scans of the source side by side
    #[arg(long, value_name = "COUNT", default_value = SEGMENTS, value_parser = RangedU64ValueParser::<usize>::new().range(1..=SEGMENTS_MAX))]
    segments: usize,
    /// The file that says how far the target has come [default: TABLE.replicate.json in this folder]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The endpoint of tables that are named without one, such as `http://localhost:8000` [default:
    /// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    source: SourceCredentials,
}

impl ReplicateArguments {
    /// Where a table is, and what named its endpoint.
    fn target(&self, place: &TablePlace) -> Result<Target, Failure> {
        match &place.endpoint {
            Some(endpoint) => Ok(Target { endpoint: endpoint.clone(), named_by: NamedBy::Flag }),
            None => named_endpoint(self.endpoint.as_ref()),
        }
    }

    const fn until(&self) -> Until {
        if self.once { Until::CaughtUp } else { Until::Stopped }
    }
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &ReplicateArguments) -> Result<(), Failure> {
    let (from, to) = (arguments.target(&arguments.from)?, arguments.target(&arguments.to)?);
    confirm(&to, "this writes items, and may create the table")?;
    let of_host = region_of_host(&to.endpoint.host).map(str::to_owned);
    let source = Side {
        credentials: arguments.source.credentials(&from.endpoint)?,
        endpoint: from.endpoint,
        table: arguments.from.table.clone(),
    };
    let target = Side {
        credentials: arguments.credentials.clone().in_region(of_host),
        endpoint: to.endpoint,
        table: arguments.to.table.clone(),
    };
    refuse_itself(&source, &target, "--to")?;
    let default = || PathBuf::from(format!("{}.replicate.json", target.table));
    let path = arguments.state.clone().unwrap_or_else(default);
    let state =
        StateFile::hold(&path, format!("the replication from {} to {}", source.shown()?, target.shown()?))?;
    block_on(Replication { source: &source, target: &target, state: &state, arguments }.run())
}

/// One table that follows another one.
struct Replication<'r> {
    source: &'r Side,
    target: &'r Side,
    state: &'r StateFile,
    arguments: &'r ReplicateArguments,
}

/// What a follower begins with.
struct Beginning {
    definition: TableDefinition,
    stream: Stream,
    source_id: Json,
    source_items: u64,
    /// The identity of the target.
    created: String,
    progress: Progress,
}

impl Replication<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let stop = stop_signal()?;
        tokio::pin!(stop);
        let show = Show::new(self.source, Purpose::Replication, self.arguments.until());
        output::note(&format!("{} follows {}", self.target.shown()?, self.source.shown()?));
        loop {
            let begun = self.begin().await?;
            self.keep(&begun, &begun.progress)?;
            let sides = Sides {
                source: self.source,
                target: self.target,
                keys: begun.definition.schema.key.attributes().cloned().collect(),
                source_items: begun.source_items,
            };
            let keep = |progress: &Progress| self.keep(&begun, progress);
            let report = |event| show.take(event);
            let follower = Follower::new(sides, begun.stream.clone(), begun.progress.clone(), &keep, &report);
            let ended = tokio::select! {
                ended = follow(&follower, self.arguments.until()) => ended,
                signalled = &mut stop => {
                    signalled?;
                    show.clear();
                    output::note(&format!(
                        "Stopped. {} says how far {} has come: the same command goes on.",
                        self.state.path().display(),
                        self.target.table
                    ));
                    return Ok(());
                }
            };
            match ended {
                Ok(()) => {
                    show.clear();
                    return Ok(());
                }
                Err(Interruption::Failed(failure)) => return Err(failure),
                Err(Interruption::Lost(reason)) => {
                    self.say_anew(&reason);
                    self.keep(&begun, &Progress::onto_items(self.arguments.segments))?;
                }
            }
        }
    }

    fn say_anew(&self, reason: &str) {
        output::note(&format!(
            "{}: {reason}, so that changes are lost. It is copied anew, and what is gone is removed from {}",
            self.source.table, self.target.table
        ));
    }

    /// Notes how far the target has come.
    fn keep(&self, begun: &Beginning, progress: &Progress) -> Result<(), Failure> {
        let table = Begun::Created(begun.created.clone());
        self.write(&begun.source_id, Some(&begun.stream), (&table, progress))
    }

    fn write(
        &self,
        source_id: &Json,
        stream: Option<&Stream>,
        (table, progress): (&Begun, &Progress),
    ) -> Result<(), Failure> {
        self.state.write(&Json::object([
            ("source", source_id.clone()),
            ("stream", stream.map_or(Json::Null, |stream| Json::text(&stream.0))),
            ("table", table.json()),
            ("progress", progress.json()),
        ]))
    }

    /// Looks at both tables, and makes the target if it is not there.
    async fn begin(&self) -> Result<Beginning, Failure> {
        let record = self.state.read()?;
        let (mut at_source, mut at_target) = (self.source.connect().await?, self.target.connect().await?);
        let description = self.source.describe_source(&mut at_source).await?;
        let source_id = identity(&description).map_or(Json::Null, Json::text);
        let known = record.as_ref().and_then(|record| record.get("source"));
        if known.is_some_and(|known| *known != source_id) {
            return Err(Failure::new(
                "the source was deleted and created again since this replication began",
            )
            .advising(format!(
                "remove {}, and pass --overwrite to follow the new table",
                self.state.path().display()
            )));
        }
        let missing = if self.arguments.enable_stream { Missing::TurnOn } else { Missing::Refuse };
        let asked = (missing, Extent::Done);
        let (stream, description) = stream(&mut at_source, self.source, asked, description).await?;
        let stream = stream.ok_or("the source has no stream")?;
        let definition = definition::of_description(&description)?;
        let segments = self.arguments.segments;
        let (begun, mut progress) = match &record {
            None => self.begin_anew(&mut at_target, &definition, &source_id).await?,
            Some(record) => {
                let begun = Begun::read(Some(record));
                target_table::check(&mut at_target, self.target, &begun).await?;
                let progress = record.get("progress").map(Progress::read).transpose()?;
                (begun, progress.unwrap_or_else(|| Progress::onto_items(segments)))
            }
        };
        let created = match begun {
            Begun::Created(identity) => identity,
            Begun::Nothing | Begun::Creating => {
                target_table::create(&mut at_target, self.target, &definition).await?
            }
        };
        let known = record.as_ref().and_then(|record| record.str_at("stream"));
        if known.is_some_and(|known| known != stream.0) {
            self.say_anew("its stream was turned off and on again");
            progress = Progress::onto_items(segments);
        }
        let source_items = table::item_count(&description);
        Ok(Beginning { definition, stream, source_id, source_items, created, progress })
    }

    /// What to begin with the first time: a target that is to be made, or one that is there.
    async fn begin_anew(
        &self,
        client: &mut Client,
        definition: &TableDefinition,
        source_id: &Json,
    ) -> Result<(Begun, Progress), Failure> {
        let (name, segments) = (&self.target.table, self.arguments.segments);
        let Some(found) = target_table::description(client, name).await? else {
            let progress = Progress::new(segments);
            self.write(source_id, None, (&Begun::Creating, &progress))?;
            return Ok((Begun::Creating, progress));
        };
        if definition::of_description(&found)?.schema.key != definition.schema.key {
            return Err(Failure::new(format!("the table {name} has another key than {}", self.source.table))
                .advising("name another target with --to"));
        }
        if !self.arguments.overwrite && target_table::has_items(client, name).await? {
            return Err(Failure::new(format!("the table {name} at {} has items", self.target.endpoint))
                .advising(
                    "pass --overwrite to make it equal to the source, or name another target with --to",
                ));
        }
        let identity = identity(&found).ok_or("DescribeTable: the endpoint describes no table")?;
        Ok((Begun::Created(identity), Progress::onto_items(segments)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_with_or_without_its_endpoint() {
        let read = |text: &str| text.parse::<TablePlace>();
        let at = |endpoint: &str, table: &str| {
            Ok(TablePlace { endpoint: Some(endpoint.parse().unwrap()), table: table.to_owned() })
        };
        assert_eq!(read("Orders"), Ok(TablePlace { endpoint: None, table: "Orders".to_owned() }));
        assert_eq!(read("http://localhost:8000/Orders"), at("http://localhost:8000", "Orders"));
        assert_eq!(read("aws:eu-west-1/Orders"), at("https://dynamodb.eu-west-1.amazonaws.com", "Orders"));
        for text in
            ["", "aws:eu-west-1", "aws:/T", "aws:Nowhere!/T", "http://localhost:8000", "http://h/", "a/b"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
