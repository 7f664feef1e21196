//! `keywright global rejoin`: a replica that was not reached for weeks is one again.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use keywright_model::json::Json;

use super::verify_replicas::{end_of, lines};
use crate::client::endpoint::{Client, OwnCall, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::counted;
use crate::data::table::explained;
use crate::http::verifications::{FROM, KEEPS, REJOINS, UNSENT};
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
    #[arg(long, required_unless_present = "discard", conflicts_with = "discard")]
    keep: bool,
    /// Take what the other replicas have; items that only this region has, or has later, go to this new file
    #[arg(long, value_name = "FILE")]
    discard: Option<PathBuf>,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

pub(super) fn run(arguments: &RejoinArguments, call: OwnCall) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        if let Some(file) = &arguments.discard {
            let count = write_unsent(&mut client, call, (&arguments.table, file)).await?;
            output::note(&format!("{} written to {}", counted(count, "item"), file.display()));
        }
        let members = [(REJOINS, Json::text(&arguments.table)), (KEEPS, Json::Bool(arguments.keep))];
        let begun = match client.call_again(call, &Json::object(members)).await {
            Ok(begun) => begun,
            Err(refusal) => return Err(explained(&mut client, &arguments.table, refusal).await.into()),
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
            _ => Err(Failure::new("some items could not be replaced: the replica is still lost")),
        }
    })
}

/// Writes the items that would be discarded to a new file, one in a line; how many there are.
async fn write_unsent(
    client: &mut Client,
    call: OwnCall,
    (table, path): (&str, &Path),
) -> Result<u64, Failure> {
    let cannot = failed("write", path);
    let mut file: Option<File> = None;
    let (mut count, mut from) = (0, None);
    loop {
        let mut body = Json::object([(UNSENT, Json::text(table))]);
        if let Some(from) = &from {
            body.set(FROM, Json::text(from));
        }
        let page = match client.call_again(call, &body).await {
            Ok(page) => page,
            Err(refusal) => return Err(explained(client, table, refusal).await.into()),
        };
        // Not before the first answer: a table that is not there leaves no file.
        if file.is_none() {
            file = Some(File::create_new(path).map_err(cannot)?);
        }
        let Some(file) = &mut file else { continue };
        for item in page.get("items").map(Json::elements).unwrap_or_default() {
            writeln!(file, "{}", item.compact()).map_err(cannot)?;
            count += 1;
        }
        from = page.str_at(FROM).map(str::to_owned);
        if from.is_none() {
            file.sync_all().map_err(cannot)?;
            return Ok(count);
        }
    }
}
