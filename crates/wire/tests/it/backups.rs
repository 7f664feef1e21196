//! Backups, continuous backups and restores as they are sent, and their errors.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::Throughput;
use keywright_semantics::request::parts::{BillingMode, KeyType, ProjectionType, SseType, StreamViewType};
use keywright_semantics::response::{
    BackupDescription, BackupDetails, BackupStatus, BackupSummary, BackupType, ContinuousBackupsDescription,
    GlobalIndexInfo, KeySchemaElement, ListBackupsOutput, LocalIndexInfo, OnDemandThroughputDescription,
    ProjectionDescription, RecoveryWindow, Response, SourceTableDetails, SourceTableFeatureDetails,
    SseDescription, StreamSpecification, TimeToLiveDescription, TimeToLiveStatus, TimestampMs,
    TimestampSeconds,
};
use keywright_wire::{render, render_error};

const TABLE: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/Shop";
const ID: &str = "11111111-2222-3333-4444-555555555555";

fn text(response: &Response) -> String {
    String::from_utf8(render(response)).unwrap()
}

fn details() -> BackupDetails {
    BackupDetails {
        backup_arn: format!("{TABLE}/backup/01791504762511-2779fadd"),
        backup_name: "nightly".to_owned(),
        size_bytes: 42,
        status: BackupStatus::Creating,
        backup_type: BackupType::User,
        created: TimestampMs(1_791_504_762_511),
        expires: None,
    }
}

/// The members of a backup that has no expiry, in the order of its details.
fn details_text(status: &str) -> String {
    format!(
        r#"{{"BackupArn":"{TABLE}/backup/01791504762511-2779fadd","BackupName":"nightly","BackupSizeBytes":42,"BackupStatus":"{status}","BackupType":"USER","BackupCreationDateTime":1791504762.511}}"#
    )
}

fn source() -> SourceTableDetails {
    SourceTableDetails {
        table_name: "Shop".to_owned(),
        table_id: ID.to_owned(),
        table_arn: TABLE.to_owned(),
        table_size_bytes: 42,
        key_schema: key("id"),
        created: TimestampMs(1_791_000_000_250),
        throughput: Throughput { read_units: 0, write_units: 0 },
        on_demand_throughput: None,
        item_count: 3,
        billing_mode: BillingMode::PayPerRequest,
    }
}

const SOURCE: &str = r#"{"TableName":"Shop","TableId":"11111111-2222-3333-4444-555555555555","TableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Shop","TableSizeBytes":42,"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"TableCreationDateTime":1791000000.250,"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0},"ItemCount":3,"BillingMode":"PAY_PER_REQUEST"}"#;

fn key(name: &str) -> Vec<KeySchemaElement> {
    vec![KeySchemaElement { attribute_name: name.to_owned(), key_type: KeyType::Hash }]
}

fn keys_only() -> ProjectionDescription {
    ProjectionDescription { projection_type: ProjectionType::KeysOnly, non_key_attributes: None }
}

#[test]
fn a_new_backup_is_answered_by_its_details_alone() {
    let expected = format!(r#"{{"BackupDetails":{}}}"#, details_text("CREATING"));
    assert_eq!(text(&Response::CreateBackup(Box::new(details()))), expected);
}

#[test]
fn the_backup_of_a_plain_table_has_no_features() {
    let description = |status| BackupDescription {
        details: BackupDetails { status, ..details() },
        source: source(),
        features: SourceTableFeatureDetails::default(),
    };
    let expected = |status: &str| {
        format!(
            r#"{{"BackupDescription":{{"BackupDetails":{},"SourceTableDetails":{SOURCE},"SourceTableFeatureDetails":{{}}}}}}"#,
            details_text(status)
        )
    };
    let described = Response::DescribeBackup(Box::new(description(BackupStatus::Available)));
    assert_eq!(text(&described), expected("AVAILABLE"));
    let deleted = Response::DeleteBackup(Box::new(description(BackupStatus::Deleted)));
    assert_eq!(text(&deleted), expected("DELETED"));
}

#[test]
fn a_backup_has_the_features_of_its_table() {
    let ceilings = OnDemandThroughputDescription {
        max_read_request_units: Some(100),
        max_write_request_units: Some(50),
    };
    let description = BackupDescription {
        details: details(),
        source: SourceTableDetails {
            on_demand_throughput: Some(ceilings),
            throughput: Throughput { read_units: 5, write_units: 6 },
            billing_mode: BillingMode::Provisioned,
            ..source()
        },
        features: SourceTableFeatureDetails {
            local_indexes: Some(vec![LocalIndexInfo {
                index_name: "lsi".to_owned(),
                key_schema: key("id"),
                projection: keys_only(),
            }]),
            global_indexes: Some(vec![GlobalIndexInfo {
                index_name: "gsi".to_owned(),
                key_schema: key("at"),
                projection: keys_only(),
                throughput: Throughput { read_units: 7, write_units: 8 },
                on_demand_throughput: Some(ceilings),
            }]),
            stream: Some(StreamSpecification {
                stream_enabled: true,
                stream_view_type: Some(StreamViewType::NewImage),
            }),
            time_to_live: Some(TimeToLiveDescription {
                status: TimeToLiveStatus::Enabled,
                attribute_name: Some("ttl".to_owned()),
            }),
            sse: Some(SseDescription {
                status: "ENABLED",
                sse_type: Some(SseType::Kms),
                kms_master_key_arn: Some("k".to_owned()),
            }),
        },
    };
    let rendered = text(&Response::DescribeBackup(Box::new(description)));
    let source = r#""ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6},"OnDemandThroughput":{"MaxReadRequestUnits":100,"MaxWriteRequestUnits":50},"ItemCount":3,"BillingMode":"PROVISIONED""#;
    assert!(rendered.contains(source), "{rendered}");
    let features = r#""SourceTableFeatureDetails":{"LocalSecondaryIndexes":[{"IndexName":"lsi","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],"GlobalSecondaryIndexes":[{"IndexName":"gsi","KeySchema":[{"AttributeName":"at","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"},"ProvisionedThroughput":{"ReadCapacityUnits":7,"WriteCapacityUnits":8},"OnDemandThroughput":{"MaxReadRequestUnits":100,"MaxWriteRequestUnits":50}}],"StreamDescription":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"},"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"},"SSEDescription":{"Status":"ENABLED","SSEType":"KMS","KMSMasterKeyArn":"k"}}"#;
    assert!(rendered.contains(features), "{rendered}");
}

#[test]
fn a_list_of_backups_ends_with_its_last_one_unless_it_is_the_last_page() {
    let summary = BackupSummary {
        table_name: "Shop".to_owned(),
        table_id: ID.to_owned(),
        table_arn: TABLE.to_owned(),
        details: BackupDetails {
            backup_arn: format!("{TABLE}/backup/01791504762511-00000000"),
            backup_name: "Shop$DeletedTableBackup".to_owned(),
            status: BackupStatus::Available,
            backup_type: BackupType::System,
            expires: Some(TimestampMs(1_794_528_762_511)),
            ..details()
        },
    };
    let last = summary.details.backup_arn.clone();
    let page = |last_evaluated_backup_arn| {
        let summaries = vec![summary.clone()];
        text(&Response::ListBackups(ListBackupsOutput { summaries, last_evaluated_backup_arn }))
    };
    let summaries = format!(
        r#""BackupSummaries":[{{"TableName":"Shop","TableId":"{ID}","TableArn":"{TABLE}","BackupArn":"{last}","BackupName":"Shop$DeletedTableBackup","BackupCreationDateTime":1791504762.511,"BackupExpiryDateTime":1794528762.511,"BackupStatus":"AVAILABLE","BackupType":"SYSTEM","BackupSizeBytes":42}}]"#
    );
    assert_eq!(page(None), format!("{{{summaries}}}"));
    assert_eq!(page(Some(last.clone())), format!(r#"{{{summaries},"LastEvaluatedBackupArn":"{last}"}}"#));
}

#[test]
fn disabled_recovery_shows_its_status_only_and_times_are_whole_seconds() {
    let off = ContinuousBackupsDescription { recovery: None };
    let expected = r#"{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}"#;
    assert_eq!(text(&Response::DescribeContinuousBackups(off)), expected);
    let on = ContinuousBackupsDescription {
        recovery: Some(RecoveryWindow {
            period_days: 35,
            earliest: TimestampSeconds(1_791_504_281),
            latest: TimestampSeconds(1_791_504_324),
        }),
    };
    let expected = r#"{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED","RecoveryPeriodInDays":35,"EarliestRestorableDateTime":1791504281,"LatestRestorableDateTime":1791504324}}}"#;
    assert_eq!(text(&Response::UpdateContinuousBackups(on)), expected);
    assert_eq!(text(&Response::DescribeContinuousBackups(on)), expected);
}

#[test]
fn the_errors_of_backups_have_the_names_of_the_service_model_and_status_400() {
    for (kind, name) in [
        (ErrorKind::BackupInUse, "BackupInUseException"),
        (ErrorKind::BackupNotFound, "BackupNotFoundException"),
        (ErrorKind::ContinuousBackupsUnavailable, "ContinuousBackupsUnavailableException"),
        (ErrorKind::InvalidRestoreTime, "InvalidRestoreTimeException"),
        (ErrorKind::PointInTimeRecoveryUnavailable, "PointInTimeRecoveryUnavailableException"),
        (ErrorKind::TableAlreadyExists, "TableAlreadyExistsException"),
        (ErrorKind::TableInUse, "TableInUseException"),
        (ErrorKind::TableNotFound, "TableNotFoundException"),
    ] {
        let rendered = render_error(&Error::new(kind, "why"));
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{name}","message":"why"}}"#);
        assert_eq!((rendered.status, String::from_utf8(rendered.body).unwrap()), (400, body));
    }
}
