//! Common variable names: the entities of a collection are
//! read together, by the variables of their partition keys.
//!
//! Each entity names the variables of its keys after its own attributes and prefixes. Where the same place of
//! the same key holds the same values, all entities use one of those names. An entity that has the value in
//! an attribute with another name keeps the attribute, and its key uses the common name.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::value::{AttributeValue, Item};

use super::classify::Group;
use super::template::{Column, is_generic};

/// The common names, by key attribute and the text before the variable.
pub(super) type Agreed = BTreeMap<(String, String), String>;

/// A variable of a partition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) key: String,
    /// The text before it, with `*` for other variables.
    pub(super) lead: String,
    pub(super) name: String,
    pub(super) column: Column,
}

/// An entity and its variable at a place.
type Own<'a> = (&'a Group, &'a Shared);

/// Entities, by index, with their variables at one place.
type Collection<'a> = Vec<(usize, Own<'a>)>;

/// For each entity, the common names of variables that entities name differently.
pub(super) fn agree(items: &[&Item], entities: &[(&Group, &[Shared])]) -> Vec<Agreed> {
    let mut places: BTreeMap<(&str, &str), Collection<'_>> = BTreeMap::new();
    for (number, (group, shared)) in entities.iter().enumerate() {
        for own in *shared {
            places.entry((&own.key, &own.lead)).or_default().push((number, (group, own)));
        }
    }
    let mut agreed = vec![Agreed::new(); entities.len()];
    for ((key, lead), owns) in places {
        for collection in collections(lead, owns) {
            let Some(name) = common_name(items, &collection) else { continue };
            for (number, _) in &collection {
                if let Some(own) = agreed.get_mut(*number) {
                    own.insert((key.to_owned(), lead.to_owned()), name.clone());
                }
            }
        }
    }
    agreed
}

/// Groups variables that hold values of one kind: after a
/// literal all of them, otherwise those with a value in common.
fn collections<'a>(lead: &str, owns: Collection<'a>) -> Vec<Collection<'a>> {
    if lead.contains(char::is_alphanumeric) {
        return vec![owns];
    }
    let mut found: Vec<(BTreeSet<&str>, Collection<'a>)> = Vec::new();
    for own in owns {
        let mut values: BTreeSet<&str> = own.1.1.column.values().map(String::as_str).collect();
        let mut members = vec![own];
        let (joined, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(known, _)| !known.is_disjoint(&values));
        found = others;
        for (known, more) in joined {
            values.extend(known);
            members.extend(more);
        }
        found.push((values, members));
    }
    found.into_iter().map(|(_, members)| members).collect()
}

/// The best name for all: the key's own name, otherwise the name under which most entities have an attribute,
/// otherwise that of the entity with the fewest items, to which the others belong. `None` if they already
/// agree, or if no name is free in all entities.
fn common_name(items: &[&Item], collection: &[(usize, Own<'_>)]) -> Option<String> {
    let names: BTreeSet<&str> = collection.iter().map(|(_, (_, own))| own.name.as_str()).collect();
    if names.len() < 2 {
        return None;
    }
    let suits = |name: &&str| collection.iter().all(|(_, own)| holding(items, *own, name) != Holding::Other);
    let rank = |name: &&str| {
        let holders = collection.iter().filter(|(_, own)| holding(items, *own, name) == Holding::Value);
        let callers = collection.iter().filter(|(_, (_, own))| own.name == *name);
        let fewest = callers.map(|(_, (group, _))| group.members.len()).min().unwrap_or(usize::MAX);
        let is_key = collection.iter().any(|(_, (_, own))| own.key == **name && !is_generic(name));
        (!is_key, std::cmp::Reverse(holders.count()), fewest)
    };
    names.into_iter().filter(suits).min_by_key(rank).map(str::to_owned)
}

/// The contents of an entity's attribute with a given name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    Nothing,
    /// The values of the variable, in every item.
    Value,
    Other,
}

fn holding(items: &[&Item], (group, own): Own<'_>, name: &str) -> Holding {
    let members = || group.members.iter().filter_map(|at| Some((at, items.get(*at)?)));
    if members().all(|(_, item)| !item.contains_key(name)) {
        return Holding::Nothing;
    }
    let equal = members().all(|(at, item)| match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text) == own.column.get(at),
        Some(AttributeValue::N(number)) => Some(&number.to_string()) == own.column.get(at),
        _ => false,
    });
    if equal { Holding::Value } else { Holding::Other }
}
