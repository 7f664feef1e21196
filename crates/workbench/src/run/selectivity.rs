//! The share of an entity's items that are in an index, and the share of its writes that reach it. A sparse
//! index is written rarely, except by the writes that put items into it.

use super::report::EntityReport;
use keywright_model::expression::Change;
use keywright_model::{Entity, Index, Model, Node, Pattern, Write, WriteKind};
use keywright_semantics::share::ALL_PPM;

/// Below this share, few items have an attribute: a write that sets it then puts items into the index.
const FEW_PPM: u64 = ALL_PPM / 2;

/// The share of an entity's items that are in an index: the product of the declared shares of the key's
/// attributes, else as the items show.
pub(crate) fn share_ppm(entity: &Entity, index: &Index, seen: &EntityReport) -> u64 {
    let said: Vec<u64> = key_names(entity, index).iter().filter_map(|name| said(entity, name)).collect();
    if said.is_empty() {
        let entries = seen.indexes.iter().find(|own| own.name == index.name).map_or(0, |own| own.items);
        assert!(entries <= seen.items, "an item has one entry in an index at most");
        return (entries * ALL_PPM).checked_div(seen.items).unwrap_or(0);
    }
    said.into_iter().fold(ALL_PPM, part)
}

/// The share of a step's writes that reach an index, as metered. If a write leaves the index key alone, or
/// changes a part of it that all items have, this is the share of items in the index. If it sets or removes
/// a sparse attribute, it is the share of items that have the rest of the key. The same holds for puts with
/// that attribute and for writes whose condition requires it.
pub(crate) fn written_ppm(
    pattern: &Pattern,
    step: &Write,
    entity: &Entity,
    index: &Index,
    seen: &EntityReport,
) -> u64 {
    let sparse = sparse(entity, index, seen);
    if sparse.is_empty() {
        let all = share_ppm(entity, index, seen);
        // Unknown which items lack the attribute: assume that the write puts items into the index.
        let touched = || key_names(entity, index).iter().any(|name| touch(step, name) != Touch::None);
        return if all == 0 || touched() { ALL_PPM } else { all };
    }
    let mut share = ALL_PPM;
    // A set attribute that many items have: those items move in the index, the others enter it. Both are
    // metered as moves.
    let mut moved = ALL_PPM;
    for (name, present) in &sparse {
        let asked = || asks_for(step, name);
        let given = || step.kind == WriteKind::Put && is_given(pattern, step, name);
        let few = *present < FEW_PPM;
        if given() || asked() {
            continue;
        }
        match touch(step, name) {
            Touch::Set if few || asks_not(step, name) => {}
            Touch::Set => moved = part(moved, *present),
            Touch::Removed if few => {}
            Touch::None | Touch::Removed => share = part(share, *present),
        }
    }
    // A move is a delete and a put; an entry is one put.
    part(share, u64::midpoint(ALL_PPM, moved))
}

/// The product of two shares in parts per million.
fn part(one: u64, other: u64) -> u64 {
    assert!(one <= ALL_PPM, "a share is a part of all");
    assert!(other <= ALL_PPM, "a share is a part of all");
    let part = u128::from(one) * u128::from(other) / u128::from(ALL_PPM);
    u64::try_from(part).unwrap_or(ALL_PPM)
}

/// The attributes that a step sets and that put an item into an index, because few items have them.
pub(super) fn enters(step: &Write, entity: &Entity, index: &Index, seen: &EntityReport) -> Vec<String> {
    let sparse = sparse(entity, index, seen).into_iter();
    let entering = sparse.filter(|(name, present)| {
        *present < FEW_PPM && touch(step, name) == Touch::Set && !asks_for(step, name)
    });
    entering.map(|(name, _)| name).collect()
}

/// What an update does to an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    None,
    Set,
    Removed,
}

fn touch(step: &Write, name: &str) -> Touch {
    if step.kind != WriteKind::Update {
        return Touch::None;
    }
    let effect = step.effects.iter().find(|effect| effect.path.whole() == Some(name));
    match effect.map(|effect| &effect.change) {
        Some(Change::Set(_) | Change::Add(_) | Change::Delete(_)) => Touch::Set,
        Some(Change::Remove) => Touch::Removed,
        None => Touch::None,
    }
}

/// The attributes of an index's key, and the attributes in their templates.
pub(super) fn key_names(entity: &Entity, index: &Index) -> Vec<String> {
    let mut names: Vec<String> = index.key_parts().map(|part| part.name.clone()).collect();
    for template in index.key_parts().filter_map(|part| entity.template(&part.name)) {
        names.extend(template.attributes().map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The attributes of an index's key that some items lack, with the share of items that have them: as
/// declared, else as the items show.
fn sparse(entity: &Entity, index: &Index, seen: &EntityReport) -> Vec<(String, u64)> {
    let names = key_names(entity, index);
    let declared = names.iter().any(|name| said(entity, name).is_some());
    let shown = |name: &String| {
        let having = seen.having.get(name).copied().filter(|having| *having > 0 && *having < seen.items)?;
        (having * ALL_PPM).checked_div(seen.items)
    };
    // A key made of a missing attribute is missing too: count it once.
    let own = |name: &String| entity.attribute(name).is_some();
    let share = |name: &String| said(entity, name).or_else(|| shown(name).filter(|_| !declared && own(name)));
    names.iter().filter_map(|name| Some((name.clone(), share(name)?))).collect()
}

/// The declared share of items that have an attribute.
fn said(entity: &Entity, name: &str) -> Option<u64> {
    entity.attribute(name)?.present_ppm
}

/// Whether a step's condition holds only for items that have an attribute.
fn asks_for(step: &Write, name: &str) -> bool {
    step.expression().is_some_and(|condition| condition.requires(name))
}

/// Whether a step's condition holds only for items that lack an attribute.
fn asks_not(step: &Write, name: &str) -> bool {
    step.expression().is_some_and(|condition| condition.excludes(|own| own == name))
}

/// Whether the example gives a put an attribute.
fn is_given(pattern: &Pattern, step: &Write, name: &str) -> bool {
    let has = |values: &[(String, Node)]| values.iter().any(|(own, _)| own == name);
    has(&pattern.example) || (!step.examples.is_empty() && step.examples.iter().all(|values| has(values)))
}

/// A pattern with one of its steps only, as the same kind of request.
pub(super) fn alone(pattern: &Pattern, step: &Write) -> Pattern {
    use keywright_model::Operation;
    let mut pattern = pattern.clone();
    let steps = vec![step.clone()];
    pattern.operation = match pattern.operation {
        Operation::Batch(_) => Operation::Batch(steps),
        Operation::Transact(_) | Operation::Write(_) | Operation::Read(_) => Operation::Transact(steps),
    };
    pattern
}

/// The entities with entries in an index, or items in the table, and their counts; those without a count are
/// left out.
pub(super) fn population<'a>(
    model: &'a Model,
    table: &str,
    index: Option<&Index>,
    seen: impl Fn(&str) -> Option<&'a EntityReport>,
) -> Vec<(&'a str, u64)> {
    let number = |entity: &'a Entity| {
        let count = entity.count?;
        let share = match index {
            None => ALL_PPM,
            Some(index) => {
                let is_in = index.key_parts().all(|part| entity.template(&part.name).is_some());
                if is_in { share_ppm(entity, index, seen(&entity.name)?) } else { 0 }
            }
        };
        let number = u128::from(count) * u128::from(share) / u128::from(ALL_PPM);
        Some((&*entity.name, u64::try_from(number).unwrap_or(u64::MAX))).filter(|(_, number)| *number > 0)
    };
    model.entities.iter().filter(|entity| entity.table == table).filter_map(number).collect()
}
