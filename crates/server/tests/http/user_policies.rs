//! Policies of users as they judge requests over HTTP: statements of PartiQL, streams, the order of faults,
//! limits by table, operation, key and attribute.

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::management::{get_as, sample};
use crate::support::raw::Connection;
use crate::support::signed::{ACCOUNT, REGION, Scene, Signed, allowing, form};

const STATEMENTS: [&str; 4] =
    ["dynamodb:PartiQLSelect", "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate", "dynamodb:PartiQLDelete"];

fn statement(text: &str) -> Value {
    json!({"Statement": text})
}

/// Items under the user's own name.
fn own_items() -> Value {
    json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]},
           "Null": {"dynamodb:LeadingKeys": "false"}})
}

/// Executes each statement as the user, and says which are denied.
fn judge_each(scene: &mut Scene, statements: &[(&str, bool)]) {
    for (text, is_allowed) in statements {
        let denied = scene.is_denied("ExecuteStatement", &statement(text));
        assert_eq!(denied, !is_allowed, "{text}");
    }
}

#[test]
fn statements_are_judged_by_the_partitions_that_they_address() {
    let mut scene = Scene::new(&[]);
    scene.allow(&json!([allowing(&STATEMENTS, own_items())]));
    judge_each(
        &mut scene,
        &[
            ("INSERT INTO Tab VALUE {'pk': 'Ann', 'sk': 'a', 'g': 'Ann'}", true),
            ("INSERT INTO Tab VALUE {'pk': 'Ben', 'sk': 'a'}", false),
            ("SELECT * FROM Tab WHERE pk = 'Ann'", true),
            ("SELECT * FROM Tab WHERE 'Ann' = pk AND x = 1", true),
            ("SELECT * FROM Tab WHERE pk IN ['Ann']", true),
            ("SELECT * FROM Tab WHERE pk IN ['Ann', 'Ben']", false),
            ("SELECT * FROM Tab WHERE pk = 'Ann' OR pk = 'Ben'", false),
            ("SELECT * FROM Tab WHERE pk = 'Ann' OR x = 1", false),
            ("SELECT * FROM Tab WHERE NOT pk = 'Ben'", false),
            ("SELECT * FROM Tab", false),
            // The index is of another partition key.
            ("SELECT * FROM Tab.gsi WHERE pk = 'Ann'", false),
            ("SELECT * FROM Tab.gsi WHERE g = 'Ann'", true),
            ("SELECT * FROM Tab.gsi WHERE g = 'Ben' AND pk = 'Ann'", false),
            ("UPDATE Tab SET x = 2 WHERE pk = 'Ann' AND sk = 'a'", true),
            ("UPDATE Tab SET x = 2 WHERE pk = 'Ben' AND sk = 'a'", false),
            ("DELETE FROM Tab WHERE pk = 'Ben' AND sk = 'a'", false),
            ("DELETE FROM Tab WHERE pk = 'Ann' AND sk = 'a'", true),
            ("SELECT * FROM Missing WHERE pk = 'Ann'", false),
        ],
    );
    // With parameters, as clients send them.
    let by = |name: &str| json!({"Statement": "SELECT * FROM Tab WHERE pk = ?", "Parameters": [{"S": name}]});
    assert!(!scene.is_denied("ExecuteStatement", &by("Ann")));
    assert_eq!(
        scene.denied("ExecuteStatement", &by("Ben")),
        format!(
            "User: arn:aws:iam::{ACCOUNT}:user/Ann is not authorized to perform: dynamodb:PartiQLSelect on \
             resource: arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab because no identity-based policy allows \
             the dynamodb:PartiQLSelect action"
        )
    );
}

#[test]
fn statements_are_judged_by_their_attributes_selection_returned_values_and_scans() {
    let mut scene = Scene::new(&[]);
    let fine = json!({
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "sk", "open"]},
        "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES",
            "dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]},
    });
    scene.allow(&json!([allowing(&STATEMENTS, fine)]));
    judge_each(
        &mut scene,
        &[
            ("INSERT INTO Tab VALUE {'pk': 'a', 'sk': 'a', 'open': 1}", true),
            ("INSERT INTO Tab VALUE {'pk': 'a', 'sk': 'b', 'secret': 1}", false),
            ("SELECT open FROM Tab WHERE pk = 'a'", true),
            ("SELECT open.x FROM Tab WHERE pk = 'a' AND sk > 'a' ORDER BY sk DESC", true),
            ("SELECT * FROM Tab WHERE pk = 'a'", false),
            ("SELECT secret.x FROM Tab WHERE pk = 'a'", false),
            ("SELECT open FROM Tab WHERE pk = 'a' AND secret.x = 1", false),
            ("SELECT open FROM Tab WHERE pk = 'a' AND size(secret) > 1", false),
            ("SELECT open FROM Tab.gsi WHERE g = 'a'", false),
            ("UPDATE Tab SET open = 2 WHERE pk = 'a' AND sk = 'a'", true),
            ("UPDATE Tab SET open = secret WHERE pk = 'a' AND sk = 'a'", false),
            ("UPDATE Tab REMOVE secret WHERE pk = 'a' AND sk = 'a'", false),
            ("UPDATE Tab SET open = 2 WHERE pk = 'a' AND sk = 'a' AND secret = 1", false),
            ("UPDATE Tab SET open = 2 WHERE pk = 'a' AND sk = 'a' RETURNING MODIFIED NEW *", true),
            ("UPDATE Tab SET open = 2 WHERE pk = 'a' AND sk = 'a' RETURNING ALL NEW *", false),
            ("DELETE FROM Tab WHERE pk = 'a' AND sk = 'a' RETURNING ALL OLD *", false),
            ("DELETE FROM Tab WHERE pk = 'a' AND sk = 'a'", true),
        ],
    );
    let scans = json!([
        allowing(&STATEMENTS, Value::Null),
        {"Effect": "Deny", "Action": "dynamodb:PartiQLSelect", "Resource": "*",
         "Condition": {"Bool": {"dynamodb:FullTableScan": "true"}}},
    ]);
    scene.allow(&scans);
    judge_each(
        &mut scene,
        &[
            ("SELECT * FROM Tab", false),
            ("SELECT * FROM Tab WHERE x = 1", false),
            ("SELECT * FROM Tab WHERE pk = 'a' OR x = 1", false),
            ("SELECT * FROM Tab WHERE pk = 'a'", true),
            ("SELECT * FROM Tab WHERE pk IN ['a', 'b']", true),
            ("SELECT * FROM Tab.gsi", false),
            ("DELETE FROM Tab WHERE pk = 'a' AND sk = 'a'", true),
        ],
    );
    let text = scene.denied("ExecuteStatement", &statement("SELECT * FROM Tab"));
    assert!(text.ends_with("table/Tab with an explicit deny in an identity-based policy"), "{text}");
}

/// Members of a request in addition to others.
fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn place(sort_key: &str) -> Value {
    json!({"pk": {"S": "a"}, "sk": {"S": sort_key}})
}

/// Reads that mention this attribute, each in another place.
fn reads_naming(name: &str) -> Vec<(&'static str, Value)> {
    let (key, renamed) = (place("a"), json!({"#n": name}));
    let text = json!({"S": "a"});
    let legacy = |operator: &str| json!({name: {"ComparisonOperator": operator}});
    let get = |more: Value| with(json!({"TableName": "Tab", "Key": key}), &more);
    let batch = |more: Value| json!({"RequestItems": {"Tab": with(json!({"Keys": [key]}), &more)}});
    let query = |more: Value| {
        let body = json!({"TableName": "Tab", "KeyConditionExpression": "pk = :k",
            "ExpressionAttributeValues": {":k": text}});
        ("Query", with(body, &more))
    };
    let of_index = json!({"TableName": "Tab", "IndexName": "gsi", "KeyConditionExpression": "g = :k",
        "ExpressionAttributeValues": {":k": text}, "FilterExpression": format!("{name} = :k")});
    let conditions = json!({"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [text]}});
    let legacy_query =
        |more: Value| ("Query", with(json!({"TableName": "Tab", "KeyConditions": conditions}), &more));
    let scan = |more: Value| ("Scan", with(json!({"TableName": "Tab"}), &more));
    let two = json!({"g": {"ComparisonOperator": "NOT_NULL"}, name: {"ComparisonOperator": "NULL"}});
    vec![
        ("GetItem", get(json!({"ProjectionExpression": format!("pk, {name}.x[0]")}))),
        ("GetItem", get(json!({"ProjectionExpression": "#n", "ExpressionAttributeNames": renamed}))),
        ("GetItem", get(json!({"AttributesToGet": ["pk", name]}))),
        ("BatchGetItem", batch(json!({"ProjectionExpression": name}))),
        ("BatchGetItem", batch(json!({"AttributesToGet": [name]}))),
        ("TransactGetItems", json!({"TransactItems": [{"Get": get(json!({"ProjectionExpression": name}))}]})),
        query(json!({"ProjectionExpression": name})),
        query(json!({"FilterExpression": format!("{name} = :k")})),
        query(json!({"FilterExpression": format!("g = :k OR NOT contains(g, {name})")})),
        query(json!({"FilterExpression": "attribute_exists(#n.x)", "ExpressionAttributeNames": renamed})),
        ("Query", of_index),
        legacy_query(json!({"AttributesToGet": [name]})),
        legacy_query(json!({"QueryFilter": legacy("NULL")})),
        legacy_query(json!({"QueryFilter": two, "ConditionalOperator": "OR"})),
        scan(json!({"ProjectionExpression": name})),
        scan(json!({"AttributesToGet": [name]})),
        scan(json!({"FilterExpression": format!("size({name}) > :n"),
            "ExpressionAttributeValues": {":n": {"N": "1"}}})),
        scan(json!({"ScanFilter": legacy("NOT_NULL")})),
        scan(json!({"IndexName": "gsi", "ScanFilter": two, "ConditionalOperator": "AND"})),
    ]
}

/// Writes of one item that mention this attribute, each in another place. Done one after the other, all
/// conditions hold.
fn writes_naming(name: &str) -> Vec<(&'static str, Value)> {
    let key = place("w");
    let item = with(key.clone(), &json!({name: {"S": "v"}}));
    let of = |member: &str, more: Value| with(json!({"TableName": "Tab", member: key}), &more);
    let absent = || json!({"ConditionExpression": format!("attribute_not_exists({name}.x)")});
    let expected = || json!({"Expected": {name: {"Exists": false}}});
    let two = json!({"g": {"ComparisonOperator": "NULL"}, name: {"ComparisonOperator": "NULL"}});
    let update = |expression: &str| {
        let mut body = of("Key", json!({"UpdateExpression": expression.replace("ATTRIBUTE", name)}));
        let all = [(":v", json!({"S": "v"})), (":n", json!({"N": "1"})), (":s", json!({"SS": ["v"]}))];
        for (placeholder, value) in
            all.into_iter().filter(|(placeholder, _)| expression.contains(placeholder))
        {
            body["ExpressionAttributeValues"][placeholder] = value;
        }
        body
    };
    let legacy = |action: Value| of("Key", json!({"AttributeUpdates": {name: action}}));
    let transaction =
        |member: &str, body: Value| ("TransactWriteItems", json!({"TransactItems": [{member: body}]}));
    vec![
        ("PutItem", json!({"TableName": "Tab", "Item": item})),
        ("PutItem", of("Item", absent())),
        ("PutItem", of("Item", expected())),
        ("PutItem", of("Item", json!({"Expected": two, "ConditionalOperator": "OR"}))),
        ("UpdateItem", of("Key", expected())),
        ("UpdateItem", with(update("SET g = :v"), &absent())),
        ("UpdateItem", update("SET g = if_not_exists(ATTRIBUTE, :v)")),
        ("UpdateItem", update("ADD ATTRIBUTE :s")),
        ("UpdateItem", update("DELETE ATTRIBUTE :s")),
        ("UpdateItem", update("SET ATTRIBUTE = :n")),
        ("UpdateItem", update("SET note = ATTRIBUTE + :n")),
        ("UpdateItem", with(update("SET #n = :v"), &json!({"ExpressionAttributeNames": {"#n": name}}))),
        ("UpdateItem", update("REMOVE ATTRIBUTE")),
        ("UpdateItem", legacy(json!({"Action": "PUT", "Value": {"S": "v"}}))),
        ("UpdateItem", legacy(json!({"Action": "DELETE"}))),
        ("BatchWriteItem", json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": item}}]}})),
        transaction("Put", json!({"TableName": "Tab", "Item": item})),
        transaction("Put", of("Item", absent())),
        transaction("Update", update("SET ATTRIBUTE = :v")),
        transaction("Update", with(update("SET g = :v"), &absent())),
        transaction("ConditionCheck", of("Key", absent())),
        transaction("Delete", of("Key", absent())),
        ("DeleteItem", of("Key", absent())),
        ("DeleteItem", of("Key", expected())),
    ]
}

#[test]
fn requests_are_judged_by_every_attribute_that_they_mention_also_in_legacy_members() {
    let mut scene = Scene::new(&[]);
    let item = with(place("a"), &json!({"secret": {"S": "hidden"}, "g": {"S": "a"}}));
    scene.root.good("PutItem", &json!({"TableName": "Tab", "Item": item}));
    let only = json!({
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "sk", "g", "note"]},
        "Null": {"dynamodb:Attributes": "false"},
    });
    let deny = json!({"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": "secret"}}});
    let all = allowing(&["dynamodb:*"], Value::Null);
    for (policies, why) in [
        (json!([allowing(&["dynamodb:*"], only)]), "because no identity-based policy allows the"),
        (json!([all, deny]), "with an explicit deny in an identity-based policy"),
    ] {
        scene.allow(&policies);
        for requests in [reads_naming, writes_naming] {
            for ((operation, note), (_, secret)) in requests("note").iter().zip(&requests("secret")) {
                scene.ann.good(operation, note);
                let text = scene.denied(operation, secret);
                assert!(text.contains(why), "{operation} {secret}: {text}");
            }
        }
        // What an answer holds is not mentioned.
        let whole = json!({"TableName": "Tab", "Key": place("a")});
        assert_eq!(scene.ann.good("GetItem", &whole)["Item"]["secret"]["S"], "hidden");
    }
}

#[test]
fn a_right_can_hold_in_transactions_only_or_outside_of_them_only() {
    let mut scene = Scene::new(&[]);
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "a"}});
    let put = json!({"TableName": "Tab", "Item": item});
    let transact = json!({"TransactItems": [{"Put": put.clone()}]});
    let insert = |key: &str| format!("INSERT INTO Tab VALUE {{'pk': 'a', 'sk': '{key}'}}");
    let execute = |key: &str| json!({"TransactStatements": [{"Statement": insert(key)}]});
    let exists = "EXISTS(SELECT * FROM Tab WHERE pk = 'b' AND sk = 'b' AND x = 1)";
    let within = |operator: &str, operation: &str| {
        let actions = ["dynamodb:PutItem", "dynamodb:PartiQLInsert"];
        let enclosing = json!({operator: {"dynamodb:EnclosingOperation": operation}});
        json!([allowing(&actions, enclosing)])
    };
    for (policy, alone, transaction, statement_alone, statements) in [
        (within("StringEquals", "TransactWriteItems"), false, true, false, false),
        (within("StringEquals", "ExecuteTransaction"), false, false, false, true),
        (within("StringNotEquals", "TransactWriteItems"), true, false, true, true),
        (within("StringNotEquals", "ExecuteTransaction"), true, true, true, false),
    ] {
        scene.allow(&policy);
        assert_eq!(!scene.is_denied("PutItem", &put), alone, "{policy}");
        assert_eq!(!scene.is_denied("TransactWriteItems", &transact), transaction, "{policy}");
        assert_eq!(
            !scene.is_denied("ExecuteStatement", &statement(&insert("c"))),
            statement_alone,
            "{policy}"
        );
        assert_eq!(!scene.is_denied("ExecuteTransaction", &execute("d")), statements, "{policy}");
    }
    // A transaction is denied as a whole by its first statement that is denied.
    scene.allow(&json!([allowing(&STATEMENTS, own_items())]));
    let both = json!({"TransactStatements": [
        {"Statement": "INSERT INTO Tab VALUE {'pk': 'Ann', 'sk': 'z'}"},
        {"Statement": exists},
    ]});
    let text = scene.denied("ExecuteTransaction", &both);
    assert!(text.contains("dynamodb:PartiQLSelect on resource"), "{text}");
    let key = json!({"TableName": "Tab", "Key": {"pk": {"S": "Ann"}, "sk": {"S": "z"}}});
    assert_eq!(scene.root.good("GetItem", &key), json!({}), "nothing was written");
    let own = json!({"TransactStatements": [
        {"Statement": "INSERT INTO Tab VALUE {'pk': 'Ann', 'sk': 'z'}"},
        {"Statement": "DELETE FROM Tab WHERE pk = 'Ann' AND sk = 'y'"},
    ]});
    scene.ann.good("ExecuteTransaction", &own);
    let read =
        json!({"TransactStatements": [{"Statement": "SELECT * FROM Tab WHERE pk = 'Ben' AND sk = 'z'"}]});
    scene.denied("ExecuteTransaction", &read);
}

#[test]
fn a_denied_statement_of_a_batch_is_refused_alone() {
    let mut scene = Scene::new(&["--request-log=errors"]);
    scene.root.good("PutItem", &json!({"TableName": "Tab", "Item": {"pk": {"S": "Ann"}, "sk": {"S": "a"}}}));
    scene.allow(&json!([allowing(&["dynamodb:PartiQLSelect", "dynamodb:PartiQLInsert"], own_items())]));
    let texts = [
        "SELECT * FROM Tab WHERE pk = 'Ann' AND sk = 'a'",
        "SELECT * FROM Tab WHERE pk = 'Ben' AND sk = 'a'",
        "SELECT * FROM",
        "INSERT INTO Tab VALUE {'pk': 'Ann', 'sk': 'b'}",
        "DELETE FROM Tab WHERE pk = 'Ann' AND sk = ?",
        "SELECT * FROM Missing WHERE pk = 'Ann' AND sk = 'a'",
    ];
    let batch = json!({"Statements": texts.map(statement)});
    let answer = scene.ann.good("BatchExecuteStatement", &batch);
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table");
    let denied = |action: &str, table_name: &str| {
        format!(
            "User: arn:aws:iam::{ACCOUNT}:user/Ann is not authorized to perform: {action} on resource: \
             {table}/{table_name} because no identity-based policy allows the {action} action"
        )
    };
    let responses = answer["Responses"].as_array().unwrap();
    assert_eq!(responses[0]["Item"], json!({"pk": {"S": "Ann"}, "sk": {"S": "a"}}));
    for (place, code, message) in [
        (1, "AccessDenied", Some(denied("dynamodb:PartiQLSelect", "Tab"))),
        (2, "ValidationError", None),
        // Whether it has the parameters that it needs is no concern of a caller who is denied it.
        (4, "AccessDenied", Some(denied("dynamodb:PartiQLDelete", "Tab"))),
        (5, "AccessDenied", Some(denied("dynamodb:PartiQLSelect", "Missing"))),
    ] {
        let error = &responses[place]["Error"];
        assert_eq!(error["Code"], code, "{answer}");
        if let Some(message) = message {
            assert_eq!(error["Message"], message.as_str(), "{answer}");
        }
    }
    assert!(responses[3]["Error"].is_null(), "{answer}");
    let written = json!({"TableName": "Tab", "Key": {"pk": {"S": "Ann"}, "sk": {"S": "b"}}});
    assert!(scene.root.good("GetItem", &written)["Item"].is_object());
    let (_, metrics) = get_as(&scene.server, "/metrics", &scene.root_key.clone().into());
    assert_eq!(sample(&metrics, "keywright_denials_total{decision=\"implicit\"}"), Some(3.0), "{metrics}");
    // A batch that is faulty as a whole is so for everyone.
    for faulty in [json!({"Statements": []}), json!({})] {
        let answer = scene.ann.call("BatchExecuteStatement", &faulty);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(!answer.text().contains("AccessDenied"), "{faulty}: {}", answer.text());
    }
}

#[test]
fn what_does_not_parse_is_reported_before_a_denial() {
    let mut scene = Scene::new(&[]);
    let faulty = [
        ("ExecuteStatement", statement("SELECT * FROM")),
        ("ExecuteStatement", statement("'a'")),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [
            {"Statement": "DELETE FROM Tab WHERE pk = 'a' AND sk = 'a'"}, {"Statement": "SELECT * FROM"}]}),
        ),
    ];
    for (operation, body) in &faulty {
        let answer = scene.ann.call(operation, body);
        assert!(answer.text().contains("ValidationException"), "{operation} {body}: {}", answer.text());
    }
    scene.denied("ExecuteStatement", &statement("SELECT * FROM Tab WHERE pk = ?"));
}

#[test]
fn records_are_read_by_the_right_to_their_stream() {
    let mut scene = Scene::new(&[]);
    let streamed = json!({"TableName": "Tab", "StreamSpecification":
        {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}});
    let stream = scene.root.good("UpdateTable", &streamed)["TableDescription"]["LatestStreamArn"].clone();
    let stream = stream.as_str().unwrap().to_owned();
    let shards = scene.root.call("DescribeStream", &json!({"StreamArn": stream})).json();
    let iterator = json!({"StreamArn": stream, "ShardIteratorType": "TRIM_HORIZON",
        "ShardId": shards["StreamDescription"]["Shards"][0]["ShardId"]});
    let iterator = scene.root.call("GetShardIterator", &iterator).json();
    let records = json!({"ShardIterator": iterator["ShardIterator"]});
    let mut of = |resource: &str| {
        scene.allow(&json!([{"Effect": "Allow", "Action": "dynamodb:GetRecords", "Resource": resource}]));
        let answer = scene.ann.call("GetRecords", &records);
        (answer.status, answer.text().to_owned())
    };
    assert_eq!(of(&stream).0, 200);
    assert_eq!(of(&format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab/stream/*")).0, 200);
    let (status, text) = of(&format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab"));
    assert!(
        status == 400 && text.contains(&format!("dynamodb:GetRecords on resource: {stream} because")),
        "{text}"
    );
    assert_eq!(of(&format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Other/stream/*")).0, 400);
    // What is no iterator is about nothing in particular.
    let wrong = scene.ann.call("GetRecords", &json!({"ShardIterator": "x"}));
    assert!(wrong.text().contains("dynamodb:GetRecords on resource: * because"), "{}", wrong.text());
}

#[test]
fn a_denial_is_logged_with_what_decided_and_counted() {
    for format in ["text", "json"] {
        let mut scene = Scene::new(&["--request-log=errors", "--log-format", format]);
        let planted =
            |key: &str| json!({"TableName": "Tab", "Key": {"pk": {"S": key}, "sk": {"S": "PLANTED"}}});
        scene.denied("GetItem", &planted("PLANTED"));
        let deny = json!({"Sid": "NoReads", "Effect": "Deny", "Action": "dynamodb:Get*", "Resource": "*",
            "Condition": {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": "PLANTED*"}}});
        scene.allow(&json!([allowing(&["dynamodb:*"], Value::Null), deny]));
        scene.denied("GetItem", &planted("PLANTED-too"));
        scene.ann.good("GetItem", &planted("other"));
        let batch = json!({"Statements": [
            {"Statement": "SELECT * FROM Tab WHERE pk = 'PLANTED' AND sk = 'a'"}]});
        scene.ann.good("BatchExecuteStatement", &batch);
        assert_eq!(scene.ann.iam("ListUsers", &[]).status, 403);
        let (_, metrics) = get_as(&scene.server, "/metrics", &scene.root_key.clone().into());
        let count =
            |decision: &str| sample(&metrics, &format!("keywright_denials_total{{decision=\"{decision}\"}}"));
        assert_eq!((count("explicit"), count("implicit")), (Some(1.0), Some(2.0)), "{metrics}");
        let Scene { server, .. } = scene;
        let log = server.stop_and_read_log();
        assert!(!log.contains("PLANTED"), "{log}");
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("denied_by")).collect();
        let ann = format!("arn:aws:iam::{ACCOUNT}:user/Ann");
        let wanted = [
            ("dynamodb:GetItem", "no identity-based policy allows it"),
            ("dynamodb:GetItem", "statement 2 (NoReads) of policy p (identity-based policy)"),
            ("iam:ListUsers", "no identity-based policy allows it"),
        ];
        assert_eq!(lines.len(), wanted.len(), "{log}");
        for (line, (action, by)) in lines.iter().zip(wanted) {
            if format == "json" {
                let line: Value = serde_json::from_str(line).unwrap();
                assert_eq!((&line["denied"], &line["denied_to"]), (&json!(action), &json!(ann)), "{line}");
                assert_eq!(line["denied_by"], by, "{line}");
            } else {
                for part in
                    [format!("denied={action} "), format!("denied_to={ann} "), format!("denied_by=\"{by}\"")]
                {
                    assert!(line.contains(&part), "{part}: {line}");
                }
            }
        }
    }
}

#[test]
fn a_denial_comes_before_every_other_fault_and_only_for_the_denied() {
    let mut scene = Scene::new(&[]);
    scene.root.good("UpdateTable", &json!({"TableName": "Tab", "DeletionProtectionEnabled": true}));
    let key = json!({"pk": {"S": "a"}, "sk": {"S": "a"}});
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let faulty = [
        ("GetItem", json!({"TableName": "Tab"}), "1 validation error detected: Value null at 'key' failed"),
        ("GetItem", json!({"Key": key}), "Value null at 'tableName'"),
        (
            "GetItem",
            json!({"TableName": "Tab", "Key": key, "ProjectionExpression": "a b"}),
            "Invalid ProjectionExpression: Syntax error",
        ),
        ("GetItem", json!({"TableName": "Tab", "Key": {"x": {"S": "a"}}}), "does not match the schema"),
        ("GetItem", json!({"TableName": "Missing", "Key": key}), "ResourceNotFoundException"),
        ("DeleteTable", json!({"TableName": "Tab"}), "deletion protection"),
        ("TagResource", json!({"ResourceArn": arn}), "Value null at 'tags'"),
    ];
    for (operation, body, _) in &faulty {
        scene.denied(operation, body);
    }
    // A malformed ARN names nothing that could be denied.
    let wrong = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:backup/b");
    for (operation, body, fault) in [
        ("TagResource", json!({"ResourceArn": "abc", "Tags": []}), "ARNs must start with 'arn:': abc"),
        ("ListTagsOfResource", json!({"ResourceArn": wrong}), "Provided Arn is not a DynamoDB resource arn"),
        ("GetResourcePolicy", json!({"ResourceArn": wrong}), "Provided Arn is not a DynamoDB resource arn"),
        ("GetItem", json!({"TableName": "arn:aws:dynamodb", "Key": key}), "ValidationException"),
    ] {
        let answer = scene.ann.call(operation, &body);
        assert!(answer.text().contains(fault), "{operation} {body}: {}", answer.text());
    }
    scene.allow(&json!([allowing(&["dynamodb:*"], Value::Null)]));
    for (operation, body, fault) in &faulty {
        let answer = scene.ann.call(operation, body);
        let root = scene.root.call(operation, body);
        assert_eq!((answer.status, answer.text()), (root.status, root.text()), "{operation} {body}");
        assert!(
            answer.text().to_lowercase().contains(&fault.to_lowercase()),
            "{operation} {body}: {}",
            answer.text()
        );
    }
    // Rights by keys depend on what only a valid request has.
    scene.allow(&json!([allowing(&["dynamodb:GetItem"], own_items())]));
    for (operation, body, fault) in faulty.iter().take(3) {
        let answer = scene.ann.call(operation, body);
        assert!(
            answer.text().to_lowercase().contains(&fault.to_lowercase()),
            "{operation} {body}: {}",
            answer.text()
        );
    }
    scene.denied("GetItem", &json!({"TableName": "Missing", "Key": key}));
    // Types that are wrong come first for everyone, as the resource is in the body.
    scene.allow(&json!([allowing(&["dynamodb:ListTables"], Value::Null)]));
    let answer = scene.ann.send("DynamoDB_20120810.GetItem", r#"{"TableName": 1}"#);
    assert!(answer.text().contains("SerializationException"), "{}", answer.text());
}

#[test]
fn behind_a_trusted_proxy_policies_and_the_audit_log_see_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    let scene = |proxy: &str| {
        let log = log.to_str().unwrap();
        let more = ["--trusted-proxy", proxy, "--audit-log", log, "--audit-data", "all"];
        let mut scene = Scene::new(&more);
        let here = json!({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}});
        scene.allow(&json!([allowing(&["dynamodb:ListTables"], here)]));
        scene
    };
    let mut asked = scene("127.0.0.0/8, 198.51.100.1");
    let status = |scene: &mut Scene, forwarded: &str| {
        scene.ann.call_with("ListTables", &json!({}), &[("X-Forwarded-For", forwarded)]).status
    };
    assert_eq!(status(&mut asked, "10.0.0.1, 203.0.113.7, 198.51.100.1"), 200);
    assert_eq!(status(&mut asked, "203.0.113.7, 10.0.0.1"), 400, "anybody can write the first one");
    assert_eq!(asked.ann.call("ListTables", &json!({})).status, 400);
    assert!(asked.server.stop());
    let records = std::fs::read_to_string(&log).unwrap();
    assert!(records.contains(r#""sourceIPAddress":"203.0.113.7""#), "{records}");
    std::fs::remove_file(&log).unwrap();
    let mut distrusting = scene("192.0.2.1");
    assert_eq!(status(&mut distrusting, "203.0.113.7"), 400);
}

/// An action and parameters that are wrong.
type Faulty<'f> = (&'f str, &'f [(&'f str, &'f str)]);

#[test]
fn calls_on_principals_report_faults_of_parameters_to_the_allowed_alone() {
    let mut scene = Scene::new(&[]);
    let role = format!("arn:aws:iam::{ACCOUNT}:role/none");
    let faulty: [Faulty<'_>; 8] = [
        ("CreateUser", &[]),
        ("CreateUser", &[("UserName", "a b")]),
        ("GetUser", &[("UserName", "a/b")]),
        ("ListUsers", &[("MaxItems", "0")]),
        ("PutUserPolicy", &[("UserName", "Ann"), ("PolicyName", "p"), ("PolicyDocument", "")]),
        ("DeletePolicy", &[("PolicyArn", "x")]),
        ("UpdateAccessKey", &[("AccessKeyId", "x"), ("Status", "x")]),
        ("CreateRole", &[("RoleName", "r"), ("MaxSessionDuration", "1")]),
    ];
    let sts: [Faulty<'_>; 2] =
        [("AssumeRole", &[("RoleArn", role.as_str())]), ("GetAccessKeyInfo", &[("AccessKeyId", "x")])];
    for (action, parameters) in &faulty {
        let answer = scene.ann.iam(action, parameters);
        assert_eq!(answer.status, 403, "{action} {parameters:?}: {}", answer.text());
        assert!(answer.text().contains(&format!("iam:{action} ")), "{action}: {}", answer.text());
    }
    for (action, parameters) in &sts {
        let answer = scene.ann.sts(action, parameters);
        assert!(answer.status == 403 && answer.text().contains("AccessDenied"), "{}", answer.text());
    }
    // Who may call it reads the fault, also of a role that trusts the caller.
    scene.allow(&json!([allowing(&["iam:*", "sts:*"], Value::Null)]));
    let trust =
        json!({"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": ACCOUNT}}});
    let made = [("RoleName", "none"), ("AssumeRolePolicyDocument", &*trust.to_string())];
    assert_eq!(scene.root.iam("CreateRole", &made).status, 200);
    for (action, parameters) in &faulty {
        let (answer, root) = (scene.ann.iam(action, parameters), scene.root.iam(action, parameters));
        assert_eq!((answer.status, answer.text()), (400, root.text()), "{action} {parameters:?}");
    }
    for (action, parameters) in &sts {
        let answer = scene.ann.sts(action, parameters);
        assert!(answer.status == 400 && answer.text().contains("validation error"), "{}", answer.text());
    }
    // Rights on some users alone: of another one nothing is said.
    let own =
        json!({"Effect": "Allow", "Action": "iam:*", "Resource": format!("arn:aws:iam::{ACCOUNT}:user/Ann")});
    scene.allow(&json!([own]));
    let rename = |name| [("UserName", name), ("NewUserName", "a b")];
    assert_eq!(scene.ann.iam("UpdateUser", &rename("Ben")).status, 403);
    let key = [("UserName", "Ben"), ("AccessKeyId", "x")];
    assert_eq!(scene.ann.iam("DeleteAccessKey", &key).status, 403);
    let key = [("UserName", "Ann"), ("AccessKeyId", "x")];
    assert_eq!(scene.ann.iam("DeleteAccessKey", &key).status, 400);
}

#[test]
fn each_attribute_of_a_partition_key_has_a_condition_key_of_its_own() {
    let mut scene = Scene::new(&[]);
    let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let table = json!({"TableName": "Multi", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [text("pk"), text("tenant"), text("region"), text("day")],
        "KeySchema": [key("pk", "HASH")],
        "GlobalSecondaryIndexes": [{"IndexName": "by-place",
            "KeySchema": [key("tenant", "HASH"), key("region", "HASH"), key("day", "RANGE")],
            "Projection": {"ProjectionType": "ALL"}}]});
    scene.root.good("CreateTable", &table);
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Multi");
    let query = |tenant: &str, region: &str| {
        json!({"TableName": "Multi", "IndexName": "by-place", "KeyConditionExpression": "tenant = :t AND #r = :r",
            "ExpressionAttributeNames": {"#r": "region"},
            "ExpressionAttributeValues": {":t": {"S": tenant}, ":r": {"S": region}}})
    };
    let on = |resource: &str, condition: &Value| json!([{"Effect": "Allow", "Action": "dynamodb:Query", "Resource": resource, "Condition": condition}]);
    let both = json!({"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["Ann"],
        "dynamodb:SecondPartitionKeyValues": ["eu"]}});
    scene.allow(&on(&format!("{arn}/index/*"), &both));
    assert!(!scene.is_denied("Query", &query("Ann", "eu")));
    assert!(scene.is_denied("Query", &query("Ben", "eu")));
    assert!(scene.is_denied("Query", &query("Ann", "us")));
    let second = json!({"ForAnyValue:StringEquals": {"dynamodb:SecondPartitionKeyValues": ["eu"]}});
    scene.allow(&on(&format!("{arn}/index/by-place"), &second));
    assert!(!scene.is_denied("Query", &query("Ben", "eu")));
    assert!(scene.is_denied("Query", &query("Ben", "us")));
    // The index has an ARN of its own.
    scene.allow(&on(&arn, &json!({})));
    let denied = scene.denied("Query", &query("Ann", "eu"));
    assert!(denied.contains(&format!("on resource: {arn}/index/by-place because")), "{denied}");
}

#[test]
fn a_right_ends_at_its_table_operation_leading_key_and_attributes() {
    let mut scene = Scene::new(&[]);
    scene.root.good("CreateTable", &crate::support::signed::schema("Other"));
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    scene.allow(
        &json!([{"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:Query"], "Resource": arn,
        "Condition": {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"],
                "dynamodb:Attributes": ["pk", "sk", "note"]},
            "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}}]),
    );
    let get = |table: &str, key: &str, projection: &str| {
        json!({"TableName": table, "Key": {"pk": {"S": key}, "sk": {"S": "a"}},
            "ProjectionExpression": projection})
    };
    let item = json!({"pk": {"S": "Ann"}, "sk": {"S": "a"}, "note": {"S": "x"}, "secret": {"S": "y"}});
    scene.root.good("PutItem", &json!({"TableName": "Tab", "Item": item}));
    assert_eq!(scene.ann.good("GetItem", &get("Tab", "Ann", "pk, note"))["Item"]["note"]["S"], "x");
    scene.denied("GetItem", &get("Other", "Ann", "pk, note"));
    scene.denied("PutItem", &json!({"TableName": "Tab", "Item": item}));
    scene.denied("GetItem", &get("Tab", "Ben", "pk, note"));
    scene.denied("GetItem", &get("Tab", "Ann", "pk, secret"));
    scene.denied("GetItem", &json!({"TableName": "Tab", "Key": {"pk": {"S": "Ann"}, "sk": {"S": "a"}}}));
}

#[test]
fn an_item_that_a_failed_condition_returns_counts_as_a_returned_value() {
    let mut scene = Scene::new(&[]);
    let all = [
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
        "dynamodb:DeleteItem",
        "dynamodb:ConditionCheckItem",
        "dynamodb:PartiQLInsert",
        "dynamodb:PartiQLUpdate",
        "dynamodb:PartiQLDelete",
        "dynamodb:PartiQLSelect",
    ];
    let key = json!({"pk": {"S": "Ann"}, "sk": {"S": "a"}});
    let mut secret = key.clone();
    secret["secret"] = json!({"S": "hidden"});
    scene.root.good("PutItem", &json!({"TableName": "Tab", "Item": secret}));
    let absent = json!({"TableName": "Tab", "ConditionExpression": "attribute_not_exists(pk)"});
    let of = |member: &str| {
        let mut write = absent.clone();
        write[member] = key.clone();
        write
    };
    let statements = [
        "INSERT INTO Tab VALUE {'pk': 'Ann', 'sk': 'a'}",
        "UPDATE Tab SET x = 1 WHERE pk = 'Ann' AND sk = 'a' AND x = 7",
        "DELETE FROM Tab WHERE pk = 'Ann' AND sk = 'a' AND x = 7",
    ];
    // Each request, where its failure policy stands, and whether it fails if it is allowed.
    let mut requests = vec![
        ("PutItem", of("Item"), ""),
        ("UpdateItem", of("Key"), ""),
        ("DeleteItem", of("Key"), ""),
        (
            "TransactWriteItems",
            json!({"TransactItems": [{"ConditionCheck": of("Key")}]}),
            "/TransactItems/0/ConditionCheck",
        ),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": of("Item")}]}), "/TransactItems/0/Put"),
        ("TransactWriteItems", json!({"TransactItems": [{"Delete": of("Key")}]}), "/TransactItems/0/Delete"),
    ];
    for text in statements {
        requests.push(("ExecuteStatement", statement(text), ""));
        let list = json!([statement(text)]);
        requests.push(("ExecuteTransaction", json!({"TransactStatements": list}), "/TransactStatements/0"));
        requests.push(("BatchExecuteStatement", json!({"Statements": list}), "/Statements/0"));
    }
    let none = json!({"StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]}});
    let deny = json!({"Effect": "Deny", "Action": "*", "Resource": "*",
        "Condition": {"StringEquals": {"dynamodb:ReturnValues": "ALL_OLD"}}});
    for policies in [json!([allowing(&all, none)]), json!([allowing(&all, json!(null)), deny])] {
        scene.allow(&policies);
        for (operation, request, place) in &requests {
            let text = scene.ann.call(operation, request).text().to_owned();
            assert!(!text.contains("AccessDenied"), "{operation} {request}: {text}");
            let mut returning = request.clone();
            returning.pointer_mut(place).unwrap()["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
            let text = scene.ann.call(operation, &returning).text().to_owned();
            assert!(
                text.contains("AccessDenied") && !text.contains("hidden"),
                "{operation} {request}: {text}"
            );
        }
    }
    // Who may read all old values is not held back.
    scene.allow(&json!([allowing(&all, json!(null))]));
    let (operation, mut request, _) = requests.swap_remove(0);
    request["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
    assert!(scene.ann.call(operation, &request).text().contains("hidden"));
}

#[tokio::test]
async fn without_credentials_forms_of_iam_and_sts_are_not_served() {
    let server = Server::in_memory();
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    let mut connection = Connection::open(&server);
    for (service, version, action) in
        [("iam", "2010-05-08", "ListUsers"), ("sts", "2011-06-15", "GetCallerIdentity")]
    {
        let body = form(action, version, &[]);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/{service}/aws4_request, SignedHeaders=host, \
             Signature=00"
        );
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Amz-Date", "20261121T000000Z"),
            ("Authorization", authorization.as_str()),
        ];
        let answer = connection.send("POST", &headers, body.as_bytes());
        let not_served = format!(
            "<ErrorResponse xmlns=\"https://{service}.amazonaws.com/doc/{version}/\"><Error><Type>Sender</Type>\
             <Code>NotServed</Code><Message>This server judges nobody: it has no users and policies until it is \
             started with --credentials FILE or --access FILE.</Message></Error></ErrorResponse>"
        );
        assert_eq!((answer.status, answer.text()), (404, not_served.as_str()), "{action}");
    }
}

#[test]
fn a_key_of_the_credentials_file_does_everything_in_its_account() {
    let mut scene = Scene::new(&[]);
    for (operation, body) in [
        ("ListTables", json!({})),
        ("PutItem", json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}, "sk": {"S": "a"}}})),
        ("ExecuteStatement", statement("SELECT * FROM Tab")),
        ("DescribeLimits", json!({})),
        ("DeleteTable", json!({"TableName": "Tab"})),
    ] {
        scene.root.good(operation, &body);
    }
    let Scene { server, root_key, .. } = scene;
    let mut again = Signed::new(&server, &root_key.0, &root_key.1);
    assert_eq!(again.iam("ListUsers", &[]).status, 200);
    assert_eq!(again.good("ListTables", &json!({})), json!({"TableNames": []}));
}
