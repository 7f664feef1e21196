//! The calls of the API under the pages: what they return is what the commands print.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{call, call_with, last, read_until, send};
use crate::support::{Server, model_command};

fn start() -> Server {
    Server::start(&["--in-memory", "--studio-port", "0"])
}

fn done(server: &Server, name: &str, body: &Value) -> Value {
    let answer = call(server, name, body);
    assert_eq!(answer.status, 200, "{name}: {}", answer.body);
    let last = last(&answer);
    assert!(last.get("error").is_none(), "{name}: {last}");
    last["done"].clone()
}

fn examples(server: &Server) -> Vec<(String, bool, String)> {
    let list = call(server, "examples/list", &json!({})).json();
    let read = |example: &Value| {
        let name = example["name"].as_str().unwrap().to_owned();
        let text =
            call(server, "examples/read", &json!({"name": name})).json()["text"].as_str().unwrap().to_owned();
        (name, example["fails"] == true, text)
    };
    list["examples"].as_array().unwrap().iter().map(read).collect()
}

#[test]
fn every_example_gives_what_the_commands_print() {
    let server = start();
    let folder = tempfile::tempdir().unwrap();
    let all = examples(&server);
    assert_eq!(all.len(), 17);
    for (name, fails, text) in all {
        std::fs::write(folder.path().join(&name), &text).unwrap();
        let printed = |arguments: &[&str]| -> String {
            String::from_utf8(model_command(folder.path(), arguments).stdout).unwrap()
        };
        let json_of = |arguments: &[&str]| -> Value { serde_json::from_str(&printed(arguments)).unwrap() };
        let check = done(&server, "model/check", &json!({"text": text}));
        assert_eq!(check["passes"], !fails, "{name}");
        assert_eq!(check, json_of(&["check", &name, "--format", "json"]), "{name}");
        let cost = done(&server, "model/cost", &json!({"text": text}));
        assert_eq!(cost, json_of(&["cost", &name, "--format", "json"]), "{name}");
        let heat = done(&server, "model/heat", &json!({"text": text}));
        assert_eq!(heat, json_of(&["heat", &name, "--format", "json"]), "{name}");
        let views = done(&server, "model/view", &json!({"text": text}))["views"].clone();
        let names: Vec<&str> =
            views.as_array().unwrap().iter().map(|view| view["name"].as_str().unwrap()).collect();
        let arguments: Vec<&str> = ["show", &name].into_iter().chain(names.iter().copied()).collect();
        let shown = printed(&arguments);
        for text in views.as_array().unwrap().iter().flat_map(words) {
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                assert!(shown.contains(line), "{name}: `{line}` is not in what show prints");
            }
        }
    }
}

/// Every text of a view.
fn words(view: &Value) -> Vec<String> {
    match view {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !["name", "about", "mermaid"].contains(&name.as_str()))
            .flat_map(|(_, value)| words(value))
            .collect(),
        Value::Array(elements) => elements.iter().flat_map(words).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

#[test]
fn collections_mark_what_the_pattern_report_says() {
    let server = start();
    let of = |name: &str, pattern: &str| {
        let text = call(&server, "examples/read", &json!({"name": name})).json()["text"].clone();
        done(&server, "model/collections", &json!({"text": text, "pattern": pattern}))
    };
    let shop = of("ecommerce.yaml", "P6");
    let (items, places) = (shop["items"].as_array().unwrap(), shop["places"].as_array().unwrap());
    assert_eq!(places.len(), 3, "the table and two indexes");
    assert_eq!((&shop["pattern"]["index"], &shop["pattern"]["order"]), (&json!("GSI1"), &json!("ascending")));
    let own = places.iter().find(|place| place["index"] == "GSI1").unwrap();
    let listed: Vec<&Value> = own["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|own| own["items"].as_array().unwrap())
        .collect();
    for item in shop["pattern"]["returned"].as_array().unwrap() {
        assert!(listed.contains(&item), "what it returned is in its index");
        assert!(items[usize::try_from(item.as_u64().unwrap()).unwrap()]["item"].is_object());
    }
    let filtered = of("building-blocks.yaml", "P4");
    let count = |name: &str| filtered["pattern"][name].as_array().unwrap().len();
    assert!(filtered["pattern"]["filter"].is_string(), "{}", filtered["pattern"]);
    assert_eq!(json!(count("returned")), filtered["pattern"]["itemsReturned"]);
    assert!(count("read") > count("returned"), "the filter leaves items out");
}

#[test]
fn a_write_pattern_shows_the_places_that_its_items_enter_and_leave() {
    let server = start();
    let mut seen = std::collections::BTreeSet::new();
    for (name, _, text) in examples(&server) {
        let all = done(&server, "model/collections", &json!({"text": text}));
        for pattern in all["patterns"].as_array().unwrap() {
            let body = json!({"text": text, "pattern": pattern["id"]});
            let own = done(&server, "model/collections", &body)["pattern"].clone();
            let Some(changes) = own["changes"].as_array() else { continue };
            for change in changes {
                let what = change["what"].as_str().unwrap();
                for place in change["places"].as_array().unwrap() {
                    let moved = place["what"].as_str().unwrap();
                    seen.insert(moved.to_owned());
                    match what {
                        "put" => assert_eq!(moved, "entered", "{name} {pattern}"),
                        "deleted" => assert_eq!(moved, "left", "{name} {pattern}"),
                        _ => {}
                    }
                }
            }
        }
    }
    for what in ["entered", "left", "moved", "rewritten", "stayed"] {
        assert!(seen.contains(what), "no example shows {what}: {seen:?}");
    }
}

#[test]
fn a_cancelled_creation_leaves_no_tables() {
    let server = start();
    let text = "format: 1
model: many
tables:
  Many: {key: {pk: S, sk: S}}
entities:
  Thing: {count: 16000, key: {pk: 'P#{group}', sk: 'T#{thing}'}, attrs: {group: {type: S, distinct: 4}, thing: S}}
patterns:
  - {id: P1, query: Thing, given: {group: eq}, rate: 1}
data:
  generate: {seed: 1, sample: 16000}
";
    let tables = || call(&server, "dynamodb/ListTables", &json!({})).json()["TableNames"].clone();
    let mut stream = send(&server, "model/create", &json!({"text": text, "items": true}));
    // Leaves as soon as items are put, which is after the table was made.
    let said = read_until(&mut stream, "putting items into Many");
    assert!(!said.contains("\"done\":{"), "{said}");
    drop(stream);
    // Half a minute at most.
    let are_gone = (0..1500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        tables() == json!([])
    });
    assert!(are_gone, "{}", tables());
}

#[test]
fn plain_json_that_keeps_types_comes_back_with_its_lines() {
    let server = start();
    let keys = json!([{"name": "id", "type": "S"}]);
    let item = json!({"id": {"S": "a"}, "n": {"N": "12345678901234567890123456789012345678"}, "set": {"NS": ["1", "2"]},
        "bytes": {"B": "AAEC"}, "like": {"M": {"S": {"S": "x"}}}, "empty": {"S": ""}});
    let request = json!({"form": "kept", "keys": keys, "items": [item, item]});
    let text = call(&server, "items/write", &request).json()["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("{\"id\":\"a\",") && text.ends_with("}\n"), "{text}");
    let faulty = format!("{text}\n{{\"id\": \n{{\"id\":{{\"N\":\"x\"}}}}\n");
    let read = call(&server, "items/read", &json!({"form": "kept", "keys": keys, "text": faulty})).json();
    assert_eq!(read["items"], json!([{"line": 1, "item": item}, {"line": 2, "item": item}]));
    let lines: Vec<_> =
        read["faults"].as_array().unwrap().iter().map(|fault| fault["line"].clone()).collect();
    assert_eq!(lines, [json!(4), json!(5)]);
}

#[test]
fn a_model_becomes_tables_and_items_and_comes_back() {
    let server = start();
    let text = call(&server, "examples/read", &json!({"name": "orders.yaml"})).json()["text"].clone();
    let made = done(&server, "model/create", &json!({"text": text, "items": true}));
    assert!(made["items"].as_u64().unwrap() > 3, "{made}");
    let table = made["tables"][0].as_str().unwrap();
    let scanned = call(&server, "dynamodb/Scan", &json!({"TableName": table})).json();
    assert_eq!(scanned["Count"], made["items"]);
    let again = last(&call(&server, "model/create", &json!({"text": text, "items": true})));
    assert_eq!((&again["error"]["kind"], &again["error"]["existing"]), (&json!("faults"), &json!([table])));
    let elsewhere =
        call_with(&server, "dynamodb/ListTables", &[("x-keywright-region", "eu-west-1")], &json!({}));
    assert_eq!(elsewhere.json(), json!({"TableNames": []}), "the place of the call alone");
    let live = call(&server, "models/import", &json!({"live": {"tables": null}})).json();
    assert_eq!(live["source"], "live");
    let diff = json!({"before": {"text": text}, "after": {"live": {}}});
    assert!(done(&server, "model/diff", &diff)["difference"]["changes"].is_array());
    for target in ["workbench", "create-table", "cli", "cloudformation", "cloudformation-json"] {
        let exported = call(&server, "models/export", &json!({"text": text, "target": target})).json();
        assert!(exported["text"].as_str().unwrap().contains(table), "{target}");
        if target == "workbench" {
            let back = call(&server, "models/import", &json!({"text": exported["text"]})).json();
            assert_eq!(back["source"], "workbench", "{back}");
        }
    }
    let template = "Parameters: {Stage: {Type: String}}\nResources:\n  Log: {Type: \"AWS::Serverless::SimpleTable\", Properties: {TableName: !Sub \"log-${Stage}\"}}\n";
    for (parameters, name) in [(json!({"Stage": "prod"}), "log-prod:"), (Value::Null, "  log:")] {
        let body = json!({"text": template, "parameters": parameters});
        let made = call(&server, "models/import", &body).json();
        assert!(made["text"].as_str().is_some_and(|text| text.contains(name)), "{made}");
    }
    let items = &scanned["Items"];
    let named =
        call(&server, "items/entities", &json!({"table": table, "items": items, "model": text})).json();
    assert_eq!(named["guessed"], false);
    assert!(named["names"].as_array().unwrap().iter().all(Value::is_string), "{named}");
    let guessed = call(&server, "items/entities", &json!({"table": table, "items": items})).json();
    assert_eq!(guessed["guessed"], true);
}

#[test]
fn a_design_is_a_model_that_passes() {
    let server = start();
    let text = call(&server, "examples/read", &json!({"name": "orders.yaml"})).json()["text"].clone();
    let design = done(&server, "model/design", &json!({"text": text, "explain": true}));
    assert_eq!((&design["agrees"], &design["fault"]), (&json!(true), &Value::Null), "{}", design["trial"]);
    let check = done(&server, "model/check", &json!({"text": design["model"]}));
    assert_eq!(check["passes"], true);
}

#[test]
fn faults_have_their_places() {
    let server = start();
    let broken = "format: 1\nmodel: x\ntables:\n  Tab:\n    key: {pk: S}\n    kye: 1\n";
    let parsed = call(&server, "model/parse", &json!({"text": broken})).json();
    assert_eq!(parsed["faults"][0]["line"], 6, "{parsed}");
    let checked = last(&call(&server, "model/check", &json!({"text": broken})));
    assert_eq!(checked["error"]["faults"][0]["line"], 6, "{checked}");
    let plain = call(&server, "item/plain", &json!({"plain": "{\n \"a\": tru }"}));
    assert_eq!((plain.status, &plain.json()["error"]["faults"][0]["line"]), (422, &json!(2)));
    let long = call(&server, "model/parse", &json!({"text": " ".repeat(2 << 20)}));
    assert_eq!((long.status, long.kind().as_str()), (413, "too-large"));
    let nothing = call(&server, "no/such/call", &json!({}));
    assert_eq!((nothing.status, nothing.kind().as_str()), (404, "not-found"));
}

#[test]
fn a_save_over_a_changed_file_is_refused_with_both_texts() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    let server = Server::start(&["--in-memory", "--studio-port", "0", "--models", models.to_str().unwrap()]);
    let write = |body: Value| call(&server, "models/write", &body);
    let first = write(json!({"name": "shop.yaml", "text": "one", "hash": null})).json();
    std::fs::write(models.join("shop.yaml"), "by an editor").unwrap();
    let refused = write(json!({"name": "shop.yaml", "text": "two", "hash": first["hash"]}));
    assert_eq!((refused.status, refused.kind().as_str()), (409, "changed"));
    let theirs = &refused.json()["error"]["theirs"];
    assert_eq!(theirs["text"], "by an editor");
    assert_eq!(std::fs::read_to_string(models.join("shop.yaml")).unwrap(), "by an editor");
    let saved = write(json!({"name": "shop.yaml", "text": "two", "hash": theirs["hash"]}));
    assert_eq!(saved.status, 200, "{}", saved.body);
    let list = call(&server, "models/list", &json!({})).json();
    assert_eq!(list["models"][0]["name"], "shop.yaml");
    assert_eq!(write(json!({"name": "../evil.yaml", "text": "", "hash": null})).status, 422);
}

#[test]
fn items_go_through_plain_json_and_lines_unchanged() {
    let server = start();
    let digits = "12345678901234567890123456789012345678";
    let typed = json!({
        "pk": {"S": ""}, "n": {"N": digits}, "small": {"N": "0.0000000001"},
        "like": {"M": {"S": {"S": "x"}}}, "ss": {"SS": ["a"]}, "b": {"B": "AAE="}, "l": {"L": [{"NULL": true}]},
    });
    let plain = call(&server, "item/plain", &json!({"typed": typed})).json();
    let text = plain["plain"].as_str().unwrap();
    assert!(text.contains(digits), "{text}");
    let back = call(&server, "item/plain", &json!({"plain": text})).json();
    assert_eq!(back["typed"], typed);
    let keys = json!([{"name": "pk", "type": "S"}]);
    for form in ["dynamodb", "csv"] {
        let body = json!({"items": [typed, typed], "form": form, "keys": keys, "header": true});
        let written = call(&server, "items/write", &body).json();
        let body = json!({"text": written["text"], "form": form, "keys": keys});
        let read = call(&server, "items/read", &body).json();
        assert_eq!(
            (&read["items"][1]["item"], &read["faultsCount"]),
            (&typed, &json!(0)),
            "{form}: {written}"
        );
    }
    let faulty = call(
        &server,
        "items/read",
        &json!({"text": "{\"pk\":{\"S\":\"a\"}}\nnonsense\n", "form": "dynamodb", "keys": keys}),
    )
    .json();
    assert_eq!((&faulty["items"][0]["line"], &faulty["faults"][0]["line"]), (&json!(1), &json!(2)));
}

#[test]
fn what_a_save_takes_is_what_the_database_then_meters_indexes_included() {
    let server = start();
    let key = |name: &str| json!({"AttributeName": name, "KeyType": "HASH"});
    let index = |name: &str, own: &str| json!({"IndexName": name, "KeySchema": [key(own)], "Projection": {"ProjectionType": "ALL"}});
    let database =
        |operation: &str, body: Value| call(&server, &format!("dynamodb/{operation}"), &body).json();
    let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let made = json!({"TableName": "Shop", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [key("id")],
        "AttributeDefinitions": [text("id"), text("kind"), text("owner")],
        "GlobalSecondaryIndexes": [index("byKind", "kind"), index("byOwner", "owner")]});
    database("CreateTable", made);
    let before = json!({"id": {"S": "a"}, "kind": {"S": "book"}, "pad": {"S": "x".repeat(1500)}});
    let id = json!({"id": {"S": "a"}});
    let put = json!({"TableName": "Shop", "Item": before, "ConditionExpression": "attribute_not_exists(id)", "ReturnConsumedCapacity": "INDEXES"});
    // Its own entry moves in one index, and it enters the other.
    let update = json!({"TableName": "Shop", "Key": id, "UpdateExpression": "SET kind = :k, #o = :k", "ExpressionAttributeNames": {"#o": "owner"},
        "ExpressionAttributeValues": {":k": {"S": "film"}}, "ReturnConsumedCapacity": "INDEXES"});
    let delete = json!({"Delete": {"TableName": "Shop", "Key": id}});
    let delete = json!({"TransactItems": [delete], "ReturnConsumedCapacity": "INDEXES"});
    let mut was = Value::Null;
    for (operation, body) in [("PutItem", put), ("UpdateItem", update), ("TransactWriteItems", delete)] {
        let said = call(
            &server,
            "item/cost",
            &json!({"table": "Shop", "before": was, "key": id, "operation": operation, "body": body}),
        )
        .json();
        let written = database(operation, body);
        assert!(
            written["ConsumedCapacity"].is_array() || written["ConsumedCapacity"].is_object(),
            "{operation}: {written}"
        );
        assert_eq!(said["ConsumedCapacity"], written["ConsumedCapacity"], "{operation}: {said}");
        was = database("GetItem", json!({"TableName": "Shop", "Key": id}))["Item"].clone();
        assert_eq!(said["readUnits"], json!(0.5));
    }
    let refused =
        call(&server, "item/cost", &json!({"table": "Shop", "key": id, "operation": "Scan", "body": {}}));
    assert_eq!(refused.status, 422, "{}", refused.body);
}

#[test]
fn replicas_and_the_simulation_are_reached_from_the_pages_and_every_answer_says_that_it_acts() {
    let server = Server::start(&["--in-memory", "--studio-port", "0", "--simulate"]);
    let place = [("x-keywright-region", "eu-west-1")];
    let database = |operation: &str, more: &[(&str, &str)], body: &Value| {
        let answer = call_with(&server, &format!("dynamodb/{operation}"), more, body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
        answer.json()
    };
    let table = json!({
        "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    });
    database("CreateTable", &[], &table);
    let add = json!({"TableName": "Tab", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]});
    database("UpdateTable", &[], &add);
    let is_active = |_| {
        std::thread::sleep(Duration::from_millis(10));
        let answer = call_with(&server, "dynamodb/DescribeTable", &place, &json!({"TableName": "Tab"}));
        answer.status == 200 && answer.json()["Table"]["TableStatus"] == "ACTIVE"
    };
    assert!((0..1_000).any(is_active), "the replica is active");
    assert_eq!(call(&server, "state", &json!({})).json()["simulation"], "on");
    let simulate = |name: &str, body: &Value| call(&server, &format!("simulation/{name}"), body);
    assert_eq!(simulate("show", &json!({})).header("x-keywright-simulated"), None);
    let step = json!({"tables": [{"table": "Tab", "step": true}]});
    let answer = simulate("replace", &step);
    assert_eq!((answer.status, answer.header("x-keywright-simulated")), (200, Some("true")));
    assert_eq!(call(&server, "models/list", &json!({})).header("x-keywright-simulated"), Some("true"));

    let item = json!({"k": {"S": "a"}, "n": {"N": "1"}});
    database("PutItem", &[], &json!({"TableName": "Tab", "Item": item}));
    let found = |more: &[(&str, &str)]| {
        let question = json!({"item": {"table": "Tab", "key": {"k": {"S": "a"}}}});
        call_with(&server, "keywright/global-tables", more, &question).json()
    };
    assert_eq!((&found(&[])["item"], &found(&[])["version"]["region"]), (&item, &json!("us-east-1")));
    assert_eq!((&found(&place)["item"], &found(&place)["version"]), (&Value::Null, &Value::Null));
    let status = call(&server, "keywright/global-tables", &json!({"table": "Tab"})).json();
    assert_eq!(status["tables"][0]["replicas"][0]["backlog"], 1, "{status}");
    let route = json!({"table": "Tab", "from": "us-east-1", "to": "eu-west-1"});
    assert_eq!(simulate("deliver", &route).json(), json!({"delivered": 1}));
    assert_eq!(found(&place), {
        let mut same = found(&[]);
        same["region"] = json!("eu-west-1");
        same
    });
    let wrong = simulate("replace", &json!({"links": [{"from": "a", "to": "a"}]}));
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("write two regions"), "{}", wrong.body);
    assert_eq!(simulate("none", &json!({})).status, 404);
    let answer = simulate("end", &json!({}));
    assert_eq!((answer.status, answer.header("x-keywright-simulated")), (200, None));

    let plain = start();
    assert_eq!(call(&plain, "state", &json!({})).json()["simulation"], "off");
    assert_eq!(call(&plain, "simulation/show", &json!({})).status, 404);
}

#[test]
fn a_simulation_too_long_for_the_page_is_sent_to_the_command() {
    let server = start();
    let model = include_str!("../../../../examples/models/orders.yaml");
    let profile = "start: 2026-11-27T17:00:00Z\nlength: 28d\n";
    let answer = last(&call(&server, "model/simulate", &json!({"text": model, "profile": profile})));
    assert_eq!(answer["error"]["kind"], "too-large", "{answer}");
    assert!(answer["error"]["text"].as_str().is_some_and(|text| text.contains("keywright simulate")));
}

#[test]
fn triggers_and_destinations_are_those_of_the_place_of_the_call() {
    let server =
        Server::start(&["--in-memory", "--studio-port", "0", "--trigger-hosts", "http://127.0.0.1:9"]);
    let database = |operation: &str, body: &Value| {
        let answer = call(&server, &format!("dynamodb/{operation}"), body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
        answer.json()
    };
    let made = database(
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
    );
    let stream = &made["TableDescription"]["LatestStreamArn"];
    let mapping = |target: &str| {
        let body = json!({"EventSourceArn": stream, "FunctionName": target, "StartingPosition": "LATEST"});
        call(&server, "event-sources/POST", &body)
    };
    let refused = mapping("http://127.0.0.1:10/");
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("trigger-hosts"), "{}", refused.body);
    let trigger = mapping("http://127.0.0.1:9/").json();
    let uuid = trigger["UUID"].as_str().unwrap();
    let kinesis = "arn:aws:kinesis:us-east-1:123456789012:stream/changes";
    database("EnableKinesisStreamingDestination", &json!({"TableName": "Orders", "StreamArn": kinesis}));

    let triggers = call(&server, "keywright/triggers", &json!({})).json()["triggers"].clone();
    assert_eq!((&triggers[0]["id"], &triggers[0]["table"]), (&json!(uuid), &json!("Orders")), "{triggers}");
    let found = call(&server, "keywright/destinations", &json!({})).json()["destinations"].clone();
    assert_eq!((&found[0]["table"], &found[0]["stream"]), (&json!("Orders"), &json!(kinesis)), "{found}");

    let elsewhere = [("x-keywright-region", "eu-west-1")];
    for name in ["triggers", "destinations"] {
        let answer = call_with(&server, &format!("keywright/{name}"), &elsewhere, &json!({})).json();
        assert_eq!(answer[name], json!([]), "{name}");
    }
    let disabled = json!({"Enabled": false});
    let line = format!("event-sources/PUT/{uuid}");
    assert_eq!(call_with(&server, &line, &elsewhere, &disabled).status, 404);
    let answer = call(&server, &line, &disabled);
    assert_eq!(answer.status, 202, "{}", answer.body);
    let errors = call(&server, "keywright/import-errors", &json!({"arn": "none"}));
    assert_eq!(errors.status, 400, "{}", errors.body);
}

#[test]
fn history_jobs_and_backups_are_those_of_the_place_of_the_call() {
    let server = start();
    let database = |operation: &str, body: &Value| {
        let answer = call(&server, &format!("dynamodb/{operation}"), body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
        answer.json()
    };
    database(
        "CreateTable",
        &json!({"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
    );
    let span = |table: &str| call(&server, "history/span", &json!({"table": table}));
    assert_eq!(span("Orders").json()["span"], Value::Null, "no history is kept");
    assert_eq!((span("None").status, span("None").kind()), (404, "not-found".to_owned()));
    let enabled = json!({"PointInTimeRecoveryEnabled": true});
    database(
        "UpdateContinuousBackups",
        &json!({"TableName": "Orders", "PointInTimeRecoverySpecification": enabled}),
    );
    for total in ["1", "12345678901234567890123456789012345678"] {
        database(
            "PutItem",
            &json!({"TableName": "Orders", "Item": {"pk": {"S": "a"}, "total": {"N": total}}}),
        );
    }
    let own = span("Orders").json()["span"].clone();
    assert!(own["earliestMs"].as_u64() <= own["latestMs"].as_u64(), "{own}");
    let question = json!({"table": "Orders", "key": {"pk": {"S": "a"}}});
    let history = call(&server, "keywright/history", &question).json();
    let totals: Vec<&Value> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| &version["item"]["total"]["N"])
        .collect();
    assert_eq!(totals, [&json!("12345678901234567890123456789012345678"), &json!("1"), &Value::Null]);

    database("CreateBackup", &json!({"TableName": "Orders", "BackupName": "first"}));
    let backup = call(&server, "keywright/backups", &json!({})).json()["backups"][0].clone();
    assert_eq!((&backup["table"], &backup["items"]), (&json!("Orders"), &json!(1)), "{backup}");
    let target =
        json!({"SourceTableName": "Orders", "TargetTableName": "Again", "UseLatestRestorableTime": true});
    database("RestoreTableToPointInTime", &target);
    let jobs = |place: &[(&str, &str)]| {
        let answer = call_with(&server, "keywright/jobs", place, &json!({"limit": 10})).json();
        let listed = answer["jobs"].as_array().unwrap().clone();
        listed.into_iter().find(|job| job["kind"] == "restore")
    };
    assert_eq!(jobs(&[]).unwrap()["table"], "Again");

    let elsewhere = [("x-keywright-region", "eu-west-1")];
    assert_eq!(jobs(&elsewhere), None);
    let known = call_with(&server, "keywright/backups", &elsewhere, &json!({})).json();
    assert_eq!(known["backups"], json!([]));
    let answer = call_with(&server, "keywright/history", &elsewhere, &question);
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(call(&server, "keywright/none", &json!({})).status, 404);
}
