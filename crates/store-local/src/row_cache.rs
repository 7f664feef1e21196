//! The row cache: recently written rows by the hash of their keys.
//!
//! Finding a row in the write buffer takes about thirty comparisons of keys scattered over memory. Most
//! writes read the row that they overwrite, and that row was often written shortly before.
//!
//! An entry is always the newest commit of its key: the commit thread inserts a group before it publishes
//! it. A view older than an entry ignores it and reads its layers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_store::ByHash;
use lsm_tree::Slice;

/// Bytes of all rows, with their keys and the map's overhead.
pub(crate) const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Shards of the cache, each with a lock of its own.
const SHARDS: usize = 16;
/// Bytes of one generation of one shard.
const GENERATION_BYTES_MAX: usize = BYTES_MAX / SHARDS / 2;
/// The map's overhead per row, roughly.
const OVERHEAD_BYTES: usize = 128;

/// One row as one commit left it.
pub(crate) struct CachedRow {
    /// The hash of the caller's key.
    pub(crate) hash: u64,
    /// The stored key.
    pub(crate) key: Slice,
    /// The commit that wrote the row.
    pub(crate) version: u64,
    /// `None` is a deletion.
    pub(crate) value: Option<Slice>,
}

impl CachedRow {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, |value| value.len()) + OVERHEAD_BYTES
    }
}

type Rows = ByHash<CachedRow>;

/// Two generations of rows: when the newer one is full, the older one is evicted. Invariant: a row of the
/// older generation is the newest of its key unless the newer generation has the key too.
#[derive(Default)]
struct Shard {
    newer: Rows,
    newer_bytes: usize,
    older: Rows,
}

impl Shard {
    /// Inserts a row and returns the rows evicted for it.
    fn insert(&mut self, row: CachedRow) -> Rows {
        let version = row.version;
        self.newer_bytes += row.bytes();
        if let Some(overwritten) = self.newer.insert(row.hash, row) {
            assert!(
                overwritten.version <= version,
                "a row of the cache is overwritten by later commits only"
            );
            assert!(overwritten.bytes() <= self.newer_bytes, "the bytes of a generation cover its rows");
            self.newer_bytes -= overwritten.bytes();
        }
        if self.newer_bytes <= GENERATION_BYTES_MAX {
            return Rows::default();
        }
        self.newer_bytes = 0;
        std::mem::replace(&mut self.older, std::mem::take(&mut self.newer))
    }
}

#[derive(Default)]
pub(crate) struct RowCache {
    shards: [Mutex<Shard>; SHARDS],
}

/// The answer of the cache for a key and a view.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The view holds this value; `None` if the key is absent in it.
    Hit(Option<Slice>),
    /// Not in the cache: read the layers.
    Miss,
}

impl RowCache {
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // The high half of the hash: the maps inside use the low bits.
        let index = usize::try_from(hash >> 32).unwrap_or_default();
        let shard = self.shards.get(index % SHARDS).expect("the index is below the number of shards");
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inserts rows of commits that are not published yet.
    pub(crate) fn insert(&self, rows: impl IntoIterator<Item = CachedRow>) {
        for row in rows {
            let evicted = self.shard(row.hash).insert(row);
            // Freed after the lock is released.
            drop(evicted);
        }
    }

    /// Looks a key up for a view at `version`. `hash` is the key's; `is_key` says whether a row that has the
    /// hash is of that key.
    pub(crate) fn find(&self, hash: u64, is_key: impl FnOnce(&[u8]) -> bool, version: u64) -> Lookup {
        let shard = self.shard(hash);
        match shard.newer.get(&hash).or_else(|| shard.older.get(&hash)) {
            Some(row) if row.version <= version && is_key(&row.key) => Lookup::Hit(row.value.clone()),
            Some(_) | None => Lookup::Miss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hash: u64, key: &str, version: u64, value: Option<&str>) -> CachedRow {
        CachedRow { hash, key: Slice::from(key), version, value: value.map(Slice::from) }
    }

    fn find(rows: &RowCache, hash: u64, key: &str, version: u64) -> Lookup {
        rows.find(hash, |stored| stored == key.as_bytes(), version)
    }

    fn hit(value: &str) -> Lookup {
        Lookup::Hit(Some(Slice::from(value)))
    }

    #[test]
    fn a_view_finds_the_newest_row_unless_it_is_newer_than_the_view() {
        let rows = RowCache::default();
        rows.insert([row(7, "a", 5, Some("five"))]);
        assert_eq!(find(&rows, 7, "a", 5), hit("five"));
        assert_eq!(find(&rows, 7, "a", 4), Lookup::Miss);
        rows.insert([row(7, "a", 6, None)]);
        assert_eq!(find(&rows, 7, "a", 5), Lookup::Miss);
        assert_eq!(find(&rows, 7, "a", 6), Lookup::Hit(None));
    }

    #[test]
    fn keys_of_one_hash_are_not_confused() {
        let rows = RowCache::default();
        rows.insert([row(7, "a", 5, Some("of a"))]);
        assert_eq!(find(&rows, 7, "b", 9), Lookup::Miss);
        rows.insert([row(7, "b", 6, Some("of b"))]);
        assert_eq!(find(&rows, 7, "a", 9), Lookup::Miss);
        assert_eq!(find(&rows, 7, "b", 9), hit("of b"));
    }

    #[test]
    fn the_cache_is_bounded_and_never_returns_an_overwritten_row() {
        let rows = RowCache::default();
        let value = "x".repeat(1000);
        for version in 1..=100_000 {
            // All keys in one shard, each written twenty times.
            rows.insert([row(version % 5000, "a", version, Some(&value))]);
            assert_ne!(find(&rows, version % 5000, "a", version), Lookup::Miss);
            let earlier = version.saturating_sub(3000) % 5000;
            let newest = version.saturating_sub(3000);
            let found = find(&rows, earlier, "a", newest.saturating_sub(1));
            assert_eq!(found, Lookup::Miss, "a view before {newest} sees no later row");
        }
        let shard = rows.shard(0);
        let kept = shard.newer.len() + shard.older.len();
        let row_bytes = 1001 + OVERHEAD_BYTES;
        assert!(kept * row_bytes <= 2 * GENERATION_BYTES_MAX + 2 * row_bytes, "{kept} rows");
    }
}
