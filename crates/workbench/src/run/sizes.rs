//! The item sizes of each entity.

use keywright_semantics::size::item_bytes;
use keywright_semantics::value::Item;

use keywright_model::Entity;
use keywright_model::data::Sample;

/// The average size of an entity's samples, rounded up.
pub(super) fn average(entity: &Entity, samples: &[Sample]) -> Option<u64> {
    let own = samples.iter().filter(|sample| sample.entity.as_deref() == Some(&entity.name));
    let (items, sum) =
        own.fold((0_u64, 0_u64), |(items, sum), sample| (items + 1, sum + bytes(&sample.item)));
    (items > 0).then(|| sum.div_ceil(items))
}

fn bytes(item: &Item) -> u64 {
    u64::try_from(item_bytes(item)).unwrap_or(u64::MAX)
}
