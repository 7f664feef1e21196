//! A pass: all rows of a table are sent to a replica that may lack any of them, a bounded piece in each call.
//!
//! First the items, in the order of their keys, each with its version; one without is older than the group.
//! Then the versions of deleted items, in the order of time: a replica may have one of those items from
//! another member. What changes meanwhile is in the log behind the cursor, which is sent afterwards.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{Entry, Snapshot, Store};

use super::apply::{Applied, Apply, Sent};
use super::pair::{COMMIT_ITEMS_MAX, Pair, Piece};
use crate::changes::replicated::{Cursor, Pass};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{self, Space, TableId, within_items, within_table};
use crate::support::rows::{Budget, Pages};
use crate::support::version::Version;
use crate::write::change::Incoming;
use crate::write::version_rows::{StoredVersion, read_tombstone_key, version_key};

/// What one piece reads.
const PIECE: Budget = Budget { rows_max: COMMIT_ITEMS_MAX, bytes_max: 1024 * 1024 };

/// Sends the next piece of a pass.
pub(super) async fn send<S: Store>(
    engine: &Engine<S>,
    pair: Pair<'_>,
    view: &S::Snapshot,
    (cursor, row): (Cursor, Bytes),
) -> Result<Piece, Error> {
    let now_ms = engine.env().now_ms();
    if engine.links().is_cut(&pair.route(), now_ms) {
        return Ok(engine.links().hold(now_ms).into());
    }
    let (sent, pass) = next(pair.sender.id, view, cursor.pass.as_ref()).await?;
    let next = Cursor { pass: Some(pass), moves: cursor.moves + 1, ..cursor };
    #[cfg(test)]
    let next = if engine.links().is_broken(crate::support::links::Broken::Scan) {
        Cursor { last: Cursor::owing(view.version().0).last, ..next }
    } else {
        next
    };
    Ok(match (Apply { engine, pair, row: &row, next: &next }).run(&sent, now_ms).await? {
        Applied::Done => Piece::More,
        Applied::Overtaken => Piece::At(now_ms.saturating_add(1)),
    })
}

/// The next rows of a pass, and where it is after them.
pub(super) async fn next(
    sender: TableId,
    view: &impl Snapshot,
    pass: Option<&Pass>,
) -> Result<(Vec<Sent>, Pass), Error> {
    match pass {
        Some(Pass::Items { after }) => items(sender, view, after.as_deref()).await,
        Some(Pass::Deleted { after }) => deleted(sender, view, after.as_deref()).await,
        Some(Pass::Drain) | None => Err(fault::internal()),
    }
}

/// The next rows of a space after this key within the table, and the last one's key if more follow.
async fn page(
    (space, table): (Space, TableId),
    view: &impl Snapshot,
    after: Option<&[u8]>,
) -> Result<(Vec<Entry>, Option<Vec<u8>>), Error> {
    let prefix = layout::table_prefix(space, table);
    let mut range = layout::prefix_range(prefix.clone());
    if let Some(after) = after {
        range.start = layout::after(&[prefix.as_slice(), after].concat());
    }
    let mut pages = Pages::of(range, PIECE);
    let rows = pages.next(view).await.map_err(|error| fault::storage(&error))?.unwrap_or_default();
    let last = rows.last().map(|last| within_table(&last.key).to_vec());
    Ok((rows, last.filter(|_| pages.next_key().is_some())))
}

/// The next items, and where the pass is after them.
async fn items(
    table: TableId,
    view: &impl Snapshot,
    after: Option<&[u8]>,
) -> Result<(Vec<Sent>, Pass), Error> {
    let (page, after) = page((Space::Items, table), view, after).await?;
    let rows = page.into_iter().map(|entry| (entry.key, Some(entry.value)));
    let sent = with_versions(table, view, rows).await?.into_iter().flatten().collect();
    let pass = if after.is_some() { Pass::Items { after } } else { Pass::Deleted { after: None } };
    Ok((sent, pass))
}

/// The next deleted items, and where the pass is after them.
async fn deleted(
    table: TableId,
    view: &impl Snapshot,
    after: Option<&[u8]>,
) -> Result<(Vec<Sent>, Pass), Error> {
    let (page, after) = page((Space::Tombstones, table), view, after).await?;
    let item_key = |key: &Bytes| {
        let (_, within) = read_tombstone_key(key)?;
        Some(Bytes::from([layout::items_prefix(table).as_slice(), &within].concat()))
    };
    let keys: Option<Vec<Bytes>> = page.iter().map(|entry| item_key(&entry.key)).collect();
    let rows = keys.ok_or_else(fault::internal)?.into_iter().map(|key| (key, None));
    let sent = with_versions(table, view, rows).await?.into_iter().flatten().collect();
    let pass = if after.is_some() { Pass::Deleted { after } } else { Pass::Drain };
    Ok((sent, pass))
}

/// These rows of items with their versions; `None` for one without item and version.
pub(super) async fn with_versions(
    table: TableId,
    view: &impl Snapshot,
    rows: impl Iterator<Item = (Bytes, Option<Bytes>)>,
) -> Result<Vec<Option<Sent>>, Error> {
    let rows: Vec<(Bytes, Option<Bytes>)> = rows.collect();
    let keys: Vec<Bytes> = rows.iter().map(|(key, _)| version_key(table, within_table(key))).collect();
    let versions = view.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    let pairs = rows.into_iter().zip(versions);
    pairs.map(|((key, item), version)| one(&key, item, version.as_ref())).collect()
}

fn one(key: &Bytes, item: Option<Bytes>, version: Option<&Bytes>) -> Result<Option<Sent>, Error> {
    let item = item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
    let stored = version.map(StoredVersion::decode).transpose()?;
    let (version, deleted) = match stored {
        Some(StoredVersion { version, deleted }) => (version, deleted),
        None if item.is_some() => (Version::zero(), None),
        None => return Ok(None),
    };
    if item.is_some() == deleted.is_some() {
        return Err(fault::internal());
    }
    let incoming = Incoming { version, item, deleted };
    Ok(Some(Sent { within: within_items(key), incoming, replaced: None }))
}
