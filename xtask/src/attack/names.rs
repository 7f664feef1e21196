//! Attacks by names: lines of the request log forged by a table's name, and regions that are no names.

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::server::Setting;

/// What would stand in a line of its own, command a terminal, or turn the text around.
const FORGED: &str = "Shop\\n2026-11-27T16:00:00.000Z request id=forged operation=DeleteTable status=200\\r\\u001b[2J\\u009b31m\\u202e\\u2028";
const CLIENTS: usize = 20;
/// What no region may be: names of hosts, marks of ARNs and of shells, and texts of any length.
const REGIONS: [&str; 6] = ["\\evil.example", "a:b:c", "x;id;", "a b", "$(id)", ".."];
const LONG_BYTES: usize = 8_000;
/// Bytes of a line whose five names are as long as they may be, and all its figures.
const LINE_BYTES_MAX: usize = 8 * 1024;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "names/log",
        what: "20 clients name tables with line breaks, ESC and 8,000 bytes",
        why: "a name that is logged as it came forges a line",
        setting: Setting { arguments: &["--request-log"], ..Setting::MEMORY },
        prepare: nothing,
        strike: forge,
    },
    Attack {
        name: "names/regions",
        what: "20 clients sign for hosts, shell lines and marks of ARNs as regions",
        why: "a region stands in ARNs, addresses and lines of shells",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: sign_for_regions,
    },
];

fn forge(field: &Field<'_>) {
    let long = "x".repeat(LONG_BYTES);
    let requests: Vec<Vec<u8>> = [FORGED, "Shop status=200", long.as_str()]
        .iter()
        .map(|name| {
            let body = format!(r#"{{"Statement":"SELECT * FROM \"{name}\".\"{name}\""}}"#);
            field.sender.request("ExecuteStatement", body.as_bytes())
        })
        .collect();
    field.repeat(CLIENTS, &requests);
    let mut lines = 0_usize;
    for line in field.server.whole_log().split_terminator('\n') {
        lines += 1;
        let mut words = line.split(' ').skip(1);
        let is_request = words.next() == Some("request") && words.next() != Some("id=forged");
        // The other lines are about lines that were lost.
        let is_ours = is_request || line.starts_with("keywright: ");
        let is_printable =
            line.chars().all(|letter| !letter.is_control() && !('\u{2028}'..='\u{202e}').contains(&letter));
        if !is_ours {
            field.fault(format!("a forged line: {}", line.escape_debug()));
        }
        if !is_printable {
            field.fault(format!("a line with controls: {}", line.escape_debug()));
        }
        if line.len() > LINE_BYTES_MAX {
            field.fault(format!("a line of {} bytes", line.len()));
        }
    }
    if lines == 0 {
        field.fault("no request was logged: the attack shows nothing".to_owned());
    }
}

fn sign_for_regions(field: &Field<'_>) {
    let long = "r".repeat(LONG_BYTES);
    let requests: Vec<Vec<u8>> = REGIONS
        .iter()
        .copied()
        .chain([long.as_str()])
        .map(|region| {
            let plain = field.sender.request("ListTables", b"{}");
            let text = String::from_utf8_lossy(&plain).replace("/us-east-1/", &format!("/{region}/"));
            text.into_bytes()
        })
        .collect();
    field.repeat(CLIENTS, &requests);
    if !field.answers().contains("400") {
        field.fault(format!("no region was refused: {}", field.answers()));
    }
    if field.answers().contains("200 ") {
        field.fault(format!("a region was taken: {}", field.answers()));
    }
}
