//! Rows of several ranges in the order of items: a table's items, and the undo rows of each day.
//!
//! It holds a bounded part of each range. All ranges are read in one view.

use std::collections::VecDeque;

use bytes::Bytes;
use keywright_semantics::key::successor_prefix;
use keywright_store::{Direction, Entry, KeyRange, Scan, Snapshot, StoreError};

use super::rows::{self, Author, HEAD_BYTES, Span, UndoKey};
use crate::support::layout;
use crate::support::rows::{Budget, Pages};
use crate::support::stamp::{Day, Stamp};

/// What is held of one range at a time.
const HELD: Budget = Budget { rows_max: 256, bytes_max: 128 * 1024 };

/// A part of a table: the keys of its items within the table, from `start` up to `end`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub start: Bytes,
    /// `None` is the end of the table.
    pub end: Option<Bytes>,
}

impl Part {
    /// The items whose keys within the table begin with this.
    pub(crate) fn beginning_with(prefix: &[u8]) -> Self {
        let end = successor_prefix(prefix).map(Bytes::from);
        Self { start: Bytes::copy_from_slice(prefix), end }
    }

    /// The range of these items' rows that begin with this prefix.
    fn range(&self, prefix: &[u8]) -> KeyRange {
        let bound = |within: &Bytes| Bytes::from([prefix, within].concat());
        let end = self.end.as_ref().map(bound);
        KeyRange { start: bound(&self.start), end: end.or_else(|| successor_prefix(prefix).map(Bytes::from)) }
    }
}

/// The rows of one range, of which a piece is held.
struct Cursor {
    prefix_bytes: usize,
    range_end: Option<Bytes>,
    pages: Pages,
    held: VecDeque<Entry>,
}

impl Cursor {
    fn of(prefix: &[u8], part: &Part) -> Self {
        let range = part.range(prefix);
        let range_end = range.end.clone();
        Self { prefix_bytes: prefix.len(), range_end, pages: Pages::of(range, HELD), held: VecDeque::new() }
    }

    /// The next row, which stays.
    async fn peek(&mut self, view: &impl Snapshot) -> Result<Option<&Entry>, StoreError> {
        if self.held.is_empty()
            && let Some(page) = self.pages.next(view).await?
        {
            self.held = page.into();
        }
        Ok(self.held.front())
    }

    fn take(&mut self) -> Option<Entry> {
        self.held.pop_front()
    }

    /// Passes over all rows before this key. Those that are not held are not read.
    fn pass_to(&mut self, key: Bytes) {
        while self.held.pop_front_if(|entry| entry.key < key).is_some() {}
        if self.held.is_empty() && self.pages.next_key().is_some_and(|next| *next < key) {
            self.pages = Pages::of(KeyRange { start: key, end: self.range_end.clone() }, HELD);
        }
    }
}

/// The undo rows of one day.
struct DayCursor {
    day: Day,
    rows: Cursor,
}

/// An undo row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undo {
    pub stamp: Stamp,
    pub author: Author,
    /// The item before the change; empty if there was none.
    pub before: Bytes,
}

/// One item with what the ranges say of it.
pub(crate) struct Merged {
    /// Its key within the table.
    pub within: Bytes,
    /// The present item; `None` if there is none, or if items are not read.
    pub present: Option<Bytes>,
    /// The first undo row within the wanted stamps.
    pub first: Option<Undo>,
    /// The last one; the same as the first if only that was wanted.
    pub last: Option<Stamp>,
}

/// Which undo rows of an item are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first from this stamp on.
    FirstFrom(Stamp),
    /// The first and the last within these stamps.
    Within { from: Stamp, before: Stamp },
}

impl Wanted {
    const fn from(self) -> Stamp {
        match self {
            Self::FirstFrom(from) | Self::Within { from, .. } => from,
        }
    }

    fn contains(self, stamp: Stamp) -> bool {
        match self {
            Self::FirstFrom(from) => stamp >= from,
            Self::Within { from, before } => stamp >= from && stamp < before,
        }
    }
}

/// The merge of a table's items and its undo rows.
pub(crate) struct Merge {
    items: Option<Cursor>,
    days: Vec<DayCursor>,
    span: Span,
    wanted: Wanted,
}

impl Merge {
    /// Items and undo rows of a part of a table.
    pub(crate) async fn of_items(
        view: &impl Snapshot,
        span: Span,
        part: &Part,
        wanted: Wanted,
    ) -> Result<Self, StoreError> {
        let items = Cursor::of(&layout::items_prefix(span.0), part);
        Ok(Self { items: Some(items), ..Self::of_changes(view, span, part, wanted).await? })
    }

    /// Undo rows alone.
    pub(crate) async fn of_changes(
        view: &impl Snapshot,
        span: Span,
        part: &Part,
        wanted: Wanted,
    ) -> Result<Self, StoreError> {
        let last = match wanted {
            Wanted::FirstFrom(_) => Day(u16::MAX),
            Wanted::Within { before, .. } => before.day(),
        };
        let mut days = Vec::new();
        for day in days_with_rows(view, span, wanted.from().day()).await? {
            if day <= last {
                days.push(DayCursor { day, rows: Cursor::of(&rows::day_prefix(span, day), part) });
            }
        }
        Ok(Self { items: None, days, span, wanted })
    }

    /// The next item; `None` at the end.
    pub(crate) async fn next(&mut self, view: &impl Snapshot) -> Result<Option<Merged>, StoreError> {
        let mut least: Option<Bytes> = None;
        if let Some(items) = &mut self.items {
            let prefix_bytes = items.prefix_bytes;
            least = items.peek(view).await?.map(|entry| entry.key.slice(prefix_bytes..));
        }
        for day in &mut self.days {
            if let Some(entry) = day.rows.peek(view).await? {
                let within = undo_key(&entry.key)?.within;
                if least.as_ref().is_none_or(|least| within < *least) {
                    least = Some(within);
                }
            }
        }
        let Some(within) = least else { return Ok(None) };
        let mut merged = Merged { within, present: None, first: None, last: None };
        if let Some(items) = &mut self.items
            && items
                .held
                .front()
                .is_some_and(|entry| entry.key.get(items.prefix_bytes..) == Some(&merged.within))
        {
            merged.present = items.take().map(|entry| entry.value);
        }
        // Days ascend, and so do the stamps of one item within a day.
        for day in &mut self.days {
            take_undos(view, (day, self.span), self.wanted, &mut merged).await?;
        }
        Ok(Some(merged))
    }
}

/// Takes an item's undo rows of one day.
async fn take_undos(
    view: &impl Snapshot,
    (day, span): (&mut DayCursor, Span),
    wanted: Wanted,
    merged: &mut Merged,
) -> Result<(), StoreError> {
    while let Some(entry) = day.rows.peek(view).await? {
        let key = undo_key(&entry.key)?;
        if key.within != merged.within {
            return Ok(());
        }
        let is_done = matches!(wanted, Wanted::FirstFrom(_)) && merged.first.is_some();
        if is_done {
            // An item that changes often has many rows that say nothing more.
            day.rows.pass_to(after_undos(span, day.day, &merged.within));
            return Ok(());
        }
        let Some(entry) = day.rows.take() else { return Ok(()) };
        if wanted.contains(key.stamp) {
            merged.last = Some(key.stamp);
            if merged.first.is_none() {
                merged.first = Some(Undo { stamp: key.stamp, author: key.author, before: entry.value });
            }
        }
    }
    Ok(())
}

/// The least key within a table above an item and all its undo rows; `None` at the end of the table.
pub(crate) fn after_item(within: &[u8]) -> Option<Bytes> {
    successor_prefix(within).map(Bytes::from)
}

/// The least key above all undo rows of an item in a day.
fn after_undos(span: Span, day: Day, within: &[u8]) -> Bytes {
    let mut prefix = rows::day_prefix(span, day);
    prefix.extend_from_slice(within);
    successor_prefix(&prefix).map(Bytes::from).expect("the first byte of a key is not the greatest")
}

pub(crate) fn undo_key(key: &Bytes) -> Result<UndoKey, StoreError> {
    UndoKey::read(key)
        .ok_or_else(|| StoreError::Corrupt(format!("an undo row's key cannot be read: {key:02x?}")))
}

/// The days from this one on that have undo rows.
pub(crate) async fn days_with_rows(
    view: &impl Snapshot,
    span: Span,
    first: Day,
) -> Result<Vec<Day>, StoreError> {
    let mut days = Vec::new();
    let mut from = Some(first);
    while let Some(day) = from {
        let range = rows::days_from(span, day);
        let first_row = Scan { range, direction: Direction::Forward, rows_max: 1, bytes_max: 1 };
        let page = view.scan(&first_row).await?;
        let Some(entry) = page.entries.first() else { break };
        assert!(entry.key.len() > HEAD_BYTES, "an undo row's key has its day and more");
        let found = undo_key(&entry.key)?.day;
        days.push(found);
        from = found.0.checked_add(1).map(Day);
    }
    Ok(days)
}
