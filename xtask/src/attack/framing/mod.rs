//! A fuzzer of HTTP framing: streams of valid requests, mutated, on many connections, and what must hold of
//! answers.
//!
//! `stream.rs` makes the streams; the same seed makes the same ones.

mod stream;

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::conduct::Attack;
use super::field::{Field, must};
use super::http::{Answer, Connection, read_answer};
use super::request::{Sender, TABLE};
use super::server::Setting;
use stream::{MARKERS, Stream, marker};

const WORKERS: usize = 12;
/// After a mutated stream nothing more may come: silence of this time ends it.
const SILENCE: Duration = Duration::from_millis(25);
/// All answers to an unmutated stream come within this time.
const ANSWERS_MAX: Duration = Duration::from_secs(5);

pub(crate) const ATTACKS: &[Attack] = &[Attack {
    name: "mixed-framing",
    what: "mutated HTTP streams, seeded",
    why: "no stream may crash the server, make it answer 500, or get the answer of another connection",
    setting: Setting::MEMORY,
    prepare: put_markers,
    strike,
}];

/// The items by whose text an answer shows whose it is. The seed has no say in them.
fn put_markers(sender: &Sender) -> Result<(), String> {
    (0..MARKERS).try_for_each(|number| {
        let name = marker(number);
        let body = format!(
            r#"{{"TableName":"{TABLE}","Item":{{"pk":{{"S":"{name}"}},"sk":{{"S":"m"}},"t":{{"S":"answer-{name}"}}}}}}"#
        );
        must(sender, "PutItem", &body)
    })
}

fn strike(field: &Field<'_>) {
    let next = AtomicU64::new(0);
    field.together(WORKERS, |_| {
        while !field.over() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let stream = Stream::new(field.seed, number);
            if let Err(fault) = one(field, &stream) {
                field.fault(format!(
                    "stream {number} of seed {} ({}): {fault}",
                    field.seed,
                    saved(field, &stream)
                ));
            }
            if field.server.ended().is_some() {
                field.fault(format!("the server ended near stream {number} of seed {}", field.seed));
                return;
            }
        }
    });
    field.count_many("streams", usize::try_from(next.into_inner()).unwrap_or_default());
}

/// Where a stream at fault is kept, to be sent again; not more of them than faults are shown.
fn saved(field: &Field<'_>, stream: &Stream) -> String {
    let name = format!("keywright-stream-{}-{}", field.seed, stream.number);
    let path = std::env::temp_dir().join(name);
    if field.has_faults_enough() {
        return "not saved".to_owned();
    }
    match std::fs::write(&path, &stream.bytes) {
        Ok(()) => path.display().to_string(),
        Err(error) => error.to_string(),
    }
}

fn one(field: &Field<'_>, stream: &Stream) -> Result<(), String> {
    let Ok(mut connection) = Connection::open(field.sender.address, ANSWERS_MAX) else {
        field.count("refused");
        return Ok(());
    };
    let sent = send(&mut connection, stream);
    if stream.mutated {
        return judge_mutated(field, connection, stream);
    }
    sent.map_err(|error| format!("an unmutated stream cannot be sent: {error}"))?;
    for number in 0..stream.requests {
        let answer = connection.answer().map_err(|error| {
            format!("answer {number} of {} to an unmutated stream: {error}", stream.requests)
        })?;
        check(stream, &answer)?;
        field.count(answer.status.to_string());
        if answer.status != 200 {
            return Err(format!(
                "an unmutated request is answered with {}: {}",
                answer.status,
                answer.text()
            ));
        }
    }
    Ok(())
}

fn send(connection: &mut Connection, stream: &Stream) -> io::Result<()> {
    let mut from = 0;
    for &to in stream.splits.iter().chain([&stream.bytes.len()]) {
        connection.send(stream.bytes.get(from..to).unwrap_or_default())?;
        from = from.max(to);
        if stream.hesitates {
            thread::sleep(Duration::from_millis(1));
        }
    }
    if stream.cut { connection.finish_sending() } else { Ok(()) }
}

/// Every answer is well-formed, none is an internal error or of somebody else, and there are not too many.
fn judge_mutated(field: &Field<'_>, mut connection: Connection, stream: &Stream) -> Result<(), String> {
    connection.wait_at_most(SILENCE).map_err(|error| error.to_string())?;
    let (bytes, broken) = connection.rest();
    let (mut rest, mut own) = (bytes.as_slice(), 0);
    while !rest.is_empty() {
        match read_answer(&mut rest) {
            Ok(answer) => {
                check(stream, &answer)?;
                field.count(answer.status.to_string());
                own += usize::from(answer.status == 200 && answer.text().contains(&stream.own_answer()));
            }
            // A body whose end never came, after the interim answer to its head.
            Err(_) if bytes.ends_with(b"HTTP/1.1 100 Continue\r\n\r\n") => break,
            // The connection was reset, or the rest is still to come.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && broken.is_some() => break,
            Err(error) => return Err(format!("{error} in {:?}", String::from_utf8_lossy(&bytes))),
        }
    }
    field.count(if broken.is_some() { "left open" } else { "closed" });
    if own > stream.requests { Err(format!("{own} answers to {} requests", stream.requests)) } else { Ok(()) }
}

fn check(stream: &Stream, answer: &Answer) -> Result<(), String> {
    let text = answer.text();
    // That is what the service answers to a body that cannot be opened.
    if answer.status == 500 && !stream.is_compressed() {
        return Err(format!("HTTP 500: {text}"));
    }
    let others: BTreeSet<String> = (0..MARKERS)
        .map(|number| format!("answer-{}", marker(number)))
        .filter(|other| *other != stream.own_answer() && text.contains(other.as_str()))
        .collect();
    match others.first() {
        Some(other) => Err(format!("the {other} of another connection")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_streams() {
        let bytes = |seed| (0..50).map(|number| Stream::new(seed, number).bytes).collect::<Vec<_>>();
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }

    #[test]
    fn splits_are_within_the_stream_and_ascend() {
        for number in 0..500 {
            let stream = Stream::new(3, number);
            assert!(stream.splits.is_sorted());
            assert!(stream.splits.iter().all(|split| *split <= stream.bytes.len()));
        }
        assert!((0..50).any(|number| Stream::new(3, number).mutated));
        assert!((0..50).any(|number| !Stream::new(3, number).mutated));
    }
}
