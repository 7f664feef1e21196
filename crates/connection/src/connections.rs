//! All open connections: closes slow ones and makes room for new clients.
//!
//! It does not know how bytes become requests (`listener`) nor what a connection is doing (`idle_timeout`).

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use keywright_process::environment;
use tokio::task::{Id, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::budget::Budget;
use super::client::{Addresses, Client, Counts, TooMany};
use super::idle_timeout::{Activity, CloseRequest, Phase, Watch};
use super::refused::{Cause, Refused};
use crate::limits::{
    CONNECTIONS_AHEAD_MAX, CheckPolicy, HANDSHAKES_SHARE, KNOWN_VICTIMS_MAX, Limits, NEW_CONNECTION,
    PRESSED_ANSWER_BYTES_MIN, PRESSURE_CHECK_MS, ROOM_RETRY_MS, UNVERIFIED_CONNECTIONS_SHARE, VICTIMS_MAX,
};

/// Figures of the connections, for metrics.
#[derive(Debug)]
pub struct ConnectionFigures {
    most: usize,
    open: AtomicUsize,
    opened: AtomicU64,
}

impl ConnectionFigures {
    /// Figures before the first connection.
    pub fn new(limits: &Limits) -> Self {
        Self { most: limits.connections_max, open: AtomicUsize::new(0), opened: AtomicU64::new(0) }
    }

    /// Connections that may be open.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections accepted since the start.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }
}

/// One open connection.
struct Open {
    activity: Arc<Activity>,
    watch: Watch,
    ip: IpAddr,
    /// Bytes sent by the last pressure check, if a response was blocked then.
    pending_sent_bytes: Option<u64>,
    /// Number of connections opened before it.
    number: u64,
    opened_at: Instant,
}

/// A connection that may be closed to make room, with the epoch at which it was chosen.
#[derive(Clone, Copy, Debug)]
struct Victim {
    id: Id,
    epoch: u32,
}

/// Which connections may be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Unadmitted,
    Handshakes,
}

impl Scope {
    const EACH: [Self; 3] = [Self::All, Self::Unadmitted, Self::Handshakes];
}

/// The open connections of one listener.
pub struct Connections {
    tasks: JoinSet<()>,
    open: HashMap<Id, Open>,
    most: usize,
    /// Maximum number of connections without an admitted request.
    unadmitted_most: usize,
    /// Maximum number of TLS handshakes under way.
    handshakes_most: usize,
    counts: Counts,
    addresses: Addresses,
    figures: Arc<ConnectionFigures>,
    /// Connections asked to close to make room that are still open.
    closing: HashSet<Id>,
    /// Candidates to close, the next one last.
    victims: Vec<Victim>,
    /// The scope from which `victims` were chosen.
    victims_scope: Scope,
    /// Whether the last search found no candidate. The next search waits for the next tick.
    search_failed: bool,
    policy: CheckPolicy,
    checks: Interval,
    retries: Interval,
    refused: Arc<Refused>,
    /// The memory for large responses. While it is short, slow readers are closed.
    answers: Arc<Budget>,
    pressure: Interval,
    /// Whether it was short at the last check.
    was_short: bool,
}

fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    // A late check must not make the next one early.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl Connections {
    /// `verifies`: whether signatures are verified, so that unverified clients get only a part of the
    /// connections.
    pub fn new(
        limits: &Limits,
        verifies: bool,
        figures: Arc<ConnectionFigures>,
        refused: Arc<Refused>,
        answers: Arc<Budget>,
    ) -> Self {
        let most = limits.connections_max;
        let policy = CheckPolicy::serving(limits.check_ms);
        Self {
            tasks: JoinSet::new(),
            open: HashMap::new(),
            most,
            unadmitted_most: if verifies { (most / UNVERIFIED_CONNECTIONS_SHARE).max(1) } else { most },
            handshakes_most: (most / HANDSHAKES_SHARE).max(1),
            counts: Counts::default(),
            addresses: Addresses::new(limits),
            figures,
            closing: HashSet::new(),
            victims: Vec::new(),
            victims_scope: Scope::All,
            search_failed: false,
            policy,
            checks: ticks(policy.interval),
            retries: ticks(Duration::from_millis(ROOM_RETRY_MS)),
            refused,
            answers,
            was_short: false,
            pressure: ticks(Duration::from_millis(PRESSURE_CHECK_MS)),
        }
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether another connection may be accepted.
    pub fn has_room(&self) -> bool {
        self.tasks.len() < self.most.saturating_add(CONNECTIONS_AHEAD_MAX)
    }

    /// Registers the client of a new connection, unless its address is at its limit.
    pub fn register(&mut self, ip: IpAddr) -> Result<Client, TooMany> {
        match self.addresses.begin(ip) {
            Ok(limits) => Ok(Client::new(ip, limits, self.counts.clone())),
            Err(too_many) => {
                self.refused.count(Cause::ConnectionsPerAddress);
                Err(too_many)
            }
        }
    }

    /// Starts a registered client's connection and makes room for the next one.
    pub fn begin(
        &mut self,
        ip: IpAddr,
        activity: Arc<Activity>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.tasks.spawn(connection);
        let number = self.figures.opened.fetch_add(1, Ordering::Relaxed);
        let opened_at = environment::instant();
        let watch = Watch::new();
        self.open
            .insert(task.id(), Open { activity, watch, ip, pending_sent_bytes: None, number, opened_at });
        self.figures.open.store(self.tasks.len(), Ordering::Relaxed);
        self.make_room();
    }

    /// Handles the next event: a connection that has ended, or a check that is due.
    pub async fn next_event(&mut self) {
        let crowded = Scope::EACH.iter().any(|scope| self.excess(*scope) > 0);
        tokio::select! {
            ended = self.tasks.join_next_with_id() => {
                let id = match ended {
                    Some(Ok((id, ()))) => id,
                    Some(Err(error)) => error.id(),
                    None => return,
                };
                self.closing.remove(&id);
                self.figures.open.store(self.tasks.len(), Ordering::Relaxed);
                if let Some(open) = self.open.remove(&id) {
                    self.addresses.end(open.ip);
                }
            }
            _ = self.checks.tick() => self.check(),
            _ = self.pressure.tick() => self.relieve_pressure(),
            _ = self.retries.tick(), if crowded => {
                self.search_failed = false;
                // A connection that was asked during an execution stays open.
                self.closing.retain(|id| self.open.get(id).is_some_and(|open| open.activity.has_close_request()));
                self.make_room();
            }
        }
    }

    /// Begins shutdown: every connection closes after its current request, under the short timeouts of
    /// `CheckPolicy::stopping`.
    pub fn drain(&mut self) {
        self.policy = CheckPolicy::stopping();
        self.checks = ticks(self.policy.interval);
        for open in self.open.values_mut() {
            open.watch = Watch::new();
            open.activity.request_close(CloseRequest::AfterRequest);
        }
    }

    /// Closes connections that are idle for too long or whose clients read too slowly.
    fn check(&mut self) {
        for open in self.open.values_mut() {
            let Some(cause) = open.watch.check(&open.activity, &self.policy) else { continue };
            self.refused.count(cause);
            open.activity.request_close(if cause == Cause::AnswerNotRead {
                CloseRequest::Immediately
            } else {
                CloseRequest::UnlessExecuting
            });
        }
        self.refused.report();
    }

    /// While the memory for responses is short, closes connections whose clients read almost nothing since
    /// the last check.
    fn relieve_pressure(&mut self) {
        let short = self.answers.is_short();
        if !short && !self.was_short {
            return;
        }
        self.was_short = short;
        for open in self.open.values_mut() {
            let pending = (short && open.activity.is_write_blocked()).then(|| open.activity.sent_bytes());
            if let (Some(now), Some(before)) = (pending, open.pending_sent_bytes)
                && now.saturating_sub(before) < PRESSED_ANSWER_BYTES_MIN
            {
                self.refused.count(Cause::AnswerNotRead);
                open.activity.request_close(CloseRequest::Immediately);
            }
            open.pending_sent_bytes = pending;
        }
    }

    fn excess(&self, scope: Scope) -> usize {
        match scope {
            Scope::All => self.tasks.len().saturating_sub(self.most),
            Scope::Unadmitted => {
                self.counts.unadmitted.load(Ordering::Relaxed).saturating_sub(self.unadmitted_most)
            }
            Scope::Handshakes => {
                self.counts.handshakes.load(Ordering::Relaxed).saturating_sub(self.handshakes_most)
            }
        }
    }

    /// Asks as many connections to close as exceed the limits.
    fn make_room(&mut self) {
        for scope in Scope::EACH {
            let wanted = self.excess(scope).saturating_sub(self.closing.len());
            for _ in 0..wanted {
                let Some(victim) = self.next_victim(scope) else { break };
                self.closing.insert(victim);
                self.refused.count(Cause::MadeRoom);
                if let Some(open) = self.open.get(&victim) {
                    open.activity.request_close(CloseRequest::UnlessExecuting);
                }
            }
        }
    }

    /// The next candidate that has done nothing since it was chosen.
    fn next_victim(&mut self, scope: Scope) -> Option<Id> {
        if self.victims_scope != scope {
            self.victims.clear();
            self.victims_scope = scope;
        }
        loop {
            while let Some(victim) = self.victims.pop() {
                let unchanged =
                    self.open.get(&victim.id).is_some_and(|open| open.activity.epoch() == victim.epoch);
                if unchanged && !self.closing.contains(&victim.id) {
                    return Some(victim.id);
                }
            }
            if self.search_failed {
                return None;
            }
            self.victims = self.choose_victims(scope);
            self.search_failed = self.victims.is_empty();
        }
    }

    /// Candidates to close, the first to close last. A connection that executes a request is never one.
    fn choose_victims(&self, scope: Scope) -> Vec<Victim> {
        let now = environment::instant();
        let is_new = |open: &Open| now.saturating_duration_since(open.opened_at) < NEW_CONNECTION;
        let eligible = self.open.iter().filter(|(id, open)| {
            let chosen = match scope {
                Scope::All => true,
                Scope::Unadmitted => !open.activity.was_admitted(),
                Scope::Handshakes => open.activity.phase() == Phase::Handshake,
            };
            chosen && !self.closing.contains(*id)
        });
        let mut ranked: Vec<_> = eligible
            .filter_map(|(id, open)| {
                let rank = rank(&open.activity, is_new(open))?;
                let idle_checks = open.watch.idle_checks(&open.activity);
                let victim = Victim { id: *id, epoch: open.activity.epoch() };
                Some((rank, std::cmp::Reverse(idle_checks), open.number, victim))
            })
            .collect();
        ranked.sort_unstable_by_key(|(rank, idle_checks, number, _)| (*rank, *idle_checks, *number));
        // Only the best rank is taken. The others are considered again soon.
        let best = ranked.first().map_or(Rank::Silent, |(rank, ..)| *rank);
        ranked.retain(|(rank, ..)| *rank == best);
        ranked.truncate(if best <= Rank::New { VICTIMS_MAX } else { KNOWN_VICTIMS_MAX });
        ranked.into_iter().rev().map(|(_, _, _, victim)| victim).collect()
    }
}

/// The order in which connections are closed to make room. Connections without an admitted request go first,
/// and of these the new ones last, so that a new client can send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Has sent nothing.
    Silent,
    /// Has sent a part of its first request, or does not read the response to it.
    Stalled,
    New,
    Idle,
    Receiving,
    Unread,
}

/// `None` while a request is executed.
fn rank(activity: &Activity, is_new: bool) -> Option<Rank> {
    let (admitted, write_blocked) = (activity.was_admitted(), activity.is_write_blocked());
    match activity.phase() {
        Phase::Executing => None,
        _ if !admitted && is_new => Some(Rank::New),
        Phase::AwaitingHead | Phase::Handshake if !admitted && !write_blocked => Some(Rank::Silent),
        _ if !admitted => Some(Rank::Stalled),
        _ if write_blocked => Some(Rank::Unread),
        Phase::AwaitingBody => Some(Rank::Receiving),
        Phase::AwaitingHead | Phase::Handshake => Some(Rank::Idle),
    }
}
