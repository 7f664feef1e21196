//! Bulk puts from outside: conditions, reports, counts, pace, cancels, kills, texts, tables that change.

mod command;
mod conditions;
mod errors;
mod kills;
mod large;
mod pace;
mod reports;
mod rules;
mod stream;
mod tables;
mod waiter;
mod writes;

use serde_json::{Value, json};

use crate::db::{Db, Fault};
use crate::imports::{BUCKET, Scene};

/// The table of most tests, with keys `pk` and `sk`, a global index `gsi` and a local one `lsi`.
const TABLE: &str = "Shop";
/// The prefix of the reports.
const REPORTS: &str = "reports";
const BOTH: [&str; 2] = ["ERROR", "CONDITION_CHECK_FAILURE"];

/// A request for all objects below `in/`, with both reports.
fn request() -> Value {
    json!({
        "TableName": TABLE,
        "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": REPORTS, "OutputType": BOTH},
    })
}

/// A server with the table.
fn scene(more: &[&str]) -> Scene {
    let mut scene = Scene::with(more);
    scene.db.create(TABLE);
    scene
}

fn item(number: u64) -> Value {
    json!({"pk": {"S": format!("p{}", number % 7)}, "sk": {"S": format!("s{number:05}")},
        "n": {"N": number.to_string()}})
}

fn key(item: &Value) -> Value {
    json!({"pk": item["pk"], "sk": item["sk"]})
}

/// The line of an item that is put under this condition.
fn conditional(item: &Value, condition: &str, values: &Value) -> String {
    let mut record = json!({"Item": item, "ConditionExpression": condition});
    if !values.is_null() {
        record["ExpressionAttributeValues"] = values.clone();
    }
    format!("{record}\n")
}

/// Counts of a bulk put: processed, failed.
fn counts(operation: &Value) -> [u64; 2] {
    ["ProcessedItemCount", "FailedItemCount"].map(|name| operation[name].as_u64().unwrap())
}

fn is_at_work(operation: &Value) -> bool {
    ["IN_PROGRESS", "CANCELLING"].iter().any(|status| operation["BulkOperationStatus"] == *status)
}

impl Db {
    fn try_bulk_put(&mut self, request: &Value) -> Result<Value, Fault> {
        Ok(self.try_call("StartBulkPutItems", request)?["BulkOperationDescription"].clone())
    }

    fn begin_bulk_put(&mut self, request: &Value) -> Value {
        let begun = self.try_bulk_put(request).unwrap();
        assert_eq!(begun["BulkOperationStatus"], "IN_PROGRESS", "{begun}");
        begun
    }

    fn describe_bulk_put(&mut self, operation: &Value) -> Value {
        let body = json!({"BulkOperationArn": operation["BulkOperationArn"]});
        self.call("DescribeBulkOperation", &body)["BulkOperationDescription"].clone()
    }

    fn end_of_bulk_put(&mut self, operation: &Value) -> Value {
        self.wait("the bulk put ends", |db| !is_at_work(&db.describe_bulk_put(operation)));
        self.describe_bulk_put(operation)
    }

    /// Puts in bulk, and waits for the end.
    fn bulk_put(&mut self, request: &Value) -> Value {
        let begun = self.begin_bulk_put(request);
        self.end_of_bulk_put(&begun)
    }

    /// Waits until it has put something and is still at work.
    fn wait_until_it_puts(&mut self, operation: &Value) {
        self.wait("it puts items", |db| {
            let now = db.describe_bulk_put(operation);
            assert!(is_at_work(&now), "it has ended too soon: {now}");
            now["ProcessedItemCount"].as_u64().unwrap_or_default() > 0
        });
    }
}
