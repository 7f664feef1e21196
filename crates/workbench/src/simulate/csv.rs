//! The report as comma-separated values: one line for each minute of each table and index.

use super::report::{Minute, Simulation};
use super::text::per_second;

const HEADER: &str = "minute,table,index,demanded_read,demanded_write,consumed_read,consumed_write,limit_read,limit_write,partitions,refused,reasons,heaviest_partition,heaviest_read,heaviest_write,heaviest_key";

/// One line for each minute of each table and index; units are those of a second, on average.
pub fn csv(simulation: &Simulation) -> String {
    let mut lines = vec![HEADER.to_owned()];
    for (resource, minutes) in simulation.resources.iter().zip(&simulation.minutes) {
        for (place, minute) in minutes.iter().enumerate() {
            let mut fields = vec![
                simulation.time(place),
                resource.table.clone(),
                resource.index.clone().unwrap_or_default(),
            ];
            fields.extend(figures(minute));
            lines.push(fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(","));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn figures(minute: &Minute) -> Vec<String> {
    let mut fields: Vec<String> =
        [minute.demanded, minute.consumed].into_iter().flatten().map(per_second).collect();
    fields.extend(minute.units.map(|units| units.to_string()));
    fields.push(minute.partitions.to_string());
    fields.push(minute.refusals().to_string());
    let reasons: Vec<String> =
        minute.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    fields.push(reasons.join("; "));
    match &minute.heaviest {
        None => fields.extend([const { String::new() }; 4]),
        Some(own) => {
            fields.push(own.partition.to_string());
            fields.extend(own.asked.map(per_second));
            fields.push(own.key.as_ref().map(|(key, _)| key.clone()).unwrap_or_default());
        }
    }
    fields
}

/// A field as RFC 4180 writes it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_owned()
}
