//! Unique values besides the identity: the put of an item also puts a sentinel whose key is exactly those
//! values, and the transaction fails if it exists. If a key of the item or of a whole derived item is exactly
//! those values, no sentinel is needed. A sentinel holds the values and the identity.

use std::collections::BTreeSet;

use super::from_model::identity;
use super::problem::{Entity, Problem, Write, WriteKind};
use super::{Design, Slot, View};
use keywright_model::{self as model, AttributeFormat, Condition, Model, Operation};

/// A sentinel: a small derived item that keeps a value unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentinel {
    /// The entity, by index in the problem.
    pub entity: usize,
    /// The unique attributes.
    pub unique: Vec<String>,
}

impl Sentinel {
    /// Its key.
    pub(super) fn view(&self) -> View {
        let mut partition = self.unique.clone();
        partition.sort();
        View { entity: self.entity, partition, sort: Vec::new(), shards: 1 }
    }

    /// The attributes that it holds.
    pub(super) fn holds(&self, problem: &Problem) -> Vec<String> {
        let Some(entity) = problem.entities.get(self.entity) else { return self.unique.clone() };
        let mut held = self.unique.clone();
        for name in entity.id.iter().chain(&entity.expires) {
            if !held.contains(name) {
                held.push(name.clone());
            }
        }
        held
    }
}

/// Attribute sets besides the identity whose values puts must keep unique. Excluded are values that are
/// generated to be unique, and those for which the model has a sentinel of its own.
pub(super) fn asked(model: &Model, own: &model::Entity) -> Vec<Vec<String>> {
    let id = identity(own);
    let made = |names: &Vec<String>| {
        let mut formats = names.iter().filter_map(|name| own.attribute(name)?.format);
        formats.any(AttributeFormat::is_unique)
    };
    let has_identity = |names: &Vec<String>| id.iter().all(|name| names.contains(name));
    let sets = own.unique.iter().filter(|names| !has_identity(names) && !made(names));
    sets.filter(|names| putting(model, own, names).is_some()).cloned().collect()
}

/// The first pattern that puts such an item with a not-exists condition and with nothing else that keeps
/// these values unique.
fn putting<'a>(model: &'a Model, own: &model::Entity, unique: &[String]) -> Option<&'a model::Pattern> {
    let puts = |step: &model::Write| {
        step.kind == model::WriteKind::Put && step.condition == Some(Condition::NotExists)
    };
    let keeps = |step: &model::Write| {
        let Some(other) = model.entity(&step.entity).filter(|other| puts(step) && other.name != own.name)
        else {
            return false;
        };
        let meant = |name: &String| -> String {
            let copied = other.attribute(name).and_then(|own| own.copy_of.clone());
            copied.filter(|(source, _)| *source == own.name).map_or_else(|| name.clone(), |(_, name)| name)
        };
        let id: BTreeSet<String> = identity(other).iter().map(meant).collect();
        !id.is_empty() && id.iter().all(|name| unique.contains(name))
    };
    model.patterns.iter().find(|pattern| {
        let together = matches!(pattern.operation, Operation::Transact(_));
        pattern.steps().iter().any(|step| puts(step) && step.entity == own.name)
            && !(together && pattern.steps().iter().any(keeps))
    })
}

/// What a writer must additionally know of an item whose unique values it changes, so that it can release the
/// old values and claim the new ones.
pub(super) fn unknown(entity: &Entity, write: &Write, unique: &[String]) -> BTreeSet<String> {
    let knows = &write.knows;
    let old = |name: &&String| entity.id.contains(name) || knows.before.contains(*name);
    let new = |name: &&String| old(name) || knows.after.contains(*name) || knows.gone.contains(*name);
    let lost = || unique.iter().filter(|name| !old(name)).cloned();
    match &write.kind {
        // The put may replace other values.
        WriteKind::Put if knows.replaces => {
            unique.iter().filter(|name| !entity.id.contains(name)).cloned().collect()
        }
        WriteKind::Update { changed } if unique.iter().any(|name| changed.contains(name)) => {
            lost().chain(unique.iter().filter(|name| !new(name)).cloned()).collect()
        }
        WriteKind::Update { changed } if expires(entity, changed) => lost().collect(),
        WriteKind::Put | WriteKind::Update { .. } => BTreeSet::new(),
        WriteKind::Delete => lost().collect(),
    }
}

/// Whether an update changes the expiry attribute.
fn expires(entity: &Entity, changed: &[String]) -> bool {
    entity.expires.as_ref().is_some_and(|name| changed.contains(name))
}

/// How many sentinels a write puts, updates and deletes.
pub(super) fn written(entity: &Entity, write: &Write, unique: &[String]) -> u64 {
    match &write.kind {
        WriteKind::Put | WriteKind::Delete => 1,
        WriteKind::Update { changed } if unique.iter().any(|name| changed.contains(name)) => {
            if unique.iter().any(|name| write.knows.gone.contains(name)) { 1 } else { 2 }
        }
        WriteKind::Update { changed } => u64::from(expires(entity, changed)),
    }
}

/// Unique values that a design does not guard because some write cannot maintain a sentinel: one sentence
/// each.
pub fn unguarded(model: &Model, design: &Design) -> Vec<String> {
    let problem = &design.problem;
    let mut said = Vec::new();
    for (place, entity) in problem.entities.iter().enumerate() {
        let Some(own) = model.entity(&entity.name).filter(|_| problem.kept.key(place, Slot::Table).is_none())
        else {
            continue;
        };
        for unique in asked(model, own).iter().filter(|own| !entity.uniques.contains(own)) {
            let writes = problem.writes.iter().filter(|write| write.entity == entity.name);
            let lacking = writes.map(|write| (write, unknown(entity, write, unique)));
            let Some((write, names)) = lacking.into_iter().find(|(_, names)| !names.is_empty()) else {
                continue;
            };
            let names: Vec<String> = names.into_iter().collect();
            if write.knows.replaces {
                said.push(format!(
                    "Nothing keeps {} of {} unique. A uniqueness guard would, but {} can replace an item with another one and \
                     leave its guard behind. Write it as an update, or add `if: not-exists`.",
                    unique.join(" and "),
                    entity.name,
                    write.id,
                ));
                continue;
            }
            let write_it = match write.kind {
                WriteKind::Update { .. } => format!("`if: \"{} = :old\"`", names.join(" = :old and ")),
                _ => format!("`example: {{{}: …}}`", names.join(": …, ")),
            };
            said.push(format!(
                "Nothing keeps {} of {} unique. A uniqueness guard would, but {} does not know the old {}. State it with \
                 {write_it}.",
                unique.join(" and "),
                entity.name,
                write.id,
                names.join(" and "),
            ));
        }
    }
    said
}
