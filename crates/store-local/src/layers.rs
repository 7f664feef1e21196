//! What a view of the store reads: the buffer being written, full buffers on their way to disk, and the tables.
//!
//! Newer layers hide older ones: what the first layer with a key says of it counts. The layers of a view never change.

use std::sync::Arc;

use keywright_store::Direction;
use lsm_tree::Slice;

use crate::row_map::{RowMap, Rows};
use crate::tables::{TableRows, TableSet, pair_of};

/// A full buffer.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) rows: RowMap,
    /// Its newest commit.
    pub(crate) version: u64,
}

#[derive(Clone, Default)]
pub(crate) struct Layers {
    pub(crate) active: RowMap,
    /// The newest first.
    pub(crate) frozen: Arc<[Frozen]>,
    pub(crate) tables: TableSet,
}

impl Layers {
    /// The value of a stored key.
    pub(crate) fn get(&self, key: &[u8]) -> lsm_tree::Result<Option<Slice>> {
        let buffers = std::iter::once(&self.active).chain(self.frozen.iter().map(|frozen| &frozen.rows));
        for rows in buffers {
            if let Some(row) = rows.get(key) {
                return Ok(row.value.clone());
            }
        }
        Ok(self.tables.get(key)?.flatten())
    }

    /// Whether only the active buffer can have the key.
    pub(crate) fn has_only_active(&self, key: &[u8]) -> bool {
        self.frozen.iter().all(|frozen| frozen.rows.get(key).is_none()) && self.tables.excludes(key)
    }

    /// The rows from `start` on, and below `end`, in either order.
    pub(crate) fn range(&self, start: Slice, end: Slice, direction: Direction) -> Merged {
        let buffers = std::iter::once(&self.active).chain(self.frozen.iter().map(|frozen| &frozen.rows));
        let mut sources = Vec::with_capacity(8);
        if start < end {
            let buffers = buffers.filter(|rows| rows.len() > 0);
            sources
                .extend(buffers.map(|rows| Source::new(Rest::Buffer(rows.range(&start, &end, direction)))));
            let tables = self.tables.ranges(&start, &end, direction);
            sources.extend(tables.into_iter().map(|rows| Source::new(Rest::Tables(rows))));
        }
        Merged { sources, direction }
    }
}

enum Rest {
    Buffer(Rows),
    Tables(TableRows),
}

type Pair = (Slice, Option<Slice>);

/// One layer's rows in order.
struct Source {
    /// The next row. `Err` is reported once; the source has ended then.
    head: Option<lsm_tree::Result<Pair>>,
    rest: Rest,
}

impl Source {
    fn new(rest: Rest) -> Self {
        let mut source = Self { head: None, rest };
        source.advance();
        source
    }

    fn advance(&mut self) {
        self.head = match &mut self.rest {
            Rest::Buffer(rows) => rows.next().map(|row| Ok(pair_of(&row))),
            Rest::Tables(rows) => rows.next(),
        };
    }

    fn key(&self) -> Option<&Slice> {
        match &self.head {
            Some(Ok((key, _))) => Some(key),
            Some(Err(_)) | None => None,
        }
    }
}

/// The rows of several layers in order, each key once, without deleted ones.
pub(crate) struct Merged {
    /// The newest layer first.
    sources: Vec<Source>,
    direction: Direction,
}

impl Merged {
    /// The source whose next row comes first; of equal keys, the newest layer's.
    fn first(&self) -> Option<usize> {
        let mut first: Option<(usize, &Slice)> = None;
        for (place, source) in self.sources.iter().enumerate() {
            let Some(key) = source.key() else { continue };
            let is_before = first.is_none_or(|(_, best)| match self.direction {
                Direction::Forward => key < best,
                Direction::Backward => key > best,
            });
            if is_before {
                first = Some((place, key));
            }
        }
        first.map(|(place, _)| place)
    }

    fn fault(&mut self) -> Option<lsm_tree::Error> {
        let failed = self.sources.iter_mut().find(|source| matches!(source.head, Some(Err(_))))?;
        failed.head.take()?.err()
    }
}

impl Iterator for Merged {
    type Item = lsm_tree::Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(fault) = self.fault() {
                self.sources.clear();
                return Some(Err(fault));
            }
            let place = self.first()?;
            let source = self.sources.get_mut(place)?;
            let (key, value) = source.head.take()?.ok()?;
            source.advance();
            // Older layers' rows of the same key are hidden.
            for older in self.sources.iter_mut().skip(place + 1) {
                if older.key() == Some(&key) {
                    older.advance();
                }
            }
            if let Some(value) = value {
                return Some(Ok((key, value)));
            }
        }
    }
}
