//! The partitions of one table or index: ranges of its keys without gap or overlap. They are split, never
//! merged.

use keywright_semantics::throttle::Direction;

use super::partition::{Cut, Partition, PartitionLoad, Whole, ceiling};
use crate::support::throughput::SplitRules;

/// Partitions of one table or index; our own bound for what a client can make the server keep.
const PARTITIONS_MAX: usize = 4096;

/// One partition, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    /// The first key within the table or index: the partition hash, then the sort key.
    pub start: Vec<u8>,
    /// Why it was not split when a split was due; none if it was, or never had to be.
    pub whole: Option<Whole>,
}

/// Which process decides on the splits of hot partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Splits {
    /// This one. An item collection may be spread over partitions, or stays together.
    Here { cuts_collections: bool },
    /// Another one over the same store.
    Elsewhere,
}

/// The partitions in the order of their keys. Invariant: the first begins at the empty key.
#[derive(Clone, Debug)]
pub(crate) struct PartitionMap {
    partitions: Vec<Partition>,
}

/// The partitions that serve so many units.
pub(crate) fn needed(read_units: u64, write_units: u64) -> usize {
    let of = |units: u64, direction| units.div_ceil(ceiling(direction));
    let needed = of(read_units, Direction::Read).max(of(write_units, Direction::Write)).max(1);
    usize::try_from(needed).unwrap_or(PARTITIONS_MAX).min(PARTITIONS_MAX)
}

impl PartitionMap {
    /// Equal parts of the hash space.
    pub(crate) fn equal(count: usize, now_ms: u64) -> Self {
        let count = u128::try_from(count.clamp(1, PARTITIONS_MAX)).unwrap_or(1);
        let share = u128::MAX / count;
        let start = |part: u128| {
            if part == 0 { Vec::new() } else { share.saturating_mul(part).to_be_bytes().to_vec() }
        };
        Self { partitions: (0..count).map(|part| Partition::new(start(part), now_ms)).collect() }
    }

    /// Partitions that begin at these keys.
    pub(crate) fn of_starts(starts: Vec<Vec<u8>>, now_ms: u64) -> Option<Self> {
        let begins_empty = starts.first().is_some_and(Vec::is_empty);
        let in_order = starts.is_sorted_by(|one, next| one < next);
        let partitions = starts.into_iter().map(|start| Partition::new(start, now_ms)).collect();
        (begins_empty && in_order).then_some(Self { partitions })
    }

    pub(crate) fn starts(&self) -> Vec<Vec<u8>> {
        self.partitions.iter().map(|partition| partition.start.to_vec()).collect()
    }

    /// Every partition as it stands.
    pub(crate) fn states(&self) -> Vec<PartitionState> {
        let state = |own: &Partition| PartitionState { start: own.start.to_vec(), whole: own.whole };
        self.partitions.iter().map(state).collect()
    }

    /// The load of every partition in the minute of `now_ms` and in the one before.
    pub(crate) fn loads(&self, now_ms: u64) -> Vec<[PartitionLoad; 2]> {
        self.partitions.iter().map(|partition| partition.loads(now_ms)).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.partitions.len()
    }

    /// The partition of a key.
    pub(crate) fn place(&self, key: &[u8]) -> usize {
        self.partitions.partition_point(|partition| *partition.start <= *key).saturating_sub(1)
    }

    pub(crate) fn at(&mut self, place: usize) -> &mut Partition {
        self.partitions.get_mut(place).expect("a place that `place` returned since the last split")
    }

    /// Halves every partition until there are enough.
    pub(crate) fn grow_to(&mut self, count: usize) -> bool {
        let before = self.len();
        while self.len() < count {
            let halved = self.halved();
            if halved.len() == self.len() || halved.len() > PARTITIONS_MAX {
                break;
            }
            self.partitions = halved;
        }
        self.check();
        self.len() > before
    }

    fn halved(&self) -> Vec<Partition> {
        let mut halved = Vec::with_capacity(self.len() * 2);
        for (place, partition) in self.partitions.iter().enumerate() {
            let end = self.partitions.get(place + 1).map_or(u128::MAX, |next| head(&next.start));
            let start = head(&partition.start);
            let middle = (start + (end.saturating_sub(start)) / 2).to_be_bytes().to_vec();
            halved.push(partition.clone());
            if middle.as_slice() > &*partition.start && end.saturating_sub(start) > 1 {
                halved.push(partition.part(middle));
            }
        }
        halved
    }

    /// Ends the minute of a key's partition, and splits it if that is due. True if the map changed.
    pub(crate) fn turn(&mut self, place: usize, now_ms: u64, rules: &SplitRules, splits: Splits) -> bool {
        let end = self.partitions.get(place + 1).map(|next| next.start.clone());
        let is_full = self.len() >= PARTITIONS_MAX;
        let partition = self.at(place);
        partition.turn_minute(now_ms, rules);
        let Splits::Here { cuts_collections } = splits else {
            partition.leave_cut(now_ms);
            return false;
        };
        let Some(Cut::At(cuts)) = partition.due_cut(now_ms, end.as_deref(), cuts_collections) else {
            return false;
        };
        if is_full {
            return false;
        }
        let parts: Vec<Partition> = cuts.into_iter().map(|cut| partition.part(cut)).collect();
        let behind = self.partitions.split_off(place + 1);
        self.partitions.extend(parts.into_iter().chain(behind));
        self.check();
        true
    }

    /// Follows the splits of another process: a partition begins at each of these keys.
    pub(crate) fn adopt(&mut self, starts: &[Vec<u8>]) {
        for start in starts {
            let place = self.place(start);
            if *self.at(place).start != **start && self.len() < PARTITIONS_MAX {
                let part = self.at(place).part(start.clone());
                self.partitions.insert(place + 1, part);
            }
        }
        self.check();
    }

    /// # Panics
    ///
    /// If the partitions do not cover all keys in order.
    fn check(&self) {
        assert!(
            self.partitions.first().is_some_and(|first| first.start.is_empty()),
            "every key has a partition"
        );
        let in_order = self.partitions.is_sorted_by(|one, next| one.start < next.start);
        assert!(in_order, "partitions are in the order of their keys");
    }
}

/// The first 16 bytes of a key as a number.
fn head(key: &[u8]) -> u128 {
    let mut head = [0_u8; 16];
    for (byte, from) in head.iter_mut().zip(key) {
        *byte = *from;
    }
    u128::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provisioned_units_decide_the_partitions_at_birth_and_halve_all_when_they_grow() {
        let mut map = PartitionMap::equal(needed(1, 3200), 0);
        let counts = [3200, 3600, 6000].map(|units| {
            map.grow_to(needed(1, units));
            map.len()
        });
        assert_eq!(counts, [4, 4, 8]);
    }

    #[test]
    fn every_key_has_one_partition() {
        let mut map = PartitionMap::equal(5, 0);
        map.grow_to(40);
        assert_eq!(map.len(), 40);
        assert_eq!(map.place(&[]), 0);
        assert_eq!(map.place(&[0xff; 40]), 39);
        let starts = map.starts();
        for (place, start) in starts.iter().enumerate() {
            assert_eq!(map.place(start), place);
        }
        assert_eq!(PartitionMap::of_starts(starts.clone(), 0).map(|map| map.starts()), Some(starts));
    }
}
