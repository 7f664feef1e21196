//! Starting and stopping: data survives, and a failed start names its cause.

use std::collections::BTreeSet;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::ledger::row;
use crate::support::snapshot::assert_names;

#[tokio::test]
async fn a_stopped_server_exits_cleanly_and_keeps_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let asking = client(&server.endpoint, Caller::default());
    create_indexed_table(&asking, "Tab").await;
    asking.put_item().table_name("Tab").set_item(Some(row("a", 1, 1, ""))).send().await.unwrap();
    assert!(server.stop());
    let again = Server::on(folder.path());
    let asking = client(&again.endpoint, Caller::default());
    assert_eq!(asking.scan().table_name("Tab").send().await.unwrap().count(), 1);
    let described = asking.describe_table().table_name("Tab").send().await.unwrap();
    assert_eq!(described.table().unwrap().item_count(), Some(1));
}

#[test]
fn a_server_stopped_right_after_its_start_exits_cleanly() {
    for _ in 0..10 {
        assert!(Server::in_memory().stop());
    }
}

#[test]
fn a_server_that_cannot_start_names_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let running = Server::on(folder.path());
    let data = folder.path().to_str().unwrap();
    let port = running.address().rsplit(':').next().unwrap().to_owned();
    let mut said = BTreeSet::new();
    for (arguments, name) in [
        (vec!["--data", data], data),
        (vec!["--in-memory", "--host", "0.0.0.0"], "0.0.0.0"),
        (vec!["--in-memory", "--tls-certificate", "c.pem"], "--tls-key"),
        (vec!["--in-memory", "--credentials", "no-such-file"], "no-such-file"),
        (vec!["--in-memory", "--config", "no-such-file"], "no-such-file"),
    ] {
        let fault = Server::try_start(&arguments).err().unwrap();
        assert_names(&fault, &[name]);
        said.insert(fault);
    }
    let taken = std::process::Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["serve", "--in-memory", "--port", &port])
        .output()
        .unwrap();
    assert_names(&String::from_utf8_lossy(&taken.stderr), &[port.as_str(), "--port"]);
}

#[test]
fn a_data_folder_that_cannot_be_one_is_reported_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    std::fs::write(&file, "text").unwrap();
    let start = |data: &str| Server::try_start(&["--data", data]).err().unwrap();
    let below = format!("{file}/data");
    for (data, reason) in
        [(&file, "a file of this name is in the way"), (&below, "a part of this path is a file")]
    {
        let fault = start(data);
        assert_names(&fault, &[&format!("cannot open the data folder {data}: {reason}")]);
        assert!(!fault.contains("os error"), "{fault}");
    }
    // A folder that this user may not write, unless it is the superuser, who may.
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let mut mode = std::fs::metadata(&closed).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&closed, mode).unwrap();
    if std::fs::write(closed.join("probe"), "").is_err() {
        assert_names(&start(closed.join("data").to_str().unwrap()), &["this user has no permission"]);
    }
    let used = folder.path().join("used");
    let server = Server::on(&used);
    assert_names(&start(used.to_str().unwrap()), &["is open in another process: stop that process"]);
    assert!(server.stop());
}

#[test]
fn a_failed_start_leaves_no_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let broken = folder.path().join("broken");
    std::fs::write(&broken, "not a key").unwrap();
    let broken = broken.to_str().unwrap();
    for arguments in [
        &["--port", &port][..],
        &["--port", "0", "--credentials", broken],
        &["--port", "0", "--tls-certificate", broken, "--tls-key", broken],
        &["--port", "0", "--management-host", "192.0.2.1"],
        &["--port", "0", "--host", "no-such-host"],
    ] {
        let ended = std::process::Command::new(env!("CARGO_BIN_EXE_keywright"))
            .args(["serve", "--data", data.to_str().unwrap()])
            .args(arguments)
            .output()
            .unwrap();
        assert!(!ended.status.success(), "{arguments:?}");
        assert!(!folder.path().join("new").exists(), "{arguments:?}");
    }
}

#[test]
fn localhost_is_an_address() {
    let server = Server::start(&["--in-memory", "--host", "localhost"]);
    assert!(server.endpoint.starts_with("http://127.0.0.1:"), "{}", server.endpoint);
}

#[test]
fn a_misspelt_variable_is_reported() {
    let mut program = std::process::Command::new("env");
    program.arg("KEYWRIGHT_CACHE_MB=1");
    let log = Server::under(program, &["--in-memory"]).unwrap().stop_and_read_log();
    assert_names(&log, &["KEYWRIGHT_CACHE_MB", "KEYWRIGHT_CACHE_MIB"]);
}

#[test]
fn a_flipped_byte_in_acknowledged_data_is_found_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Server::on(folder.path());
    runtime.block_on(async {
        let asking = client(&server.endpoint, Caller::default());
        create_indexed_table(&asking, "Tab").await;
        for number in 0..50 {
            asking
                .put_item()
                .table_name("Tab")
                .set_item(Some(row("a", number, number, "")))
                .send()
                .await
                .unwrap();
        }
    });
    server.kill();
    let journal = find_journal(folder.path());
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    // The first byte of a record's writes: between records are bytes that mean nothing.
    let record = bytes[..middle].windows(4).rposition(|magic| magic == b"KWRC").unwrap();
    bytes[record + 32] ^= 0x40;
    std::fs::write(&journal, bytes).unwrap();
    let fault = Server::try_start(&["--data", folder.path().to_str().unwrap()]).err().unwrap();
    assert_names(&fault, &[folder.path().to_str().unwrap()]);
}

fn find_journal(folder: &std::path::Path) -> std::path::PathBuf {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("journal/00000001") {
                found.push((entry.metadata().unwrap().len(), path));
            }
        }
    }
    found.into_iter().max().unwrap().1
}
