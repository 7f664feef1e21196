//! Symmetry breaking: indexes are interchangeable, so the number of an entry's index matters only to requests
//! for several entities. All other entries are only counted, and numbered afterwards; otherwise the solver
//! would try every numbering of the same design.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use super::candidates::Candidate;
use super::ilp::Part;
use super::problem::{Problem, Projected, Slot};

/// The number of an unnumbered index.
pub(super) const ANY: usize = 0;

/// The unnumbered slot of the same kind.
pub(super) const fn any(slot: Slot) -> Slot {
    match slot {
        Slot::Local(_) => Slot::Local(ANY),
        Slot::Global(_) => Slot::Global(ANY),
        own => own,
    }
}

/// Whether a slot is unnumbered.
pub(super) fn is_any(slot: Slot) -> bool {
    matches!(slot, Slot::Local(ANY) | Slot::Global(ANY))
}

/// Whether a request to this location finds the entries of the slot; a request to an unnumbered index goes to
/// any index that has them.
pub(super) fn is_at(slot: Slot, location: Slot) -> bool {
    if is_any(location) { any(slot) == location } else { slot.location() == location }
}

/// Which candidates are in numbered indexes, and the highest number of each.
pub(super) struct Numbering {
    /// Candidates in unnumbered indexes.
    loose: BTreeSet<usize>,
    /// The highest number that a candidate may get.
    ranks: BTreeMap<usize, usize>,
}

impl Numbering {
    pub(super) fn of(problem: &Problem, part: &Part) -> Self {
        if !problem.kept.is_empty() {
            return Self { loose: BTreeSet::new(), ranks: BTreeMap::new() };
        }
        let odd = |own: &Candidate| own.index && own.projected != Projected::All || own.is_alone();
        // All entries of an index share its projection, and the restriction to one entity.
        let alike = !part.candidates.iter().any(odd);
        let together: Vec<(BTreeSet<&String>, BTreeSet<usize>)> = part
            .patterns
            .iter()
            .filter_map(|place| problem.patterns.get(*place))
            .filter(|pattern| pattern.entities.len() > 1)
            .map(|pattern| (pattern.equal.iter().collect(), problem.places(&pattern.entities)))
            .collect();
        let met = |own: &Candidate| {
            let partition: BTreeSet<&String> = own.view.partition.iter().collect();
            together.iter().any(|(equal, asked)| *equal == partition && asked.contains(&own.view.entity))
        };
        let loose = part.candidates.iter().enumerate().filter(|(_, own)| alike && !met(own));
        let loose: BTreeSet<usize> = loose.map(|(place, _)| place).collect();
        let ranks = ranks(part, &loose);
        Self { loose, ranks }
    }

    /// Whether a candidate is offered this slot.
    pub(super) fn offers(&self, candidate: usize, slot: Slot) -> bool {
        match slot {
            Slot::Table | Slot::Copy => true,
            Slot::Local(number) | Slot::Global(number) => {
                is_any(slot) == self.loose.contains(&candidate)
                    && self.ranks.get(&candidate).is_none_or(|most| number <= *most)
            }
        }
    }
}

/// Indexes of a kind can be renumbered freely: the entity with the most candidates takes numbers in candidate
/// order.
fn ranks(part: &Part, loose: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    let numbered = || {
        let all = part.candidates.iter().enumerate();
        all.filter(|(place, own)| !loose.contains(place) && own.index && !own.serves.is_empty())
    };
    let count = |entity: usize| numbered().filter(|(_, own)| own.view.entity == entity).count();
    let first = part.entities.iter().copied().max_by_key(|entity| count(*entity));
    let mine = numbered().filter(|(_, own)| Some(own.view.entity) == first);
    mine.zip(1..).map(|((place, _), rank)| (place, rank)).collect()
}

/// Numbers the unnumbered entries: each gets the lowest number that its entity does not use.
pub(super) fn numbered(part: &Part, placed: &[(usize, Slot)]) -> Vec<(usize, Slot)> {
    let entity = |candidate: usize| part.candidates.get(candidate).map(|own| own.view.entity);
    let mut taken: BTreeSet<(Option<usize>, Slot)> =
        placed.iter().map(|(candidate, slot)| (entity(*candidate), *slot)).collect();
    let mut number = |candidate: usize, slot: Slot| {
        let nth = |number: usize| match slot {
            Slot::Local(_) => Slot::Local(number),
            _ => Slot::Global(number),
        };
        let free = (1..=placed.len()).map(nth).find(|slot| taken.insert((entity(candidate), *slot)));
        free.unwrap_or(slot)
    };
    let numbers = placed
        .iter()
        .map(|(candidate, slot)| (*candidate, if is_any(*slot) { number(*candidate, *slot) } else { *slot }));
    numbers.collect()
}

/// Whether two slots are of one kind.
pub(super) fn alike(one: Slot, other: Slot) -> bool {
    discriminant(&one) == discriminant(&other)
}
