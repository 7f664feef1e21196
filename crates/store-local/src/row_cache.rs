//! Rows written lately, found by their hashes.
//!
//! The engine finds a row of its write buffer by some thirty comparisons of keys that lie all over memory. Most writes
//! read what they replace, and what is replaced was often written just before.
//!
//! What stands here is always the newest commit of its key: the writing thread enters a group before it publishes it. A
//! view that is older than an entry does not see it, and has to ask the engine.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fjall::Slice;
use keywright_store::ByHash;

/// How much all rows may take, with their keys and places.
pub(crate) const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Parts with a lock each; a power of two.
const PARTS: usize = 16;
/// What a row takes besides its bytes, roughly.
const PLACE_BYTES: usize = 128;

/// One row as of one commit.
pub(crate) struct CachedRow {
    /// Of the key as it was given.
    pub(crate) hash: u64,
    /// As it is stored.
    pub(crate) key: Slice,
    pub(crate) version: u64,
    pub(crate) value: Option<Slice>,
}

impl CachedRow {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, |value| value.len()) + PLACE_BYTES
    }
}

type Rows = ByHash<CachedRow>;

/// Two generations: when the younger one is full, the older one goes. Invariant: a row in the older one is the newest of
/// its key unless the younger one has the key too.
#[derive(Default)]
struct Part {
    young: Rows,
    young_bytes: usize,
    older: Rows,
}

impl Part {
    /// Returns what goes for it.
    fn enter(&mut self, row: CachedRow) -> Rows {
        self.young_bytes += row.bytes();
        if let Some(replaced) = self.young.insert(row.hash, row) {
            self.young_bytes -= replaced.bytes();
        }
        if self.young_bytes <= BYTES_MAX / PARTS / 2 {
            return Rows::default();
        }
        self.young_bytes = 0;
        std::mem::replace(&mut self.older, std::mem::take(&mut self.young))
    }
}

#[derive(Default)]
pub(crate) struct RowCache {
    parts: [Mutex<Part>; PARTS],
}

/// What is known of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// This is what the view holds.
    Row(Option<Slice>),
    Nothing,
}

impl RowCache {
    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        // Not the bits by which a map finds its places.
        let place = usize::try_from((hash >> 32) % 16).unwrap_or_default();
        let part = self.parts.get(place).or_else(|| self.parts.first());
        part.expect("there are 16 parts").lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters rows of commits that no view shows yet.
    pub(crate) fn enter(&self, rows: impl IntoIterator<Item = CachedRow>) {
        for row in rows {
            let gone = self.part(row.hash).enter(row);
            // Not under the lock.
            drop(gone);
        }
    }

    /// What a view at this version holds for a key, if that is known here.
    pub(crate) fn find(&self, hash: u64, stored: impl FnOnce(&[u8]) -> bool, version: u64) -> Lookup {
        let part = self.part(hash);
        match part.young.get(&hash).or_else(|| part.older.get(&hash)) {
            Some(row) if row.version <= version && stored(&row.key) => Lookup::Row(row.value.clone()),
            Some(_) | None => Lookup::Nothing,
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

    fn known(value: &str) -> Lookup {
        Lookup::Row(Some(Slice::from(value)))
    }

    #[test]
    fn a_view_finds_the_newest_row_unless_it_is_newer_than_the_view() {
        let rows = RowCache::default();
        rows.enter([row(7, "a", 5, Some("five"))]);
        assert_eq!(find(&rows, 7, "a", 5), known("five"));
        assert_eq!(find(&rows, 7, "a", 4), Lookup::Nothing);
        rows.enter([row(7, "a", 6, None)]);
        assert_eq!(find(&rows, 7, "a", 5), Lookup::Nothing);
        assert_eq!(find(&rows, 7, "a", 6), Lookup::Row(None));
    }

    #[test]
    fn keys_of_one_hash_are_not_taken_for_each_other() {
        let rows = RowCache::default();
        rows.enter([row(7, "a", 5, Some("of a"))]);
        assert_eq!(find(&rows, 7, "b", 9), Lookup::Nothing);
        rows.enter([row(7, "b", 6, Some("of b"))]);
        assert_eq!(find(&rows, 7, "a", 9), Lookup::Nothing);
        assert_eq!(find(&rows, 7, "b", 9), known("of b"));
    }

    #[test]
    fn what_is_kept_is_bounded_and_never_an_older_row_of_a_key() {
        let rows = RowCache::default();
        let value = "x".repeat(1000);
        for version in 1..=100_000 {
            // One part, and now and then the same key again.
            rows.enter([row(version % 5000, "a", version, Some(&value))]);
            assert_ne!(find(&rows, version % 5000, "a", version), Lookup::Nothing);
            let earlier = version.saturating_sub(3000) % 5000;
            let newest = version.saturating_sub(3000);
            let found = find(&rows, earlier, "a", newest.saturating_sub(1));
            assert_eq!(found, Lookup::Nothing, "a view before {newest} sees no later row");
        }
        let part = rows.part(0);
        let kept = part.young.len() + part.older.len();
        assert!(kept * (1001 + PLACE_BYTES) <= BYTES_MAX / PARTS + 2 * (1001 + PLACE_BYTES), "{kept} rows");
    }
}
