//! The layers that a view of the store reads: the active write buffer, full buffers waiting to be flushed,
//! and the tables.
//!
//! Newer layers hide older ones: the newest layer that has a key decides its value. The layers of a view
//! never change.

use std::sync::Arc;

use keywright_store::Direction;
use lsm_tree::Slice;

use crate::damage::ReadFault;
use crate::dead_ranges::{DeadRange, DeadRanges, RUN_LEN_MIN};
use crate::keys::after;
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
    pub(crate) dead: Arc<DeadRanges>,
}

impl Layers {
    /// The value of a stored key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Slice>, Box<ReadFault>> {
        for rows in self.buffers() {
            if let Some(row) = rows.get(key) {
                return Ok(row.value.clone());
            }
        }
        self.tables.get(key)
    }

    /// The newest first.
    fn buffers(&self) -> impl Iterator<Item = &RowMap> {
        std::iter::once(&self.active).chain(self.frozen.iter().map(|frozen| &frozen.rows))
    }

    /// Whether only the active buffer can have the key.
    pub(crate) fn has_only_active(&self, key: &[u8]) -> bool {
        self.frozen.iter().all(|frozen| frozen.rows.get(key).is_none()) && self.tables.excludes(key)
    }

    /// The rows from `start` on, and below `end`, in either order.
    pub(crate) fn range(&self, start: Slice, end: Slice, direction: Direction) -> Merged {
        let sources = self.sources(&start, &end, direction);
        Merged { layers: self.clone(), sources, start, end, direction, run: None, found: Vec::new() }
    }

    fn sources(&self, start: &Slice, end: &Slice, direction: Direction) -> Vec<Source> {
        if start >= end {
            return Vec::new();
        }
        let buffers = self.buffers().filter(|rows| rows.len() > 0);
        let buffers = buffers.map(|rows| Source::new(Rest::Buffer(rows.range(start, end, direction))));
        let tables = self.tables.ranges(start, end, direction);
        buffers.chain(tables.into_iter().map(|rows| Source::new(Rest::Tables(rows)))).collect()
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
    head: Option<Result<Pair, Box<ReadFault>>>,
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

/// Deleted rows that a scan passes over between two live ones.
struct Run {
    /// The first of them.
    first: Slice,
    /// How many of them are in no dead range of the view.
    len: usize,
}

/// After this many deleted rows in a row, the scan looks for a dead range to skip.
const LOOK_EVERY: usize = 8;

/// The rows of several layers in order, each key once, without deleted ones.
pub(crate) struct Merged {
    layers: Layers,
    /// The newest layer first.
    sources: Vec<Source>,
    start: Slice,
    end: Slice,
    direction: Direction,
    run: Option<Run>,
    found: Vec<DeadRange>,
}

impl Merged {
    /// Takes the long ranges without live rows that the scan found.
    pub(crate) fn take_found(&mut self) -> Vec<DeadRange> {
        std::mem::take(&mut self.found)
    }

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

    fn fault(&mut self) -> Option<Box<ReadFault>> {
        let failed = self.sources.iter_mut().find(|source| matches!(source.head, Some(Err(_))))?;
        failed.head.take()?.err()
    }

    /// The next key of any layer, with its newest value.
    fn next_of_any(&mut self) -> Option<Result<Pair, Box<ReadFault>>> {
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
        Some(Ok((key, value)))
    }

    /// Counts a deleted row. If it is in a dead range, skips to the end of that range.
    fn pass(&mut self, key: &Slice) {
        let run = self.run.get_or_insert_with(|| Run { first: key.clone(), len: 0 });
        run.len += 1;
        if !run.len.is_multiple_of(LOOK_EVERY) {
            return;
        }
        let Some((start, end)) = self.layers.dead.containing(key) else { return };
        let (start, end) = (start.clone(), end.clone());
        run.len = 0;
        match self.direction {
            Direction::Forward => self.start = end,
            Direction::Backward => self.end = start,
        }
        self.sources = self.layers.sources(&self.start, &self.end, self.direction);
    }

    /// Ends a run of deleted rows at a live row, or at the end of the scan.
    fn end_run(&mut self, live: Option<&Slice>) {
        let Some(Run { first, len }) = self.run.take() else { return };
        if len < RUN_LEN_MIN {
            return;
        }
        let bound = live.cloned();
        self.found.push(match self.direction {
            Direction::Forward => DeadRange { start: first, end: bound.unwrap_or_else(|| self.end.clone()) },
            Direction::Backward => DeadRange {
                start: bound.map_or_else(|| self.start.clone(), |live| after(&live)),
                end: after(&first),
            },
        });
    }
}

impl Iterator for Merged {
    type Item = Result<(Slice, Slice), Box<ReadFault>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_of_any() {
                Some(Ok((key, Some(value)))) => {
                    self.end_run(Some(&key));
                    return Some(Ok((key, value)));
                }
                Some(Ok((key, None))) => self.pass(&key),
                Some(Err(fault)) => return Some(Err(fault)),
                None => {
                    self.end_run(None);
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::row_map::Row;

    use super::*;

    fn key(number: u32) -> Slice {
        Slice::from(number.to_be_bytes())
    }

    /// A thousand deleted rows, and a live one after them.
    fn layers() -> Layers {
        let mut layers = Layers::default();
        for number in 0..1_000 {
            layers.active.insert(Row { key: key(number), value: None });
        }
        layers.active.insert(Row { key: key(1_000), value: Some(Slice::from([1])) });
        layers
    }

    fn scan(layers: &Layers, direction: Direction) -> (usize, Vec<DeadRange>) {
        let mut rows = layers.range(key(0), key(2_000), direction);
        let count = rows.by_ref().flatten().count();
        (count, rows.take_found())
    }

    #[test]
    fn a_long_range_without_live_rows_is_found_once() {
        let mut layers = layers();
        for direction in [Direction::Forward, Direction::Backward] {
            let (count, found) = scan(&layers, direction);
            assert_eq!((count, found.len()), (1, 1), "{direction:?}");
            let range = &found[0];
            assert!(range.start == key(0) && range.end > key(999) && range.end <= key(1_000), "{range:?}");
        }
        let mut dead = DeadRanges::default();
        dead.add(&DeadRange { start: key(0), end: key(1_000) });
        layers.dead = Arc::new(dead);
        for direction in [Direction::Forward, Direction::Backward] {
            assert_eq!(scan(&layers, direction), (1, Vec::new()), "{direction:?}");
        }
    }
}
