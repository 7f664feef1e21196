//! Client commands against endpoints that are silent, go in circles, or send what commands a terminal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// What an endpoint does with a request of this operation: a response, or silence after some bytes of one.
enum Reaction {
    Answers(u16, String),
    Silence(&'static str),
}

/// By the operation's name in lower case.
type React = fn(&str) -> Reaction;

/// Serves each connection until the test ends; returns the endpoint.
fn endpoint(react: React) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::Builder::new()
        .spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::Builder::new().spawn(move || converse(stream, react)).unwrap();
            }
        })
        .unwrap();
    format!("http://{address}")
}

fn converse(stream: TcpStream, react: React) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut operation, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(target) = line.strip_prefix("x-amz-target: dynamodb_20120810.") {
                target.clone_into(&mut operation);
            }
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        stream.read_exact(&mut vec![0; length]).unwrap();
        let (bytes, ends) = match react(&operation) {
            Reaction::Answers(status, body) => {
                (format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len()), false)
            }
            Reaction::Silence(bytes) => (bytes.to_owned(), true),
        };
        if stream.get_mut().write_all(bytes.as_bytes()).is_err() {
            return;
        }
        if ends {
            // The client leaves.
            let _ = stream.read_to_end(&mut Vec::new());
            return;
        }
    }
}

/// Runs a command, for a minute at most.
#[expect(clippy::disallowed_methods, reason = "the time that the command really takes")]
fn run(arguments: &[&str]) -> (Output, Duration) {
    let begun = std::time::Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    // Read on, so that a command that prints for ever does not stop at a full pipe.
    let reader = std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        output.read_to_end(&mut text).map(|_| text)
    });
    while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Ended already, or it never would.
    let _ = child.kill();
    let mut ended = child.wait_with_output().unwrap();
    ended.stdout = reader.unwrap().join().unwrap().unwrap();
    (ended, begun.elapsed())
}

fn fails(arguments: &[&str]) -> (String, Duration) {
    let (ended, took) = run(arguments);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    (said, took)
}

fn description() -> Reaction {
    let table = r#"{"Table":{"TableName":"T","TableStatus":"ACTIVE","ItemCount":2,
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}}"#;
    Reaction::Answers(200, table.to_owned())
}

/// A page whose last key is always the same one.
fn same_page(operation: &str) -> Reaction {
    match operation {
        "listtables" => {
            Reaction::Answers(200, r#"{"TableNames":[],"LastEvaluatedTableName":"T"}"#.to_owned())
        }
        "scan" => Reaction::Answers(
            200,
            r#"{"Items":[{"pk":{"S":"a"}}],"Count":1,"LastEvaluatedKey":{"pk":{"S":"a"}}}"#.to_owned(),
        ),
        _ => description(),
    }
}

#[test]
fn an_endpoint_that_gives_a_key_again_is_reported_and_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("items.jsonl");
    let endpoint = endpoint(same_page);
    let dump = ["data", "dump", "--table", "T", "--endpoint", &endpoint];
    let into_file = [&dump[..], &["-o", file.to_str().unwrap()]].concat();
    let resumed = [&into_file[..], &["--resume"]].concat();
    let import = ["model", "import", "--endpoint", &endpoint, "-o", folder.path().to_str().unwrap()];
    for arguments in [&dump[..], &into_file, &resumed, &import] {
        let (said, _) = fails(arguments);
        assert!(said.contains("does not advance"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_silent_endpoint_ends_a_command_within_half_a_minute() {
    fn silent(_: &str) -> Reaction {
        Reaction::Silence("")
    }
    fn half(operation: &str) -> Reaction {
        match operation {
            "scan" => Reaction::Silence("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"Items\":["),
            _ => description(),
        }
    }
    std::thread::scope(|scope| {
        let cases: [(React, &str); 2] = [(silent, "no response"), (half, "nothing more")];
        for (react, part) in cases {
            scope.spawn(move || {
                let endpoint = endpoint(react);
                let (said, took) = fails(&["data", "dump", "--table", "T", "--endpoint", &endpoint]);
                assert!(said.contains(part) && said.contains("within 15 seconds"), "{said}");
                assert!(took < Duration::from_secs(30), "{took:?}");
            });
        }
    });
}

#[test]
fn what_an_endpoint_says_commands_no_terminal() {
    fn hostile(_: &str) -> Reaction {
        let body = "{\"__type\":\"x#Evil\\u001b[2J\",\"message\":\"gone\\nkeywright: all is well\\u009b31m\\u202e\"}";
        Reaction::Answers(400, body.to_owned())
    }
    let endpoint = endpoint(hostile);
    for arguments in [
        &["data", "dump", "--table", "T", "--endpoint", &endpoint][..],
        &["model", "import", "--endpoint", &endpoint, "--table", "T"],
    ] {
        let (said, _) = fails(arguments);
        assert!(said.contains("Evil\\u001b[2J: gone\\u000akeywright"), "{said}");
        assert!(
            said.chars().all(|letter| letter == '\n' || letter.is_ascii() && !letter.is_control()),
            "{said:?}"
        );
    }
}

const SESSIONS: &str = r#"
format: 1
model: sessions
tables:
  Sessions:
    key: {pk: S}
    ttl: expires
entities:
  Session: {table: Sessions, key: {pk: "s#{id}"}, attrs: {id: S, expires: N}}
"#;

#[test]
fn a_model_is_not_applied_to_a_table_that_does_not_say_whether_its_time_to_live_is_on() {
    fn denies(operation: &str) -> Reaction {
        match operation {
            "describetable" => Reaction::Answers(
                200,
                r#"{"Table":{"TableName":"Sessions","TableStatus":"ACTIVE",
                    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
                    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}}"#
                    .to_owned(),
            ),
            "describetimetolive" | "describecontinuousbackups" => Reaction::Answers(
                400,
                r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"denied"}"#
                    .to_owned(),
            ),
            _ => panic!("nothing is changed by {operation}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.yaml");
    std::fs::write(&file, SESSIONS).unwrap();
    let endpoint = endpoint(denies);
    let (said, _) = fails(&["model", "apply", file.to_str().unwrap(), "--endpoint", &endpoint]);
    let sentence =
        "Sessions: the endpoint does not say whether time to live is on: DescribeTimeToLive: AccessDenied";
    assert!(said.contains(sentence), "{said}");
    assert!(said.contains("nothing was changed"), "{said}");
    // A model that does not declare it has nothing to compare.
    std::fs::write(&file, SESSIONS.replace("    ttl: expires\n", "")).unwrap();
    let (ended, _) = run(&["model", "apply", file.to_str().unwrap(), "--endpoint", &endpoint]);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("Sessions: time to live is not compared"), "{said}");
}
