//! Clients that use more than their share, and what others still get.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
#[cfg(target_os = "linux")]
use std::time::UNIX_EPOCH;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};

use crate::support::machine::exclusive;
use crate::support::management::{get, sample};
use crate::support::raw::{Connection, request};
use crate::support::{Server, add_key};

const CREATE: &str = r#"{"TableName":"Tab","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}"#;
const GET: &str = r#"{"TableName":"Tab","Key":{"a":{"S":"k"}}}"#;

#[expect(clippy::disallowed_methods, reason = "how long a client waits is wall time")]
fn now() -> Instant {
    Instant::now()
}

/// A table with one item of this size under the key `k`.
fn fill(server: &Server, bytes: usize) {
    let mut connection = Connection::open(server);
    assert_eq!(connection.call("CreateTable", CREATE.as_bytes()).status, 200);
    let put =
        format!(r#"{{"TableName":"Tab","Item":{{"a":{{"S":"k"}},"b":{{"S":"{}"}}}}}}"#, "x".repeat(bytes));
    assert_eq!(connection.call("PutItem", put.as_bytes()).status, 200);
}

/// Sends this many requests for the item without reading, as far as the server reads them.
fn ask_without_reading(server: &Server, times: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // Fails once the server stops reading.
    let _ = stream.write_all(&request("GetItem", GET).repeat(times));
    stream
}

/// Number of bytes that still arrive until the connection is closed.
fn rest(mut stream: TcpStream) -> usize {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return bytes,
            Ok(read) => bytes += read,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return bytes,
            Err(error) => panic!("the connection stays open: {error}"),
        }
    }
}

#[test]
fn a_response_is_sent_at_once_even_if_more_input_follows() {
    let _alone = exclusive();
    let server = Server::in_memory();
    for follows in ["\r\n", "P", "POST / HTTP/1.1\r\nHost: local"] {
        let mut connection = Connection::open(&server);
        let mut bytes = request("ListTables", "{}");
        bytes.extend_from_slice(follows.as_bytes());
        let begun = now();
        connection.stream.get_mut().write_all(&bytes).unwrap();
        assert_eq!(connection.read().status, 200);
        assert!(begun.elapsed() < Duration::from_secs(1), "{follows:?}");
    }
}

#[test]
fn a_write_followed_by_garbage_is_acknowledged() {
    let server = Server::in_memory();
    fill(&server, 10);
    let mut connection = Connection::open(&server);
    let put = r#"{"TableName":"Tab","Item":{"a":{"S":"k"},"b":{"S":"new"}}}"#;
    let bytes = [request("PutItem", put), b"\x00garbage\r\n\r\n".to_vec()].concat();
    connection.stream.get_mut().write_all(&bytes).unwrap();
    assert_eq!(connection.read().status, 200);
    assert!(Connection::open(&server).call("GetItem", GET.as_bytes()).text().contains("new"));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    let mut writing = connection.stream.get_ref().try_clone().unwrap();
    let bytes: Vec<u8> = (0..200)
        .flat_map(|name| format!("GET / HTTP/1.1\r\nHost: host{name}\r\n\r\n").into_bytes())
        .collect();
    let sender = std::thread::Builder::new().spawn(move || writing.write_all(&bytes).unwrap()).unwrap();
    for name in 0..200 {
        assert_eq!(connection.read().text(), format!("healthy: host{name} "));
    }
    sender.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn responses_that_a_client_does_not_read_do_not_pile_up() {
    let _alone = exclusive();
    let server = Server::in_memory();
    fill(&server, 100_000);
    let before = server.resident_mib();
    let streams: Vec<_> = (0..2).map(|_| ask_without_reading(&server, 3_000)).collect();
    let heads = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100_000);
    let mut heads_only = TcpStream::connect(server.address()).unwrap();
    heads_only.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let _ = heads_only.write_all(&heads);
    let held = server.resident_mib() - before;
    assert!(held < 50, "600 MB of answers were asked for, and {held} MiB are held");
    assert_eq!(Connection::open(&server).call("GetItem", GET.as_bytes()).status, 200);
    drop(streams);
}

#[test]
fn a_client_that_does_not_read_its_responses_is_closed() {
    let server = Server::start(&["--in-memory", "--check-ms", "100"]);
    fill(&server, 100_000);
    let stream = ask_without_reading(&server, 1_000);
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(rest(stream) < 50_000_000, "what the system had buffered");
    assert_eq!(Connection::open(&server).call("GetItem", GET.as_bytes()).status, 200);
}

#[test]
fn a_client_that_does_not_read_its_response_does_not_delay_shutdown() {
    let _alone = exclusive();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    fill(&server, 100_000);
    let stream = ask_without_reading(&server, 1_000);
    let begun = now();
    assert!(server.stop());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(stream);
}

#[test]
fn a_new_client_is_served_when_all_connections_are_taken() {
    let _alone = exclusive();
    let server = Server::start(&["--in-memory", "--connections-max", "8"]);
    let mut known = Connection::open(&server);
    known.still_works();
    let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let mut begun_heads: Vec<_> = (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for stream in &mut begun_heads {
        // Some are closed already.
        let _ = stream.write_all(b"POST / HTTP/1.1\r\nHost: loc");
    }
    for _ in 0..20 {
        let begun = now();
        Connection::open(&server).still_works();
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    known.still_works();
    drop((idle, begun_heads));
}

#[test]
fn clients_with_unfinished_bodies_are_closed_to_make_room() {
    let _alone = exclusive();
    let server = Server::start(&["--in-memory", "--connections-max", "8"]);
    let mut stalled: Vec<_> = (0..80).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let bytes = request("ListTables", &"x".repeat(1_000));
    for stream in &mut stalled {
        let _ = stream.write_all(&bytes[..bytes.len() - 10]);
    }
    let begun = now();
    Connection::open(&server).still_works();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn clients_without_a_verified_request_get_half_of_the_connections() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    add_key(&file, &[]);
    let server =
        Server::start(&["--in-memory", "--connections-max", "20", "--credentials", file.to_str().unwrap()]);
    let is_open = |stream: &TcpStream| {
        let mut stream = stream;
        stream.set_nonblocking(true).unwrap();
        stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    let mut strangers = Vec::new();
    // Next to other work a refusal takes its time, and a connection of the start may have had a place.
    for _ in 0..40 {
        if strangers.len() < 10 {
            strangers.extend((0..40).map(|_| TcpStream::connect(server.address()).unwrap()));
        }
        std::thread::sleep(Duration::from_millis(250));
        strangers.retain(is_open);
        if strangers.len() == 10 {
            break;
        }
    }
    strangers.extend((0..40).map(|_| TcpStream::connect(server.address()).unwrap()));
    let refused = || {
        std::thread::sleep(Duration::from_millis(250));
        strangers.retain(is_open);
        strangers.len() <= 10
    };
    assert!(std::iter::repeat_with(refused).take(40).any(|is_refused| is_refused), "more than half get in");
    assert_eq!(strangers.len(), 10);
}

/// Starts the server with this limit of open files.
fn with_open_files(count: usize, arguments: &[&str]) -> Result<Server, String> {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("ulimit -n {count}; exec \"$0\" \"$@\"")]);
    Server::under(shell, arguments)
}

#[cfg(unix)]
#[test]
fn idle_connections_leave_the_store_its_file_descriptors() {
    let _alone = exclusive();
    let folder = tempfile::tempdir().unwrap();
    let server = with_open_files(410, &["--data", folder.path().to_str().unwrap()]).unwrap();
    let idle: Vec<_> = (0..600).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    fill(&server, 10);
    assert_eq!(Connection::open(&server).call("GetItem", GET.as_bytes()).status, 200);
    drop(idle);
    assert!(server.stop());
}

#[cfg(unix)]
#[test]
fn a_limit_of_too_few_open_files_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let fault = with_open_files(128, &["--data", folder.path().to_str().unwrap()]).err().unwrap();
    assert!(fault.contains("ulimit -n"), "{fault}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_body_with_an_invalid_head_is_not_buffered() {
    let _alone = exclusive();
    let server = Server::in_memory();
    let before = server.resident_mib();
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
                X-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Length: 16000000\r\n\r\n";
    let piece = vec![b'x'; 15_999_999];
    let mut clients: Vec<_> = (0..8).map(|_| Connection::open(&server)).collect();
    for client in &mut clients {
        client.stream.get_mut().write_all(head.as_bytes()).unwrap();
        client.stream.get_mut().write_all(&piece).unwrap();
    }
    let grown = server.resident_mib().saturating_sub(before);
    assert!(grown < 32, "128 MB were sent without a signature, and {grown} MiB are held");
    for client in &mut clients {
        client.stream.get_mut().write_all(b"x").unwrap();
        let answer = client.read();
        assert!(answer.text().contains("MissingAuthenticationToken"), "{}", answer.text());
        client.still_works();
    }
}

#[test]
fn large_bodies_of_few_clients_without_a_key_are_read_to_their_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    add_key(&file, &[]);
    let server = Server::start(&["--in-memory", "--credentials", file.to_str().unwrap()]);
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
                X-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Length: 16000000\r\n\r\n";
    let piece = vec![b'x'; 15_999_999];
    let send = || {
        let mut client = Connection::open(&server);
        client.stream.get_mut().write_all(head.as_bytes()).unwrap();
        let sent = client.stream.get_mut().write_all(&piece);
        (client, sent)
    };
    let patient: Vec<_> = (0..4).map(|_| send()).collect();
    for _ in 0..4 {
        assert!(send().1.is_err(), "four bodies are being read already");
    }
    for (mut client, sent) in patient {
        sent.unwrap();
        client.stream.get_mut().write_all(b"x").unwrap();
        let answer = client.read();
        assert!(answer.text().contains("MissingAuthenticationToken"), "{}", answer.text());
    }
    send().1.unwrap();
}

#[test]
fn a_client_with_expect_continue_gets_the_error_of_its_head() {
    let server = Server::in_memory();
    let mut connection = Connection::open(&server);
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nExpect: 100-continue\r\n\
                X-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Length: 1000000\r\n\r\n";
    connection.stream.get_mut().write_all(head.as_bytes()).unwrap();
    assert_eq!(connection.read().status, 400);
}

#[test]
fn bodies_share_a_budget_and_small_ones_need_none() {
    let server = Server::start(&["--in-memory", "--body-budget-mib", "64", "--budget-wait-ms", "200"]);
    fill(&server, 10);
    let bytes = request("ListTables", &"x".repeat(16 * 1024 * 1024));
    let mut stalled: Vec<_> = (0..4).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for stream in &mut stalled {
        stream.write_all(&bytes[..bytes.len() - 10]).unwrap();
    }
    // Until the server has read them.
    std::thread::sleep(Duration::from_millis(500));
    let put =
        format!(r#"{{"TableName":"Tab","Item":{{"a":{{"S":"l"}},"b":{{"S":"{}"}}}}}}"#, "x".repeat(100_000));
    let mut connection = Connection::open(&server);
    let busy = connection.call("PutItem", put.as_bytes());
    assert_eq!(busy.status, 503);
    assert!(busy.text().contains("ServiceUnavailable"), "{}", busy.text());
    assert_eq!(connection.call("GetItem", GET.as_bytes()).status, 200);
    drop(stalled);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(connection.call("PutItem", put.as_bytes()).status, 200);
}

#[test]
fn unread_responses_do_not_starve_other_clients() {
    let _alone = exclusive();
    let server = Server::start(&["--in-memory", "--answer-budget-mib", "32"]);
    fill(&server, 350_000);
    let mut connection = Connection::open(&server);
    for key in ["l", "m", "n"] {
        let put = format!(
            r#"{{"TableName":"Tab","Item":{{"a":{{"S":"{key}"}},"b":{{"S":"{}"}}}}}}"#,
            "x".repeat(350_000)
        );
        assert_eq!(connection.call("PutItem", put.as_bytes()).status, 200);
    }
    let scan = request("Scan", r#"{"TableName":"Tab"}"#).repeat(30);
    let mut greedy: Vec<_> = (0..40).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for stream in &mut greedy {
        stream.write_all(&scan).unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    let begun = now();
    assert_eq!(connection.call("Scan", br#"{"TableName":"Tab"}"#).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(greedy);
}

#[cfg(target_os = "linux")]
#[test]
fn items_of_failed_conditions_take_from_the_memory_for_responses() {
    let _alone = exclusive();
    // Counts what is used. With huge pages the system gives two MiB where a part of one is touched.
    let mut small_pages = Command::new("env");
    small_pages.arg("MIMALLOC_ALLOW_THP=0");
    let server = Server::under(small_pages, &["--in-memory", "--answer-budget-mib", "32"]).unwrap();
    fill(&server, 390_000);
    let before = server.resident_mib();
    let update = r#"{"TableName":"Tab","Key":{"a":{"S":"k"}},"UpdateExpression":"SET c = :c","ConditionExpression":"attribute_exists(nothing)","ExpressionAttributeValues":{":c":{"S":"c"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"#;
    let asked = request("UpdateItem", update).repeat(20);
    // Each client can have one response in the kernel's buffers and one in memory.
    let mut greedy: Vec<_> = (0..300).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for stream in &mut greedy {
        let _ = stream.write_all(&asked);
    }
    let refused = || {
        let (_, metrics) = get(&server, "/metrics");
        let used = sample(&metrics, "keywright_budget_used_bytes{budget=\"answers\"}").unwrap();
        assert!(used <= 32.0 * 1024.0 * 1024.0, "answers of 117 MB are pending, and {used} bytes are held");
        std::thread::sleep(Duration::from_millis(100));
        sample(&metrics, "keywright_refused_total{limit=\"answer_budget\"}").is_some_and(|count| count > 0.0)
    };
    assert!((0..200).any(|_| refused()), "responses without memory leave out their items");
    let grown = server.resident_mib().saturating_sub(before);
    assert!(
        grown < 32 + 96,
        "{grown} MiB, more than the memory for responses and 96 MiB for 300 connections"
    );
    let answer = Connection::open(&server).call("UpdateItem", update.as_bytes());
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("ConditionalCheckFailedException"), "{}", answer.text());
}

/// A request for 100,000 points as XML, some 7 MB, from a form of a few hundred bytes.
#[cfg(target_os = "linux")]
fn points() -> Vec<u8> {
    let metric = "MetricDataQueries.member.1.Id=m&MetricDataQueries.member.1.ReturnData=false\
        &MetricDataQueries.member.1.MetricStat.Metric.Namespace=AWS%2FDynamoDB\
        &MetricDataQueries.member.1.MetricStat.Metric.MetricName=UserErrors\
        &MetricDataQueries.member.1.MetricStat.Period=60&MetricDataQueries.member.1.MetricStat.Stat=Sum";
    let filled = (2..=6).map(|place| {
        let query = format!("&MetricDataQueries.member.{place}");
        format!("{query}.Id=f{place}{query}.Expression=FILL(m%2C0)%2F3%2BFILL(m%2C1)%2F3")
    });
    // Minutes are kept for fifteen days.
    let now_s = i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap() / 60 * 60;
    let time = |seconds| {
        let text = DateTime::from_secs(seconds).fmt(DateTimeFormat::DateTime).unwrap();
        text.replace(':', "%3A")
    };
    let (start, end) = (time(now_s - 14 * 86_400), time(now_s));
    let body = format!(
        "Action=GetMetricData&Version=2010-08-01&StartTime={start}&EndTime={end}&{metric}{}",
        filled.collect::<String>()
    );
    let credential = "AKIAEXAMPLE/20261015/us-east-1/monitoring/aws4_request";
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         X-Amz-Date: 20261015T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential={credential}, \
         SignedHeaders=host, Signature=00\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(target_os = "linux")]
#[test]
fn points_of_metrics_take_from_the_memory_for_responses() {
    let _alone = exclusive();
    let server = Server::start(&["--in-memory", "--answer-budget-mib", "32", "--budget-wait-ms", "500"]);
    let before = server.resident_mib();
    let points = points();
    let mut greedy: Vec<_> = (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for stream in &mut greedy {
        stream.write_all(&points).unwrap();
    }
    // The first three are answered, and nobody reads them; the others wait for memory in vain.
    let (_, refused) = (0..300)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            let (_, metrics) = get(&server, "/metrics");
            let used = sample(&metrics, "keywright_budget_used_bytes{budget=\"answers\"}").unwrap();
            (used, sample(&metrics, "keywright_refused_total{limit=\"answer_budget\"}").unwrap_or(0.0))
        })
        .find(|(_, refused)| *refused > 0.0)
        .expect("answers without memory are refused");
    assert!(refused >= 1.0);
    let grown = server.resident_mib().saturating_sub(before);
    assert!(grown < 288, "700 MB of answers were asked for, and {grown} MiB are held");
    drop(greedy);
    Connection::open(&server).still_works();
}

#[test]
fn connections_and_requests_of_one_address_are_limited() {
    let server =
        Server::start(&["--in-memory", "--connections-per-address", "3", "--requests-per-address", "1"]);
    let mut first = Connection::open(&server);
    first.still_works();
    let mut stalled = TcpStream::connect(server.address()).unwrap();
    let bytes = request("ListTables", &"x".repeat(1_000));
    stalled.write_all(&bytes[..bytes.len() - 10]).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(first.call("ListTables", b"{}").status, 503);
    let third = TcpStream::connect(server.address()).unwrap();
    assert_eq!(rest(TcpStream::connect(server.address()).unwrap()), 0, "the fourth is closed");
    drop((stalled, third));
    std::thread::sleep(Duration::from_millis(100));
    first.still_works();
}

/// Sends a request with a body that comes in pieces of this size, one each 100 ms, until it is answered.
/// Returns the status and how long that took.
fn drip(server: &Server, body: &str, piece_bytes: usize) -> (u16, Duration) {
    let bytes = request("ListTables", body);
    let (head, rest) = bytes.split_at(bytes.len() - body.len());
    let mut connection = Connection::open(server);
    let mut writing = connection.stream.get_ref().try_clone().unwrap();
    writing.write_all(head).unwrap();
    let pieces: Vec<Vec<u8>> = rest.chunks(piece_bytes).map(<[u8]>::to_vec).collect();
    let begun = now();
    let sender = std::thread::Builder::new().spawn(move || {
        for piece in pieces {
            // The server may have given up.
            let _ = writing.write_all(&piece);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let status = connection.read().status;
    let took = begun.elapsed();
    drop(connection);
    sender.unwrap().join().unwrap();
    (status, took)
}

#[test]
fn a_body_has_five_seconds_and_then_must_bring_a_kibibyte_each() {
    let server = Server::in_memory();
    let padded = |bytes: usize| format!("{}{{}}", " ".repeat(bytes - 2));
    let [slow, quick] = std::thread::scope(|scope| {
        let server = &server;
        let (slow, quick) = (padded(1_000), padded(20_000));
        let slow = std::thread::Builder::new().spawn_scoped(scope, move || drip(server, &slow, 10)).unwrap();
        let quick =
            std::thread::Builder::new().spawn_scoped(scope, move || drip(server, &quick, 250)).unwrap();
        [slow.join().unwrap(), quick.join().unwrap()]
    });
    assert_eq!(slow.0, 408);
    assert!(slow.1 >= Duration::from_secs(5) && slow.1 < Duration::from_secs(9), "{slow:?}");
    assert_eq!(quick.0, 200, "2.5 KB a second for eight seconds");
    assert!(quick.1 > Duration::from_secs(7), "{quick:?}");
    let (_, metrics) = get(&server, "/metrics");
    assert_eq!(sample(&metrics, "keywright_refused_total{limit=\"body_too_slow\"}"), Some(1.0));
}

#[test]
fn an_account_over_its_requests_per_second_is_throttled_alone() {
    let _alone = exclusive();
    let server = Server::start(&["--in-memory", "--requests-per-second", "123456789012=20"]);
    let mut connection = Connection::open(&server);
    let begun = now();
    let answers: Vec<_> = (0..200).map(|_| connection.call("ListTables", b"{}")).collect();
    let took = begun.elapsed();
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    let earned = 20 + usize::try_from(took.as_millis()).unwrap() * 20 / 1_000;
    assert!(good >= 20 && good <= earned + 1, "{good} in {took:?}");
    let refused = answers.iter().find(|answer| answer.status != 200).unwrap();
    assert_eq!(refused.status, 400);
    assert!(
        refused.text().contains("com.amazonaws.dynamodb.v20120810#RequestLimitExceeded"),
        "{}",
        refused.text()
    );
    let authorization = "AWS4-HMAC-SHA256 Credential=111122223333/20261121/us-east-1/dynamodb/aws4_request, \
                         SignedHeaders=host, Signature=00";
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", "DynamoDB_20120810.ListTables"),
        ("X-Amz-Date", crate::support::raw::DATE),
        ("Authorization", authorization),
    ];
    assert_eq!(connection.send("POST", &headers, b"{}").status, 200, "another account");
    let (_, metrics) = get(&server, "/metrics");
    let counted = sample(&metrics, "keywright_refused_total{limit=\"requests_per_second\"}").unwrap();
    assert!((counted - f64::from(u32::try_from(200 - good).unwrap())).abs() < 0.1, "{counted}");
    for wrong in ["123456789012", "12=5", "123456789012=0"] {
        let fault = Server::try_start(&["--in-memory", "--requests-per-second", wrong]).err().unwrap();
        assert!(fault.contains("write for example 123456789012=1000"), "{fault}");
    }
}

#[test]
fn failed_signatures_delay_failing_requests_and_no_others() {
    let _alone = exclusive();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let (id, secret) = add_key(&file, &[]);
    let server = Server::start(&["--in-memory", "--credentials", file.to_str().unwrap()]);
    let mut wrong = Signer::new(&id, "wrong", "us-east-1");
    for _ in 0..5 {
        assert_eq!(send_signed(&server, &mut wrong).0, 400);
    }
    let (status, took) = send_signed(&server, &mut wrong);
    assert!(status == 400 && took >= Duration::from_millis(160), "{took:?}");
    // The fastest of three: one can wait for a processor, while a delay would slow down all of them.
    let mut right = Signer::new(&id, &secret, "us-east-1");
    let tries = [(); 3].map(|()| send_signed(&server, &mut right));
    assert!(tries.iter().all(|(status, _)| *status == 200), "{tries:?}");
    assert!(tries.iter().any(|(_, took)| *took < Duration::from_millis(160)), "{tries:?}");
}

#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn send_signed(server: &Server, signer: &mut Signer) -> (u16, Duration) {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let time = TimeMs(u64::try_from(since.as_millis()).unwrap());
    let (date, target) = (time.to_basic(), "DynamoDB_20120810.ListTables");
    let headers = [("host", "localhost"), ("x-amz-date", date.as_str()), ("x-amz-target", target)];
    let unsigned = SignedRequest { method: "POST", path: "/", query: "", headers: &headers, body: b"{}" };
    let authorization = signer.authorization(&unsigned, &["host", "x-amz-date", "x-amz-target"], time);
    let sent = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Date", date.as_str()),
        ("X-Amz-Target", target),
        ("Authorization", authorization.as_str()),
    ];
    let begun = now();
    (Connection::open(server).send("POST", &sent, b"{}").status, begun.elapsed())
}

#[test]
fn messages_do_not_grow_with_the_request_that_they_repeat() {
    let server = Server::in_memory();
    let long = "!".repeat(2_000_000);
    let writes = [r#"{"PutRequest":{}}"#; 10].join(",");
    let numbers: Vec<String> = (0..100_000).map(|number| format!(r##""#n{number}":"a""##)).collect();
    for (operation, body) in [
        ("BatchWriteItem", format!(r#"{{"RequestItems":{{"{long}":[{writes}]}}}}"#)),
        ("DescribeTable", format!(r#"{{"TableName":"{long}"}}"#)),
        ("GetItem", format!(r#"{{"TableName":"Tab","Key":{{"{long}":{{}}}}}}"#)),
        (
            "PutItem",
            format!(
                r#"{{"TableName":"Tab","Item":{{"a":{{"S":"1"}}}},"ExpressionAttributeNames":{{{}}},"ConditionExpression":"a = a"}}"#,
                numbers.join(",")
            ),
        ),
    ] {
        let answer = Connection::open(&server).call(operation, body.as_bytes());
        assert_eq!(answer.status, 400, "{operation}");
        assert!(answer.body.len() < 100_000, "{operation}: {} bytes", answer.body.len());
    }
}
