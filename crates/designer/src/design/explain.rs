//! Explains a design: what each pattern costs and forces, what each key is for, the next best designs, the
//! rates at which the design changes, and how it is built step by step.

use std::collections::BTreeSet;

use super::candidates::Form;
use super::components::{self, Solved};
use super::ilp::{self, Cut};
use super::problem::{Fault, Problem, Slot};
use super::{Design, Placed, Proof, View, solve, solve_flat};
use keywright_workbench::price::{Money, Prices};

/// How many of the next best designs are listed.
const RUNNERS_UP: usize = 3;
/// Rates are tried up to this multiple, and down to this fraction.
const RATE_TIMES_MAX: u64 = 1024;
/// Hundredths in one.
const PERCENT: u64 = 100;

/// The results of solving variants of the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// For each pattern: what the design without it would save and need.
    pub patterns: Vec<Forced>,
    /// For each key besides the tables' own: its use, and the cost of the best design without it.
    pub keys: Vec<KeyReason>,
    /// The next best designs, the cheapest first.
    pub runners_up: Vec<RunnerUp>,
    /// The rates at which the design changes.
    pub break_evens: Vec<BreakEven>,
    /// The factors (half, twice; in hundredths) that change the design when all rates are multiplied by
    /// them.
    pub together: Vec<u64>,
    /// How it is built.
    pub steps: Steps,
}

/// The effect of one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// The pattern's id.
    pub pattern: String,
    /// The monthly saving without it, indexes included.
    pub saves: Money,
    /// The number of indexes without it.
    pub gsis_without: usize,
    /// Whether it alone forces an index.
    pub forces: bool,
}

/// The reason for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyReason {
    /// The key.
    pub key: Placed,
    /// The patterns that read by it.
    pub patterns: Vec<String>,
    /// The additional monthly cost of the best design without it; none if there is no such design.
    pub without: Option<Money>,
}

/// A design other than the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerUp {
    /// Its additional monthly cost.
    pub more: Money,
    /// The keys that it has and the best design lacks.
    pub keys: Vec<Placed>,
}

/// A rate at which the design changes while the other rates stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakEven {
    /// The pattern, read or write.
    pub pattern: String,
    /// The rate in hundredths of the present one.
    pub percent: u64,
}

/// How the design is built: each pattern is solved alone, equal keys are grouped, groups are merged into
/// slots. `all_indexed` and `simplest` judge the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// The keys of each pattern if it were the only one.
    pub alone: Vec<(String, Vec<View>)>,
    /// The number of different keys among these.
    pub grouped: usize,
    /// The number of keys in the design.
    pub keys: usize,
    /// The number of slots (table and indexes) that hold them.
    pub slots: usize,
    /// Whether every pattern reads by a key or an index.
    pub all_indexed: bool,
    /// Whether fewer indexes are impossible or more expensive.
    pub simplest: bool,
}

/// Solves all these variants.
pub fn explain(problem: &Problem, prices: &Prices) -> Result<Explanation, Vec<Fault>> {
    let best = solve(problem, prices)?;
    let problem = &best.problem;
    let tariffs = components::Tariffs::of(problem, prices).map_err(|fault| vec![fault])?;
    let solved = components::solve(problem, &tariffs)?;
    Ok(Explanation {
        patterns: forced(problem, prices, &best)?,
        keys: reasons(problem, &solved).map_err(|fault| vec![fault])?,
        runners_up: runners_up(problem, &solved).map_err(|fault| vec![fault])?,
        break_evens: break_evens(problem, prices, &best),
        together: together(problem, prices, &best),
        steps: steps(problem, prices, &best)?,
    })
}

fn forced(problem: &Problem, prices: &Prices, best: &Design) -> Result<Vec<Forced>, Vec<Fault>> {
    let mut found = Vec::new();
    for (place, pattern) in problem.patterns.iter().enumerate() {
        let mut without = problem.clone();
        without.patterns.remove(place);
        let other = solve_flat(&without, prices)?;
        found.push(Forced {
            pattern: pattern.id.clone(),
            saves: best.monthly.total() - other.monthly.total(),
            gsis_without: other.gsis,
            forces: other.gsis < best.gsis,
        });
    }
    Ok(found)
}

fn placed(solved: &Solved, candidate: usize, slot: Slot) -> Option<Placed> {
    let own = solved.part.candidates.get(candidate)?;
    Some(Placed {
        slot,
        view: own.view.clone(),
        projected: own.projected.clone(),
        number: own.is_number(),
        several: own.form == Form::Several,
        strip: own.strip(),
    })
}

fn reasons(problem: &Problem, solved: &[Solved]) -> Result<Vec<KeyReason>, Fault> {
    let mut found = Vec::new();
    for own in solved {
        let most = components::globals(problem, &own.part);
        let besides = own.choice.placed.iter().filter(|(_, slot)| *slot != Slot::Table);
        for &(candidate, slot) in besides {
            let Some(key) = placed(own, candidate, slot) else { continue };
            if problem.kept.key(key.view.entity, slot).is_some() {
                continue;
            }
            let cut = Cut::Key(candidate, slot);
            let other = ilp::solve(problem, &own.tariff, &own.part, most, &[cut])?;
            found.push(KeyReason {
                patterns: asked_by(problem, own, &key),
                key,
                without: other.map(|other| other.cost - own.choice.cost),
            });
        }
    }
    Ok(found)
}

fn asked_by(problem: &Problem, solved: &Solved, key: &Placed) -> Vec<String> {
    let entity = problem.entities.get(key.view.entity).map(|entity| &entity.name);
    let by = solved.choice.asked.iter().filter(|(_, slot, candidate)| {
        let own = solved.part.candidates.get(*candidate);
        *slot == key.slot.location() && own.is_some_and(|own| own.view.partition == key.view.partition)
    });
    by.filter_map(|(pattern, _, _)| problem.patterns.get(*pattern))
        .filter(|pattern| entity.is_some_and(|entity| pattern.entities.contains(entity)))
        .map(|pattern| pattern.id.clone())
        .collect()
}

fn runners_up(problem: &Problem, solved: &[Solved]) -> Result<Vec<RunnerUp>, Fault> {
    let mut found = Vec::new();
    for own in solved {
        let most = components::globals(problem, &own.part);
        let best: BTreeSet<(usize, bool)> =
            own.choice.placed.iter().map(|(candidate, slot)| (*candidate, *slot == Slot::Table)).collect();
        let mut cuts = vec![Cut::Choice(own.choice.clone())];
        while cuts.len() <= RUNNERS_UP {
            let Some(next) = ilp::solve(problem, &own.tariff, &own.part, most, &cuts)? else { break };
            let new = next
                .placed
                .iter()
                .filter(|(candidate, slot)| !best.contains(&(*candidate, *slot == Slot::Table)));
            found.push(RunnerUp {
                more: next.cost - own.choice.cost,
                keys: new.filter_map(|(candidate, slot)| placed(own, *candidate, *slot)).collect(),
            });
            cuts.push(Cut::Choice(next));
        }
    }
    found.sort_by_key(|other| other.more);
    found.truncate(RUNNERS_UP);
    Ok(found)
}

/// The design without index numbers.
fn shape(design: &Design) -> BTreeSet<(u8, &View, &super::Projected, bool)> {
    let kind = |slot: Slot| match slot {
        Slot::Table => 0,
        Slot::Copy => 1,
        Slot::Local(_) => 2,
        Slot::Global(_) => 3,
    };
    let second = |entity: usize| design.tables.iter().skip(1).any(|table| table.entities.contains(&entity));
    let placed = design.placed.iter();
    placed.map(|own| (kind(own.slot), &own.view, &own.projected, second(own.view.entity))).collect()
}

fn break_evens(problem: &Problem, prices: &Prices, best: &Design) -> Vec<BreakEven> {
    let ids: BTreeSet<&String> =
        problem.patterns.iter().map(|own| &own.id).chain(problem.writes.iter().map(|own| &own.id)).collect();
    let mut found = Vec::new();
    for id in ids {
        let changes = |percent: u64| {
            let mut other = problem.clone();
            for pattern in other.patterns.iter_mut().filter(|own| own.id == *id) {
                pattern.rate.0 = pattern.rate.0.saturating_mul(percent) / PERCENT;
            }
            for write in other.writes.iter_mut().filter(|own| own.id == *id) {
                write.rate.0 = write.rate.0.saturating_mul(percent) / PERCENT;
            }
            solve_flat(&other, prices).is_ok_and(|other| shape(&other) != shape(best))
        };
        for far in [0, RATE_TIMES_MAX * PERCENT] {
            if changes(far) {
                let percent = first_change(far, changes);
                found.push(BreakEven { pattern: id.clone(), percent });
            }
        }
    }
    found
}

/// Factors by which all rates are multiplied together: half and twice.
const TOGETHER: [u64; 2] = [PERCENT / 2, PERCENT * 2];

fn together(problem: &Problem, prices: &Prices, best: &Design) -> Vec<u64> {
    let changes = |percent: &u64| {
        let mut other = problem.clone();
        let reads = other.patterns.iter_mut().map(|own| &mut own.rate);
        for rate in reads.chain(other.writes.iter_mut().map(|own| &mut own.rate)) {
            rate.0 = rate.0.saturating_mul(*percent) / PERCENT;
        }
        solve_flat(&other, prices).is_ok_and(|other| shape(&other) != shape(best))
    };
    TOGETHER.into_iter().filter(changes).collect()
}

/// The factor (in hundredths) nearest to the present rate at which the design changes, found by bisection.
fn first_change(far: u64, changes: impl Fn(u64) -> bool) -> u64 {
    let (mut same, mut other) = (PERCENT, far);
    while same.abs_diff(other) > 1 {
        let middle = u64::midpoint(same, other);
        if changes(middle) { other = middle } else { same = middle }
    }
    other
}

fn steps(problem: &Problem, prices: &Prices, best: &Design) -> Result<Steps, Vec<Fault>> {
    let mut alone = Vec::new();
    for pattern in &problem.patterns {
        let one = Problem { patterns: vec![pattern.clone()], ..problem.clone() };
        let design = solve_flat(&one, prices)?;
        let Some(asked) = design.asked.first() else { continue };
        let keys = design.placed.iter().filter(|own| {
            let entity = problem.entities.get(own.view.entity);
            own.slot.location() == asked.slot
                && own.view.partition == asked.partition
                && entity.is_some_and(|entity| pattern.entities.contains(&entity.name))
        });
        alone.push((pattern.id.clone(), keys.map(|own| own.view.clone()).collect::<Vec<_>>()));
    }
    let grouped: BTreeSet<&View> = alone.iter().flat_map(|(_, keys)| keys).collect();
    let slots: BTreeSet<Slot> = best.placed.iter().map(|own| own.slot.location()).collect();
    Ok(Steps {
        grouped: grouped.len(),
        alone,
        keys: best.placed.len(),
        slots: slots.len(),
        all_indexed: best.asked.len() == problem.patterns.len(),
        simplest: best.proof != Proof::AllKept,
    })
}
