//! Completes generated items so that every pattern can run. Where few items have an attribute, a small sample
//! may have none that a read or a condition needs.

use std::collections::BTreeSet;

use super::verify::SEED;
use super::verify_writes::bare;
use keywright_model::data::{Further, Sample, further};
use keywright_model::expression::{ConditionExpression, Effect, Section};
use keywright_model::value::from_node;
use keywright_model::{Entity, Model, Operation, Pattern, Write};
use keywright_semantics::value::Item;

/// An item that some pattern needs and the samples lack.
pub(super) struct Wanted {
    /// The pattern.
    pub(super) pattern: String,
    /// The item with its keys; for an entity with derived items it is the source.
    pub(super) sample: Sample,
}

impl Wanted {
    /// Its attributes besides its keys and its filler.
    pub(super) fn own(&self, model: &Model) -> Option<(String, Item)> {
        let entity = model.entity(self.sample.entity.as_deref()?)?;
        let mut own = bare(entity, &self.sample.item);
        own.retain(|name, _| entity.attribute(name).is_some());
        Some((entity.name.clone(), own))
    }
}

/// The items to add, so that every read finds one with the attributes that it is given and sorts by, and
/// every condition has an item to check.
pub(super) fn wanted(model: &Model, samples: &[Sample]) -> Vec<Wanted> {
    let mut all = samples.to_vec();
    let mut found = Vec::new();
    for pattern in &model.patterns {
        for Asked { entity, names, fixed } in asked(model, pattern) {
            let has = |sample: &Sample| {
                names.iter().all(|name| sample.item.contains_key(name))
                    && fixed.iter().all(|(name, value)| sample.item.get(name) == Some(value))
            };
            let mine = |sample: &&Sample| sample.entity.as_ref() == Some(&entity.name);
            if all.iter().filter(mine).any(has) {
                continue;
            }
            if let Some(sample) = made(model, entity, (&names, &fixed), &all) {
                all.push(sample.clone());
                found.push(Wanted { pattern: pattern.id.clone(), sample });
            }
        }
    }
    found
}

/// The requirements on one item of an entity.
struct Asked<'a> {
    entity: &'a Entity,
    /// The attributes that it must have.
    names: BTreeSet<String>,
    /// Those whose value is fixed.
    fixed: Item,
}

/// The requirements of a pattern, one item per entity.
fn asked<'a>(model: &'a Model, pattern: &Pattern) -> Vec<Asked<'a>> {
    let seconds = model.derived_entities();
    let first = |name: &str| {
        let of = seconds.iter().find(|(second, _)| second.name == name).map(|(_, first)| *first);
        of.or_else(|| model.entity(name))
    };
    let own = |entity: &Entity, names: Vec<&str>| -> BTreeSet<String> {
        names.into_iter().filter(|name| entity.attribute(name).is_some()).map(str::to_owned).collect()
    };
    if let Operation::Read(read) = &pattern.operation {
        let given = read.given.iter().map(|given| &given.attribute);
        let names: Vec<&str> =
            given.chain(read.order_by.iter().map(|by| &by.attribute)).map(String::as_str).collect();
        let entities = read.entities.iter().filter_map(|name| first(name));
        let asked = |entity| Asked { entity, names: own(entity, names.clone()), fixed: Item::new() };
        return entities.map(asked).collect();
    }
    let steps = pattern.steps().iter().filter_map(|step| {
        let names = step.expression().into_iter().flat_map(ConditionExpression::attributes);
        let removed = step.section(Section::Remove).map(Effect::attribute);
        let entity = first(&step.entity)?;
        let fixed = equal_to(pattern, step, entity);
        Some(Asked { entity, names: own(entity, names.chain(removed).collect()), fixed })
    });
    steps.collect()
}

/// The attributes that a step's condition compares for equality with values of its example; empty if the
/// example names the item.
fn equal_to(pattern: &Pattern, step: &Write, entity: &Entity) -> Item {
    let given = |name: &str| {
        let mut said = step.examples.first().into_iter().flatten().chain(&pattern.example);
        said.find(|(own, _)| own == name).map(|(_, node)| node)
    };
    if entity.key_attributes().all(|name| given(name).is_some()) {
        return Item::new();
    }
    let asked = step.expression().into_iter().flat_map(ConditionExpression::equal);
    let values = asked.filter_map(|(name, placeholder)| {
        let value = from_node(given(placeholder)?, entity.attribute(name)?.value_type).ok()?;
        Some((name.to_owned(), value))
    });
    values.collect()
}

/// A further item with these attributes, regardless of the share of items that have them, and with these
/// values.
fn made(
    model: &Model,
    entity: &Entity,
    (names, fixed): (&BTreeSet<String>, &Item),
    samples: &[Sample],
) -> Option<Sample> {
    let mut model = model.clone();
    let own = model.entities.iter_mut().find(|own| own.name == entity.name)?;
    for attribute in own.attributes.iter_mut().filter(|own| names.contains(&own.name)) {
        attribute.present_ppm = None;
    }
    let entity = model.entity(&entity.name)?;
    let wanted = Further { fixed, number: 1, seed: SEED };
    further(&model, entity, samples, wanted).ok()?.pop()
}
