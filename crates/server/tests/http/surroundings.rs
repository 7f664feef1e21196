//! The server's environment: standard error, file modes, and browsers on its machine.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::support::Server;

/// The response to one request on a connection of its own.
fn answer(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends `ListTables` with additional headers.
fn list_tables(server: &Server, host: &str, more: &str) -> String {
    let head = "POST / HTTP/1.1\r\nConnection: close\r\nContent-Type: application/x-amz-json-1.0\r\n\
                X-Amz-Target: DynamoDB_20120810.ListTables\r\nX-Amz-Date: 20261121T000000Z\r\n\
                Authorization: AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, \
                SignedHeaders=host, Signature=00\r\nContent-Length: 2\r\n";
    answer(server, &format!("{head}Host: {host}\r\n{more}\r\n{{}}"))
}

fn is_served(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(r#"{"TableNames":[]}"#)
}

fn is_refused(answer: &str, setting: &str) -> bool {
    answer.starts_with("HTTP/1.1 400 ")
        && answer.contains("AccessDeniedException")
        && answer.contains(setting)
        && !answer.to_ascii_lowercase().contains("access-control-allow")
}

/// Starts the server by a line of bash in which `"$0" "$@"` is the server's command.
fn under_bash(line: &str, arguments: &[&str]) -> Server {
    let mut bash = Command::new("bash");
    bash.env("RUST_LOG", "debug").args(["-c", line]);
    Server::under(bash, arguments).unwrap()
}

/// Opens connections that each log a line.
fn make_it_log(server: &Server, lines: usize) {
    for _ in 0..lines {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"no request at all\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

#[test]
fn an_unwritable_standard_error_does_not_stop_the_server() {
    for redirection in ["2>/dev/full", "2>&-", "2> >(true)"] {
        let server = under_bash(&format!("exec \"$0\" \"$@\" {redirection}"), &["--in-memory"]);
        make_it_log(&server, 20);
        assert!(is_served(&list_tables(&server, "localhost", "")), "{redirection}");
        assert!(server.stop(), "{redirection}");
        // An error that cannot be printed still ends with the status of an error, not with that of a panic.
        let line = format!("exec \"$0\" serve --config no-such-file {redirection}");
        let status = Command::new("bash").args(["-c", &line, env!("CARGO_BIN_EXE_keywright")]).status();
        assert_eq!(status.unwrap().code(), Some(1), "{redirection}");
    }
}

#[test]
fn a_blocked_reader_of_standard_error_does_not_stop_the_server() {
    // Nobody reads its pipe, which holds about 600 lines.
    let server = under_bash("exec \"$0\" \"$@\"", &["--in-memory"]);
    make_it_log(&server, 1500);
    assert!(is_served(&list_tables(&server, "localhost", "")));
    assert!(server.stop());
}

#[cfg(unix)]
#[test]
fn a_data_folder_is_private_for_any_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("above/data");
    let server = under_bash("umask 000; exec \"$0\" \"$@\"", &["--data", data.to_str().unwrap()]);
    assert!(is_served(&list_tables(&server, "localhost", "")));
    assert!(server.stop());
    let mut folders = vec![folder.path().join("above")];
    let mut files = 0;
    while let Some(next) = folders.pop() {
        assert_eq!(mode(&next), 0o700, "{}", next.display());
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 5, "{files}");
}

#[test]
fn a_foreign_host_name_does_not_reach_an_open_database_on_loopback() {
    let mut program = Command::new("env");
    program.arg("KEYWRIGHT_ALLOWED_HOST=db.example,other.example");
    let server = Server::under(program, &["--in-memory"]).unwrap();
    for host in [server.address(), "localhost", "[::1]:1", "db.example:8000", "OTHER.example"] {
        assert!(is_served(&list_tables(&server, host, "")), "{host}");
    }
    for host in ["evil.example:8000", "0.0.0.0:8000", "localhost\r\nHost: localhost"] {
        let refused = list_tables(&server, host, "");
        let word = if host.contains("Host") { "Host" } else { "--allowed-host" };
        assert!(is_refused(&refused, word), "{host}: {refused}");
    }
    let health =
        "GET / HTTP/1.1\r\nHost: evil.example\r\nSec-Fetch-Site: cross-site\r\nConnection: close\r\n\r\n";
    assert!(answer(&server, health).ends_with("healthy: evil.example "));
}

#[test]
fn beyond_loopback_programs_may_use_any_host_name_and_pages_may_not() {
    let server = Server::start(&["--in-memory", "--host", "0.0.0.0", "--allow-anonymous-network"]);
    assert!(is_served(&list_tables(&server, "dynamodb:8000", "")), "as in a compose file");
    for browser in
        ["Origin: http://localhost:3000\r\n", "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Mode: cors\r\n"]
    {
        let refused = list_tables(&server, "dynamodb:8000", browser);
        assert!(is_refused(&refused, "--allowed-host"), "{browser}: {refused}");
        assert!(is_served(&list_tables(&server, "localhost:8000", browser)), "{browser}");
    }
    let foreign = list_tables(&server, "localhost:8000", "Sec-Fetch-Site: cross-site\r\n");
    assert!(is_refused(&foreign, "--cors-origin"), "{foreign}");
}

/// What start writes to memory: a debug build, whose stacks and tables are larger, 6 to 7 MiB. With the huge
/// pages that the allocator would have before the server says that it wants none, 10.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_server_has_written_to_little_memory() {
    const IDLE_MIB_MAX: u64 = 8;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for arguments in [&["--in-memory"][..], &["--data", data.to_str().unwrap()]] {
        let server = under_bash(r#"exec "$0" "$@""#, arguments);
        make_it_log(&server, 10);
        let anonymous = server.anonymous_mib();
        assert!((1..=IDLE_MIB_MAX).contains(&anonymous), "{arguments:?}: {anonymous} MiB");
    }
}
