//! `keywright global rejoin`: a replica that was not reached for weeks is one again.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use keywright_engine::Rejoin;
use keywright_model::json::Json;

use super::verify_replicas::{end_of, lines};
use crate::client::endpoint::{Client, OwnCall, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::counted;
use crate::data::table::explained;
use crate::http::verifications::{FROM, SINCE, UNSENT, rejoin};
use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::process::output;

/// Let a table in this region rejoin the replicas that it is lost to
///
/// Replicas lose each other when they have not reached each other for 30 days (`--replica-lost-days`). Name
/// the region that was away.
#[derive(Debug, Args)]
pub(super) struct RejoinArguments {
    /// The table
    table: String,
    /// Merge what each side has, by the later write; items deleted long ago may be back
    #[arg(long, conflicts_with = "discard")]
    keep: bool,
    /// Take what the other replicas have; items that only this region has, or has later, go to this new file
    #[arg(long, value_name = "FILE")]
    discard: Option<PathBuf>,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

pub(super) fn run(arguments: &RejoinArguments, call: OwnCall) -> Result<(), Failure> {
    if !arguments.keep && arguments.discard.is_none() {
        let failure = Failure::new("the command must know what becomes of items that only this region has");
        return Err(failure.advising("pass --keep or --discard FILE"));
    }
    let target = arguments.endpoint.target()?;
    block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        let mut how = Rejoin::Keep;
        if let Some(file) = &arguments.discard {
            let Written { count, since_ms } =
                write_unsent(&mut client, call, (&arguments.table, file)).await?;
            how = Rejoin::Discard { since_ms };
            output::note(&format!("{} written to {}", counted(count, "item"), file.display()));
        }
        let begun = match client.call_again(call, &rejoin(&arguments.table, how)).await {
            Ok(begun) => begun,
            Err(refusal) => {
                // Only an answer says that nothing is discarded.
                let made = arguments.discard.iter().filter(|_| !refusal.kind.is_empty());
                made.for_each(|file| remove(file));
                return Err(explained(&mut client, &arguments.table, refusal).await.into());
            }
        };
        if arguments.keep {
            output::note("it rejoins: `keywright global status` says when all items are sent");
            return Ok(());
        }
        let ended = end_of(&mut client, call, (&arguments.table, begun)).await?;
        for line in lines(&ended) {
            output::say(&line);
        }
        match ended.str_at("verdict") {
            Some("equal" | "repaired") => Ok(()),
            _ => Err(Failure::new("not everything was done: the replica is still lost")
                .advising("repeat the command with a new file")),
        }
    })
}

/// Removes a file that this command made: nothing is discarded, and the next attempt writes it anew.
fn remove(file: &Path) {
    if let Err(fault) = std::fs::remove_file(file) {
        output::note(&format!("remove {} before the next attempt: {fault}", file.display()));
    }
}

/// What a file has.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    /// Items.
    count: u64,
    /// When the first page was read. What clients write from then on may be on no page, and is kept.
    since_ms: Option<u64>,
}

/// Writes the items that would be discarded to a new file, one in a line. If that fails, there is no file.
async fn write_unsent(
    client: &mut Client,
    call: OwnCall,
    (table, path): (&str, &Path),
) -> Result<Written, Failure> {
    let mut file = None;
    let written = write_pages(client, call, (table, path), &mut file).await;
    if written.is_err() && file.is_some() {
        remove(path);
    }
    written
}

async fn write_pages(
    client: &mut Client,
    call: OwnCall,
    (table, path): (&str, &Path),
    file: &mut Option<File>,
) -> Result<Written, Failure> {
    let cannot = failed("write", path);
    let (mut written, mut from) = (Written::default(), None);
    loop {
        let mut body = Json::object([(UNSENT, Json::text(table))]);
        if let Some(from) = &from {
            body.set(FROM, Json::text(from));
        }
        let page = match client.call_again(call, &body).await {
            Ok(page) => page,
            Err(refusal) => return Err(explained(client, table, refusal).await.into()),
        };
        // Not before the first answer: a table that is not there, or not lost, leaves no file.
        if file.is_none() {
            *file = Some(File::create_new(path).map_err(cannot)?);
        }
        let Some(file) = file.as_mut() else { continue };
        written.since_ms = written.since_ms.or_else(|| page.get(SINCE)?.as_u64());
        for item in page.get("items").map(Json::elements).unwrap_or_default() {
            writeln!(file, "{}", item.compact()).map_err(cannot)?;
            written.count += 1;
        }
        from = page.str_at(FROM).map(str::to_owned);
        if from.is_none() {
            file.sync_all().map_err(cannot)?;
            return Ok(written);
        }
    }
}
