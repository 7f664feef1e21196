//! Why a design is as it is: what each pattern costs, which patterns force the indexes, the next best design.

use super::problem::{Fault, Problem};
use super::program;
use super::view::Tariff;
use super::{parts, slots, solve};
use crate::price::{Money, Prices};

/// What re-solving shows about a design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// For each pattern: what the design without it would save and need.
    pub patterns: Vec<Forced>,
    /// How much more a month the next best design costs, if there is another.
    pub runner_up: Option<Money>,
}

/// What one pattern causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// The pattern's id.
    pub pattern: String,
    /// What would be saved each month without it, indexes included.
    pub saves: Money,
    /// The number of indexes there would be without it.
    pub gsis_without: usize,
    /// Whether it alone forces an index.
    pub forces: bool,
}

/// Solves again without each pattern, and with the best choice forbidden.
pub fn explain(problem: &Problem, prices: &Prices) -> Result<Explanation, Vec<Fault>> {
    let best = solve(problem, prices)?;
    let mut patterns = Vec::new();
    for (place, pattern) in problem.patterns.iter().enumerate() {
        let mut without = problem.clone();
        without.patterns.remove(place);
        let other = solve(&without, prices)?;
        patterns.push(Forced {
            pattern: pattern.id.clone(),
            saves: best.monthly.total() - other.monthly.total(),
            gsis_without: other.gsis,
            forces: other.gsis < best.gsis,
        });
    }
    let runner_up = runner_up(problem, prices)?;
    Ok(Explanation { patterns, runner_up })
}

fn runner_up(problem: &Problem, prices: &Prices) -> Result<Option<Money>, Vec<Fault>> {
    let tariff = Tariff::of(prices).map_err(|fault| vec![fault])?;
    let mut least: Option<Money> = None;
    for part in parts(problem, &tariff)? {
        let slots = slots(problem, &part);
        let again = |cuts: &[program::Choice]| {
            program::solve(problem, &tariff, &part, slots, cuts).map_err(|fault| vec![fault])
        };
        let Some(best) = again(&[])? else { continue };
        if let Some(next) = again(std::slice::from_ref(&best))? {
            let more = next.cost - best.cost;
            least = Some(least.map_or(more, |known| known.min(more)));
        }
    }
    Ok(least)
}
