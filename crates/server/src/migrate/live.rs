//! `keywright migrate --from https://ENDPOINT/TABLE --live`: a table that is in use, copied and followed.

use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;

use super::definition;
use super::extent::Extent;
use super::follow::compare::{Differences, compare};
use super::follow::progress::Progress;
use super::follow::{Follower, Interruption, Sides, Until, follow};
use super::show::{Purpose, Show};
use super::side::{Side, identity};
use super::source_stream::{Missing, refuse_itself, stream};
use super::state_file::StateFile;
use super::target_table::{self, Begun};
use crate::client::endpoint::{Client, block_on};
use crate::connection::listener::stop_signal;
use crate::data::table::{self, UNKNOWN_OPERATION};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;

/// How often the tables are compared before what differs is reported: changes may have come meanwhile.
const COMPARISONS: u32 = 3;

/// What the command line says of a live migration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choices {
    pub(super) until: Until,
    pub(super) stream: Missing,
    pub(super) comparison: Comparison,
    pub(super) segments: usize,
    pub(super) extent: Extent,
}

/// Whether both sides are compared at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Whole,
    LeftOut,
}

pub(super) fn run(source: &Side, target: &Side, state: &StateFile, choices: Choices) -> Result<(), Failure> {
    block_on(migrate(source, target, state, choices))
}

async fn migrate(source: &Side, target: &Side, state: &StateFile, choices: Choices) -> Result<(), Failure> {
    // A signal that comes before the follower is there stops it at once.
    let stop = stop_signal()?;
    let record = state.read()?;
    let begun = Begun::read(record.as_ref());
    let (mut at_source, mut at_target) = (source.connect().await?, target.connect().await?);
    refuse_itself(source, target, "--as")?;
    target_table::check(&mut at_target, target, &begun, "--as").await?;
    let description = source.describe_source(&mut at_source).await?;
    check_source(record.as_ref(), &description)?;
    let asked = (choices.stream, choices.extent);
    let (stream, description) = stream(&mut at_source, source, asked, description).await?;
    let mut definition = definition::of_description(&description)?;
    let untold = match time_to_live(&mut at_source, source).await? {
        TimeToLive::Known(attribute) => {
            definition.ttl = attribute;
            None
        }
        TimeToLive::Untold(warning) => Some(warning),
    };
    if let Some(warning) = &untold {
        output::note(warning);
    }
    say(source, target, &definition, &begun, state, choices)?;
    let Some(stream) = stream.filter(|_| choices.extent == Extent::Done) else { return Ok(()) };
    let known = record.as_ref().and_then(|record| record.str_at("stream"));
    if known.is_some_and(|known| known != stream.0) {
        return Err(Failure::new(format!(
            "the stream of {} was turned off and on again since this migration began, so that changes are lost",
            source.table
        ))
        .advising("delete the target table and the state file, and begin again"));
    }
    let progress = match record.as_ref().and_then(|record| record.get("progress")) {
        Some(progress) => Progress::read(progress)?,
        None => Progress::new(choices.segments),
    };
    let source_id = identity(&description).map_or(Json::Null, Json::text);
    let record = |begun: &Begun, progress: &Progress| {
        state.write(&Json::object([
            ("source", source_id.clone()),
            ("stream", Json::text(&stream.0)),
            ("table", begun.json()),
            ("progress", progress.json()),
        ]))
    };
    if begun == Begun::Nothing {
        record(&Begun::Creating, &progress)?;
    }
    let created = Begun::Created(target_table::create(&mut at_target, target, &definition).await?);
    record(&created, &progress)?;
    let keep = |progress: &Progress| record(&created, progress);
    let show = Show::new(source, Purpose::Migration, choices.until);
    let sides = Sides {
        source,
        target,
        keys: definition.schema.key.attributes().cloned().collect(),
        source_items: table::item_count(&description),
        leave_out: None,
    };
    let keys = sides.keys.clone();
    let report = |event| show.take(event);
    let follower = Follower::new(sides, stream.clone(), progress, &keep, &report);
    tokio::select! {
        ended = end(&follower, choices, source, target, &keys) => ended?,
        signalled = stop => {
            signalled?;
            show.clear();
            output::note(&format!(
                "Stopped. {} says how far the migration has come: the same command goes on, with --cutover to its end.",
                state.path().display()
            ));
            return Ok(());
        }
    }
    target_table::finish(&mut at_target, target, &definition).await?;
    state.remove()?;
    show.clear();
    if let Some(warning) = &untold {
        output::note(warning);
    }
    output::note(&format!("{} is complete: point the application to it.", target.shown()?));
    Ok(())
}

/// Follows, and compares at the end. Returns only from a migration that ends by itself.
async fn end(
    follower: &Follower<'_>,
    choices: Choices,
    source: &Side,
    target: &Side,
    keys: &[keywright_semantics::schema::KeyAttribute],
) -> Result<(), Failure> {
    follow(follower, choices.until).await.map_err(refused)?;
    if choices.comparison == Comparison::LeftOut {
        return Ok(());
    }
    let mut found = compare(source, target, keys, choices.segments).await?;
    for _ in 1..COMPARISONS {
        if found.ranges.is_empty() {
            break;
        }
        follow(follower, choices.until).await.map_err(refused)?;
        found = compare(source, target, keys, choices.segments).await?;
    }
    if found.ranges.is_empty() {
        output::note(&format!("Both sides are equal: {} items in every range of their keys.", found.items));
        return Ok(());
    }
    Err(differing(&found, source))
}

/// What a migration says of its end: changes that are lost it does not look for.
fn refused(interruption: Interruption) -> Failure {
    match interruption {
        Interruption::Failed(failure) => failure,
        Interruption::Lost(reason) => Failure::new(format!(
            "the migration cannot go on from its place in the source's stream: {reason}, so that changes are lost"
        ))
        .advising("delete the target table and the state file, and begin again"),
    }
}

fn differing(found: &Differences, source: &Side) -> Failure {
    for (number, ours, theirs) in &found.ranges {
        output::say(&format!("range {number:02x}: {ours} items at the source, {theirs} at the target"));
    }
    for (key, difference) in &found.keys {
        output::say(&format!("{} {difference}", inline(key)));
    }
    let ranges = found.ranges.len();
    let noun = if ranges == 1 { "range" } else { "ranges" };
    Failure::new(format!("the two sides differ in {ranges} {noun} of their keys")).advising(format!(
        "stop what writes to {} and to the target, then run the same command again",
        source.table
    ))
}

/// Refuses a source that is another table than the one that the migration began with.
fn check_source(record: Option<&Json>, description: &Json) -> Result<(), Failure> {
    let known = record.and_then(|record| record.str_at("source"));
    if known.is_none() || known == identity(description).as_deref() {
        return Ok(());
    }
    Err(Failure::new("the source table was deleted and created again since this migration began")
        .advising("delete the target table and the state file, and begin again"))
}

/// What the source says of its time to live.
enum TimeToLive {
    /// Its attribute; `None` if it is off.
    Known(Option<String>),
    /// The source refuses to say. This is a warning about it.
    Untold(String),
}

/// The source's time to live. An endpoint that does not know the setting has it off.
async fn time_to_live(client: &mut Client, source: &Side) -> Result<TimeToLive, Failure> {
    let answer = match client.ask_again("DescribeTimeToLive", &source.about()).await {
        Ok(answer) => answer,
        Err(refusal) if refusal.kind == UNKNOWN_OPERATION => return Ok(TimeToLive::Known(None)),
        // No answer of the API: the command can be run again.
        Err(refusal) if refusal.kind.is_empty() => return Err(refusal.into()),
        Err(refusal) => {
            return Ok(TimeToLive::Untold(format!(
                "Warning: time to live is not taken, since the source does not say whether it is on: {}. If it \
                 is, turn it on in the target.",
                refusal.text
            )));
        }
    };
    let settings = answer.get("TimeToLiveDescription");
    let is_on = |own: &&Json| matches!(own.str_at("TimeToLiveStatus"), Some("ENABLED" | "ENABLING"));
    let attribute = settings.filter(is_on).and_then(|own| own.str_at("AttributeName"));
    Ok(TimeToLive::Known(attribute.map(str::to_owned)))
}

/// Says what the command will do.
fn say(
    source: &Side,
    target: &Side,
    definition: &TableDefinition,
    begun: &Begun,
    state: &StateFile,
    choices: Choices,
) -> Result<(), Failure> {
    output::note(&format!("From {} to {}", source.shown()?, target.shown()?));
    if *begun == Begun::Nothing {
        output::note(&format!("  create the table: {}", target_table::shown(definition)));
    } else {
        output::note("  go on with the table that this migration created");
    }
    output::note(&format!(
        "  copy its items by {} scans, and follow its stream; {} says how far it has come",
        choices.segments,
        state.path().display()
    ));
    let mut last: Vec<&str> = Vec::new();
    if definition.ttl.is_some() {
        last.push("time to live");
    }
    if definition.stream.is_some() {
        last.push("the stream");
    }
    if definition.deletion_protection {
        last.push("protection from deletion");
    }
    output::note(&match choices.until {
        Until::CaughtUp if last.is_empty() => "  compare both sides, and end".to_owned(),
        Until::CaughtUp => format!("  compare both sides, turn on {}, and end", last.join(", ")),
        Until::Near | Until::Stopped => "  follow until Ctrl-C".to_owned(),
    });
    Ok(())
}
