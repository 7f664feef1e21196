//! The rounds in which changes go both ways.
//!
//! A round reads a piece of both streams, decides for each item, keeps the book, and then writes. No two
//! writes of a round are of one item.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::super::follow::{Interruption, NOTE_EVERY_MS, PAUSE, Record, Stream, Until};
use super::super::side::Side;
use super::book::{Book, Departure, Incoming, Look};
use super::entry::{Own, Recheck};
use super::marker::State;
use super::reader::{LAST_PAUSE, Reader};
use super::recover::{End, recover};
use super::rival::rival;
use super::write::{self, Arrival, Arrived, Sent, Stop};
use crate::client::endpoint::Client;
use crate::process::environment::now;
use crate::process::failure::Failure;
use crate::process::timestamp;

/// Connections to each table.
const LANES: usize = 8;

/// Rounds in a row without anything under way, after which both tables count as equal.
const QUIET_ROUNDS: u32 = 5;

/// Sessions in a row that end without a round, and the pauses between.
const SESSIONS_MAX: u32 = 12;
const SESSION_PAUSE_MIN: Duration = Duration::from_millis(200);
const SESSION_PAUSE_MAX: Duration = Duration::from_secs(10);

/// How far the bridge has come, for the person who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    /// Items of which something is under way.
    pub(crate) open: usize,
    /// Whether both tables are equal, as far as both streams show.
    pub(crate) is_quiet: bool,
}

/// Two tables whose changes go both ways.
pub(crate) struct Bridge<'b> {
    /// The table whose order counts.
    pub(crate) first: &'b Side,
    pub(crate) second: &'b Side,
    /// What tells both tables from others.
    pub(crate) ids: (&'b str, &'b str),
    pub(crate) first_stream: &'b Stream,
    pub(crate) keys: &'b [KeyAttribute],
    /// Keeps a book's JSON so that it outlives the process.
    pub(crate) keep: &'b dyn Fn(&Json) -> Result<(), Failure>,
    pub(crate) show: &'b dyn Fn(Came),
}

/// A connection to each table.
struct Lane {
    first: Client,
    second: Client,
}

/// The bridge between two breaks of a connection.
struct Session {
    book: Book,
    first: Reader,
    second: Reader,
    lanes: Vec<Lane>,
    kept_ms: u64,
    /// Rounds that read each shard of either stream once.
    cycle: u32,
}

/// What a round writes.
enum Work {
    Send(Departure),
    Write(Arrival),
}

/// What has come of it.
enum Outcome {
    Sent(Sent),
    Written(Arrived),
}

impl Bridge<'_> {
    /// Lets changes go both ways, from what the book says.
    pub(crate) async fn run(&self, book: Book, until: Until) -> Result<(), Interruption> {
        let kept = RefCell::new(book.json());
        let (mut failed, mut pause) = (0, SESSION_PAUSE_MIN);
        loop {
            let book = Book::read(self.keys, &kept.borrow())?;
            let mut rounds = 0;
            let failure = match self.session(book, until, &kept, &mut rounds).await {
                Ok(()) => return Ok(()),
                Err(Stop::Ended(interruption)) => return Err(interruption),
                Err(Stop::Unclear(failure)) => failure,
            };
            if rounds > 0 {
                (failed, pause) = (0, SESSION_PAUSE_MIN);
            }
            failed += 1;
            if failed >= SESSIONS_MAX {
                return Err(failure.into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(SESSION_PAUSE_MAX);
        }
    }

    async fn session(
        &self,
        mut book: Book,
        until: Until,
        kept: &RefCell<Json>,
        rounds: &mut u32,
    ) -> Result<(), Stop> {
        let second_stream = Stream(book.second_stream.clone());
        let ends = (
            End { side: self.first, stream: self.first_stream },
            End { side: self.second, stream: &second_stream },
        );
        recover(&mut book, self.keys, ends).await?;
        let first = Reader::open(self.first, self.first_stream.clone(), book.first.clone()).await?;
        let second = Reader::open(self.second, second_stream, book.second.clone()).await?;
        let mut lanes = Vec::new();
        for _ in 0..LANES {
            lanes.push(Lane { first: self.first.connect().await?, second: self.second.connect().await? });
        }
        let mut session = Session { book, first, second, lanes, kept_ms: 0, cycle: 1 };
        let (mut quiet, mut has_rested) = (0_u32, false);
        loop {
            let is_quiet = self.round(&mut session, kept).await?;
            *rounds += 1;
            let was_quiet = has_rested;
            quiet = if is_quiet { quiet.saturating_add(1) } else { 0 };
            has_rested =
                quiet >= QUIET_ROUNDS.saturating_mul(session.cycle) && session.book.entries.is_empty();
            if has_rested != was_quiet || !is_quiet {
                let (sent, arrived) = (session.book.sent(), session.book.arrived);
                let open = session.book.entries.len();
                (self.show)(Came { sent, arrived, open, is_quiet: has_rested });
            }
            if has_rested && until == Until::CaughtUp {
                return Ok(());
            }
            if is_quiet {
                tokio::time::sleep(PAUSE).await;
            } else if session.book.awaits_look() {
                tokio::time::sleep(LAST_PAUSE).await;
            }
        }
    }

    /// One round. Whether it found nothing to do.
    async fn round(&self, session: &mut Session, kept: &RefCell<Json>) -> Result<bool, Stop> {
        let may_read = session.book.may_read();
        let (mut has_moved, mut is_near, mut cycle) = (false, false, 1);
        if may_read.second {
            let found = session.second.round().await?;
            (has_moved, is_near, session.cycle) = (found.has_moved, found.is_near, found.cycle);
            self.refuse_rival(&found.records, (self.ids.0, session.book.origin))?;
            session.book.note_second(self.keys, found.records);
        }
        let mut incoming = BTreeMap::new();
        if may_read.first {
            let found = session.first.round().await?;
            has_moved |= found.has_moved;
            cycle = found.cycle;
            self.refuse_rival(&found.records, (self.ids.1, session.book.origin))?;
            incoming = session.book.note_first(self.keys, found.records);
        }
        let mut work: Vec<(String, Work)> =
            session.book.depart().into_iter().map(|(text, send)| (text, Work::Send(send))).collect();
        let looks = session.book.rechecks(is_near, session.second.last_rounds(session.cycle));
        session.cycle = session.cycle.max(cycle);
        self.plan(session, incoming, looks, &mut work).await?;
        session.book.prune();
        (session.book.first, session.book.second) =
            (session.first.places.clone(), session.second.places.clone());
        let is_quiet = work.is_empty() && !has_moved;
        if !is_quiet || now().0.saturating_sub(session.kept_ms) >= NOTE_EVERY_MS {
            let json = session.book.json();
            (self.keep)(&json)?;
            *kept.borrow_mut() = json;
            session.kept_ms = now().0;
        }
        if !work.is_empty() {
            let came = self.write(&mut session.lanes, work).await?;
            for (text, came) in came {
                note(&mut session.book, &text, came);
            }
            session.book.prune();
        }
        Ok(is_quiet)
    }

    /// Ends this bridge if records of one table show a later one to the other table.
    fn refuse_rival(&self, records: &[Record], other: (&str, u64)) -> Result<(), Failure> {
        let Some(began_ms) = records.iter().find_map(|record| rival(record, other)) else { return Ok(()) };
        let failure = Failure::new(format!(
            "another bridge between {} and {} has begun at {}, and two of them send each other's changes back",
            self.first.place(),
            self.second.place(),
            timestamp::of(began_ms)
        ));
        Err(failure.advising(
            "leave that one alone, or stop it and begin this one anew: remove its state file, and pass --overwrite",
        ))
    }

    /// Decides what is written to the second table.
    async fn plan(
        &self,
        session: &mut Session,
        incoming: BTreeMap<String, Incoming>,
        looks: Vec<Look>,
        work: &mut Vec<(String, Work)>,
    ) -> Result<(), Stop> {
        let Session { book, lanes, .. } = session;
        let incoming: Vec<(String, Incoming)> = incoming.into_iter().collect();
        let keys = incoming.iter().map(|(_, incoming)| &incoming.key);
        let items = read_each(lanes, &self.second.table, keys.collect()).await?;
        for ((text, Incoming { key, before, image }), was) in incoming.into_iter().zip(items) {
            let (state, after) = (State::of(was.as_ref()), State::of(image.as_ref()));
            let entry = book.entry(text.clone(), &key);
            if entry.arrives(&before, Own { before: state, after }) {
                work.push((text, Work::Write(Arrival { key, was, image })));
            }
        }
        for Look { text, key, seen } in looks {
            if work.iter().any(|(other, _)| *other == text) {
                continue;
            }
            let Some(lane) = lanes.first_mut() else { return Ok(()) };
            let was = write::read(&mut lane.second, &self.second.table, &key).await?;
            let state = State::of(was.as_ref());
            let entry = book.entry(text.clone(), &key);
            if seen.as_ref() != Some(&state) {
                entry.recheck = Recheck::Seen(state, 0);
                continue;
            }
            let image = write::read(&mut lane.first, &self.first.table, &key).await?;
            let after = State::of(image.as_ref());
            if state == after {
                entry.recheck = Recheck::No;
            } else {
                entry.own.push_back(Own { before: state, after });
                work.push((text, Work::Write(Arrival { key, was, image })));
            }
        }
        Ok(())
    }

    /// Writes all, over all connections.
    async fn write(
        &self,
        lanes: &mut [Lane],
        work: Vec<(String, Work)>,
    ) -> Result<Vec<(String, Outcome)>, Stop> {
        let queue = RefCell::new(work.into_iter());
        let parts = lanes.iter_mut().map(async |lane| {
            let mut came = Vec::new();
            loop {
                let next = queue.borrow_mut().next();
                let Some((text, work)) = next else { return Ok::<_, Stop>(came) };
                let done = match work {
                    Work::Send(send) => {
                        Outcome::Sent(write::send(&mut lane.first, self.first, self.keys, &send).await?)
                    }
                    Work::Write(arrival) => {
                        let done = write::arrive(&mut lane.second, self.second, self.keys, &arrival).await?;
                        Outcome::Written(done)
                    }
                };
                came.push((text, done));
            }
        });
        Ok(try_join_all(parts).await?.into_iter().flatten().collect())
    }
}

/// Reads items of a table, over all connections.
async fn read_each(lanes: &mut [Lane], table: &str, keys: Vec<&Item>) -> Result<Vec<Option<Item>>, Failure> {
    let share = keys.len().div_ceil(lanes.len().max(1)).max(1);
    let parts = lanes.iter_mut().zip(keys.chunks(share)).map(async |(lane, keys)| {
        let mut items = Vec::new();
        for key in keys {
            items.push(write::read(&mut lane.second, table, key).await?);
        }
        Ok::<_, Failure>(items)
    });
    Ok(try_join_all(parts).await?.into_iter().flatten().collect())
}

/// Notes in the book what a write has come to.
fn note(book: &mut Book, text: &str, came: Outcome) {
    let Some(entry) = book.entries.get_mut(text) else { return };
    match came {
        Outcome::Sent(Sent::Put) => {}
        Outcome::Sent(Sent::Deleted(attempt)) => {
            if let Some(flight) = &mut entry.flight {
                flight.attempt = Some(attempt);
            }
        }
        Outcome::Sent(Sent::Nothing) => {
            entry.flight = None;
            if entry.unsent.is_none() {
                entry.recheck = Recheck::Due;
            }
        }
        Outcome::Written(Arrived::Over(before)) => {
            if let Some(own) = entry.own.back_mut() {
                own.before = before;
            }
            entry.recheck = Recheck::No;
            book.arrived += 1;
        }
        Outcome::Written(Arrived::Unneeded) => {
            entry.own.pop_back();
        }
        Outcome::Written(Arrived::Refused) => {
            entry.own.pop_back();
            entry.recheck = Recheck::Due;
        }
    }
}
