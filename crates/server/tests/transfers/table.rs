//! A table with recovery, what is in it, and exports of it into buckets that are folders.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::db::{Db, Fault};
use crate::folder::{self, Folder};
use crate::support::Server;

pub(crate) const TABLE: &str = "Shop";
pub(crate) use crate::support::stores::BUCKET;

/// Items by key.
pub(crate) type Items = BTreeMap<String, Value>;

pub(crate) fn key_of(item: &Value) -> String {
    format!("{} {}", item["pk"], item["sk"])
}

pub(crate) fn row(number: u64, generation: u64) -> Value {
    json!({
        "pk": {"S": format!("p{}", number % 17)}, "sk": {"S": format!("s{number:06}")},
        "n": {"N": number.to_string()}, "generation": {"N": generation.to_string()},
        "blob": {"B": "AAEC/w=="}, "tags": {"SS": ["a", "b"]}, "nums": {"NS": ["1", "600"]},
        "deep": {"M": {"list": {"L": [{"N": "1.5"}, {"NULL": true}, {"BOOL": false}]}}},
        "text": {"S": "\u{fc}\"\\\n".repeat(usize::try_from(number * 7 % 40).unwrap())},
    })
}

/// The folder of buckets below a test's folder, with one bucket.
pub(crate) fn buckets(folder: &Path) -> String {
    let buckets = folder.join("buckets");
    std::fs::create_dir_all(buckets.join(BUCKET)).unwrap();
    buckets.to_str().unwrap().to_owned()
}

/// A server over a data folder whose buckets are folders next to it. Increments may be short.
pub(crate) fn server(folder: &Path) -> Server {
    let (data, buckets) = (folder.join("data"), buckets(folder));
    let data = data.to_str().unwrap();
    Server::start(&["--data", data, "--s3-folder", &buckets, "--export-min-window-ms", "1"])
}

/// A plain table with recovery.
pub(crate) fn create(db: &mut Db) {
    db.create(TABLE);
    db.recovery(TABLE, 35);
}

pub(crate) fn arn() -> String {
    format!("arn:aws:dynamodb:us-east-1:123456789012:table/{TABLE}")
}

/// The request of a full export, with these members too.
pub(crate) fn request(more: &Value) -> Value {
    let mut request = json!({"TableArn": arn(), "S3Bucket": BUCKET});
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

/// The members of an increment. Times are in seconds.
pub(crate) fn increment(from: f64, to: Option<f64>) -> Value {
    let mut window = json!({"ExportFromTime": from});
    if let Some(to) = to {
        window["ExportToTime"] = json!(to);
    }
    json!({"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": window})
}

impl Db {
    pub(crate) fn try_begin_export(&mut self, more: &Value) -> Result<Value, Fault> {
        Ok(self.try_call("ExportTableToPointInTime", &request(more))?["ExportDescription"].clone())
    }

    pub(crate) fn begin_export(&mut self, more: &Value) -> Value {
        self.try_begin_export(more).unwrap()
    }

    pub(crate) fn describe_export(&mut self, arn: &Value) -> Value {
        self.call("DescribeExport", &json!({"ExportArn": arn}))["ExportDescription"].clone()
    }

    /// The export after its end.
    pub(crate) fn end_of(&mut self, export: &Value) -> Value {
        let arn = export["ExportArn"].clone();
        self.wait("the export ends", |db| db.describe_export(&arn)["ExportStatus"] != "IN_PROGRESS");
        self.describe_export(&arn)
    }

    /// A complete export, as its folder has it.
    pub(crate) fn export(&mut self, bucket: &Path, more: &Value) -> (Value, Folder) {
        let begun = self.begin_export(more);
        let ended = self.end_of(&begun);
        assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
        let prefix = more["S3Prefix"].as_str().unwrap_or_default();
        let folder = folder::read(bucket, prefix, id_of(&ended));
        (ended, folder)
    }

    /// All items, read by Scan.
    pub(crate) fn items(&mut self) -> Items {
        self.items_of(TABLE)
    }

    pub(crate) fn items_of(&mut self, table: &str) -> Items {
        let mut found = Items::new();
        let mut body = json!({"TableName": table, "ConsistentRead": true});
        loop {
            let page = self.call("Scan", &body);
            found.extend(page["Items"].as_array().unwrap().iter().map(|item| (key_of(item), item.clone())));
            if page["LastEvaluatedKey"].is_null() {
                return found;
            }
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
        }
    }

    /// A new table with the keys of the exported one, from the data of a complete export in DynamoDB's JSON.
    /// Returns the import after its end.
    pub(crate) fn import(&mut self, export: &Value, table: &str) -> Value {
        let manifest = export["ExportManifest"].as_str().unwrap();
        let keys = [("pk", "HASH"), ("sk", "RANGE")];
        let body = json!({
            "S3BucketSource": {
                "S3Bucket": export["S3Bucket"],
                "S3KeyPrefix": manifest.replace("manifest-summary.json", "data/"),
            },
            "InputFormat": "DYNAMODB_JSON",
            "InputCompressionType": "GZIP",
            "TableCreationParameters": {
                "TableName": table,
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": keys.map(|(name, kind)| json!({"AttributeName": name, "KeyType": kind})),
                "AttributeDefinitions":
                    keys.map(|(name, _)| json!({"AttributeName": name, "AttributeType": "S"})),
            },
        });
        let begun = self.call("ImportTable", &body)["ImportTableDescription"].clone();
        self.end_of_import(&begun)
    }

    pub(crate) fn describe_import(&mut self, import: &Value) -> Value {
        let body = json!({"ImportArn": import["ImportArn"]});
        self.call("DescribeImport", &body)["ImportTableDescription"].clone()
    }

    pub(crate) fn end_of_import(&mut self, import: &Value) -> Value {
        self.wait("the import ends", |db| db.describe_import(import)["ImportStatus"] != "IN_PROGRESS");
        self.describe_import(import)
    }

    pub(crate) fn delete(&mut self, number: u64) {
        let item = row(number, 0);
        let key = json!({"pk": item["pk"], "sk": item["sk"]});
        self.call("DeleteItem", &json!({"TableName": TABLE, "Key": key}));
    }
}

pub(crate) fn id_of(export: &Value) -> &str {
    export["ExportArn"].as_str().unwrap().rsplit('/').next().unwrap()
}
