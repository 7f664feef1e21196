//! Connected components of a problem: parts that share nothing are solved separately, each in its cheapest
//! table class.

use std::collections::BTreeSet;

use super::candidates::{self, Candidate, Form, Tariff};
use super::ilp::{self, Choice, Part};
use super::layout::Offer;
use super::problem::{Entity, Fault, Pattern, Problem, Projected, Slot};
use super::relaxations::{Unless, unless};
use keywright_semantics::limits::{GLOBAL_INDEXES_MAX, LOCAL_COLLECTION_BYTES_MAX};
use keywright_semantics::schema::TableClass;
use keywright_workbench::price::{Money, Prices};

/// The monthly saving below which a second table is not worth it.
const SAVING_MIN: Money = Money::dollars(1);

/// A part with the cheapest choice for it.
#[derive(Clone)]
pub(super) struct Solved {
    pub(super) part: Part,
    pub(super) class: TableClass,
    pub(super) tariff: Tariff,
    pub(super) choice: Choice,
}

impl Solved {
    /// The monthly cost of the part: its items, reads, index entries and derived items.
    pub(super) fn monthly(&self, problem: &Problem) -> Money {
        let entities = self.part.entities.iter().filter_map(|entity| problem.entities.get(*entity));
        let base = entities.map(|entity| {
            let (writes, storage) = self.tariff.base(problem, entity);
            writes + storage
        });
        base.sum::<Money>() + self.choice.cost
    }
}

/// The prices of the class that is tried first, and of the other one if the class is to be chosen.
#[derive(Clone, Copy)]
pub(super) struct Tariffs {
    class: TableClass,
    first: Tariff,
    other: Option<Tariff>,
}

impl Tariffs {
    /// The prices of the class that is tried first.
    pub(super) fn first(&self) -> &Tariff {
        &self.first
    }

    pub(super) fn of(problem: &Problem, prices: &Prices) -> Result<Self, Fault> {
        let class = problem.class.unwrap_or(TableClass::Standard);
        let other = match problem.class {
            Some(_) => None,
            None => Some(Tariff::of(problem, prices, TableClass::StandardInfrequentAccess)?),
        };
        Ok(Self { class, first: Tariff::of(problem, prices, class)?, other })
    }
}

/// Solves every part.
pub(super) fn solve(problem: &Problem, tariffs: &Tariffs) -> Result<Vec<Solved>, Vec<Fault>> {
    let mut solved = Vec::new();
    let mut faults = Vec::new();
    for part in parts(problem, &tariffs.first)? {
        let most = globals(problem, &part);
        match one(problem, tariffs, &part, most) {
            Ok(Some(own)) => solved.push(own),
            Ok(None) => faults.push(too_many(problem, tariffs, &part)),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(solved) } else { Err(faults) }
}

/// Why a part has no design with the allowed indexes, and what would help: more of them, or writers that know
/// more.
fn too_many(problem: &Problem, tariffs: &Tariffs, part: &Part) -> Fault {
    let allowed = problem.gsi_max;
    let more = Problem { gsi_max: GLOBAL_INDEXES_MAX, ..problem.clone() };
    let all = globals(&more, part);
    let solvable = |most: usize| again(&more, tariffs, part.with(Offer::All), most);
    let more_help = all > allowed && matches!(solvable(all), Ok(Some(_)));
    let own = part.patterns.iter().filter_map(|place| problem.patterns.get(*place));
    Fault::TooManyIndexes {
        entities: guilty(problem, tariffs, &part.with(Offer::All), globals(problem, part))
            .unwrap_or_else(|_| names(problem, part)),
        allowed,
        more_help,
        strong: own.filter(|pattern| pattern.strong).map(|pattern| pattern.id.clone()).collect(),
        unless: unless(problem, tariffs, part, allowed).unwrap_or_default(),
    }
}

/// Solves one part with at most this many global indexes. If the part could use more, derived items and local
/// indexes are offered instead.
fn one(problem: &Problem, tariffs: &Tariffs, part: &Part, most: usize) -> Result<Option<Solved>, Fault> {
    let short = most < wanted(problem, part) + problem.kept.globals.len();
    let part = if short { part.with(Offer::All) } else { part.clone() };
    again(problem, tariffs, part, most)
}

/// Solves a part with the replacements that it offers now, in its cheaper table class.
fn again(problem: &Problem, tariffs: &Tariffs, part: Part, most: usize) -> Result<Option<Solved>, Fault> {
    let Some(choice) = ilp::solve(problem, &tariffs.first, &part, most, &[])? else { return Ok(None) };
    let own = Solved { part, class: tariffs.class, tariff: tariffs.first, choice };
    let better = tariffs.other.and_then(|other| infrequent(problem, &own, other, most));
    Ok(Some(better.unwrap_or(own)))
}

/// A part that has no design with so few indexes.
#[derive(Default)]
pub(super) struct Unable {
    pub(super) entities: Vec<String>,
    /// What its writers would have to know.
    pub(super) unless: Vec<Unless>,
}

/// The solved parts with fewer global indexes; parts within the limit stay as they are. The error names a
/// part that has no design with so few.
pub(super) fn fewer(
    problem: &Problem,
    tariffs: &Tariffs,
    solved: &[Solved],
    gsis: usize,
    offer: Offer,
) -> Result<Result<Vec<Option<Solved>>, usize>, Fault> {
    let mut found = Vec::new();
    for (place, own) in solved.iter().enumerate() {
        if own.choice.globals() <= gsis {
            found.push(None);
            continue;
        }
        let Some(other) = again(problem, tariffs, own.part.with(offer), gsis)? else {
            return Ok(Err(place));
        };
        assert!(other.choice.globals() <= gsis, "a design has no more indexes than it may have");
        found.push(Some(other));
    }
    assert_eq!(found.len(), solved.len(), "each part stays or has another solution");
    Ok(Ok(found))
}

/// The entities of a part that have no design with so few global indexes, independent of other patterns, and
/// what would help.
pub(super) fn unable(
    problem: &Problem,
    tariffs: &Tariffs,
    part: &Part,
    gsis: usize,
    offer: Offer,
) -> Result<Unable, Fault> {
    let unless = unless(problem, tariffs, part, gsis)?;
    Ok(Unable { entities: guilty(problem, tariffs, &part.with(offer), gsis)?, unless })
}

/// The entities of a part without whose patterns it would have a design.
fn guilty(problem: &Problem, tariffs: &Tariffs, part: &Part, gsis: usize) -> Result<Vec<String>, Fault> {
    let mut rest = part.clone();
    let mut found = Vec::new();
    for name in names(problem, part) {
        let of = |place: &usize| problem.patterns.get(*place).is_some_and(|own| own.entities.contains(&name));
        let mut without = rest.clone();
        without.patterns.retain(|place| !of(place));
        if ilp::solve(problem, &tariffs.first, &without, gsis, &[])?.is_some() {
            found.push(name);
        } else {
            rest = without;
        }
    }
    Ok(if found.is_empty() { names(problem, part) } else { found })
}

/// The part in an infrequent-access table, if that saves enough to justify a second table.
fn infrequent(problem: &Problem, own: &Solved, tariff: Tariff, most: usize) -> Option<Solved> {
    let entities = || own.part.entities.iter().filter_map(|entity| problem.entities.get(*entity));
    let base = |tariff: &Tariff| -> (Money, Money) {
        entities().fold((Money::ZERO, Money::ZERO), |(writes, storage), entity| {
            let (more_writes, more_storage) = tariff.base(problem, entity);
            (writes + more_writes, storage + more_storage)
        })
    };
    let (writes, storage) = base(&own.tariff);
    let (other_writes, other_storage) = base(&tariff);
    // No slot stores more than the table does: an upper bound of the saving.
    let slots = i128::try_from(most + 2).unwrap_or(i128::MAX);
    if (storage - other_storage).times(slots, 1) - (other_writes - writes) < SAVING_MIN {
        return None;
    }
    let part = priced(problem, &tariff, &own.part);
    let choice = ilp::solve(problem, &tariff, &part, most, &[]).ok()??;
    let (before, after) = (writes + storage + own.choice.cost, other_writes + other_storage + choice.cost);
    (before - after >= SAVING_MIN).then_some(Solved {
        part,
        class: TableClass::StandardInfrequentAccess,
        tariff,
        choice,
    })
}

/// The same part at other prices.
fn priced(problem: &Problem, tariff: &Tariff, part: &Part) -> Part {
    let candidates = part.entities.iter().flat_map(|entity| pruned(problem, tariff, *entity)).collect();
    Part { candidates: whole_if_none_saves(problem, candidates), ..part.clone() }
}

fn pruned(problem: &Problem, tariff: &Tariff, entity: usize) -> Vec<Candidate> {
    let mut found = candidates::prune(problem, candidates::all(problem, tariff, entity));
    let hosts = candidates::hosts(problem, tariff, entity, &found);
    let new = |own: &Candidate| !found.iter().any(|known| known.base == own.base && known.view == own.view);
    let hosts: Vec<Candidate> = hosts.into_iter().filter(new).collect();
    found.extend(hosts);
    found
}

fn whole_if_none_saves(problem: &Problem, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    if !candidates::projections_matter(problem, &candidates) {
        for own in candidates.iter_mut().filter(|own| own.projected != Projected::All) {
            own.index = false;
        }
        candidates.retain(|own| own.projected == Projected::All || own.copy);
    }
    candidates
}

/// An entity uses at most one index per pattern, so more slots are not offered. Where projections matter,
/// entities may want indexes of their own.
fn wanted(problem: &Problem, part: &Part) -> usize {
    let patterns =
        part.entities.iter().filter_map(|entity| problem.entities.get(*entity)).map(|entity| {
            problem.patterns.iter().filter(|asked| asked.entities.contains(&entity.name)).count()
        });
    let odd = |own: &Candidate| own.index && (own.projected != Projected::All || own.form == Form::Several);
    let narrow = part.candidates.iter().any(odd);
    if narrow { patterns.sum() } else { patterns.max().unwrap_or(0) }
}

/// The number of global indexes that are offered: existing ones come before new ones.
pub(super) fn globals(problem: &Problem, part: &Part) -> usize {
    let kept = problem.kept.globals.len();
    (wanted(problem, part) + kept).min(problem.gsi_max).max(kept)
}

fn names(problem: &Problem, part: &Part) -> Vec<String> {
    part.entities
        .iter()
        .filter_map(|entity| problem.entities.get(*entity))
        .map(|entity| entity.name.clone())
        .collect()
}

/// Splits the problem into parts that share no collection. Cost adds up over parts, and the number of indexes
/// is the maximum over the parts, so each part can be solved separately.
pub(super) fn parts(problem: &Problem, tariff: &Tariff) -> Result<Vec<Part>, Vec<Fault>> {
    let mut faults = problem.faults();
    if !faults.is_empty() {
        return Err(faults);
    }
    let candidates: Vec<Vec<Candidate>> =
        (0..problem.entities.len()).map(|place| pruned(problem, tariff, place)).collect();
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
    // The fewest shards of each key: derived items may need more.
    let fewest = |own: &Candidate| {
        let same = candidates.iter().filter(|other| other.view.partition == own.view.partition);
        same.map(|other| other.view.shards).min()
    };
    let most = candidates.iter().filter_map(fewest).max().unwrap_or(1);
    if pattern.entities.len() > 1 && pattern.sorted_by().is_some() {
        return "a range or an order over items of several kinds; ask for each kind by itself".to_owned();
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
                // Where keys are kept, their sort-key prefixes are fixed, so no other order can be chosen.
                let met = !problem.kept.is_empty() && own.iter().any(|own| own.view.partition == partition);
                pattern.entities.contains(&entity.name) || met
            })
            .map(|(place, _)| place)
            .collect();
        let (touched, apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| !group.is_disjoint(&linked));
        groups = apart;
        groups.push(touched.into_iter().flatten().collect());
    }
    // An index has one projection for all entities: where projections are decided, entities cannot be
    // separated.
    let all: Vec<Candidate> = candidates.iter().flatten().cloned().collect();
    let odd = problem.entities.iter().flat_map(|entity| &entity.attributes).any(|own| own.unpaddable);
    // The same holds where an index may have to belong to one entity alone.
    let odd = odd || all.iter().any(|own| own.index && own.form == Form::Several);
    if odd || candidates::projections_matter(problem, &all) {
        groups = vec![groups.into_iter().flatten().collect()];
    }
    let grouped = groups.iter().map(BTreeSet::len).sum::<usize>();
    assert_eq!(grouped, problem.entities.len(), "an entity is in one part");
    groups.into_iter().map(|entities| part(problem, candidates, entities)).collect()
}

/// Whether an entity can be in collections that are too large for local indexes.
fn too_large(problem: &Problem, entity: usize, candidates: &[Vec<Candidate>]) -> bool {
    let Some(own) = problem.entities.get(entity) else { return false };
    candidates
        .get(entity)
        .into_iter()
        .flatten()
        .filter(|key| key.base)
        .any(|key| candidates::collection_bytes(own, key, Slot::Table) > LOCAL_COLLECTION_BYTES_MAX)
}

fn part(problem: &Problem, candidates: &[Vec<Candidate>], entities: BTreeSet<usize>) -> Part {
    let own = entities.iter().filter_map(|entity| candidates.get(*entity)).flatten().cloned().collect();
    let own = whole_if_none_saves(problem, own);
    let others = (0..problem.entities.len()).filter(|entity| !entities.contains(entity));
    // A local index limits all collections of its table, also those of other parts.
    let local = !others.into_iter().any(|entity| too_large(problem, entity, candidates));
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
    Part { candidates: own, patterns, entities, local, offer: Offer::Usual }
}
