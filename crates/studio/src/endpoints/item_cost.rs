//! What a write of one item takes, before it is sent: the engine executes it in memory, on a table with the
//! same keys and indexes. So it is what the database will meter, and no second estimate.

use keywright_model::json::Json;
use keywright_wire::{Operation, decode, render};
use keywright_workbench::run::Database;

use super::{ModelContext, Outcome};
use crate::members;
use crate::refusal::{Kind, Refusal, internal};
use crate::tables;

/// The requests that the page saves an item with.
const WRITES: [Operation; 4] =
    [Operation::PutItem, Operation::UpdateItem, Operation::DeleteItem, Operation::TransactWriteItems];

/// `{"table", "before", "key", "operation", "body"}`: the consumed capacity of the write, if one is named, to
/// an item that is as `before` says, and the units of an eventually consistent read of the item under `key`
/// after it.
pub(super) fn cost(context: &ModelContext, request: &Json) -> Outcome {
    let table = members::text(request, "table")?;
    let name = ("TableName", Json::text(table));
    let described = context.tables.ask("DescribeTable", &Json::object([name.clone()]))??;
    let description = described.get("Table").ok_or_else(internal)?;
    let database = Database::open().map_err(|_stuck| internal())?;
    run(&database, Operation::CreateTable, &same_keys(description))?;
    if let Some(before) = members::optional(request, "before") {
        run(&database, Operation::PutItem, &Json::object([name.clone(), ("Item", before.clone())]))?;
    }
    let consumed = match members::optional_text(request, "operation")? {
        None => Json::Null,
        Some(written) => {
            let operation = tables::operation(written).filter(|operation| WRITES.contains(operation));
            let operation = operation.ok_or_else(|| Refusal::fault(format!("{written} writes no item")))?;
            let body =
                members::optional(request, "body").ok_or_else(|| Refusal::fault("`body` is missing"))?;
            run(&database, operation, body)?.get("ConsumedCapacity").cloned().unwrap_or(Json::Null)
        }
    };
    let key = members::optional(request, "key").ok_or_else(|| Refusal::fault("`key` is missing"))?;
    let read = Json::object([name, ("Key", key.clone()), ("ReturnConsumedCapacity", Json::text("TOTAL"))]);
    let read = run(&database, Operation::GetItem, &read)?;
    let units = read.at(&["ConsumedCapacity", "CapacityUnits"]).cloned().unwrap_or(Json::Null);
    Ok(Json::object([("ConsumedCapacity", consumed), ("readUnits", units)]))
}

/// A request of the API, executed in memory.
fn run(database: &Database, operation: Operation, body: &Json) -> Result<Json, Refusal> {
    let refused = |message: String| Refusal::new(Kind::Faults, message);
    let request = decode(operation, body.compact().as_bytes()).map_err(|error| refused(error.message))?;
    let response = database.execute(request).map_err(|error| refused(error.message))?;
    let text = String::from_utf8(render(&response)).map_err(|_| internal())?;
    Json::parse(&text).map_err(|_| internal())
}

/// The request that makes a table with the keys and indexes of a described one.
fn same_keys(description: &Json) -> Json {
    let picked = |from: &Json, names: &[&'static str]| {
        let members = names.iter().filter_map(|name| from.get(name).map(|value| (*name, value.clone())));
        Json::object(members.collect::<Vec<_>>())
    };
    let mut request = picked(description, &["TableName", "AttributeDefinitions", "KeySchema"]);
    request.set("BillingMode", Json::text("PAY_PER_REQUEST"));
    for kind in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
        if let Some(indexes) = description.get(kind) {
            let indexes = indexes.elements().iter();
            let indexes = indexes.map(|index| picked(index, &["IndexName", "KeySchema", "Projection"]));
            request.set(kind, Json::List(indexes.collect()));
        }
    }
    request
}
