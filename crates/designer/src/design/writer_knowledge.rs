//! What writers know of their items, and what they would have to know to keep keys current.
//!
//! A put knows its whole new item. An update and a delete know the identity of their item, the values that
//! their examples name without setting them, and the values that their conditions compare for equality.

use std::collections::BTreeSet;

use super::candidates::View;
use super::from_model::identity;
use super::problem::{Entity, Knows, Problem, Projected, Write, WriteKind};
use keywright_model::expression::{ConditionExpression, Effect};
use keywright_model::{self as model, AttributeFormat, Condition};

/// What the writer of one step knows.
pub(super) fn knows(pattern: &model::Pattern, step: &model::Write, entity: &model::Entity) -> Knows {
    let named = before(pattern, step).into_iter().filter(|name| entity.attribute(name).is_some());
    let mut before: BTreeSet<String> = named.collect();
    let equal = step.expression().map(ConditionExpression::equal).unwrap_or_default();
    before.extend(equal.into_iter().map(|(name, _)| name.to_owned()));
    Knows {
        guards: step.kind == model::WriteKind::Put
            && step.condition == Some(Condition::NotExists)
            && !is_made_unique(entity),
        replaces: step.kind == model::WriteKind::Put && step.condition.is_some() && !creates(step, entity),
        before,
        after: step.assigned().map(|(name, _)| name.to_owned()).collect(),
        computed: step.effects.iter().filter_map(computed).collect(),
        gone: step.removed().map(str::to_owned).collect(),
    }
}

/// Whether a put succeeds only if no item exists. An entity without a key yet is judged by its identity.
fn creates(step: &model::Write, entity: &model::Entity) -> bool {
    let identity = identity(entity);
    let excluded = |own: &ConditionExpression| own.excludes(|name| identity.iter().any(|key| key == name));
    step.must_create(entity) || step.expression().is_some_and(excluded)
}

/// Whether an entity's identity is generated to be unique.
fn is_made_unique(entity: &model::Entity) -> bool {
    let formats = identity(entity).into_iter().filter_map(|name| entity.attribute(&name)?.format);
    formats.into_iter().any(AttributeFormat::is_unique)
}

/// The attributes in a step's examples that no expression uses: the item has these values already.
pub(super) fn before(pattern: &model::Pattern, step: &model::Write) -> BTreeSet<String> {
    let nowhere = |name: &&String| !pattern.steps().iter().any(|step| step.uses_value(name));
    let shared = pattern.example.iter().map(|(name, _)| name).filter(nowhere);
    let mine = step.examples.iter().flatten().map(|(name, _)| name).filter(|name| !step.uses_value(name));
    shared.chain(mine).cloned().collect()
}

/// The attribute that an effect computes from others of the item, with these others.
fn computed(effect: &Effect) -> Option<(String, BTreeSet<String>)> {
    let others = effect.reads().into_iter().filter(|name| *name != effect.attribute());
    let others: BTreeSet<String> = others.map(str::to_owned).collect();
    (!others.is_empty()).then(|| (effect.attribute().to_owned(), others))
}

/// The previous values that an update must additionally know to set the keys of an index entry that it
/// changes: the other attributes of the same key.
pub(super) fn lacking(entity: &Entity, write: &Write, view: &View) -> BTreeSet<String> {
    let WriteKind::Update { changed } = &write.kind else { return BTreeSet::new() };
    let knows = &write.knows;
    let part = |names: &Vec<String>| -> Vec<String> {
        let touched = names.iter().any(|name| changed.contains(name));
        let gone = names.iter().any(|name| knows.gone.contains(name));
        if touched && !gone { names.clone() } else { Vec::new() }
    };
    let made = [part(&view.partition), part(&view.sort)].into_iter().flatten();
    let has_value =
        |name: &String| entity.id.contains(name) || knows.after.contains(name) || knows.before.contains(name);
    made.filter(|name| !has_value(name)).collect()
}

/// The writes that must read their item first if an entity has such an index entry.
pub(super) fn read_first(problem: &Problem, entity: &Entity, view: &View) -> BTreeSet<usize> {
    let own = problem.writes.iter().enumerate().filter(|(_, write)| write.entity == entity.name);
    own.filter(|(_, write)| !lacking(entity, write, view).is_empty()).map(|(place, _)| place).collect()
}

/// Whether a write changes the key of a view, so that a derived item under it moves.
pub(super) fn moves(write: &Write, view: &View) -> bool {
    matches!(&write.kind, WriteKind::Update { changed } if view.names().any(|name| changed.contains(name)))
}

/// Whether a write of an item also writes its derived item.
pub(super) fn touches(entity: &Entity, write: &Write, view: &View, projected: &Projected) -> bool {
    match &write.kind {
        WriteKind::Update { changed } => changed.iter().any(|name| view.has(entity, projected, name)),
        WriteKind::Put | WriteKind::Delete => true,
    }
}

/// What a writer must additionally know to maintain a derived item under such a key: the key of the existing
/// one; if the key moves, all attributes of the new one; and the inputs of computed values that the derived
/// item lacks.
pub(super) fn unknown(
    entity: &Entity,
    write: &Write,
    view: &View,
    projected: &Projected,
) -> BTreeSet<String> {
    let knows = &write.knows;
    let has = |name: &String| view.has(entity, projected, name);
    let old = |name: &String| entity.id.contains(name) || knows.before.contains(name);
    let key = || view.names().filter(|name| !old(name)).cloned();
    match &write.kind {
        // The put may replace an item with another key, whose derived item would remain.
        WriteKind::Put if knows.replaces => {
            view.names().filter(|name| !entity.id.contains(name)).cloned().collect()
        }
        WriteKind::Put => BTreeSet::new(),
        WriteKind::Update { .. } if !touches(entity, write, view, projected) => BTreeSet::new(),
        // An item that loses its key has no derived item any more.
        WriteKind::Update { .. } if view.names().any(|name| knows.gone.contains(name)) => key().collect(),
        WriteKind::Update { .. } if moves(write, view) => {
            let new = |name: &String| old(name) || knows.after.contains(name) || knows.gone.contains(name);
            let rest = entity.attributes.iter().map(|own| &own.name).filter(|name| has(name) && !new(name));
            key().chain(rest.cloned()).collect()
        }
        WriteKind::Update { .. } => {
            let computed = knows.computed.iter().filter(|(name, _)| has(name)).flat_map(|(_, of)| of);
            key().chain(computed.filter(|name| !has(name)).cloned()).collect()
        }
        WriteKind::Delete => key().collect(),
    }
}
