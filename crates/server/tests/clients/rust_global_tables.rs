//! The official Rust SDK with `global_tables.json`, in typed calls: each error of global tables is of the
//! variant that the SDK has for it.

use std::fmt::Debug;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_table::builders::UpdateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, CreateGlobalTableWitnessGroupMemberAction,
    CreateReplicationGroupMemberAction, DeleteReplicaAction, DeleteReplicationGroupMemberAction,
    GlobalTableWitnessGroupUpdate, KeySchemaElement, KeyType, MultiRegionConsistency, Replica, ReplicaStatus,
    ReplicaUpdate, ReplicationGroupUpdate, ScalarAttributeType, StreamSpecification, StreamViewType,
    TableClass, TableDescription, TableStatus, UpdateReplicationGroupMemberAction,
};
use serde_json::{Value, json};

use crate::foreign_clients::{Scenes, scripts};
use crate::support::client::{Caller, client};

/// How often a step is tried that waits for something, and the pause between.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Errors of this code have no variant in any SDK.
const WITHOUT_VARIANT: &str = "ValidationException";

/// What an application sees of an error.
#[derive(Debug)]
struct Fault {
    variant: String,
    code: String,
    message: String,
}

impl Fault {
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` has the error")]
    fn of<E: ProvideErrorMetadata + Debug, R: Debug>(error: SdkError<E, R>) -> Self {
        let Some(of_service) = error.as_service_error() else { panic!("no answer: {error:?}") };
        let shown = format!("{of_service:?}");
        let end = shown.find(|character: char| !character.is_alphanumeric()).unwrap_or(shown.len());
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Self {
            variant: shown[..end].to_owned(),
            code: text(of_service.code()),
            message: text(of_service.message()),
        }
    }

    /// Whether it is what a step expects, as a variant of its own.
    fn is(&self, expected: &Value) -> bool {
        let has_variant = self.code == WITHOUT_VARIANT || self.variant == self.code;
        has_variant && self.code == expected["code"] && self.message == expected["message"]
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The members of a description that the steps look at.
fn shown(table: Option<&TableDescription>) -> Value {
    let table = table.unwrap();
    let replicas: Vec<Value> = table
        .replicas()
        .iter()
        .map(|one| {
            let status = one.replica_status().map(ReplicaStatus::as_str);
            json!({"RegionName": one.region_name(), "ReplicaStatus": status})
        })
        .collect();
    json!({
        "TableName": table.table_name(),
        "TableStatus": table.table_status().map(TableStatus::as_str),
        "GlobalTableVersion": table.global_table_version(),
        "MultiRegionConsistency": table.multi_region_consistency().map(MultiRegionConsistency::as_str),
        "Replicas": replicas,
    })
}

fn replica_update(from: &Value) -> ReplicationGroupUpdate {
    let region = |action: &Value| text(&action["RegionName"]).to_owned();
    let mut update = ReplicationGroupUpdate::builder();
    if let Some(action) = from.get("Create") {
        let create = CreateReplicationGroupMemberAction::builder().region_name(region(action));
        update = update.create(create.build().unwrap());
    }
    if let Some(action) = from.get("Update") {
        let class = action["TableClassOverride"].as_str().map(TableClass::from);
        let change = UpdateReplicationGroupMemberAction::builder().region_name(region(action));
        update = update.update(change.set_table_class_override(class).build().unwrap());
    }
    if let Some(action) = from.get("Delete") {
        let delete = DeleteReplicationGroupMemberAction::builder().region_name(region(action));
        update = update.delete(delete.build().unwrap());
    }
    update.build()
}

fn update_table(mut request: UpdateTableFluentBuilder, input: &Value) -> UpdateTableFluentBuilder {
    request = request.table_name(text(&input["TableName"]));
    for update in elements(&input["ReplicaUpdates"]) {
        request = request.replica_updates(replica_update(update));
    }
    for update in elements(&input["GlobalTableWitnessUpdates"]) {
        let region = text(&update["Create"]["RegionName"]);
        let create = CreateGlobalTableWitnessGroupMemberAction::builder().region_name(region);
        let witness = GlobalTableWitnessGroupUpdate::builder().create(create.build().unwrap());
        request = request.global_table_witness_updates(witness.build());
    }
    if let Some(stream) = input.get("StreamSpecification") {
        let view = stream["StreamViewType"].as_str().map(StreamViewType::from);
        let enabled = stream["StreamEnabled"].as_bool().unwrap();
        let stream = StreamSpecification::builder().stream_enabled(enabled).set_stream_view_type(view);
        request = request.stream_specification(stream.build().unwrap());
    }
    request
        .set_billing_mode(input["BillingMode"].as_str().map(BillingMode::from))
        .set_multi_region_consistency(input["MultiRegionConsistency"].as_str().map(Into::into))
}

/// Requests about one table.
async fn call_table(client: &Client, operation: &str, input: &Value) -> Result<Value, Fault> {
    let name = text(&input["TableName"]);
    let described = |table: Option<&TableDescription>| json!({"TableDescription": shown(table)});
    match operation {
        "CreateTable" => {
            let key = text(&input["KeySchema"][0]["AttributeName"]);
            let schema = KeySchemaElement::builder().attribute_name(key).key_type(KeyType::Hash);
            let attribute = AttributeDefinition::builder().attribute_name(key);
            let attribute = attribute.attribute_type(ScalarAttributeType::S);
            let request = client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
            let request = request.key_schema(schema.build().unwrap());
            let request = request.attribute_definitions(attribute.build().unwrap());
            request.send().await.map(|found| described(found.table_description())).map_err(Fault::of)
        }
        "DescribeTable" => {
            let answer = client.describe_table().table_name(name).send().await;
            answer.map(|found| json!({"Table": shown(found.table())})).map_err(Fault::of)
        }
        "UpdateTable" => {
            let answer = update_table(client.update_table(), input).send().await;
            answer.map(|found| described(found.table_description())).map_err(Fault::of)
        }
        "DeleteTable" => {
            let answer = client.delete_table().table_name(name).send().await;
            answer.map(|found| described(found.table_description())).map_err(Fault::of)
        }
        "DescribeTableReplicaAutoScaling" => {
            let answer = client.describe_table_replica_auto_scaling().table_name(name).send().await;
            answer.map(|_| Value::Null).map_err(Fault::of)
        }
        "PutItem" => {
            let id = AttributeValue::S(text(&input["Item"]["id"]["S"]).to_owned());
            let answer = client.put_item().table_name(name).item("id", id).send().await;
            answer.map(|_| Value::Null).map_err(Fault::of)
        }
        "DeleteItem" => {
            let id = AttributeValue::S(text(&input["Key"]["id"]["S"]).to_owned());
            let answer = client.delete_item().table_name(name).key("id", id).send().await;
            answer.map(|_| Value::Null).map_err(Fault::of)
        }
        other => panic!("{other} is not known here"),
    }
}

/// Requests of global tables of 2017.
async fn call_legacy(client: &Client, operation: &str, input: &Value) -> Result<Value, Fault> {
    let name = || text(&input["GlobalTableName"]);
    let region = |from: &Value| text(&from["RegionName"]).to_owned();
    match operation {
        "CreateGlobalTable" => {
            let replica = Replica::builder().region_name(region(&input["ReplicationGroup"][0])).build();
            let request = client.create_global_table().global_table_name(name());
            request.replication_group(replica).send().await.map(|_| Value::Null).map_err(Fault::of)
        }
        "DescribeGlobalTable" => {
            let answer = client.describe_global_table().global_table_name(name()).send().await;
            answer.map(|_| Value::Null).map_err(Fault::of)
        }
        "UpdateGlobalTable" => {
            let delete = DeleteReplicaAction::builder();
            let delete = delete.region_name(region(&input["ReplicaUpdates"][0]["Delete"])).build().unwrap();
            let request = client.update_global_table().global_table_name(name());
            let request = request.replica_updates(ReplicaUpdate::builder().delete(delete).build());
            request.send().await.map(|_| Value::Null).map_err(Fault::of)
        }
        "DescribeGlobalTableSettings" => {
            let answer = client.describe_global_table_settings().global_table_name(name()).send().await;
            answer.map(|_| Value::Null).map_err(Fault::of)
        }
        "ListGlobalTables" => {
            let answer = client.list_global_tables().send().await;
            let names = |tables: &[aws_sdk_dynamodb::types::GlobalTable]| -> Vec<Option<String>> {
                tables.iter().map(|table| table.global_table_name().map(str::to_owned)).collect()
            };
            answer.map(|found| json!({"GlobalTables": names(found.global_tables())})).map_err(Fault::of)
        }
        other => panic!("{other} is not known here"),
    }
}

/// Whether an answer has what is expected, and perhaps more members; a list has no more elements.
fn has(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(members), Value::Object(_)) => {
            members.iter().all(|(name, member)| has(member, &found[name]))
        }
        (Value::Array(elements), Value::Array(others)) => {
            elements.len() == others.len()
                && elements.iter().zip(others).all(|(element, other)| has(element, other))
        }
        _ => expected == found,
    }
}

#[tokio::test]
async fn each_error_of_global_tables_is_of_its_own_variant_in_the_rust_sdk() {
    let scenes = Scenes::start();
    let client = client(&scenes.global.endpoint, Caller::default());
    let steps = std::fs::read_to_string(scripts().join("global_tables.json")).unwrap();
    let steps: Vec<Value> = serde_json::from_str(&steps).unwrap();
    for step in &steps {
        let (operation, input) = (text(&step["operation"]), &step["input"]);
        let waits = step["retry_until_expected"] == true;
        for tries_left in (0..if waits { TRIES } else { 1 }).rev() {
            let answer = if input["TableName"].is_string() {
                call_table(&client, operation, input).await
            } else {
                call_legacy(&client, operation, input).await
            };
            let is_expected = match &answer {
                Ok(found) => step.get("expect").is_some_and(|expected| has(expected, found)),
                Err(fault) => step.get("error").is_some_and(|expected| fault.is(expected)),
            };
            if is_expected {
                break;
            }
            assert!(tries_left > 0, "{}: {answer:?}", step["name"]);
            tokio::time::sleep(PAUSE).await;
        }
    }
    let errors = steps.iter().filter(|step| step.get("error").is_some()).count();
    assert!(errors > 20, "{errors} errors");
}
