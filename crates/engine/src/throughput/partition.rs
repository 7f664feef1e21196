//! One partition: its ceilings, the load of a minute, and where it is cut when it stays hot.

use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};
use keywright_semantics::throttle::Direction;

use super::bucket::{Bucket, MilliUnits, milli_of_units};
use crate::support::env::MINUTE_MS;
use crate::support::layout::after;
use crate::support::throughput::SplitRules;

const SECONDS_PER_MINUTE: u64 = 60;
/// Keys that are remembered of a minute's load.
const SAMPLES_MAX: usize = 64;
/// The first distance between two samples.
const FIRST_STRIDE: MilliUnits = 1000;
/// From this share of the load on, one item bears it, and a cut is useless.
const ONE_ITEM_PERCENT: usize = 50;
/// From this share of the load on above all keys of the minute before, keys grow in sequence.
const SEQUENCE_PERCENT: i64 = 90;

/// Units a second that one partition serves.
pub(crate) const fn ceiling(direction: Direction) -> u64 {
    match direction {
        Direction::Read => PARTITION_READ_UNITS_MAX,
        Direction::Write => PARTITION_WRITE_UNITS_MAX,
    }
}

/// What a partition was asked for in one minute.
#[derive(Clone, Debug, Default)]
struct MinuteLoad {
    units: [MilliUnits; 2],
    refused: u64,
    /// Units at keys above every key of the minute before.
    above: MilliUnits,
    highest: Vec<u8>,
    samples: Samples,
}

impl MinuteLoad {
    fn is_hot(&self, percent: u64) -> bool {
        let is_near = |direction: Direction| {
            let most = milli_of_units(ceiling(direction) * SECONDS_PER_MINUTE * percent / 100);
            self.units.get(direction.place()).is_some_and(|units| *units >= most)
        };
        self.refused > 0 || Direction::ALL.into_iter().any(is_near)
    }

    fn total(&self) -> MilliUnits {
        self.units.iter().sum()
    }

    fn report(&self) -> PartitionLoad {
        PartitionLoad {
            milli_units: self.units.map(|units| u64::try_from(units).unwrap_or(0)),
            refused: self.refused,
            keys: self.samples.keys.clone(),
        }
    }
}

/// The load of a partition in one minute, for reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionLoad {
    /// Read and write units, in thousandths.
    pub milli_units: [u64; 2],
    /// How often its ceiling refused.
    pub refused: u64,
    /// Some of the keys: a key's share of them is its share of the load.
    pub keys: Vec<Box<[u8]>>,
}

/// Keys of a load, taken at distances of units: a key's share of the samples is its share of the load.
///
/// The distances vary, since a load that goes round its keys would show the same key at every sample of a
/// fixed distance.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    keys: Vec<Box<[u8]>>,
    keys_max: usize,
    stride: MilliUnits,
    passed: MilliUnits,
    next: MilliUnits,
    state: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::of(SAMPLES_MAX)
    }
}

impl Samples {
    /// At most so many keys.
    pub(crate) const fn of(keys_max: usize) -> Self {
        Self { keys: Vec::new(), keys_max, stride: FIRST_STRIDE, passed: 0, next: 0, state: 1 }
    }

    pub(crate) fn into_keys(self) -> impl Iterator<Item = Box<[u8]>> {
        self.keys.into_iter()
    }

    pub(crate) fn add(&mut self, key: &[u8], units: MilliUnits) {
        self.passed = self.passed.saturating_add(units);
        while self.next < self.passed {
            if self.keys.len() >= self.keys_max {
                let mut place = 0_usize;
                self.keys.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride = self.stride.saturating_mul(2);
            }
            self.keys.push(key.into());
            self.next = self.next.saturating_add(self.distance());
        }
    }

    /// Half a stride to one and a half.
    fn distance(&mut self) -> MilliUnits {
        // A linear congruential generator; its high bits are the good ones.
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = i64::try_from(self.state >> 33).unwrap_or(0);
        self.stride / 2 + random % self.stride.max(1)
    }
}

/// Why a hot partition is not cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whole {
    /// One item bears the load, alone in its partition.
    OneItem,
    /// One collection bears the load, and a table with local indexes keeps it together.
    OneCollection,
    /// The keys grow in sequence.
    Sequence,
}

/// What becomes of a partition whose split is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// New partitions begin at these keys, in order.
    At(Vec<Vec<u8>>),
    Not(Whole),
    /// The load has gone.
    Cooled,
}

/// A range of keys that one node of the service would serve.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// The first key; keys are those within the table or index: the partition hash, then the sort key.
    pub start: Box<[u8]>,
    buckets: [Bucket; 2],
    minute: u64,
    load: MinuteLoad,
    /// The last whole minute.
    last: MinuteLoad,
    hot_minutes: u64,
    split_due_ms: Option<u64>,
    /// Why its last due split was not made.
    pub whole: Option<Whole>,
}

impl Partition {
    pub(crate) fn new(start: Vec<u8>, now_ms: u64) -> Self {
        let bucket = |direction| Bucket::new(ceiling(direction), 1, 1, now_ms);
        Self {
            start: start.into(),
            buckets: Direction::ALL.map(bucket),
            minute: now_ms / MINUTE_MS,
            load: MinuteLoad::default(),
            last: MinuteLoad::default(),
            hot_minutes: 0,
            split_due_ms: None,
            whole: None,
        }
    }

    /// A part of this partition that begins at a key.
    pub(crate) fn part(&self, start: Vec<u8>) -> Self {
        Self {
            start: start.into(),
            buckets: self.buckets.clone(),
            ..Self::new(Vec::new(), self.minute * MINUTE_MS)
        }
    }

    fn bucket(&mut self, direction: Direction) -> &mut Bucket {
        let [read, write] = &mut self.buckets;
        match direction {
            Direction::Read => read,
            Direction::Write => write,
        }
    }

    pub(crate) fn has_some(&mut self, direction: Direction, now_ms: u64) -> bool {
        self.bucket(direction).has_some(now_ms)
    }

    pub(crate) fn take(&mut self, direction: Direction, key: &[u8], units: MilliUnits, now_ms: u64) {
        self.bucket(direction).take(units, now_ms);
        if let Some(sum) = self.load.units.get_mut(direction.place()) {
            *sum = sum.saturating_add(units);
        }
        if !self.last.highest.is_empty() && key > self.last.highest.as_slice() {
            self.load.above = self.load.above.saturating_add(units);
        }
        if key > self.load.highest.as_slice() {
            self.load.highest = key.to_vec();
        }
        self.load.samples.add(key, units);
    }

    pub(crate) fn give_back(&mut self, direction: Direction, units: MilliUnits) {
        self.bucket(direction).give_back(units);
    }

    /// What it was asked for in the minute of `now_ms` and in the one before.
    pub(crate) fn loads(&self, now_ms: u64) -> [PartitionLoad; 2] {
        let minute = now_ms / MINUTE_MS;
        if minute <= self.minute {
            [self.load.report(), self.last.report()]
        } else if minute == self.minute + 1 {
            [PartitionLoad::default(), self.load.report()]
        } else {
            [PartitionLoad::default(), PartitionLoad::default()]
        }
    }

    pub(crate) const fn note_refused(&mut self) {
        self.load.refused = self.load.refused.saturating_add(1);
    }

    /// Ends the minute if another one has begun, and plans a split if enough minutes were hot.
    pub(crate) fn turn_minute(&mut self, now_ms: u64, rules: &SplitRules) {
        let minute = now_ms / MINUTE_MS;
        if minute <= self.minute {
            return;
        }
        let is_hot = self.load.is_hot(rules.heat_percent);
        let is_next = minute == self.minute + 1;
        self.hot_minutes = if is_hot { self.hot_minutes + 1 } else { 0 };
        if self.hot_minutes >= rules.minutes && self.split_due_ms.is_none() {
            let ended_ms = (self.minute + 1) * MINUTE_MS;
            self.split_due_ms = Some(ended_ms + rules.duration_s * 1000);
        }
        self.last = std::mem::take(&mut self.load);
        if !is_next {
            // At least one minute without any load lies between.
            self.hot_minutes = 0;
            self.last = MinuteLoad::default();
        }
        self.minute = minute;
    }

    /// Leaves a split that is due to the process that decides on it.
    pub(crate) fn leave_cut(&mut self, now_ms: u64) {
        if self.split_due_ms.is_some_and(|due_ms| now_ms >= due_ms) {
            self.split_due_ms = None;
            self.hot_minutes = 0;
        }
    }

    /// Decides on a split that is due. `end` is the first key of the next partition.
    pub(crate) fn due_cut(&mut self, now_ms: u64, end: Option<&[u8]>, cuts_collections: bool) -> Option<Cut> {
        if self.split_due_ms.is_none_or(|due_ms| now_ms < due_ms) {
            return None;
        }
        self.split_due_ms = None;
        let was_hot = self.hot_minutes > 0;
        self.hot_minutes = 0;
        if !was_hot {
            return Some(Cut::Cooled);
        }
        let cut = self.cut(end, cuts_collections);
        self.whole = match &cut {
            Cut::Not(whole) => Some(*whole),
            Cut::At(_) | Cut::Cooled => None,
        };
        Some(cut)
    }

    fn cut(&self, end: Option<&[u8]>, cuts_collections: bool) -> Cut {
        let load = &self.last;
        if load.above.saturating_mul(100) >= load.total().saturating_mul(SEQUENCE_PERCENT) && load.total() > 0
        {
            return Cut::Not(Whole::Sequence);
        }
        let mut keys = load.samples.keys.clone();
        keys.sort_unstable();
        let within = |cut: &[u8]| cut > &*self.start && end.is_none_or(|end| cut < end);
        let whole = |key: &[u8]| if cuts_collections { key.to_vec() } else { collection(key).to_vec() };
        if let Some(heavy) = heaviest(&keys, ONE_ITEM_PERCENT, |key| whole(key)) {
            let after =
                if cuts_collections { Some(after(&heavy).to_vec()) } else { after_collection(&heavy) };
            let cuts: Vec<Vec<u8>> =
                [Some(heavy), after].into_iter().flatten().filter(|cut| within(cut)).collect();
            let reason = if cuts_collections { Whole::OneItem } else { Whole::OneCollection };
            return if cuts.is_empty() { Cut::Not(reason) } else { Cut::At(cuts) };
        }
        // The middle of the load, or the next key that makes two parts.
        let (before, behind) = keys.split_at(keys.len() / 2);
        let upper = behind
            .iter()
            .map(|key| whole(key))
            .find(|cut| within(cut) && before.iter().any(|key| **key < **cut));
        match upper {
            Some(cut) => Cut::At(vec![cut]),
            None if cuts_collections => Cut::Not(Whole::OneItem),
            None => Cut::Not(Whole::OneCollection),
        }
    }
}

/// The value that at least this share of the samples has.
fn heaviest(keys: &[Box<[u8]>], percent: usize, value: impl Fn(&[u8]) -> Vec<u8>) -> Option<Vec<u8>> {
    let values: Vec<Vec<u8>> = keys.iter().map(|key| value(key)).collect();
    let heaviest = values.chunk_by(|one, next| one == next).max_by_key(|run| run.len())?;
    (heaviest.len() * 100 >= values.len() * percent).then(|| heaviest.first().cloned()).flatten()
}

const HASH_BYTES: usize = 16;

/// The collection's part of a key: its partition hash.
fn collection(key: &[u8]) -> &[u8] {
    key.get(..HASH_BYTES).unwrap_or(key)
}

/// The first possible key of the next collection; none behind the last.
fn after_collection(hash: &[u8]) -> Option<Vec<u8>> {
    let hash = u128::from_be_bytes(hash.try_into().ok()?);
    Some(hash.checked_add(1)?.to_be_bytes().to_vec())
}
