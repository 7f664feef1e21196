//! Tests of reading and writing templates.

use std::fmt::Write as _;

use super::*;
use crate::exchange::create_table::{key_type_name, read_table};
use crate::exchange::draft::Draft;
use crate::exchange::live::of_items;
use crate::exchange::to_model::to_model;
use crate::tables::{AutoScaling, Capacity, Provisioned, Scaling, Units};

const TEMPLATE: &str = r#"
Parameters:
  Stage: {Type: String, Default: prod}
Resources:
  Queue: {Type: AWS::SQS::Queue}
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${AWS::StackName}-orders-${Stage}"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: pk, AttributeType: S}
        - {AttributeName: at, AttributeType: N}
      KeySchema:
        - {AttributeName: pk, KeyType: HASH}
      GlobalSecondaryIndexes:
        - IndexName: byTime
          KeySchema:
            - {AttributeName: at, KeyType: HASH}
          Projection: {ProjectionType: KEYS_ONLY}
      TimeToLiveSpecification: {AttributeName: expires, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: "true"}
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Unnamed:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !ImportValue elsewhere
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      ProvisionedThroughput: {ReadCapacityUnits: "5", WriteCapacityUnits: 6}
"#;

#[test]
fn tables_of_a_yaml_template_are_read_with_their_settings() {
    let read = parse(TEMPLATE).expect("a template");
    let [orders, unnamed] = read.tables.as_slice() else { panic!("two tables") };
    assert_eq!(orders.name, "orders-prod");
    assert_eq!(orders.ttl.as_deref(), Some("expires"));
    assert!(orders.point_in_time_recovery && orders.stream.is_some());
    assert_eq!(orders.schema.indexes.len(), 1);
    assert_eq!(unnamed.name, "Unnamed");
    let Capacity::Provisioned(capacity) = &unnamed.billing else { panic!("provisioned") };
    assert_eq!(capacity.table, Units { read: 5, write: 6 });
    assert_eq!(
        read.notes,
        [
            "line 9: Orders.TableName: ${AWS::StackName} is known only on deployment; `orders-prod` is taken",
            "line 27: Unnamed.TableName: !ImportValue elsewhere is known only on deployment; the table is called as its resource is",
            "the defaults of the parameters are used: Stage = prod",
        ]
    );
}

fn scaled() -> Vec<TableDefinition> {
    let mut tables = parse(TEMPLATE).expect("a template").tables;
    if let Capacity::Provisioned(capacity) = &mut tables[1].billing {
        let scaling = Scaling { units_min: 1, units_max: 10, target_percent: 70 };
        capacity.autoscaling = Some(AutoScaling { read: Some(scaling), write: Some(scaling) });
    }
    tables
}

#[test]
fn a_written_template_reads_back_as_the_same_tables() {
    let tables = scaled();
    let template = write("Two tables", &tables, &Resource::AsModelled);
    assert_eq!(parse(&yaml::write(&template)).expect("YAML").tables, tables);
    assert_eq!(parse(&template.pretty()).expect("JSON").tables, tables);
}

#[test]
fn a_global_table_reads_back_too() {
    let tables = scaled();
    let regions = vec!["us-east-1".to_owned(), "eu-west-1".to_owned()];
    let template = write("", &tables, &Resource::GlobalTable(regions));
    let mut read = parse(&yaml::write(&template)).expect("YAML").tables;
    for table in &mut read {
        assert_eq!(std::mem::take(&mut table.replicas), ["eu-west-1"]);
    }
    // The service requires a stream for a table with several replicas.
    assert!(read[1].stream.take().is_some());
    assert_eq!(read, tables);
}

#[test]
fn a_template_without_tables_is_a_fault() {
    assert!(parse("Resources: {}").is_err());
}

#[test]
fn indexes_scale_with_their_table_under_ids_of_their_own() {
    let request = |name: &str, index: &str| {
        let text = format!(
            r#"{{"TableName":"{name}","AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"S"}}],
                "KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],"ProvisionedThroughput":{{"ReadCapacityUnits":5,"WriteCapacityUnits":5}},
                "GlobalSecondaryIndexes":[{{"IndexName":"{index}","KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],"Projection":{{"ProjectionType":"ALL"}}}}]}}"#
        );
        let mut faults = Vec::new();
        let table = read_table(&Json::parse(&text).expect("JSON"), "", &mut faults).expect("a table");
        let Capacity::Provisioned(capacity) = &table.billing else { panic!("provisioned") };
        let scaling = Scaling { units_min: 5, units_max: 50, target_percent: 70 };
        let both = AutoScaling { read: Some(scaling), write: Some(scaling) };
        let billing = Capacity::Provisioned(Provisioned { autoscaling: Some(both), ..capacity.clone() });
        TableDefinition { billing, ..table }
    };
    let tables = [request("Shop", "Orders"), request("ShopOrders", "byDay")];
    let template = write("", &tables, &Resource::AsModelled);
    let resources = template.get("Resources").expect("resources").members();
    let ids: std::collections::BTreeSet<&String> = resources.iter().map(|(id, _)| id).collect();
    // One resource per table, and a target and a policy each for reads and writes of the table and its index.
    assert_eq!((ids.len(), resources.len()), (18, 18));
    assert!(template.compact().contains("table/${Shop}/index/Orders"));
    assert_eq!(parse(&template.compact()).expect("a template").tables, tables);
    let global = write("", &tables, &Resource::GlobalTable(vec!["eu-west-1".to_owned()]));
    let first = global.at(&["Resources", "Shop", "Properties"]).expect("the table");
    let index = &first.get("GlobalSecondaryIndexes").expect("indexes").elements()[0];
    assert!(index.get("WriteProvisionedThroughputSettings").is_some());
    let replica = &first.get("Replicas").expect("replicas").elements()[0];
    let index = &replica.get("GlobalSecondaryIndexes").expect("its indexes").elements()[0];
    assert!(index.get("ReadProvisionedThroughputSettings").is_some());
}

/// A template with settings that a model does not hold and values that only a deployment knows.
const DEPLOYED: &str = r#"Transform: AWS::Serverless-2016-10-31
Parameters:
  Env: {Type: String, Default: dev}
  W: {Type: Number, Default: 7}
  R: {Type: Number}
  Secret: {Type: "AWS::SSM::Parameter::Value<String>", Default: /names/table}
Mappings: {Sizes: {dev: {reads: 3}}}
Conditions: {IsProd: !Equals [!Ref Env, prod], Big: !Equals [!Ref R, "9"]}
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Env}-orders"
      BillingMode: PROVISIONED
      ProvisionedThroughput:
        ReadCapacityUnits: !FindInMap [Sizes, !Ref Env, reads]
        WriteCapacityUnits: !Ref W
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      TableClass: !If [IsProd, STANDARD, STANDARD_INFREQUENT_ACCESS]
      SSESpecification: {SSEEnabled: true, KMSMasterKeyId: !GetAtt Key.Arn}
      ContributorInsightsSpecification: {Enabled: false}
      Tags: [{Key: team, Value: !Ref Env}]
      PointInTimeRecoverySpecification:
        PointInTimeRecoveryEnabled: true
        RecoveryPeriodInDays: 7
  Fixed:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Ref Secret
      ProvisionedThroughput: {ReadCapacityUnits: !Ref R, WriteCapacityUnits: 2}
      DeletionProtectionEnabled: !If [Big, true, false]
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
  Sam:
    Type: AWS::Serverless::SimpleTable
  Sized:
    Type: AWS::Serverless::SimpleTable
    Properties:
      PrimaryKey: {Name: at, Type: Number}
      ProvisionedThroughput: {ReadCapacityUnits: 4, WriteCapacityUnits: 5}
      SSESpecification: {SSEEnabled: true}
  Glob:
    Type: AWS::DynamoDB::GlobalTable
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      MultiRegionConsistency: STRONG
      Replicas:
        - {Region: us-east-1}
        - {Region: eu-west-1, TableClass: STANDARD_INFREQUENT_ACCESS}
  Own:
    Type: AWS::DynamoDB::GlobalTable
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      Replicas:
        - {Region: eu-west-1}
        - {Region: !Ref AWS::Region}
  Backup: {Type: AWS::DAX::Cluster}
  Nested: {Type: AWS::CloudFormation::Stack}
"#;

#[test]
fn assumptions_and_unsupported_settings_are_noted_by_line() {
    let read = parse(DEPLOYED).expect("a template");
    assert_eq!(
        read.notes,
        [
            "line 21: Orders.SSESpecification: a model does not hold this; left out",
            "line 23: Orders.Tags: a model does not hold this; left out",
            "line 26: Orders.PointInTimeRecoverySpecification.RecoveryPeriodInDays: a model does not hold this; left out",
            "line 42: Sized.SSESpecification: a model does not hold this; left out",
            "line 49: Glob.MultiRegionConsistency: a model does not hold this; left out",
            "line 50: Glob.Replicas: us-east-1 is taken as the own region of Glob; eu-west-1 as replicas",
            "line 50: Glob.Replicas: the replicas differ in TableClass; a model has one setting for all",
            "line 62: Backup: AWS::DAX::Cluster is not imported",
            "line 63: Nested: AWS::CloudFormation::Stack is not looked into; import its own template",
            "line 30: Fixed.TableName: !Ref Secret is known only on deployment; the table is called as its resource is",
            "line 31: Fixed.ProvisionedThroughput.ReadCapacityUnits: !Ref R is known only on deployment; 1 is assumed",
            "line 32: Fixed.DeletionProtectionEnabled: the condition Big is decided on deployment; it is taken to hold",
            "the defaults of the parameters are used: Env = dev, W = 7",
        ]
    );
}

#[test]
fn defaults_mappings_and_conditions_of_a_template_are_evaluated() {
    let read = parse(DEPLOYED).expect("a template");
    let [orders, fixed, sam, sized, glob, own] = read.tables.as_slice() else { panic!("six tables") };
    let units = |table: &TableDefinition| match &table.billing {
        Capacity::Provisioned(capacity) => Some((capacity.table.read, capacity.table.write)),
        Capacity::OnDemand => None,
    };
    assert_eq!((orders.name.as_str(), units(orders)), ("dev-orders", Some((3, 7))));
    assert!(orders.class.is_some() && orders.point_in_time_recovery);
    assert_eq!((fixed.name.as_str(), units(fixed)), ("Fixed", Some((1, 2))));
    assert!(fixed.deletion_protection);
    let key = |table: &TableDefinition| table.schema.key.partition[0].clone();
    assert_eq!((key(sam).name.as_str(), key_type_name(key(sam).key_type), units(sam)), ("id", "S", None));
    assert_eq!(
        (key(sized).name.as_str(), key_type_name(key(sized).key_type), units(sized)),
        ("at", "N", Some((4, 5)))
    );
    assert_eq!(
        (&glob.replicas, &own.replicas),
        (&vec!["eu-west-1".to_owned()], &vec!["eu-west-1".to_owned()])
    );
}

#[test]
fn a_table_with_replicas_is_a_global_table_with_one_in_the_region_of_the_stack() {
    let mut tables = parse(TEMPLATE).expect("a template").tables;
    tables[0].replicas = vec!["eu-west-1".to_owned()];
    let template = write("", &tables, &Resource::AsModelled);
    let kind = |id: &str| template.at(&["Resources", id, "Type"]).and_then(Json::as_str).unwrap_or_default();
    assert_eq!((kind("ordersprod"), kind("Unnamed")), (GLOBAL_TABLE, TABLE));
    let read = parse(&yaml::write(&template)).expect("YAML");
    assert_eq!((read.tables, read.notes), (tables, Vec::new()));
}

/// A table with a scaling target of its own, followed by `rest`.
fn scaled_template(rest: &str) -> Read {
    let text = format!(
        r#"Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PROVISIONED
      ProvisionedThroughput: {{ReadCapacityUnits: 5, WriteCapacityUnits: 6}}
      AttributeDefinitions: [{{AttributeName: id, AttributeType: S}}]
      KeySchema: [{{AttributeName: id, KeyType: HASH}}]
  Scale:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties: {{MaxCapacity: 100, MinCapacity: 5, ResourceId: !Sub "table/${{Orders}}", ScalableDimension: dynamodb:table:ReadCapacityUnits, ServiceNamespace: dynamodb}}
{rest}"#
    );
    parse(&text).expect("a template")
}

fn policy(id: &str, dimension: &str, percent: u64) -> String {
    format!(
        r#"  {id}:
    Type: AWS::ApplicationAutoScaling::ScalingPolicy
    Properties: {{PolicyType: TargetTrackingScaling, ResourceId: !Sub "table/${{Orders}}", ScalableDimension: "dynamodb:table:{dimension}CapacityUnits", TargetTrackingScalingPolicyConfiguration: {{TargetValue: {percent}}}}}
"#
    )
}

#[test]
fn a_target_whose_resource_id_contains_the_table_scales_it_by_the_policy_of_its_dimension() {
    let read = scaled_template(&format!("{}{}", policy("Writes", "Write", 50), policy("Reads", "Read", 60)));
    let Capacity::Provisioned(capacity) = &read.tables[0].billing else { panic!("provisioned") };
    let scaling = Scaling { units_min: 5, units_max: 100, target_percent: 60 };
    assert_eq!(capacity.autoscaling, Some(AutoScaling { read: Some(scaling), write: None }));
    assert_eq!(read.notes, Vec::<String>::new());
}

#[test]
fn a_target_without_a_policy_scales_nothing_and_is_noted() {
    let read = scaled_template("");
    let Capacity::Provisioned(capacity) = &read.tables[0].billing else { panic!("provisioned") };
    assert_eq!(capacity.autoscaling, None);
    assert_eq!(
        read.notes,
        [
            "line 11: Scale: no target-tracking policy of this template goes with it, and without one nothing scales; left out"
        ]
    );
}

#[test]
fn a_global_table_that_scales_only_writes_gets_a_note() {
    let text = "Resources:\n  Glob:\n    Type: AWS::DynamoDB::GlobalTable\n    Properties:\n      BillingMode: PROVISIONED\n      WriteProvisionedThroughputSettings: {WriteCapacityAutoScalingSettings: {MinCapacity: 3, MaxCapacity: 30, TargetTrackingScalingPolicyConfiguration: {TargetValue: 60}}}\n      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n      Replicas:\n        - {Region: us-east-1, ReadProvisionedThroughputSettings: {ReadCapacityUnits: 11}}\n        - {Region: eu-west-1, ReadProvisionedThroughputSettings: {ReadCapacityUnits: 11}}\n";
    let tables = parse(text).expect("a template").tables;
    let draft = Draft {
        name: "m".to_owned(),
        description: String::new(),
        tables: tables.into_iter().map(|table| of_items(&table, &[])).collect(),
    };
    assert_eq!(
        to_model(&draft).notes,
        ["Glob: only writes scale; the model has one range for both, so its reads scale too"]
    );
}

#[test]
fn deletion_policies_survive_a_round_trip_through_a_model() {
    let text = "Resources:\n  Orders:\n    Type: AWS::DynamoDB::Table\n    DeletionPolicy: Retain\n    UpdateReplacePolicy: Retain\n    DependsOn: Bucket\n    Properties:\n      BillingMode: PAY_PER_REQUEST\n      TableName: Orders\n      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n";
    let imported = crate::exchange::import::import("m", text, None).expect("a template");
    assert_eq!(imported.notes, ["line 6: Orders.DependsOn: a model does not hold this; left out"]);
    let model = crate::parse(&crate::write(&imported.model)).expect("a model file");
    let draft = crate::exchange::of_model::of_model(&model, &std::collections::BTreeMap::new());
    let tables: Vec<TableDefinition> = draft.tables.into_iter().map(|table| table.definition).collect();
    for resource in [Resource::AsModelled, Resource::GlobalTable(vec!["eu-west-1".to_owned()])] {
        let written = yaml::write(&write("", &tables, &resource));
        assert!(written.contains("DeletionPolicy: Retain\n"), "{written}");
        assert!(written.contains("UpdateReplacePolicy: Retain\n"), "{written}");
    }
}

#[test]
fn a_resource_id_too_short_for_a_table_name_is_extended() {
    let text = "Resources:\n  B:\n    Type: AWS::DynamoDB::Table\n    Properties: &table\n      BillingMode: PAY_PER_REQUEST\n      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n  Orders:\n    Type: AWS::DynamoDB::Table\n    Properties: *table\n";
    let imported = crate::exchange::import::import("m", text, None).expect("a template");
    let names: Vec<&str> = imported.model.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["B-table", "Orders"]);
    assert!(imported.notes[0].contains("B: it has no name"), "{:?}", imported.notes);
}

/// A template whose table has this name, with other sections.
fn named(name: &str, sections: &str) -> String {
    format!(
        "{sections}\nResources:\n  T:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      TableName: {name}\n      AttributeDefinitions: [{{AttributeName: id, AttributeType: S}}]\n      KeySchema: [{{AttributeName: id, KeyType: HASH}}]\n"
    )
}

#[test]
fn functions_make_texts_up_to_a_bound() {
    let mut doubled = "abcdefgh".to_owned();
    for _ in 0..15 {
        doubled = format!("!Sub [\"${{a}}${{a}}\", {{a: {doubled}}}]");
    }
    let long = format!("Parameters: {{P: {{Type: String, Default: {}}}}}", "x".repeat(60_000));
    for (name, sections) in [
        (doubled, String::new()),
        (format!("!Join [\"{}\", [a, b, c]]", "-".repeat(40_000)), String::new()),
        ("!Sub \"${P}${P}\"".to_owned(), long.clone()),
        (format!("!Join [\"\", !Split [\",\", !Select [0, [{}]]]]", "!Ref P, ".repeat(1_000)), long),
    ] {
        let faults = parse(&named(&name, &sections)).expect_err("too much");
        assert!(faults[0].text.contains("more than"), "{faults:?}");
    }
}

#[test]
fn a_condition_is_decided_once() {
    let mut conditions =
        "Conditions:\n  C0: !Equals [a, a]\n  Loop: !Or [!Condition Loop, !Condition Loop]\n".to_owned();
    for level in 1..39 {
        let before = format!("!Condition C{}", level - 1);
        writeln!(conditions, "  C{level}: !And [{before}, {before}, {before}]").unwrap();
    }
    let name = "!If [C18, !If [Loop, yes-yes, no], no]";
    let read = parse(&named(name, &conditions)).expect("a template");
    assert_eq!(read.tables[0].name, "yes-yes");
}
