//! Servers whose tables belong to accounts of different ids, and accounts that no peer is for.

use serde_json::json;

use crate::db::replica_update;
use crate::pair::{Files, HERE, PLAIN, Pair, TABLE, THERE};

const OTHER: &str = "210987654321";

#[test]
fn each_server_has_the_account_of_its_own_key() {
    let pair = Pair::start_with([PLAIN, Files { account: OTHER, ..PLAIN }]);
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    here.put(TABLE, "a", 1);
    here.replicate(TABLE, THERE);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let described = there.call("DescribeTable", &json!({"TableName": TABLE}));
    let arn = described["Table"]["TableArn"].as_str().unwrap();
    assert_eq!(arn, format!("arn:aws:dynamodb:{THERE}:{OTHER}:table/{TABLE}"));
    assert_eq!(there.get(TABLE, "a"), Some(1));
    there.put(TABLE, "b", 2);
    here.wait("it comes back", |db| db.get(TABLE, "b") == Some(2));
    pair.wait_quiet(TABLE);
    there.call("DeleteTable", &json!({"TableName": TABLE}));
    here.wait("it has no replicas", |db| db.replicas(TABLE).is_empty());
}

#[test]
fn a_replica_of_another_account_is_not_joined_on_another_server() {
    let pair = Pair::start();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    let arn = format!("arn:aws:dynamodb:{HERE}:999999999999:table/{TABLE}");
    let join = json!({"TableName": TABLE, "GlobalTableSourceArn": arn, "GlobalTableSettingsReplicationMode": "ENABLED"});
    let said = there.refusal("CreateTable", &join);
    assert!(said.contains("no resource-based policy allows the dynamodb:AssociateTableReplica"), "{said}");
    let shared = json!({"TableName": TABLE, "GlobalTableSettingsReplicationMode": "ENABLED"});
    here.call("UpdateTable", &shared);
    here.wait("it is settled", |db| db.status(TABLE) == "ACTIVE");
    let said = here.refusal("UpdateTable", &replica_update(TABLE, "Create", THERE));
    assert!(said.contains("an account adds its replica with CreateTable"), "{said}");
}
