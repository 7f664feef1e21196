//! Which step's item a second item's step follows, where a change writes several items and second items of them.

use std::collections::BTreeSet;

use keywright_model::expression::changed_in;
use keywright_model::{Entity, Write, WriteKind};

/// The step and the how manieth of its items that the nth item of a second item's step is a copy of: of what a change does to
/// first items in its order, each update that leaves the second item's key, each that moves it and each deletion has one step
/// for the item that is there, each put and each move one that puts. `None` if there are fewer.
pub(super) fn followed(
    steps: &[Write],
    second: &Entity,
    source: &str,
    place: usize,
    nth: u64,
) -> Option<(usize, u64)> {
    let own = steps.get(place)?;
    let earlier = steps.get(..place)?.iter();
    let mine = earlier.filter(|step| step.entity == second.name && step.kind == own.kind);
    let mut left = mine.map(|step| step.n).sum::<u64>() + nth;
    for (at, first) in steps.iter().enumerate().filter(|(_, step)| step.entity == source) {
        if !follows(own.kind, second, first) {
            continue;
        }
        if left < first.n {
            return Some((at, left));
        }
        left -= first.n;
    }
    None
}

/// Whether a change of a first item has such a step for its second one.
fn follows(kind: WriteKind, second: &Entity, first: &Write) -> bool {
    let names = |text: &Option<String>| text.as_deref().map(changed_in).unwrap_or_default();
    let removed = names(&first.remove);
    let changed: Vec<String> =
        [names(&first.set), names(&first.add), removed.clone()].into_iter().flatten().collect();
    let source = |name: &str| {
        second.attribute(name).and_then(|own| own.copy_of.as_ref()).map(|(_, source)| source.clone())
    };
    let key: BTreeSet<String> = second.key_attributes().filter_map(source).collect();
    let of_key = |names: &[String]| names.iter().any(|name| key.contains(name));
    let held = |name: &String| {
        second.attributes.iter().any(|own| own.copy_of.as_ref().is_some_and(|(_, source)| source == name))
    };
    match (kind, first.kind) {
        (WriteKind::Put, WriteKind::Put) | (WriteKind::Delete, WriteKind::Delete) => true,
        (WriteKind::Put, WriteKind::Update) => of_key(&changed) && !of_key(&removed),
        (WriteKind::Delete, WriteKind::Update) => of_key(&changed),
        (WriteKind::Update, WriteKind::Update) => !of_key(&changed) && changed.iter().any(held),
        _ => false,
    }
}
