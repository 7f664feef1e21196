//! Items that examples name and generated data lacks: without them a write would find nothing.

use std::collections::BTreeSet;

use keywright_semantics::value::{AttributeValue, Item};

use super::verify::node;
use super::writer_knowledge::before;
use keywright_model::data::{self, Records, Sample};
use keywright_model::expression::ConditionExpression;
use keywright_model::value::from_node;
use keywright_model::{At, Entity, Model, Node, NodeKind, Pattern, Write, WriteKind};
use keywright_workbench::run::key_texts;

/// The records to add to a model with generated data, so that every update and delete finds the item that its
/// example names, and its derived items.
pub(super) fn missing(model: &Model, samples: &[Sample]) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    let seconds = model.derived_entities();
    let records = Records::new(model, samples);
    let mut known: BTreeSet<(String, Vec<String>)> =
        samples.iter().filter_map(|own| key(model, own)).collect();
    for pattern in &model.patterns {
        for step in pattern.steps() {
            let changes = matches!(step.kind, WriteKind::Update | WriteKind::Delete | WriteKind::Check);
            let is_second = seconds.iter().any(|(second, _)| second.name == step.entity);
            let Some(entity) = model.entity(&step.entity).filter(|_| changes && !is_second) else { continue };
            for row in rows(pattern, step) {
                let Some(mut item) = named(entity, &records, pattern, step, &row) else { continue };
                with_asked(entity, samples, step, &mut item);
                let Ok(whole) = data::complete(model, entity, item.clone()) else { continue };
                let sample = Sample {
                    table: entity.table.clone(),
                    entity: Some(entity.name.clone()),
                    item: whole,
                    at: At::default(),
                };
                if key(model, &sample).is_none_or(|key| !known.insert(key)) {
                    continue;
                }
                let others = seconds.iter().filter(|(_, first)| first.name == entity.name);
                let entities = std::iter::once(entity).chain(others.map(|(second, _)| *second));
                found.extend(entities.map(|own| (own.name.clone(), record(&item))));
            }
        }
    }
    found
}

fn key(model: &Model, sample: &Sample) -> Option<(String, Vec<String>)> {
    Some((sample.table.clone(), key_texts(model.table(&sample.table)?, &sample.item)))
}

/// The values of each item of a step: the step's own before the pattern's.
fn rows(pattern: &Pattern, step: &Write) -> Vec<Vec<(String, Node)>> {
    let own: Vec<Vec<(String, Node)>> =
        if step.examples.is_empty() { vec![Vec::new()] } else { step.examples.clone() };
    own.into_iter().map(|row| row.into_iter().chain(pattern.example.iter().cloned()).collect()).collect()
}

/// The item that an example names, if it gives the whole identity. Values come from the example and the
/// condition; the rest is invented.
fn named(
    entity: &Entity,
    records: &Records<'_>,
    pattern: &Pattern,
    step: &Write,
    row: &[(String, Node)],
) -> Option<Item> {
    let given = |name: &str| row.iter().find(|(known, _)| known == name).map(|(_, node)| node);
    let value = |attribute: &str, node: &Node| -> Option<AttributeValue> {
        from_node(node, entity.attribute(attribute)?.value_type).ok()
    };
    let mut said = Item::new();
    for name in entity.key_attributes() {
        said.insert(name.to_owned(), value(name, given(name)?)?);
    }
    for name in before(pattern, step) {
        said.extend(given(&name).and_then(|node| value(&name, node)).map(|value| (name.clone(), value)));
    }
    for (name, placeholder) in step.expression().map(ConditionExpression::equal).unwrap_or_default() {
        said.extend(given(placeholder).and_then(|node| value(name, node)).map(|own| (name.to_owned(), own)));
    }
    let mut item = records.record(entity, 0);
    item.retain(|name, _| entity.attribute(name).is_some());
    item.extend(said);
    Some(item)
}

/// Gives an item the attributes that a condition requires, with a value that another item has.
fn with_asked(entity: &Entity, samples: &[Sample], step: &Write, item: &mut Item) {
    for (name, _) in step.expression().map(ConditionExpression::equal).unwrap_or_default() {
        if !item.contains_key(name) && entity.attribute(name).is_some() {
            let mut mine = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&entity.name));
            let other = mine.find_map(|sample| sample.item.get(name));
            item.extend(other.map(|value| (name.to_owned(), value.clone())));
        }
    }
}

/// An item as a record of a model; only texts, numbers and booleans are kept.
pub(super) fn record(item: &Item) -> Node {
    let at = At::default();
    let entries = item
        .iter()
        .filter_map(|(name, value)| Some((Node { at, kind: NodeKind::Text(name.clone()) }, node(value)?)));
    Node { at, kind: NodeKind::Map(entries.collect()) }
}
