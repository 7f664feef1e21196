//! A whole table by the official SDK: backed up, dropped, restored.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeValue, BackupStatus, PutRequest, StreamSpecification, StreamViewType, TableStatus, Tag,
    TimeToLiveSpecification, TimeToLiveStatus, WriteRequest,
};

use crate::contents::Contents;
use crate::db::{Db, factor};
use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};

const TABLE: &str = "Shop";
/// Ten thousand in a long run.
const ITEMS: u64 = 1_500;

#[tokio::test]
async fn a_restored_table_has_items_and_indexes_and_none_of_the_settings_that_stay_behind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let client = client(&server.endpoint, Caller::default());
    create_indexed_table(&client, TABLE).await;
    set_all(&client).await;
    let items = (ITEMS * factor()).min(10_000);
    fill(&client, items).await;
    let before = Contents::of(&mut Db::of(&server), TABLE);
    assert_eq!(u64::try_from(before.items.len()).unwrap(), items);

    let made = client.create_backup().table_name(TABLE).backup_name("nightly").send().await.unwrap();
    let made = made.backup_details().unwrap();
    assert_eq!(made.backup_status(), &BackupStatus::Creating);
    let arn = made.backup_arn();
    let described = client.describe_backup().backup_arn(arn).send().await.unwrap();
    let described = described.backup_description().unwrap();
    assert_eq!(described.backup_details().unwrap().backup_status(), &BackupStatus::Available);
    let features = described.source_table_feature_details().unwrap();
    assert_eq!((features.global_secondary_indexes().len(), features.local_secondary_indexes().len()), (1, 1));
    assert!(features.stream_description().is_some() && features.time_to_live_description().is_some());

    client.update_table().table_name(TABLE).deletion_protection_enabled(false).send().await.unwrap();
    client.delete_table().table_name(TABLE).send().await.unwrap();
    let mut db = Db::of(&server);
    db.wait_until_gone(TABLE);
    let restore = client.restore_table_from_backup().backup_arn(arn).target_table_name("Again");
    let answer = restore.send().await.unwrap();
    let answer = answer.table_description().unwrap();
    assert_eq!(answer.table_status(), Some(&TableStatus::Creating));
    let summary = answer.restore_summary().unwrap();
    assert_eq!((summary.source_backup_arn(), summary.restore_in_progress()), (Some(arn), true));
    db.wait_until_active("Again");
    Contents::of(&mut db, "Again").check(&before.items, "restored");
    db.wait("its items are counted", |db| db.describe("Again")["ItemCount"] == items);
    check_settings(&client).await;
}

/// A stream, time to live, point-in-time recovery, tags and deletion protection.
async fn set_all(client: &Client) {
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewImage)
        .build();
    let tag = Tag::builder().key("team").value("blue").build().unwrap();
    let update = client.update_table().table_name(TABLE);
    update.stream_specification(stream.unwrap()).send().await.unwrap();
    let protection = client.update_table().table_name(TABLE).deletion_protection_enabled(true);
    let answer = protection.send().await.unwrap();
    let arn = answer.table_description().unwrap().table_arn().unwrap().to_owned();
    client.tag_resource().resource_arn(arn).tags(tag).send().await.unwrap();
    let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("until").build().unwrap();
    client.update_time_to_live().table_name(TABLE).time_to_live_specification(ttl).send().await.unwrap();
    let recovery = aws_sdk_dynamodb::types::PointInTimeRecoverySpecification::builder()
        .point_in_time_recovery_enabled(true)
        .build()
        .unwrap();
    let recovery =
        client.update_continuous_backups().table_name(TABLE).point_in_time_recovery_specification(recovery);
    recovery.send().await.unwrap();
}

/// Writes items, half of them with the attributes of each index.
async fn fill(client: &Client, items: u64) {
    let text = |text: String| AttributeValue::S(text);
    let item = |number: u64| {
        let mut item = HashMap::from([
            ("pk".to_owned(), text(format!("p{}", number % 37))),
            ("sk".to_owned(), text(format!("s{number:05}"))),
            ("until".to_owned(), AttributeValue::N("4102444800".to_owned())),
            ("x".to_owned(), text("x".repeat(usize::try_from(number % 300).unwrap()))),
        ]);
        if number.is_multiple_of(2) {
            item.insert("g".to_owned(), text(format!("g{}", number % 11)));
        }
        if number.is_multiple_of(3) {
            item.insert("l".to_owned(), text(format!("l{}", number % 7)));
        }
        item
    };
    let put = |number: u64| {
        let request = PutRequest::builder().set_item(Some(item(number))).build().unwrap();
        WriteRequest::builder().put_request(request).build()
    };
    let numbers: Vec<u64> = (0..items).collect();
    for some in numbers.chunks(25) {
        let puts = some.iter().map(|number| put(*number)).collect();
        client.batch_write_item().request_items(TABLE, puts).send().await.unwrap();
    }
}

async fn check_settings(client: &Client) {
    let described = client.describe_table().table_name("Again").send().await.unwrap();
    let table = described.table().unwrap();
    assert_eq!((table.global_secondary_indexes().len(), table.local_secondary_indexes().len()), (1, 1));
    assert!(table.restore_summary().is_none() && table.table_class_summary().is_none());
    assert!(table.stream_specification().is_none() && table.latest_stream_arn().is_none());
    assert_eq!(table.deletion_protection_enabled(), Some(false));
    let tags = client.list_tags_of_resource().resource_arn(table.table_arn().unwrap()).send().await.unwrap();
    assert!(tags.tags().is_empty());
    let ttl = client.describe_time_to_live().table_name("Again").send().await.unwrap();
    let ttl = ttl.time_to_live_description().unwrap().time_to_live_status().cloned();
    assert_eq!(ttl, Some(TimeToLiveStatus::Disabled));
    let recovery = client.describe_continuous_backups().table_name("Again").send().await.unwrap();
    let recovery = recovery.continuous_backups_description().unwrap().point_in_time_recovery_description();
    assert_eq!(recovery.unwrap().point_in_time_recovery_status().unwrap().as_str(), "DISABLED");
}
