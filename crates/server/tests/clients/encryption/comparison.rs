//! What the server gives back to a client that knows nothing of encryption, compared with what was sent.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::BUCKET;
use super::record::{Change, History, Key, Record, canonical_item};
use crate::support::Server;
use crate::support::raw::{Connection, signed};

/// Pages are so small that there are several.
const PAGE: usize = 7;
/// How many items a BatchGetItem and a TransactGetItems read at most.
const READS_MAX: usize = 100;
/// An export or a restore of these few items takes less than a second.
const POLLS_MAX: usize = 1500;

type Items = BTreeMap<Key, Value>;

pub(super) struct Plain {
    connection: Connection,
}

impl Plain {
    pub(super) fn of(server: &Server) -> Self {
        Self { connection: Connection::open(server) }
    }

    fn call(&mut self, operation: &str, body: &Value) -> Value {
        let is_of_streams = ["DescribeStream", "GetShardIterator", "GetRecords"].contains(&operation);
        let service = if is_of_streams { "DynamoDBStreams" } else { "DynamoDB" };
        let target = format!("{service}_20120810.{operation}");
        let answer = self.connection.send("POST", &signed(&target), body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{operation} {body}: {}", answer.text());
        answer.json()
    }

    /// Restores a table, for which an export has turned recovery on, under another name.
    pub(super) fn restore(&mut self, table: &str, copy: &str) {
        let request =
            json!({"SourceTableName": table, "TargetTableName": copy, "UseLatestRestorableTime": true});
        self.call("RestoreTableToPointInTime", &request);
        let described = self.poll("DescribeTable", &json!({"TableName": copy}), |answer| {
            answer["Table"]["TableStatus"] != "CREATING"
        });
        assert_eq!(described["Table"]["TableStatus"], "ACTIVE");
    }

    /// Makes a table with an index of what an export has of another one.
    pub(super) fn import(&mut self, table: &str, copy: &str, bucket: &Path) {
        let data = self.export(table, bucket);
        let prefix = data.strip_prefix(bucket).unwrap().to_str().unwrap();
        let described = self.call("DescribeTable", &json!({"TableName": table}))["Table"].take();
        let of_index = &described["GlobalSecondaryIndexes"][0];
        let index =
            ["IndexName", "KeySchema", "Projection"].map(|name| (name.to_owned(), of_index[name].clone()));
        let parameters = json!({
            "TableName": copy,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": described["KeySchema"],
            "AttributeDefinitions": described["AttributeDefinitions"],
            "GlobalSecondaryIndexes": [Value::from_iter(index)],
        });
        let request = json!({
            "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": format!("{prefix}/")},
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
            "TableCreationParameters": parameters,
        });
        let begun = self.call("ImportTable", &request)["ImportTableDescription"].take();
        let import = json!({"ImportArn": begun["ImportArn"]});
        let ended = self.poll("DescribeImport", &import, |answer| {
            answer["ImportTableDescription"]["ImportStatus"] != "IN_PROGRESS"
        });
        assert_eq!(ended["ImportTableDescription"]["ImportStatus"], "COMPLETED", "{ended}");
    }

    fn poll(&mut self, operation: &str, request: &Value, has_ended: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..POLLS_MAX {
            let answer = self.call(operation, request);
            if has_ended(&answer) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{operation} {request} does not end");
    }

    pub(super) fn compare(&mut self, record: &Record, bucket: &Path) {
        for (table, history) in &record.tables {
            let items = history.items();
            assert!(!items.is_empty(), "{table} is empty");
            self.compare_reads(table, history, &items);
            self.compare_pages(table, history, &items);
            if history.has_stream {
                self.compare_stream(table, history);
            }
            self.compare_export(table, history, bucket);
        }
    }

    fn compare_reads(&mut self, table: &str, history: &History, items: &Items) {
        let key = |item: &Value| -> Value {
            history.key.iter().map(|name| (name.clone(), item[name].clone())).collect()
        };
        let keys: Vec<Value> = items.values().map(key).collect();
        for (key, item) in keys.iter().zip(items.values()) {
            let found =
                self.call("GetItem", &json!({"TableName": table, "Key": key, "ConsistentRead": true}));
            assert_eq!(canonical_item(&found["Item"]), *item, "{table}: GetItem");
        }
        let (mut batch, mut transaction) = (Vec::new(), Vec::new());
        for some in keys.chunks(READS_MAX) {
            let found = self.call("BatchGetItem", &json!({"RequestItems": {table: {"Keys": some}}}));
            batch.extend(found["Responses"][table].as_array().unwrap().clone());
            let reads: Vec<Value> =
                some.iter().map(|key| json!({"Get": {"TableName": table, "Key": key}})).collect();
            let found = self.call("TransactGetItems", &json!({"TransactItems": reads}));
            transaction.extend(found["Responses"].as_array().unwrap().iter().map(|one| one["Item"].clone()));
        }
        for (operation, found) in [("BatchGetItem", batch), ("TransactGetItems", transaction)] {
            assert_eq!(by_key(history, &found), *items, "{table}: {operation}");
        }
    }

    fn compare_pages(&mut self, table: &str, history: &History, items: &Items) {
        let scan = json!({"TableName": table, "Limit": PAGE});
        assert_eq!(by_key(history, &self.pages("Scan", scan.clone())), *items, "{table}: Scan");
        let mut queried = Vec::new();
        let partitions: BTreeMap<String, &Value> =
            items.values().map(|item| (item[&history.key[0]].to_string(), &item[&history.key[0]])).collect();
        for partition in partitions.values() {
            let query = json!({
                "TableName": table, "Limit": PAGE, "KeyConditionExpression": "#pk = :pk",
                "ExpressionAttributeNames": {"#pk": history.key[0]},
                "ExpressionAttributeValues": {":pk": partition},
            });
            queried.extend(self.pages("Query", query));
        }
        assert_eq!(by_key(history, &queried), *items, "{table}: Query");
        for index in &history.indexes {
            let mut of_index = scan.clone();
            of_index["IndexName"] = Value::from(index.as_str());
            assert_eq!(by_key(history, &self.pages("Scan", of_index)), *items, "{table}: Scan of {index}");
        }
        let select = json!({"Statement": format!("SELECT * FROM \"{table}\""), "Limit": PAGE});
        assert_eq!(by_key(history, &self.pages("ExecuteStatement", select)), *items, "{table}: SELECT");
    }

    fn pages(&mut self, operation: &str, mut request: Value) -> Vec<Value> {
        let [next, from] = match operation {
            "ExecuteStatement" => ["NextToken", "NextToken"],
            _ => ["LastEvaluatedKey", "ExclusiveStartKey"],
        };
        let mut items = Vec::new();
        loop {
            let page = self.call(operation, &request);
            items.extend(page["Items"].as_array().unwrap().clone());
            if page[next].is_null() {
                return items;
            }
            request[from] = page[next].clone();
        }
    }

    /// The stream has each change with the item before and after it.
    fn compare_stream(&mut self, table: &str, history: &History) {
        let described = self.call("DescribeTable", &json!({"TableName": table}));
        let stream = &described["Table"]["LatestStreamArn"];
        let described = self.call("DescribeStream", &json!({"StreamArn": stream}));
        assert!(described["StreamDescription"]["LastEvaluatedShardId"].is_null(), "there are few shards");
        let mut found: BTreeMap<Key, Vec<Change>> = BTreeMap::new();
        for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
            let begin = json!({"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let mut iterator = self.call("GetShardIterator", &begin)["ShardIterator"].clone();
            while iterator.is_string() {
                let page = self.call("GetRecords", &json!({"ShardIterator": iterator}));
                let records = page["Records"].as_array().unwrap();
                for change in records.iter().map(|record| &record["dynamodb"]) {
                    let image = |name| change.get(name).map_or(Value::Null, canonical_item);
                    let key = history.key_of(&canonical_item(&change["Keys"]));
                    found.entry(key).or_default().push((image("OldImage"), image("NewImage")));
                }
                if records.is_empty() {
                    break;
                }
                iterator = page["NextShardIterator"].clone();
            }
        }
        assert_eq!(found, history.changes, "{table}: stream");
    }

    fn compare_export(&mut self, table: &str, history: &History, bucket: &Path) {
        let mut found = Vec::new();
        for file in std::fs::read_dir(self.export(table, bucket)).unwrap() {
            let mut lines = String::new();
            let content = std::fs::File::open(file.unwrap().path()).unwrap();
            GzDecoder::new(content).read_to_string(&mut lines).unwrap();
            let items = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["Item"].take());
            found.extend(items);
        }
        assert_eq!(by_key(history, &found), history.items(), "{table}: export");
    }

    /// Exports a table as it is. Returns the folder of the export's data.
    fn export(&mut self, table: &str, bucket: &Path) -> PathBuf {
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let request = json!({"TableName": table, "PointInTimeRecoverySpecification": recovery});
        self.call("UpdateContinuousBackups", &request);
        let arn = format!("arn:aws:dynamodb:us-east-1:123456789012:table/{table}");
        let begun = self.call("ExportTableToPointInTime", &json!({"TableArn": arn, "S3Bucket": BUCKET}));
        let export = json!({"ExportArn": begun["ExportDescription"]["ExportArn"]});
        let ended = self.poll("DescribeExport", &export, |answer| {
            answer["ExportDescription"]["ExportStatus"] != "IN_PROGRESS"
        })["ExportDescription"]
            .take();
        assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
        bucket.join(ended["ExportManifest"].as_str().unwrap()).with_file_name("data")
    }
}

fn by_key(history: &History, items: &[Value]) -> Items {
    let canonical = items.iter().map(canonical_item);
    let found: Items = canonical.map(|item| (history.key_of(&item), item)).collect();
    assert_eq!(found.len(), items.len(), "an item is there twice");
    found
}
