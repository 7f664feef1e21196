//! Why a design has no fewer global indexes: with one less, every other means is offered (second items, local indexes,
//! lists in parents), so that what is called impossible is so with all of them; and what they would cost is said.

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
    /// With one less no request answers every pattern, whatever second items, local indexes and lists there are that writers
    /// can keep who know what identifies an item.
    Impossible {
        /// The number of indexes that was tried.
        gsis: usize,
        /// The entities that cannot do with it.
        entities: Vec<String>,
        /// The second items with which they could if writers knew more than the identity.
        unless: Vec<Unless>,
    },
    /// With one less there is a design, and it costs more.
    Possible {
        /// The number of indexes that was tried.
        gsis: usize,
        /// How much more a month the cheapest such design costs.
        by: Money,
        /// What it has that this one has not.
        with: Without,
        /// What can be done without those.
        same: Same,
    },
}

/// What stands in for an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Without {
    /// Second items: the entity and the attributes of their partition.
    pub second_items: Vec<(String, Vec<String>)>,
    /// More local indexes than the design has.
    pub local_indexes: usize,
    /// Entities kept as lists.
    pub embedded: Vec<Embedded>,
}

impl Without {
    /// Whether there is nothing but fewer indexes.
    pub fn is_empty(&self) -> bool {
        self.second_items.is_empty() && self.local_indexes == 0 && self.embedded.is_empty()
    }
}

/// With one index less and one item for each record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Same {
    /// That is what the cheapest such design is, or the design itself has other means than index entries.
    NotAsked,
    /// There is such a design, which costs so much more a month.
    Dearer(Money),
    /// There is none; these entities cannot.
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

    /// It as a way of its own.
    fn way(&self) -> Way {
        let Way { embedded, problem, .. } = self.way;
        Way { embedded: embedded.clone(), problem: problem.clone(), solved: self.own().cloned().collect() }
    }
}

/// Why there are not fewer indexes, with the designs that there would be with fewer.
pub(super) struct Proved {
    pub(super) proof: Proof,
    /// The cheapest of all.
    pub(super) fewer: Option<Way>,
    /// The cheapest with one item for each record, where that is another.
    pub(super) fewer_same: Option<Way>,
}

impl From<Proof> for Proved {
    fn from(proof: Proof) -> Self {
        Self { proof, fewer: None, fewer_same: None }
    }
}

/// Proves it for the best of all ways: any of them may do with fewer.
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
    let with = besides(&less, best);
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

/// The cheapest of all ways with at most so many indexes; or the entities that cannot do with them.
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

fn besides(less: &Less<'_>, best: &Way) -> Without {
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
