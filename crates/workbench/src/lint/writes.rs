//! Rules on changes: L039, L052 to L054, L057.

use super::context::{Context, assigned, finding, is_transaction, names};
use super::{Finding, Severity};
use crate::model::{Condition, WriteKind};
use keywright_semantics::limits::TRANSACTION_ITEMS_MAX;
use keywright_semantics::value::ValueType;

pub(super) fn transactions(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for pattern in context.model.patterns.iter().filter(|pattern| is_transaction(pattern)) {
        let items: u64 = pattern.steps().iter().map(|step| step.n).sum();
        let most = u64::try_from(TRANSACTION_ITEMS_MAX).unwrap_or(u64::MAX);
        if items > most {
            found.push(finding(
                "L039",
                Severity::Error,
                pattern.at,
                &pattern.id,
                format!("{} has {items} items; a transaction has at most {most}", pattern.id),
                "do it in several steps that can be repeated",
            ));
        } else if items == 1 {
            found.push(finding(
                "L039",
                Severity::Warning,
                pattern.at,
                &pattern.id,
                format!("{} is a transaction of one item: it costs twice and gives nothing more", pattern.id),
                "write it as a single put, update or delete with a condition",
            ));
        }
        let twice = context.report.pattern(&pattern.id).is_some_and(|report| match &report.outcome {
            crate::run::Outcome::Failed(fault) => fault.contains("multiple operations on one item"),
            _ => false,
        });
        if twice {
            found.push(finding(
                "L039",
                Severity::Error,
                pattern.at,
                &pattern.id,
                format!("{} touches one item twice, which the service refuses", pattern.id),
                "put condition and change of an item into one step",
            ));
        }
    }
    found
}

pub(super) fn unconditional(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps().filter(|(_, step, _)| step.condition.is_none()) {
        let batch = matches!(pattern.operation, crate::model::Operation::Batch(_));
        let (text, fix) = match step.kind {
            WriteKind::Put if !batch => (
                format!("{} puts {} and would overwrite one that is there", pattern.id, entity.name),
                "write `if: not-exists`",
            ),
            WriteKind::Update => (
                format!("{} updates {} and would make one that is not there", pattern.id, entity.name),
                "write `if: exists`",
            ),
            _ => continue,
        };
        found.push(finding("L052", Severity::Warning, step.at, &pattern.id, text, fix));
    }
    found
}

pub(super) fn stale(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps().filter(|(_, step, _)| step.kind == WriteKind::Update) {
        let changed = assigned(step);
        for copier in &context.model.entities {
            for attribute in &copier.attributes {
                let Some((source, name)) = &attribute.copy_of else { continue };
                let kept = pattern.steps().iter().any(|other| other.entity == copier.name);
                if *source == entity.name && changed.contains(name) && !kept {
                    found.push(finding("L053", Severity::Warning, step.at, &pattern.id, format!("{} changes {source}.{name} and leaves its copy {}.{} as it was", pattern.id, copier.name, attribute.name), "update the copies in the same transaction, or by a stream, and say so in the pattern's text"));
                }
            }
        }
        for (key, template) in names(entity) {
            let derived = template.attributes().find(|name| changed.iter().any(|changed| changed == name));
            if let Some(name) = derived.filter(|_| !changed.contains(key)) {
                found.push(finding(
                    "L053",
                    Severity::Warning,
                    step.at,
                    &pattern.id,
                    format!(
                        "{} changes `{name}` but not `{key}`, which is made of it (`{template}`)",
                        pattern.id
                    ),
                    format!(
                        "set `{key}` in the same update; the table's own key cannot change: delete and put"
                    ),
                ));
            }
        }
    }
    found
}

pub(super) fn lost_update(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps().filter(|(_, step, _)| step.kind == WriteKind::Update) {
        let guarded = matches!(step.condition, Some(Condition::Expression(_)));
        for clause in step.set.iter().filter(|_| !guarded).flat_map(|text| text.split(',')) {
            let Some((name, value)) = clause.split_once('=') else { continue };
            let (name, value) = (name.trim(), value.trim());
            let number = entity.attribute(name).is_some_and(|attribute| attribute.value_type == ValueType::N);
            let absolute = value.starts_with(':') && !value.contains(['+', '-', '(']);
            if number && absolute {
                found.push(finding(
                    "L054",
                    Severity::Warning,
                    step.at,
                    &pattern.id,
                    format!(
                        "{} writes `{name}` as a value computed from an earlier read: two at once lose one",
                        pattern.id
                    ),
                    format!("write `{name} = {name} + :n`, or add a condition on a version attribute"),
                ));
            }
        }
    }
    found
}

pub(super) fn uniqueness(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, entity) in context.entities() {
        for unique in &entity.unique {
            for (pattern, step, _) in context
                .steps()
                .filter(|(_, step, put)| step.kind == WriteKind::Put && put.name == entity.name)
            {
                let sentinel = is_transaction(pattern)
                    && pattern.steps().iter().any(|other| {
                        other.entity != entity.name
                            && other.kind == WriteKind::Put
                            && other.condition == Some(Condition::NotExists)
                            && context.model.entity(&other.entity).is_some_and(|sentinel| {
                                unique.iter().all(|name| {
                                    sentinel
                                        .key
                                        .templates
                                        .iter()
                                        .any(|(_, template)| template.attributes().any(|own| own == name))
                                })
                            })
                    });
                if !sentinel {
                    found.push(finding("L057", Severity::Warning, step.at, &pattern.id, format!("nothing in {} keeps {} of {} unique: a check before the write is overtaken", pattern.id, unique.join("+"), entity.name), format!("put a sentinel item whose key is `{}#{{{}}}` in the same transaction, with `if: not-exists`", unique.join("_"), unique.join("}#{"))));
                }
            }
        }
    }
    found
}
