//! Relaxations that would make fewer indexes possible. An update or a delete knows the identity of its item
//! and what its example and its condition name; if it knew more, it could maintain derived items under
//! further keys.

use std::fmt;

use super::candidates::{self, Candidate};
use super::components::Tariffs;
use super::ilp::{self, Part};
use super::layout::Offer;
use super::problem::{Entity, Fault, Knows, Problem, Slot, WriteKind};
use super::writer_knowledge::unknown;

/// A derived item that could be maintained if writers knew more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unless {
    /// The source entity.
    pub entity: String,
    /// The attributes of its partition key.
    pub partition: Vec<String>,
    /// The writes, with the previous values that each would have to know.
    pub writes: Vec<(String, Vec<String>)>,
}

impl fmt::Display for Unless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entity, by) = (&self.entity, self.partition.join(", "));
        let writes = self.writes.iter().map(|(id, names)| format!("{id} knew {}", names.join(" and ")));
        let writes = writes.collect::<Vec<_>>().join(", ");
        write!(f, "derived items of {entity} by {by} would do if also {writes} before the change")
    }
}

/// The derived items that make a part possible with so few indexes, if writers knew more; empty if even these
/// do not help.
pub(super) fn unless(
    problem: &Problem,
    tariffs: &Tariffs,
    part: &Part,
    gsis: usize,
) -> Result<Vec<Unless>, Fault> {
    let tariff = tariffs.first();
    let mut loose = part.with(Offer::All);
    let knowing = knowing(problem);
    for entity in &part.entities {
        let strict = |more: &Candidate| {
            let same = |own: &&Candidate| own.view == more.view && own.projected == more.projected;
            loose.candidates.iter().filter(same).any(|own| own.copy)
        };
        let more: Vec<Candidate> = candidates::prune(&knowing, candidates::all(&knowing, tariff, *entity))
            .into_iter()
            .filter(|own| own.copy && !strict(own))
            .map(|own| Candidate { base: false, index: false, ..own })
            .collect();
        loose.candidates.extend(more);
    }
    let Some(choice) = ilp::solve(problem, tariff, &loose, gsis, &[])? else { return Ok(Vec::new()) };
    let copies = choice.placed.iter().filter(|(_, slot)| *slot == Slot::Copy);
    let copies = copies.filter_map(|(candidate, _)| loose.candidates.get(*candidate));
    let found = copies.filter_map(|own| {
        let entity = problem.entities.get(own.view.entity)?;
        let writes = needs(problem, entity, own);
        let partition = own.view.partition.clone();
        (!writes.is_empty()).then(|| Unless { entity: entity.name.clone(), partition, writes })
    });
    Ok(found.collect())
}

/// The problem if writers knew everything about their items.
fn knowing(problem: &Problem) -> Problem {
    let mut knowing = problem.clone();
    // A put that replaces an existing item is not helped by knowledge.
    for write in knowing.writes.iter_mut().filter(|write| !write.knows.replaces) {
        (write.kind, write.knows) = (WriteKind::Put, Knows::default());
    }
    knowing
}

/// Which writes would have to know which attributes.
fn needs(problem: &Problem, entity: &Entity, own: &Candidate) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for write in problem.writes.iter().filter(|write| write.entity == entity.name) {
        let names: Vec<String> = unknown(entity, write, &own.view, &own.projected).into_iter().collect();
        if !names.is_empty() && !found.iter().any(|(id, _)| *id == write.id) {
            found.push((write.id.clone(), names));
        }
    }
    found
}
