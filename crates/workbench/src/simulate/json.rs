//! The report as JSON. Units are half units of a whole minute, money is nano-dollars: integers only.

use serde_json::{Value, json};

use super::report::{Minute, Simulation};
use super::text::{answer, event_text};

/// Everything of a simulation.
pub fn json(simulation: &Simulation) -> String {
    let resources = simulation.resources.iter().zip(&simulation.minutes).map(|(resource, minutes)| {
        let minutes: Vec<Value> =
            minutes.iter().enumerate().map(|(place, own)| minute(&simulation.time(place), own)).collect();
        json!({"table": resource.table, "index": resource.index, "minutes": minutes})
    });
    let events = simulation.events.iter().map(|event| {
        json!({
            "minute": simulation.time(event.minute),
            "table": event.resource.table,
            "index": event.resource.index,
            "text": event_text(&event.what),
        })
    });
    let bills = simulation.bill.tables.iter().map(|own| {
        let others = own.others.iter().map(
            |(mode, cost)| json!({"mode": mode.to_string(), "monthly-nano-dollars": nanos(cost.as_nanos())}),
        );
        json!({
            "table": own.table,
            "mode": own.mode.to_string(),
            "monthly-nano-dollars": nanos(own.monthly.as_nanos()),
            "others": others.collect::<Vec<_>>(),
        })
    });
    let left_out =
        simulation.left_out.iter().map(|(pattern, reason)| json!({"pattern": pattern, "reason": reason}));
    let whole = json!({
        "model": simulation.model,
        "start": simulation.time(0),
        "length-seconds": simulation.length_s,
        "answer": answer(simulation),
        "passes": simulation.passes(),
        "broken": simulation.broken,
        "requests": simulation.requests,
        "retries": simulation.retries,
        "lost": simulation.lost,
        "throttled-per-minute": simulation.throttled,
        "resources": resources.collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
        "prices": simulation.bill.prices,
        "bill": bills.collect::<Vec<_>>(),
        "left-out": left_out.collect::<Vec<_>>(),
        "assumptions": simulation.assumptions,
    });
    format!("{whole:#}\n")
}

fn nanos(nanos: i128) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

fn minute(time: &str, own: &Minute) -> Value {
    let heaviest = own.heaviest.as_ref().map(|heaviest| {
        let key = heaviest.key.as_ref();
        json!({
            "partition": heaviest.partition,
            "asked-half-units": heaviest.asked.map(|units| units.0),
            "key": key.map(|(key, _)| key),
            "key-half-units": key.map(|(_, units)| units.0),
        })
    });
    json!({
        "minute": time,
        "demanded-half-units": own.demanded.map(|units| units.0),
        "consumed-half-units": own.consumed.map(|units| units.0),
        "limit-units-per-second": own.units,
        "partitions": own.partitions,
        "refused": own.refused,
        "heaviest": heaviest,
    })
}
