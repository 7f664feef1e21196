//! Opens a folder: checks its files, recovers the engine, and compares the result with the watermark.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fjall::config::{HashRatioPolicy, PartitioningPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::committer::Committer;
use crate::error::OpenFault;
use crate::folder::{Contents, Folder};
use crate::keys::VERSION_KEY;
use crate::options::LocalOptions;
use crate::watermark::{Mark, Watermark};
use crate::{journal, tables};

/// The engine's name for the one tree.
const ROWS: &str = "rows";

/// Share of a block's rows for which its hash index has a slot.
const HASH_SLOTS_PER_ROW: f32 = 0.75;

/// An opened engine. The folder stays locked while this lives.
pub(crate) struct Opened {
    pub(crate) folder: Folder,
    pub(crate) rows: Keyspace,
    pub(crate) committer: Committer,
}

pub(crate) fn open(path: &Path, options: &LocalOptions) -> Result<Opened, OpenFault> {
    let (folder, contents) = Folder::lock(path)?;
    match contents {
        Contents::Nothing => create(folder, options),
        Contents::Store => recover(folder, options),
    }
}

fn create(folder: Folder, options: &LocalOptions) -> Result<Opened, OpenFault> {
    folder.begin_creation()?;
    let (database, rows) = open_engine(&folder.engine(), options)?;
    let watermark = Watermark::create(&folder.watermark(), options.durability)?;
    sync(&folder, &database)?;
    folder.finish_creation()?;
    let committer = Committer::new(database, rows.clone(), watermark, 0, options);
    Ok(Opened { folder, rows, committer })
}

fn recover(folder: Folder, options: &LocalOptions) -> Result<Opened, OpenFault> {
    let engine = folder.engine();
    let (mut watermark, mark) = Watermark::open(&folder.watermark(), options.durability)?;
    tables::verify(&engine, options.verify_bytes_max)?;
    let journals = journal::verify(&folder, mark)?;
    folder.restore_engine_lock()?;
    let (database, rows) = open_engine(&engine, options)?;
    let version = read_version(&engine, &rows)?;
    if version < mark.version {
        return Err(lost_commits(journals.newest.as_deref().unwrap_or(&engine), version, mark));
    }
    if let Some(saved) = journals.saved {
        std::fs::remove_file(&saved).map_err(OpenFault::io(&saved))?;
    }
    sync(&folder, &database)?;
    watermark.resume(version, mark).map_err(OpenFault::io(&folder.watermark()))?;
    let committer = Committer::new(database, rows.clone(), watermark, version, options);
    Ok(Opened { folder, rows, committer })
}

fn lost_commits(file: &Path, version: u64, mark: Mark) -> OpenFault {
    OpenFault::corrupt(
        file,
        format!("the newest commit found is {version}, but commit {} was acknowledged", mark.version),
    )
}

/// Syncs the journal. Recovered commits may be only in the operating system's memory, and readers will see
/// them.
fn sync(folder: &Folder, database: &Database) -> Result<(), OpenFault> {
    database.persist(PersistMode::SyncAll).map_err(|error| OpenFault::from_engine(&folder.engine(), error))
}

fn read_version(engine: &Path, rows: &Keyspace) -> Result<u64, OpenFault> {
    let row = rows.get(VERSION_KEY).map_err(|error| OpenFault::from_engine(engine, error))?;
    let Some(row) = row else { return Ok(0) };
    let bytes =
        row.as_ref().try_into().map_err(|_| OpenFault::corrupt(engine, "its version row is malformed"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Opens the engine. A panic in its recovery means a corrupt folder.
fn open_engine(engine: &Path, options: &LocalOptions) -> Result<(Database, Keyspace), OpenFault> {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let database = Database::builder(engine)
            .cache_size(options.cache_bytes)
            .max_cached_files(Some(options.files_max))
            .max_journaling_size(options.journal_bytes.max(JOURNAL_BYTES_MIN))
            // Compression would run on the commit thread, and again for the tables.
            .journal_compression(CompressionType::None)
            .manual_journal_persist(true)
            .open()?;
        let rows = database.keyspace(ROWS, || keyspace_options(options))?;
        Ok((database, rows))
    }));
    match opened {
        Ok(result) => result.map_err(|error| OpenFault::from_engine(engine, error)),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default();
            Err(OpenFault::corrupt(engine, format!("the engine cannot read it: {text}")))
        }
    }
}

/// The smallest journal limit that the engine accepts.
const JOURNAL_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// The last level has filters too: conditional puts look up absent keys. Below the newest level, filters and
/// indexes are partitioned into blocks of 4 KiB. In one piece they take a megabyte per table, more than the
/// cache can hold for a large store, so that a read would load and verify whole megabytes.
fn keyspace_options(options: &LocalOptions) -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(options.memtable_bytes)
        .manual_journal_persist(true)
        .data_block_hash_ratio_policy(HashRatioPolicy::all(HASH_SLOTS_PER_ROW))
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .expect_point_read_hits(false)
}
