//! A table in one region, JSON in and JSON out, with signed requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pair::CLIENT;
use crate::support::signing::{Ask, Key, signature};
use crate::support::{Server, without_aws_settings};

/// Longer than anything here takes: a server that was away is asked again within a minute.
pub(crate) const LONG: Duration = Duration::from_mins(2);
/// A connection that was not used for so long is made anew.
const IDLE: Duration = Duration::from_secs(10);

/// Runs `keywright global` against a region of a server; its status and all it has printed.
pub(crate) fn global(server: &Server, region: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.env("AWS_REGION", region).arg("global").args(arguments);
    command.args(["--endpoint", &server.endpoint, "--access-key-id", CLIENT.0]);
    command.args(["--secret-access-key", CLIENT.1]).stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

/// A connection that signs for one region.
pub(crate) struct Db {
    stream: BufReader<TcpStream>,
    used: Instant,
    address: String,
    key: Key,
}

fn connection(address: &str) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONG))?;
    Ok(BufReader::new(stream))
}

impl Db {
    pub(crate) fn to(address: &str, (id, secret): (&str, &str), region: &str) -> io::Result<Self> {
        let (stream, address) = (connection(address)?, address.to_owned());
        let key = Key::from((id.to_owned(), secret.to_owned()));
        Ok(Self { stream, used: Instant::now(), address, key: Key { region: region.to_owned(), ..key } })
    }

    /// Sends a request; a fault means that its outcome is unknown.
    pub(crate) fn send(&mut self, ask: &Ask<'_>) -> io::Result<(u16, Value)> {
        // The server closes a connection that is idle for long.
        if self.used.elapsed() > IDLE {
            self.stream = connection(&self.address)?;
        }
        let mut request = format!("{} {} HTTP/1.1\r\nHost: localhost\r\n", ask.method, ask.path);
        let own = ask.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        for (name, value) in signature(&self.key, "localhost", ask).into_iter().chain(own) {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        write!(request, "Content-Length: {}\r\n\r\n{}", ask.body.len(), ask.body).unwrap();
        self.stream.get_mut().write_all(request.as_bytes())?;
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let mut length = 0;
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(broken());
            }
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
        let (target, body) = (format!("DynamoDB_20120810.{operation}"), body.to_string());
        self.send(&Ask::json("dynamodb", &target, &body))
    }

    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Value {
        let (status, answer) = self.try_call(operation, body).unwrap();
        assert_eq!(status, 200, "{operation} {body}: {answer}");
        answer
    }

    /// What is said of a request that is refused.
    pub(crate) fn refusal(&mut self, operation: &str, body: &Value) -> String {
        let (status, answer) = self.try_call(operation, body).unwrap();
        assert_eq!(status, 400, "{operation} {body}: {answer}");
        answer["message"].as_str().or(answer["Message"].as_str()).unwrap().to_owned()
    }

    /// A request to one of the server's own paths.
    pub(crate) fn own(&mut self, path: &str, body: &Value) -> Value {
        let (body, headers) = (body.to_string(), vec![("content-type", "application/json")]);
        let ask = Ask { service: "dynamodb", method: "POST", path, headers, body: &body };
        let (status, answer) = self.send(&ask).unwrap();
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    /// How far the changes of a table have come to its only replica.
    pub(crate) fn replica(&mut self, table: &str) -> Value {
        self.own("/_keywright/global-tables", &json!({"table": table}))["tables"][0]["replicas"][0].clone()
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
        self.call("UpdateTable", &replica_update(table, change, region));
    }

    pub(crate) fn replicate(&mut self, table: &str, region: &str) {
        self.change_replica(table, "Create", region);
        self.wait("the replica is active", |db| {
            db.replicas(table) == [(region.to_owned(), "ACTIVE".to_owned())]
        });
    }

    /// The status of a table; empty if there is none.
    pub(crate) fn status(&mut self, table: &str) -> String {
        let (_, answer) = self.try_call("DescribeTable", &json!({"TableName": table})).unwrap();
        answer["Table"]["TableStatus"].as_str().unwrap_or_default().to_owned()
    }

    /// The regions of a table's replicas with their statuses.
    pub(crate) fn replicas(&mut self, table: &str) -> Vec<(String, String)> {
        let answer = self.call("DescribeTable", &json!({"TableName": table}));
        let replicas = answer["Table"]["Replicas"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        replicas.iter().map(|one| (text(&one["RegionName"]), text(&one["ReplicaStatus"]))).collect()
    }

    pub(crate) fn wait(&mut self, what: &str, is_so: impl Fn(&mut Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < LONG, "{what} does not come true in {}", self.key.region);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn put(&mut self, table: &str, key: &str, number: u64) {
        self.call("PutItem", &json!({"TableName": table, "Item": item(key, number)}));
    }

    pub(crate) fn get(&mut self, table: &str, key: &str) -> Option<u64> {
        let answer = self.call("GetItem", &json!({"TableName": table, "Key": {"k": {"S": key}}}));
        answer["Item"]["n"]["N"].as_str().map(|number| number.parse().unwrap())
    }

    /// All items, by their keys.
    pub(crate) fn scan(&mut self, table: &str, index: Option<&str>) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        let mut from = Value::Null;
        loop {
            let mut body = json!({"TableName": table});
            if let Some(index) = index {
                body["IndexName"] = index.into();
            }
            if !from.is_null() {
                body["ExclusiveStartKey"] = from;
            }
            let page = self.call("Scan", &body);
            for item in page["Items"].as_array().unwrap() {
                found.insert(item["k"]["S"].as_str().unwrap().to_owned(), item.clone());
            }
            from = page["LastEvaluatedKey"].clone();
            if from.is_null() {
                return found;
            }
        }
    }

    /// The records of a table's stream, each checked to begin with what the one before it left.
    pub(crate) fn check_stream(&mut self, table: &str) -> usize {
        let streams = |db: &mut Self, operation: &str, body: &Value| {
            let (target, body) = (format!("DynamoDBStreams_20120810.{operation}"), body.to_string());
            let (status, answer) = db.send(&Ask::json("dynamodb", &target, &body)).unwrap();
            assert_eq!(status, 200, "{operation}: {answer}");
            answer
        };
        let arn =
            self.call("DescribeTable", &json!({"TableName": table}))["Table"]["LatestStreamArn"].clone();
        let described = streams(self, "DescribeStream", &json!({"StreamArn": arn}));
        let mut last = BTreeMap::<String, Value>::new();
        let mut count = 0;
        for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
            let from =
                json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let mut iterator = streams(self, "GetShardIterator", &from)["ShardIterator"].clone();
            while !iterator.is_null() {
                let page = streams(self, "GetRecords", &json!({"ShardIterator": iterator}));
                let records = page["Records"].as_array().unwrap();
                for record in records {
                    let images = &record["dynamodb"];
                    let key = images["Keys"]["k"]["S"].as_str().unwrap().to_owned();
                    let before = last.insert(key, images["NewImage"].clone()).unwrap_or_default();
                    assert_eq!(before, images["OldImage"], "it follows the one before: {record}");
                    assert_ne!(images["OldImage"], images["NewImage"], "no record without a change");
                }
                count += records.len();
                iterator = if records.is_empty() { Value::Null } else { page["NextShardIterator"].clone() };
            }
        }
        last.retain(|_, image| !image.is_null());
        assert_eq!(last, self.scan(table, None), "the last record of each key has its item");
        count
    }
}

pub(crate) fn replica_update(table: &str, change: &str, region: &str) -> Value {
    json!({"TableName": table, "ReplicaUpdates": [{change: {"RegionName": region}}]})
}

pub(crate) fn item(key: &str, number: u64) -> Value {
    json!({"k": {"S": key}, "g": {"S": format!("g{}", number % 5)}, "n": {"N": number.to_string()}})
}
