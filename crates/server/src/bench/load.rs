//! One turn of load on one endpoint: threads, each with its share of the connections.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::cli::Plan;
use super::client::{Connection, Endpoint, Reply};
use super::keys::Chooser;
use super::pace::{Pace, Schedule, Times};
use super::processor::Process;
use super::tally::Tally;
use super::workload::{DataSet, Kind};
use crate::environment;

/// How long a connection waits after a request that got no answer.
const FAULT_PAUSE_MS: u64 = 10;

/// Sends requests of one kind for one turn and counts what comes back. `turn` makes the random choices of turns differ.
pub(super) fn turn(plan: &Plan, endpoint: &Endpoint, kind: Kind, turn: u64) -> Result<Tally, String> {
    let times = Times::starting_now(plan.warm_up, plan.measured);
    let schedule = match plan.pace {
        Pace::Closed => None,
        Pace::Open { per_second } => Some(Schedule::new(&times, per_second)),
    };
    let process = Process::listening_on(&endpoint.authority);
    let before = process.and_then(Process::spent);
    let mut tally = Tally::new();
    let outcomes = std::thread::scope(|scope| {
        let pacing = schedule.as_ref().map(|schedule| {
            std::thread::Builder::new().name("pace".to_owned()).spawn_scoped(scope, || schedule.drive())
        });
        if let Some(Err(error)) = pacing {
            return Err(format!("cannot start a thread: {error}"));
        }
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                let schedule = schedule.as_ref();
                let work = move || drive(plan, endpoint, kind, times, schedule, Share { thread, turn });
                std::thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, work)
            })
            .collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
            thread.join().map_err(|_| "a sending thread panicked".to_owned())?
        };
        threads.into_iter().map(join).collect::<Result<Vec<Tally>, String>>()
    })?;
    for outcome in &outcomes {
        tally.add(outcome);
    }
    if let Some(schedule) = schedule {
        for due in schedule.left().filter(|due| times.covers(*due)) {
            // It waited at least this long.
            tally.record(times.until.saturating_duration_since(due));
            tally.unsent += 1;
        }
    }
    tally.measured = plan.measured;
    if let (Some(before), Some(after)) = (before, process.and_then(Process::spent)) {
        tally.server_time = after.saturating_sub(before);
    }
    Ok(tally)
}

/// Which of the threads, in which turn.
#[derive(Clone, Copy)]
struct Share {
    thread: u32,
    turn: u64,
}

fn drive(
    plan: &Plan,
    endpoint: &Endpoint,
    kind: Kind,
    times: Times,
    schedule: Option<&Arc<Schedule>>,
    share: Share,
) -> Result<Tally, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start a runtime: {error}"))?;
    let tally = Arc::new(Mutex::new(Tally::new()));
    runtime.block_on(async {
        let mut senders = JoinSet::new();
        for number in (share.thread..plan.connections).step_by(usize::try_from(plan.threads).unwrap_or(1)) {
            let seed = plan.seed ^ (share.turn << 32) ^ (u64::from(number) << 12);
            let sender = Sender {
                connection: Connection::new(endpoint, &plan.credentials)?,
                chooser: Chooser::new(plan.data.items, plan.spread, seed),
                data: plan.data.clone(),
                kind,
                times,
                tally: Arc::clone(&tally),
            };
            senders.spawn(sender.run(schedule.cloned()));
        }
        while let Some(ended) = senders.join_next().await {
            ended.map_err(|error| format!("a sender ended badly: {error}"))?;
        }
        Ok::<_, String>(())
    })?;
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(tally.clone())
}

/// One connection's work.
struct Sender {
    connection: Connection,
    chooser: Chooser,
    data: DataSet,
    kind: Kind,
    times: Times,
    tally: Arc<Mutex<Tally>>,
}

impl Sender {
    async fn run(mut self, schedule: Option<Arc<Schedule>>) {
        match schedule {
            None => loop {
                let sent = environment::instant();
                if sent >= self.times.until {
                    return;
                }
                self.send(sent).await;
            },
            Some(schedule) => {
                while let Some(due) = schedule.next().await {
                    self.send(due).await;
                }
            }
        }
    }

    /// Sends one request; its latency counts from `since`.
    async fn send(&mut self, since: Instant) {
        let call = self.data.call(self.kind, &mut self.chooser);
        let outcome = self.connection.call(&call).await;
        let answered = environment::instant();
        self.note(&outcome, since, answered);
        if outcome.is_err() {
            // A server that is gone is not asked as fast as its refusals come.
            tokio::time::sleep(Duration::from_millis(FAULT_PAUSE_MS)).await;
        }
    }

    fn note(&self, outcome: &Result<Reply, String>, since: Instant, answered: Instant) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.sent += 1;
        if since >= self.times.from {
            tally.note(outcome, answered.duration_since(since), answered <= self.times.until);
        }
    }
}
