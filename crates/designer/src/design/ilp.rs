//! The binary program: which view each entity has in which slot, which slots exist, and where each pattern
//! reads.
//!
//! Variables: `x[view, slot]`, `y[index]`, `c[entity]` (has derived items), `a[index]` (projects all),
//! `p[index, attribute]` (projects it), `l` (a local index exists), `z[pattern, location, key]`. Indexes have
//! a number only where that matters (`symmetry`). Minimised lexicographically: cost; with that pinned,
//! indexes; with both pinned, entries, then partition keys of few values and key bytes.

use std::collections::BTreeSet;

use good_lp::solvers::microlp::MicroLpSolution;
use good_lp::{
    Constraint, Expression, ProblemVariables, ResolutionError, Solution as _, SolverModel, Variable,
    constraint, microlp, variable,
};

use super::candidates::{Candidate, Form, Tariff, View, whole_bytes};
use super::layout::{Layout, Offer, layout};
use super::problem::{Entity, Fault, Pattern, Problem, Projected, Slot};
use super::symmetry::{Numbering, alike, any, is_any, is_at, numbered};
use super::uniqueness::Sentinel;
use keywright_workbench::price::Money;

/// Coefficients are scaled so that the largest is about this; the pins are then far above rounding noise.
const COEFFICIENT_MAX: f64 = 10_000.0;
/// How far above its minimum a pinned objective may be.
const PIN_SLACK: f64 = 1e-6;
/// A binary variable above this is chosen.
const CHOSEN: f64 = 0.5;
/// Row orders that are tried before a solver failure is reported.
const ROW_ORDERS: usize = 4;
/// An entry weighs more than all key bytes together.
const ENTRY_WEIGHT: f64 = 1_000_000.0;

/// Among equal designs the one whose partition keys have more values is better: a key of two values weighs
/// half of this.
const FEW_WEIGHT: f64 = 0.25;

const _: () = assert!(PIN_SLACK < CHOSEN, "a pin leaves no room for another index");
const _: () = assert!(ROW_ORDERS > 0, "a program is solved");

/// A lint finding weighs more than the keys that ignoring it would save.
const FINDING_WEIGHT: f64 = 16.0;
/// Keys with at least this many values are not few, as in rule L020.
const FEW_VALUES: u64 = 100;

/// A local index limits its table's collections, so at equal cost a global one is taken. If that leads to
/// more global indexes and the collections are known to be bounded, the proof offers local ones.
const LOCAL_WEIGHT: f64 = 1.001;
/// A derived item constrains every writer of its source: at equal cost any number of indexes is better.
const COPY_WEIGHT: f64 = 100.0;

/// One component of a problem: its candidates and patterns.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) entities: BTreeSet<usize>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) patterns: Vec<usize>,
    /// Whether local indexes are allowed: then no collection of the table may exceed 10 GB.
    pub(super) local: bool,
    /// What is offered besides items and global indexes.
    pub(super) offer: Offer,
}

impl Part {
    pub(super) fn with(&self, offer: Offer) -> Self {
        Self { offer, ..self.clone() }
    }
}

/// The choice for one part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Choice {
    /// (candidate, slot), in order.
    pub(super) placed: Vec<(usize, Slot)>,
    /// (pattern, location, a candidate that serves it there).
    pub(super) asked: Vec<(usize, Slot, usize)>,
    /// The writes that must read their item first.
    pub(super) reading: Vec<usize>,
    /// The sentinels that keep values unique.
    pub(super) sentinels: Vec<Sentinel>,
    pub(super) cost: Money,
    pub(super) nodes: u64,
    pub(super) pivots: u64,
    pub(super) variables: usize,
    pub(super) constraints: usize,
}

impl Choice {
    /// The number of global indexes that it needs.
    pub(super) fn globals(&self) -> usize {
        let number = |(_, slot): &(usize, Slot)| if let Slot::Global(number) = slot { *number } else { 0 };
        self.placed.iter().map(number).max().unwrap_or(0)
    }
}

impl Choice {
    /// Removes empty indexes, where the solver could not reduce their number, and renumbers the others.
    fn without_gaps(mut self, problem: &Problem) -> Self {
        let globals = self.globals();
        let used: BTreeSet<Slot> = self.placed.iter().map(|(_, slot)| *slot).collect();
        let kept = |slot: Slot| problem.kept.index(slot).is_some();
        let rank = |of: fn(usize) -> Slot, number: usize| {
            let before = (1..number).filter(|other| used.contains(&of(*other)) || kept(of(*other)));
            of(before.count() + 1)
        };
        let moved = |slot: Slot| match slot {
            Slot::Table | Slot::Copy => slot,
            Slot::Local(number) => rank(Slot::Local, number),
            Slot::Global(number) => rank(Slot::Global, number),
        };
        self.placed.iter_mut().for_each(|(_, slot)| *slot = moved(*slot));
        self.asked.iter_mut().for_each(|(_, slot, _)| *slot = moved(*slot));
        assert!(self.globals() <= globals, "closing gaps adds no index");
        self
    }
}

/// Something that a cut excludes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cut {
    /// This choice, under any numbering of its indexes.
    Choice(Choice),
    /// This candidate in slots of this kind.
    Key(usize, Slot),
}

pub(super) struct Place {
    pub(super) candidate: usize,
    pub(super) slot: Slot,
    pub(super) chosen: Variable,
}

pub(super) struct Ask {
    pub(super) pattern: usize,
    pub(super) location: Slot,
    /// The candidate that stands for all others with the same partition attributes and shards. For a read
    /// of one entity they also have the same item size.
    pub(super) key: usize,
    pub(super) cost: Money,
    pub(super) chosen: Variable,
}

pub(super) struct Program {
    variables: ProblemVariables,
    pub(super) x: Vec<Place>,
    pub(super) y: Vec<(Slot, Variable)>,
    pub(super) z: Vec<Ask>,
    /// Entities with derived items, and the additional cost of their transactions.
    pub(super) copied: Vec<(usize, Variable, Money)>,
    /// Writes that must read their item before they can keep an entry current, and the cost.
    pub(super) reading: Vec<(usize, Variable, Money)>,
    /// Sentinels that keep a value unique.
    pub(super) sentinels: Vec<(Sentinel, Variable, Money)>,
    /// Writes that become transactions only because of sentinels or partial derived items, and the
    /// additional cost.
    pub(super) paired: Vec<(usize, Variable, Money)>,
    /// Derived items that are also in a local index sorted by a number attribute, and the cost of these
    /// entries.
    pub(super) doubled: Vec<(Variable, Money)>,
    pub(super) constraints: Vec<Constraint>,
}

impl Program {
    pub(super) fn binary(&mut self) -> Variable {
        self.variables.add(variable().binary())
    }
}

/// The cheapest choice with at most `gsis` indexes, or none if no choice exists. Everything in `cuts` is
/// excluded.
pub(super) fn solve(
    problem: &Problem,
    tariff: &Tariff,
    part: &Part,
    gsis: usize,
    cuts: &[Cut],
) -> Result<Option<Choice>, Fault> {
    let program = build(problem, tariff, part, gsis, cuts);
    let dearest = dearest(&program, part);
    let scale = COEFFICIENT_MAX / float(dearest.as_nanos().max(1));
    let cost = cost(&program, part, scale);
    let weight = |slot: Slot| if matches!(slot, Slot::Local(_)) { LOCAL_WEIGHT } else { 1.0 };
    let copies = program.x.iter().filter(|place| place.slot == Slot::Copy);
    let indexes: Expression = program
        .y
        .iter()
        .map(|(slot, present)| weight(*slot) * *present)
        .chain(copies.map(|place| COPY_WEIGHT * place.chosen))
        .chain(program.sentinels.iter().map(|(_, chosen, _)| COPY_WEIGHT * *chosen))
        .sum();
    let entries: Expression = program
        .x
        .iter()
        .map(|place| {
            let own = part.candidates.get(place.candidate);
            let bytes = own.map_or(0, |own| own.key_bytes);
            let values = own.and_then(|own| Some(own.partitions(problem.entities.get(own.view.entity)?)));
            let values = values.unwrap_or(1);
            let found =
                own.and_then(|own| Some(own.findings(problem, problem.entities.get(own.view.entity)?)));
            let found = f64::from(found.unwrap_or(0)) * FINDING_WEIGHT;
            let few = if values < FEW_VALUES { FEW_WEIGHT / float(i128::from(values)) } else { 0.0 };
            float(i128::from(bytes)).mul_add(1.0 / ENTRY_WEIGHT, 1.0 + few + found) * place.chosen
        })
        .sum();
    let mut pins: Vec<Constraint> = Vec::new();
    let (mut nodes, mut pivots) = (0, 0);
    let mut last = None;
    for objective in [cost, indexes, entries] {
        let solution = match minimised(&program, &pins, &objective) {
            Ok(solution) => solution,
            Err(ResolutionError::Infeasible) if last.is_none() => return Ok(None),
            Err(fault) if last.is_none() => return Err(Fault::Solver(fault.to_string())),
            // The cost is already minimal. If the pins leave the solver no room, ties are left as they are.
            Err(_) => break,
        };
        let best = solution.eval(&objective);
        pins.push(constraint!(objective <= best + PIN_SLACK));
        let mut choice = read(problem, &program, part, &solution);
        let stats = solution.into_inner().stats();
        nodes += stats.nodes_solved;
        pivots += stats.lp_iterations;
        (choice.nodes, choice.pivots) = (nodes, pivots);
        last = Some(choice);
    }
    Ok(last.map(|choice| choice.without_gaps(problem)))
}

/// Solves once. The solver's factorisation may fail on one order of rows and succeed on another, so several
/// are tried; they have the same result.
fn minimised(
    program: &Program,
    pins: &[Constraint],
    objective: &Expression,
) -> Result<MicroLpSolution, ResolutionError> {
    let all: Vec<&Constraint> = program.constraints.iter().chain(pins).collect();
    let mut tried = None;
    for turn in 0..ROW_ORDERS {
        let mut rows = all.clone();
        let middle = rows.len() * turn / ROW_ORDERS;
        rows.rotate_left(middle);
        let model = program.variables.clone().minimise(objective.clone()).using(microlp);
        match model.with_all(rows.into_iter().cloned()).solve() {
            Err(fault @ (ResolutionError::Other(_) | ResolutionError::Str(_))) => tried = Some(fault),
            done => return done,
        }
    }
    Err(tried.unwrap_or(ResolutionError::Other("no order of rows was tried")))
}

fn build(problem: &Problem, tariff: &Tariff, part: &Part, gsis: usize, cuts: &[Cut]) -> Program {
    let Layout { slots, locations, indexes, unkept, guards_only } = layout(problem, part, gsis);
    let written = |own: &Candidate| {
        let entity = problem.entities.get(own.view.entity).map(|entity| &entity.name);
        problem.writes.iter().any(|write| Some(&write.entity) == entity)
    };
    let variables = ProblemVariables::new();
    let mut program = Program {
        variables,
        x: Vec::new(),
        y: Vec::new(),
        z: Vec::new(),
        copied: Vec::new(),
        reading: Vec::new(),
        sentinels: Vec::new(),
        paired: Vec::new(),
        doubled: Vec::new(),
        constraints: Vec::new(),
    };
    let numbering = Numbering::of(problem, part);
    let (slots, locations) = (with_any(slots), with_any(locations));
    program.y = indexes.into_iter().map(|slot| (slot, program.binary())).collect();
    let locals = slots.iter().any(|slot| matches!(slot, Slot::Local(_)));
    for (candidate, own) in part.candidates.iter().enumerate() {
        let second = |own: &Candidate| (unkept || written(own)) && (!guards_only || own.guards(problem));
        let offered = |slot: Slot| numbering.offers(candidate, slot) && (slot != Slot::Copy || second(own));
        for slot in slots.iter().filter(|slot| offered(**slot) && stands(problem, own, **slot, locals)) {
            let chosen = program.binary();
            program.x.push(Place { candidate, slot: *slot, chosen });
        }
    }
    for &pattern in &part.patterns {
        let Some(asked) = problem.patterns.get(pattern) else { continue };
        // For one entity any index with the key serves.
        let alone = asked.entities.len() == 1;
        let fits = |location: &Slot| alone == (*location == any(*location)) || *location == Slot::Table;
        let fits = |location: &&Slot| fits(location) && (!asked.strong || location.is_strong());
        for location in locations.iter().filter(fits) {
            for (key, bytes) in keys(problem, part, pattern, *location) {
                let shards = part.candidates.get(key).map_or(1, |own| own.view.shards);
                let cost = tariff.reads(asked, shards, bytes);
                let chosen = program.binary();
                program.z.push(Ask { pattern, location: *location, key, cost, chosen });
            }
        }
    }
    let copying: BTreeSet<usize> = program
        .x
        .iter()
        .filter(|place| place.slot == Slot::Copy)
        .filter_map(|place| part.candidates.get(place.candidate))
        .filter(|own| own.projected == Projected::All)
        .map(|own| own.view.entity)
        .collect();
    for entity in copying {
        let Some(own) = problem.entities.get(entity) else { continue };
        let chosen = program.binary();
        program.copied.push((entity, chosen, tariff.transactions(problem, own)));
    }
    let reading: BTreeSet<usize> =
        part.candidates.iter().flat_map(|own| own.read_first.iter().copied()).collect();
    for place in reading {
        let Some(write) = problem.writes.get(place) else { continue };
        let Some(entity) = problem.entity(&write.entity) else { continue };
        let chosen = program.binary();
        program.reading.push((place, chosen, tariff.reading_first(entity, write)));
    }
    sentinels(problem, tariff, part, &mut program);
    paired(problem, tariff, part, &mut program);
    doubled(problem, tariff, part, &mut program);
    super::constraints::add(problem, part, &mut program);
    let cuts: Vec<Constraint> = cuts.iter().flat_map(|cut| forbidden(&program, cut)).collect();
    program.constraints.extend(cuts);
    program
}

/// Offers a sentinel for every unique value besides an identity.
fn sentinels(problem: &Problem, tariff: &Tariff, part: &Part, program: &mut Program) {
    for &entity in &part.entities {
        let Some(own) = problem.entities.get(entity) else { continue };
        if own.uniques.is_empty() || problem.kept.key(entity, Slot::Table).is_some() {
            continue;
        }
        for unique in &own.uniques {
            let chosen = program.binary();
            let cost = tariff.sentinel(problem, own, unique);
            program.sentinels.push((Sentinel { entity, unique: unique.clone() }, chosen, cost));
        }
    }
}

/// Writes of entities that may have sentinels or partial derived items: only writes that change these become
/// transactions.
fn paired(problem: &Problem, tariff: &Tariff, part: &Part, program: &mut Program) {
    let small = program.x.iter().filter(|place| place.slot == Slot::Copy);
    let small = small.filter_map(|place| part.candidates.get(place.candidate));
    let small = small.filter(|own| own.projected != Projected::All).map(|own| own.view.entity);
    let entities: BTreeSet<usize> =
        small.chain(program.sentinels.iter().map(|(own, _, _)| own.entity)).collect();
    for own in entities.into_iter().filter_map(|entity| problem.entities.get(entity)) {
        for (place, write) in problem.writes.iter().enumerate().filter(|(_, write)| write.entity == own.name)
        {
            let chosen = program.binary();
            program.paired.push((place, chosen, tariff.transaction(own, write)));
        }
    }
}

/// Every item with the number attribute by which a local index sorts has an entry in that index. This
/// includes derived items, and other entities that have the attribute.
fn doubled(problem: &Problem, tariff: &Tariff, part: &Part, program: &mut Program) {
    let own = |place: &Place| part.candidates.get(place.candidate);
    let is_number =
        |place: &&Place| matches!(place.slot, Slot::Local(_)) && own(place).is_some_and(Candidate::is_number);
    let numbers: Vec<(Variable, usize, &[String])> = program
        .x
        .iter()
        .filter(is_number)
        .filter_map(|place| own(place).map(|own| (place.chosen, own.view.entity, own.view.sort.as_slice())))
        .collect();
    let copies: Vec<(Variable, &Candidate)> = program
        .x
        .iter()
        .filter(|place| place.slot == Slot::Copy)
        .filter_map(|place| Some((place.chosen, own(place)?)))
        .collect();
    for (number, place, sort) in numbers {
        for (other, having) in problem.entities.iter().enumerate() {
            if !sort.iter().all(|name| having.attribute(name).is_some()) {
                continue;
            }
            let view = View { entity: other, partition: Vec::new(), sort: sort.to_vec(), shards: 1 };
            let cost = tariff.index(problem, having, &view, &Projected::All, having.size_bytes);
            if other != place {
                program.doubled.push((number, cost));
            }
            let has = |own: &Candidate| {
                own.view.entity == other && sort.iter().all(|name| own.view.has(having, &own.projected, name))
            };
            for (copy, _) in copies.iter().filter(|(_, own)| has(own)) {
                let both = program.variables.add(variable().binary());
                program.constraints.push(constraint!(number + *copy - both <= 1));
                program.doubled.push((both, cost));
            }
        }
    }
}

/// The slots, plus one unnumbered index of each kind.
fn with_any(mut slots: Vec<Slot>) -> Vec<Slot> {
    let mut kinds: Vec<Slot> = slots.iter().map(|slot| any(*slot)).filter(|slot| is_any(*slot)).collect();
    kinds.dedup();
    slots.extend(kinds);
    slots
}

/// Whether a candidate can be in a slot at all.
fn stands(problem: &Problem, own: &Candidate, slot: Slot, locals: bool) -> bool {
    let entity = problem.entities.get(own.view.entity);
    let has = |name: &str| entity.is_some_and(|entity| entity.attribute(name).is_some());
    let kept = problem.kept.key(own.view.entity, slot).is_some();
    let may = match slot {
        Slot::Table => own.base,
        Slot::Copy => {
            let host = own.projected == Projected::All && locals;
            own.copy && (own.guards(problem) || host || !own.serves.is_empty())
        }
        Slot::Local(_) if own.form == Form::Several => false,
        Slot::Local(_) | Slot::Global(_) => kept || own.index && !own.serves.is_empty(),
    };
    may && problem.kept.allows(&own.view, &own.projected, slot, has)
}

/// Whether a request for one entity at a location also reads this candidate's items.
pub(super) fn same_key(
    problem: &Problem,
    pattern: &Pattern,
    location: Slot,
    key: &Candidate,
    own: &Candidate,
) -> bool {
    let text = |own: &Candidate| problem.kept.key(own.view.entity, location).map(|kept| &kept.partition);
    let apart = matches!((text(key), text(own)), (Some(one), Some(other)) if one != other);
    own.view.partition == key.view.partition
        && own.view.shards == key.view.shards
        && !(apart && pattern.entities.len() > 1)
}

/// The bytes of an item that a pattern reads there: in collections whole items are counted.
pub(super) fn read_bytes(problem: &Problem, pattern: &Pattern, own: &Candidate, location: Slot) -> u64 {
    let entity: Option<&Entity> = problem.entities.get(own.view.entity);
    match (pattern.entities.len(), entity) {
        (1, Some(_)) => own.bytes(location),
        _ => whole_bytes(problem, pattern),
    }
}

/// One candidate for each distinct key by which the pattern's first entity can be read, with the bytes of its
/// items.
fn keys(problem: &Problem, part: &Part, pattern: usize, location: Slot) -> Vec<(usize, u64)> {
    let Some(asked) = problem.patterns.get(pattern) else { return Vec::new() };
    let first = asked.entities.first();
    let mut seen = BTreeSet::new();
    part.candidates
        .iter()
        .enumerate()
        .filter(|(_, own)| {
            let name = problem.entities.get(own.view.entity).map(|entity| &entity.name);
            let is_item = matches!(location, Slot::Table);
            let here = own.projected == Projected::All || if is_item { own.copy } else { own.index };
            name == first && here && own.serves.contains(&pattern)
        })
        .map(|(place, own)| (place, own, read_bytes(problem, asked, own, location)))
        .filter(|(_, own, bytes)| {
            let text = problem.kept.key(own.view.entity, location).map(|kept| &kept.partition);
            seen.insert((&own.view.partition, own.view.shards, *bytes, text))
        })
        .map(|(place, _, bytes)| (place, bytes))
        .collect()
}

fn forbidden(program: &Program, cut: &Cut) -> Vec<Constraint> {
    let of = |candidate: usize, slot: Slot| {
        program
            .x
            .iter()
            .filter(move |place| place.candidate == candidate && alike(place.slot, slot))
            .map(|place| place.chosen)
    };
    match cut {
        Cut::Key(candidate, slot) => of(*candidate, *slot).map(|chosen| constraint!(chosen <= 0)).collect(),
        Cut::Choice(choice) => {
            let chosen: Expression =
                choice.placed.iter().flat_map(|(candidate, slot)| of(*candidate, *slot)).sum();
            let most = i32::try_from(choice.placed.len()).unwrap_or(i32::MAX) - 1;
            vec![constraint!(chosen <= most)]
        }
    }
}

fn place_cost(part: &Part, place: &Place) -> Money {
    part.candidates.get(place.candidate).map_or(Money::ZERO, |own| own.cost(place.slot))
}

fn dearest(program: &Program, part: &Part) -> Money {
    let places = program.x.iter().map(|place| place_cost(part, place));
    let copied = program.copied.iter().chain(&program.reading).map(|(_, _, cost)| *cost);
    let copied = copied.chain(program.doubled.iter().map(|(_, cost)| *cost));
    let copied = copied.chain(program.sentinels.iter().map(|(_, _, cost)| *cost));
    let copied = copied.chain(program.paired.iter().map(|(_, _, cost)| *cost));
    places.chain(copied).chain(program.z.iter().map(|ask| ask.cost)).max().unwrap_or(Money::ZERO)
}

fn cost(program: &Program, part: &Part, scale: f64) -> Expression {
    let places = program.x.iter().map(|place| (place.chosen, place_cost(part, place)));
    let copied = program.copied.iter().chain(&program.reading).map(|(_, chosen, cost)| (*chosen, *cost));
    let copied = copied.chain(program.doubled.iter().copied());
    let copied = copied.chain(program.sentinels.iter().map(|(_, chosen, cost)| (*chosen, *cost)));
    let copied = copied.chain(program.paired.iter().map(|(_, chosen, cost)| (*chosen, *cost)));
    let reads = program.z.iter().map(|ask| (ask.chosen, ask.cost));
    places.chain(copied).chain(reads).map(|(chosen, cost)| float(cost.as_nanos()) * scale * chosen).sum()
}

fn read(problem: &Problem, program: &Program, part: &Part, solution: &impl good_lp::Solution) -> Choice {
    let chosen = |variable: Variable| solution.value(variable) > CHOSEN;
    let mut choice = Choice {
        variables: program.x.len()
            + program.y.len()
            + program.z.len()
            + program.copied.len()
            + program.reading.len(),
        constraints: program.constraints.len(),
        ..Choice::default()
    };
    for place in program.x.iter().filter(|place| chosen(place.chosen)) {
        choice.placed.push((place.candidate, place.slot));
        choice.cost += place_cost(part, place);
    }
    for (_, _, cost) in program.copied.iter().filter(|(_, copied, _)| chosen(*copied)) {
        choice.cost += *cost;
    }
    for (_, cost) in program.doubled.iter().filter(|(both, _)| chosen(*both)) {
        choice.cost += *cost;
    }
    for (own, _, cost) in program.sentinels.iter().filter(|(_, sentinel, _)| chosen(*sentinel)) {
        choice.sentinels.push(own.clone());
        choice.cost += *cost;
    }
    for (_, _, cost) in program.paired.iter().filter(|(_, paired, _)| chosen(*paired)) {
        choice.cost += *cost;
    }
    for (write, _, cost) in program.reading.iter().filter(|(_, reading, _)| chosen(*reading)) {
        choice.reading.push(*write);
        choice.cost += *cost;
    }
    choice.placed = numbered(part, &choice.placed);
    for ask in program.z.iter().filter(|ask| chosen(ask.chosen)) {
        let location = found(problem, part, &choice.placed, ask);
        choice.asked.push((ask.pattern, location, ask.key));
        choice.cost += ask.cost;
    }
    let bases: BTreeSet<usize> = in_table(part, &choice).collect();
    assert_eq!(bases, part.entities, "each entity has a base key");
    assert_eq!(in_table(part, &choice).count(), part.entities.len(), "an entity has one base key");
    let asked: Vec<usize> = choice.asked.iter().map(|(pattern, _, _)| *pattern).collect();
    let patterns: BTreeSet<usize> = part.patterns.iter().copied().collect();
    assert_eq!(asked.len(), patterns.len(), "each pattern is asked once");
    assert!(asked.iter().all(|pattern| patterns.contains(pattern)), "a part asks its own patterns");
    choice
}

/// The entities of the keys in the table.
fn in_table<'a>(part: &'a Part, choice: &'a Choice) -> impl Iterator<Item = usize> + 'a {
    let placed = choice.placed.iter().filter(|(_, slot)| *slot == Slot::Table);
    placed.filter_map(|(candidate, _)| Some(part.candidates.get(*candidate)?.view.entity))
}

/// Assigns a pattern that several indexes answer to the first of them.
fn found(problem: &Problem, part: &Part, placed: &[(usize, Slot)], ask: &Ask) -> Slot {
    let (true, Some(pattern)) = (is_any(ask.location), problem.patterns.get(ask.pattern)) else {
        return ask.location;
    };
    let here = placed.iter().filter(|(candidate, slot)| {
        let own = part.candidates.get(*candidate);
        is_at(*slot, ask.location) && own.is_some_and(|own| answers(problem, part, ask, pattern, own))
    });
    here.map(|(_, slot)| *slot).min().unwrap_or(ask.location)
}

/// Whether a candidate's items are found under the request's key, are wanted, and have the size that the
/// request assumes.
pub(super) fn answers(problem: &Problem, part: &Part, ask: &Ask, pattern: &Pattern, own: &Candidate) -> bool {
    let Some(key) = part.candidates.get(ask.key) else { return false };
    let name = problem.entities.get(own.view.entity).map(|entity| &entity.name);
    let bytes = |own| read_bytes(problem, pattern, own, ask.location);
    name.is_some_and(|name| pattern.entities.contains(name))
        && same_key(problem, pattern, ask.location, key, own)
        && own.serves.contains(&ask.pattern)
        && (pattern.entities.len() > 1 || bytes(own) == bytes(key))
}

/// The nearest floating-point number, for the solver only; money is never a float.
fn float(number: i128) -> f64 {
    number.to_string().parse().unwrap_or(f64::MAX)
}
