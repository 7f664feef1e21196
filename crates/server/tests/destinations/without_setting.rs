//! Without the setting nothing is sent anywhere.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::arrivals;
use crate::db::{Db, TABLE};
use crate::fake::Fake;
use crate::support::Server;

/// The local ports of a process's sockets that are connected, or about to be.
fn connected_ports(process: u32) -> BTreeSet<u16> {
    let folder = format!("/proc/{process}/fd");
    let links =
        std::fs::read_dir(folder).unwrap().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let sockets: BTreeSet<String> = links
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut ports = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/net/{table}")) else { continue };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_listening = fields[3] == "0A";
            if !is_listening && sockets.contains(fields[9]) {
                let port = fields[1].rsplit(':').next().unwrap();
                ports.insert(u16::from_str_radix(port, 16).unwrap());
            }
        }
    }
    ports
}

#[test]
fn a_server_without_the_setting_fails_destinations_by_its_name_and_opens_no_connection() {
    let fake = Fake::start(&["one"]);
    let mut runner = Command::new("env");
    // What belongs to AWS's own tools is not taken for a setting.
    runner.args(["AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION=us-east-1"]);
    runner.arg(format!("AWS_ENDPOINT_URL_KINESIS={}", fake.endpoint()));
    runner.arg(format!("AWS_ENDPOINT_URL={}", fake.endpoint()));
    let server = Server::under(runner, &["--in-memory"]).unwrap();
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.enable(TABLE, "one");
    let failed = db.wait_for_status(TABLE, "ENABLE_FAILED");
    let description = failed["DestinationStatusDescription"].as_str().unwrap();
    assert!(description.contains("--kinesis-endpoint"), "{description}");
    let own: u16 = server.address().rsplit(':').next().unwrap().parse().unwrap();
    for changes in 1..=20 {
        db.put(TABLE, &arrivals::counting(0, changes));
        assert_eq!(connected_ports(server.id()), [own].into(), "only its clients are connected");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(fake.connections(), 0);
}
