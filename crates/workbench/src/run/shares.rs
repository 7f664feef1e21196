//! How many of an entity's items are in an index, and how many of its writes reach it: an index that few items are in is
//! written rarely, but not by the writes that put them there.

use super::report::EntityReport;
use crate::model::{Condition, Entity, Index, Model, Node, Pattern, Write, WriteKind};

/// Everything, in parts per million.
pub(super) const ALL_PPM: u64 = 1_000_000;

/// The share of an entity's items that are in an index: what its author says of the attributes of the index's key, else
/// what the items show.
pub(crate) fn share_ppm(entity: &Entity, index: &Index, seen: &EntityReport) -> u64 {
    said(entity, index, &|_| false).unwrap_or_else(|| {
        let entries = seen.indexes.iter().find(|own| own.name == index.name).map_or(0, |own| own.items);
        (entries * ALL_PPM).checked_div(seen.items).unwrap_or(0)
    })
}

/// The share of a step's writes that reach an index. It fits writes that leave the index's key alone: those that set or
/// remove a part of it, put an item that has it, or ask in their condition that it is there, reach it each time.
pub(crate) fn written_ppm(
    pattern: &Pattern,
    step: &Write,
    entity: &Entity,
    index: &Index,
    seen: &EntityReport,
) -> u64 {
    let all = share_ppm(entity, index, seen);
    if all == 0 || touches(step, entity, index) {
        return ALL_PPM;
    }
    if step.kind == WriteKind::Put {
        let open = |name: &str| !is_given(pattern, step, name);
        let names = sparse(entity, index);
        let left: Vec<&String> = names.iter().filter(|name| open(name)).collect();
        return match (names.is_empty(), left.is_empty()) {
            (true, _) => all,
            (false, true) => ALL_PPM,
            (false, false) => said(entity, index, &|name| is_given(pattern, step, name)).unwrap_or(all),
        };
    }
    let Some(Condition::Expression(text)) = &step.condition else { return all };
    let needed = |name: &String| is_asked_for(text, name);
    let names = sparse(entity, index);
    if !names.is_empty() && names.iter().all(needed) { ALL_PPM } else { all }
}

/// Whether a step puts an item into an index that most are not in: it sets a part of the key, which the item did not have.
pub(super) fn enters(step: &Write, entity: &Entity, index: &Index, seen: &EntityReport) -> bool {
    let set = step.set.as_deref().filter(|_| step.kind == WriteKind::Update).unwrap_or_default();
    let few = share_ppm(entity, index, seen) < ALL_PPM / 2;
    few && key_names(entity, index).iter().any(|name| sets(set, name))
}

/// The attributes that an index's key is made of, and those of the key itself.
pub(super) fn key_names(entity: &Entity, index: &Index) -> Vec<String> {
    let mut names: Vec<String> = index.key_parts().map(|part| part.name.clone()).collect();
    for template in index.key_parts().filter_map(|part| entity.template(&part.name)) {
        names.extend(template.attributes().map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Those attributes of an index's key that some items lack, as the author says.
fn sparse(entity: &Entity, index: &Index) -> Vec<String> {
    let few = |name: &String| entity.attribute(name).is_some_and(|own| own.present_ppm.is_some());
    key_names(entity, index).into_iter().filter(few).collect()
}

fn said(entity: &Entity, index: &Index, but: &dyn Fn(&str) -> bool) -> Option<u64> {
    let names = key_names(entity, index);
    let own = names.iter().filter(|name| !but(name));
    own.filter_map(|name| entity.attribute(name)?.present_ppm).min()
}

fn touches(step: &Write, entity: &Entity, index: &Index) -> bool {
    if step.kind != WriteKind::Update {
        return false;
    }
    let names = key_names(entity, index);
    let listed = |clause: &Option<String>, name: &str| {
        let words = clause
            .as_deref()
            .unwrap_or_default()
            .split(',')
            .filter_map(|part| part.split_whitespace().next());
        words.into_iter().any(|word| word == name)
    };
    names.iter().any(|name| {
        sets(step.set.as_deref().unwrap_or_default(), name)
            || listed(&step.remove, name)
            || listed(&step.add, name)
    })
}

/// Whether a `SET` clause assigns an attribute.
pub(super) fn sets(clause: &str, name: &str) -> bool {
    let targets = clause.split(',').filter_map(|part| part.split_once('='));
    targets.into_iter().any(|(target, _)| target.trim() == name)
}

/// Whether the example gives a put an attribute.
fn is_given(pattern: &Pattern, step: &Write, name: &str) -> bool {
    let has = |values: &[(String, Node)]| values.iter().any(|(own, _)| own == name);
    has(&pattern.example) || (!step.examples.is_empty() && step.examples.iter().all(|values| has(values)))
}

/// Whether a condition holds only for items that have an attribute.
fn is_asked_for(condition: &str, name: &str) -> bool {
    let words: Vec<&str> = condition
        .split(|letter: char| !(letter.is_alphanumeric() || "_-:#".contains(letter)))
        .filter(|word| !word.is_empty())
        .collect();
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    if words.iter().any(|word| is(word, "OR") || is(word, "NOT")) {
        return false;
    }
    let before = |place: usize| place.checked_sub(1).and_then(|place| words.get(place)).copied();
    let places = words.iter().enumerate().filter(|(_, word)| **word == name);
    let positive = |place: usize| before(place).is_none_or(|word| !is(word, "attribute_not_exists"));
    places.map(|(place, _)| place).any(positive) && !condition.contains("<>")
}

/// A pattern's one step alone, of the same kind of request.
pub(super) fn alone(pattern: &Pattern, step: &Write) -> Pattern {
    use crate::model::Operation;
    let mut pattern = pattern.clone();
    let steps = vec![step.clone()];
    pattern.operation = match pattern.operation {
        Operation::Batch(_) => Operation::Batch(steps),
        Operation::Transact(_) | Operation::Write(_) | Operation::Read(_) => Operation::Transact(steps),
    };
    pattern
}

/// The entities that have entries in an index, or items in the table, with how many; those without a count are left out.
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
