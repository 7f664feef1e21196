//! The designer: from entities and patterns to the cheapest keys, with a proof that fewer indexes are not
//! enough.
//!
//! Every pattern must be one GetItem or Query, so a plan is a choice of slot and view. Different entities
//! share a slot, so the number of indexes is the largest number of additional views of one entity. The
//! designer does not know model files (`from_model` does), nor whether a design runs: running it shows that.

mod bill;
mod candidates;
mod choice;
mod collection_order;
mod components;
mod constraints;
mod derived_items;
mod embed;
mod explain;
mod fixtures;
mod from_model;
mod ilp;
mod key_upkeep;
mod layout;
mod name;
mod problem;
mod proof;
mod relaxations;
mod strip_old_keys;
mod symmetry;
mod text;
mod to_model;
mod trial;
mod uniqueness;
mod verify;
mod verify_writes;
mod writer_knowledge;

#[cfg(test)]
mod tests;

pub use bill::{Billed, Unbilled, billed};
use candidates::Form;
pub use candidates::View;
pub use choice::{Choice, NoChoice, OtherBill, Stage, TableDesign, Wanted, choose};
pub use embed::{Embedded, list_name};
pub use explain::{BreakEven, Explanation, Forced, KeyReason, RunnerUp, Steps, explain};
pub use fixtures::carry;
pub use from_model::{from_model, keep, unlisted, unordered};
pub use name::{Holds, Named, OwnKeys, name};
pub use problem::{
    Attribute, End, Entity, Fault, Kept, KeptIndex, KeptKey, KeyStyle, Knows, Parent, Pattern, Prefixes,
    Problem, Projected, Slot, Write, WriteKind,
};
pub use proof::{Proof, Same, Without};
pub use relaxations::Unless;
pub use to_model::{index_name, to_model};
pub use trial::{CheckResult, Trial, check_design, try_out};
pub use uniqueness::{Sentinel, unguarded};
pub use verify::{Verified, verify};
pub use verify_writes::{VerifiedWrite, verify_writes};

use std::collections::BTreeSet;

use components::{Solved, Tariffs};
use keywright_semantics::schema::TableClass;
use keywright_workbench::price::{Money, Prices};
use proof::Proved;

/// Designs whose monthly costs differ by less than this count as equal: no bill shows the difference.
pub const SAME: Money = Money::nanos(5_000_000);

/// A solved problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The problem with embedded entities merged into their parents; the other fields refer to it.
    pub problem: Problem,
    /// Every view with its slot.
    pub placed: Vec<Placed>,
    /// Where each pattern reads, in the problem's order.
    pub asked: Vec<Asked>,
    /// The writes that must read their item first, in the problem's order.
    pub reading: Vec<Reading>,
    /// The sentinels that keep values unique.
    pub sentinels: Vec<Sentinel>,
    /// Entities kept as lists in their parents' items.
    pub embedded: Vec<Embedded>,
    /// The tables: one, or two where some entities are cheaper in another table class.
    pub tables: Vec<TableOf>,
    /// The maximum number of global secondary indexes of a table.
    pub gsis: usize,
    /// The monthly cost, by kind.
    pub monthly: Monthly,
    /// Whether everything that replaces global indexes has a known cost: its derived items have declared
    /// writes, and the size of its local indexes' collections is declared.
    pub bounded: bool,
    /// Why there are not fewer indexes.
    pub proof: Proof,
    /// The cheapest design with one global index less and any replacement.
    pub fewer: Option<Box<Design>>,
    /// The cheapest design with one global index less and one item per record, if that is another.
    pub fewer_same: Option<Box<Design>>,
    /// The solver's nodes, pivots, variables and constraints: the size of the work, independent of the
    /// machine.
    pub effort: Effort,
}

/// One table of a design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOf {
    /// Its class.
    pub class: TableClass,
    /// Its entities, by index in the problem.
    pub entities: BTreeSet<usize>,
    /// Its global secondary indexes.
    pub globals: usize,
    /// Its local secondary indexes.
    pub locals: usize,
    /// What the indexes project besides keys, by slot; everything if a slot is not listed.
    pub projections: Vec<(Slot, Projected)>,
}

/// One entity's key in one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The slot.
    pub slot: Slot,
    /// The key.
    pub view: View,
    /// The attributes that the index projects.
    pub projected: Projected,
    /// Whether its sort key is a plain number attribute, since no text would sort it.
    pub number: bool,
    /// Whether its keys are several plain attributes.
    pub several: bool,
    /// The pattern, by index in the problem, whose sort order it shares with other entities.
    pub strip: Option<usize>,
}

/// Where a pattern reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The pattern's id.
    pub pattern: String,
    /// The table or index.
    pub slot: Slot,
    /// The derived items that it reads, by entity.
    pub copies: Vec<View>,
    /// The partition attributes.
    pub partition: Vec<String>,
    /// Requests per execution, one for each shard.
    pub shards: u64,
    /// Predicted half read units of one execution.
    pub halves: u64,
    /// What it costs each month.
    pub monthly: Money,
}

/// A write that must read its item first, because keys use attributes that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The pattern that writes.
    pub pattern: String,
    /// The entity that it writes.
    pub entity: String,
    /// The attributes that it must read.
    pub names: BTreeSet<String>,
    /// The monthly cost of reading.
    pub monthly: Money,
}

/// Monthly cost by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Monthly {
    /// The patterns, and the reads before writes.
    pub reads: Money,
    /// Writes to the base table.
    pub base_writes: Money,
    /// Storage of the base table.
    pub base_storage: Money,
    /// Writes and storage of indexes and derived items, and the additional cost of their transactions.
    pub indexes: Money,
}

impl Monthly {
    /// All of it.
    pub fn total(&self) -> Money {
        self.reads + self.base_writes + self.base_storage + self.indexes
    }
}

/// The size of the solver's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Branch-and-bound nodes.
    pub nodes: u64,
    /// Steps of the simplex method.
    pub pivots: u64,
    /// Variables.
    pub variables: usize,
    /// Constraints.
    pub constraints: usize,
}

/// Finds the cheapest design: the cheapest keys for every way of embedding entities in their parents.
pub fn solve(problem: &Problem, prices: &Prices) -> Result<Design, Vec<Fault>> {
    let one = |fault| vec![fault];
    let tariffs = Tariffs::of(problem, prices).map_err(one)?;
    let (ways, faults) = ways(problem, &tariffs);
    let Some(mut best) = ways.iter().min_by_key(|way| way.monthly()).cloned() else { return Err(faults) };
    loop {
        let Proved { proof, fewer, fewer_same } = proof::prove(&tariffs, &ways, &best).map_err(one)?;
        // Among designs of equal cost the one with fewer global indexes is better, if it does as much.
        let equal = matches!(&proof, Proof::Possible { by, with, .. } if *by <= Money::ZERO || with.is_empty() && *by < SAME);
        let same = matches!(&proof, Proof::Possible { same: Same::Dearer(by), .. } if *by < SAME);
        match (fewer, fewer_same) {
            (Some(fewer), _) if equal && fewer.is_bounded() => best = fewer,
            (_, Some(fewer)) if same => best = fewer,
            (fewer, fewer_same) => {
                let other = |way: Option<Way>| way.map(|way| Box::new(assemble(&way, Proof::NoIndexes)));
                let (fewer, fewer_same) = (other(fewer), other(fewer_same));
                return Ok(Design { fewer, fewer_same, ..assemble(&best, proof) });
            }
        }
    }
}

/// One way of embedding entities in their parents, solved.
#[derive(Clone)]
struct Way {
    embedded: Vec<Embedded>,
    /// The remaining problem.
    problem: Problem,
    solved: Vec<Solved>,
}

impl Way {
    fn monthly(&self) -> Money {
        self.solved.iter().map(|own| own.monthly(&self.problem)).sum()
    }

    /// Whether its derived items have declared writes, and the number or size of its local indexes'
    /// collections is declared.
    fn is_bounded(&self) -> bool {
        self.solved.iter().all(|own| {
            own.choice.placed.iter().all(|(candidate, slot)| {
                let Some(own) = own.part.candidates.get(*candidate) else { return false };
                let Some(entity) = self.problem.entities.get(own.view.entity) else { return false };
                match slot {
                    Slot::Table | Slot::Global(_) => true,
                    Slot::Copy => self.problem.writes.iter().any(|write| write.entity == entity.name),
                    Slot::Local(_) => {
                        let said = own.view.partition.iter().any(|name| {
                            entity.id == [name.clone()]
                                || entity.attribute(name).is_some_and(|own| own.distinct.is_some())
                        });
                        said || self.problem.patterns.iter().any(|asked| asked.bounds(entity, &own.view))
                    }
                }
            })
        })
    }

    /// The maximum number of global indexes of a table.
    fn globals(&self) -> usize {
        let most = self.solved.iter().map(|own| own.choice.globals()).max().unwrap_or(0);
        most.max(self.problem.kept.globals.len())
    }
}

/// Every way that has a design, the one without embedding first; and the faults of that one, if it has no
/// design.
fn ways(problem: &Problem, tariffs: &Tariffs) -> (Vec<Way>, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut found = Vec::new();
    match components::solve(problem, tariffs) {
        Ok(solved) => found.push(Way { embedded: Vec::new(), problem: problem.clone(), solved }),
        Err(reasons) => faults = reasons,
    }
    for (embedded, problem) in embed::ways(problem) {
        if let Ok(solved) = components::solve(&problem, tariffs) {
            found.push(Way { embedded, problem, solved });
        }
    }
    (found, faults)
}

/// The cheapest keys without embedding and without a proof.
fn solve_flat(problem: &Problem, prices: &Prices) -> Result<Design, Vec<Fault>> {
    let tariffs = Tariffs::of(problem, prices).map_err(|fault| vec![fault])?;
    let solved = components::solve(problem, &tariffs)?;
    let way = Way { embedded: Vec::new(), problem: problem.clone(), solved };
    Ok(assemble(&way, Proof::NoIndexes))
}

fn assemble(way: &Way, proof: Proof) -> Design {
    let Way { embedded, problem, solved } = way;
    let mut design = Design {
        problem: problem.clone(),
        placed: Vec::new(),
        asked: Vec::new(),
        reading: Vec::new(),
        sentinels: Vec::new(),
        embedded: embedded.clone(),
        tables: tables(problem, solved),
        gsis: 0,
        monthly: Monthly::default(),
        bounded: way.is_bounded(),
        proof,
        fewer: None,
        fewer_same: None,
        effort: Effort::default(),
    };
    let mut asked = Vec::new();
    for own in solved {
        let choice = &own.choice;
        design.effort.nodes += choice.nodes;
        design.effort.pivots += choice.pivots;
        design.effort.variables += choice.variables;
        design.effort.constraints += choice.constraints;
        design.sentinels.extend(choice.sentinels.iter().cloned());
        for (candidate, slot) in &choice.placed {
            let Some(key) = own.part.candidates.get(*candidate) else { continue };
            let (view, projected) = (key.view.clone(), key.projected.clone());
            let (number, several, strip) = (key.is_number(), key.form == Form::Several, key.strip());
            design.placed.push(Placed { slot: *slot, view, projected, number, several, strip });
        }
        let answers: Vec<(usize, Asked)> =
            choice.asked.iter().filter_map(|asked| answer(problem, own, *asked)).collect();
        let reading: Vec<Reading> =
            choice.reading.iter().filter_map(|place| reading(problem, own, *place)).collect();
        let before: Money = reading.iter().map(|own| own.monthly).sum();
        let reads = answers.iter().map(|(_, answer)| answer.monthly).sum::<Money>() + before;
        design.reading.extend(reading);
        design.monthly.reads += reads;
        design.monthly.indexes += choice.cost - reads;
        for entity in own.part.entities.iter().filter_map(|entity| problem.entities.get(*entity)) {
            let (writes, storage) = own.tariff.base(problem, entity);
            design.monthly.base_writes += writes;
            design.monthly.base_storage += storage;
        }
        asked.extend(answers);
    }
    design.placed.sort_by(|a, b| (a.slot, &a.view).cmp(&(b.slot, &b.view)));
    asked.sort_by_key(|(place, _)| *place);
    let places: BTreeSet<usize> = asked.iter().map(|(place, _)| *place).collect();
    assert_eq!(places.len(), asked.len(), "a pattern is asked in one part");
    design.asked = asked.into_iter().map(|(_, answer)| answer).collect();
    design.gsis = design.tables.iter().map(|table| table.globals).max().unwrap_or(0);
    let bases = design.placed.iter().filter(|own| own.slot == Slot::Table).count();
    assert_eq!(bases, problem.entities.len(), "each entity has one base key");
    assert_eq!(design.monthly.total(), way.monthly(), "the predicted cost is the sum of its parts");
    design
}

/// What a write must read first, and the cost.
fn reading(problem: &Problem, solved: &Solved, place: usize) -> Option<Reading> {
    let write = problem.writes.get(place)?;
    let entity = problem.entity(&write.entity)?;
    let indexed = |slot: Slot| matches!(slot, Slot::Local(_) | Slot::Global(_));
    let placed = solved.choice.placed.iter().filter(|(_, slot)| indexed(*slot));
    let keys = placed.filter_map(|(candidate, _)| solved.part.candidates.get(*candidate));
    let mine = keys.filter(|key| key.read_first.contains(&place));
    Some(Reading {
        pattern: write.id.clone(),
        entity: entity.name.clone(),
        names: mine.flat_map(|key| writer_knowledge::lacking(entity, write, &key.view)).collect(),
        monthly: solved.tariff.reading_first(entity, write),
    })
}

/// The location and cost of a pattern.
fn answer(
    problem: &Problem,
    solved: &Solved,
    (pattern, slot, key): (usize, Slot, usize),
) -> Option<(usize, Asked)> {
    let own = problem.patterns.get(pattern)?;
    let key = solved.part.candidates.get(key)?;
    let bytes = ilp::read_bytes(problem, own, key, slot);
    let copies = solved
        .choice
        .placed
        .iter()
        .filter(|(_, place)| !matches!(slot, Slot::Global(_)) && *place == Slot::Copy)
        .filter_map(|(candidate, _)| solved.part.candidates.get(*candidate))
        .filter(|copy| slot != Slot::Table || copy.serves.contains(&pattern))
        .filter(|copy| copy.view.entity == key.view.entity || slot == Slot::Table)
        .filter(|copy| copy.view.partition == key.view.partition)
        .map(|copy| copy.view.clone())
        .collect();
    let answer = Asked {
        pattern: own.id.clone(),
        slot,
        copies,
        partition: key.view.partition.clone(),
        shards: key.view.shards,
        halves: candidates::read_halves(own, key.view.shards, bytes),
        monthly: solved.tariff.reads(own, key.view.shards, bytes),
    };
    Some((pattern, answer))
}

/// The tables: parts of one class share one.
fn tables(problem: &Problem, solved: &[Solved]) -> Vec<TableOf> {
    let mut tables: Vec<TableOf> = Vec::new();
    for class in [TableClass::Standard, TableClass::StandardInfrequentAccess] {
        let own: Vec<&Solved> = solved.iter().filter(|own| own.class == class).collect();
        if own.is_empty() {
            continue;
        }
        let placed = || own.iter().flat_map(|own| own.choice.placed.iter());
        let locals = placed()
            .filter_map(|(_, slot)| if let Slot::Local(number) = slot { Some(*number) } else { None });
        let globals = own.iter().map(|own| own.choice.globals()).max().unwrap_or(0);
        let mut table = TableOf {
            class,
            entities: own.iter().flat_map(|own| own.part.entities.iter().copied()).collect(),
            globals: globals.max(problem.kept.globals.len()),
            locals: locals.max().unwrap_or(0).max(problem.kept.locals.len()),
            projections: Vec::new(),
        };
        for own in own {
            let indexed = own.choice.placed.iter().filter(|(_, slot)| *slot != Slot::Copy);
            for (candidate, slot) in indexed {
                let Some(key) = own.part.candidates.get(*candidate) else { continue };
                let Projected::Only(held) = &key.projected else { continue };
                let known = table.projections.iter_mut().find(|(known, _)| known == slot);
                match known {
                    Some((_, Projected::Only(names))) => names.extend(held.iter().cloned()),
                    _ => table.projections.push((*slot, Projected::Only(held.clone()))),
                }
            }
        }
        tables.push(table);
    }
    tables
}
