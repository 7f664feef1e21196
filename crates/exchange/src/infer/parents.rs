//! Finds the parents of entities: the entity's key contains the
//! parent's key and something more, and the parent items exist.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::value::Item;

use super::Entity;
use crate::draft::DraftTable;
use keywright_model::Template;
use keywright_model::data::key_text;

/// One entity's keys: the variables in them, and their values for each item.
struct Keyed {
    table: usize,
    place: usize,
    name: String,
    variables: BTreeSet<String>,
    values: Vec<BTreeMap<String, String>>,
}

/// Sets the parents of the entities of all tables, as their items show them.
pub(crate) fn relate(tables: &mut [DraftTable]) {
    let mut all: Vec<Keyed> = Vec::new();
    for (table, draft) in tables.iter().enumerate() {
        let entities = draft.entities.iter().enumerate();
        all.extend(entities.map(|(place, entity)| keyed(table, place, entity, draft)));
    }
    // An entity name that two tables use cannot name a parent.
    let names: Vec<String> = all.iter().map(|own| own.name.clone()).collect();
    all.retain(|own| names.iter().filter(|name| **name == own.name).count() == 1);
    for child in &all {
        let parents = parents(child, &all);
        let entity = tables.get_mut(child.table).and_then(|draft| draft.entities.get_mut(child.place));
        if let Some(entity) = entity {
            entity.parents = parents;
        }
    }
}

fn keyed(table: usize, place: usize, entity: &Entity, draft: &DraftTable) -> Keyed {
    let keys = draft.key_names();
    let templates: Vec<(&str, &Template)> =
        keys.into_iter().filter_map(|key| Some((key, entity.template(key)?))).collect();
    let variables = templates.iter().flat_map(|(_, template)| template.attributes()).map(str::to_owned);
    let items = entity.members.iter().filter_map(|at| draft.items.get(*at));
    Keyed {
        table,
        place,
        name: entity.name.clone(),
        variables: variables.collect(),
        values: items.map(|item| values(&templates, item)).collect(),
    }
}

pub(crate) fn values(templates: &[(&str, &Template)], item: &Item) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (key, template) in templates {
        let Some(text) = item.get(key).and_then(key_text) else { continue };
        let values = template.fit(&text).unwrap_or_default();
        let values = values.into_iter().filter_map(|(part, value)| Some((part.attribute()?, value)));
        found.extend(values.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    found
}

/// The nearest entities whose keys this entity's key contains:
/// a line belongs to its order, not to the order's customer.
fn parents(child: &Keyed, all: &[Keyed]) -> Vec<String> {
    let above: Vec<&Keyed> = all
        .iter()
        .filter(|other| !other.variables.is_empty())
        .filter(|other| other.variables.is_subset(&child.variables) && other.variables != child.variables)
        .filter(|other| is_repeated(other, child))
        .collect();
    let nearest = above.iter().filter(|own| {
        let farther =
            |other: &&&Keyed| own.variables.is_subset(&other.variables) && own.variables != other.variables;
        !above.iter().any(|other| farther(&other))
    });
    // Of several entities with the same key, the parent is the one whose name the variable begins with.
    let mut chosen: Vec<&Keyed> = Vec::new();
    for own in nearest {
        match chosen.iter_mut().find(|known| known.variables == own.variables) {
            Some(known) if is_called_like(own) && !is_called_like(known) => *known = own,
            Some(_) => {}
            None => chosen.push(own),
        }
    }
    let mut kept: Vec<&Keyed> = Vec::new();
    for own in chosen {
        if !leaves_too_few(child, &kept, own) {
            kept.push(own);
        }
    }
    kept.into_iter().map(|own| own.name.clone()).collect()
}

/// Whether the parents' keys would make up the whole key, but have too few combinations to distinguish the
/// entity's items. Then one of the parents is only apparent.
fn leaves_too_few(child: &Keyed, parents: &[&Keyed], one_more: &Keyed) -> bool {
    let all = || parents.iter().copied().chain([one_more]);
    let covered = child.variables.iter().all(|name| all().any(|own| own.variables.contains(name)));
    let pairs = all().fold(1_usize, |product, own| product.saturating_mul(own.values.len()));
    covered && pairs < child.values.len()
}

fn is_called_like(own: &Keyed) -> bool {
    let name = own.name.to_lowercase();
    own.variables.iter().any(|variable| variable.to_lowercase().starts_with(&name))
}

/// From this many items on, some of their parent items can be missing in the sample.
const MANY_ITEMS: usize = 10;

/// Whether an entity's items repeat keys of the other entity's
/// items: all of them, or at least half if there are many.
fn is_repeated(other: &Keyed, child: &Keyed) -> bool {
    let of = |values: &BTreeMap<String, String>| -> Option<Vec<String>> {
        other.variables.iter().map(|name| values.get(name).cloned()).collect()
    };
    let there: BTreeSet<Vec<String>> = other.values.iter().filter_map(of).collect();
    let repeating = child.values.iter().filter_map(of).filter(|key| there.contains(key)).count();
    let all = child.values.len();
    repeating > 0 && (repeating == all || all >= MANY_ITEMS && repeating * 2 >= all)
}
