//! Generated derived items: an entity whose attributes are all copies of one source entity, with the same
//! count, gets one item for each source item.

use std::collections::BTreeSet;

use keywright_semantics::value::Item;

use super::room::Room;
use super::{NotLoaded, Sample, complete, key_of, pad};
use crate::{Entity, Model};

/// The samples, with the generated derived items rebuilt from
/// their sources; the samples before `given` stay unchanged.
pub(super) fn with_derived_items(
    model: &Model,
    mut samples: Vec<Sample>,
    given: usize,
    room: &mut Room,
) -> Result<Vec<Sample>, NotLoaded> {
    for (derived, source) in pairs(model) {
        let Some(table) = model.table(&derived.table) else { continue };
        let mut place = 0;
        samples.retain(|sample| {
            place += 1;
            let kept = place <= given || sample.entity.as_ref() != Some(&derived.name);
            if !kept {
                room.give(&sample.item);
            }
            kept
        });
        let mine = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&derived.name));
        let mut known: BTreeSet<String> =
            mine.filter_map(|sample| key_of(table, &sample.item)).map(|key| format!("{key:?}")).collect();
        let sources = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&source.name));
        let made = sources.filter_map(|sample| {
            let own = |name: &String| derived.attribute(name).is_some();
            let copy: Item = sample
                .item
                .iter()
                .filter(|(name, _)| own(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            let item = pad(model, derived, complete(model, derived, copy).ok()?);
            let key = format!("{:?}", key_of(table, &item)?);
            known.insert(key).then(|| Sample {
                table: derived.table.clone(),
                entity: Some(derived.name.clone()),
                item,
                at: sample.at,
            })
        });
        let counted = made.map(|sample| room.take(&sample.item).map(|()| sample));
        let more: Vec<Sample> = counted.collect::<Result<_, _>>()?;
        samples.extend(more);
    }
    Ok(samples)
}

/// The derived entities that have as many items as their source.
fn pairs(model: &Model) -> impl Iterator<Item = (&Entity, &Entity)> {
    let derived_items = model.derived_entities().into_iter();
    derived_items.filter(|(derived, source)| derived.count == source.count && derived.name != source.name)
}
