//! A strongly consistent table in three regions of one server, as clients see it, with faults that a test
//! sets over HTTP.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client};
use crate::support::management::{get, sample};
use crate::support::raw::{AUTHORIZATION, Answer, Connection, DATE};

const VIRGINIA: &str = "us-east-1";
const IRELAND: &str = "eu-west-1";
const OREGON: &str = "us-west-2";
const OHIO: &str = "us-east-2";
const OWN: (&str, &str) = ("X-Keywright", "simulation");
/// Looks at a state that is awaited.
const LOOKS_MAX: usize = 4_000;

/// Looks at a state until it is there.
fn await_that(what: &str, mut is_there: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_there() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} does not come about");
}

fn call(server: &Server, region: &str, target: &str, body: &Value) -> Answer {
    let authorization = AUTHORIZATION.replace("us-east-1", region);
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target),
        ("X-Amz-Date", DATE),
        ("Authorization", authorization.as_str()),
    ];
    Connection::open(server).send("POST", &headers, body.to_string().as_bytes())
}

/// A server with the table `Tab` in Virginia.
struct World {
    server: Server,
}

impl World {
    fn start() -> Self {
        let world = Self { server: Server::start(&["--in-memory", "--simulate", "--transition-ms", "50"]) };
        let table = json!({
            "TableName": "Tab",
            "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        world.done(VIRGINIA, "CreateTable", &table);
        world.wait(&[VIRGINIA]);
        world
    }

    /// The same with replicas in Ireland and Oregon.
    fn strong() -> Self {
        let world = Self::start();
        world.done(VIRGINIA, "UpdateTable", &strong(&[IRELAND, OREGON], None));
        world.wait(&[VIRGINIA, IRELAND, OREGON]);
        world
    }

    fn ask(&self, region: &str, operation: &str, body: &Value) -> Answer {
        call(&self.server, region, &format!("DynamoDB_20120810.{operation}"), body)
    }

    fn done(&self, region: &str, operation: &str, body: &Value) -> Value {
        let answer = self.ask(region, operation, body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
        answer.json()
    }

    /// The name and the text of a refusal.
    fn refused(&self, region: &str, operation: &str, body: &Value) -> (u16, String, String) {
        let answer = self.ask(region, operation, body);
        let json = answer.json();
        let name = json["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
        (answer.status, name, json["message"].as_str().unwrap_or_default().to_owned())
    }

    fn table(&self, region: &str) -> Value {
        self.done(region, "DescribeTable", &json!({"TableName": "Tab"}))["Table"].clone()
    }

    /// Waits until the table is active in these regions, and all members of its group.
    fn wait(&self, regions: &[&str]) {
        let asked = json!({"TableName": "Tab"});
        let is_settled = |region: &&str| {
            let answer = self.ask(region, "DescribeTable", &asked);
            let table = answer.json()["Table"].clone();
            let none = Vec::new();
            let replicas = table["Replicas"].as_array().unwrap_or(&none);
            answer.status == 200
                && table["TableStatus"] == "ACTIVE"
                && (regions.len() == 1 || replicas.len() + 1 == regions.len())
                && replicas.iter().all(|replica| replica["ReplicaStatus"] == "ACTIVE")
        };
        await_that("an active table", || regions.iter().all(is_settled));
    }

    fn control(&self, method: &str, path: &str, body: &Value) -> Answer {
        Connection::open(&self.server).send_to(path, method, &[OWN], body.to_string().as_bytes())
    }

    fn simulate(&self, simulation: &Value) {
        let answer = self.control("POST", "/_keywright/simulation", simulation);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    fn get(&self, region: &str, key: &str, is_strong: bool) -> Answer {
        let read = json!({"TableName": "Tab", "Key": {"k": {"S": key}}, "ConsistentRead": is_strong});
        self.ask(region, "GetItem", &read)
    }

    fn value(&self, region: &str, key: &str) -> Value {
        let answer = self.get(region, key, true);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["Item"]["v"]["S"].clone()
    }

    /// The records of the table's stream in a region, as kind, key and new value, in the order of sequence
    /// numbers, and their regions.
    fn records(&self, region: &str) -> (Vec<Value>, Vec<Value>) {
        let streams = |operation: &str, body: &Value| {
            let answer = call(&self.server, region, &format!("DynamoDBStreams_20120810.{operation}"), body);
            assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
            answer.json()
        };
        let arn = self.table(region)["LatestStreamArn"].clone();
        assert!(arn.as_str().unwrap().contains(region), "{arn}");
        let described = streams("DescribeStream", &json!({"StreamArn": arn}));
        let mut records = Vec::new();
        for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
            let from =
                json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"});
            let iterator = streams("GetShardIterator", &from)["ShardIterator"].clone();
            let page = streams("GetRecords", &json!({"ShardIterator": iterator}));
            records.extend(page["Records"].as_array().unwrap().clone());
        }
        let regions = records.iter().map(|record| record["awsRegion"].clone()).collect();
        let shown = |record: &Value| {
            let change = &record["dynamodb"];
            json!([record["eventName"], change["Keys"]["k"]["S"], change["NewImage"]["v"]["S"]])
        };
        (records.iter().map(shown).collect(), regions)
    }
}

fn put(key: &str, value: &str) -> Value {
    json!({"TableName": "Tab", "Item": {"k": {"S": key}, "v": {"S": value}}})
}

fn strong(replicas: &[&str], witness: Option<&str>) -> Value {
    let creates: Vec<Value> =
        replicas.iter().map(|region| json!({"Create": {"RegionName": region}})).collect();
    let mut body = json!({"TableName": "Tab", "ReplicaUpdates": creates, "MultiRegionConsistency": "STRONG"});
    if let Some(region) = witness {
        body["GlobalTableWitnessUpdates"] = json!([{"Create": {"RegionName": region}}]);
    }
    body
}

fn deletions(replicas: &[&str], witness: Option<&str>) -> Value {
    let deletes: Vec<Value> =
        replicas.iter().map(|region| json!({"Delete": {"RegionName": region}})).collect();
    let mut body = json!({"TableName": "Tab", "ReplicaUpdates": deletes});
    if let Some(region) = witness {
        body["GlobalTableWitnessUpdates"] = json!([{"Delete": {"RegionName": region}}]);
    }
    body
}

#[test]
fn three_regions_have_one_table_whose_streams_agree_until_it_ends_as_a_whole() {
    let world = World::strong();
    let table = world.table(OREGON);
    assert_eq!(table["MultiRegionConsistency"], "STRONG");
    assert_eq!(table["GlobalTableVersion"], "2019.11.21");
    assert_eq!(table["GlobalTableWitnesses"], Value::Null);
    let others = table["Replicas"].as_array().unwrap();
    let others: Vec<&Value> = others.iter().map(|replica| &replica["RegionName"]).collect();
    assert_eq!(others, [VIRGINIA, IRELAND]);
    assert_ne!(table["TableId"], world.table(IRELAND)["TableId"]);

    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"});
    for region in [VIRGINIA, OREGON] {
        world.done(region, "UpdateTable", &json!({"TableName": "Tab", "StreamSpecification": stream}));
        world.wait(&[VIRGINIA, IRELAND, OREGON]);
    }
    for (region, value) in [(VIRGINIA, "1"), (IRELAND, "2"), (OREGON, "3"), (IRELAND, "4")] {
        world.done(region, "PutItem", &put("a", value));
        for other in [VIRGINIA, IRELAND, OREGON] {
            assert_eq!(world.value(other, "a"), value, "written in {region}, read in {other}");
        }
    }
    world.done(OREGON, "DeleteItem", &json!({"TableName": "Tab", "Key": {"k": {"S": "a"}}}));
    let (here, regions) = world.records(VIRGINIA);
    assert_eq!(here.len(), 5);
    assert_eq!(here[1], json!(["MODIFY", "a", "2"]));
    assert!(regions.iter().all(|region| region == VIRGINIA), "{regions:?}");
    let (there, regions) = world.records(OREGON);
    assert_eq!(there, here);
    assert!(regions.iter().all(|region| region == OREGON), "{regions:?}");
    assert_eq!(world.table(IRELAND)["LatestStreamArn"], Value::Null);

    let single = "Deletion of only one table replica is not supported for global tables with MultiRegionConsistency \
        set to STRONG.";
    let refusal = |text: &str| (400, "ValidationException".to_owned(), text.to_owned());
    let named = json!({"TableName": "Tab"});
    assert_eq!(world.refused(IRELAND, "DeleteTable", &named), refusal(single));
    assert_eq!(world.refused(IRELAND, "UpdateTable", &deletions(&[OREGON], None)), refusal(single));
    let frozen = "Cannot add replicas to a global table with strong MultiRegionConsistency";
    let more = json!({"TableName": "Tab", "ReplicaUpdates": [{"Create": {"RegionName": OHIO}}]});
    assert_eq!(world.refused(VIRGINIA, "UpdateTable", &more), refusal(frozen));
    let again = "MultiRegionConsistency parameter is unsupported on existing global table";
    assert_eq!(world.refused(VIRGINIA, "UpdateTable", &strong(&[OHIO, "eu-west-2"], None)), refusal(again));
    let listed = world.done(IRELAND, "DescribeTableReplicaAutoScaling", &named);
    let listed = listed["TableAutoScalingDescription"]["Replicas"].as_array().unwrap().clone();
    assert_eq!(listed.iter().map(|one| &one["RegionName"]).collect::<Vec<_>>(), [IRELAND, VIRGINIA, OREGON]);

    world.done(VIRGINIA, "PutItem", &put("kept", "1"));
    world.done(OREGON, "UpdateTable", &deletions(&[VIRGINIA, IRELAND], None));
    await_that("the end of a table", || world.ask(IRELAND, "DescribeTable", &named).status != 200);
    world.wait(&[OREGON]);
    let left = world.table(OREGON);
    assert_eq!((&left["Replicas"], &left["MultiRegionConsistency"]), (&Value::Null, &Value::Null));
    assert_eq!(world.value(OREGON, "kept"), "1");
    assert_eq!(world.refused(VIRGINIA, "DescribeTable", &named).1, "ResourceNotFoundException");
}

#[test]
fn a_witness_keeps_no_table_and_wrong_numbers_of_regions_are_refused() {
    let world = World::start();
    let count = "Unsupported replica count for global tables with MultiRegionConsistency set to STRONG.";
    for (replicas, witness) in
        [(&[IRELAND][..], None), (&[IRELAND, OREGON], Some(OHIO)), (&[IRELAND, OREGON, OHIO], None)]
    {
        let refused = world.refused(VIRGINIA, "UpdateTable", &strong(replicas, witness));
        assert_eq!(refused, (400, "ValidationException".to_owned(), count.to_owned()));
    }
    world.done(VIRGINIA, "UpdateTable", &strong(&[OREGON], Some(OHIO)));
    world.wait(&[VIRGINIA, OREGON]);
    let witnesses = json!([{"RegionName": OHIO, "WitnessStatus": "ACTIVE"}]);
    for region in [VIRGINIA, OREGON] {
        assert_eq!(world.table(region)["GlobalTableWitnesses"], witnesses);
    }
    let named = json!({"TableName": "Tab"});
    assert_eq!(world.refused(OHIO, "DescribeTable", &named).1, "ResourceNotFoundException");
    assert_eq!(world.refused(OHIO, "PutItem", &put("a", "1")).1, "ResourceNotFoundException");
    world.done(OREGON, "PutItem", &put("a", "1"));
    assert_eq!(world.value(VIRGINIA, "a"), "1");
    let left = world.refused(VIRGINIA, "UpdateTable", &deletions(&[OREGON], None));
    assert_eq!(left.2, "Update table delete operation does not include all witnesses.");
    world.done(VIRGINIA, "UpdateTable", &deletions(&[OREGON], Some(OHIO)));
    await_that("the end of a group", || world.table(VIRGINIA)["MultiRegionConsistency"].is_null());
}

/// Increments an item like an SDK: a retryable error is tried again after a pause. The values that the item
/// had, and how often it conflicted.
fn add(world: &World, region: &str) -> (String, usize) {
    let body = json!({
        "TableName": "Tab",
        "Key": {"k": {"S": "n"}},
        "UpdateExpression": "ADD c :one SET v = :region",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":region": {"S": region}},
        "ReturnValues": "ALL_NEW",
    });
    for conflicts in 0..LOOKS_MAX {
        let answer = world.ask(region, "UpdateItem", &body);
        if answer.status == 200 {
            return (answer.json()["Attributes"]["c"]["N"].as_str().unwrap().to_owned(), conflicts);
        }
        let json = answer.json();
        assert!(json["__type"].as_str().unwrap().ends_with("#ReplicatedWriteConflictException"), "{json}");
        assert!(json["message"].as_str().unwrap().contains("modified by a request in another Region"));
        thread::sleep(Duration::from_millis(25));
    }
    panic!("{region} never comes through")
}

#[test]
fn of_two_clients_that_write_one_item_in_two_regions_one_conflicts_and_comes_through_later() {
    let world = World::strong();
    world.simulate(&json!({"tables": [{"table": "Tab", "mrsc_round_trip_ms": 1000}]}));
    let start = Barrier::new(2);
    let (ireland, oregon) = thread::scope(|scope| {
        let [ireland, oregon] = [IRELAND, OREGON].map(|region| {
            let (world, start) = (&world, &start);
            scope.spawn(move || {
                start.wait();
                add(world, region)
            })
        });
        (ireland.join().unwrap(), oregon.join().unwrap())
    });
    let mut both = [ireland, oregon];
    both.sort();
    assert_eq!(
        both.each_ref().map(|(value, _)| value.as_str()),
        ["1", "2"],
        "each was applied once, in order"
    );
    assert_eq!(both[0].1, 0, "the first one does not conflict");
    assert!(both[1].1 > 0, "the later one conflicts first");
    world.simulate(&json!({"tables": [{"table": "Tab", "mrsc_conflict": 1}]}));
    let batch = json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": {"k": {"S": "n"}}}}]}});
    assert_eq!(world.refused(VIRGINIA, "BatchWriteItem", &batch).1, "ReplicatedWriteConflictException");
}

/// A client in a region that tries again as the SDK does by itself.
fn of_sdk(server: &Server, region: &str) -> Client {
    let plain = client(&server.endpoint, Caller { region, ..Caller::default() });
    Client::from_conf(plain.config().to_builder().retry_config(RetryConfig::standard()).build())
}

/// Requests for updates so far, and those that conflicted.
fn updates(server: &Server) -> [u64; 2] {
    let (_, metrics) = get(server, "/metrics");
    let operation = "operation=\"UpdateItem\"";
    let conflict = "error=\"ReplicatedWriteConflictException\"";
    [
        format!("keywright_requests_total{{{operation}}}"),
        format!("keywright_request_errors_total{{{operation},{conflict}}}"),
    ]
    .map(|name| sample(&metrics, &name).unwrap_or_default().to_string().parse().unwrap())
}

#[tokio::test]
async fn an_sdk_tries_the_later_of_two_concurrent_writes_again_and_both_are_applied() {
    let world = World::strong();
    world.simulate(&json!({"tables": [{"table": "Tab", "mrsc_round_trip_ms": 100}]}));
    let clients = [IRELAND, OREGON].map(|region| of_sdk(&world.server, region));
    let increment = async |own: &Client, key: &str| {
        let update = own.update_item().table_name("Tab").key("k", AttributeValue::S(key.to_owned()));
        let update = update.update_expression("ADD c :one").return_values(ReturnValue::AllNew);
        let update = update.expression_attribute_values(":one", AttributeValue::N("1".to_owned()));
        let answer = update.send().await.unwrap();
        answer.attributes().unwrap()["c"].as_n().unwrap().clone()
    };
    // A machine that is busy may let the round trip pass between two writes, and a retry may be too early.
    for round in 0..20 {
        let (key, [asked, refused]) = (format!("n{round}"), updates(&world.server));
        let (one, other) = tokio::join!(increment(&clients[0], &key), increment(&clients[1], &key));
        let mut both = [one, other];
        both.sort();
        assert_eq!(both, ["1", "2"], "each was applied once, in order");
        let [asked_then, refused_then] = updates(&world.server);
        assert_eq!(asked_then - asked, 2 + refused_then - refused, "nothing else was refused");
        if refused_then - refused == 1 {
            return;
        }
    }
    panic!("no two writes conflicted once");
}

#[test]
fn a_region_that_is_cut_off_serves_old_reads_only_until_it_is_healed() {
    let world = World::strong();
    world.done(VIRGINIA, "PutItem", &put("a", "1"));
    world.simulate(&json!({"regions": [{"region": IRELAND, "isolate": true}]}));
    let (status, name, _) = world.refused(IRELAND, "PutItem", &put("a", "2"));
    assert_eq!((status, name.as_str()), (500, "InternalServerError"));
    world.done(OREGON, "PutItem", &put("a", "3"));
    assert_eq!(world.value(VIRGINIA, "a"), "3");
    assert_eq!(world.get(IRELAND, "a", true).status, 500);
    assert_eq!(world.get(IRELAND, "a", false).json()["Item"]["v"]["S"], "1");
    let keys = json!({"RequestItems": {"Tab": {"Keys": [{"k": {"S": "a"}}]}}});
    let batch = world.done(IRELAND, "BatchGetItem", &keys);
    assert_eq!(batch["Responses"]["Tab"][0]["v"]["S"], "1");
    let statement = json!({"Statement": "SELECT v FROM \"Tab\" WHERE k = 'a'"});
    assert_eq!(world.done(IRELAND, "ExecuteStatement", &statement)["Items"][0]["v"]["S"], "1");
    let healed = world.control("DELETE", "/_keywright/simulation", &json!({}));
    assert_eq!(healed.status, 200, "{}", healed.text());
    assert_eq!(world.value(IRELAND, "a"), "3");
    world.done(IRELAND, "PutItem", &put("a", "4"));
    assert_eq!(world.value(OREGON, "a"), "4");
}

#[test]
fn overviews_name_the_consistency_the_regions_and_the_witness() {
    let world = World::start();
    world.done(VIRGINIA, "UpdateTable", &strong(&[OREGON], Some(OHIO)));
    world.wait(&[VIRGINIA, OREGON]);
    let authorization = AUTHORIZATION.replace("us-east-1", OREGON);
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Amz-Date", DATE),
        ("Authorization", authorization.as_str()),
    ];
    let asked = |body: &[u8]| {
        let answer =
            Connection::open(&world.server).send_to("/_keywright/global-tables", "POST", &headers, body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let verified = asked(br#"{"verify": "Tab"}"#);
    assert_eq!((&verified["verdict"], &verified["consistency"]), (&json!("equal"), &json!("STRONG")));
    assert_eq!(verified["replicas"][0]["region"], VIRGINIA);
    assert_eq!(asked(br#"{"verification": "Tab"}"#)["verdict"], "equal", "also when it is only shown");
    let shown = &asked(b"{}")["tables"][0];
    assert_eq!((&shown["consistency"], &shown["witness"]), (&json!("STRONG"), &json!(OHIO)));
    assert_eq!(
        (&shown["replicas"][0]["region"], &shown["replicas"][0]["backlog"]),
        (&json!(VIRGINIA), &json!(0))
    );
    let refused = |simulation: Value| {
        let answer = world.control("POST", "/_keywright/simulation", &simulation);
        assert_eq!(answer.status, 400, "{}", answer.text());
        answer.text().to_owned()
    };
    let isolate = |region: &str| json!({"regions": [{"region": region, "isolate": true}]});
    let said = refused(isolate(IRELAND));
    assert!(said.contains("no strongly consistent table has a replica in region eu-west-1"), "{said}");
    let said = refused(json!({"tables": [{"table": "Tba", "mrsc_conflict": 1}]}));
    assert!(said.contains("no table `Tba`"), "{said}");
    assert!(shown["isolated"].is_null() && shown["replicas"][0]["isolated"].is_null(), "{shown}");
    for (region, place) in [(VIRGINIA, "/replicas/0/isolated"), (OREGON, "/isolated")] {
        world.simulate(&isolate(region));
        let shown = &asked(b"{}")["tables"][0];
        assert_eq!(shown.pointer(place), Some(&json!(true)), "{shown}");
    }
    assert_eq!(world.control("DELETE", "/_keywright/simulation", &json!({})).status, 200);
    let quiet = world.control("POST", "/_keywright/simulation/wait-quiet", &json!({"timeout_ms": 5_000}));
    assert_eq!(quiet.json(), json!({"quiet": true, "backlog": 0}));
}
