//! Tests of reading and writing templates.

use std::fmt::Write as _;

use super::*;
use crate::create_table::{key_type_name, read_table};
use crate::draft::Draft;
use crate::live::of_items;
use crate::to_model::to_model;
use keywright_model::tables::{AutoScaling, Capacity, Provisioned, Scaling, Units};

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
            "line 9: Orders.TableName: ${AWS::StackName} is known only on deployment; `orders-prod` is used",
            "line 27: Unnamed.TableName: !ImportValue elsewhere is known only on deployment; the table has the name of its resource",
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
            "line 50: Glob.Replicas: us-east-1 is assumed as the home region of Glob; eu-west-1 as replicas",
            "line 50: Glob.Replicas: the replicas differ in TableClass; a model has one setting for all",
            "line 62: Backup: AWS::DAX::Cluster is not imported",
            "line 63: Nested: AWS::CloudFormation::Stack is not looked into; import its own template",
            "line 30: Fixed.TableName: !Ref Secret is known only on deployment; the table has the name of its resource; `--parameter Secret=VALUE` gives it",
            "line 31: Fixed.ProvisionedThroughput.ReadCapacityUnits: !Ref R is known only on deployment; 1 is assumed; `--parameter R=VALUE` gives it",
            "line 32: Fixed.DeletionProtectionEnabled: the condition Big is decided on deployment; it is assumed to hold",
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
    let imported = crate::import::import("m", text, None).expect("a template");
    assert_eq!(imported.notes, ["line 6: Orders.DependsOn: a model does not hold this; left out"]);
    let model = keywright_model::parse(&keywright_model::write(&imported.model)).expect("a model file");
    let draft = crate::of_model::of_model(&model, &std::collections::BTreeMap::new());
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
    let imported = crate::import::import("m", text, None).expect("a template");
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

/// A template whose names come from parameters without defaults, by every function.
const PARAMETERS: &str = r#"Parameters:
  KeyName: {Type: String}
  Prefix: {Type: String}
  Stage: {Type: String, AllowedValues: [dev, prod]}
  Reads: {Type: Number}
Conditions: {IsProd: !Equals [!Ref Stage, prod]}
Resources:
  Keyed:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "keyed-${Stage}"
      BillingMode: !If [IsProd, PROVISIONED, PAY_PER_REQUEST]
      ProvisionedThroughput: !If [IsProd, {ReadCapacityUnits: !Ref Reads, WriteCapacityUnits: 2}, !Ref AWS::NoValue]
      AttributeDefinitions:
        - {AttributeName: !Ref KeyName, AttributeType: S}
        - {AttributeName: !Sub "${Prefix}_at", AttributeType: N}
        - {AttributeName: !Join ["", [!Ref Prefix, _by]], AttributeType: S}
      KeySchema:
        - {AttributeName: !Ref KeyName, KeyType: HASH}
        - {AttributeName: !Sub "${Prefix}_at", KeyType: RANGE}
      GlobalSecondaryIndexes:
        - IndexName: byWhom
          KeySchema: [{AttributeName: !Join ["", [!Ref Prefix, _by]], KeyType: HASH}]
          Projection: {ProjectionType: ALL}
  Joined:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Join ["-", [!Ref Stage, joined]]
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
"#;

/// The names of tables, and of the key attributes of the first one.
fn names(read: &Read) -> (Vec<&str>, Vec<&str>) {
    let first = read.tables[0].key_attributes().into_iter().map(|key| key.name.as_str()).collect();
    (read.tables.iter().map(|table| table.name.as_str()).collect(), first)
}

#[test]
fn parameters_have_the_given_values_in_every_function() {
    let given = |pairs: &[(&str, &str)]| -> Parameters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let values = given(&[("KeyName", "pk"), ("Prefix", "made"), ("Stage", "prod"), ("Reads", "9")]);
    let read = parse_with(PARAMETERS, &values).expect("a template");
    assert_eq!(names(&read), (vec!["keyed-prod", "prod-joined"], vec!["pk", "made_at", "made_by"]));
    let Capacity::Provisioned(capacity) = &read.tables[0].billing else { panic!("provisioned") };
    assert_eq!(capacity.table, Units { read: 9, write: 2 });
    assert_eq!(read.notes, Vec::<String>::new());
    let dev = given(&[("KeyName", "pk"), ("Prefix", "made"), ("Stage", "dev")]);
    let read = parse_with(PARAMETERS, &dev).expect("a template");
    assert_eq!(
        (names(&read).0, &read.tables[0].billing),
        (vec!["keyed-dev", "dev-joined"], &Capacity::OnDemand)
    );
    for (wrong, part) in [(("Stege", "prod"), "KeyName, Prefix, Reads, Stage"), (("Stage", "test"), "dev")] {
        let faults = parse_with(PARAMETERS, &given(&[wrong])).expect_err("no such parameter or value");
        assert!(faults[0].text.contains(part), "{faults:?}");
    }
    let stack = given(&[("AWS::StackName", "shop"), ("AWS::Region", "eu-west-1")]);
    let text = named("!Sub \"${AWS::StackName}-${AWS::Region}\"", "");
    assert_eq!(parse_with(&text, &stack).expect("a template").tables[0].name, "shop-eu-west-1");
}

#[test]
fn a_parameter_without_a_value_is_assumed_and_reported_with_its_line() {
    let read = parse(PARAMETERS).expect("a template");
    assert_eq!(names(&read), (vec!["keyed", "joined"], vec!["KeyName", "Prefix_at", "Prefix_by"]));
    for note in [
        "line 11: Keyed.TableName: ${Stage} is known only on deployment; `keyed` is used; `--parameter Stage=VALUE` gives it",
        "line 19: Keyed.KeySchema[0].AttributeName: !Ref KeyName is known only on deployment; `KeyName` is assumed; `--parameter KeyName=VALUE` gives it",
        "line 20: Keyed.KeySchema[1].AttributeName: ${Prefix} is known only on deployment; `Prefix_at` is used; `--parameter Prefix=VALUE` gives it",
        "line 28: Joined.TableName: !Ref Stage is known only on deployment; `joined` is used; `--parameter Stage=VALUE` gives it",
        "line 13: Keyed.ProvisionedThroughput.ReadCapacityUnits: !Ref Reads is known only on deployment; 1 is assumed; `--parameter Reads=VALUE` gives it",
    ] {
        assert!(read.notes.iter().any(|own| own == note), "{note}: {:#?}", read.notes);
    }
}

#[test]
fn a_table_that_cannot_be_read_leaves_the_others() {
    let text = "Resources:\n  Odd:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      AttributeDefinitions: !Ref Defs\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n  Log:\n    Type: AWS::Serverless::SimpleTable\n";
    let read = parse(text).expect("a template");
    assert_eq!(read.tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["Log"]);
    let notes = read.notes.join("\n");
    for part in [
        "line 6: Odd.KeySchema[0]: AttributeDefinitions does not define id; the table is left out",
        "line 5: Odd.AttributeDefinitions: !Ref Defs",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
    let alone = text.split("  Log").next().expect("the first table");
    let faults = parse(alone).expect_err("no table");
    let reported: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(
        reported[0].starts_with("line 6: Resources.Odd.Properties.KeySchema[0]: AttributeDefinitions"),
        "{reported:?}"
    );
    assert!(
        reported
            .iter()
            .any(|fault| fault.starts_with("line 5: Odd.AttributeDefinitions: !Ref Defs is known only")),
        "{reported:?}"
    );
}

#[test]
fn a_template_that_is_made_on_deployment_says_by_what_and_how_to_import_it() {
    let looped = "Transform: AWS::LanguageExtensions\nResources:\n  Fn::ForEach::Tables:\n    - Name\n    - [A, B]\n    - \"T${Name}\": {Type: AWS::DynamoDB::Table}\n";
    let included =
        "Resources:\n  Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://b/t.yaml}}\n";
    let macros =
        "Transform: [AWS::Serverless-2016-10-31, OurMacro]\nResources:\n  Ours: {Type: Our::Own::Tables}\n";
    for (text, part) in [
        (looped, "line 3: Fn::ForEach::Tables: a loop makes resources on deployment"),
        (included, "line 2: Fn::Transform: a transform makes resources on deployment"),
        (macros, "line 1: Transform: the macro OurMacro changes the template"),
    ] {
        let faults = crate::import::import("m", text, None).expect_err("no table");
        let reported = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(reported.contains(part), "{reported}");
        assert!(reported.contains("--template-stage Processed"), "{reported}");
    }
}
