//! The sorted tables on disk: written from full buffers, merged in the background, read without locks.
//!
//! `lsm_tree` writes, merges and reads the tables and keeps the list of them. Its own reads take a lock that
//! is held while a changed list is synced, which can last a tenth of a second; readers here hold the tables
//! themselves ([`TableSet`]), and a table's file stays until nobody holds it. Its write buffer is not used,
//! so that each key has one version in each table and no reader needs sequence numbers.

use std::collections::HashSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keywright_encryption::key_of;
use keywright_store::Direction;
use lsm_tree::compaction::{Leveled, Rewrite};
use lsm_tree::config::{
    BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, HashRatioPolicy,
    PartitioningPolicy, RestartIntervalPolicy,
};
use lsm_tree::table::filter::standard_bloom::Builder as Filter;
use lsm_tree::{
    AbstractTree as _, AnyTree, Cache, CompressionType, Config, DescriptorTable, InternalValue,
    SequenceNumberCounter, Slice, Tree, ValueType,
};

pub(crate) use lsm_tree::Table;

use crate::damage::ReadFault;
use crate::files::Files;
use crate::keys::VERSION_KEY;
use crate::options::LocalOptions;
use crate::pacing::{MergeSteps, Pacing, Steps, flush_step};
use crate::row_map::{Row, RowMap};

/// Share of a block's rows for which its hash index has a slot.
const HASH_SLOTS_PER_ROW: f32 = 0.75;
/// Above all sequence numbers, so that reads see every row, and merges drop all but the newest of a key.
const NEWEST: u64 = u64::MAX >> 1;
/// The file in a folder of tables that names the list of tables. It begins with the number of that list.
pub(crate) const LIST: &str = "current";
/// The folder of the tables' files in it.
pub(crate) const FILES: &str = "tables";

/// The tables of a store, and the threads' way to change them.
#[derive(Clone)]
pub(crate) struct Tables {
    tree: Tree,
    /// The file that names the present list of tables.
    list: PathBuf,
    pacing: Arc<Pacing>,
    files: Files,
}

impl Tables {
    /// Opens the tables in a folder, which is created if it is missing.
    pub(crate) fn open(folder: &Path, files: &Files, options: &LocalOptions) -> lsm_tree::Result<Self> {
        let counter = SequenceNumberCounter::default;
        let pacing = Arc::new(Pacing::new(folder.join(FILES)));
        // The last level has filters too: conditional puts look up absent keys. Below the newest level,
        // filters and indexes are partitioned into blocks of 4 KiB. In one piece they take a megabyte per
        // table, more than the cache can hold for a large store, so that a read would load and verify whole
        // megabytes.
        let config = Config::new(folder, counter(), counter())
            .use_cache(Arc::new(Cache::with_capacity_bytes(options.cache_bytes)))
            .use_fs(files.of_tables())
            .use_descriptor_table(Some(Arc::new(DescriptorTable::new(options.files_max))))
            .data_block_hash_ratio_policy(HashRatioPolicy::all(HASH_SLOTS_PER_ROW))
            .data_block_restart_interval_policy(RestartIntervalPolicy::new([10, 16]))
            .data_block_compression_policy(CompressionPolicy::new([
                CompressionType::None,
                CompressionType::None,
                CompressionType::Lz4,
            ]))
            .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
            .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
            .filter_policy(FilterPolicy::new([
                FilterPolicyEntry::Bloom(BloomConstructionPolicy::FalsePositiveRate(0.0001)),
                FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0)),
            ]))
            .with_compaction_filter_factory(Some(Arc::new(MergeSteps(Arc::clone(&pacing)))))
            .expect_point_read_hits(false);
        match config.open()? {
            AnyTree::Standard(tree) => {
                Ok(Self { tree, list: folder.join(LIST), pacing, files: files.clone() })
            }
            AnyTree::Blob(_) => unreachable!("a tree without options for blobs is a standard tree"),
        }
    }

    /// The present tables.
    pub(crate) fn set(&self) -> TableSet {
        let version = self.tree.current_version();
        let unmerged = self.tree.l0_run_count();
        self.pacing.set_unmerged(unmerged);
        let runs = version.iter_levels().flat_map(|level| level.iter());
        let runs = runs.map(|run| run.iter().cloned().collect()).collect();
        TableSet { runs, unmerged }
    }

    /// Writes the rows of a buffer as new tables, durably, with the version of its newest commit. `frozen`
    /// counts the buffers that wait, this one included.
    pub(crate) fn add(
        &self,
        rows: &RowMap,
        version: u64,
        frozen: impl Fn() -> usize,
    ) -> lsm_tree::Result<()> {
        assert!(version < NEWEST, "versions of commits are below the sequence number of reads");
        let mut steps = Steps::of_flush(Arc::clone(&self.pacing));
        let mark = InternalValue::from_components(
            Slice::from(VERSION_KEY),
            Slice::from(version.to_be_bytes()),
            version,
            ValueType::Value,
        );
        let rows = rows.iter().map(|row| {
            let (value, kind) = match &row.value {
                Some(value) => (value.clone(), ValueType::Value),
                None => (Slice::from([]), ValueType::Tombstone),
            };
            steps.row(row.key.len() + value.len(), |_| flush_step(frozen()));
            InternalValue::from_components(row.key.clone(), value, version, kind)
        });
        if let Some((tables, _)) = self.tree.flush_to_tables(std::iter::once(mark).chain(rows).map(Ok))? {
            self.tree.register_tables(&tables, None, None, &[], NEWEST)?;
        }
        Ok(())
    }

    /// Whether the folder names the list of tables that is in use here: a change of the list that failed has
    /// not replaced it.
    pub(crate) fn list_is_unchanged(&self) -> bool {
        let in_use = || self.tree.current_version().id();
        let mut before = in_use();
        loop {
            let named = std::fs::read(&self.list).ok();
            let number = named.as_deref().and_then(<[u8]>::first_chunk).copied().map(u64::from_le_bytes);
            // Another thread may have replaced the list meanwhile. While it does, the number is not given.
            let after = in_use();
            if before == after {
                return number == Some(after);
            }
            before = after;
        }
    }

    /// Ends all pacing, so that the threads end soon.
    pub(crate) fn close(&self) {
        self.pacing.close();
    }

    /// Merges some tables, if it pays; false if there was nothing to do.
    pub(crate) fn merge(&self) -> lsm_tree::Result<bool> {
        let before = self.tree.current_version().id();
        self.tree.compact(Arc::new(Leveled::default()), NEWEST)?;
        Ok(self.tree.current_version().id() != before)
    }

    /// Writes a table anew that is not encrypted under the newest key, or all tables of the newest level;
    /// false if there is none.
    pub(crate) fn rewrite(&self) -> lsm_tree::Result<bool> {
        let version = self.tree.current_version();
        let mut outdated = Vec::new();
        for table in version.iter_tables() {
            if key_of(&table.path)? != self.files.key() {
                outdated.push(table.id());
            }
        }
        if outdated.is_empty() {
            return Ok(false);
        }
        self.tree.compact(Arc::new(Rewrite::new(outdated)), NEWEST)?;
        Ok(self.tree.current_version().id() != version.id())
    }
}

/// A fixed set of tables. Runs are in the order in which they are looked at: what an earlier run has counts.
/// The tables of a run are in the order of their keys, which do not overlap.
#[derive(Clone, Default)]
pub(crate) struct TableSet {
    runs: Arc<[Arc<[Table]>]>,
    unmerged: usize,
}

impl TableSet {
    /// Runs that are not merged yet. Every read looks at all of them.
    pub(crate) fn unmerged(&self) -> usize {
        self.unmerged
    }

    /// Whether somebody else has this set.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.runs) > 1
    }

    /// Whether it has a table.
    pub(crate) fn has(&self, table: &Table) -> bool {
        self.all().any(|own| own.id() == table.id())
    }

    /// The tables that another set does not have.
    pub(crate) fn without(&self, other: &Self) -> Vec<Table> {
        let kept: HashSet<_> = other.all().map(Table::id).collect();
        self.all().filter(|table| !kept.contains(&table.id())).cloned().collect()
    }

    /// All tables.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Table> {
        self.runs.iter().flat_map(|run| run.iter())
    }

    /// The number of tables, and their bytes.
    pub(crate) fn sizes(&self) -> (usize, u64) {
        (self.all().count(), self.all().map(|table| table.metadata.file_size).sum())
    }

    /// The value of a key in the newest table that has it, unless it is a deletion.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Slice>, Box<ReadFault>> {
        let mut hash = None;
        for run in self.runs.iter() {
            let Some(table) = find(run, key) else { continue };
            let hash = *hash.get_or_insert_with(|| Filter::get_hash(key));
            let found = table.get(key, NEWEST, hash).map_err(|error| {
                let key = Slice::from(key);
                Box::new(ReadFault::new(table, (key.clone(), key), error))
            })?;
            if let Some(found) = found {
                return Ok(value_of(found).1);
            }
        }
        Ok(None)
    }

    /// Whether no table can have the key, as far as their first and last keys tell.
    pub(crate) fn excludes(&self, key: &[u8]) -> bool {
        self.runs.iter().all(|run| find(run, key).is_none())
    }

    /// For each run with tables in a range, its rows in the range, in either order.
    pub(crate) fn ranges(&self, start: &Slice, end: &Slice, direction: Direction) -> Vec<TableRows> {
        let overlapping = |run: &Arc<[Table]>| {
            let first = run.partition_point(|table| table.metadata.key_range.max() < start);
            let last = run.partition_point(|table| table.metadata.key_range.min() < end);
            (first < last).then_some(first..last)
        };
        let mut all = Vec::new();
        for run in self.runs.iter() {
            if let Some(tables) = overlapping(run) {
                all.push(rows_of(Arc::clone(run), tables, (start.clone(), end.clone()), direction));
            }
        }
        all
    }

    /// Bytes of the tables in a range. A table that overlaps an end of the range counts half.
    pub(crate) fn bytes(&self, start: &[u8], end: &[u8]) -> u64 {
        let sizes = self.all().map(|table| {
            let keys = &table.metadata.key_range;
            if keys.min().as_ref() >= start && keys.max().as_ref() < end {
                table.metadata.file_size
            } else if keys.max().as_ref() < start || keys.min().as_ref() >= end {
                0
            } else {
                table.metadata.file_size / 2
            }
        });
        sizes.sum()
    }
}

/// A row of a table; a value of `None` is a deletion.
type TableRow = (Slice, Option<Slice>);
/// Rows of tables in order.
pub(crate) type TableRows = Box<dyn Iterator<Item = Result<TableRow, Box<ReadFault>>> + Send>;

fn find<'t>(run: &'t [Table], key: &[u8]) -> Option<&'t Table> {
    let place = run.partition_point(|table| table.metadata.key_range.max().as_ref() < key);
    run.get(place).filter(|table| table.metadata.key_range.min().as_ref() <= key)
}

fn rows_of(
    run: Arc<[Table]>,
    tables: std::ops::Range<usize>,
    (start, end): (Slice, Slice),
    direction: Direction,
) -> TableRows {
    let rows = move |place: usize| {
        let table = run.get(place).expect("the places are those of tables of the run").clone();
        let wanted = (start.clone(), end.clone());
        let rows = table.range((Bound::Included(start.clone()), Bound::Excluded(end.clone())));
        rows.map(move |row| match row {
            Ok(row) => Ok(value_of(row)),
            Err(error) => Err(Box::new(ReadFault::new(&table, wanted.clone(), error))),
        })
    };
    match direction {
        Direction::Forward => Box::new(tables.flat_map(rows)),
        Direction::Backward => Box::new(tables.rev().flat_map(move |place| rows(place).rev())),
    }
}

fn value_of(row: InternalValue) -> TableRow {
    let value = (!row.key.is_tombstone()).then_some(row.value);
    (row.key.user_key, value)
}

/// A row of a buffer as a row of a table.
pub(crate) fn pair_of(row: &Row) -> (Slice, Option<Slice>) {
    (row.key.clone(), row.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tables_that_was_replaced_by_a_failed_change_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let tables = Tables::open(folder.path(), &Files::Plain, &LocalOptions::default()).unwrap();
        let mut rows = RowMap::default();
        rows.insert(Row { key: Slice::from(b"key"), value: Some(Slice::from(b"value")) });
        tables.add(&rows, 1, || 1).unwrap();
        assert!(tables.list_is_unchanged());
        let list = folder.path().join(LIST);
        let before = std::fs::read(&list).unwrap();
        let mut other = before.clone();
        other[0] += 1;
        std::fs::write(&list, other).unwrap();
        assert!(!tables.list_is_unchanged());
        std::fs::remove_file(&list).unwrap();
        assert!(!tables.list_is_unchanged());
        std::fs::write(&list, before).unwrap();
        assert!(tables.list_is_unchanged());
    }

    #[test]
    fn a_list_that_another_thread_replaces_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let tables = Tables::open(folder.path(), &Files::default(), &LocalOptions::default()).unwrap();
        let mut rows = RowMap::default();
        rows.insert(Row { key: Slice::from(b"key"), value: Some(Slice::from(b"value")) });
        std::thread::scope(|scope| {
            let writer =
                scope.spawn(|| (1..60).for_each(|version| tables.add(&rows, version, || 1).unwrap()));
            while !writer.is_finished() {
                assert!(tables.list_is_unchanged());
            }
        });
    }
}
