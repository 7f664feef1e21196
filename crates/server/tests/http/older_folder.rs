//! A data folder of an older build: everything in it is served as before, and each table's record is written
//! in the present form when the table is first changed. `folders/format-2` says what is in it.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use keywright_store::{Direction, KeyRange, Scan, Snapshot as _, Store as _};
use keywright_store_local::{LocalOptions, LocalStore};
use serde_json::{Value, json};

use crate::support::Server;
use crate::support::in_process::block_on;
use crate::support::raw::{AUTHORIZATION, Connection, DATE};

const REGION: &str = "eu-central-1";
/// The key of the row that has the format of the catalogue: number 0 among the tables' records.
const FORMAT_KEY: [u8; 10] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The first byte of a record: its format.
const UNTAGGED: u8 = 2;
const TAGGED: u8 = 3;

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders/format-2")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The server on the folder, at the time at which the older build stopped.
fn serve(folder: &Path) -> Server {
    Server::start_one(&["--data", folder.to_str().unwrap(), "--clock", "manual@2026-11-26T12:01:01Z"])
}

fn call(server: &Server, region: &str, target: &str, body: &Value) -> Value {
    let is_scaling = target.starts_with("AnyScaleFrontendService.");
    let service = if is_scaling { "/application-autoscaling/" } else { "/dynamodb/" };
    let authorization = AUTHORIZATION.replace("us-east-1", region).replace("/dynamodb/", service);
    let headers = [
        ("X-Amz-Target", target),
        ("Content-Type", "application/x-amz-json-1.0"),
        ("Authorization", &authorization),
        ("X-Amz-Date", DATE),
    ];
    let answer = Connection::open(server).send("POST", &headers, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    // Some operations answer with nothing.
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn streams(server: &Server, region: &str, operation: &str, body: &Value) -> Value {
    call(server, region, &format!("DynamoDBStreams_20120810.{operation}"), body)
}

/// Asks what the older build was asked. Returns the requests that are answered otherwise.
fn answered_otherwise(server: &Server) -> Vec<String> {
    let known: Value =
        serde_json::from_slice(&std::fs::read(fixture().join("answers.json")).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut otherwise = Vec::new();
    let answers = known["answers"].as_array().unwrap();
    assert!(answers.len() > 40, "the fixture has its answers");
    for asked in answers {
        if call(server, &text(&asked[0]), &text(&asked[1]), &asked[2]) != asked[3] {
            otherwise.push(format!("{} {} {}", asked[0], asked[1], asked[2]));
        }
    }
    let shards = known["records"].as_array().unwrap();
    assert!(shards.iter().any(|shard| shard[1].as_str().unwrap().contains("table/Gone/")), "it has a stream");
    for shard in shards {
        let (region, stream) = (text(&shard[0]), text(&shard[1]));
        let place = json!({"StreamArn": stream, "ShardId": shard[2], "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = streams(server, &region, "GetShardIterator", &place)["ShardIterator"].clone();
        let found = streams(server, &region, "GetRecords", &json!({"ShardIterator": iterator}));
        if found["Records"] != shard[3] {
            otherwise.push(format!("records of {stream}"));
        }
    }
    otherwise
}

/// The rows of all tables' records in a stopped folder, and of the format.
fn records(folder: &Path) -> BTreeMap<Bytes, Bytes> {
    let store = LocalStore::open(folder, LocalOptions::default()).unwrap();
    let range = KeyRange { start: Bytes::from_static(&[1, 0]), end: Some(Bytes::from_static(&[1, 1])) };
    let scan = Scan { range, direction: Direction::Forward, rows_max: 1_000, bytes_max: usize::MAX };
    let page = block_on(block_on(store.snapshot()).unwrap().scan(&scan)).unwrap();
    store.close();
    page.entries.into_iter().map(|row| (row.key, row.value)).collect()
}

/// Whether a record holds a text, such as its table's name.
fn holds(record: &Bytes, text: &str) -> bool {
    record.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_folder_of_an_older_build_is_served_as_before_and_written_anew_only_where_it_is_changed() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    copy(&fixture().join("folder"), &folder);
    let before = records(&folder);
    assert_eq!(before.len(), 7, "three tables, their branch, and one that was deleted");
    assert!(before.values().all(|record| record[0] == UNTAGGED));

    let server = serve(&folder);
    assert_eq!(answered_otherwise(&server), [""; 0]);
    assert!(server.stop());
    assert_eq!(records(&folder), before, "a start changes nothing");

    let server = serve(&folder);
    let arn = format!("arn:aws:dynamodb:{REGION}:123456789012:table/Plain");
    let tags = json!({"ResourceArn": arn, "Tags": [{"Key": "owner", "Value": "ops"}]});
    call(&server, REGION, "DynamoDB_20120810.TagResource", &tags);
    assert!(server.stop());
    let after = records(&folder);
    assert_eq!(after.get(&FORMAT_KEY[..]).map(AsRef::as_ref), Some(&[TAGGED][..]), "the format rose");
    let changed: Vec<&Bytes> =
        after.iter().filter(|(key, row)| before.get(*key) != Some(row)).map(|(_, row)| row).collect();
    assert_eq!(changed.len(), 2, "the format, and the record of the changed table");
    assert!(changed[1][0] == TAGGED && holds(changed[1], "Plain") && holds(changed[1], REGION));

    let server = serve(&folder);
    let otherwise = answered_otherwise(&server);
    assert_eq!(otherwise.len(), 1, "{otherwise:?}");
    assert!(otherwise[0].contains("ListTagsOfResource") && otherwise[0].contains(&arn));
    let found = call(&server, REGION, "DynamoDB_20120810.ListTagsOfResource", &json!({"ResourceArn": arn}));
    assert_eq!(found["Tags"], tags["Tags"]);
}
