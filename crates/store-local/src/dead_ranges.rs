//! Ranges of keys without a live row, so that scans need not pass over deleted rows again and again.
//!
//! A deleted row stays in the buffers and tables until they are merged. A queue whose rows are taken from
//! its head would make each scan of the head pass over all rows taken before. A scan that has passed over
//! many of them reports the range. The commit thread adds it to the dead ranges, and removes keys that a
//! later commit writes. Nothing is stored on disk.

use std::collections::BTreeMap;
use std::ops::Bound;

use lsm_tree::Slice;

use crate::keys::{after, own};

/// Deleted rows in a row that make a range worth reporting.
pub(crate) const RUN_LEN_MIN: usize = 64;
/// The number of ranges that are kept. A put into a range copies all of them.
const RANGES_MAX: usize = 256;

/// A range that a scan found without live rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeadRange {
    pub(crate) start: Slice,
    /// Exclusive.
    pub(crate) end: Slice,
}

/// Invariant: ranges do not overlap, and no layer of the view that holds them has a live row in one.
#[derive(Clone, Default)]
pub(crate) struct DeadRanges {
    ends: BTreeMap<Slice, Slice>,
}

impl DeadRanges {
    /// The range that a key is in.
    pub(crate) fn containing(&self, key: &[u8]) -> Option<(&Slice, &Slice)> {
        self.ends
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()
            .filter(|(_, end)| key < end.as_ref())
    }

    /// Adds a range and joins it with those that it overlaps or touches.
    pub(crate) fn add(&mut self, found: &DeadRange) {
        if found.start >= found.end {
            return;
        }
        let (mut start, mut end) = (own(&found.start), own(&found.end));
        if let Some((before, before_end)) =
            self.ends.range::<[u8], _>((Bound::Unbounded, Bound::Included(start.as_ref()))).next_back()
            && *before_end >= start
        {
            end = end.max(before_end.clone());
            start = before.clone();
        }
        let joined: Vec<Slice> =
            self.ends.range(start.clone()..=end.clone()).map(|(key, _)| key.clone()).collect();
        for key in joined {
            end = self.ends.remove(&key).map_or(end.clone(), |other| end.max(other));
        }
        if self.ends.len() >= RANGES_MAX {
            self.ends.pop_first();
        }
        self.ends.insert(start, end);
    }

    /// Removes one key from the ranges, because it has a live row now.
    pub(crate) fn exclude(&mut self, key: &[u8]) {
        let Some((start, end)) = self.containing(key).map(|(start, end)| (start.clone(), end.clone())) else {
            return;
        };
        self.ends.remove(&start);
        if start.as_ref() < key {
            self.ends.insert(start, Slice::from(key));
        }
        let next = after(key);
        if next < end {
            self.ends.insert(next, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use keywright_store::random::Random;

    use super::*;

    fn key(number: u64) -> Slice {
        Slice::from([u8::try_from(number).unwrap()])
    }

    /// Ranges over 200 keys, compared with a plain set of dead keys.
    #[test]
    fn ranges_are_as_the_set_of_their_keys() {
        let mut random = Random::new(3);
        let (mut ranges, mut model) = (DeadRanges::default(), BTreeSet::new());
        for _ in 0..5_000 {
            let (one, other) = (random.below(200), random.below(200));
            if random.below(3) == 0 {
                let (start, end) = (one.min(other), one.max(other).min(one.min(other) + 20));
                ranges.add(&DeadRange { start: key(start), end: key(end) });
                model.extend(start..end);
            } else {
                ranges.exclude(&key(one));
                model.remove(&one);
            }
            for number in 0..200 {
                assert_eq!(ranges.containing(&key(number)).is_some(), model.contains(&number), "{number}");
            }
            let pairs: Vec<_> = ranges.ends.iter().collect();
            assert!(pairs.windows(2).all(|pair| pair[0].1 <= pair[1].0), "they do not overlap");
        }
    }

    #[test]
    fn their_number_is_bounded() {
        let mut ranges = DeadRanges::default();
        for number in 0..10_000_u32 {
            let bytes = (number * 2).to_be_bytes();
            ranges.add(&DeadRange {
                start: Slice::from(bytes),
                end: Slice::from((number * 2 + 1).to_be_bytes()),
            });
        }
        assert_eq!(ranges.ends.len(), RANGES_MAX);
    }
}
