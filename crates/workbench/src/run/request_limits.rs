//! Refuses a write that is not one request before it is built: more items than the operation takes, or than
//! the data has.
//!
//! It knows how many items a pattern's steps take and how many there are; it does not choose among them.

use keywright_semantics::limits::{
    BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX, BATCH_WRITES_MAX, TRANSACTION_ITEMS_MAX,
};

use super::report::OperationKind;
use keywright_model::data::Sample;
use keywright_model::{Entity, Model, Pattern, Write};

/// The message for a request of more items than the service takes with any data.
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

/// The message for a batch of gets whose items exceed one response: the rest takes a further request.
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

/// The message for a write of more items than there are, with the field to change.
pub(super) fn too_few(model: &Model, samples: &[Sample], pattern: &Pattern, entity: &Entity) -> String {
    let own = samples.iter().filter(|sample| sample.entity.as_deref() == Some(&entity.name)).count();
    let there = u64::try_from(own).unwrap_or(u64::MAX);
    let needed = pattern.takes(&entity.name);
    let more = needed.saturating_sub(there);
    let write = match model.data.generate {
        Some(_) => grown(entity, needed),
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

/// The field that makes a step take fewer items.
fn fewer(steps: &[Write]) -> &'static str {
    let several = steps.iter().find(|step| step.n > 1);
    match several.map(|step| u64::try_from(step.examples.len()) == Ok(step.n)) {
        Some(false) => "give it a lower `n`",
        Some(true) => "give it fewer in `example`",
        None => "give it fewer steps",
    }
}

/// The change that generates enough items of an entity: the sample has as many as a request takes, if that
/// many are declared.
fn grown(entity: &Entity, needed: u64) -> String {
    if entity.count.is_none_or(|count| count < needed) {
        return format!("write `count: {needed}` of {}", entity.name);
    }
    "write keys of which there are enough".to_owned()
}
