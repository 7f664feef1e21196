//! Counts and checksums of a store's spaces and logs, as both sides of a copy have them.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_store::{LogEntry, LogId, LogPosition, LogRead, Snapshot, Store};

use super::{CopyFault, PAGE_BYTES, PAGE_ROWS, carried_row, log_ids, unread};
use crate::catalogue::record_copy;
use crate::support::layout;
use crate::support::rows::{Pages, READ};

/// Rows or records, and a checksum over them in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many there are.
    pub count: u64,
    /// A checksum over keys and values in order.
    pub checksum: [u8; 16],
}

impl Copied {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let parts = [KeyValueRef::B(&self.checksum), KeyValueRef::B(key), KeyValueRef::B(value)];
        self.checksum = partition_hash(parts).0;
        self.count += 1;
    }
}

/// The sums of a store's spaces, by the name of the space.
pub(super) async fn of<S: Store>(
    store: &S,
    keeps_members: bool,
    report: &mut (dyn FnMut(u64) + Send),
) -> Result<BTreeMap<&'static str, Copied>, CopyFault> {
    let mut sums: BTreeMap<&'static str, Copied> = BTreeMap::new();
    let mut pages = Pages::of(layout::all_rows(), READ);
    let mut done = 0_u64;
    // A view of each page: a store may give up one that is held for long.
    while let Some(page) = pages.next(&store.snapshot().await?).await? {
        for row in page.iter().filter(|row| carried_row(&row.key, keeps_members)) {
            let value =
                if record_copy::is_record(&row.key) { comparable(&row.value)? } else { row.value.clone() };
            sums.entry(name(&row.key)).or_default().add(&row.key, &value);
            done += 1;
        }
        report(done);
    }
    let mut records = Copied::default();
    for id in log_ids(store).await? {
        let mut after = None;
        while let Some(page) = log_page(store, id, after).await? {
            for entry in &page {
                records.add(&id.shard.to_be_bytes(), &entry.bytes);
            }
            after = page.last().map(|entry| entry.position);
        }
    }
    if records.count > 0 {
        sums.insert("stream records", records);
    }
    Ok(sums)
}

/// A table's record without the places of its streams' records, which differ between stores.
fn comparable(record: &Bytes) -> Result<Bytes, CopyFault> {
    record_copy::with_places(record, &BTreeMap::new()).map_err(|fault| unread(&fault))
}

/// The next entries of a log; `None` after the last.
pub(super) async fn log_page<S: Store>(
    store: &S,
    id: LogId,
    after: Option<LogPosition>,
) -> Result<Option<Vec<LogEntry>>, CopyFault> {
    let read = LogRead { id, after, entries_max: PAGE_ROWS, bytes_max: PAGE_BYTES };
    let entries = store.snapshot().await?.read_log(read).await?;
    Ok(if entries.is_empty() { None } else { Some(entries) })
}

/// What the rows with this key are, for the person who reads the report.
fn name(key: &[u8]) -> &'static str {
    key.first().copied().and_then(layout::space_of).map_or("other rows", layout::Space::name)
}
