//! Contributor insights: which keys consume the most and are throttled most, per rule and minute.
//!
//! Requests on tables with insights add to the present minute in memory, behind a lock of some tables.
//! Requests on other tables never come here. A step writes finished minutes to the store
//! (`monitoring::insight_rows`). It does not know what an operation does.

pub(crate) mod contributor;
pub(crate) mod rows;
pub(crate) mod sketch;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::contributor::Contributors;
use self::rows::Minute;
use self::sketch::{Memory, Sketch};
use crate::catalogue::{InsightsState, Rule, RuleKind, Table};
use crate::support::layout::{IndexId, TableId};

/// Tables of one shard share a lock.
const SHARDS: u64 = 16;
/// Memory of the counted keys of all rules in the present minute.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Memory of a shard's finished minutes while the store takes none. Beyond it the oldest ones are dropped.
const FINISHED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// So many half units were consumed: three for each half unit written (developer guide: contributor
    /// insights).
    Consumed(u64),
    Throttled,
}

/// An event counts in halves, as units do.
const THROTTLE_HALVES: u64 = 2;

impl Event {
    const fn value(self) -> u64 {
        match self {
            Self::Consumed(half_units) => half_units,
            Self::Throttled => THROTTLE_HALVES,
        }
    }

    /// The kinds of rules that count it: for partitions and items.
    const fn kinds(self) -> (RuleKind, RuleKind) {
        match self {
            Self::Consumed(_) => (RuleKind::PartitionConsumed, RuleKind::ItemConsumed),
            Self::Throttled => (RuleKind::PartitionThrottled, RuleKind::ItemThrottled),
        }
    }
}

/// The rules of a table or index in one minute.
#[derive(Debug)]
struct Open {
    minute: u64,
    rules_ms: u64,
    sketches: [Option<Sketch>; RuleKind::ALL.len()],
}

impl Open {
    const fn new(minute: u64, rules_ms: u64) -> Self {
        Self { minute, rules_ms, sketches: [const { None }; RuleKind::ALL.len()] }
    }

    fn bytes(&self) -> usize {
        self.sketches.iter().flatten().map(Sketch::bytes).sum()
    }

    /// The minutes of all its rules.
    fn minutes(&self, table: TableId, index: Option<IndexId>) -> impl Iterator<Item = Finished> {
        RuleKind::ALL.into_iter().zip(&self.sketches).filter_map(move |(kind, sketch)| {
            let rule = Rule { index, kind, rules_ms: self.rules_ms };
            Some((table, rule, Minute::of(self.minute, sketch.as_ref()?)))
        })
    }

    /// The minute of one rule.
    fn minute_of(&self, rule: Rule) -> Option<Minute> {
        let sketch = self.sketches.get(rule.kind.place())?.as_ref();
        sketch.filter(|_| self.rules_ms == rule.rules_ms).map(|sketch| Minute::of(self.minute, sketch))
    }
}

/// What a rule of a table counted in a minute that has ended.
pub(crate) type Finished = (TableId, Rule, Minute);

#[derive(Debug, Default)]
struct Shard {
    open: HashMap<(TableId, Option<IndexId>), Open>,
    /// Every minute before this one was taken to be written: what comes late counts for this one.
    open_from: u64,
    /// Finished minutes that are not written yet, the oldest first, and their memory.
    finished: VecDeque<Finished>,
    finished_bytes: usize,
}

impl Shard {
    /// The open minute of a table or index; an earlier one, or one of earlier rules, is finished.
    fn of(
        &mut self,
        (table, index): (TableId, Option<IndexId>),
        (minute, rules_ms): (u64, u64),
        bytes: &AtomicUsize,
    ) -> &mut Open {
        let minute = minute.max(self.open_from);
        let open = self.open.entry((table, index)).or_insert_with(|| Open::new(minute, rules_ms));
        if open.minute < minute || open.rules_ms != rules_ms {
            let ended = std::mem::replace(open, Open::new(minute, rules_ms));
            bytes.fetch_sub(ended.bytes(), Ordering::Relaxed);
            for finished in ended.minutes(table, index) {
                push(&mut self.finished, &mut self.finished_bytes, finished);
            }
        }
        open
    }

    fn take_finished(&mut self) -> VecDeque<Finished> {
        self.finished_bytes = 0;
        std::mem::take(&mut self.finished)
    }
}

/// Keeps a minute, and drops the oldest ones that no memory is left for.
fn push(finished: &mut VecDeque<Finished>, bytes: &mut usize, added: Finished) {
    *bytes += added.2.bytes();
    finished.push_back(added);
    while *bytes > FINISHED_BYTES_MAX {
        let Some((.., dropped)) = finished.pop_front() else { break };
        *bytes -= dropped.bytes();
    }
}

/// What all rules of one engine have counted.
#[derive(Debug)]
pub(crate) struct Insights {
    shards: [Mutex<Shard>; 16],
    /// Memory of the keys of all open minutes.
    bytes: AtomicUsize,
    seeded: DefaultHasher,
    /// Every minute before this one is written.
    pub(crate) written_minute: AtomicU64,
    /// When the next look for old minutes begins.
    pub(crate) trim_ms: AtomicU64,
    /// Held while finished minutes are written, so that a reader sees each one once.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

impl Insights {
    pub(crate) fn new(seed: u128) -> Self {
        let mut seeded = DefaultHasher::new();
        seeded.write_u128(seed);
        Self {
            shards: Default::default(),
            bytes: AtomicUsize::new(0),
            seeded,
            written_minute: AtomicU64::new(0),
            trim_ms: AtomicU64::new(0),
            writing: tokio::sync::Mutex::default(),
        }
    }

    fn shard(&self, table: TableId) -> MutexGuard<'_, Shard> {
        let place = usize::try_from(table.0 % SHARDS).unwrap_or_default();
        let shard = self.shards.get(place).expect("every table has a shard");
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an event of a table or index whose insights are on.
    pub(crate) fn add(
        &self,
        table: &Table,
        index: Option<IndexId>,
        state: &InsightsState,
        (minute, event, contributors): (u64, Event, &Contributors),
    ) {
        let Some((_, key)) = table.observed(index) else { return };
        let (of_partition, of_item) = event.kinds();
        let item = contributors.item.as_ref().map(|item| (of_item, item));
        let events = std::iter::once((of_partition, &contributors.partition)).chain(item);
        let mut shard = self.shard(table.id);
        for (kind, contributor) in events.filter(|(kind, _)| state.has(*kind, key)) {
            let is_free = self.bytes.load(Ordering::Relaxed) < BYTES_MAX;
            let memory = if is_free { Memory::Free } else { Memory::UsedUp };
            let open = shard.of((table.id, index), (minute, state.rules_ms), &self.bytes);
            let slot = open.sketches.get_mut(kind.place()).expect("every kind has a place");
            let sketch = slot.get_or_insert_default();
            let before = sketch.bytes();
            sketch.add(contributor, event.value(), memory, &self.seeded);
            let after = sketch.bytes();
            self.bytes.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
            self.bytes.fetch_sub(before.saturating_sub(after), Ordering::Relaxed);
        }
    }

    /// Takes every minute before this one, or all minutes when the engine stops.
    pub(crate) fn take_finished(&self, before_minute: u64) -> Vec<Finished> {
        let mut taken = Vec::new();
        for shard in &self.shards {
            let (finished, ended) = {
                let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
                if before_minute < u64::MAX {
                    shard.open_from = shard.open_from.max(before_minute);
                }
                let ended = shard.open.extract_if(|_, open| open.minute < before_minute);
                let ended: Vec<_> = ended.collect();
                (shard.take_finished(), ended)
            };
            taken.extend(finished);
            // Finding the heaviest keys takes long: without the lock, for which requests wait.
            for ((table, index), open) in ended {
                self.bytes.fetch_sub(open.bytes(), Ordering::Relaxed);
                taken.extend(open.minutes(table, index));
            }
        }
        taken
    }

    /// Gives back minutes that could not be written.
    pub(crate) fn put_back(&self, minutes: Vec<Finished>) {
        for minute in minutes {
            let mut shard = self.shard(minute.0);
            let Shard { finished, finished_bytes, .. } = &mut *shard;
            push(finished, finished_bytes, minute);
        }
    }

    /// The minutes of a rule that are not written yet.
    pub(crate) fn unwritten(&self, table: TableId, rule: Rule) -> Vec<Minute> {
        let shard = self.shard(table);
        let finished = shard.finished.iter().filter(|(of, known, _)| *of == table && *known == rule);
        let mut found: Vec<Minute> = finished.map(|(_, _, minute)| minute.clone()).collect();
        found.extend(shard.open.get(&(table, rule.index)).and_then(|open| open.minute_of(rule)));
        found
    }

    /// Forgets a table that is gone.
    pub(crate) fn forget(&self, table: TableId) {
        let mut shard = self.shard(table);
        shard.finished.retain(|(of, ..)| *of != table);
        shard.finished_bytes = shard.finished.iter().map(|(.., minute)| minute.bytes()).sum();
        let gone: usize =
            shard.open.extract_if(|(of, _), _| *of == table).map(|(_, open)| open.bytes()).sum();
        self.bytes.fetch_sub(gone, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insights::contributor::Contributor;

    /// A finished minute of a table with one long key.
    fn finished(minute: u64) -> Finished {
        let mut sketch = Sketch::default();
        let key = Contributor::new(&"k".repeat(4000), None);
        sketch.add(&key, 1, Memory::Free, &DefaultHasher::new());
        let rule = Rule { index: None, kind: RuleKind::PartitionConsumed, rules_ms: 0 };
        (TableId(1), rule, Minute::of(minute, &sketch))
    }

    #[test]
    fn minutes_that_the_store_does_not_take_are_dropped_from_the_oldest_on() {
        let insights = Insights::new(0);
        insights.put_back((0..2000).map(finished).collect());
        let kept = insights.take_finished(0);
        assert!((500..1100).contains(&kept.len()), "{}", kept.len());
        assert_eq!(kept.last().map(|(.., minute)| minute.number), Some(1999));
        insights.put_back(kept);
        let again = insights.take_finished(0);
        assert_eq!(again.last().map(|(.., minute)| minute.number), Some(1999));
        assert!(insights.take_finished(0).is_empty());
    }

    #[test]
    fn a_table_that_is_gone_takes_no_memory() {
        let insights = Insights::new(0);
        insights.put_back(vec![finished(1), finished(2)]);
        insights.forget(TableId(1));
        assert_eq!(insights.shard(TableId(1)).finished_bytes, 0);
        assert!(insights.take_finished(5).is_empty());
    }
}
