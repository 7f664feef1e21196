//! Attacks with pipelined requests: answers that pile up on one connection, and requests followed by other
//! bytes.

use std::io;
use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::conduct::{Attack, nothing};
use super::field::{Field, must};
use super::http::{Answer, Connection};
use super::request::{Sender, TABLE, get, put};
use super::server::Setting;

const SCANS: usize = 1_500;
const HEALTH_CHECKS: usize = 100_000;
const HEALTH_CONNECTIONS: usize = 50;
/// The requests of one write of the sender.
const AT_ONCE: usize = 100;
/// An answer that comes only with the next bytes does not come within this time.
const ANSWER_MAX: Duration = Duration::from_secs(1);

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "pipelining/scans-read",
        what: "1,500 pipelined 1 MB pages, read",
        why: "2.4 GB piled up although the client reads",
        setting: Setting::MEMORY,
        prepare: put_pages,
        strike: scans_read,
    },
    Attack {
        name: "pipelining/scans-unread",
        what: "1,500 pipelined 1 MB pages, unread",
        why: "nothing that nobody reads may pile up",
        setting: Setting::MEMORY,
        prepare: put_pages,
        strike: scans_unread,
    },
    Attack {
        name: "pipelining/health",
        what: "50 × 100,000 pipelined GET /, unread",
        why: "needs no key and took 1.0 GB",
        setting: Setting::WITHOUT_KEY,
        prepare: nothing,
        strike: health,
    },
    Attack {
        name: "pipelining/trailing",
        what: "requests followed by CRLF or garbage",
        why: "their answers waited for ever, or were lost after the write was done",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: trailing,
    },
];

/// Three items that fill a page.
pub(crate) fn put_pages(sender: &Sender) -> Result<(), String> {
    let text = format!(r#""t":{{"S":"{}"}}"#, "x".repeat(380_000));
    (0..3).try_for_each(|number| must(sender, "PutItem", &put("page", &number.to_string(), &text)))
}

/// A Query for one page of 1 MB.
pub(crate) fn page(sender: &Sender) -> Vec<u8> {
    let body = format!(
        r#"{{"TableName":"{TABLE}","KeyConditionExpression":"pk=:p","ExpressionAttributeValues":{{":p":{{"S":"page"}}}}}}"#
    );
    sender.request("Query", body.as_bytes())
}

/// Sends until all are sent, or nothing can be sent any more in the attack's time.
fn pour(field: &Field<'_>, connection: &mut Connection, request: &[u8], count: usize) {
    let many = request.repeat(AT_ONCE);
    for _ in 0..count / AT_ONCE {
        if field.over() || connection.wait_at_most(field.left()).is_err() || connection.send(&many).is_err() {
            return;
        }
    }
    field.count("all sent");
}

fn scans_read(field: &Field<'_>) {
    let request = page(&field.sender);
    while !field.over() {
        let opened = Connection::open(field.sender.address, field.left());
        let Some((mut sending, mut reading)) =
            opened.ok().and_then(|open| Some((open.try_clone().ok()?, open)))
        else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        thread::scope(|scope| {
            let named = thread::Builder::new().name("sending".to_owned());
            let spawned = named.spawn_scoped(scope, || pour(field, &mut sending, &request, SCANS));
            for _ in 0..SCANS {
                let answer = reading.answer();
                let failed = answer.is_err();
                if !field.over() {
                    field.note(&answer);
                }
                if failed || field.over() {
                    break;
                }
            }
            // Releases the sender.
            let _ = reading.into_stream().shutdown(std::net::Shutdown::Both);
            drop(spawned);
        });
    }
}

fn scans_unread(field: &Field<'_>) {
    let request = page(&field.sender);
    if let Ok(mut connection) = Connection::open(field.sender.address, field.left()) {
        pour(field, &mut connection, &request, SCANS);
        field.hold(connection.into_stream());
    }
}

fn health(field: &Field<'_>) {
    let request = field.sender.health();
    field.together(HEALTH_CONNECTIONS, |_| {
        if let Ok(mut connection) = Connection::open(field.sender.address, field.left()) {
            pour(field, &mut connection, &request, HEALTH_CHECKS);
            field.hold(connection.into_stream());
        }
    });
}

fn trailing(field: &Field<'_>) {
    let mut round = 0;
    while round == 0 || !field.over() {
        for (what, end) in [
            ("CRLF", &b"\r\n"[..]),
            ("two CRLF", b"\r\n\r\n"),
            ("a first byte", b"P"),
            ("half a head", b"POST / HTT"),
        ] {
            let request = field.sender.request("GetItem", get("quiet", "1").as_bytes());
            expect(field, &format!("a GetItem followed by {what}"), &[&request, end].concat());
        }
        for (what, end) in [("garbage", &b"\x00\xffgarbage\r\n\r\n"[..]), ("a bad head", b"POST\r\n\r\n")] {
            let write = field.sender.request("PutItem", put("trailing", &round.to_string(), "").as_bytes());
            expect(field, &format!("a PutItem followed by {what}"), &[&write, end].concat());
        }
        pipelined_in_order(field);
        round += 1;
    }
}

/// The first answer must come although more bytes, which are no request, have come.
fn expect(field: &Field<'_>, what: &str, bytes: &[u8]) {
    let timer = Timer::start();
    let answer =
        Connection::open(field.sender.address, ANSWER_MAX).and_then(|mut connection| connection.call(bytes));
    match answer {
        Ok(answer) if answer.status == 200 => field.count("200"),
        Ok(answer) => field.fault(format!("{what}: HTTP {}", answer.status)),
        Err(error) => {
            field.fault(format!("{what}: {error} after {} s", timer.elapsed().as_secs_f32().round()));
        }
    }
}

/// Answers come in the order of their requests.
fn pipelined_in_order(field: &Field<'_>) {
    let numbers = [3, 1, 4, 15, 9, 2, 6];
    let all: Vec<u8> = numbers
        .iter()
        .flat_map(|number| field.sender.request("GetItem", get("quiet", &number.to_string()).as_bytes()))
        .collect();
    let answers = || -> io::Result<Vec<Answer>> {
        let mut connection = Connection::open(field.sender.address, ANSWER_MAX)?;
        connection.send(&all)?;
        numbers.iter().map(|_| connection.answer()).collect()
    };
    match answers() {
        Ok(answers) => {
            let right = answers
                .iter()
                .zip(numbers)
                .all(|(answer, number)| answer.text().contains(&format!(r#""sk":{{"S":"{number}"}}"#)));
            if !right {
                field.fault("pipelined answers are out of order".to_owned());
            }
        }
        Err(error) => field.fault(format!("pipelined GetItems: {error}")),
    }
}
