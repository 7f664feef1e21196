//! Every error of backups, continuous backups and restores that a client can meet, as it comes over HTTP:
//! its name and its text.

use serde_json::{Value, json};

use crate::db::{BEGUN, Db, advance, restore_request};
use crate::support::Server;

/// What is wrong, the operation, its input, and the error's name and text.
pub(crate) type Case<'c> = (&'c str, &'c str, Value, &'c str, &'c str);

pub(crate) const VE: &str = "ValidationException";
const TNF: &str = "TableNotFoundException";
const RNF: &str = "ResourceNotFoundException";
const NO_BACKUP: &str = "BackupNotFoundException";

/// How long tables stay CREATING and DELETING.
const TRANSITION_MS: u64 = 60_000;

pub(crate) fn check(db: &mut Db, cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for (story, operation, body, name, text) in cases {
        let expected = ((*name).to_owned(), (*text).to_owned());
        let found = db.try_call(operation, body);
        if found.as_ref().err() != Some(&expected) {
            wrong.push(format!("{story}: {operation} {body}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A server whose clock stands, with the table `Shop` and its backup's ARN.
fn shop() -> (Server, Db, String) {
    let server =
        Server::start(&["--in-memory", "--clock", BEGUN, "--transition-ms", &TRANSITION_MS.to_string()]);
    let mut db = Db::of(&server);
    create(&mut db, "Shop");
    advance(&server, TRANSITION_MS);
    db.wait_until_active("Shop");
    db.put("Shop", &json!({"pk": {"S": "a"}}));
    let arn = db.back_up("Shop");
    (server, db, arn)
}

fn create(db: &mut Db, table: &str) {
    db.call("CreateTable", &creation(table));
}

fn creation(table: &str) -> Value {
    json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]})
}

fn backup_of(table: &str) -> Value {
    json!({"TableName": table, "BackupName": "some"})
}

fn recovery(table: &str, specification: &Value) -> Value {
    json!({"TableName": table, "PointInTimeRecoverySpecification": specification})
}

fn with(base: &Value, more: &Value) -> Value {
    let mut body = base.clone();
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn backups_that_do_not_exist_or_are_of_others_are_refused_with_the_texts_of_the_service() {
    let (_server, mut db, arn) = shop();
    let table_arn = arn.split("/backup/").next().unwrap();
    let missing = format!("{table_arn}/backup/01489602797149-73d8d5bc");
    let not_found = format!("Backup not found: {missing}");
    let account = arn.split(':').nth(4).unwrap();
    let of_other = arn.replace(account, "999999999999");
    let of_region = arn.replace("us-east-1", "eu-west-1");
    let of_partition = arn.replace("arn:aws:", "arn:aws-cn:");
    let named = |arn: &str| json!({"BackupArn": arn});
    let restored = |arn: &str| json!({"BackupArn": arn, "TargetTableName": "Copy"});
    let mut cases: Vec<Case<'_>> = vec![];
    for operation in ["DescribeBackup", "DeleteBackup"] {
        let not_valid = "Invalid Request: BackupArn is not valid";
        cases.extend([
            ("no such backup", operation, named(&missing), NO_BACKUP, not_found.as_str()),
            ("the table's ARN", operation, named(table_arn), VE, "Invalid Backup ARN"),
            ("no ARN", operation, named("x".repeat(40).as_str()), VE, "Invalid Backup ARN"),
            ("another region", operation, named(&of_region), VE, not_valid),
            ("another partition", operation, named(&of_partition), VE, not_valid),
            ("another account", operation, named(&of_other), "AccessDeniedException", "Access is denied"),
        ]);
    }
    let restore = "RestoreTableFromBackup";
    let cross = "Invalid Request: sseSpecificationOverride must be provided for cross-region restores";
    cases.extend([
        ("no such backup", restore, restored(&missing), NO_BACKUP, not_found.as_str()),
        ("the table's ARN", restore, restored(table_arn), VE, "Invalid Backup ARN"),
        ("another account", restore, restored(&of_other), "AccessDeniedException", "Access is denied"),
        ("another region", restore, restored(&of_region), VE, cross),
        ("no table", "CreateBackup", backup_of("Nothing"), TNF, "Table not found: Nothing"),
    ]);
    let range = json!({"TimeRangeLowerBound": 2000, "TimeRangeUpperBound": 1000});
    let reversed = "One or more parameter values were invalid: Time range lower bound must be less than or equal \
                    to upper bound";
    let start = json!({"ExclusiveStartBackupArn": of_region});
    let other_start = "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region";
    cases.push(("a reversed range", "ListBackups", range, VE, reversed));
    cases.push(("a start in another region", "ListBackups", start, VE, other_start));
    check(&mut db, &cases);
    let listed = db.call("ListBackups", &json!({"TableName": "Nothing"}));
    assert_eq!(listed["BackupSummaries"], json!([]), "an unknown table has no backups");
}

#[test]
fn points_in_time_that_cannot_be_restored_are_refused_with_the_texts_of_the_service() {
    let (server, mut db, arn) = shop();
    let table_arn = arn.split("/backup/").next().unwrap().to_owned();
    let restore = "RestoreTableToPointInTime";
    let off = "Point in time recovery is not enabled for table 'Shop'";
    let unavailable = "PointInTimeRecoveryUnavailableException";
    check(
        &mut db,
        &[
            ("recovery is off", restore, restore_request("Shop", "Copy", None), unavailable, off),
            ("recovery is off", restore, restore_request("Shop", "Shop", Some(1)), unavailable, off),
        ],
    );
    db.recovery("Shop", 35);
    advance(&server, 5_000);
    let target = json!({"TargetTableName": "Copy"});
    let neither = "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both";
    let both = "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time \
                restore request. Please specify either RestoreDateTime time or UseLatestRestorableTime";
    let latest = with(&target, &json!({"UseLatestRestorableTime": true}));
    let named = |more: Value| with(&latest, &more);
    let of_other = table_arn.replace(table_arn.split(':').nth(4).unwrap(), "999999999999");
    let of_region = table_arn.replace("us-east-1", "eu-west-1");
    let outside = |asked: &str| {
        format!(
            "RestoreDateTime '{asked}' must be within EarliestRestorableDateTime '2026-11-27T16:01:00Z' and \
             LatestRestorableDateTime '2026-11-27T16:01:05Z'"
        )
    };
    let (early, late) = (outside("2026-11-27T16:00:59Z"), outside("2026-11-27T16:01:06Z"));
    let at = |second: u64| restore_request("Shop", "Shop", Some(second));
    let by_name = json!({"SourceTableName": "Shop", "TargetTableName": "Copy"});
    let twice = with(&by_name, &json!({"UseLatestRestorableTime": true, "RestoreDateTime": 1}));
    let two = json!({"SourceTableName": "Shop", "SourceTableArn": table_arn});
    let cross = "Invalid Request: sseSpecificationOverride must be provided for cross-region restores";
    let invalid_time = "InvalidRestoreTimeException";
    let cases: Vec<Case<'_>> = vec![
        ("no time", restore, by_name, VE, neither),
        ("two times", restore, twice, VE, both),
        (
            "two sources",
            restore,
            named(two),
            VE,
            "Must provide exactly one of: sourceTableArn, sourceTableName",
        ),
        (
            "no source",
            restore,
            latest.clone(),
            VE,
            "The parameter 'TableName' is required but was not present in the request",
        ),
        // The time comes before the target, which exists.
        ("before the window", restore, at(1_795_795_259), invalid_time, &early),
        ("after the window", restore, at(1_795_795_266), invalid_time, &late),
        (
            "no ARN",
            restore,
            named(json!({"SourceTableArn": "Shop"})),
            VE,
            "sourceTableArn is not a valid ARN",
        ),
        (
            "another account",
            restore,
            named(json!({"SourceTableArn": of_other})),
            VE,
            "This action is only supported by accounts that match the resource owner’s account.",
        ),
        ("another region", restore, named(json!({"SourceTableArn": of_region})), VE, cross),
        ("no table", restore, restore_request("Nothing", "Copy", None), TNF, "Table not found: Nothing"),
        (
            "a period while disabling",
            "UpdateContinuousBackups",
            recovery("Shop", &json!({"PointInTimeRecoveryEnabled": false, "RecoveryPeriodInDays": 3})),
            VE,
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.",
        ),
        (
            "no table",
            "UpdateContinuousBackups",
            recovery("Nothing", &json!({"PointInTimeRecoveryEnabled": true})),
            TNF,
            "Table not found: Nothing",
        ),
        (
            "no table",
            "DescribeContinuousBackups",
            json!({"TableName": "Nothing"}),
            TNF,
            "Table not found: Nothing",
        ),
    ];
    check(&mut db, &cases);
}

#[test]
fn a_new_table_has_no_backups_while_it_is_creating() {
    let (_server, mut db, _arn) = shop();
    create(&mut db, "New");
    let text = "Table not found: New";
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    check(
        &mut db,
        &[
            ("creating", "CreateBackup", backup_of("New"), TNF, text),
            ("creating", "DescribeContinuousBackups", json!({"TableName": "New"}), TNF, text),
            ("creating", "UpdateContinuousBackups", recovery("New", &specification), TNF, text),
        ],
    );
}

#[test]
fn while_a_table_is_restored_it_is_described_and_nothing_else_and_its_backup_is_in_use() {
    let (server, mut db, arn) = shop();
    create(&mut db, "Other");
    advance(&server, TRANSITION_MS);
    db.recovery("Shop", 35);
    db.restore_backup(&arn, "Copy");
    let described = db.describe("Copy");
    assert_eq!(described["TableStatus"], "CREATING");
    assert_eq!(described["RestoreSummary"]["RestoreInProgress"], true);
    let copy = || json!({"TableName": "Copy"});
    let resource = json!({"ResourceArn": described["TableArn"]});
    let no_resource = "Requested resource not found: Table: Copy not found";
    let ttl = json!({"Enabled": true, "AttributeName": "until"});
    let tags = json!({"Tags": [{"Key": "a", "Value": "b"}]});
    let no_table = "Table not found: Copy";
    let (in_use, used) = ("ResourceInUseException", "Table is being used: Copy");
    let specification = json!({"PointInTimeRecoveryEnabled": true});
    let already = format!("Table: Copy is already being restored from backup: {arn}");
    let another = format!("Backup is being used to restore another table: {arn}");
    let being_restored = format!("Backup is being used to restore table: {arn}");
    let from_backup = |target: &str| json!({"BackupArn": arn, "TargetTableName": target});
    let exists = |table: &str| format!("Table already exists: {table}");
    let (shop, other) = (exists("Shop"), exists("Other"));
    let restore = "RestoreTableFromBackup";
    let to_time = "RestoreTableToPointInTime";
    let table_exists = "TableAlreadyExistsException";
    let protect = with(&copy(), &json!({"DeletionProtectionEnabled": true}));
    let ttl = with(&copy(), &json!({"TimeToLiveSpecification": ttl}));
    check(
        &mut db,
        &[
            ("restoring", "UpdateTable", protect, RNF, no_resource),
            ("restoring", "UpdateTimeToLive", ttl, RNF, no_resource),
            ("restoring", "DescribeTimeToLive", copy(), RNF, no_resource),
            ("restoring", "TagResource", with(&resource, &tags), RNF, no_resource),
            ("restoring", "CreateBackup", backup_of("Copy"), TNF, no_table),
            ("restoring", "DescribeContinuousBackups", copy(), TNF, no_table),
            ("restoring", "UpdateContinuousBackups", recovery("Copy", &specification), TNF, no_table),
            ("restoring", "CreateTable", creation("Copy"), in_use, used),
            ("restoring", "DeleteTable", copy(), in_use, used),
            ("the same target", restore, from_backup("Copy"), "TableInUseException", &already),
            (
                "the same target",
                to_time,
                restore_request("Shop", "Copy", None),
                "TableInUseException",
                &already,
            ),
            ("a second restore", restore, from_backup("Copy2"), "BackupInUseException", &another),
            ("in use", "DeleteBackup", json!({"BackupArn": arn}), "BackupInUseException", &being_restored),
            ("the source", restore, from_backup("Shop"), table_exists, &shop),
            ("another table", restore, from_backup("Other"), table_exists, &other),
            ("the source", to_time, restore_request("Shop", "Shop", None), table_exists, &shop),
        ],
    );
    db.delete_table("Other");
    assert_eq!(db.describe("Other")["TableStatus"], "DELETING");
    check(
        &mut db,
        &[("being deleted", to_time, restore_request("Shop", "Other", None), table_exists, &other)],
    );
    advance(&server, TRANSITION_MS);
    db.wait_until_active("Copy");
    assert!(db.describe("Copy")["RestoreSummary"].is_null());
    db.call("DeleteBackup", &json!({"BackupArn": arn}));
    let gone = format!("Backup not found: {arn}");
    check(&mut db, &[("deleted", "DescribeBackup", json!({"BackupArn": arn}), NO_BACKUP, &gone)]);
}

#[test]
fn a_table_that_is_being_deleted_is_backed_up_and_restored_to_a_second() {
    let (server, mut db, _arn) = shop();
    db.recovery("Shop", 35);
    advance(&server, 2_000);
    db.delete_table("Shop");
    let arn = db.back_up("Shop");
    db.restore_to("Shop", "ToSecond", None);
    db.restore_backup(&arn, "FromBackup");
    advance(&server, TRANSITION_MS);
    for table in ["ToSecond", "FromBackup"] {
        db.wait_until_active(table);
        assert_eq!(db.call("Scan", &json!({"TableName": table}))["Count"], 1, "{table}");
    }
}

#[test]
fn fifty_restores_run_and_the_fifty_first_is_refused() {
    let (server, mut db, arn) = shop();
    db.recovery("Shop", 35);
    for number in 0..49 {
        db.restore_to("Shop", &format!("Copy{number}"), None);
    }
    db.restore_backup(&arn, "Copy49");
    let limit = "LimitExceededException";
    let text = "Subscriber limit exceeded: Only 50 restore operations can be done simultaneously";
    let from_backup = json!({"BackupArn": db.back_up("Shop"), "TargetTableName": "More"});
    check(
        &mut db,
        &[
            ("the 51st", "RestoreTableToPointInTime", restore_request("Shop", "More", None), limit, text),
            ("the 51st", "RestoreTableFromBackup", from_backup, limit, text),
        ],
    );
    advance(&server, TRANSITION_MS);
    for number in 0..50 {
        let table = format!("Copy{number}");
        db.wait_until_active(&table);
        assert_eq!(db.call("Scan", &json!({"TableName": table}))["Count"], 1, "{table}");
    }
    db.restore_to("Shop", "More", None);
}
