//! Minutes of metrics and contributor insights: exact under load while minutes end, and kept when the server
//! is killed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::dice::wanted;
use crate::support::raw::{AUTHORIZATION, Connection, DATE};

/// Requests; a long run sends a hundred thousand.
const REQUESTS: u64 = 5_000;
const CONNECTIONS: u64 = 4;
/// Minutes that end while the requests are on their way.
const MINUTES: u64 = 30;
const BEGUN: &str = "2026-11-27T16:00:00Z";
const BEGUN_S: u64 = 1_795_795_200;
const LATER: &str = "2026-11-27T18:00:00Z";

fn on(folder: &Path, clock: &str) -> Server {
    Server::start(&["--data", folder.to_str().unwrap(), "--clock", &format!("manual@{clock}")])
}

fn done(connection: &mut Connection, operation: &str, body: &Value) -> Value {
    let answer = connection.call(operation, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    answer.json()
}

fn end_a_minute(connection: &mut Connection) {
    let headers = [("X-Keywright", "clock")];
    let answer = connection.send_to("/_keywright/clock", "POST", &headers, br#"{"advance-ms":60000}"#);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// One half puts, the other half strong gets, of different keys on each connection.
fn requests(server: &Server, number: u64, count: u64) {
    let mut connection = Connection::open(server);
    for sent in 0..count {
        let key = json!({"pk": {"S": format!("key {number}")}});
        match sent % 2 {
            0 => done(&mut connection, "PutItem", &json!({"TableName": "Things", "Item": key})),
            _ => done(
                &mut connection,
                "GetItem",
                &json!({"TableName": "Things", "Key": key, "ConsistentRead": true}),
            ),
        };
    }
}

/// An answer of CloudWatch about the two hours from the beginning.
fn watch(server: &Server, operation: &str, mut body: Value) -> Value {
    body["StartTime"] = json!(BEGUN_S);
    body["EndTime"] = json!(BEGUN_S + 7200);
    body["Period"] = json!(60);
    let target = format!("GraniteServiceVersion20100801.{operation}");
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target.as_str()),
        ("X-Amz-Date", DATE),
        ("Authorization", &AUTHORIZATION.replace("/dynamodb/", "/monitoring/")),
    ];
    let answer = Connection::open(server).send("POST", &headers, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    answer.json()
}

/// By minute: a figure, of one metric of the table.
fn points(server: &Server, metric: &str, operation: Option<&str>, statistic: &str) -> BTreeMap<u64, f64> {
    let mut dimensions = vec![json!({"Name": "TableName", "Value": "Things"})];
    dimensions.extend(operation.map(|operation| json!({"Name": "Operation", "Value": operation})));
    let body = json!({
        "Namespace": "AWS/DynamoDB",
        "MetricName": metric,
        "Dimensions": dimensions,
        "Statistics": [statistic],
    });
    let answer = watch(server, "GetMetricStatistics", body);
    let point = |point: &Value| (point["Timestamp"].as_u64().unwrap(), point[statistic].as_f64().unwrap());
    answer["Datapoints"].as_array().unwrap().iter().map(point).collect()
}

/// The heaviest keys with what they consumed, and the sum of all.
type Report = (Vec<(String, f64)>, f64);

/// By minute: what the most-accessed keys consumed; and the sum of all keys.
fn insights(server: &Server, rule: &str) -> Report {
    let answer = watch(server, "GetInsightRuleReport", json!({"RuleName": rule}));
    let contributor = |found: &Value| {
        (found["Keys"][0].as_str().unwrap().to_owned(), found["ApproximateAggregateValue"].as_f64().unwrap())
    };
    let ranked = answer["Contributors"].as_array().unwrap().iter().map(contributor).collect();
    (ranked, answer["AggregateValue"].as_f64().unwrap())
}

/// Everything that is read: equal before and after a restart.
fn all_figures(server: &Server, rule: &str) -> (Vec<BTreeMap<u64, f64>>, Report) {
    let figures = vec![
        points(server, "ConsumedWriteCapacityUnits", None, "Sum"),
        points(server, "ConsumedReadCapacityUnits", None, "Sum"),
        points(server, "SuccessfulRequestLatency", Some("PutItem"), "SampleCount"),
        points(server, "SuccessfulRequestLatency", Some("GetItem"), "SampleCount"),
    ];
    (figures, insights(server, rule))
}

#[test]
fn minutes_that_end_under_load_are_exact_and_outlive_a_kill() {
    let count = REQUESTS * wanted("KEYWRIGHT_TEST_LONG", 1);
    let folder = tempfile::tempdir().unwrap();
    let server = on(folder.path(), BEGUN);
    let mut connection = Connection::open(&server);
    let table = json!({
        "TableName": "Things",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    done(&mut connection, "CreateTable", &table);
    let enable = json!({"TableName": "Things", "ContributorInsightsAction": "ENABLE"});
    done(&mut connection, "UpdateContributorInsights", &enable);
    let described = done(&mut connection, "DescribeContributorInsights", &json!({"TableName": "Things"}));
    let rule = described["ContributorInsightsRuleList"][0].as_str().unwrap().to_owned();
    assert!(rule.starts_with("DynamoDBContributorInsights-PKC-Things-"), "{rule}");

    let of_each = count / CONNECTIONS;
    std::thread::scope(|scope| {
        for number in 0..CONNECTIONS {
            let server = &server;
            scope.spawn(move || requests(server, number, of_each));
        }
        let mut clock = Connection::open(&server);
        let mut watched = Connection::open(&server);
        for minute in 1..=MINUTES {
            // Each minute ends when its part of the load is there, so that requests are on their way.
            let wanted = count * minute / (MINUTES + 1);
            while sum(&points(&server, "SuccessfulRequestLatency", Some("PutItem"), "SampleCount")) * 2.0
                < f64::from(u32::try_from(wanted).unwrap())
            {
                done(&mut watched, "DescribeTable", &json!({"TableName": "Things"}));
            }
            end_a_minute(&mut clock);
        }
    });
    end_a_minute(&mut connection);
    let before = all_figures(&server, &rule);
    let half = f64::from(u32::try_from(count / 2).unwrap());
    for figures in &before.0 {
        assert_eq!(sum(figures).to_bits(), half.to_bits(), "{figures:?}");
        assert!(figures.len() > 10, "the load covers many minutes: {figures:?}");
    }
    let ((ranked, whole), connections) = (&before.1, usize::try_from(CONNECTIONS).unwrap());
    assert_eq!(whole.to_bits(), (4.0 * half).to_bits(), "three for each put, one for each get");
    assert_eq!(ranked.len(), connections);
    assert!(ranked.iter().all(|(_, value)| value.to_bits() == ranked[0].1.to_bits()), "{ranked:?}");

    // The present minute is lost, the finished ones are not.
    requests(&server, 0, 100);
    server.kill();
    let server = on(folder.path(), LATER);
    assert_eq!(all_figures(&server, &rule), before);
}

fn sum(points: &BTreeMap<u64, f64>) -> f64 {
    points.values().sum()
}
