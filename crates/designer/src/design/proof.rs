//! Proves that a design needs its global indexes. With one index less, every replacement is offered: derived
//! items, local indexes and lists in parents. A design that is impossible is so with all of them; otherwise
//! the proof reports its cost.

use std::collections::BTreeSet;

use super::Way;
use super::candidates::View;
use super::components::{self, Solved, Tariffs, Unable};
use super::embed::Embedded;
use super::layout::Offer;
use super::problem::{Fault, Slot};
use super::relaxations::Unless;
use keywright_workbench::price::Money;

/// Why there are not fewer indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// There are none.
    NoIndexes,
    /// All of them exist and stay.
    AllKept,
    /// With one index less no design answers every pattern, even with all derived items, local indexes and
    /// lists that writers can maintain by the identity.
    Impossible {
        /// The number of indexes that was tried.
        gsis: usize,
        /// The entities that need more.
        entities: Vec<String>,
        /// The derived items that would help if writers knew more than the identity.
        unless: Vec<Unless>,
    },
    /// With one index less there is a design, and it costs more.
    Possible {
        /// The number of indexes that was tried.
        gsis: usize,
        /// The additional monthly cost of the cheapest such design.
        by: Money,
        /// What it has and this one lacks.
        with: Without,
        /// What is possible without such replacements.
        same: Same,
    },
}

/// The replacements of an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Without {
    /// Derived items: the entity and the attributes of their partition key.
    pub second_items: Vec<(String, Vec<String>)>,
    /// More local indexes than the design has.
    pub local_indexes: usize,
    /// Entities kept as lists.
    pub embedded: Vec<Embedded>,
}

impl Without {
    /// Whether it has nothing but fewer indexes.
    pub fn is_empty(&self) -> bool {
        self.second_items.is_empty() && self.local_indexes == 0 && self.embedded.is_empty()
    }
}

/// The result with one index less and one item per record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Same {
    /// The cheapest such design has one item per record already, or the design itself uses replacements.
    NotAsked,
    /// There is such a design, at this additional monthly cost.
    Dearer(Money),
    /// There is none; these entities need more.
    Impossible(Vec<String>),
}

/// One way with fewer indexes.
struct Less<'a> {
    way: &'a Way,
    solved: Vec<Option<Solved>>,
    monthly: Money,
}

impl Less<'_> {
    fn own(&self) -> impl Iterator<Item = &Solved> {
        self.way.solved.iter().zip(&self.solved).map(|(own, other)| other.as_ref().unwrap_or(own))
    }

    /// The result as a way of its own.
    fn way(&self) -> Way {
        let Way { embedded, problem, .. } = self.way;
        Way { embedded: embedded.clone(), problem: problem.clone(), solved: self.own().cloned().collect() }
    }
}

/// The proof, with the designs that have fewer indexes.
pub(super) struct Proved {
    pub(super) proof: Proof,
    /// The cheapest of all.
    pub(super) fewer: Option<Way>,
    /// The cheapest with one item per record, if that is another.
    pub(super) fewer_same: Option<Way>,
}

impl From<Proof> for Proved {
    fn from(proof: Proof) -> Self {
        Self { proof, fewer: None, fewer_same: None }
    }
}

/// Proves it for the best of all ways: any of them may need fewer indexes.
pub(super) fn prove(tariffs: &Tariffs, ways: &[Way], best: &Way) -> Result<Proved, Fault> {
    let kept = best.problem.kept.globals.len();
    let most = best.globals();
    let Some(gsis) = most.checked_sub(1) else { return Ok(Proof::NoIndexes.into()) };
    if most == kept {
        return Ok(Proof::AllKept.into());
    }
    let less = match cheapest(tariffs, ways, gsis, Offer::All)? {
        Ok(less) => less,
        Err(Unable { entities, unless }) => {
            return Ok(Proof::Impossible { gsis, entities, unless }.into());
        }
    };
    let by = less.monthly - best.monthly();
    let with = replacements(&less, best);
    let plain = second_items(best.solved.iter(), best).is_empty() && locals(best.solved.iter()) == 0;
    let mut fewer_same = None;
    let same = if with.is_empty() || !plain {
        Same::NotAsked
    } else {
        match cheapest(tariffs, std::slice::from_ref(best), gsis, Offer::Entries)? {
            Ok(less) => {
                fewer_same = Some(less.way());
                Same::Dearer(less.monthly - best.monthly())
            }
            Err(unable) => Same::Impossible(unable.entities),
        }
    };
    Ok(Proved { proof: Proof::Possible { gsis, by, with, same }, fewer: Some(less.way()), fewer_same })
}

/// The cheapest of all ways with at most this many indexes; or the entities that need more.
fn cheapest<'a>(
    tariffs: &Tariffs,
    ways: &'a [Way],
    gsis: usize,
    offer: Offer,
) -> Result<Result<Less<'a>, Unable>, Fault> {
    let mut best: Option<Less<'a>> = None;
    let mut unable = None;
    for way in ways {
        match components::fewer(&way.problem, tariffs, &way.solved, gsis, offer)? {
            Ok(solved) => {
                let mut less = Less { way, solved, monthly: Money::ZERO };
                less.monthly = less.own().map(|own| own.monthly(&way.problem)).sum();
                if best.as_ref().is_none_or(|best| less.monthly < best.monthly) {
                    best = Some(less);
                }
            }
            Err(place) => unable = unable.or(way.solved.get(place).map(|own| (way, &own.part))),
        }
    }
    Ok(match (best, unable) {
        (Some(best), _) => Ok(best),
        (None, Some((way, part))) => Err(components::unable(&way.problem, tariffs, part, gsis, offer)?),
        (None, None) => Err(Unable::default()),
    })
}

fn replacements(less: &Less<'_>, best: &Way) -> Without {
    let had = second_items(best.solved.iter(), best);
    let items = second_items(less.own(), less.way).difference(&had).cloned().collect();
    let more = locals(less.own()).saturating_sub(locals(best.solved.iter()));
    let embedded = less.way.embedded.iter().filter(|own| !best.embedded.contains(own)).cloned().collect();
    Without { second_items: items, local_indexes: more, embedded }
}

fn second_items<'a>(solved: impl Iterator<Item = &'a Solved>, way: &Way) -> BTreeSet<(String, Vec<String>)> {
    let views = solved.flat_map(|own| {
        let copies = own.choice.placed.iter().filter(|(_, slot)| *slot == Slot::Copy);
        copies.filter_map(|(candidate, _)| own.part.candidates.get(*candidate)).map(|own| &own.view)
    });
    let named = |view: &View| {
        let entity = way.problem.entities.get(view.entity)?;
        Some((entity.name.clone(), view.partition.clone()))
    };
    views.filter_map(named).collect()
}

fn locals<'a>(solved: impl Iterator<Item = &'a Solved>) -> usize {
    let number = |slot: &Slot| if let Slot::Local(number) = slot { *number } else { 0 };
    solved.flat_map(|own| &own.choice.placed).map(|(_, slot)| number(slot)).max().unwrap_or(0)
}
