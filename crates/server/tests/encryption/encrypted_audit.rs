//! An audit log in an encrypted data folder: encrypted as all else there, over rotation, kills, new keys and
//! a full disk, and read with the key alone.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::{Scene, call, errors, files, keywright, refused};
use crate::support::Server;
use crate::support::dice::wanted;
use crate::support::management::{get, sample};
use crate::support::raw::{Connection, request, signed};
use crate::support::small_disk::SmallDisk;

/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 3;
const LOOKS_MAX: u32 = 400;
const PAUSE: Duration = Duration::from_millis(50);

fn table(name: &str) -> Value {
    json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
}

fn start(scene: &Scene, more: &[&str]) -> Server {
    let log = scene.text("data/audit.log");
    scene.server(&[&["--audit-log", &log, "--audit-data", "all", "--audit-file-kib", "16"], more].concat())
}

/// The files of the log, the current one last.
fn log_files(scene: &Scene) -> Vec<PathBuf> {
    let is_closed = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("audit.log.2") && path.extension().is_none_or(|extension| extension != "draft")
    };
    let mut closed: Vec<PathBuf> = files(&scene.path("data")).into_iter().filter(is_closed).collect();
    closed.sort();
    closed.push(scene.path("data/audit.log"));
    closed
}

fn audit(scene: &Scene, files: &[PathBuf], more: &[&str]) -> Output {
    let key = scene.text("key");
    let names: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let key = ["--json", "--encryption-key-file", &key];
    keywright(&[&["audit"], &names[..], &key, more].concat())
}

/// All records of the log of a stopped server.
fn records(scene: &Scene) -> Vec<Value> {
    let shown = audit(scene, &log_files(scene), &[]);
    assert!(shown.status.success(), "{}", errors(&shown));
    let text = String::from_utf8(shown.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(scene: &Scene) -> BTreeSet<String> {
    let id = |record: &Value| record["requestID"].as_str().map(str::to_owned);
    records(scene).iter().filter_map(id).collect()
}

/// Creates tables and deletes them until the server is killed; returns the ids of the answered requests.
fn change_until_killed(address: &str, name: &str, is_over: &AtomicBool) -> Vec<String> {
    use std::io::{BufRead as _, BufReader, Read as _};
    let mut ids = Vec::new();
    let Ok(stream) = std::net::TcpStream::connect(address) else { return ids };
    let mut stream = BufReader::new(stream);
    for number in 0_u32.. {
        let (operation, body) = match number % 2 {
            0 => ("CreateTable", table(name)),
            _ => ("DeleteTable", json!({"TableName": name})),
        };
        let sent = stream.get_mut().write_all(&request(operation, &body.to_string()));
        if is_over.load(Ordering::Relaxed) || sent.is_err() {
            break;
        }
        let (mut id, mut length, mut line) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).is_err() || line.is_empty() {
                return ids;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if lower.starts_with("x-amzn-requestid: ") {
                line.split(": ").nth(1).unwrap().trim().clone_into(&mut id);
            }
        }
        if stream.read_exact(&mut vec![0; length]).is_err() {
            break;
        }
        ids.push(id);
    }
    ids
}

#[test]
fn no_kill_loses_a_record_and_new_keys_leave_none_under_an_old_one() {
    let scene = Scene::new();
    let mut answered = BTreeSet::new();
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT);
    for kill in 0..kills {
        let server = start(&scene, &[]);
        let address = server.address().to_owned();
        let is_over = AtomicBool::new(false);
        let of_writers = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (address, is_over) = (&address, &is_over);
                    scope.spawn(move || change_until_killed(address, &format!("K{kill}W{writer}"), is_over))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(400 + 37 * (kill % 20)));
            server.kill();
            is_over.store(true, Ordering::Relaxed);
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        answered.extend(of_writers);
    }
    let server = start(&scene, &[]);
    for command in ["rotate-data", "rewrite"] {
        let done = keywright(&["encryption", command, "--endpoint", &server.endpoint]);
        assert!(done.status.success(), "{}", errors(&done));
    }
    let status = scene.status();
    assert_eq!(status["keys"].as_array().unwrap().len(), 1, "{status}");
    // The log goes on under the new key, and the server reads all of it.
    let mut connection = Connection::open(&server);
    call(&mut connection, "CreateTable", &table("Last"));
    let headers = signed("DynamoDB_20120810.Changes");
    let body = json!({"table": "Last"}).to_string();
    let answer = connection.send_to("/_keywright/table-changes", "POST", &headers, body.as_bytes());
    assert_eq!(answer.json()["changes"][0]["event"], "CreateTable", "{}", answer.text());
    let name = format!("K{}W0", kills - 1);
    let body = json!({"table": name}).to_string();
    let answer = connection.send_to("/_keywright/table-changes", "POST", &headers, body.as_bytes());
    assert!(!answer.json()["changes"].as_array().unwrap().is_empty(), "of before: {}", answer.text());
    drop(connection);
    assert!(server.stop());
    let found = ids(&scene);
    let lost: Vec<&String> = answered.difference(&found).collect();
    println!("{kills} kills, {} answered changes", answered.len());
    assert!(answered.len() > 20 && lost.is_empty(), "{lost:?} of {}", answered.len());
    assert!(log_files(&scene).len() > 2, "files were closed");
    let status = scene.status();
    assert_eq!((&status["plain"]["files"], status["keys"].as_array().unwrap().len()), (&json!(0), 1));
    let verify = ["verify", "--data", &scene.text("data"), "--encryption-key-file", &scene.text("key")];
    let verified = keywright(&verify);
    assert!(verified.status.success(), "{}{}", errors(&verified), String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn the_log_is_read_with_the_key_and_damage_of_it_is_named() {
    let scene = Scene::new();
    let server = start(&scene, &[]);
    let mut connection = Connection::open(&server);
    for number in 0..60 {
        call(&mut connection, "CreateTable", &table(&format!("Tab{number}")));
    }
    drop(connection);
    assert!(server.stop());
    let all = log_files(&scene);
    assert!(all.len() > 1);
    let first = all[0].to_str().unwrap();
    let said = refused(&keywright(&["audit", first]));
    assert!(
        said.contains(&format!(
            "{first} is encrypted: pass --encryption-key-file FILE, --encryption-key-command"
        )),
        "{said}"
    );
    scene.make_key("other");
    let other = scene.text("other");
    let said = refused(&keywright(&["audit", first, "--encryption-key-file", &other]));
    assert!(said.contains("is not the key that it was encrypted with"), "{said}");
    let names: BTreeSet<String> = records(&scene)
        .iter()
        .filter_map(|record| record["requestParameters"]["tableName"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(names.len(), 60);

    // A file that was moved away needs the folder's keys.
    let moved = scene.path("moved.gz");
    fs::copy(&all[0], &moved).unwrap();
    let said = refused(&audit(&scene, std::slice::from_ref(&moved), &[]));
    assert!(said.contains("no folder above it has keys: write --data FOLDER"), "{said}");
    let shown = audit(&scene, &[moved], &["--data", &scene.text("data")]);
    assert!(shown.status.success() && !shown.stdout.is_empty(), "{}", errors(&shown));

    let verify = ["verify", "--data", &scene.text("data"), "--encryption-key-file", &scene.text("key")];
    let verified = keywright(&verify);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let current = scene.path("data/audit.log");
    let whole = records(&scene);
    let last_whole = whole.get(whole.len() - 2).cloned();
    let mut torn = fs::read(&current).unwrap();
    torn.truncate(torn.len() - 3);
    fs::write(&current, &torn).unwrap();
    let verified = keywright(&verify);
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.status.success() && said.contains("audit.log: its last line is torn"), "{said}");
    let closed = all.iter().find(|file| file.extension().is_some_and(|end| end == "gz")).unwrap();
    let mut damaged = fs::read(closed).unwrap();
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    fs::write(closed, damaged).unwrap();
    let verified = keywright(&[&verify[..], &["--format", "json"]].concat());
    assert_eq!(verified.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(report["damaged"][0]["file"], closed.to_str().unwrap(), "{report}");
    let shown = audit(&scene, std::slice::from_ref(&current), &[]);
    assert_eq!(shown.status.code(), Some(1));
    assert!(errors(&shown).contains(closed.to_str().unwrap()), "{}", errors(&shown));
    let id = |record: &Value| record["requestID"].clone();
    let text = String::from_utf8(shown.stdout).unwrap();
    let last = text.lines().last().map(|line| id(&serde_json::from_str(line).unwrap()));
    assert_eq!(last, last_whole.as_ref().map(id), "the files after the damaged one are shown");
    fs::remove_file(closed).unwrap();
    // A torn file is closed, and the server goes on in another one.
    let server = start(&scene, &[]);
    call(&mut Connection::open(&server), "DeleteTable", &json!({"TableName": "Tab0"}));
    assert!(server.stop());
    let shown = audit(&scene, &[current], &["--event", "DeleteTable"]);
    assert_eq!(String::from_utf8_lossy(&shown.stdout).lines().count(), 1, "{}", errors(&shown));
}

#[test]
fn a_log_is_encrypted_and_decrypted_with_its_folder() {
    let scene = Scene::new();
    let log = scene.text("data/audit.log");
    let plain = |scene: &Scene| scene.plain_server(&["--audit-log", &log, "--audit-file-kib", "16"]);
    let create = |server: &Server, name: &str| {
        let mut connection = Connection::open(server);
        for number in 0..25 {
            call(&mut connection, "CreateTable", &table(&format!("{name}{number}")));
        }
    };
    let server = plain(&scene);
    create(&server, "Plain");
    assert!(server.stop());
    fs::write(scene.path("data/note.txt"), "a note\n").unwrap();
    let enabled = scene.encryption(&["enable"]);
    assert!(enabled.status.success(), "{}", errors(&enabled));
    assert!(errors(&enabled).contains("note.txt is not a file of the database"), "{}", errors(&enabled));
    assert!(!errors(&enabled).contains("audit.log"), "{}", errors(&enabled));
    assert_eq!(scene.status()["plain"]["names"], json!(["note.txt"]));
    let server = start(&scene, &[]);
    create(&server, "Encrypted");
    assert!(server.stop());
    assert_eq!(scene.status()["plain"]["names"], json!(["note.txt"]));
    let all = records(&scene).len();
    // Closed files that lay elsewhere when the folder was encrypted take its form at the next start.
    let older = scene.path("data/audit.log.20200101T000000000Z");
    let record = records(&scene)[0].to_string();
    fs::write(&older, format!("{record}\n")).unwrap();
    let server = start(&scene, &[]);
    let mut looks = 0;
    while scene.status()["plain"]["names"] != json!(["note.txt"]) {
        looks += 1;
        assert!(looks < LOOKS_MAX, "{}", scene.status());
        std::thread::sleep(PAUSE);
    }
    assert!(server.stop());
    assert!(records(&scene).len() > all);

    let disabled = scene.encryption(&["disable", "--yes"]);
    assert!(disabled.status.success(), "{}", errors(&disabled));
    let server = plain(&scene);
    create(&server, "Again");
    assert!(server.stop());
    let names: Vec<String> = log_files(&scene).iter().map(|file| file.to_str().unwrap().to_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let shown = keywright(&[&["audit", "--event", "CreateTable"], &names[..]].concat());
    let lines = String::from_utf8_lossy(&shown.stdout).lines().count();
    assert!(lines >= 75, "{lines}: {}", errors(&shown));
}

#[test]
fn a_log_among_the_files_of_the_database_is_refused() {
    let scene = Scene::new();
    assert!(scene.server(&[]).stop());
    let (data, key) = (scene.text("data"), scene.text("key"));
    for name in ["KEYS", "FORMAT", "journal/audit.log", "tables/x", "models/log", "LOCK"] {
        let log = scene.text(&format!("data/{name}"));
        let serve = ["serve", "--port", "0", "--data", &data, "--encryption-key-file", &key, "--audit-log"];
        let said = refused(&keywright(&[&serve[..], &[&log]].concat()));
        let first = name.split('/').next().unwrap();
        assert!(
            said.contains(&format!(
                "would be among the files of the database: take another name than {first}"
            )),
            "{said}"
        );
    }
}

/// Takes all room that a disk has.
fn fill(disk: &SmallDisk, name: &str) -> PathBuf {
    let path = disk.path().join(name);
    let mut file = fs::File::create(&path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    path
}

/// Asks until an answer has such a status.
fn ask_until(
    connection: &mut Connection,
    is_wanted: impl Fn(u16) -> bool,
    ask: impl Fn(u32) -> (&'static str, Value),
) {
    let mut last = String::new();
    let is_there = (0..LOOKS_MAX).any(|number| {
        let (operation, body) = ask(number);
        let answer = connection.call(operation, body.to_string().as_bytes());
        answer.text().clone_into(&mut last);
        if answer.status >= 500 {
            std::thread::sleep(PAUSE);
        }
        is_wanted(answer.status)
    });
    assert!(is_there, "{last}");
}

fn wait_for_failing(server: &Server, expected: f64) {
    for _ in 0..LOOKS_MAX {
        if sample(&get(server, "/metrics").1, "keywright_audit_failing") == Some(expected) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("keywright_audit_failing is never {expected}");
}

#[test]
fn on_a_full_disk_an_encrypted_folder_and_its_log_open_and_go_on_once_there_is_room() {
    for is_encrypted in [true, false] {
        let Some(disk) = SmallDisk::mount(24) else { return };
        let scene = Scene::new();
        let (data, log) = (disk.path().join("data"), disk.path().join("data/audit.log"));
        let (data, key) = (data.to_str().unwrap(), scene.text("key"));
        let mut arguments = vec!["--data", data, "--audit-log", log.to_str().unwrap()];
        if is_encrypted {
            arguments.extend(["--encryption-key-file", &key]);
        }
        let value = "v".repeat(100_000);
        let item = |number: u32| {
            let item = json!({"pk": {"S": number.to_string()}, "v": {"S": value}});
            ("PutItem", json!({"TableName": "Tab", "Item": item}))
        };
        let server = Server::start_one(&arguments);
        let mut connection = Connection::open(&server);
        call(&mut connection, "CreateTable", &table("Tab"));
        for number in 0..10 {
            let (operation, body) = item(number);
            call(&mut connection, operation, &body);
        }
        let first = fill(&disk, "first");
        ask_until(&mut connection, |status| status >= 500, |number| item(100 + number));
        drop(connection);
        server.kill();
        let second = fill(&disk, "second");

        let server = Server::start_one(&arguments);
        let mut connection = Connection::open(&server);
        for number in [0, 5, 9] {
            let key = json!({"pk": {"S": number.to_string()}});
            let key = json!({"TableName": "Tab", "Key": key, "ConsistentRead": true});
            assert_eq!(call(&mut connection, "GetItem", &key)["Item"]["v"]["S"], value, "{is_encrypted}");
        }
        let refused = |number: u32| item(1_000 + number);
        ask_until(&mut connection, |status| status >= 500, refused);
        // Its record takes more than may be left in the last block of a plain file.
        for number in 0..20 {
            let name = format!("{}{number}", "n".repeat(200));
            connection.call("CreateTable", table(&name).to_string().as_bytes());
        }
        wait_for_failing(&server, 1.0);
        fs::remove_file(&first).unwrap();
        fs::remove_file(&second).unwrap();
        let room = |number: u32| ("CreateTable", table(&format!("Room{number}")));
        ask_until(&mut connection, |status| status == 200, room);
        wait_for_failing(&server, 0.0);
        drop(connection);
        assert!(server.stop());
        let all = fs::read_dir(disk.path().join("data")).unwrap().map(|entry| entry.unwrap().path());
        let is_of_log = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("audit.log");
        let shown = audit(&scene, &all.filter(is_of_log).collect::<Vec<_>>(), &[]);
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        for part in ["\"Tab\"", "\"Room", "RecordsMissing"] {
            assert!(text.contains(part), "{is_encrypted}: {part} in {text}{}", errors(&shown));
        }
    }
}
