//! What policies outlive: kills, and what they do not: their tables, restores.

use std::path::Path;

use serde_json::json;

use super::{Scene, allows, arn, denies, error, refused};
#[cfg(all(feature = "postgres", unix))]
use super::{call_on, table};
use crate::support::Server;

/// The same after a kill and a start.
fn restarted(scene: Scene, data: &Path) -> Scene {
    let keys = scene.keys();
    let Scene { server, owner, other, folder } = scene;
    server.kill();
    let server = Server::start(&["--data", data.to_str().unwrap(), "--credentials", &keys]);
    Scene { server, owner, other, folder }
}

#[test]
fn a_policy_that_was_answered_holds_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let scene = Scene::with(&["--data", data.to_str().unwrap()]);
    scene.table();
    scene.put(&denies("*", &json!("dynamodb:GetItem")));
    let by_arn = json!({"ResourceArn": arn("Tab")});
    let get = json!({"TableName": "Tab", "Key": super::key("a")});
    let before = scene.owner("GetResourcePolicy", &by_arn);
    let scene = restarted(scene, &data);
    assert_eq!(scene.owner("GetResourcePolicy", &by_arn), before);
    assert_eq!(refused(scene.call(&scene.owner, "GetItem", &get)).0, "AccessDeniedException");
    let removed = scene.owner("DeleteResourcePolicy", &by_arn);
    let scene = restarted(scene, &data);
    scene.owner("GetItem", &get);
    let removal = scene.owner("DeleteResourcePolicy", &by_arn);
    assert!(
        removal["RevisionId"].as_str() > removed["RevisionId"].as_str(),
        "the time of the removal is kept"
    );
}

#[test]
fn a_policy_goes_with_its_table() {
    let scene = Scene::new();
    scene.table();
    scene.put(&denies("*", &json!("dynamodb:GetItem")));
    scene.owner("DeleteTable", &json!({"TableName": "Tab"}));
    scene.table();
    scene.owner("GetItem", &json!({"TableName": "Tab", "Key": super::key("a")}));
    let none = refused(scene.call(&scene.owner, "GetResourcePolicy", &json!({"ResourceArn": arn("Tab")})));
    let text = format!("Resource-based policy not found for the provided ResourceArn: {}", arn("Tab"));
    assert_eq!(none, error("PolicyNotFoundException", text));
}

#[test]
fn a_restored_table_has_no_policy() {
    let scene = Scene::new();
    scene.table();
    scene.put(&allows(super::OTHER, &json!("dynamodb:GetItem")));
    let backup = scene.owner("CreateBackup", &json!({"TableName": "Tab", "BackupName": "abc"}));
    let restore = json!({
        "TargetTableName": "New", "BackupArn": backup["BackupDetails"]["BackupArn"],
    });
    scene.owner("RestoreTableFromBackup", &restore);
    let described =
        || scene.owner("DescribeTable", &json!({"TableName": "New"}))["Table"]["TableStatus"].clone();
    while described() != "ACTIVE" {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let foreign = json!({"TableName": arn("New"), "Key": super::key("a")});
    assert_eq!(refused(scene.call(&scene.other, "GetItem", &foreign)).0, "AccessDeniedException");
    let none = refused(scene.call(&scene.owner, "GetResourcePolicy", &json!({"ResourceArn": arn("New")})));
    assert_eq!(none.0, "PolicyNotFoundException");
    let read = scene.owner("GetItem", &json!({"TableName": "New", "Key": super::key("a")}));
    assert_eq!(read["Item"], super::item("a"));
}

#[cfg(all(feature = "postgres", unix))]
#[test]
fn a_policy_put_at_one_server_binds_requests_at_another() {
    let Some(url) = crate::support::shared_store::url_or_say("policies") else { return };
    let scene = Scene::with(&["--store", &url]);
    let keys = scene.keys();
    let other = Server::start(&["--store", &url, "--credentials", &keys]);
    scene.owner("CreateTable", &table("Tab"));
    let get = json!({"TableName": "Tab", "Key": super::key("a")});
    let ask = |body: &serde_json::Value| call_on(&other, &scene.owner, "GetItem", body);
    ask(&get).unwrap();
    for round in 0..4 {
        let is_denied = round % 2 == 0;
        let action = if is_denied { "dynamodb:GetItem" } else { "dynamodb:PutItem" };
        scene.put(&denies("*", &json!(action)));
        // What another server knows may be a second old.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        assert_eq!(ask(&get).is_err(), is_denied, "round {round}");
    }
    let read =
        call_on(&other, &scene.owner, "GetResourcePolicy", &json!({"ResourceArn": arn("Tab")})).unwrap();
    let changed = scene.owner("DeleteResourcePolicy", &json!({"ResourceArn": arn("Tab")}));
    assert_eq!(read["RevisionId"], changed["RevisionId"]);
}
