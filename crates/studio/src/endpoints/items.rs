//! Items in other forms: plain JSON that keeps all digits, and the lines of `keywright data`.

use keywright_exchange::item_lines::{Form, Reader, Writer};
use keywright_exchange::plain_json::{read_plain, write_plain};
use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_model::{At, Fault, KeyAttribute};
use keywright_semantics::schema::KeyType;
use keywright_semantics::value::Item;

use super::{Context, ModelContext, Outcome};
use crate::limits::MODEL_ANSWER_BYTES_MAX;
use crate::refusal::{Kind, Refusal, fault_json};
use crate::{Right, members};

/// Faults of one text that are reported.
const FAULTS_MAX: usize = 100;

/// Attributes that are written first, and key attributes: each item is searched for all of them. A table
/// and its indexes have fewer.
const FIRST_MAX: usize = 200;

/// Refuses a visitor who may not scan a table or index, and says why: for pages that would else begin with a
/// request that is denied. What depends on attributes is decided with the request.
pub(super) fn may_scan(context: &Context, body: &Json) -> Outcome {
    let index = members::optional_text(body, "index")?.filter(|index| !index.is_empty());
    context.permit(Right::Scan { table: members::text(body, "table")?, index })?;
    Ok(Json::Object(Vec::new()))
}

/// Refuses a visitor who may not change the table, or delete its replica in the region that is named.
pub(super) fn may_change_replicas(context: &Context, body: &Json) -> Outcome {
    let table = members::text(body, "table")?;
    context.permit(match members::optional_text(body, "delete")? {
        None => Right::ChangeTable { table },
        Some(region) => Right::DeleteReplica { table, region },
    })?;
    Ok(Json::Object(Vec::new()))
}

/// An item in the typed form.
pub(super) fn typed(json: &Json) -> Result<Item, Refusal> {
    let read = read_item(json).filter(|read| read.typed);
    read.map(|read| read.item).ok_or_else(|| {
        Refusal::fault("an item is not in DynamoDB's typed form, such as {\"id\": {\"S\": \"a\"}}")
    })
}

/// Typed to plain, or plain to typed.
pub(super) fn plain(_: &ModelContext, request: &Json) -> Outcome {
    let first = members::texts(request, "first")?;
    if first.len() > FIRST_MAX {
        return Err(too_many("first"));
    }
    if let Some(text) = members::optional_source(request, "plain")? {
        let json = members::parse_text(text)?;
        let item = read_plain(text, &json).map_err(Refusal::faults)?;
        return Ok(Json::object([("typed", write_item(&item, &first))]));
    }
    if let Some(json) = members::optional(request, "typed") {
        return Ok(Json::object([("plain", Json::text(write_plain(&typed(json)?, &first).pretty()))]));
    }
    let texts = members::list(request, "items")?
        .iter()
        .map(|json| Ok(Json::text(write_plain(&typed(json)?, &first).pretty())));
    Ok(Json::object([("plain", Json::List(texts.collect::<Result<_, Refusal>>()?))]))
}

/// Plain JSON that keeps types: a form of the page alone, whose lines `item/plain` reads and writes.
const KEPT: &str = "kept";

fn is_kept(request: &Json) -> Result<bool, Refusal> {
    Ok(members::optional_text(request, "form")? == Some(KEPT))
}

fn form(request: &Json) -> Result<Option<Form>, Refusal> {
    Ok(match members::optional_text(request, "form")? {
        None | Some(KEPT) => None,
        Some("dynamodb") => Some(Form::DynamoDb),
        Some("plain") => Some(Form::Plain),
        Some("csv") => Some(Form::Csv),
        Some(other) => {
            return Err(Refusal::fault(format!(
                "there is no form `{other}`: write dynamodb, plain, kept or csv"
            )));
        }
    })
}

fn too_many(name: &str) -> Refusal {
    Refusal::new(Kind::TooLarge, format!("the request's `{name}` has more than {FIRST_MAX} attributes"))
}

/// The key attributes of a table: `[{"name", "type"}]`.
fn keys(request: &Json) -> Result<Vec<KeyAttribute>, Refusal> {
    let keys = members::list(request, "keys")?;
    if keys.len() > FIRST_MAX {
        return Err(too_many("keys"));
    }
    let keys = keys.iter().map(|key| {
        let key_type = match members::text(key, "type")? {
            "S" => KeyType::S,
            "N" => KeyType::N,
            "B" => KeyType::B,
            other => return Err(Refusal::fault(format!("a key attribute has no type {other}"))),
        };
        Ok(KeyAttribute { name: members::text(key, "name")?.to_owned(), key_type })
    });
    keys.collect()
}

/// Reads lines as `keywright data load` does. Lines with faults are passed over and reported.
pub(super) fn read(_: &ModelContext, request: &Json) -> Outcome {
    let (text, form, keys) = (members::source(request, "text")?, form(request)?, keys(request)?);
    let mut order: Vec<String> = keys.iter().map(|key| key.name.clone()).collect();
    order.dedup();
    let mut reader = Reader::new(form, keys);
    let (mut items, mut faults, mut count) = (Vec::new(), Vec::new(), 0_usize);
    let mut note = |line: usize, text: String| {
        count += 1;
        if faults.len() < FAULTS_MAX {
            faults.push(fault_json(&Fault::new(At { line, column: 1 }, text)));
        }
    };
    let is_kept = is_kept(request)?;
    let mut last = 0;
    for (line, content) in text.split('\n').enumerate() {
        last = line + 1;
        match if is_kept { kept_line(content) } else { reader.line(content) } {
            Ok(Some(item)) => {
                let place = ("line", Json::number(last));
                items.push(Json::object([place, ("item", write_item(&item, &order))]));
            }
            Ok(None) => {}
            Err(fault) => note(last, fault),
        }
    }
    if let Err(fault) = reader.finish() {
        note(last, fault);
    }
    Ok(Json::object([
        ("items", Json::List(items)),
        ("faults", Json::List(faults)),
        ("faultsCount", Json::number(count)),
    ]))
}

/// A line of plain JSON that keeps types. Blank lines hold no item.
fn kept_line(line: &str) -> Result<Option<Item>, String> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let json = Json::parse(line).map_err(|fault| fault.to_string())?;
    let item = read_plain(line, &json);
    item.map(Some).map_err(|faults| faults.first().map_or_else(String::new, |fault| fault.text.clone()))
}

/// Writes lines as `keywright data dump` does. The columns of CSV are those of the items in `columnsOf` too.
pub(super) fn write(_: &ModelContext, request: &Json) -> Outcome {
    let items = members::list(request, "items")?.iter().map(typed).collect::<Result<Vec<_>, _>>()?;
    if is_kept(request)? {
        let order: Vec<String> = keys(request)?.into_iter().map(|key| key.name).collect();
        return joined(items.iter().map(|item| write_plain(item, &order).compact()));
    }
    let form = form(request)?.ok_or_else(|| Refusal::fault("the request's `form` is missing"))?;
    let mut writer = Writer::new(form, keys(request)?);
    for item in &items {
        writer.see(item);
    }
    if members::optional(request, "columnsOf").is_some() {
        for json in members::list(request, "columnsOf")? {
            writer.see(&typed(json)?);
        }
    }
    let printer = writer.printer();
    let header = if members::switch(request, "header")? { printer.header() } else { None };
    joined(header.into_iter().chain(items.iter().map(|item| printer.line(item))))
}

/// An answer of lines. Lines of CSV have a cell for each attribute of any item.
fn joined(lines: impl Iterator<Item = String>) -> Outcome {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() > MODEL_ANSWER_BYTES_MAX {
            let most = MODEL_ANSWER_BYTES_MAX >> 20;
            return Err(Refusal::new(Kind::TooLarge, format!("the lines have more than {most} MiB")));
        }
        text.push_str(&line);
        text.push('\n');
    }
    Ok(Json::object([("text", Json::text(text))]))
}
