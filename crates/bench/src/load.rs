//! One measurement on one endpoint: threads, each with its share of the connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keywright_process::environment;
use keywright_process::failure::Failure;
use tokio::task::JoinSet;

use super::cli::Plan;
use super::client::{Connection, Endpoint, Reply};
use super::keys::Chooser;
use super::latency::nanoseconds;
use super::pace::{Pace, Schedule, Times};
use super::processor::Process;
use super::tally::{Sending, Tally};
use super::workload::{Call, DataSet, Kind};

/// Pause of a connection after a request without a response.
const FAULT_PAUSE_MS: u64 = 10;

/// Sends requests of one kind for one measurement and counts the responses. `turn` varies the random choices.
pub(super) fn turn(plan: &Plan, endpoint: &Endpoint, kind: Kind, turn: u64) -> Result<Tally, Failure> {
    let times = Times::starting_now(plan.warm_up, plan.measured);
    let schedule = match plan.pace {
        Pace::Closed => None,
        Pace::Open { per_second } => Some(Schedule::new(&times, per_second)),
    };
    let process = Process::listening_on(&endpoint.authority);
    let before = process.and_then(Process::spent);
    let (begun, own) = (environment::instant(), Process::this().spent());
    let mut tally = Tally::new();
    let outcomes = std::thread::scope(|scope| {
        let pacing = schedule.as_ref().map(|schedule| {
            std::thread::Builder::new().name("pace".to_owned()).spawn_scoped(scope, || schedule.drive())
        });
        if let Some(Err(error)) = pacing {
            return Err(Failure::new(format!("cannot start a thread: {error}")));
        }
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                let schedule = schedule.as_ref();
                let work = move || drive(plan, endpoint, kind, times, schedule, Share { thread, turn });
                std::thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, work)
            })
            .collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            let thread = thread.map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
            thread.join().map_err(|_| "a sending thread panicked".to_owned())?
        };
        threads.into_iter().map(join).collect::<Result<Vec<Tally>, Failure>>()
    })?;
    for outcome in &outcomes {
        tally.add(outcome);
    }
    if let Some(schedule) = schedule {
        for due in schedule.left().filter(|due| times.covers(*due)) {
            // The request waited even longer than this.
            let waited = times.until.saturating_duration_since(due);
            tally.record(waited);
            if plan.trend.is_some() {
                tally.trend.record(due.saturating_duration_since(times.from), waited);
            }
            tally.unsent += 1;
        }
    }
    tally.measured = plan.measured;
    if let (Some(before), Some(after)) = (own, Process::this().spent()) {
        let there = begun.elapsed().saturating_mul(plan.threads);
        tally.sending = Sending { spent: after.saturating_sub(before), there };
    }
    if let (Some(before), Some(after)) = (before, process.and_then(Process::spent)) {
        tally.server_time = after.saturating_sub(before);
    }
    Ok(tally)
}

/// The thread's number and the measurement's.
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
) -> Result<Tally, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start a runtime: {error}")))?;
    let tally = Arc::new(Mutex::new(Tally::new()));
    let given_up = tokio::time::Instant::from_std(times.until + plan.drain);
    runtime.block_on(async {
        let mut senders = JoinSet::new();
        let mut under_way = Vec::new();
        for number in (share.thread..plan.connections).step_by(usize::try_from(plan.threads).unwrap_or(1)) {
            let seed = plan.seed ^ (share.turn << 32) ^ (u64::from(number) << 12);
            let sender = Sender {
                connection: Connection::new(endpoint, &plan.credentials)?,
                chooser: Chooser::new(plan.data.items, plan.spread, seed),
                data: plan.data.clone(),
                kind,
                times,
                trend: plan.trend.is_some(),
                under_way: Arc::default(),
                checked: !endpoint.fixed,
                tally: Arc::clone(&tally),
            };
            under_way.push(Arc::clone(&sender.under_way));
            senders.spawn(sender.run(schedule.cloned()));
        }
        loop {
            match tokio::time::timeout_at(given_up, senders.join_next()).await {
                Ok(None) => return Ok::<_, Failure>(()),
                Ok(Some(ended)) => {
                    ended.map_err(|error| Failure::new(format!("a sender failed: {error}")))?;
                }
                Err(_) => break,
            }
        }
        senders.abort_all();
        let now = environment::instant();
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        for since in under_way.iter().filter_map(|own| *own.lock().unwrap_or_else(PoisonError::into_inner)) {
            tally.record(now.saturating_duration_since(since));
            tally.unanswered += 1;
        }
        Ok(())
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
    /// Whether latencies are also recorded by second.
    trend: bool,
    /// The time from which the current request's latency counts.
    under_way: Arc<Mutex<Option<Instant>>>,
    /// Whether responses are compared with what is expected.
    checked: bool,
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
                let mut free = environment::instant();
                while let Some(due) = schedule.next().await {
                    if free <= due && self.times.covers(due) {
                        let late = environment::instant().saturating_duration_since(due);
                        self.tally().lateness.saturating_record(nanoseconds(late));
                    }
                    self.send(due).await;
                    free = environment::instant();
                }
            }
        }
    }

    /// Sends one request; its latency counts from `since`.
    async fn send(&mut self, since: Instant) {
        let call = self.data.call(self.kind, &mut self.chooser);
        self.set_under_way(Some(since));
        let outcome = self.connection.call(&call).await;
        let answered = environment::instant();
        self.set_under_way(None);
        self.note(&call, &outcome, since, answered);
        if outcome.is_err() {
            // Do not retry an unreachable server as fast as it refuses connections.
            tokio::time::sleep(Duration::from_millis(FAULT_PAUSE_MS)).await;
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_under_way(&self, since: Option<Instant>) {
        *self.under_way.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// The rate counts responses within the measured time, latency the requests due in it.
    fn note(&self, call: &Call, outcome: &Result<Reply, String>, since: Instant, answered: Instant) {
        let mut tally = self.tally();
        tally.sent += 1;
        if since >= self.times.from {
            let latency = answered.duration_since(since);
            tally.record(latency);
            if self.trend {
                tally.trend.record(since.duration_since(self.times.from), latency);
            }
        }
        if !self.times.covers(answered) {
            return;
        }
        match outcome {
            Err(fault) => tally.fault(fault.clone()),
            Ok(reply) if !reply.status.is_success() => tally.fault(reply.fault()),
            Ok(reply) => match call.expected.fault(reply.body_bytes).filter(|_| self.checked) {
                Some(fault) => tally.fault(fault),
                None => tally.good(reply.body_bytes),
            },
        }
    }
}
