//! What is measured of the triggers that this process delivers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_semantics::event_sources::view::Counts;

/// The figures of all triggers.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<BTreeMap<String, Figure>>);

/// The figures of one trigger.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// The table.
    pub(crate) table: String,
    /// What this process has done for it.
    pub(crate) counts: Counts,
    /// When the oldest record was made that each lane has not delivered; `None` in a lane without one.
    waiting: HashMap<(String, u32), Option<u64>>,
    /// When the call of a target began that each lane waits for.
    calling: HashMap<(String, u32), u64>,
    /// Lanes whose target fails.
    failing: HashMap<(String, u32), bool>,
}

impl Figure {
    /// How long the oldest call of the target is under way, in milliseconds.
    pub(crate) fn call_ms(&self, now_ms: u64) -> u64 {
        let oldest = self.calling.values().copied().min();
        oldest.map_or(0, |since_ms| now_ms.saturating_sub(since_ms))
    }

    /// The age of the oldest record that is not delivered, in milliseconds.
    pub(crate) fn lag_ms(&self, now_ms: u64) -> u64 {
        let oldest = self.waiting.values().copied().flatten().min();
        oldest.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms))
    }

    /// Lanes whose target fails.
    pub(crate) fn failing(&self) -> u64 {
        self.failing.values().map(|fails| u64::from(*fails)).sum()
    }
}

impl Figures {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Figure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was done.
    pub(super) fn add(&self, uuid: &str, table: &str, counts: Counts) {
        let mut figures = self.lock();
        let figure = figures.entry(uuid.to_owned()).or_default();
        table.clone_into(&mut figure.table);
        figure.counts = figure.counts.plus(counts);
    }

    /// Notes how a lane stands.
    pub(super) fn note(
        &self,
        (uuid, table): (&str, &str),
        lane: (&str, u32),
        oldest_ms: Option<u64>,
        fails: bool,
    ) {
        let mut figures = self.lock();
        let figure = figures.entry(uuid.to_owned()).or_default();
        table.clone_into(&mut figure.table);
        let lane = (lane.0.to_owned(), lane.1);
        figure.waiting.insert(lane.clone(), oldest_ms);
        figure.failing.insert(lane, fails);
    }

    /// Notes whether the target of a lane fails.
    pub(super) fn note_failing(&self, uuid: &str, lane: (&str, u32), fails: bool) {
        let mut figures = self.lock();
        let figure = figures.entry(uuid.to_owned()).or_default();
        figure.failing.insert((lane.0.to_owned(), lane.1), fails);
    }

    /// Notes when a lane has begun a call of its target; `None`: the call is over.
    pub(super) fn note_call(&self, uuid: &str, lane: (&str, u32), since_ms: Option<u64>) {
        let mut figures = self.lock();
        let figure = figures.entry(uuid.to_owned()).or_default();
        let lane = (lane.0.to_owned(), lane.1);
        match since_ms {
            Some(since_ms) => figure.calling.insert(lane, since_ms),
            None => figure.calling.remove(&lane),
        };
    }

    /// A lane is at work here no longer.
    pub(super) fn left(&self, uuid: &str, shard: &str, lane: u32) {
        let mut figures = self.lock();
        if let Some(figure) = figures.get_mut(uuid) {
            let lane = (shard.to_owned(), lane);
            figure.waiting.remove(&lane);
            figure.failing.remove(&lane);
            figure.calling.remove(&lane);
        }
    }

    /// All of them, by the ids of triggers.
    pub(crate) fn all(&self) -> BTreeMap<String, Figure> {
        self.lock().clone()
    }
}
