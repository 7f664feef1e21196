//! The call `POST /_keywright/global-tables`: how far changes of the caller's tables have come to their
//! replicas, the last changes of a table that lost to concurrent ones, or an item with its version.
//!
//! It knows the form of requests and responses, for the server and for `keywright global`.

use keywright_engine::{OwedPass, ReplicaConflict, ReplicaItem, ReplicaStatus, ReplicationStatus};
use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::value::Item;

use super::verifications::{CONSISTENCY, STRONG};

pub(crate) const PATH: &str = "/_keywright/global-tables";
/// The member of a request that names the table whose conflicts are wanted.
pub(crate) const CONFLICTS_OF: &str = "conflicts";
/// The member of a response without tables that names the regions that have some.
pub(crate) const ELSEWHERE: &str = "elsewhere";
/// The member that says that a simulation cuts a region off from a strongly consistent table.
pub(crate) const ISOLATED: &str = "isolated";
/// The member that asks for an item: its `table` and its `key`.
pub(super) const ITEM: &str = "item";
/// The member that names the only table whose state is wanted.
const TABLE: &str = "table";
/// Said of a body that is something else.
const FORM: &str = r#"The body is not {}, {"table": "NAME"}, {"conflicts": "NAME"}, {"item": {"table": "NAME", "key": {…}}}, {"verify": "NAME", "repair": BOOLEAN} or {"verification": "NAME"}"#;
/// Items of one response, in bytes; the last may go beyond. Older conflicts are left out.
const IMAGES_BYTES_MAX: usize = 1024 * 1024;
/// Memory for one response.
pub(super) const ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// What a request asks for.
#[derive(Debug)]
pub(super) enum Question {
    /// How far changes have come: of one table, or of all that have replicas.
    Status(Option<String>),
    /// The last conflicts of a table.
    Conflicts(String),
    /// An item of a table.
    Item(String, Item),
}

/// The object in a request's body.
pub(super) fn parsed(body: &[u8]) -> Result<Json, Error> {
    let body = std::str::from_utf8(body).ok().and_then(|text| Json::parse(text).ok());
    body.filter(|body| matches!(body, Json::Object(_))).ok_or_else(|| Error::validation(FORM))
}

/// What a request asks for, unless it compares replicas (`verifications`).
pub(super) fn read(body: &Json) -> Result<Question, Error> {
    let question = match body.members() {
        [] => Some(Question::Status(None)),
        [(name, value)] => match name.as_str() {
            TABLE => value.as_str().map(|table| Question::Status(Some(table.to_owned()))),
            CONFLICTS_OF => value.as_str().map(|table| Question::Conflicts(table.to_owned())),
            ITEM => item_of(value),
            _ => None,
        },
        _ => None,
    };
    question.ok_or_else(|| Error::validation(FORM))
}

fn item_of(wanted: &Json) -> Option<Question> {
    let key = wanted.get("key").and_then(read_item).filter(|read| read.typed)?;
    Some(Question::Item(wanted.str_at(TABLE)?.to_owned(), key.item))
}

/// Said of a table without replicas.
pub(super) fn no_replicas(table: &str) -> String {
    format!("The table {table} has no replicas on this server")
}

/// The body of a response: tables, and how far their changes have come.
pub(super) fn shown(tables: &[(String, ReplicationStatus)], now_ms: u64) -> Json {
    let table = |(name, status): &(String, ReplicationStatus)| {
        let replicas = status.replicas.iter().map(|replica| replica_of(replica, now_ms)).collect();
        let mut shown = Json::object([
            ("table", Json::text(name)),
            ("region", Json::text(&status.region)),
            ("group", Json::text(&status.group)),
            ("conflicts", Json::number(status.conflicts)),
            ("replicas", Json::List(replicas)),
        ]);
        if status.is_strong {
            shown.set(CONSISTENCY, Json::text(STRONG));
        }
        if status.is_isolated {
            shown.set(ISOLATED, Json::Bool(true));
        }
        if let Some(witness) = &status.witness {
            shown.set("witness", Json::text(witness));
        }
        if let Some(last) = &status.last_verification {
            let verified = [
                ("at", Json::number(last.ended_ms)),
                ("differences", Json::number(last.differences)),
                ("undecided", Json::number(last.undecided)),
                ("uncompared", Json::number(last.uncompared)),
            ];
            shown.set("verified", Json::object(verified));
        }
        shown
    };
    Json::object([("tables", Json::List(tables.iter().map(table).collect()))])
}

/// Times are milliseconds.
fn replica_of(replica: &ReplicaStatus, now_ms: u64) -> Json {
    let mut shown = Json::object([
        ("region", Json::text(&replica.region)),
        ("backlog", Json::number(replica.backlog)),
        ("bytes", Json::number(replica.backlog_bytes)),
        ("filling", Json::Bool(replica.is_filling)),
        ("sent", Json::number(replica.figures.sent)),
        ("outdated", Json::number(replica.figures.outdated)),
        ("latency", Json::number(replica.figures.latency_ms)),
        ("status", Json::text(replica.status)),
        ("held", Json::Bool(replica.is_held)),
    ]);
    let owed = match replica.owed {
        Some(OwedPass::Backlog { at_ms }) => Some(("dropped", at_ms)),
        Some(OwedPass::Lost { at_ms }) => Some(("lost", at_ms)),
        Some(OwedPass::Rejoined { at_ms }) => Some(("rejoined", at_ms)),
        Some(OwedPass::Restored { at_ms }) => Some(("restored", at_ms)),
        None => None,
    };
    if let Some((name, at_ms)) = owed {
        shown.set(name, Json::number(at_ms));
    }
    if let Some(oldest_ms) = replica.oldest_ms {
        shown.set("waits", Json::number(now_ms.saturating_sub(oldest_ms)));
    }
    if replica.clock_ahead_ms > 0 {
        shown.set("clock-ahead", Json::number(replica.clock_ahead_ms));
    }
    if replica.is_isolated {
        shown.set(ISOLATED, Json::Bool(true));
    }
    if replica.is_remote {
        shown.set("remote", Json::Bool(true));
    }
    if let Some(error) = &replica.last_error {
        shown.set("error", Json::text(error));
    }
    if replica.figures.sent > 0 {
        shown.set("last", Json::number(replica.figures.last_ms));
    }
    shown
}

/// The body of a response: the conflicts of a table, the last one first.
pub(super) fn conflicts(table: &str, status: &ReplicationStatus) -> Json {
    let mut bytes = 0;
    let within = |conflict: &&ReplicaConflict| {
        let fits = bytes < IMAGES_BYTES_MAX;
        bytes += conflict.losing_image.as_ref().map_or(0, EncodedItem::size_bytes);
        fits
    };
    let shown = status.last_conflicts.iter().rev().take_while(within).map(|one| conflict(table, one));
    Json::object([("count", Json::number(status.conflicts)), ("conflicts", Json::List(shown.collect()))])
}

/// The body of a response: an item as the region has it, and its version.
pub(super) fn item(region: &str, found: &ReplicaItem) -> Json {
    let version = found.version.as_ref().map_or(Json::Null, |version| {
        Json::object([
            ("region", Json::text(&version.region)),
            ("at", Json::number(version.at_ms)),
            ("stamp", Json::text(version.stamp.to_string())),
        ])
    });
    Json::object([("region", Json::text(region)), ("item", typed(found.item.as_ref())), ("version", version)])
}

fn typed(item: Option<&EncodedItem>) -> Json {
    item.map_or(Json::Null, |item| write_item(&item.decode(), &[]))
}

fn conflict(table: &str, conflict: &ReplicaConflict) -> Json {
    let version = |(region, at_ms): &(String, u64)| {
        Json::object([("region", Json::text(region)), ("at", Json::number(*at_ms))])
    };
    let mut shown = Json::object([
        ("table", Json::text(table)),
        ("at", Json::number(conflict.at_ms)),
        ("key", typed(conflict.key.as_ref())),
        ("winner", version(&conflict.winner)),
        ("loser", version(&conflict.loser)),
        ("item", typed(conflict.losing_image.as_ref())),
    ]);
    if conflict.is_image_dropped {
        shown.set("dropped", Json::Bool(true));
    }
    shown
}
