//! `keywright backup list`, `verify` and `prune`: what they say of a folder of backups, and what they leave.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bytes::Bytes;
use keywright_archive::{Access, Address, Kind, Manifest, Parts, Place, Scope, Sizes, Writer};
use keywright_objects::S3Settings;
use serde_json::Value;

const OLD: &str = "00000000001000-00000000";
const OLD_CHILD: &str = "00000000002000-00000000";
const BASE: &str = "00000000003000-00000000";
/// Younger than any machine's clock says it is now.
const YOUNG: &str = "99999999999999-00000000";

fn keywright(arguments: &[&str], folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    command.args(["backup"]).args(arguments).arg(folder).args(more).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)))
}

/// Writes a backup of some rows.
async fn write(folder: &Path, table: &str, id: &str, parent: Option<&Manifest>) -> Manifest {
    let address = Address::Folder(folder.to_owned());
    let place = Place::open(&address, &S3Settings::default(), Access::Create).unwrap();
    let path = Scope::new("000000000000", "us-east-1").unwrap().backup(table, id).unwrap();
    let sizes = Sizes { chunk_bytes: 1000, block_bytes: 300 };
    let mut writer = Writer::new(place, path, sizes);
    for row in 0..200_u32 {
        writer.add(&row.to_be_bytes(), Some(&row.to_le_bytes())).await.unwrap();
    }
    let created_ms = id.split_once('-').unwrap().0.parse().unwrap();
    let parts = Parts {
        table_id: "1".to_owned(),
        kind: parent.map_or(Kind::Full, |parent| Kind::Increment(parent.summary.as_parent())),
        stamp: created_ms,
        created_ms,
        of_set: false,
        settings: Bytes::new(),
        described: BTreeMap::from([("keys".to_owned(), "pk (S)".to_owned())]),
    };
    writer.finish(parts).await.unwrap()
}

/// An old chain, and a young increment on an old backup. Another table has an old backup.
async fn backups(folder: &Path) {
    let old = write(folder, "orders", OLD, None).await;
    write(folder, "orders", OLD_CHILD, Some(&old)).await;
    let base = write(folder, "orders", BASE, None).await;
    write(folder, "orders", YOUNG, Some(&base)).await;
    write(folder, "users", OLD, None).await;
}

fn ids(folder: &Path, table: &str) -> Vec<String> {
    let listing = json(&keywright(&["list"], folder, &["--json"]));
    let backups = listing["backups"].as_array().unwrap();
    let of_table = backups.iter().filter(|backup| backup["table"] == table);
    of_table.map(|backup| backup["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_listing_shows_the_chain_and_the_state_of_each_backup() {
    let folder = tempfile::tempdir().unwrap();
    let empty = keywright(&["list"], folder.path(), &[]);
    assert!(empty.status.success() && said(&empty).contains("there are no backups"), "{}", said(&empty));

    backups(folder.path()).await;
    let own = folder.path().join("000000000000/us-east-1/orders");
    fs::remove_file(own.join(OLD_CHILD).join("manifest.json")).unwrap();
    fs::write(own.join(BASE).join("chunk-0.kwb"), "short").unwrap();
    let listing = json(&keywright(&["list"], folder.path(), &["--json"]));
    let backups = listing["backups"].as_array().unwrap();
    let of = |id: &str| backups.iter().find(|backup| backup["id"] == id).unwrap();
    assert_eq!((of(OLD)["state"].as_str(), of(OLD)["rows"].as_u64()), (Some("complete"), Some(200)));
    assert_eq!((of(OLD_CHILD)["state"].as_str(), of(OLD_CHILD).get("rows")), (Some("incomplete"), None));
    assert_eq!((of(BASE)["state"].as_str(), of(YOUNG)["parent"].as_str()), (Some("damaged"), Some(BASE)));
    assert!(of(BASE)["error"].as_str().unwrap().contains("chunk-0.kwb: it is truncated"), "{}", of(BASE));

    let text = said(&keywright(&["list"], folder.path(), &[]));
    let line = text.lines().find(|line| line.contains(YOUNG)).unwrap();
    assert!(line.contains(&format!("on {BASE}")) && line.ends_with("that backup is damaged"), "{line}");
}

#[tokio::test]
async fn verify_names_the_damaged_file_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let verify = |more: &[&str]| keywright(&["verify"], folder.path(), more);
    // The wrong folder must not look sound.
    let empty = verify(&[]);
    assert!(empty.status.code() == Some(2) && said(&empty).contains("no backups"), "{}", said(&empty));
    backups(folder.path()).await;
    let whole = verify(&[]);
    assert!(whole.status.success() && said(&whole).contains("everything is whole"), "{}", said(&whole));
    let report = json(&verify(&["--json"]));
    assert_eq!((report["backups"].as_u64(), report["rows"].as_u64()), (Some(5), Some(1000)));

    let chunk = folder.path().join("000000000000/us-east-1/orders").join(BASE).join("chunk-1.kwb");
    let mut bytes = fs::read(&chunk).unwrap();
    bytes[100] ^= 1;
    fs::write(&chunk, bytes).unwrap();
    // An increment is read with what it builds on.
    for more in [&[][..], &[BASE], &[YOUNG]] {
        let damaged = verify(more);
        assert_eq!(damaged.status.code(), Some(1), "{}", said(&damaged));
        let named = format!("{}: its content has changed", chunk.display());
        assert!(said(&damaged).contains(&named), "{}", said(&damaged));
    }
    let report = json(&verify(&["--json"]));
    assert_eq!(report["sound"], false);
    assert_eq!(report["damaged"][0]["object"].as_str(), chunk.to_str());
    assert!(verify(&[OLD]).status.success());

    fs::remove_file(chunk.with_file_name("manifest.json")).unwrap();
    assert_eq!(verify(&[YOUNG]).status.code(), Some(1), "its parent has no manifest");
    assert_eq!(verify(&[BASE]).status.code(), Some(1), "it has no manifest");
}

#[tokio::test]
async fn a_place_or_backup_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    backups(folder.path()).await;
    for command in ["verify", "prune"] {
        let unknown = keywright(&[command], folder.path(), &["1-a"]);
        assert_eq!(unknown.status.code(), Some(2), "{}", said(&unknown));
        assert!(said(&unknown).contains("there is no backup 1-a in "), "{}", said(&unknown));
    }
    let missing = folder.path().join("missing");
    for (command, more) in [("list", &[][..]), ("verify", &[]), ("prune", &["--keep", "7d"])] {
        let ended = keywright(&[command], &missing, more);
        assert_eq!(ended.status.code(), Some(2), "{}", said(&ended));
        let start = format!("cannot open {}: there is no such file or folder", missing.display());
        assert!(said(&ended).contains(&start), "{}", said(&ended));
        assert!(!missing.exists());
    }
    let bucket = keywright(&["list"], Path::new("s3://shop/backups"), &[]);
    assert!(!bucket.status.success() && said(&bucket).contains("--s3-endpoint"), "{}", said(&bucket));
}

#[tokio::test]
async fn prune_removes_what_is_too_old_and_breaks_no_chain() {
    let folder = tempfile::tempdir().unwrap();
    backups(folder.path()).await;
    let prune = |more: &[&str]| keywright(&["prune"], folder.path(), more);
    let all = [OLD, OLD_CHILD, BASE, YOUNG];
    for (more, part) in [
        (&["--keep", "7d", "--dry-run"][..], "would remove 000000000000/us-east-1/orders/00000000001000"),
        (&[BASE], "orders/99999999999999-00000000 is an increment on it"),
        (&["--keep", "7"], "write a period such as"),
        (&[], "<FROM> <ID|--keep <PERIOD>>"),
    ] {
        let ended = prune(more);
        assert!(said(&ended).contains(part), "{}", said(&ended));
        assert_eq!(ids(folder.path(), "orders"), all);
    }

    let pruned = prune(&["--keep", "7d"]);
    assert!(pruned.status.success(), "{}", said(&pruned));
    let kept = format!("kept 000000000000/us-east-1/orders/{BASE}");
    assert!(said(&pruned).contains(&kept), "{}", said(&pruned));
    assert_eq!(ids(folder.path(), "orders"), [BASE, YOUNG]);
    // The newest of its table.
    assert_eq!(ids(folder.path(), "users"), [OLD]);
    assert!(keywright(&["verify"], folder.path(), &[]).status.success());

    for id in [YOUNG, BASE] {
        assert!(prune(&[id]).status.success());
    }
    assert!(!folder.path().join("000000000000/us-east-1/orders").exists(), "no file is left");
}
