//! The numbers in a sample: items per entity, and different values per attribute.
//!
//! A sample is smaller than the population, so either the number of keys or the items per key must shrink.
//! The items per key are kept, because reads return them: for a key attribute with 10,000 values in a million
//! items, a sample of 1,000 items has ten values with a hundred items each. There are never fewer than
//! [`KEYS_MIN`] values if that many are declared, so that no read returns everything. A sample as large as
//! the population has exactly the declared values. Attributes outside keys keep their declared number of
//! values, because it decides the share that a filter discards.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::limits::BATCH_GET_KEYS_MAX;
use keywright_semantics::value::ValueType;

use crate::{Attribute, Entity, Generate, GivenOp, Index, MilliItems, Model, Pattern, Skew};

/// The fewest values of a key attribute in a sample, if that many are declared.
pub(super) const KEYS_MIN: u64 = 10;
/// Combinations of values per item of an entity, so that random draws rarely collide.
const ROOM: u64 = 2;

/// The source of an attribute's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source<'a> {
    /// It identifies a parent, which is chosen as a whole item.
    Parent(&'a str),
    /// It identifies another entity.
    Other(&'a Entity),
    /// One of a limited number of values.
    Among(u64),
    /// A new value for each item.
    Open,
}

/// The entity that an attribute identifies.
#[derive(Clone, Debug)]
enum Identified {
    /// The n-th parent of its entity.
    Parent(usize),
    Other(String),
}

/// The numbers of a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Scale {
    items: BTreeMap<String, u64>,
    values: BTreeMap<(String, String), u64>,
    /// By entity and attribute; computed once, because every record needs all of them.
    identified: BTreeMap<String, BTreeMap<String, Identified>>,
    /// By entity and attribute, for the same reason.
    skews: BTreeMap<String, BTreeMap<String, Skew>>,
}

impl Scale {
    /// Proportional counts: the most numerous entity gets `wanted.sample` items, every other at least one. An
    /// entity gets more if it distinguishes the items of others or if one request takes several of its items.
    pub(super) fn of_sample(model: &Model, wanted: Generate) -> Self {
        let counts = model.entities.iter().filter_map(|entity| entity.count);
        let most = counts.max().unwrap_or(1).max(1);
        let number = |entity: &Entity| {
            let count = u128::from(entity.count.unwrap_or(1));
            let scaled = count * u128::from(wanted.sample) / u128::from(most.max(wanted.sample));
            let scaled = u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, wanted.sample.max(1));
            scaled.max(taken_at_once(model, entity).min(entity.count.unwrap_or(u64::MAX)))
        };
        Self::new(model, model.entities.iter().map(|entity| (entity.name.clone(), number(entity))).collect())
    }

    /// The numbers for existing items.
    pub(super) fn of_items(model: &Model, items: BTreeMap<String, u64>) -> Self {
        Self::new(model, items)
    }

    fn new(model: &Model, items: BTreeMap<String, u64>) -> Self {
        let mut scale =
            Self { items, values: BTreeMap::new(), identified: BTreeMap::new(), skews: BTreeMap::new() };
        for entity in &model.entities {
            let own = entity.attributes.iter().map(|own| &own.name);
            let identified =
                own.filter_map(|name| Some((name.clone(), identified(model, entity, name)?))).collect();
            scale.identified.insert(entity.name.clone(), identified);
            let own = entity.attributes.iter().map(|own| &own.name);
            let skews = own.filter_map(|name| Some((name.clone(), model.skew(entity, name)?))).collect();
            scale.skews.insert(entity.name.clone(), skews);
            for attribute in &entity.attributes {
                if let Some(values) = scale.scaled(model, entity, attribute) {
                    scale.values.insert((entity.name.clone(), attribute.name.clone()), values);
                }
            }
        }
        // More items of one entity can require more items of another;
        // as many rounds as entities reach the end of a chain.
        for _ in &model.entities {
            for entity in &model.entities {
                for names in uniques(entity) {
                    scale.make_room(model, entity, &names);
                }
            }
        }
        scale
    }

    /// At least one.
    pub(super) fn items(&self, entity: &str) -> u64 {
        self.items.get(entity).copied().unwrap_or(1).max(1)
    }

    /// The number of different values of an attribute in the sample, if limited.
    pub(super) fn values(&self, entity: &str, attribute: &str) -> Option<u64> {
        self.values.get(&(entity.to_owned(), attribute.to_owned())).copied()
    }

    /// How unevenly items fall on an attribute's values.
    pub(super) fn skew(&self, entity: &str, attribute: &str) -> Option<Skew> {
        self.skews.get(entity).and_then(|own| own.get(attribute)).copied()
    }

    pub(super) fn source<'a>(
        &self,
        model: &'a Model,
        entity: &'a Entity,
        attribute: &Attribute,
    ) -> Source<'a> {
        let name = attribute.name.as_str();
        match self.identified.get(&entity.name).and_then(|identified| identified.get(name)) {
            Some(Identified::Parent(place)) => {
                if let Some(parent) = entity.parents.get(*place) {
                    return Source::Parent(parent);
                }
            }
            Some(Identified::Other(other)) => {
                if let Some(other) = model.entity(other) {
                    return Source::Other(other);
                }
            }
            None => {}
        }
        self.values(&entity.name, name).map_or(Source::Open, Source::Among)
    }

    fn scaled(&self, model: &Model, entity: &Entity, attribute: &Attribute) -> Option<u64> {
        if !attribute.values.is_empty() {
            return u64::try_from(attribute.values.len()).ok();
        }
        match attribute.value_type {
            ValueType::Bool => return Some(2),
            ValueType::Null => return Some(1),
            _ => {}
        }
        let in_key = in_some_key(model, entity, &attribute.name);
        let known = attribute.distinct.or_else(|| hinted(model, entity, attribute).filter(|_| in_key))?;
        let items = self.items(&entity.name);
        let count = entity.count.unwrap_or(items).max(1);
        let known = known.clamp(1, count);
        if !in_key || items >= count {
            return Some(known);
        }
        let kept = u128::from(items) * u128::from(known) / u128::from(count);
        Some(u64::try_from(kept).unwrap_or(u64::MAX).max(known.min(KEYS_MIN)))
    }

    /// Adds items and values until the attributes that
    /// distinguish an entity's items have enough combinations.
    fn make_room(&mut self, model: &Model, entity: &Entity, names: &[&str]) {
        let known: Vec<&Attribute> = names.iter().filter_map(|name| entity.attribute(name)).collect();
        // By entity that values are drawn from: the attribute whose number of values limits the draw, if
        // there is one.
        let mut others: BTreeMap<String, Option<(String, String)>> = BTreeMap::new();
        let mut own: BTreeSet<(String, String)> = BTreeSet::new();
        for attribute in known {
            match self.source(model, entity, attribute) {
                Source::Open => return,
                Source::Parent(name) => drop(others.insert(name.to_owned(), None)),
                Source::Other(other) => {
                    let key = (entity.name.clone(), attribute.name.clone());
                    others.insert(other.name.clone(), Some(key));
                }
                Source::Among(_) => drop(own.insert((entity.name.clone(), attribute.name.clone()))),
            }
        }
        let several = others.len() + own.len() > 1;
        let needed = self.items(&entity.name).saturating_mul(if several { ROOM } else { 1 });
        let drawn = |scale: &Self, name: &str| {
            let key = others.get(name).and_then(Option::as_ref);
            let among = key.and_then(|key| scale.values.get(key).copied()).unwrap_or(u64::MAX);
            scale.items(name).min(among).max(1)
        };
        let room = |scale: &Self| {
            let items = others.keys().map(|name| drawn(scale, name));
            let values = own.iter().filter_map(|key| scale.values.get(key).copied());
            items.chain(values).fold(1_u64, u64::saturating_mul)
        };
        let mut few: Vec<String> = others.keys().cloned().collect();
        few.sort_by_key(|name| self.items(name));
        for name in few {
            let (all, now, items) = (room(self), drawn(self, &name), self.items(&name));
            let most = model.entity(&name).and_then(|other| other.count).unwrap_or(items);
            if all < needed {
                let wanted = needed.div_ceil((all / now).max(1)).min(most).max(now);
                if let Some(among) =
                    others.get(&name).and_then(Option::as_ref).and_then(|key| self.values.get_mut(key))
                {
                    *among = wanted.max(*among);
                }
                self.items.insert(name, wanted.max(items));
            }
        }
        // Only an estimated number of values can be raised:
        // one from the results of reads, not a declared one.
        let hinted = |(_, name): &(String, String)| {
            entity.attribute(name).is_some_and(|own| {
                let listed =
                    !own.values.is_empty() || matches!(own.value_type, ValueType::Bool | ValueType::Null);
                own.distinct.is_none() && !listed
            })
        };
        for key in &own {
            let (all, now) = (room(self), self.values.get(key).copied().unwrap_or(1).max(1));
            let most = entity.attribute(&key.1).and_then(|attribute| attribute.distinct).unwrap_or(now);
            if all < needed {
                let wanted = needed.div_ceil((all / now).max(1)).min(most).max(now);
                self.values.insert(key.clone(), wanted);
            }
        }
        while room(self) < needed {
            let few = own.iter().filter(|key| hinted(key)).min_by_key(|key| self.values.get(*key).copied());
            let Some(values) = few.cloned().and_then(|key| self.values.get_mut(&key)) else { break };
            *values = values.saturating_mul(2).max(2);
        }
    }
}

/// The parent or other entity that an attribute identifies, if any.
fn identified(model: &Model, entity: &Entity, name: &str) -> Option<Identified> {
    let identifies =
        |parent: &String| model.entity(parent).is_some_and(|parent| key_attributes(parent).contains(name));
    match entity.parents.iter().position(identifies) {
        Some(place) => Some(Identified::Parent(place)),
        None => model.identified_by(entity, name).map(|other| Identified::Other(other.name.clone())),
    }
}

/// The most existing items of an entity that one request takes, within the service's limit.
pub fn taken_at_once(model: &Model, entity: &Entity) -> u64 {
    let most = u64::try_from(BATCH_GET_KEYS_MAX).unwrap_or(u64::MAX);
    let taken = model.patterns.iter().map(|pattern| pattern.takes(&entity.name));
    taken.filter(|number| *number <= most).max().unwrap_or(0)
}

/// The lists of attributes whose values are unique: the table's key and the declared lists.
pub(super) fn uniques(entity: &Entity) -> Vec<Vec<&str>> {
    let key: Vec<&str> = key_attributes(entity).into_iter().collect();
    let declared = entity.unique.iter().map(|names| names.iter().map(String::as_str).collect());
    std::iter::once(key).chain(declared).filter(|names: &Vec<&str>| !names.is_empty()).collect()
}

/// The attributes of an entity's key in its table.
pub(super) fn key_attributes(entity: &Entity) -> BTreeSet<&str> {
    entity.key_attributes().collect()
}

/// Whether an attribute is part of a key of the table or of an index.
fn in_some_key(model: &Model, entity: &Entity, name: &str) -> bool {
    let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
    let mut templates = slots.flat_map(|slot| &slot.templates);
    let table = model.table(&entity.table);
    let mut native = table.into_iter().flat_map(|table| {
        table.key_parts().chain(table.indexes.iter().flat_map(Index::key_parts)).map(|part| &part.name)
    });
    templates.any(|(_, template)| template.attributes().any(|own| own == name))
        || native.any(|own| own == name)
}

/// The number of values of an attribute, estimated from the average result of a read by one value.
fn hinted(model: &Model, entity: &Entity, attribute: &Attribute) -> Option<u64> {
    let alone = uniques(entity).iter().any(|names| names.as_slice() == [attribute.name.as_str()]);
    let returned = |pattern: &Pattern| {
        let read = pattern.read()?;
        let asks = matches!(read.given.as_slice(), [given]
            if given.attribute == attribute.name && given.op == GivenOp::Eq);
        let whole = asks && read.filter.is_none() && read.limit.is_none();
        let own = matches!(read.entities.as_slice(), [name] if *name == entity.name);
        pattern.returns?.average.filter(|average| whole && own && *average > MilliItems::of(1))
    };
    let average = model.patterns.iter().filter_map(returned).max().filter(|_| !alone)?;
    let values = u128::from(MilliItems::of(entity.count?).0).div_ceil(u128::from(average.0));
    u64::try_from(values.max(1)).ok()
}
