//! Exports: a table as of a stamp, or what changed in it between two, for a caller that writes files.
//!
//! The table is exported in parts, which are equal ranges of the hashes of partition keys, one after the
//! other. Of each part the caller takes pages ([`Engine::export_page`]), in the order of keys, and notes each
//! file that stands ([`Engine::note_exported`]) with what it wants to know of it
//! ([`Engine::exported_files`]). [`Engine::end_export`] ends the export. An item belongs to the file that it
//! would belong to if nothing had been interrupted, because the next page begins after the last item of the
//! last file that stands.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::Condition;
use keywright_semantics::limits::INCREMENT_BILLED_BYTES_MIN;
use keywright_semantics::request::parts::FilterSpecificationParts;
use keywright_semantics::request::{ExportFilter, TableRef};
use keywright_store::{KeyRange, Store};

use super::object_job::{ExportPart, ExportWork, ObjectJob, ObjectWork};
use super::row::{self, Counts, Cursor, Export as ExportRow, Job, State, Work};
use super::transfer::{end_transfer, name_of};
use crate::bind::source::Output;
use crate::catalogue::{Table, record_in};
use crate::history::as_of::{AsOf, OldItem};
use crate::history::merge::{Part, after_item};
use crate::history::window::{Changed, Window};
use crate::read::page::Plan;
use crate::read::{query, scan};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{segment_range, within_items};
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;
use crate::transfers::export::{Export, Extent, FilterTexts, View};
use crate::transfers::row::{Asked, Status, Transfer, find};

/// Rows of one page.
const PAGE_ROWS_MAX: usize = 2_000;
/// Parts of one export.
const PARTS_MAX: usize = 4096;
/// Microseconds of a millisecond, less one.
const US_IN_MS_MAX: u64 = 999;

/// Items of an export in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportPage {
    /// The items.
    pub items: Vec<ExportedItem>,
    /// Bytes of items that were read after the last one and are not exported.
    pub passed_bytes: u64,
    /// Where the next page begins; `None` at the end of the part.
    pub next: Option<Bytes>,
}

/// An item of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedItem {
    /// Its key within the table.
    pub key: Bytes,
    /// Bytes that were read for it: its own, and those of items before it that are not exported.
    pub read_bytes: u64,
    /// What is written of it.
    pub content: ExportedContent,
}

/// What is written of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportedContent {
    /// The item, of a full export.
    Item(EncodedItem),
    /// Its change, of an increment.
    Change {
        /// The attributes of its key.
        keys: EncodedItem,
        /// The item as of the beginning, if it is wanted and was there.
        old: Option<EncodedItem>,
        /// The item as of the end, if it was there.
        new: Option<EncodedItem>,
        /// When it was last written, in microseconds since 1970.
        written_us: u64,
    },
}

/// What has been exported since the last note.
#[derive(Clone, Copy, Debug)]
pub struct Exported<'e> {
    /// What the caller remembers of the file that stands; `None` if there was nothing left to write.
    pub file: Option<&'e Bytes>,
    /// The key of the file's last item if the part goes on after it; `None` if the part is done.
    pub last: Option<&'e Bytes>,
    /// Items that were written.
    pub items: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
}

/// The filter of an export, which fits its table.
#[derive(Clone, Debug)]
pub(crate) struct Filter(ExportFilter);

impl Filter {
    /// Checks the filter against the table's key.
    pub(crate) fn bind(filter: ExportFilter, table: &Table) -> Result<Self, Error> {
        let filter = Self(filter);
        filter.plan(table)?;
        Ok(filter)
    }

    fn plan<'a>(&'a self, table: &'a Table) -> Result<Plan<'a>, Error> {
        match &self.0 {
            ExportFilter::Query(request) => query::bind(table, request),
            ExportFilter::Scan(request) => scan::bind(table, request),
        }
    }

    /// The filter of texts that were accepted once.
    fn of_texts(texts: &FilterTexts, table: &Table) -> Result<Self, Error> {
        let values = texts.values.clone().map(|values| EncodedItem::from_stored(values.into()));
        let values = values.transpose().map_err(fault::corrupt)?;
        let parts = FilterSpecificationParts {
            filter_expression: texts.filter.clone(),
            projection_expression: texts.projection.clone(),
            key_condition_expression: texts.key_condition.clone(),
            expression_attribute_names: texts.names.clone(),
            expression_attribute_values: values
                .map(|values| values.decode().into_iter().map(|(name, value)| (name, Ok(value))).collect()),
        };
        let table_ref = TableRef::of(table.arn())?;
        Self::bind(ExportFilter::parse(parts, &table_ref)?, table)
    }

    /// Whether only items of one partition are read.
    const fn is_of_one_partition(&self) -> bool {
        matches!(self.0, ExportFilter::Query(_))
    }
}

/// The parts in which a table is exported: as many as it has partitions.
pub(crate) fn parts_of<S: Store>(engine: &Engine<S>, table: &Table, filter: Option<&Filter>) -> u32 {
    if filter.is_some_and(Filter::is_of_one_partition) {
        return 1;
    }
    let partitions = engine.with_context(|context| engine.ledgers().partitions_of_items(table, context));
    u32::try_from(partitions.clamp(1, PARTS_MAX)).unwrap_or(1)
}

/// The rows of a part, and which of them are exported.
struct Selection<'a> {
    part: Part,
    condition: Option<&'a Condition>,
    output: Option<Output<'a>>,
}

impl<'a> Selection<'a> {
    fn of(export: &ExportRow, plan: Option<Plan<'a>>, from: Option<&Bytes>) -> Self {
        let KeyRange { mut start, mut end } = segment_range(&[], export.part, export.parts);
        if let Some(plan) = &plan
            && plan.key_condition.is_some()
        {
            let prefix = plan.source.prefix();
            let is_in_table = |end: &&Bytes| end.starts_with(&prefix);
            start = within_items(&plan.range.start);
            end = plan.range.end.as_ref().filter(is_in_table).map(within_items);
        }
        let start = from.map_or(start.clone(), |from| from.clone().max(start));
        let (condition, output) = plan.map_or((None, None), |plan| (plan.filter, Some(plan.output)));
        Self { part: Part { start, end }, condition, output }
    }

    fn is_empty(&self) -> bool {
        self.part.end.as_ref().is_some_and(|end| self.part.start >= *end)
    }

    fn selects(&self, item: &EncodedItem) -> bool {
        self.condition.is_none_or(|condition| condition.evaluate(Some(item.view())))
    }

    fn shown(&self, item: EncodedItem) -> EncodedItem {
        match self.output {
            Some(Output::Projected(projection)) => projection.project(item.view()),
            Some(Output::Whole | Output::Count) | None => item,
        }
    }
}

/// A page that is being made.
#[derive(Default)]
struct Made(ExportPage);

impl Made {
    /// Notes that an item was read.
    fn read(&mut self, item: &EncodedItem) {
        self.0.passed_bytes += u64::try_from(item.size_bytes()).unwrap_or(u64::MAX);
    }

    fn push(&mut self, key: Bytes, content: ExportedContent) {
        let read_bytes = std::mem::take(&mut self.0.passed_bytes);
        self.0.items.push(ExportedItem { key, read_bytes, content });
    }
}

impl<S: Store> Engine<S> {
    /// The next items of the part that a job exports. `None` if the history that it needs is not there: over
    /// a shared store this process may not have seen the newest settings of the table yet.
    pub async fn export_page(
        &self,
        job: &ObjectJob,
        from: Option<&Bytes>,
        bytes_max: usize,
    ) -> Result<Option<ExportPage>, Error> {
        let (Work::Export(row), Some(name)) = (&job.job.work, name_of(&job.job)) else { return Ok(None) };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let Some(transfer) = find(&view, &job.namespace, &name).await? else { return Ok(None) };
        let Some(table) = record_in(&view, job.job.owner()).await? else { return Ok(None) };
        let export = asked(&transfer)?;
        let filter = export.filter.as_ref().map(|texts| Filter::of_texts(texts, &table)).transpose()?;
        let plan = filter.as_ref().map(|filter| filter.plan(&table)).transpose()?;
        let selection = Selection::of(row, plan, from);
        if selection.is_empty() {
            return Ok(Some(ExportPage::default()));
        }
        let budget = Budget { rows_max: PAGE_ROWS_MAX, bytes_max };
        let mut made = Made::default();
        made.0.next = match row.from {
            None => {
                let Some(as_of) = AsOf::of(&table, row.to) else { return Ok(None) };
                let page = as_of.page(&view, &selection.part, budget).await;
                let page = page.map_err(|error| fault::storage(&error))?;
                page.items.into_iter().try_for_each(|item| push_item(&mut made, &selection, item))?;
                page.next
            }
            Some(since) => {
                let Some(window) = Window::of(&table, since, row.to) else { return Ok(None) };
                let page = window.page(&view, &selection.part, budget).await;
                let page = page.map_err(|error| fault::storage(&error))?;
                let images = Images::of(export, &table);
                page.items.into_iter().try_for_each(|changed| images.push(&mut made, &selection, changed))?;
                page.next
            }
        };
        let end = selection.part.end.as_ref();
        made.0.next = made.0.next.filter(|next| end.is_none_or(|end| next < end));
        Ok(Some(made.0))
    }

    /// Notes what has been exported since the last note.
    pub async fn note_exported(
        &self,
        job: &ObjectJob,
        exported: Exported<'_>,
    ) -> Result<Option<ObjectJob>, Error> {
        let Work::Export(export) = &job.job.work else { return Ok(None) };
        let before = &job.job;
        assert!(!matches!(before.state, State::Failing { .. }), "nothing is added to what is being removed");
        let new_files = u32::from(exported.file.is_some());
        let objects = export.objects + new_files;
        let (next, place) = if let Some(last) = exported.last {
            let place = after_item(last).ok_or_else(fault::internal)?;
            assert!(before.cursor.place < place, "each file has items after those of the one before");
            (ExportRow { files: export.files + new_files, objects, ..export.clone() }, place.to_vec())
        } else {
            assert!(export.files + new_files > 0, "each part has a file");
            (ExportRow { part: export.part + 1, files: 0, objects, ..export.clone() }, Vec::new())
        };
        let is_at_end = next.part >= next.parts;
        let after = Job {
            counts: Counts {
                items: before.counts.items + exported.items,
                bytes: before.counts.bytes + exported.read_bytes,
            },
            cursor: Cursor { place, taken: 0, is_at_end },
            work: Work::Export(next),
            ..before.begun(self.env().now_ms())
        };
        let file = exported.file.map(|file| (row::object_key(&before.id, export.objects), file.clone()));
        if !self.replace(before, &after, file.as_slice()).await? {
            return Ok(None);
        }
        self.for_caller(after).await
    }

    /// What the caller has noted of the files of an export, in their order.
    pub async fn exported_files(&self, job: &ObjectJob) -> Result<Vec<Bytes>, Error> {
        let Work::Export(export) = &job.job.work else { return Ok(Vec::new()) };
        self.noted_objects(&job.id, export.objects).await
    }

    /// Ends an export whose objects stand: `manifest` is the key of the one that names all others, which says
    /// that it ended at this time.
    pub async fn end_export(&self, job: &ObjectJob, manifest: &str, ended_ms: u64) -> Result<bool, Error> {
        let Work::Export(_) = &job.job.work else { return Ok(false) };
        let row::Counts { items, .. } = job.job.counts;
        let finish = |transfer: Transfer| {
            let mut transfer = Transfer { ended_ms: Some(ended_ms), ..transfer };
            (transfer.counts.written, transfer.counts.bytes) = (items, billed_bytes(&job.job));
            if let Asked::Export(export) = &mut transfer.asked {
                export.manifest = Some(manifest.to_owned());
            }
            transfer
        };
        let release = |tables: &mut [Table]| {
            for table in tables.iter_mut() {
                table.history.release(&job.id);
            }
            Ok(())
        };
        let end = (&State::Completed, Status::Completed);
        end_transfer(self, &job.job, end, &[job.job.owner()], finish, release).await
    }

    /// An export as its caller sees it; `None` if its transfer is gone.
    pub(super) async fn export_for_caller(
        &self,
        job: &Job,
        export: &ExportRow,
    ) -> Result<Option<ObjectWork>, Error> {
        let Some(name) = name_of(job) else { return Ok(None) };
        let namespace = job.namespace();
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let Some(transfer) = find(&view, &namespace, &name).await? else { return Ok(None) };
        let part = ExportPart {
            number: export.part,
            files: export.files,
            from: (!job.cursor.place.is_empty()).then(|| Bytes::copy_from_slice(&job.cursor.place)),
        };
        Ok(Some(ObjectWork::Export(Box::new(ExportWork {
            arn: name.arn(&namespace),
            table_arn: transfer.table_arn(),
            table_id: transfer.table_id.clone(),
            asked: asked(&transfer)?.target(),
            started_ms: transfer.started_ms,
            not_before_ms: transfer.started_ms.saturating_add(self.config().transition_ms),
            part: (!job.cursor.is_at_end).then_some(part),
            failure: match &job.state {
                State::Failing { code, message } => Some((code.clone(), message.clone())),
                State::Waiting | State::Running | State::Completed | State::Failed { .. } => None,
            },
        }))))
    }
}

impl ObjectJob {
    /// Bytes that an export reports as billed.
    pub fn billed_bytes(&self) -> u64 {
        billed_bytes(&self.job)
    }
}

/// An increment counts for 10 MB at least (observed).
fn billed_bytes(job: &Job) -> u64 {
    let is_increment = matches!(&job.work, Work::Export(ExportRow { from: Some(_), .. }));
    let least = if is_increment { INCREMENT_BILLED_BYTES_MIN } else { 0 };
    job.counts.bytes.max(least)
}

/// What the request of an export asked for.
fn asked(transfer: &Transfer) -> Result<&Export, Error> {
    match &transfer.asked {
        Asked::Export(export) => Ok(export),
        Asked::Import(_) | Asked::BulkPut(_) => Err(fault::internal()),
    }
}

fn push_item(made: &mut Made, selection: &Selection<'_>, item: OldItem) -> Result<(), Error> {
    let stored = EncodedItem::from_stored(item.value).map_err(fault::corrupt)?;
    made.read(&stored);
    if selection.selects(&stored) {
        made.push(item.within, ExportedContent::Item(selection.shown(stored)));
    }
    Ok(())
}

/// The images of changed items.
struct Images<'t> {
    table: &'t Table,
    has_old: bool,
}

impl<'t> Images<'t> {
    fn of(export: &Export, table: &'t Table) -> Self {
        let has_old = matches!(export.extent, Extent::Increment { view: View::NewAndOld, .. });
        Self { table, has_old }
    }

    /// Adds an item that is not as it was. The filter looks at its latest image: of a deleted item at the old
    /// one.
    fn push(&self, made: &mut Made, selection: &Selection<'_>, changed: Changed) -> Result<(), Error> {
        if changed.old == changed.new {
            return Ok(());
        }
        let image =
            |stored: Option<Bytes>| stored.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt);
        let (old, new) = (image(changed.old)?, image(changed.new)?);
        old.iter().chain(&new).for_each(|image| made.read(image));
        let Some(latest) = new.as_ref().or(old.as_ref()) else { return Ok(()) };
        if selection.selects(latest) {
            let key = &self.table.schema.key;
            let keys = latest.view().encode_subset(|name| key.contains(name));
            let old = old.filter(|_| self.has_old).map(|old| selection.shown(old));
            let new = new.map(|new| selection.shown(new));
            let written_us = micros(changed.last);
            made.push(changed.within, ExportedContent::Change { keys, old, new, written_us });
        }
        Ok(())
    }
}

/// A stamp as a time. Stamps within a millisecond beyond its thousandth count to it.
const fn micros(stamp: Stamp) -> u64 {
    let count = stamp.count();
    let within = if count < US_IN_MS_MAX { count } else { US_IN_MS_MAX };
    stamp.ms() * 1000 + within
}
