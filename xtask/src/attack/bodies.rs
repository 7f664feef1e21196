//! Attacks with bodies that are large, or grow large when they are opened or parsed.

use std::sync::OnceLock;

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::request::{TABLE, filled, get, gzip, joined, key, put};
use super::server::Setting;

/// The service's limit of a request.
const BODY_BYTES: usize = 16 * 1024 * 1024;
const ROOM: usize = 1024;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "large-bodies/tiny-attributes",
        what: "40 PutItems of 16 MB at once",
        why: "a million attributes each: parsed, they are many times as large, and kept a GetItem waiting 7 s",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| field.repeat(40, &[field.sender.request("PutItem", wide_item().as_bytes())]),
    },
    Attack {
        name: "large-bodies/batch",
        what: "10 BatchWriteItems of 16 MB at once",
        why: "25 items, each too large",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: batch,
    },
    Attack {
        name: "large-bodies/deep",
        what: "16 MB of nested lists and of [[[[",
        why: "each level is a recursion for who parses carelessly",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: deep,
    },
    Attack {
        name: "large-bodies/placeholders",
        what: "400,000 placeholders of names, values",
        why: "nothing bounds how many are declared",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: placeholders,
    },
    Attack {
        name: "tiny-chunks",
        what: "8 bodies of 1 MB in chunks of a byte",
        why: "a read of the socket brings thousands of pieces, which no limit of bytes counts",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: tiny_chunks,
    },
    Attack {
        name: "gzip-bombs",
        what: "16 MB from 16 KB, 100 at once",
        why: "a thousand times as large when opened; or thousands of empty members",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: bombs,
    },
];

/// An item of as many small attributes as a request holds.
fn wide_item() -> &'static str {
    static BODY: OnceLock<String> = OnceLock::new();
    BODY.get_or_init(|| {
        put("wide", "0", &filled(BODY_BYTES - ROOM, ",", |number| format!(r#""{number:x}":{{"S":""}}"#)))
    })
}

fn batch(field: &Field<'_>) {
    let attributes = filled(BODY_BYTES / 25 - ROOM, ",", |number| format!(r#""{number:x}":{{"S":""}}"#));
    let puts = joined(25, ",", |number| {
        format!(r#"{{"PutRequest":{{"Item":{{"pk":{{"S":"wide"}},"sk":{{"S":"{number}"}},{attributes}}}}}}}"#)
    });
    let body = format!(r#"{{"RequestItems":{{"{TABLE}":[{puts}]}}}}"#);
    field.repeat(10, &[field.sender.request("BatchWriteItem", body.as_bytes())]);
}

fn deep(field: &Field<'_>) {
    let unfinished = |start: &str, level: &str| {
        let body = format!("{start}{}", level.repeat((BODY_BYTES - start.len()) / level.len()));
        field.sender.request("PutItem", body.as_bytes())
    };
    let item = format!(r#"{{"TableName":"{TABLE}","Item":{{"pk":"#);
    field.repeat(8, &[unfinished(&item, r#"{"L":["#), unfinished("", "["), unfinished("", r#"{"a":"#)]);
}

fn tiny_chunks(field: &Field<'_>) {
    let mut request = field.sender.chunked_head("PutItem");
    request.extend_from_slice(&b"1\r\n \r\n".repeat(BODY_BYTES / 16));
    request.extend_from_slice(b"0\r\n\r\n");
    field.repeat(8, &[request]);
}

fn placeholders(field: &Field<'_>) {
    let count = 400_000;
    let names = joined(count, ",", |number| format!("\"#{number}\":\"a\""));
    let values = joined(count, ",", |number| format!(r#"":{number}":{{"N":"1"}}"#));
    let head = format!(r#""TableName":"{TABLE}","Key":{}"#, key("quiet", "1"));
    let update = r#""UpdateExpression":"SET #0=:0""#;
    let bodies = [
        format!(
            r#"{{{head},{update},"ExpressionAttributeNames":{{{names}}},"ExpressionAttributeValues":{{":0":{{"N":"1"}}}}}}"#
        ),
        format!(
            r##"{{{head},{update},"ExpressionAttributeNames":{{"#0":"a"}},"ExpressionAttributeValues":{{{values}}}}}"##
        ),
    ];
    field.repeat(4, &bodies.map(|body| field.sender.request("UpdateItem", body.as_bytes())));
}

fn bombs(field: &Field<'_>) {
    let request = get("quiet", "1");
    let padding = " ".repeat(BODY_BYTES - request.len());
    let one = gzip(format!("{request}{padding}").as_bytes());
    // 16 KB of empty members, and as many members that each open to 64 KiB.
    let (empty, full) = (gzip(b""), gzip(&vec![b' '; 64 * 1024]));
    let with = |member: &[u8], count: usize| [gzip(request.as_bytes()), member.repeat(count)].concat();
    let requests = [one, with(&empty, 800), with(&full, 255), with(&full, 2_000), with(&empty, 700_000)]
        .map(|body| field.sender.encoded("GetItem", &body));
    field.send_unreadable();
    field.repeat(100, &requests);
}
