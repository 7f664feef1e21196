//! What every store is asked to do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{manifests, place, run};
use crate::bank::{ACCOUNTS, TABLES, all, command, id_of, items, open, put, said, text};
use crate::sealed::{LONG, PAUSE, TABLE, back_up, jobs, refusal, restore, settled};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::{Api as _, Http};
use crate::support::stores::{BUCKET, KEY, SECRET, Store, free_address};

/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 2;
/// A table whose copy has several chunks of a mebibyte.
const NOISE: &str = "Noise";
const NOISE_ITEMS: u64 = 48;
const NOISE_BYTES: u64 = 100_000;
/// Memory for one chunk of a mebibyte in each of sixteen jobs.
const SMALL_CHUNKS: [&str; 4] = ["--job-threads", "16", "--job-memory-mib", "32"];

/// Waits until no job is open.
async fn rested(server: &Server) {
    let begun = Instant::now();
    loop {
        let listed = jobs(server).to_string();
        if !listed.contains("\"running\"") && !listed.contains("\"waiting\"") {
            return;
        }
        assert!(begun.elapsed() < LONG, "{listed}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until there are so many complete copies, and nothing is to be done any more.
async fn copied(server: &Server, store: &Store, count: usize) {
    let begun = Instant::now();
    while manifests(store) != count {
        assert!(begun.elapsed() < LONG, "{}: {:?}", jobs(server), store.objects());
        tokio::time::sleep(PAUSE).await;
    }
    rested(server).await;
}

pub(super) async fn commands(store: &Store) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::in_memory();
    open(&server).await;
    let place = place("a prefix/of two parts");
    let backup = |more: &[&str]| {
        run(store, &[&["backup", "--to", &place, "--endpoint", &server.endpoint], more].concat()).unwrap()
    };
    let first = id_of(&backup(&["--keep-history", "1h"]));
    let before = all(&server).await;
    put(&Http::new(server.address()), TABLE, 3, 7).await;
    let line = backup(&["--since", "latest"]);
    assert!(line.ends_with("2 increments"), "{line}");
    let second = id_of(&line);
    let objects = store.objects();
    assert!(objects.iter().all(|name| name.starts_with("a prefix/of two parts/")), "{objects:?}");

    let listed: Value =
        serde_json::from_str(&run(store, &["backup", "list", &place, "--json"]).unwrap()).unwrap();
    let states = listed["backups"].as_array().unwrap();
    assert!(states.len() == 4 && states.iter().all(|backup| backup["state"] == "complete"), "{listed}");
    let verified = run(store, &["backup", "verify", &place]).unwrap();
    assert!(!verified.is_empty());

    let into = folder.path().join("into");
    run(store, &["restore", &place, &first, "--into", text(&into)]).unwrap();
    assert_eq!(all(&Server::on(&into)).await, before);
    let other = Server::in_memory();
    run(store, &["restore", &place, "--endpoint", &other.endpoint]).unwrap();
    assert_eq!(all(&other).await, all(&server).await);

    let refused = run(store, &["backup", "prune", &place, &first]).unwrap_err();
    assert!(refused.contains("is an increment on it"), "{refused}");
    let removed = run(store, &["backup", "prune", &place, &second]).unwrap();
    assert_eq!(removed.matches("removed ").count(), TABLES.len(), "{removed}");
    let left = store.objects();
    assert!(!left.is_empty() && left.iter().all(|name| !name.contains(&second)), "{left:?}");
    run(store, &["backup", "verify", &place]).unwrap();
}

/// Encrypted backups in a bucket, by a command and by a server.
pub(super) async fn encrypted(store: &Store) {
    let folder = tempfile::tempdir().unwrap();
    let key = ("KEYWRIGHT_ENCRYPTION_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let run_with_key = |arguments: &[&str]| {
        said(&command(arguments).envs(store.variables()).env(key.0, key.1).output().unwrap()).unwrap()
    };
    let source = Server::in_memory();
    open(&source).await;
    let place = place("encrypted");
    let whole = ["backup", "--to", &place, "--endpoint", &source.endpoint];
    run_with_key(&[&whole[..], &["--keep-history", "1h"]].concat());
    put(&Http::new(source.address()), TABLE, 3, 7).await;
    let line = run_with_key(&[&whole[..], &["--since", "latest"]].concat());
    assert!(line.ends_with("2 increments"), "{line}");
    let refused = run(store, &["backup", "list", &place]).unwrap_err();
    assert!(refused.contains("are encrypted: pass --encryption-key-file"), "{refused}");
    let refused = run(store, &whole).unwrap_err();
    assert!(refused.contains("are encrypted, and new ones would not be"), "{refused}");
    run_with_key(&["backup", "verify", &place]);
    let data = folder.path().join("data");
    run_with_key(&["restore", &place, "--into", text(&data)]);

    // A server goes on in the same place.
    let print = format!("echo {}", key.1);
    let settings = ["--data", text(&data), "--encryption-key-command", &print, "--backup-to", &place];
    let server = store.server(&settings);
    assert_eq!(all(&server).await, all(&source).await);
    let before = manifests(store);
    let http = Http::new(server.address());
    let arn = back_up(&http).await;
    copied(&server, store, before + 1).await;
    restore(&http, &arn, "Restored").await.good();
    assert!(settled(&http, "Restored").await, "{}", jobs(&server));
    assert_eq!(items(&server, "Restored", None).await, items(&server, TABLE, None).await);
    run_with_key(&["backup", "verify", &place]);
}

pub(super) async fn copies(store: &Store) {
    let folder = tempfile::tempdir().unwrap();
    let place = place("server");
    let server = store.server(&["--backup-to", &place, "--data", text(&folder.path().join("data"))]);
    open(&server).await;
    let http = Http::new(server.address());
    let before = items(&server, TABLE, None).await;
    let arn = back_up(&http).await;
    copied(&server, store, 1).await;
    let unprotected = json!({"TableName": TABLE, "DeletionProtectionEnabled": false});
    http.call("UpdateTable", &unprotected).await.good();
    http.call("DeleteTable", &json!({"TableName": TABLE})).await.good();
    restore(&http, &arn, "Copy").await.good();
    assert!(settled(&http, "Copy").await, "{}", jobs(&server));
    assert_eq!(items(&server, "Copy", None).await, before);
    assert_eq!(items(&server, "Copy", Some("by-owner")).await, before);

    store.line.cut_after(0);
    http.call("DeleteBackup", &json!({"BackupArn": arn})).await.good();
    let listed = http.call("ListBackups", &json!({})).await.good();
    assert_eq!(listed["BackupSummaries"], json!([]));
    let asked = store.line.connections();
    while store.line.connections() < asked + 2 {
        tokio::time::sleep(PAUSE).await;
    }
    let open = jobs(&server)["jobs"].as_array().unwrap().clone();
    let removal = open.iter().find(|job| job["kind"] == "delete-objects").unwrap();
    assert_eq!(removal["state"], "running", "{removal}");
    assert_eq!(manifests(store), 1);
    store.line.make_whole();
    copied(&server, store, 0).await;
    assert_eq!(store.objects(), Vec::<String>::new());
}

async fn make_noise(server: &Server) {
    let http = Http::new(server.address());
    let creation = json!({
        "TableName": NOISE,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    http.call("CreateTable", &creation).await.good();
    for number in 0..NOISE_ITEMS {
        // What does not become smaller when it is compressed.
        let mut dice = Dice::new(number + 1);
        let noise: String =
            (0..NOISE_BYTES).map(|_| char::from(b'#' + u8::try_from(dice.roll(50)).unwrap())).collect();
        let item = json!({"pk": {"S": format!("noise-{number}")}, "noise": {"S": noise}});
        http.call("PutItem", &json!({"TableName": NOISE, "Item": item})).await.good();
    }
}

/// The numbers of chunks of each backup are without a gap, and each has a manifest: nothing else is there.
fn check_objects(store: &Store, backups: usize) {
    let objects = store.objects();
    let chunks = objects.iter().filter(|name| name.contains("/chunk-")).count();
    assert_eq!(objects.len(), chunks + backups, "{objects:?}");
}

/// Returns what was done.
pub(super) async fn cuts(store: &Store) -> String {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let place = place("cut");
    let start =
        || store.server(&[&["--backup-to", &place, "--data", text(&data)], &SMALL_CHUNKS[..]].concat());
    let mut server = start();
    make_noise(&server).await;
    let before = items(&server, NOISE, None).await;
    let (kills, seed) = (wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT), wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed);
    let mut arns = Vec::new();
    for kill in 0..=kills {
        store.line.cut_after(600_000 + dice.roll(2_000_000));
        let http = Http::new(server.address());
        let request = json!({"TableName": NOISE, "BackupName": "cut"});
        let made = http.call("CreateBackup", &request).await.good();
        arns.push(made["BackupDetails"]["BackupArn"].clone());
        while !store.line.is_cut() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let count = usize::try_from(kill).unwrap();
        assert_eq!(manifests(store), count, "the copy ended before the cut");
        // The first time the server lives on, and the copy goes on once the store answers.
        if kill > 0 {
            tokio::time::sleep(Duration::from_millis(dice.roll(200))).await;
            server.kill();
            store.line.make_whole();
            server = start();
        } else {
            store.line.make_whole();
        }
        copied(&server, store, count + 1).await;
        check_objects(store, count + 1);
    }
    run(store, &["backup", "verify", &place]).unwrap();
    let http = Http::new(server.address());
    for (number, arn) in arns.iter().enumerate() {
        let target = format!("Copy-{number}");
        restore(&http, arn.as_str().unwrap(), &target).await.good();
        assert!(settled(&http, &target).await, "{}", jobs(&server));
        assert_eq!(items(&server, &target, None).await, before);
    }
    let chunks = store.objects().len() - arns.len();
    format!(
        "seed {seed}: a cut and {kills} kills while {} backups of {chunks} chunks were copied",
        arns.len()
    )
}

/// `of_no_bucket`: what is said about a bucket that is not there.
pub(super) async fn refusals(store: &Store, of_no_bucket: [&str; 2]) {
    let server = Server::in_memory();
    open(&server).await;
    let (place, nowhere) = (place("x"), "s3://not-a-bucket/x".to_owned());
    let gone = format!("http://{}", free_address());
    let endpoint = store.endpoint();
    let wrong = [KEY, "wrong", &endpoint];
    for (place, [key, secret, named], parts) in [
        (&place, wrong, ["the secret is not that of the access key", "KEYWRIGHT_S3_SECRET_ACCESS_KEY"]),
        (&place, ["AKOTHER", SECRET, &endpoint], ["does not know the access key", "--s3-access-key-id"]),
        (&nowhere, [KEY, SECRET, &endpoint], of_no_bucket),
        (&place, [KEY, SECRET, &gone], ["cannot be reached", "--s3-endpoint"]),
    ] {
        for arguments in [
            &["backup", "--to", place, "--endpoint", &server.endpoint][..],
            &["restore", place, "--endpoint", &server.endpoint],
        ] {
            let mut command = command(arguments);
            command.env("KEYWRIGHT_S3_ENDPOINT", named).env("AWS_ACCESS_KEY_ID", key);
            let refused = said(&command.env("AWS_SECRET_ACCESS_KEY", secret).output().unwrap()).unwrap_err();
            let names_place = refused.contains(&place[..place.len() - "/x".len()]) && refused.contains(named);
            assert!(
                names_place && parts.iter().all(|part| refused.contains(part)),
                "{arguments:?}: {refused}"
            );
        }
    }
    assert_eq!(store.objects(), Vec::<String>::new());

    // A server says it in its log, and serves on.
    let folder = tempfile::tempdir().unwrap();
    let log = {
        let server = store.server(&["--backup-to", &nowhere, "--data", text(&folder.path().join("data"))]);
        open(&server).await;
        back_up(&Http::new(server.address())).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(items(&server, TABLE, None).await.len(), usize::try_from(ACCOUNTS).unwrap());
        assert!(jobs(&server).to_string().contains("seal"), "{}", jobs(&server));
        server.stop_and_read_log()
    };
    assert!(log.contains(&of_no_bucket.join("; ")), "{log}");
}

/// Changes an object, or removes it.
type Change = fn(&Store, &str, Option<&[u8]>);

pub(super) async fn damage(store: &Store, change: Change) {
    let folder = tempfile::tempdir().unwrap();
    let place = place("damaged");
    let server = store.server(&["--backup-to", &place, "--data", text(&folder.path().join("data"))]);
    open(&server).await;
    let http = Http::new(server.address());
    let arn = back_up(&http).await;
    copied(&server, store, 1).await;
    let objects = store.objects();
    let find = |end: &str| objects.iter().find(|name| name.ends_with(end)).unwrap();
    let (chunk, manifest) = (find("chunk-0.kwb"), find("manifest.json"));
    let cases: [(&str, Option<&[u8]>, &str); 3] = [
        (chunk, Some(b"short"), "truncated"),
        (chunk, None, "is missing"),
        (manifest, Some(b"{}"), "SHA-256"),
    ];
    for (object, content, reason) in cases {
        change(store, object, content);
        let (status, told) = refusal(&server, &arn);
        assert_eq!(status, 500, "{told}");
        assert!(told.contains(reason) && told.contains(&format!("s3://{BUCKET}/{object}")), "{told}");
    }
    let listed = run(store, &["backup", "list", &place]).unwrap();
    assert!(listed.contains("damaged: "), "{listed}");
}
