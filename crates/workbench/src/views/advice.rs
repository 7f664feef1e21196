//! Advice from the numbers: sparse indexes, vertical partitioning, sharding, time to live; several tables;
//! other services.

use super::facts::{average_micro, bytes, bytes_text, priced, rate_text, writes_of};
use super::{Looked, Page, other_services, several_tables};
use crate::price::Money;
use keywright_model::{Entity, MicroPerSecond, Table, WriteKind};
use keywright_semantics::schema::TableClass;

/// Rules by the advice they support.
const SPARSE: [&str; 1] = ["L038"];
const SPLIT: [&str; 2] = ["L030", "L032"];
const SHARD: [&str; 7] = ["L020", "L021", "L022", "L024", "L025", "L026", "L027"];

const SECONDS_A_YEAR: u64 = 365 * 24 * 3600;
/// Growth that costs less than this per month after a year is no reason to delete anything.
const GROWTH_COST_MIN: Money = Money::dollars(1);

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Advice for {}", looked.model.name));
    for (title, rules, none) in [
        ("Sparse indexes", SPARSE.as_slice(), "No pattern selects a few items out of many by a flag."),
        ("Vertical partitioning", &SPLIT, "No item is large and often changed in part."),
        ("Sharding", &SHARD, "No key is over half of what a partition sustains, at the rates given."),
    ] {
        page.heading(title);
        section(looked, rules, none, &mut page);
    }
    page.heading("Time to live");
    let growing = time_to_live(looked);
    if growing.is_empty() {
        page.say("Nothing grows without end at a price, at the rates given.");
    }
    page.list(growing);
    page.heading("One table or several");
    page.list(several_tables::advice(looked));
    page.heading("Work for other services");
    let other = other_services::advice(looked);
    if other.is_empty() {
        page.say("No pattern asks for analytics or full text, and none is read so much that a cache pays.");
    }
    page.list(other);
    page
}

/// The findings of some rules, each with its fix.
fn section(looked: &Looked<'_>, rules: &[&str], none: &str, page: &mut Page) {
    let findings = looked.checked.findings.iter().filter(|finding| rules.contains(&finding.rule));
    let lines: Vec<String> = findings
        .map(|finding| {
            format!("{} ({}, {}): {}.", finding.text, finding.rule, finding.severity.name(), finding.fix)
        })
        .collect();
    if lines.is_empty() {
        page.say(none);
    }
    page.list(lines);
}

/// Entities that are put but never deleted, with the storage cost of a year's growth.
fn time_to_live(looked: &Looked<'_>) -> Vec<String> {
    let entities = looked.model.entities.iter();
    entities
        .filter_map(|entity| {
            let table = looked.model.table(&entity.table)?;
            let expires = table.ttl.as_ref().is_some_and(|ttl| entity.attribute(ttl).is_some());
            let deleted =
                writes_of(looked.model, &entity.name).any(|(_, step)| step.kind == WriteKind::Delete);
            (!expires && !deleted).then(|| growth(looked, table, entity)).flatten()
        })
        .collect()
}

fn growth(looked: &Looked<'_>, table: &Table, entity: &Entity) -> Option<String> {
    let puts = writes_of(looked.model, &entity.name).filter(|(_, step)| step.kind == WriteKind::Put);
    let micro: u64 = puts.map(|(pattern, step)| average_micro(pattern).saturating_mul(step.n)).sum();
    let items = micro.checked_mul(SECONDS_A_YEAR)? / 1_000_000;
    // The service adds 100 bytes to each item it stores (developer guide, CapacityUnitCalculations).
    let bytes = items.saturating_mul(bytes(looked, entity)? + 100);
    let class =
        if table.infrequent_access { TableClass::StandardInfrequentAccess } else { TableClass::Standard };
    let cost = priced(looked.model, |costing| costing.storage(u128::from(bytes), class).ok())?;
    (cost >= GROWTH_COST_MIN).then(|| {
        let attribute = table.ttl.as_deref().unwrap_or("expiresAt");
        format!(
            "{}: {} new items a second and none deleted: {items} items and {} after a year, {cost} a month to keep, each year more. \
             If they may go, give them `{attribute}` (a Number, seconds since 1970) and the table `ttl: {attribute}`: those deletes cost nothing.",
            entity.name,
            rate_text(MicroPerSecond(micro)),
            bytes_text(bytes),
        )
    })
}
