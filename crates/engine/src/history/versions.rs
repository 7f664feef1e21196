//! The versions of one item, as far as the history of its table reaches back.

use bytes::Bytes;
use keywright_store::{Direction, Entry, Snapshot, StoreError};

use super::merge::{days_with_rows, undo_key};
use super::rows::{self, Author};
use crate::catalogue::Table;
use crate::support::layout;
use crate::support::rows::{Budget, Pages};
use crate::support::stamp::Stamp;

/// What is read at a time.
const READ: Budget = Budget { rows_max: 64, bytes_max: 1024 * 1024 };
/// Versions that are together larger than this are not answered with more.
const FOUND_BYTES_MAX: usize = 1024 * 1024;

/// One version of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The change that made it; `None` if that is older than the history.
    pub made: Option<(Stamp, Author)>,
    /// The item in its stored form; `None` if there was none.
    pub value: Option<Bytes>,
}

/// At most `limit` versions of an item, newest first, of those that were made before a stamp, fewer if they
/// are large; and whether older ones follow.
pub(crate) async fn versions(
    view: &impl Snapshot,
    table: &Table,
    within: &[u8],
    (before, limit): (Option<Stamp>, usize),
) -> Result<(Vec<Version>, bool), StoreError> {
    let key = [&layout::items_prefix(table.id)[..], within].concat();
    let mut after = view.get(&key).await?;
    let mut found = Vec::new();
    let mut bytes = 0;
    let Some(generation) = table.history.generation() else {
        return Ok((vec![Version { made: None, value: after }], false));
    };
    let span = (table.id, generation);
    let since = table.history.since();
    for day in days_with_rows(view, span, since.day()).await?.into_iter().rev() {
        let mut prefix = rows::day_prefix(span, day);
        prefix.extend_from_slice(within);
        let mut pages = Pages::in_direction((layout::prefix_range(prefix), Direction::Backward), READ);
        while let Some(page) = pages.next(view).await? {
            for Entry { key, value } in page {
                let undo = undo_key(&key)?;
                if undo.stamp < since {
                    continue;
                }
                if before.is_none_or(|before| undo.stamp < before) {
                    if found.len() >= limit || bytes >= FOUND_BYTES_MAX {
                        return Ok((found, true));
                    }
                    bytes += after.as_ref().map_or(0, Bytes::len);
                    found.push(Version { made: Some((undo.stamp, undo.author)), value: after });
                }
                after = Some(value).filter(|value| !value.is_empty());
            }
        }
    }
    if found.len() >= limit || bytes >= FOUND_BYTES_MAX {
        return Ok((found, true));
    }
    found.push(Version { made: None, value: after });
    Ok((found, false))
}
