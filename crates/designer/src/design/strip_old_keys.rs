//! Removes references to the previous keys from patterns when the design replaces them.

use std::collections::BTreeSet;

use super::Kept;
use keywright_model::expression::Effect;
use keywright_model::{Entity, Index, MilliItems, Model, Operation, Pattern, ReadKind, Returns, Write};

/// The previous keys of the designed table.
pub(super) struct PreviousKeys {
    names: BTreeSet<String>,
    entities: BTreeSet<String>,
    /// Whether none of them is kept.
    replaced: bool,
}

impl PreviousKeys {
    pub(super) fn of(model: &Model, table: &str, kept: &Kept) -> Self {
        let tables = model.table(table).into_iter();
        let parts =
            tables.flat_map(|own| own.key_parts().chain(own.indexes.iter().flat_map(Index::key_parts)));
        Self {
            names: parts.map(|part| part.name.clone()).collect(),
            entities: model.entities_of(table).map(|own| own.name.clone()).collect(),
            replaced: kept.is_empty(),
        }
    }
}

/// Adapts patterns to the new keys: gets without the whole key of their table become queries, and updates no
/// longer change attributes that only the previous keys had.
pub(super) fn strip(model: &mut Model, previous: &PreviousKeys) {
    let mut patterns = std::mem::take(&mut model.patterns);
    for pattern in &mut patterns {
        if let Operation::Read(read) = &mut pattern.operation {
            let entity = read.entities.first().and_then(|name| model.entity(name));
            let table = entity.and_then(|entity| model.table(&entity.table));
            let lacks = entity.zip(table).is_some_and(|(entity, table)| {
                pattern.uses.is_some() || !entity.key_not_given(table, &read.given).is_empty()
            });
            if read.kind == ReadKind::Get && lacks {
                read.kind = ReadKind::Query;
                // The get returned at most one item.
                let one = Returns { average: Some(MilliItems::of(1)), max: Some(1), page: None };
                pattern.returns = pattern.returns.or(Some(one));
            }
        }
        let mut dropped = BTreeSet::new();
        let steps = match &mut pattern.operation {
            Operation::Write(step) => std::slice::from_mut(step),
            Operation::Transact(steps) | Operation::Batch(steps) => steps.as_mut_slice(),
            Operation::Read(_) => &mut [],
        };
        for step in steps {
            if let Some(entity) =
                model.entity(&step.entity).filter(|own| previous.entities.contains(&own.name))
            {
                dropped.extend(without_previous_keys(entity, previous, step));
            }
        }
        forget(pattern, &dropped);
    }
    model.patterns = patterns;
}

/// Removes effects from an update that change keys which the entity no longer has, and returns their
/// placeholders. If all keys are replaced, a key attribute with an old name has a new template: `key_upkeep`
/// writes its effect again.
fn without_previous_keys(entity: &Entity, previous: &PreviousKeys, step: &mut Write) -> BTreeSet<String> {
    let gone = |effect: &Effect| {
        let name = effect.attribute();
        previous.names.contains(name)
            && entity.attribute(name).is_none()
            && (previous.replaced || entity.template(name).is_none())
    };
    let (gone, kept): (Vec<Effect>, Vec<Effect>) = step.effects.drain(..).partition(gone);
    step.effects = kept;
    gone.iter().flat_map(Effect::values).map(str::to_owned).collect()
}

/// Removes values of placeholders that no expression uses.
fn forget(pattern: &mut Pattern, dropped: &BTreeSet<String>) {
    let used: BTreeSet<String> = pattern.steps().iter().flat_map(Write::values).map(str::to_owned).collect();
    pattern.example.retain(|(name, _)| !dropped.contains(name) || used.contains(name));
}
