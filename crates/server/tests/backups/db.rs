//! A client of tables and backups, JSON in and JSON out.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::raw::{Connection, signed};

/// Longer than any restore here takes.
const PATIENCE: Duration = Duration::from_mins(2);
/// Where the tests' own clocks begin.
pub(crate) const BEGUN_MS: u64 = 1_795_795_200_000;
pub(crate) const BEGUN: &str = "manual@2026-11-27T16:00:00Z";
pub(crate) const DAY_MS: u64 = 86_400_000;

/// The name and the message of an error.
pub(crate) type Fault = (String, String);

pub(crate) struct Db {
    connection: Connection,
}

impl Db {
    pub(crate) fn of(server: &Server) -> Self {
        Self { connection: Connection::open(server) }
    }

    pub(crate) fn try_call(&mut self, operation: &str, body: &Value) -> Result<Value, Fault> {
        let target = format!("DynamoDB_20120810.{operation}");
        let answer = self.connection.send("POST", &signed(&target), body.to_string().as_bytes());
        let body = answer.json();
        if answer.status == 200 {
            return Ok(body);
        }
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let name = text("__type").rsplit('#').next().unwrap_or_default().to_owned();
        let message = if body["message"].is_null() { text("Message") } else { text("message") };
        assert!(answer.status == 400 || answer.status == 500, "{operation}: {} {name}", answer.status);
        Err((name, message))
    }

    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Value {
        self.try_call(operation, body).unwrap_or_else(|fault| panic!("{operation} {body}: {fault:?}"))
    }

    /// A table with keys `pk`, `sk`, a global index `gsi` on `g`, `sk` and a local index `lsi` on `l`.
    pub(crate) fn create(&mut self, table: &str) {
        let key = |partition: &str, sort: &str| json!([{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]);
        let all = json!({"ProjectionType": "ALL"});
        let definitions =
            ["pk", "sk", "g", "l"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let body = json!({
            "TableName": table,
            "AttributeDefinitions": definitions,
            "KeySchema": key("pk", "sk"),
            "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": key("g", "sk"), "Projection": all}],
            "LocalSecondaryIndexes": [{"IndexName": "lsi", "KeySchema": key("pk", "l"), "Projection": all}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        self.call("CreateTable", &body);
        self.wait_until_active(table);
    }

    pub(crate) fn put(&mut self, table: &str, item: &Value) {
        self.call("PutItem", &json!({"TableName": table, "Item": item}));
    }

    /// Writes these items in batches.
    pub(crate) fn put_all(&mut self, table: &str, items: &[Value]) {
        for some in items.chunks(25) {
            let puts: Vec<Value> = some.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
            let left = self.call("BatchWriteItem", &json!({"RequestItems": {table: puts}}));
            assert_eq!(left["UnprocessedItems"], json!({}));
        }
    }

    pub(crate) fn delete_table(&mut self, table: &str) {
        self.call("DeleteTable", &json!({"TableName": table}));
    }

    /// Turns point-in-time recovery on with this period.
    pub(crate) fn recovery(&mut self, table: &str, days: u64) -> Value {
        let on = json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": days});
        self.change_recovery(table, &on)
    }

    pub(crate) fn change_recovery(&mut self, table: &str, specification: &Value) -> Value {
        let body = json!({"TableName": table, "PointInTimeRecoverySpecification": specification});
        window_of(&self.call("UpdateContinuousBackups", &body))
    }

    /// What is said about point-in-time recovery.
    pub(crate) fn window(&mut self, table: &str) -> Value {
        window_of(&self.call("DescribeContinuousBackups", &json!({"TableName": table})))
    }

    /// The ARN of a new backup.
    pub(crate) fn back_up(&mut self, table: &str) -> String {
        let made = self.call("CreateBackup", &json!({"TableName": table, "BackupName": "some"}));
        made["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned()
    }

    pub(crate) fn restore_backup(&mut self, arn: &str, target: &str) -> Value {
        self.call("RestoreTableFromBackup", &json!({"BackupArn": arn, "TargetTableName": target}))
    }

    /// Restores to a second, or to the latest time.
    pub(crate) fn restore_to(&mut self, source: &str, target: &str, second: Option<u64>) -> Value {
        self.call("RestoreTableToPointInTime", &restore_request(source, target, second))
    }

    pub(crate) fn describe(&mut self, table: &str) -> Value {
        self.call("DescribeTable", &json!({"TableName": table}))["Table"].clone()
    }

    pub(crate) fn wait_until_active(&mut self, table: &str) {
        self.wait("the table becomes ACTIVE", |db| db.describe(table)["TableStatus"] == "ACTIVE");
    }

    pub(crate) fn wait_until_gone(&mut self, table: &str) {
        let body = json!({"TableName": table});
        self.wait("the table disappears", |db| db.try_call("DescribeTable", &body).is_err());
    }

    pub(crate) fn wait(&mut self, what: &str, is_so: impl FnMut(&mut Self) -> bool) {
        self.wait_for(PATIENCE, what, is_so);
    }

    #[expect(clippy::disallowed_methods, reason = "how long a client waits is wall time")]
    pub(crate) fn wait_for(
        &mut self,
        patience: Duration,
        what: &str,
        mut is_so: impl FnMut(&mut Self) -> bool,
    ) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < patience, "{what}: not within {patience:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

pub(crate) fn restore_request(source: &str, target: &str, second: Option<u64>) -> Value {
    match second {
        Some(second) => {
            json!({"SourceTableName": source, "TargetTableName": target, "RestoreDateTime": second})
        }
        None => {
            json!({"SourceTableName": source, "TargetTableName": target, "UseLatestRestorableTime": true})
        }
    }
}

fn window_of(answer: &Value) -> Value {
    let described = &answer["ContinuousBackupsDescription"];
    assert_eq!(described["ContinuousBackupsStatus"], "ENABLED");
    described["PointInTimeRecoveryDescription"].clone()
}

/// The latest second that can be restored, or the earliest one.
pub(crate) fn second_of(window: &Value, end: &str) -> u64 {
    let seconds = window[end].as_f64().unwrap();
    assert_eq!(seconds.fract().to_bits(), 0, "{end} is a whole second");
    format!("{seconds:.0}").parse().unwrap()
}

/// Moves a clock that stands.
pub(crate) fn advance(server: &Server, ms: u64) {
    let body = json!({"advance-ms": ms}).to_string();
    let mut connection = Connection::open(server);
    let answer =
        connection.send_to("/_keywright/clock", "POST", &[("X-Keywright", "clock")], body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// How many times as much a long run does.
pub(crate) fn factor() -> u64 {
    crate::support::dice::wanted("KEYWRIGHT_TEST_LONG", 1)
}

/// What the tables of a data folder take, in KiB. Journals keep their size.
pub(crate) fn tables_kib(folder: &Path) -> u64 {
    size_kib(&folder.join("tables"))
}

fn size_kib(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_kib(&entry.path()),
        // A file may go while this looks.
        Ok(metadata) => metadata.len().div_ceil(1024),
        Err(_) => 0,
    });
    sizes.sum()
}
