//! A view: a timestamp at which everything is read.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{
    CommitVersion, Direction, Entry, LogEntry, LogRead, Scan, ScanPage, Snapshot, StoreError,
};

use tokio::time::Instant;

use crate::keys;
use crate::link::Link;
use crate::logs;
use crate::regions::ReadFrom;

/// Rows of the first fetch of a scan: most scans end within them.
const FETCH_ROWS_FIRST: usize = 32;
const FETCH_ROWS_MAX: usize = 1_000;
/// Bytes that a fetch should have, going by the rows before it.
const FETCH_BYTES: usize = 8 * 1024 * 1024;

/// A consistent, read-only view.
pub struct TikvView {
    pub(crate) link: Arc<Link>,
    pub(crate) at: u64,
    /// From before its timestamp was given.
    pub(crate) began: Instant,
}

impl TikvView {
    pub(crate) async fn open(link: &Arc<Link>) -> Result<Self, StoreError> {
        let began = Instant::now();
        Ok(Self { link: Arc::clone(link), at: link.now().await?, began })
    }

    /// Whether versions that it shows may be removed by now.
    pub(crate) fn is_outdated(&self) -> bool {
        self.began.elapsed() > self.link.retention / 2
    }

    /// What was read, unless it was read too late.
    fn in_time<T>(&self, read: T) -> Result<T, StoreError> {
        if self.is_outdated() {
            let minutes = self.link.retention.as_secs() / 120;
            return Err(StoreError::Io(format!("TiKV: a view can be read for {minutes} minutes")));
        }
        Ok(read)
    }
}

impl Snapshot for TikvView {
    fn version(&self) -> CommitVersion {
        CommitVersion(self.at)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.in_time(self.link.get(self.at, self.link.keys.row(key)).await?)
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        if let [key] = keys {
            return Ok(vec![self.get(key).await?]);
        }
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut wanted: Vec<Vec<u8>> = keys.iter().map(|key| self.link.keys.row(key)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let found = self.in_time(self.link.get_many(self.at, wanted).await?)?;
        let found: HashMap<Bytes, Bytes> =
            found.into_iter().map(|(key, value)| (self.link.keys.callers(key), value)).collect();
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        let mut page = ScanPage::with_room(scan);
        if scan.range.is_empty() {
            return Ok(page);
        }
        let rows_max = scan.rows_max.max(1);
        let read_from = match scan.direction {
            Direction::Forward => ReadFrom::Start,
            Direction::Backward => ReadFrom::End,
        };
        let (mut from, mut to) = self.link.keys.rows(&scan.range);
        let mut bytes = 0_usize;
        let mut fetch_rows = FETCH_ROWS_FIRST;
        loop {
            // One row more than the page may hold says whether there are more.
            let wanted = rows_max.saturating_sub(page.entries.len()).saturating_add(1).min(fetch_rows);
            let rows = self.link.scan(self.at, (from.clone(), to.clone()), wanted, read_from).await?;
            let rows = self.in_time(rows)?;
            let ended = rows.len() < wanted;
            if let Some((last, _)) = rows.last() {
                match read_from {
                    ReadFrom::Start => from = keys::after(last.clone()),
                    ReadFrom::End => to.clone_from(last),
                }
            }
            for (key, value) in rows {
                if page.entries.len() >= rows_max || (bytes >= scan.bytes_max && !page.entries.is_empty()) {
                    page.more = true;
                    page.assert_answers(scan);
                    return Ok(page);
                }
                let key = self.link.keys.callers(key);
                bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
                page.entries.push(Entry { key, value });
            }
            if ended {
                page.assert_answers(scan);
                return Ok(page);
            }
            let mean = bytes / page.entries.len().max(1) + 1;
            fetch_rows = (FETCH_BYTES / mean).clamp(2, FETCH_ROWS_MAX);
        }
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.in_time(logs::read(&self.link, self.at, read).await?)
    }
}
