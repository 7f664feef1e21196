//! A client of tables, their points in time and their backups.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::Server;
use crate::support::in_process::{Api as _, Http};

/// Longer than any restore here takes, also if its owner dies.
const PATIENCE: Duration = Duration::from_mins(2);

/// Items by their partition key.
pub(crate) type Items = BTreeMap<String, Value>;

pub(crate) struct Desk(Http);

impl Desk {
    pub(crate) fn of(server: &Server) -> Self {
        Self(Http::new(server.address()))
    }

    pub(crate) async fn call(&self, operation: &str, body: &Value) -> Value {
        self.0.call(operation, body).await.good()
    }

    /// A table with the key `pk`, an index `gsi` on `g`, and point-in-time recovery.
    pub(crate) async fn create(&self, table: &str) {
        let key = |name: &str| json!([{"AttributeName": name, "KeyType": "HASH"}]);
        let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
        let create = json!({
            "TableName": table,
            "AttributeDefinitions": [text("pk"), text("g")],
            "KeySchema": key("pk"),
            "GlobalSecondaryIndexes": [
                {"IndexName": "gsi", "KeySchema": key("g"), "Projection": {"ProjectionType": "ALL"}},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        });
        self.call("CreateTable", &create).await;
        let on = json!({
            "TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        });
        self.call("UpdateContinuousBackups", &on).await;
    }

    /// The latest second to which a table can be restored.
    pub(crate) async fn latest(&self, table: &str) -> u64 {
        let answer = self.call("DescribeContinuousBackups", &json!({"TableName": table})).await;
        let described = &answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        format!("{:.0}", described["LatestRestorableDateTime"].as_f64().unwrap()).parse().unwrap()
    }

    /// Begins a restore to a second, or to the latest time.
    pub(crate) async fn restore_to(&self, source: &str, target: &str, second: Option<u64>) {
        let mut body = json!({"SourceTableName": source, "TargetTableName": target});
        match second {
            Some(second) => body["RestoreDateTime"] = second.into(),
            None => body["UseLatestRestorableTime"] = true.into(),
        }
        self.call("RestoreTableToPointInTime", &body).await;
    }

    /// The ARN of a new backup.
    pub(crate) async fn back_up(&self, table: &str) -> String {
        let made = self.call("CreateBackup", &json!({"TableName": table, "BackupName": "some"})).await;
        made["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn restore_backup(&self, arn: &str, target: &str) {
        let body = json!({"BackupArn": arn, "TargetTableName": target});
        self.call("RestoreTableFromBackup", &body).await;
    }

    pub(crate) async fn wait_until_active(&self, table: &str) {
        let begun = Instant::now();
        let describe = json!({"TableName": table});
        while self.call("DescribeTable", &describe).await["Table"]["TableStatus"] != "ACTIVE" {
            assert!(begun.elapsed() < PATIENCE, "{table} does not become ACTIVE");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// All items, in the table and in its index.
    pub(crate) async fn items(&self, table: &str) -> Items {
        let items = self.scan(table, None).await;
        assert!(self.scan(table, Some("gsi")).await == items, "the index of {table} equals it");
        items
    }

    pub(crate) async fn scan(&self, table: &str, index: Option<&str>) -> Items {
        let mut body = json!({"TableName": table});
        if let Some(index) = index {
            body["IndexName"] = index.into();
        }
        let mut items = Items::new();
        loop {
            let mut page = self.call("Scan", &body).await;
            for item in page["Items"].as_array_mut().unwrap().drain(..) {
                let key = item["pk"]["S"].as_str().unwrap().to_owned();
                assert!(items.insert(key, item).is_none(), "an item of {table} is there twice");
            }
            match page.get_mut("LastEvaluatedKey") {
                Some(last) => body["ExclusiveStartKey"] = last.take(),
                None => return items,
            }
        }
    }

    pub(crate) async fn delete_table(&self, table: &str) {
        self.call("DeleteTable", &json!({"TableName": table})).await;
    }
}
