//! CreateTable: one row for each fault, in the service's order; the last column is the message.

use keywright_semantics::request::CreateTable;
use keywright_semantics::request::parts::{
    AttributeDefinitionParts, BillingMode, CreateTableParts, GlobalSecondaryIndexParts,
    KeySchemaElementParts, KeyType, LocalSecondaryIndexParts, OnDemandThroughputParts, ProjectionParts,
    ProjectionType, ProvisionedThroughputParts, ScalarAttributeType, SseSpecificationParts, SseType,
    StreamSpecificationParts, StreamViewType, TagParts, VectorAttributeDefinitionParts,
    VectorDistanceFunction, VectorIndexParts, WarmThroughputParts,
};
use keywright_semantics::schema::{IndexKind, Projection};

type Parts = CreateTableParts;

const INVALID: &str = "One or more parameter values were invalid: ";

/// An on-demand table `pk`, `sk` with definitions of these and the given attributes, all strings.
fn table(more: &[&str]) -> Parts {
    Parts {
        attribute_definitions: Some(definitions(&[&["pk", "sk"], more].concat())),
        table_name: "Shop".into(),
        key_schema: Some(key("pk", &["sk"])),
        local_secondary_indexes: None,
        global_secondary_indexes: None,
        billing_mode: Some(BillingMode::PayPerRequest),
        table_throughput_mode: None,
        provisioned_throughput: None,
        stream_specification: None,
        sse_specification: None,
        tags: None,
        table_class: None,
        deletion_protection_enabled: None,
        warm_throughput: None,
        resource_policy: None,
        on_demand_throughput: None,
        global_table_source_arn: None,
        global_table_settings_replication_mode: None,
        vector_indexes: None,
    }
}

fn provisioned(more: &[&str]) -> Parts {
    Parts { billing_mode: None, provisioned_throughput: Some(units(5, 5)), ..table(more) }
}

fn definitions(names: &[&str]) -> Vec<AttributeDefinitionParts> {
    names
        .iter()
        .map(|name| AttributeDefinitionParts {
            attribute_name: (*name).into(),
            attribute_type: ScalarAttributeType::S,
        })
        .collect()
}

fn elements(hash: &[&str], range: &[&str]) -> Vec<KeySchemaElementParts> {
    let of = |names: &[&str], key_type| -> Vec<KeySchemaElementParts> {
        names.iter().map(|name| KeySchemaElementParts { attribute_name: (*name).into(), key_type }).collect()
    };
    [of(hash, KeyType::Hash), of(range, KeyType::Range)].concat()
}

fn key(hash: &str, range: &[&str]) -> Vec<KeySchemaElementParts> {
    elements(&[hash], range)
}

fn all() -> ProjectionParts {
    ProjectionParts { projection_type: Some(ProjectionType::All), non_key_attributes: None }
}

fn include(names: &[String]) -> ProjectionParts {
    ProjectionParts {
        projection_type: Some(ProjectionType::Include),
        non_key_attributes: Some(names.to_vec()),
    }
}

fn gsi(name: &str, key_schema: Vec<KeySchemaElementParts>) -> GlobalSecondaryIndexParts {
    GlobalSecondaryIndexParts {
        index_name: name.into(),
        key_schema,
        projection: all(),
        provisioned_throughput: None,
        on_demand_throughput: None,
        warm_throughput: None,
    }
}

fn lsi(name: &str, key_schema: Vec<KeySchemaElementParts>) -> LocalSecondaryIndexParts {
    LocalSecondaryIndexParts { index_name: name.into(), key_schema, projection: all() }
}

fn units(read: i64, write: i64) -> ProvisionedThroughputParts {
    ProvisionedThroughputParts { read_capacity_units: read, write_capacity_units: write }
}

fn with_gsis(parts: Parts, indexes: Vec<GlobalSecondaryIndexParts>) -> Parts {
    Parts { global_secondary_indexes: Some(indexes), ..parts }
}

fn with_lsis(parts: Parts, indexes: Vec<LocalSecondaryIndexParts>) -> Parts {
    Parts { local_secondary_indexes: Some(indexes), ..parts }
}

fn fault(parts: Parts) -> String {
    CreateTable::validate(parts).expect_err("it has a fault").message
}

fn each_has_its_message(cases: Vec<(Parts, &str)>) {
    for (place, (parts, message)) in cases.into_iter().enumerate() {
        let expected = message.replace("P:", INVALID);
        assert_eq!(fault(parts), expected, "row {place}");
    }
}

#[test]
fn the_billing_mode_has_a_second_name_that_gives_way_to_the_first() {
    let second = Some(BillingMode::PayPerRequest);
    let alone =
        CreateTable::validate(Parts { billing_mode: None, table_throughput_mode: second, ..table(&[]) });
    assert_eq!(alone.expect("it is enough").billing, BillingMode::PayPerRequest);
    let first = Some(BillingMode::Provisioned);
    let both = Parts { billing_mode: first, table_throughput_mode: second, ..provisioned(&[]) };
    assert_eq!(CreateTable::validate(both).expect("they may differ").billing, BillingMode::Provisioned);
}

#[test]
fn what_this_server_does_not_have_is_refused_by_name() {
    use keywright_semantics::request::parts::GlobalTableSettingsReplicationMode as Mode;
    let mode = |mode| Parts { global_table_settings_replication_mode: Some(mode), ..table(&[]) };
    let index = VectorIndexParts {
        index_name: "near".into(),
        vector_attribute: VectorAttributeDefinitionParts { attribute_name: "v".into() },
        search_schema: None,
        projection: all(),
        dimensions: 3,
        distance_function: VectorDistanceFunction::Cosine,
    };
    each_has_its_message(vec![
        (
            Parts { vector_indexes: Some(vec![index]), ..table(&[]) },
            "P:VectorIndexes is not supported by this server, which has no vector indexes",
        ),
        (Parts { vector_indexes: Some(Vec::new()), ..table(&[]) }, "P:List of VectorIndexes is empty"),
        (
            mode(Mode::Enabled),
            "P:GlobalTableSettingsReplicationMode ENABLED requires GlobalTableSourceArn in CreateTable.",
        ),
    ]);
    CreateTable::validate(mode(Mode::Disabled)).expect("no table replicates its settings");
}

#[test]
fn capacity_must_fit_the_billing_mode() {
    each_has_its_message(vec![
        (
            Parts { provisioned_throughput: Some(units(1, 1)), ..table(&[]) },
            "P:Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            Parts { billing_mode: None, ..table(&[]) },
            "P:ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            Parts {
                billing_mode: None,
                provisioned_throughput: Some(units(1_000_000_000_001, 1_000_000_000_001)),
                ..table(&[])
            },
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            with_gsis(
                table(&["g"]),
                vec![GlobalSecondaryIndexParts {
                    provisioned_throughput: Some(units(1, 1)),
                    ..gsi("idx", key("g", &[]))
                }],
            ),
            "P:ProvisionedThroughput should not be specified for index: idx when BillingMode is PAY_PER_REQUEST",
        ),
        (
            with_gsis(provisioned(&["g"]), vec![gsi("idx", key("g", &[]))]),
            "P:ProvisionedThroughput is not specified for index: idx",
        ),
    ]);
}

#[test]
fn keys_and_definitions_must_match() {
    let keyed = |hash: &[&str], range: &[&str], names: &[&str]| Parts {
        key_schema: Some(elements(hash, range)),
        attribute_definitions: Some(definitions(names)),
        ..table(&[])
    };
    let first_range =
        Parts { key_schema: Some([elements(&[], &["sk"]), elements(&["pk"], &[])].concat()), ..table(&[]) };
    each_has_its_message(vec![
        (keyed(&["pk"], &["pk"], &["pk"]), "Invalid KeySchema: Some index key attribute have no definition"),
        (
            keyed(&["pk"], &["sk"], &["pk", "other"]),
            "P:Some index key attributes are not defined in AttributeDefinitions. Keys: [pk, sk], \
             AttributeDefinitions: [pk, other]",
        ),
        (
            keyed(&["pk"], &["pk"], &["pk", "sk"]),
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (first_range, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            keyed(&["pk", "sk"], &[], &["pk", "sk"]),
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            table(&["extra"]),
            "P:Number of attributes in KeySchema does not exactly match number of attributes defined in \
             AttributeDefinitions",
        ),
        (
            with_gsis(table(&["a", "extra"]), vec![gsi("idx", key("a", &[]))]),
            "P:Some AttributeDefinitions are not used. AttributeDefinitions: [a, extra, pk, sk], \
             keys used: [a, pk, sk]",
        ),
        (table(&["pk"]), "Attribute Name is duplicated: pk"),
    ]);
}

#[test]
fn an_unused_definition_hides_every_fault_of_an_index() {
    let index = GlobalSecondaryIndexParts {
        projection: ProjectionParts { projection_type: None, non_key_attributes: None },
        ..gsi("idx", key("a", &[]))
    };
    let message = fault(with_gsis(table(&["a", "extra"]), vec![index]));
    assert!(
        message.starts_with("One or more parameter values were invalid: Some AttributeDefinitions"),
        "{message}"
    );
}

#[test]
fn local_indexes_share_the_partition_key_and_sort_otherwise() {
    let hash_only = Parts {
        key_schema: Some(key("pk", &[])),
        attribute_definitions: Some(definitions(&["pk", "l"])),
        ..table(&[])
    };
    let six = (0..6).map(|number| lsi(&format!("lsi{number}"), key("pk", &["l"]))).collect();
    each_has_its_message(vec![
        (with_lsis(table(&[]), vec![]), "P:List of LocalSecondaryIndexes is empty"),
        (
            with_lsis(hash_only, vec![lsi("idx", key("pk", &["l"]))]),
            "P:Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ),
        (
            with_lsis(table(&[]), vec![lsi("idx", key("pk", &[]))]),
            "P:Index KeySchema does not have a range key for index: idx",
        ),
        (
            with_lsis(table(&["l"]), vec![lsi("idx", key("l", &["sk"]))]),
            "P:Index KeySchema does not have the same leading hash key as table KeySchema for index: idx. index hash \
             key: l, table hash key: pk",
        ),
        (with_lsis(table(&["l"]), six), "P:Number of LocalSecondaryIndexes exceeds per-table limit of 5"),
    ]);
}

#[test]
fn projections_name_attributes_exactly_when_they_include_some() {
    let projected = |projection_type, names: Option<&[&str]>| {
        let names = names.map(|names| names.iter().map(|name| (*name).into()).collect());
        let projection = ProjectionParts { projection_type, non_key_attributes: names };
        with_gsis(table(&["g"]), vec![GlobalSecondaryIndexParts { projection, ..gsi("idx", key("g", &[])) }])
    };
    each_has_its_message(vec![
        (projected(None, None), "P:Unknown ProjectionType: null"),
        (
            projected(Some(ProjectionType::All), Some(&["a"])),
            "P:ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            projected(Some(ProjectionType::KeysOnly), Some(&["a"])),
            "P:ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        (
            projected(Some(ProjectionType::Include), None),
            "P:ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            projected(Some(ProjectionType::Include), Some(&["a", "b", "a"])),
            "P:Duplicate element in NonKeyAttributes: a",
        ),
    ]);
}

#[test]
fn all_indexes_together_include_at_most_a_hundred_attributes() {
    let names = |count: usize| -> Vec<String> { (0..count).map(|number| format!("a{number}")).collect() };
    let tables = |last: usize| {
        let sizes = [20, 20, 20, 20, last];
        let indexes = sizes.iter().enumerate().map(|(number, size)| GlobalSecondaryIndexParts {
            projection: include(&names(*size)),
            ..gsi(&format!("idx{number}"), key("g", &[]))
        });
        with_gsis(table(&["g"]), indexes.collect())
    };
    assert!(CreateTable::validate(tables(20)).is_ok());
    assert!(fault(tables(21)).contains("exceeds the per-table limit of 100"));
}

#[test]
fn global_indexes_are_few_and_have_names_of_their_own() {
    let many = (0..21).map(|number| gsi(&format!("idx{number}"), key("g", &[]))).collect();
    let twin = with_lsis(table(&["g"]), vec![lsi("idx", key("pk", &["g"]))]);
    each_has_its_message(vec![
        (with_gsis(table(&[]), vec![]), "P:List of GlobalSecondaryIndexes is empty"),
        (
            with_gsis(table(&["g"]), vec![gsi("idx", key("g", &[])), gsi("idx", key("g", &[]))]),
            "P:Duplicate index name: idx",
        ),
        (with_gsis(twin, vec![gsi("idx", key("g", &[]))]), "P:Duplicate index name: idx"),
        (with_gsis(table(&["g"]), many), "P:GlobalSecondaryIndex count exceeds the per-table limit of 20"),
    ]);
}

#[test]
fn a_global_index_key_has_up_to_four_attributes_of_each_role() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let keyed = |hash: &[&str], range: &[&str]| {
        let used: Vec<&str> =
            names.iter().copied().filter(|name| hash.contains(name) || range.contains(name)).collect();
        with_gsis(table(&used), vec![gsi("idx", elements(hash, range))])
    };
    let created =
        CreateTable::validate(keyed(&["a", "b", "c", "d"], &["e", "f", "g", "h"])).expect("four and four");
    let index = &created.indexes.first().expect("it has one").schema;
    assert_eq!((index.key.partition.len(), index.key.sort.len()), (4, 4));
    let mixed = [elements(&["a"], &["b"]), elements(&["c"], &[])].concat();
    each_has_its_message(vec![
        (
            keyed(&["a", "b", "c", "d", "e"], &[]),
            "P:The KeySchema exceeds the maximum allowed number of HASH key attributes",
        ),
        (
            keyed(&["a"], &["b", "c", "d", "e", "f"]),
            "P:The KeySchema exceeds the maximum allowed number of RANGE key attributes",
        ),
        (
            with_gsis(table(&["a", "b", "c"]), vec![gsi("idx", mixed)]),
            "P:All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ),
        (keyed(&["a", "b"], &["a"]), "The KeySchema contains multiple key attributes with the same name"),
        (
            with_gsis(table(&["a"]), vec![gsi("idx", elements(&[], &["a"]))]),
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
    ]);
}

#[test]
fn stream_and_encryption_settings_must_agree_with_themselves() {
    let stream = |stream_enabled, stream_view_type| Parts {
        stream_specification: Some(StreamSpecificationParts { stream_enabled, stream_view_type }),
        ..table(&[])
    };
    let given = |enabled, sse_type, key: Option<&str>| Parts {
        sse_specification: Some(SseSpecificationParts {
            enabled,
            sse_type,
            kms_master_key_id: key.map(Into::into),
        }),
        ..table(&[])
    };
    let sse = |enabled, sse_type, key| given(Some(enabled), sse_type, key);
    each_has_its_message(vec![
        (stream(true, None), "P:Table is being created with a stream enabled, UpdateViewType is required"),
        (
            stream(false, Some(StreamViewType::KeysOnly)),
            "P:Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (sse(false, Some(SseType::Kms), None), "P:SSEType can not be specified if Enabled is false"),
        (sse(false, None, Some("k")), "P:KMSMasterKeyId can not be specified if Enabled is false"),
        (sse(true, None, Some("k")), "P:SSEType KMS is required if KMSMasterKeyId is specified"),
        (sse(true, Some(SseType::Aes256), None), "P:SSEType AES256 is not supported"),
        (given(None, Some(SseType::Aes256), None), "P:SSEType AES256 is not supported"),
        (given(None, None, Some("k")), "P:KMSMasterKeyId can not be specified if Enabled is false"),
    ]);
    // A type alone asks for encryption too (recorded in October 2026).
    for (parts, expected) in [
        (given(None, None, None), None),
        (sse(false, None, None), None),
        (sse(true, None, None), Some(None)),
        (sse(true, Some(SseType::Kms), None), Some(None)),
        (given(None, Some(SseType::Kms), None), Some(None)),
        (sse(true, Some(SseType::Kms), Some("k")), Some(Some("k"))),
        (given(None, Some(SseType::Kms), Some("k")), Some(Some("k"))),
    ] {
        let shown = format!("{:?}", parts.sse_specification);
        let found = CreateTable::validate(parts).expect("it agrees with itself").encryption;
        let found = found.as_ref().map(|key| key.key_id.as_deref());
        assert_eq!(found, expected, "{shown}");
    }
}

#[test]
fn ceilings_and_warm_throughput_have_bounds() {
    let ceiling = |read: i64| OnDemandThroughputParts {
        max_read_request_units: Some(read),
        max_write_request_units: None,
    };
    let warm =
        |read: i64| WarmThroughputParts { read_units_per_second: Some(read), write_units_per_second: None };
    let index = || gsi("idx", key("g", &[]));
    each_has_its_message(vec![
        (
            Parts { on_demand_throughput: Some(ceiling(0)), ..table(&[]) },
            "P:Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            Parts { on_demand_throughput: Some(ceiling(10)), ..provisioned(&[]) },
            "P:MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED",
        ),
        (
            with_gsis(
                table(&["g"]),
                vec![GlobalSecondaryIndexParts { on_demand_throughput: Some(ceiling(-1)), ..index() }],
            ),
            "P:Requested MaxReadRequestUnits for OnDemandThroughput for index : idx is outside of valid range",
        ),
        (
            Parts { warm_throughput: Some(warm(11_999)), ..table(&[]) },
            "P:Requested ReadUnitsPerSecond for WarmThroughput for table is lower than initial throughput for \
             OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/\
             on-demand-capacity-mode.html#on-demand-capacity-mode-initial",
        ),
        (
            Parts { warm_throughput: Some(warm(4)), ..provisioned(&[]) },
            "P:Requested ReadUnitsPerSecond for WarmThroughput for table is lower than ReadCapacityUnits of \
             ProvisionedThroughput",
        ),
    ]);
}

#[test]
fn tags_are_checked_last_and_none_are_fine() {
    let tagged = |tags| Parts { tags: Some(tags), ..table(&[]) };
    assert!(CreateTable::validate(tagged(vec![])).is_ok());
    let tag = TagParts { key: "aws:x".into(), value: Some(String::new()) };
    assert_eq!(fault(tagged(vec![tag])), "Tag Key cannot be prefixed with aws:, Key: aws:x");
}

#[test]
fn a_sound_request_becomes_a_schema() {
    let parts = with_gsis(
        with_lsis(table(&["g", "l"]), vec![lsi("local", key("pk", &["l"]))]),
        vec![GlobalSecondaryIndexParts {
            projection: include(&["b".into(), "a".into()]),
            ..gsi("global", key("g", &["sk"]))
        }],
    );
    let schema = CreateTable::validate(parts).expect("it is sound").schema();
    let kinds: Vec<IndexKind> = schema.indexes.iter().map(|index| index.kind).collect();
    assert_eq!(kinds, [IndexKind::Local, IndexKind::Global]);
    let global = schema.indexes.last().expect("it has two");
    assert_eq!(global.projection, Projection::Include(["a".into(), "b".into()].into()));
    assert_eq!(global.key.sort.first().map(|attribute| attribute.name.as_str()), Some("sk"));
}

#[test]
fn a_replica_of_another_accounts_table_takes_its_schema_and_settings_from_it() {
    use keywright_semantics::request::JoinGlobalTable;
    use keywright_semantics::request::parts::GlobalTableSettingsReplicationMode as Mode;
    let source = "arn:aws:dynamodb:us-east-1:111122223333:table/t";
    let bare = || Parts {
        table_name: "t".into(),
        attribute_definitions: None,
        key_schema: None,
        billing_mode: None,
        global_table_source_arn: Some(source.into()),
        global_table_settings_replication_mode: Some(Mode::Enabled),
        ..table(&[])
    };
    let joins = JoinGlobalTable::validate(bare()).expect("it is whole");
    assert_eq!((joins.source.account.as_str(), joins.source.region.as_str()), ("111122223333", "us-east-1"));
    assert!(JoinGlobalTable::is_asked(&bare()) && !JoinGlobalTable::is_asked(&table(&[])));
    let message = |parts: Parts| JoinGlobalTable::validate(parts).expect_err("it is refused").message;
    let without_mode = Parts { global_table_settings_replication_mode: None, ..bare() };
    assert!(message(without_mode).contains("must be ENABLED"));
    let with_schema = Parts { billing_mode: Some(BillingMode::PayPerRequest), ..bare() };
    assert!(message(with_schema).contains("takes its schema and settings from the source"));
    let by_name = Parts { global_table_source_arn: Some("t".into()), ..bare() };
    assert!(message(by_name).contains("must be the ARN of a table"));
    let renamed = Parts { table_name: "other".into(), ..bare() };
    assert!(message(renamed).contains("have one name"));
}
