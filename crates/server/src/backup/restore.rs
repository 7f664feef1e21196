//! `keywright restore FROM`: the tables of a backup into a new folder, or into a running server.
//!
//! Before anything is made, all of the backup's manifests are read, and their chunks are looked for. The
//! tables are CREATING until the last of them is complete, and become ACTIVE together; if a chunk is damaged,
//! all of them disappear again. A command that was killed goes on where it stopped when it is run again.

use std::collections::BTreeSet;
use std::path::PathBuf;

use bytes::Bytes;
use clap::{ArgGroup, Args};
use keywright_archive::{BackupPath, Chain, Listed, Listing, Place, SetState, State};

use super::database::{Database, Holds, holds};
use super::place::{PlaceArguments, list, sentence, unknown};
use super::table_argument::TableArgument;
use crate::client::confirm;
use crate::client::endpoint::{Credentials, Endpoint};
use crate::client::listing::counted;
use crate::client::progress::Bar;
use crate::http::frames::{Row, row_bytes};
use crate::http::hex::Hex;
use crate::http::restores::{Aborted, Begun, Ended, FEED_BYTES, Fed, Request, TableAnswer};
use crate::process::failure::Failure;
use crate::process::output;
use crate::settings::encryption::to_key_file;

/// Memory for the chunks that are read.
const CHUNKS_BYTES: u64 = 64 * 1024 * 1024;

/// Restore the tables of a backup
///
/// It brings tables back as they were: items, indexes, settings, tags, time to live, deletion protection,
/// point-in-time recovery (its history begins anew), and streams, empty and with a new label. Without an id
/// it takes the newest backup.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true))]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct RestoreArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// The backup to restore [default: the newest]
    id: Option<String>,
    /// Restore into this folder, which must be empty or missing
    #[arg(long, value_name = "DIR", group = "target")]
    into: Option<PathBuf>,
    /// Restore into a running server, such as http://localhost:8000
    #[arg(long, alias = "endpoint-url", value_name = "URL", group = "target")]
    endpoint: Option<Endpoint>,
    /// Restore this table only: NAME, or ACCOUNT/REGION/NAME. Can be repeated [default: all tables]
    #[arg(long, value_name = "TABLE")]
    table: Vec<TableArgument>,
    /// Give the table this name
    #[arg(long = "as", value_name = "NAME", requires = "table")]
    new_name: Option<String>,
    /// The key of the folder is in this file [default: the same key as that of the backup]
    #[arg(long, value_name = "FILE", requires = "into")]
    to_key_file: Option<PathBuf>,
    /// Do not encrypt the folder, although the backup is encrypted; or, with --endpoint, do not ask whether a
    /// server that does not encrypt may have the tables
    #[arg(long, conflicts_with = "to_key_file")]
    plain: bool,
    #[command(flatten)]
    credentials: Credentials,
}

/// A table to be restored.
struct Wanted {
    path: BackupPath,
    /// The name that it gets.
    name: String,
    sum: String,
}

pub(crate) fn run(arguments: &RestoreArguments) -> Result<(), Failure> {
    if arguments.new_name.is_some() && arguments.table.len() != 1 {
        return Err(Failure::new("--as names one table: name one with --table"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    let place = arguments.place.open()?;
    runtime.block_on(async {
        let wanted = wanted(arguments, &list(&place).await?)?;
        let mut tables = Vec::with_capacity(wanted.len());
        for path in wanted {
            // A chain that cannot be read whole is refused before a table is made.
            let chain = chain(&place, &path).await?;
            chain.check_lengths(&place).await.map_err(|fault| Failure::new(sentence(&fault)))?;
            let name = arguments.new_name.clone().unwrap_or_else(|| path.table().to_owned());
            tables.push(Wanted { path, name, sum: format!("{:?}", chain.newest().sha256) });
        }
        let source = source(&tables);
        let mut database = database(arguments, &source).await?;
        let restored = restore(arguments, &place, &mut database, (&tables, source)).await;
        let closed = database.close().await;
        let Ended { tables, items } = restored?;
        closed?;
        let target = match (&arguments.into, &arguments.endpoint) {
            (Some(folder), _) => folder.display().to_string(),
            (None, endpoint) => endpoint.as_ref().map(ToString::to_string).unwrap_or_default(),
        };
        let (tables, items) = (counted(tables, "table"), counted(items, "item"));
        output::say(&format!("restored into {target}: {tables}, {items}, from {place}"));
        Ok(())
    })
}

async fn chain(place: &Place, path: &BackupPath) -> Result<Chain, Failure> {
    Chain::read(place, path).await.map_err(|fault| Failure::new(sentence(&fault)))
}

/// The backups that are to be restored, each of another table.
fn wanted(arguments: &RestoreArguments, listing: &Listing) -> Result<Vec<BackupPath>, Failure> {
    let from = &arguments.place.from;
    let id = match &arguments.id {
        Some(id) => Some(id.clone()),
        None if listing.backups.is_empty() && listing.sets.is_empty() => {
            return Err(Failure::new(format!("there are no backups in {from}"))
                .advising("name the folder or bucket that `keywright backup --to` wrote to"));
        }
        None if arguments.table.is_empty() => Some(newest_set(listing).ok_or_else(|| {
            Failure::new(format!("there is no complete backup of several tables in {from}"))
                .advising("name a backup, or a table with --table")
        })?),
        None => None,
    };
    let Some(id) = id else {
        return arguments.table.iter().map(|table| newest(listing, table, from)).collect();
    };
    let of_id: Vec<&Listed> = listing.backups.iter().filter(|listed| listed.path.id() == id).collect();
    if of_id.is_empty() {
        return Err(unknown(&id, from));
    }
    if arguments.table.is_empty() {
        check_sets(listing, &id)?;
        if arguments.id.is_none() {
            note_other_tables(listing, &of_id, from);
        }
        return of_id.into_iter().map(complete).collect();
    }
    let mut named = Vec::new();
    for table in &arguments.table {
        let mut own = of_id.iter().filter(|listed| table.names(&listed.path));
        let listed =
            own.next().ok_or_else(|| Failure::new(format!("backup {id} in {from} has no table {table}")))?;
        if let Some(other) = own.next() {
            let (one, other) = (listed.path.scope(), other.path.scope());
            return Err(Failure::new(format!("backup {id} has table {table} in {one} and {other}"))
                .advising("write --table ACCOUNT/REGION/NAME"));
        }
        named.push(complete(listed)?);
    }
    Ok(named)
}

/// Says which tables have backups in the place, but none in the one that is restored.
fn note_other_tables(listing: &Listing, restored: &[&Listed], from: &str) {
    let name = |listed: &Listed| (listed.path.scope().clone(), listed.path.table().to_owned());
    let restored: BTreeSet<_> = restored.iter().map(|listed| name(listed)).collect();
    let all: BTreeSet<_> = listing.backups.iter().map(name).collect();
    let others: Vec<String> = all.difference(&restored).map(|(_, table)| table.clone()).collect();
    if !others.is_empty() {
        let others = others.join(", ");
        output::note(&format!(
            "the newest backup does not have {others}: `keywright backup list {from}` shows those that do"
        ));
    }
}

/// The newest backup of a table. One that is damaged is refused, so that nobody takes an older one for it.
fn newest(listing: &Listing, table: &TableArgument, from: &str) -> Result<BackupPath, Failure> {
    let own = listing.backups.iter().filter(|listed| table.names(&listed.path));
    let newest = own
        .filter_map(|listed| Some((listed.state.summary()?.parts.stamp, listed)))
        .max_by_key(|(stamp, _)| *stamp);
    match newest {
        Some((_, listed)) => complete(listed),
        None => Err(Failure::new(format!("there is no complete backup of table {table} in {from}"))),
    }
}

/// The path of a backup that is complete.
fn complete(listed: &Listed) -> Result<BackupPath, Failure> {
    let wrong = match &listed.state {
        State::Complete(_) => return Ok(listed.path.clone()),
        State::Incomplete { .. } => format!("backup {} is incomplete", listed.path),
        State::Unreadable(fault) | State::Damaged(_, fault) => sentence(fault),
    };
    Err(Failure::new(wrong).advising("restore another one, or other tables with --table"))
}

/// The id of the newest set that is complete. Says which newer ones are damaged.
fn newest_set(listing: &Listing) -> Option<String> {
    let complete = listing.sets.iter().filter_map(|set| match &set.state {
        SetState::Complete(manifest) => Some((manifest.stamp, &set.id)),
        SetState::Incomplete | SetState::Damaged(_) => None,
    });
    let newest = complete.max().map(|(_, id)| id.clone());
    for set in listing.sets.iter().filter(|set| newest.as_ref().is_none_or(|newest| set.id > *newest)) {
        if let SetState::Damaged(fault) = &set.state {
            output::note(&format!("passing over the newer backup {}: {}", set.id, sentence(fault)));
        }
    }
    newest
}

/// Refuses a set of which a part is missing: who wants the rest names its tables.
fn check_sets(listing: &Listing, id: &str) -> Result<(), Failure> {
    for set in listing.sets.iter().filter(|set| set.id == *id) {
        let wrong = match &set.state {
            SetState::Complete(_) => continue,
            SetState::Incomplete => format!("backup {id} of {} is incomplete", set.scope),
            SetState::Damaged(fault) => sentence(fault),
        };
        return Err(Failure::new(wrong).advising("restore another one, or name single tables with --table"));
    }
    Ok(())
}

/// What tells one restore from another: the same command goes on with the same one.
fn source(tables: &[Wanted]) -> String {
    let line = |Wanted { path, name, sum }: &Wanted| format!("{path} {name} {sum}\n");
    let all: Vec<String> = tables.iter().map(line).collect();
    let all = all.concat();
    let id = tables.first().map(|table| table.path.id()).unwrap_or_default();
    format!("backup {id}, {} tables, {:08x}", tables.len(), crc32fast::hash(all.as_bytes()))
}

/// The database that the tables go into.
async fn database(arguments: &RestoreArguments, source: &str) -> Result<Database, Failure> {
    let Some(folder) = &arguments.into else {
        let endpoint = arguments.endpoint.as_ref().ok_or("write --into DIR or --endpoint URL")?;
        return Database::endpoint(endpoint, &arguments.credentials).await;
    };
    let occupied = || {
        Failure::new(format!("{} is not empty", folder.display()))
            .advising("name a new folder, or restore into the running server with --endpoint")
    };
    if holds(folder)? == Holds::OtherFiles {
        return Err(occupied());
    }
    let own = arguments.to_key_file.clone().map(to_key_file);
    let key = match own {
        _ if arguments.plain => None,
        Some(own) => Some(own),
        None => arguments.place.key.source()?,
    };
    let database = Database::folder(folder, key).await?;
    if database.has_tables() && !database.has_restore_of(source).await? {
        database.close().await?;
        return Err(occupied());
    }
    Ok(database)
}

/// Restores the tables; what fails for good takes all of them with it.
async fn restore(
    arguments: &RestoreArguments,
    place: &Place,
    database: &mut Database,
    (tables, source): (&[Wanted], String),
) -> Result<Ended, Failure> {
    let begun: Begun = database.restore(&Request::Begin { source }, Vec::new()).await?;
    if begun.resumed {
        output::note("going on with an unfinished restore");
    }
    let filled = match check_form(arguments, place, &begun) {
        Ok(()) => fill(place, database, tables, &begun.restore).await,
        Err(refused) => Err(refused),
    };
    let restore = begun.restore;
    match filled {
        Ok(()) => database.restore(&Request::End { restore }, Vec::new()).await,
        Err(fault) => {
            // If the server is gone it drops the tables by itself, after an hour.
            let _ = database.restore::<Aborted>(&Request::Abort { restore }, Vec::new()).await;
            Err(fault)
        }
    }
}

/// Asks before tables of an encrypted backup go to a server that does not encrypt them.
fn check_form(arguments: &RestoreArguments, place: &Place, begun: &Begun) -> Result<(), Failure> {
    if arguments.plain || !place.is_encrypted() || begun.encrypted {
        return Ok(());
    }
    confirm::confirm_plain_server(place)
}

async fn fill(
    place: &Place,
    database: &mut Database,
    tables: &[Wanted],
    restore: &str,
) -> Result<(), Failure> {
    let bar = Bar::new();
    for Wanted { path, name, .. } in tables {
        let chain = chain(place, path).await?;
        let wish = Request::Table {
            restore: restore.to_owned(),
            account: path.scope().account().to_owned(),
            region: path.scope().region().to_owned(),
            name: name.clone(),
            settings: Hex(chain.newest().parts.settings.clone()),
        };
        let made: TableAnswer = database.restore(&wish, Vec::new()).await?;
        let after: Option<Bytes> = made.after.map(|after| after.0);
        let mut rows = chain.rows(place, after.as_ref(), CHUNKS_BYTES);
        let (mut page, mut bytes): (Vec<Row>, usize) = (Vec::new(), 0);
        loop {
            let row = rows.next().await.map_err(|fault| Failure::new(sentence(&fault)))?;
            let is_last = row.is_none();
            if let Some((key, value)) = row {
                bytes += row_bytes(&key, Some(&value));
                page.push((key, Some(value)));
            }
            if bytes >= FEED_BYTES || (is_last && !page.is_empty()) {
                let next = Request::Feed { restore: restore.to_owned(), number: made.number };
                let fed: Fed = database.restore(&next, std::mem::take(&mut page)).await?;
                bytes = 0;
                bar.at(&format!("restoring {name}"), fed.items, chain.newest().rows.max(fed.items));
            }
            if is_last {
                break;
            }
        }
    }
    Ok(())
}
