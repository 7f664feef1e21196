//! Exports: what they are as of, what they refuse, and that interrupted ones give the same files. The caller
//! keeps the files in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::EXPORTS_MAX;
use keywright_semantics::request::parts::{
    DescribeExportParts, ExportTableToPointInTimeParts, ExportType, FilterSpecificationParts,
    IncrementalExportSpecificationParts, ListExportsParts, S3SseAlgorithm,
};
use keywright_semantics::request::{DescribeExport, ExportTable, ListExports, Request};
use keywright_semantics::response::{ExportDescription, ExportStatus, ListExportsOutput, Response};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::backups::{START_MS, bed_with, delete_of, full_row, reopen};
use super::harness::*;
use super::tables::{Bed, creation, kind};
use crate::support::env::Env;
use crate::support::layout::Space;
use crate::{
    EngineConfig, Exported, ExportedContent, ExportedItem, JobKind, JobState, ObjectJob, ObjectWork,
};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 86_400_000;
/// Items of a file.
const FILE_ITEMS: usize = 7;

fn seconds(ms: u64) -> Option<i64> {
    i64::try_from(ms).ok()
}

fn arn(table: &str) -> String {
    format!("arn:aws:dynamodb:{}:{}:table/{table}", namespace().region, namespace().account)
}

fn full() -> ExportTableToPointInTimeParts {
    ExportTableToPointInTimeParts {
        table_arn: arn("Shop"),
        s3_bucket: "exports".to_owned(),
        ..ExportTableToPointInTimeParts::default()
    }
}

fn increment(from_ms: Option<u64>, to_ms: Option<u64>) -> ExportTableToPointInTimeParts {
    ExportTableToPointInTimeParts {
        export_type: Some(ExportType::IncrementalExport),
        incremental_export_specification: Some(IncrementalExportSpecificationParts {
            export_from_time: from_ms.and_then(seconds),
            export_to_time: to_ms.and_then(seconds),
            export_view_type: None,
        }),
        ..full()
    }
}

fn filter(
    key_condition: Option<&str>,
    filter: Option<&str>,
    projection: Option<&str>,
    values: &[(&str, AttributeValue)],
) -> FilterSpecificationParts {
    let values: Vec<_> = values.iter().map(|(name, value)| ((*name).to_owned(), Ok(value.clone()))).collect();
    FilterSpecificationParts {
        key_condition_expression: key_condition.map(str::to_owned),
        filter_expression: filter.map(str::to_owned),
        projection_expression: projection.map(str::to_owned),
        expression_attribute_names: None,
        expression_attribute_values: (!values.is_empty()).then_some(values),
    }
}

/// The files of an export.
#[derive(Clone, Debug, Default, PartialEq)]
struct Files(Vec<Vec<ExportedItem>>);

impl Files {
    fn items(&self) -> Vec<Item> {
        let decoded = |item: &ExportedItem| match &item.content {
            ExportedContent::Item(item) => item.decode(),
            ExportedContent::Change { .. } => panic!("a full export has items"),
        };
        self.0.iter().flatten().map(decoded).collect()
    }

    /// The old and new image of each changed item.
    fn changes(&self) -> Vec<(Option<Item>, Option<Item>)> {
        let image = |image: &Option<EncodedItem>| image.as_ref().map(EncodedItem::decode);
        let decoded = |item: &ExportedItem| match &item.content {
            ExportedContent::Change { old, new, .. } => (image(old), image(new)),
            ExportedContent::Item(_) => panic!("an increment has changes"),
        };
        self.0.iter().flatten().map(decoded).collect()
    }

    /// Applies an increment to the items of an export.
    fn apply_to(&self, items: &mut BTreeMap<String, Item>) {
        for exported in self.0.iter().flatten() {
            let ExportedContent::Change { keys, new, .. } = &exported.content else { panic!("{exported:?}") };
            match new {
                Some(new) => items.insert(key_of(&keys.decode()), new.decode()),
                None => items.remove(&key_of(&keys.decode())),
            };
        }
    }
}

fn key_of(item: &Item) -> String {
    format!("{:?} {:?}", item["pk"], item["sk"])
}

fn by_key(items: Vec<Item>) -> BTreeMap<String, Item> {
    items.into_iter().map(|item| (key_of(&item), item)).collect()
}

impl<S: Store> Bed<S> {
    fn try_export(&self, parts: ExportTableToPointInTimeParts) -> Result<ExportDescription, Error> {
        let request = Request::ExportTableToPointInTime(Box::new(ExportTable::validate(parts)?));
        match self.run(request)? {
            Response::ExportTableToPointInTime(export) => Ok(*export),
            other => panic!("{other:?}"),
        }
    }

    fn export(&self, parts: ExportTableToPointInTimeParts) -> ExportDescription {
        self.try_export(parts).expect("it may begin")
    }

    fn describe_export(&self, arn: &str) -> Result<ExportDescription, Error> {
        let request = DescribeExport::validate(&DescribeExportParts { export_arn: arn.to_owned() })?;
        match self.run(Request::DescribeExport(request))? {
            Response::DescribeExport(export) => Ok(*export),
            other => panic!("{other:?}"),
        }
    }

    fn list_exports(&self, parts: ListExportsParts) -> Result<ListExportsOutput, Error> {
        match self.run(Request::ListExports(ListExports::validate(parts)?))? {
            Response::ListExports(output) => Ok(output),
            other => panic!("{other:?}"),
        }
    }

    fn export_job(&self) -> Option<ObjectJob> {
        let jobs = block_on(self.engine.object_jobs()).expect("they are listed");
        jobs.into_iter().find(|job| matches!(job.work, ObjectWork::Export(_)))
    }

    /// Writes the next file of the oldest export, or ends it; false after the end. Pages have so many bytes.
    fn export_some(&self, files: &mut Files, page_bytes: usize) -> bool {
        let Some(job) = self.export_job() else { return false };
        let ObjectWork::Export(work) = &job.work else { panic!("{job:?}") };
        let noted = block_on(self.engine.exported_files(&job)).expect("they are read");
        assert_eq!(noted.len(), files.0.len(), "what was noted are the files that stand");
        let Some(part) = work.part.clone() else {
            let ended_ms = self.env.now_ms();
            return !block_on(self.engine.end_export(&job, "manifest", ended_ms)).expect("it is noted");
        };
        let (mut from, mut file, mut read_bytes) = (part.from.clone(), Vec::new(), 0);
        loop {
            let page =
                block_on(self.engine.export_page(&job, from.as_ref(), page_bytes)).expect("it is read");
            let page = page.expect("the history is held");
            for item in page.items {
                read_bytes += item.read_bytes;
                // Which page it is read with decides how much it stands for.
                file.push(ExportedItem { read_bytes: 0, ..item });
                if file.len() == FILE_ITEMS {
                    self.note_file(&job, files, (file, read_bytes), false);
                    return true;
                }
            }
            read_bytes += page.passed_bytes;
            from = page.next;
            if from.is_none() {
                self.note_file(&job, files, (file, read_bytes), true);
                return true;
            }
        }
    }

    fn note_file(
        &self,
        job: &ObjectJob,
        files: &mut Files,
        (file, read_bytes): (Vec<ExportedItem>, u64),
        ends_part: bool,
    ) {
        let ObjectWork::Export(work) = &job.work else { panic!("{job:?}") };
        let is_first = work.part.as_ref().is_some_and(|part| part.files == 0);
        let name = Bytes::from(format!("file {}", files.0.len()));
        let last = file.last().map(|item| item.key.clone());
        let exported = Exported {
            file: (!file.is_empty() || is_first).then_some(&name),
            last: last.as_ref().filter(|_| !ends_part),
            items: u64::try_from(file.len()).expect("few"),
            read_bytes,
        };
        let noted = block_on(self.engine.note_exported(job, exported)).expect("it is noted");
        assert!(noted.is_some());
        let other = Exported { read_bytes: read_bytes + 1, ..exported };
        let again = block_on(self.engine.note_exported(job, other)).expect("it is refused");
        assert_eq!(again, None, "the job is not as it was");
        if exported.file.is_some() {
            files.0.push(file);
        }
    }

    fn files_of(&self, parts: ExportTableToPointInTimeParts) -> (ExportDescription, Files) {
        let begun = self.export(parts);
        let mut files = Files::default();
        while self.export_some(&mut files, 2_000) {}
        (self.describe_export(&begun.export_arn).expect("it is there"), files)
    }
}

/// A table with recovery, an hour old.
fn shop() -> Bed<MemoryStore> {
    let bed = bed_with(EngineConfig::default());
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    (0..100).for_each(|number| bed.put("Shop", full_row(number)));
    bed.pass(HOUR_MS);
    bed
}

fn changed_row(number: i64) -> Item {
    let mut row = full_row(number);
    row.insert("x".to_owned(), s("changed"));
    row
}

#[test]
fn a_full_export_is_the_table_as_of_its_time_and_says_so() {
    let bed = shop();
    let expected = by_key(bed.rows_of("Shop", None));
    let begun = bed.export(full());
    assert_eq!((begun.status, begun.billed_size_bytes), (ExportStatus::InProgress, None));
    (50..150).for_each(|number| bed.put("Shop", changed_row(number)));
    bed.run(delete_of("Shop", 3)).expect("it is there");
    let mut files = Files::default();
    while bed.export_some(&mut files, 2_000) {}
    assert_eq!(by_key(files.items()), expected);
    let ended = bed.describe_export(&begun.export_arn).expect("it is there");
    let (bytes, items) = (ended.billed_size_bytes, ended.item_count);
    assert_eq!((ended.status, items), (ExportStatus::Completed, Some(100)));
    let size: usize = expected.values().map(|item| EncodedItem::encode(item).size_bytes()).sum();
    assert_eq!(bytes, u64::try_from(size).ok());
    assert_eq!((ended.manifest.as_deref(), ended.s3_bucket.as_str()), (Some("manifest"), "exports"));
    assert!(ended.export_time.is_some() && ended.incremental.is_none());
    assert_eq!(bed.job_states().last(), Some(&(JobKind::Export, JobState::Completed)));
    assert!(bed.engine.catalogue().find(&namespace(), "Shop").unwrap().history.holds().is_empty());
}

#[test]
fn a_new_on_demand_table_has_a_file_for_each_of_four_parts_also_if_it_is_empty() {
    let bed = bed_with(EngineConfig::default());
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    let (export, files) = bed.files_of(full());
    assert_eq!((export.item_count, files), (Some(0), Files(vec![Vec::new(); 4])));
}

#[test]
fn an_export_that_is_interrupted_after_each_file_and_read_in_other_pages_has_the_same_files() {
    let store = MemoryStore::new();
    let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    (0..100).for_each(|number| bed.put("Shop", full_row(number)));
    bed.pass(HOUR_MS);
    (0..30).for_each(|number| bed.put("Shop", changed_row(number)));
    bed.pass(1);
    let odd = |parts| {
        let chosen = filter(None, Some("h > :h"), None, &[(":h", n(10))]);
        ExportTableToPointInTimeParts { filter_specification: Some(chosen), ..parts }
    };
    let now_ms = bed.env.now_ms();
    let from_ms = now_ms - HOUR_MS / 2;
    for parts in [full(), odd(full()), increment(Some(from_ms), None), odd(increment(Some(from_ms), None))] {
        let at = ExportTableToPointInTimeParts { export_time: seconds(now_ms), ..parts.clone() };
        let parts = if parts.export_type.is_none() { at } else { increment_to(parts, now_ms) };
        let (export, undisturbed) = bed.files_of(parts.clone());
        let begun = bed.export(parts);
        let mut files = Files::default();
        for page_bytes in (1..).map(|round| round * 37 % 5_000) {
            let other = reopen(store.clone(), EngineConfig::default(), now_ms + 1_000);
            other.put("Shop", changed_row(i64::try_from(page_bytes).unwrap() % 100));
            if !other.export_some(&mut files, page_bytes) {
                break;
            }
        }
        assert_eq!(files, undisturbed);
        let again = bed.describe_export(&begun.export_arn).expect("it is there");
        assert_eq!(
            (again.item_count, again.billed_size_bytes),
            (export.item_count, export.billed_size_bytes)
        );
    }
}

fn increment_to(parts: ExportTableToPointInTimeParts, to_ms: u64) -> ExportTableToPointInTimeParts {
    let mut parts = parts;
    if let Some(specification) = &mut parts.incremental_export_specification {
        specification.export_to_time = seconds(to_ms);
    }
    parts
}

#[test]
fn an_increment_has_the_net_change_of_each_item_and_none_of_what_is_as_it_was() {
    let bed = shop();
    let from_ms = bed.env.now_ms();
    bed.put("Shop", changed_row(1));
    bed.put("Shop", changed_row(2));
    bed.put("Shop", full_row(2));
    bed.run(delete_of("Shop", 3)).expect("it is there");
    bed.put("Shop", changed_row(200));
    bed.put("Shop", changed_row(201));
    bed.run(delete_of("Shop", 201)).expect("it is there");
    bed.pass(HOUR_MS / 2);
    let (export, files) = bed.files_of(increment(Some(from_ms), None));
    let mut changes = files.changes();
    changes.sort_by_key(|(old, new)| old.as_ref().or(new.as_ref()).map(key_of));
    assert_eq!(
        changes,
        [
            (Some(full_row(1)), Some(changed_row(1))),
            (Some(full_row(3)), None),
            (None, Some(changed_row(200))),
        ]
    );
    assert_eq!((export.item_count, export.billed_size_bytes), (Some(3), Some(10_000_000)));
    assert!(export.export_time.is_none() && export.incremental.is_some());
}

#[test]
fn a_full_export_and_the_increments_after_it_make_the_next_full_export() {
    for seed in seeds(5) {
        let mut random = fastrand::Rng::with_seed(seed);
        let bed = shop();
        let (first, files) = bed.files_of(full());
        let mut state = by_key(files.items());
        let mut from_ms = first.export_time.expect("it is full").0;
        for _ in 0..4 {
            for _ in 0..random.usize(0..60) {
                let number = random.i64(0..120);
                match random.u8(0..3) {
                    0 => drop(bed.run(delete_of("Shop", number))),
                    1 => bed.put("Shop", changed_row(number)),
                    _ => bed.put("Shop", full_row(number)),
                }
                bed.pass(random.u64(0..2));
            }
            bed.pass(HOUR_MS / 2);
            (0..random.i64(0..9)).for_each(|number| bed.put("Shop", changed_row(number)));
            let (next, increment) = bed.files_of(increment(Some(from_ms), None));
            from_ms = next.incremental.expect("it is an increment").to.0;
            (0..random.i64(0..9)).for_each(|number| bed.put("Shop", full_row(number)));
            increment.apply_to(&mut state);
            bed.pass(1);
            let at = ExportTableToPointInTimeParts { export_time: seconds(from_ms), ..full() };
            let (_, whole) = bed.files_of(at);
            assert_eq!(state, by_key(whole.items()), "seed {seed}");
        }
    }
}

#[test]
fn filters_are_those_of_queries_and_scans_and_look_at_the_latest_image() {
    let bed = shop();
    let from_ms = bed.env.now_ms();
    let all = by_key(bed.rows_of("Shop", None));
    let files = |parts: ExportTableToPointInTimeParts, chosen: FilterSpecificationParts| {
        bed.files_of(ExportTableToPointInTimeParts { filter_specification: Some(chosen), ..parts })
    };
    let (export, scanned) =
        files(full(), filter(None, Some("h < :h AND pk = :p"), None, &[(":h", n(50)), (":p", s("p1"))]));
    let expected =
        |wanted: &dyn Fn(&Item) -> bool| by_key(all.values().filter(|item| wanted(item)).cloned().collect());
    let is_below = |item: &Item| match &item["h"] {
        AttributeValue::N(number) => number.to_string().parse::<i64>().unwrap() < 50,
        other => panic!("{other:?}"),
    };
    assert_eq!(by_key(scanned.items()), expected(&|item| item["pk"] == s("p1") && is_below(item)));
    let size: usize = all.values().map(|item| EncodedItem::encode(item).size_bytes()).sum();
    assert_eq!(export.billed_size_bytes, u64::try_from(size).ok(), "a filter does not lower what is read");
    let (export, queried) = files(
        full(),
        filter(
            Some("pk = :p AND begins_with(sk, :s)"),
            Some("h < :h"),
            Some("h, x"),
            &[(":h", n(50)), (":p", s("p1")), (":s", s("s1"))],
        ),
    );
    let selected = |item: &Item| {
        item["pk"] == s("p1") && matches!(&item["sk"], AttributeValue::S(text) if text.starts_with("s1"))
    };
    let expected: Vec<Item> = all
        .values()
        .filter(|item| selected(item) && is_below(item))
        .map(|full| item([("h", full["h"].clone()), ("x", full["x"].clone())]))
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(queried.items(), expected);
    let read: usize =
        all.values().filter(|item| selected(item)).map(|item| EncodedItem::encode(item).size_bytes()).sum();
    assert_eq!(export.billed_size_bytes, u64::try_from(read).ok(), "a key condition does");
    // Two change, two go: the filter names the new value of the first, and the old one of the second.
    bed.put("Shop", changed_row(1));
    bed.put("Shop", changed_row(2));
    bed.run(delete_of("Shop", 2)).expect("it is there");
    bed.run(delete_of("Shop", 3)).expect("it is there");
    bed.pass(HOUR_MS / 2);
    let chosen = |text: &str| filter(None, Some("x = :x"), None, &[(":x", s(text))]);
    let changes = |text: &str| files(increment(Some(from_ms), None), chosen(text)).1.changes();
    assert_eq!(changes("changed"), [(Some(full_row(1)), Some(changed_row(1)))]);
    assert_eq!(changes("x1"), [], "the latest image has another value");
    assert_eq!(changes("x3"), [(Some(full_row(3)), None)]);
    assert_eq!(changes("x2"), [(Some(full_row(2)), None)]);
}

#[test]
fn what_an_export_refuses_and_which_fault_wins() {
    let bed = shop();
    bed.create(creation("Plain", schema())).expect("it is new");
    bed.pass(2_000);
    let now_ms = bed.env.now_ms();
    let of = |arn: &str, parts: ExportTableToPointInTimeParts| ExportTableToPointInTimeParts {
        table_arn: arn.to_owned(),
        ..parts
    };
    let refused = |parts| kind(bed.try_export(parts));
    let validation = |text: &str| (ErrorKind::Validation, text.to_owned());
    let time = |text: &str| (ErrorKind::InvalidExportTime, text.to_owned());
    let invalid = "One or more parameter values were invalid: tableArn is not a valid ARN";
    assert_eq!(refused(of("Shop", increment(None, None))), validation(invalid));
    assert_eq!(
        refused(of(&format!("{}/index/global", arn("Shop")), full())),
        validation("Invalid Request: Table ARN is invalid.")
    );
    let missing = arn("Missing");
    assert_eq!(
        refused(of(&missing, increment(None, None))),
        (ErrorKind::TableNotFound, format!("Table not found: {missing}"))
    );
    let without_type = ExportTableToPointInTimeParts { export_type: None, ..increment(None, None) };
    assert_eq!(
        refused(without_type),
        validation(
            "Invalid Request: Export Type expected to be Incremental Export when incremental export \
             specification is provided"
        )
    );
    let with_full =
        ExportTableToPointInTimeParts { export_type: Some(ExportType::FullExport), ..increment(None, None) };
    assert_eq!(
        refused(with_full),
        validation(
            "Invalid Request: When Export Type is Full Export , Incremental Export Specification should not be \
             provided"
        )
    );
    let without_window =
        ExportTableToPointInTimeParts { export_type: Some(ExportType::IncrementalExport), ..full() };
    assert_eq!(
        refused(without_window),
        validation(
            "Invalid Request: Incremental Export Specification expected when export type is set as Incremental \
             Export"
        )
    );
    assert_eq!(
        refused(of(&arn("Plain"), increment(None, None))),
        validation("Invalid Request: ExportFromTime must be provided in IncrementalExportSpecification")
    );
    let with_key = |parts| ExportTableToPointInTimeParts { s3_sse_kms_key_id: Some("k".to_owned()), ..parts };
    assert_eq!(
        refused(with_key(increment(Some(1), None))),
        validation("Invalid Request: KMS Key Id is not supported for this encryption type")
    );
    let unfiltered = ExportTableToPointInTimeParts {
        filter_specification: Some(FilterSpecificationParts::default()),
        ..increment(Some(1), None)
    };
    assert_eq!(
        refused(unfiltered),
        validation("Invalid Request: Invalid FilterSpecification: The specification can not be empty")
    );
    let (created_ms, hour_ago) = (START_MS, now_ms - HOUR_MS / 2);
    let early = refused(of(&arn("Plain"), increment(Some(created_ms), None)));
    assert_eq!(early.0, ErrorKind::InvalidExportTime, "before recovery is looked at");
    assert!(
        early.1.starts_with(
            "Incremental export period from time cannot be less than the table creation time : "
        )
    );
    assert_eq!(
        refused(increment(Some(hour_ago), Some(hour_ago + 899_999))),
        time("Difference between export period from time and export period to time is less than 15 minutes")
    );
    assert_eq!(
        refused(increment(Some(hour_ago), Some(now_ms + HOUR_MS))).1.split(" : ").next(),
        Some("Incremental export period to time cannot be greater than the current time")
    );
    assert_eq!(
        refused(of(&arn("Plain"), full())),
        (
            ErrorKind::PointInTimeRecoveryUnavailable,
            "Point in time recovery is not enabled for table 'Plain'".to_owned()
        )
    );
    let at = |ms| ExportTableToPointInTimeParts { export_time: seconds(ms), ..full() };
    assert_eq!(refused(at(now_ms + 1_000)), time("Export Time is invalid"));
    assert_eq!(refused(at(created_ms - 1_000)), time("Export Time is invalid"));
    bed.pass(2 * DAY_MS);
    assert_eq!(
        refused(increment(Some(now_ms), Some(now_ms + DAY_MS + 1))),
        time("Difference between export period from time and export period to time is greater than 24 hours")
    );
    let kms =
        ExportTableToPointInTimeParts { s3_sse_algorithm: Some(S3SseAlgorithm::Kms), ..with_key(full()) };
    assert!(bed.try_export(kms).is_ok());
}

#[test]
fn the_last_moments_are_not_available_where_recovery_lags() {
    let lagging = EngineConfig { pitr_lag_ms: 300_000, ..EngineConfig::default() };
    let bed = bed_with(lagging);
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    bed.pass(HOUR_MS);
    let at = |ms| ExportTableToPointInTimeParts { export_time: seconds(ms), ..full() };
    let now_ms = bed.env.now_ms();
    let text = "Point in Time Recovery is not available for specified export time";
    assert_eq!(kind(bed.try_export(at(now_ms - 1_000))), (ErrorKind::InvalidExportTime, text.to_owned()));
    assert!(bed.try_export(at(now_ms - 300_000)).is_ok() && bed.try_export(full()).is_ok());
}

#[test]
fn a_token_gives_the_same_export_for_eight_hours_also_after_its_end() {
    let bed = shop();
    let with = |token: &str| ExportTableToPointInTimeParts { client_token: Some(token.to_owned()), ..full() };
    let (first, _) = bed.files_of(with("one"));
    bed.pass(8 * HOUR_MS - 1);
    let again = bed.export(with("one"));
    assert_eq!((&again.export_arn, again.status), (&first.export_arn, ExportStatus::Completed));
    assert_eq!(again.client_token, "one");
    let other = ExportTableToPointInTimeParts { s3_prefix: Some("p".to_owned()), ..with("one") };
    let conflict = "Export conflict: Duplicate request detected with conflicting parameters";
    assert_eq!(kind(bed.try_export(other.clone())), (ErrorKind::ExportConflict, conflict.to_owned()));
    assert_ne!(bed.export(with("two")).export_arn, first.export_arn);
    bed.delete("Shop").expect("it is there");
    let gone = bed.export(with("one"));
    assert_eq!(gone.export_arn, first.export_arn, "its table does not matter");
    assert_eq!(kind(bed.try_export(other.clone())).0, ErrorKind::TableNotFound);
    let bed = shop();
    bed.files_of(with("one"));
    bed.pass(8 * HOUR_MS);
    assert_ne!(bed.export(other).export_arn, first.export_arn, "it is a new request by then");
    let unnamed = bed.export(full());
    assert_ne!(unnamed.export_arn, bed.export(full()).export_arn);
    assert!(!unnamed.client_token.is_empty());
}

#[test]
fn so_many_exports_run_at_once_and_no_more() {
    let bed = shop();
    let begun: Vec<_> = (0..EXPORTS_MAX).map(|_| bed.export(full())).collect();
    let text = "Subscriber limit exceeded: Only 300 export operations can be done simultaneously";
    assert_eq!(kind(bed.try_export(full())), (ErrorKind::LimitExceeded, text.to_owned()));
    let job = bed.export_job().expect("one is open");
    block_on(bed.engine.fail_job(&job, "S3NoSuchBucket", "there is none")).expect("it is noted");
    assert!(bed.try_export(full()).is_ok());
    let failed = begun.iter().find(|export| export.export_arn.ends_with(&job.id)).expect("it has begun");
    let failed = bed.describe_export(&failed.export_arn).expect("it is there");
    let failure = Some(("S3NoSuchBucket".to_owned(), "there is none".to_owned()));
    assert_eq!((failed.status, failed.failure), (ExportStatus::Failed, failure));
    let holds = bed.engine.catalogue().find(&namespace(), "Shop").unwrap().history.holds().len();
    assert_eq!(holds, EXPORTS_MAX, "the one that failed holds no history");
}

#[test]
fn lists_are_newest_first_in_pages_and_have_no_exports_of_tables_that_are_gone() {
    let bed = shop();
    bed.create(creation("Other", schema())).expect("it is new");
    bed.turn_on_recovery("Other");
    let of = |table: &str| ExportTableToPointInTimeParts { table_arn: arn(table), ..full() };
    let begun: Vec<String> = (0..12)
        .map(|number| {
            bed.pass(10);
            bed.export(of(if number % 3 == 0 { "Other" } else { "Shop" })).export_arn
        })
        .collect();
    let arns = |output: &ListExportsOutput| -> Vec<String> {
        output.summaries.iter().map(|summary| summary.export_arn.clone()).collect()
    };
    let first = bed.list_exports(ListExportsParts::default()).expect("they are listed");
    assert_eq!(arns(&first), begun.iter().rev().take(10).cloned().collect::<Vec<_>>());
    let next = ListExportsParts { next_token: first.next_token, ..ListExportsParts::default() };
    let second = bed.list_exports(next.clone()).expect("they are listed");
    assert_eq!((arns(&second), second.next_token), (vec![begun[1].clone(), begun[0].clone()], None));
    let of_other = ListExportsParts { table_arn: Some(arn("Other")), ..ListExportsParts::default() };
    assert_eq!(arns(&bed.list_exports(of_other.clone()).expect("they are listed")).len(), 4);
    for token in ["nonsense", "00", &next.next_token.expect("there is a page")[2..]] {
        let bad = ListExportsParts { next_token: Some(token.to_owned()), ..ListExportsParts::default() };
        let text = format!("Invalid Request: Provided nextToken is invalid: {token}");
        assert_eq!(kind(bed.list_exports(bad)), (ErrorKind::Validation, text));
    }
    bed.delete("Other").expect("it is there");
    assert_eq!(arns(&bed.list_exports(of_other).expect("they are listed")), Vec::<String>::new());
    assert!(bed.describe_export(&begun[0]).is_ok());
    let mut files = Files::default();
    while bed.export_some(&mut files, 2_000) {
        if bed.describe_export(&begun[0]).is_ok_and(|export| export.status == ExportStatus::Completed) {
            break;
        }
        if bed.export_job().is_some_and(|job| !begun[0].ends_with(&job.id)) {
            files = Files::default();
        }
    }
    assert_eq!(
        bed.describe_export(&begun[0]).unwrap().status,
        ExportStatus::Completed,
        "its history is held"
    );
}

#[test]
fn an_export_is_described_by_its_arn_for_ninety_days_after_its_end() {
    let bed = shop();
    let (export, _) = bed.files_of(full());
    let missing = export.export_arn.replace("Shop", "Other");
    let text = format!("Export not found: Export not found: {missing}");
    assert_eq!(kind(bed.describe_export(&missing)), (ErrorKind::ExportNotFound, text));
    let elsewhere = export.export_arn.replace(namespace().region.as_str(), "eu-north-1");
    let text = "Export not found: Invalid export arn".to_owned();
    assert_eq!(kind(bed.describe_export(&elsewhere)), (ErrorKind::ExportNotFound, text));
    let invalid = (ErrorKind::Validation, "Invalid Export ARN".to_owned());
    assert_eq!(kind(bed.describe_export(&arn("Shop"))), invalid);
    bed.pass(90 * DAY_MS - 1);
    bed.step();
    assert!(bed.describe_export(&export.export_arn).is_ok());
    bed.pass(HOUR_MS + 1);
    bed.settle();
    assert_eq!(kind(bed.describe_export(&export.export_arn)).0, ErrorKind::ExportNotFound);
    assert_eq!(bed.rows_in(Space::Transfers), 0, "its token is gone too");
}

#[test]
fn what_a_failed_export_has_written_is_removed_only_by_the_process_that_has_it() {
    let bed = shop();
    let begun = bed.export(full());
    let stalled = bed.export_job().expect("it has begun");
    let mut files = Files::default();
    assert!(bed.export_some(&mut files, 2_000), "another process has gone on");
    let failing = |job: &ObjectJob| {
        block_on(bed.engine.note_failing(job, "S3AccessDenied", "no")).expect("the store answers")
    };
    assert_eq!(failing(&stalled), None, "the objects are those of the other process");
    let owner = bed.export_job().expect("it goes on");
    let failed = failing(&owner).expect("it has the job");
    let failure = |job: &ObjectJob| match &job.work {
        ObjectWork::Export(work) => work.failure.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(failure(&owner), None);
    assert_eq!(failure(&failed), Some(("S3AccessDenied".to_owned(), "no".to_owned())));
    // After a kill the next process knows that it is to remove them; one that was writing adds none.
    let next = bed.export_job().expect("it has not ended");
    assert_eq!(failure(&next), failure(&failed));
    let [last, name] = ["z", "file 1"].map(Bytes::from);
    let late = Exported { file: Some(&name), last: Some(&last), items: 1, read_bytes: 1 };
    assert_eq!(block_on(bed.engine.note_exported(&owner, late)).expect("it is refused"), None);
    assert_eq!(block_on(bed.engine.exported_files(&next)).expect("they are read").len(), 1);
    block_on(bed.engine.fail_job(&next, "S3AccessDenied", "no")).expect("it is noted");
    assert!(bed.export_job().is_none());
    let ended = bed.describe_export(&begun.export_arn).expect("it is there");
    assert_eq!(ended.status, ExportStatus::Failed);
}
