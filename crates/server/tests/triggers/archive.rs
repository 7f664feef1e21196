//! Archives: what expired, exactly, in a bucket (requirement `r64`).

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::function::{eventually, key};
use crate::scene::{Scene, TABLE, text};
use crate::support::dice::{Dice, wanted};

/// What expired: deletes by the service.
const EXPIRED: &str = "{\"eventName\":[\"REMOVE\"],\"userIdentity\":{\"type\":[\"Service\"],\
     \"principalId\":[\"dynamodb.amazonaws.com\"]}}";

/// All files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The records of all objects, in the order of their names.
pub(crate) fn archived(folder: &Path) -> Vec<Value> {
    let mut records = Vec::new();
    let objects = files(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "gz"));
    for object in objects {
        let mut lines = String::new();
        // An object is there as a whole or not at all.
        GzDecoder::new(std::fs::File::open(object).unwrap()).read_to_string(&mut lines).unwrap();
        records.extend(lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    records
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn start(data: &Path, buckets: &Path) -> Scene {
    let (data, buckets) = (data.to_str().unwrap(), buckets.to_str().unwrap());
    Scene::start(&[
        "--data",
        data,
        "--s3-folder",
        buckets,
        "--ttl-delay-ms",
        "0",
        "--stream-shard-ms",
        "1500",
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn r64_the_archive_holds_exactly_what_expired_also_after_kills() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let kills = if std::env::var_os("KEYWRIGHT_TEST_LONG").is_some() { 20 } else { 6 };
    let mut dice = Dice::new(seed);
    let (data, buckets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(buckets.path().join("archive")).unwrap();
    let mut scene = start(data.path(), buckets.path());
    scene.create(TABLE).await;
    scene.enable_ttl().await;
    let filter = json!({"Filters": [{"Pattern": EXPIRED}]});
    scene.trigger("s3://archive/expired", json!({"BatchSize": 20, "FilterCriteria": filter})).await;
    let names = |kind: &str| (0..500).map(|number| format!("{kind}{number}")).collect::<Vec<String>>();
    let (expiring, deleted) = (names("e"), names("d"));
    let soon_s = now_s() + 3;
    scene.put_expiring(&deleted, now_s() + 100_000).await;
    scene.put_expiring(&expiring, soon_s).await;
    for (number, name) in deleted.iter().enumerate() {
        scene
            .client
            .delete_item()
            .table_name(TABLE)
            .key("pk", text(name))
            .key("sk", text("1"))
            .send()
            .await
            .unwrap();
        if number == 250 {
            scene.server.kill();
            scene = start(data.path(), buckets.path());
        }
    }
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(dice.roll(500))).await;
        scene.server.kill();
        scene = start(data.path(), buckets.path());
    }
    let done = || {
        let figures = scene.figures();
        (figures["archived"] == 500 && figures.get("lag").is_none()).then_some(figures)
    };
    let figures = eventually("the archive", done);
    assert_eq!(figures["failure"], Value::Null, "seed {seed}");
    let records = archived(&buckets.path().join("archive/expired/Orders"));
    let keys: BTreeSet<String> = records.iter().map(|record| key(record, "pk")).collect();
    assert_eq!(keys, expiring.iter().cloned().collect(), "seed {seed}");
    assert_eq!(records.len(), 500, "seed {seed}: each once");
    let unfinished = |path: &PathBuf| path.to_str().unwrap().contains('#');
    assert_eq!(files(buckets.path()).iter().find(|path| unfinished(path)), None, "seed {seed}");
    assert!(
        records
            .iter()
            .all(|record| record["dynamodb"]["OldImage"]["expires"]["N"] == soon_s.to_string().as_str())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_missing_is_shown_and_filled_once_it_is_there() {
    let buckets = tempfile::tempdir().unwrap();
    std::fs::create_dir(buckets.path().join("archive")).unwrap();
    let scene = Scene::start(&["--in-memory", "--s3-folder", buckets.path().to_str().unwrap()]);
    scene.create(TABLE).await;
    let uuid = scene.trigger("s3://archive", json!({})).await;
    std::fs::remove_dir(buckets.path().join("archive")).unwrap();
    scene.put("p", "1").await;
    eventually("the failure", || {
        let result = scene.get(&uuid)["LastProcessingResult"].as_str().unwrap().to_owned();
        result.starts_with("PROBLEM: ").then_some(())
    });
    std::fs::create_dir(buckets.path().join("archive")).unwrap();
    eventually("the archive", || (archived(buckets.path()).len() == 1).then_some(()));
    eventually("its end", || (scene.get(&uuid)["LastProcessingResult"] == "OK").then_some(()));
}
