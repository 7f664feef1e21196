//! Attacks that take connections and do little with them: idle connections, slow heads and bodies, unread
//! answers.

use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::http::Connection;
use super::pipelining::{page, put_pages};
use super::request::put;
use super::server::{Setting, Storage};

const SLOW_READERS: usize = 3_000;
const STUCK_READERS: usize = 50;
const STUCK_PAGES: usize = 8;
/// More than the descriptors of a common shell.
const IDLE_FEW: usize = 1_100;
/// More than the connections that the server takes.
const IDLE_MANY: usize = 10_050;
const SLOW_HEADS: usize = 500;
/// As many connections as clients without a key get.
const LARGE_HEADS: usize = 5_000;
/// A little less than what the server reads of a head.
const LARGE_HEAD_BYTES: usize = 60_000;
/// Makes the server read in large pieces.
const LARGE_BODY_BYTES: usize = 30_000;
/// This program's own descriptors: quiet clients, prober, files.
const OWN_DESCRIPTORS: usize = 100;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "slow-readers",
        what: "3,000 clients ask for 1 MB, never read",
        why: "they held slots and memory for ever, and delayed SIGTERM by 30 s",
        setting: Setting::MEMORY,
        prepare: put_pages,
        strike: slow_readers,
    },
    Attack {
        name: "idle-connections/1024",
        what: "1,100 idle, 1,024 descriptors",
        why: "the store could open no file and was poisoned until restart",
        setting: Setting { descriptors: Some(1024), ..Setting::FOLDER },
        prepare: nothing,
        strike: |field| idle(field, IDLE_FEW),
    },
    Attack {
        name: "idle-connections/many",
        what: "10,050 idle connections",
        why: "all slots are taken by clients that say nothing",
        setting: Setting { storage: Storage::Folder, ..Setting::WITHOUT_KEY },
        prepare: nothing,
        strike: |field| idle(field, IDLE_MANY),
    },
    Attack {
        name: "slow-heads",
        what: "1,000 heads and bodies, a byte a second",
        why: "each holds a slot for as long as the server is patient",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: slow_heads,
    },
    Attack {
        name: "large-heads/first",
        what: "5,000 unfinished heads of 60 KB",
        why: "the first read of a connection took memory that no budget counted",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: |field| field.hold_connections(bounded(LARGE_HEADS), &large_head(field)),
    },
    Attack {
        name: "large-heads/after-body",
        what: "the same after a request with a body",
        why: "a read of the body also took the beginning of the next head",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: |field| {
            let mut bytes = field.sender.head("GetItem", LARGE_BODY_BYTES);
            bytes.resize(bytes.len() + LARGE_BODY_BYTES, b' ');
            bytes.extend(large_head(field));
            field.hold_connections(bounded(LARGE_HEADS), &bytes);
        },
    },
];

/// A head without an end.
fn large_head(field: &Field<'_>) -> Vec<u8> {
    let mut head = field.sender.health();
    head.truncate(head.len().saturating_sub(2));
    head.extend_from_slice(b"X-Large: ");
    head.resize(LARGE_HEAD_BYTES, b'x');
    head
}

/// As many connections as this program may open.
fn bounded(wanted: usize) -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let soft = limits.lines().find_map(|line| {
        line.strip_prefix("Max open files")?.split_whitespace().next()?.parse::<usize>().ok()
    });
    soft.map_or(wanted, |soft| wanted.min(soft.saturating_sub(OWN_DESCRIPTORS)))
}

fn slow_readers(field: &Field<'_>) {
    let page = page(&field.sender);
    // Some ask for more than the kernel's buffers take, so that an answer is certainly under way at the end.
    field.hold_connections(STUCK_READERS, &page.repeat(STUCK_PAGES));
    field.hold_connections(bounded(SLOW_READERS), &page);
}

/// Takes the connections, then writes: with no descriptor left, the store must still be able to.
fn idle(field: &Field<'_>, count: usize) {
    let wanted = bounded(count);
    if wanted < count {
        field.count_many(format!("too few descriptors here for {count}, taken"), wanted);
    }
    let text = format!(r#""t":{{"S":"{}"}}"#, "x".repeat(100_000));
    // One more connection, which has written before: those that never asked for anything make room first.
    let first = field.sender.request("PutItem", put("idle", "0", &text).as_bytes());
    let writer = Connection::open(field.sender.address, Duration::from_secs(2))
        .and_then(|mut writer| writer.call(&first).map(|_| writer));
    field.hold_connections(wanted, b"");
    let Ok(mut writer) = writer else {
        return field.fault("no connection for the writer".to_owned());
    };
    let mut number = 0;
    while !field.over() {
        let body = put("idle", &number.to_string(), &text);
        let answer = writer.call(&field.sender.request("PutItem", body.as_bytes()));
        field.note(&answer);
        match answer {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => return field.fault(format!("a write fails: HTTP {}", answer.status)),
            Err(error) => return field.fault(format!("a write fails: {error}")),
        }
        number += 1;
        thread::sleep(Duration::from_millis(50));
    }
}

/// Half of the connections send a head, half a body, one byte a second.
fn slow_heads(field: &Field<'_>) {
    let whole = field.sender.health();
    let head = field.sender.head("GetItem", 1000);
    let mut streams = Vec::new();
    for number in 0..bounded(SLOW_HEADS * 2) {
        let start = if number % 2 == 0 { whole.get(..1).unwrap_or_default() } else { &head };
        let opened = Connection::open(field.sender.address, field.left().min(Duration::from_secs(1)));
        if let Ok(mut connection) = opened
            && connection.send(start).is_ok()
        {
            streams.push((number, connection.into_stream()));
        }
    }
    field.count_many("opened", streams.len());
    let mut sent = 1;
    while !field.over() {
        thread::sleep(field.left().min(Duration::from_secs(1)));
        for (number, stream) in &mut streams {
            let byte = if *number % 2 == 0 { whole.get(sent).copied() } else { Some(b' ') };
            // Who was closed meanwhile fails, as it should.
            let _ = stream.write_all(&[byte.unwrap_or(b'x')]);
        }
        sent += 1;
    }
    for (_, stream) in streams {
        field.hold(stream);
    }
}
