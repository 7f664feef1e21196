//! HTTP at the port: responses that need no operation, and input that must not end the server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::Server;
use crate::support::raw::{AUTHORIZATION, Connection, DATE, signed};

#[test]
fn every_answer_has_an_id_and_the_checksum_of_its_body() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    for answer in [
        connection.call("ListTables", b"{}"),
        connection.call("DescribeTable", br#"{"TableName":"none"}"#),
        connection.send("GET", &[], b""),
    ] {
        assert_eq!(answer.header("x-amzn-requestid").unwrap().len(), 52);
        let checksum: u32 = answer.header("x-amz-crc32").unwrap().parse().unwrap();
        assert_eq!(checksum, crc32fast::hash(&answer.body));
    }
}

#[test]
fn requests_of_other_protocols_get_the_services_responses() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    let health = connection.send("GET", &[], b"");
    assert_eq!((health.status, health.text()), (200, "healthy: localhost "));
    for (method, content_type) in
        [("PUT", "application/x-amz-json-1.0"), ("POST", "text/plain"), ("OPTIONS", "text/plain")]
    {
        let answer = connection.send(method, &[("Content-Type", content_type)], b"{}");
        assert_eq!((answer.status, answer.text()), (404, "<UnknownOperationException/>\n"), "{method}");
    }
    let page = ("Origin", "http://localhost:3000");
    let preflight = connection.send("OPTIONS", &[page, ("Access-Control-Request-Method", "POST")], b"");
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("POST"));
}

#[test]
fn a_foreign_page_cannot_use_an_open_database() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    let page = ("Origin", "https://evil.example");
    let target = ("X-Amz-Target", "DynamoDB_20120810.ListTables");
    let json = ("Content-Type", "application/x-amz-json-1.0");
    let signed = [page, target, json, ("X-Amz-Date", DATE), ("Authorization", AUTHORIZATION)];
    let preflight = connection.send("OPTIONS", &[page, ("Access-Control-Request-Method", "POST")], b"");
    for answer in [preflight, connection.send("POST", &signed, b"{}")] {
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("AccessDenied") && answer.text().contains("--cors-origin"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert_eq!(connection.send("POST", signed.get(1..).unwrap(), b"{}").status, 200);
}

#[test]
fn errors_have_the_services_precedence_and_keep_the_connection_open() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    let json = ("Content-Type", "application/x-amz-json-1.0");
    let target = ("X-Amz-Target", "DynamoDB_20120810.ListTables");
    let serialization = r#"{"__type":"com.amazon.coral.service#SerializationException"}"#;
    let unknown = r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#;
    let unsigned = r#"{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}"#;
    for (headers, body, wanted) in [
        (vec![json], "not json", serialization),
        (vec![json], "{}", unknown),
        (vec![json, ("X-Amz-Target", "DynamoDB_20120810.Nothing")], "{}", unknown),
        (vec![json, target], "not json", serialization),
        (vec![json, target], "{}", unsigned),
    ] {
        let answer = connection.send("POST", &headers, body.as_bytes());
        assert_eq!((answer.status, answer.text()), (400, wanted));
        connection.still_works();
    }
    let empty = connection.call("ListTables", b"");
    assert_eq!((empty.status, empty.text()), (400, serialization));
}

#[test]
fn nothing_a_client_sends_stops_the_server_or_its_connection() {
    let server = Server::in_memory();
    let deep = format!("{}{}", r#"{"TableName":"t","Item":{"a":"#, r#"{"L":["#.repeat(100_000));
    let nested = format!(
        r#"{{"TableName":"abc","Item":{{"a":{}{{"S":"x"}}{}}}}}"#,
        r#"{"L":["#.repeat(40),
        "]}".repeat(40)
    );
    let bodies: Vec<Vec<u8>> = vec![
        b"{".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"{} trailing".to_vec(),
        b"\xff\xfe{}".to_vec(),
        br#"{"TableName":"abc","Item":{"a":{"S":"\ud800"}}}"#.to_vec(),
        br#"{"TableName":"abc","Item":{"a":{"N":"1e999999999999999999999"}}}"#.to_vec(),
        br#"{"TableName":"abc","Item":{"a":{"B":"not base64!"}}}"#.to_vec(),
        br#"{"TableName":{"S":"abc"}}"#.to_vec(),
        deep.into_bytes(),
        nested.into_bytes(),
    ];
    let mut connection = Connection::open(&server);
    for body in bodies {
        let answer = connection.call("PutItem", &body);
        assert_eq!(answer.status, 400, "{}", String::from_utf8_lossy(&body[..body.len().min(80)]));
        connection.still_works();
    }
    for garbage in [
        &b"\x16\x03\x01\x00\x00garbage\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ] {
        let mut other = Connection::open(&server);
        other.stream.get_mut().write_all(garbage).unwrap();
    }
    connection.still_works();
}

#[test]
fn a_body_of_16_mb_is_accepted_and_a_larger_one_refused() {
    let server = Server::in_memory();
    let body = |length: usize| {
        let start = br#"{"TableName":"none","Key":{"a":{"S":"x"}},"Ignored":""#;
        let mut body = start.to_vec();
        body.resize(length - 2, b'x');
        body.extend_from_slice(b"\"}");
        body
    };
    assert_eq!(Connection::open(&server).call("GetItem", &body(16 * 1024 * 1024)).status, 400);
    let mut connection = Connection::open(&server);
    assert_eq!(connection.call("GetItem", &body(16 * 1024 * 1024 + 1)).status, 413);
    connection.still_works();
}

#[test]
fn large_responses_are_compressed_on_request() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    let create = br#"{"TableName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}"#;
    assert_eq!(connection.call("CreateTable", create).status, 200);
    let put =
        format!(r#"{{"TableName":"abc","Item":{{"a":{{"S":"k"}},"b":{{"S":"{}"}}}}}}"#, "x".repeat(10_000));
    assert_eq!(connection.call("PutItem", put.as_bytes()).status, 200);
    let get = br#"{"TableName":"abc","Key":{"a":{"S":"k"}}}"#;
    let mut headers = signed("DynamoDB_20120810.GetItem").to_vec();
    headers.push(("Accept-Encoding", "gzip"));
    let compressed = connection.send("POST", &headers, get);
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert!(compressed.body.len() < 1000);
    assert_eq!(compressed.header("x-amz-crc32").unwrap().parse(), Ok(crc32fast::hash(&compressed.body)));
    let mut opened = Vec::new();
    flate2::read::GzDecoder::new(compressed.body.as_slice()).read_to_end(&mut opened).unwrap();
    assert_eq!(opened, connection.call("GetItem", get).body);
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(get).unwrap();
    let mut headers = signed("DynamoDB_20120810.GetItem").to_vec();
    headers.push(("Content-Encoding", "gzip"));
    assert_eq!(connection.send("POST", &headers, &zipped.finish().unwrap()).body, opened);
}

#[test]
fn a_write_whose_client_has_left_is_visible_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let table = |number: usize| {
        format!(
            r#"{{"TableName":"left{number}","KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}}],"AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}}],"BillingMode":"PAY_PER_REQUEST"}}"#
        )
    };
    let created = 20;
    for number in 0..created {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let body = table(number);
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.CreateTable\r\nX-Amz-Date: {DATE}\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        // Some clients leave during the commit, some before it.
        std::thread::sleep(Duration::from_micros(500 * u64::try_from(number).unwrap()));
        drop(stream);
    }
    std::thread::sleep(Duration::from_millis(500));
    let names = |server: &Server| {
        let answer = Connection::open(server).call("ListTables", b"{}");
        answer.text().to_owned()
    };
    let before = names(&server);
    assert!(server.stop());
    let server = Server::on(folder.path());
    assert_eq!(names(&server), before, "what a restart finds was known before");
    assert!(before.contains("left19"), "{before}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a process takes to end is wall time")]
fn an_unfinished_head_does_not_delay_shutdown() {
    let server = Server::in_memory();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: loc").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let begun = std::time::Instant::now();
    assert!(server.stop());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(stream);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a process takes to end is wall time")]
fn an_unfinished_body_does_not_delay_shutdown() {
    let server = Server::in_memory();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let begun = std::time::Instant::now();
    assert!(server.stop());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(stream);
}
