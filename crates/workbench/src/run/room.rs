//! What keeps a change from being one request before it is made: more items than its operation takes, or than the data has.
//!
//! It knows how many items a pattern's steps take and how many there are; it does not choose among them.

use keywright_semantics::limits::{
    BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX, BATCH_WRITES_MAX, TRANSACTION_ITEMS_MAX,
};

use super::report::OperationKind;
use crate::data::Sample;
use crate::model::{Entity, Generate, Model, Pattern, Write, WriteKind};

/// A sentence on a request of more items than the service takes: it is refused whatever the data.
pub(super) fn too_many(pattern: &Pattern, operation: OperationKind) -> Option<String> {
    let most = match operation {
        OperationKind::TransactWriteItems | OperationKind::TransactGetItems => TRANSACTION_ITEMS_MAX,
        OperationKind::BatchWriteItem => BATCH_WRITES_MAX,
        OperationKind::BatchGetItem => BATCH_GET_KEYS_MAX,
        _ => return None,
    };
    let items = pattern.steps().iter().fold(0_u64, |sum, step| sum.saturating_add(step.n));
    (u64::try_from(most).is_ok_and(|most| items > most)).then(|| {
        format!(
            "a {} takes at most {most} items, and this one has {items}: {}, or write several patterns",
            operation.name(),
            fewer(pattern.steps())
        )
    })
}

/// A sentence on a batch of gets whose items one answer does not hold: what is left out takes a further request.
pub(super) fn too_large(pattern: &Pattern, operation: OperationKind, bytes: usize) -> Option<String> {
    (operation == OperationKind::BatchGetItem && bytes > BATCH_GET_BYTES_MAX).then(|| {
        format!(
            "its items have {} MB, and one answer holds at most {} MB and leaves the rest unprocessed: {}, or write several patterns",
            bytes.div_ceil(1 << 20),
            BATCH_GET_BYTES_MAX >> 20,
            fewer(pattern.steps())
        )
    })
}

/// A sentence on a change of more items than there are, and what to write where.
pub(super) fn too_few(model: &Model, samples: &[Sample], pattern: &Pattern, entity: &Entity) -> String {
    let own = samples.iter().filter(|sample| sample.entity.as_deref() == Some(&entity.name)).count();
    let there = u64::try_from(own).unwrap_or(u64::MAX);
    let needed = needed(pattern, entity);
    let more = needed.saturating_sub(there);
    let write = match model.data.generate {
        Some(wanted) => grown(model, wanted, entity, needed),
        None if there == 0 => {
            format!("write {more} into `data`, or `data: {{generate: {{seed: 1, sample: {needed}}}}}`")
        }
        None => format!("write {more} more into `data`"),
    };
    let name = &entity.name;
    let is = if there == 1 { "is" } else { "are" };
    let or = if needed > 1 { format!(", or {}", fewer(pattern.steps())) } else { String::new() };
    format!("it takes {needed} of {name} that are there, each once, and there {is} {there}: {write}{or}")
}

/// How many items of an entity a pattern takes that must be there.
pub(super) fn needed(pattern: &Pattern, entity: &Entity) -> u64 {
    let own = pattern.steps().iter().filter(|step| step.entity == entity.name && step.kind != WriteKind::Put);
    own.fold(0, |sum, step| sum.saturating_add(step.n))
}

/// What makes a step take fewer items: the field that its number comes from.
fn fewer(steps: &[Write]) -> &'static str {
    let several = steps.iter().find(|step| step.n > 1);
    match several.map(|step| u64::try_from(step.examples.len()) == Ok(step.n)) {
        Some(false) => "give it a lower `n`",
        Some(true) => "give it fewer in `example`",
        None => "give it fewer steps",
    }
}

/// The count and the sample with which so many items of an entity are generated: the most numerous entity has as many as
/// the sample says, the others in proportion.
fn grown(model: &Model, wanted: Generate, entity: &Entity, needed: u64) -> String {
    let counts = model.entities.iter().filter_map(|own| own.count);
    let count = entity.count.unwrap_or(1);
    let grown = count.max(needed);
    let most = counts.max().unwrap_or(1).max(grown);
    let sample = u128::from(needed) * u128::from(most);
    let sample = u64::try_from(sample.div_ceil(u128::from(grown.max(1)))).unwrap_or(u64::MAX);
    let of_count = (grown > count).then(|| format!("`count: {grown}` of {}", entity.name));
    let of_sample = (sample > wanted.sample).then(|| format!("`sample: {sample}` of `generate`"));
    let both: Vec<String> = of_count.into_iter().chain(of_sample).collect();
    match both.as_slice() {
        [] => "write keys of which there are enough".to_owned(),
        some => format!("write {}", some.join(" and ")),
    }
}
