//! What one rule counted in one minute: the heaviest keys, in bounded memory.
//!
//! Up to `KEYS_MAX` keys are counted exactly. Beyond, a new key takes the place of the lightest one and its
//! value (Metwally, Agrawal, El Abbadi: space-saving): the heaviest keys are never lost, and no value is too
//! small. Which of several lightest keys goes depends on a seed, so that clients cannot choose it.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::contributor::Contributor;

/// Keys that are counted exactly.
const KEYS_MAX: usize = 4096;
/// Keys that are counted even if the memory for all rules is used up: as many as a report has.
const KEYS_MIN: usize = keywright_semantics::limits::CONTRIBUTORS_MAX;
/// Memory of a counted key in addition to its text.
const KEY_BYTES: usize = 160;

/// Values of one key, or of all keys. In half units, or halves of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub sum: u64,
    pub samples: u64,
    pub min: u64,
    pub max: u64,
}

impl Count {
    fn add(&mut self, value: u64) {
        self.merge(&Self { sum: value, samples: 1, min: value, max: value });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.samples == 0 {
            return;
        }
        self.min = if self.samples == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.samples = self.samples.saturating_add(other.samples);
        assert!(self.min <= self.max, "the smallest value is not above the largest");
    }
}

/// The lightest keys first; among equals, in the order of a seeded hash.
type Order = BTreeSet<(u64, u64, Contributor)>;

/// The counters of one rule and minute.
///
/// Invariant: `order`, if there is one, holds each counted key once, with its sum.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    counts: HashMap<Contributor, Count>,
    /// Kept from the first key on that found no place.
    order: Option<Order>,
    pub all: Count,
    bytes: usize,
}

/// Whether there is memory for another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Free,
    UsedUp,
}

impl Sketch {
    /// Counts a value of a key.
    pub(crate) fn add(
        &mut self,
        contributor: &Contributor,
        value: u64,
        memory: Memory,
        seeded: &DefaultHasher,
    ) {
        self.all.add(value);
        if let Some(count) = self.counts.get_mut(contributor) {
            let old = count.sum;
            count.add(value);
            if let Some(order) = &mut self.order {
                let tie = tie(contributor, seeded);
                order.remove(&(old, tie, contributor.clone()));
                order.insert((count.sum, tie, contributor.clone()));
            }
        } else {
            let is_full =
                self.counts.len() >= KEYS_MAX || (memory == Memory::UsedUp && self.counts.len() >= KEYS_MIN);
            let inherited = if is_full { self.replace_lightest(seeded) } else { 0 };
            let count = Count { sum: inherited.saturating_add(value), samples: 1, min: value, max: value };
            if let Some(order) = &mut self.order {
                order.insert((count.sum, tie(contributor, seeded), contributor.clone()));
            }
            self.bytes += contributor.bytes() + KEY_BYTES;
            self.counts.insert(contributor.clone(), count);
        }
    }

    /// Removes the lightest key, and returns its sum.
    fn replace_lightest(&mut self, seeded: &DefaultHasher) -> u64 {
        let counts = &self.counts;
        let order = self.order.get_or_insert_with(|| {
            counts.iter().map(|(key, count)| (count.sum, tie(key, seeded), key.clone())).collect()
        });
        let (sum, _, lightest) = order.pop_first().expect("a full sketch has keys");
        self.counts.remove(&lightest).expect("every key of the order is counted");
        self.bytes -= lightest.bytes() + KEY_BYTES;
        sum
    }

    /// Memory of all keys.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of counted keys.
    pub(crate) fn keys(&self) -> usize {
        self.counts.len()
    }

    /// The heaviest keys, at most so many, and of those beyond `least` only as many as have so many bytes of
    /// texts.
    pub(crate) fn heaviest(
        &self,
        (least, most): (usize, usize),
        bytes_max: usize,
    ) -> Vec<(Contributor, Count)> {
        let mut all: Vec<(&Contributor, &Count)> = self.counts.iter().collect();
        all.sort_unstable_by(|(one, a), (other, b)| b.sum.cmp(&a.sum).then_with(|| one.cmp(other)));
        let mut bytes = 0;
        let kept = all.into_iter().take(most).enumerate().take_while(|(place, (key, _))| {
            bytes += key.bytes();
            *place < least || bytes <= bytes_max
        });
        kept.map(|(_, (key, count))| (key.clone(), *count)).collect()
    }
}

fn tie(contributor: &Contributor, seeded: &DefaultHasher) -> u64 {
    let mut hasher = seeded.clone();
    contributor.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Contributor {
        Contributor::new(&format!("key{number}"), None)
    }

    fn heaviest(sketch: &Sketch, most: usize) -> Vec<(String, u64)> {
        let found = sketch.heaviest((1, most), usize::MAX);
        found.into_iter().map(|(key, count)| (key.parts().0.to_owned(), count.sum)).collect()
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let (mut sketch, seeded) = (Sketch::default(), DefaultHasher::new());
        for number in 0..KEYS_MAX {
            for value in [1, 5] {
                sketch.add(&key(number), value + u64::from(number == 7), Memory::Free, &seeded);
            }
        }
        assert_eq!(heaviest(&sketch, 1), [("key7".to_owned(), 8)]);
        let (_, count) = sketch.heaviest((1, 2), usize::MAX).pop().expect("there are two");
        assert_eq!(count, Count { sum: 6, samples: 2, min: 1, max: 5 });
        assert_eq!(sketch.all.samples, 2 * 4096);
        assert_eq!(sketch.order, None);
    }

    /// Keys of one event each, a hundred for every event of a heavy key: the heavy ones stay, the number of
    /// keys does not grow, and no key's value is below what was counted.
    #[test]
    fn of_many_keys_the_heaviest_stay_and_are_never_undercounted() {
        let (mut sketch, seeded) = (Sketch::default(), DefaultHasher::new());
        let mut light = 1000;
        for _ in 0..300 {
            for heavy in 0..3 {
                sketch.add(&key(heavy), 10, Memory::Free, &seeded);
                for _ in 0..100 {
                    sketch.add(&key(light), 1, Memory::Free, &seeded);
                    light += 1;
                }
            }
        }
        assert_eq!(sketch.keys(), KEYS_MAX);
        let found = heaviest(&sketch, 3);
        let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["key0", "key1", "key2"]));
        assert!(found.iter().all(|(_, sum)| *sum >= 3000), "{found:?}");
        assert_eq!(sketch.all.sum, 300 * 3 * 110, "sums of all keys are exact");
        let order = sketch.order.as_ref().expect("keys found no place");
        assert_eq!(order.len(), KEYS_MAX);
        let bytes: usize = sketch.counts.keys().map(|key| key.bytes() + KEY_BYTES).sum();
        assert_eq!(sketch.bytes(), bytes);
    }

    #[test]
    fn without_memory_as_many_keys_are_counted_as_a_report_has() {
        let (mut sketch, seeded) = (Sketch::default(), DefaultHasher::new());
        for number in 0..100 {
            sketch.add(&key(number), 1, Memory::UsedUp, &seeded);
        }
        assert_eq!(sketch.keys(), KEYS_MIN);
    }

    #[test]
    fn long_keys_are_kept_up_to_a_number_of_bytes() {
        let (mut sketch, seeded) = (Sketch::default(), DefaultHasher::new());
        for number in 0..50 {
            sketch.add(&Contributor::new(&"x".repeat(1000 + number), None), 1, Memory::Free, &seeded);
        }
        assert_eq!(sketch.heaviest((25, 100), 10_000).len(), 25);
        assert_eq!(sketch.heaviest((25, 100), 1_000_000).len(), 50);
    }
}
