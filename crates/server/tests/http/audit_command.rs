//! `keywright audit`: a log with its closed files in the order of time, and a log that cannot be written from
//! the start.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::audit::folder;
use crate::support::Server;
use crate::support::management::{get, sample};
use crate::support::raw::Connection;
use crate::support::signed::schema;
use crate::support::small_disk::SmallDisk;

/// A line of the log.
fn record(name: &str) -> String {
    format!("{}\n", json!({"eventTime": "2026-11-28T10:00:00Z", "eventName": name, "userIdentity": {}}))
}

fn compressed(path: &Path, text: &str) {
    let mut file = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    file.write_all(text.as_bytes()).unwrap();
    std::fs::write(path, file.finish().unwrap()).unwrap();
}

/// The names of the records that the command shows of these files, or why it fails.
fn shown(folder: &Path, files: &[&str]) -> Result<Vec<String>, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    let output = command.arg("audit").args(files).current_dir(folder).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    let text = String::from_utf8(output.stdout).unwrap();
    Ok(text.lines().map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect())
}

#[test]
fn a_log_is_shown_with_its_closed_files_in_the_order_of_time() {
    let (folder, log) = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(&log, record("Fourth")).unwrap();
    assert_eq!(shown(folder.path(), &["audit.log"]).unwrap(), ["Fourth"], "before any file is closed");
    std::fs::write(at("audit.log.20261127T101500123Z"), record("Third")).unwrap();
    compressed(&at("audit.log.20261126T101500123Z.gz"), &record("Second"));
    compressed(&at("audit.log.20261125T101500123Z.gz"), &record("First"));
    // Another log, and what a compression has begun.
    std::fs::write(at("audit.log.old"), record("Other")).unwrap();
    std::fs::write(at("audit.log.20261127T101500123Z.gz.draft"), "x").unwrap();
    // One that is compressed at this moment is there twice.
    compressed(&at("audit.log.20261127T101500123Z.gz"), &record("Third"));
    let all = ["First", "Second", "Third", "Fourth"];
    assert_eq!(shown(folder.path(), &["audit.log"]).unwrap(), all);
    let named = ["audit.log", "audit.log.20261127T101500123Z", "audit.log.20261126T101500123Z.gz"];
    assert_eq!(shown(folder.path(), &named).unwrap(), all, "each file once, in any order of names");
    assert_eq!(shown(folder.path(), &named[1..]).unwrap(), ["Second", "Third"], "closed files alone");
    assert_eq!(shown(folder.path(), &["audit.log.old"]).unwrap(), ["Other"]);
    // The log was moved away, and has closed files still.
    std::fs::remove_file(&log).unwrap();
    assert_eq!(shown(folder.path(), &["audit.log"]).unwrap(), all[..3]);
    let fault = shown(folder.path(), &["missing.log"]).unwrap_err();
    assert!(fault.contains("cannot read missing.log: there is no such file"), "{fault}");
}

#[test]
fn a_disk_that_is_full_from_the_start_is_reported_and_changes_wait_for_it() {
    for is_required in [false, true] {
        let Some(disk) = SmallDisk::mount(1) else { return };
        let log = disk.path().join("audit.log");
        std::fs::write(&log, "").unwrap();
        let filler = disk.path().join("filler");
        assert!(std::fs::write(&filler, vec![0; 2 << 20]).is_err(), "the disk is full");
        let required = format!("--audit-required={is_required}");
        let server = Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap(), &required]);
        let (_, metrics) = get(&server, "/metrics");
        assert_eq!(sample(&metrics, "keywright_audit_failing"), Some(1.0), "before the first request");
        let mut connection = Connection::open(&server);
        let mut create = |name: &str| connection.call("CreateTable", schema(name).to_string().as_bytes());
        let answer = create("Tab");
        if is_required {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert!(answer.text().contains("Nothing was changed"), "also of the first: {}", answer.text());
        } else {
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        std::fs::remove_file(&filler).unwrap();
        // The log is tried once a second.
        let is_written = (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            sample(&get(&server, "/metrics").1, "keywright_audit_failing") == Some(0.0)
        });
        assert!(is_written, "it is written again");
        assert_eq!(create("Last").status, 200);
        let log = server.stop_and_read_log();
        assert!(log.contains("cannot write the audit log") && log.contains("is written again"), "{log}");
        let left: Vec<_> =
            std::fs::read_dir(disk.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".probe")), "{left:?}");
    }
}
