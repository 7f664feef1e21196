//! The binary program: which view each entity has in which slot, which slots exist, and where each pattern is asked.
//!
//! Variables x[view, slot], y[slot], z[pattern, slot, key]. Slot 0 is the base table, the others are global secondary
//! indexes. Minimised in order: cost; with that pinned, indexes; with both pinned, entries and then key bytes.

use std::collections::BTreeSet;

use good_lp::{
    Constraint, Expression, ProblemVariables, ResolutionError, Solution as _, SolverModel, Variable,
    constraint, microlp, variable,
};

use super::problem::{Fault, Problem};
use super::view::{Candidate, Tariff};
use crate::price::Money;

/// Coefficients are scaled so that the largest is about this; the pins then lie far above rounding noise.
const COEFFICIENT_MAX: f64 = 10_000.0;
/// How far above its minimum a pinned objective may end.
const PIN_SLACK: f64 = 1e-6;
/// A binary above this is chosen.
const CHOSEN: f64 = 0.5;
/// An entry weighs more than all key bytes together.
const ENTRY_WEIGHT: f64 = 1_000_000.0;

/// One part of a problem that shares nothing with the others: its candidates and patterns.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) entities: BTreeSet<usize>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) patterns: Vec<usize>,
}

/// The choice for one part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Choice {
    /// (candidate, slot), in order.
    pub(super) placed: Vec<(usize, usize)>,
    /// (pattern, slot, a candidate that serves it there).
    pub(super) asked: Vec<(usize, usize, usize)>,
    pub(super) gsis: usize,
    pub(super) cost: Money,
    pub(super) nodes: u64,
    pub(super) variables: usize,
    pub(super) constraints: usize,
}

struct Place {
    candidate: usize,
    slot: usize,
    chosen: Variable,
}

struct Ask {
    pattern: usize,
    slot: usize,
    /// A candidate that stands for the partition attributes and shards.
    key: usize,
    cost: Money,
    chosen: Variable,
}

struct Program {
    variables: ProblemVariables,
    x: Vec<Place>,
    y: Vec<Variable>,
    z: Vec<Ask>,
    constraints: Vec<Constraint>,
}

/// The cheapest choice with at most `gsis` indexes, or none if there is no choice at all. Candidate sets in `cuts` may
/// not be chosen again.
pub(super) fn solve(
    problem: &Problem,
    tariff: &Tariff,
    part: &Part,
    gsis: usize,
    cuts: &[Choice],
) -> Result<Option<Choice>, Fault> {
    let program = build(problem, tariff, part, gsis, cuts);
    let dearest = dearest(&program, part);
    let scale = COEFFICIENT_MAX / float(dearest.as_nanos().max(1));
    let cost = cost(&program, part, scale);
    let indexes: Expression = program.y.iter().sum();
    let entries: Expression = program
        .x
        .iter()
        .map(|place| {
            let bytes = part.candidates.get(place.candidate).map_or(0, |own| own.key_bytes);
            float(i128::from(bytes)).mul_add(1.0 / ENTRY_WEIGHT, 1.0) * place.chosen
        })
        .sum();
    let mut pins: Vec<Constraint> = Vec::new();
    let mut nodes = 0;
    let mut last = None;
    for objective in [cost, indexes, entries] {
        let constraints = program.constraints.iter().chain(&pins).cloned();
        let model =
            program.variables.clone().minimise(objective.clone()).using(microlp).with_all(constraints);
        let solution = match model.solve() {
            Ok(solution) => solution,
            Err(ResolutionError::Infeasible) if last.is_none() => return Ok(None),
            Err(fault) => return Err(Fault::Solver(fault.to_string())),
        };
        let best = solution.eval(&objective);
        pins.push(constraint!(objective <= best + PIN_SLACK));
        let mut choice = read(&program, part, &solution);
        nodes += solution.into_inner().stats().nodes_solved;
        choice.nodes = nodes;
        last = Some(choice);
    }
    Ok(last)
}

fn build(problem: &Problem, tariff: &Tariff, part: &Part, gsis: usize, cuts: &[Choice]) -> Program {
    let mut variables = ProblemVariables::new();
    let mut binary = || variables.add(variable().binary());
    let y: Vec<Variable> = (0..gsis).map(|_| binary()).collect();
    let mut x = Vec::new();
    for (candidate, own) in part.candidates.iter().enumerate() {
        for slot in 0..=gsis {
            if (slot == 0 && own.base) || (slot > 0 && !own.serves.is_empty()) {
                x.push(Place { candidate, slot, chosen: binary() });
            }
        }
    }
    let mut z = Vec::new();
    for &pattern in &part.patterns {
        let Some(asked) = problem.patterns.get(pattern) else { continue };
        for key in keys(problem, part, pattern) {
            let shards = part.candidates.get(key).map_or(1, |own| own.view.shards);
            let cost = tariff.reads(problem, asked, shards);
            for slot in 0..=if asked.strong { 0 } else { gsis } {
                z.push(Ask { pattern, slot, key, cost, chosen: binary() });
            }
        }
    }
    let mut program = Program { variables, x, y, z, constraints: Vec::new() };
    let mut found = constraints(problem, part, gsis, &program);
    found.extend(cuts.iter().filter_map(|cut| no_good(&program, cut)));
    program.constraints = found;
    program
}

/// One candidate for each distinct (partition, shards) under which the pattern's first entity can be asked.
fn keys(problem: &Problem, part: &Part, pattern: usize) -> Vec<usize> {
    let first = problem.patterns.get(pattern).and_then(|asked| asked.entities.first());
    let mut seen = BTreeSet::new();
    part.candidates
        .iter()
        .enumerate()
        .filter(|(_, own)| {
            let name = problem.entities.get(own.view.entity).map(|entity| &entity.name);
            name == first && own.serves.contains(&pattern)
        })
        .filter(|(_, own)| seen.insert((&own.view.partition, own.view.shards)))
        .map(|(place, _)| place)
        .collect()
}

fn constraints(problem: &Problem, part: &Part, gsis: usize, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    let of = |entity: usize, slot: usize| {
        program.x.iter().filter(move |place| {
            let own = part.candidates.get(place.candidate);
            place.slot == slot && own.is_some_and(|own| own.view.entity == entity)
        })
    };
    for &entity in &part.entities {
        let base: Expression = of(entity, 0).map(|place| place.chosen).sum();
        found.push(constraint!(base == 1));
        for (slot, present) in (1..=gsis).zip(&program.y) {
            let entries: Expression = of(entity, slot).map(|place| place.chosen).sum();
            found.push(constraint!(entries <= *present));
        }
    }
    for pair in program.y.windows(2) {
        if let [earlier, later] = pair {
            found.push(constraint!(*earlier >= *later));
        }
    }
    for &pattern in &part.patterns {
        let asked: Expression =
            program.z.iter().filter(|ask| ask.pattern == pattern).map(|ask| ask.chosen).sum();
        found.push(constraint!(asked == 1));
    }
    for ask in &program.z {
        asks(problem, part, program, ask, &mut found);
    }
    found.extend(symmetry(part, program));
    found
}

/// A pattern is asked where all its entities stand under one key; nobody else may stand under that key if the pattern
/// reads whole collections, since the request would return them too.
fn asks(problem: &Problem, part: &Part, program: &Program, ask: &Ask, found: &mut Vec<Constraint>) {
    let (Some(pattern), Some(key)) = (problem.patterns.get(ask.pattern), part.candidates.get(ask.key)) else {
        return;
    };
    for &entity in &part.entities {
        let name = problem.entities.get(entity).map(|entity| &entity.name);
        let wanted = name.is_some_and(|name| pattern.entities.contains(name));
        let here = program.x.iter().filter(|place| {
            part.candidates.get(place.candidate).is_some_and(|own| {
                place.slot == ask.slot
                    && own.view.entity == entity
                    && own.view.partition == key.view.partition
                    && own.view.shards == key.view.shards
                    && (!wanted || own.serves.contains(&ask.pattern))
            })
        });
        let present: Expression = here.map(|place| place.chosen).sum();
        if wanted {
            found.push(constraint!(ask.chosen <= present));
        } else if pattern.entities.len() > 1 {
            found.push(constraint!(present + ask.chosen <= 1));
        }
    }
}

/// Slots can be renumbered freely: the entity with the most candidates takes them in candidate order.
fn symmetry(part: &Part, program: &Program) -> Vec<Constraint> {
    let count = |entity: usize| part.candidates.iter().filter(|own| own.view.entity == entity).count();
    let Some(first) = part.entities.iter().copied().max_by_key(|entity| count(*entity)) else {
        return Vec::new();
    };
    let mut rank = 0;
    let mut found = Vec::new();
    for (candidate, own) in part.candidates.iter().enumerate() {
        if own.view.entity != first || own.serves.is_empty() {
            continue;
        }
        rank += 1;
        let late = program.x.iter().filter(|place| place.candidate == candidate && place.slot > rank);
        found.extend(late.map(|place| constraint!(place.chosen <= 0)));
    }
    found
}

/// Forbids a choice up to the numbering of its indexes.
fn no_good(program: &Program, cut: &Choice) -> Option<Constraint> {
    let mut chosen = Expression::default();
    for (candidate, slot) in &cut.placed {
        for place in &program.x {
            if place.candidate == *candidate && (place.slot == 0) == (*slot == 0) {
                chosen += place.chosen;
            }
        }
    }
    let most = i32::try_from(cut.placed.len()).ok()? - 1;
    Some(constraint!(chosen <= most))
}

fn dearest(program: &Program, part: &Part) -> Money {
    let index = part.candidates.iter().map(|own| own.index_cost);
    index.chain(program.z.iter().map(|ask| ask.cost)).max().unwrap_or(Money::ZERO)
}

fn cost(program: &Program, part: &Part, scale: f64) -> Expression {
    let entries = program.x.iter().filter(|place| place.slot > 0).map(|place| {
        let own = part.candidates.get(place.candidate).map_or(Money::ZERO, |own| own.index_cost);
        float(own.as_nanos()) * scale * place.chosen
    });
    let reads = program.z.iter().map(|ask| float(ask.cost.as_nanos()) * scale * ask.chosen);
    entries.chain(reads).sum()
}

fn read(program: &Program, part: &Part, solution: &impl good_lp::Solution) -> Choice {
    let chosen = |variable: Variable| solution.value(variable) > CHOSEN;
    let mut choice = Choice {
        variables: program.x.len() + program.y.len() + program.z.len(),
        constraints: program.constraints.len(),
        ..Choice::default()
    };
    for place in program.x.iter().filter(|place| chosen(place.chosen)) {
        choice.placed.push((place.candidate, place.slot));
        choice.gsis = choice.gsis.max(place.slot);
        if place.slot > 0 {
            choice.cost += part.candidates.get(place.candidate).map_or(Money::ZERO, |own| own.index_cost);
        }
    }
    for ask in program.z.iter().filter(|ask| chosen(ask.chosen)) {
        choice.asked.push((ask.pattern, ask.slot, ask.key));
        choice.cost += ask.cost;
    }
    choice
}

/// The nearest floating number; the solver's, never money's.
fn float(number: i128) -> f64 {
    number.to_string().parse().unwrap_or(f64::MAX)
}
