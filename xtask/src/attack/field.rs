//! What an attack has at hand: the server's address and key, its time, and where it notes what it saw.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::http::{Answer, Connection};
use super::request::Sender;
use super::server::Server;

/// More faults than this of one attack say nothing new.
const FAULTS_MAX: usize = 8;
/// After a connection was lost, so that an attack on a dead server does not spin.
const PAUSE: Duration = Duration::from_millis(20);

/// For one request before the attack.
const PREPARATION_MAX: Duration = Duration::from_secs(30);

/// Threads that open connections to be held.
const OPENERS: usize = 8;
/// Slower than a burst, which would measure the length of the queue of connections not yet accepted.
const PACE: Duration = Duration::from_micros(500);
/// Bytes that are sent between two pauses.
const PIECE_BYTES: usize = 16 * 1024;
/// Nanoseconds per byte of each opener: together a gigabit network. Loopback is ten times as fast, at the
/// expense of the processors.
const BYTE_NS: u64 = 80;

pub(crate) struct Field<'a> {
    pub(crate) server: &'a Server,
    pub(crate) sender: Sender,
    pub(crate) seed: u64,
    /// Processor time that the quiet clients alone cost, in ticks per second.
    pub(crate) quiet_ticks: u64,
    timer: Timer,
    time: Duration,
    faults: Mutex<BTreeSet<String>>,
    answers: Mutex<BTreeMap<String, usize>>,
    refusals: Mutex<BTreeMap<u16, String>>,
    /// Whether internal errors are right: the service answers so to bodies that cannot be opened.
    sends_unreadable: AtomicBool,
    /// Connections that stay open until the server has ended.
    held: Mutex<Vec<TcpStream>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Field<'a> {
    pub(crate) fn new(server: &'a Server, seed: u64, time: Duration, quiet_ticks: u64) -> Self {
        Self {
            server,
            sender: Sender::new(server.address, server.key.clone()),
            seed,
            quiet_ticks,
            timer: Timer::start(),
            time,
            faults: Mutex::default(),
            answers: Mutex::default(),
            refusals: Mutex::default(),
            sends_unreadable: AtomicBool::new(false),
            held: Mutex::default(),
        }
    }

    /// The time left; zero when the attack is over.
    pub(crate) fn left(&self) -> Duration {
        self.time.saturating_sub(self.timer.elapsed())
    }

    pub(crate) fn over(&self) -> bool {
        self.left().is_zero()
    }

    pub(crate) fn fault(&self, text: String) {
        let mut faults = locked(&self.faults);
        if faults.len() < FAULTS_MAX {
            faults.insert(text);
        }
    }

    pub(crate) fn has_faults_enough(&self) -> bool {
        locked(&self.faults).len() >= FAULTS_MAX
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        locked(&self.faults).iter().cloned().collect()
    }

    pub(crate) fn count(&self, kind: impl Into<String>) {
        self.count_many(kind, 1);
    }

    pub(crate) fn count_many(&self, kind: impl Into<String>, count: usize) {
        *locked(&self.answers).entry(kind.into()).or_default() += count;
    }

    /// What was answered, such as `200 12, lost 3`.
    pub(crate) fn answers(&self) -> String {
        let counted: Vec<String> =
            locked(&self.answers).iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        counted.join(", ")
    }

    /// The first text of each status but 200.
    pub(crate) fn refusals(&self) -> Vec<String> {
        locked(&self.refusals).iter().map(|(status, text)| format!("{status}: {text}")).collect()
    }

    pub(crate) fn hold(&self, stream: TcpStream) {
        locked(&self.held).push(stream);
    }

    pub(crate) fn held(&self) -> usize {
        locked(&self.held).len()
    }

    /// From now on bodies are sent that cannot be opened.
    pub(crate) fn send_unreadable(&self) {
        self.sends_unreadable.store(true, Ordering::Relaxed);
    }

    /// Counts an answer; an internal error or a malformed answer is a fault.
    pub(crate) fn note(&self, outcome: &io::Result<Answer>) {
        match outcome {
            Ok(answer) => {
                self.count(answer.status.to_string());
                if answer.status != 200 {
                    let first = || answer.text().chars().take(200).collect();
                    locked(&self.refusals).entry(answer.status).or_insert_with(first);
                }
                if answer.status == 500 && !self.sends_unreadable.load(Ordering::Relaxed) {
                    let text: String = answer.text().chars().take(160).collect();
                    self.fault(format!("HTTP 500: {text}"));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.fault(error.to_string()),
            Err(_) => self.count("lost"),
        }
    }

    /// Opens connections and holds them, until there are `count`, or the time is over.
    pub(crate) fn hold_connections(&self, count: usize, first: &[u8]) {
        let bytes = u64::try_from(first.len()).unwrap_or(u64::MAX);
        let pace = PACE + Duration::from_nanos(BYTE_NS.saturating_mul(bytes));
        self.together(OPENERS, |_| {
            while self.held() < count && !self.over() {
                let opened = Connection::open(self.sender.address, self.left().min(Duration::from_secs(3)));
                let Ok(mut connection) = opened else {
                    self.count("refused");
                    thread::sleep(PAUSE);
                    continue;
                };
                if !first.is_empty() && connection.send(first).is_err() {
                    self.count("lost");
                }
                self.hold(connection.into_stream());
                thread::sleep(pace);
            }
        });
        locked(&self.answers).insert("held".to_owned(), self.held());
    }

    /// Sends bytes at this connection's share of the network, if so many send at a time.
    pub(crate) fn send_paced(
        &self,
        connection: &mut Connection,
        bytes: &[u8],
        senders: usize,
    ) -> io::Result<()> {
        for piece in bytes.chunks(PIECE_BYTES) {
            if self.over() {
                return Ok(());
            }
            connection.send(piece)?;
            let share = piece.len().saturating_mul(senders) / OPENERS;
            let pace = Duration::from_nanos(BYTE_NS.saturating_mul(u64::try_from(share).unwrap_or(u64::MAX)));
            thread::sleep(pace.min(self.left()));
        }
        Ok(())
    }

    /// Sends the requests in turn on so many connections until the attack is over.
    pub(crate) fn repeat(&self, connections: usize, requests: &[Vec<u8>]) {
        let next = AtomicUsize::new(0);
        self.together(connections, |_| self.repeat_on_one(&next, requests));
    }

    fn repeat_on_one(&self, next: &AtomicUsize, requests: &[Vec<u8>]) {
        let mut open = None;
        while !self.over() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = number.checked_rem(requests.len()).and_then(|at| requests.get(at)) else {
                return;
            };
            let connected = match open.take() {
                Some(connection) => Ok(connection),
                None => Connection::open(self.sender.address, self.left()),
            };
            let outcome = connected.and_then(|mut connection| {
                connection.wait_at_most(self.left())?;
                let answer = match connection.send(request) {
                    Ok(()) => connection.answer()?,
                    // A server may answer before it has read everything, and close.
                    Err(error) => connection.answer().map_err(|_| error)?,
                };
                Ok((connection, answer))
            });
            match outcome {
                Ok((connection, answer)) => {
                    if !answer.closes {
                        open = Some(connection);
                    }
                    self.note(&Ok(answer));
                }
                Err(error) => {
                    if !self.over() {
                        self.note(&Err(error));
                    }
                    thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Runs the work on so many threads and waits for all.
    pub(crate) fn together(&self, threads: usize, work: impl Fn(usize) + Sync) {
        let work = &work;
        thread::scope(|scope| {
            for number in 0..threads {
                let named = thread::Builder::new().name(format!("attacker-{number}"));
                if let Err(error) = named.spawn_scoped(scope, move || work(number)) {
                    self.fault(format!("the attack has too few threads: {error}"));
                }
            }
        });
    }
}

/// One request before the attack, which must succeed.
pub(crate) fn must(sender: &Sender, operation: &str, body: &str) -> Result<(), String> {
    let mut connection = preparing(sender)?;
    must_on(&mut connection, sender, operation, body)
}

/// A connection for requests before the attack.
pub(crate) fn preparing(sender: &Sender) -> Result<Connection, String> {
    Connection::open(sender.address, PREPARATION_MAX).map_err(|error| format!("preparation: {error}"))
}

pub(crate) fn must_on(
    connection: &mut Connection,
    sender: &Sender,
    operation: &str,
    body: &str,
) -> Result<(), String> {
    let request = sender.request(operation, body.as_bytes());
    answered(connection, &request).map(|_| ()).map_err(|fault| format!("{operation}: {fault}"))
}

/// The answer to a request before the attack, which must succeed.
pub(crate) fn answered(connection: &mut Connection, request: &[u8]) -> Result<Answer, String> {
    match connection.call(request) {
        Ok(answer) if answer.status == 200 => Ok(answer),
        Ok(answer) => Err(format!("preparation: {} {}", answer.status, answer.text())),
        Err(error) => Err(format!("preparation: {error}")),
    }
}
