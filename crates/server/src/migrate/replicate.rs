//! `keywright replicate`: a table follows another one, of this server, another endpoint or the service, until
//! the command is stopped.
//!
//! One way, what is written to the target besides stays until the source writes the item. If the stream no
//! longer has what comes next, the command copies the source anew, and removes from the target what the
//! source does not have; a target that was not copied onto, by `--since`, it leaves as it is. Both ways begin
//! as one way does, and refuse to guess after such a gap.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;
use keywright_semantics::schema::KeyAttribute;

use super::both_ways::{self, Book, Bridge};
use super::definition;
use super::extent::Extent;
use super::follow::progress::Progress;
use super::follow::{Follower, Interruption, Sides, Stream, Until, follow, since, stream_of};
use super::show::{Purpose, Show};
use super::side::{Side, identity, is_same_table, region_of_host};
use super::source_credentials::SourceCredentials;
use super::source_stream::{Missing, is_on, refusal_of_itself, refuse_itself, stream};
use super::state_file::StateFile;
use super::target_table::{self, Begun};
use super::{SEGMENTS, SEGMENTS_MAX};
use crate::client::aws_settings::{NamedBy, Target, named_endpoint};
use crate::client::confirm::confirm;
use crate::client::endpoint::{Client, Credentials, Endpoint, block_on};
use crate::client::endpoint_url;
use crate::client::time_argument::TimeArgument;
use crate::connection::listener::stop_signal;
use crate::data::table;
use crate::process::failure::Failure;
use crate::process::output;
use crate::process::timestamp;

/// The member of the state file with what is under way both ways.
const BOOK: &str = "bothWays";

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
/// created, unless there is an empty table of the name. A target that was filled from an export needs no
/// copy: --since names the time of the export. After a stop or a kill the same command goes on. As streams
/// keep changes for 24 hours, after a longer stop it copies anew and removes what is gone.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
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
    /// Copy nothing: the target has the items as of this time, such as that of an export. Apply the changes
    /// of the stream since then. A time such as 2026-10-06T23:16:32Z, or how long ago it was, such as -2h
    #[arg(long, value_name = "TIME", conflicts_with = "overwrite", allow_hyphen_values = true)]
    since: Option<TimeArgument>,
    /// Let both tables be written: changes of --to go to --from too, and both end equal. If both change an
    /// item at the same time, the change that --from has last stays. Items at --from get an attribute,
    /// keywright:sent, by which their changes are known
    #[arg(long)]
    both_ways: bool,
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

    /// How long the target only follows.
    const fn follows_until(&self) -> Until {
        if self.both_ways { Until::Near } else { self.until() }
    }
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &ReplicateArguments) -> Result<(), Failure> {
    let (from, to) = (arguments.target(&arguments.from)?, arguments.target(&arguments.to)?);
    confirm(&to, "this writes items, and may create the table")?;
    if arguments.both_ways {
        confirm(&from, "this writes items")?;
    }
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
    /// Once changes go both ways.
    book: Option<Book>,
}

impl Beginning {
    fn keys(&self) -> Vec<KeyAttribute> {
        self.definition.schema.key.attributes().cloned().collect()
    }
}

impl Replication<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let stop = stop_signal()?;
        let show = Show::new(self.source, Purpose::Replication, self.arguments.follows_until());
        let verb = if self.arguments.both_ways { "and" } else { "follows" };
        output::note(&format!("{} {verb} {}", self.target.shown()?, self.source.shown()?));
        let ended = tokio::select! {
            ended = self.follow(&show) => ended,
            signalled = stop => {
                show.clear();
                signalled?;
                output::note(&format!(
                    "Stopped. {} says how far {} has come: the same command goes on.",
                    self.state.path().display(),
                    self.target.table
                ));
                return Ok(());
            }
        };
        show.clear();
        match ended {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.lost_table().await.unwrap_or(failure)),
        }
    }

    /// What to do if one of the tables was deleted meanwhile: of that an endpoint says only that it has no
    /// such table.
    async fn lost_table(&self) -> Option<Failure> {
        let record = self.state.read().ok()??;
        // The endpoint that has failed may be away: it is asked once.
        let described = async |side: &Side| {
            let mut client = Client::connect(&side.endpoint, &side.credentials).await.ok()?;
            target_table::description(&mut client, &side.table).await.ok()
        };
        let source = described(self.source).await?;
        if let Some(failure) = self.lost_source(&record, source.as_ref()) {
            return Some(failure);
        }
        let Begun::Created(own) = Begun::read(Some(&record)) else { return None };
        let target = described(self.target).await?;
        target_table::lost(self.target, &own, target.as_ref(), "--to")
    }

    /// What to do if the source is not the table that the state is about.
    fn lost_source(&self, record: &Json, found: Option<&Json>) -> Option<Failure> {
        let known = record.get("source")?;
        let is_same = |found: &Json| *known == identity(found).map_or(Json::Null, Json::text);
        let what = match found.filter(|found| !target_table::is_deleted(found)) {
            None => "deleted",
            Some(found) if is_same(found) => return None,
            Some(_) => "deleted and created again",
        };
        let failure = format!("the source, {}, was {what} since this replication began", self.source.place());
        Some(Failure::new(failure).advising(format!(
            "remove {}, and pass --overwrite to follow a new table of this name",
            self.state.path().display()
        )))
    }

    async fn follow(&self, show: &Show<'_>) -> Result<(), Failure> {
        loop {
            let mut begun = self.begin().await?;
            if let Some(book) = begun.book.take() {
                return self.go_both_ways(&begun, book, show).await;
            }
            self.keep(&begun, &begun.progress)?;
            let sides = Sides {
                source: self.source,
                target: self.target,
                keys: begun.keys(),
                source_items: begun.source_items,
                leave_out: self.arguments.both_ways.then_some(both_ways::MARKER),
            };
            let keep = |progress: &Progress| self.keep(&begun, progress);
            let report = |event| show.take(event);
            let follower = Follower::new(sides, begun.stream.clone(), begun.progress.clone(), &keep, &report);
            match follow(&follower, self.arguments.follows_until()).await {
                Ok(()) if self.arguments.both_ways => {
                    self.turn_both_ways(&begun, follower.progress()).await?;
                }
                Ok(()) => return Ok(()),
                Err(Interruption::Failed(failure)) => return Err(failure),
                Err(Interruption::Lost(reason)) => {
                    let anew = self.anew(&begun.progress, &reason)?;
                    self.keep(&begun, &anew)?;
                }
            }
        }
    }

    /// From now on changes go both ways: the target has caught up.
    async fn turn_both_ways(&self, begun: &Beginning, progress: Progress) -> Result<(), Failure> {
        let mut client = self.target.connect().await?;
        let target_stream = both_ways::second_stream(&mut client, self.target).await?;
        let second = (self.target, begun.created.as_str());
        let book = both_ways::begin(second, target_stream, progress.clone()).await;
        let book = book.map_err(|interruption| self.apart(interruption))?;
        self.keep_book(begun, &progress, &book.json())?;
        output::note(&format!(
            "Both ways: from now on changes of {} go to {} too.",
            self.target.place(),
            self.source.place()
        ));
        Ok(())
    }

    async fn go_both_ways(&self, begun: &Beginning, book: Book, show: &Show<'_>) -> Result<(), Failure> {
        let description = self.target.describe(&mut self.target.connect().await?).await?;
        if stream_of(&description, &self.target.table)?.0 != book.second_stream() {
            let reason = format!("{}: its stream was turned off and on again", self.target.place());
            return Err(self.apart(Interruption::Lost(reason)));
        }
        let keep = |book: &Json| self.keep_book(begun, &begun.progress, book);
        let report = |came| show.both_ways(self.target, came);
        let bridge = Bridge {
            first: self.source,
            second: self.target,
            ids: (begun.source_id.as_str().unwrap_or_default(), &begun.created),
            first_stream: &begun.stream,
            keys: &begun.keys(),
            keep: &keep,
            show: &report,
        };
        bridge.run(book, self.arguments.until()).await.map_err(|interruption| self.apart(interruption))
    }

    /// What is said where changes of two tables are lost: which of them count nobody but a person knows.
    fn apart(&self, interruption: Interruption) -> Failure {
        match interruption {
            Interruption::Failed(failure) => failure,
            Interruption::Lost(reason) => {
                Failure::new(format!("{reason}, so that changes are lost")).advising(format!(
                    "to make {target} equal to {source} again, which removes what only {target} has, remove {state} \
                     and pass --overwrite",
                    target = self.target.place(),
                    source = self.source.place(),
                    state = self.state.path().display()
                ))
            }
        }
    }

    /// What to begin anew with after changes were lost: a copy, unless the target was not to be copied onto.
    fn anew(&self, progress: &Progress, reason: &str) -> Result<Progress, Failure> {
        let (source, target) = (self.source.place(), self.target.place());
        let lost = format!("{source}: {reason}, so that changes are lost");
        if progress.from_ms.is_some() {
            let failure =
                format!("{lost}. As the target was filled by --since, nothing is copied over {target}");
            return Err(Failure::new(failure).advising(format!(
                "remove {}, and fill {target} from a later export, or pass --overwrite in place of --since, which \
                 copies {source} and removes what only {target} has",
                self.state.path().display()
            )));
        }
        output::note(&format!("{lost}. It is copied anew, and what is gone is removed from {target}"));
        Ok(Progress::onto_items(self.arguments.segments))
    }

    /// Notes how far the target has come.
    fn keep(&self, begun: &Beginning, progress: &Progress) -> Result<(), Failure> {
        let table = Begun::Created(begun.created.clone());
        self.write(&begun.source_id, Some(&begun.stream), (&table, progress), None)
    }

    /// Notes what is under way both ways.
    fn keep_book(&self, begun: &Beginning, progress: &Progress, book: &Json) -> Result<(), Failure> {
        let table = Begun::Created(begun.created.clone());
        self.write(&begun.source_id, Some(&begun.stream), (&table, progress), Some(book))
    }

    fn write(
        &self,
        source_id: &Json,
        stream: Option<&Stream>,
        (table, progress): (&Begun, &Progress),
        book: Option<&Json>,
    ) -> Result<(), Failure> {
        let mut record = Json::object([
            ("source", source_id.clone()),
            ("stream", stream.map_or(Json::Null, |stream| Json::text(&stream.0))),
            ("table", table.json()),
            ("progress", progress.json()),
        ]);
        if let Some(book) = book {
            record.set(BOOK, book.clone());
        }
        self.state.write(&record)
    }

    /// What is under way both ways, if it has come to that.
    fn book(&self, record: Option<&Json>, definition: &TableDefinition) -> Result<Option<Book>, Failure> {
        let Some(json) = record.and_then(|record| record.get(BOOK)) else { return Ok(None) };
        if !self.arguments.both_ways {
            return Err(Failure::new(format!("{} goes both ways", self.state.path().display()))
                .advising("pass --both-ways, or begin another replication with another --state"));
        }
        let keys: Vec<KeyAttribute> = definition.schema.key.attributes().cloned().collect();
        Book::read(&keys, json).map(Some)
    }

    /// Looks at both tables, and makes the target if it is not there.
    async fn begin(&self) -> Result<Beginning, Failure> {
        let record = self.state.read()?;
        let (mut at_source, mut at_target) = (self.source.connect().await?, self.target.connect().await?);
        let description = self.source.describe_source(&mut at_source).await?;
        let source_id = identity(&description).map_or(Json::Null, Json::text);
        if let Some(failure) = record.as_ref().and_then(|record| self.lost_source(record, Some(&description)))
        {
            return Err(failure);
        }
        let found = target_table::description(&mut at_target, &self.target.table).await?;
        if found.as_ref().is_some_and(|found| is_same_table(&description, found)) {
            return Err(refusal_of_itself(self.source, "--to")?);
        }
        let missing = if self.arguments.enable_stream { Missing::TurnOn } else { Missing::Refuse };
        let asked = (missing, Extent::Done);
        let (stream, description) = stream(&mut at_source, self.source, asked, description).await?;
        let stream = stream.ok_or("the source has no stream")?;
        if self.arguments.both_ways {
            both_ways::check_view(&description, &self.source.place())?;
            if let Some(target) = found.filter(is_on) {
                both_ways::check_view(&target, &self.target.place())?;
            }
        }
        let definition = definition::of_description(&description)?;
        let segments = self.arguments.segments;
        let (begun, mut progress) = match &record {
            None => {
                let since = self.since(&mut at_target, &stream).await?;
                self.begin_anew(&mut at_target, &definition, &source_id, since).await?
            }
            Some(record) => {
                if self.arguments.since.is_some() {
                    output::note(&format!(
                        "--since says where to begin and changes nothing any more: {} says how far {} has come",
                        self.state.path().display(),
                        self.target.place()
                    ));
                }
                let begun = Begun::read(Some(record));
                target_table::check(&mut at_target, self.target, &begun, "--to").await?;
                let progress = record.get("progress").map(Progress::read).transpose()?;
                (begun, progress.unwrap_or_else(|| Progress::onto_items(segments)))
            }
        };
        let book = self.book(record.as_ref(), &definition)?;
        let created = match begun {
            Begun::Created(identity) => identity,
            Begun::Nothing | Begun::Creating => {
                target_table::create(&mut at_target, self.target, &definition).await?
            }
        };
        let known = record.as_ref().and_then(|record| record.str_at("stream"));
        if known.is_some_and(|known| known != stream.0) {
            let reason = "its stream was turned off and on again";
            if book.is_some() {
                return Err(self.apart(Interruption::Lost(format!("{}: {reason}", self.source.place()))));
            }
            progress = self.anew(&progress, reason)?;
        }
        let source_items = table::item_count(&description);
        Ok(Beginning { definition, stream, source_id, source_items, created, progress, book })
    }

    /// What a target begins with that was filled as of the time of --since.
    async fn since(&self, at_target: &mut Client, stream: &Stream) -> Result<Option<Progress>, Failure> {
        let Some(TimeArgument(since_ms)) = self.arguments.since else { return Ok(None) };
        let name = &self.target.table;
        if target_table::description(at_target, name).await?.is_none() {
            return Err(Failure::new(format!(
                "there is no table {name} at {} that could have the items as of {}",
                self.target.endpoint,
                timestamp::of(since_ms)
            ))
            .advising("fill it first, as with keywright migrate from an export, or leave --since out"));
        }
        let mut streams = self.source.connect_to_streams().await?;
        let from_ms = since::from_ms(&mut streams, stream, since_ms).await?;
        output::note(&format!(
            "{}: nothing is copied; its stream is followed from {} on",
            self.source.table,
            timestamp::of(from_ms)
        ));
        Ok(Some(Progress::from_time(from_ms)))
    }

    /// What to begin with the first time: a target that is to be made, or one that is there.
    async fn begin_anew(
        &self,
        client: &mut Client,
        definition: &TableDefinition,
        source_id: &Json,
        since: Option<Progress>,
    ) -> Result<(Begun, Progress), Failure> {
        let (name, segments) = (&self.target.table, self.arguments.segments);
        let Some(found) = target_table::description(client, name).await? else {
            let progress = Progress::new(segments);
            self.write(source_id, None, (&Begun::Creating, &progress), None)?;
            return Ok((Begun::Creating, progress));
        };
        if definition::of_description(&found)?.schema.key != definition.schema.key {
            return Err(Failure::new(format!("the table {name} has another key than {}", self.source.table))
                .advising("name another target with --to"));
        }
        let is_taken = self.arguments.overwrite || since.is_some();
        if !is_taken && target_table::has_items(client, name).await? {
            return Err(Failure::new(format!("the table {name} at {} has items", self.target.endpoint))
                .advising(
                    "pass --overwrite to make it equal to the source, --since TIME if it has the source's items as of a time, or name another target with --to",
                ));
        }
        let identity = identity(&found).ok_or("DescribeTable: the endpoint describes no table")?;
        let progress = since.unwrap_or_else(|| Progress::onto_items(segments));
        Ok((Begun::Created(identity), progress))
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
