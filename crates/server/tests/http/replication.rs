//! Replicas in two regions of one server, as clients see them, with faults that a test sets over HTTP.

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::management::{get, sample};
use crate::support::raw::{AUTHORIZATION, Answer, Connection, DATE};
use crate::support::{Server, without_aws_settings};

const PATH: &str = "/_keywright/simulation";
const OWN: (&str, &str) = ("X-Keywright", "simulation");
pub(crate) const HERE: &str = "us-east-1";
pub(crate) const THERE: &str = "eu-west-1";

/// A server with a table in one region and its replica in another.
pub(crate) struct World {
    pub(crate) server: Server,
}

pub(crate) fn call(server: &Server, region: &str, target: &str, body: &Value) -> Answer {
    let authorization = AUTHORIZATION.replace("us-east-1", region);
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target),
        ("X-Amz-Date", DATE),
        ("Authorization", authorization.as_str()),
    ];
    Connection::open(server).send("POST", &headers, body.to_string().as_bytes())
}

/// A request to the simulation.
fn control(server: &Server, (method, path): (&str, &str), body: &Value) -> Answer {
    Connection::open(server).send_to(path, method, &[OWN], body.to_string().as_bytes())
}

impl World {
    fn start(more: &[&str]) -> Self {
        let server = Server::start(&[&["--in-memory", "--simulate"], more].concat());
        let world = Self { server };
        let table = json!({
            "TableName": "Tab",
            "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        world.done(HERE, "CreateTable", &table);
        let create = json!({"TableName": "Tab", "ReplicaUpdates": [{"Create": {"RegionName": THERE}}]});
        world.done(HERE, "UpdateTable", &create);
        for region in [HERE, THERE] {
            let is_active = (0..1_000).any(|_| {
                std::thread::sleep(Duration::from_millis(5));
                let target = "DynamoDB_20120810.DescribeTable";
                let answer = call(&world.server, region, target, &json!({"TableName": "Tab"}));
                answer.status == 200 && answer.json()["Table"]["TableStatus"] == "ACTIVE"
            });
            assert!(is_active, "the table in {region} is not active");
        }
        world
    }

    pub(crate) fn done(&self, region: &str, operation: &str, body: &Value) -> Value {
        let answer = call(&self.server, region, &format!("DynamoDB_20120810.{operation}"), body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
        answer.json()
    }

    pub(crate) fn simulate(&self, simulation: &Value) {
        let answer = control(&self.server, ("POST", PATH), simulation);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Nothing is simulated any more, and every change has arrived.
    fn heal(&self) {
        let answer = control(&self.server, ("DELETE", PATH), &json!({}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.quiet();
    }

    fn quiet(&self) {
        let path = "/_keywright/simulation/wait-quiet";
        let answer = control(&self.server, ("POST", path), &json!({"timeout_ms": 10_000}));
        assert_eq!(answer.json(), json!({"quiet": true, "backlog": 0}));
    }

    fn cut(&self) {
        self.simulate(&json!({"links": [{"from": "*", "to": "*", "partition": true}]}));
    }

    fn step(&self) {
        self.simulate(&json!({"tables": [{"table": "Tab", "step": true}]}));
    }

    /// Delivers changes from here to there; how many there were.
    fn deliver(&self, what: &Value) -> Value {
        let mut body = json!({"table": "Tab", "from": HERE, "to": THERE});
        body.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        let answer = control(&self.server, ("POST", "/_keywright/simulation/deliver"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["delivered"].clone()
    }

    pub(crate) fn put(&self, region: &str, key: &str, value: &str) {
        let item = json!({"k": {"S": key}, "v": {"S": value}});
        self.done(region, "PutItem", &json!({"TableName": "Tab", "Item": item}));
        // The next write is later, also where clocks count milliseconds.
        std::thread::sleep(Duration::from_millis(2));
    }

    pub(crate) fn delete(&self, region: &str, key: &str) {
        self.done(region, "DeleteItem", &json!({"TableName": "Tab", "Key": {"k": {"S": key}}}));
        std::thread::sleep(Duration::from_millis(2));
    }

    pub(crate) fn item(&self, region: &str, key: &str) -> Value {
        let read = json!({"TableName": "Tab", "Key": {"k": {"S": key}}, "ConsistentRead": true});
        self.done(region, "GetItem", &read)["Item"].clone()
    }

    /// The attribute `v` in both regions.
    pub(crate) fn values(&self, key: &str) -> [Value; 2] {
        [HERE, THERE].map(|region| self.item(region, key)["v"]["S"].clone())
    }

    /// The changes of a region that lost.
    fn lost(&self, region: &str) -> Value {
        let answer = self.ask(region, &json!({"conflicts": "Tab"}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["conflicts"].clone()
    }

    /// What a region says of replicas, or its refusal.
    pub(crate) fn ask(&self, region: &str, body: &Value) -> Answer {
        let authorization = AUTHORIZATION.replace("us-east-1", region);
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Amz-Date", DATE),
            ("Authorization", authorization.as_str()),
        ];
        let body = body.to_string();
        Connection::open(&self.server).send_to("/_keywright/global-tables", "POST", &headers, body.as_bytes())
    }

    /// All records of a region's stream.
    pub(crate) fn stream(&self, region: &str) -> Vec<Value> {
        let streams = |operation: &str, body: &Value| {
            let target = format!("DynamoDBStreams_20120810.{operation}");
            let answer = call(&self.server, region, &target, body);
            assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
            answer.json()
        };
        let table = self.done(region, "DescribeTable", &json!({"TableName": "Tab"}));
        let arn = table["Table"]["LatestStreamArn"].clone();
        let stream = streams("DescribeStream", &json!({"StreamArn": arn}));
        let shards = stream["StreamDescription"]["Shards"].as_array().unwrap();
        let records = shards.iter().flat_map(|shard| {
            let from = json!({"StreamArn": arn, "ShardId": shard["ShardId"],
                "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = streams("GetShardIterator", &from)["ShardIterator"].clone();
            let page = streams("GetRecords", &json!({"ShardIterator": iterator}));
            page["Records"].as_array().unwrap().clone()
        });
        records.collect()
    }
}

#[test]
fn a_write_in_either_region_appears_in_the_other_and_the_later_of_two_wins() {
    let world = World::start(&[]);
    world.put(HERE, "a", "1");
    world.put(THERE, "b", "1");
    world.quiet();
    assert_eq!([world.values("a"), world.values("b")], [["1", "1"], ["1", "1"]]);
    world.cut();
    world.put(HERE, "a", "here");
    world.put(THERE, "a", "there");
    assert_eq!(world.values("a"), ["here", "there"]);
    assert_eq!([world.lost(HERE), world.lost(THERE)], [json!([]), json!([])]);
    world.heal();
    assert_eq!(world.values("a"), ["there", "there"]);
    let lost = world.lost(HERE);
    assert_eq!(lost.as_array().map(Vec::len), Some(1), "{lost}");
    assert_eq!(lost[0]["item"], json!({"k": {"S": "a"}, "v": {"S": "here"}}));
    assert_eq!(lost[0]["key"], json!({"k": {"S": "a"}}));
    assert_eq!([&lost[0]["winner"]["region"], &lost[0]["loser"]["region"]], [THERE, HERE]);
    assert_eq!(world.lost(THERE), json!([]));
}

#[test]
fn of_a_delete_and_an_update_the_later_wins_whole() {
    let world = World::start(&[]);
    for key in ["deleted first", "deleted last", "made anew"] {
        world.put(HERE, key, "old");
    }
    world.quiet();
    world.cut();
    let update = |key: &str| {
        let change = json!({"TableName": "Tab", "Key": {"k": {"S": key}}, "UpdateExpression": "SET x = :x",
            "ExpressionAttributeValues": {":x": {"N": "1"}}});
        world.done(THERE, "UpdateItem", &change);
        std::thread::sleep(Duration::from_millis(2));
    };
    world.delete(HERE, "deleted first");
    update("deleted first");
    for key in ["deleted last", "made anew"] {
        update(key);
        world.delete(HERE, key);
    }
    // It has nothing of the item that the other region changed.
    world.put(HERE, "made anew", "new");
    world.heal();
    let updated = json!({"k": {"S": "deleted first"}, "v": {"S": "old"}, "x": {"N": "1"}});
    let made = json!({"k": {"S": "made anew"}, "v": {"S": "new"}});
    for region in [HERE, THERE] {
        assert_eq!(world.item(region, "deleted first"), updated, "{region}");
        assert_eq!(world.item(region, "deleted last"), Value::Null, "{region}");
        assert_eq!(world.item(region, "made anew"), made, "{region}");
    }
    let lost = world.lost(THERE);
    let lost_of =
        |key: &str| lost.as_array().unwrap().iter().filter(|one| one["key"]["k"]["S"] == key).count();
    assert_eq!([lost_of("deleted last"), lost_of("deleted first")], [1, 0], "{lost}");
}

#[test]
fn a_region_with_a_clock_ahead_wins_until_its_change_is_known_and_is_reported() {
    let world = World::start(&[]);
    let replica_of = |region: &str| {
        let answer = world.ask(region, &json!({"table": "Tab"})).json();
        answer["tables"][0]["replicas"][0].clone()
    };
    let metric = || {
        let (_, metrics) = get(&world.server, "/metrics");
        sample(&metrics, "keywright_replica_clock_ahead_seconds").unwrap()
    };
    let skew = json!({"region": HERE, "clock_ms": 3_600_000});
    world.simulate(&json!({"links": [{"from": "*", "to": "*", "partition": true}], "regions": [skew]}));
    let keys: Vec<String> = (0..20).map(|key| format!("k{key}")).collect();
    for key in &keys {
        world.put(HERE, key, "ahead");
        world.put(THERE, key, "later");
    }
    assert_eq!(
        (replica_of(THERE)["clock-ahead"].clone(), metric()),
        (Value::Null, 0.0),
        "nothing has arrived"
    );
    world.simulate(&json!({"regions": [skew]}));
    world.quiet();
    assert!(keys.iter().all(|key| world.values(key) == ["ahead", "ahead"]), "it wins concurrent writes");
    for region in [HERE, THERE] {
        let lost = world.lost(region).as_array().unwrap().len();
        assert_eq!(lost, if region == THERE { keys.len() } else { 0 }, "{region}");
    }
    let ahead_ms = replica_of(THERE)["clock-ahead"].as_u64().unwrap();
    assert!((3_590_000..=3_600_000).contains(&ahead_ms), "{ahead_ms}");
    assert_eq!(replica_of(HERE)["clock-ahead"], Value::Null, "the other clock is not ahead");
    assert!((3_590.0..=3_600.0).contains(&metric()), "{}", metric());
    let said = global_status(&world.server, THERE);
    assert!(said.contains("to us-east-1") && said.contains("ITS CLOCK IS AHEAD by 3"), "{said}");
    for key in &keys {
        world.put(THERE, key, "after");
    }
    world.quiet();
    assert!(keys.iter().all(|key| world.values(key) == ["after", "after"]), "what is known is overwritten");
    world.put(HERE, "k0", "once more");
    world.heal();
    // Nothing is stuck: each region overwrites what it sees, even if that has a later time.
    for (region, value) in [(THERE, "1"), (HERE, "2"), (THERE, "3")] {
        for key in &keys {
            world.put(region, key, value);
        }
        world.quiet();
        assert!(keys.iter().all(|key| world.values(key) == [value, value]), "{region} {value}");
    }
    world.put(HERE, "new", "1");
    world.quiet();
    assert_eq!((replica_of(THERE)["clock-ahead"].clone(), metric()), (Value::Null, 0.0));
    let log = world.server.stop_and_read_log();
    let reported =
        log.lines().filter(|line| line.contains("the region's clock is ahead of another region's"));
    assert_eq!(reported.count(), 1, "{log}");
}

/// What `keywright global status` prints for a region.
fn global_status(server: &Server, region: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.env("AWS_REGION", region).args(["global", "status", "--endpoint", &server.endpoint]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn r64_an_archiver_of_the_streams_of_both_regions_stores_each_expired_item_once() {
    let world = World::start(&["--ttl-delay-ms", "0"]);
    let enabled =
        json!({"TableName": "Tab", "TimeToLiveSpecification": {"AttributeName": "due", "Enabled": true}});
    world.done(THERE, "UpdateTimeToLive", &enabled);
    for (number, region) in (0..20).zip([HERE, THERE].into_iter().cycle()) {
        // Late enough for the item to be in both regions by then.
        let due_s = now_s() + 2;
        let item = json!({"k": {"S": format!("expires {number}")}, "due": {"N": due_s.to_string()}});
        world.done(region, "PutItem", &json!({"TableName": "Tab", "Item": item}));
    }
    world.put(HERE, "deleted", "1");
    world.quiet();
    world.delete(THERE, "deleted");
    let is_empty = |region: &str| {
        let page = world.done(region, "Scan", &json!({"TableName": "Tab", "ConsistentRead": true}));
        page["Count"] == 0
    };
    let are_gone = (0..2_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        is_empty(HERE) && is_empty(THERE)
    });
    assert!(are_gone, "all expire in both regions");
    world.quiet();
    let (mut archive, mut removed) = (Vec::new(), 0);
    for record in [HERE, THERE].into_iter().flat_map(|region| world.stream(region)) {
        if record["eventName"] != "REMOVE" {
            continue;
        }
        removed += 1;
        // The check that the service's guide shows.
        let identity = &record["userIdentity"];
        let [kind, principal] =
            ["Type", "PrincipalId"].map(|name| identity[name].as_str().unwrap_or_default());
        if (kind, principal) == ("Service", "dynamodb.amazonaws.com") {
            archive.push(record["dynamodb"]["OldImage"]["k"]["S"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(removed, 2 * 21, "each region's stream has each delete");
    archive.sort();
    let mut expected: Vec<String> = (0..20).map(|number| format!("expires {number}")).collect();
    expected.sort();
    assert_eq!(archive, expected);
}

#[test]
fn a_write_that_changes_nothing_does_not_beat_a_change_that_is_under_way() {
    let world = World::start(&[]);
    world.put(HERE, "a", "old");
    world.quiet();
    let records = world.stream(THERE).len();
    world.cut();
    world.put(HERE, "a", "new");
    world.put(HERE, "made", "1");
    world.put(THERE, "a", "old");
    let same = json!({"TableName": "Tab", "Key": {"k": {"S": "a"}}, "UpdateExpression": "SET v = :old",
        "ExpressionAttributeValues": {":old": {"S": "old"}}, "ReturnValues": "ALL_NEW"});
    assert_eq!(world.done(THERE, "UpdateItem", &same)["Attributes"]["v"]["S"], "old");
    // Neither region has the one, and this region has not yet the other.
    world.delete(THERE, "nothing");
    world.delete(THERE, "made");
    assert_eq!(world.stream(THERE).len(), records);
    world.heal();
    assert_eq!([world.values("a"), world.values("made")], [["new", "new"], ["1", "1"]]);
    assert_eq!(world.stream(THERE).len(), records + 2, "only what arrived is in the stream");
    assert_eq!([world.lost(HERE), world.lost(THERE)], [json!([]), json!([])]);
}

#[test]
fn the_token_of_a_transaction_is_known_in_its_own_region_alone() {
    let world = World::start(&[]);
    let transaction = |key: &str| {
        let put = json!({"Put": {"TableName": "Tab", "Item": {"k": {"S": key}, "v": {"S": "1"}}}});
        json!({"ClientRequestToken": "the-same-token", "TransactItems": [put]})
    };
    world.done(HERE, "TransactWriteItems", &transaction("a"));
    world.quiet();
    let refused = call(&world.server, HERE, "DynamoDB_20120810.TransactWriteItems", &transaction("b"));
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("IdempotentParameterMismatch"), "{}", refused.text());
    world.done(THERE, "TransactWriteItems", &transaction("b"));
    world.quiet();
    assert_eq!([world.values("a"), world.values("b")], [["1", "1"], ["1", "1"]]);
}

#[test]
fn parts_of_a_transaction_arrive_one_by_one_and_nothing_of_a_cancelled_one() {
    let world = World::start(&[]);
    world.put(HERE, "taken", "1");
    world.quiet();
    let records = world.stream(THERE).len();
    let apart = json!({"from": HERE, "to": THERE, "latency_ms": 20, "split_transactions": 0.5});
    world.simulate(&json!({"seed": 7, "links": [apart]}));
    let put = |key: &str, more: Value| {
        let mut put = json!({"TableName": "Tab", "Item": {"k": {"S": key}, "v": {"S": "1"}}});
        put.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"Put": put})
    };
    let keys: Vec<String> = (0..6).map(|key| format!("k{key}")).collect();
    let puts: Vec<Value> = keys.iter().map(|key| put(key, json!({}))).collect();
    let new = json!({"ConditionExpression": "attribute_not_exists(k)"});
    let cancelled = json!({"TransactItems": [put("never", json!({})), put("taken", new)]});
    let answer = call(&world.server, HERE, "DynamoDB_20120810.TransactWriteItems", &cancelled);
    assert!(
        answer.status == 400 && answer.text().contains("TransactionCanceledException"),
        "{}",
        answer.text()
    );
    world.done(HERE, "TransactWriteItems", &json!({"TransactItems": puts}));
    let gets: Vec<Value> =
        keys.iter().map(|key| json!({"Get": {"TableName": "Tab", "Key": {"k": {"S": key}}}})).collect();
    let mut seen = Vec::new();
    while seen.last() != Some(&keys.len()) {
        let read = world.done(THERE, "TransactGetItems", &json!({"TransactItems": gets}));
        let there = read["Responses"].as_array().unwrap().iter().filter(|one| one.get("Item").is_some());
        seen.push(there.count());
        assert_eq!(world.item(THERE, "never"), Value::Null);
        assert!(seen.len() < 4_000, "the transaction does not arrive: {seen:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(seen.is_sorted() && seen.iter().any(|count| (1..keys.len()).contains(count)), "{seen:?}");
    world.heal();
    assert_eq!(world.values("never"), [Value::Null, Value::Null]);
    assert_eq!(world.stream(THERE).len(), records + keys.len(), "no record of what was cancelled");
}

#[test]
fn in_steps_a_region_sees_its_old_state_until_a_change_is_delivered() {
    let world = World::start(&[]);
    world.put(HERE, "a", "old");
    world.quiet();
    world.step();
    world.put(HERE, "a", "new");
    world.put(HERE, "b", "1");
    world.put(HERE, "c", "1");
    let on_old = json!({"TableName": "Tab", "Key": {"k": {"S": "a"}}, "ConditionExpression": "v = :old",
        "UpdateExpression": "SET x = :old", "ExpressionAttributeValues": {":old": {"S": "old"}}});
    assert_eq!(world.values("a"), ["new", "old"]);
    world.done(THERE, "UpdateItem", &on_old);
    assert_eq!(world.deliver(&json!({"key": {"k": {"S": "c"}}})), 1);
    assert_eq!([world.values("b"), world.values("c")], [[json!("1"), Value::Null], [json!("1"), json!("1")]]);
    assert_eq!(world.deliver(&json!({"count": 5})), 2, "the third is there");
    assert_eq!(world.values("b"), ["1", "1"]);
    assert_eq!(world.deliver(&json!({})), 0);
    let path = "/_keywright/simulation/wait-quiet";
    let waited = control(&world.server, ("POST", path), &json!({"timeout_ms": 0}));
    assert_eq!(waited.json(), json!({"quiet": false, "backlog": 1}), "the update from there");
    world.heal();
    // It was made on the old state, later than the change that it did not see.
    let item = json!({"k": {"S": "a"}, "v": {"S": "old"}, "x": {"S": "old"}});
    assert_eq!([HERE, THERE].map(|region| world.item(region, "a")), [item.clone(), item]);
}

#[test]
fn each_region_shows_its_state_of_an_item_with_its_version_and_what_the_other_lacks() {
    let world = World::start(&[]);
    let item = |region: &str, key: &str| {
        let answer = world.ask(region, &json!({"item": {"table": "Tab", "key": {"k": {"S": key}}}}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let status = |region: &str| {
        let answer = world.ask(region, &json!({"table": "Tab"})).json();
        assert_eq!(answer["tables"].as_array().map(Vec::len), Some(1), "{answer}");
        answer["tables"][0]["replicas"][0].clone()
    };
    assert_eq!(item(HERE, "a"), json!({"region": HERE, "item": null, "version": null}));
    assert_eq!(status(HERE)["last"], Value::Null, "nothing was sent");
    world.put(HERE, "a", "first");
    world.quiet();
    assert!(status(HERE)["last"].as_u64() > Some(0), "{}", status(HERE));
    assert_eq!(status(HERE)["backlog"], 0);
    let first = item(HERE, "a");
    assert_eq!(
        (&first["version"], &first["item"]),
        (&item(THERE, "a")["version"], &item(THERE, "a")["item"])
    );

    world.cut();
    world.delete(HERE, "a");
    let (deleted, older) = (item(HERE, "a"), item(THERE, "a"));
    assert_eq!((&deleted["item"], &deleted["version"]["region"]), (&Value::Null, &json!(HERE)));
    assert_eq!(older["item"]["v"]["S"], "first");
    let stamp = |item: &Value| item["version"]["stamp"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(stamp(&deleted) > stamp(&older), "{deleted} {older}");
    assert!(deleted["version"]["at"].as_u64() >= older["version"]["at"].as_u64());
    assert!(status(HERE)["bytes"].as_u64() > Some(0), "{}", status(HERE));
    assert_eq!((&status(HERE)["backlog"], &status(THERE)["backlog"]), (&json!(1), &json!(0)));

    for wrong in [
        json!({"table": "Tab", "conflicts": "Tab"}),
        json!({"item": {"table": "Tab"}}),
        json!({"item": {"table": "Tab", "key": {"k": "a"}}}),
        json!({"tables": "Tab"}),
        json!([]),
    ] {
        let answer = world.ask(HERE, &wrong);
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.text().contains("The body is not {}"), "{wrong}: {}", answer.text());
    }
    let other_key = world.ask(HERE, &json!({"item": {"table": "Tab", "key": {"x": {"S": "a"}}}}));
    assert_eq!(other_key.status, 400, "{}", other_key.text());
    assert_eq!(world.ask(HERE, &json!({"table": "None"})).status, 400);
}

#[test]
fn the_items_of_a_transaction_can_be_seen_apart_in_the_other_region() {
    let world = World::start(&[]);
    world.step();
    let put = |key: &str| json!({"Put": {"TableName": "Tab", "Item": {"k": {"S": key}, "v": {"S": "1"}}}});
    let both = json!({"TransactItems": [put("a"), put("b")]});
    world.done(HERE, "TransactWriteItems", &both);
    assert_eq!(world.deliver(&json!({"key": {"k": {"S": "b"}}})), 1);
    assert_eq!([world.values("a"), world.values("b")], [[json!("1"), Value::Null], [json!("1"), json!("1")]]);
    world.heal();
    assert_eq!(world.values("a"), ["1", "1"]);
}

#[test]
fn records_of_a_replica_are_ordinary_and_several_changes_may_be_one() {
    let world = World::start(&[]);
    world.put(HERE, "a", "old");
    world.quiet();
    let pause = json!({"regions": [{"region": THERE, "pause": true}]});
    world.simulate(&pause);
    for number in 0..10 {
        world.put(HERE, "a", &number.to_string());
    }
    world.delete(HERE, "a");
    world.put(HERE, "a", "last");
    assert_eq!(world.values("a"), ["last", "old"]);
    world.heal();
    let records = world.stream(THERE);
    assert!((2..=13).contains(&records.len()), "{records:?}");
    for record in &records {
        assert_eq!(record["awsRegion"], THERE);
        assert!(record.get("userIdentity").is_none(), "{record}");
    }
    let images: Vec<_> = records.iter().map(|record| &record["dynamodb"]).collect();
    for two in images.windows(2) {
        assert_eq!(two[0]["NewImage"], two[1]["OldImage"], "each begins where the one before it ended");
    }
    assert_eq!(images.last().unwrap()["NewImage"], world.item(THERE, "a"));
    assert_eq!(world.item(THERE, "a")["v"]["S"], "last");
}

#[test]
fn with_duplicates_overtaking_and_latency_both_regions_become_equal() {
    let world = World::start(&[]);
    world.simulate(&json!({"seed": 3, "links": [{"from": "*", "to": "*", "latency_ms": 30, "jitter_ms": 60,
        "duplicate": 0.3, "reorder": 0.3, "split_transactions": 0.3}]}));
    for number in 0..60 {
        let region = if number % 3 == 0 { THERE } else { HERE };
        world.put(region, &(number % 7).to_string(), &number.to_string());
    }
    world.quiet();
    for key in 0..7 {
        let [here, there] = world.values(&key.to_string());
        assert_eq!(here, there, "{key}");
    }
    let records = world.stream(THERE);
    for key in 0..7 {
        let key = key.to_string();
        let is_own = |record: &&Value| record["dynamodb"]["Keys"]["k"]["S"] == key;
        let last = records.iter().rfind(is_own).unwrap();
        assert_eq!(last["dynamodb"]["NewImage"], world.item(THERE, &key));
    }
}

#[test]
fn legacy_operations_know_no_global_table_and_those_on_auto_scaling_the_replicas() {
    let world = World::start(&[]);
    let refused = |operation: &str, body: &Value| {
        let answer = call(&world.server, HERE, &format!("DynamoDB_20120810.{operation}"), body);
        let (json, status) = (answer.json(), answer.status);
        let kind = json["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
        let text = json["message"].as_str().or(json["Message"].as_str()).unwrap().to_owned();
        assert_eq!(status, 400, "{text}");
        (kind, text)
    };
    let none = "Global table with name: 'Tab' does not exist.";
    let missing = |text: &str| ("GlobalTableNotFoundException".to_owned(), text.to_owned());
    let named = json!({"GlobalTableName": "Tab"});
    assert_eq!(refused("DescribeGlobalTable", &named), missing(&format!("Global table not found: {none}")));
    assert_eq!(refused("DescribeGlobalTableSettings", &named), missing(none));
    let settings = json!({"GlobalTableName": "Tab", "GlobalTableProvisionedWriteCapacityUnits": 5});
    assert_eq!(refused("UpdateGlobalTableSettings", &settings), missing(none));
    assert_eq!(world.done(HERE, "ListGlobalTables", &json!({})), json!({"GlobalTables": []}));
    let listed = json!({"RegionName": "eu-fake-1"});
    let unknown = call(&world.server, HERE, "DynamoDB_20120810.ListGlobalTables", &listed);
    let said = unknown.json();
    assert_eq!((unknown.status, &said["message"]), (500, &json!("Internal server error")), "{said}");
    assert!(said["__type"].as_str().unwrap().ends_with("#InternalServerError"), "{said}");
    let invalid = |text: &str| {
        let text = format!("One or more parameter values were invalid: {text}");
        ("ValidationException".to_owned(), text)
    };
    let nobody = json!({"GlobalTableName": "Tab", "ReplicationGroup": []});
    let one = invalid("Global table must have atleast one replica");
    assert_eq!(refused("CreateGlobalTable", &nobody), one);
    let legacy = invalid(
        "DynamoDB global tables version 2017.11.29 is not supported. We recommend using DynamoDB \
        global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).",
    );
    let update =
        |change: &str| json!({"GlobalTableName": "Tab", "ReplicaUpdates": [{change: {"RegionName": THERE}}]});
    assert_eq!(refused("UpdateGlobalTable", &update("Create")), legacy);
    let deleted = refused("UpdateGlobalTable", &update("Delete"));
    assert_eq!(deleted, missing(&format!("Global table not found: {none}")));

    let unset = json!({"AutoScalingDisabled": true, "ScalingPolicies": []});
    let replica = |region: &str| {
        json!({"RegionName": region, "ReplicaStatus": "ACTIVE", "GlobalSecondaryIndexes": [],
            "ReplicaProvisionedReadCapacityAutoScalingSettings": unset,
            "ReplicaProvisionedWriteCapacityAutoScalingSettings": unset})
    };
    let arn = format!("arn:aws:dynamodb:{THERE}:123456789012:table/Tab");
    for name in ["Tab", arn.as_str()] {
        let answer = world.done(THERE, "DescribeTableReplicaAutoScaling", &json!({"TableName": name}));
        let described = json!({"TableName": "Tab", "TableStatus": "ACTIVE",
            "Replicas": [replica(THERE), replica(HERE)]});
        assert_eq!(answer, json!({"TableAutoScalingDescription": described}));
    }
    let policy = json!({"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70}});
    let enable = json!({"MinimumUnits": 1, "MaximumUnits": 9, "ScalingPolicyUpdate": policy});
    let scale = json!({"TableName": "Tab", "ProvisionedWriteCapacityAutoScalingUpdate": enable});
    let (kind, text) = refused("UpdateTableReplicaAutoScaling", &scale);
    assert!(kind == "ValidationException" && text.contains("BillingMode is PayPerRequest"), "{text}");
    let nothing = refused("UpdateTableReplicaAutoScaling", &json!({"TableName": "Tab"}));
    assert!(nothing.1.ends_with("at least one update parameter must be specified."), "{nothing:?}");
    let reads = json!({"RegionName": THERE, "ReplicaProvisionedReadCapacityAutoScalingUpdate": enable});
    for (replicas, end) in [
        (json!([reads, reads]), "the regions: ‘[eu-west-1]’ were specified more than once."),
        (
            json!([{"RegionName": THERE}]),
            "at least one update parameter must be specified for region: ‘eu-west-1’.",
        ),
    ] {
        let body = json!({"TableName": "Tab", "ReplicaUpdates": replicas});
        let text = format!("Failed to update settings for global table with name: ‘Tab’ because {end}");
        assert_eq!(refused("UpdateTableReplicaAutoScaling", &body), ("ValidationException".to_owned(), text));
    }
    let other = refused("DescribeTableReplicaAutoScaling", &json!({"TableName": "Other"}));
    assert_eq!(other.0, "ResourceNotFoundException");

    let units = json!({"ReadCapacityUnits": 5, "WriteCapacityUnits": 5});
    let provisioned =
        json!({"TableName": "Tab", "BillingMode": "PROVISIONED", "ProvisionedThroughput": units});
    world.done(HERE, "UpdateTable", &provisioned);
    let answer = world.done(HERE, "UpdateTableReplicaAutoScaling", &scale);
    assert_eq!(answer["TableAutoScalingDescription"]["Replicas"][0], replica(THERE), "the state before");
    let answer = world.done(HERE, "DescribeTableReplicaAutoScaling", &json!({"TableName": "Tab"}));
    for replica in answer["TableAutoScalingDescription"]["Replicas"].as_array().unwrap() {
        let writes = &replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"];
        let role = writes["AutoScalingRoleArn"].as_str().unwrap();
        assert!(role.ends_with("AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"), "{role}");
        assert_eq!((&writes["MinimumUnits"], &writes["MaximumUnits"]), (&json!(1), &json!(9)));
        let policy = json!({"PolicyName": "DynamoDBWriteCapacityUtilization:table/Tab",
            "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.0}});
        assert_eq!(writes["ScalingPolicies"], json!([policy]));
        assert!(writes.get("AutoScalingDisabled").is_none(), "{writes}");
    }
}

#[test]
fn a_replica_that_is_not_authorized_says_so_and_one_that_leaves_keeps_its_items() {
    let world = World::start(&[]);
    let status = json!({"table": "Tab", "region": THERE, "status": "REPLICATION_NOT_AUTHORIZED"});
    world.simulate(&json!({"replicas": [status]}));
    world.put(HERE, "a", "1");
    let table =
        |region: &str| world.done(region, "DescribeTable", &json!({"TableName": "Tab"}))["Table"].clone();
    assert_eq!(table(THERE)["TableStatus"], "REPLICATION_NOT_AUTHORIZED");
    let entry = table(HERE)["Replicas"][0].clone();
    assert_eq!(entry["ReplicaStatus"], "REPLICATION_NOT_AUTHORIZED");
    assert!(entry["ReplicaInaccessibleDateTime"].as_f64().is_some_and(|at| at > 1e9), "{entry}");
    assert_eq!(world.values("a"), [json!("1"), Value::Null]);
    world.heal();
    assert_eq!(world.values("a"), ["1", "1"]);
    assert_eq!(table(THERE)["DisassociationProtectionEnabled"], true);
    world.done(THERE, "UpdateTable", &json!({"TableName": "Tab", "DisassociationProtectionEnabled": false}));
    let leave = json!({"TableName": "Tab", "ReplicaUpdates": [
        {"Disassociate": {"RegionName": THERE, "DisassociationMode": "WAIT_FOR_REPLICATION"}}]});
    let has_left = (0..1_000).any(|_| {
        let answer = call(&world.server, THERE, "DynamoDB_20120810.UpdateTable", &leave);
        std::thread::sleep(Duration::from_millis(10));
        answer.status == 200
    });
    assert!(has_left, "the change of the protection does not end");
    let is_single = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let table = table(THERE);
        table["TableStatus"] == "ACTIVE" && table.get("Replicas").is_none()
    });
    assert!(is_single, "{}", table(THERE));
    assert!(table(HERE).get("GlobalTableVersion").is_none());
    world.put(THERE, "a", "2");
    assert_eq!(world.values("a"), ["1", "2"]);
}

#[test]
fn a_simulation_says_so_on_each_response_and_ends_by_itself() {
    let world = World::start(&[]);
    let simulated = || {
        let body = json!({"TableName": "Tab"});
        let answer = call(&world.server, HERE, "DynamoDB_20120810.DescribeTable", &body);
        answer.header("x-keywright-simulated").map(str::to_owned)
    };
    assert_eq!(simulated(), None, "nothing is simulated");
    let link = json!({"from": HERE, "to": THERE, "partition": true, "for_ms": 800});
    world.simulate(&json!({"links": [link]}));
    assert_eq!(simulated().as_deref(), Some("true"));
    world.put(HERE, "a", "1");
    let shown = Connection::open(&world.server).send_to(PATH, "GET", &[], b"").json();
    assert_eq!(shown["links"][0]["partition"], true);
    world.quiet();
    assert_eq!(world.values("a"), ["1", "1"]);
    assert_eq!(simulated(), None);
    let shown = Connection::open(&world.server).send_to(PATH, "GET", &[], b"").json();
    assert_eq!(shown, json!({"seed": 0, "links": [], "regions": [], "tables": [], "replicas": []}));
}

#[test]
fn a_simulation_is_for_those_who_know_its_header_on_servers_that_were_started_with_it() {
    let world = World::start(&[]);
    let send = |method: &str, headers: &[(&str, &str)], body: &str| {
        Connection::open(&world.server).send_to(PATH, method, headers, body.as_bytes()).status
    };
    assert_eq!(send("POST", &[], "{}"), 403);
    assert_eq!(send("DELETE", &[("X-Keywright", "clock")], "{}"), 403);
    assert_eq!(send("POST", &[OWN], "{"), 400);
    assert_eq!(send("POST", &[OWN], r#"{"links": [{"from": "a"}]}"#), 400);
    assert_eq!(send("POST", &[OWN, ("Origin", "https://example.com")], "{}"), 400);
    let missing = json!({"table": "Tab", "from": HERE, "to": "us-west-2"});
    let answer = control(&world.server, ("POST", "/_keywright/simulation/deliver"), &missing);
    assert_eq!(answer.status, 404);
    assert!(
        answer.text().contains("no table Tab in us-east-1 with a replica in us-west-2"),
        "{}",
        answer.text()
    );
    let plain = Server::in_memory();
    for method in ["GET", "POST", "DELETE"] {
        assert_eq!(Connection::open(&plain).send_to(PATH, method, &[OWN], b"{}").status, 404, "{method}");
    }
    let open = ["--in-memory", "--host", "0.0.0.0", "--allow-anonymous-network", "--simulate"];
    let fault = Server::try_start(&open).err().unwrap();
    assert!(fault.contains("--simulate-beyond-loopback"), "{fault}");
}

#[test]
fn a_simulation_stands_in_a_file_and_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.json");
    let simulate = format!("--simulate={}", file.display());
    std::fs::write(&file, "{").unwrap();
    let fault = Server::try_start(&["--in-memory", &simulate]).err().unwrap();
    assert!(fault.contains("faults.json"), "{fault}");
    std::fs::write(&file, r#"{"links": [{"from": "us-east-1", "to": "*", "preset": "aws"}]}"#).unwrap();
    let server = Server::start(&["--in-memory", &simulate]);
    assert!(server.banner.contains("WARNING: replication between regions is simulated"), "{}", server.banner);
    let seed = || Connection::open(&server).send_to(PATH, "GET", &[], b"").json()["seed"].clone();
    assert_eq!(seed(), 0);
    std::fs::write(&file, r#"{"seed": 5}"#).unwrap();
    let is_followed = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        seed() == 5
    });
    assert!(is_followed, "the file is not read again");
}
