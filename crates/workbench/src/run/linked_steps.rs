//! Links the steps that write derived items to the steps that write their source items, for patterns that
//! change several of both.

use std::collections::BTreeSet;

use keywright_model::expression::{Effect, Section};
use keywright_model::{Entity, Write, WriteKind};

/// For the n-th item of a derived step: the source step and the index of its item. An update that leaves the
/// derived key, a re-key and a delete each have one step for the existing derived item; a put and a re-key
/// each have one step that puts. `None` if there are fewer source items.
pub(super) fn source_step_of(
    steps: &[Write],
    derived: &Entity,
    source: &str,
    place: usize,
    nth: u64,
) -> Option<(usize, u64)> {
    let own = steps.get(place)?;
    let earlier = steps.get(..place)?.iter();
    let mine = earlier.filter(|step| step.entity == derived.name && step.kind == own.kind);
    let mut left = mine.map(|step| step.n).sum::<u64>() + nth;
    for (at, source_step) in steps.iter().enumerate().filter(|(_, step)| step.entity == source) {
        if !follows(own.kind, derived, source_step) {
            continue;
        }
        if left < source_step.n {
            return Some((at, left));
        }
        left -= source_step.n;
    }
    None
}

/// Whether a write of a source item needs a step of this kind for its derived item.
fn follows(kind: WriteKind, derived: &Entity, source_step: &Write) -> bool {
    let removed: Vec<&str> = source_step.section(Section::Remove).map(Effect::attribute).collect();
    let changed: Vec<&str> = source_step.changed().collect();
    let source = |name: &str| {
        derived.attribute(name).and_then(|own| own.copy_of.as_ref()).map(|(_, source)| source.as_str())
    };
    let key: BTreeSet<&str> = derived.key_attributes().filter_map(source).collect();
    let of_key = |names: &[&str]| names.iter().any(|name| key.contains(name));
    let held = |name: &&str| {
        derived.attributes.iter().any(|own| own.copy_of.as_ref().is_some_and(|(_, source)| source == name))
    };
    match (kind, source_step.kind) {
        (WriteKind::Put, WriteKind::Put) | (WriteKind::Delete, WriteKind::Delete) => true,
        (WriteKind::Put, WriteKind::Update) => of_key(&changed) && !of_key(&removed),
        (WriteKind::Delete, WriteKind::Update) => of_key(&changed),
        (WriteKind::Update, WriteKind::Update) => !of_key(&changed) && changed.iter().any(held),
        _ => false,
    }
}
