//! Figures that CloudWatch's and DynamoDB's API have no word for: hot keys, what time to live has to do, and
//! how far the history of a table reaches.

use keywright_engine::{
    Heat, HistoryFault, HistorySpan, HotKey, PartitionHeat, PartitionLoad, Throttle, Whole,
};
use keywright_model::item_json::write_value;
use keywright_model::json::Json;
use keywright_semantics::error::Error;
use keywright_semantics::value::Item;
use tokio::runtime::Handle;

use super::{Context, Outcome};
use crate::Right;
use crate::members;
use crate::refusal::{Kind, Refusal};

/// Tables of one request.
const REQUEST_TABLES_MAX: usize = 300;

/// The partitions of a table or index with their loads, and the keys that bear them.
pub(super) fn keys(context: &Context, request: &Json) -> Outcome {
    let table = members::text(request, "table")?;
    let index = members::optional_text(request, "index")?;
    context.permit(Right::SeeHotKeys { table, index })?;
    let namespace = &context.visit.caller.namespace;
    let heat = Handle::current().block_on(context.shared.api.heat(namespace, table, index));
    let Some(heat) = heat.map_err(failed)? else {
        return Err(Refusal::new(Kind::NotFound, format!("there is no table or index {table} here")));
    };
    let Heat { mode, since_ms, now_ms, partitions, keys } = heat;
    let enforced = match mode {
        Throttle::Off => "off",
        Throttle::Table => "table",
        Throttle::Full => "full",
    };
    Ok(Json::object([
        ("throttle", Json::text(enforced)),
        ("sinceMs", Json::number(since_ms)),
        ("nowMs", Json::number(now_ms)),
        ("partitions", Json::List(partitions.iter().map(partition).collect())),
        ("keys", Json::List(keys.iter().map(key).collect())),
    ]))
}

fn partition(own: &PartitionHeat) -> Json {
    let whole = own.whole.map_or(Json::Null, |whole| {
        Json::text(match whole {
            Whole::OneItem => "one item bears its load",
            Whole::OneCollection => "one item collection bears its load, and a local index keeps it together",
            Whole::Sequence => "its keys grow in sequence",
        })
    });
    let [now, last] = own.loads.each_ref().map(load);
    Json::object([("now", now), ("last", last), ("whole", whole)])
}

fn load(own: &PartitionLoad) -> Json {
    let [read, write] = own.milli_units;
    Json::object([
        ("readMilliUnits", Json::number(read)),
        ("writeMilliUnits", Json::number(write)),
        ("refused", Json::number(own.refused)),
    ])
}

fn key(own: &HotKey) -> Json {
    let item = own.item.as_ref().map_or(Json::Null, |item| {
        Json::object([("sort", typed(&item.sort)), ("milliUnits", Json::number(item.milli_units))])
    });
    Json::object([
        ("key", typed(&own.key)),
        ("partitions", Json::List(own.partitions.iter().map(Json::number).collect())),
        ("milliUnits", Json::number(own.milli_units)),
        ("refused", Json::number(own.refused)),
        ("item", item),
    ])
}

fn typed(item: &Item) -> Json {
    Json::Object(item.iter().map(|(name, value)| (name.clone(), write_value(value))).collect())
}

/// What time to live has to do in each of these tables that has it. Of several tables, those that the visitor
/// may not see are left out.
pub(super) fn backlog(context: &Context, request: &Json) -> Outcome {
    let names = members::texts(request, "tables")?;
    if names.len() > REQUEST_TABLES_MAX {
        return Err(Refusal::fault(format!("a request names at most {REQUEST_TABLES_MAX} tables")));
    }
    let seconds = |time: Option<u64>| time.map_or(Json::Null, Json::number);
    let namespace = &context.visit.caller.namespace;
    let (mut found, mut denied, mut seen) = (Vec::new(), None, 0_usize);
    for name in names {
        if let Err(refusal) = context.permit(Right::SeeBacklog { table: &name }) {
            denied.get_or_insert(refusal);
            continue;
        }
        seen += 1;
        let backlog = Handle::current().block_on(context.shared.api.backlog(namespace, &name));
        let Some(own) = backlog.map_err(failed)? else { continue };
        found.push(Json::object([
            ("table", Json::text(&name)),
            ("due", Json::number(own.due)),
            ("oldestDueSeconds", seconds(own.oldest_due)),
            ("past", Json::number(own.past)),
            ("nextSeconds", seconds(own.next)),
            ("filling", Json::Bool(own.is_filling)),
            ("delayMs", Json::number(own.delay_ms)),
        ]));
    }
    if let (Some(refusal), 0) = (denied, seen) {
        return Err(refusal);
    }
    Ok(Json::object([("tables", Json::List(found)), ("nowMs", Json::number(context.shared.api.now_ms()))]))
}

/// The first and the last time as of which a table can be read, and the bytes of its history.
pub(super) fn history(context: &Context, request: &Json) -> Outcome {
    let table = members::text(request, "table")?;
    context.permit(Right::SeeHistorySpan { table })?;
    let namespace = &context.visit.caller.namespace;
    let span = Handle::current().block_on(context.shared.api.history(namespace, table));
    let span = span.map_err(|fault| history_refusal(&fault))?.map_or(Json::Null, span_json);
    Ok(Json::object([("span", span), ("nowMs", Json::number(context.shared.api.now_ms()))]))
}

fn span_json(HistorySpan { earliest_ms, latest_ms, bytes }: HistorySpan) -> Json {
    Json::object([
        ("earliestMs", Json::number(earliest_ms)),
        ("latestMs", Json::number(latest_ms)),
        ("bytes", Json::number(bytes)),
    ])
}

fn history_refusal(fault: &HistoryFault) -> Refusal {
    let kind = match fault {
        HistoryFault::NoTable(_) => Kind::NotFound,
        HistoryFault::Off(_) | HistoryFault::Outside { .. } | HistoryFault::Key { .. } => Kind::Faults,
        HistoryFault::Failed(_) => Kind::Internal,
    };
    Refusal::new(kind, fault.to_string())
}

fn failed(error: Error) -> Refusal {
    Refusal::new(Kind::Internal, error.message)
}
