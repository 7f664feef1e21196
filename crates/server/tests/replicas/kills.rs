//! SIGKILL at random moments while regions of one server send each other changes, and while a replica is
//! filled or removed: nothing is lost, and a change of the group ends or never was.

use serde_json::{Value, json};

use crate::db::{Db, HERE, TABLE, THERE};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::writers::{Client, Writers, check};

const NEW: &str = "us-west-2";
const REGIONS: [&str; 3] = [HERE, THERE, NEW];
/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 5;
/// Maximum delay of a kill after the first write.
const WRITING_MS_MAX: u64 = 500;

/// What happens to the third region before a kill.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    filling: u64,
    leaving: u64,
    joined: u64,
    left: u64,
}

#[test]
fn a_server_that_is_killed_while_it_replicates_loses_nothing_and_ends_what_it_began() {
    let (kills, seed) = (wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT), wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let start =
        || Server::start(&["--data", data, "--write-buffer-kib", "256", "--source-region-hours", "0"]);
    let mut server = start();
    let mut here = Db::of(&server, HERE);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    let client = |number: usize| Client::new(&number.to_string(), REGIONS[number % 2], 60);
    let mut clients: Vec<Client> = (0..4).map(client).collect();
    let mut counts = Counts::default();
    for _ in 0..kills {
        let writers = Writers::start(server.address(), TABLE, clients, dice.roll(1 << 31));
        std::thread::sleep(std::time::Duration::from_millis(dice.roll(WRITING_MS_MAX)));
        let had = here.replicas(TABLE).contains(&NEW.to_owned());
        let changes = dice.roll(3) > 0;
        if changes {
            here.change_replica(TABLE, if had { "Delete" } else { "Create" }, NEW);
            *(if had { &mut counts.leaving } else { &mut counts.filling }) += 1;
            std::thread::sleep(std::time::Duration::from_millis(dice.roll(120)));
        }
        server.kill();
        clients = writers.stop();
        server = start();
        here = Db::of(&server, HERE);
        here.wait("the group is settled", |db| db.is_settled(TABLE));
        let has = here.replicas(TABLE).contains(&NEW.to_owned());
        counts.joined += u64::from(!had && has);
        counts.left += u64::from(had && !has);
        // An acknowledged change of the group is durable.
        assert_eq!(has, had != changes, "the change was begun, so it ends");
        let mut new = Db::of(&server, NEW);
        let status = if has { "ACTIVE" } else { "" };
        new.wait("the third table is as the group says", |db| db.status(TABLE) == status);
        here.assert_equal(TABLE);
        let mut regions = vec![Db::of(&server, HERE), Db::of(&server, THERE)];
        regions.extend(has.then_some(new));
        check(&mut clients, &mut regions, TABLE);
    }
    let acknowledged: u64 = clients.iter().map(|client| client.acknowledged).sum();
    assert!(acknowledged > 0, "nothing was acknowledged before any kill");
    let records: usize = [HERE, THERE].map(|region| check_stream(&mut Db::of(&server, region))).iter().sum();
    let Counts { filling, leaving, joined, left } = counts;
    println!(
        "seed {seed}: {kills} kills, {filling} while a replica was added ({joined} joined), {leaving} while one \
         was removed ({left} left); {acknowledged} writes acknowledged, none lost; {records} stream records"
    );
}

/// Each record of a key begins with what the one before it left; how many there are.
fn check_stream(db: &mut Db) -> usize {
    let streams = |db: &mut Db, operation: &str, body: &Value| {
        let (status, answer) = db.send("/", &format!("DynamoDBStreams_20120810.{operation}"), body).unwrap();
        assert_eq!(status, 200, "{operation}: {answer}");
        answer
    };
    let arn = db.call("DescribeTable", &json!({"TableName": TABLE}))["Table"]["LatestStreamArn"].clone();
    let mut last = std::collections::BTreeMap::<String, Value>::new();
    let mut count = 0;
    let shards =
        streams(db, "DescribeStream", &json!({"StreamArn": arn}))["StreamDescription"]["Shards"].clone();
    for shard in shards.as_array().unwrap() {
        let from =
            json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
        let mut iterator = streams(db, "GetShardIterator", &from)["ShardIterator"].clone();
        while !iterator.is_null() {
            let page = streams(db, "GetRecords", &json!({"ShardIterator": iterator}));
            let records = page["Records"].as_array().unwrap();
            for record in records {
                let images = &record["dynamodb"];
                let key = images["Keys"]["k"]["S"].as_str().unwrap().to_owned();
                let before = last.insert(key, images["NewImage"].clone());
                assert_eq!(
                    before.unwrap_or_default(),
                    images["OldImage"],
                    "it follows the one before: {record}"
                );
                assert_ne!(images["OldImage"], images["NewImage"], "no record without a change");
            }
            count += records.len();
            iterator = if records.is_empty() { Value::Null } else { page["NextShardIterator"].clone() };
        }
    }
    let items = db.scan(TABLE, None);
    last.retain(|_, image| !image.is_null());
    assert_eq!(last, items, "the last record of each key has its item");
    count
}
