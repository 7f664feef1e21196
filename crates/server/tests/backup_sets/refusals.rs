//! What is wrong with a backup, a place or a target is said before anything is made, and nothing half
//! restored stays.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::bank::{self, id_of, run, text};
use crate::support::in_process::{Api as _, Http};
use crate::support::{Server, add_key};

/// All files below a folder whose names have this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

async fn tables(server: &Server) -> serde_json::Value {
    Http::new(server.address()).call("ListTables", &json!({})).await.good()["TableNames"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_or_missing_chunk_is_named_and_no_table_stays() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    let source = Server::in_memory();
    bank::open(&source).await;
    run(&["backup", "--to", text(&backups), "--endpoint", &source.endpoint]).unwrap();
    // The chunk of the second table: the first one is restored by then.
    let chunk = files(&backups, ".kwb").pop().unwrap();
    let whole = std::fs::read(&chunk).unwrap();
    let target = Server::in_memory();
    let restore = || run(&["restore", text(&backups), "--endpoint", &target.endpoint]);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    for content in [&damaged[..], &whole[..whole.len() - 1]] {
        std::fs::write(&chunk, content).unwrap();
        let refused = restore().unwrap_err();
        assert!(refused.contains("chunk-0.kwb"), "{refused}");
        assert_eq!(tables(&target).await, json!([]));
    }
    std::fs::remove_file(&chunk).unwrap();
    let into = folder.path().join("new");
    for target in [["--endpoint", target.endpoint.as_str()], ["--into", text(&into)]] {
        let refused = run(&[&["restore", text(&backups)], &target[..]].concat()).unwrap_err();
        assert!(refused.contains("is missing") && refused.contains(text(&chunk)), "{refused}");
    }
    assert!(!into.exists(), "nothing was made");
    std::fs::write(&chunk, &whole).unwrap();
    restore().unwrap();
    bank::check_whole(&target).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn places_tables_and_targets_that_do_not_fit_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (backups, full) = (folder.path().join("backups"), folder.path().join("full"));
    let server = Server::in_memory();
    let (to, endpoint) = (text(&backups), server.endpoint.as_str());
    let refused = |arguments: &[&str], part: &str| {
        let said = run(arguments).unwrap_err();
        assert!(said.contains(part), "{arguments:?}: {said}");
    };
    refused(&["backup", "--to", to, "--endpoint", endpoint], "no tables to back up");
    bank::open(&server).await;
    refused(&["backup", "--to", "ftp://x", "--endpoint", endpoint], "--to");
    refused(&["backup", "--to", "s3://b/p", "--endpoint", endpoint], "--s3-endpoint");
    refused(&["backup", "--to", to], "--endpoint");
    refused(&["backup", "--to", to, "--data", text(&full)], "holds no database");
    refused(&["backup", "--to", to, "--endpoint", endpoint, "--table", "Middle"], "no table Middle");
    refused(&["backup", "--to", to, "--endpoint", endpoint, "--since", "1-a"], "no complete backup 1-a");
    refused(&["backup", "--to", to, "--endpoint", "http://127.0.0.1:1"], "cannot connect");
    assert!(files(&backups, "").is_empty(), "nothing was written");
    let id = id_of(&run(&["backup", "--to", to, "--endpoint", endpoint]).unwrap());
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("file"), "x").unwrap();
    refused(&["restore", to, "--into", text(&full)], "is not empty");
    let new = folder.path().join("new");
    refused(&["restore", to, "1-a", "--into", text(&new)], "no backup 1-a");
    refused(&["restore", to, &id, "--into", text(&new), "--table", "Middle"], "table Middle");
    refused(&["restore", to, &id, "--into", text(&new), "--as", "x"], "--table");
    assert!(!new.exists(), "nothing was made");
    run(&["restore", to, &id, "--into", text(&new)]).unwrap();
    refused(&["restore", to, &id, "--into", text(&new)], "is not empty");
    std::fs::remove_file(files(&backups, &format!("{id}.json")).pop().unwrap()).unwrap();
    refused(&["restore", to, &id, "--into", text(&folder.path().join("other"))], "incomplete");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_signatures_are_verified_only_a_key_backs_up_and_only_its_account() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, backups) = (folder.path().join("keys"), folder.path().join("backups"));
    let (id, secret) = add_key(&keys, &[]);
    let (other_id, other_secret) = add_key(&keys, &["--account", "000000000009"]);
    let server = Server::start(&["--in-memory", "--credentials", text(&keys)]);
    let back_up = |id: &str, secret: &str| {
        let signed = ["--access-key-id", id, "--secret-access-key", secret];
        let all = ["backup", "--to", text(&backups), "--endpoint", &server.endpoint];
        run(&[&all[..], &signed].concat())
    };
    let refused = back_up(&id, "wrong").unwrap_err();
    assert!(refused.contains("InvalidSignature"), "{refused}");
    let refused = back_up(&other_id, &other_secret).unwrap_err();
    assert!(refused.contains("no tables to back up"), "{refused}");
    let refused = back_up(&id, &secret).unwrap_err();
    assert!(refused.contains("no tables to back up"), "{refused}");
}
