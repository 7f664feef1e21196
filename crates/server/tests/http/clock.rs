//! A clock of the database's own: it stands until a request moves it, or goes at another pace.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::raw::{AUTHORIZATION, Answer, Connection, DATE};

const PATH: &str = "/_keywright/clock";
const OWN: (&str, &str) = ("X-Keywright", "clock");
const BEGUN_MS: u64 = 1_795_795_200_000;
const HOUR_MS: u64 = 3_600_000;

fn standing(more: &[&str]) -> Server {
    let mut arguments = vec!["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"];
    arguments.extend(more);
    Server::start(&arguments)
}

fn call(connection: &mut Connection, operation: &str, body: &Value) -> Answer {
    let target = format!("DynamoDB_20120810.{operation}");
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target.as_str()),
        ("X-Amz-Date", DATE),
        ("Authorization", AUTHORIZATION),
    ];
    connection.send("POST", &headers, body.to_string().as_bytes())
}

fn done(connection: &mut Connection, operation: &str, body: &Value) -> Value {
    let answer = call(connection, operation, body);
    assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    answer.json()
}

fn advance(server: &Server, ms: u64) -> Value {
    let body = json!({"advance-ms": ms}).to_string();
    let answer = Connection::open(server).send_to(PATH, "POST", &[OWN], body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn table(write_units: u64) -> Value {
    json!({
        "TableName": "Things",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": write_units},
    })
}

#[test]
fn an_item_expires_when_the_clock_is_moved_beyond_its_time() {
    let server = standing(&[]);
    let mut connection = Connection::open(&server);
    done(&mut connection, "CreateTable", &table(5));
    let enabled = json!({"TableName": "Things", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "until"}});
    done(&mut connection, "UpdateTimeToLive", &enabled);
    let until = (BEGUN_MS + HOUR_MS) / 1000;
    let item = json!({"pk": {"S": "a"}, "until": {"N": until.to_string()}});
    done(&mut connection, "PutItem", &json!({"TableName": "Things", "Item": item}));
    let count = |connection: &mut Connection| {
        done(connection, "Scan", &json!({"TableName": "Things"}))["Count"].clone()
    };

    let described = done(&mut connection, "DescribeTable", &json!({"TableName": "Things"}));
    assert_eq!(described["Table"]["CreationDateTime"], 1_795_795_200.0);
    assert_eq!(advance(&server, HOUR_MS - 1)["now-ms"], BEGUN_MS + HOUR_MS - 1);
    assert_eq!(count(&mut connection), 1);
    // The time to live is followed by a delay of a minute.
    let shown = advance(&server, 2 * HOUR_MS + 1);
    assert_eq!(shown, json!({"now-ms": BEGUN_MS + 3 * HOUR_MS, "time": "2026-11-27T19:00:00.000Z"}));
    assert_eq!(count(&mut connection), 0);
    let seen = Connection::open(&server).send_to(PATH, "GET", &[], b"");
    assert_eq!((seen.status, seen.json()), (200, shown));
}

#[test]
fn five_idle_minutes_are_saved_and_no_more() {
    const UNITS: u64 = 4;
    let server = standing(&["--throttle", "table", "--burst-start-s", "0"]);
    let mut connection = Connection::open(&server);
    done(&mut connection, "CreateTable", &table(UNITS));
    let mut passed = || {
        let mut count = 0;
        loop {
            let item = json!({"pk": {"S": format!("{count}")}});
            let answer = call(&mut connection, "PutItem", &json!({"TableName": "Things", "Item": item}));
            if answer.status == 200 {
                count += 1;
                continue;
            }
            assert!(answer.text().contains("ProvisionedThroughputExceededException"), "{}", answer.text());
            return count;
        }
    };
    advance(&server, 300_000);
    assert_eq!(passed(), 300 * UNITS);
    assert_eq!(passed(), 0, "the clock stands");
    advance(&server, 600_000);
    assert_eq!(passed(), 300 * UNITS);
    advance(&server, 1_000);
    assert_eq!(passed(), UNITS);
}

#[test]
fn only_a_standing_clock_is_moved_and_only_forward_by_who_knows_its_header() {
    let server = standing(&[]);
    let send = |headers: &[(&str, &str)], body: &str| {
        Connection::open(&server).send_to(PATH, "POST", headers, body.as_bytes()).status
    };
    assert_eq!(send(&[], r#"{"advance-ms": 1}"#), 403);
    assert_eq!(send(&[OWN], r#"{"advance-ms": -1}"#), 400);
    assert_eq!(send(&[OWN], r#"{"by": 1}"#), 400);
    assert_eq!(send(&[OWN], &"x".repeat(1000)), 400);
    assert_eq!(send(&[OWN, ("Origin", "https://example.com")], r#"{"advance-ms": 1}"#), 400);
    assert_eq!(Connection::open(&server).send_to(PATH, "GET", &[], b"").json()["now-ms"], BEGUN_MS);

    let machine = Server::in_memory();
    let headers = [OWN, ("Content-Type", "text/plain")];
    assert_eq!(Connection::open(&machine).send_to(PATH, "GET", &[], b"").status, 404);
    assert_eq!(
        Connection::open(&machine).send_to(PATH, "POST", &headers, br#"{"advance-ms": 1}"#).status,
        404
    );
}

#[test]
fn at_another_pace_an_hour_passes_in_less_than_a_second() {
    let server = Server::start(&["--in-memory", "--time-scale", "36000"]);
    let mut connection = Connection::open(&server);
    done(&mut connection, "CreateTable", &table(5));
    let enabled = json!({"TableName": "Things", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "until"}});
    done(&mut connection, "UpdateTimeToLive", &enabled);
    let described = done(&mut connection, "DescribeTable", &json!({"TableName": "Things"}));
    let now = described["Table"]["CreationDateTime"].as_f64().unwrap();
    // An hour later, which comes a tenth of a second after this.
    let item = json!({"pk": {"S": "a"}, "until": {"N": format!("{:.0}", now + 3600.0)}});
    done(&mut connection, "PutItem", &json!({"TableName": "Things", "Item": item}));
    let is_gone = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        done(&mut connection, "Scan", &json!({"TableName": "Things"}))["Count"] == 0
    });
    assert!(is_gone, "the item does not expire");
}

#[test]
fn clocks_that_cannot_be_meant_are_refused_with_what_to_write() {
    for (arguments, part) in [
        (["--time-scale", "0"], "above 0"),
        (["--time-scale", "fast"], "such as 60"),
        (["--clock", "manual@noon"], "manual@2026-11-27T16:00:00Z"),
    ] {
        let fault = Server::try_start(&["--in-memory", arguments[0], arguments[1]]).err().unwrap();
        assert!(fault.contains(part), "{fault}");
    }
}

/// A table with a target that tracks a use of 70 % of its reads.
fn scaled(connection: &mut Connection, number: usize) {
    let name = format!("Scaled{number}");
    let mut created = table(5);
    created["TableName"] = json!(name);
    done(connection, "CreateTable", &created);
    let target = json!({"ServiceNamespace": "dynamodb", "ResourceId": format!("table/{name}"),
        "ScalableDimension": "dynamodb:table:ReadCapacityUnits"});
    let with = |more: Value| {
        let mut body = target.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let tracked = json!({"TargetValue": 70.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}});
    for (operation, body) in [
        ("RegisterScalableTarget", with(json!({"MinCapacity": 1, "MaxCapacity": 10}))),
        (
            "PutScalingPolicy",
            with(json!({"PolicyName": "p", "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": tracked})),
        ),
    ] {
        let target = format!("AnyScaleFrontendService.{operation}");
        let authorization = AUTHORIZATION.replace("/dynamodb/", "/application-autoscaling/");
        let headers = [
            ("Content-Type", "application/x-amz-json-1.1"),
            ("X-Amz-Target", target.as_str()),
            ("X-Amz-Date", DATE),
            ("Authorization", authorization.as_str()),
        ];
        let answer = connection.send("POST", &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    }
}

#[test]
fn a_long_move_ends_with_its_client_and_leaves_a_time_before_which_nothing_is_due() {
    const YEAR_MS: u64 = 365 * 24 * HOUR_MS;
    let server = standing(&[]);
    let mut connection = Connection::open(&server);
    (0..100).for_each(|number| scaled(&mut connection, number));
    let shown = || {
        let answer = Connection::open(&server).send_to(PATH, "GET", &[], b"");
        answer.json()["now-ms"].as_u64().unwrap()
    };
    let begin_year = || {
        let mut leaving = Connection::open(&server);
        let body = json!({"advance-ms": YEAR_MS}).to_string();
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nX-Keywright: clock\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(leaving.stream.get_mut(), head.as_bytes()).unwrap();
        leaving
    };
    let (first, second) = (begin_year(), begin_year());
    let is_under_way = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        shown() > BEGUN_MS
    });
    assert!(is_under_way, "the move does not begin");
    drop((first, second));
    let (mut before, mut equal) = (shown(), 0);
    let stands = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let (was, now) = (before, shown());
        before = now;
        // A step that is under way may take longer than one look.
        equal = if was == now { equal + 1 } else { 0 };
        equal == 5
    });
    assert!(stands, "the clock goes on without its client");
    assert!(before < BEGUN_MS + YEAR_MS, "a year is over: the test shows nothing");
    // From there it moves on as if that time had been wanted.
    assert_eq!(advance(&server, 60_000)["now-ms"], before + 60_000);
}

#[test]
fn moves_of_several_clients_add_up() {
    let server = standing(&[]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| advance(&server, HOUR_MS));
        }
    });
    let seen = Connection::open(&server).send_to(PATH, "GET", &[], b"");
    assert_eq!(seen.json()["now-ms"], BEGUN_MS + 8 * HOUR_MS);
}
