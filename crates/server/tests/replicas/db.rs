//! A table with replicas, JSON in and JSON out, in any region of one server.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::raw::{AUTHORIZATION, DATE};
use crate::support::{Server, without_aws_settings};

pub(crate) const HERE: &str = "us-east-1";
pub(crate) const THERE: &str = "eu-west-1";
pub(crate) const TABLE: &str = "Carts";
/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_mins(2);
/// A connection that was not used for so long is made anew.
const IDLE: Duration = Duration::from_secs(10);

/// The path of a clock that stands.
const CLOCK: &str = "/_keywright/clock";

/// A connection that signs for one region.
pub(crate) struct Db {
    stream: BufReader<TcpStream>,
    used: Instant,
    address: String,
    pub(crate) region: &'static str,
    /// By how much each look of a wait moves the server's clock: one that stands lets nothing come true.
    moves_ms: u64,
}

impl Db {
    pub(crate) fn of(server: &Server, region: &'static str) -> Self {
        Self::to(server.address(), region).unwrap()
    }

    pub(crate) fn to(address: &str, region: &'static str) -> io::Result<Self> {
        let (stream, address) = (connection(address)?, address.to_owned());
        Ok(Self { stream, used: Instant::now(), address, region, moves_ms: 0 })
    }

    /// The same at a server whose clock stands: waits move it.
    pub(crate) fn moving(server: &Server, region: &'static str, moves_ms: u64) -> Self {
        Self { moves_ms, ..Self::of(server, region) }
    }

    /// Moves a clock that stands, with all work that is due on the way.
    pub(crate) fn advance(&mut self, ms: u64) {
        self.own(CLOCK, &json!({"advance-ms": ms}));
    }

    /// Waits a moment, of the server's clock if that stands.
    fn pause(&mut self) {
        if self.moves_ms > 0 {
            self.advance(self.moves_ms);
        }
        std::thread::sleep(Duration::from_millis(10));
    }

    /// Sends a request; a fault means that its outcome is unknown.
    pub(crate) fn send(&mut self, path: &str, target: &str, body: &Value) -> io::Result<(u16, Value)> {
        // The server closes a connection that is idle for long.
        if self.used.elapsed() > IDLE {
            self.stream = connection(&self.address)?;
        }
        let body = body.to_string();
        let authorization = AUTHORIZATION.replace(HERE, self.region);
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Keywright: {}\r\nX-Amz-Target: {target}\r\nX-Amz-Date: {DATE}\r\n\
             Authorization: {authorization}\r\nContent-Length: {}\r\n\r\n{body}",
            if path == CLOCK { "clock" } else { "simulation" },
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().map_err(|_| broken())?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        self.used = Instant::now();
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    pub(crate) fn try_call(&mut self, operation: &str, body: &Value) -> io::Result<(u16, Value)> {
        self.send("/", &format!("DynamoDB_20120810.{operation}"), body)
    }

    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Value {
        let answered = self.try_call(operation, body);
        let (status, answer) =
            answered.unwrap_or_else(|fault| panic!("{operation} in {}: {fault}", self.region));
        assert_eq!(status, 200, "{operation} {body}: {answer}");
        answer
    }

    /// A request to one of the server's own paths.
    pub(crate) fn own(&mut self, path: &str, body: &Value) -> Value {
        let answered = self.send(path, "", body);
        let (status, answer) = answered.unwrap_or_else(|fault| panic!("{path} in {}: {fault}", self.region));
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    pub(crate) fn create(&mut self, table: &str) {
        let body = json!({
            "TableName": table,
            "AttributeDefinitions": [
                {"AttributeName": "k", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{"IndexName": "by_g", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        self.call("CreateTable", &body);
        self.wait("the table is active", |db| db.status(table) == "ACTIVE");
    }

    /// Adds a replica, or removes it.
    pub(crate) fn change_replica(&mut self, table: &str, change: &str, region: &str) {
        let body = json!({"TableName": table, "ReplicaUpdates": [{change: {"RegionName": region}}]});
        self.call("UpdateTable", &body);
    }

    pub(crate) fn replicate(&mut self, table: &str, region: &str) {
        self.change_replica(table, "Create", region);
        self.wait("the replica is active", |db| db.is_settled(table));
    }

    /// The status of a table; empty if there is none.
    pub(crate) fn status(&mut self, table: &str) -> String {
        let (_, answer) = self.try_call("DescribeTable", &json!({"TableName": table})).unwrap();
        answer["Table"]["TableStatus"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether a table and all its replicas are active.
    pub(crate) fn is_settled(&mut self, table: &str) -> bool {
        let answer = self.call("DescribeTable", &json!({"TableName": table}));
        let replicas = answer["Table"]["Replicas"].as_array().cloned().unwrap_or_default();
        answer["Table"]["TableStatus"] == "ACTIVE"
            && replicas.iter().all(|replica| replica["ReplicaStatus"] == "ACTIVE")
    }

    /// The regions of a table's replicas.
    pub(crate) fn replicas(&mut self, table: &str) -> Vec<String> {
        let answer = self.call("DescribeTable", &json!({"TableName": table}));
        let replicas = answer["Table"]["Replicas"].as_array().cloned().unwrap_or_default();
        replicas.iter().map(|replica| replica["RegionName"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&mut Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < LONG, "{what} does not come true in {}", self.region);
            self.pause();
        }
    }

    pub(crate) fn put(&mut self, table: &str, key: &str, number: u64) {
        let item =
            json!({"k": {"S": key}, "g": {"S": format!("g{}", number % 5)}, "n": {"N": number.to_string()}});
        self.call("PutItem", &json!({"TableName": table, "Item": item}));
    }

    /// All items, by their keys.
    pub(crate) fn scan(
        &mut self,
        table: &str,
        index: Option<&str>,
    ) -> std::collections::BTreeMap<String, Value> {
        let mut found = std::collections::BTreeMap::new();
        let mut from = Value::Null;
        loop {
            let mut body = json!({"TableName": table});
            if let Some(index) = index {
                body["IndexName"] = index.into();
            } else {
                body["ConsistentRead"] = true.into();
            }
            if !from.is_null() {
                body["ExclusiveStartKey"] = from;
            }
            let page = self.call("Scan", &body);
            for item in page["Items"].as_array().unwrap() {
                let before = found.insert(item["k"]["S"].as_str().unwrap().to_owned(), item.clone());
                assert!(before.is_none(), "an item is there twice: {item}");
            }
            from = page["LastEvaluatedKey"].clone();
            if from.is_null() {
                return found;
            }
        }
    }

    /// Compares a table with its replicas; what was found.
    pub(crate) fn verify(&mut self, table: &str) -> Value {
        let path = "/_keywright/global-tables";
        let mut found = self.own(path, &json!({"verify": table}));
        let (mut moved, mut compared) = (Instant::now(), Value::Null);
        while found["verdict"] == "running" {
            if found["replicas"] != compared {
                (moved, compared) = (Instant::now(), found["replicas"].clone());
            }
            assert!(moved.elapsed() < LONG, "the comparison does not go on: {found}");
            self.pause();
            found = self.own(path, &json!({"verification": table}));
        }
        found
    }

    pub(crate) fn assert_equal(&mut self, table: &str) -> Value {
        let found = self.verify(table);
        assert_eq!(found["verdict"], "equal", "{found}");
        found
    }

    /// What `keywright global status` knows of the only replica of a table.
    pub(crate) fn standing(&mut self, table: &str) -> Value {
        let mut found = self.own("/_keywright/global-tables", &json!({"table": table}));
        let replicas = found["tables"][0]["replicas"].take();
        assert_eq!(replicas.as_array().map(Vec::len), Some(1), "{found}");
        replicas[0].clone()
    }

    pub(crate) fn simulate(&mut self, simulation: &Value) {
        self.own("/_keywright/simulation", simulation);
    }

    /// Cuts the links of all regions, or heals them.
    pub(crate) fn cut(&mut self, is_cut: bool) {
        self.simulate(&json!({"links": [{"from": "*", "to": "*", "partition": is_cut}]}));
    }
}

fn connection(address: &str) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONG))?;
    Ok(BufReader::new(stream))
}

/// Runs `keywright global` against a region; its status and all it has printed.
pub(crate) fn global(server: &Server, region: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.env("AWS_REGION", region).arg("global").args(arguments);
    command.args(["--endpoint", &server.endpoint]).stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}
