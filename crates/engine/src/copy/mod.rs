//! A whole installation in another store: every row and every record of a stream, resumable and verified.
//!
//! It knows the contract of stores and the layout of keys, and no kind of store. Each page is one commit with
//! the row that says how far the copy has come (`mark`), so a copy that was killed goes on where it stopped
//! and writes nothing twice. No engine opens a store with this row, so the copy needs no guard of tables; it
//! is removed when the copy is verified.

mod mark;
mod sum;

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_store::{
    CommitError, CommitVersion, Entry, LogEntry, LogId, LogPosition, Store, StoreError, Transaction,
};

use crate::background::members;
use crate::catalogue::{CatalogueFault, RecordFault, RecordPlace, record_copy};
use crate::history::bound;
use crate::history::rows::greatest_stamp;
use crate::state::stats;
use crate::support::layout::{self, InCopy, Space, TableId, log_of};
use crate::support::member_row::MemberId;
use crate::support::rows::{Pages, READ, each_row};
use crate::support::stamp::Stamp;
use mark::{Cursor, Mark};
pub use sum::Copied;

/// Entries of a log, and bytes of entries, that one commit copies.
const PAGE_ROWS: usize = 1000;
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// How often the commit of a page is tried.
const TRIES_MAX: u32 = 20;

/// Why a copy stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyFault {
    /// The source has no rows.
    SourceEmpty,
    /// The source is itself an unfinished copy of this installation.
    SourceUnfinished(String),
    /// The target has rows and is no unfinished copy.
    TargetNotEmpty,
    /// The target is an unfinished copy of this other installation.
    OtherCopy(String),
    /// A server uses the source.
    SourceInUse,
    /// The target takes keys of so many bytes only.
    KeyTooLong {
        /// Bytes of the key.
        bytes: usize,
        /// Bytes that the target takes.
        bytes_max: usize,
    },
    /// A later release wrote the source, or a table of it: the sentence says what.
    LaterRelease(String),
    /// Source and target differ in these rows after the copy.
    Differs(&'static str),
    /// A store failed, or too many tries of a commit did.
    Store(StoreError),
}

impl std::fmt::Display for CopyFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SourceEmpty => formatter.write_str("the source holds nothing: check the address of --from"),
            Self::SourceUnfinished(of) => write!(
                formatter,
                "the source is itself an unfinished copy of {of}: finish that copy first, with the same command"
            ),
            Self::TargetNotEmpty => formatter.write_str(
                "the target holds data that no unfinished copy wrote: name an empty one; nothing was written",
            ),
            Self::OtherCopy(of) => write!(
                formatter,
                "the target is an unfinished copy of {of}: finish that one, or name an empty target; \
                 nothing was written"
            ),
            Self::SourceInUse => formatter.write_str(
                "a server uses the source: stop all its servers, which must not write during the copy",
            ),
            Self::KeyTooLong { bytes, bytes_max } => write!(
                formatter,
                "the source has an index key of {bytes} bytes, and the target takes {bytes_max}: \
                 shorten the attributes of that index's key, or remove the index"
            ),
            Self::LaterRelease(what) => write!(formatter, "{what}; nothing was written"),
            Self::Differs(rows) => write!(
                formatter,
                "source and target differ in {rows}: the source was written during the copy; stop its servers, \
                 empty the target and copy again"
            ),
            Self::Store(fault) => {
                write!(formatter, "{fault}; the same command goes on where the copy stopped")
            }
        }
    }
}

impl std::error::Error for CopyFault {}

impl From<StoreError> for CopyFault {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault)
    }
}

/// Why a table's record stops a copy.
fn unread(fault: &RecordFault) -> CopyFault {
    match fault {
        RecordFault::Refused(table) => CopyFault::LaterRelease(table.sentence()),
        RecordFault::UnknownFormat(_) | RecordFault::Malformed(_) => {
            CopyFault::Store(StoreError::Corrupt(format!("a table's record cannot be read: {fault}")))
        }
    }
}

/// The name of the installation of which the store is an unfinished copy.
pub(crate) async fn unfinished<S: Store>(store: &S) -> Result<Option<String>, StoreError> {
    let Some(row) = store.get(&mark::key()).await? else { return Ok(None) };
    Ok(Some(Mark::decode(row).map_or_else(|| "another installation".to_owned(), |mark| mark.source)))
}

/// A copy that has begun.
pub struct Copy<A: Store, B: Store> {
    from: A,
    to: B,
    source: String,
    cursor: Cursor,
    /// Whether an earlier run began it.
    is_resumed: bool,
    /// Signs of life of the servers over the source when this run began.
    beats: Vec<(MemberId, u64)>,
}

/// The signs of life of the servers over a store: a server that lives gives another one every 1.5 seconds.
async fn beats<S: Store>(store: &S) -> Result<Vec<(MemberId, u64)>, StoreError> {
    let view = store.snapshot().await?;
    let mut beats = Vec::new();
    each_row(&view, layout::prefix_range(vec![Space::Members.byte()]), |row| {
        beats.extend(members::beat_of(row));
    })
    .await?;
    Ok(beats)
}

impl<A: Store, B: Store> Copy<A, B> {
    /// Begins a copy, or goes on with one of the same source. An error means that nothing was written.
    pub async fn begin(from: A, to: B, source: &str) -> Result<Self, CopyFault> {
        if let Some(of) = unfinished(&from).await? {
            return Err(CopyFault::SourceUnfinished(of));
        }
        if holds_nothing(&from).await? {
            return Err(CopyFault::SourceEmpty);
        }
        let mark = match to.get(&mark::key()).await? {
            Some(row) => Some(Mark::decode(row).ok_or(CopyFault::TargetNotEmpty)?),
            None if is_empty(&to).await? => None,
            None => return Err(CopyFault::TargetNotEmpty),
        };
        if let Some(mark) = &mark
            && mark.source != source
        {
            return Err(CopyFault::OtherCopy(mark.source.clone()));
        }
        // Every record is read once before the first row is written: it may be one of a later release.
        log_ids(&from).await?;
        let beats = beats(&from).await?;
        let is_resumed = mark.is_some();
        let cursor = mark.map_or(Cursor::BEGINNING, |mark| mark.cursor);
        Ok(Self { from, to, source: source.to_owned(), cursor, is_resumed, beats })
    }

    /// Whether an earlier run began this copy.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Whether servers left signs of life in the source. Whether they live shows within two seconds.
    pub fn has_signs_of_servers(&self) -> bool {
        !self.beats.is_empty()
    }

    /// Fails if a server gave a sign of life since the copy began.
    pub async fn check_source_unused(&self) -> Result<(), CopyFault> {
        if beats(&self.from).await? == self.beats { Ok(()) } else { Err(CopyFault::SourceInUse) }
    }

    /// Copies all that is left. `report` receives the rows and records of this run.
    pub async fn run(&mut self, report: &mut (dyn FnMut(u64) + Send)) -> Result<(), CopyFault> {
        let mut done = 0_u64;
        if self.cursor == Cursor::BEGINNING {
            self.write(Cursor::BEGINNING, &Page::default()).await?;
        }
        if let Cursor::Logs(begun, after) = self.cursor.clone() {
            for id in log_ids(&self.from).await? {
                if id < begun {
                    continue;
                }
                let mut after = (id == begun).then_some(after);
                while let Some(entries) = sum::log_page(&self.from, id, after).await? {
                    let Some(last) = entries.last().map(|entry| entry.position) else { break };
                    done += u64::try_from(entries.len()).unwrap_or(u64::MAX);
                    let page = Page { id, entries, rows: Vec::new() };
                    self.write(Cursor::Logs(id, last), &page).await?;
                    after = Some(last);
                    report(done);
                }
            }
            self.write(Cursor::Rows(Bytes::new()), &Page::default()).await?;
        }
        let Cursor::Rows(after) = self.cursor.clone() else { return Ok(()) };
        let mut range = layout::all_rows();
        if !after.is_empty() {
            range.start = layout::after(&after);
        }
        let mut pages = Pages::of(range, READ);
        while let Some(page) = pages.next(&self.from.snapshot().await?).await? {
            let Some(last) = page.last().map(|row| row.key.clone()) else { break };
            let rows = self.for_target(page).await?;
            done += u64::try_from(rows.len()).unwrap_or(u64::MAX);
            self.write(Cursor::Rows(last), &Page { rows, ..Page::default() }).await?;
            report(done);
        }
        Ok(())
    }

    /// The rows as the target has them, without those that belong to processes over the source.
    async fn for_target(&self, rows: Vec<Entry>) -> Result<Vec<Entry>, CopyFault> {
        let keeps_members = self.keeps_members();
        let bytes_max = self.to.capabilities().key_bytes_max;
        let mut carried = Vec::with_capacity(rows.len());
        for row in rows.into_iter().filter(|row| carried_row(&row.key, keeps_members)) {
            if row.key.len() > bytes_max {
                return Err(CopyFault::KeyTooLong { bytes: row.key.len(), bytes_max });
            }
            carried.push(if record_copy::is_record(&row.key) { self.with_places(row).await? } else { row });
        }
        Ok(carried)
    }

    /// A table's record with the places that its streams' records have in the target.
    async fn with_places(&self, row: Entry) -> Result<Entry, CopyFault> {
        let (table, shards) = record_copy::shards_of(&row.value).map_err(|fault| unread(&fault))?;
        let mut places = BTreeMap::new();
        for shard in shards {
            let mut after: Option<LogPosition> = None;
            while let Some(page) = sum::log_page(&self.to, log_of(TableId(table), shard), after).await? {
                after = page.last().map(|entry| entry.position);
            }
            if let Some(LogPosition { version: CommitVersion(version), index }) = after {
                places.insert(shard, RecordPlace { version, index });
            }
        }
        let value = record_copy::with_places(&row.value, &places).map_err(|fault| unread(&fault))?;
        Ok(Entry { value, ..row })
    }

    /// What each process counted is kept only where other processes add it up; elsewhere all is recounted.
    fn keeps_members(&self) -> bool {
        self.to.capabilities().is_shared
    }

    /// Commits a page with the cursor behind it, once, whatever happens to the answers.
    async fn write(&mut self, cursor: Cursor, page: &Page) -> Result<(), CopyFault> {
        let row = Mark { source: self.source.clone(), cursor: cursor.clone() }.encode();
        let bound = greatest_stamp(page.rows.iter().map(|row| &row.key)).map(Stamp::next);
        for _ in 0..TRIES_MAX {
            let (mut txn, found) = self.to.begin_with(&[mark::key()]).await?;
            if found.first() == Some(&Some(row.clone())) {
                // An earlier try was written, though its answer was lost.
                self.cursor = cursor;
                return Ok(());
            }
            for row in &page.rows {
                txn.put(row.key.clone(), row.value.clone());
            }
            for entry in &page.entries {
                txn.append(page.id, entry.bytes.clone());
            }
            if let Some(bound) = bound {
                let stored = bound::read(&txn).await?;
                txn.put(bound::key(), bound::encode(stored.max(bound)));
            }
            txn.put(mark::key(), row.clone());
            match txn.commit().await {
                Ok(_version) => {
                    self.cursor = cursor;
                    return Ok(());
                }
                Err(CommitError::Conflict | CommitError::Unknown) => {}
                Err(CommitError::Failed(fault)) => return Err(fault.into()),
                Err(CommitError::TooLarge) => return Err(failed("the target cannot take a page of rows")),
            }
        }
        Err(failed("the target did not take a page of rows"))
    }

    /// Tables whose changes are for Kinesis streams. What their logs hold is sent again from the target.
    pub async fn tables_with_destinations(&self) -> Result<u64, CopyFault> {
        let view = self.from.snapshot().await?;
        let (mut count, mut fault) = (0, None);
        each_row(&view, layout::prefix_range(vec![Space::Catalogue.byte()]), |row| {
            if record_copy::is_record(&row.key) {
                match record_copy::has_destination(&row.value) {
                    Ok(has_one) => count += u64::from(has_one),
                    Err(found) => fault = Some(unread(&found)),
                }
            }
        })
        .await?;
        fault.map_or(Ok(count), Err)
    }

    /// Triggers. They pass on what the copied logs still hold, again too, from the target.
    pub async fn triggers(&self) -> Result<u64, CopyFault> {
        let view = self.from.snapshot().await?;
        let mut count = 0;
        each_row(&view, layout::prefix_range(vec![Space::Triggers.byte()]), |_| count += 1).await?;
        Ok(count)
    }

    /// Reads both sides whole and compares them. Returns what they have in common, by the kind of rows.
    pub async fn verify(
        &self,
        report: &mut (dyn FnMut(u64) + Send),
    ) -> Result<BTreeMap<&'static str, Copied>, CopyFault> {
        let keeps_members = self.keeps_members();
        let target = sum::of(&self.to, keeps_members, report).await?;
        let source = sum::of(&self.from, keeps_members, report).await?;
        let names = source.keys().chain(target.keys());
        match names.copied().find(|name| source.get(name) != target.get(name)) {
            Some(name) => Err(CopyFault::Differs(name)),
            None => Ok(source),
        }
    }

    /// Ends a verified copy: from now on servers open the target.
    pub async fn finish(self) -> Result<(), CopyFault> {
        for _ in 0..TRIES_MAX {
            let (mut txn, found) = self.to.begin_with(&[mark::key()]).await?;
            if found.iter().all(Option::is_none) {
                return Ok(());
            }
            txn.delete(mark::key());
            match txn.commit().await {
                Ok(_version) => return Ok(()),
                Err(CommitError::Conflict | CommitError::Unknown) => {}
                Err(CommitError::Failed(fault)) => return Err(fault.into()),
                Err(CommitError::TooLarge) => break,
            }
        }
        Err(failed("the target did not take the end of the copy"))
    }
}

fn failed(text: &str) -> CopyFault {
    CopyFault::Store(StoreError::Io(text.to_owned()))
}

/// What one commit copies: rows, and entries of one log.
struct Page {
    id: LogId,
    entries: Vec<LogEntry>,
    rows: Vec<Entry>,
}

impl Default for Page {
    fn default() -> Self {
        Self { id: LogId { log: 0, shard: 0 }, entries: Vec::new(), rows: Vec::new() }
    }
}

/// Whether a store has no row of an installation; those of processes do not count.
async fn holds_nothing<S: Store>(store: &S) -> Result<bool, StoreError> {
    let mut pages = Pages::of(layout::all_rows(), READ);
    let page = pages.next(&store.snapshot().await?).await?.unwrap_or_default();
    Ok(pages.next_key().is_none() && !page.iter().any(|row| carried_row(&row.key, true)))
}

/// Whether a store has no row at all.
async fn is_empty<S: Store>(store: &S) -> Result<bool, StoreError> {
    let page = Pages::of(layout::all_rows(), READ).next(&store.snapshot().await?).await?;
    Ok(page.is_none())
}

/// The logs of all tables' streams, deleted tables included, in order.
async fn log_ids<S: Store>(store: &S) -> Result<Vec<LogId>, CopyFault> {
    let view = store.snapshot().await?;
    let mut ids = Vec::new();
    let mut fault = None;
    each_row(&view, layout::prefix_range(vec![Space::Catalogue.byte()]), |row| {
        if record_copy::is_format(&row.key)
            && let Some(format) = record_copy::later_format(&row.value)
        {
            fault = Some(CopyFault::LaterRelease(CatalogueFault::LaterFormat(format).to_string()));
        }
        if !record_copy::is_record(&row.key) {
            return;
        }
        match record_copy::shards_of(&row.value) {
            Ok((table, shards)) => {
                ids.extend(shards.into_iter().map(|shard| log_of(TableId(table), shard)));
            }
            Err(found) => fault = Some(unread(&found)),
        }
    })
    .await?;
    ids.sort_unstable();
    fault.map_or(Ok(ids), Err)
}

/// Whether a row belongs to the installation, and not to the processes over its store. Without the mark of a
/// clean stop an embedded target counts its items anew.
fn carried_row(key: &[u8], keeps_members: bool) -> bool {
    let space = key.first().copied().and_then(layout::space_of);
    match space.map_or(InCopy::Always, |space| space.traits().in_copy) {
        InCopy::Always => true,
        InCopy::OfProcessesToSharedStores => {
            keeps_members || stats::read_key(key).is_none_or(|(_, member)| member.is_none())
        }
        InCopy::Never => false,
    }
}

#[cfg(test)]
mod tests {
    use keywright_store::memory::MemoryStore;

    use super::*;

    fn quiet() -> impl FnMut(u64) + Send {
        |_rows| ()
    }

    async fn put(store: &MemoryStore, key: &[u8], value: &[u8]) {
        let mut txn = store.begin().await.expect("a store in memory begins");
        txn.put(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
        txn.commit().await.expect("a store in memory commits");
    }

    async fn source() -> MemoryStore {
        let store = MemoryStore::new();
        for number in 0..2_500_u32 {
            put(&store, &[&[Space::Items.byte()][..], &number.to_be_bytes()].concat(), b"item").await;
        }
        put(&store, &[Space::Uses.byte(), 1], b"used").await;
        put(&store, &[0x07, 0x00], b"").await;
        store
    }

    #[test]
    fn a_copy_has_the_rows_of_the_installation_and_not_those_of_its_processes() {
        pollster::block_on(async {
            let (from, to) = (source().await, MemoryStore::new());
            let mut copy = Copy::begin(from, to.clone(), "a").await.expect("the target is empty");
            copy.run(&mut quiet()).await.expect("it is copied");
            let sums = copy.verify(&mut quiet()).await.expect("both sides are equal");
            assert_eq!(sums.keys().copied().collect::<Vec<_>>(), ["items"]);
            assert_eq!(sums.get("items").map(|items| items.count), Some(2_500));
            assert_eq!(unfinished(&to).await, Ok(Some("a".to_owned())));
            copy.finish().await.expect("it ends");
            assert_eq!(unfinished(&to).await, Ok(None));
            let mut rows = 0;
            let view = to.snapshot().await.expect("a view");
            each_row(&view, layout::all_rows(), |_row| rows += 1).await.expect("it is read");
            assert_eq!(rows, 2_500);
        });
    }

    #[test]
    fn a_copy_goes_on_after_the_last_page_that_was_written() {
        pollster::block_on(async {
            let (from, to) = (source().await, MemoryStore::new());
            let mut copy = Copy::begin(from.clone(), to.clone(), "a").await.expect("the target is empty");
            let first = [&[Space::Items.byte()][..], &999_u32.to_be_bytes()].concat();
            // The target has the first thousand rows, as after a kill.
            copy.write(Cursor::Rows(first.clone().into()), &Page::default()).await.expect("it is written");
            for number in 0..1_000_u32 {
                put(&to, &[&[Space::Items.byte()][..], &number.to_be_bytes()].concat(), b"item").await;
            }
            let mut again = Copy::begin(from, to, "a").await.expect("it goes on");
            assert!(again.is_resumed());
            let mut done = 0;
            again.run(&mut |rows| done = rows).await.expect("it is copied");
            assert_eq!(done, 1_500);
            again.verify(&mut quiet()).await.expect("both sides are equal");
        });
    }

    #[test]
    fn a_source_that_was_written_during_the_copy_is_noticed() {
        pollster::block_on(async {
            let (from, to) = (source().await, MemoryStore::new());
            let mut copy = Copy::begin(from.clone(), to.clone(), "a").await.expect("the target is empty");
            copy.run(&mut quiet()).await.expect("it is copied");
            put(&from, &[&[Space::Items.byte()][..], &7_u32.to_be_bytes()].concat(), b"new").await;
            assert_eq!(copy.verify(&mut quiet()).await, Err(CopyFault::Differs("items")));
            assert!(unfinished(&to).await.expect("it is read").is_some(), "no engine opens the target");
            put(&from, &[&[Space::Members.byte()][..], &[0; 16]].concat(), &[&[1][..], &[0; 8]].concat())
                .await;
            assert_eq!(copy.check_source_unused().await, Err(CopyFault::SourceInUse));
        });
    }

    #[test]
    fn what_is_no_empty_target_and_no_finished_source_is_refused() {
        pollster::block_on(async {
            let from = source().await;
            let begin = |from: &MemoryStore, to: &MemoryStore, name: &'static str| {
                let (from, to) = (from.clone(), to.clone());
                async move { Copy::begin(from, to, name).await.err() }
            };
            let full = MemoryStore::new();
            put(&full, &[Space::Items.byte(), 1], b"item").await;
            assert_eq!(begin(&from, &full, "a").await, Some(CopyFault::TargetNotEmpty));
            assert_eq!(begin(&MemoryStore::new(), &full, "a").await, Some(CopyFault::SourceEmpty));
            let unfinished = MemoryStore::new();
            let mut copy =
                Copy::begin(from.clone(), unfinished.clone(), "a").await.expect("the target is empty");
            copy.run(&mut quiet()).await.expect("it is copied");
            assert_eq!(begin(&from, &unfinished, "b").await, Some(CopyFault::OtherCopy("a".to_owned())));
            let empty = MemoryStore::new();
            assert_eq!(
                begin(&unfinished, &empty, "c").await,
                Some(CopyFault::SourceUnfinished("a".to_owned()))
            );
            assert_eq!(is_empty(&empty).await, Ok(true));
        });
    }
}
