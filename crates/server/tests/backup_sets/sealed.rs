//! The server's own copies of backups: under kills, damage, a store that is gone or full, and by a schedule.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bank::{ACCOUNTS, TABLES, items, open, run, text};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::raw::{Connection, signed};
use crate::support::small_disk::SmallDisk;

pub(crate) const TABLE: &str = TABLES[0];
/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_mins(1);
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// `KEYWRIGHT_KILLS` sets another number, up to the second: each takes seconds.
const KILLS_DEFAULT: u64 = 3;
const KILLS_MAX: u64 = 20;
const DAY_MS: u64 = 86_400_000;

pub(crate) async fn back_up(http: &Http) -> String {
    let request = json!({"TableName": TABLE, "BackupName": "copied"});
    let made = http.call("CreateBackup", &request).await.good();
    made["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned()
}

pub(crate) async fn restore(http: &Http, arn: &str, target: &str) -> Answer {
    let request = json!({"BackupArn": arn, "TargetTableName": target});
    http.call("RestoreTableFromBackup", &request).await
}

/// Waits until a table is there and ACTIVE, or gone.
pub(crate) async fn settled(http: &Http, table: &str) -> bool {
    let begun = Instant::now();
    loop {
        match http.call("DescribeTable", &json!({"TableName": table})).await {
            Answer::Good(found) if found["Table"]["TableStatus"] == "ACTIVE" => return true,
            Answer::Fault(..) => return false,
            Answer::Good(_) | Answer::Unknown(_) => {}
        }
        assert!(begun.elapsed() < LONG, "{table} does not become ACTIVE");
        tokio::time::sleep(PAUSE).await;
    }
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn manifests(folder: &Path) -> usize {
    files(folder).iter().filter(|file| file.ends_with("manifest.json")).count()
}

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "{what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// The open jobs, and the last messages of those that failed.
pub(crate) fn jobs(server: &Server) -> Value {
    own_call(server, "jobs", &json!({}))
}

fn own_call(server: &Server, call: &str, body: &Value) -> Value {
    let headers = signed("DynamoDB_20120810.Own");
    let path = format!("/_keywright/{call}");
    let answer = Connection::open(server).send_to(&path, "POST", &headers, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// Waits until nothing is to be copied any more.
async fn copied(server: &Server, backups: &Path, count: usize) {
    wait_until("the backup is not copied", || {
        let listed = jobs(server).to_string();
        manifests(backups) == count && !listed.contains("\"running\"") && !listed.contains("\"waiting\"")
    })
    .await;
}

/// What does not become smaller when it is compressed.
fn noise(seed: u64, bytes: usize) -> String {
    let mut dice = Dice::new(seed);
    (0..bytes).map(|_| char::from(b'!' + u8::try_from(dice.roll(90)).unwrap())).collect()
}

async fn put_noise(http: &Http, items: u64, bytes: usize) {
    for number in 0..items {
        let item = json!({"pk": {"S": format!("noise-{number}")}, "noise": {"S": noise(number + 1, bytes)}});
        http.call("PutItem", &json!({"TableName": TABLE, "Item": item})).await.good();
    }
}

/// Checks that the folder has what the manifests name, and nothing else. Returns the number of chunks.
fn check_objects(backups: &Path) -> usize {
    let mut named: Vec<PathBuf> = Vec::new();
    for manifest in files(backups).into_iter().filter(|file| file.ends_with("manifest.json")) {
        let said: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
        let chunks = said["chunks"].as_array().unwrap();
        named.extend(chunks.iter().map(|chunk| manifest.with_file_name(chunk["name"].as_str().unwrap())));
        named.push(manifest);
    }
    let mut found = files(backups);
    found.sort();
    named.sort();
    assert_eq!(found, named);
    found.len() - manifests(backups)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_copies_a_backup_ends_with_a_whole_copy_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("data/backups"));
    // Chunks of 1 MiB: a copy has several.
    let start = || Server::start(&["--data", text(&data), "--job-memory-mib", "32", "--job-threads", "16"]);
    let mut server = start();
    open(&server).await;
    let http = Http::new(server.address());
    put_noise(&http, 12, 300_000).await;
    let begun = Instant::now();
    back_up(&http).await;
    copied(&server, &backups, 1).await;
    let takes = u64::try_from(begun.elapsed().as_millis()).unwrap();
    assert!(check_objects(&backups) > 2, "{:?}", files(&backups));
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT).min(KILLS_MAX);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let mut unfinished = 0;
    for kill in 0..kills {
        let known = usize::try_from(kill).unwrap() + 1;
        let http = Http::new(server.address());
        let before = items(&server, TABLE, None).await;
        let arn = back_up(&http).await;
        http.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"pk": {"S": "account-0"}}})).await.good();
        tokio::time::sleep(Duration::from_millis(dice.roll(takes))).await;
        server.kill();
        unfinished += u64::from(manifests(&backups) <= known);
        server = start();
        let http = Http::new(server.address());
        copied(&server, &backups, known + 1).await;
        check_objects(&backups);
        let target = format!("Copy-{kill}");
        restore(&http, &arn, &target).await.good();
        tokio::time::sleep(Duration::from_millis(dice.roll(takes))).await;
        server.kill();
        server = start();
        let http = Http::new(server.address());
        assert!(settled(&http, &target).await, "{}", jobs(&server));
        assert_eq!(items(&server, &target, None).await, before);
        let indexed = before.iter().filter(|(_, item)| !item["owner"].is_null());
        let indexed: BTreeMap<_, _> = indexed.map(|(key, item)| (key.clone(), item.clone())).collect();
        assert_eq!(items(&server, &target, Some("by-owner")).await, indexed);
        let described = http.call("DescribeTable", &json!({"TableName": target})).await.good();
        assert_eq!(described["Table"]["ItemCount"], json!(before.len()));
        http.call("DeleteTable", &json!({"TableName": target})).await.good();
        let item = &before["account-0"];
        http.call("PutItem", &json!({"TableName": TABLE, "Item": item})).await.good();
    }
    run(&["backup", "verify", text(&backups)]).unwrap();
    println!(
        "seed {seed}: {kills} kills while a backup of {takes} ms was copied, {unfinished} before its end, and \
         {kills} while it was restored"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_was_begun_elsewhere_begins_anew_where_the_store_is_now() {
    // It has room for the first chunks only.
    let Some(disk) = SmallDisk::mount(3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (one, other) = (disk.path().join("one"), folder.path().join("other"));
    let start = |to: &Path| {
        let small = ["--job-memory-mib", "32", "--job-threads", "16"];
        Server::start(&[&["--data", text(&data), "--backup-to", text(to)], &small[..]].concat())
    };
    let server = start(&one);
    open(&server).await;
    let http = Http::new(server.address());
    put_noise(&http, 24, 300_000).await;
    let before = items(&server, TABLE, None).await;
    let arn = back_up(&http).await;
    wait_until("the first chunk is not noted", || {
        let job = &jobs(&server)["jobs"][0];
        job["items"].as_u64().is_some_and(|items| items > 0) && job["waits-for"].is_string()
    })
    .await;
    server.kill();
    assert_eq!(manifests(&one), 0, "the copy is complete already");
    let server = start(&other);
    copied(&server, &other, 1).await;
    assert!(check_objects(&other) > 2, "{:?}", files(&other));
    run(&["backup", "verify", text(&other)]).unwrap();
    let http = Http::new(server.address());
    restore(&http, &arn, "Copy").await.good();
    assert!(settled(&http, "Copy").await, "{}", jobs(&server));
    assert_eq!(items(&server, "Copy", None).await, before);
}

/// A server with a backup whose copy stands in the folder.
async fn with_copy(folder: &Path, backups: &Path) -> (Server, String) {
    let server = Server::on(&folder.join("data"));
    open(&server).await;
    let arn = back_up(&Http::new(server.address())).await;
    copied(&server, backups, 1).await;
    (server, arn)
}

fn find(backups: &Path, name: &str) -> PathBuf {
    files(backups).into_iter().find(|file| file.ends_with(name)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_whose_content_has_changed_fails_the_restore_by_its_name_and_leaves_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("data/backups");
    let (server, arn) = with_copy(folder.path(), &backups).await;
    let http = Http::new(server.address());
    let chunk = find(&backups, "chunk-0.kwb");
    let whole = std::fs::read(&chunk).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    std::fs::write(&chunk, &flipped).unwrap();
    restore(&http, &arn, "Copy").await.good();
    assert!(!settled(&http, "Copy").await, "the table is there");
    let listed = jobs(&server).to_string();
    assert!(listed.contains("content has changed") && listed.contains(text(&chunk)), "{listed}");
    assert_eq!(items(&server, TABLE, None).await.len(), usize::try_from(ACCOUNTS).unwrap());
    std::fs::write(&chunk, &whole).unwrap();
    restore(&http, &arn, "Copy").await.good();
    assert!(settled(&http, "Copy").await);
}

/// Restores, and returns the status and the text of the refusal. No table was made, not even for a moment.
pub(crate) fn refusal(server: &Server, arn: &str) -> (u16, String) {
    let send = |operation: &str, body: &Value| {
        let target = format!("DynamoDB_20120810.{operation}");
        Connection::open(server).send("POST", &signed(&target), body.to_string().as_bytes())
    };
    let refused = send("RestoreTableFromBackup", &json!({"BackupArn": arn, "TargetTableName": "Refused"}));
    let described = send("DescribeTable", &json!({"TableName": "Refused"}));
    assert!(described.text().contains("ResourceNotFoundException"), "{}", described.text());
    assert!(!jobs(server).to_string().contains("restore"), "{}", jobs(server));
    (refused.status, refused.text().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_not_there_whole_is_refused_before_a_table_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("data/backups");
    let (server, arn) = with_copy(folder.path(), &backups).await;
    let (chunk, manifest) = (find(&backups, "chunk-0.kwb"), find(&backups, "manifest.json"));
    let (chunk_bytes, manifest_bytes) = (std::fs::read(&chunk).unwrap(), std::fs::read(&manifest).unwrap());
    let newer = String::from_utf8(manifest_bytes.clone()).unwrap();
    let newer = newer.replacen("\"format\": 1", "\"format\": 99", 1);
    let newer = newer.replacen("\"format\":1", "\"format\":99", 1).into_bytes();
    assert_ne!(newer, manifest_bytes);
    let cases: [(&PathBuf, Option<&[u8]>, &str); 5] = [
        (&chunk, None, "is missing"),
        (&chunk, Some(&chunk_bytes[1..]), "is truncated"),
        (&manifest, None, "is missing"),
        (&manifest, Some(&manifest_bytes[..manifest_bytes.len() / 2]), "content has changed"),
        (&manifest, Some(&newer), "format 99"),
    ];
    for (file, content, reason) in cases {
        match content {
            Some(content) => std::fs::write(file, content).unwrap(),
            None => std::fs::remove_file(file).unwrap(),
        }
        let (status, said) = refusal(&server, &arn);
        assert_eq!(status, 500, "{said}");
        assert!(said.contains("InternalServerError") && said.contains(&arn), "{said}");
        assert!(said.contains(reason) && said.contains(text(file)), "{reason}: {said}");
        std::fs::write(&chunk, &chunk_bytes).unwrap();
        std::fs::write(&manifest, &manifest_bytes).unwrap();
    }
    let away = folder.path().join("away");
    std::fs::rename(&backups, &away).unwrap();
    let (status, said) = refusal(&server, &arn);
    assert_eq!(status, 503, "{said}");
    assert!(said.contains("cannot be read now") && said.contains(text(&backups)), "{said}");
    std::fs::rename(&away, &backups).unwrap();
    let http = Http::new(server.address());
    // What is wrong with the request comes first.
    std::fs::remove_file(&chunk).unwrap();
    let Answer::Fault(name, body) = restore(&http, &arn, TABLE).await else { panic!("the table is there") };
    assert_eq!(name, "TableAlreadyExistsException", "{body}");
    std::fs::write(&chunk, &chunk_bytes).unwrap();
    restore(&http, &arn, "Whole").await.good();
    assert!(settled(&http, "Whole").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_of_a_deleted_backup_goes_once_its_store_answers() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    let data = folder.path().join("data");
    let server = Server::start(&["--data", text(&data), "--backup-to", text(&backups), "--load-rate", "20"]);
    open(&server).await;
    let http = Http::new(server.address());
    let arn = back_up(&http).await;
    copied(&server, &backups, 1).await;
    restore(&http, &arn, "Copy").await.good();
    let Answer::Fault(name, body) = http.call("DeleteBackup", &json!({"BackupArn": arn})).await else {
        panic!("a table is being restored from it")
    };
    assert_eq!(name, "BackupInUseException", "{body}");
    assert!(settled(&http, "Copy").await);
    let away = folder.path().join("away");
    std::fs::rename(&backups, &away).unwrap();
    http.call("DeleteBackup", &json!({"BackupArn": arn})).await.good();
    let listed = http.call("ListBackups", &json!({})).await.good();
    assert_eq!(listed["BackupSummaries"], json!([]));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!files(&away).is_empty());
    let waits = jobs(&server)["jobs"][0].clone();
    assert!(waits["waits-for"].to_string().contains(text(&backups)), "{waits}");
    std::fs::rename(&away, &backups).unwrap();
    wait_until("the objects stay", || files(&backups).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restores_keep_to_their_rate_whether_they_read_the_history_or_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    for (place, rest) in [("off", 0), ("copies", 1)] {
        let backups = folder.path().join(place);
        let to = if rest == 0 { place } else { text(&backups) };
        let data = folder.path().join(format!("data-{place}"));
        let server = Server::start(&["--data", text(&data), "--backup-to", to, "--load-rate", "20"]);
        open(&server).await;
        let http = Http::new(server.address());
        let arn = back_up(&http).await;
        copied(&server, &backups, rest).await;
        let begun = Instant::now();
        restore(&http, &arn, "Copy").await.good();
        assert!(settled(&http, "Copy").await);
        // Sixty items, two at a time: nobody waits after the last two.
        let took = begun.elapsed();
        let least = Duration::from_millis(50 * (ACCOUNTS - 2));
        assert!(took >= least && took < 4 * least, "{place}: {took:?}");
        println!("{place}: {ACCOUNTS} rows in {took:?} at 20 rows a second");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_backup_store_gets_no_manifest_until_there_is_room() {
    let Some(disk) = SmallDisk::mount(8) else { return };
    let folder = tempfile::tempdir().unwrap();
    let filler = disk.path().join("filler");
    std::fs::write(&filler, vec![0; (8 << 20) - (64 << 10)]).unwrap();
    let backups = disk.path().join("backups");
    let server = Server::start(&["--data", text(&folder.path().join("data")), "--backup-to", text(&backups)]);
    open(&server).await;
    let http = Http::new(server.address());
    put_noise(&http, ACCOUNTS, 6_000).await;
    let before = items(&server, TABLE, None).await;
    let arn = back_up(&http).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(manifests(disk.path()), 0);
    let job = jobs(&server)["jobs"][0].clone();
    assert_eq!(job["kind"], "seal", "{job}");
    assert!(job["waits-for"].as_str().unwrap().contains(text(&backups)), "{job}");
    assert_eq!(items(&server, TABLE, None).await, before);
    let item = json!({"pk": {"S": "later"}});
    http.call("PutItem", &json!({"TableName": TABLE, "Item": item})).await.good();
    std::fs::remove_file(&filler).unwrap();
    copied(&server, &backups, 1).await;
    run(&["backup", "verify", text(&backups)]).unwrap();
    restore(&http, &arn, "Copy").await.good();
    assert!(settled(&http, "Copy").await);
    assert_eq!(items(&server, "Copy", None).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_on_the_disk_of_the_database_waits_rather_than_take_the_room_that_the_database_needs() {
    let Some(disk) = SmallDisk::mount(96) else { return };
    let (data, filler) = (disk.path().join("data"), disk.path().join("filler"));
    let server = Server::start(&["--data", text(&data), "--write-buffer-kib", "512"]);
    open(&server).await;
    let http = Http::new(server.address());
    std::fs::write(&filler, vec![0; 72 << 20]).unwrap();
    let before = items(&server, TABLE, None).await;
    let arn = back_up(&http).await;
    let begun = Instant::now();
    let waits = loop {
        if let Some(waits) = jobs(&server)["jobs"][0]["waits-for"].as_str() {
            break waits.to_owned();
        }
        assert!(begun.elapsed() < LONG, "the copy does not wait: {}", jobs(&server));
        tokio::time::sleep(PAUSE).await;
    };
    assert!(waits.contains("MiB are free") && waits.contains("--backup-to"), "{waits}");
    assert!(files(&data.join("backups")).is_empty());
    put_noise(&http, 20, 6_000).await;
    std::fs::remove_file(&filler).unwrap();
    copied(&server, &data.join("backups"), 1).await;
    assert_eq!(jobs(&server)["jobs"][0]["waits-for"], Value::Null, "{}", jobs(&server));
    restore(&http, &arn, "Copy").await.good();
    assert!(settled(&http, "Copy").await);
    assert_eq!(items(&server, "Copy", None).await, before);
}

fn advance(server: &Server, ms: u64) {
    let body = json!({"advance-ms": ms}).to_string();
    let own = ("X-Keywright", "clock");
    let answer = Connection::open(server).send_to("/_keywright/clock", "POST", &[own], body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Waits until the name of the newest scheduled backup begins so; returns how many there are.
async fn scheduled(http: &Http, newest: &str) -> usize {
    let begun = Instant::now();
    loop {
        let listed = http.call("ListBackups", &json!({"TableName": TABLE})).await.good();
        let listed = listed["BackupSummaries"].as_array().unwrap().clone();
        if listed.last().is_some_and(|backup| backup["BackupName"].as_str().unwrap().starts_with(newest)) {
            assert!(listed.iter().all(|backup| backup["BackupType"] == "USER"), "{listed:?}");
            return listed.len();
        }
        assert!(begun.elapsed() < LONG, "{newest}: {listed:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scheduled_backups_are_made_expire_and_are_made_up_once_after_a_pause() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.toml");
    let schedule = "[[backup-schedule]]\ntable = \"Left\"\nevery = \"1d\"\nat = \"03:30\"\nkeep = \"2d\"\n";
    std::fs::write(&settings, schedule).unwrap();
    let data = folder.path().join("data");
    let at = |time: &str| {
        let clock = format!("manual@{time}");
        Server::start(&["--data", text(&data), "--config", text(&settings), "--clock", &clock])
    };
    let server = at("2026-11-27T03:00:00Z");
    open(&server).await;
    let http = Http::new(server.address());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let none = http.call("ListBackups", &json!({})).await.good();
    assert_eq!(none["BackupSummaries"], json!([]), "none is due yet");
    // Not further: a look at the schedule while the clock moves on would give a later name.
    advance(&server, DAY_MS / 48);
    assert_eq!(scheduled(&http, "scheduled-Left-20261127T033000Z").await, 1);
    copied(&server, &data.join("backups"), 1).await;
    server.kill();
    // Four were missed, and the first has expired.
    let server = at("2026-12-01T10:00:00Z");
    let http = Http::new(server.address());
    scheduled(&http, "scheduled-Left-20261201T100000Z").await;
    wait_until("the copy of the expired backup stays", || manifests(&data.join("backups")) == 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(scheduled(&http, "scheduled-Left-20261201T100000Z").await, 1);
    advance(&server, DAY_MS);
    assert_eq!(scheduled(&http, "scheduled-Left-20261202T").await, 2);
}

/// The only backup as the server knows it, once its verification has ended.
async fn verified(server: &Server) -> Value {
    let begun = Instant::now();
    loop {
        let known = own_call(server, "backups", &json!({}))["backups"][0].clone();
        if known["verify"]["ended"].is_number() {
            return known;
        }
        assert!(begun.elapsed() < LONG, "{known}");
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_verified_in_its_store_and_what_was_found_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("data/backups"));
    let mut server = Server::on(&data);
    assert_eq!(own_call(&server, "backups", &json!({"stored": true}))["backups"], json!([]), "no folder yet");
    open(&server).await;
    let arn = back_up(&Http::new(server.address())).await;
    copied(&server, &backups, 1).await;
    let id = arn.rsplit('/').next().unwrap();
    let verify = json!({"verify": {"table": TABLE, "id": id}});
    let known = own_call(&server, "backups", &json!({}))["backups"][0].clone();
    let copy = &known["copy"];
    assert!(copy["sealed"].is_number() && copy["bytes"].as_u64().unwrap() > 0, "{known}");
    assert_eq!((&copy["chunks"], &copy["verified"]), (&json!(1), &Value::Null), "{known}");
    assert_eq!(known["seal"]["state"], "completed");
    let stored = own_call(&server, "backups", &json!({"stored": true}));
    assert_eq!(stored["store"], text(&backups));
    assert_eq!(
        (&stored["backups"][0]["id"], &stored["backups"][0]["state"]),
        (&json!(id), &json!("complete"))
    );

    assert_eq!(own_call(&server, "backups", &verify)["kind"], "verify");
    let whole = verified(&server).await;
    assert_eq!(
        (&whole["verify"]["state"], &whole["verify"]["items"]),
        (&json!("completed"), &json!(ACCOUNTS))
    );
    assert!(whole["copy"]["verified"]["at"].as_u64() >= whole["copy"]["sealed"].as_u64(), "{whole}");
    assert_eq!(whole["copy"]["verified"]["damage"], Value::Null);
    server.kill();
    server = Server::on(&data);
    assert_eq!(verified(&server).await, whole);

    let chunk = files(&backups).into_iter().find(|file| file.ends_with("chunk-0.kwb")).unwrap();
    let content = std::fs::read(&chunk).unwrap();
    let mut flipped = content.clone();
    flipped[content.len() / 2] ^= 1;
    std::fs::write(&chunk, &flipped).unwrap();
    let job = own_call(&server, "backups", &verify);
    assert_ne!(job["id"], whole["verify"]["id"]);
    wait_until("the damage is not found", || jobs(&server).to_string().contains("DamagedBackup")).await;
    let damaged = verified(&server).await;
    assert_eq!(damaged["verify"]["state"], "failed");
    let found = damaged["copy"]["verified"]["damage"].as_str().unwrap().to_owned();
    assert!(found.contains(text(&chunk)) && found.contains("content has changed"), "{found}");
    run(&["backup", "verify", text(&backups), id]).unwrap_err();

    std::fs::write(&chunk, &content).unwrap();
    let job = own_call(&server, "backups", &verify)["id"].clone();
    let is_over = || own_call(&server, "jobs", &json!({"id": job}))["jobs"][0]["ended"].is_number();
    wait_until("it is not read again", is_over).await;
    assert_eq!(verified(&server).await["copy"]["verified"]["damage"], Value::Null);
    run(&["backup", "verify", text(&backups), id]).unwrap();
}
