//! Writes the files of each export in turn into the target, from where an earlier run was stopped.
//!
//! A file that was not noted as done is written again from its start, which changes nothing: within an export
//! an item stands once, and the export after it has not begun.

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use keywright_exchange::table_key;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;
use keywright_semantics::schema::KeyAttribute;
use keywright_wire::files::DataFile;

use super::super::extent::Extent;
use super::super::side::identity;
use super::super::target_table::{self, Begun};
use super::super::writes::{self, last_of_each};
use super::Request;
use super::chain::{self, Export, end_ms};
use super::lines::Lines;
use super::place::Place;
use crate::client::endpoint::{Client, block_on};
use crate::client::progress::Bar;
use crate::process::failure::Failure;
use crate::process::output;
use crate::process::timestamp;

/// Files that are loaded side by side, each over a connection of its own.
const LANES: usize = 4;

/// How far the migration has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    /// Exports whose files are all written.
    exports: usize,
    /// The keys of files of the next one that are.
    files: BTreeSet<String>,
}

impl Progress {
    fn read(record: Option<&Json>) -> Self {
        let exports = record.and_then(|record| record.get("exports")?.as_u64()).unwrap_or_default();
        let files = record.and_then(|record| record.get("files")).map_or(&[][..], Json::elements);
        Self {
            exports: usize::try_from(exports).unwrap_or(usize::MAX),
            files: files.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        }
    }
}

pub(super) fn run(request: &Request<'_>) -> Result<(), Failure> {
    block_on(async {
        let record = request.state.read()?;
        let mut client = request.target.connect().await?;
        let place = Place::open(&request.place.root, request.s3)?;
        let exports = chain::read(&place, &request.place.ids, &request.place.table).await?;
        let found = Table::find(request, &mut client, Begun::read(record.as_ref())).await?;
        say(request, &exports, &found)?;
        if request.extent == Extent::Shown {
            return Ok(());
        }
        let progress = Progress::read(record.as_ref());
        let (begun, keys) = found.create(request, &mut client, &progress).await?;
        let load =
            Load { request, place: &place, begun, keys, progress: RefCell::new(progress), bar: Bar::new() };
        load.all(&exports).await?;
        request.state.remove()?;
        output::note(&format!("{} is complete.", request.target.shown()?));
        if let Some(last) = exports.last() {
            let time = timestamp::of(end_ms(last.summary.span));
            output::note(&format!("To follow the table from there: keywright replicate --since {time}"));
        }
        Ok(())
    })
}

/// The target table, before anything is written.
enum Table {
    /// It is to be created.
    Missing(Box<TableDefinition>),
    /// It is there: empty, or filled by an earlier run.
    There { begun: Begun, keys: Vec<KeyAttribute> },
}

impl Table {
    async fn find(request: &Request<'_>, client: &mut Client, begun: Begun) -> Result<Self, Failure> {
        let name = &request.target.table;
        let description = target_table::description(client, name).await?;
        let Some(description) = description else {
            target_table::check(client, &request.target, &begun, "--as").await?;
            let Some(definition) = &request.definition else {
                return Err(Failure::new(format!("an export does not say the key of its table, and {} has no table {name}", request.target.endpoint))
                    .advising("pass --key pk:S --sort sk:N, or --like FILE with the answer of DescribeTable, or create the table first"));
            };
            return Ok(Self::Missing(Box::new(definition.clone())));
        };
        if begun == Begun::Nothing {
            if request.definition.is_some() {
                target_table::check(client, &request.target, &begun, "--as").await?;
            }
            if target_table::has_items(client, name).await? {
                return Err(Failure::new(format!(
                    "the table {name} at {} is not empty",
                    request.target.endpoint
                ))
                .advising("empty it, or choose another name with --as"));
            }
        } else {
            target_table::check(client, &request.target, &begun, "--as").await?;
        }
        let own = identity(&description).ok_or("DescribeTable: the endpoint describes no table")?;
        Ok(Self::There { begun: Begun::Created(own), keys: table_key::keys(&description)? })
    }

    async fn create(
        self,
        request: &Request<'_>,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Begun, Vec<KeyAttribute>), Failure> {
        let (begun, keys) = match self {
            Self::There { begun, keys } => (begun, keys),
            Self::Missing(definition) => {
                note(request, &Begun::Creating, progress)?;
                let own = target_table::create(client, &request.target, &definition).await?;
                (Begun::Created(own), definition.schema.key.attributes().cloned().collect())
            }
        };
        note(request, &begun, progress)?;
        Ok((begun, keys))
    }
}

fn note(request: &Request<'_>, begun: &Begun, progress: &Progress) -> Result<(), Failure> {
    request.state.write(&Json::object([
        ("table", begun.json()),
        ("exports", Json::number(progress.exports)),
        ("files", Json::List(progress.files.iter().map(Json::text).collect())),
    ]))
}

/// Says what the command will do.
fn say(request: &Request<'_>, exports: &[Export], table: &Table) -> Result<(), Failure> {
    output::note(&format!("From exports of {} to {}", request.place.table, request.target.shown()?));
    output::note(&match table {
        Table::Missing(definition) => format!("  create the table: {}", target_table::shown(definition)),
        Table::There { .. } => "  use the table that is there".to_owned(),
    });
    for export in exports {
        let until = timestamp::of(end_ms(export.summary.span));
        let (lines, files) = (export.summary.item_count, export.files.len());
        output::note(&format!("  {}: lines {lines}, files {files}, until {until}", export.id));
    }
    Ok(())
}

/// A migration of exports.
struct Load<'l> {
    request: &'l Request<'l>,
    place: &'l Place,
    begun: Begun,
    keys: Vec<KeyAttribute>,
    progress: RefCell<Progress>,
    bar: Bar,
}

impl Load<'_> {
    async fn all(&self, exports: &[Export]) -> Result<(), Failure> {
        let mut lanes = self.request.target.connections(LANES).await?;
        let done = self.progress.borrow().exports;
        for export in exports.iter().skip(done) {
            let left: Vec<&DataFile> = {
                let progress = self.progress.borrow();
                export.files.iter().filter(|file| !progress.files.contains(&file.key)).collect()
            };
            let queue = RefCell::new(left.into_iter());
            try_join_all(lanes.iter_mut().map(|lane| self.some(lane, export, &queue))).await?;
            let mut progress = self.progress.borrow_mut();
            progress.exports += 1;
            progress.files.clear();
            note(self.request, &self.begun, &progress)?;
        }
        Ok(())
    }

    /// Loads files until none is left.
    async fn some<'f>(
        &self,
        lane: &mut Client,
        export: &'f Export,
        queue: &RefCell<impl Iterator<Item = &'f DataFile>>,
    ) -> Result<(), Failure> {
        loop {
            let Some(file) = queue.borrow_mut().next() else { return Ok(()) };
            self.file(lane, export, file).await?;
            let mut progress = self.progress.borrow_mut();
            progress.files.insert(file.key.clone());
            let done = u64::try_from(progress.files.len()).unwrap_or(u64::MAX);
            let of = u64::try_from(export.files.len()).unwrap_or(u64::MAX);
            self.bar.at(&format!("loading {}", export.id), done, of);
            note(self.request, &self.begun, &progress)?;
        }
    }

    async fn file(&self, lane: &mut Client, export: &Export, file: &DataFile) -> Result<(), Failure> {
        let key = self.place.key_named(&file.key);
        let content = self.place.stream(&key).await?;
        let mut lines = Lines::new(export, file, content, self.place.shown(&key), &self.keys);
        while let Some(changes) = lines.next().await? {
            let changes = last_of_each(&self.keys, changes);
            writes::apply(lane, &self.request.target.table, changes.values()).await?;
        }
        Ok(())
    }
}
