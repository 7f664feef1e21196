//! Delivers the changes of tables to Kinesis streams: the engine keeps them and says what is to be done, this
//! sends them.
//!
//! Each shard of a destination's log has a loop of its own, so a stream that does not answer delays no other
//! and no request. What is sent is noted in the database, so a loop may stop at any moment; the next one
//! begins after the last note. Without the setting no client is made: then a new destination fails, and what
//! an older one has logged waits for a day.
//!
//! - `batch`: which records go into one call; pure.
//! - `endpoint`: the calls, signed.
//! - `contact`: the first look at a stream.
//! - `shard`: the loop of one shard.
//! - `lanes`: how many pages are in memory at a time.
//! - `figures`: what is counted, and its metrics.

mod batch;
mod contact;
mod endpoint;
mod figures;
mod lanes;
mod shard;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keywright_engine::{Delivery, Want};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::outgoing::json_service::ServiceSettings;
use crate::storage::database::Database;
use endpoint::Endpoint;
pub(crate) use figures::Figures;
use lanes::{Lanes, Own};

/// The time between two looks for what is to be done.
const LOOK: Duration = Duration::from_millis(200);

/// What every loop uses.
struct Tools {
    database: Arc<Database>,
    endpoint: Option<Endpoint>,
    lanes: Lanes,
    figures: Arc<Figures>,
}

/// A loop that was begun, as both sides see it.
#[derive(Clone)]
struct Begun {
    /// Whether it is still to go on. It may be another process's by now.
    is_wanted: Arc<AtomicBool>,
    stopping: watch::Receiver<bool>,
}

impl Begun {
    fn goes_on(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && !*self.stopping.borrow()
    }

    /// Waits, less long if the server stops.
    async fn pause(&mut self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
        }
    }

    /// The outcome of some work; `None` if the server stops first.
    async fn unless_stopped<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            outcome = work => Some(outcome),
            _ = self.stopping.wait_for(|stopping| *stopping) => None,
        }
    }
}

/// What a loop is for: the first contact of a destination, or a shard of its log.
type Place = ((u64, u32), Option<u32>);

/// Runs until the server stops.
pub(crate) async fn run(
    database: Arc<Database>,
    settings: Option<ServiceSettings>,
    figures: Arc<Figures>,
    mut stopping: watch::Receiver<bool>,
) {
    let endpoint = settings.map(Endpoint::new);
    let tools = Arc::new(Tools { database, endpoint, lanes: Lanes::default(), figures });
    let mut desk = Desk { tools, at_work: HashMap::new(), own: HashMap::new() };
    let mut tasks = JoinSet::new();
    while !*stopping.borrow() {
        desk.look(&mut tasks, &stopping);
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            Some(ended) = tasks.join_next() => {
                // One that panicked is in the log, and is begun again.
                match ended {
                    Ok(place) => drop(desk.at_work.remove(&place)),
                    Err(_panic) => desk.at_work.retain(|_, (_, task)| !task.is_finished()),
                }
                tokio::time::sleep(LOOK).await;
            }
            _ = stopping.changed() => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// Which loops run here.
struct Desk {
    tools: Arc<Tools>,
    at_work: HashMap<Place, (Begun, tokio::task::AbortHandle)>,
    own: HashMap<(u64, u32), Arc<Own>>,
}

impl Desk {
    /// Begins the loops that are missing, and ends those that are not to go on.
    fn look(&mut self, tasks: &mut JoinSet<Place>, stopping: &watch::Receiver<bool>) {
        // While the store is opened again the loops wait for it.
        let Some(engine) = self.tools.database.engine() else { return };
        let deliveries = engine.deliveries();
        drop(engine);
        let mut wanted: HashMap<Place, &Delivery> = HashMap::new();
        for delivery in &deliveries {
            match &delivery.want {
                Want::Contact { .. } => drop(wanted.insert((delivery.number(), None), delivery)),
                Want::Records { shards } => {
                    wanted.extend(shards.iter().map(|shard| ((delivery.number(), Some(*shard)), delivery)));
                }
            }
        }
        for (place, (begun, _)) in &self.at_work {
            begun.is_wanted.store(wanted.contains_key(place), Ordering::Relaxed);
        }
        self.own.retain(|number, _| wanted.keys().any(|(known, _)| known == number));
        self.tools.figures.keep_only(|place| wanted.contains_key(place));
        for (place, delivery) in wanted {
            if !self.at_work.contains_key(&place) {
                let begun = Begun { is_wanted: Arc::new(AtomicBool::new(true)), stopping: stopping.clone() };
                let task = self.begin(tasks, place, delivery.clone(), begun.clone());
                self.at_work.insert(place, (begun, task));
            }
        }
    }

    fn begin(
        &mut self,
        tasks: &mut JoinSet<Place>,
        place: Place,
        delivery: Delivery,
        begun: Begun,
    ) -> tokio::task::AbortHandle {
        let tools = Arc::clone(&self.tools);
        let own = Arc::clone(self.own.entry(place.0).or_default());
        tasks.spawn(async move {
            match place.1 {
                None => contact::run(&tools, &delivery, begun).await,
                Some(shard) => shard::run(&tools, (&delivery, shard), &own, begun).await,
            }
            place
        })
    }
}
