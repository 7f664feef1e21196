//! The processes that execute calls on models: what ends them, and what they may take.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http::{call, last, read_until, send_with};
use crate::support::Server;

fn start() -> Server {
    Server::start(&["--in-memory", "--studio-port", "0"])
}

/// A simulation that works on one minute for much longer than any test.
pub(crate) fn endless() -> serde_json::Value {
    json!({"profile": "start: 2026-11-27T17:00:00Z\nlength: 10h\n", "text": "format: 1
model: endless
tables:
  Things: {key: {pk: S, sk: S}}
entities:
  E: {count: 1000, key: {pk: 'E#{id}', sk: x}, attrs: {id: S}}
patterns:
  - {id: P1, get: E, given: {id: eq}, rate: 1000000}
data:
  generate: {sample: 100, seed: 1}
"})
}

/// Processes that this one has started.
fn children(server: &Server) -> Vec<PathBuf> {
    let parent = format!("PPid:\t{}\n", server.id());
    let is_child = |process: &PathBuf| {
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        status.contains(&parent) && !status.contains("State:\tZ")
    };
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|process| process.path());
    processes.filter(is_child).collect()
}

fn only_child(server: &Server) -> PathBuf {
    let processes = children(server);
    let [process] = processes.as_slice() else { panic!("{processes:?}") };
    process.clone()
}

#[expect(clippy::disallowed_methods, reason = "a test waits")]
fn within(seconds: u64, mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Starts the endless call and waits until it is at work.
pub(crate) fn begin(server: &Server) -> std::net::TcpStream {
    begin_with(server, &[])
}

/// The same with further headers.
pub(crate) fn begin_with(server: &Server, headers: &[(&str, &str)]) -> std::net::TcpStream {
    let mut stream = send_with(server, "model/simulate", headers, &endless());
    let said = read_until(&mut stream, "progress");
    assert!(!said.contains("\"error\""), "{said}");
    stream
}

#[test]
fn a_call_ends_with_its_client_and_the_next_one_is_executed() {
    let server = start();
    let stream = begin(&server);
    let process = only_child(&server);
    drop(stream);
    // It has ended, or waits for the next call.
    let mut before = None;
    let rests = || {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let ticks: Vec<String> = stat.split(' ').skip(13).take(2).map(str::to_owned).collect();
        std::thread::sleep(Duration::from_millis(200));
        before.replace(ticks.clone()) == Some(ticks)
    };
    assert!(within(10, rests), "nobody waits for it");
    let started = call(&server, "model/simulate/starter", &json!({"text": endless()["text"]}));
    assert_eq!(started.status, 200, "{}", started.body);
    let checked = call(&server, "model/check", &endless());
    assert!(last(&checked).get("done").is_some(), "{}", checked.body);
}

#[test]
fn a_stop_does_not_wait_for_calls_on_models() {
    let server = start();
    let _stream = begin(&server);
    #[expect(clippy::disallowed_methods, reason = "how long a stop takes")]
    let begun = Instant::now();
    assert!(server.stop(), "it ends cleanly");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_process_without_a_studio_ends_in_the_middle_of_a_call() {
    let server = start();
    let _stream = begin(&server);
    let process = only_child(&server);
    server.kill();
    assert!(within(10, || !process.join("status").exists()), "it has nobody to work for");
}

#[test]
fn a_process_cannot_take_more_memory_than_a_call_gets() {
    let tries = |bytes: u64| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_keywright"))
            .arg("studio-worker")
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The announced bytes need their memory before they come.
        process.stdin.as_mut().unwrap().write_all(format!("call model/check {bytes}\n").as_bytes()).unwrap();
        let ended = within(3, || process.try_wait().unwrap().is_some());
        let _it_may_have_ended = process.kill();
        process.wait().unwrap();
        ended
    };
    assert!(!tries(400_000_000), "it waits for the bytes");
    assert!(tries(900_000_000), "it was ended");
}
