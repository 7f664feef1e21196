//! Generated derived items: an entity whose attributes are all copies of one source entity, with the same
//! count, gets one item for each source item.

use std::collections::BTreeSet;

use keywright_semantics::value::Item;

use super::{Sample, complete, key_of, pad};
use crate::{Entity, Model};

/// The samples, with the generated derived items rebuilt from
/// their sources; the samples before `given` stay unchanged.
pub(super) fn follow(model: &Model, mut samples: Vec<Sample>, given: usize) -> Vec<Sample> {
    for (second, first) in pairs(model) {
        let Some(table) = model.table(&second.table) else { continue };
        let mut place = 0;
        samples.retain(|sample| {
            place += 1;
            place <= given || sample.entity.as_ref() != Some(&second.name)
        });
        let mine = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&second.name));
        let mut known: BTreeSet<String> =
            mine.filter_map(|sample| key_of(table, &sample.item)).map(|key| format!("{key:?}")).collect();
        let firsts = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&first.name));
        let more: Vec<Sample> = firsts
            .filter_map(|sample| {
                let own = |name: &String| second.attribute(name).is_some();
                let copy: Item = sample
                    .item
                    .iter()
                    .filter(|(name, _)| own(name))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                let item = pad(model, second, complete(model, second, copy).ok()?);
                let key = format!("{:?}", key_of(table, &item)?);
                known.insert(key).then(|| Sample {
                    table: second.table.clone(),
                    entity: Some(second.name.clone()),
                    item,
                    at: sample.at,
                })
            })
            .collect();
        samples.extend(more);
    }
    samples
}

/// The derived entities that have as many items as their source.
fn pairs(model: &Model) -> impl Iterator<Item = (&Entity, &Entity)> {
    let seconds = model.seconds().into_iter();
    seconds.filter(|(second, first)| second.count == first.count && second.name != first.name)
}
