//! Key templates for a design: the partition is named after its attributes, so that entities that belong together meet,
//! and the sort key opens with the entity's own prefix, so that no two entities can produce one key.

use super::problem::{Entity, Problem, Slot};
use super::{Design, Placed};

/// Digits to which numbers are padded inside string keys.
const NUMBER_DIGITS: u32 = 20;

/// One entity's templates in one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The entity.
    pub entity: String,
    /// The slot.
    pub slot: Slot,
    /// The partition attributes.
    pub by: Vec<String>,
    /// The partition key's template.
    pub partition: String,
    /// The sort key's template.
    pub sort: String,
}

/// The templates of every view of a design; what is kept has the text it had.
pub fn name(design: &Design) -> Vec<Named> {
    let problem = &design.problem;
    let prefixes = prefixes(problem);
    design
        .placed
        .iter()
        .filter_map(|placed| {
            let entity = problem.entities.get(placed.view.entity)?;
            let mut named = templates(entity, prefixes.get(placed.view.entity)?, placed);
            let kept = &problem.kept;
            // An entry of a local index is in its item's partition.
            let slot = if matches!(placed.slot, Slot::Local(_)) { Slot::Table } else { placed.slot };
            if let Some(own) = kept.key(placed.view.entity, slot).or_else(|| same(problem, placed, slot)) {
                named.partition.clone_from(&own.partition);
            }
            if let Some(own) = kept.key(placed.view.entity, placed.slot) {
                named.sort.clone_from(&own.sort);
            }
            Some(named)
        })
        .collect()
}

/// A kept key of another entity by the same attributes: to meet it, its text is taken over.
fn same<'a>(problem: &'a Problem, placed: &Placed, slot: Slot) -> Option<&'a super::KeptKey> {
    problem.kept.keys.iter().find(|own| {
        own.slot.location() == slot.location()
            && own.view.partition == placed.view.partition
            && own.view.shards == placed.view.shards
    })
}

fn templates(entity: &Entity, prefix: &str, placed: &Placed) -> Named {
    let view = &placed.view;
    let own = |name: &String| match entity.attribute(name) {
        Some(attribute) if attribute.number => format!("{{{name}:pad({NUMBER_DIGITS})}}"),
        _ => format!("{{{name}}}"),
    };
    let joined = |names: &[String]| names.iter().map(own).collect::<Vec<_>>().join("#");
    let mut partition = format!("{}#{}", stems(&view.partition), joined(&view.partition));
    // What is in the partition already tells no two of its items apart.
    let mut spreading = entity.id.iter().chain(&view.sort).filter(|name| !view.partition.contains(name));
    if let (true, Some(id)) = (view.shards > 1, spreading.next()) {
        partition = format!("{partition}#{{{id}|shard({})}}", view.shards);
    }
    let sort =
        if view.sort.is_empty() { format!("{prefix}#") } else { format!("{prefix}#{}", joined(&view.sort)) };
    Named { entity: entity.name.clone(), slot: placed.slot, by: view.partition.clone(), partition, sort }
}

/// `customerId` stands for a customer: the prefix of its partitions is `customer`.
fn stems(names: &[String]) -> String {
    let stem = |name: &String| {
        let bare = name.strip_suffix("Id").or_else(|| name.strip_suffix("_id")).unwrap_or(name);
        if bare.is_empty() { name.to_lowercase() } else { bare.to_lowercase() }
    };
    names.iter().map(stem).collect::<Vec<_>>().join("+")
}

/// The shortest opening of each entity's name that is no opening of another's.
fn prefixes(problem: &Problem) -> Vec<String> {
    let names: Vec<String> = problem.entities.iter().map(|entity| entity.name.to_lowercase()).collect();
    names
        .iter()
        .enumerate()
        .map(|(place, name)| {
            let taken = |text: &str| {
                let opening = format!("{text}#");
                let mut others = problem.kept.keys.iter().filter(|own| own.view.entity != place);
                others.any(|own| own.sort.starts_with(&opening))
            };
            let unique = |text: &str| {
                !taken(text)
                    && names.iter().enumerate().all(|(other, name)| other == place || !name.starts_with(text))
            };
            let ends = name.char_indices().map(|(start, letter)| start + letter.len_utf8());
            ends.filter_map(|end| name.get(..end)).find(|text| unique(text)).unwrap_or(name).to_owned()
        })
        .collect()
}
