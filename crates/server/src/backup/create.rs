//! `keywright backup --to PLACE`: all tables of a database, or some, as of one moment.
//!
//! The database gives its tables page by page as of one stamp; this command writes them. Each table's
//! manifest comes after its chunks, and the manifests of the set come last. A command that was killed leaves
//! no set: the next one begins anew, and `keywright backup prune` removes the rest once it is a day old.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use keywright_archive::{
    Access, Address, BackupPath, CHAIN_LENGTH_MAX, Fault, Kind, Listing, Parts, Place, Scope, SetManifest,
    Sizes, State, Summary, Writer, delete,
};

use super::database::{Database, Holds, holds};
use super::place::{self, list, sentence};
use super::table_argument::TableArgument;
use crate::client::aws_settings::named_endpoint;
use crate::client::confirm;
use crate::client::endpoint::{Credentials, Endpoint};
use crate::client::progress::Bar;
use crate::client::time_argument::period;
use crate::http::sets::{Begun, Ended, PageHead, Request, TableAnswer};
use crate::process::failure::Failure;
use crate::process::output;
use crate::settings::encryption::FolderKeyArguments;
use crate::settings::s3::S3Arguments;
use crate::storage::encryption::backup_keys::{BackupForm, BackupKey, for_writing};
use crate::storage::encryption::source::KeySource;

/// Builds on the newest backup.
const LATEST: &str = "latest";

/// What a backup is made of, and where it goes.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct CreateArguments {
    /// Write the backup here: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE", required = true)]
    to: Option<String>,
    /// Back up this table only: NAME, or ACCOUNT/REGION/NAME. Can be repeated [default: all tables]
    #[arg(long, value_name = "TABLE")]
    table: Vec<TableArgument>,
    /// Write only what has changed since this backup in the same place: an id, or latest for each table's
    /// newest. Needs the history since then: point-in-time recovery, or --keep-history of that backup. A
    /// table without it is backed up whole, and the command says so
    #[arg(long, value_name = "ID")]
    since: Option<String>,
    /// Keep the history of the tables for so long, such as 2d, so that --since works without point-in-time
    /// recovery
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    keep_history: Option<u64>,
    /// The endpoint of a running server, such as http://localhost:8000 [default: AWS_ENDPOINT_URL_DYNAMODB,
    /// AWS_ENDPOINT_URL, or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL", conflicts_with = "data")]
    endpoint: Option<Endpoint>,
    /// The data folder of a server that is stopped
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Do not encrypt the backup, although a key is given or the server's folder is encrypted
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    s3: S3Arguments,
    #[command(flatten)]
    key: FolderKeyArguments,
}

/// A backup that an increment may build on.
struct Earlier {
    summary: Summary,
    /// How many backups it is made of.
    chain: usize,
}

/// What became of all tables.
#[derive(Default)]
struct Made {
    backups: Vec<Summary>,
    /// The paths that were begun: also one that is not complete.
    begun: Vec<BackupPath>,
}

pub(crate) fn run(arguments: &CreateArguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(async {
        let to = arguments.to.as_deref().unwrap_or_default();
        Address::parse(to).map_err(|fault| Failure::new(format!("--to: {fault}")))?;
        let key = arguments.key.source()?;
        // A wrong key is found before a place is made.
        let mut database = database(arguments, key.clone()).await?;
        let made = match open(arguments, key.clone()).await {
            Ok(place) => back_up(arguments, (&place, key.as_ref()), &mut database).await,
            Err(fault) => Err(fault),
        };
        let closed = database.close().await;
        made?;
        closed
    })
}

/// The place that the backup goes to, in the form that it is to have.
async fn open(arguments: &CreateArguments, key: Option<KeySource>) -> Result<Place, Failure> {
    let to = arguments.to.as_deref().unwrap_or_default();
    let place = place::open(to, &arguments.s3, Access::Create)?;
    let form = if arguments.plain { BackupForm::Plain } else { BackupForm::Encrypted };
    let key = key.map(|source| BackupKey::new(source, arguments.data.clone()));
    for_writing(place, form, key.as_ref()).await.map_err(place::unopened)
}

async fn database(arguments: &CreateArguments, key: Option<KeySource>) -> Result<Database, Failure> {
    let Some(folder) = &arguments.data else {
        let target = named_endpoint(arguments.endpoint.as_ref())
            .map_err(|fault| fault.advising("or --data DIR for the folder of a server that is stopped"))?;
        return Database::endpoint(&target.endpoint, &arguments.credentials).await;
    };
    if holds(folder)? != Holds::Database {
        return Err(Failure::new(format!("{} holds no database", folder.display()))
            .advising("write --data FOLDER, or --endpoint URL of a running server"));
    }
    Database::folder(folder, key).await
}

async fn back_up(
    arguments: &CreateArguments,
    (place, key): (&Place, Option<&KeySource>),
    database: &mut Database,
) -> Result<(), Failure> {
    let earlier = match &arguments.since {
        None => BTreeMap::new(),
        Some(id) => earlier(&list(place).await?, id, place)?,
    };
    let tables =
        (!arguments.table.is_empty()).then(|| arguments.table.iter().map(|table| table.0.clone()).collect());
    let parents = earlier
        .iter()
        .filter(|(_, earlier)| earlier.chain < CHAIN_LENGTH_MAX)
        .map(|(id, earlier)| (id.clone(), earlier.summary.parts.stamp));
    let wish = Request::Begin { tables, parents: parents.collect() };
    let (begun, _): (Begun, _) = database.ask(&wish).await?;
    warn_of_other_key(place, key, &begun);
    let mut made = Made::default();
    let written = match check_form(arguments, place, &begun) {
        Ok(()) => write(arguments, place, database, (&begun, &earlier), &mut made).await,
        Err(refused) => Err(refused),
    };
    let set = begun.set.clone();
    if let Err(fault) = written {
        remove(place, &made).await;
        // The database lets go of it after an hour, too.
        let _ = database.ask::<Ended>(&Request::End { set, keep_ms: None }).await;
        return Err(fault);
    }
    let keep_ms = arguments.keep_history;
    let mut ended = database.ask::<Ended>(&Request::End { set, keep_ms }).await.map(|_| ());
    if keep_ms.is_some() && ended.is_ok() {
        // What this one keeps reaches back far enough for the next.
        let parents: BTreeSet<&str> =
            made.backups.iter().filter_map(Summary::parent).map(|parent| parent.id.as_str()).collect();
        for parent in parents {
            let end = Request::End { set: parent.to_owned(), keep_ms: None };
            ended = ended.and(database.ask::<Ended>(&end).await.map(|_| ()));
        }
    }
    if let Err(fault) = ended {
        output::note(&format!("the backup is complete, but the history was not let go of or kept: {fault}"));
    }
    output::say(&summary(&begun.set, place, &made));
    Ok(())
}

/// Asks before tables of an encrypted folder are backed up without a key.
fn check_form(arguments: &CreateArguments, place: &Place, begun: &Begun) -> Result<(), Failure> {
    if arguments.plain || place.is_encrypted() || !begun.encrypted {
        return Ok(());
    }
    confirm::confirm_plain("a backup without a key (--encryption-key-file FILE)")
}

/// Warns of a backup under another key than the server's: a key that was changed since may stand in a script.
fn warn_of_other_key(place: &Place, key: Option<&KeySource>, begun: &Begun) {
    let (Some(key), Some(of_server)) = (key, &begun.fingerprint) else { return };
    if place.is_encrypted() && key.fingerprint().is_some_and(|own| own != *of_server) {
        output::note(&format!(
            "{} is not the master key of the server: only the key given here opens this backup. If the server's key was \
             changed, run `keywright encryption rotate-master --backups {place} --encryption-key-file OLD \
             --new-key-file NEW`, and give the new key from then on",
            key.shown()
        ));
    }
}

/// For each table, the backup that an increment may build on.
fn earlier(listing: &Listing, since: &str, place: &Place) -> Result<BTreeMap<String, Earlier>, Failure> {
    let complete = listing.backups.iter().filter_map(|listed| match &listed.state {
        State::Complete(summary) => Some(&**summary),
        State::Incomplete { .. } | State::Unreadable(_) | State::Damaged(..) => None,
    });
    let mut by_table: BTreeMap<String, Vec<&Summary>> = BTreeMap::new();
    for summary in complete {
        by_table.entry(summary.parts.table_id.clone()).or_default().push(summary);
    }
    let mut found = BTreeMap::new();
    for (table, summaries) in by_table {
        let wanted = summaries.iter().filter(|summary| since == LATEST || summary.path.id() == since);
        // One whose own chain is broken is passed over.
        let mut wanted: Vec<&&Summary> = wanted.collect();
        wanted.sort_by_key(|summary| std::cmp::Reverse(summary.parts.stamp));
        let built = wanted.into_iter().find_map(|summary| Some((*summary, chain(summary, &summaries)?)));
        if let Some((summary, chain)) = built {
            found.insert(table, Earlier { summary: summary.clone(), chain });
        }
    }
    if found.is_empty() && since != LATEST {
        return Err(Failure::new(format!("there is no complete backup {since} in {place}"))
            .advising(format!("keywright backup list {place} shows those that are there")));
    }
    Ok(found)
}

/// How many backups one is made of; `None` if one of them is missing.
fn chain(summary: &Summary, all: &[&Summary]) -> Option<usize> {
    let mut current = summary;
    let mut length = 1;
    while let Some(parent) = current.parent() {
        current = all.iter().find(|one| one.path.id() == parent.id && one.sha256 == parent.sha256)?;
        length += 1;
        if length > CHAIN_LENGTH_MAX {
            return None;
        }
    }
    Some(length)
}

/// Writes all tables, and then what makes a set of them.
async fn write(
    arguments: &CreateArguments,
    place: &Place,
    database: &mut Database,
    (begun, earlier): (&Begun, &BTreeMap<String, Earlier>),
    made: &mut Made,
) -> Result<(), Failure> {
    let bar = Bar::new();
    for number in &begun.tables {
        let request = Request::Table { set: begun.set.clone(), number: *number };
        let (table, _): (TableAnswer, _) = database.ask(&request).await?;
        let path = Scope::new(table.account.as_str(), table.region.as_str())
            .and_then(|scope| scope.backup(table.name.as_str(), begun.set.as_str()))
            .map_err(|fault| Failure::new(fault.to_string()))?;
        let earlier = earlier.get(&table.id);
        let kind = kind(arguments, &table, earlier);
        made.begun.push(path.clone());
        let mut writer = Writer::new(place.clone(), path, Sizes::default());
        let (mut rows, mut after) = (0, Some(None));
        while let Some(start) = after {
            let page = Request::Page { set: begun.set.clone(), number: *number, after: start };
            let (head, page): (PageHead, _) = database.ask(&page).await?;
            for (key, value) in page {
                writer.add(&key, value.as_deref()).await.map_err(|fault| failed(&fault))?;
                rows += 1;
            }
            bar.at(&format!("backing up {}", table.name), rows, table.items.max(rows));
            after = head.next.map(Some);
        }
        let parts = Parts {
            table_id: table.id,
            kind,
            stamp: begun.stamp,
            created_ms: begun.created_ms,
            of_set: true,
            settings: table.settings.0,
            described: table.described,
        };
        let manifest = writer.finish(parts).await.map_err(|fault| failed(&fault))?;
        made.backups.push(manifest.summary);
    }
    let mut scopes: BTreeMap<&Scope, Vec<Summary>> = BTreeMap::new();
    for backup in &made.backups {
        scopes.entry(backup.path.scope()).or_default().push(backup.clone());
    }
    for backups in scopes.values() {
        if let Some(set) = SetManifest::of(backups) {
            set.write(place).await.map_err(|fault| failed(&fault))?;
        }
    }
    Ok(())
}

/// Whether a table's backup is an increment. Says why one is not that was to be.
fn kind(arguments: &CreateArguments, table: &TableAnswer, earlier: Option<&Earlier>) -> Kind {
    let Some(since) = &arguments.since else { return Kind::Full };
    let reason = match earlier {
        None if since == LATEST => "it has no complete backup in this place".to_owned(),
        None => format!("backup {since} does not have it"),
        Some(earlier) if earlier.chain >= CHAIN_LENGTH_MAX => {
            format!("its chain has {CHAIN_LENGTH_MAX} backups, as many as one may have")
        }
        Some(Earlier { summary, .. }) if table.from == Some(summary.parts.stamp) => {
            return Kind::Increment(summary.as_parent());
        }
        Some(Earlier { summary, .. }) => format!(
            "its history does not reach back to backup {}: turn point-in-time recovery on, or pass --keep-history",
            summary.path.id()
        ),
    };
    output::note(&format!("{}: a full backup, as {reason}", table.name));
    Kind::Full
}

/// Removes what a backup that failed has written, as far as the place allows it.
async fn remove(place: &Place, made: &Made) {
    for path in &made.begun {
        if let Err(fault) = delete(place, path).await {
            output::note(&format!("{path} stays incomplete: {}", sentence(&fault)));
        }
    }
}

fn failed(fault: &Fault) -> Failure {
    Failure::new(format!("the backup has failed: {}", sentence(fault)))
}

/// The line that says what was made.
fn summary(id: &str, place: &Place, made: &Made) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let rows: u64 = made.backups.iter().map(|backup| backup.rows).sum();
    let bytes: u64 = made.backups.iter().map(|backup| backup.bytes).sum();
    let increments = made.backups.iter().filter(|backup| backup.parent().is_some()).count();
    let tables = count(made.backups.len(), "table");
    let kinds = match made.backups.len() - increments {
        _ if increments == 0 => "full".to_owned(),
        0 => count(increments, "increment"),
        full => format!("{full} full, {}", count(increments, "increment")),
    };
    format!("backup {id} in {place}: {tables}, {rows} rows, {bytes} bytes; {kinds}")
}
