//! Responses and errors as they are sent.

use std::collections::BTreeMap;

use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::auth;
use keywright_semantics::request::parts::{
    BillingMode, ContributorInsightsMode, GlobalTableSettingsReplicationMode, KeyType,
    KeysAndAttributesParts, ProjectionType, PutRequestParts, ReturnConsumedCapacity, TableClass,
    WriteRequestParts,
};
use keywright_semantics::response::{
    BatchGetItemOutput, BatchWriteItemOutput, BillingModeSummary, CapacityForm, ConsumedCapacity,
    GlobalSecondaryIndexDescription, IndexStatus, InsightsDescription, InsightsStatus, ItemCollectionMetrics,
    KeySchemaElement, ListContributorInsightsOutput, ListTagsOfResourceOutput, PageOutput,
    ProjectionDescription, ProvisionedThroughputDescription, ReplicaDescription, ReplicaIndexDescription,
    ReplicaStatus, Response, RestoreSummary, TableDescription, TableStatus, TimeToLiveDescription,
    TimeToLiveSpecification, TimeToLiveStatus, TimestampMs, TransactGetItemsOutput, TransactWriteItemsOutput,
    WarmThroughputDescription, WriteItemOutput,
};
use keywright_semantics::schema;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_wire::{Operation, Parts, decode_parts, render, render_error};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn item(name: &str, value: &str) -> EncodedItem {
    EncodedItem::encode(&Item::from([(name.to_owned(), AttributeValue::from(value))]))
}

fn write(half_units: u64) -> Usage {
    Usage { read: HalfUnits(0), write: HalfUnits(half_units) }
}

fn capacity(level: ReturnConsumedCapacity, form: CapacityForm) -> ConsumedCapacity {
    ConsumedCapacity {
        table_name: "t".to_owned(),
        usage: TableUsage {
            table: write(2),
            local_indexes: BTreeMap::from([("l".to_owned(), write(4))]),
            global_indexes: BTreeMap::from([("g".to_owned(), write(1))]),
        },
        form,
        level,
    }
}

fn write_output(capacity: Option<ConsumedCapacity>) -> Response {
    Response::PutItem(WriteItemOutput {
        attributes: None,
        consumed_capacity: capacity.map(Box::new),
        item_collection_metrics: None,
    })
}

#[test]
fn an_empty_response_is_an_empty_object_and_that_of_tagging_has_no_bytes() {
    assert_eq!(text(render(&write_output(None))), "{}");
    assert_eq!(text(render(&Response::TagResource)), "");
    assert_eq!(text(render(&Response::UntagResource)), "");
}

#[test]
fn time_to_live_is_described_by_its_status_and_answered_as_it_was_specified() {
    let described = |status, attribute: Option<&str>| {
        let attribute_name = attribute.map(str::to_owned);
        text(render(&Response::DescribeTimeToLive(TimeToLiveDescription { status, attribute_name })))
    };
    assert_eq!(
        described(TimeToLiveStatus::Disabled, None),
        r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}"#
    );
    assert_eq!(
        described(TimeToLiveStatus::Enabling, Some("ttl")),
        r#"{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLING","AttributeName":"ttl"}}"#
    );
    let specification = TimeToLiveSpecification { enabled: false, attribute_name: "ttl".into() };
    assert_eq!(
        text(render(&Response::UpdateTimeToLive(specification))),
        r#"{"TimeToLiveSpecification":{"Enabled":false,"AttributeName":"ttl"}}"#
    );
}

#[test]
fn capacity_in_total_is_the_sum_over_table_and_indexes() {
    let total = capacity(ReturnConsumedCapacity::Total, CapacityForm::Plain);
    assert_eq!(
        text(render(&write_output(Some(total)))),
        r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":3.5}}"#
    );
}

#[test]
fn capacity_by_index_lists_the_indexes_that_were_touched() {
    let indexes = capacity(ReturnConsumedCapacity::Indexes, CapacityForm::Plain);
    assert_eq!(
        text(render(&write_output(Some(indexes)))),
        r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":3.5,"Table":{"CapacityUnits":1.0},"LocalSecondaryIndexes":{"l":{"CapacityUnits":2.0}},"GlobalSecondaryIndexes":{"g":{"CapacityUnits":0.5}}}}"#
    );
}

#[test]
fn transactions_report_the_direction_of_their_capacity() {
    let output = Response::TransactWriteItems(TransactWriteItemsOutput {
        item_collection_metrics: None,
        consumed_capacity: Some(vec![ConsumedCapacity {
            usage: TableUsage { table: write(4), ..TableUsage::default() },
            ..capacity(ReturnConsumedCapacity::Indexes, CapacityForm::TransactWrite)
        }]),
    });
    assert_eq!(
        text(render(&output)),
        r#"{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":2.0,"WriteCapacityUnits":2.0,"Table":{"CapacityUnits":2.0,"WriteCapacityUnits":2.0}}]}"#
    );
}

#[test]
fn a_transactional_read_has_one_response_per_action_in_order() {
    let output = Response::TransactGetItems(TransactGetItemsOutput {
        responses: vec![Some(item("a", "x")), None],
        consumed_capacity: None,
    });
    assert_eq!(text(render(&output)), r#"{"Responses":[{"Item":{"a":{"S":"x"}}},{}]}"#);
}

#[test]
fn a_page_without_items_still_counts() {
    let page = PageOutput {
        items: None,
        count: 2,
        scanned_count: 3,
        last_evaluated_key: Some(item("a", "x")),
        consumed_capacity: None,
    };
    assert_eq!(
        text(render(&Response::Scan(page.clone()))),
        r#"{"Count":2,"ScannedCount":3,"LastEvaluatedKey":{"a":{"S":"x"}}}"#
    );
    let page =
        PageOutput { items: Some(vec![item("a", "x"), item("a", "y")]), last_evaluated_key: None, ..page };
    assert_eq!(
        text(render(&Response::Query(page))),
        r#"{"Items":[{"a":{"S":"x"}},{"a":{"S":"y"}}],"Count":2,"ScannedCount":3}"#
    );
}

#[test]
fn unprocessed_keys_keep_the_spelling_of_their_numbers() {
    let body = br#"{"RequestItems":{"tab":{"Keys":[{"a":{"N":"1000"}},{"a":{"N":"1e3"}}]}}}"#;
    let Ok(Parts::BatchGetItem(parts)) = decode_parts(Operation::BatchGetItem, body) else {
        panic!("the request is well-formed")
    };
    let output = Response::BatchGetItem(BatchGetItemOutput {
        responses: Vec::new(),
        unprocessed_keys: parts.request_items,
        consumed_capacity: None,
    });
    assert_eq!(
        text(render(&output)),
        r#"{"Responses":{},"UnprocessedKeys":{"tab":{"Keys":[{"a":{"N":"1000"}},{"a":{"N":"1e3"}}]}}}"#
    );
}

#[test]
fn unprocessed_parts_of_a_batch_come_back_as_they_were_sent() {
    let key = vec![("a".to_owned(), Ok(AttributeValue::from("x")))];
    let output = Response::BatchGetItem(BatchGetItemOutput {
        responses: vec![("t".to_owned(), vec![item("a", "y")]), ("u".to_owned(), Vec::new())],
        unprocessed_keys: vec![(
            "t".to_owned(),
            KeysAndAttributesParts {
                keys: vec![key.clone().into()],
                attributes_to_get: None,
                consistent_read: Some(true),
                projection_expression: Some("#n".to_owned()),
                expression_attribute_names: Some(vec![("#n".to_owned(), "name".to_owned())]),
            },
        )],
        consumed_capacity: None,
    });
    assert_eq!(
        text(render(&output)),
        r##"{"Responses":{"t":[{"a":{"S":"y"}}],"u":[]},"UnprocessedKeys":{"t":{"Keys":[{"a":{"S":"x"}}],"ConsistentRead":true,"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"name"}}}}"##
    );
    let output = Response::BatchWriteItem(BatchWriteItemOutput {
        unprocessed_items: vec![(
            "t".to_owned(),
            vec![WriteRequestParts {
                put_request: Some(PutRequestParts { item: key }),
                delete_request: None,
            }],
        )],
        item_collection_metrics: Some(vec![(
            "t".to_owned(),
            vec![ItemCollectionMetrics { key: item("a", "x"), size_estimate_range_gb: [0, 1] }],
        )]),
        consumed_capacity: None,
    });
    assert_eq!(
        text(render(&output)),
        r#"{"UnprocessedItems":{"t":[{"PutRequest":{"Item":{"a":{"S":"x"}}}}]},"ItemCollectionMetrics":{"t":[{"ItemCollectionKey":{"a":{"S":"x"}},"SizeEstimateRangeGB":[0.0,1.0]}]}}"#
    );
}

fn table() -> TableDescription {
    TableDescription {
        attribute_definitions: Some(vec![schema::KeyAttribute {
            name: "a".to_owned(),
            key_type: schema::KeyType::S,
        }]),
        table_name: "t".to_owned(),
        key_schema: Some(vec![KeySchemaElement { attribute_name: "a".to_owned(), key_type: KeyType::Hash }]),
        table_status: TableStatus::Active,
        creation_date_time: Some(TimestampMs(1_795_240_000_042)),
        provisioned_throughput: None,
        table_size_bytes: 7,
        item_count: 1,
        table_arn: "arn:aws:dynamodb:us-east-1:1:table/t".to_owned(),
        table_id: "id".to_owned(),
        billing_mode_summary: Some(BillingModeSummary {
            billing_mode: BillingMode::PayPerRequest,
            last_update_to_pay_per_request_date_time: None,
        }),
        local_secondary_indexes: None,
        global_secondary_indexes: Some(vec![GlobalSecondaryIndexDescription {
            index_name: "g".to_owned(),
            key_schema: Vec::new(),
            projection: ProjectionDescription {
                projection_type: ProjectionType::Include,
                non_key_attributes: Some(vec!["b".to_owned()]),
            },
            index_status: IndexStatus::Creating,
            backfilling: Some(false),
            provisioned_throughput: ProvisionedThroughputDescription {
                last_increase_date_time: None,
                last_decrease_date_time: None,
                number_of_decreases_today: 0,
                read_capacity_units: 0,
                write_capacity_units: 0,
            },
            index_size_bytes: 0,
            item_count: 0,
            index_arn: "arn".to_owned(),
            on_demand_throughput: None,
            warm_throughput: None,
        }]),
        stream_specification: None,
        latest_stream_label: None,
        latest_stream_arn: None,
        replicas: None,
        strong: None,
        restore_summary: None,
        sse_description: None,
        table_class_summary: None,
        deletion_protection_enabled: Some(false),
        settings_replication: None,
        disassociation_protection_enabled: None,
        on_demand_throughput: None,
        warm_throughput: None,
    }
}

#[test]
fn a_table_in_several_regions_names_the_others_with_what_they_set_differently() {
    let warm = |status| WarmThroughputDescription {
        read_units_per_second: 12_000,
        write_units_per_second: 4_000,
        status,
    };
    let mode = GlobalTableSettingsReplicationMode::EnabledWithOverrides;
    let plain = ReplicaDescription {
        replica_arn: None,
        settings_replication: mode,
        region_name: "eu-west-1".to_owned(),
        replica_status: ReplicaStatus::Creating,
        inaccessible_since: None,
        kms_master_key_id: None,
        read_capacity_units_override: None,
        max_read_request_units_override: None,
        warm_throughput: warm(TableStatus::Active),
        global_secondary_indexes: None,
        table_class: None,
    };
    let index = ReplicaIndexDescription {
        index_name: "g".to_owned(),
        read_capacity_units_override: Some(7),
        max_read_request_units_override: None,
        warm_throughput: WarmThroughputDescription {
            read_units_per_second: 7,
            write_units_per_second: 5,
            status: IndexStatus::Active,
        },
    };
    let special = ReplicaDescription {
        region_name: "us-west-2".to_owned(),
        replica_status: ReplicaStatus::Active,
        kms_master_key_id: Some("arn:k".to_owned()),
        max_read_request_units_override: Some(9),
        global_secondary_indexes: Some(vec![index]),
        table_class: Some(TableClass::StandardInfrequentAccess),
        ..plain.clone()
    };
    let described = TableDescription {
        replicas: Some(vec![plain, special]),
        settings_replication: Some(mode),
        ..table()
    };
    let text = text(render(&Response::DescribeTable(Box::new(described))));
    let expected = concat!(
        r#""GlobalTableVersion":"2019.11.21","Replicas":[{"RegionName":"eu-west-1","ReplicaStatus":"CREATING","#,
        r#""WarmThroughput":{"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":4000,"Status":"ACTIVE"},"#,
        r#""GlobalTableSettingsReplicationMode":"ENABLED_WITH_OVERRIDES"},"#,
        r#"{"RegionName":"us-west-2","ReplicaStatus":"ACTIVE","KMSMasterKeyId":"arn:k","#,
        r#""OnDemandThroughputOverride":{"MaxReadRequestUnits":9},"#,
        r#""WarmThroughput":{"ReadUnitsPerSecond":12000,"WriteUnitsPerSecond":4000,"Status":"ACTIVE"},"#,
        r#""GlobalSecondaryIndexes":[{"IndexName":"g","ProvisionedThroughputOverride":{"ReadCapacityUnits":7},"#,
        r#""WarmThroughput":{"ReadUnitsPerSecond":7,"WriteUnitsPerSecond":5,"Status":"ACTIVE"}}],"#,
        r#""ReplicaTableClassSummary":{"TableClass":"STANDARD_INFREQUENT_ACCESS"},"#,
        r#""GlobalTableSettingsReplicationMode":"ENABLED_WITH_OVERRIDES"}],"#,
        r#""GlobalTableSettingsReplicationMode":"ENABLED_WITH_OVERRIDES","#,
    );
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_table_is_described_in_the_models_order_without_absent_members() {
    let described = text(render(&Response::DescribeTable(Box::new(table()))));
    assert_eq!(
        described,
        r#"{"Table":{"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"TableName":"t","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"TableStatus":"ACTIVE","CreationDateTime":1795240000.042,"TableSizeBytes":7,"ItemCount":1,"TableArn":"arn:aws:dynamodb:us-east-1:1:table/t","TableId":"id","BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},"TableThroughputModeSummary":{"TableThroughputMode":"PAY_PER_REQUEST"},"GlobalSecondaryIndexes":[{"IndexName":"g","KeySchema":[],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["b"]},"IndexStatus":"CREATING","Backfilling":false,"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":0,"WriteCapacityUnits":0},"IndexSizeBytes":0,"ItemCount":0,"IndexArn":"arn"}],"DeletionProtectionEnabled":false}}"#
    );
    let created = text(render(&Response::CreateTable(Box::new(table()))));
    assert_eq!(created, described.replacen("Table", "TableDescription", 1));
}

#[test]
fn a_table_that_is_being_restored_says_from_what() {
    let restored = |source_backup_arn: Option<&str>| {
        let summary = RestoreSummary {
            source_backup_arn: source_backup_arn.map(str::to_owned),
            source_table_arn: "arn:aws:dynamodb:us-east-1:1:table/s".to_owned(),
            restored_to: TimestampMs(1_795_240_000_042),
        };
        let table = TableDescription { restore_summary: Some(summary), ..table() };
        let answers = [
            Response::RestoreTableFromBackup(Box::new(table.clone())),
            Response::RestoreTableToPointInTime(Box::new(table)),
        ];
        let [from_backup, to_point_in_time] = answers.map(|answer| text(render(&answer)));
        assert_eq!(from_backup, to_point_in_time);
        assert!(from_backup.starts_with(r#"{"TableDescription":{"AttributeDefinitions":"#), "{from_backup}");
        from_backup
    };
    let found = restored(Some("b"));
    let expected = r#"],"RestoreSummary":{"SourceBackupArn":"b","SourceTableArn":"arn:aws:dynamodb:us-east-1:1:table/s","RestoreDateTime":1795240000.042,"RestoreInProgress":true},"DeletionProtectionEnabled":"#;
    assert!(found.contains(expected), "{found}");
    let found = restored(None);
    assert!(found.contains(&expected.replace(r#""SourceBackupArn":"b","#, "")), "{found}");
}

#[test]
fn tags_are_listed_as_pairs() {
    let output = ListTagsOfResourceOutput {
        tags: BTreeMap::from([("k".to_owned(), "v\n".to_owned())]),
        next_token: None,
    };
    assert_eq!(
        text(render(&Response::ListTagsOfResource(output))),
        r#"{"Tags":[{"Key":"k","Value":"v\n"}]}"#
    );
}

#[test]
fn errors_carry_their_full_type_and_the_spelling_of_their_message() {
    for (error, status, body) in [
        (
            Error::validation("a \"b\""),
            400,
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"a \"b\""}"#,
        ),
        (
            Error::new(ErrorKind::Serialization, ""),
            400,
            r#"{"__type":"com.amazon.coral.service#SerializationException"}"#,
        ),
        (
            Error::new(ErrorKind::Serialization, "Unexpected field type"),
            400,
            r#"{"__type":"com.amazon.coral.service#SerializationException","Message":"Unexpected field type"}"#,
        ),
        (
            Error::new(ErrorKind::ResourceNotFound, "x"),
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"x"}"#,
        ),
        (
            Error::new(ErrorKind::AccessDenied, "x"),
            400,
            r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"x"}"#,
        ),
        (
            Error::new(ErrorKind::ExpiredToken, auth::EXPIRED_TOKEN),
            400,
            r#"{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}"#,
        ),
        (
            keywright_wire::unknown_operation(),
            400,
            r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#,
        ),
        (
            Error::new(ErrorKind::InternalFailure, ""),
            500,
            r#"{"__type":"com.amazon.coral.service#InternalFailure"}"#,
        ),
        (
            Error::new(ErrorKind::InternalServerError, "x"),
            500,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}"#,
        ),
    ] {
        let rendered = render_error(&error);
        assert_eq!((rendered.status, text(rendered.body).as_str()), (status, body));
    }
}

#[test]
fn a_failed_condition_carries_the_item_that_failed_it() {
    let error = Error::new(ErrorKind::ConditionalCheckFailed, "The conditional request failed")
        .with_detail(ErrorDetail::Item(item("a", "x")));
    assert_eq!(
        text(render_error(&error).body),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":{"a":{"S":"x"}},"message":"The conditional request failed"}"#
    );
}

#[test]
fn a_cancelled_transaction_gives_one_reason_for_each_action() {
    let error =
        Error::new(ErrorKind::TransactionCanceled, "cancelled").with_detail(ErrorDetail::Reasons(vec![
            CancellationReason::None,
            CancellationReason::ConditionalCheckFailed { item: Some(item("a", "x")) },
            CancellationReason::Validation { message: "m".to_owned() },
            CancellationReason::TransactionConflict,
        ]));
    assert_eq!(
        text(render_error(&error).body),
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"a":{"S":"x"}},"Message":"The conditional request failed"},{"Code":"ValidationError","Message":"m"},{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}],"Message":"cancelled"}"#
    );
}

#[test]
fn contributor_insights_are_described_and_listed() {
    let described = InsightsDescription {
        table_name: "Shop".into(),
        index_name: Some("byDate".into()),
        rules: Some(vec!["DynamoDBContributorInsights-PKT-Shop-byDate-1500".into()]),
        status: InsightsStatus::Enabled,
        updated: Some(TimestampMs(1500)),
        failure: None,
        mode: Some(ContributorInsightsMode::ThrottledKeys),
    };
    assert_eq!(
        text(render(&Response::DescribeContributorInsights(Box::new(described.clone())))),
        r#"{"TableName":"Shop","IndexName":"byDate","ContributorInsightsRuleList":["DynamoDBContributorInsights-PKT-Shop-byDate-1500"],"ContributorInsightsStatus":"ENABLED","LastUpdateDateTime":1.500,"ContributorInsightsMode":"THROTTLED_KEYS"}"#
    );
    let failed = InsightsDescription {
        index_name: None,
        rules: None,
        status: InsightsStatus::Failed,
        updated: None,
        failure: Some(("LimitExceededException", "used up")),
        ..described
    };
    let page = ListContributorInsightsOutput { summaries: vec![failed], next_token: Some("1".into()) };
    assert_eq!(
        text(render(&Response::ListContributorInsights(page))),
        r#"{"ContributorInsightsSummaries":[{"TableName":"Shop","ContributorInsightsStatus":"FAILED","FailureException":{"ExceptionName":"LimitExceededException","ExceptionDescription":"used up"},"ContributorInsightsMode":"THROTTLED_KEYS"}],"NextToken":"1"}"#
    );
}
