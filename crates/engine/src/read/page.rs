//! The page loop of Query, Scan and PartiQL's SELECT, for tables and indexes: read, meter, filter, project.
//!
//! A page ends at `Limit` rows or 1 MB, counted before the filter, or at the end of the range. Both limits
//! are budgets of the store's scan, so few rows are read that are not evaluated.
//!
//! All rows of a page are of one version of the store. Mostly one scan is enough, which a store behind a
//! network answers without a view; a page that needs more begins again on a view.

use std::num::NonZeroU32;

use bytes::Bytes;
use keywright_semantics::capacity::{ReadMode, TableUsage, Usage, read_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::{Condition, KeyCondition, Work};
use keywright_semantics::request::common::Consistency;
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::response::{CapacityForm, PageOutput};
use keywright_semantics::schema::{IndexKind, IndexSchema, KeySchema};
use keywright_store::{Direction, Entry, KeyRange, Scan, ScanPage, Snapshot, Store};

use crate::bind::key::stored_values;
use crate::bind::source::{Fetch, Output, Source};
use crate::bind::start_key::beyond;
use crate::insights::contributor::KeySource;
use crate::state::Engine;
use crate::state::admission::ReadOf;
use crate::support::fault;
use crate::support::lane::{Pace, Turn};
use crate::support::layout;
use crate::support::meter::consumed;

/// Rows of one scan of the store: it bounds a call's result when rows are tiny.
const SCAN_ROWS_MAX: usize = 1000;
/// The same if the item of every row is fetched, which may be large.
const FETCH_ROWS_MAX: usize = 32;
/// A scan counts keys too, a page only items: with this part more, one scan fills most pages.
const SCAN_BYTES_PART: usize = 8;
/// The steps of [`Work`] of a row without its filter and projection.
const ROW_STEPS: u64 = 512;

/// The charge of a read with this consistency.
pub(crate) const fn read_mode(consistency: Consistency) -> ReadMode {
    match consistency {
        Consistency::Eventual => ReadMode::Eventual,
        Consistency::Strong => ReadMode::Strong,
    }
}

/// A bound Query or Scan.
pub(crate) struct Plan<'a> {
    pub source: Source<'a>,
    pub range: KeyRange,
    pub direction: Direction,
    pub limit: Option<NonZeroU32>,
    pub consistency: Consistency,
    pub filter: Option<&'a Condition>,
    pub output: Output<'a>,
    pub fetch: Fetch,
    pub capacity: ReturnConsumedCapacity,
    /// The table's name in the response.
    pub table_name: &'a str,
    /// The page ends with the row that reaches this many bytes.
    pub bytes_max: usize,
    /// The condition that names the page's partition, if the page is one event of contributor insights.
    pub key_condition: Option<&'a KeyCondition>,
}

impl Plan<'_> {
    /// How long evaluating one row takes.
    fn row_work(&self) -> Work {
        let filter = self.filter.map(Condition::work).unwrap_or_default();
        let output = match self.output {
            Output::Count | Output::Whole => Work::default(),
            Output::Projected(projection) => projection.work(),
        };
        filter.and(output).and(Work::fixed(ROW_STEPS))
    }

    /// What the page is charged to: rows of a local index to the table.
    const fn read_of(&self) -> ReadOf<'_> {
        let index = match self.source.index {
            Some((id, IndexSchema { kind: IndexKind::Global, .. })) => Some(id),
            _ => None,
        };
        ReadOf { table: self.source.table, index }
    }

    /// Rows that the page evaluates at most.
    fn rows_max(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| usize::try_from(limit.get()).unwrap_or(usize::MAX))
    }

    /// The next scan for the page.
    fn next_scan(&self, range: KeyRange, page: &Page) -> Scan {
        let at_once = match self.fetch {
            Fetch::None => SCAN_ROWS_MAX,
            Fetch::Items => FETCH_ROWS_MAX,
        };
        let bytes = self.bytes_max.saturating_sub(page.bytes()).max(1);
        Scan {
            range,
            direction: self.direction,
            rows_max: self.rows_max().saturating_sub(page.scanned).min(at_once),
            bytes_max: bytes.saturating_add(bytes / SCAN_BYTES_PART),
        }
    }

    /// The key at which the page begins, and the one at which its range ends.
    fn ends(&self) -> (&Bytes, &Bytes) {
        let end = self.range.end.as_ref().unwrap_or(&self.range.start);
        match self.direction {
            Direction::Forward => (&self.range.start, end),
            Direction::Backward => (end, &self.range.start),
        }
    }

    /// The part of a key within the table or index that is charged. A local index's entries lie where their
    /// collection begins.
    fn within(&self, key: &Bytes) -> Bytes {
        match self.source.index {
            None => layout::within_items(key),
            Some((_, IndexSchema { kind: IndexKind::Global, .. })) => layout::within_index(key),
            Some(_) => layout::collection_of(&layout::within_index(key)),
        }
    }
}

/// A page, and the bytes evaluated for it.
pub(crate) struct ReadPage {
    pub output: PageOutput,
    pub bytes: usize,
}

/// A page under construction.
#[derive(Default)]
struct Page {
    items: Vec<EncodedItem>,
    count: u64,
    scanned: usize,
    /// Sizes of rows read from the table or index.
    row_bytes: usize,
    /// The charge of items fetched for rows of a local index, each rounded up on its own.
    fetched: Usage,
    fetched_bytes: usize,
    /// The last row evaluated, if the page ended before the range did.
    last: Option<EncodedItem>,
    /// That row's key.
    reached: Option<Bytes>,
}

impl Page {
    const fn bytes(&self) -> usize {
        self.row_bytes.saturating_add(self.fetched_bytes)
    }
}

/// Reads one page.
pub(crate) async fn read_page<S: Store>(engine: &Engine<S>, mut plan: Plan<'_>) -> Result<ReadPage, Error> {
    let mut page = Page::default();
    let key = plan.key_condition.map(KeySource::Condition);
    engine.admit_read(plan.read_of(), || plan.within(plan.ends().0)).map_err(|throttled| {
        if let Some(key) = key {
            engine.note_refused_key(plan.read_of(), &throttled, key);
        }
        throttled.into_error()
    })?;
    if plan.range.end.as_ref().is_none_or(|end| plan.range.start < end) {
        if let Some(view) = engine.region_view(plan.source.table, plan.consistency).await? {
            Box::pin(fill(engine, &view, &plan, &mut page, plan.range.clone())).await?;
        } else {
            fill_newest(engine, &mut plan, &mut page).await?;
        }
    }
    let (first, end) = plan.ends();
    assert!(page.count <= page_rows(&page), "no more rows pass the filter than are evaluated");
    let charge = total(&plan, &page);
    if let Some(key) = key {
        engine.note_key(plan.read_of(), charge, key);
    }
    engine.charge_read(plan.read_of(), charge.read, || {
        let last = page.reached.as_ref().unwrap_or(end);
        let (one, other) = (plan.within(first), plan.within(last));
        let (low, high) = if one <= other { (one, other) } else { (other, one) };
        engine.touched(plan.read_of(), &low, &high)
    });
    let usage = || usage(&plan, &page);
    let consumed_capacity = consumed(plan.capacity, plan.table_name, CapacityForm::Plain, usage);
    let position = |row: EncodedItem| row.view().encode_named(&plan.source.position_attributes());
    let bytes = page.bytes();
    let scanned_count = page_rows(&page);
    let output = PageOutput {
        items: match plan.output {
            Output::Count => None,
            Output::Whole | Output::Projected(_) => Some(page.items),
        },
        count: page.count,
        scanned_count,
        last_evaluated_key: page.last.map(position),
        consumed_capacity,
    };
    Ok(ReadPage { output, bytes })
}

fn page_rows(page: &Page) -> u64 {
    u64::try_from(page.scanned).unwrap_or(u64::MAX)
}

/// Fills the page from the newest version of the store. Every store asserts that a scan's rows are in order
/// and within its range.
async fn fill_newest<S: Store>(
    engine: &Engine<S>,
    plan: &mut Plan<'_>,
    page: &mut Page,
) -> Result<(), Error> {
    if plan.fetch == Fetch::None {
        // The scan has the range meanwhile: the first copy of a key takes an allocation.
        let range = std::mem::replace(&mut plan.range, KeyRange { start: Bytes::new(), end: None });
        let scan = plan.next_scan(range, page);
        let first = engine.store().scan(&scan).await.map_err(|error| fault::storage(&error))?;
        plan.range = scan.range;
        let last_key = last_key(&first.page);
        let rows = Rows { entries: first.page.entries.into_iter(), items: None };
        if evaluate(&mut engine.pace(), plan, page, rows).await? == Evaluated::Full {
            return Ok(());
        }
        let Some(last_key) = last_key else { return Ok(()) };
        if let Some(view) = first.view {
            let rest = beyond(plan.range.clone(), &last_key, plan.direction);
            return Box::pin(fill(engine, &view, plan, page, rest)).await;
        }
        *page = Page::default();
    }
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    // Boxed as the first time: few pages need it, and all futures of a page would be as large.
    Box::pin(fill(engine, &view, plan, page, plan.range.clone())).await
}

/// Fills the page from the rest of its range in a view.
async fn fill<S: Store>(
    engine: &Engine<S>,
    snapshot: &S::Snapshot,
    plan: &Plan<'_>,
    page: &mut Page,
    mut range: KeyRange,
) -> Result<(), Error> {
    let mut turns = engine.pace();
    loop {
        let scan = plan.next_scan(range, page);
        let rows = snapshot.scan(&scan).await.map_err(|error| fault::storage(&error))?;
        let last_key = last_key(&rows);
        let rows = fetched(snapshot, plan, rows.entries).await?;
        if evaluate(&mut turns, plan, page, rows).await? == Evaluated::Full {
            return Ok(());
        }
        let Some(last_key) = last_key else { return Ok(()) };
        range = beyond(scan.range, &last_key, plan.direction);
    }
}

/// The key after which the rest of the range begins, if there may be one.
fn last_key(rows: &ScanPage) -> Option<Bytes> {
    rows.entries.last().filter(|_| rows.more).map(|entry| entry.key.clone())
}

/// Whether a page can take more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evaluated {
    Full,
    Open,
}

/// Rows read, with their items if they are entries of a local index that fetches.
struct Rows {
    entries: std::vec::IntoIter<Entry>,
    items: Option<std::vec::IntoIter<Option<EncodedItem>>>,
}

impl Rows {
    /// The stored size of the next row, if there is one.
    fn next_bytes(&self) -> Option<usize> {
        let item = self.items.as_ref().and_then(|items| items.as_slice().first()?.as_ref());
        let entry = self.entries.as_slice().first()?;
        Some(item.map_or(entry.value.len(), |item| item.as_bytes().len()))
    }
}

async fn fetched<T: Snapshot>(snapshot: &T, plan: &Plan<'_>, entries: Vec<Entry>) -> Result<Rows, Error> {
    let items = match plan.fetch {
        Fetch::None => None,
        Fetch::Items => Some(fetch(snapshot, plan, &entries).await?.into_iter()),
    };
    Ok(Rows { entries: entries.into_iter(), items })
}

async fn evaluate(
    turns: &mut Pace<'_>,
    plan: &Plan<'_>,
    page: &mut Page,
    mut rows: Rows,
) -> Result<Evaluated, Error> {
    let row_work = plan.row_work();
    if plan.filter.is_none() && !matches!(plan.output, Output::Count) {
        page.items.reserve_exact(rows.entries.len());
    }
    while let Some(bytes) = rows.next_bytes() {
        let turn = |turn: &mut Turn| evaluate_turn(turn, row_work, plan, page, &mut rows);
        if turns.turn(row_work.steps(bytes), turn).await?? == Evaluated::Full {
            return Ok(Evaluated::Full);
        }
    }
    Ok(Evaluated::Open)
}

/// Evaluates as many rows as fit into the turn.
fn evaluate_turn(
    turn: &mut Turn,
    row_work: Work,
    plan: &Plan<'_>,
    page: &mut Page,
    rows: &mut Rows,
) -> Result<Evaluated, Error> {
    let limit = plan.rows_max();
    while let Some(bytes) = rows.next_bytes() {
        if !turn.takes(row_work.steps(bytes)) {
            break;
        }
        let Some(entry) = rows.entries.next() else { break };
        let row = EncodedItem::from_stored(entry.value).map_err(fault::corrupt)?;
        page.scanned += 1;
        page.row_bytes += row.size_bytes();
        // On one snapshot every index entry has its item.
        let items = rows.items.as_mut();
        let item = items.map(|items| items.next().flatten().ok_or_else(fault::internal)).transpose()?;
        if let Some(item) = &item {
            page.fetched_bytes += item.size_bytes();
            page.fetched += Usage::reading(read_units(item.size_bytes(), read_mode(plan.consistency)));
        }
        assert!(page.scanned <= limit, "a page evaluates at most `Limit` rows");
        let is_full = page.scanned >= limit || page.bytes() >= plan.bytes_max;
        if is_full {
            page.last = Some(row.clone());
            page.reached = Some(entry.key);
        }
        keep(plan, page, item.unwrap_or(row));
        if is_full {
            return Ok(Evaluated::Full);
        }
    }
    Ok(Evaluated::Open)
}

/// Counts and keeps a row that passes the filter.
fn keep(plan: &Plan<'_>, page: &mut Page, item: EncodedItem) {
    if plan.filter.is_some_and(|filter| !filter.evaluate(Some(item.view()))) {
        return;
    }
    page.count += 1;
    match plan.output {
        Output::Count => {}
        Output::Whole => page.items.push(item),
        Output::Projected(projection) => page.items.push(projection.project(item.view())),
    }
}

/// The items of rows of a local index, in order.
async fn fetch<T: Snapshot>(
    snapshot: &T,
    plan: &Plan<'_>,
    entries: &[Entry],
) -> Result<Vec<Option<EncodedItem>>, Error> {
    let key = &plan.source.table.schema.key;
    let mut keys = Vec::with_capacity(entries.len());
    for entry in entries {
        let row = EncodedItem::from_stored(entry.value.clone()).map_err(fault::corrupt)?;
        keys.push(item_key(plan, key, &row).ok_or_else(fault::internal)?);
    }
    let items = snapshot.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    assert_eq!(items.len(), keys.len(), "the store answers every key");
    let decode = |item: Option<Bytes>| item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt);
    items.into_iter().map(decode).collect()
}

fn item_key(plan: &Plan<'_>, key: &KeySchema, row: &EncodedItem) -> Option<Bytes> {
    let partition = stored_values(&key.partition, row.view())?;
    let sort = stored_values(&key.sort, row.view())?;
    Some(layout::item_key(plan.source.table.id, *partition.first()?, sort.first().copied()))
}

/// The charge of a page's rows: their sum rounded up once.
fn row_usage(plan: &Plan<'_>, page: &Page) -> Usage {
    Usage::reading(read_units(page.row_bytes, read_mode(plan.consistency)))
}

/// The charge of a page, of table and index together.
fn total(plan: &Plan<'_>, page: &Page) -> Usage {
    let mut total = row_usage(plan, page);
    total += page.fetched;
    total
}

/// The charge of a page: its rows, and each fetched item rounded up on its own.
fn usage(plan: &Plan<'_>, page: &Page) -> TableUsage {
    let rows = row_usage(plan, page);
    let mut usage = TableUsage { table: page.fetched, ..TableUsage::default() };
    match plan.source.index {
        None => usage.table += rows,
        Some((_, index)) => {
            let arms = match index.kind {
                IndexKind::Local => &mut usage.local_indexes,
                IndexKind::Global => &mut usage.global_indexes,
            };
            arms.insert(index.name.clone(), rows);
        }
    }
    usage
}
