//! A client of tables and their destinations, JSON in and JSON out.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::raw::{Connection, signed};

pub(crate) const TABLE: &str = "Orders";
const PATIENCE: Duration = Duration::from_mins(1);

/// The name and the message of an error.
pub(crate) type Fault = (String, String);

/// The ARN of a stream in the region of the tests' clients.
pub(crate) fn arn(stream: &str) -> String {
    format!("arn:aws:kinesis:us-east-1:123456789012:stream/{stream}")
}

/// Starts a server that delivers to this endpoint.
pub(crate) fn start(endpoint: &str, arguments: &[&str]) -> Server {
    let mut runner = Command::new("env");
    runner.args(["KEYWRIGHT_KINESIS_ACCESS_KEY_ID=AK", "KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY=secret"]);
    Server::under(runner, &[&["--kinesis-endpoint", endpoint], arguments].concat()).unwrap()
}

pub(crate) fn in_memory(endpoint: &str, arguments: &[&str]) -> Server {
    start(endpoint, &[&["--in-memory"], arguments].concat())
}

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
        Err((name, message))
    }

    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Value {
        self.try_call(operation, body).unwrap_or_else(|fault| panic!("{operation} {body}: {fault:?}"))
    }

    /// A table with the key `pk`.
    pub(crate) fn create(&mut self, table: &str) {
        let body = json!({
            "TableName": table,
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        self.call("CreateTable", &body);
        let active = |db: &mut Self| {
            db.call("DescribeTable", &json!({"TableName": table}))["Table"]["TableStatus"] == "ACTIVE"
        };
        self.wait("the table becomes ACTIVE", active);
    }

    pub(crate) fn put(&mut self, table: &str, item: &Value) {
        self.call("PutItem", &json!({"TableName": table, "Item": item}));
    }

    pub(crate) fn enable(&mut self, table: &str, stream: &str) -> Value {
        let body = json!({"TableName": table, "StreamArn": arn(stream)});
        self.call("EnableKinesisStreamingDestination", &body)
    }

    /// Enables a destination and waits until it is active.
    pub(crate) fn activate(&mut self, table: &str, stream: &str) {
        self.enable(table, stream);
        self.wait_for_status(table, "ACTIVE");
    }

    pub(crate) fn destinations(&mut self, table: &str) -> Vec<Value> {
        let described = self.call("DescribeKinesisStreamingDestination", &json!({"TableName": table}));
        described["KinesisDataStreamDestinations"].as_array().unwrap().clone()
    }

    /// Waits until the newest destination has this status, and returns it.
    pub(crate) fn wait_for_status(&mut self, table: &str, status: &str) -> Value {
        let mut last = Value::Null;
        self.wait(&format!("the destination becomes {status}"), |db| {
            last = db.destinations(table)[0].clone();
            last["DestinationStatus"] == status
        });
        last
    }

    /// The figures of a table's newest destination.
    pub(crate) fn figures(&mut self, table: &str) -> Value {
        let headers = signed("DynamoDB_20120810.Destinations");
        let answer = self.connection.send_to("/_keywright/destinations", "POST", &headers, b"{}");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let all = answer.json()["destinations"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["table"] == table).unwrap()
    }

    pub(crate) fn wait(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Moves a clock that stands.
pub(crate) fn advance(server: &Server, ms: u64) {
    let body = json!({"advance-ms": ms}).to_string();
    let mut connection = Connection::open(server);
    let answer =
        connection.send_to("/_keywright/clock", "POST", &[("X-Keywright", "clock")], body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
}
