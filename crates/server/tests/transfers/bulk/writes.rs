//! A bulk put writes as any put: indexes, streams, time to live, usage.

use serde_json::{Value, json};

use super::stream::{enable, records};
use super::{TABLE, counts, item, key, request, scene};
use crate::imports::{key_of, line, with};

/// An item that is in the global index if its number is even, and in the local one if it is a multiple of 3.
fn indexed(number: u64) -> Value {
    let mut row = with(item(number), "x", json!({"S": "x".repeat(200)}));
    if number.is_multiple_of(2) {
        row["g"] = json!({"S": format!("g{}", number % 5)});
    }
    if number.is_multiple_of(3) {
        row["l"] = json!({"S": format!("l{}", number % 5)});
    }
    row
}

fn entries(db: &mut crate::db::Db, index: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut body = json!({"TableName": TABLE, "IndexName": index});
    loop {
        let page = db.call("Scan", &body);
        found.extend(page["Items"].as_array().unwrap().iter().cloned());
        let Some(last) = page.get("LastEvaluatedKey") else { break };
        body["ExclusiveStartKey"] = last.clone();
    }
    found.sort_by_key(key_of);
    found
}

#[test]
fn entries_of_indexes_come_move_and_leave_and_items_are_counted() {
    let mut scene = scene(&[]);
    // Of some, entries come; of others they move or leave.
    let before: Vec<Value> =
        (0..300).map(|number| with(indexed(number + 1), "sk", item(number)["sk"].clone())).collect();
    let before: Vec<Value> = before
        .into_iter()
        .zip(0..)
        .map(|(row, number)| with(row, "pk", item(number)["pk"].clone()))
        .collect();
    scene.db.put_all(TABLE, &before);
    let mut after: Vec<Value> = (0..600).map(indexed).collect();
    scene.put("in/1", after.iter().map(line).collect::<String>());
    let ended = scene.db.bulk_put(&request());
    assert_eq!(counts(&ended), [600, 0]);
    after.sort_by_key(key_of);
    assert_eq!(scene.items(TABLE), after);
    for (index, attribute) in [("gsi", "g"), ("lsi", "l")] {
        let expected: Vec<Value> = after.iter().filter(|row| !row[attribute].is_null()).cloned().collect();
        assert_eq!(entries(&mut scene.db, index), expected, "{index}");
    }
    scene.db.wait("items are counted", |db| {
        let table = db.describe(TABLE);
        table["ItemCount"] == 600 && table["GlobalSecondaryIndexes"][0]["ItemCount"] == 300
    });
}

#[test]
fn usage_has_the_bytes_of_the_table_and_of_each_index_that_was_written() {
    let mut scene = scene(&[]);
    let rows: Vec<Value> = (0..60).map(indexed).collect();
    scene.put("in/1", rows.iter().map(line).collect::<String>());
    let ended = scene.db.bulk_put(&request());
    let usage = &ended["BulkOperationUsage"];
    assert_eq!(usage.as_array().unwrap().len(), 1);
    let usage = &usage[0];
    assert!(usage["TableName"].as_str().unwrap().ends_with(TABLE), "{usage}");
    let bytes = |of: &Value| of["BulkPutBytes"].as_u64().unwrap();
    let (table, global) = (bytes(&usage["Table"]), bytes(&usage["GlobalSecondaryIndexes"]["gsi"]));
    let local = bytes(&usage["LocalSecondaryIndexes"]["lsi"]);
    assert_eq!(bytes(usage), table + global + local, "{usage}");
    let size = |row: &&Value| -> u64 {
        let members = row.as_object().unwrap().iter();
        let bytes = members.map(|(name, value)| name.len() + value["S"].as_str().map_or(1, str::len));
        u64::try_from(bytes.sum::<usize>()).unwrap()
    };
    assert!(table >= rows.iter().map(|row| size(&row)).sum::<u64>(), "{usage}");
    assert!(0 < local && local < global && global < table, "{usage}");
    // What is not written uses nothing.
    scene.put("in/1", line(&json!({"pk": {"S": "no sort key"}})));
    let ended = scene.db.bulk_put(&request());
    assert_eq!(bytes(&ended["BulkOperationUsage"][0]), 0, "{ended}");
}

#[test]
fn the_stream_has_each_change_once_with_both_images() {
    let mut scene = scene(&[]);
    scene.db.put(TABLE, &item(3));
    enable(&mut scene.db, TABLE);
    let changed = |number: u64| with(item(number), "x", json!({"S": "new"}));
    scene.put("in/1", (0..400).map(|number| line(&changed(number))).collect::<String>());
    // An item that is put as it is changes nothing.
    scene.put("in/2", line(&changed(7)));
    assert_eq!(counts(&scene.db.bulk_put(&request())), [401, 0]);
    let server = scene.server();
    let mut db = crate::db::Db::of(server);
    let mut found = records(server, &mut db, TABLE);
    found.sort_by_key(|record| record["Keys"]["sk"]["S"].as_str().unwrap().to_owned());
    let images: Vec<Value> = found.iter().map(|record| record["NewImage"].clone()).collect();
    assert_eq!(images, (0..400).map(changed).collect::<Vec<_>>());
    for (record, number) in found.iter().zip(0..) {
        assert_eq!(record["Keys"], key(&item(number)));
        let old = (number == 3).then(|| item(3));
        assert_eq!(record.get("OldImage"), old.as_ref(), "{number}");
    }
}

#[test]
fn items_with_a_time_to_live_expire() {
    let mut scene = scene(&["--ttl-delay-ms", "0"]);
    let ttl = json!({"Enabled": true, "AttributeName": "until"});
    scene.db.call("UpdateTimeToLive", &json!({"TableName": TABLE, "TimeToLiveSpecification": ttl}));
    let past = |number: u64| with(item(number), "until", json!({"N": "1700000000"}));
    scene.put("in/1", [line(&past(1)), line(&item(2)), line(&past(3))].concat());
    assert_eq!(counts(&scene.db.bulk_put(&request())), [3, 0]);
    let left = [item(2)];
    let mut items = Vec::new();
    let scan = json!({"TableName": TABLE, "ConsistentRead": true});
    scene.db.wait("they expire", |db| {
        items = db.call("Scan", &scan)["Items"].as_array().unwrap().clone();
        items == left
    });
}
