//! What regions of one server share and what they do not, and how replicas come and go, by HTTP while a test
//! moves the clock.

use serde_json::{Value, json};

use crate::replication::{HERE, THERE, World, call};
use crate::support::Server;
use crate::support::raw::{AUTHORIZATION, Answer, Connection, DATE};

const OREGON: &str = "us-west-2";
const BEGUN: &str = "manual@2026-11-27T16:00:00Z";
const BEGUN_S: f64 = 1_795_795_200.0;
const HOUR_S: f64 = 3_600.0;
const DAY_S: f64 = 24.0 * HOUR_S;
const SECOND_MS: u64 = 1_000;
const HOUR_MS: u64 = 3_600 * SECOND_MS;
/// Looks at a state that is awaited, each after the clock was moved.
const LOOKS_MAX: usize = 200;
const CLOCK: (&str, &str) = ("X-Keywright", "clock");
/// Half of a state between two others.
const HALF_MS: u64 = SECOND_MS / 2;
/// A table is so long in each state between two others.
const SLOWLY: [&str; 2] = ["--transition-ms", "1000"];

/// A server whose clock a test moves.
struct Standing {
    world: World,
}

impl Standing {
    fn start(more: &[&str]) -> Self {
        let arguments = [&["--in-memory", "--simulate", "--clock", BEGUN], more].concat();
        Self { world: World { server: Server::start(&arguments) } }
    }

    /// The same with the table `Tab` here and replicas in other regions.
    fn with_replicas(more: &[&str], regions: &[&str]) -> Self {
        let standing = Self::start(more);
        standing.create(&json!({}));
        for region in regions {
            standing.replicate(region);
        }
        standing
    }

    fn create(&self, more: &Value) {
        let mut table = json!({
            "TableName": "Tab",
            "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.world.done(HERE, "CreateTable", &table);
        self.until("the table is active", || self.table(HERE)["TableStatus"] == "ACTIVE");
    }

    fn replicate(&self, region: &str) {
        self.update(HERE, &replicas("Create", region));
        self.until("the replica is active", || self.is_settled(HERE) && self.is_settled(region));
    }

    fn advance(&self, ms: u64) {
        let body = json!({"advance-ms": ms}).to_string();
        let answer = Connection::open(&self.world.server).send_to(
            "/_keywright/clock",
            "POST",
            &[CLOCK],
            body.as_bytes(),
        );
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Moves the clock until something is so.
    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..LOOKS_MAX {
            if is_so() {
                return;
            }
            self.advance(SECOND_MS / 10);
        }
        panic!("{what}: it does not come true");
    }

    fn update(&self, region: &str, change: &Value) -> Value {
        let mut body = json!({"TableName": "Tab"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        self.world.done(region, "UpdateTable", &body)["TableDescription"].clone()
    }

    fn ask(&self, region: &str, operation: &str, more: &Value) -> Answer {
        let mut body = json!({"TableName": "Tab"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&self.world.server, region, &format!("DynamoDB_20120810.{operation}"), &body)
    }

    /// The name and the text of a refusal.
    fn refused(&self, region: &str, operation: &str, more: &Value) -> (String, String) {
        let answer = self.ask(region, operation, more);
        assert_eq!(answer.status, 400, "{operation}: {}", answer.text());
        let json = answer.json();
        let name = json["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
        (name, json["message"].as_str().unwrap().to_owned())
    }

    /// A table's description; null if there is none.
    fn table(&self, region: &str) -> Value {
        self.ask(region, "DescribeTable", &json!({})).json()["Table"].clone()
    }

    /// The status of a table, and regions and statuses of its replicas.
    fn statuses(&self, region: &str) -> Value {
        let table = self.table(region);
        let replica = |one: &Value| json!([one["RegionName"], one["ReplicaStatus"]]);
        let replicas = table["Replicas"].as_array().map(|all| all.iter().map(replica).collect::<Vec<_>>());
        json!([table["TableStatus"], replicas])
    }

    fn is_settled(&self, region: &str) -> bool {
        let table = self.table(region);
        let none = Vec::new();
        let replicas = table["Replicas"].as_array().unwrap_or(&none);
        table["TableStatus"] == "ACTIVE" && replicas.iter().all(|one| one["ReplicaStatus"] == "ACTIVE")
    }

    fn put(&self, region: &str, key: &str) {
        let item = json!({"k": {"S": key}, "g": {"S": "g"}, "v": {"S": region}});
        self.world.done(region, "PutItem", &json!({"TableName": "Tab", "Item": item}));
    }

    fn has(&self, region: &str, key: &str) -> bool {
        !self.world.item(region, key).is_null()
    }

    /// The sum of a metric of the table so far, as it is printed.
    fn sum(&self, region: &str, metric: &str) -> String {
        let body = json!({"Namespace": "AWS/DynamoDB", "MetricName": metric, "Statistics": ["Sum"],
            "Dimensions": [{"Name": "TableName", "Value": "Tab"}], "Period": 3600,
            "StartTime": BEGUN_S, "EndTime": BEGUN_S + DAY_S});
        let authorization = AUTHORIZATION.replace(HERE, region).replace("/dynamodb/", "/monitoring/");
        let headers = [
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", "GraniteServiceVersion20100801.GetMetricStatistics"),
            ("X-Amz-Date", DATE),
            ("Authorization", authorization.as_str()),
        ];
        let answer = Connection::open(&self.world.server).send("POST", &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let points = answer.json()["Datapoints"].as_array().unwrap().clone();
        points.iter().map(|point| point["Sum"].as_f64().unwrap()).sum::<f64>().to_string()
    }
}

/// One change of one replica.
fn replicas(change: &str, region: &str) -> Value {
    json!({"ReplicaUpdates": [{change: {"RegionName": region}}]})
}

fn invalid(text: &str) -> (String, String) {
    ("ValidationException".to_owned(), text.to_owned())
}

const SOURCE: &str = "Replica cannot be deleted because it has acted as a source region for new replica(s) being \
    added to the table in the last 24 hours.";

#[test]
fn both_regions_show_a_replica_that_is_made_and_then_removed() {
    let standing = Standing::with_replicas(&SLOWLY, &[]);
    assert_eq!(standing.statuses(HERE), json!(["ACTIVE", null]));
    let answer = standing.update(HERE, &replicas("Create", THERE));
    assert_eq!((&answer["TableStatus"], &answer["Replicas"]), (&json!("UPDATING"), &json!([])));
    standing.advance(HALF_MS);
    assert_eq!(standing.statuses(HERE), json!(["UPDATING", []]));
    assert_eq!(standing.table(THERE)["TableStatus"], "CREATING");
    standing.advance(SECOND_MS);
    assert_eq!(standing.statuses(HERE), json!(["ACTIVE", [[THERE, "CREATING"]]]));
    assert_eq!(standing.statuses(THERE), json!(["CREATING", [[HERE, "ACTIVE"]]]));
    let item = json!({"Item": {"k": {"S": "early"}}});
    assert_eq!(standing.refused(THERE, "PutItem", &item).0, "ResourceNotFoundException");
    standing.until("the replica is active", || standing.is_settled(HERE));
    assert_eq!(standing.statuses(HERE), json!(["ACTIVE", [[THERE, "ACTIVE"]]]));
    assert_eq!(standing.statuses(THERE), json!(["ACTIVE", [[HERE, "ACTIVE"]]]));

    let answer = standing.update(HERE, &replicas("Delete", THERE));
    assert_eq!(answer["TableStatus"], "ACTIVE");
    standing.advance(HALF_MS);
    assert_eq!(standing.statuses(HERE), json!(["UPDATING", [[THERE, "DELETING"]]]));
    assert_eq!(standing.table(THERE)["TableStatus"], "DELETING");
    standing.until("the replica is gone", || standing.table(THERE).is_null());
    standing.until("no replica is left", || standing.table(HERE)["TableStatus"] == "ACTIVE");
    let left = standing.table(HERE);
    for key in ["Replicas", "GlobalTableVersion", "GlobalTableSettingsReplicationMode"] {
        assert!(left.get(key).is_none(), "{key}: {left}");
    }
}

#[test]
fn delete_table_in_one_of_three_regions_leaves_two_that_go_on() {
    let standing = Standing::with_replicas(&SLOWLY, &[THERE, OREGON]);
    standing.put(HERE, "before");
    standing.until("it is everywhere", || standing.has(THERE, "before") && standing.has(OREGON, "before"));
    let deleted = standing.world.done(THERE, "DeleteTable", &json!({"TableName": "Tab"}));
    assert_eq!(deleted["TableDescription"]["TableStatus"], "DELETING");
    assert_eq!(standing.statuses(HERE)[1], json!([[THERE, "DELETING"], [OREGON, "ACTIVE"]]));
    assert_eq!(standing.statuses(OREGON)[1], json!([[HERE, "ACTIVE"], [THERE, "DELETING"]]));
    standing.until("it is gone", || standing.table(THERE).is_null());
    standing.until("the others are two", || {
        standing.statuses(HERE) == json!(["ACTIVE", [[OREGON, "ACTIVE"]]])
            && standing.statuses(OREGON) == json!(["ACTIVE", [[HERE, "ACTIVE"]]])
    });
    standing.put(HERE, "here");
    standing.put(OREGON, "west");
    standing.until("both have both", || standing.has(OREGON, "here") && standing.has(HERE, "west"));
    assert!(standing.has(OREGON, "before"));
}

#[test]
fn a_stream_ends_after_the_last_replica_left_and_the_table_after_the_stream() {
    let standing = Standing::with_replicas(&SLOWLY, &[THERE]);
    let disable = json!({"StreamSpecification": {"StreamEnabled": false}});
    let needed = "One or more parameter values were invalid: Disabling Stream is not allowed for a Global Table \
        replica.";
    for region in [HERE, THERE] {
        assert_eq!(standing.refused(region, "UpdateTable", &disable), invalid(needed));
    }
    standing.update(HERE, &replicas("Delete", THERE));
    standing.until("the table is alone", || standing.statuses(HERE) == json!(["ACTIVE", null]));
    assert_eq!(standing.table(HERE)["StreamSpecification"]["StreamEnabled"], true, "it stays");
    standing.update(HERE, &disable);
    let text = "Attempt to change a resource which is still in use: Cannot delete table while stream is being \
        enabled/disabled.";
    let in_use = ("ResourceInUseException".to_owned(), text.to_owned());
    assert_eq!(standing.refused(HERE, "DeleteTable", &json!({})), in_use);
    standing.until("the stream has ended", || standing.statuses(HERE) == json!(["ACTIVE", null]));
    standing.world.done(HERE, "DeleteTable", &json!({"TableName": "Tab"}));
}

#[test]
fn a_replicas_key_is_of_the_kind_of_the_tables_and_a_provisioned_one_has_no_ceiling() {
    let standing = Standing::with_replicas(&SLOWLY, &[]);
    standing.update(HERE, &json!({"SSESpecification": {"Enabled": true, "SSEType": "KMS"}}));
    let changing = "Operation cannot be performed while replica server-side encryption status is in UPDATING state. \
        Please retry the request after the status is updated to ENABLED.";
    let refused = |change: &Value| standing.refused(HERE, "UpdateTable", change);
    assert_eq!(refused(&replicas("Create", THERE)), invalid(changing));
    standing.until("the key is changed", || standing.table(HERE)["SSEDescription"]["Status"] == "ENABLED");
    let own_key = json!({"ReplicaUpdates": [{"Create": {"RegionName": THERE, "KMSMasterKeyId": "k"}}]});
    let kinds = "All replica keys must either be Customer Managed CMK or AWS Managed CMK.";
    assert_eq!(refused(&own_key), invalid(kinds));
    standing.replicate(THERE);

    let units = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 4});
    standing.update(HERE, &json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units}));
    standing.until("it is settled", || standing.is_settled(HERE) && standing.is_settled(THERE));
    let change = |name: &str, value: Value| json!({"ReplicaUpdates": [{"Update": {"RegionName": THERE, name: value}}]});
    let ceiling = change("OnDemandThroughputOverride", json!({"MaxReadRequestUnits": 5}));
    let provisioned = "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is \
        PROVISIONED";
    assert_eq!(refused(&ceiling), invalid(provisioned));
    standing.update(HERE, &change("ProvisionedThroughputOverride", json!({"ReadCapacityUnits": 5})));
}

#[test]
fn a_stream_of_keys_stays_one_and_whole_items_are_replicated() {
    let standing = Standing::start(&[]);
    let keys_only = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    standing.create(&json!({"StreamSpecification": keys_only}));
    let label = standing.table(HERE)["LatestStreamLabel"].clone();
    standing.replicate(THERE);
    assert_eq!(standing.table(HERE)["LatestStreamLabel"], label, "it is the stream of before");
    assert_eq!(standing.table(THERE)["StreamSpecification"], keys_only);
    standing.put(HERE, "a");
    standing.until("it arrives", || standing.has(THERE, "a"));
    let item = json!({"k": {"S": "a"}, "g": {"S": "g"}, "v": {"S": HERE}});
    assert_eq!(standing.world.item(THERE, "a"), item, "all attributes are there");
    for region in [HERE, THERE] {
        let records = standing.world.stream(region);
        assert_eq!(records.len(), 1, "{region}: {records:?}");
        let change = &records[0]["dynamodb"];
        assert_eq!(records[0]["awsRegion"], region);
        assert_eq!(
            (&change["Keys"], &change["StreamViewType"]),
            (&json!({"k": {"S": "a"}}), &json!("KEYS_ONLY"))
        );
        assert!(change.get("NewImage").is_none() && change.get("OldImage").is_none(), "{change}");
    }
}

#[test]
fn a_source_region_leaves_after_a_day_and_a_protected_one_not_at_all() {
    let standing = Standing::with_replicas(&[], &[THERE]);
    let remove_source = replicas("Delete", HERE);
    assert_eq!(standing.refused(THERE, "UpdateTable", &remove_source), invalid(SOURCE));
    assert_eq!(standing.refused(HERE, "DeleteTable", &json!({})), invalid(SOURCE));
    (0..23).for_each(|_| standing.advance(HOUR_MS));
    assert_eq!(standing.refused(THERE, "UpdateTable", &remove_source), invalid(SOURCE));

    standing.update(THERE, &json!({"DeletionProtectionEnabled": true}));
    standing.until("it is protected", || standing.is_settled(THERE));
    assert_eq!(standing.table(HERE)["DeletionProtectionEnabled"], false, "each region has its own");
    let text = format!(
        "Cannot delete table Tab in region {THERE} because it has deletion protection enabled. Disable deletion \
         protection first."
    );
    assert_eq!(standing.refused(HERE, "UpdateTable", &replicas("Delete", THERE)), invalid(&text));
    assert_eq!(standing.refused(THERE, "DeleteTable", &json!({})).0, "ValidationException");

    standing.advance(HOUR_MS);
    standing.update(THERE, &remove_source);
    standing.until("the source is gone", || standing.table(HERE).is_null());
    standing.until("the other is alone", || standing.statuses(THERE) == json!(["ACTIVE", null]));

    // Without the replica that it filled, a source may go at once.
    let standing = Standing::with_replicas(&[], &[THERE]);
    standing.world.done(THERE, "DeleteTable", &json!({"TableName": "Tab"}));
    standing.until("the replica is gone", || standing.statuses(HERE) == json!(["ACTIVE", null]));
    standing.world.done(HERE, "DeleteTable", &json!({"TableName": "Tab"}));
}

#[test]
fn a_replica_without_authority_merges_after_nineteen_hours_and_is_alone_after_more_than_twenty() {
    for (hours, merges) in [(19, true), (21, false)] {
        let standing = Standing::with_replicas(&[], &[THERE]);
        let status = json!({"table": "Tab", "region": THERE, "status": "REPLICATION_NOT_AUTHORIZED"});
        standing.world.simulate(&json!({"replicas": [status]}));
        standing.put(HERE, "here");
        standing.put(THERE, "there");
        (0..19).for_each(|_| standing.advance(HOUR_MS));
        let entry = standing.table(HERE)["Replicas"][0].clone();
        assert_eq!(entry["ReplicaStatus"], "REPLICATION_NOT_AUTHORIZED");
        let since_s = entry["ReplicaInaccessibleDateTime"].as_f64().unwrap();
        assert!((BEGUN_S..BEGUN_S + 10.0).contains(&since_s), "{entry}");
        assert_eq!(standing.table(THERE)["TableStatus"], "REPLICATION_NOT_AUTHORIZED");
        (19..hours).for_each(|_| standing.advance(HOUR_MS));
        standing.world.simulate(&json!({"replicas": []}));
        (0..10).for_each(|_| standing.advance(SECOND_MS));
        let expected =
            |other: &str| json!(["ACTIVE", if merges { json!([[other, "ACTIVE"]]) } else { Value::Null }]);
        standing.until("it is settled", || {
            standing.statuses(HERE) == expected(THERE) && standing.statuses(THERE) == expected(HERE)
        });
        assert!(standing.has(HERE, "here") && standing.has(THERE, "there"), "{hours}: all data stays");
        let found = [standing.has(HERE, "there"), standing.has(THERE, "here")];
        assert_eq!(found, [merges, merges], "{hours}");
        standing.put(HERE, "later");
        (0..10).for_each(|_| standing.advance(SECOND_MS));
        assert_eq!(standing.has(THERE, "later"), merges, "{hours}");
    }
}

#[test]
fn an_index_added_from_the_other_region_is_filled_in_both_and_tags_and_recovery_stay_where_they_are() {
    let standing = Standing::with_replicas(&[], &[]);
    let many = |from: usize| {
        let put =
            |key: usize| json!({"PutRequest": {"Item": {"k": {"S": format!("k{key}")}, "g": {"S": "g"}}}});
        json!({"RequestItems": {"Tab": (from..from + 25).map(put).collect::<Vec<_>>()}})
    };
    (0..4).for_each(|batch| drop(standing.world.done(HERE, "BatchWriteItem", &many(batch * 25))));
    standing.replicate(THERE);
    let index = json!({"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]});
    standing.update(
        THERE,
        &json!({"AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": index}]}),
    );
    let query = json!({"TableName": "Tab", "IndexName": "by-g", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}}});
    for region in [HERE, THERE] {
        standing.until("the index is filled", || {
            standing.table(region)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
        });
        assert_eq!(standing.world.done(region, "Query", &query)["Count"], 100, "{region}");
    }
    standing.update(HERE, &json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]}));
    standing.until("the index is gone in both", || {
        [HERE, THERE].iter().all(|region| standing.table(region).get("GlobalSecondaryIndexes").is_none())
    });

    let arn = standing.table(THERE)["TableArn"].clone();
    let tags = json!({"ResourceArn": arn, "Tags": [{"Key": "team", "Value": "a"}]});
    assert_eq!(standing.ask(THERE, "TagResource", &tags).status, 200);
    let recovery = json!({"TableName": "Tab",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    standing.world.done(THERE, "UpdateContinuousBackups", &recovery);
    (0..5).for_each(|_| standing.advance(SECOND_MS));
    for (region, count, status) in [(HERE, 0, "DISABLED"), (THERE, 1, "ENABLED")] {
        let arn = standing.table(region)["TableArn"].clone();
        let tags = standing.world.done(region, "ListTagsOfResource", &json!({"ResourceArn": arn}));
        assert_eq!(tags["Tags"].as_array().map(Vec::len), Some(count), "{region}");
        let backups = standing.world.done(region, "DescribeContinuousBackups", &json!({"TableName": "Tab"}));
        let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
        assert_eq!(recovery["PointInTimeRecoveryStatus"], status, "{region}");
    }
}

#[test]
fn a_value_of_one_replica_ends_when_the_shared_one_changes() {
    let standing = Standing::with_replicas(&[], &[THERE]);
    let own = |reads: i64| {
        let reads = json!({"MaxReadRequestUnits": reads});
        json!({"ReplicaUpdates": [{"Update": {"RegionName": THERE, "OnDemandThroughputOverride": reads}}]})
    };
    let settled =
        || standing.until("it is settled", || standing.is_settled(HERE) && standing.is_settled(THERE));
    let shown = || {
        let entry = standing.table(HERE)["Replicas"][0]["OnDemandThroughputOverride"].clone();
        let there = standing.table(THERE)["OnDemandThroughput"].clone();
        [entry["MaxReadRequestUnits"].clone(), there["MaxReadRequestUnits"].clone()]
    };
    let shared = |change: Value| {
        standing.update(HERE, &json!({"OnDemandThroughput": change}));
        settled();
    };
    standing.update(HERE, &own(40));
    settled();
    assert_eq!(shown(), [40, 40]);
    assert!(standing.table(HERE).get("OnDemandThroughput").is_none());
    shared(json!({"MaxWriteRequestUnits": 90}));
    assert_eq!(shown(), [40, 40], "writes are another value");
    shared(json!({"MaxReadRequestUnits": 30}));
    assert_eq!(shown(), [Value::Null, json!(30)]);
    standing.update(HERE, &own(50));
    settled();
    assert_eq!(shown(), [50, 50]);
    standing.update(HERE, &own(30));
    settled();
    assert_eq!(shown(), [Value::Null, json!(30)], "the shared value is no own one");
}

#[test]
fn an_expired_item_costs_units_only_where_its_deletion_arrives() {
    let standing = Standing::with_replicas(&["--ttl-delay-ms", "0"], &[THERE]);
    let enabled =
        json!({"TableName": "Tab", "TimeToLiveSpecification": {"AttributeName": "due", "Enabled": true}});
    standing.world.done(THERE, "UpdateTimeToLive", &enabled);
    let item = |key: &str| json!({"k": {"S": key}, "due": {"N": (BEGUN_S + HOUR_S).to_string()}});
    for key in ["a", "b", "c"] {
        standing.world.done(HERE, "PutItem", &json!({"TableName": "Tab", "Item": item(key)}));
    }
    standing.until("all arrive", || ["a", "b", "c"].iter().all(|key| standing.has(THERE, key)));
    let written = || [HERE, THERE].map(|region| standing.sum(region, "ConsumedWriteCapacityUnits"));
    assert_eq!(written(), ["3", "3"], "each region pays for its write");
    standing.advance(HOUR_MS);
    standing.until("all expire", || {
        ["a", "b", "c"].iter().all(|key| !standing.has(HERE, key) && !standing.has(THERE, key))
    });
    assert_eq!(written(), ["3", "6"], "the deletion is free where the items expire");
    let by_service = |region: &str| {
        let records = standing.world.stream(region);
        let removed: Vec<&Value> = records.iter().filter(|one| one["eventName"] == "REMOVE").collect();
        assert_eq!(removed.len(), 3, "{region}");
        removed.iter().filter(|one| one["userIdentity"]["PrincipalId"] == "dynamodb.amazonaws.com").count()
    };
    assert_eq!([by_service(HERE), by_service(THERE)], [3, 0]);
}
