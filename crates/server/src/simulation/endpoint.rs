//! The endpoint of the simulation: `GET` shows it, `POST` replaces it, `DELETE` ends it. Two more paths
//! deliver changes one by one, and wait until none is on its way.
//!
//! It knows the form of requests and responses.

use keywright_engine::Simulation;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Desk;
use super::known::{Tables, check_tables};

pub(crate) const PATH: &str = "/_keywright/simulation";
pub(crate) const DELIVER_PATH: &str = "/_keywright/simulation/deliver";
pub(crate) const QUIET_PATH: &str = "/_keywright/simulation/wait-quiet";
/// A `POST` or `DELETE` must have this value in the header `x-keywright`. A page of a browser cannot send it
/// to another origin without a preflight.
pub(crate) const HEADER_VALUE: &str = "simulation";
/// Bytes of a request's body.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;
/// Changes that one request delivers.
const COUNT_MAX: usize = 1_000;
const TIMEOUT_MS: u64 = 10_000;
const TIMEOUT_MS_MAX: u64 = 60_000;

/// Which changes a request delivers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Delivered {
    /// So many, in the order in which they were written.
    Count(usize),
    /// The next one of the item with this key.
    Key(Item),
}

/// A wish to deliver changes of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delivery {
    pub(crate) table: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) what: Delivered,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliverBody {
    table: String,
    from: String,
    to: String,
    count: Option<usize>,
    key: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct QuietBody {
    timeout_ms: Option<u64>,
}

/// Replaces the simulation as a body says, unless it is about tables that are not there.
pub(crate) fn replace(desk: &Desk, body: &[u8], known: &impl Tables) -> Result<(), String> {
    let simulation = desk.read(body)?;
    check_tables(&simulation, known)?;
    desk.set(simulation);
    Ok(())
}

/// Ends the simulation.
pub(crate) fn end(desk: &Desk) {
    desk.set(Simulation::default());
}

/// What a request delivers.
pub(crate) fn read_delivery(body: &[u8]) -> Result<Delivery, String> {
    let body: DeliverBody = serde_json::from_slice(body).map_err(|error| {
        let form = r#"{"table": NAME, "from": REGION, "to": REGION, "count": NUMBER}"#;
        format!("the body is not {form}, or with \"key\" for \"count\": {error}")
    })?;
    let what = match (body.count, body.key) {
        (None, None) => Delivered::Count(1),
        (Some(count @ 1..=COUNT_MAX), None) => Delivered::Count(count),
        (Some(count), None) => return Err(format!("count is {count}: write 1 to {COUNT_MAX}")),
        (None, Some(key)) => Delivered::Key(read_key(&key)?),
        (Some(_), Some(_)) => return Err("count and key exclude each other: write one".to_owned()),
    };
    let DeliverBody { table, from, to, .. } = body;
    Ok(Delivery { table, from, to, what })
}

/// A key as DynamoDB writes items.
fn read_key(key: &Value) -> Result<Item, String> {
    let read = Json::parse(&key.to_string()).ok().and_then(|key| read_item(&key));
    let read = read.filter(|read| read.typed);
    read.map(|read| read.item).ok_or_else(|| r#"key has no values in the form {"S": "a"}"#.to_owned())
}

/// For how many milliseconds a request waits.
pub(crate) fn read_wait(body: &[u8]) -> Result<u64, String> {
    let body = if body.is_empty() { &b"{}"[..] } else { body };
    let body: QuietBody = serde_json::from_slice(body)
        .map_err(|error| format!(r#"the body is not {{"timeout_ms": NUMBER}}: {error}"#))?;
    match body.timeout_ms {
        None => Ok(TIMEOUT_MS),
        Some(ms) if ms <= TIMEOUT_MS_MAX => Ok(ms),
        Some(ms) => Err(format!("timeout_ms is {ms}: write at most {TIMEOUT_MS_MAX}")),
    }
}

/// How many changes were delivered.
pub(crate) fn delivered(count: usize) -> Vec<u8> {
    json!({ "delivered": count }).to_string().into_bytes()
}

/// How many changes are on their way after the wait.
pub(crate) fn waited(on_way: u64) -> Vec<u8> {
    json!({ "backlog": on_way, "quiet": on_way == 0 }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_of_one_change_unless_it_says_more() {
        let with = |more: &str| format!(r#"{{"table": "T", "from": "a", "to": "b"{more}}}"#);
        let what = |more: &str| read_delivery(with(more).as_bytes()).map(|delivery| delivery.what);
        assert_eq!(what(""), Ok(Delivered::Count(1)));
        assert_eq!(what(r#", "count": 7"#), Ok(Delivered::Count(7)));
        let Ok(Delivered::Key(key)) = what(r#", "key": {"k": {"S": "a"}}"#) else { panic!("a key") };
        assert_eq!(key.len(), 1);
        assert!(what(r#", "key": {"k": "a"}"#).unwrap_err().contains("form"));
        assert!(what(r#", "count": 0"#).unwrap_err().contains("1 to 1000"));
        assert!(what(r#", "count": 1, "key": {}"#).unwrap_err().contains("exclude"));
        assert!(read_delivery(b"{}").unwrap_err().contains("table"));
    }

    #[test]
    fn a_wait_has_an_end() {
        assert_eq!(read_wait(b""), Ok(TIMEOUT_MS));
        assert_eq!(read_wait(br#"{"timeout_ms": 0}"#), Ok(0));
        assert!(read_wait(br#"{"timeout_ms": 60001}"#).unwrap_err().contains("60000"));
    }
}
