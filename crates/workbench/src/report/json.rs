//! The report as JSON, for programs. Units are numbers in whole and half units.

use keywright_semantics::capacity::Usage;

use super::{Checked, cases, complaints, units, verdict};
use crate::lint::Finding;
use crate::run::{CapacityOf, EntityReport, IndexReport, PatternReport, TableReport};
use keywright_model::At;
use keywright_model::json::Json;

/// The report as JSON.
pub fn json(checked: &Checked) -> String {
    let report = &checked.report;
    let members = vec![
        ("model", Json::text(&report.model)),
        ("passes", Json::Bool(checked.passes())),
        ("patterns", Json::List(report.patterns.iter().map(pattern).collect())),
        ("findings", Json::List(checked.findings.iter().map(finding).collect())),
        ("tables", Json::List(report.tables.iter().map(table).collect())),
    ];
    let mut text = Json::object(members).pretty();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Json {
    Json::List(texts.into_iter().map(Json::text).collect())
}

fn optional(text: Option<&String>) -> Json {
    text.map_or(Json::Null, Json::text)
}

fn pattern(pattern: &PatternReport) -> Json {
    Json::object([
        ("id", Json::text(&pattern.id)),
        ("text", optional(pattern.text.as_ref())),
        ("line", Json::number(pattern.at.line)),
        ("result", Json::text(verdict(pattern).to_lowercase())),
        ("complaints", texts(&complaints(pattern))),
        ("operation", Json::text(pattern.operation.name())),
        ("requests", Json::number(pattern.requests)),
        ("partitions", Json::number(pattern.partitions)),
        ("table", Json::text(&pattern.table)),
        ("index", optional(pattern.index.as_ref())),
        ("entities", texts(&pattern.entities)),
        ("key", optional(pattern.key.as_ref())),
        ("filter", optional(pattern.filter.as_ref())),
        ("itemsRead", Json::number(pattern.items_read)),
        ("itemsReturned", Json::number(pattern.items_returned)),
        ("returned", Json::List(pattern.returned.iter().map(texts).collect())),
        ("strangers", Json::List(pattern.strangers.iter().map(texts).collect())),
        ("bytesReturned", Json::number(pattern.bytes_returned)),
        ("more", Json::Bool(pattern.more)),
        ("readUnits", Json::number(units(pattern.read_units()))),
        ("writeUnits", Json::number(units(pattern.write_units()))),
        ("capacity", Json::List(pattern.capacity.iter().map(capacity).collect())),
        ("ownExample", Json::Bool(pattern.own_example)),
    ])
}

fn capacity(capacity: &CapacityOf) -> Json {
    let usage = &capacity.usage;
    let indexes = usage.local_indexes.iter().chain(&usage.global_indexes);
    Json::object([
        ("table", Json::text(&capacity.table)),
        ("own", used(usage.table)),
        ("indexes", Json::Object(indexes.map(|(name, usage)| (name.clone(), used(*usage))).collect())),
    ])
}

fn used(usage: Usage) -> Json {
    Json::object([("read", Json::number(units(usage.read))), ("write", Json::number(units(usage.write)))])
}

fn finding(finding: &Finding) -> Json {
    let mut members = vec![
        ("rule", Json::text(finding.rule)),
        ("severity", Json::text(finding.severity.name())),
        ("subject", Json::text(&finding.subject)),
        ("line", Json::number(finding.at.line)),
        ("column", Json::number(finding.at.column)),
        ("text", Json::text(&finding.text)),
        ("fix", Json::text(&finding.fix)),
    ];
    if !finding.alike.is_empty() {
        let (listed, unlisted) = cases(finding);
        let listed = listed.iter().map(|case| place(case.at, &case.text));
        members.push(("count", Json::number(finding.alike.len() + 1)));
        members.push(("also", Json::List(listed.collect())));
        members.push(("notListed", Json::number(unlisted)));
    }
    Json::object(members)
}

fn place(at: At, text: &str) -> Json {
    Json::object([
        ("line", Json::number(at.line)),
        ("column", Json::number(at.column)),
        ("text", Json::text(text)),
    ])
}

fn table(table: &TableReport) -> Json {
    Json::object([
        ("name", Json::text(&table.name)),
        ("items", Json::number(table.items)),
        ("bytes", Json::number(table.bytes)),
        ("indexes", Json::List(table.indexes.iter().map(index).collect())),
        ("entities", Json::List(table.entities.iter().map(entity).collect())),
    ])
}

fn index(index: &IndexReport) -> Json {
    Json::object([
        ("name", Json::text(&index.name)),
        ("items", Json::number(index.items)),
        ("bytes", Json::number(index.bytes)),
    ])
}

fn entity(entity: &EntityReport) -> Json {
    Json::object([
        ("name", Json::text(&entity.name)),
        ("items", Json::number(entity.items)),
        ("bytes", Json::number(entity.bytes)),
        ("bytesMax", Json::number(entity.bytes_max)),
        ("indexes", Json::List(entity.indexes.iter().map(index).collect())),
    ])
}
