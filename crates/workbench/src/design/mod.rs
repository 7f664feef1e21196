//! The designer: from entities and patterns to the cheapest keys, with a proof that fewer indexes do not do.
//!
//! Every pattern must be one GetItem or Query, so a plan is a choice of slot and view; entities of different kinds share
//! a slot, so the number of indexes is the largest number of extra views of one entity. It does not know model files
//! (`from_model` does) nor whether a design runs: that is shown by running it.

mod explain;
mod from_model;
mod name;
mod problem;
mod program;
mod to_model;
mod verify;
mod view;

#[cfg(test)]
mod tests;

pub use explain::{Explanation, Forced, explain};
pub use from_model::from_model;
pub use name::{Named, name};
pub use problem::{ALL_PPM, Attribute, Entity, Fault, Pattern, Problem, Write, WriteKind};
pub use to_model::{index_name, to_model};
pub use verify::{Verified, verify};
pub use view::View;

use std::collections::BTreeSet;

use crate::price::{Money, Prices};
use program::{Choice, Part};
use view::{Candidate, Tariff};

/// A solved problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Every view with its slot: 0 is the base table, n is the n-th global secondary index.
    pub placed: Vec<Placed>,
    /// Where each pattern is asked, in the problem's order.
    pub asked: Vec<Asked>,
    /// How many global secondary indexes there are.
    pub gsis: usize,
    /// What it costs each month, by kind.
    pub monthly: Monthly,
    /// Why there are not fewer indexes.
    pub proof: Proof,
    /// Nodes the solver visited, variables and constraints it had: the size of the work, whatever the machine.
    pub effort: Effort,
}

/// One entity's key in one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The slot.
    pub slot: usize,
    /// The key.
    pub view: View,
}

/// Where a pattern is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The pattern's id.
    pub pattern: String,
    /// The slot.
    pub slot: usize,
    /// The partition attributes.
    pub partition: Vec<String>,
    /// Requests per execution, one for each shard.
    pub shards: u64,
    /// Predicted half read units of one execution.
    pub halves: u64,
    /// What it costs each month.
    pub monthly: Money,
}

/// Monthly cost by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Monthly {
    /// The patterns.
    pub reads: Money,
    /// Writes to the base table.
    pub base_writes: Money,
    /// Storage of the base table.
    pub base_storage: Money,
    /// Writes to and storage of the indexes.
    pub indexes: Money,
}

impl Monthly {
    /// All of it.
    pub fn total(&self) -> Money {
        self.reads + self.base_writes + self.base_storage + self.indexes
    }
}

/// Why there are not fewer indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// There are none.
    NoIndexes,
    /// With one less the program has no solution.
    Infeasible {
        /// The number of indexes that was tried.
        gsis: usize,
        /// The entities that cannot do with it.
        entities: Vec<String>,
    },
    /// With one less there is a design, and it costs more.
    Dearer {
        /// The number of indexes that was tried.
        gsis: usize,
        /// How much more a month.
        by: Money,
    },
}

/// The size of the solver's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Branch-and-bound nodes.
    pub nodes: u64,
    /// Variables.
    pub variables: usize,
    /// Constraints.
    pub constraints: usize,
}

/// Finds the cheapest design.
pub fn solve(problem: &Problem, prices: &Prices) -> Result<Design, Vec<Fault>> {
    let tariff = Tariff::of(prices).map_err(|fault| vec![fault])?;
    let parts = parts(problem, &tariff)?;
    let mut choices = Vec::new();
    let mut faults = Vec::new();
    for part in &parts {
        match program::solve(problem, &tariff, part, slots(problem, part), &[]) {
            Ok(Some(choice)) => choices.push(choice),
            Ok(None) => faults
                .push(Fault::TooManyIndexes { entities: names(problem, part), allowed: problem.gsi_max }),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let proof = prove(problem, &tariff, &parts, &choices).map_err(|fault| vec![fault])?;
    Ok(assemble(problem, &tariff, &parts, &choices, proof))
}

/// No entity can use more indexes than patterns are asked of it, so more slots are not offered.
fn slots(problem: &Problem, part: &Part) -> usize {
    let most =
        part.entities.iter().filter_map(|entity| problem.entities.get(*entity)).map(|entity| {
            problem.patterns.iter().filter(|asked| asked.entities.contains(&entity.name)).count()
        });
    most.max().unwrap_or(0).min(problem.gsi_max)
}

fn names(problem: &Problem, part: &Part) -> Vec<String> {
    part.entities
        .iter()
        .filter_map(|entity| problem.entities.get(*entity))
        .map(|entity| entity.name.clone())
        .collect()
}

/// Splits the problem into parts that share no collection: cost adds up over parts, and the number of indexes is the
/// largest of the parts' numbers, so that each can be solved by itself.
fn parts(problem: &Problem, tariff: &Tariff) -> Result<Vec<Part>, Vec<Fault>> {
    let mut faults = problem.faults();
    if !faults.is_empty() {
        return Err(faults);
    }
    let candidates: Vec<Vec<Candidate>> =
        (0..problem.entities.len()).map(|place| view::prune(view::all(problem, tariff, place))).collect();
    for (entity, own) in problem.entities.iter().zip(&candidates) {
        if !own.iter().any(|own| own.base) {
            faults.push(Fault::NoBaseKey(entity.name.clone()));
        }
    }
    for (place, pattern) in problem.patterns.iter().enumerate() {
        let unserved = problem.entities.iter().zip(&candidates).find(|(entity, own)| {
            pattern.entities.contains(&entity.name) && !own.iter().any(|own| own.serves.contains(&place))
        });
        if let Some((entity, own)) = unserved {
            faults.push(Fault::NoPath { pattern: pattern.id.clone(), reason: reason(entity, pattern, own) });
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(group(problem, &candidates))
}

fn reason(entity: &Entity, pattern: &Pattern, candidates: &[Candidate]) -> String {
    let most = candidates.iter().map(|own| own.view.shards).max().unwrap_or(1);
    if pattern.entities.len() > 1 && pattern.range.is_some() {
        return "a range over items of several kinds; ask for each kind by itself".to_owned();
    }
    if most > 1 && !pattern.scatter {
        return format!(
            "{}'s busiest key takes more writes than one partition sustains and needs {most} shards; \
             declare a scatter-gather, or give a more selective attribute",
            entity.name
        );
    }
    format!("an attribute of {} that it needs is not on every item", entity.name)
}

fn group(problem: &Problem, candidates: &[Vec<Candidate>]) -> Vec<Part> {
    let mut groups: Vec<BTreeSet<usize>> = (0..problem.entities.len()).map(|place| [place].into()).collect();
    for pattern in problem.patterns.iter().filter(|pattern| pattern.entities.len() > 1) {
        let mut partition = pattern.equal.clone();
        partition.sort();
        let linked: BTreeSet<usize> = problem
            .entities
            .iter()
            .zip(candidates)
            .enumerate()
            .filter(|(_, (entity, own))| {
                pattern.entities.contains(&entity.name)
                    || own.iter().any(|own| own.view.partition == partition)
            })
            .map(|(place, _)| place)
            .collect();
        let (touched, apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| !group.is_disjoint(&linked));
        groups = apart;
        groups.push(touched.into_iter().flatten().collect());
    }
    groups.into_iter().map(|entities| part(problem, candidates, entities)).collect()
}

fn part(problem: &Problem, candidates: &[Vec<Candidate>], entities: BTreeSet<usize>) -> Part {
    let own = entities.iter().filter_map(|entity| candidates.get(*entity)).flatten().cloned().collect();
    let patterns = problem
        .patterns
        .iter()
        .enumerate()
        .filter(|(_, pattern)| {
            entities
                .iter()
                .filter_map(|entity| problem.entities.get(*entity))
                .any(|entity| pattern.entities.contains(&entity.name))
        })
        .map(|(place, _)| place)
        .collect();
    Part { candidates: own, patterns, entities }
}

fn prove(problem: &Problem, tariff: &Tariff, parts: &[Part], choices: &[Choice]) -> Result<Proof, Fault> {
    let most = choices.iter().map(|choice| choice.gsis).max().unwrap_or(0);
    let Some(fewer) = most.checked_sub(1) else { return Ok(Proof::NoIndexes) };
    let mut by = Money::ZERO;
    for (part, choice) in parts.iter().zip(choices).filter(|(_, choice)| choice.gsis == most) {
        match program::solve(problem, tariff, part, fewer, &[])? {
            None => return Ok(Proof::Infeasible { gsis: fewer, entities: names(problem, part) }),
            Some(other) => by += other.cost - choice.cost,
        }
    }
    Ok(Proof::Dearer { gsis: fewer, by })
}

fn assemble(problem: &Problem, tariff: &Tariff, parts: &[Part], choices: &[Choice], proof: Proof) -> Design {
    let mut placed = Vec::new();
    let mut asked = Vec::new();
    let mut monthly = Monthly::default();
    let mut effort = Effort::default();
    for (part, choice) in parts.iter().zip(choices) {
        effort.nodes += choice.nodes;
        effort.variables += choice.variables;
        effort.constraints += choice.constraints;
        for (candidate, slot) in &choice.placed {
            let Some(own) = part.candidates.get(*candidate) else { continue };
            placed.push(Placed { slot: *slot, view: own.view.clone() });
            if *slot > 0 {
                monthly.indexes += own.index_cost;
            }
        }
        for (pattern, slot, key) in &choice.asked {
            let (Some(own), Some(key)) = (problem.patterns.get(*pattern), part.candidates.get(*key)) else {
                continue;
            };
            let answer = Asked {
                pattern: own.id.clone(),
                slot: *slot,
                partition: key.view.partition.clone(),
                shards: key.view.shards,
                halves: view::read_halves(problem, own, key.view.shards),
                monthly: tariff.reads(problem, own, key.view.shards),
            };
            monthly.reads += answer.monthly;
            asked.push((*pattern, answer));
        }
    }
    for entity in &problem.entities {
        let (writes, storage) = tariff.base(problem, entity);
        monthly.base_writes += writes;
        monthly.base_storage += storage;
    }
    placed.sort_by(|a, b| (a.slot, &a.view).cmp(&(b.slot, &b.view)));
    asked.sort_by_key(|(place, _)| *place);
    let gsis = choices.iter().map(|choice| choice.gsis).max().unwrap_or(0);
    let asked = asked.into_iter().map(|(_, answer)| answer).collect();
    Design { placed, asked, gsis, monthly, proof, effort }
}
