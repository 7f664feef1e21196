//! One member's rows of a range of keys, from one view of its store: as they are, and as a sum that is equal
//! where the rows are.
//!
//! It knows one member alone, so what it gives can come from another server too.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Entry, KeyRange, Snapshot};

use crate::state::verification::{Digest, Held, Sum};
use crate::support::fault;
use crate::support::layout::{self, Space, TableId, within_items};
use crate::support::rows::{Budget, Pages};
use crate::support::version::Version;
use crate::write::version_rows::StoredVersion;

/// What one part reads of each kind of row.
const PART: Budget = Budget { rows_max: 1_000, bytes_max: 1024 * 1024 };

/// The key of the hashes of one run.
pub(super) type SumKey = [u8; 32];

/// The rows of one key, as stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub item: Option<Bytes>,
    pub version: Option<Bytes>,
}

/// Consecutive keys of a table with their rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// By the key within the table.
    pub rows: BTreeMap<Bytes, Rows>,
    /// It has all keys up to this one; `None`: up to the end.
    pub until: Option<Bytes>,
}

/// Reads the keys after one, up to another: all of them, or as many as a part may have.
pub(super) async fn read(
    view: &impl Snapshot,
    table: TableId,
    (after, until): (Option<&[u8]>, Option<&[u8]>),
) -> Result<Part, Error> {
    let (items, items_until) = page(view, range(Space::Items, table, after, until)).await?;
    let (versions, versions_until) = page(view, range(Space::Versions, table, after, until)).await?;
    let read_until = items_until.into_iter().chain(versions_until).min();
    let mut part = Part { rows: BTreeMap::new(), until: read_until.or(until.map(Bytes::copy_from_slice)) };
    for entry in items {
        part.rows.entry(within_items(&entry.key)).or_default().item = Some(entry.value);
    }
    for entry in versions {
        part.rows.entry(within_items(&entry.key)).or_default().version = Some(entry.value);
    }
    let until = part.until.clone();
    part.cut(until.as_ref());
    Ok(part)
}

/// The rows of these keys.
pub(super) async fn read_keys(
    view: &impl Snapshot,
    table: TableId,
    keys: &[Bytes],
) -> Result<Vec<Rows>, Error> {
    let in_space = |space: Space| -> Vec<Bytes> {
        let key =
            |within: &Bytes| Bytes::from([layout::table_prefix(space, table).as_slice(), within].concat());
        keys.iter().map(key).collect()
    };
    let items = view.get_many(&in_space(Space::Items)).await.map_err(|error| fault::storage(&error))?;
    let versions = view.get_many(&in_space(Space::Versions)).await.map_err(|error| fault::storage(&error))?;
    Ok(items.into_iter().zip(versions).map(|(item, version)| Rows { item, version }).collect())
}

fn range(space: Space, table: TableId, after: Option<&[u8]>, until: Option<&[u8]>) -> KeyRange {
    let prefix = layout::table_prefix(space, table);
    let behind = |within: &[u8]| layout::after(&[prefix.as_slice(), within].concat());
    let whole = layout::prefix_range(prefix.clone());
    KeyRange { start: after.map_or(whole.start, behind), end: until.map(behind).or(whole.end) }
}

/// The first rows of a range, and the last key that was read if there are more.
async fn page(view: &impl Snapshot, range: KeyRange) -> Result<(Vec<Entry>, Option<Bytes>), Error> {
    let mut pages = Pages::of(range, PART);
    let page = pages.next(view).await.map_err(|error| fault::storage(&error))?.unwrap_or_default();
    let last = page.last().filter(|_| pages.next_key().is_some()).map(|last| within_items(&last.key));
    Ok((page, last))
}

impl Part {
    /// Leaves out the keys after this one.
    pub(super) fn cut(&mut self, until: Option<&Bytes>) {
        let Some(until) = until else { return };
        self.rows.retain(|within, _| within <= until);
        self.until = Some(until.clone());
    }

    pub(super) fn sum(&self, key: &SumKey) -> Sum {
        let mut sum = Sum::default();
        for (within, rows) in &self.rows {
            let held = rows.held(key);
            match held {
                Held::Item { .. } => sum.items += 1,
                Held::Deleted { .. } => sum.deleted += 1,
                Held::Nothing | Held::Damaged(_) => {}
            }
            sum.digest = Digest(sum.digest.0.wrapping_add(held.digest(key, within).0));
        }
        sum
    }

    /// What there is of each key.
    pub(super) fn all_held(&self, key: &SumKey) -> BTreeMap<Bytes, Held> {
        self.rows.iter().map(|(within, rows)| (within.clone(), rows.held(key))).collect()
    }
}

impl Rows {
    pub(super) fn held(&self, key: &SumKey) -> Held {
        let Ok(version) = self.version.as_ref().map(StoredVersion::decode).transpose() else {
            return Held::Damaged(self.digest(key));
        };
        match (&self.item, version) {
            (None, None) => Held::Nothing,
            // It is older than its group.
            (Some(item), None) => Held::Item { version: Version::zero(), digest: digest(key, &[item]) },
            (Some(item), Some(StoredVersion { version, deleted: None })) => {
                Held::Item { version, digest: digest(key, &[item]) }
            }
            (None, Some(StoredVersion { version, deleted: Some(deleted) })) => {
                Held::Deleted { version, at: deleted.at }
            }
            (Some(_), Some(StoredVersion { deleted: Some(_), .. }))
            | (None, Some(StoredVersion { deleted: None, .. })) => Held::Damaged(self.digest(key)),
        }
    }

    fn digest(&self, key: &SumKey) -> Digest {
        let part = |row: &Option<Bytes>| row.clone().unwrap_or_default();
        digest(key, &[&part(&self.item), &part(&self.version)])
    }
}

impl Held {
    /// The part of a row in the sum. When an item was deleted is of its member alone.
    fn digest(&self, key: &SumKey, within: &[u8]) -> Digest {
        let (kind, version, content) = match self {
            Self::Nothing => return Digest::default(),
            Self::Item { version, digest } => (b'i', version, *digest),
            Self::Deleted { version, .. } => (b'd', version, Digest::default()),
            Self::Damaged(content) => (b'x', &Version::zero(), *content),
        };
        let stamp = version.stamp.to_bytes();
        digest(key, &[within, &[kind], &stamp, version.region.as_bytes(), &content.0.to_be_bytes()])
    }
}

/// The hash of these parts, each with its length.
fn digest(key: &SumKey, parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in parts {
        hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part);
    }
    let whole = hasher.finalize();
    let half = whole.as_bytes().first_chunk::<16>().expect("sixteen bytes are half of thirty-two");
    Digest(u128::from_be_bytes(*half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::stamp::Stamp;

    const KEY: SumKey = [7; 32];

    fn version(ms: u64) -> Bytes {
        let version = Version { stamp: Stamp::first_of(ms), region: "a".to_owned() };
        StoredVersion { version, deleted: None }.encode()
    }

    fn part(rows: &[(&'static str, &'static str, u64)]) -> Part {
        let rows = rows.iter().map(|(within, item, ms)| {
            let rows = Rows { item: Some(Bytes::from_static(item.as_bytes())), version: Some(version(*ms)) };
            (Bytes::from_static(within.as_bytes()), rows)
        });
        Part { rows: rows.collect(), until: None }
    }

    #[test]
    fn a_sum_shows_each_key_item_and_version() {
        let sum = |rows: &[(&'static str, &'static str, u64)]| part(rows).sum(&KEY);
        let one = sum(&[("a", "1", 1), ("b", "2", 1)]);
        assert_eq!(one, sum(&[("b", "2", 1), ("a", "1", 1)]));
        assert_eq!((one.items, one.deleted), (2, 0));
        for other in [
            &[("a", "1", 1)][..],
            &[("a", "2", 1), ("b", "1", 1)],
            &[("a", "1", 2), ("b", "2", 1)],
            &[("ab", "1", 1), ("b", "2", 1)],
            &[("a", "1", 1), ("b", "2", 1), ("c", "2", 1)],
        ] {
            assert_ne!(one.digest, sum(other).digest, "{other:?}");
        }
        assert_ne!(one.digest, part(&[("a", "1", 1), ("b", "2", 1)]).sum(&[8; 32]).digest, "it is keyed");
    }

    #[test]
    fn rows_that_do_not_fit_together_are_damaged() {
        let alone = Rows { item: None, version: Some(version(1)) };
        assert!(matches!(alone.held(&KEY), Held::Damaged(_)));
        let unreadable =
            Rows { item: Some(Bytes::from_static(b"i")), version: Some(Bytes::from_static(b"?")) };
        assert!(matches!(unreadable.held(&KEY), Held::Damaged(_)));
        let older = Rows { item: Some(Bytes::from_static(b"i")), version: None };
        assert!(matches!(older.held(&KEY), Held::Item { version, .. } if version == Version::zero()));
        assert_eq!(Rows::default().held(&KEY), Held::Nothing);
    }
}
