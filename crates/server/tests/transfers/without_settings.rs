//! Without a setting that names a host no request makes the server open a connection.

#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::db::Db;
use crate::support::Server;
use crate::support::raw::{Answer, Connection, DATE};
use crate::support::strace;
use crate::table::{BUCKET, TABLE, create, row};

const MAPPINGS: &str = "/2015-03-31/event-source-mappings";
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/lambda/aws4_request, \
                             SignedHeaders=host, Signature=00";

/// Starts a server whose connections are noted. What belongs to AWS's own tools is not taken for a setting.
fn watched(trace: &Path, bait: &str, arguments: &[&str]) -> Server {
    let mut strace = strace::watcher(trace);
    for service in ["", "_S3", "_KINESIS", "_LAMBDA", "_STS"] {
        strace.env(format!("AWS_ENDPOINT_URL{service}"), bait);
    }
    strace.envs([
        ("AWS_ACCESS_KEY_ID", "AK"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ]);
    strace.envs([("http_proxy", bait), ("AWS_CONTAINER_CREDENTIALS_FULL_URI", bait)]);
    Server::under(strace, arguments).unwrap()
}

/// What was sent, or begun to be sent, to addresses of a network.
fn outgoing(trace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(trace).unwrap();
    text.lines().filter(|line| line.contains("AF_INET")).map(str::to_owned).collect()
}

/// A request on triggers.
fn ask_of_triggers(server: &Server, method: &str, rest: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let headers =
        [("Authorization", AUTHORIZATION), ("X-Amz-Date", DATE), ("Content-Type", "application/json")];
    Connection::open(server).send_to(&format!("{MAPPINGS}{rest}"), method, &headers, body.as_bytes())
}

fn trigger(stream: &Value, target: &str) -> Value {
    json!({"EventSourceArn": stream, "FunctionName": target, "StartingPosition": "TRIM_HORIZON"})
}

/// A table with a stream, and a trigger that was made when an endpoint of functions was set: its UUID.
fn with_trigger(data: &str, bait: &str) -> String {
    let server = Server::start_one(&["--data", data, "--lambda-endpoint", bait]);
    let mut db = Db::of(&server);
    create(&mut db);
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"});
    db.call("UpdateTable", &json!({"TableName": TABLE, "StreamSpecification": stream}));
    db.wait_until_active(TABLE);
    let stream = db.describe(TABLE)["LatestStreamArn"].clone();
    let made = ask_of_triggers(&server, "POST", "", &trigger(&stream, "f"));
    assert_eq!(made.status, 202, "{}", made.text());
    assert!(server.stop());
    made.json()["UUID"].as_str().unwrap().to_owned()
}

/// Asks for everything that would be sent to another host, and for jobs that are not.
fn ask_for_everything(server: &Server, uuid: &str) {
    let mut db = Db::of(server);
    db.put_all(TABLE, &(0..50).map(|number| row(number, 0)).collect::<Vec<_>>());
    let exported = db.begin_export(&json!({}));
    let exported = db.end_of(&exported);
    assert_eq!(exported["FailureCode"], "S3AccessDenied", "{exported}");
    assert!(exported["FailureMessage"].as_str().unwrap().contains("--s3-endpoint"), "{exported}");
    let import = json!({
        "S3BucketSource": {"S3Bucket": BUCKET}, "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {
            "TableName": "Imported", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
    });
    let imported = db.call("ImportTable", &import)["ImportTableDescription"]["ImportArn"].clone();
    let describe = json!({"ImportArn": imported});
    db.wait("the import fails", |db| {
        db.call("DescribeImport", &describe)["ImportTableDescription"]["FailureCode"] == "S3AccessDenied"
    });
    let put = json!({
        "TableName": TABLE, "InputS3Configuration": {"S3Bucket": BUCKET, "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration": {"S3Bucket": BUCKET, "OutputType": ["ERROR"]},
    });
    let _ends_as_an_import = db.try_call("StartBulkPutItems", &put);
    let stream = "arn:aws:kinesis:us-east-1:123456789012:stream/one";
    db.call("EnableKinesisStreamingDestination", &json!({"TableName": TABLE, "StreamArn": stream}));
    db.wait("the destination fails", |db| {
        let found = db.call("DescribeKinesisStreamingDestination", &json!({"TableName": TABLE}));
        found["KinesisDataStreamDestinations"][0]["DestinationStatus"] == "ENABLE_FAILED"
    });
    let of_table = db.describe(TABLE)["LatestStreamArn"].clone();
    for target in ["other", "s3://shop/archive"] {
        let refused = ask_of_triggers(server, "POST", "", &trigger(&of_table, target));
        assert_eq!(refused.status, 400, "{target}: {}", refused.text());
    }
    db.wait("the trigger that is there has a problem", |_| {
        let found = ask_of_triggers(server, "GET", &format!("/{uuid}"), &Value::Null).json();
        found["LastProcessingResult"].as_str().is_some_and(|result| result.starts_with("PROBLEM"))
    });
    let backup = db.back_up(TABLE);
    db.restore_backup(&backup, "FromBackup");
    db.wait_until_active("FromBackup");
    db.restore_to(TABLE, "ToLatest", None);
    db.wait_until_active("ToLatest");
}

#[test]
fn without_settings_no_job_opens_a_connection() {
    if !strace::is_allowed("transfers::without_settings") {
        return;
    }
    let bait = TcpListener::bind("127.0.0.1:0").unwrap();
    bait.set_nonblocking(true).unwrap();
    let url = format!("http://{}", bait.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (data, trace) = (folder.path().join("data"), folder.path().join("trace"));
    let data = data.to_str().unwrap();
    let uuid = with_trigger(data, &url);
    let server = watched(&trace, &url, &["--data", data]);
    ask_for_everything(&server, &uuid);
    server.end_under("TERM");
    assert_eq!(outgoing(&trace), [""; 0]);
    assert!(bait.accept().is_err(), "somebody has come to the bait");
    // A connection that a setting asks for is seen.
    let keys = ["--s3-endpoint", &url, "--data", data];
    let server = watched(&trace, &url, &keys);
    let mut db = Db::of(&server);
    db.begin_export(&json!({}));
    db.wait("the export looks for its store", |_| bait.accept().is_ok());
    server.end_under("TERM");
    assert_ne!(outgoing(&trace), [""; 0]);
}
