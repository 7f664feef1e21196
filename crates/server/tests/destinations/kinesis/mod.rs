//! Streams of servers that others wrote: moto's and kinesalite.
//!
//! `cargo xtask test` installs both.

mod kinesalite;
mod moto;
mod scenes;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};
use serde_json::{Value, json};

use crate::fake::{Put, base64};

const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A Kinesis, and a client of it.
struct Kinesis {
    process: Child,
    address: SocketAddr,
    client: reqwest::Client,
}

impl Kinesis {
    /// Starts one, which is to listen on this address.
    fn start(mut program: Command, address: SocketAddr) -> Self {
        let null = std::process::Stdio::null;
        let mut process = program.stdout(null()).stderr(null()).spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(process.try_wait().unwrap().is_none(), "it has ended");
            assert!(begun.elapsed() < START_TIME_MAX, "it does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        Self { process, address, client }
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn call(&self, operation: &str, body: &Value) -> Value {
        let (body, host) = (body.to_string(), self.address.to_string());
        let (now, target) = (now(), format!("Kinesis_20131202.{operation}"));
        let date = now.to_basic();
        let headers = [("host", host.as_str()), ("x-amz-date", date.as_str()), ("x-amz-target", &target)];
        let request =
            SignedRequest { method: "POST", path: "/", query: "", headers: &headers, body: body.as_bytes() };
        let mut signer = Signer::for_service("AK", "secret", "us-east-1", "kinesis");
        let authorization = signer.authorization(&request, &["host", "x-amz-date", "x-amz-target"], now);
        let mut call = self.client.post(format!("{}/", self.endpoint()));
        for (name, value) in headers {
            call = call.header(name, value);
        }
        call = call.header("content-type", "application/x-amz-json-1.1");
        let answer = call.header("authorization", authorization).body(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{operation}: {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Makes a stream, and waits until it takes records.
    async fn create(&self, stream: &str, shards: u64) {
        self.call("CreateStream", &json!({"StreamName": stream, "ShardCount": shards})).await;
        let body = json!({"StreamName": stream});
        while self.call("DescribeStreamSummary", &body).await["StreamDescriptionSummary"]["StreamStatus"]
            != "ACTIVE"
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What a stream holds, shard by shard.
    async fn puts(&self, stream: &str) -> Vec<Put> {
        let mut puts = Vec::new();
        let shards = self.call("ListShards", &json!({"StreamName": stream})).await;
        for shard in shards["Shards"].as_array().unwrap() {
            let from = json!({"StreamName": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let mut iterator = self.call("GetShardIterator", &from).await["ShardIterator"].clone();
            loop {
                let page = self.call("GetRecords", &json!({"ShardIterator": iterator})).await;
                let records = page["Records"].as_array().unwrap();
                if records.is_empty() {
                    break;
                }
                puts.extend(records.iter().map(|record| Put {
                    stream: stream.to_owned(),
                    partition_key: record["PartitionKey"].as_str().unwrap().to_owned(),
                    data: base64(record["Data"].as_str().unwrap()),
                }));
                iterator = page["NextShardIterator"].clone();
            }
        }
        puts
    }
}

impl Drop for Kinesis {
    fn drop(&mut self) {
        let _ended = (self.process.kill(), self.process.wait());
    }
}

fn now() -> TimeMs {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    TimeMs(u64::try_from(since.as_millis()).unwrap())
}

/// An address that nobody has.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The folder in which `cargo xtask test` has installed something.
fn installed(name: &str) -> PathBuf {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    PathBuf::from(clients).join(name)
}
