//! Backups of an encrypted folder: nothing readable in them, and all of it with the place and the key alone.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::scene::{Scene, call, create, errors, files, get, keywright, put, refused};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::raw::{Connection, signed};

/// What a plain backup shows: so short a row, in which nothing is repeated, is not compressed. Names of
/// tables stand in paths.
const PLANTED: [&str; 4] = ["kQ7zpX", "vB3nHy", "aW9dLe", "sM4jRt"];
const KEY: &str = PLANTED[0];
const VALUE: &str = PLANTED[1];
const ATTRIBUTE: &str = PLANTED[2];
const SORT_KEY: &str = PLANTED[3];
/// A copy of a backup is complete after so many looks at most.
const LOOKS_MAX: u32 = 1200;
const PAUSE: Duration = Duration::from_millis(50);
/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 4;
/// A backup of the table takes about so long.
const WORK_MS: u64 = 300;

/// Makes a table with one item.
fn plant(server: &Server) {
    let mut connection = Connection::open(server);
    let element = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let string = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let table = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [string("pk"), string(SORT_KEY)],
        "KeySchema": [element("pk", "HASH"), element(SORT_KEY, "RANGE")]});
    call(&mut connection, "CreateTable", &table);
    let item = json!({"pk": {"S": KEY}, SORT_KEY: {"S": "s"}, ATTRIBUTE: {"S": VALUE}});
    call(&mut connection, "PutItem", &json!({"TableName": "Tab", "Item": item}));
}

/// The value of the item in a table.
fn planted(server: &Server, table: &str) -> Value {
    let key = json!({"pk": {"S": KEY}, SORT_KEY: {"S": "s"}});
    let body = json!({"TableName": table, "Key": key, "ConsistentRead": true});
    call(&mut Connection::open(server), "GetItem", &body)["Item"][ATTRIBUTE]["S"].clone()
}

/// What of it some file of a folder shows.
fn shown(folder: &Path) -> Vec<&'static str> {
    let all: Vec<Vec<u8>> = files(folder).iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(!all.is_empty(), "{} has files", folder.display());
    let holds = |needle: &&str| {
        all.iter().any(|bytes| bytes.windows(needle.len()).any(|window| window == needle.as_bytes()))
    };
    PLANTED.into_iter().filter(holds).collect()
}

fn done(ended: &Output) -> String {
    assert!(ended.status.success(), "{}", errors(ended));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn with_key(scene: &Scene, key: &str, arguments: &[&str]) -> Output {
    keywright(&[arguments, &["--encryption-key-file", &scene.text(key)]].concat())
}

#[test]
fn a_backup_of_a_whole_database_is_encrypted_and_needs_its_key_and_nothing_else() {
    let scene = Scene::new();
    let (place, plain, data) = (scene.text("place"), scene.text("plain"), scene.text("data"));
    let server = scene.server(&[]);
    plant(&server);
    let said = refused(&keywright(&["backup", "--to", &place, "--endpoint", &server.endpoint]));
    assert!(said.contains("pass --plain if you mean it"), "{said}");
    done(&with_key(&scene, "key", &["backup", "--to", &place, "--endpoint", &server.endpoint]));
    assert!(server.stop());
    done(&with_key(&scene, "key", &["backup", "--to", &place, "--data", &data]));
    done(&with_key(&scene, "key", &["backup", "--to", &plain, "--data", &data, "--plain"]));
    assert_eq!((shown(&scene.path("place")), shown(&scene.path("plain"))), (vec![], PLANTED.to_vec()));

    // The folder is lost.
    std::fs::remove_dir_all(scene.path("data")).unwrap();
    scene.make_key("other");
    let new = scene.text("new");
    let commands: [&[&str]; 2] = [&["restore", &place, "--into", &new], &["backup", "list", &place]];
    for command in commands {
        let said = refused(&keywright(command));
        assert!(
            said.contains(&format!("the backups in {place} are encrypted: pass --encryption-key-file")),
            "{said}"
        );
        let said = refused(&with_key(&scene, "other", command));
        assert!(
            said.contains(&format!("is not the key that the backups in {place} are encrypted with")),
            "{said}"
        );
        assert!(!scene.path("new").exists());
    }
    let verified = done(&with_key(&scene, "key", &["backup", "verify", &place]));
    assert!(verified.contains("2 backups") && verified.contains("everything is whole"), "{verified}");
    done(&with_key(&scene, "key", &["restore", &place, "--into", &new]));
    std::fs::rename(scene.path("new"), scene.path("data")).unwrap();
    let server = scene.server(&[]);
    assert_eq!(planted(&server, "Tab"), VALUE);
    assert!(server.stop());
    assert_eq!(shown(&scene.path("data")), Vec::<&str>::new());

    done(&with_key(&scene, "key", &["restore", &place, "--into", &scene.text("third"), "--plain"]));
    assert!(!scene.path("third/KEYS").exists(), "a plain folder, as it is wanted");
    let (fourth, other) = (scene.text("fourth"), scene.text("other"));
    done(&with_key(&scene, "key", &["restore", &place, "--into", &fourth, "--to-key-file", &other]));
    done(&with_key(&scene, "other", &["verify", "--data", &fourth]));
}

#[test]
fn a_place_has_encrypted_backups_or_plain_ones() {
    let scene = Scene::new();
    let (place, plain, data) = (scene.text("place"), scene.text("plain"), scene.text("data"));
    let server = scene.server(&[]);
    plant(&server);
    assert!(server.stop());
    done(&with_key(&scene, "key", &["backup", "--to", &place, "--data", &data]));
    done(&with_key(&scene, "key", &["backup", "--to", &plain, "--data", &data, "--plain"]));
    let before = (files(&scene.path("place")), files(&scene.path("plain")));
    let said = refused(&with_key(&scene, "key", &["backup", "--to", &place, "--data", &data, "--plain"]));
    assert!(said.contains("are encrypted, and new ones would not be: name another place"), "{said}");
    let said = refused(&with_key(&scene, "key", &["backup", "--to", &plain, "--data", &data]));
    assert!(said.contains("has backups that are not encrypted, and new ones would be"), "{said}");
    assert_eq!((files(&scene.path("place")), files(&scene.path("plain"))), before);

    // A damaged file of a key is named.
    let key = before.0.iter().find(|path| path.parent().unwrap().ends_with("=keys")).unwrap();
    let text = std::fs::read_to_string(key).unwrap();
    std::fs::write(key, &text[..text.len() / 2]).unwrap();
    let said = refused(&with_key(&scene, "key", &["backup", "list", &place]));
    assert!(said.contains(&format!("{} is damaged", key.display())), "{said}");
}

#[test]
fn a_key_that_was_changed_is_reported_by_the_next_backup_with_the_old_one() {
    let scene = Scene::new();
    let (place, fresh) = (scene.text("place"), scene.text("fresh"));
    let server = scene.server(&[]);
    plant(&server);
    let endpoint = server.endpoint.as_str();
    let back_up =
        |key: &str, place: &str| with_key(&scene, key, &["backup", "--to", place, "--endpoint", endpoint]);
    let warning = "is not the master key of the server: only the key given here opens this backup";
    let first = back_up("key", &place);
    assert!(!errors(&first).contains(warning), "{}", done(&first));
    scene.make_key("new");
    let (old, new) = (scene.text("old"), scene.text("new"));
    let (old, new) = (old.as_str(), new.as_str());
    std::fs::copy(scene.path("key"), old).unwrap();
    done(&scene.encryption(&["rotate-master", "--new-key-file", new]));
    std::fs::copy(new, scene.path("key")).unwrap();
    // The script has the old key still, and the place is under it.
    for place in [&place, &fresh] {
        let stale = back_up("old", place);
        assert!(errors(&stale).contains(warning), "{}", errors(&stale));
        done(&stale);
    }
    assert!(refused(&back_up("new", &place)).contains("rotate-master --backups"));

    // The keys of the place are changed without a folder, in another folder.
    let at = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
        crate::support::without_aws_settings(&mut command);
        command.current_dir(scene.path("data").parent().unwrap()).stdin(Stdio::null());
        command.args(["encryption", "rotate-master"]).args(more).output().unwrap()
    };
    let said = refused(&at(&["--encryption-key-file", old, "--new-key-file", new]));
    assert!(
        said.contains("there is no data folder keywright-data: pass --data DIR, or --backups PLACE"),
        "{said}"
    );
    let keys = ["--backups", &place, "--encryption-key-file", old, "--new-key-file"];
    let said = refused(&at(&[&keys[..], &[old]].concat()));
    assert!(said.contains("holds the present key: nothing was changed"), "{said}");
    let said = done(&at(&[&keys[..], &[new]].concat()));
    assert!(
        said.contains(&format!("the keys of the backups in {place} are sealed under --new-key-file")),
        "{said}"
    );
    let said = refused(&at(&[&keys[..], &[new]].concat()));
    assert!(said.contains("nothing was changed"), "{said}");
    done(&with_key(&scene, "new", &["backup", "verify", &place]));
    refused(&back_up("old", &place));
    assert!(!errors(&back_up("new", &place)).contains(warning));

    // A place with keys under both master keys takes no backup under one of them.
    for file in files(&scene.path("fresh")).iter().filter(|path| path.parent().unwrap().ends_with("=keys")) {
        std::fs::copy(file, scene.path("place/=keys").join(file.file_name().unwrap())).unwrap();
    }
    for key in ["old", "new"] {
        let said = refused(&back_up(key, &place));
        assert!(
            said.contains(&format!("is not the key that the backups in {place} are encrypted with")),
            "{said}"
        );
    }
    assert!(server.stop());
}

/// Looks until there is an answer.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS_MAX {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("it takes too long");
}

/// Waits until no job is left; returns the place's backups.
fn copied(scene: &Scene, server: &Server, place: &str) -> Value {
    wait(|| {
        let jobs = done(&keywright(&["jobs", "--endpoint", &server.endpoint, "--json"]));
        let jobs: Vec<Value> = jobs.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(jobs.iter().all(|job| job.get("error").is_none()), "{jobs:?}");
        let have_ended = !jobs.is_empty() && jobs.iter().all(|job| job.get("ended").is_some());
        have_ended.then_some(())
    });
    let listed = done(&with_key(scene, "key", &["backup", "list", place, "--json"]));
    serde_json::from_str::<Value>(&listed).unwrap()["backups"].clone()
}

fn back_up(server: &Server) -> Value {
    let body = json!({"TableName": "Tab", "BackupName": "Backup"});
    let made = call(&mut Connection::open(server), "CreateBackup", &body);
    made["BackupDetails"]["BackupArn"].clone()
}

fn restore(server: &Server, arn: &Value, table: &str) {
    let mut connection = Connection::open(server);
    let body = json!({"TargetTableName": table, "BackupArn": arn});
    call(&mut connection, "RestoreTableFromBackup", &body);
    wait(|| {
        let described = call(&mut connection, "DescribeTable", &json!({"TableName": table}));
        (described["Table"]["TableStatus"] == "ACTIVE").then_some(())
    });
}

#[test]
fn copies_of_on_demand_backups_are_encrypted_and_restored_after_all_keys_have_changed() {
    let scene = Scene::new();
    scene.make_key("new");
    let (inside, outside) = (scene.text("data/backups"), scene.text("place"));
    for (place, settings) in [(&inside, vec![]), (&outside, vec!["--backup-to", &outside])] {
        let _before = std::fs::remove_dir_all(scene.path("data"));
        let server = scene.server(&settings);
        plant(&server);
        let first = back_up(&server);
        assert_eq!(copied(&scene, &server, place)[0]["state"], "complete");
        for command in ["rotate-data", "rewrite"] {
            done(&keywright(&["encryption", command, "--endpoint", &server.endpoint]));
        }
        let second = back_up(&server);
        assert_eq!(copied(&scene, &server, place).as_array().unwrap().len(), 2);
        assert_eq!(files(&Path::new(place).join("=keys")).len(), 2, "new backups take a new key too");
        assert!(server.stop());
        assert_eq!(shown(Path::new(place)), Vec::<&str>::new());
        let status = scene.status();
        assert_eq!(
            (status["keys"].as_array().unwrap().len(), &status["plain"]["files"]),
            (1, &json!(0)),
            "{status}"
        );

        let new = scene.text("new");
        let mut rotate = vec!["rotate-master", "--new-key-file", &new];
        if place == &outside {
            rotate.extend(["--backups", place]);
        }
        done(&scene.encryption(&rotate));
        let said = refused(&with_key(&scene, "key", &["backup", "list", place]));
        assert!(said.contains("is not the key that the backups in"), "{said}");
        std::fs::rename(scene.path("key"), scene.path("old")).unwrap();
        std::fs::rename(scene.path("new"), scene.path("key")).unwrap();
        let server = scene.server(&settings);
        for (arn, table) in [(first, "First"), (second, "Second")] {
            restore(&server, &arn, table);
            assert_eq!(planted(&server, table), VALUE, "{table}");
        }
        back_up(&server);
        assert_eq!(copied(&scene, &server, place).as_array().unwrap().len(), 3);
        assert!(server.stop());
        std::fs::rename(scene.path("old"), scene.path("new")).unwrap();
    }
    // Those elsewhere are in nobody's way.
    done(&scene.encryption(&["disable", "--yes"]));
}

#[test]
fn a_folder_that_holds_backups_is_not_decrypted_and_plain_copies_are_made_where_they_are_wanted() {
    let scene = Scene::new();
    let server = scene.server(&[]);
    plant(&server);
    back_up(&server);
    copied(&scene, &server, &scene.text("data/backups"));
    assert!(server.stop());
    let said = refused(&scene.encryption(&["disable", "--yes"]));
    assert!(said.contains("data/backups holds backups, which stay as they are: move that folder"), "{said}");
    std::fs::rename(scene.path("data/backups"), scene.path("moved")).unwrap();
    done(&scene.encryption(&["disable", "--yes"]));
    done(&scene.encryption(&["enable"]));

    let plain = scene.text("plain");
    let server = scene.server(&["--plain-backups", "--backup-to", &plain]);
    let made = back_up(&server);
    copied(&scene, &server, &plain);
    restore(&server, &made, "Restored");
    assert_eq!(planted(&server, "Restored"), VALUE);
    assert!(server.stop());
    assert_eq!(shown(&scene.path("plain")), PLANTED);
}

/// Exports the table; returns what the server says of the export at its end.
fn export(server: &Server) -> Value {
    let mut connection = Connection::open(server);
    let arn =
        call(&mut connection, "DescribeTable", &json!({"TableName": "Tab"}))["Table"]["TableArn"].clone();
    let asked = json!({"TableArn": arn, "S3Bucket": "exports"});
    let begun = call(&mut connection, "ExportTableToPointInTime", &asked);
    let export = json!({"ExportArn": begun["ExportDescription"]["ExportArn"]});
    wait(|| {
        let described = call(&mut connection, "DescribeExport", &export)["ExportDescription"].clone();
        (described["ExportStatus"] != "IN_PROGRESS").then_some(described)
    })
}

#[test]
fn tables_of_an_encrypted_folder_are_exported_only_where_that_is_allowed() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path("buckets/exports")).unwrap();
    let buckets = scene.text("buckets");
    let server = scene.server(&["--s3-folder", &buckets, "--pitr-default"]);
    plant(&server);
    let refused = export(&server);
    assert_eq!(
        (&refused["ExportStatus"], &refused["FailureCode"]),
        (&json!("FAILED"), &json!("S3AccessDenied"))
    );
    let message = refused["FailureMessage"].as_str().unwrap();
    assert!(message.contains("start the server with --plain-exports"), "{message}");
    assert!(files(&scene.path("buckets")).is_empty());
    assert!(server.stop());
    let server = scene.server(&["--s3-folder", &buckets, "--plain-exports"]);
    assert_eq!(export(&server)["ExportStatus"], "COMPLETED");
    assert!(server.stop());
    assert!(files(&scene.path("buckets")).len() > 2);
}

#[test]
fn a_server_that_does_not_encrypt_gets_tables_of_an_encrypted_place_only_if_that_is_meant() {
    let scene = Scene::new();
    let place = scene.text("place");
    let server = scene.server(&["--backup-to", &place]);
    plant(&server);
    done(&with_key(&scene, "key", &["backup", "--to", &place, "--endpoint", &server.endpoint]));
    // An encrypted server is not asked about.
    let restore = |server: &Server, more: &[&str]| {
        let endpoint = server.endpoint.clone();
        with_key(&scene, "key", &[&["restore", &place, "--endpoint", &endpoint], more].concat())
    };
    done(&restore(&server, &["--table", "Tab", "--as", "Again"]));
    assert_eq!(planted(&server, "Again"), VALUE);
    assert!(server.stop());

    std::fs::rename(scene.path("data"), scene.path("encrypted")).unwrap();
    let plain = scene.plain_server(&["--backup-to", &place]);
    let said = refused(&restore(&plain, &[]));
    assert!(
        said.contains(&format!(
            "the backups in {place} are encrypted, and the data of the server is not: pass --plain if you mean it"
        )),
        "{said}"
    );
    let tables = call(&mut Connection::open(&plain), "ListTables", &json!({}));
    assert_eq!(tables["TableNames"], json!([]), "nothing is left of it");
    // What the server itself says of the place names the way that works.
    let headers = signed("DynamoDB_20120810.Backups");
    let answer =
        Connection::open(&plain).send_to("/_keywright/backups", "POST", &headers, br#"{"stored": true}"#);
    let way = format!(
        "the backups in {place} are encrypted: this server has no key, so restore tables with `keywright restore \
         {place} --endpoint URL --plain` and the key of the backups"
    );
    assert!(answer.text().contains(&way), "{}", answer.text());
    done(&restore(&plain, &["--plain"]));
    assert_eq!(planted(&plain, "Tab"), VALUE);
    assert!(plain.stop());
}

#[test]
fn copies_of_a_server_that_is_killed_are_encrypted_and_completed() {
    let scene = Scene::new();
    let place = scene.text("place");
    let settings = ["--backup-to", place.as_str()];
    let server = scene.server(&settings);
    plant(&server);
    let mut connection = Connection::open(&server);
    for number in 0..300 {
        let item = json!({"pk": {"S": number.to_string()}, SORT_KEY: {"S": "s"},
            ATTRIBUTE: {"S": VALUE.repeat(1_500)}});
        call(&mut connection, "PutItem", &json!({"TableName": "Tab", "Item": item}));
    }
    drop(connection);
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT);
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let (mut server, mut made) = (server, Vec::new());
    for _ in 0..kills {
        made.push(back_up(&server));
        std::thread::sleep(Duration::from_millis(dice.roll(WORK_MS)));
        server.kill();
        assert_eq!(shown(&scene.path("data")), Vec::<&str>::new());
        server = scene.server(&settings);
    }
    let backups = copied(&scene, &server, &place);
    let complete = backups.as_array().unwrap().iter().filter(|backup| backup["state"] == "complete").count();
    assert_eq!(complete, made.len(), "{backups}");
    assert_eq!(shown(&scene.path("place")), Vec::<&str>::new());
    done(&with_key(&scene, "key", &["backup", "verify", &place]));
    restore(&server, made.last().unwrap(), "Restored");
    assert_eq!(planted(&server, "Restored"), VALUE);
    assert!(server.stop());
}

fn spawn(scene: &Scene, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    crate::support::without_aws_settings(&mut command);
    command.args(arguments).args(["--encryption-key-file", &scene.text("key")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn an_encrypted_backup_that_is_killed_is_made_by_the_next_one() {
    let scene = Scene::new();
    let (place, data) = (scene.text("place"), scene.text("data"));
    let server = scene.server(&[]);
    let mut connection = Connection::open(&server);
    create(&mut connection, "Tab");
    let value = |number: u64| format!("{number}-{}", "v".repeat(9_000));
    for number in 0..400 {
        put(&mut connection, "Tab", &number.to_string(), &value(number));
    }
    drop(connection);
    assert!(server.stop());
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT);
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let arguments = ["backup", "--to", &place, "--data", &data];
    for _ in 0..kills {
        let mut child = spawn(&scene, &arguments);
        std::thread::sleep(Duration::from_millis(dice.roll(WORK_MS)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    done(&with_key(&scene, "key", &arguments));
    done(&with_key(&scene, "key", &["restore", &place, "--into", &scene.text("restored")]));
    std::fs::remove_dir_all(scene.path("data")).unwrap();
    std::fs::rename(scene.path("restored"), scene.path("data")).unwrap();
    let server = scene.server(&[]);
    let mut connection = Connection::open(&server);
    for number in [0, 1, 200, 399] {
        assert_eq!(get(&mut connection, "Tab", &number.to_string()), Some(value(number)));
    }
    drop(connection);
    assert!(server.stop());
}
