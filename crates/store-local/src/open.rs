//! From a folder to a running engine: checks, recovery, and the comparison with what was acknowledged.

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

/// An opened engine; the folder stays locked as long as it lives.
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
    let acknowledged = Watermark::create(&folder.acknowledged(), options.durability)?;
    sync(&folder, &database)?;
    folder.finish_creation()?;
    let committer = Committer::new(database, rows.clone(), acknowledged, 0, options);
    Ok(Opened { folder, rows, committer })
}

fn recover(folder: Folder, options: &LocalOptions) -> Result<Opened, OpenFault> {
    let engine = folder.engine();
    let (mut acknowledged, mark) = Watermark::open(&folder.acknowledged(), options.durability)?;
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
    acknowledged.resume(version, mark).map_err(OpenFault::io(&folder.acknowledged()))?;
    let committer = Committer::new(database, rows.clone(), acknowledged, version, options);
    Ok(Opened { folder, rows, committer })
}

fn lost_commits(file: &Path, version: u64, mark: Mark) -> OpenFault {
    OpenFault::corrupt(
        file,
        format!("the newest commit found is {version}, but commit {} was acknowledged", mark.version),
    )
}

/// What was recovered may be in the operating system's memory only, and readers are about to see it.
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

/// Opens the engine; a panic in its recovery is a corrupt folder.
fn open_engine(engine: &Path, options: &LocalOptions) -> Result<(Database, Keyspace), OpenFault> {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let database = Database::builder(engine)
            .cache_size(options.cache_bytes)
            .max_cached_files(Some(options.files_max))
            .max_journaling_size(options.journal_bytes.max(JOURNAL_BYTES_LEAST))
            // Values would be compressed on the writing thread, and again in the tables.
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

/// The engine accepts no smaller limit.
const JOURNAL_BYTES_LEAST: u64 = 64 * 1024 * 1024;

/// Filters stay on for the last level too: conditional puts look for keys that are not there. Below the youngest level,
/// filters and indexes are cut into blocks of four KiB: in one piece they are a megabyte for each table, which the cache
/// cannot hold for all tables of a large store, so that a read would load and check whole megabytes.
fn keyspace_options(options: &LocalOptions) -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(options.memtable_bytes)
        .manual_journal_persist(true)
        .data_block_hash_ratio_policy(HashRatioPolicy::all(HASH_SLOTS_PER_ROW))
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .expect_point_read_hits(false)
}
