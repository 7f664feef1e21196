//! The items that changed between two stamps, as they were at both.

use bytes::Bytes;
use keywright_store::{Snapshot, StoreError};

use super::as_of::AsOf;
use super::merge::{Merge, Part, Wanted, after_item};
use super::rows::Author;
use crate::catalogue::Table;
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;

/// The commits from one stamp on, before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    from: Stamp,
    to: Stamp,
    until: AsOf,
    span: super::rows::Span,
}

/// An item that commits of the window changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Its key within the table.
    pub within: Bytes,
    /// The item as of the beginning, in its stored form; `None` if there was none.
    pub old: Option<Bytes>,
    /// The item as of the end.
    pub new: Option<Bytes>,
    /// The stamps of the first and the last of the commits that changed it.
    pub first: Stamp,
    pub last: Stamp,
    /// The author of the first.
    pub author: Author,
}

/// Some changed items, in the order of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub items: Vec<Changed>,
    /// Where the next page begins, within the table; `None` at the end.
    pub next: Option<Bytes>,
}

impl Window {
    /// The window of a table; `None` if its history does not reach back to the beginning.
    pub(crate) fn of(table: &Table, from: Stamp, to: Stamp) -> Option<Self> {
        let generation = table.history.generation()?;
        AsOf::of(table, from)?;
        let until = AsOf::of(table, to.max(from))?;
        Some(Self { from, to, until, span: (table.id, generation) })
    }

    /// A page of a part of the table, in the order of items. An item that is as it was is left out only if
    /// nothing changed it meanwhile.
    pub(crate) async fn page(
        &self,
        view: &impl Snapshot,
        part: &Part,
        budget: Budget,
    ) -> Result<Page, StoreError> {
        let wanted = Wanted::Within { from: self.from, before: self.to };
        let mut merge = Merge::of_changes(view, self.span, part, wanted).await?;
        let mut page = Page::default();
        let (mut bytes, mut looked_at) = (0, 0);
        while let Some(merged) = merge.next(view).await? {
            looked_at += 1;
            let (Some(undo), Some(last)) = (merged.first, merged.last) else {
                // Items that changed only outside of the window are counted too, so that a page ends.
                if looked_at >= budget.rows_max.saturating_mul(16) {
                    page.next = after_item(&merged.within);
                    break;
                }
                continue;
            };
            let new = self.until.item(view, &merged.within).await?;
            bytes += merged.within.len() + undo.before.len() + new.as_ref().map_or(0, Bytes::len);
            let next = after_item(&merged.within);
            page.items.push(Changed {
                within: merged.within,
                old: Some(undo.before).filter(|before| !before.is_empty()),
                new,
                first: undo.stamp,
                last,
                author: undo.author,
            });
            if page.items.len() >= budget.rows_max || bytes >= budget.bytes_max {
                page.next = next;
                break;
            }
        }
        Ok(page)
    }
}
