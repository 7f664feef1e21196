//! One name for one value: entities of one collection are asked for together, by what their partition keys have in common.
//!
//! Each entity names the variables of its keys by its own attributes and words. Where the same place of the same key holds
//! the same values, one of those names serves all of them; an entity that calls the value otherwise keeps its attribute,
//! and its key is made of the common name.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::value::{AttributeValue, Item};

use super::classify::Group;
use super::template::{Column, is_generic};

/// The names agreed on, by key attribute and what stands in front of the variable.
pub(super) type Agreed = BTreeMap<(String, String), String>;

/// A variable of a partition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) key: String,
    /// What stands in front of it, with `*` for other variables.
    pub(super) lead: String,
    pub(super) name: String,
    pub(super) column: Column,
}

/// An entity's variable at a place, with the entity.
type Own<'a> = (&'a Group, &'a Shared);

/// Entities, by their places, with their variables of one place.
type Collection<'a> = Vec<(usize, Own<'a>)>;

/// The names that differ between entities and need not, for each entity.
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

/// Those that hold values of one kind: behind a word all of them, else those with a value in common.
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

/// The name that suits all: that of the key itself, else what most of them hold as an attribute, else of those that have the
/// fewest items, which are what the others belong to. None if they agree, or no name suits.
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

/// What an entity's attribute of a name holds.
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
