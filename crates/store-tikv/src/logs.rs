//! Logs in commit order.
//!
//! A transaction cannot know its place in a log before it commits, and the order in which transactions began
//! is not the order in which they commit. So a commit puts its entries into an inbox, and a reader of a shard
//! moves what its page needs from the inbox to the log (`inbox`).
//!
//! A view reads only what it sees: it stops before the first entry of a commit that came later.

use std::sync::Arc;
use std::time::Duration;

use keywright_store::{LogEntry, LogId, LogPosition, LogRead, StoreError};
use tokio::time::Instant;

use crate::inbox::{Mover, Seen, read_row};
use crate::link::Link;
use crate::regions::ReadFrom;

/// Entries of a page's first fetch, and of any.
const FETCH_FIRST: usize = 32;
const FETCH_MAX: usize = 1_000;
/// Bytes that a fetch should have, going by the entries before it.
const FETCH_BYTES: usize = 8 * 1024 * 1024;
/// How long one read goes on to the next move: others move too, so it can take more of them than there are
/// pieces of entries.
const MOVING_MAX: Duration = Duration::from_secs(30);

/// The entries of one answer.
struct Page {
    read: LogRead,
    entries: Vec<LogEntry>,
    bytes: usize,
}

/// Why no more entries were added to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The page is full, or the next entry is not seen.
    Done,
    /// The log has no more.
    End,
}

impl Page {
    fn is_full(&self) -> bool {
        self.entries.len() >= self.read.entries_max.max(1)
            || (self.bytes >= self.read.bytes_max && !self.entries.is_empty())
    }

    /// Entries of the next fetch.
    fn wanted(&self) -> usize {
        let room = self.read.entries_max.max(1).saturating_sub(self.entries.len());
        let fitting = match self.entries.len() {
            0 => FETCH_FIRST,
            count => {
                let bytes = self.read.bytes_max.saturating_sub(self.bytes).min(FETCH_BYTES);
                (bytes / (self.bytes / count + 1)).saturating_add(1)
            }
        };
        room.min(fitting).clamp(1, FETCH_MAX)
    }

    /// Adds the entries of the log at a version, up to the first one that is not seen; without `seen`, all
    /// are.
    async fn fill(
        &mut self,
        link: &Link,
        at: u64,
        mut seen: Option<&mut Seen<'_>>,
    ) -> Result<Stop, StoreError> {
        while !self.is_full() {
            let last = self.entries.last().map(|entry| entry.position).or(self.read.after);
            let range = link.keys.log_between(self.read.id, last, LogPosition::LAST);
            let wanted = self.wanted();
            let rows = link.scan(at, range, wanted, ReadFrom::Start).await?;
            let ended = rows.len() < wanted;
            for (key, value) in rows {
                let (origin, entry) = read_row(&key, value)?;
                let is_seen = match seen.as_deref_mut() {
                    Some(seen) => seen.contains(origin).await?,
                    None => true,
                };
                if self.is_full() || !is_seen {
                    return Ok(Stop::Done);
                }
                self.bytes = self.bytes.saturating_add(entry.bytes.len());
                self.entries.push(entry);
            }
            if ended {
                return Ok(if self.is_full() { Stop::Done } else { Stop::End });
            }
        }
        Ok(Stop::Done)
    }
}

/// Reads the entries that a view at this version sees.
pub(crate) async fn read(link: &Arc<Link>, at: u64, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
    let mut page = Page { read, entries: Vec::new(), bytes: 0 };
    if page.fill(link, at, None).await? == Stop::Done {
        return Ok(page.entries);
    }
    let mut seen = Seen::by(link, at, read.id);
    if seen.is_empty().await? {
        return Ok(page.entries);
    }
    let mut mover = Mover::of(link, read.id);
    let ends = Instant::now() + MOVING_MAX;
    while Instant::now() < ends {
        let step = mover.step().await?;
        if page.fill(link, step.at, Some(&mut seen)).await? == Stop::Done || step.all {
            return Ok(page.entries);
        }
    }
    Err(StoreError::Io(format!("TiKV: entries of a log were not moved within {} s", MOVING_MAX.as_secs())))
}

/// Removes the entries up to and including a position.
pub(crate) async fn trim(link: &Link, id: LogId, through: LogPosition) -> Result<(), StoreError> {
    // What is in the inbox gets a later position than any that somebody knows.
    if through.version.0 >= link.now().await? {
        link.clear(link.keys.inbox_of(id)).await?;
    }
    link.clear(link.keys.log_between(id, None, through)).await
}
