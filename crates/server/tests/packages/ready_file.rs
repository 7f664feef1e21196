//! `--ready-file`: a program that starts the server waits for the file and reads the address from it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::client::{Caller, client};
use crate::support::snapshot::assert_names;

/// A start may take this long on a busy machine.
const TRIES_MAX: u32 = 600;

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["serve", "--in-memory", "--port", "0"])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The content of the file once it is there and names this process.
fn wait_for(path: &Path, process: &Child) -> Value {
    for _ in 0..TRIES_MAX {
        if let Ok(text) = std::fs::read_to_string(path) {
            let content: Value = serde_json::from_str(&text).expect("never a part of the file");
            assert_eq!(content["pid"], process.id());
            return content;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} was not written", path.display());
}

fn stop(mut process: Child) {
    assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
    assert!(process.wait().unwrap().success());
}

#[tokio::test]
async fn the_ready_file_has_the_address_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ready.json");
    // Left by a server that was killed.
    std::fs::write(&path, "{\"pid\": 1}").unwrap();
    let process = start(&["--ready-file", path.to_str().unwrap()]);
    let content = loop {
        // The old file goes before the new one comes.
        if !std::fs::read_to_string(&path).is_ok_and(|text| text == "{\"pid\": 1}") {
            break wait_for(&path, &process);
        }
    };
    let endpoint = content["endpoint"].as_str().unwrap();
    assert_eq!(endpoint, format!("http://127.0.0.1:{}", content["port"]));
    for own in ["studio", "management"] {
        let address = content[own].as_str().unwrap().strip_prefix("http://").unwrap();
        assert!(std::net::TcpStream::connect(address).is_ok(), "{own}: {address}");
    }
    let asking = client(endpoint, Caller::default());
    assert!(asking.list_tables().send().await.unwrap().table_names().is_empty());
    stop(process);
    assert!(!path.exists());
}

#[test]
fn a_server_leaves_the_ready_file_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ready.json");
    let process = start(&["--ready-file", path.to_str().unwrap()]);
    wait_for(&path, &process);
    std::fs::write(&path, "another").unwrap();
    stop(process);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "another");
}

#[test]
fn a_ready_file_that_cannot_be_written_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/ready.json");
    let output = start(&["--ready-file", path.to_str().unwrap()]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_names(&String::from_utf8_lossy(&output.stderr), &["--ready-file", path.to_str().unwrap()]);
}
