//! Delivers records of streams to the targets of triggers: the engine says which records, this sends them.
//!
//! Each lane of each shard has a task of its own, so a target that hangs delays only its own lane. How far a
//! lane has come is in its row, so a task may stop at any moment: the next look begins it again, with the
//! batch that was begun.
//!
//! - `lane`: the loop of one lane. `batch`: which records make the next batch. `outcome`: what an answer does
//!   to a lane's progress.
//! - `send`: requests to functions and hosts. `archive`: objects in buckets.
//! - `memory`: the bound of all batches together. What is measured is in `deliveries`.

mod archive;
mod batch;
mod lane;
mod memory;
mod outcome;
mod send;

use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use keywright_engine::{Engine, Env as _, TriggerLane, TriggerSection};
use keywright_semantics::event_sources::target::Target;
use keywright_wire::events::archive_warning;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::deliveries::Figures;
use crate::storage::any_store::AnyStore;
use crate::storage::database::Database;
use crate::targets::Targets;
use memory::Memory;
use send::Sender;

/// The time between two looks for lanes.
const LOOK: Duration = Duration::from_millis(100);
/// Looks between two looks at the sections of the settings file, whose tables may have come.
const SECTION_LOOKS: u32 = 10;
/// How long a task that is to stop may go on with an invocation, whose answer would be lost.
const GRACE: Duration = Duration::from_secs(2);

/// What every lane uses.
pub(crate) struct Tools {
    database: Arc<Database>,
    targets: Arc<Targets>,
    sender: Sender,
    memory: Memory,
    figures: Arc<Figures>,
}

/// Which lane of which state of its mapping.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LaneId {
    uuid: String,
    generation: u64,
    shard: String,
    lane: u32,
}

impl LaneId {
    fn of(lane: &TriggerLane) -> Self {
        let (uuid, generation) = (lane.uuid.clone(), lane.generation);
        Self { uuid, generation, shard: lane.shard_id.clone(), lane: lane.lane }
    }
}

impl Tools {
    pub(crate) fn new(database: Arc<Database>, targets: Arc<Targets>, figures: Arc<Figures>) -> Self {
        let sender = Sender::new(targets.functions.clone());
        Self { database, targets, sender, memory: Memory::default(), figures }
    }

    /// The engine, for one call: a store that is opened again waits for all who have it.
    fn engine(&self) -> Option<Engine<AnyStore>> {
        self.database.engine()
    }

    /// The database's time, in milliseconds since 1970.
    fn now_ms(&self) -> u64 {
        self.database.clock().now_ms()
    }
}

/// Runs until the server stops.
pub(crate) async fn run(
    tools: Arc<Tools>,
    sections: Vec<TriggerSection>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut desk = Desk {
        tools,
        sections,
        at_work: HashMap::new(),
        asks: true,
        has_started: false,
        looks: 0,
        warned: BTreeSet::new(),
        complained: Vec::new(),
    };
    let mut tasks = JoinSet::new();
    while !*stopping.borrow() {
        desk.keep_sections().await;
        desk.look(&mut tasks).await;
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            Some(ended) = tasks.join_next() => {
                if let Ok(id) = ended {
                    desk.at_work.remove(&id);
                    desk.asks = true;
                }
            }
            _ = stopping.changed() => {}
        }
    }
    for stop in desk.at_work.values() {
        stop.send_replace(true);
    }
    while tasks.join_next().await.is_some() {}
}

/// Which lanes are at work here.
struct Desk {
    tools: Arc<Tools>,
    sections: Vec<TriggerSection>,
    /// What stops each of them.
    at_work: HashMap<LaneId, watch::Sender<bool>>,
    /// Whether the next look asks for lanes also if the engine knows of no change.
    asks: bool,
    /// Whether the sections were looked at once.
    has_started: bool,
    looks: u32,
    /// Triggers of which the log says that they archive only keys.
    warned: BTreeSet<String>,
    /// Sections of which the log says that they have no stream.
    complained: Vec<String>,
}

impl Desk {
    /// Makes the mappings of the settings file, whose tables may come at any time.
    async fn keep_sections(&mut self) {
        self.looks = (self.looks + 1) % SECTION_LOOKS;
        if self.has_started && (self.looks != 0 || self.sections.is_empty()) {
            return;
        }
        let Some(engine) = self.tools.engine() else { return };
        let Ok(without) = engine.keep_trigger_sections(&self.sections, !self.has_started).await else {
            return;
        };
        self.has_started = true;
        for name in without.iter().filter(|name| !self.complained.contains(name)) {
            tracing::warn!(
                "the trigger {name:?} of the settings file waits: there is no such table with a stream"
            );
        }
        self.complained = without;
    }

    /// Says of archives that begin which of them keep only keys.
    async fn warn(&mut self, engine: &Engine<AnyStore>, lanes: &[TriggerLane]) {
        let is_archive = |lane: &TriggerLane| matches!(lane.settings.target, Target::Bucket { .. });
        let is_new = |lane: &TriggerLane| is_archive(lane) && !self.warned.contains(&lane.uuid);
        if !lanes.iter().any(is_new) {
            return;
        }
        // The next archive that begins is a reason to look again.
        let Ok(mappings) = engine.triggers(None).await else { return };
        for mapping in mappings {
            if let Some(warning) = archive_warning(&mapping)
                && !self.warned.contains(&mapping.uuid)
            {
                tracing::warn!("trigger {} {warning}", mapping.uuid);
            }
        }
        self.warned.extend(lanes.iter().map(|lane| lane.uuid.clone()));
    }

    /// Begins lanes that are not at work, and stops those that are no more.
    async fn look(&mut self, tasks: &mut JoinSet<LaneId>) {
        let Some(engine) = self.tools.engine() else { return };
        if !self.asks && !engine.triggers_are_due() {
            return;
        }
        // After a fault of the store the next look asks again.
        self.asks = true;
        let Ok(lanes) = engine.trigger_lanes().await else { return };
        self.asks = false;
        self.warn(&engine, &lanes).await;
        drop(engine);
        let mut wanted: HashMap<LaneId, TriggerLane> =
            lanes.into_iter().map(|lane| (LaneId::of(&lane), lane)).collect();
        for (id, stop) in &self.at_work {
            if wanted.remove(id).is_none() {
                stop.send_replace(true);
            }
        }
        for (id, lane) in wanted {
            let is_ending = |other: &LaneId| {
                (&other.uuid, &other.shard) == (&id.uuid, &id.shard) && other.generation != id.generation
            };
            // An earlier state of the mapping is still at work on the same records, perhaps in other lanes.
            if self.at_work.keys().any(is_ending) {
                self.asks = true;
                continue;
            }
            let (stop, stopped) = watch::channel(false);
            self.at_work.insert(id.clone(), stop);
            let tools = Arc::clone(&self.tools);
            tasks.spawn(async move {
                let work = AssertUnwindSafe(lane::run(&tools, lane, stopped.clone())).catch_unwind();
                let mut stopped = stopped;
                let overdue = async {
                    // A dropped sender means stopping too.
                    let _ = stopped.wait_for(|stopped| *stopped).await;
                    tokio::time::sleep(GRACE).await;
                };
                tokio::select! {
                    ended = work => {
                        if ended.is_err() {
                            tracing::error!("a trigger met a defect and begins again");
                            tokio::time::sleep(GRACE).await;
                        }
                    }
                    () = overdue => {}
                }
                tools.figures.left(&id.uuid, &id.shard, id.lane);
                id
            });
        }
    }
}
