//! Order within an item collection: sort keys such that one range returns several entities and nothing else.
//!
//! A pattern for several entities reads one range of sort keys, so these entities must be adjacent in the
//! collection. Whether all such patterns can have adjacent entities is the consecutive-ones property of their
//! entity sets. Other entities sort at the end, so only the patterns themselves can conflict.

use std::collections::BTreeSet;

/// Steps after which the search for an order stops.
const STEPS_MAX: usize = 50_000;
/// Up to this many different sets all subsets are tried; of more, only subsets of at most this size.
const SETS_MAX: usize = 10;
const TRIED_MAX: usize = 4;

/// An order in which each set is adjacent and the first of each pair comes before the second; among several,
/// the one that changes the given order least.
pub(super) fn order(
    things: &[usize],
    sets: &[BTreeSet<usize>],
    before: &[(usize, usize)],
) -> Option<Vec<usize>> {
    let mut search = Search { things, sets, before, placed: Vec::new(), steps: 0 };
    search.goes_on().then_some(search.placed)
}

struct Search<'a> {
    things: &'a [usize],
    sets: &'a [BTreeSet<usize>],
    before: &'a [(usize, usize)],
    placed: Vec<usize>,
    steps: usize,
}

impl Search<'_> {
    fn goes_on(&mut self) -> bool {
        self.steps += 1;
        if self.placed.len() == self.things.len() {
            return true;
        }
        let next: Vec<usize> = self.things.iter().copied().filter(|own| self.may_be_next(*own)).collect();
        for own in next {
            self.placed.push(own);
            if self.steps < STEPS_MAX && self.goes_on() {
                return true;
            }
            self.placed.pop();
        }
        false
    }

    fn may_be_next(&self, own: usize) -> bool {
        let here = |other: &usize| self.placed.contains(other);
        let begun = |set: &&BTreeSet<usize>| set.iter().any(here) && !set.iter().all(here);
        !here(&own)
            && self.sets.iter().filter(begun).all(|set| set.contains(&own))
            && self.before.iter().all(|(first, second)| *second != own || here(first))
    }
}

/// The smallest families of these sets, by index, that no order makes adjacent together.
pub(super) fn conflicts(sets: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let most = if sets.len() <= SETS_MAX { sets.len() } else { TRIED_MAX };
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    // Any two sets can be adjacent, with their intersection in the middle.
    for size in 3..=most {
        for family in families(sets.len(), size) {
            if found.iter().any(|less| less.is_subset(&family)) {
                continue;
            }
            let own: Vec<BTreeSet<usize>> =
                family.iter().filter_map(|place| sets.get(*place)).cloned().collect();
            let things: Vec<usize> =
                own.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
            if order(&things, &own, &[]).is_none() {
                found.push(family);
            }
        }
    }
    found
}

/// All subsets of a size of the numbers below `below`.
fn families(below: usize, size: usize) -> Vec<BTreeSet<usize>> {
    let mut found: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
    for _ in 0..size {
        let longer = found.iter().flat_map(|family| {
            let from = family.last().map_or(0, |last| last + 1);
            (from..below).map(|place| family.iter().copied().chain([place]).collect())
        });
        found = longer.collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(sets: &[&[usize]]) -> Vec<BTreeSet<usize>> {
        sets.iter().map(|set| set.iter().copied().collect()).collect()
    }

    #[test]
    fn entities_that_two_patterns_share_are_between_the_others() {
        let found = order(&[0, 1, 2], &sets(&[&[0, 1], &[0, 2]]), &[]);
        assert_eq!(found, Some(vec![1, 0, 2]));
    }

    #[test]
    fn the_given_order_is_kept_where_it_will_do() {
        assert_eq!(order(&[3, 1, 2], &sets(&[&[1, 2]]), &[]), Some(vec![3, 1, 2]));
        assert_eq!(order(&[3, 1, 2], &sets(&[&[1, 2]]), &[(2, 1)]), Some(vec![3, 2, 1]));
    }

    #[test]
    fn three_neighbours_of_one_and_three_in_a_ring_have_no_order() {
        let star = sets(&[&[0, 1], &[0, 2], &[0, 3]]);
        assert_eq!(conflicts(&star), sets(&[&[0, 1, 2]]));
        let ring = sets(&[&[0, 1], &[1, 2], &[2, 0], &[0, 1, 2]]);
        assert_eq!(conflicts(&ring), sets(&[&[0, 1, 2]]));
        assert_eq!(conflicts(&sets(&[&[0, 1, 2], &[0, 1], &[2, 3]])), Vec::new());
    }
}
