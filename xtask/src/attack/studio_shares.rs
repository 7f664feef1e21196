//! Attacks on what the studio's users share: its memory, its turns and its sessions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::conduct::{Attack, nothing};
use super::field::Field;
use super::http::{Answer, Connection};
use super::server::{Access, Setting};
use super::sign;
use super::studio::{request_with, simulation, table, watch};

/// As `docs/reference/limits.md` says: the cache, 384 MiB of the studio, the models in memory, and as much
/// for all else as an idle server takes.
const PEAK_MIB_MAX: u64 = 64 + 384 + 64 + 64;
/// Models of this attack, all that there may be, and the characters of each.
const MODELS: usize = 64;
const MODEL_BYTES: usize = 1 << 20;
/// Fewer than the studio's connections.
const CLIENTS: usize = 60;
/// How long a short call may take that runs at once: a moment for each call before it, and a slow machine.
const SHORT_MAX: Duration = Duration::from_secs(5);
/// More than an account may have.
const SIGN_INS: usize = 400;
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "studio/memory",
        what: "60 clients: lists and texts of large models, checks of 15 MB behind simulations, answers unread",
        why: "what waits for its turn keeps its bytes",
        setting: Setting { peak_mib_max: PEAK_MIB_MAX, ..Setting::MEMORY },
        prepare: nothing,
        strike: |field| judged(field, fill_memory),
    },
    Attack {
        name: "studio/turns",
        what: "two endless simulations, four long imports; short calls of others",
        why: "whose call is short must not wait for those",
        setting: Setting::MEMORY,
        prepare: nothing,
        strike: |field| judged(field, take_turns),
    },
    Attack {
        name: "studio/sign-ins",
        what: "an account signs in 400 times; another one works on",
        why: "one account's sessions must not end another's",
        setting: Setting { access: Access::Keys, ..Setting::MEMORY },
        prepare: nothing,
        strike: |field| judged(field, sign_in_often),
    },
];

fn judged(field: &Field<'_>, strike: fn(&Field<'_>) -> Result<(), String>) {
    if let Err(fault) = strike(field) {
        field.fault(fault);
    }
}

fn call(field: &Field<'_>, request: &[u8], patience: Duration) -> std::io::Result<Answer> {
    Connection::open(field.server.studio, patience).and_then(|mut connection| connection.call(request))
}

/// A call that must succeed.
fn must(field: &Field<'_>, request: &[u8]) -> Result<Answer, String> {
    match call(field, request, PATIENCE) {
        Ok(answer) if answer.status == 200 => Ok(answer),
        Ok(answer) => Err(format!("the studio: {} {}", answer.status, answer.text())),
        Err(error) => Err(format!("the studio: {error}")),
    }
}

fn request(field: &Field<'_>, name: &str, body: &serde_json::Value) -> Result<Vec<u8>, String> {
    request_with(field, name, "", body.to_string().as_bytes())
}

/// The endless simulation in a body of so many bytes more.
fn padded(bytes: usize) -> serde_json::Value {
    let mut body = simulation();
    if let Some(members) = body.as_object_mut() {
        members.insert("more".to_owned(), "x".repeat(bytes).into());
    }
    body
}

fn fill_memory(field: &Field<'_>) -> Result<(), String> {
    // In JSON each of these characters has six bytes.
    let text = "\u{1}".repeat(MODEL_BYTES);
    for number in 0..MODELS {
        let model = serde_json::json!({ "name": format!("m{number}.yaml"), "text": text, "hash": null });
        must(field, &request(field, "models/write", &model)?)?;
    }
    let read = serde_json::json!({ "name": "m0.yaml" });
    let requests = [
        request(field, "models/list", &serde_json::json!({}))?,
        request(field, "models/read", &read)?,
        request(field, "model/simulate", &padded(15 << 20))?,
        request(field, "models/read", &read)?,
    ];
    field.together(CLIENTS + 1, |number| {
        let Some(request) = requests.get(number % requests.len()).filter(|_| number < CLIENTS) else {
            return watch(field);
        };
        let reads = number % requests.len() < 3;
        while !field.over() {
            let opened = Connection::open(field.server.studio, field.left());
            let called = opened.and_then(|mut connection| {
                connection.send(request)?;
                if reads {
                    return connection.answer();
                }
                // The answer waits unread.
                thread::sleep(field.left().min(Duration::from_secs(2)));
                Err(std::io::ErrorKind::TimedOut.into())
            });
            field.note(&called);
            thread::sleep(LOOK);
        }
    });
    Ok(())
}

/// A template of 900 tables with 60 tags each.
fn long_import() -> serde_json::Value {
    let tags: Vec<_> = (0..60)
        .map(|number| serde_json::json!({ "Key": format!("k{number}"), "Value": "x".repeat(20) }))
        .collect();
    let tables = (0..900).map(|number| {
        let mut table = table(&format!("Table{number}").into());
        if let Some(own) = table.get_mut("Properties").and_then(serde_json::Value::as_object_mut) {
            own.insert("Tags".to_owned(), tags.clone().into());
        }
        (format!("T{number}"), table)
    });
    let tables: serde_json::Map<_, _> = tables.collect();
    serde_json::json!({ "text": serde_json::json!({ "Resources": tables }).to_string() })
}

fn take_turns(field: &Field<'_>) -> Result<(), String> {
    let simulation = request(field, "model/simulate", &simulation())?;
    let import = request(field, "models/import", &long_import())?;
    let model = serde_json::json!({ "text": include_str!("../../../examples/models/orders.yaml") });
    let short = ["model/check", "model/parse"].map(|name| request(field, name, &model));
    let [check, parse] = short;
    let (check, parse) = (check?, parse?);
    field.together(9, |number| match number {
        0 | 1 => drop(call(field, &simulation, field.left())),
        2..6 => {
            while !field.over() {
                field.note(&call(field, &import, field.left()));
            }
        }
        6 => watch(field),
        _ => {
            // The long ones come first.
            thread::sleep(Duration::from_millis(500));
            let request = if number == 7 { &check } else { &parse };
            while !field.over() {
                let timer = Timer::start();
                let called = call(field, request, PATIENCE);
                let took = timer.elapsed();
                if !called.as_ref().is_ok_and(|answer| answer.status == 200) || took > SHORT_MAX {
                    field.fault(format!("a short call took {} ms: {called:?}", took.as_millis()));
                }
                field.note(&called);
                thread::sleep(LOOK);
            }
        }
    });
    Ok(())
}

/// A request that signs in. Each has another body, and so another signature.
fn sign_in(field: &Field<'_>, key: Option<&sign::Key>, number: usize) -> Result<Vec<u8>, String> {
    let key = key.ok_or("the server has no keys")?;
    let (host, date) = (field.server.studio.to_string(), sign::now());
    let body = format!("{{\"number\":{number}}}");
    let target = ("dynamodb", "SignIn");
    let signed = key.authorization_at("/api/sign-in", &host, &date, target, body.as_bytes());
    let headers = format!("X-Amz-Date: {date}\r\nX-Amz-Target: {}\r\nAuthorization: {signed}\r\n", target.1);
    request_with(field, "sign-in", &headers, body.as_bytes())
}

fn sign_in_often(field: &Field<'_>) -> Result<(), String> {
    let answer = must(field, &sign_in(field, field.server.other_key.as_ref(), 0)?)?;
    let answer: serde_json::Value =
        serde_json::from_str(&answer.text()).map_err(|error| error.to_string())?;
    let token = answer.get("token").and_then(serde_json::Value::as_str).ok_or("no token")?;
    let list = request_with(field, "models/list", &format!("Authorization: Bearer {token}\r\n"), b"{}")?;
    let next = AtomicUsize::new(1);
    field.together(5, |number| {
        while !field.over() {
            let sent = next.fetch_add(1, Ordering::Relaxed);
            if number == 0 || sent > SIGN_INS {
                let called = call(field, &list, PATIENCE);
                if !called.as_ref().is_ok_and(|answer| answer.status == 200) {
                    field.fault(format!("the other account's session: {called:?}"));
                }
                thread::sleep(LOOK);
            } else {
                match sign_in(field, field.server.key.as_ref(), sent) {
                    Ok(request) => field.note(&call(field, &request, PATIENCE)),
                    Err(fault) => field.fault(fault),
                }
            }
        }
    });
    Ok(())
}
