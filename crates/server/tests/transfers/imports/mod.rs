//! Imports from outside: counts and errors, formats, compressions, texts, kills, many objects.

mod command;
mod compressions;
mod counts;
mod csv;
mod exported;
mod kills;
pub(crate) mod large;
mod rules;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::db::{Db, Fault};
use crate::support::Server;
use crate::support::raw::{Connection, signed};

pub(crate) const BUCKET: &str = "imports";
pub(crate) const ACCOUNT: &str = "123456789012";

/// A server whose buckets are folders next to its data, with one bucket.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    /// It is gone for a moment when it is killed.
    server: Option<Server>,
    pub(crate) db: Db,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("buckets").join(BUCKET)).unwrap();
        let server = start(folder.path(), more);
        let db = Db::of(&server);
        Self { folder, server: Some(server), db }
    }

    pub(crate) fn kill(&mut self) {
        self.start_again(&[]);
    }

    /// Kills the server and starts it with these arguments.
    pub(crate) fn start_again(&mut self, more: &[&str]) {
        self.server.take().unwrap().kill();
        self.server = Some(start(self.folder.path(), more));
        self.db = Db::of(self.server());
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub(crate) fn object(&self, key: &str) -> PathBuf {
        self.folder.path().join("buckets").join(BUCKET).join(key)
    }

    pub(crate) fn put(&self, key: &str, content: impl AsRef<[u8]>) {
        let path = self.object(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn import(&mut self, request: &Value) -> Result<Value, Fault> {
        let answer = self.db.try_call("ImportTable", request)?;
        Ok(answer["ImportTableDescription"].clone())
    }

    /// Imports, and waits for the end.
    fn imported(&mut self, request: &Value) -> Value {
        let begun = self.import(request).unwrap();
        assert_eq!(begun["ImportStatus"], "IN_PROGRESS");
        self.end_of(&begun)
    }

    fn describe(&mut self, import: &Value) -> Value {
        self.db.call("DescribeImport", &json!({"ImportArn": import["ImportArn"]}))["ImportTableDescription"]
            .clone()
    }

    fn end_of(&mut self, import: &Value) -> Value {
        let body = json!({"ImportArn": import["ImportArn"]});
        self.db.wait("the import ends", |db| {
            db.call("DescribeImport", &body)["ImportTableDescription"]["ImportStatus"] != "IN_PROGRESS"
        });
        self.describe(import)
    }

    /// The lines of the import's error log.
    fn errors(&self, import: &Value) -> (u64, Vec<Value>) {
        let body = json!({"arn": import["ImportArn"]}).to_string();
        let mut connection = Connection::open(self.server());
        let headers = signed("Keywright.ImportErrors");
        let answer = connection.send_to("/_keywright/import-errors", "POST", &headers, body.as_bytes());
        assert_eq!(answer.status, 200);
        let answer = answer.json();
        let lines = answer["lines"].as_array().unwrap();
        let parse = |line: &Value| serde_json::from_str(line.as_str().unwrap()).unwrap();
        (answer["count"].as_u64().unwrap(), lines.iter().map(parse).collect())
    }

    pub(crate) fn items(&mut self, table: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut body = json!({"TableName": table, "ConsistentRead": true});
        loop {
            let page = self.db.call("Scan", &body);
            items.extend(page["Items"].as_array().unwrap().iter().cloned());
            match page.get("LastEvaluatedKey") {
                Some(last) => body["ExclusiveStartKey"] = last.clone(),
                None => break,
            }
        }
        items.sort_by_key(key_of);
        items
    }
}

fn start(folder: &Path, more: &[&str]) -> Server {
    let (data, buckets) = (folder.join("data"), folder.join("buckets"));
    let own = ["--data", data.to_str().unwrap(), "--s3-folder", buckets.to_str().unwrap()];
    Server::start(&[&own[..], more].concat())
}

/// A request for a table with the key `pk`.
fn request(table: &str, prefix: &str) -> Value {
    json!({
        "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {
            "TableName": table,
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    })
}

/// The same with this member.
pub(crate) fn with(mut request: Value, name: &str, value: Value) -> Value {
    request[name] = value;
    request
}

pub(crate) fn line(item: &Value) -> String {
    format!("{}\n", json!({"Item": item}))
}

/// The key of an item, to sort by.
pub(crate) fn key_of(item: &Value) -> String {
    format!("{} {}", item["pk"], item["sk"])
}

/// Counts of an import: processed, imported, errors.
fn counts(import: &Value) -> [u64; 3] {
    ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| import[name].as_u64().unwrap())
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
