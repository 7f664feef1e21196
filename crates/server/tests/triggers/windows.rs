//! Tumbling windows: sums are right across the ends of shards and of servers.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::function::{Answer, Function, eventually};
use crate::scene::{Scene, TABLE};
use crate::support::dice::{Dice, wanted};

/// Adds the numbers of a window's records up, as the state.
fn adding() -> Function {
    Function::answering(|one| {
        let sum = one.event["state"]["sum"].as_u64().unwrap_or(0);
        let number = |record: &Value| {
            record["dynamodb"]["NewImage"]["n"]["N"].as_str().unwrap().parse::<u64>().unwrap()
        };
        let added: u64 = one.records().iter().map(number).sum();
        Answer::Body(json!({"state": {"sum": sum + added}}).to_string())
    })
}

/// The sums of the windows that have ended, by shard and window.
fn sums(function: &Function) -> BTreeMap<(String, String), u64> {
    let ended = function.invocations().into_iter().filter(|one| one.event["isFinalInvokeForWindow"] == true);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    ended
        .map(|one| {
            let place = (text(&one.event["shardId"]), text(&one.event["window"]["start"]));
            (place, one.event["state"]["sum"].as_u64().unwrap_or(0))
        })
        .collect()
}

fn start(folder: &Path, function: &Function) -> Scene {
    let folder = folder.to_str().unwrap();
    Scene::start(&["--data", folder, "--lambda-endpoint", &function.url, "--stream-shard-ms", "700"])
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_windows_are_right_across_ends_of_shards_and_kills() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let kills = if std::env::var_os("KEYWRIGHT_TEST_LONG").is_some() { 20 } else { 4 };
    let mut dice = Dice::new(seed);
    let (function, folder) = (adding(), tempfile::tempdir().unwrap());
    let mut scene = start(folder.path(), &function);
    scene.create(TABLE).await;
    scene.trigger("f", json!({"TumblingWindowInSeconds": 1, "BatchSize": 7})).await;
    let mut expected = 0;
    for kill in 0..kills {
        for number in 0..60 {
            scene.put_number(&format!("p{}", number % 7), &format!("{kill}-{number}"), number).await;
            expected += number;
        }
        tokio::time::sleep(Duration::from_millis(dice.roll(400))).await;
        scene.server.kill();
        scene = start(folder.path(), &function);
    }
    let total = || sums(&function).values().sum::<u64>();
    eventually("the last window's end", || (total() == expected).then_some(()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(total(), expected, "seed {seed}: nothing is added later");
    let shards: std::collections::BTreeSet<String> =
        sums(&function).into_keys().map(|(shard, _)| shard).collect();
    assert!(shards.len() > 1, "a shard has ended: {shards:?}");
}
