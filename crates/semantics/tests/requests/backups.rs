//! Backups, continuous backups and restores.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::parts::{
    BackupTypeFilter, BillingMode, CreateBackupParts, DeleteBackupParts, DescribeBackupParts,
    GlobalSecondaryIndexParts, KeySchemaElementParts, KeyType, ListBackupsParts, LocalSecondaryIndexParts,
    OnDemandThroughputParts, PointInTimeRecoverySpecificationParts, ProjectionParts, ProjectionType,
    ProvisionedThroughputParts, RestoreTableFromBackupParts, RestoreTableToPointInTimeParts,
    SseSpecificationParts, UpdateContinuousBackupsParts, VectorAttributeDefinitionParts,
    VectorDistanceFunction, VectorIndexParts,
};
use keywright_semantics::request::{
    ArnScope, BackupArn, CreateBackup, DeleteBackup, DescribeBackup, EncryptionChange, ListBackups,
    RecoveryChange, RestoreTableFromBackup, RestoreTableToPointInTime, RestoreTime, UpdateContinuousBackups,
};
use keywright_semantics::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType as AttributeType, Projection,
};

use super::Dialect::Any;
use super::{Row, assert_fails, check, some};

const BACKUP: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Shop/backup/01791504762511-2779fadd";
const TABLE: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Shop";
const UNITS: ProvisionedThroughputParts =
    ProvisionedThroughputParts { read_capacity_units: 5, write_capacity_units: 6 };
const CEILINGS: OnDemandThroughputParts =
    OnDemandThroughputParts { max_read_request_units: Some(10), max_write_request_units: Some(20) };
const NO_CEILINGS: OnDemandThroughputParts =
    OnDemandThroughputParts { max_read_request_units: Some(0), max_write_request_units: Some(0) };

fn caller() -> ArnScope {
    scope("us-east-1", "123456789012")
}

fn scope(region: &str, account: &str) -> ArnScope {
    ArnScope { region: region.to_owned(), account: account.to_owned() }
}

fn shown(outcome: Result<(), Error>) -> (ErrorKind, String) {
    let error = outcome.expect_err("the request is refused");
    (error.kind, error.message)
}

fn key(attributes: &[&str]) -> Vec<KeySchemaElementParts> {
    let element = |(place, name): (usize, &&str)| KeySchemaElementParts {
        attribute_name: (*name).to_owned(),
        key_type: if place == 0 { KeyType::Hash } else { KeyType::Range },
    };
    attributes.iter().enumerate().map(element).collect()
}

fn all() -> ProjectionParts {
    ProjectionParts { projection_type: Some(ProjectionType::All), non_key_attributes: None }
}

fn global(
    name: &str,
    units: Option<ProvisionedThroughputParts>,
    ceilings: Option<OnDemandThroughputParts>,
) -> Option<Vec<GlobalSecondaryIndexParts>> {
    Some(vec![GlobalSecondaryIndexParts {
        index_name: name.to_owned(),
        key_schema: key(&["status", "at"]),
        projection: all(),
        provisioned_throughput: units,
        on_demand_throughput: ceilings,
        warm_throughput: None,
    }])
}

fn local(name: &str) -> Option<Vec<LocalSecondaryIndexParts>> {
    Some(vec![LocalSecondaryIndexParts {
        index_name: name.to_owned(),
        key_schema: key(&["customer", "total"]),
        projection: ProjectionParts {
            projection_type: Some(ProjectionType::Include),
            non_key_attributes: Some(vec!["note".to_owned()]),
        },
    }])
}

fn vectors() -> Option<Vec<VectorIndexParts>> {
    Some(vec![VectorIndexParts {
        index_name: "near".to_owned(),
        vector_attribute: VectorAttributeDefinitionParts { attribute_name: "v".to_owned() },
        search_schema: None,
        projection: all(),
        dimensions: 3,
        distance_function: VectorDistanceFunction::Cosine,
    }])
}

fn from_backup() -> RestoreTableFromBackupParts {
    RestoreTableFromBackupParts {
        target_table_name: "Copy".to_owned(),
        backup_arn: BACKUP.to_owned(),
        ..RestoreTableFromBackupParts::default()
    }
}

fn to_latest() -> RestoreTableToPointInTimeParts {
    RestoreTableToPointInTimeParts {
        source_table_name: some("Shop"),
        target_table_name: "Copy".to_owned(),
        use_latest_restorable_time: Some(true),
        ..RestoreTableToPointInTimeParts::default()
    }
}

/// The faults of a backup's ARN.
#[rustfmt::skip]
const ARNS: &[(&str, &str)] = &[
    ("a text of more than thirty-seven characters", "Invalid Backup ARN"),
    (TABLE, "Invalid Backup ARN"),
    ("arn:aws:dynamodb:us-east-1:123456789012", "Invalid Backup ARN"),
    ("arn:aws:dynamodb:us-east-1:123456789012:table/Shop/export/01791504762511-2779fadd", "Invalid Backup ARN"),
    ("arn:aws:dynamodb:us-east-1:123456789012:table//backup/01791504762511-2779fadd", "Invalid Backup ARN"),
    ("arn:aws:dynamodb:us-east-1:123456789012:table/Shop/backup/1791504762511-2779fadd", "Invalid Backup ARN"),
    ("arn:aws:dynamodb:us-east-1:123456789012:table/Shop/backup/01791504762511-2779FADD", "Invalid Backup ARN"),
    ("arn:aws:dynamodb:us-east-1:123456789012:table/Shop/backup/01791504762511-2779fad", "Invalid Backup ARN"),
    ("arn:aws-cn:dynamodb:us-east-1:123456789012:table/Shop/backup/01791504762511-2779fadd",
        "Invalid Request: BackupArn is not valid"),
    ("arn:aws:s3:us-east-1:123456789012:table/Shop/backup/01791504762511-2779fadd",
        "Invalid Request: BackupArn is not valid"),
    ("arn:aws-cn:dynamodb:us-east-1:123456789012:table/Shop", "Invalid Backup ARN"),
];

#[test]
fn the_arn_of_something_other_than_a_backup_is_refused_by_every_operation() {
    for (arn, message) in ARNS {
        let backup_arn = (*arn).to_owned();
        let describe = DescribeBackupParts { backup_arn: backup_arn.clone() };
        assert_fails(DescribeBackup::validate(&describe), message, &describe);
        let delete = DeleteBackupParts { backup_arn: backup_arn.clone() };
        assert_fails(DeleteBackup::validate(&delete), message, &delete);
        let restore = RestoreTableFromBackupParts { backup_arn, ..from_backup() };
        assert_fails(RestoreTableFromBackup::validate(restore.clone()), message, &restore);
        let list = ListBackupsParts { exclusive_start_backup_arn: some(arn), ..ListBackupsParts::default() };
        assert_fails(ListBackups::validate(&list), message, &list);
    }
    let backup = BackupArn::parse(BACKUP).expect("the ARN of a backup");
    assert_eq!((backup.table_name.as_str(), backup.id.as_str()), ("Shop", "01791504762511-2779fadd"));
    assert_eq!(backup.scope, caller());
}

#[test]
fn a_backup_of_another_region_is_not_valid_and_one_of_another_account_is_denied() {
    let checked = |caller: &ArnScope, arn: &str| {
        let parts = DescribeBackupParts { backup_arn: arn.to_owned() };
        DescribeBackup::validate(&parts).and_then(|request| request.backup.check_caller(caller))
    };
    assert!(checked(&caller(), BACKUP).is_ok());
    let not_valid = (ErrorKind::Validation, "Invalid Request: BackupArn is not valid".to_owned());
    let denied = (ErrorKind::AccessDenied, "Access is denied".to_owned());
    assert_eq!(shown(checked(&scope("eu-west-1", "123456789012"), BACKUP)), not_valid);
    assert_eq!(shown(checked(&scope("eu-west-1", "111111111111"), BACKUP)), not_valid);
    assert_eq!(shown(checked(&scope("us-east-1", "111111111111"), BACKUP)), denied);
    assert_eq!(shown(checked(&caller(), &BACKUP.replace("us-east-1", ""))), denied);
}

#[test]
fn a_backup_has_a_table_and_a_name() {
    let parts = CreateBackupParts { table_name: TABLE.to_owned(), backup_name: "b-1".to_owned() };
    let request = CreateBackup::validate(parts).expect("a well-formed request");
    assert_eq!((request.table.name.as_str(), request.name.as_str()), ("Shop", "b-1"));
    assert_eq!(request.table.arn_scope(), Some(&caller()));
}

#[rustfmt::skip]
const LIST_ROWS: &[Row<ListBackupsParts>] = &[
    (Any, |p| p.table_name = some("arn:aws-cn:dynamodb:cn-north-1:1:table/x"),
        "1 validation error detected: Invalid AWS partition in 'arn:aws-cn:dynamodb:cn-north-1:1:table/x'"),
    (Any, |p| { p.time_range_lower_bound = Some(2); p.time_range_upper_bound = Some(1); },
        "One or more parameter values were invalid: Time range lower bound must be less than or equal to upper bound"),
    (Any, |p| p.exclusive_start_backup_arn = some(TABLE), "Invalid Backup ARN"),
];

#[test]
fn faults_of_a_list_are_reported_in_this_order() {
    check(&ListBackupsParts::default(), |parts| ListBackups::validate(&parts), LIST_ROWS);
}

#[test]
fn a_list_without_members_is_of_a_hundred_backups_that_clients_made() {
    let request = ListBackups::validate(&ListBackupsParts::default()).expect("a well-formed request");
    assert_eq!((request.limit, request.backup_type), (100, BackupTypeFilter::User));
    assert_eq!((request.created_from_ms, request.created_before_ms), (None, None));
    let parts = ListBackupsParts {
        limit: Some(7),
        time_range_lower_bound: Some(-5),
        time_range_upper_bound: Some(-5),
        backup_type: Some(BackupTypeFilter::All),
        ..ListBackupsParts::default()
    };
    let request = ListBackups::validate(&parts).expect("an empty range is a range");
    assert_eq!((request.limit, request.backup_type), (7, BackupTypeFilter::All));
    assert_eq!((request.created_from_ms, request.created_before_ms), (Some(0), Some(0)));
}

#[test]
fn a_list_starts_in_the_callers_region() {
    let starting = |arn: &str, caller: &ArnScope| {
        let parts = ListBackupsParts { exclusive_start_backup_arn: some(arn), ..ListBackupsParts::default() };
        ListBackups::validate(&parts).and_then(|request| request.check_caller(caller))
    };
    assert!(starting(BACKUP, &caller()).is_ok());
    let message = "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region";
    assert_eq!(
        shown(starting(BACKUP, &scope("eu-west-1", "111111111111"))),
        (ErrorKind::Validation, message.to_owned())
    );
    assert_eq!(
        shown(starting(BACKUP, &scope("us-east-1", "111111111111"))),
        (ErrorKind::AccessDenied, "Access is denied".to_owned())
    );
}

#[test]
fn recovery_is_enabled_for_some_days_or_disabled_for_none() {
    let validate = |enabled, days, table: &str| {
        UpdateContinuousBackups::validate(&UpdateContinuousBackupsParts {
            table_name: table.to_owned(),
            point_in_time_recovery_specification: PointInTimeRecoverySpecificationParts {
                point_in_time_recovery_enabled: enabled,
                recovery_period_in_days: days,
            },
        })
    };
    let change = |enabled, days| validate(enabled, days, "Shop").expect("a well-formed request").change;
    assert_eq!(change(true, None), RecoveryChange::Enable { period_days: None });
    assert_eq!(change(true, Some(7)), RecoveryChange::Enable { period_days: Some(7) });
    assert_eq!(change(false, None), RecoveryChange::Disable);
    let message =
        "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.";
    assert_fails(validate(false, Some(35), "Shop"), message, &());
    let bad_table = "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:r:1:backup/x'";
    assert_fails(validate(false, Some(35), "arn:aws:dynamodb:r:1:backup/x"), bad_table, &());
}

/// The source comes before the time, and the time before the overrides. `base` has a source by name and no
/// fault.
#[rustfmt::skip]
const POINT_IN_TIME_ROWS: &[Row<RestoreTableToPointInTimeParts>] = &[
    (Any, |p| p.source_table_arn = some(TABLE), "Must provide exactly one of: sourceTableArn, sourceTableName"),
    (Any, |p| { p.use_latest_restorable_time = Some(true); p.restore_date_time = Some(1); },
        "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore \
         request. Please specify either RestoreDateTime time or UseLatestRestorableTime"),
    (Any, |p| p.billing_mode_override = Some(BillingMode::Provisioned),
        "Invalid Request: Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"),
];

#[rustfmt::skip]
const WITHOUT_SOURCE_OR_TIME: &[Row<RestoreTableToPointInTimeParts>] = &[
    (Any, |p| p.source_table_name = None,
        "The parameter 'TableName' is required but was not present in the request"),
    (Any, |p| { p.use_latest_restorable_time = Some(false); p.restore_date_time = None; },
        "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"),
    (Any, |p| p.vector_index_override = vectors(),
        "One or more parameter values were invalid: VectorIndexOverride is not supported by this server, which has \
         no vector indexes"),
];

/// Each wants an ARN instead of a name.
#[rustfmt::skip]
const WRONG_SOURCE: &[Row<RestoreTableToPointInTimeParts>] = &[
    (Any, |p| { p.source_table_name = None; p.source_table_arn = some("Shop"); }, "sourceTableArn is not a valid ARN"),
    (Any, |p| { p.source_table_name = None; p.source_table_arn = some("arn:aws:s3:::x"); },
        "sourceTableArn is not a valid ARN"),
    (Any, |p| { p.source_table_name = None; p.source_table_arn = some(BACKUP); }, "sourceTableArn is not a valid ARN"),
    (Any, |p| p.use_latest_restorable_time = None,
        "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"),
];

#[test]
fn faults_of_a_restore_to_a_point_in_time_are_reported_in_this_order() {
    for rows in [POINT_IN_TIME_ROWS, WITHOUT_SOURCE_OR_TIME, WRONG_SOURCE] {
        check(&to_latest(), RestoreTableToPointInTime::validate, rows);
    }
}

#[test]
fn the_time_of_a_restore_is_a_whole_second() {
    let time = |use_latest, at| {
        let parts = RestoreTableToPointInTimeParts {
            use_latest_restorable_time: use_latest,
            restore_date_time: at,
            ..to_latest()
        };
        RestoreTableToPointInTime::validate(parts).expect("a well-formed request").time
    };
    assert_eq!(time(Some(true), None), RestoreTime::Latest);
    assert_eq!(time(None, Some(1_791_328_592_999)), RestoreTime::At(1_791_328_592_000));
    assert_eq!(time(Some(false), Some(-1)), RestoreTime::At(0));
}

#[test]
fn a_restore_to_a_point_in_time_stays_within_account_and_region() {
    let checked = |arn: &str, encryption: Option<SseSpecificationParts>| {
        let parts = RestoreTableToPointInTimeParts {
            source_table_name: None,
            source_table_arn: some(arn),
            sse_specification_override: encryption,
            ..to_latest()
        };
        RestoreTableToPointInTime::validate(parts).and_then(|request| request.check_caller(&caller()))
    };
    assert!(checked(TABLE, None).is_ok());
    let other_account =
        "This action is only supported by accounts that match the resource owner’s account.".to_owned();
    let other_region =
        "Invalid Request: sseSpecificationOverride must be provided for cross-region restores".to_owned();
    let (foreign, far) =
        (TABLE.replace("123456789012", "111111111111"), TABLE.replace("us-east-1", "eu-west-1"));
    assert_eq!(shown(checked(&foreign, None)), (ErrorKind::Validation, other_account.clone()));
    assert_eq!(
        shown(checked(&foreign.replace("us-east-1", "eu-west-1"), None)),
        (ErrorKind::Validation, other_account)
    );
    assert_eq!(shown(checked(&far, None)), (ErrorKind::Validation, other_region));
    let encryption = Some(SseSpecificationParts { enabled: Some(false), ..SseSpecificationParts::default() });
    assert_eq!(
        shown(checked(&far, encryption)),
        (ErrorKind::TableNotFound, "Table not found: Shop".to_owned())
    );
}

#[test]
fn a_restore_from_a_backup_stays_within_account_and_region() {
    let checked = |arn: &str, encryption: Option<SseSpecificationParts>| {
        let parts = RestoreTableFromBackupParts {
            backup_arn: arn.to_owned(),
            sse_specification_override: encryption,
            ..from_backup()
        };
        RestoreTableFromBackup::validate(parts).and_then(|request| request.check_caller(&caller()))
    };
    assert!(checked(BACKUP, None).is_ok());
    let denied = (ErrorKind::AccessDenied, "Access is denied".to_owned());
    let (foreign, far) =
        (BACKUP.replace("123456789012", "111111111111"), BACKUP.replace("us-east-1", "eu-west-1"));
    assert_eq!(shown(checked(&foreign, None)), denied);
    assert_eq!(shown(checked(&foreign.replace("us-east-1", "eu-west-1"), None)), denied);
    assert_eq!(
        shown(checked(&far, None)),
        (
            ErrorKind::Validation,
            "Invalid Request: sseSpecificationOverride must be provided for cross-region restores".to_owned()
        )
    );
    assert_eq!(
        shown(checked(&far, Some(SseSpecificationParts::default()))),
        (ErrorKind::BackupNotFound, format!("Backup not found: {far}"))
    );
}

#[rustfmt::skip]
const ON_DEMAND_ROWS: &[Row<RestoreTableFromBackupParts>] = &[
    (Any, |p| p.backup_arn = TABLE.into(), "Invalid Backup ARN"),
    (Any, |p| p.vector_index_override = vectors(),
        "One or more parameter values were invalid: VectorIndexOverride is not supported by this server, which has \
         no vector indexes"),
    (Any, |p| {
        p.billing_mode_override = Some(BillingMode::PayPerRequest);
        p.provisioned_throughput_override = Some(UNITS);
    }, "Invalid Request: Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"),
    (Any, |p| {
        p.billing_mode_override = Some(BillingMode::PayPerRequest);
        p.global_secondary_index_override = global("gsi", Some(UNITS), Some(NO_CEILINGS));
    }, "Invalid Request: Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST for \
        index gsi"),
    (Any, |p| p.on_demand_throughput_override = Some(NO_CEILINGS),
        "Invalid Request: Requested MaxReadRequestUnits for OnDemandThroughput is outside of valid range"),
    (Any, |p| p.global_secondary_index_override = global("gsi", None, Some(NO_CEILINGS)),
        "Invalid Request: Requested MaxReadRequestUnits for OnDemandThroughput is outside of valid range for index gsi"),
];

#[rustfmt::skip]
const PROVISIONED_ROWS: &[Row<RestoreTableFromBackupParts>] = &[
    (Any, |p| {
        p.billing_mode_override = Some(BillingMode::Provisioned);
        p.provisioned_throughput_override = None;
    }, "Invalid Request: Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"),
    (Any, |p| {
        p.billing_mode_override = Some(BillingMode::Provisioned);
        p.provisioned_throughput_override = Some(UNITS);
        p.on_demand_throughput_override = Some(NO_CEILINGS);
    }, "Invalid Request: Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is \
        PAY_PER_REQUEST"),
    (Any, |p| {
        p.billing_mode_override = Some(BillingMode::Provisioned);
        p.provisioned_throughput_override = Some(UNITS);
        p.global_secondary_index_override = global("gsi", None, Some(CEILINGS));
    }, "Invalid Request: Must specify provisioned throughput for index gsi"),
    (Any, |p| {
        p.billing_mode_override = Some(BillingMode::Provisioned);
        p.provisioned_throughput_override = Some(UNITS);
        p.global_secondary_index_override = global("gsi", Some(UNITS), Some(CEILINGS));
    }, "Invalid Request: Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is \
        PAY_PER_REQUEST for index gsi"),
];

#[test]
fn faults_of_overrides_are_reported_in_this_order() {
    check(&from_backup(), RestoreTableFromBackup::validate, ON_DEMAND_ROWS);
    check(&from_backup(), RestoreTableFromBackup::validate, PROVISIONED_ROWS);
}

fn restore(parts: RestoreTableFromBackupParts) -> RestoreTableFromBackup {
    RestoreTableFromBackup::validate(parts).expect("a well-formed request")
}

#[test]
fn overrides_are_checked_against_the_sources_billing_mode_if_the_request_has_none() {
    let billing = |parts, source| restore(parts).overrides.billing_for(source);
    let refused = |parts, source| billing(parts, source).expect_err("the capacity does not fit").message;
    assert_eq!(billing(from_backup(), BillingMode::Provisioned).unwrap(), BillingMode::Provisioned);
    let parts = RestoreTableFromBackupParts {
        billing_mode_override: Some(BillingMode::PayPerRequest),
        on_demand_throughput_override: Some(CEILINGS),
        ..from_backup()
    };
    assert_eq!(billing(parts, BillingMode::Provisioned).unwrap(), BillingMode::PayPerRequest);

    let units = RestoreTableFromBackupParts { provisioned_throughput_override: Some(UNITS), ..from_backup() };
    assert_eq!(billing(units.clone(), BillingMode::Provisioned).unwrap(), BillingMode::Provisioned);
    let unless_provisioned =
        "Invalid Request: Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED";
    assert_eq!(refused(units, BillingMode::PayPerRequest), unless_provisioned);

    let index_units = RestoreTableFromBackupParts {
        global_secondary_index_override: global("gsi", Some(UNITS), None),
        ..from_backup()
    };
    assert_eq!(billing(index_units.clone(), BillingMode::Provisioned).unwrap(), BillingMode::Provisioned);
    assert_eq!(
        refused(index_units, BillingMode::PayPerRequest),
        format!("{unless_provisioned} for index gsi")
    );

    let ceilings =
        RestoreTableFromBackupParts { on_demand_throughput_override: Some(CEILINGS), ..from_backup() };
    assert_eq!(billing(ceilings.clone(), BillingMode::PayPerRequest).unwrap(), BillingMode::PayPerRequest);
    assert_eq!(
        refused(ceilings, BillingMode::Provisioned),
        "Invalid Request: Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is \
         PAY_PER_REQUEST"
    );

    let no_index_units = RestoreTableFromBackupParts {
        global_secondary_index_override: global("gsi", None, None),
        ..from_backup()
    };
    assert_eq!(
        refused(no_index_units, BillingMode::Provisioned),
        "Invalid Request: Must specify provisioned throughput for index gsi"
    );
}

#[test]
fn ceilings_without_a_value_are_no_override() {
    let parts = RestoreTableFromBackupParts {
        on_demand_throughput_override: Some(OnDemandThroughputParts::default()),
        ..from_backup()
    };
    let request = restore(parts);
    assert_eq!(request.overrides.on_demand, None);
    assert_eq!(request.overrides.billing_for(BillingMode::Provisioned).unwrap(), BillingMode::Provisioned);
}

#[test]
fn an_encryption_override_names_a_key_or_takes_the_services_own() {
    let encryption = |enabled| {
        let specification = SseSpecificationParts { enabled, ..SseSpecificationParts::default() };
        let parts =
            RestoreTableFromBackupParts { sse_specification_override: Some(specification), ..from_backup() };
        restore(parts).overrides.encryption
    };
    assert_eq!(encryption(Some(false)), Some(EncryptionChange::ServiceKey));
    assert_eq!(encryption(None), Some(EncryptionChange::ServiceKey));
    assert!(matches!(encryption(Some(true)), Some(EncryptionChange::OwnKey(_))));
    assert_eq!(restore(from_backup()).overrides.encryption, None);
}

/// A local index of `total` and a global one of `status` and `at`.
fn source_indexes() -> Vec<IndexSchema> {
    let attribute = |name: &str| KeyAttribute { name: name.to_owned(), key_type: AttributeType::S };
    let key = |partition: &str, sort: &str| KeySchema {
        partition: vec![attribute(partition)],
        sort: vec![attribute(sort)],
    };
    vec![
        IndexSchema {
            name: "byTotal".to_owned(),
            kind: IndexKind::Local,
            key: key("customer", "total"),
            projection: Projection::Include(["note".to_owned()].into()),
        },
        IndexSchema {
            name: "byStatus".to_owned(),
            kind: IndexKind::Global,
            key: key("status", "at"),
            projection: Projection::All,
        },
    ]
}

fn restored_names(parts: RestoreTableFromBackupParts, billing: BillingMode) -> Result<Vec<String>, String> {
    let request = restore(parts);
    let indexes = source_indexes();
    let restored = request.overrides.indexes_of(&indexes, billing).map_err(|error| error.message)?;
    Ok(restored.iter().map(|index| format!("{} as {}", index.source.name, index.name())).collect())
}

#[test]
fn absent_lists_keep_the_indexes_and_empty_ones_drop_them() {
    let names = |parts| restored_names(parts, BillingMode::PayPerRequest).unwrap();
    assert_eq!(names(from_backup()), ["byTotal as byTotal", "byStatus as byStatus"]);
    let without_globals =
        RestoreTableFromBackupParts { global_secondary_index_override: Some(Vec::new()), ..from_backup() };
    assert_eq!(names(without_globals.clone()), ["byTotal as byTotal"]);
    let without_any = RestoreTableFromBackupParts {
        local_secondary_index_override: Some(Vec::new()),
        vector_index_override: Some(Vec::new()),
        ..without_globals
    };
    assert_eq!(names(without_any), Vec::<String>::new());
}

#[test]
fn an_index_is_found_by_key_and_projection_and_may_get_another_name() {
    let names = |parts| restored_names(parts, BillingMode::PayPerRequest);
    let renamed = RestoreTableFromBackupParts {
        global_secondary_index_override: global("new-gsi", None, None),
        local_secondary_index_override: local("new-lsi"),
        ..from_backup()
    };
    assert_eq!(names(renamed.clone()).unwrap(), ["byTotal as new-lsi", "byStatus as new-gsi"]);

    let no_match = |index: &str| {
        format!(
            "Invalid Request: Index {index} does not match a secondary index that existed in the source table and \
             cannot be created during the restore operation"
        )
    };
    let mut other_projection = renamed.clone();
    other_projection.local_secondary_index_override.as_mut().unwrap()[0].projection = all();
    assert_eq!(names(other_projection).unwrap_err(), no_match("new-lsi"));
    let mut other_key = renamed.clone();
    other_key.global_secondary_index_override.as_mut().unwrap()[0].key_schema = key(&["at", "status"]);
    assert_eq!(names(other_key).unwrap_err(), no_match("new-gsi"));
    let mut twice = renamed.clone();
    twice.global_secondary_index_override.as_mut().unwrap().extend(global("again", None, None).unwrap());
    assert_eq!(names(twice).unwrap_err(), no_match("again"));
    let mut taken = renamed;
    taken.local_secondary_index_override = local("new-gsi");
    assert_eq!(
        names(taken).unwrap_err(),
        "One or more parameter values were invalid: Duplicate index name: new-gsi"
    );
}

#[test]
fn an_index_of_a_table_that_becomes_provisioned_needs_units() {
    let parts = RestoreTableFromBackupParts {
        billing_mode_override: Some(BillingMode::Provisioned),
        provisioned_throughput_override: Some(UNITS),
        ..from_backup()
    };
    assert_eq!(
        restored_names(parts.clone(), BillingMode::PayPerRequest).unwrap_err(),
        "Invalid Request: Must specify provisioned throughput for index byStatus"
    );
    assert!(restored_names(parts.clone(), BillingMode::Provisioned).is_ok());
    let with_units = RestoreTableFromBackupParts {
        global_secondary_index_override: global("gsi", Some(UNITS), None),
        ..parts
    };
    assert!(restored_names(with_units, BillingMode::PayPerRequest).is_ok());
}
