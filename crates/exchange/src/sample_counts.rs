//! Corrects counts of a live table that its sample contradicts:
//! a sample can hold all lines of some orders and one of others.
//!
//! The number of items of each entity is extrapolated from the sample. An attribute that identifies another
//! entity then seems to have at most as many values as that entity has items. If this leaves an entity fewer
//! keys than items, the number of values is extrapolated from the entity's own items.

use std::collections::BTreeSet;

use super::draft::{Draft, DraftTable};
use super::infer::{Entity as Inferred, values};
use keywright_model::distribution::different;
use keywright_model::{Model, Template};

/// Sets the number of different values of key attributes where the model would contradict itself.
pub(super) fn correct_counts(model: &mut Model, draft: &Draft) {
    let has_key = |table: &&DraftTable| !table.definition.schema.key.partition.is_empty();
    let inferred = draft.tables.iter().filter(has_key).flat_map(|table| {
        let entities = table.entities.iter();
        entities.map(move |entity| (table, entity))
    });
    for (place, (table, entity)) in inferred.enumerate() {
        let short = short(model, place);
        let Some(own) = model.entities.get_mut(place).filter(|_| short) else { continue };
        let Some(count) = own.count else { continue };
        for attribute in own.attributes.iter_mut().filter(|own| own.values.is_empty()) {
            attribute.distinct = attribute.distinct.or_else(|| seen(table, entity, &attribute.name, count));
        }
    }
}

/// Whether an entity has fewer possible keys than items.
fn short(model: &Model, place: usize) -> bool {
    let Some(entity) = model.entities.get(place) else { return false };
    let Some(table) = model.table(&entity.table) else { return false };
    let keys: Option<Vec<Template>> = table.key_parts().map(|part| entity.template(&part.name)).collect();
    let values = keys.and_then(|keys| different(model, entity, &keys));
    values.zip(entity.count).is_some_and(|(values, count)| values < count)
}

/// The number of values of a key attribute among `count` items,
/// extrapolated from the sample. `None` if it is in no key.
fn seen(table: &DraftTable, entity: &Inferred, name: &str, count: u64) -> Option<u64> {
    let keys = table.key_names().into_iter();
    let templates: Vec<(&str, &Template)> =
        keys.filter_map(|key| Some((key, entity.template(key)?))).collect();
    let items = entity.members.iter().filter_map(|at| table.items.get(*at));
    let found: BTreeSet<String> = items.filter_map(|item| values(&templates, item).remove(name)).collect();
    let (found, all) = (u64::try_from(found.len()).ok()?, u64::try_from(entity.members.len()).ok()?);
    let scaled = u128::from(found) * u128::from(count);
    let scaled = u64::try_from(scaled.div_ceil(u128::from(all.max(1)))).ok()?;
    (found > 0).then(|| scaled.max(found).min(count.max(1)))
}
