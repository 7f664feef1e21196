//! Creates the tables of a file and puts their items, from where an earlier run was stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::UNIX_EPOCH;

use keywright_model::json::Json;

use super::super::extent::Extent;
use super::super::side::Side;
use super::super::target_table::{self, Begun};
use super::sqlite::{Database, Found};
use super::{Request, dynamodb_local, dynoxide};
use crate::client::endpoint::{Client, block_on};
use crate::client::progress::Bar;
use crate::data::put;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::io_fault::failed;
use crate::process::output;

/// How far one table has come.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Progress {
    begun: Begun,
    /// The last row whose item is in the target.
    row: i64,
    is_done: bool,
}

impl Progress {
    fn read(record: Option<&Json>) -> Self {
        let row = record.and_then(|record| record.get("row")?.as_u64()).unwrap_or_default();
        Self {
            begun: Begun::read(record),
            row: i64::try_from(row).unwrap_or_default(),
            is_done: record.and_then(|record| record.get("done")?.as_bool()) == Some(true),
        }
    }

    fn json(&self) -> Json {
        Json::object([
            ("table", self.begun.json()),
            ("row", Json::number(self.row)),
            ("done", Json::Bool(self.is_done)),
        ])
    }
}

pub(super) fn run(request: &Request<'_>) -> Result<(), Failure> {
    let file = Identity::of(request.path)?;
    let record = request.state.read()?;
    if record.as_ref().is_some_and(|record| record.get("file") != Some(&file.0)) {
        return Err(Failure::new(format!(
            "{} has changed since this migration began: delete its target tables and {}, and begin again",
            request.path.display(),
            request.state.path().display()
        )));
    }
    let database = Database::open(request.path)?;
    let version = database.version()?;
    let tables = chosen(request, tables(&database)?)?;
    let progress = tables
        .iter()
        .map(|table| {
            let name = &table.definition.name;
            let known = record.as_ref().and_then(|record| record.at(&["tables", name]));
            (name.clone(), Progress::read(known))
        })
        .collect();
    let mut load = Load { request, database, file, progress };
    block_on(async {
        let mut client = request.target.connect().await?;
        for table in &tables {
            load.announce(&mut client, table).await?;
        }
        if request.extent == Extent::Shown {
            return Ok(());
        }
        for table in &tables {
            load.table(&mut client, table).await?;
        }
        Ok(())
    })?;
    if load.database.version()? != version || Identity::of(request.path)? != load.file {
        return Err(Failure::new(format!(
            "{} was written while it was read: stop the server that has it open, delete the tables at {}, and \
             run the command again",
            request.path.display(),
            request.target.endpoint
        )));
    }
    if request.extent == Extent::Done {
        request.state.remove()?;
    }
    Ok(())
}

/// The tables of a file of either kind.
fn tables(database: &Database) -> Result<Vec<Found>, Failure> {
    if dynamodb_local::is_one(database)? {
        return dynamodb_local::tables(database);
    }
    if dynoxide::is_one(database)? {
        return dynoxide::tables(database);
    }
    Err(database.fault("it is an SQLite database, but neither of DynamoDB Local nor of dynoxide"))
}

/// The tables that the command line names.
fn chosen(request: &Request<'_>, found: Vec<Found>) -> Result<Vec<Found>, Failure> {
    let names: Vec<String> = found.iter().map(|table| table.definition.name.clone()).collect();
    let has = names.iter().map(|name| inline(name)).collect::<Vec<_>>().join(", ");
    if let Some(missing) = request.tables.iter().find(|name| !names.contains(name)) {
        return Err(Failure::new(format!("{} has no table {missing}, only: {has}", request.path.display())));
    }
    let wanted = |table: &Found| request.tables.is_empty() || request.tables.contains(&table.definition.name);
    let chosen: Vec<Found> = found.into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(Failure::new(format!("{} has no table", request.path.display())));
    }
    if request.name.is_some() && chosen.len() > 1 {
        return Err(Failure::new(format!(
            "--as names one table, and {has} are to be taken: choose one with --table"
        )));
    }
    Ok(chosen)
}

/// What tells a file from the same file after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity(Json);

impl Identity {
    fn of(path: &Path) -> Result<Self, Failure> {
        let explain = failed("read", path);
        let metadata = path.metadata().map_err(explain)?;
        let changed = metadata.modified().map_err(explain)?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self(Json::text(format!("{} bytes, changed {}", metadata.len(), changed.as_nanos()))))
    }
}

/// A migration of a file.
struct Load<'l> {
    request: &'l Request<'l>,
    database: Database,
    file: Identity,
    /// By name of the table in the file.
    progress: BTreeMap<String, Progress>,
}

impl Load<'_> {
    fn target(&self, table: &Found) -> Side {
        let name = self.request.name.unwrap_or(&table.definition.name);
        Side { table: name.to_owned(), ..self.request.target.clone() }
    }

    fn progress(&self, table: &Found) -> Progress {
        let known = self.progress.get(&table.definition.name).cloned();
        known.unwrap_or_else(|| Progress::read(None))
    }

    /// Says what will be done, and refuses what cannot be.
    async fn announce(&self, client: &mut Client, table: &Found) -> Result<(), Failure> {
        let (name, target) = (&table.definition.name, self.target(table));
        let Progress { begun, is_done, .. } = self.progress(table);
        target_table::check(client, &target, &begun, "--as").await?;
        let rows = self.database.rows(name)?;
        let does = match begun {
            _ if is_done => "is done".to_owned(),
            Begun::Nothing => {
                format!("create it ({}) and put {rows} items", target_table::shown(&table.definition))
            }
            Begun::Creating | Begun::Created(_) => format!("go on until its {rows} items are put"),
        };
        output::note(&format!("{} to {}: {does}", inline(name), target.shown()?));
        Ok(())
    }

    async fn table(&mut self, client: &mut Client, table: &Found) -> Result<(), Failure> {
        let (name, target) = (&table.definition.name, self.target(table));
        let mut progress = self.progress(table);
        if progress.is_done {
            return Ok(());
        }
        if progress.begun == Begun::Nothing {
            progress.begun = Begun::Creating;
            self.note(name, &progress)?;
        }
        progress.begun = Begun::Created(target_table::create(client, &target, &table.definition).await?);
        self.note(name, &progress)?;
        let keys: Vec<_> = table.definition.schema.key.attributes().cloned().collect();
        let (bar, rows, mut items) = (Bar::new(), self.database.rows(name)?, 0_u64);
        loop {
            let page = self.database.page(table, progress.row)?;
            for batch in page.items.chunks(put::BATCH_ITEMS_MAX) {
                put::batch(client, &target.table, &keys, batch).await?;
            }
            items += u64::try_from(page.items.len()).unwrap_or(u64::MAX);
            bar.at(&format!("loading {name}"), items, rows);
            let Some(row) = page.next else { break };
            progress.row = row;
            self.note(name, &progress)?;
        }
        target_table::finish(client, &target, &table.definition).await?;
        progress.is_done = true;
        self.note(name, &progress)?;
        output::note(&format!("{}: loaded {items} items", inline(&target.table)));
        Ok(())
    }

    /// Keeps what has been done of a table.
    fn note(&mut self, name: &str, progress: &Progress) -> Result<(), Failure> {
        self.progress.insert(name.to_owned(), progress.clone());
        let tables = self.progress.iter().map(|(name, progress)| (name.as_str(), progress.json()));
        let members = [("file", self.file.0.clone()), ("tables", Json::object(tables))];
        self.request.state.write(&Json::object(members))
    }
}
