//! A table, or a part of it, as of a stamp: what the commits with lower stamps have made.

use bytes::Bytes;
use keywright_store::{Direction, Scan, Snapshot, StoreError};

use super::merge::{Merge, Merged, Part, Wanted, after_item, days_with_rows, undo_key};
use super::rows::{self, Span};
use crate::catalogue::Table;
use crate::support::layout;
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;

/// A table as of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsOf {
    span: Span,
    at: Stamp,
}

/// An item as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OldItem {
    /// Its key within the table.
    pub within: Bytes,
    /// The item in its stored form.
    pub value: Bytes,
}

/// Some items in the order of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub items: Vec<OldItem>,
    /// Where the next page begins, within the table; `None` at the end.
    pub next: Option<Bytes>,
}

impl AsOf {
    /// The table as of this stamp; `None` if its history does not reach back to it.
    pub(crate) fn of(table: &Table, at: Stamp) -> Option<Self> {
        let generation = table.history.generation()?;
        (at >= table.history.since()).then_some(Self { span: (table.id, generation), at })
    }

    /// A page of a part of the table. Each page may be read in a newer view: a later change adds the undo row
    /// that restores the answer.
    pub(crate) async fn page(
        &self,
        view: &impl Snapshot,
        part: &Part,
        budget: Budget,
    ) -> Result<Page, StoreError> {
        let mut merge = Merge::of_items(view, self.span, part, Wanted::FirstFrom(self.at)).await?;
        let mut page = Page::default();
        let (mut bytes, mut looked_at) = (0, 0);
        while let Some(merged) = merge.next(view).await? {
            looked_at += 1;
            let next = after_item(&merged.within);
            if let Some(item) = value_of(merged) {
                bytes += item.within.len() + item.value.len();
                page.items.push(item);
            }
            // Items that did not exist then are counted too, so that a page ends.
            if page.items.len() >= budget.rows_max
                || bytes >= budget.bytes_max
                || looked_at >= budget.rows_max.saturating_mul(16)
            {
                page.next = next;
                break;
            }
        }
        Ok(page)
    }

    /// One item; `None` if it did not exist.
    pub(crate) async fn item(
        &self,
        view: &impl Snapshot,
        within: &[u8],
    ) -> Result<Option<Bytes>, StoreError> {
        if let Some(before) = self.first_undo(view, within).await? {
            Ok(Some(before).filter(|before| !before.is_empty()))
        } else {
            let key = [&layout::items_prefix(self.span.0)[..], within].concat();
            view.get(&key).await
        }
    }

    /// The image in the item's first undo row from the stamp on.
    async fn first_undo(&self, view: &impl Snapshot, within: &[u8]) -> Result<Option<Bytes>, StoreError> {
        for day in days_with_rows(view, self.span, self.at.day()).await? {
            let mut prefix = rows::day_prefix(self.span, day);
            prefix.extend_from_slice(within);
            let mut range = layout::prefix_range(prefix.clone());
            range.start = [&prefix[..], &self.at.to_bytes()].concat().into();
            let scan = Scan { range, direction: Direction::Forward, rows_max: 1, bytes_max: 1 };
            if let Some(entry) = view.scan(&scan).await?.entries.into_iter().next() {
                let key = undo_key(&entry.key)?;
                assert!(key.stamp >= self.at && key.within == within, "a scan stays within its range");
                return Ok(Some(entry.value));
            }
        }
        Ok(None)
    }
}

/// The item as it was before its first undo row; without one, as it is.
fn value_of(merged: Merged) -> Option<OldItem> {
    let value = match merged.first {
        Some(undo) => Some(undo.before).filter(|before| !before.is_empty()),
        None => merged.present,
    };
    value.map(|value| OldItem { within: merged.within, value })
}
