//! Rules on items: L030 to L032, L059 to L061.

use super::context::{Context, finding};
use super::{Finding, Severity};
use keywright_model::WriteKind;
use keywright_model::data::{Shortfall, shortfalls};
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::share::MICRO;

const LARGE_BYTES: u64 = 100 * 1024;
const WRITE_BLOCK: u64 = 1024;
const READ_BLOCK: u64 = 4096;
/// An item is just over a billing step if it exceeds it by at most this percentage.
const STEP_PERCENT: u64 = 10;
const FREQUENT_MICRO: u64 = MICRO;

pub(super) fn large(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, entity) in context.entities() {
        let bytes = context.bytes_max(entity);
        let limit = u64::try_from(ITEM_BYTES_MAX).unwrap_or(u64::MAX);
        let severity = match bytes {
            bytes if bytes > limit => Severity::Error,
            bytes if bytes > LARGE_BYTES => Severity::Warning,
            _ => continue,
        };
        found.push(finding(
            "L030",
            severity,
            entity.at,
            &entity.name,
            format!("{} can have {} KB; an item has at most 400", entity.name, bytes.div_ceil(1024)),
            "split it: lists as items of their own, large texts in an object store with their address here",
        ));
    }
    found
}

pub(super) fn just_over(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, entity) in context.entities() {
        let Some(bytes) = context.bytes(entity) else { continue };
        for (block, what) in [(WRITE_BLOCK, "write"), (READ_BLOCK, "read")] {
            let over = bytes % block;
            if bytes > block && over > 0 && over * 100 <= block * STEP_PERCENT && bytes < block * 4 {
                found.push(finding(
                    "L031",
                    Severity::Note,
                    entity.at,
                    &entity.name,
                    format!(
                        "{} has {bytes} bytes on average, {over} more than a whole number of {what} units",
                        entity.name
                    ),
                    "shorter attribute names or values save a unit each time",
                ));
            }
        }
    }
    found
}

pub(super) fn split(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps().filter(|(_, step, _)| step.kind == WriteKind::Update) {
        let bytes = context.bytes(entity).unwrap_or(0);
        let frequent = pattern.rate.is_some_and(|rate| rate.average.0 >= FREQUENT_MICRO);
        let changed: Vec<&str> = step.changed().collect();
        let few = changed.len() * 3 <= entity.attributes.len();
        if bytes >= READ_BLOCK && frequent && few && !changed.is_empty() {
            found.push(finding(
                "L032",
                Severity::Warning,
                step.at,
                &pattern.id,
                format!(
                    "{} changes {} of {}, and pays for all {bytes} bytes each time",
                    pattern.id,
                    changed.join(", "),
                    entity.name
                ),
                "split the item: keep what changes often in a separate small item",
            ));
        }
    }
    found
}

/// Data that is smaller than declared: the check meters the data, estimates use the declared size.
pub(super) fn smaller(context: &Context<'_>) -> Vec<Finding> {
    let found = shortfalls(context.model, &context.report.samples).into_iter().map(|short| {
        let subject = match &short.attribute {
            Some(attribute) => format!("{}.{attribute}", short.entity),
            None => short.entity,
        };
        let Shortfall { measured, declared, .. } = short;
        let text = format!(
            "{subject} averages {measured} bytes in the data but is declared as {declared}; check meters the data, cost and \
             rules use the declared size"
        );
        let fix = "declare what real items have, or give the data values of real length";
        finding("L061", Severity::Note, short.at, &subject, text, fix)
    });
    found.collect()
}

pub(super) fn costly_copy(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    // Uniqueness guards are not made to be read.
    for (_, entity) in context.entities().filter(|(_, own)| !context.model.keeps_unique(own)) {
        for attribute in &entity.attributes {
            let Some((source, name)) = &attribute.copy_of else { continue };
            let updates: u64 = context
                .steps()
                .filter(|(_, step, changed)| {
                    step.kind == WriteKind::Update
                        && changed.name == *source
                        && step.changed().any(|own| own == name)
                })
                .filter_map(|(pattern, _, _)| pattern.rate.map(|rate| rate.average.0))
                .sum();
            let copies = entity.count.zip(context.model.entity(source).and_then(|source| source.count));
            let Some((copies, originals)) = copies.filter(|_| updates > 0) else { continue };
            let reads: u64 = context
                .reads()
                .filter(|(_, read, _)| read.entities.contains(&entity.name))
                .filter_map(|(pattern, _, _)| pattern.rate.map(|rate| rate.average.0))
                .sum();
            let fan_out = copies.div_ceil(originals.max(1));
            if updates.saturating_mul(fan_out) > reads {
                found.push(finding(
                    "L059",
                    Severity::Warning,
                    attribute.at,
                    &entity.name,
                    format!("a change of {source}.{name} rewrites {fan_out} copies in {}, more often than they are read", entity.name),
                    format!("read {source} instead, or copy only what never changes"),
                ));
            }
        }
    }
    found
}

pub(super) fn unsaid(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |at, subject: &str, text: String, fix: &str| {
        found.push(finding("L060", Severity::Note, at, subject, text, fix));
    };
    for table in &context.model.tables {
        if table.pitr != Some(true) {
            say(
                table.at,
                &table.name,
                format!("{} has no point-in-time recovery", table.name),
                "write `pitr: true`",
            );
        }
        if table.deletion_protection != Some(true) {
            say(
                table.at,
                &table.name,
                format!("{} can be deleted by mistake", table.name),
                "write `deletionProtection: true`",
            );
        }
    }
    for pattern in &context.model.patterns {
        if pattern.rate.is_none() {
            say(
                pattern.at,
                &pattern.id,
                format!("{} has no rate: its cost and its heat are unknown", pattern.id),
                "write `rate: {avg: …, peak: …}`",
            );
        }
        if pattern.expect.is_none() {
            say(
                pattern.at,
                &pattern.id,
                format!("{} has no `expect`: it runs, but its result is not compared", pattern.id),
                if pattern.steps().iter().any(|step| step.kind != WriteKind::Get) {
                    "write `expect: {wcu: …}`, or when it fails, `expect: {fails-when: {…}, reason: …}`"
                } else {
                    "write `expect: {items: [[…]], exact: true}` or `expect: {count: …}`"
                },
            );
        }
    }
    found
}
