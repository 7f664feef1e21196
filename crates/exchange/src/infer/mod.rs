//! Infers entities from items: which items belong together,
//! how their keys are built, which attributes they have.
//!
//! Every import with items but without a model uses it: Workbench documents, live tables. The result is a
//! proposal for the author to correct in the model file, and it fits every item it was inferred from.

mod classify;
mod electrodb;
mod literals;
mod parents;
mod shape;
mod template;
mod variable_names;
mod verify;

use std::collections::BTreeMap;

use keywright_semantics::schema::{IndexKind, KeyAttribute, KeyType};
use keywright_semantics::value::{Item, ValueType};

pub(crate) use classify::{Group, classify, identifier};
use literals::Lexicon;
pub(crate) use literals::says_type;
pub(crate) use parents::{relate, values};
use shape::Role;
use template::{KeyPlace, Surroundings, templates};
use variable_names::{Agreed, agree};
use verify::verified;

use keywright_model::Template;
use keywright_model::tables::TableDefinition;

/// The parts of a facet that its entity's items do not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facet {
    /// The alias of the partition key, such as `c#${customerId}`.
    pub partition_alias: Option<String>,
    /// The alias of the sort key.
    pub sort_alias: Option<String>,
    /// The attributes that the facet shows.
    pub attributes: Vec<String>,
}

/// An inferred entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Unique in its table.
    pub name: String,
    /// Its items, as indexes into the table's list.
    pub members: Vec<usize>,
    /// Template by key attribute. An index key attribute that
    /// none of the items has is missing: the index is sparse.
    pub templates: BTreeMap<String, Template>,
    /// The attributes of its items, without those that only carry
    /// templates, followed by the templates' own variables.
    pub attributes: Vec<Attribute>,
    /// Whether its templates were inferred from examples and not written by an author.
    pub guessed: bool,
    /// Notes on what the examples leave open.
    pub doubts: Vec<String>,
    /// Its parents: the entities whose keys its own key repeats.
    pub parents: Vec<String>,
}

impl Entity {
    /// The template of a key attribute.
    pub fn template(&self, key: &str) -> Option<&Template> {
        self.templates.get(key)
    }
}

/// An attribute of an inferred entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// As items have it, or the name of a variable in a key.
    pub name: String,
    /// The type that most of its values have.
    pub value_type: ValueType,
    /// Whether items have it; false for variables that occur only in keys.
    pub stored: bool,
}

/// Infers the entities of a table from its groups, using the facets of those that have one.
pub(crate) fn infer(
    table: &TableDefinition,
    items: &[&Item],
    groups: &[Group],
    facets: &BTreeMap<String, Facet>,
    declared: &[(String, ValueType)],
) -> Vec<Entity> {
    let lexicon = Lexicon::of(table, items);
    let around = Surroundings { table, items, groups, lexicon: &lexicon };
    let none = Agreed::new();
    let templates_of = |group: &Group, agreed: &Agreed| {
        templates(&around, group, &places(table, facets.get(&group.name)), agreed)
    };
    let alone: Vec<template::Templates> = groups.iter().map(|group| templates_of(group, &none)).collect();
    let shared: Vec<(&Group, &[variable_names::Shared])> =
        groups.iter().zip(&alone).map(|(group, found)| (group, found.partitions.as_slice())).collect();
    let agreed = agree(items, &shared);
    assert_eq!(agreed.len(), groups.len(), "each group has the names that it shares");
    groups
        .iter()
        .zip(&alone)
        .zip(agreed)
        .map(|((group, alone), agreed)| {
            let facet = facets.get(&group.name);
            let places = places(table, facet);
            let found = templates(&around, group, &places, &agreed);
            let found = verified(table, items, group, &places, found, alone);
            let attributes = attributes(group, items, &found, facet, declared, &table.key_attributes());
            Entity {
                name: group.name.clone(),
                members: group.members.clone(),
                guessed: found.guessed,
                doubts: found.doubts.into_iter().map(|doubt| doubt.text).collect(),
                parents: Vec::new(),
                templates: found.keys,
                attributes,
            }
        })
        .collect()
}

/// Every key attribute once, the table's own first. Aliases name only the table's key attributes.
fn places<'a>(table: &'a TableDefinition, facet: Option<&'a Facet>) -> Vec<KeyPlace<'a>> {
    let mut places: Vec<KeyPlace<'a>> = Vec::new();
    let key = &table.schema.key;
    let mut add = |attribute: &'a KeyAttribute, role, alias| {
        if !places.iter().any(|known| known.name == attribute.name) {
            places.push(KeyPlace { name: &attribute.name, key_type: attribute.key_type, role, alias });
        }
    };
    for attribute in &key.partition {
        add(attribute, Role::Partition, facet.and_then(|facet| facet.partition_alias.as_deref()));
    }
    for attribute in &key.sort {
        add(attribute, Role::Sort, facet.and_then(|facet| facet.sort_alias.as_deref()));
    }
    for index in &table.schema.indexes {
        for attribute in index.key.partition.iter().filter(|_| index.kind == IndexKind::Global) {
            add(attribute, Role::Partition, None);
        }
        for attribute in &index.key.sort {
            add(attribute, Role::Sort, None);
        }
    }
    places
}

fn attributes(
    group: &Group,
    items: &[&Item],
    found: &template::Templates,
    facet: Option<&Facet>,
    declared: &[(String, ValueType)],
    keys: &[&KeyAttribute],
) -> Vec<Attribute> {
    let mut seen: BTreeMap<&str, Vec<(ValueType, usize)>> = BTreeMap::new();
    for (name, value) in group.members.iter().filter_map(|at| items.get(*at)).flat_map(|item| item.iter()) {
        let types = seen.entry(name).or_default();
        match types.iter_mut().find(|(known, _)| *known == value.value_type()) {
            Some((_, items)) => *items += 1,
            None => types.push((value.value_type(), 1)),
        }
    }
    // The most frequent of several types. NULL means that there is no value of any type.
    let most = |types: &[(ValueType, usize)]| {
        let rank = |(value_type, items): &(ValueType, usize)| (*value_type != ValueType::Null, *items);
        types.iter().rev().max_by_key(|known| rank(known)).map(|(value_type, _)| *value_type)
    };
    let mut types: BTreeMap<&str, ValueType> =
        seen.iter().filter_map(|(name, types)| Some((*name, most(types)?))).collect();
    let facet_names = facet.map_or(&[][..], |facet| facet.attributes.as_slice());
    for name in facet_names {
        let declared = declared.iter().find(|(known, _)| known == name);
        types.entry(name).or_insert(declared.map_or(ValueType::S, |(_, value_type)| *value_type));
    }
    // A key attribute that is its own template is also a plain attribute of the entity.
    let carries_template =
        |name: &str| found.keys.get(name).is_some_and(|template| template.whole() != Some(name));
    let order = |name: &str| declared.iter().position(|(known, _)| known == name).unwrap_or(usize::MAX);
    let mut stored: Vec<Attribute> = types
        .into_iter()
        .filter(|(name, _)| !carries_template(name))
        .map(|(name, value_type)| Attribute { name: name.to_owned(), value_type, stored: true })
        .collect();
    stored.sort_by_key(|attribute| order(&attribute.name));
    // A number or binary key with a single variable determines the variable's type.
    let type_of = |name: &str| {
        let is_it =
            |key: &KeyAttribute| found.keys.get(&key.name).is_some_and(|own| own.whole() == Some(name));
        keys.iter().find(|key| is_it(key)).map_or(ValueType::S, |key| key_value_type(key.key_type))
    };
    stored.extend(found.variables.iter().map(|name| Attribute {
        name: name.clone(),
        value_type: type_of(name),
        stored: false,
    }));
    stored
}

/// The value type of a key attribute.
pub(crate) const fn key_value_type(key_type: KeyType) -> ValueType {
    match key_type {
        KeyType::S => ValueType::S,
        KeyType::N => ValueType::N,
        KeyType::B => ValueType::B,
    }
}
