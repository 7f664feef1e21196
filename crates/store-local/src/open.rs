//! Opens a folder: checks its files, reads tables and journal, and compares the result with the watermark.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use keywright_store::LastChanged;
use lsm_tree::Slice;

use crate::background::{Background, Syncer};
use crate::committer::{Committer, Durable, put};
use crate::error::OpenFault;
use crate::files::Files;
use crate::folder::{Contents, Folder};
use crate::journal::{self, Journal, Recovered};
use crate::keys::VERSION_KEY;
use crate::layers::Layers;
use crate::options::{Durability, LocalOptions};
use crate::row_map::Row;
use crate::shared::{Published, Shared};
use crate::table_check;
use crate::tables::Tables;
use crate::threads::Threads;
use crate::watermark::Watermark;

/// An opened store. The folder stays locked while this lives.
pub(crate) struct Opened {
    pub(crate) folder: Folder,
    pub(crate) shared: Arc<Shared>,
    pub(crate) threads: Threads,
}

pub(crate) fn open(path: &Path, files: &Files, options: &LocalOptions) -> Result<Opened, OpenFault> {
    let (folder, contents) = Folder::lock(path, files)?;
    let parts = match contents {
        Contents::Nothing => create(&folder, files, options),
        Contents::Store => recover(&folder, files, options),
    }?;
    start(folder, parts, options)
}

/// What was found in a folder.
struct Parts {
    tables: Tables,
    layers: Layers,
    version: u64,
    journal: Journal,
    watermark: Watermark,
}

fn create(folder: &Folder, files: &Files, options: &LocalOptions) -> Result<Parts, OpenFault> {
    folder.begin_creation(files)?;
    let tables = open_tables(&folder.tables(), files, options)?;
    let journal = journal::create(&folder.journal(), files, options.journal_bytes)?;
    let watermark = Watermark::create(&folder.watermark(), options.durability)?;
    folder.finish_creation()?;
    Ok(Parts { tables, layers: Layers::default(), version: 0, journal, watermark })
}

fn recover(folder: &Folder, files: &Files, options: &LocalOptions) -> Result<Parts, OpenFault> {
    let (mut watermark, mark) = Watermark::open(&folder.watermark(), options.durability)?;
    table_check::verify(&folder.tables(), files, options.verify_bytes_max)?;
    let tables = open_tables(&folder.tables(), files, options)?;
    let mut layers = Layers { tables: tables.set(), ..Layers::default() };
    let flushed = read_version(&folder.tables(), &layers)?;
    let mut active = std::mem::take(&mut layers.active);
    let Recovered { journal, version } = journal::recover(
        (&folder.journal(), files),
        flushed,
        (mark, options.journal_bytes),
        |key, value| {
            let row = Row { key: Slice::from(key), value: value.map(Slice::from) };
            put(&mut active, row, |key| layers.has_only_active(key));
        },
    )?;
    layers.active = active;
    journal.segments().flushed(flushed);
    watermark.resume(version, mark).map_err(OpenFault::io(&folder.watermark()))?;
    Ok(Parts { tables, layers, version, journal, watermark })
}

/// The newest commit in tables.
fn read_version(folder: &Path, layers: &Layers) -> Result<u64, OpenFault> {
    let row = layers.get(&VERSION_KEY).map_err(|fault| OpenFault::from_tables(&fault.file, fault.error))?;
    let Some(row) = row else { return Ok(0) };
    let bytes =
        row.as_ref().try_into().map_err(|_| OpenFault::corrupt(folder, "its version row is malformed"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Opens the tables. A panic in `lsm_tree` means a damaged folder.
fn open_tables(folder: &Path, files: &Files, options: &LocalOptions) -> Result<Tables, OpenFault> {
    match catch_unwind(AssertUnwindSafe(|| Tables::open(folder, files, options))) {
        Ok(result) => result.map_err(|error| OpenFault::from_tables(folder, error)),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default();
            Err(OpenFault::corrupt(folder, format!("the tables cannot be read: {text}")))
        }
    }
}

fn start(folder: Folder, parts: Parts, options: &LocalOptions) -> Result<Opened, OpenFault> {
    let Parts { tables, layers, version, journal, watermark } = parts;
    let changed = LastChanged::all(version);
    let published = Published { version, layers, transactions: Arc::new(()), changed };
    let shared = Arc::new(Shared::new(published));
    let segments = journal.segments();
    let background =
        Background::new(Arc::clone(&shared), tables, Arc::clone(&segments), options.memtable_bytes);
    let background = Arc::new(background);
    let syncer =
        |watermark| Arc::new(Syncer::new(Arc::clone(&shared), watermark, options.relaxed_sync_interval));
    let (durable, syncer) = match options.durability {
        Durability::Synced => (Durable::Synced(watermark), None),
        Durability::Relaxed => {
            let syncer = syncer(watermark);
            (Durable::Relaxed(Arc::clone(&syncer)), Some(syncer))
        }
    };
    let committer = Committer::new(Arc::clone(&shared), Arc::clone(&background), journal, durable, options);
    let threads =
        Threads::start(committer, background, segments, syncer).map_err(OpenFault::io(folder.path()))?;
    Ok(Opened { folder, shared, threads })
}
