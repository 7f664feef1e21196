//! Rule on time to live: L056.

use super::context::{Context, finding};
use super::{Finding, Severity};
use keywright_model::expression::ConditionExpression;
use keywright_model::{Attribute, AttributeFormat, Entity, Read, ReadKind, Table, Write, WriteKind};
use keywright_semantics::value::ValueType;

/// A count of seconds reaches this in the year 5138; a count of milliseconds passed it in 1973.
const SECONDS_MAX: u64 = 100_000_000_000;

pub(super) fn time_to_live(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for table in &context.model.tables {
        let Some(ttl) = &table.ttl else { continue };
        let expiring: Vec<(&Entity, &Attribute)> = context
            .model
            .entities_of(&table.name)
            .filter_map(|entity| Some((entity, entity.attribute(ttl)?)))
            .collect();
        if expiring.is_empty() && context.model.entities_of(&table.name).next().is_some() {
            found.push(nobody_has_it(table, ttl));
        }
        for (entity, attribute) in expiring {
            found.extend(form(context, entity, attribute));
            found.extend(unfiltered(context, entity, ttl));
            found.extend(blocked(context, entity, ttl));
        }
    }
    found
}

fn nobody_has_it(table: &Table, ttl: &str) -> Finding {
    finding(
        "L056",
        Severity::Warning,
        table.at,
        &table.name,
        format!("no entity has the time to live `{ttl}` of {}: nothing ever expires", table.name),
        format!("give the entities that expire `{ttl}: {{type: N, format: epoch-seconds}}`, or remove `ttl`"),
    )
}

/// TTL must be a number of seconds: the service ignores other types, and milliseconds lie in the far future.
fn form(context: &Context<'_>, entity: &Entity, attribute: &Attribute) -> Option<Finding> {
    let (name, ttl) = (&entity.name, &attribute.name);
    let latest = context.report.entity(name).and_then(|report| report.expires_max);
    let (text, fix) = if attribute.value_type != ValueType::N {
        (
            format!("time to live `{ttl}` of {name} is no number: its items never expire"),
            "write `type: N` and seconds since 1970",
        )
    } else if attribute.format == Some(AttributeFormat::EpochMs) {
        (
            format!(
                "time to live `{ttl}` of {name} is in milliseconds: its items expire in fifty thousand years"
            ),
            "store seconds: `format: epoch-seconds`",
        )
    } else if let Some(latest) = latest.filter(|latest| *latest >= SECONDS_MAX) {
        (
            format!("time to live `{ttl}` of {name} is {latest} in the data, which looks like milliseconds"),
            "store seconds since 1970: ten digits, not thirteen",
        )
    } else {
        return None;
    };
    Some(finding("L056", Severity::Error, attribute.at, name, text, fix))
}

/// Reads that can return items that have expired but are not deleted yet.
fn unfiltered(context: &Context<'_>, entity: &Entity, ttl: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, _) in context.reads().filter(|(_, read, _)| read.entities.contains(&entity.name)) {
        let filtered = read.filter.as_ref().is_some_and(|filter| filter.names(ttl));
        let given = read.given.iter().any(|given| given.attribute == ttl);
        // A GetItem has no filter; the program can compare the value it gets.
        let compared = read.kind == ReadKind::Get && gets(read, ttl);
        if filtered || given || compared {
            continue;
        }
        let (text, fix) = if read.kind == ReadKind::Get {
            (
                format!(
                    "{} gets {} without `{ttl}`: the program cannot see that its time has passed",
                    pattern.id, entity.name
                ),
                format!("add `{ttl}` to `attributes` and compare it in the program"),
            )
        } else {
            (
                format!(
                    "{} reads {} and may get items whose time has passed: deletion lags by up to days",
                    pattern.id, entity.name
                ),
                format!("write `filter: \"attribute_not_exists({ttl}) OR {ttl} > :now\"`"),
            )
        };
        found.push(finding("L056", Severity::Warning, pattern.at, &pattern.id, text, fix));
    }
    found
}

fn gets(read: &Read, ttl: &str) -> bool {
    read.attributes.is_empty() || read.attributes.iter().any(|name| name == ttl)
}

/// Locks that become free only when their item is deleted. A lock is what a put takes if no item is there,
/// and a delete releases if the item has the value that its holder wrote.
fn blocked(context: &Context<'_>, entity: &Entity, ttl: &str) -> Vec<Finding> {
    let releases = |step: &Write| {
        let equal = step.expression().map(ConditionExpression::equal).unwrap_or_default();
        step.kind == WriteKind::Delete && equal.iter().any(|(name, _)| !entity.is_key(name) && *name != ttl)
    };
    if !context.steps().any(|(_, step, own)| own.name == entity.name && releases(step)) {
        return Vec::new();
    }
    let puts =
        context.steps().filter(|(_, step, put)| step.kind == WriteKind::Put && put.name == entity.name);
    puts.filter(|(_, step, _)| step.must_create(entity))
        .filter(|(_, step, _)| !step.expression().is_some_and(|condition| condition.names(ttl)))
        .map(|(pattern, step, _)| {
            finding(
                "L056",
                Severity::Warning,
                step.at,
                &pattern.id,
                format!(
                    "{} takes the lock {} only when the item is gone: one that has expired blocks until it is deleted, days late at worst",
                    pattern.id, entity.name
                ),
                format!("write `if: \"attribute_not_exists(…) OR {ttl} < :now\"`"),
            )
        })
        .collect()
}
