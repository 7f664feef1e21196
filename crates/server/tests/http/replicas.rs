//! A global table, as the official SDK sees it in two regions of one server.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{
    AttributeValue, CreateReplicationGroupMemberAction, DeleteReplicationGroupMemberAction, Replica,
    ReplicaStatus, ReplicationGroupUpdate, StreamViewType, TableDescription,
};

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};

/// Looks at a change before it is given up, with `PAUSE` between two of them.
const LOOKS_MAX: usize = 500;
const PAUSE: Duration = Duration::from_millis(20);

fn in_region(server: &Server, region: &str) -> Client {
    client(&server.endpoint, Caller { region, ..Caller::default() })
}

fn created(region: &str) -> ReplicationGroupUpdate {
    let create = CreateReplicationGroupMemberAction::builder().region_name(region).build().unwrap();
    ReplicationGroupUpdate::builder().create(create).build()
}

fn deleted(region: &str) -> ReplicationGroupUpdate {
    let delete = DeleteReplicationGroupMemberAction::builder().region_name(region).build().unwrap();
    ReplicationGroupUpdate::builder().delete(delete).build()
}

async fn described(own: &Client) -> TableDescription {
    own.describe_table().table_name("Tab").send().await.unwrap().table.unwrap()
}

/// Waits until a region describes exactly this many replicas, all of them active.
async fn wait_for_replicas(own: &Client, count: usize) -> TableDescription {
    for _ in 0..LOOKS_MAX {
        let table = described(own).await;
        let active = |replica: &&aws_sdk_dynamodb::types::ReplicaDescription| {
            replica.replica_status() == Some(&ReplicaStatus::Active)
        };
        let replicas = table.replicas();
        if replicas.len() == count && replicas.iter().filter(active).count() == count {
            return table;
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("the replicas are not as wanted: {:?}", described(own).await);
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn put(own: &Client, pk: &str, group: &str) {
    let item = own.put_item().table_name("Tab").item("pk", text(pk)).item("sk", text("1"));
    item.item("g", text(group)).send().await.unwrap();
}

/// The items of a group, once there are this many.
async fn wait_for_group(own: &Client, group: &str, count: usize) -> Vec<HashMap<String, AttributeValue>> {
    for _ in 0..LOOKS_MAX {
        let query = own.query().table_name("Tab").index_name("gsi").key_condition_expression("g = :g");
        let page = query.expression_attribute_values(":g", text(group)).send().await.unwrap();
        if page.items().len() == count {
            return page.items().to_vec();
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("the group {group} does not have {count} items");
}

#[tokio::test]
async fn what_is_written_in_one_region_appears_in_the_other() {
    let server = Server::start(&["--in-memory", "--source-region-hours", "0"]);
    let (virginia, ireland) = (in_region(&server, "us-east-1"), in_region(&server, "eu-west-1"));
    create_indexed_table(&virginia, "Tab").await;
    put(&virginia, "before", "a").await;
    assert_eq!(described(&virginia).await.global_table_version(), None);

    let update = virginia.update_table().table_name("Tab").replica_updates(created("eu-west-1"));
    let answer = update.send().await.unwrap().table_description.unwrap();
    assert_eq!((answer.global_table_version(), answer.replicas().len()), (Some("2019.11.21"), 0));
    let here = wait_for_replicas(&virginia, 1).await;
    let there = wait_for_replicas(&ireland, 1).await;
    assert_eq!(there.replicas()[0].region_name(), Some("us-east-1"));
    assert_ne!(here.table_id(), there.table_id());
    let view = there.stream_specification().and_then(|stream| stream.stream_view_type());
    assert_eq!(view, Some(&StreamViewType::NewAndOldImages));

    wait_for_group(&ireland, "a", 1).await;
    put(&virginia, "here", "b").await;
    put(&ireland, "there", "b").await;
    for region in [&virginia, &ireland] {
        wait_for_group(region, "b", 2).await;
    }
    let key = ireland.delete_item().table_name("Tab").key("pk", text("before")).key("sk", text("1"));
    key.send().await.unwrap();
    wait_for_group(&virginia, "a", 0).await;

    let again = virginia.update_table().table_name("Tab").replica_updates(created("eu-west-1")).send().await;
    let refused = again.unwrap_err();
    assert_eq!(refused.code(), Some("ValidationException"), "{refused:?}");
    let leave = virginia.update_table().table_name("Tab").replica_updates(deleted("eu-west-1"));
    leave.send().await.unwrap();
    wait_for_replicas(&virginia, 0).await;
    for _ in 0..LOOKS_MAX {
        if ireland.describe_table().table_name("Tab").send().await.is_err() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    let gone = ireland.describe_table().table_name("Tab").send().await.unwrap_err();
    assert!(gone.into_service_error().is_resource_not_found_exception());
    wait_for_group(&virginia, "b", 2).await;
}

#[tokio::test]
async fn legacy_global_tables_are_none_and_cannot_be_made() {
    let server = Server::in_memory();
    let own = in_region(&server, "us-east-1");
    let member = Replica::builder().region_name("eu-west-1").build();
    let create = own.create_global_table().global_table_name("Tab").replication_group(member).send().await;
    let refused = create.unwrap_err();
    assert_eq!(refused.code(), Some("ValidationException"));
    let message = refused.message().unwrap_or_default();
    assert!(message.contains("global tables version 2017.11.29 is not supported"), "{message}");
    let missing = own.describe_global_table().global_table_name("Tab").send().await.unwrap_err();
    let missing = missing.into_service_error();
    assert!(missing.is_global_table_not_found_exception(), "{missing:?}");
    let text = "Global table not found: Global table with name: 'Tab' does not exist.";
    assert_eq!(missing.message(), Some(text));
    assert!(own.list_global_tables().send().await.unwrap().global_tables().is_empty());
}
