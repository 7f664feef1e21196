//! Backups, continuous backups and restores: what they answer, what they keep, and what they refuse.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::create_table::{EncryptionKey, NewIndex};
use keywright_semantics::request::parts::{BackupTypeFilter, BillingMode, StreamViewType, TableClass};
use keywright_semantics::request::time_to_live::{DescribeTimeToLive, TtlChange, UpdateTimeToLive};
use keywright_semantics::request::transact_write_items::{TransactAction, TransactWrite};
use keywright_semantics::request::update_table::EncryptionChange;
use keywright_semantics::request::{
    ArnScope, BackupArn, CreateBackup, CreateTable, DeleteBackup, DescribeBackup, DescribeContinuousBackups,
    IndexOverride, ListBackups, ListTagsOfResource, OnDemandThroughput, RecoveryChange, Request, ResourceRef,
    RestoreOverrides, RestoreTableFromBackup, RestoreTableToPointInTime, RestoreTime, TagResource,
    Throughput, UpdateContinuousBackups,
};
use keywright_semantics::response::{
    BackupDescription, BackupDetails, BackupStatus, BackupSummary, BackupType, RecoveryWindow, Response,
    SourceTableFeatureDetails, TableDescription, TableStatus,
};
use keywright_semantics::schema::Projection;
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;
use keywright_store::{Direction, Scan, Snapshot, Store};

use super::flaky_store::FlakyStore;
use super::harness::*;
use super::tables::{Bed, creation, kind, named, nothing, open, plain};
use super::transactions::{act, transaction};
use crate::support::env::{AccountId, Caller, Env, Namespace, Region};
use crate::support::layout::{Space, prefix_range};
use crate::{BackupWish, DueBackup, EngineConfig, JobKind, JobState};

pub(super) const START_MS: u64 = 1_800_000_000_000;
const DAY_MS: u64 = 86_400_000;

/// An engine at a time of this century.
pub(super) fn bed() -> Bed<MemoryStore> {
    bed_with(EngineConfig::default())
}

pub(super) fn bed_with(config: EngineConfig) -> Bed<MemoryStore> {
    reopen(MemoryStore::new(), config, START_MS)
}

pub(super) fn reopen<S: Store>(store: S, config: EngineConfig, now_ms: u64) -> Bed<S> {
    let bed = open(store, config);
    bed.env.now_ms.store(now_ms, Ordering::Relaxed);
    bed
}

/// A row that is in all indexes of the test's schema.
pub(super) fn full_row(number: i64) -> Item {
    let text = |prefix: &str, of: i64| s(&format!("{prefix}{of}"));
    item([
        ("pk", text("p", number % 7)),
        ("sk", text("s", number)),
        ("l", text("l", number % 5)),
        ("g", text("g", number % 3)),
        ("m", s("m")),
        ("h", n(number)),
        ("x", text("x", number)),
    ])
}

/// All that clients can read of a table: items and entries, with their counts.
#[derive(Debug, PartialEq)]
pub(super) struct Contents {
    items: Vec<Item>,
    pub(super) item_count: u64,
    bytes: u64,
    entries: Vec<(u64, u64, Vec<Item>)>,
}

impl Contents {
    /// Checks that both are equal, and says in short what is not.
    pub(super) fn assert_eq(&self, expected: &Self, story: &str) {
        let counts = |contents: &Self| {
            let entries =
                contents.entries.iter().map(|(count, bytes, _)| (*count, *bytes)).collect::<Vec<_>>();
            (contents.item_count, contents.bytes, entries)
        };
        assert_eq!(counts(self), counts(expected), "{story}");
        let first = |own: &[Item], others: &[Item]| {
            assert_eq!(own.len(), others.len(), "{story}");
            if let Some((own, other)) = own.iter().zip(others).find(|(own, other)| own != other) {
                assert_eq!(own, other, "{story}");
            }
        };
        first(&self.items, &expected.items);
        self.entries.iter().zip(&expected.entries).for_each(|(own, other)| first(&own.2, &other.2));
    }
}

impl<S: Store> Bed<S> {
    pub(super) fn pass(&self, ms: u64) {
        self.env.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    pub(super) fn turn_on_recovery(&self, table: &str) {
        self.set_recovery(table, RecoveryChange::Enable { period_days: None }).expect("it may be turned on");
    }

    fn set_recovery(&self, table: &str, change: RecoveryChange) -> Result<Option<RecoveryWindow>, Error> {
        let request = UpdateContinuousBackups { table: named(table), change };
        match self.run(Request::UpdateContinuousBackups(request))? {
            Response::UpdateContinuousBackups(description) => Ok(description.recovery),
            other => panic!("{other:?}"),
        }
    }

    fn recovery(&self, table: &str) -> Result<Option<RecoveryWindow>, Error> {
        let request = DescribeContinuousBackups { table: named(table) };
        match self.run(Request::DescribeContinuousBackups(request))? {
            Response::DescribeContinuousBackups(description) => Ok(description.recovery),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn back_up(&self, table: &str) -> BackupDetails {
        self.try_back_up(table).expect("it may be backed up")
    }

    fn try_back_up(&self, table: &str) -> Result<BackupDetails, Error> {
        let request = CreateBackup { table: named(table), name: "nightly".to_owned() };
        match self.run(Request::CreateBackup(request))? {
            Response::CreateBackup(details) => Ok(*details),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn describe_backup(&self, arn: &str) -> Result<BackupDescription, Error> {
        match self.run(Request::DescribeBackup(DescribeBackup { backup: BackupArn::parse(arn)? }))? {
            Response::DescribeBackup(description) => Ok(*description),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn delete_backup(&self, arn: &str) -> Result<BackupDescription, Error> {
        match self.run(Request::DeleteBackup(DeleteBackup { backup: BackupArn::parse(arn)? }))? {
            Response::DeleteBackup(description) => Ok(*description),
            other => panic!("{other:?}"),
        }
    }

    fn list(&self, request: ListBackups) -> (Vec<BackupSummary>, Option<String>) {
        match self.run(Request::ListBackups(Box::new(request))).expect("backups are listed") {
            Response::ListBackups(page) => (page.summaries, page.last_evaluated_backup_arn),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn try_restore(&self, arn: &str, target: &str) -> Result<TableDescription, Error> {
        self.restore_with(arn, target, RestoreOverrides::default())
    }

    fn restore_with(
        &self,
        arn: &str,
        target: &str,
        overrides: RestoreOverrides,
    ) -> Result<TableDescription, Error> {
        let backup = BackupArn::parse(arn)?;
        let request = RestoreTableFromBackup { target: target.to_owned(), backup, overrides };
        match self.run(Request::RestoreTableFromBackup(Box::new(request)))? {
            Response::RestoreTableFromBackup(description) => Ok(*description),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn restore_to(
        &self,
        source: &str,
        target: &str,
        time: RestoreTime,
    ) -> Result<TableDescription, Error> {
        let (source, target) = (named(source), target.to_owned());
        let overrides = RestoreOverrides::default();
        let request = RestoreTableToPointInTime { source, target, time, overrides };
        match self.run(Request::RestoreTableToPointInTime(Box::new(request)))? {
            Response::RestoreTableToPointInTime(description) => Ok(*description),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn rows_of(&self, table: &str, index: Option<&str>) -> Vec<Item> {
        let mut request = scan_request(index);
        request.table = named(table);
        let mut rows = Vec::new();
        loop {
            let Ok(Response::Scan(page)) = self.run(Request::Scan(Box::new(request.clone()))) else {
                panic!("table {table} cannot be read")
            };
            rows.extend(items(&page));
            match page.last_evaluated_key {
                Some(key) => request.exclusive_start_key = Some(key.decode()),
                None => return rows,
            }
        }
    }

    pub(super) fn contents(&self, table: &str) -> Contents {
        let described = self.describe(table).expect("it is there");
        let locals = described.local_secondary_indexes.unwrap_or_default();
        let globals = described.global_secondary_indexes.unwrap_or_default();
        let locals = locals.iter().map(|index| (&index.index_name, index.item_count, index.index_size_bytes));
        let globals =
            globals.iter().map(|index| (&index.index_name, index.item_count, index.index_size_bytes));
        let entries = locals.chain(globals);
        Contents {
            items: self.rows_of(table, None),
            item_count: described.item_count,
            bytes: described.table_size_bytes,
            entries: entries
                .map(|(name, count, bytes)| (count, bytes, self.rows_of(table, Some(name))))
                .collect(),
        }
    }

    /// Every key of a space.
    pub(super) fn rows_in(&self, space: Space) -> usize {
        let range = prefix_range(vec![space.byte()]);
        let scan = Scan { range, direction: Direction::Forward, rows_max: usize::MAX, bytes_max: usize::MAX };
        let page =
            block_on(async { self.engine.store().snapshot().await.expect("a view").scan(&scan).await });
        page.expect("a scan").entries.len()
    }

    pub(super) fn job_states(&self) -> Vec<(JobKind, JobState)> {
        let jobs = block_on(self.engine.jobs(None, usize::MAX)).expect("jobs are listed");
        jobs.into_iter().map(|job| (job.kind, job.state)).collect()
    }
}

fn everything(limit: usize) -> ListBackups {
    ListBackups {
        table: None,
        limit,
        created_from_ms: None,
        created_before_ms: None,
        exclusive_start: None,
        backup_type: BackupTypeFilter::All,
    }
}

/// A table with all that a table can have.
fn rich(name: &str) -> CreateTable {
    let units = Some(Throughput { read_units: 7, write_units: 8 });
    let mut request = creation(name, schema());
    request.definitions = ["pk", "sk", "l", "g", "m"]
        .into_iter()
        .map(|name| attribute(name, keywright_semantics::schema::KeyType::S))
        .chain([attribute("h", keywright_semantics::schema::KeyType::N)])
        .collect();
    request.billing = BillingMode::Provisioned;
    request.throughput = units;
    for index in request.indexes.iter_mut().skip(1) {
        index.throughput = units;
    }
    request.stream = Some(StreamViewType::NewImage);
    request.class = Some(TableClass::StandardInfrequentAccess);
    request.encryption = Some(EncryptionKey::named("alias/mine".to_owned()));
    request.tags.insert("team".to_owned(), "blue".to_owned());
    request
}

#[test]
fn a_backup_outlives_its_table_and_a_restored_table_has_items_indexes_and_capacity_but_no_other_setting() {
    let bed = bed();
    bed.create(rich("Shop")).expect("it is new");
    let ttl = |change| {
        Request::UpdateTimeToLive(UpdateTimeToLive { table: named("Shop"), attribute: "due".into(), change })
    };
    bed.run(ttl(TtlChange::Enable)).expect("it is off");
    (0..700).for_each(|number| bed.put("Shop", full_row(number)));
    let before = bed.contents("Shop");
    let backup = bed.back_up("Shop");
    assert_eq!((backup.status, backup.backup_type), (BackupStatus::Creating, BackupType::User));
    let described = bed.describe_backup(&backup.backup_arn).expect("it is there");
    assert_eq!(described.details, BackupDetails { status: BackupStatus::Available, ..backup.clone() });
    assert_eq!((described.source.item_count, described.source.throughput.write_units), (700, 8));
    let features = &described.features;
    assert!(features.stream.is_some() && features.time_to_live.is_some() && features.sse.is_some());
    let globals = features.global_indexes.as_ref().map(|indexes| indexes[0].throughput);
    assert_eq!(globals, Some(Throughput { read_units: 7, write_units: 8 }));
    (0..700).for_each(|number| bed.put("Shop", item([("pk", s("p1")), ("sk", n_text(number))])));
    bed.delete("Shop").expect("it is there");
    bed.settle();
    let restoring = bed.try_restore(&backup.backup_arn, "Again").expect("it is available");
    assert_eq!(restoring.table_status, TableStatus::Creating);
    let summary = restoring.restore_summary.expect("it is being restored");
    assert_eq!(summary.source_backup_arn.as_ref(), Some(&backup.backup_arn));
    bed.settle();
    bed.contents("Again").assert_eq(&before, "");
    let again = bed.describe("Again").expect("it is there");
    assert_eq!((again.table_status, again.restore_summary), (TableStatus::Active, None));
    assert_eq!(again.provisioned_throughput.map(|units| units.write_capacity_units), Some(8));
    assert!(again.sse_description.is_some(), "the key is the source's");
    assert_eq!((again.stream_specification, again.latest_stream_arn), (None, None));
    assert_eq!(again.table_class_summary, None);
    assert_eq!(bed.recovery("Again").expect("it is there"), None);
    let tags = Request::ListTagsOfResource(ListTagsOfResource { resource: resource("Again") });
    let Ok(Response::ListTagsOfResource(tags)) = bed.run(tags) else { panic!("it is there") };
    assert!(tags.tags.is_empty());
    assert_eq!(bed.job_states(), [(JobKind::Restore, JobState::Completed)]);
}

fn n_text(number: i64) -> keywright_semantics::value::AttributeValue {
    s(&format!("later-{number}"))
}

fn resource(table: &str) -> ResourceRef {
    let scope = ArnScope { region: "us-east-1".to_owned(), account: "000000000000".to_owned() };
    let arn = format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}");
    ResourceRef { arn, table: table.to_owned(), scope }
}

#[test]
fn three_backups_of_one_name_have_three_arns_and_each_has_what_was_answered_before_it() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let arns: Vec<String> = (0..3)
        .map(|number| {
            bed.put("Shop", item([("pk", s(&number.to_string()))]));
            bed.back_up("Shop").backup_arn
        })
        .collect();
    for (number, arn) in (1..).zip(&arns) {
        let target = format!("Copy{number}");
        bed.try_restore(arn, &target).expect("it is available");
        bed.settle();
        assert_eq!(bed.rows_of(&target, None).len(), number);
    }
}

#[test]
fn backups_are_listed_by_table_time_and_type_in_pages_whose_cursor_may_be_gone() {
    let bed = bed();
    for table in ["One", "Two"] {
        bed.create(creation(table, plain())).expect("it is new");
    }
    let mut arns = Vec::new();
    for table in ["One", "Two", "One"] {
        arns.push(bed.back_up(table).backup_arn);
        bed.pass(1_000);
    }
    let listed = |request: ListBackups| -> Vec<String> {
        bed.list(request).0.into_iter().map(|summary| summary.details.backup_arn).collect()
    };
    assert_eq!(listed(everything(100)), arns);
    let of_one = ListBackups { table: Some(named("One")), ..everything(100) };
    assert_eq!(listed(of_one), [arns[0].clone(), arns[2].clone()]);
    assert!(listed(ListBackups { table: Some(named("None")), ..everything(100) }).is_empty());
    let in_time = ListBackups {
        created_from_ms: Some(START_MS + 1_000),
        created_before_ms: Some(START_MS + 2_000),
        ..everything(100)
    };
    assert_eq!(listed(in_time), [arns[1].clone()]);
    let of_system = ListBackups { backup_type: BackupTypeFilter::System, ..everything(100) };
    assert!(listed(of_system).is_empty());
    let (page, cursor) = bed.list(everything(2));
    assert_eq!((page.len(), cursor.as_ref()), (2, Some(&arns[1])));
    assert_eq!(bed.list(everything(3)).1, None, "as many as the limit, and no more");
    bed.delete_backup(&arns[1]).expect("it is there");
    let after = cursor.map(|arn| BackupArn::parse(&arn).expect("an ARN"));
    assert_eq!(listed(ListBackups { exclusive_start: after, ..everything(2) }), [arns[2].clone()]);
    // A new table of the name has an id of its own.
    bed.delete("One").expect("it is there");
    bed.settle();
    let new = bed.create(creation("One", plain())).expect("the name is free");
    let listed = bed.list(everything(100)).0;
    assert!(listed.iter().all(|summary| summary.table_id != new.table_id), "{listed:?}");
}

#[test]
fn a_deleted_backup_is_gone_at_once_and_lets_its_history_go() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.put("Shop", item([("pk", s("a"))]));
    let arn = bed.back_up("Shop").backup_arn;
    bed.put("Shop", item([("pk", s("b"))]));
    assert_eq!(bed.rows_in(Space::History), 1);
    let deleted = bed.delete_backup(&arn).expect("it is there");
    assert_eq!(deleted.details.status, BackupStatus::Deleted);
    let not_found = (ErrorKind::BackupNotFound, format!("Backup not found: {arn}"));
    assert_eq!(kind(bed.describe_backup(&arn)), not_found);
    assert_eq!(kind(bed.delete_backup(&arn)), not_found);
    assert_eq!(kind(bed.try_restore(&arn, "Copy")), not_found);
    bed.settle();
    assert_eq!(bed.rows_in(Space::History), 0);
}

#[test]
fn a_backup_of_another_account_or_region_is_refused() {
    let bed = bed();
    let arn = |region: &str, account: &str| {
        format!("arn:aws:dynamodb:{region}:{account}:table/Shop/backup/01800000000000-0000000a")
    };
    let denied = (ErrorKind::AccessDenied, "Access is denied".to_owned());
    assert_eq!(kind(bed.describe_backup(&arn("us-east-1", "111111111111"))), denied);
    let not_valid = (ErrorKind::Validation, "Invalid Request: BackupArn is not valid".to_owned());
    assert_eq!(kind(bed.describe_backup(&arn("mars-east-1", "000000000000"))), not_valid);
    assert_eq!(kind(bed.delete_backup(&arn("mars-east-1", "000000000000"))), not_valid);
    let start = BackupArn::parse(&arn("eu-west-1", "000000000000")).expect("an ARN");
    let request = ListBackups { exclusive_start: Some(start), ..everything(10) };
    assert_eq!(
        kind(bed.run(Request::ListBackups(Box::new(request)))),
        (
            ErrorKind::Validation,
            "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region".to_owned()
        )
    );
}

#[test]
fn tables_that_are_missing_or_being_created_have_no_backups() {
    let bed = bed_with(EngineConfig { transition_ms: 1_000, ..EngineConfig::default() });
    let not_found = (ErrorKind::TableNotFound, "Table not found: Shop".to_owned());
    let check = || {
        assert_eq!(kind(bed.try_back_up("Shop")), not_found);
        assert_eq!(kind(bed.recovery("Shop")), not_found);
        assert_eq!(kind(bed.set_recovery("Shop", RecoveryChange::Disable)), not_found);
        assert_eq!(kind(bed.restore_to("Shop", "Copy", RestoreTime::Latest)), not_found);
    };
    check();
    bed.create(creation("Shop", plain())).expect("it is new");
    check();
    bed.pass(1_000);
    bed.settle();
    bed.back_up("Shop");
    bed.delete("Shop").expect("it is there");
    // Its name is still there.
    let arn = bed.back_up("Shop").backup_arn;
    bed.pass(1_000);
    bed.settle();
    check();
    bed.try_restore(&arn, "Copy").expect("it is available");
}

#[test]
fn a_table_that_is_being_restored_is_described_and_nothing_else() {
    let bed = bed_with(EngineConfig { transition_ms: 1_000, ..EngineConfig::default() });
    for table in ["Shop", "Other"] {
        bed.create(creation(table, plain())).expect("it is new");
    }
    bed.pass(1_000);
    bed.settle();
    bed.put("Shop", item([("pk", s("a"))]));
    bed.turn_on_recovery("Shop");
    let arn = bed.back_up("Shop").backup_arn;
    bed.try_restore(&arn, "Copy").expect("it is available");
    bed.settle();
    let described = bed.describe("Copy").expect("it is being restored");
    assert_eq!(described.table_status, TableStatus::Creating);
    let summary = described.restore_summary.expect("it is being restored");
    assert_eq!(summary.source_table_arn, "arn:aws:dynamodb:us-east-1:000000000000:table/Shop");
    let no_resource =
        (ErrorKind::ResourceNotFound, "Requested resource not found: Table: Copy not found".to_owned());
    let mut update = nothing("Copy");
    update.deletion_protection = Some(true);
    assert_eq!(kind(bed.update(update)), no_resource);
    let ttl = UpdateTimeToLive { table: named("Copy"), attribute: "due".into(), change: TtlChange::Enable };
    assert_eq!(kind(bed.run(Request::UpdateTimeToLive(ttl))), no_resource);
    let ttl = DescribeTimeToLive { table: named("Copy") };
    assert_eq!(kind(bed.run(Request::DescribeTimeToLive(ttl))), no_resource);
    let tag = TagResource { resource: resource("Copy"), tags: [("a".to_owned(), "b".to_owned())].into() };
    assert_eq!(kind(bed.run(Request::TagResource(tag))), no_resource);
    let no_table = (ErrorKind::TableNotFound, "Table not found: Copy".to_owned());
    assert_eq!(kind(bed.try_back_up("Copy")), no_table);
    assert_eq!(kind(bed.recovery("Copy")), no_table);
    let used = (ErrorKind::ResourceInUse, "Table is being used: Copy".to_owned());
    assert_eq!(kind(bed.create(creation("Copy", plain()))), used);
    assert_eq!(kind(bed.delete("Copy")), used);
    let already = format!("Table: Copy is already being restored from backup: {arn}");
    assert_eq!(kind(bed.try_restore(&arn, "Copy")), (ErrorKind::TableInUse, already.clone()));
    assert_eq!(kind(bed.restore_to("Shop", "Copy", RestoreTime::Latest)), (ErrorKind::TableInUse, already));
    let in_use = format!("Backup is being used to restore another table: {arn}");
    assert_eq!(kind(bed.try_restore(&arn, "Copy2")), (ErrorKind::BackupInUse, in_use));
    let in_use = format!("Backup is being used to restore table: {arn}");
    assert_eq!(kind(bed.delete_backup(&arn)), (ErrorKind::BackupInUse, in_use));
    for existing in ["Shop", "Other"] {
        let exists = (ErrorKind::TableAlreadyExists, format!("Table already exists: {existing}"));
        assert_eq!(kind(bed.try_restore(&arn, existing)), exists);
        assert_eq!(kind(bed.restore_to("Shop", existing, RestoreTime::Latest)), exists);
    }
    bed.pass(1_000);
    bed.settle();
    let described = bed.describe("Copy").expect("it is there");
    assert_eq!((described.table_status, described.restore_summary), (TableStatus::Active, None));
    bed.delete("Other").expect("it is there");
    assert_eq!(kind(bed.try_restore(&arn, "Other")).0, ErrorKind::TableAlreadyExists, "while it is DELETING");
    bed.try_restore(&arn, "Copy2").expect("it is free again");
}

#[test]
fn fifty_restores_run_and_the_next_is_refused() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..100).for_each(|number| bed.put("Shop", full_row(number)));
    bed.turn_on_recovery("Shop");
    for number in 0..50 {
        bed.restore_to("Shop", &format!("Copy{number}"), RestoreTime::Latest).expect("it is on");
    }
    let text = "Subscriber limit exceeded: Only 50 restore operations can be done simultaneously";
    let refused = kind(bed.restore_to("Shop", "Copy50", RestoreTime::Latest));
    assert_eq!(refused, (ErrorKind::LimitExceeded, text.to_owned()));
    let waiting = |state: &JobState| *state == JobState::Waiting;
    bed.step();
    let states = bed.job_states();
    assert_eq!(states.iter().filter(|(_, state)| waiting(state)).count(), 48, "two are worked on at a time");
    bed.settle();
    let source = bed.contents("Shop");
    for number in 0..50 {
        bed.contents(&format!("Copy{number}")).assert_eq(&source, "");
    }
    bed.restore_to("Shop", "Copy50", RestoreTime::Latest).expect("they have ended");
}

#[test]
fn recovery_has_a_window_whose_ends_are_whole_seconds() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    assert_eq!(bed.recovery("Shop").expect("it is there"), None);
    bed.pass(1_234);
    let window = |bed: &Bed<MemoryStore>| {
        let window = bed.recovery("Shop").expect("it is there").expect("it is on");
        (window.earliest.0, window.latest.0, window.period_days)
    };
    bed.turn_on_recovery("Shop");
    let enabled = START_MS / 1_000 + 1;
    assert_eq!(window(&bed), (enabled, enabled, 35));
    bed.restore_to("Shop", "First", RestoreTime::Latest).expect("it works right after");
    bed.pass(10 * DAY_MS);
    bed.set_recovery("Shop", RecoveryChange::Enable { period_days: Some(1) }).expect("it is on");
    let day = DAY_MS / 1_000;
    assert_eq!(window(&bed), (enabled + 9 * day, enabled + 10 * day, 1));
    bed.settle();
    bed.set_recovery("Shop", RecoveryChange::Enable { period_days: Some(35) }).expect("it is on");
    assert_eq!(window(&bed).0, enabled + 9 * day, "what was given up does not come back");
    bed.set_recovery("Shop", RecoveryChange::Enable { period_days: Some(7) }).expect("it is on");
    bed.turn_on_recovery("Shop");
    assert_eq!(window(&bed).2, 7, "a repeated request changes nothing");
    bed.set_recovery("Shop", RecoveryChange::Disable).expect("it is on");
    assert_eq!(bed.recovery("Shop").expect("it is there"), None);
    bed.pass(1_000);
    bed.turn_on_recovery("Shop");
    assert_eq!(window(&bed), (enabled + 10 * day + 1, enabled + 10 * day + 1, 35));
}

#[test]
fn a_time_outside_the_window_is_refused_with_its_ends() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let off = "Point in time recovery is not enabled for table 'Shop'".to_owned();
    assert_eq!(
        kind(bed.restore_to("Shop", "Copy", RestoreTime::Latest)),
        (ErrorKind::PointInTimeRecoveryUnavailable, off)
    );
    bed.turn_on_recovery("Shop");
    bed.pass(5_000);
    for ms in [START_MS - 1_000, START_MS + 6_000] {
        let (kind, text) = kind(bed.restore_to("Shop", "Copy", RestoreTime::At(ms)));
        assert_eq!(kind, ErrorKind::InvalidRestoreTime);
        let ends = "must be within EarliestRestorableDateTime '2027-01-15T08:00:00Z' and \
                    LatestRestorableDateTime '2027-01-15T08:00:05Z'";
        assert!(text.starts_with("RestoreDateTime '2027-01-15T") && text.ends_with(ends), "{text}");
    }
    bed.pass(36 * DAY_MS);
    bed.settle();
    let old = kind(bed.restore_to("Shop", "Copy", RestoreTime::At(START_MS + 3_000)));
    assert_eq!(old.0, ErrorKind::InvalidRestoreTime);
    assert_eq!(bed.job_states(), []);
}

#[test]
fn a_restore_to_a_second_has_what_was_written_before_it() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    (0..600).for_each(|number| bed.put("Shop", full_row(number)));
    bed.turn_on_recovery("Shop");
    let mut expected = Vec::new();
    for round in 0..4 {
        expected.push((bed.env.now_ms() / 1_000 * 1_000, bed.contents("Shop")));
        for number in (round..600).step_by(7) {
            let mut row = full_row(number);
            row.insert("x".to_owned(), s(&format!("round {round}")));
            row.insert("l".to_owned(), s(&format!("l{round}")));
            bed.put("Shop", row);
            if number % 3 == 0 {
                let delete = delete_of("Shop", number + 1);
                bed.run(delete).expect("it is deleted");
            }
        }
        bed.pass(1_700);
    }
    for (place, (ms, contents)) in expected.iter().enumerate() {
        let target = format!("Copy{place}");
        bed.restore_to("Shop", &target, RestoreTime::At(*ms)).expect("it is within the window");
        bed.settle();
        bed.contents(&target).assert_eq(contents, &format!("as of {ms}"));
    }
}

pub(super) fn delete_of(table: &str, number: i64) -> Request {
    let row = full_row(number);
    let key = row.into_iter().filter(|(name, _)| name == "pk" || name == "sk").collect();
    let mut request = delete_request(key);
    request.table = named(table);
    Request::DeleteItem(Box::new(request))
}

#[test]
fn a_deleted_table_with_recovery_leaves_a_backup_of_the_system_for_35_days() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    bed.turn_on_recovery("Shop");
    (0..40).for_each(|number| bed.put("Shop", full_row(number)));
    let before = bed.contents("Shop");
    bed.delete("Shop").expect("it is there");
    bed.settle();
    assert_eq!(bed.list(ListBackups { backup_type: BackupTypeFilter::User, ..everything(10) }).0, []);
    let listed = bed.list(everything(10)).0;
    let [summary] = listed.as_slice() else { panic!("{listed:?}") };
    let details = &summary.details;
    assert_eq!(
        (details.backup_type, details.backup_name.as_str()),
        (BackupType::System, "Shop$DeletedTableBackup")
    );
    assert!(details.backup_arn.ends_with("-00000000"), "{}", details.backup_arn);
    assert_eq!(details.expires.map(|time| time.0), Some(START_MS + 35 * DAY_MS));
    let described = bed.describe_backup(&details.backup_arn).expect("it is there");
    assert_eq!(described.features, SourceTableFeatureDetails::default());
    let text = format!(
        "Invalid Request: User is not allowed to delete the system backup with arn {}. It will automatically \
         expire on 2027-02-19T08:00:00Z",
        details.backup_arn
    );
    assert_eq!(kind(bed.delete_backup(&details.backup_arn)), (ErrorKind::Validation, text));
    // A new table of the name has its own data, and leaves a backup of its own in the same millisecond.
    bed.create(creation("Shop", plain())).expect("the name is free");
    bed.turn_on_recovery("Shop");
    bed.put("Shop", item([("pk", s("new"))]));
    bed.delete("Shop").expect("it is there");
    assert_eq!(bed.list(everything(10)).0.len(), 2);
    bed.try_restore(&details.backup_arn, "Again").expect("it is available");
    bed.settle();
    bed.contents("Again").assert_eq(&before, "");
    bed.delete("Again").expect("it is there");
    bed.settle();
    assert!(bed.rows_in(Space::Items) >= 41, "the backups have their items");
    bed.pass(35 * DAY_MS - 1);
    bed.settle();
    assert_eq!(bed.list(everything(10)).0.len(), 2);
    bed.pass(2);
    bed.settle();
    assert_eq!(bed.list(everything(10)).0, []);
    let left = [Space::Items, Space::History, Space::IndexEntries].map(|space| bed.rows_in(space));
    assert_eq!(left, [0, 0, 0], "their disk is free");
}

#[test]
fn recovery_that_is_turned_off_while_the_table_is_deleted_leaves_no_backup() {
    let bed = bed_with(EngineConfig { transition_ms: 1_000, pitr_default: true, ..EngineConfig::default() });
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.pass(1_000);
    bed.settle();
    assert!(bed.recovery("Shop").expect("it is there").is_some(), "new tables have it");
    bed.delete("Shop").expect("it is there");
    assert_eq!(bed.list(everything(10)).0.len(), 1);
    bed.restore_to("Shop", "Copy", RestoreTime::Latest).expect("its name is still there");
    bed.set_recovery("Shop", RecoveryChange::Disable).expect("its name is still there");
    assert_eq!(bed.list(everything(10)).0, []);
    bed.pass(1_000);
    bed.settle();
    assert_eq!(bed.recovery("Copy").expect("it is there"), None, "a restored table does not have it");
    assert_eq!(bed.rows_in(Space::Items), 0);
}

fn index_override(name: &str, of: &NewIndex) -> IndexOverride {
    let names = |key: &[keywright_semantics::schema::KeyAttribute]| {
        key.iter().map(|attribute| attribute.name.clone()).collect()
    };
    IndexOverride {
        name: name.to_owned(),
        partition: names(&of.schema.key.partition),
        sort: names(&of.schema.key.sort),
        projection: of.schema.projection.clone(),
        throughput: None,
        on_demand: None,
        warm: None,
    }
}

#[test]
fn indexes_are_renamed_left_out_or_dropped_and_capacity_is_overridden() {
    let bed = bed();
    let request = rich("Shop");
    let (lsi, gsi) = (request.indexes[0].clone(), request.indexes[1].clone());
    bed.create(request).expect("it is new");
    (0..20).for_each(|number| bed.put("Shop", full_row(number)));
    let arn = bed.back_up("Shop").backup_arn;
    let entries = bed.rows_of("Shop", Some("gsi"));
    let names = |described: &TableDescription| -> Vec<String> {
        let globals = described.global_secondary_indexes.iter().flatten();
        let locals = described.local_secondary_indexes.iter().flatten();
        let locals = locals.map(|index| index.index_name.clone());
        locals.chain(globals.map(|index| index.index_name.clone())).collect()
    };
    let renamed = RestoreOverrides {
        global_indexes: Some(vec![index_override("other", &gsi)]),
        billing: Some(BillingMode::PayPerRequest),
        on_demand: Some(OnDemandThroughput { read_units_max: Some(5), write_units_max: None }),
        encryption: Some(EncryptionChange::ServiceKey),
        ..RestoreOverrides::default()
    };
    bed.restore_with(&arn, "Renamed", renamed).expect("it has this index");
    bed.settle();
    let described = bed.describe("Renamed").expect("it is there");
    assert_eq!(names(&described), ["lsi", "other"]);
    assert_eq!(bed.rows_of("Renamed", Some("other")), entries);
    assert!(described.sse_description.is_none());
    let index = &described.global_secondary_indexes.as_ref().expect("it has one")[0];
    assert_eq!(index.provisioned_throughput.read_capacity_units, 0);
    assert_eq!(described.on_demand_throughput.and_then(|limits| limits.max_read_request_units), Some(5));
    let dropped = RestoreOverrides {
        global_indexes: Some(Vec::new()),
        local_indexes: Some(Vec::new()),
        throughput: Some(Throughput { read_units: 3, write_units: 4 }),
        ..RestoreOverrides::default()
    };
    bed.restore_with(&arn, "Plain", dropped).expect("indexes may be dropped");
    bed.settle();
    let described = bed.describe("Plain").expect("it is there");
    assert!(names(&described).is_empty());
    assert_eq!(described.provisioned_throughput.map(|units| units.read_capacity_units), Some(3));
    assert_eq!(described.attribute_definitions.map(|definitions| definitions.len()), Some(2));
    let mut other = index_override("odd", &lsi);
    other.projection = Projection::All;
    let refused = RestoreOverrides { local_indexes: Some(vec![other]), ..RestoreOverrides::default() };
    let text = "Invalid Request: Index odd does not match a secondary index that existed in the source table \
                and cannot be created during the restore operation";
    assert_eq!(kind(bed.restore_with(&arn, "Odd", refused)), (ErrorKind::Validation, text.to_owned()));
    let unfit = RestoreOverrides {
        global_indexes: Some(vec![index_override("gsi", &gsi)]),
        ..RestoreOverrides::default()
    };
    let text = "Invalid Request: Must specify provisioned throughput for index gsi";
    assert_eq!(kind(bed.restore_with(&arn, "Odd", unfit)), (ErrorKind::Validation, text.to_owned()));
    bed.create(creation("OnDemand", plain())).expect("it is new");
    let arn = bed.back_up("OnDemand").backup_arn;
    let units = RestoreOverrides {
        throughput: Some(Throughput { read_units: 3, write_units: 4 }),
        ..RestoreOverrides::default()
    };
    let text = "Invalid Request: Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED";
    assert_eq!(kind(bed.restore_with(&arn, "Odd", units)), (ErrorKind::Validation, text.to_owned()));
    assert!(bed.describe("Odd").is_err(), "nothing was made");
}

#[test]
fn backups_of_several_tables_are_at_one_stamp() {
    let bed = bed();
    for table in ["One", "Two"] {
        bed.create(creation(table, plain())).expect("it is new");
    }
    let wish = |table: &str| crate::BackupWish {
        table: table.to_owned(),
        name: "both".to_owned(),
        expires_ms: Some(START_MS + 5_000),
    };
    let made =
        block_on(bed.engine.back_up(&namespace(), &[wish("One"), wish("Two")])).expect("both are there");
    assert_eq!(made.len(), 2);
    let stamps: Vec<_> = ["One", "Two"]
        .into_iter()
        .map(|table| {
            let table = bed.engine.catalogue().find(&namespace(), table).expect("it is there");
            table.history.holds()[0].stamp
        })
        .collect();
    assert_eq!(stamps[0], stamps[1]);
    assert_eq!(block_on(bed.engine.backups(&namespace())).expect("they are listed").len(), 2);
    bed.pass(5_001);
    bed.settle();
    assert!(block_on(bed.engine.backups(&namespace())).expect("they are listed").is_empty(), "they expire");
}

#[test]
fn another_account_sees_neither_backups_nor_jobs() {
    let bed = bed();
    bed.create(creation("Shop", plain())).expect("it is new");
    let arn = bed.back_up("Shop").backup_arn;
    bed.try_restore(&arn, "Copy").expect("it is available");
    let other = Namespace { account: AccountId::from("111111111111"), region: Region::from("us-east-1") };
    let list = Request::ListBackups(Box::new(everything(10)));
    let listed = block_on(bed.engine.execute(&Caller::account(other.clone()), list)).expect("it is answered");
    assert!(matches!(listed, Response::ListBackups(page) if page.summaries.is_empty()));
    assert!(block_on(bed.engine.jobs(Some(&other), 10)).expect("they are listed").is_empty());
    let own = block_on(bed.engine.jobs(Some(&namespace()), 10)).expect("they are listed");
    assert_eq!(block_on(bed.engine.job(&own[0].id)).expect("it is read").as_ref(), Some(&own[0]));
    bed.settle();
    bed.pass(35 * DAY_MS + 1);
    bed.settle();
    assert!(block_on(bed.engine.jobs(None, 10)).expect("they are listed").is_empty(), "kept for 35 days");
}

#[test]
fn a_backup_and_a_restore_cut_no_transaction() {
    let store = FlakyStore::default();
    let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
    for table in ["One", "Two"] {
        bed.create(creation(table, plain())).expect("it is new");
        bed.put(table, item([("pk", s("account")), ("units", n(100))]));
    }
    bed.turn_on_recovery("One");
    bed.turn_on_recovery("Two");
    let made = Arc::new(Mutex::new(Vec::new()));
    for round in 1..=20 {
        let wish = |table: &str| crate::BackupWish {
            table: table.to_owned(),
            name: "both".to_owned(),
            expires_ms: None,
        };
        let (engine, made) = (bed.engine.clone(), Arc::clone(&made));
        // The backup comes between the reads of the transaction and its commit.
        store.before_next_rows(move || {
            let both = block_on(engine.back_up(&namespace(), &[wish("One"), wish("Two")]));
            made.lock().expect("not poisoned").push(both.expect("both are there"));
        });
        let put = |table: &str, units: i64| {
            let row = item([("pk", s("account")), ("units", n(units))]);
            let put = act(TransactAction::Put { item: row });
            TransactWrite { table: named(table), ..put }
        };
        let transfer = transaction(vec![put("One", 100 - round), put("Two", 100 + round)]);
        bed.run(Request::TransactWriteItems(transfer)).expect("it is written");
    }
    bed.pass(1_000);
    let units = |table: &str| match bed.rows_of(table, None).as_slice() {
        [row] => row.get("units").cloned(),
        rows => panic!("{rows:?}"),
    };
    for (moved, both) in (0_i64..).zip(made.lock().expect("not poisoned").iter()) {
        let targets: Vec<String> = both.iter().map(|backup| format!("{}{moved}", backup.table)).collect();
        for (backup, target) in both.iter().zip(&targets) {
            bed.try_restore(&backup.arn, target).expect("it is available");
        }
        bed.settle();
        // Of the last transfer that was answered before.
        assert_eq!(units(&targets[0]), Some(n(100 - moved)));
        assert_eq!(units(&targets[1]), Some(n(100 + moved)));
    }
}

#[test]
fn what_was_answered_is_in_a_restore_to_latest_also_if_the_clock_is_set_back_and_the_process_ends() {
    let store = MemoryStore::new();
    let bed = reopen(store.clone(), EngineConfig::default(), START_MS);
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.turn_on_recovery("Shop");
    let mut now_ms = START_MS + 10_000_000;
    for round in 0..5 {
        let bed = reopen(store.clone(), EngineConfig::default(), now_ms);
        for number in 0..5 {
            bed.put("Shop", item([("pk", s(&format!("{round}-{number}")))]));
        }
        // A clock that is an hour behind.
        now_ms -= 3_600_000;
        bed.env.now_ms.store(now_ms, Ordering::Relaxed);
        bed.put("Shop", item([("pk", s(&format!("{round}-last")))]));
        let target = format!("Copy{round}");
        bed.restore_to("Shop", &target, RestoreTime::Latest).expect("it is on");
        bed.put("Shop", item([("pk", s(&format!("{round}-after")))]));
        bed.settle();
        let expected = bed.rows_of("Shop", None).len() - 1;
        assert_eq!(bed.rows_of(&target, None).len(), expected, "round {round}");
        now_ms += 3_600_000 + 60_000;
    }
}

#[test]
fn the_latest_time_stays_behind_by_the_lag_that_is_set() {
    let bed = bed_with(EngineConfig { pitr_lag_ms: 300_000, ..EngineConfig::default() });
    bed.create(creation("Shop", plain())).expect("it is new");
    bed.turn_on_recovery("Shop");
    bed.put("Shop", item([("pk", s("first"))]));
    let window = |bed: &Bed<MemoryStore>| {
        bed.recovery("Shop").expect("it is there").map(|window| (window.earliest.0, window.latest.0))
    };
    assert_eq!(window(&bed), Some((START_MS / 1_000, START_MS / 1_000)));
    bed.restore_to("Shop", "Empty", RestoreTime::Latest).expect("it works right after");
    bed.pass(400_000);
    bed.put("Shop", item([("pk", s("second"))]));
    assert_eq!(window(&bed), Some((START_MS / 1_000, START_MS / 1_000 + 100)));
    bed.restore_to("Shop", "Behind", RestoreTime::Latest).expect("it is on");
    bed.settle();
    assert_eq!(bed.rows_of("Empty", None).len(), 0);
    assert_eq!(bed.rows_of("Behind", None).len(), 1);
}

#[test]
fn a_due_backup_is_made_once_for_the_tables_that_were_there() {
    let bed = bed();
    bed.create(creation("Shop", schema())).expect("it is new");
    let due_at = |due_ms: u64| DueBackup {
        place: None,
        wish: BackupWish {
            table: "Shop".to_owned(),
            name: format!("due-{due_ms}"),
            expires_ms: Some(due_ms + DAY_MS),
        },
        prefix: "due-".to_owned(),
        due_ms,
    };
    let make = |due: &DueBackup| block_on(bed.engine.back_up_if_due(due)).expect("it may be made").len();
    assert_eq!(make(&due_at(START_MS - 1)), 0, "there was no such table yet");
    bed.pass(1_000);
    bed.back_up("Shop");
    let due = due_at(START_MS + 500);
    assert_eq!(make(&due), 1, "a backup of another name is none of the schedule");
    assert_eq!(make(&due), 0, "it is there");
    let elsewhere = Some(("000000000009".to_owned(), "eu-west-1".to_owned()));
    bed.pass(DAY_MS);
    let later = due_at(START_MS + DAY_MS);
    assert_eq!(make(&DueBackup { place: elsewhere, ..later.clone() }), 0, "that is another place");
    assert_eq!(make(&later), 1);
}
