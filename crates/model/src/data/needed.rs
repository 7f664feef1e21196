//! What a pattern needs of the items that it runs on: the attributes that one of them must have.

use std::collections::BTreeSet;

use crate::expression::{ConditionExpression, Effect, Section};
use crate::{Entity, Model, Operation, Pattern, Write};

/// The requirements of a pattern, or of one step of it, on one item of an entity.
#[derive(Clone, Debug)]
pub struct Needed<'a> {
    /// The entity; for derived items their source.
    pub entity: &'a Entity,
    /// The attributes that the item must have.
    pub names: BTreeSet<&'a str>,
    /// The step of a write that needs it.
    pub step: Option<&'a Write>,
}

/// A read needs an item with the attributes that it is given and sorts by; a step needs one with the
/// attributes that its condition names and that it removes.
pub fn needed<'a>(model: &'a Model, pattern: &'a Pattern) -> Vec<Needed<'a>> {
    let derived = model.derived_entities();
    let source = |name: &str| {
        let of = derived.iter().find(|(own, _)| own.name == name).map(|(_, source)| *source);
        of.or_else(|| model.entity(name))
    };
    let own = |entity: &Entity, names: Vec<&'a str>| -> BTreeSet<&'a str> {
        names.into_iter().filter(|name| entity.attribute(name).is_some()).collect()
    };
    if let Operation::Read(read) = &pattern.operation {
        let given = read.given.iter().map(|given| given.attribute.as_str());
        let names: Vec<&str> = given.chain(read.order_by.iter().map(|by| by.attribute.as_str())).collect();
        let entities = read.entities.iter().filter_map(|name| source(name));
        return entities
            .map(|entity| Needed { entity, names: own(entity, names.clone()), step: None })
            .collect();
    }
    let steps = pattern.steps().iter().filter_map(|step| {
        let names = step.expression().into_iter().flat_map(ConditionExpression::attributes);
        let removed = step.section(Section::Remove).map(Effect::attribute);
        let entity = source(&step.entity)?;
        Some(Needed { entity, names: own(entity, names.chain(removed).collect()), step: Some(step) })
    });
    steps.collect()
}
