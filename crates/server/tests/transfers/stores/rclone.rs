//! rclone: a small store over a folder.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::db::Db;
use crate::folder::{self, files_below};
use crate::support::Server;
use crate::support::stores::{SECRET, Store, rclone};
use crate::table::{TABLE, create, id_of, row};

/// A server with a table of a hundred items, which reaches the store with this secret.
fn server(store: &Store, secret: &str) -> (Server, Db) {
    let mut runner = Command::new("env");
    runner.args(store.variables().map(|(name, value)| format!("{name}={value}")));
    runner.arg(format!("KEYWRIGHT_S3_SECRET_ACCESS_KEY={secret}"));
    let server = Server::under(runner, &["--in-memory"]).unwrap();
    let mut db = Db::of(&server);
    create(&mut db);
    db.put_all(TABLE, &(0..100).map(|number| row(number, 0)).collect::<Vec<_>>());
    (server, db)
}

fn bucket(store: &Store) -> PathBuf {
    rclone::file(store, "")
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_into_a_bucket_is_the_table_and_a_wrong_secret_fails_it() {
    let store = rclone::start();
    let (_server, mut db) = server(&store, SECRET);
    let expected = db.items();
    let (_, folder) = db.export(&bucket(&store), &json!({"S3Prefix": "some/where"}));
    assert_eq!(folder.items(), expected);
    let (_server, mut db) = server(&store, "another");
    let begun = db.begin_export(&json!({"S3Prefix": "other"}));
    let ended = db.end_of(&begun);
    assert_eq!((&ended["ExportStatus"], &ended["FailureCode"]), (&json!("FAILED"), &json!("S3AccessDenied")));
    assert!(!bucket(&store).join("other").exists());
    let begun = db.begin_export(&json!({"S3Bucket": "nowhere"}));
    assert_eq!(db.end_of(&begun)["ExportStatus"], "FAILED");
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_waits_while_the_store_does_not_answer_and_then_goes_on() {
    let store = rclone::start();
    let (_server, mut db) = server(&store, SECRET);
    let expected = db.items();
    store.line.cut_after(3_000);
    let begun = db.begin_export(&json!({}));
    db.wait("the line is cut", |_| store.line.is_cut());
    let before = store.line.connections();
    db.wait("it is tried again", |_| store.line.connections() > before + 1);
    assert_eq!(db.describe_export(&begun["ExportArn"])["ExportStatus"], "IN_PROGRESS");
    store.line.make_whole();
    let ended = db.end_of(&begun);
    assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
    assert_eq!(folder::read(&bucket(&store), "", id_of(&ended)).items(), expected);
    assert_eq!(files_below(&bucket(&store)).len(), 9, "a marker, four files, two manifests and their sums");
}
