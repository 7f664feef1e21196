//! All open connections: which ones are closed for being slow, and which ones to make room for new clients.
//!
//! It does not know how bytes become requests (`listener`) nor what a connection is doing (`patience`).

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::{Id, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::budget::Budget;
use crate::client::{Addresses, Client, TooMany};
use crate::environment;
use crate::idle_timeout::{Activity, Leave, Phase, Watch};
use crate::limits::{
    CONNECTIONS_AHEAD_MAX, KNOWN_VICTIMS_MAX, Limits, NEW_CONNECTION, PRESSED_ANSWER_BYTES_MIN,
    PRESSURE_CHECK_MS, Pace, ROOM_RETRY_MS, UNVERIFIED_CONNECTIONS_SHARE, VICTIMS_MAX,
};
use crate::refused::{Cause, Refused};

/// One open connection.
struct Open {
    activity: Arc<Activity>,
    watch: Watch,
    ip: IpAddr,
    /// What was sent at the last look under pressure, if an answer was pending then.
    pending_sent_bytes: Option<u64>,
    /// How many were opened before it.
    number: u64,
    opened_at: Instant,
}

/// A connection that may be closed to make room, as it was when it was chosen.
#[derive(Clone, Copy, Debug)]
struct Victim {
    id: Id,
    turns: u32,
}

/// Which connections are looked at for one that may be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    All,
    Unadmitted,
}

pub(crate) struct Connections {
    tasks: JoinSet<()>,
    open: HashMap<Id, Open>,
    most: usize,
    /// How many may be open without an admitted request.
    unadmitted_most: usize,
    unadmitted: Arc<AtomicUsize>,
    addresses: Addresses,
    opened: u64,
    /// Connections asked to make room that are still open.
    leaving: HashSet<Id>,
    /// Those to close next; the first to go is the last.
    victims: Vec<Victim>,
    /// Among which connections `victims` were chosen.
    victims_among: Among,
    /// Whether the last search found nothing; another one waits for the next tick.
    barren: bool,
    pace: Pace,
    checks: Interval,
    retries: Interval,
    refused: Arc<Refused>,
    /// Memory for large answers: while it is short, nobody may keep an answer waiting for long.
    answers: Arc<Budget>,
    pressure: Interval,
    /// Whether it was short at the last look.
    relieving: bool,
}

fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    // A check that comes late must not make the next one come early.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl Connections {
    /// `verifies`: whether there are credentials, so that clients without a verified request get a share only.
    pub(crate) fn new(limits: &Limits, verifies: bool, refused: Arc<Refused>, answers: Arc<Budget>) -> Self {
        let most = limits.connections_max;
        let pace = Pace::serving(limits.check_ms);
        Self {
            tasks: JoinSet::new(),
            open: HashMap::new(),
            most,
            unadmitted_most: if verifies { (most / UNVERIFIED_CONNECTIONS_SHARE).max(1) } else { most },
            unadmitted: Arc::default(),
            addresses: Addresses::new(limits),
            opened: 0,
            leaving: HashSet::new(),
            victims: Vec::new(),
            victims_among: Among::All,
            barren: false,
            pace,
            checks: ticks(pace.interval),
            retries: ticks(Duration::from_millis(ROOM_RETRY_MS)),
            refused,
            answers,
            relieving: false,
            pressure: ticks(Duration::from_millis(PRESSURE_CHECK_MS)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether another one may be accepted.
    pub(crate) fn has_room(&self) -> bool {
        self.tasks.len() < self.most.saturating_add(CONNECTIONS_AHEAD_MAX)
    }

    /// The other end of a new connection, unless its address has as many as it may.
    pub(crate) fn greet(&mut self, ip: IpAddr) -> Result<Client, TooMany> {
        match self.addresses.begin(ip) {
            Ok(request_limit) => Ok(Client::new(ip, request_limit, Arc::clone(&self.unadmitted))),
            Err(too_many) => {
                self.refused.count(Cause::ConnectionsPerAddress);
                Err(too_many)
            }
        }
    }

    /// Runs a connection with a client that was greeted, and makes room for the next.
    pub(crate) fn begin(
        &mut self,
        ip: IpAddr,
        activity: Arc<Activity>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.tasks.spawn(connection);
        let number = self.opened;
        self.opened += 1;
        let opened_at = environment::instant();
        let watch = Watch::new();
        self.open
            .insert(task.id(), Open { activity, watch, ip, pending_sent_bytes: None, number, opened_at });
        self.make_room();
    }

    /// Waits until a connection has ended, or until it is time to check all of them.
    pub(crate) async fn attend(&mut self) {
        let crowded = self.excess(Among::All) > 0 || self.excess(Among::Unadmitted) > 0;
        tokio::select! {
            ended = self.tasks.join_next_with_id() => {
                let id = match ended {
                    Some(Ok((id, ()))) => id,
                    Some(Err(error)) => error.id(),
                    None => return,
                };
                self.leaving.remove(&id);
                if let Some(open) = self.open.remove(&id) {
                    self.addresses.end(open.ip);
                }
            }
            _ = self.checks.tick() => self.check(),
            _ = self.pressure.tick() => self.relieve(),
            _ = self.retries.tick(), if crowded => {
                self.barren = false;
                // One that was asked while it executed a request stays.
                self.leaving.retain(|id| self.open.get(id).is_some_and(|open| open.activity.is_asked()));
                self.make_room();
            }
        }
    }

    /// Lets all end what they are at, and waits for no client longer than a moment.
    pub(crate) fn part(&mut self) {
        self.pace = Pace::stopping();
        self.checks = ticks(self.pace.interval);
        for open in self.open.values_mut() {
            open.watch = Watch::new();
            open.activity.ask(Leave::Politely);
        }
    }

    /// Closes those that have waited too long, or whose clients read too slowly.
    fn check(&mut self) {
        for open in self.open.values_mut() {
            let Some(cause) = open.watch.check(&open.activity, &self.pace) else { continue };
            self.refused.count(cause);
            open.activity.ask(if cause == Cause::AnswerNotRead {
                Leave::AtOnce
            } else {
                Leave::UnlessExecuting
            });
        }
        self.refused.report();
    }

    /// While memory for answers is short, closes those whose clients took next to nothing since the last look.
    fn relieve(&mut self) {
        let short = self.answers.is_short();
        if !short && !self.relieving {
            return;
        }
        self.relieving = short;
        for open in self.open.values_mut() {
            let pending = (short && open.activity.sends()).then(|| open.activity.sent_bytes());
            if let (Some(now), Some(before)) = (pending, open.pending_sent_bytes)
                && now.saturating_sub(before) < PRESSED_ANSWER_BYTES_MIN
            {
                self.refused.count(Cause::AnswerNotRead);
                open.activity.ask(Leave::AtOnce);
            }
            open.pending_sent_bytes = pending;
        }
    }

    fn excess(&self, among: Among) -> usize {
        match among {
            Among::All => self.tasks.len().saturating_sub(self.most),
            Among::Unadmitted => self.unadmitted.load(Ordering::Relaxed).saturating_sub(self.unadmitted_most),
        }
    }

    /// Asks as many to leave as there are too many.
    fn make_room(&mut self) {
        for among in [Among::All, Among::Unadmitted] {
            let wanted = self.excess(among).saturating_sub(self.leaving.len());
            for _ in 0..wanted {
                let Some(victim) = self.next_victim(among) else { break };
                self.leaving.insert(victim);
                self.refused.count(Cause::MadeRoom);
                if let Some(open) = self.open.get(&victim) {
                    open.activity.ask(Leave::UnlessExecuting);
                }
            }
        }
    }

    /// The next connection to close that is still as it was when it was chosen.
    fn next_victim(&mut self, among: Among) -> Option<Id> {
        if self.victims_among != among {
            self.victims.clear();
            self.victims_among = among;
        }
        loop {
            while let Some(victim) = self.victims.pop() {
                let unchanged =
                    self.open.get(&victim.id).is_some_and(|open| open.activity.turns() == victim.turns);
                if unchanged && !self.leaving.contains(&victim.id) {
                    return Some(victim.id);
                }
            }
            if self.barren {
                return None;
            }
            self.victims = self.choose_victims(among);
            self.barren = self.victims.is_empty();
        }
    }

    /// Those that may be closed, the first to go last. Never one whose request is executed.
    fn choose_victims(&self, among: Among) -> Vec<Victim> {
        let now = environment::instant();
        let is_new = |open: &Open| now.saturating_duration_since(open.opened_at) < NEW_CONNECTION;
        let eligible = self.open.iter().filter(|(id, open)| {
            let chosen = among == Among::All || !open.activity.was_admitted();
            chosen && !self.leaving.contains(*id)
        });
        let mut ranked: Vec<_> = eligible
            .filter_map(|(id, open)| {
                let rank = rank(&open.activity, is_new(open))?;
                let idle_checks = open.watch.idle_checks(&open.activity);
                let victim = Victim { id: *id, turns: open.activity.turns() };
                Some((rank, std::cmp::Reverse(idle_checks), open.number, victim))
            })
            .collect();
        ranked.sort_unstable_by_key(|(rank, idle_checks, number, _)| (*rank, *idle_checks, *number));
        // A worse rank goes only while there is none of a better one: it is looked at again soon.
        let best = ranked.first().map_or(Rank::Silent, |(rank, ..)| *rank);
        ranked.retain(|(rank, ..)| *rank == best);
        ranked.truncate(if best <= Rank::New { VICTIMS_MAX } else { KNOWN_VICTIMS_MAX });
        ranked.into_iter().rev().map(|(_, _, _, victim)| victim).collect()
    }
}

/// In which order connections make room: those that never had an admitted request go before all others, and a new one of
/// them last, so that a new client gets to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Never asked for anything.
    Silent,
    /// Has sent a part of its first request, or does not read the answer to it.
    Stalled,
    New,
    Idle,
    Receiving,
    Unread,
}

/// None for one whose request is executed.
fn rank(activity: &Activity, is_new: bool) -> Option<Rank> {
    let (admitted, sends) = (activity.was_admitted(), activity.sends());
    match activity.phase() {
        Phase::Executing => None,
        _ if !admitted && is_new => Some(Rank::New),
        Phase::Waiting | Phase::Opening if !admitted && !sends => Some(Rank::Silent),
        _ if !admitted => Some(Rank::Stalled),
        _ if sends => Some(Rank::Unread),
        Phase::Receiving => Some(Rank::Receiving),
        Phase::Waiting | Phase::Opening => Some(Rank::Idle),
    }
}
