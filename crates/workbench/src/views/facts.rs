//! Helpers that several views share.

use super::Looked;
use super::page::NOTHING;
use crate::cost::{Costing, Settings};
use crate::price::{Prices, TODAY};
use keywright_model::{Entity, Index, MicroPerSecond, Model, Operation, Pattern, ReadKind, Write, WriteKind};

/// A rate as text: `5`, `0.25`.
pub(super) fn rate_text(MicroPerSecond(micro): MicroPerSecond) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:06}").trim_end_matches('0').to_owned()
}

/// Bytes as text.
pub(super) fn bytes_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    let unit = UNITS.iter().find(|(_, size)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(name, size)| format!("{}.{} {name}", bytes / size, bytes % size * 10 / size),
    )
}

pub(super) fn or_nothing(text: String) -> String {
    if text.is_empty() { NOTHING.to_owned() } else { text }
}

/// The kind of a pattern, as the model file names it.
pub const fn kind(pattern: &Pattern) -> &'static str {
    match &pattern.operation {
        Operation::Read(read) => match read.kind {
            ReadKind::Get => "get",
            ReadKind::Query => "query",
            ReadKind::Scan => "scan",
            ReadKind::ScatterGather => "scatter-gather",
        },
        Operation::Write(write) => step_kind(write),
        Operation::Transact(_) => "transact",
        Operation::Batch(_) => "batch",
    }
}

const fn step_kind(write: &Write) -> &'static str {
    match write.kind {
        WriteKind::Put => "put",
        WriteKind::Update => "update",
        WriteKind::Delete => "delete",
        WriteKind::Check => "check",
        WriteKind::Get => "get",
    }
}

/// The entities a pattern reads or changes, each once.
pub(super) fn touched(pattern: &Pattern) -> Vec<&str> {
    let mut names: Vec<&str> = match &pattern.operation {
        Operation::Read(read) => read.entities.iter().map(String::as_str).collect(),
        _ => pattern.steps().iter().map(|step| step.entity.as_str()).collect(),
    };
    let mut seen: Vec<&str> = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(name);
            true
        }
    });
    names
}

/// Whether an entity's items enter an index: it has a template for each of the index's key attributes.
pub(super) fn is_in(entity: &Entity, index: &Index) -> bool {
    index.key_parts().all(|part| entity.template(&part.name).is_some())
}

/// Average size of an entity's items in bytes: declared, else the sample's.
pub(super) fn bytes(looked: &Looked<'_>, entity: &Entity) -> Option<u64> {
    entity.size_bytes.or_else(|| looked.checked.report.entity(&entity.name)?.bytes_average())
}

/// All write steps of an entity, with their patterns.
pub(super) fn writes_of<'a>(
    model: &'a Model,
    entity: &'a str,
) -> impl Iterator<Item = (&'a Pattern, &'a Write)> {
    model.patterns.iter().flat_map(move |pattern| {
        let steps = pattern.steps().iter().filter(move |step| {
            step.entity == entity
                && matches!(step.kind, WriteKind::Put | WriteKind::Update | WriteKind::Delete)
        });
        steps.map(move |step| (pattern, step))
    })
}

/// The read patterns that return an entity.
pub(super) fn reads_of<'a>(model: &'a Model, entity: &'a str) -> impl Iterator<Item = &'a Pattern> {
    model.patterns.iter().filter(move |pattern| {
        pattern.read().is_some_and(|read| read.entities.iter().any(|name| name == entity))
    })
}

/// The average rate of a pattern in millionths per second; zero if the model does not declare it.
pub(super) fn average_micro(pattern: &Pattern) -> u64 {
    pattern.rate.map_or(0, |rate| rate.average.0)
}

/// Calls a function with the prices that the model names, else the current ones.
pub(super) fn priced<T>(model: &Model, with: impl FnOnce(&Costing<'_>) -> Option<T>) -> Option<T> {
    let named = model.prices.as_deref().and_then(|name| Prices::built_in(name).ok());
    let prices = named.or_else(|| Prices::built_in(TODAY).ok())?;
    with(&Costing { prices: &prices, settings: Settings::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_are_written_for_people() {
        assert_eq!(rate_text(MicroPerSecond(5_000_000)), "5");
        assert_eq!(rate_text(MicroPerSecond(250_000)), "0.25");
        assert_eq!(bytes_text(999), "999 B");
        assert_eq!(bytes_text(3 * 512 * 1024), "1.5 MB");
    }
}
