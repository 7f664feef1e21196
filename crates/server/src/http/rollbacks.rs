//! The call `POST /_keywright/rollback`: begins a rollback, or shows a page of what it would do.
//!
//! It knows the form of requests and responses, for the server and for `keywright rollback`. The engine does
//! the work.

use bytes::Bytes;
use keywright_engine::{RollbackCounts, RollbackFilter, RollbackPreview, RollbackRequest};
use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::value::Item;

use super::hex::Hex;

pub(crate) const PATH: &str = "/_keywright/rollback";
/// Memory for one response. A page covers a MiB of images; the last item of it may be as large as an item.
pub(super) const ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish {
    Begin(RollbackRequest),
    /// A page of the preview, from the place that the page before has named.
    Preview(RollbackRequest, Option<Bytes>),
}

const MEMBERS: [&str; 7] = ["table", "to", "key", "filter", "withExpired", "preview", "from"];

/// Reads a request's body.
pub(super) fn read(body: &[u8]) -> Result<Wish, Error> {
    let fault = |text: &str| {
        let form = r#"{"table": "NAME", "to": MILLISECONDS}"#;
        Error::validation(format!("The body is not {form} with `key`, `filter`, `withExpired`: {text}"))
    };
    let text = std::str::from_utf8(body).map_err(|error| fault(&error.to_string()))?;
    let body = Json::parse(text).map_err(|error| fault(&error.to_string()))?;
    if let Some((name, _)) = body.members().iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
        return Err(fault(&format!("it has a member {name}")));
    }
    let typed = |json: &Json| read_item(json).filter(|read| read.typed).map(|read| read.item);
    let table = body.str_at("table").ok_or_else(|| fault("`table` is no text"))?.to_owned();
    let to_ms = body.get("to").and_then(Json::as_u64).ok_or_else(|| fault("`to` is no whole number"))?;
    let key = match body.get("key") {
        None => None,
        Some(key) => Some(typed(key).ok_or_else(|| fault(r#"`key` has no values in the form {"S": "a"}"#))?),
    };
    let filter = body.get("filter").map(filter).transpose().map_err(|text| fault(&text))?;
    let switch = |name: &str| match body.get(name) {
        None => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| fault(&format!("`{name}` is neither true nor false"))),
    };
    let request = RollbackRequest { table, to_ms, key, filter, with_expired: switch("withExpired")? };
    let from = match body.get("from") {
        None => None,
        Some(from) => {
            let place = from.as_str().and_then(bytes_of);
            Some(place.ok_or_else(|| fault("`from` is no place that an answer has named"))?)
        }
    };
    match (switch("preview")?, from) {
        (true, from) => Ok(Wish::Preview(request, from)),
        (false, None) => Ok(Wish::Begin(request)),
        (false, Some(_)) => Err(fault("`from` belongs to a preview")),
    }
}

fn filter(json: &Json) -> Result<RollbackFilter, String> {
    let known = ["expression", "names", "values"];
    if let Some((name, _)) = json.members().iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(format!("`filter` has a member {name}"));
    }
    let expression = json.str_at("expression").ok_or("`filter` has no text `expression`")?.to_owned();
    let names = json.get("names").map(Json::members).unwrap_or_default();
    let name = |(name, value): &(String, Json)| Some((name.clone(), value.as_str()?.to_owned()));
    let names: Option<Vec<_>> = names.iter().map(name).collect();
    let values = json.get("values").map_or(Some(Item::new()), |values| {
        read_item(values).filter(|read| read.typed).map(|read| read.item)
    });
    Ok(RollbackFilter {
        expression,
        names: names.ok_or("`names` of `filter` are no texts")?,
        values: values.ok_or(r#"`values` of `filter` do not have the form {"S": "a"}"#)?,
    })
}

/// The body of a request.
pub(crate) fn request(wish: &Wish) -> Json {
    let request = match wish {
        Wish::Begin(request) | Wish::Preview(request, _) => request,
    };
    let mut body = Json::object([("table", Json::text(&request.table)), ("to", Json::number(request.to_ms))]);
    if let Some(key) = &request.key {
        body.set("key", write_item(key, &[]));
    }
    if let Some(filter) = &request.filter {
        let names = filter.names.iter().map(|(name, value)| (name.clone(), Json::text(value))).collect();
        let filter = Json::object([
            ("expression", Json::text(&filter.expression)),
            ("names", Json::Object(names)),
            ("values", write_item(&filter.values, &[])),
        ]);
        body.set("filter", filter);
    }
    if request.with_expired {
        body.set("withExpired", Json::Bool(true));
    }
    if let Wish::Preview(_, from) = wish {
        body.set("preview", Json::Bool(true));
        if let Some(from) = from {
            body.set("from", Json::text(String::from(Hex(from.clone()))));
        }
    }
    body
}

/// The body of the response with a page of a preview.
pub(super) fn page(preview: &RollbackPreview) -> Json {
    let example = |image: &Option<EncodedItem>| image.as_ref().map_or(Json::Null, item);
    let examples = preview
        .examples
        .iter()
        .map(|one| Json::object([("before", example(&one.before)), ("after", example(&one.after))]));
    let mut body = Json::object([
        ("counts", counts(&preview.counts)),
        ("examples", Json::List(examples.collect())),
        ("expired", Json::List(preview.expired.iter().map(item).collect())),
    ]);
    if let Some(next) = &preview.next {
        body.set("next", Json::text(String::from(Hex(next.clone()))));
    }
    body
}

fn item(item: &EncodedItem) -> Json {
    write_item(&item.decode(), &[])
}

/// Reads the place of the next page from a response.
pub(crate) fn next(page: &Json) -> Option<Bytes> {
    page.str_at("next").and_then(bytes_of)
}

/// Counts by their names.
fn members(counts: &mut RollbackCounts) -> [(&'static str, &mut u64); 8] {
    [
        ("putBack", &mut counts.put_back),
        ("removed", &mut counts.removed),
        ("overwritten", &mut counts.overwritten),
        ("unchanged", &mut counts.unchanged),
        ("expired", &mut counts.expired),
        ("changedMeanwhile", &mut counts.changed_meanwhile),
        ("refused", &mut counts.refused),
        ("writeUnits", &mut counts.write_units),
    ]
}

pub(super) fn counts(counts: &RollbackCounts) -> Json {
    let mut counts = *counts;
    Json::object(members(&mut counts).map(|(name, count)| (name, Json::number(*count))))
}

/// Adds the counts of a response.
pub(crate) fn add_counts(sum: &mut RollbackCounts, answered: &Json) {
    for (name, count) in members(sum) {
        *count += answered.get(name).and_then(Json::as_u64).unwrap_or_default();
    }
}

fn bytes_of(digits: &str) -> Option<Bytes> {
    Hex::try_from(digits.to_owned()).ok().map(|hex| hex.0)
}

#[cfg(test)]
mod tests {
    use keywright_semantics::value::AttributeValue;

    use super::*;

    #[test]
    fn a_body_is_read_as_it_is_written_and_says_what_is_wrong_with_it() {
        let text = |name: &str| Item::from([(name.to_owned(), AttributeValue::S("a".to_owned()))]);
        let plain = RollbackRequest { table: "T".to_owned(), to_ms: 7, ..RollbackRequest::default() };
        let filter = RollbackFilter {
            expression: "#s = :s".to_owned(),
            names: vec![("#s".to_owned(), "status".to_owned())],
            values: text(":s"),
        };
        let whole = RollbackRequest {
            key: Some(text("pk")),
            filter: Some(filter),
            with_expired: true,
            ..plain.clone()
        };
        for wish in [
            Wish::Begin(plain.clone()),
            Wish::Preview(plain, None),
            Wish::Begin(whole.clone()),
            Wish::Preview(whole, Some(Bytes::from_static(b"\x00\xff"))),
        ] {
            assert_eq!(read(request(&wish).compact().as_bytes()).ok(), Some(wish));
        }
        for (body, about) in [
            ("[", "body"),
            (r#"{"to": 1}"#, "`table`"),
            (r#"{"table": "T", "to": "now"}"#, "`to`"),
            (r#"{"table": "T", "to": 1, "key": {"pk": "a"}}"#, "`key`"),
            (r#"{"table": "T", "to": 1, "filter": {}}"#, "`expression`"),
            (r#"{"table": "T", "to": 1, "filter": {"expression": "a", "more": 1}}"#, "more"),
            (r##"{"table": "T", "to": 1, "filter": {"expression": "a", "names": {"#a": 1}}}"##, "`names`"),
            (r#"{"table": "T", "to": 1, "filter": {"expression": "a", "values": {":a": 1}}}"#, "`values`"),
            (r#"{"table": "T", "to": 1, "withExpired": 1}"#, "`withExpired`"),
            (r#"{"table": "T", "to": 1, "from": "00"}"#, "`from`"),
            (r#"{"table": "T", "to": 1, "preview": true, "from": "0"}"#, "`from`"),
            (r#"{"table": "T", "to": 1, "dry": true}"#, "dry"),
        ] {
            let message = read(body.as_bytes()).expect_err(body).message;
            assert!(message.contains(about), "{body}: {message}");
        }
    }

    #[test]
    fn counts_are_added_as_they_were_written() {
        let written =
            RollbackCounts { put_back: 1, refused: 2, write_units: u64::MAX / 2, ..Default::default() };
        let mut sum = RollbackCounts { removed: 5, refused: 1, ..RollbackCounts::default() };
        add_counts(&mut sum, &counts(&written));
        assert_eq!(sum, RollbackCounts { removed: 5, refused: 3, ..written });
    }
}
