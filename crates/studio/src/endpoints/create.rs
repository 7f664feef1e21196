//! Makes the tables of a model in the place of the call, and puts its items.
//!
//! It makes only what is not there: a table of the same name refuses the whole call. A call that is cancelled
//! leaves none of its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keywright_exchange::apply::{Call, Purpose, apply};
use keywright_exchange::table_key::{key_text, keys};
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::limits::BATCH_WRITES_MAX;
use keywright_semantics::value::Item;

use super::exchange::of_faults;
use super::{ModelContext, Outcome, texts};
use crate::members::{switch, text};
use crate::refusal::{Kind, Refusal};
use crate::runs;
use crate::tables::Tables;
use crate::worker::Reporter;

/// The pause between two looks at a table that is being made, and their number.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 3_000;
/// How often items that the database does not take are sent.
const ROUNDS_MAX: u32 = 12;

/// What was made so far.
#[derive(Default)]
struct Made {
    tables: Vec<String>,
    items: usize,
    notes: Vec<String>,
}

impl Made {
    fn json(&self) -> Json {
        Json::object([
            ("tables", texts(&self.tables)),
            ("items", Json::number(self.items)),
            ("notes", texts(&self.notes)),
        ])
    }
}

/// Deletes the tables that a cancelled call has made. A cancelled job ends by unwinding its thread.
struct Undo<'t> {
    tables: &'t Tables,
    made: Made,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for name in &self.made.tables {
                // Nobody waits for the answer of a cancelled call. What cannot be deleted stays listed.
                let _unheard = remove(self.tables, name);
            }
        }
    }
}

fn remove(tables: &Tables, name: &str) -> Result<(), Refusal> {
    wait_until_active(tables, name)?;
    let table = ("TableName", Json::text(name));
    let unprotected = Json::object([table.clone(), ("DeletionProtectionEnabled", Json::Bool(false))]);
    let _as_it_was = tables.ask("UpdateTable", &unprotected)?;
    tables.ask("DeleteTable", &Json::object([table]))??;
    Ok(())
}

pub(super) fn run(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let model = runs::parse(text(request, "text")?)?;
    let wants_items = switch(request, "items")?;
    let purpose = if switch(request, "production")? { Purpose::Production } else { Purpose::Development };
    let tables = &context.tables;
    refuse_existing(tables, model.tables.iter().map(|table| table.name.as_str()))?;
    let mut items: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    if wants_items {
        for sample in runs::samples(&model, &context.models)?.0 {
            items.entry(sample.table).or_default().push(sample.item);
        }
    }
    let plan = apply(&model, &[], purpose).map_err(|faults| of_faults(&faults))?;
    let made = Made { notes: plan.notes.clone(), ..Made::default() };
    let mut undo = Undo { tables, made };
    let done = make(tables, &plan.calls, &items, &mut undo.made, reporter);
    done.map_err(|refusal| refusal.with("made", undo.made.json()))?;
    Ok(undo.made.json())
}

/// The names of all tables here. To describe one that is missing would count as an invalid request.
fn known(tables: &Tables) -> Result<BTreeSet<String>, Refusal> {
    let mut known = BTreeSet::new();
    let mut request = Json::object([]);
    loop {
        let page = tables.ask("ListTables", &request)??;
        let names = page.at(&["TableNames"]).map(Json::elements).unwrap_or_default();
        known.extend(names.iter().filter_map(Json::as_str).map(str::to_owned));
        let Some(last) = page.at(&["LastEvaluatedTableName"]) else { return Ok(known) };
        request = Json::object([("ExclusiveStartTableName", last.clone())]);
    }
}

fn refuse_existing<'n>(tables: &Tables, names: impl Iterator<Item = &'n str>) -> Result<(), Refusal> {
    let known = known(tables)?;
    let there: Vec<&str> = names.filter(|name| known.contains(*name)).collect();
    if there.is_empty() {
        return Ok(());
    }
    let names = Json::List(there.iter().copied().map(Json::text).collect());
    let text = format!("{} exists here: nothing was made", there.join(", "));
    Err(Refusal::new(Kind::Faults, text).with("existing", names))
}

fn make(
    tables: &Tables,
    calls: &[Call],
    items: &BTreeMap<String, Vec<Item>>,
    made: &mut Made,
    reporter: &mut Reporter,
) -> Result<(), Refusal> {
    for (done, call) in calls.iter().enumerate() {
        reporter.at(&format!("{}: {}", call.table, call.makes), Some((done, calls.len())));
        // What this server does not have is refused as by any endpoint.
        if crate::tables::operation(call.operation).is_none() {
            made.notes.push(format!("{}: without {}", call.table, call.makes));
            continue;
        }
        match tables.ask(call.operation, &call.request)? {
            Ok(_) if call.operation == "CreateTable" => made.tables.push(call.table.clone()),
            Ok(_) => {}
            Err(error) if call.is_optional => {
                made.notes.push(format!("{}: without {}: {}", call.table, call.makes, error.text));
            }
            Err(error) => return Err(error.into()),
        }
        wait_until_active(tables, &call.table)?;
    }
    let of = items.values().map(Vec::len).sum();
    for (table, items) in items {
        put(tables, table, items, of, made, reporter)?;
    }
    Ok(())
}

fn wait_until_active(tables: &Tables, name: &str) -> Result<(), Refusal> {
    let request = Json::object([("TableName", Json::text(name))]);
    for _ in 0..LOOKS_MAX {
        let description = tables.ask("DescribeTable", &request)??;
        if description.at(&["Table", "TableStatus"]).and_then(Json::as_str) == Some("ACTIVE") {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Err(Refusal::fault(format!("{name} is still being made")))
}

/// Puts items in batches. Of several items with one key the last one stays.
fn put(
    tables: &Tables,
    table: &str,
    items: &[Item],
    of: usize,
    made: &mut Made,
    reporter: &mut Reporter,
) -> Result<(), Refusal> {
    let description = tables.ask("DescribeTable", &Json::object([("TableName", Json::text(table))]))??;
    let keys = keys(&description).map_err(Refusal::fault)?;
    let (mut batch, mut taken) = (Vec::new(), BTreeSet::new());
    for item in items {
        let key = key_text(&keys, item);
        if batch.len() == BATCH_WRITES_MAX || taken.contains(&key) {
            made.items += send(tables, table, std::mem::take(&mut batch))?;
            taken.clear();
            reporter.at(&format!("putting items into {table}"), Some((made.items, of)));
        }
        taken.insert(key);
        let put = Json::object([("Item", write_item(item, &[]))]);
        batch.push(Json::object([("PutRequest", put)]));
    }
    made.items += send(tables, table, batch)?;
    Ok(())
}

fn send(tables: &Tables, table: &str, mut requests: Vec<Json>) -> Result<usize, Refusal> {
    let sent = requests.len();
    for _ in 0..ROUNDS_MAX {
        if requests.is_empty() {
            return Ok(sent);
        }
        let request = Json::object([("RequestItems", Json::object([(table, Json::List(requests))]))]);
        let answer = tables.ask("BatchWriteItem", &request)??;
        requests =
            answer.at(&["UnprocessedItems", table]).map_or_else(Vec::new, |left| left.elements().to_vec());
    }
    Err(Refusal::new(Kind::Busy, format!("{table} does not take the items")))
}
