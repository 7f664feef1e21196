//! What was written cannot be found in an encrypted folder, and can in a plain one.

use serde_json::json;

use crate::http;
use crate::scene::{Scene, files};
use crate::support::signing::{self, Key, dynamodb};
use crate::support::{Server, add_key};

const TABLE: &str = "planted-table-name";
const INDEX: &str = "planted-index-name";
/// A table that is missing: only the audit log knows its name.
const MISSING: &str = "planted-name-of-a-missing-table";
/// The rest of what is planted; the secret of a user comes to it.
const PLANTED: [&str; 10] = [
    MISSING,
    TABLE,
    INDEX,
    "planted-partition-key",
    "planted-sort-key",
    "plantedAttribute",
    "planted-value-of-an-item",
    "planted-key-of-the-index",
    "planted-value-before-the-change",
    "planted-user-name",
];
const MODEL: &str = "# planted-line-of-a-model\n";

/// Writes all that is planted; returns the secret of a user.
fn plant(server: &Server, root: &Key) -> String {
    let string = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let element = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let table = json!({"TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [string("pk"), string("sk"), string("ik")],
        "KeySchema": [element("pk", "HASH"), element("sk", "RANGE")],
        "GlobalSecondaryIndexes": [{"IndexName": INDEX, "KeySchema": [element("ik", "HASH")],
            "Projection": {"ProjectionType": "ALL"}}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}});
    let call = |operation: &str, body: serde_json::Value| {
        let answer = dynamodb(server, root, operation, &body.to_string());
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    };
    call("CreateTable", table);
    for value in ["planted-value-before-the-change", "planted-value-of-an-item"] {
        let item = json!({"pk": {"S": "planted-partition-key"}, "sk": {"S": "planted-sort-key"},
            "ik": {"S": "planted-key-of-the-index"}, "plantedAttribute": {"S": value}});
        call("PutItem", json!({"TableName": TABLE, "Item": item}));
    }
    let missing = dynamodb(server, root, "DeleteTable", &json!({"TableName": MISSING}).to_string());
    assert_eq!(missing.status, 400, "{}", missing.text());
    signing::user(server, root, "planted-user-name").secret
}

/// Saves a model in the studio.
fn save_model(server: &Server) {
    let body = json!({"name": "planted.yaml", "text": MODEL, "hash": null});
    let answer = http::call(server, "models/write", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let read = http::call(server, "models/read", &json!({"name": "planted.yaml"})).json();
    assert_eq!(read["text"], MODEL, "{read}");
}

/// The needles that some file of the data folder holds.
fn found(scene: &Scene, needles: &[String]) -> Vec<String> {
    let all: Vec<Vec<u8>> =
        files(&scene.path("data")).iter().map(|path| std::fs::read(path).unwrap()).collect();
    let holds = |needle: &&String| {
        let finder = needle.as_bytes();
        all.iter().any(|bytes| bytes.windows(finder.len()).any(|window| window == finder))
    };
    needles.iter().filter(holds).cloned().collect()
}

fn needles(secret: &str) -> Vec<String> {
    let planted = PLANTED.iter().copied().chain([secret, "planted-line-of-a-model"]);
    planted.map(str::to_owned).collect()
}

#[test]
fn names_keys_values_records_secrets_models_and_the_audit_log_are_in_no_file_of_an_encrypted_folder() {
    for is_encrypted in [true, false] {
        let scene = Scene::new();
        let credentials = scene.path("keys.toml");
        let root = Key::from(add_key(&credentials, &[]));
        let start = |more: &[&str]| if is_encrypted { scene.server(more) } else { scene.plain_server(more) };
        let log = scene.text("data/audit.log");
        let audited = ["--audit-log", &log, "--audit-data", "all"];
        let closed = ["--credentials", credentials.to_str().unwrap()];
        let server = start(&[&closed[..], &audited].concat());
        let secret = plant(&server, &root);
        server.kill();
        let needles = needles(&secret);
        let after_kill = found(&scene, &needles);
        // In the tables too, and with what the studio keeps.
        let server = start(&[&["--studio-port", "0", "--write-buffer-kib", "16"], &audited[..]].concat());
        save_model(&server);
        assert!(server.banner.contains(if is_encrypted {
            "encryption  by --encryption-key-file"
        } else {
            "encryption  none"
        }));
        assert!(server.stop());
        let at_rest = found(&scene, &needles);
        let status = scene.status();
        if is_encrypted {
            assert_eq!((after_kill, at_rest), (vec![], vec![]), "of an encrypted folder");
            assert_eq!(status["plain"]["files"], 0, "{status}");
        } else {
            assert_eq!(after_kill.len(), needles.len() - 1, "all but the model: {after_kill:?}");
            assert!(at_rest.contains(&needles[needles.len() - 1]), "the model: {at_rest:?}");
            assert_eq!(status["keys"], json!([]), "{status}");
        }
    }
}
