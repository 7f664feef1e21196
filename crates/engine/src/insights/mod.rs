//! Contributor insights: which keys consume the most and are throttled most, per rule and minute.
//!
//! Requests on tables with insights add to the present minute in memory, behind a lock of some tables.
//! Requests on other tables never come here. A step writes finished minutes to the store
//! (`monitoring::insight_rows`). It does not know what an operation does.

pub(crate) mod contributor;
pub(crate) mod rows;
pub(crate) mod sketch;

use std::collections::HashMap;
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
/// Finished minutes of rules that are kept while the store takes none. Older ones are dropped.
const FINISHED_MAX: usize = 2000;

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
    fn minutes(&self, index: Option<IndexId>) -> impl Iterator<Item = (Rule, Minute)> {
        RuleKind::ALL.into_iter().zip(&self.sketches).filter_map(move |(kind, sketch)| {
            let rule = Rule { index, kind, rules_ms: self.rules_ms };
            Some((rule, Minute::of(self.minute, sketch.as_ref()?)))
        })
    }
}

#[derive(Debug, Default)]
struct Shard {
    open: HashMap<(TableId, Option<IndexId>), Open>,
    /// Every minute before this one was taken to be written: what comes late counts for this one.
    open_from: u64,
    /// Finished minutes that are not written yet.
    finished: Vec<(TableId, Rule, Minute)>,
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
            self.finished.extend(ended.minutes(index).map(|(rule, minute)| (table, rule, minute)));
            let beyond = self.finished.len().saturating_sub(FINISHED_MAX);
            self.finished.drain(..beyond);
        }
        open
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
    pub(crate) fn take_finished(&self, before_minute: u64) -> Vec<(TableId, Rule, Minute)> {
        let mut taken = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            taken.append(&mut shard.finished);
            if before_minute < u64::MAX {
                shard.open_from = shard.open_from.max(before_minute);
            }
            for ((table, index), open) in shard.open.extract_if(|_, open| open.minute < before_minute) {
                self.bytes.fetch_sub(open.bytes(), Ordering::Relaxed);
                taken.extend(open.minutes(index).map(|(rule, minute)| (table, rule, minute)));
            }
        }
        taken
    }

    /// Gives back minutes that could not be written.
    pub(crate) fn put_back(&self, minutes: Vec<(TableId, Rule, Minute)>) {
        for (table, rule, minute) in minutes {
            let mut shard = self.shard(table);
            if shard.finished.len() < FINISHED_MAX {
                shard.finished.push((table, rule, minute));
            }
        }
    }

    /// The minutes of a rule that are not written yet.
    pub(crate) fn unwritten(&self, table: TableId, rule: Rule) -> Vec<Minute> {
        let shard = self.shard(table);
        let finished = shard.finished.iter().filter(|(of, known, _)| *of == table && *known == rule);
        let mut found: Vec<Minute> = finished.map(|(_, _, minute)| minute.clone()).collect();
        if let Some(open) = shard.open.get(&(table, rule.index)) {
            let its = open.minutes(rule.index).filter(|(known, _)| *known == rule);
            found.extend(its.map(|(_, minute)| minute));
        }
        found
    }

    /// Forgets a table that is gone.
    pub(crate) fn forget(&self, table: TableId) {
        let mut shard = self.shard(table);
        shard.finished.retain(|(of, ..)| *of != table);
        let gone: usize =
            shard.open.extract_if(|(of, _), _| *of == table).map(|(_, open)| open.bytes()).sum();
        self.bytes.fetch_sub(gone, Ordering::Relaxed);
    }
}
