//! Attacks with conditions, filters and projections that make one request work for seconds, and with clients
//! that leave while it does.

use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::conduct::{Attack, per_second};
use super::field::{Field, must, must_on};
use super::http::Connection;
use super::request::{Sender, TABLE, TINY, base64, create_tiny_table, joined, key, put, put_tiny};
use super::server::Setting;

/// The service's limit of operators is 300; each `contains` but the first costs an `OR` too.
const CONTAINS: usize = 149;
/// Numbers of five digits take 4 bytes each.
const NUMBERS: usize = 97_000;
/// The service's limit of a transaction.
const CHECKS: usize = 100;
/// A page of 1 MB holds so many items of 7 or 8 bytes.
const TINY_ITEMS: usize = 120_000;
const BATCH: usize = 25;
/// Each keeps a thread of the server busy; more than a small machine has.
const CLIENTS: usize = 4;
/// How long the work of a client that left may go on.
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// More than the quiet clients alone use: a tenth of a processor is nothing that goes on.
const BUSY_TICKS: u64 = 10;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "conditions/number-set",
        what: "149 contains() on a number set of 390 KB",
        why: "a search through the whole set for each: 0.33 s, 100 of them in a transaction 33 s",
        setting: Setting::MEMORY,
        prepare: put_number_sets,
        strike: number_sets,
    },
    Attack {
        name: "conditions/binary",
        what: "contains() of 195 KB in 390 KB",
        why: "a naive search compares 38 thousand million bytes",
        setting: Setting::MEMORY,
        prepare: put_binary,
        strike: binary,
    },
    Attack {
        name: "conditions/filter",
        what: "filter of 299 operators on tiny items",
        why: "a page of 1 MB holds 120,000 items: 36 million comparisons",
        setting: Setting::MEMORY,
        prepare: put_tiny_items,
        strike: |field| field.repeat(CLIENTS, &[filter(&field.sender)]),
    },
    Attack {
        name: "conditions/legacy-in",
        what: "legacy IN of 10,000 on tiny items",
        why: "1,200 million comparisons: 65 s",
        setting: Setting::MEMORY,
        prepare: put_tiny_items,
        strike: legacy_in,
    },
    Attack {
        name: "conditions/attributes-to-get",
        what: "many AttributesToGet on tiny items",
        why: "100,000 names were 12,000 million look-ups, 39 s, and 200 MB for each Scan",
        setting: Setting::MEMORY,
        prepare: put_tiny_items,
        strike: attributes_to_get,
    },
    Attack {
        name: "conditions/projection",
        what: "projection of 400 high list indexes",
        why: "reaching an element late in a list, 400 times an item",
        setting: Setting::MEMORY,
        prepare: put_list,
        strike: projection,
    },
    Attack {
        name: "scan-leavers",
        what: "costly Scans whose clients leave",
        why: "nobody waits for that work, and it went on",
        setting: Setting::MEMORY,
        prepare: put_tiny_items,
        strike: leave,
    },
];

fn put_number_sets(sender: &Sender) -> Result<(), String> {
    let numbers = joined(NUMBERS, ",", |number| format!("\"{}\"", 10_001 + number * 9 / 10 + number));
    let set = format!(r#""n":{{"NS":[{numbers}]}}"#);
    (0..CHECKS).try_for_each(|number| must(sender, "PutItem", &put("set", &number.to_string(), &set)))
}

/// Each transaction checks items of its own, so that they do not conflict.
fn number_sets(field: &Field<'_>) {
    let condition = joined(CONTAINS, " OR ", |_| "contains(n,:v)".to_owned());
    let requests = (0..CLIENTS).map(|part| {
        let (checks, first) = (CHECKS / CLIENTS, part * (CHECKS / CLIENTS));
        let checks = joined(checks, ",", |number| {
            let key = key("set", &(first + number).to_string());
            format!(
                r#"{{"ConditionCheck":{{"TableName":"{TABLE}","Key":{key},"ConditionExpression":"{condition}","ExpressionAttributeValues":{{":v":{{"N":"0.5"}}}}}}}}"#
            )
        });
        field.sender.request("TransactWriteItems", format!(r#"{{"TransactItems":[{checks}]}}"#).as_bytes())
    });
    field.repeat(CLIENTS, &requests.collect::<Vec<_>>());
}

fn put_binary(sender: &Sender) -> Result<(), String> {
    let binary = format!(r#""b":{{"B":"{}"}}"#, base64(&vec![b'a'; 390_000]));
    (0..CLIENTS).try_for_each(|number| must(sender, "PutItem", &put("binary", &number.to_string(), &binary)))
}

fn binary(field: &Field<'_>) {
    let mut needle = vec![b'a'; 195_000];
    needle.push(b'b');
    let needle = base64(&needle);
    let requests = (0..CLIENTS).map(|number| {
        let body = format!(
            r#"{{"TableName":"{TABLE}","Key":{},"UpdateExpression":"SET c=:c","ConditionExpression":"contains(b,:n)","ExpressionAttributeValues":{{":c":{{"N":"1"}},":n":{{"B":"{needle}"}}}}}}"#,
            key("binary", &number.to_string()),
        );
        field.sender.request("UpdateItem", body.as_bytes())
    });
    field.repeat(CLIENTS, &requests.collect::<Vec<_>>());
}

fn put_tiny_items(sender: &Sender) -> Result<(), String> {
    must(sender, "CreateTable", &create_tiny_table())?;
    let complain = |error: std::io::Error| format!("preparation: {error}");
    let mut connection = Connection::open(sender.address, Duration::from_secs(30)).map_err(complain)?;
    (0..TINY_ITEMS).step_by(BATCH).try_for_each(|from| {
        must_on(&mut connection, sender, "BatchWriteItem", &put_tiny(from, from + BATCH))
    })
}

/// A Scan whose filter no item passes and that ends with the last of its terms.
fn filter(sender: &Sender) -> Vec<u8> {
    let filter = joined(150, " OR ", |_| "s<:v".to_owned());
    let body = format!(
        r#"{{"TableName":"{TINY}","FilterExpression":"{filter}","ExpressionAttributeValues":{{":v":{{"N":"-1"}}}}}}"#
    );
    sender.request("Scan", body.as_bytes())
}

fn legacy_in(field: &Field<'_>) {
    let values = joined(10_000, ",", |number| format!(r#"{{"N":"-{}"}}"#, number + 1));
    let body = format!(
        r#"{{"TableName":"{TINY}","ScanFilter":{{"s":{{"ComparisonOperator":"IN","AttributeValueList":[{values}]}}}}}}"#
    );
    field.repeat(CLIENTS, &[field.sender.request("Scan", body.as_bytes())]);
}

fn attributes_to_get(field: &Field<'_>) {
    // More than a request may name, and as many as it may.
    let requests = [100_000, 255].map(|count| {
        let names = joined(count, ",", |number| format!("\"a{number}\""));
        let body = format!(r#"{{"TableName":"{TINY}","AttributesToGet":[{names}]}}"#);
        field.sender.request("Scan", body.as_bytes())
    });
    field.repeat(CLIENTS, &requests);
}

fn put_list(sender: &Sender) -> Result<(), String> {
    let list = format!(r#""l":{{"L":[{}]}}"#, joined(130_000, ",", |_| r#"{"N":"1"}"#.to_owned()));
    (0..3).try_for_each(|number| must(sender, "PutItem", &put("list", &number.to_string(), &list)))
}

fn projection(field: &Field<'_>) {
    let paths = joined(400, ",", |number| format!("l[{}]", 99_999 - number));
    let values = r#""ExpressionAttributeValues":{":p":{"S":"list"}}"#;
    let body = format!(
        r#"{{"TableName":"{TABLE}","KeyConditionExpression":"pk=:p",{values},"ProjectionExpression":"{paths}"}}"#
    );
    field.repeat(CLIENTS, &[field.sender.request("Query", body.as_bytes())]);
}

/// Eight clients at a time ask and leave; at the end the server must fall idle.
fn leave(field: &Field<'_>) {
    let request = filter(&field.sender);
    field.together(8, |_| {
        // The last clients leave early enough for the server's idleness to be measured in the attack's time.
        while field.left() > Duration::from_millis(500) {
            let opened = Connection::open(field.sender.address, field.left());
            if opened.and_then(|mut connection| connection.send(&request)).is_ok() {
                field.count("left");
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    let timer = Timer::start();
    let mut busy = u64::MAX;
    while timer.elapsed() < IDLE_AFTER {
        let (before, window) = (field.server.cpu_ticks(), Timer::start());
        thread::sleep(Duration::from_millis(250));
        busy = per_second(before, field.server.cpu_ticks(), window.elapsed());
        if busy <= field.quiet_ticks + BUSY_TICKS {
            field.count_many(
                "ms until idle",
                usize::try_from(timer.elapsed().as_millis()).unwrap_or_default(),
            );
            return;
        }
    }
    field.fault(format!("2 s after the last client left, the server uses {busy} % of a processor"));
}
