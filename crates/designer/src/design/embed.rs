//! Entities kept as lists in their parents' items. This saves writes and reads for items that are only read
//! with their parent and that always fit into it.
//!
//! Each way of embedding is another problem, in which the parent is larger and the child is gone; it is
//! solved like any other.

use super::problem::{Entity, Pattern, Problem, Write, WriteKind};
use keywright_semantics::limits::ITEM_BYTES_MAX;

/// Up to this many embeddable entities every combination is tried; with more, each alone and all together.
const ALL_WAYS_MAX: usize = 4;

const _: () = assert!(ALL_WAYS_MAX < 32, "each combination is a bit set");

/// One entity kept in another's items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    /// The entity.
    pub child: String,
    /// The entity whose items hold it.
    pub parent: String,
    /// The parent's attribute that lists it.
    pub list: String,
}

/// The attribute that lists embedded items of an entity: `OrderItem` becomes `orderItems`, `Address` becomes
/// `addresses`.
pub fn list_name(entity: &str) -> String {
    let mut letters = entity.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
    let one = format!("{first}{}", letters.as_str());
    let hisses = ["ss", "x", "ch", "sh"].iter().any(|end| one.ends_with(end));
    let vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match one.strip_suffix('y') {
        Some(stem) if !vowel(stem) => format!("{stem}ies"),
        _ if hisses => format!("{one}es"),
        // The name may be a plural already.
        _ if one.ends_with('s') => format!("{one}List"),
        _ => format!("{one}s"),
    }
}

/// Every way of embedding at least one entity, with the remaining problem.
pub(super) fn ways(problem: &Problem) -> Vec<(Vec<Embedded>, Problem)> {
    if !problem.kept.is_empty() {
        return Vec::new();
    }
    let children: Vec<&Entity> =
        problem.entities.iter().filter(|entity| parent(problem, entity).is_some()).collect();
    let sets: Vec<Vec<&Entity>> = if children.len() <= ALL_WAYS_MAX {
        (1_u32..1 << children.len())
            .map(|set| {
                let in_it = children.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
                in_it.map(|(_, child)| *child).collect()
            })
            .collect()
    } else {
        let alone = children.iter().map(|child| vec![*child]);
        alone.chain([children.clone()]).collect()
    };
    sets.into_iter().filter_map(|set| embedded(problem, &set)).collect()
}

/// The entity whose items can hold all items of this one.
fn parent<'a>(problem: &'a Problem, child: &Entity) -> Option<&'a Entity> {
    let bound = child.parent.as_ref()?;
    let parent = problem.entity(&bound.name)?;
    let most = bound.children_max.saturating_mul(child.size_bytes).saturating_add(parent.size_bytes);
    let fits = most <= u64::try_from(ITEM_BYTES_MAX).unwrap_or(u64::MAX);
    let has_children = |entity: &Entity| entity.parent.as_ref().is_some_and(|own| own.name == child.name);
    let apart = !problem.entities.iter().any(has_children);
    let asked = problem.patterns.iter().filter(|pattern| pattern.entities.contains(&child.name));
    let with_it = asked.clone().all(|pattern| by_identity(pattern, parent));
    (fits && apart && with_it && child.name != parent.name && child.uniques.is_empty()).then_some(parent)
}

fn by_identity(pattern: &Pattern, parent: &Entity) -> bool {
    let all = pattern.entities.iter().len();
    let others = all > 1 && !pattern.entities.contains(&parent.name);
    pattern.sorted_by().is_none()
        && !others
        && pattern.equal.len() == parent.id.len()
        && pattern.equal.iter().all(|name| parent.id.contains(name))
}

fn embedded(problem: &Problem, children: &[&Entity]) -> Option<(Vec<Embedded>, Problem)> {
    let mut left = problem.clone();
    let mut done = Vec::new();
    let mut most: Vec<(String, u64)> = Vec::new();
    for child in children {
        let parent = parent(problem, child)?;
        let bound = child.parent.as_ref()?.children_max.saturating_mul(child.size_bytes);
        match most.iter_mut().find(|(name, _)| *name == parent.name) {
            Some((_, bytes)) => *bytes += bound,
            None => most.push((parent.name.clone(), parent.size_bytes + bound)),
        }
        let mut list = list_name(&child.name);
        if parent.attribute(&list).is_some() {
            list.push_str("List");
        }
        let each = child.count.div_ceil(parent.count.max(1)).max(1);
        for own in left.entities.iter_mut().filter(|own| own.name == parent.name) {
            own.size_bytes += each * child.size_bytes;
        }
        for pattern in left.patterns.iter_mut().filter(|pattern| pattern.entities.contains(&child.name)) {
            read_with_parent(pattern, child, parent, each);
        }
        let before = left.writes.clone();
        left.writes =
            before.iter().filter_map(|write| with_parent(&left, write, child, parent, &list)).collect();
        for gone in before.iter().filter(|write| is_part(&before, write, child, parent)) {
            for write in left.writes.iter_mut().filter(|write| write.id == gone.id) {
                write.others = write.others.saturating_sub(gone.items);
                // A single remaining write needs no transaction.
                write.transactional = write.transactional && write.items + write.others > 1;
            }
        }
        left.entities.retain(|entity| entity.name != child.name);
        done.push(Embedded { child: child.name.clone(), parent: parent.name.clone(), list });
    }
    assert_eq!(left.entities.len() + done.len(), problem.entities.len(), "an entity stays or is embedded");
    let limit = u64::try_from(ITEM_BYTES_MAX).unwrap_or(u64::MAX);
    most.iter().all(|(_, bytes)| *bytes <= limit).then_some((done, left))
}

fn read_with_parent(pattern: &mut Pattern, child: &Entity, parent: &Entity, each: u64) {
    let alone = pattern.entities.len() == 1;
    pattern.entities.retain(|name| *name != child.name);
    if alone {
        pattern.entities = vec![parent.name.clone()];
        pattern.results = 1;
    } else {
        pattern.results = pattern.results.saturating_sub(each).max(1);
    }
    pattern.reads = None;
}

/// Whether the same pattern writes the child's whole parent, including the list.
fn is_part(writes: &[Write], write: &Write, child: &Entity, parent: &Entity) -> bool {
    let whole = match &write.kind {
        WriteKind::Put | WriteKind::Update { .. } => WriteKind::Put,
        WriteKind::Delete => WriteKind::Delete,
    };
    let of_parent =
        |other: &Write| other.entity == parent.name && other.id == write.id && other.kind == whole;
    write.entity == child.name && writes.iter().any(of_parent)
}

/// A write of the child as a write of its parent; none if the same pattern writes the parent anyway.
fn with_parent(
    problem: &Problem,
    write: &Write,
    child: &Entity,
    parent: &Entity,
    list: &str,
) -> Option<Write> {
    if write.entity != child.name {
        return Some(write.clone());
    }
    if is_part(&problem.writes, write, child, parent) {
        return None;
    }
    Some(Write {
        entity: parent.name.clone(),
        kind: WriteKind::Update { changed: vec![list.to_owned()] },
        ..write.clone()
    })
}
