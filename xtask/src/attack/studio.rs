//! Attacks on the studio with texts of models: what a text makes can be much larger than the text.
//! `studio_shares` has those on its memory and its turns.

use std::thread;
use std::time::Duration;

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::http::Connection;
use super::request::joined;
use super::server::Setting;

/// Enough for all processes that execute such calls, with some that wait.
const CLIENTS: usize = 8;
/// As `docs/reference/limits.md` says.
const PROCESSES_MAX: usize = 4;
const PROCESS_MIB_MAX: u64 = 768;
const LOOK: Duration = Duration::from_millis(100);
/// How long a client waits that leaves before its answer comes.
const PATIENCE: Duration = Duration::from_millis(700);

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "studio/aliases",
        what: "models with 100,000 aliases of a text of 500 KB",
        why: "each alias is a copy",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| send(field, "model/parse", &aliases(), Client::Stays),
    },
    Attack {
        name: "studio/functions",
        what: "templates whose functions multiply what they name",
        why: "each level is 700 times the one below",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| send(field, "models/import", &functions(), Client::Stays),
    },
    Attack {
        name: "studio/conditions",
        what: "templates with conditions that name each other 16 times, 18 deep",
        why: "decided anew at each place they take for ever",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| send(field, "models/import", &conditions(), Client::Leaves),
    },
    Attack {
        name: "studio/samples",
        what: "models with 400 entities of 20,000 items",
        why: "a line makes items of gigabytes",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| send(field, "model/check", &samples(), Client::Stays),
    },
    Attack {
        name: "studio/simulations",
        what: "simulations of a million requests a second; the clients leave",
        why: "nobody waits for them, and a processor still works on each",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| send(field, "model/simulate", &simulation(), Client::Leaves),
    },
    Attack {
        name: "studio/designs",
        what: "designs of models with 60 patterns; the clients leave",
        why: "the search is exponential",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| send(field, "model/design", &design(), Client::Leaves),
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    Stays,
    /// Before the answer.
    Leaves,
}

/// The model's text in a call's JSON.
fn text(model: &str) -> serde_json::Value {
    serde_json::json!({ "text": model })
}

fn aliases() -> serde_json::Value {
    let aliases = vec!["*a"; 100_000].join(",");
    text(&format!("a: &a \"{}\"\nb: [{aliases}]", "x".repeat(500_000)))
}

fn template(body: &serde_json::Value) -> serde_json::Value {
    text(&body.to_string())
}

pub(super) fn table(name: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({ "Type": "AWS::DynamoDB::Table", "Properties": {
        "TableName": name,
        "AttributeDefinitions": [{ "AttributeName": "k", "AttributeType": "S" }],
        "KeySchema": [{ "AttributeName": "k", "KeyType": "HASH" }],
    }})
}

fn functions() -> serde_json::Value {
    let name = (0..4).fold(
        serde_json::json!("x"),
        |inner, _| serde_json::json!({ "Fn::Sub": ["${a}".repeat(700), { "a": inner }] }),
    );
    template(&serde_json::json!({ "Resources": { "T": table(&name) } }))
}

fn conditions() -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for depth in 0..18 {
        let next = serde_json::json!({ "Condition": format!("C{}", depth + 1) });
        all.insert(format!("C{depth}"), serde_json::json!({ "Fn::And": vec![next; 16] }));
    }
    all.insert("C18".to_owned(), serde_json::json!({ "Fn::Equals": ["a", "a"] }));
    let mut conditional = table(&serde_json::json!("Things"));
    if let Some(members) = conditional.as_object_mut() {
        members.insert("Condition".to_owned(), serde_json::json!("C0"));
    }
    template(&serde_json::json!({ "Conditions": all, "Resources": { "T": conditional } }))
}

fn model(entities: &str, patterns: &str, data: &str) -> serde_json::Value {
    text(&format!(
        "format: 1\nmodel: hostile\ntables:\n  Things: {{key: {{pk: S, sk: S}}}}\nentities:\n{entities}patterns:\n{patterns}{data}"
    ))
}

fn samples() -> serde_json::Value {
    let entities = joined(400, "", |number| {
        format!(
            "  E{number}: {{count: 20000, key: {{pk: 'E{number}#{{id}}', sk: 'x'}}, attrs: {{id: S}}, size: 390000}}\n"
        )
    });
    model(
        &entities,
        "  - {id: P1, get: E0, given: {id: eq}, rate: 1}\n",
        "data:\n  generate: {sample: 20000, seed: 1}\n",
    )
}

pub(super) fn simulation() -> serde_json::Value {
    let patterns =
        joined(4, "", |number| format!("  - {{id: P{number}, get: E, given: {{id: eq}}, rate: 1000000}}\n"));
    let mut request = model(
        "  E: {count: 1000, key: {pk: 'E#{id}', sk: 'x'}, attrs: {id: S}}\n",
        &patterns,
        "data:\n  generate: {sample: 1000, seed: 1}\n",
    );
    if let Some(members) = request.as_object_mut() {
        members.insert("profile".to_owned(), "start: 2026-11-27T17:00:00Z\nlength: 10h\n".into());
    }
    request
}

fn design() -> serde_json::Value {
    let attributes: Vec<String> =
        (0..9).map(|number| format!("a{number}: {{type: S, distinct: 100}}")).collect();
    let entities = joined(3, "", |number| {
        format!(
            "  E{number}: {{count: 1000, key: {{pk: 'E{number}#{{id}}', sk: 'x'}}, attrs: {{id: S, {}}}}}\n",
            attributes.join(", ")
        )
    });
    let patterns = joined(60, "", |number| {
        let (entity, attribute) = (number % 3, number / 3 % 9);
        format!(
            "  - {{id: P{number}, query: E{entity}, given: {{a{attribute}: eq}}, rate: {}}}\n",
            10 + number
        )
    });
    model(&entities, &patterns, "data:\n  generate: {sample: 30, seed: 1}\n")
}

/// Sends the call from several clients again and again; no process for it may take more than it may.
fn send(field: &Field<'_>, call: &str, body: &serde_json::Value, client: Client) {
    let request = match request(field, call, body) {
        Ok(request) => request,
        Err(fault) => return field.fault(fault),
    };
    field.together(CLIENTS + 1, |number| {
        if number == CLIENTS {
            return watch(field);
        }
        while !field.over() {
            let patience = if client == Client::Leaves { PATIENCE } else { field.left() };
            let called = Connection::open(field.server.studio, patience)
                .and_then(|mut connection| connection.call(&request));
            field.note(&called);
            thread::sleep(LOOK);
        }
    });
}

fn request(field: &Field<'_>, call: &str, body: &serde_json::Value) -> Result<Vec<u8>, String> {
    request_with(field, call, "", body.to_string().as_bytes())
}

/// A call with further headers, each with its end.
pub(super) fn request_with(
    field: &Field<'_>,
    call: &str,
    headers: &str,
    body: &[u8],
) -> Result<Vec<u8>, String> {
    let host = field.server.studio;
    let page = Connection::open(host, Duration::from_secs(5))
        .and_then(|mut open| open.call(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()))
        .map_err(|error| format!("the studio's page: {error}"))?;
    let page = page.text();
    let build = page.split("name=\"keywright-build\" content=\"").nth(1);
    let build = build.and_then(|rest| rest.split('"').next()).ok_or("the page names no build")?;
    let head = format!(
        "POST /api/{call} HTTP/1.1\r\nHost: {host}\r\nx-keywright-studio: {build}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    Ok([head.as_bytes(), body].concat())
}

/// What the processes take while the attack lasts.
pub(super) fn watch(field: &Field<'_>) {
    while !field.over() {
        let processes = field.server.children_mib();
        if processes.len() > PROCESSES_MAX + 2 {
            // One of each lane for short calls may be there that is being killed.
            field.fault(format!("{} processes for calls", processes.len()));
        }
        if let Some(most) = processes.iter().max().filter(|most| **most > PROCESS_MIB_MAX) {
            field.fault(format!("a process for calls takes {most} MiB"));
        }
        thread::sleep(LOOK);
    }
}
