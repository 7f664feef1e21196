//! How far the history of a table reaches, and what it takes of the disk.
//!
//! What an item has been is `keywright/history`, a call of the API's port.

use keywright_engine::{HistoryFault, HistorySpan};
use keywright_model::json::Json;
use tokio::runtime::Handle;

use super::{Context, Outcome};
use crate::members;
use crate::refusal::{Kind, Refusal};

/// The first and the last time as of which a table can be read, and the bytes of its history.
pub(super) fn span(context: &Context, request: &Json) -> Outcome {
    let table = members::text(request, "table")?;
    let span = Handle::current().block_on(context.shared.api.history(&context.caller.namespace, table));
    let span = span.map_err(|fault| failed(&fault))?.map_or(Json::Null, shown);
    Ok(Json::object([("span", span), ("nowMs", Json::number(context.shared.api.now_ms()))]))
}

fn shown(HistorySpan { earliest_ms, latest_ms, bytes }: HistorySpan) -> Json {
    Json::object([
        ("earliestMs", Json::number(earliest_ms)),
        ("latestMs", Json::number(latest_ms)),
        ("bytes", Json::number(bytes)),
    ])
}

fn failed(fault: &HistoryFault) -> Refusal {
    let kind = match fault {
        HistoryFault::NoTable(_) => Kind::NotFound,
        HistoryFault::Off(_) | HistoryFault::Outside { .. } | HistoryFault::Key { .. } => Kind::Faults,
        HistoryFault::Failed(_) => Kind::Internal,
    };
    Refusal::new(kind, fault.to_string())
}
