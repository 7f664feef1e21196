//! The call `POST /_keywright/history`: the versions that an item has had, or the item as it was at a time.
//!
//! It knows the form of requests and responses. `http` authenticates them as requests to DynamoDB: who may
//! read an item may read what it was.

use keywright_engine::{ChangedBy, HistoryFault, ItemHistory, ItemVersion};
use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::value::Item;

pub(crate) const PATH: &str = "/_keywright/history";
/// Versions of one response, if the request does not ask for fewer.
const VERSIONS_MAX: usize = 100;
/// Memory for one response. Versions are answered until they fill a MiB; the last may be as large as an item.
pub(super) const ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) table: String,
    pub(crate) key: Item,
    pub(crate) of: Asked,
}

/// Which versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The one at a time, in milliseconds since 1970.
    At(u64),
    /// So many, newest first, of those that were made before a stamp.
    Versions { before: Option<u64>, limit: usize },
}

const FORM: &str = r#"{"table": "NAME", "key": {…}, "at": MILLISECONDS} or {"table": "NAME", "key": {…}, "before": "STAMP", "limit": NUMBER}"#;

/// Reads a request's body.
pub(super) fn read(body: &[u8]) -> Result<Question, Error> {
    let fault = |text: &str| Error::validation(format!("The body is not {FORM}: {text}"));
    let text = std::str::from_utf8(body).map_err(|error| fault(&error.to_string()))?;
    let body = Json::parse(text).map_err(|error| fault(&error.to_string()))?;
    let known = ["table", "key", "at", "before", "limit"];
    if let Some((name, _)) = body.members().iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(fault(&format!("it has a member {name}")));
    }
    let table = body.str_at("table").ok_or_else(|| fault("`table` is no text"))?;
    let key = body.get("key").and_then(read_item).filter(|read| read.typed);
    let key = key.ok_or_else(|| fault(r#"`key` has no values in the form {"S": "a"}"#))?;
    let number = |name: &str| match body.get(name) {
        None => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| fault(&format!("`{name}` is no whole number"))),
    };
    let before = match body.get("before") {
        None => None,
        Some(stamp) => {
            let stamp = stamp.as_str().and_then(|stamp| stamp.parse().ok());
            Some(stamp.ok_or_else(|| fault("`before` is no stamp of an answer"))?)
        }
    };
    let limit = number("limit")?.map_or(VERSIONS_MAX, |limit| usize::try_from(limit).unwrap_or(VERSIONS_MAX));
    let of = match number("at")? {
        Some(at_ms) if before.is_none() && body.get("limit").is_none() => Asked::At(at_ms),
        Some(_) => return Err(fault("with `at` there is one version, without `before` and `limit`")),
        None => Asked::Versions { before, limit: limit.clamp(1, VERSIONS_MAX) },
    };
    Ok(Question { table: table.to_owned(), key: key.item, of })
}

/// The body of a request.
pub(crate) fn request(question: &Question) -> Json {
    let mut body =
        Json::object([("table", Json::text(&question.table)), ("key", write_item(&question.key, &[]))]);
    match question.of {
        Asked::At(at_ms) => body.set("at", Json::number(at_ms)),
        Asked::Versions { before, limit } => {
            if let Some(before) = before {
                body.set("before", Json::text(before.to_string()));
            }
            body.set("limit", Json::number(limit));
        }
    }
    body
}

/// The body of the response with one version.
pub(super) fn shown(item: Option<&EncodedItem>) -> Json {
    Json::object([("item", item_or_null(item))])
}

/// The body of the response with versions.
pub(super) fn versions(history: &ItemHistory) -> Json {
    let versions = history.versions.iter().map(version).collect();
    let mut body = Json::object([("versions", Json::List(versions))]);
    if let Some(before) = history.before {
        body.set("before", Json::text(before.to_string()));
    }
    body
}

fn version(version: &ItemVersion) -> Json {
    let mut shown = Json::object([]);
    if let Some(change) = version.change {
        shown.set("at", Json::number(change.at_ms));
        // A text: most readers of JSON round such numbers.
        shown.set("stamp", Json::text(change.stamp.to_string()));
        let by = match change.by {
            ChangedBy::Client => "client",
            ChangedBy::TimeToLive => "time to live",
        };
        shown.set("by", Json::text(by));
    }
    shown.set("item", item_or_null(version.item.as_ref()));
    shown
}

fn item_or_null(item: Option<&EncodedItem>) -> Json {
    item.map_or(Json::Null, |item| write_item(&item.decode(), &[]))
}

/// The error of a request that cannot be answered.
pub(super) fn error(fault: HistoryFault) -> Error {
    let text = fault.to_string();
    match fault {
        HistoryFault::Failed(error) => error,
        HistoryFault::NoTable(_) => Error::new(ErrorKind::ResourceNotFound, text),
        HistoryFault::Off(_) | HistoryFault::Outside { .. } | HistoryFault::Key { .. } => {
            Error::validation(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::value::AttributeValue;

    use super::*;

    #[test]
    fn a_body_is_read_as_it_is_written_and_says_what_is_wrong_with_it() {
        let key: Item = [("pk".to_owned(), AttributeValue::S("a".to_owned()))].into();
        let question = |of| Question { table: "Orders".to_owned(), key: key.clone(), of };
        for of in [Asked::At(7), Asked::Versions { before: Some(u64::MAX), limit: 3 }] {
            let body = request(&question(of)).compact();
            assert_eq!(read(body.as_bytes()).ok(), Some(question(of)));
        }
        let all = read(br#"{"table": "Orders", "key": {"pk": {"S": "a"}}}"#).ok();
        assert_eq!(all, Some(question(Asked::Versions { before: None, limit: VERSIONS_MAX })));
        for (body, about) in [
            ("", "body"),
            (r#"{"key": {}}"#, "`table`"),
            (r#"{"table": "T", "key": {"pk": "a"}}"#, "`key`"),
            (r#"{"table": "T", "key": {}, "at": "now"}"#, "`at`"),
            (r#"{"table": "T", "key": {}, "before": 7}"#, "`before`"),
            (r#"{"table": "T", "key": {}, "at": 1, "limit": 2}"#, "`limit`"),
            (r#"{"table": "T", "key": {}, "more": 2}"#, "more"),
        ] {
            let message = read(body.as_bytes()).expect_err(body).message;
            assert!(message.contains(about), "{body}: {message}");
        }
    }
}
