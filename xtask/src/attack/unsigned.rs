//! Attacks on a server with credentials, by clients that have none, a false one, or send slowly.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::http::Connection;
use super::request::{Sender, get};
use super::server::Setting;
use super::sign::Key;

const BODY_BYTES: usize = 16 * 1024 * 1024;
const CONNECTIONS: usize = 200;
/// The cache, the budget of bodies, and 64 MiB for all else.
const PEAK_OF_BODIES_MIB_MAX: u64 = 64 + 256 + 64;
/// What a slow client sends at once: more than what the server takes step by step.
const FIRST_BYTES: usize = 2 * 1024 * 1024;
/// And then ten times a second: above the least rate of a body.
const DRIP_BYTES: usize = 4 * 1024;
/// Enough to keep a processor busy with signatures.
const FLOODERS: usize = 16;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "unsigned-bodies/unsigned",
        what: "200 bodies of 16 MB, no signature",
        why: "without a key 3.3 GB for a minute",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: |field| hold_bodies(field, &without_signature(&field.sender)),
    },
    Attack {
        name: "unsigned-bodies/unknown-key",
        what: "200 bodies of 16 MB, unknown key",
        why: "the head alone says that the key is unknown",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: |field| hold_bodies(field, &head_of(&field.sender, Some(Key::unknown()))),
    },
    Attack {
        name: "unsigned-bodies/false-signature",
        what: "200 bodies of 16 MB, false signature",
        why: "a key's id is no secret; only the whole body shows that the signature is false",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: |field| hold_bodies(field, &head_of(&field.sender, with_false_secret(&field.sender))),
    },
    Attack {
        name: "slow-bodies",
        what: "200 bodies of 16 MB with a key, slowly",
        why: "each takes memory for all of it as soon as a mebibyte has come",
        setting: Setting { peak_mib_max: PEAK_OF_BODIES_MIB_MAX, ..Setting::WITHOUT_KEY },
        prepare: nothing,
        strike: slow_bodies,
    },
    Attack {
        name: "bad-signatures",
        what: "a flood of failing signatures",
        why: "a valid client must not pay for those who guess",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: flood,
    },
];

fn with_false_secret(sender: &Sender) -> Option<Key> {
    sender.key.as_ref().map(|key| Key { id: key.id.clone(), secret: "false".to_owned() })
}

fn head_of(sender: &Sender, key: Option<Key>) -> Vec<u8> {
    Sender::new(sender.address, key).head("PutItem", BODY_BYTES)
}

fn without_signature(sender: &Sender) -> Vec<u8> {
    let target = "DynamoDB_20120810.PutItem";
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: {target}\r\n\
         Content-Length: {BODY_BYTES}\r\n\r\n",
        sender.address
    );
    head.into_bytes()
}

fn body() -> &'static [u8] {
    static BODY: OnceLock<Vec<u8>> = OnceLock::new();
    BODY.get_or_init(|| vec![b' '; BODY_BYTES])
}

/// Each connection sends all but the last byte and waits; one that the server closes is opened again.
fn hold_bodies(field: &Field<'_>, head: &[u8]) {
    field.together(CONNECTIONS, |_| {
        while !field.over() {
            let opened = Connection::open(field.sender.address, field.left());
            let Ok(mut connection) = opened else {
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let body = body().get(1..).unwrap_or_default();
            let sent =
                connection.send(head).and_then(|()| field.send_paced(&mut connection, body, CONNECTIONS));
            if sent.is_ok() && !field.over() {
                field.count("body sent");
            }
            if connection.wait_at_most(field.left()).is_ok() {
                let answer = connection.answer();
                if !field.over() {
                    field.note(&answer);
                    // A client that comes back at once would measure this program's speed.
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
    });
}

/// Each connection makes a valid request first, so that all of the memory for bodies is open to it.
fn slow_bodies(field: &Field<'_>) {
    let first = field.sender.request("GetItem", get("quiet", "1").as_bytes());
    let head = head_of(&field.sender, field.sender.key.clone());
    field.together(CONNECTIONS, |_| {
        let Ok(mut connection) = Connection::open(field.sender.address, field.left()) else { return };
        let answer = connection.call(&first);
        field.note(&answer);
        let start = body().get(..FIRST_BYTES).unwrap_or_default();
        let begun =
            connection.send(&head).and_then(|()| field.send_paced(&mut connection, start, CONNECTIONS));
        if begun.is_ok() && !field.over() {
            field.count("body begun");
        }
        while !field.over() {
            thread::sleep(Duration::from_millis(100));
            if connection.send(body().get(..DRIP_BYTES).unwrap_or_default()).is_err() {
                break;
            }
        }
    });
}

fn flood(field: &Field<'_>) {
    let small = get("quiet", "1");
    let large = format!("{small}{}", " ".repeat(200_000));
    let rendered = |key: Option<Key>, body: &str| {
        Sender::new(field.sender.address, key).request("GetItem", body.as_bytes())
    };
    let requests = [
        rendered(with_false_secret(&field.sender), &small),
        rendered(Some(Key::unknown()), &small),
        rendered(None, &small),
        rendered(with_false_secret(&field.sender), &large),
    ];
    field.repeat(FLOODERS, &requests);
}
