//! A group over two servers: it is made from either, has the writes of both, shares settings, and ends.

use serde_json::{Value, json};

use crate::pair::{CLIENT, HERE, Pair, TABLE, THERE};
use crate::support::management::{get_as, sample};
use crate::support::signing::Key;

#[test]
fn a_table_is_replicated_to_another_server_and_back() {
    let pair = Pair::start();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    for number in 0..300 {
        here.put(TABLE, &format!("old-{number}"), number);
    }
    here.replicate(TABLE, THERE);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    assert_eq!(there.replicas(TABLE), [(HERE.to_owned(), "ACTIVE".to_owned())]);
    let described = |table: Value| table["Table"]["TableArn"].as_str().unwrap().to_owned();
    let arn = described(there.call("DescribeTable", &json!({"TableName": TABLE})));
    assert_eq!(arn, format!("arn:aws:dynamodb:{THERE}:123456789012:table/{TABLE}"));
    here.put(TABLE, "a", 1);
    there.put(TABLE, "b", 2);
    there.wait("the first write is there", |db| db.get(TABLE, "a") == Some(1));
    here.wait("the second write is here", |db| db.get(TABLE, "b") == Some(2));
    pair.wait_quiet(TABLE);
    let items = here.scan(TABLE, None);
    assert_eq!(items.len(), 302);
    assert_eq!(there.scan(TABLE, None), items);
    assert_eq!(there.scan(TABLE, Some("by_g")), items);
    assert_eq!(there.check_stream(TABLE), 302);
    let replica = here.replica(TABLE);
    assert_eq!((&replica["region"], &replica["remote"]), (&json!(THERE), &json!(true)), "{replica}");
    let key = Key::from((CLIENT.0.to_owned(), CLIENT.1.to_owned()));
    let text = get_as(pair.server(0), "/metrics", &key).1;
    assert_eq!(sample(&text, &format!("keywright_peer_reached{{region=\"{THERE}\"}}")), Some(1.0));
}

#[test]
fn settings_that_all_share_follow_from_either_server() {
    let pair = Pair::start();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    here.put(TABLE, "a", 1);
    here.replicate(TABLE, THERE);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let index = json!({"TableName": TABLE, "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by_n",
            "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"}}}]});
    there.call("UpdateTable", &index);
    let indexes = |db: &mut crate::db::Db| {
        let table = db.call("DescribeTable", &json!({"TableName": TABLE}));
        let all = table["Table"]["GlobalSecondaryIndexes"].as_array().cloned().unwrap_or_default();
        let active = all.iter().filter(|index| index["IndexStatus"] == "ACTIVE");
        let mut names: Vec<String> =
            active.map(|index| index["IndexName"].as_str().unwrap().to_owned()).collect();
        names.sort_unstable();
        names
    };
    here.wait("the index is made here", |db| indexes(db) == ["by_g", "by_n"]);
    assert_eq!(here.scan(TABLE, Some("by_n")).len(), 1, "and filled");
    let delete = json!({"TableName": TABLE,
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by_g"}}]});
    here.wait("no index is being made", |db| db.status(TABLE) == "ACTIVE");
    here.call("UpdateTable", &delete);
    there.wait("the index is gone there", |db| indexes(db) == ["by_n"]);
    let ttl = json!({"TableName": TABLE,
        "TimeToLiveSpecification": {"AttributeName": "due", "Enabled": true}});
    here.call("UpdateTimeToLive", &ttl);
    there.wait("time to live is on there", |db| {
        let shown = db.call("DescribeTimeToLive", &json!({"TableName": TABLE}));
        shown["TimeToLiveDescription"]["AttributeName"] == "due"
    });
    let ceiling = json!({"TableName": TABLE, "OnDemandThroughput": {"MaxWriteRequestUnits": 77}});
    there.wait("it is settled", |db| db.status(TABLE) == "ACTIVE");
    there.call("UpdateTable", &ceiling);
    here.wait("the ceiling of writes is here", |db| {
        let table = db.call("DescribeTable", &json!({"TableName": TABLE}));
        table["Table"]["OnDemandThroughput"]["MaxWriteRequestUnits"] == 77
    });
}

#[test]
fn a_member_is_removed_from_the_other_server_or_deleted_by_its_own() {
    let pair = Pair::start();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    there.put(TABLE, "a", 1);
    here.wait("it is here", |db| db.get(TABLE, "a") == Some(1));
    here.wait("everything is sent", |_| pair.db(1).replica(TABLE)["backlog"] == 0);
    here.change_replica(TABLE, "Delete", THERE);
    there.wait("its table is gone", |db| db.status(TABLE).is_empty());
    here.wait("it has no replicas", |db| db.replicas(TABLE).is_empty());
    assert_eq!(here.get(TABLE, "a"), Some(1));
    here.wait("it can have one again", |db| {
        let body = crate::db::replica_update(TABLE, "Create", THERE);
        db.try_call("UpdateTable", &body).unwrap().0 == 200
    });
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE" && !db.replicas(TABLE).is_empty());
    assert_eq!(there.get(TABLE, "a"), Some(1));
    here.wait("it is active", |db| db.replicas(TABLE).iter().all(|(_, status)| status == "ACTIVE"));
    pair.wait_quiet(TABLE);
    here.call("DeleteTable", &json!({"TableName": TABLE}));
    here.wait("the table is gone", |db| db.status(TABLE).is_empty());
    there.wait("the other is an ordinary table", |db| db.replicas(TABLE).is_empty());
    assert_eq!(there.get(TABLE, "a"), Some(1));
}
