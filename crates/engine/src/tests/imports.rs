//! Imports, with a caller that has the records in memory: the table and its indexes are those of puts in the
//! same order, also if single commits fail or have an unknown outcome.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::request::imports::import_of_arn;
use keywright_semantics::request::parts::{
    ImportTableParts, InputFormat, S3BucketSourceParts, TableCreationParametersParts,
};
use keywright_semantics::request::{
    DescribeImport, FileRecord, Fingerprint, ImportTable, ListImports, Request,
};
use keywright_semantics::response::{ImportDescription, ImportStatus, Response, TableStatus};
use keywright_semantics::value::Item;
use keywright_store::Store;

use super::backups::bed_with;
use super::flaky_store::Fate::{self, Conflict, TooLarge, UnknownLost, UnknownWritten};
use super::flaky_store::FlakyStore;
use super::harness::*;
use super::tables::{Bed, creation, open};
use crate::support::layout::Space;
use crate::{Broken, EngineConfig, ObjectJob, ObjectWork, Piece, Read};

const STORIES: [&[Fate]; 6] = [
    &[],
    &[Conflict, Conflict],
    &[UnknownWritten],
    &[UnknownLost, UnknownWritten],
    &[UnknownLost, Conflict, UnknownLost],
    &[TooLarge, TooLarge, UnknownWritten],
];
const RECORDS: u64 = 700;

/// An import into a table with both kinds of indexes.
fn begin<S: Store>(bed: &Bed<S>, table: &str) -> ImportDescription {
    let request = ImportTable {
        parts: ImportTableParts {
            client_token: None,
            s3_bucket_source: S3BucketSourceParts::default(),
            input_format: InputFormat::DynamodbJson,
            input_format_options: None,
            input_compression_type: None,
            table_creation_parameters: TableCreationParametersParts::default(),
        },
        creation: creation(table, schema()),
        fingerprint: Fingerprint([0; 32]),
    };
    match block_on(bed.engine.execute(&caller(), Request::ImportTable(Box::new(request)))) {
        Ok(Response::ImportTable(import)) => *import,
        other => panic!("{other:?}"),
    }
}

fn job<S: Store>(bed: &Bed<S>) -> ObjectJob {
    let mut jobs = block_on(bed.engine.object_jobs()).expect("they are listed");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
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
    if !number.is_multiple_of(4) {
        row.insert("h".into(), n(i64::try_from(number % 3).expect("it is small")));
        row.insert("m".into(), digit(2));
    }
    row
}

fn piece(number: u64, read: Read) -> Piece {
    Piece { object: 0, key: "in/0".into(), record: number, read }
}

/// Reads the one object, each batch under the next story, and ends the import.
fn read_all(bed: &Bed<FlakyStore>, store: &FlakyStore) {
    let listed = [(Bytes::from_static(b"in/0"), 9)];
    block_on(bed.engine.note_listed(&job(bed), (0, &listed), true))
        .expect("it is noted")
        .expect("it is the job");
    for (number, story) in (0..RECORDS).step_by(100).zip(STORIES.into_iter().cycle()) {
        let pieces: Vec<Piece> = (number..number + 100)
            .map(|number| {
                piece(number, Read::Record(Box::new(FileRecord { item: row(number), condition: None })))
            })
            .collect();
        store.next(story);
        let before = job(bed);
        block_on(bed.engine.import(&before, &pieces)).expect("it is settled").expect("it is the job");
        assert_eq!(block_on(bed.engine.import(&before, &pieces)).expect("it is refused"), None, "{story:?}");
    }
    let end = piece(RECORDS, Read::End { bytes: 9, broken: Some(Broken::Object("cut".to_owned())) });
    let after = block_on(bed.engine.import(&job(bed), &[end])).expect("it is noted").expect("it is the job");
    let ObjectWork::Import { from, objects, .. } = after.work else { panic!("{after:?}") };
    assert_eq!((from, objects), ((1, 0), Some(1)));
    assert!(block_on(bed.engine.end_import(&after)).expect("it is noted"));
}

#[test]
fn a_table_is_that_of_puts_in_the_order_of_the_records_also_if_commits_fail() {
    let store = FlakyStore::default();
    let bed = open(store.clone(), EngineConfig::default());
    let begun = begin(&bed, "Shop");
    read_all(&bed, &store);
    store.calm();
    bed.settle();
    let reference = bed_with(EngineConfig::default());
    reference.create(creation("Shop", schema())).expect("it is new");
    (0..RECORDS).for_each(|number| reference.put("Shop", row(number)));
    bed.contents("Shop").assert_eq(&reference.contents("Shop"), "");
    let ended = match block_on(bed.engine.import_errors(&namespace(), &begun.import_arn)) {
        Ok(errors) => errors,
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!((ended.count, ended.kept.len()), (1, 1));
    assert_eq!((ended.kept[0].record, ended.kept[0].text.as_str()), (None, "cut"));
    assert_eq!(begun.status, ImportStatus::InProgress);
}

#[test]
fn a_client_that_is_shown_the_end_of_an_import_may_use_the_table() {
    let shown: [&dyn Fn(&ImportDescription) -> Request; 2] = [
        &|begun| {
            let import = import_of_arn(&begun.import_arn).expect("it is an import's");
            Request::DescribeImport(DescribeImport { import })
        },
        &|_| Request::ListImports(Box::new(ListImports { table: None, limit: 25, token: None })),
    ];
    for ask in shown {
        let store = FlakyStore::default();
        let bed = open(store.clone(), EngineConfig::default());
        let begun = begin(&bed, "Shop");
        // Its copy of the table stays as it is here, as one's own does until the commit of the end returns.
        let behind = open(store.clone(), EngineConfig::default());
        read_all(&bed, &store);
        store.calm();
        bed.settle();
        let status = || behind.describe("Shop").expect("it is there").table_status;
        assert_eq!(status(), TableStatus::Creating, "its copy is older than the end");
        behind.run(ask(&begun)).expect("it is shown");
        assert_eq!(status(), TableStatus::Active);
        behind.put("Shop", row(1));
    }
}

#[test]
fn an_import_whose_objects_cannot_be_read_takes_its_table_with_it() {
    let store = FlakyStore::default();
    let bed = open(store, EngineConfig::default());
    begin(&bed, "Shop");
    block_on(bed.engine.fail_job(&job(&bed), "S3NoSuchBucket", "there is none")).expect("it is noted");
    bed.settle();
    assert!(bed.describe("Shop").is_err());
    assert!(block_on(bed.engine.object_jobs()).expect("they are listed").is_empty());
    begin(&bed, "Shop");
}

/// Rows with errors of an import, of which each commit of one error makes one.
const ERROR_ROWS: u64 = 700;
const DAY_MS: u64 = 86_400_000;
const HOUR_MS: u64 = 3_600_000;

#[test]
fn errors_of_an_old_import_go_in_bounded_commits_and_its_row_with_the_last_of_them() {
    let store = FlakyStore::default();
    let bed = open(store.clone(), EngineConfig::default());
    begin(&bed, "Shop");
    let listed = [(Bytes::from_static(b"in/0"), 9)];
    block_on(bed.engine.note_listed(&job(&bed), (0, &listed), true)).expect("it is noted");
    for number in 0..ERROR_ROWS {
        let error = piece(number, Read::Invalid("no key".to_owned()));
        block_on(bed.engine.import(&job(&bed), &[error])).expect("it is noted").expect("it is the job");
    }
    let end = piece(ERROR_ROWS, Read::End { bytes: 9, broken: None });
    let after = block_on(bed.engine.import(&job(&bed), &[end])).expect("it is noted").expect("it is the job");
    assert!(block_on(bed.engine.end_import(&after)).expect("it is noted"));
    bed.settle();
    let jobs = || block_on(bed.engine.jobs(Some(&namespace()), 10)).expect("they are listed").len();
    let rows = || u64::try_from(bed.rows_in(Space::Jobs)).expect("few");
    assert_eq!(jobs(), 1);
    let before = rows();
    assert!(before > ERROR_ROWS, "each error has a row: {before}");
    let now_ms = bed.env.now_ms.fetch_add(36 * DAY_MS, Ordering::Relaxed) + 36 * DAY_MS;
    let step = |now_ms| {
        let _wake = block_on(crate::jobs::step(&bed.engine, now_ms)).expect("the store answers");
    };
    step(now_ms);
    let left = rows();
    assert!(left < before && before - left <= 500, "{before} rows became {left}");
    assert_eq!(jobs(), 1, "its row leads to the errors that are left");
    // A commit that is lost is made again by a later look.
    store.next(&[UnknownLost]);
    (1..=3).for_each(|hours| step(now_ms + hours * HOUR_MS));
    assert_eq!((jobs(), rows()), (0, before - ERROR_ROWS - 1));
}
