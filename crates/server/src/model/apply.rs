//! `keywright model apply`: makes at an endpoint what a model has and the endpoint lacks.

use std::path::PathBuf;

use clap::Args;
use keywright_exchange::apply::{Application, Call, Purpose, apply};
use keywright_exchange::live::LiveTable;
use keywright_exchange::of_model::Items;
use keywright_exchange::table_key;
use keywright_model::Model;
use keywright_model::json::Json;

use super::files;
use crate::client::aws_settings::named_endpoint;
use crate::client::endpoint::{Client, Credentials, Endpoint, Refusal, block_on};
use crate::client::progress::Bar;
use crate::data::put;
use crate::data::table::{NOT_FOUND, UNKNOWN_OPERATION, describe, wait_until_active};
use crate::process::failure::Failure;
use crate::process::output;

/// Create the tables of a model at an endpoint
///
/// Creates tables and global indexes that are missing, and turns on time to live, streams and other
/// settings that are off. Nothing is dropped or changed: what differs is printed, and the command then
/// fails.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct ApplyArguments {
    /// The model file
    model: PathBuf,
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or
    /// that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// Also load the model's items; items that exist are not changed
    #[arg(long)]
    data: bool,
    /// Leave out deletion protection and point-in-time recovery
    #[arg(long)]
    dev: bool,
    #[command(flatten)]
    credentials: Credentials,
}

pub(crate) fn run(arguments: &ApplyArguments) -> Result<(), Failure> {
    let (model, items) = if arguments.data {
        files::load(&arguments.model)?
    } else {
        (files::read_model(&arguments.model)?, Items::new())
    };
    let purpose = if arguments.dev { Purpose::Development } else { Purpose::Production };
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    let made = block_on(async {
        let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
        let there = existing(&mut client, &model, purpose).await?;
        let made = apply(&model, &there, purpose)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        for call in &made.calls {
            send(&mut client, call).await?;
        }
        load(&mut client, &model, &items, &made).await?;
        Ok(made)
    })?;
    report(&made)
}

/// The tables of the model that the endpoint has.
async fn existing(client: &mut Client, model: &Model, purpose: Purpose) -> Result<Vec<LiveTable>, Failure> {
    let mut found = Vec::new();
    for table in &model.tables {
        let request = Json::object([("TableName", Json::text(&table.name))]);
        let description = match client.ask_again("DescribeTable", &request).await {
            Ok(description) => description,
            Err(refusal) if refusal.kind == NOT_FOUND => continue,
            Err(refusal) => return Err(refusal.text.into()),
        };
        let time_to_live = client.ask_again("DescribeTimeToLive", &request).await;
        let backups = client.ask("DescribeContinuousBackups", &request).await;
        let has_recovery = table.pitr == Some(true) && purpose == Purpose::Production;
        found.push(LiveTable {
            description,
            time_to_live: setting(&table.name, ("time to live", table.ttl.is_some()), time_to_live)?,
            backups: setting(&table.name, ("point-in-time recovery", has_recovery), backups)?,
            other_settings: Vec::new(),
            unanswered: Vec::new(),
            items: Vec::new(),
        });
    }
    Ok(found)
}

/// What the endpoint says of a setting of a table. One that does not know the setting has it off. If it
/// refuses to say, a setting that the model declares cannot be compared.
fn setting(
    table: &str,
    (name, is_declared): (&str, bool),
    answer: Result<Json, Refusal>,
) -> Result<Option<Json>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) if refusal.kind == UNKNOWN_OPERATION => Ok(None),
        Err(refusal) if is_declared => {
            let text = format!("{table}: the endpoint does not say whether {name} is on: {}", refusal.text);
            Err(Failure::new(text)
                .advising("nothing was changed: allow the request, and run the command again"))
        }
        Err(refusal) => {
            output::note(&format!("{table}: {name} is not compared: {}", refusal.text));
            Ok(None)
        }
    }
}

/// Sends a call and waits until its table is active again.
async fn send(client: &mut Client, call: &Call) -> Result<(), Failure> {
    let Call { table, operation, makes, .. } = call;
    match client.ask(operation, &call.request).await {
        Ok(_) => output::note(&format!("{table}: made {makes}")),
        Err(refusal) if call.is_optional => {
            output::note(&format!("{table}: without {makes}: {}", refusal.text));
            return Ok(());
        }
        Err(refusal) => return Err(Failure::new(format!("{table}: cannot make {makes}: {}", refusal.text))),
    }
    wait_until_active(client, table).await
}

/// Loads the model's items: in batches into tables that were just created, one by one into others.
async fn load(client: &mut Client, model: &Model, items: &Items, made: &Application) -> Result<(), Failure> {
    for table in model.tables.iter().filter(|table| items.contains_key(&table.name)) {
        let own = items.get(&table.name).map(Vec::as_slice).unwrap_or_default();
        if made.differences.iter().any(|known| known.table == table.name && known.part == "the key") {
            output::note(&format!("{}: its items are not loaded, because its key differs", table.name));
            continue;
        }
        let is_new =
            made.calls.iter().any(|call| call.table == table.name && call.operation == "CreateTable");
        let keys = table_key::keys(&describe(client, &table.name).await?)?;
        let bar = Bar::new();
        let message = format!("loading {}", table.name);
        let of = u64::try_from(own.len()).unwrap_or(u64::MAX);
        let mut loaded = 0_u64;
        let mut kept = 0_u64;
        if is_new {
            for chunk in own.chunks(put::BATCH_ITEMS_MAX) {
                put::batch(client, &table.name, &keys, chunk).await?;
                loaded += u64::try_from(chunk.len()).unwrap_or_default();
                bar.at(&message, loaded, of);
            }
        } else {
            for item in own {
                match put::new_item(client, &table.name, &keys, item).await? {
                    put::New::Put => loaded += 1,
                    put::New::WasThere => kept += 1,
                }
                bar.at(&message, loaded + kept, of);
            }
        }
        let kept =
            if kept == 0 { String::new() } else { format!(", {kept} were there and stay as they are") };
        output::note(&format!("{}: loaded {loaded} items{kept}", table.name));
    }
    Ok(())
}

fn report(made: &Application) -> Result<(), Failure> {
    for note in &made.notes {
        output::note(note);
    }
    for difference in &made.differences {
        output::say(&difference.to_string());
    }
    match made.differences.len() {
        0 if made.calls.is_empty() => {
            output::note("The endpoint has everything that the model has.");
            Ok(())
        }
        0 => Ok(()),
        1 => Err(Failure::new("1 thing differs from the model and stays as it is")),
        several => Err(Failure::new(format!("{several} things differ from the model and stay as they are"))),
    }
}
