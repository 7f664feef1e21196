//! What is measured of the triggers that this process delivers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_engine::{Namespace, TriggerLane};
use keywright_semantics::event_sources::view::Counts;

/// The figures of all triggers.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<BTreeMap<String, Figure>>);

/// The figures of one trigger.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// The table.
    pub(crate) table: String,
    /// The place of the table, and the ARN of its stream.
    stream: Option<(Namespace, String)>,
    /// What this process has done for it.
    pub(crate) counts: Counts,
    /// When the oldest record was made that each lane has not delivered; `None` in a lane without one.
    waiting: HashMap<(String, u32), Option<u64>>,
    /// The call of a target that each lane waits for.
    calling: HashMap<(String, u32), Call>,
    /// Lanes whose target fails.
    failing: HashMap<(String, u32), bool>,
}

/// A call of a target that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// When it began, in milliseconds since 1970.
    pub(crate) since_ms: u64,
    /// The target: a function or a URL.
    pub(crate) target: String,
}

impl Figure {
    /// The oldest call of a target that is under way.
    pub(crate) fn call(&self) -> Option<&Call> {
        self.calling.values().min_by_key(|call| call.since_ms)
    }

    /// How many calls of targets are under way.
    pub(crate) fn calls(&self) -> usize {
        self.calling.len()
    }

    /// How long the oldest call of a target is under way, in milliseconds.
    pub(crate) fn call_ms(&self, now_ms: u64) -> u64 {
        self.call().map_or(0, |call| now_ms.saturating_sub(call.since_ms))
    }

    /// The age of the oldest record that is not delivered, in milliseconds; 0 if its table was deleted.
    pub(crate) fn lag_ms(&self, now_ms: u64, is_deleted: impl Fn(&Namespace, &str, &str) -> bool) -> u64 {
        let Some(oldest_ms) = self.waiting.values().copied().flatten().min() else { return 0 };
        let is_over = self.stream.as_ref().is_some_and(|(place, arn)| is_deleted(place, &self.table, arn));
        if is_over { 0 } else { now_ms.saturating_sub(oldest_ms) }
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

    /// Changes the figure of a lane's trigger.
    fn change(&self, lane: &TriggerLane, change: impl FnOnce(&mut Figure, (String, u32))) {
        let mut figures = self.lock();
        let figure = figures.entry(lane.uuid.clone()).or_default();
        lane.table.clone_into(&mut figure.table);
        if figure.stream.is_none() {
            figure.stream = Some((lane.namespace.clone(), lane.stream_arn.clone()));
        }
        change(figure, (lane.shard_id.clone(), lane.lane));
    }

    /// Adds what was done.
    pub(crate) fn add(&self, lane: &TriggerLane, counts: Counts) {
        self.change(lane, |figure, _| figure.counts = figure.counts.plus(counts));
    }

    /// Notes how a lane stands.
    pub(crate) fn note(&self, lane: &TriggerLane, oldest_ms: Option<u64>, fails: bool) {
        self.change(lane, |figure, place| {
            figure.waiting.insert(place.clone(), oldest_ms);
            figure.failing.insert(place, fails);
        });
    }

    /// Notes whether the target of a lane fails.
    pub(crate) fn note_failing(&self, lane: &TriggerLane, fails: bool) {
        self.change(lane, |figure, place| {
            figure.failing.insert(place, fails);
        });
    }

    /// Notes the call of a target that a lane has begun; `None`: it is over.
    pub(crate) fn note_call(&self, lane: &TriggerLane, call: Option<Call>) {
        self.change(lane, |figure, place| {
            match call {
                Some(call) => figure.calling.insert(place, call),
                None => figure.calling.remove(&place),
            };
        });
    }

    /// A lane is at work here no longer.
    pub(crate) fn left(&self, uuid: &str, shard: &str, lane: u32) {
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
