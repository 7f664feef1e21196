//! What a request touches, as the server uses it: figures of refused requests, and names in the log.

use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::in_process::{Api as _, Http};
use crate::support::raw::{Connection, DATE};

/// The sum of a table's user errors in the last hour.
fn user_errors(server: &Server, table: &str) -> f64 {
    let now_s = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let body = json!({"Namespace": "AWS/DynamoDB", "MetricName": "UserErrors", "Statistics": ["Sum"], "Period": 60,
        "Dimensions": [{"Name": "TableName", "Value": table}], "StartTime": now_s - 3_600, "EndTime": now_s + 60});
    let authorization = "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/monitoring/aws4_request, \
                         SignedHeaders=host, Signature=00";
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", "GraniteServiceVersion20100801.GetMetricStatistics"),
        ("X-Amz-Date", DATE),
        ("Authorization", authorization),
    ];
    let answer = Connection::open(server).send("POST", &headers, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let points = answer.json()["Datapoints"].as_array().cloned().unwrap_or_default();
    points.iter().filter_map(|point| point["Sum"].as_f64()).sum()
}

#[tokio::test]
async fn a_request_that_is_refused_counts_for_the_table_that_it_names() {
    let server = Server::in_memory();
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    let http = Http::new(server.address());
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Tab";
    let faulty = [
        ("GetItem", json!({"TableName": "Tab"})),
        ("Query", json!({"TableName": "Tab", "IndexName": "!", "KeyConditionExpression": "="})),
        ("PutItem", json!({"TableName": arn, "Item": {"pk": {}}})),
        ("ExecuteStatement", json!({"Statement": "SELECT * FROM Tab WHERE pk = ?"})),
        ("GetItem", json!({"TableName": "Tab", "Key": []})),
        ("UpdateKinesisStreamingDestination", json!({"TableName": "Tab"})),
        ("CreateTable", json!({"TableName": "Tab", "Tags": [{"Key": "k", "Value": "v"}]})),
    ];
    for (place, (operation, body)) in faulty.iter().enumerate() {
        let refused = http.call(operation, body).await;
        assert!(format!("{refused:?}").contains("Exception"), "{operation}: {refused:?}");
        let counted = u32::try_from(place).unwrap() + 1;
        assert!((user_errors(&server, "Tab") - f64::from(counted)).abs() < 0.01, "{operation}");
    }
    http.call("GetItem", &json!({"TableName": "Other"})).await;
    assert!((user_errors(&server, "Tab") - 7.0).abs() < 0.01, "another table's");
}

#[tokio::test]
async fn the_log_names_the_tables_of_each_statement_and_of_a_new_table() {
    let server = Server::start(&["--in-memory", "--request-log", "--log-format", "json"]);
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    let http = Http::new(server.address());
    let statements = ["SELECT * FROM Tab WHERE pk = 'a'", "no statement", "DELETE FROM Other WHERE pk = 'a'"];
    let statements = statements.map(|text| json!({"Statement": text}));
    http.call("BatchExecuteStatement", &json!({"Statements": statements})).await.good();
    let log = server.stop_and_read_log();
    let tables = |operation: &str| -> Value {
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["operation"] == operation).map(|line| line["tables"].clone()).next().unwrap()
    };
    assert_eq!(tables("CreateTable"), json!(["Tab"]), "{log}");
    assert_eq!(tables("BatchExecuteStatement"), json!(["Tab", "Other"]), "{log}");
}
