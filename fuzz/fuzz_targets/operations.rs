//! Requests made up of legacy members, expressions and statements, executed on a durable store: nothing
//! panics, and no answer is an internal error.
//!
//! The bytes choose among names, operators, values and lengths, so that most requests pass the decoder: long
//! keys, many conditions, deep values and odd mixtures of members reach the engine.

#![no_main]

use std::sync::{Arc, LazyLock};

use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_semantics::error::ErrorKind;
use keywright_store_local::{Durability, LocalOptions, LocalStore};
use keywright_wire::{Operation, decode, render, render_error};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

struct Clock;

impl Env for Clock {
    fn now_ms(&self) -> u64 {
        1_800_000_000_000
    }

    fn random_u128(&self) -> u128 {
        7
    }
}

struct Database {
    engine: Engine<LocalStore>,
    caller: Caller,
    _folder: tempfile::TempDir,
}

static DATABASE: LazyLock<Database> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = LocalOptions { durability: Durability::Relaxed, ..LocalOptions::default() };
    let store = LocalStore::open(&folder.path().join("data"), options).expect("an empty folder opens");
    let engine = pollster::block_on(Engine::open(store, Arc::new(Clock), EngineConfig::default()));
    let engine = engine.expect("an empty store opens");
    let account = AccountId::from("000000000000");
    let caller = Caller::account(Namespace { account, region: Region::from("us-east-1") });
    let database = Database { engine, caller, _folder: folder };
    let table = json!({
        "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "h", "AttributeType": "B"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [{"IndexName": "gsi", "Projection": {"ProjectionType": "KEYS_ONLY"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "h", "KeyType": "RANGE"}]}],
        "LocalSecondaryIndexes": [{"IndexName": "lsi", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}]}],
    });
    run(&database, Operation::CreateTable, &table);
    database
});

fn run(database: &Database, operation: Operation, body: &Value) {
    let text = body.to_string();
    let request = match decode(operation, text.as_bytes()) {
        Ok(request) => request,
        Err(error) => {
            assert_eq!(render_error(&error).status, 400);
            return;
        }
    };
    match pollster::block_on(database.engine.execute(&database.caller, request)) {
        Ok(response) => drop(render(&response)),
        Err(error) => {
            assert!(error.kind != ErrorKind::InternalServerError, "{text}");
            assert_eq!(render_error(&error).status, 400);
        }
    }
}

type Source<'a> = Unstructured<'a>;

/// Mostly few; now and then as many as a bound, or far more.
fn count(source: &mut Source<'_>) -> Result<usize> {
    Ok(match source.int_in_range(0..=31)? {
        31 => *source.choose(&[100, 101, 300, 301, 3_160])?,
        few => few % 4,
    })
}

fn length(source: &mut Source<'_>) -> Result<usize> {
    Ok(match source.int_in_range(0..=15)? {
        15 => *source.choose(&[1024, 1025, 2048, 2049, 65_534, 65_535, 65_536, 200_000, 420_000])?,
        few => few % 5,
    })
}

fn text(source: &mut Source<'_>) -> Result<String> {
    let unit = *source.choose(&["a", "b", "\u{0}", "\u{e9}", "\u{ffff}"])?;
    Ok(unit.repeat(length(source)?))
}

fn name(source: &mut Source<'_>) -> Result<String> {
    Ok((*source.choose(&["pk", "sk", "g", "h", "a", "b", "l", "m", "", "size"])?).to_owned())
}

fn value(source: &mut Source<'_>, depth: usize) -> Result<Value> {
    // Few of many: otherwise values of values of values grow beyond what a request may be.
    let deepest = if source.ratio(1, 8)? { 34 } else { 3 };
    let kind = source.int_in_range(0..=if depth > deepest { 5 } else { 11 })?;
    Ok(match kind {
        0..=2 => json!({"S": text(source)?}),
        3 => json!({"N": source.choose(&["0", "-1", "1e125", "9.99e-130", "1e126", "x", "12345678901234567890123456789012345678"])?}),
        4 => json!({"B": *source.choose(&["", "AA==", "AAAA", "/w==", "A"])?}),
        5 => source.choose(&[json!({"BOOL": true}), json!({"NULL": true}), json!({"NULL": false}), json!({})])?.clone(),
        6 => json!({"SS": texts(source)?}),
        7 => json!({"NS": source.choose(&[json!(["1", "2"]), json!(["1", "1.0"]), json!([])])?}),
        8 | 9 => {
            let element = value(source, depth + 1)?;
            let elements = if depth == 0 { count(source)? } else { 1 };
            json!({"L": repeated(element, elements)})
        }
        _ => json!({"M": values(source, depth + 1)?}),
    })
}

fn texts(source: &mut Source<'_>) -> Result<Vec<String>> {
    let members = count(source)?;
    let text = if members <= 4 { text(source)? } else { String::new() };
    Ok((0..members).map(|member| format!("{member}{text}")).collect())
}

fn values(source: &mut Source<'_>, depth: usize) -> Result<Value> {
    let mut members = Map::new();
    let most = if depth == 0 { count(source)? } else { source.int_in_range(0..=2)? };
    for number in 0..most {
        let name = if number < 3 { name(source)? } else { format!("n{number}") };
        // What follows the third is small, or a request of many members would be of no use.
        let member = if number < 3 { value(source, depth)? } else { json!({"NULL": true}) };
        members.insert(name, member);
    }
    Ok(Value::Object(members))
}

fn item(source: &mut Source<'_>) -> Result<Value> {
    let mut item = values(source, 0)?;
    item["pk"] = json!({"S": source.choose(&["a", "b"])?});
    item["sk"] = json!({"S": text(source)?});
    Ok(item)
}

fn condition(source: &mut Source<'_>) -> Result<Value> {
    let operator = source.choose(&[
        "EQ", "NE", "IN", "LE", "LT", "GE", "GT", "BETWEEN", "NOT_NULL", "NULL", "CONTAINS", "NOT_CONTAINS",
        "BEGINS_WITH",
    ])?;
    let operand = value(source, 0)?;
    let operands = if *operator == "BETWEEN" { 2 } else { count(source)? };
    Ok(json!({"ComparisonOperator": operator, "AttributeValueList": repeated(operand, operands)}))
}

/// Few of any value, many of a small one: a body may have 16 MB.
fn repeated(value: Value, count: usize) -> Vec<Value> {
    if count <= 4 { vec![value; count] } else { vec![json!({"N": "1"}); count] }
}

fn conditions(source: &mut Source<'_>) -> Result<Value> {
    let mut members = Map::new();
    for number in 0..count(source)? {
        let name = if number < 3 { name(source)? } else { format!("n{number}") };
        let condition = if number < 3 { condition(source)? } else { json!({"ComparisonOperator": "NULL"}) };
        members.insert(name, condition);
    }
    Ok(Value::Object(members))
}

fn expression(source: &mut Source<'_>) -> Result<String> {
    let units = [
        "a = :v", "contains(l, :v)", "size(a) > :v", "attribute_exists(m.a[0])", "NOT a = :w", "a BETWEEN :v AND :w",
        "begins_with(sk, :v)", "pk = :p", "a IN (:v, :w)", "#n = :v",
    ];
    let link = *source.choose(&[" AND ", " OR "])?;
    let units = (0..=count(source)?).map(|_| source.choose(&units).copied()).collect::<Result<Vec<_>>>()?;
    Ok(units.join(link))
}

fn update(source: &mut Source<'_>) -> Result<String> {
    let units = [
        "SET x = :v", "SET x = l, y = l", "SET x = list_append(l, l)", "SET l[7] = a", "REMOVE l[0], l[2]", "REMOVE m.a",
        "ADD n :v", "DELETE s :v", "SET x = if_not_exists(a, :v)", "SET x = n + :v", "SET #n = :v",
    ];
    let units = (0..=source.int_in_range(0..=1)?).map(|_| source.choose(&units).copied());
    Ok(units.collect::<Result<Vec<_>>>()?.join(" "))
}

fn statement(source: &mut Source<'_>) -> Result<String> {
    let clause = (*source.choose(&["pk = 'a'", "pk = 'a' AND sk = ?", "sk > ?", "pk IN ['a', 'b'] AND sk < ?", "contains(l, ?)"])?).to_owned();
    Ok(match source.int_in_range(0..=3)? {
        0 => format!("SELECT * FROM \"table\" WHERE {clause}"),
        1 => format!("UPDATE \"table\" SET x = l SET y = list_append(l, l) WHERE {clause}"),
        2 => format!("DELETE FROM \"table\" WHERE {clause}"),
        _ => "INSERT INTO \"table\" VALUE {'pk': 'a', 'sk': ?}".to_owned(),
    })
}

/// The members that a request may have besides what it is about.
fn extras(source: &mut Source<'_>, request: &mut Value) -> Result<()> {
    for _ in 0..source.int_in_range(0..=3)? {
        let (name, member) = match source.int_in_range(0..=10)? {
            0 => ("Expected", conditions(source)?),
            1 => ("ConditionalOperator", json!(source.choose(&["AND", "OR"])?)),
            2 => ("ConditionExpression", json!(expression(source)?)),
            3 => ("FilterExpression", json!(expression(source)?)),
            4 => ("ProjectionExpression", json!(source.choose(&["a, m.a, l[1], l[0]", "pk", "#n", "l[4294967294]"])?)),
            5 => ("AttributesToGet", json!(texts(source)?)),
            6 => ("IndexName", json!(source.choose(&["gsi", "lsi"])?)),
            7 => ("ExclusiveStartKey", item(source)?),
            8 => ("Limit", json!(source.int_in_range(0..=3)?)),
            9 => ("ReturnValues", json!(source.choose(&["ALL_OLD", "UPDATED_NEW", "ALL_NEW", "UPDATED_OLD"])?)),
            _ => ("Select", json!(source.choose(&["COUNT", "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES"])?)),
        };
        request[name] = member;
    }
    if source.ratio(3, 4)? {
        request["ExpressionAttributeValues"] =
            json!({":v": value(source, 0)?, ":w": value(source, 0)?, ":p": {"S": "a"}});
    }
    if source.ratio(1, 8)? {
        request["ExpressionAttributeNames"] = json!({"#n": name(source)?});
    }
    Ok(())
}

fn request(source: &mut Source<'_>) -> Result<(Operation, Value)> {
    let mut request = json!({"TableName": "table"});
    let operation = match source.int_in_range(0..=9)? {
        0 | 1 => {
            request["Item"] = item(source)?;
            Operation::PutItem
        }
        2 => {
            request["Key"] = json!({"pk": {"S": "a"}, "sk": value(source, 0)?});
            request["UpdateExpression"] = json!(update(source)?);
            Operation::UpdateItem
        }
        3 => {
            request["Key"] = json!({"pk": {"S": "a"}, "sk": {"S": "a"}});
            request["AttributeUpdates"] = json!({name(source)?: {
                "Action": source.choose(&["PUT", "ADD", "DELETE"])?, "Value": value(source, 0)?}});
            Operation::UpdateItem
        }
        4 => {
            request["KeyConditions"] = conditions(source)?;
            request["QueryFilter"] = conditions(source)?;
            Operation::Query
        }
        5 => {
            let range = source.choose(&["sk = :v", "sk < :v", "begins_with(sk, :v)", "sk BETWEEN :v AND :w", "h > :v"])?;
            request["KeyConditionExpression"] = json!(format!("pk = :p AND {range}"));
            Operation::Query
        }
        6 => {
            request["ScanFilter"] = conditions(source)?;
            Operation::Scan
        }
        7 => Operation::Scan,
        8 => {
            let body = json!({"Statement": statement(source)?, "Parameters": [value(source, 0)?]});
            return Ok((Operation::ExecuteStatement, body));
        }
        _ => {
            request["Key"] = json!({"pk": {"S": "a"}, "sk": value(source, 0)?});
            let mut check = request.clone();
            check["ConditionExpression"] = json!(expression(source)?);
            check["ExpressionAttributeValues"] = json!({":v": value(source, 0)?, ":w": value(source, 0)?});
            let put = json!({"Put": {"TableName": "table", "Item": item(source)?}});
            let body = json!({"TransactItems": [{"ConditionCheck": check}, put]});
            return Ok((Operation::TransactWriteItems, body));
        }
    };
    extras(source, &mut request)?;
    Ok((operation, request))
}

fuzz_target!(|data: &[u8]| {
    let mut source = Unstructured::new(data);
    for _ in 0..4 {
        let Ok((operation, body)) = request(&mut source) else { return };
        run(&DATABASE, operation, &body);
        if source.is_empty() {
            return;
        }
    }
});
