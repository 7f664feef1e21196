//! Bulk puts, with a caller that has the records in memory: the table, its indexes and its stream are those
//! of puts in the same order, also if single commits fail or have to be repeated.

use bytes::Bytes;
use keywright_semantics::error::ErrorKind;
use keywright_semantics::messages::bulk as messages;
use keywright_semantics::request::parts::{
    BulkOperationInputFormat, InputCompressionType, InputS3ConfigurationParts, OutputS3ConfigurationParts,
    OutputTypeEnum, StartBulkPutItemsParts, StreamViewType,
};
use keywright_semantics::request::{
    CancelBulkOperation, CreateTable, DescribeBulkOperation, FileRecord, FileRecordParts, ListBulkOperations,
    Request, StartBulkPutItems,
};
use keywright_semantics::response::{BulkOperationDescription, BulkOperationStatus, Response};
use keywright_semantics::value::Item;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::backups::{START_MS, bed_with, reopen};
use super::flaky_store::Fate::{self, Conflict, TooLarge, UnknownLost, UnknownWritten};
use super::flaky_store::FlakyStore;
use super::harness::*;
use super::tables::{Bed, add_index, bed, creation, drop_index, kind, open};
use crate::support::layout::Space;
use crate::{
    Broken, BulkPutLane, BulkPutStep, EngineConfig, Finding, ObjectJob, ObjectWork, Piece, Read,
    RollbackRequest,
};

const STORIES: [&[Fate]; 6] = [
    &[],
    &[Conflict, Conflict],
    &[UnknownWritten],
    &[UnknownLost, UnknownWritten],
    &[UnknownLost, Conflict, UnknownLost],
    &[TooLarge, TooLarge, UnknownWritten],
];
/// Records of each object.
const RECORDS: u64 = 300;

fn parts(table: &str) -> StartBulkPutItemsParts {
    StartBulkPutItemsParts {
        client_token: None,
        input_s3_configuration: InputS3ConfigurationParts {
            s3_bucket_owner: None,
            s3_bucket: "in".to_owned(),
            s3_key_prefix: None,
            input_format: BulkOperationInputFormat::DynamodbJson,
            input_compression_type: Some(InputCompressionType::None),
        },
        output_s3_configuration: OutputS3ConfigurationParts {
            s3_bucket: Some("out".to_owned()),
            output_type: OutputTypeEnum::ALL.to_vec(),
            ..OutputS3ConfigurationParts::default()
        },
        table_name: table.to_owned(),
        max_write_request_units: None,
        performance_tier: None,
    }
}

impl<S: Store> Bed<S> {
    fn try_bulk_put(
        &self,
        parts: StartBulkPutItemsParts,
    ) -> Result<BulkOperationDescription, keywright_semantics::error::Error> {
        let request = StartBulkPutItems::validate(parts).expect("it is valid");
        match self.run(Request::StartBulkPutItems(Box::new(request)))? {
            Response::StartBulkPutItems(described) => Ok(*described),
            other => panic!("{other:?}"),
        }
    }

    fn bulk_put(&self, table: &str) -> BulkOperationDescription {
        self.try_bulk_put(parts(table)).expect("it begins")
    }

    fn bulk_operation(&self, arn: &str) -> BulkOperationDescription {
        let parts = keywright_semantics::request::parts::DescribeBulkOperationParts {
            bulk_operation_arn: arn.to_owned(),
        };
        let request = DescribeBulkOperation::validate(&parts).expect("it is an ARN");
        match self.run(Request::DescribeBulkOperation(request)) {
            Ok(Response::DescribeBulkOperation(described)) => *described,
            other => panic!("{other:?}"),
        }
    }

    fn cancel(&self, arn: &str) -> Result<BulkOperationStatus, keywright_semantics::error::Error> {
        let parts = keywright_semantics::request::parts::CancelBulkOperationParts {
            bulk_operation_arn: arn.to_owned(),
        };
        let request = CancelBulkOperation::validate(&parts).expect("it is an ARN");
        match self.run(Request::CancelBulkOperation(request))? {
            Response::CancelBulkOperation(cancelled) => Ok(cancelled.status),
            other => panic!("{other:?}"),
        }
    }

    fn job(&self) -> ObjectJob {
        let mut jobs = block_on(self.engine.object_jobs()).expect("they are listed");
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.remove(0)
    }

    fn lane(&self, number: usize) -> BulkPutLane {
        block_on(self.engine.bulk_put_lanes(&self.job())).expect("they are read").swap_remove(number)
    }

    fn note_objects(&self, count: u32) {
        let listed: Vec<(Bytes, u64)> = (0..count).map(|_| (Bytes::from_static(b"object"), 9)).collect();
        let noted = block_on(self.engine.note_listed(&self.job(), (0, &listed), true));
        noted.expect("it is noted").expect("it is the job");
    }

    /// Gives pieces to a lane until all are done.
    fn give(&self, mut lane: BulkPutLane, pieces: &[Piece]) -> BulkPutLane {
        let job = self.job();
        let mut rest = pieces;
        while !rest.is_empty() {
            match block_on(self.engine.bulk_put(&job, &lane, rest)).expect("it is settled") {
                BulkPutStep::Done { lane: after, pieces, .. } => {
                    assert!(pieces > 0);
                    (lane, rest) = (*after, &rest[pieces..]);
                }
                BulkPutStep::Later => {}
                other => panic!("{other:?}"),
            }
        }
        lane
    }

    fn findings(&self, report: OutputTypeEnum) -> Vec<Finding> {
        let job = self.job();
        let (mut all, mut from) = (Vec::new(), None);
        loop {
            let page = block_on(self.engine.bulk_put_findings(&job, report, from.as_ref(), 1));
            let page = page.expect("they are read");
            all.extend(page.findings);
            match page.next {
                Some(next) => from = Some(next),
                None => return all,
            }
        }
    }

    fn end(&self) {
        assert!(
            block_on(self.engine.end_bulk_put(&self.job(), self.engine.env().now_ms())).expect("it ends")
        );
    }
}

/// A row with few keys, whose entries come, go and move.
fn row(number: u64) -> Item {
    let digit = |of: u64| s(&(number * 7_919 / (of + 1) % of).to_string());
    let mut row = item([("pk", digit(7)), ("sk", digit(31)), ("x", s(&number.to_string()))]);
    if !number.is_multiple_of(3) {
        row.insert("g".into(), digit(5));
    }
    if number % 5 > 1 {
        row.insert("l".into(), digit(3));
    }
    row
}

fn record(item: Item) -> Read {
    Read::Record(Box::new(FileRecord { item, condition: None }))
}

/// A record that is put only if there is no item of its key.
fn new_record(item: Item) -> Read {
    let parts = FileRecordParts {
        item: Some(item.into_iter().map(|(name, value)| (name, Ok(value))).collect()),
        condition_expression: Some("attribute_not_exists(pk)".to_owned()),
        ..FileRecordParts::default()
    };
    Read::Record(Box::new(FileRecord::put(parts).expect("it is valid")))
}

fn piece((object, number): (u32, u64), read: Read) -> Piece {
    Piece { object, key: format!("in/{object}").into(), record: number, read }
}

fn end(broken: Option<Broken>) -> Read {
    Read::End { bytes: 9, broken }
}

fn with_stream(table: &str) -> CreateTable {
    CreateTable { stream: Some(StreamViewType::NewAndOldImages), ..creation(table, schema()) }
}

/// The records of two objects in turn, and whose lane they belong to.
fn pieces(object: u32) -> Vec<Piece> {
    (0..RECORDS).map(|number| piece((object, number), record(row(number * 2 + u64::from(object))))).collect()
}

#[test]
fn a_table_is_that_of_puts_in_the_order_of_each_object_whatever_becomes_of_commits() {
    let store = FlakyStore::default();
    let bed = open(store.clone(), EngineConfig::default());
    bed.create(with_stream("Shop")).expect("it is new");
    let begun = bed.bulk_put("Shop");
    bed.note_objects(2);
    let reference_store = FlakyStore::default();
    let reference = open(reference_store.clone(), EngineConfig::default());
    reference.create(with_stream("Shop")).expect("it is new");
    store.take_commits();
    let mut stories = STORIES.into_iter().cycle();
    for start in (0..usize::try_from(RECORDS).expect("few")).step_by(50) {
        for object in 0..2 {
            let some = &pieces(object)[start..start + 50];
            let lane = bed.lane(usize::try_from(object).expect("few"));
            store.next(stories.next().expect("they repeat"));
            let job = bed.job();
            bed.give(lane.clone(), some);
            store.calm();
            let again = block_on(bed.engine.bulk_put(&job, &lane, some)).expect("it is refused");
            assert_eq!(again, BulkPutStep::Overtaken, "the lane is not as it was");
            for piece in some {
                let Read::Record(record) = &piece.read else { panic!("{piece:?}") };
                reference.put("Shop", record.item.clone());
            }
        }
    }
    for object in 0..2 {
        bed.give(bed.lane(usize::try_from(object).expect("few")), &[piece((object, RECORDS), end(None))]);
    }
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!((done.processed_items, done.processed_bytes, done.total_bytes), (2 * RECORDS, 18, Some(18)));
    assert_eq!(done.status, BulkOperationStatus::InProgress);
    bed.end();
    bed.settle();
    bed.contents("Shop").assert_eq(&reference.contents("Shop"), "");
    let logged = |store: &FlakyStore| {
        let commits = store.take_commits();
        commits.iter().filter(|commit| commit.is_written).map(|commit| commit.records).sum::<usize>()
    };
    let changes = logged(&store);
    assert_eq!(changes, logged(&reference_store), "each change is logged once");
    assert!(changes > 0);
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!((done.status, done.failed_items), (BulkOperationStatus::Completed, 0));
    let entries = |index: &str| done.usage.global_indexes.get(index).copied();
    assert!(done.usage.table > 0 && entries("gsi").is_none(), "rows without h have no entry: {done:?}");
    assert!(done.usage.local_indexes["lsi"] > 0);
    assert_eq!(bed.rows_in(Space::Jobs), 2, "the job and the note of its beginning are left");
}

#[test]
fn a_process_that_ends_leaves_each_lane_where_it_was() {
    let store = MemoryStore::new();
    let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
    bed.create(creation("Shop", schema())).expect("it is new");
    let begun = bed.bulk_put("Shop");
    bed.note_objects(6);
    bed.give(bed.lane(1), &[piece((1, 0), record(row(1))), piece((1, 1), end(None))]);
    drop(bed);
    let bed = reopen(store, EngineConfig::default(), START_MS + 1_000);
    let from: Vec<(u32, u64)> = (0..4).map(|number| bed.lane(number).from()).collect();
    assert_eq!(from, [(0, 0), (5, 0), (2, 0), (3, 0)]);
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!((done.processed_items, done.processed_bytes, done.total_bytes), (1, 9, Some(54)));
    let jobs = block_on(bed.engine.jobs(None, 10)).expect("they are listed");
    assert_eq!(jobs[0].items, 1);
}

#[test]
fn findings_name_the_record_the_fault_and_both_items() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.put("Shop", item([("pk", s("1")), ("sk", s("1")), ("x", s("old"))]));
    let begun = bed.bulk_put("Shop");
    bed.note_objects(1);
    let attempt = |sk: &str| item([("pk", s("1")), ("sk", s(sk)), ("x", s("new"))]);
    let reads = [
        new_record(attempt("1")),
        record(item([("pk", s("1"))])),
        new_record(attempt("2")),
        // The second one finds the first.
        new_record(attempt("2")),
        record(item([("pk", s("1")), ("sk", s("3")), ("l", n(1))])),
        Read::Invalid("no item".to_owned()),
        record(attempt("4")),
        end(Some(Broken::Record("no JSON".to_owned()))),
    ];
    let pieces: Vec<Piece> = (0..).zip(reads).map(|(number, read)| piece((0, number), read)).collect();
    assert_eq!(bed.give(bed.lane(0), &pieces).from(), (4, 0));
    let refused = bed.findings(OutputTypeEnum::ConditionCheckFailure);
    let found: Vec<_> =
        refused.iter().map(|one| (one.record, one.item.clone(), one.existing.clone())).collect();
    let old = item([("pk", s("1")), ("sk", s("1")), ("x", s("old"))]);
    assert_eq!(
        found,
        [(Some(0), Some(attempt("1")), Some(old)), (Some(3), Some(attempt("2")), Some(attempt("2"))),]
    );
    assert!(refused.iter().all(|one| one.key == "in/0" && one.text == "The conditional request failed"));
    let errors = bed.findings(OutputTypeEnum::Error);
    let found: Vec<_> =
        errors.iter().map(|one| (one.record, one.item.is_some(), one.text.as_str())).collect();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].2.contains("Missing the key sk in the item"), "{found:?}");
    assert!(found[1].2.contains("Type mismatch for Index Key l"), "{found:?}");
    assert_eq!(found[2..], [(Some(5), false, "no item"), (Some(7), false, "no JSON")]);
    assert_eq!((found[0].0, found[0].1), (Some(1), true));
    let counts = block_on(bed.engine.bulk_put_counts(&bed.job())).expect("they are read");
    assert_eq!((counts.processed, counts.written, counts.failed, counts.refused()), (8, 2, 4, 2));
    bed.end();
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!(done.status, BulkOperationStatus::CompletedWithErrors);
    assert_eq!((done.processed_items, done.failed_items), (8, 4));
    bed.settle();
    assert_eq!(bed.rows_in(Space::Jobs), 2, "findings are gone");
}

#[test]
fn findings_of_a_report_that_is_not_wanted_are_counted_and_not_kept() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    let mut only_conditions = parts("Shop");
    only_conditions.output_s3_configuration.output_type = vec![OutputTypeEnum::ConditionCheckFailure];
    let begun = bed.try_bulk_put(only_conditions).expect("it begins");
    bed.note_objects(1);
    let broken = end(Some(Broken::Object("not gzip".to_owned())));
    bed.give(bed.lane(0), &[piece((0, 0), Read::Invalid("no".to_owned())), piece((0, 1), broken)]);
    assert!(bed.findings(OutputTypeEnum::Error).is_empty());
    bed.end();
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!((done.processed_items, done.failed_items), (2, 2));
    assert_eq!(done.status, BulkOperationStatus::CompletedWithErrors);
}

#[test]
fn a_table_has_one_bulk_put_and_no_new_index_and_no_rollback_meanwhile() {
    let bed = bed_with(EngineConfig::default());
    bed.create(creation("Shop", schema())).expect("it is new");
    assert_eq!(kind(bed.try_bulk_put(parts("Nowhere"))).0, ErrorKind::ResourceNotFound);
    bed.turn_on_recovery("Shop");
    bed.pass(10_000);
    let begun = bed.bulk_put("Shop");
    let second = kind(bed.try_bulk_put(parts("Shop")));
    assert_eq!(second, (ErrorKind::LimitExceeded, messages::table_has_one("Shop")));
    let index = kind(bed.update(add_index("Shop", "by-n", "n")));
    assert_eq!(index, (ErrorKind::ResourceInUse, messages::being_bulk_put("Shop")));
    let rollback = RollbackRequest {
        table: "Shop".to_owned(),
        to_ms: bed.engine.env().now_ms() - 1_000,
        key: None,
        filter: None,
        with_expired: false,
    };
    let rollback = kind(block_on(bed.engine.rollback(&namespace(), &rollback)));
    assert_eq!(rollback, (ErrorKind::ResourceInUse, messages::being_bulk_put("Shop")));
    bed.update(drop_index("Shop", "gsi")).expect("an index may go");
    bed.note_objects(0);
    bed.end();
    assert_eq!(bed.bulk_operation(&begun.arn).status, BulkOperationStatus::Completed);
    bed.settle();
    bed.update(add_index("Shop", "by-n", "n")).expect("nothing is at work");
    let building = kind(bed.try_bulk_put(parts("Shop")));
    assert_eq!(building, (ErrorKind::ResourceInUse, messages::index_being_created("Shop", "by-n")));
}

#[test]
fn a_token_leads_to_the_same_bulk_put_also_after_its_end_and_that_of_its_table() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    let with_token = || StartBulkPutItemsParts { client_token: Some("t".to_owned()), ..parts("Shop") };
    let begun = bed.try_bulk_put(with_token()).expect("it begins");
    assert_eq!(bed.try_bulk_put(with_token()).expect("it is the same").arn, begun.arn);
    let other = StartBulkPutItemsParts { max_write_request_units: Some(2_048), ..with_token() };
    let conflict = kind(bed.try_bulk_put(other));
    assert_eq!(conflict, (ErrorKind::IdempotentParameterMismatch, messages::CONFLICT.to_owned()));
    bed.note_objects(0);
    bed.end();
    bed.delete("Shop").expect("it is there");
    bed.settle();
    assert_eq!(bed.try_bulk_put(with_token()).expect("it is the same").arn, begun.arn);
    bed.pass(8 * 3_600_000);
    assert_eq!(kind(bed.try_bulk_put(with_token())).0, ErrorKind::ResourceNotFound);
    let list = Request::ListBulkOperations(ListBulkOperations { limit: 10, token: None });
    let Ok(Response::ListBulkOperations(page)) = bed.run(list) else { panic!("they are listed") };
    assert_eq!(page.summaries.len(), 1);
    assert_eq!((page.summaries[0].arn.as_str(), page.next_token), (begun.arn.as_str(), None));
}

#[test]
fn after_a_cancellation_nothing_is_put_and_what_was_put_stays() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    let begun = bed.bulk_put("Shop");
    bed.note_objects(1);
    let lane = bed.give(bed.lane(0), &[piece((0, 0), record(row(1)))]);
    let job = bed.job();
    assert_eq!(bed.cancel(&begun.arn).expect("it is at work"), BulkOperationStatus::Cancelling);
    assert_eq!(bed.cancel(&begun.arn).expect("it is at work"), BulkOperationStatus::Cancelling);
    let step = block_on(bed.engine.bulk_put(&job, &lane, &[piece((0, 1), record(row(2)))]));
    assert_eq!(step.expect("it is refused"), BulkPutStep::Cancelled);
    let ObjectWork::BulkPut(work) = bed.job().work else { panic!("it is a bulk put") };
    assert!(work.is_cancelled);
    // A caller that has not seen it yet ends it.
    bed.end();
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!((done.status, done.processed_items), (BulkOperationStatus::Cancelled, 1));
    assert_eq!(done.failure.map(|(code, _)| code).as_deref(), Some(messages::CANCELLED.0));
    assert_eq!(bed.rows_of("Shop", None), [row(1)]);
    assert_eq!(kind(bed.cancel(&begun.arn)).0, ErrorKind::Validation);
    bed.bulk_put("Shop");
}

#[test]
fn a_deleted_table_ends_its_bulk_put_and_a_new_one_of_the_name_gets_nothing() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    let begun = bed.bulk_put("Shop");
    bed.note_objects(1);
    let (job, lane) = (bed.job(), bed.lane(0));
    bed.delete("Shop").expect("it is there");
    bed.settle();
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.settle();
    let step = block_on(bed.engine.bulk_put(&job, &lane, &[piece((0, 0), record(row(1)))]));
    let BulkPutStep::Failed { code, message } = step.expect("it is refused") else { panic!("it is refused") };
    assert_eq!((code, message.as_str()), (messages::TABLE_DELETED, messages::deleted("Shop").as_str()));
    block_on(bed.engine.fail_job(&bed.job(), code, &message)).expect("it is noted");
    let done = bed.bulk_operation(&begun.arn);
    assert_eq!((done.status, done.failure), (BulkOperationStatus::Failed, Some((code.to_owned(), message))));
    assert!(bed.rows_of("Shop", None).is_empty());
    assert!(block_on(bed.engine.object_jobs()).expect("they are listed").is_empty());
}

#[test]
fn one_that_is_cancelled_while_others_are_at_work_is_given_to_end_at_once() {
    let bed = bed();
    let threads = EngineConfig::default().job_threads;
    let names: Vec<String> = (0..threads + 2).map(|number| format!("Shop{number}")).collect();
    let begun: Vec<BulkOperationDescription> = names
        .iter()
        .map(|name| {
            bed.create(creation(name, schema())).expect("it is new");
            bed.pass(1);
            bed.bulk_put(name)
        })
        .collect();
    let tables = || {
        let jobs = block_on(bed.engine.object_jobs()).expect("they are listed");
        jobs.into_iter().map(|job| job.table).collect::<Vec<_>>()
    };
    assert_eq!(tables(), names[..threads]);
    bed.cancel(&begun[threads + 1].arn).expect("it is at work");
    let mut expected = names[..threads].to_vec();
    expected.push(names[threads + 1].clone());
    assert_eq!(tables(), expected);
}
