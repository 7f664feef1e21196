//! The changes: every shard read in order, its records applied, its place noted.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures_util::future::try_join_all;

use super::super::writes::{self, Change, last_of_each};
use super::follower::{Event, Follower, Interruption, NEAR_MS, Until};
use super::progress::{Place, Progress, Shard};
use super::shards::{self, Batch, Described, Start};
use crate::client::endpoint::Client;
use crate::process::environment::{instant, now};
use crate::process::failure::Failure;

/// How long a stream keeps its records (developer guide: change data capture for DynamoDB Streams).
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// Connections that read shards side by side.
const LANES: usize = 4;

/// The pause after a round that found nothing.
const PAUSE: Duration = Duration::from_millis(200);

/// The time between two looks for new shards. A shard that ends is followed by others at once.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The time between two notes of a place that does not change, so that its age is known.
const NOTE_EVERY_MS: u64 = 60_000;

/// Rounds in a row without a record before a stream counts as read, or without an old one before it counts as
/// nearly read: a shard may answer with an empty page before its tip.
const ROUNDS: u32 = 3;

const EXPIRED: &str = "ExpiredIteratorException";

/// A connection on each side.
struct Lane {
    streams: Client,
    target: Client,
}

/// What a round has found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    records: u64,
    /// How long ago the last record of the shard that is furthest behind was made, once it was applied.
    lag_ms: u64,
    has_end: bool,
}

/// How near the reader has been to the end of the stream in the last rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Nearness {
    /// Rounds without a record.
    quiet: u32,
    /// Rounds without a record that is old.
    near: u32,
}

impl Nearness {
    fn note(&mut self, found: Found) {
        let count = |rounds: u32, is_so: bool| if is_so { rounds.saturating_add(1) } else { 0 };
        self.quiet = count(self.quiet, found.records == 0 && !found.has_end);
        self.near = count(self.near, found.lag_ms < NEAR_MS && !found.has_end);
    }
}

/// The reader of a stream whose positions are noted.
pub(super) struct Reader<'r, 'f> {
    follower: &'r Follower<'f>,
    lanes: RefCell<Vec<Lane>>,
    iterators: RefCell<HashMap<String, String>>,
    /// Whether the source is a server whose clock stands until it is moved.
    has_standing_clock: bool,
}

impl<'r, 'f> Reader<'r, 'f> {
    /// Notes the positions of a new follower, or checks that those of an earlier process can be read.
    pub(super) async fn open(follower: &'r Follower<'f>) -> Result<Self, Interruption> {
        let mut lanes = Vec::new();
        for _ in 0..LANES {
            let streams = follower.source.connect_to_streams().await?;
            lanes.push(Lane { streams, target: follower.target.connect().await? });
        }
        let has_standing_clock = match lanes.first_mut() {
            Some(lane) => lane.streams.standing_clock_ms().await.is_some(),
            None => false,
        };
        let (lanes, iterators) = (RefCell::new(lanes), RefCell::new(HashMap::new()));
        let own = Self { follower, lanes, iterators, has_standing_clock };
        if follower.progress.borrow().shards.is_empty() {
            own.begin().await?;
        } else {
            own.go_on().await?;
        }
        Ok(own)
    }

    /// Begins every shard at its tip, which of a closed one is its end.
    async fn begin(&self) -> Result<(), Interruption> {
        let mut lane = self.take_lane()?;
        let stream = &self.follower.stream;
        let (mut places, mut batches) = (BTreeMap::new(), Vec::new());
        for Described { id, parent } in shards::shards(&mut lane.streams, stream).await? {
            let iterator = shards::iterator(&mut lane.streams, stream, &id, Start::Tip).await?;
            // A place that is taken when the iterator is first used comes before the Scan, too.
            batches.push((id.clone(), shards::records(&mut lane.streams, &iterator).await?));
            places.insert(id, Shard { parent, place: Place::Tip });
        }
        // Those that have begun meanwhile are read as a whole.
        for Described { id, parent } in shards::shards(&mut lane.streams, stream).await? {
            places.entry(id).or_insert(Shard { parent, place: Place::Beginning });
        }
        if places.is_empty() {
            let text = "the source's stream has no shard yet: try again in a moment";
            return Err(Failure::new(text).into());
        }
        // Before the first write. A process that finds no places begins anew, and its Scan does not replace
        // what stands at the target, although the source may have changed it since.
        self.follower.note(|progress| {
            progress.shards = places;
            progress.read_ms = now().0;
        })?;
        for (id, batch) in batches {
            self.take(&mut lane, &id, batch).await?;
        }
        self.lanes.borrow_mut().push(lane);
        self.follower.note(|progress| progress.read_ms = now().0)?;
        Ok(())
    }

    /// Checks the places of an earlier process.
    async fn go_on(&self) -> Result<(), Interruption> {
        let (read_ms, places) = {
            let progress = self.follower.progress.borrow();
            (progress.read_ms, progress.shards.clone())
        };
        if now().0.saturating_sub(read_ms) >= KEPT_MS {
            return Err(Interruption::Lost("the stream was last read more than 24 hours ago".to_owned()));
        }
        let mut lane = self.take_lane()?;
        let described = shards::shards(&mut lane.streams, &self.follower.stream).await?;
        for (id, shard) in places.iter().filter(|(_, shard)| shard.place != Place::End) {
            if !described.iter().any(|known| known.id == *id) {
                return Err(Interruption::Lost(format!("the shard {id} is gone")));
            }
            let start = Start::Place(&shard.place);
            let iterator = shards::iterator(&mut lane.streams, &self.follower.stream, id, start).await;
            self.iterators.borrow_mut().insert(id.clone(), iterator?);
        }
        self.lanes.borrow_mut().push(lane);
        self.follower.note(|progress| add_new(progress, described))?;
        Ok(())
    }

    fn take_lane(&self) -> Result<Lane, Failure> {
        self.lanes.borrow_mut().pop().ok_or_else(|| Failure::new("there is no connection to the stream"))
    }

    /// Reads and applies until it has caught up, or for ever.
    pub(super) async fn run(&self, until: Until) -> Result<(), Interruption> {
        let (mut nearness, mut has_caught_up) = (Nearness::default(), false);
        let mut looked = instant();
        loop {
            let found = self.round().await?;
            if found.has_end || looked.elapsed() >= LOOK_EVERY {
                self.look_for_new().await?;
                looked = instant();
            }
            let changes = self.follower.progress.borrow().changes;
            nearness.note(found);
            if found.records > 0 {
                (self.follower.show)(Event::Applied { changes, lag_ms: found.lag_ms });
            }
            let is_quiet = nearness.quiet >= ROUNDS;
            if nearness.near >= ROUNDS && self.follower.is_scanned() {
                if !has_caught_up && (is_quiet || found.records > 0) {
                    (self.follower.show)(Event::CaughtUp { changes, is_quiet });
                    has_caught_up = true;
                }
                if until == Until::CaughtUp && is_quiet {
                    return Ok(());
                }
            }
            if nearness.quiet > 0 {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Reads every readable shard once.
    async fn round(&self) -> Result<Found, Interruption> {
        let readable = readable(&self.follower.progress.borrow());
        let mut lanes = std::mem::take(&mut *self.lanes.borrow_mut());
        let share = readable.len().div_ceil(lanes.len().max(1)).max(1);
        let parts = lanes.iter_mut().zip(readable.chunks(share));
        let found = try_join_all(parts.map(|(lane, shards)| self.read_each(lane, shards))).await?;
        *self.lanes.borrow_mut() = lanes;
        let found = found.into_iter().fold(Found::default(), |sum, one| Found {
            records: sum.records + one.records,
            lag_ms: sum.lag_ms.max(one.lag_ms),
            has_end: sum.has_end || one.has_end,
        });
        let is_old = now().0.saturating_sub(self.follower.progress.borrow().read_ms) >= NOTE_EVERY_MS;
        if found.records > 0 || found.has_end || is_old {
            self.follower.note(|progress| progress.read_ms = now().0)?;
        }
        Ok(found)
    }

    async fn read_each(&self, lane: &mut Lane, shards: &[String]) -> Result<Found, Interruption> {
        let mut found = Found::default();
        for shard in shards {
            let batch = self.batch(lane, shard).await?;
            found.records += u64::try_from(batch.changes.len()).unwrap_or(u64::MAX);
            found.has_end |= batch.next.is_none();
            let (is_empty, last_ms) = (batch.changes.is_empty(), batch.last_ms);
            self.take(lane, shard, batch).await?;
            if !is_empty {
                let now_ms = self.source_now_ms(lane).await;
                let lag_ms = last_ms.map_or(u64::MAX, |last_ms| now_ms.saturating_sub(last_ms));
                found.lag_ms = found.lag_ms.max(lag_ms);
            }
        }
        Ok(found)
    }

    /// The time by which the source dates its records.
    async fn source_now_ms(&self, lane: &mut Lane) -> u64 {
        let standing = if self.has_standing_clock { lane.streams.standing_clock_ms().await } else { None };
        standing.unwrap_or_else(|| now().0)
    }

    /// Applies the records of a shard, and moves its place after them; the caller keeps it.
    async fn take(&self, lane: &mut Lane, shard: &str, batch: Batch) -> Result<(), Failure> {
        let Batch { changes, last, next, .. } = batch;
        let count = u64::try_from(changes.len()).unwrap_or(u64::MAX);
        self.apply(&mut lane.target, changes).await?;
        let mut progress = self.follower.progress.borrow_mut();
        progress.changes += count;
        if let Some(own) = progress.shards.get_mut(shard) {
            match (&next, last) {
                (None, _) => own.place = Place::End,
                (Some(_), Some(number)) => own.place = Place::After(number),
                (Some(_), None) => {}
            }
        }
        let mut iterators = self.iterators.borrow_mut();
        match next {
            Some(next) => iterators.insert(shard.to_owned(), next),
            None => iterators.remove(shard),
        };
        Ok(())
    }

    /// The next records of a shard. An iterator that has expired is taken anew at the shard's place.
    async fn batch(&self, lane: &mut Lane, shard: &str) -> Result<Batch, Interruption> {
        let known = self.iterators.borrow().get(shard).cloned();
        if let Some(iterator) = known {
            match shards::records(&mut lane.streams, &iterator).await {
                Err(refusal) if refusal.kind == EXPIRED => {}
                answer => return Ok(answer?),
            }
        }
        let place = self.follower.progress.borrow().shards.get(shard).map(|shard| shard.place.clone());
        let place = place.unwrap_or(Place::Beginning);
        let stream = &self.follower.stream;
        let iterator = shards::iterator(&mut lane.streams, stream, shard, Start::Place(&place)).await?;
        Ok(shards::records(&mut lane.streams, &iterator).await?)
    }

    /// Puts and deletes the last state of each item that some records change.
    async fn apply(&self, target: &mut Client, changes: Vec<Change>) -> Result<(), Failure> {
        let last = last_of_each(&self.follower.keys, changes);
        let is_onto_items = self.follower.is_onto_items();
        let keeps_out = |change: &Change| change.image.is_none() || is_onto_items;
        let noted = last.iter().filter(|(_, change)| keeps_out(change)).map(|(key, _)| key.clone());
        let noted: Vec<String> = noted.collect();
        if !noted.is_empty() {
            self.follower.tombstones.note(noted).await;
        }
        writes::apply(target, &self.follower.target.table, last.values()).await
    }

    async fn look_for_new(&self) -> Result<(), Failure> {
        let mut lane = self.take_lane()?;
        let described = shards::shards(&mut lane.streams, &self.follower.stream).await?;
        self.lanes.borrow_mut().push(lane);
        self.follower.note(|progress| add_new(progress, described))
    }
}

/// Adds shards that are new, and forgets those at their end that the source has forgotten.
fn add_new(progress: &mut Progress, described: Vec<Described>) {
    progress
        .shards
        .retain(|id, shard| shard.place != Place::End || described.iter().any(|known| known.id == *id));
    for Described { id, parent } in described {
        progress.shards.entry(id).or_insert(Shard { parent, place: Place::Beginning });
    }
}

/// The shards that have more to read and whose parents have not.
fn readable(progress: &Progress) -> Vec<String> {
    let is_read = |id: &String| progress.shards.get(id).is_none_or(|shard| shard.place == Place::End);
    let open = progress.shards.iter().filter(|(_, shard)| shard.place != Place::End);
    open.filter(|(_, shard)| shard.parent.as_ref().is_none_or(is_read)).map(|(id, _)| id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(parent: Option<&str>, place: Place) -> Shard {
        Shard { parent: parent.map(str::to_owned), place }
    }

    fn progress(shards: &[(&str, Shard)]) -> Progress {
        let mut progress = Progress::new(1);
        progress.shards = shards.iter().map(|(id, shard)| ((*id).to_owned(), shard.clone())).collect();
        progress
    }

    #[test]
    fn a_shard_is_read_after_the_one_that_it_comes_from() {
        let after = || Place::After("1".to_owned());
        let own = progress(&[
            ("done", shard(None, Place::End)),
            ("parent", shard(Some("forgotten"), after())),
            ("child", shard(Some("parent"), Place::Beginning)),
            ("other", shard(Some("done"), Place::Beginning)),
        ]);
        assert_eq!(readable(&own), ["other", "parent"]);
    }

    #[test]
    fn new_records_leave_a_reader_near_and_old_ones_or_a_shards_end_do_not() {
        let mut own = Nearness::default();
        for (records, lag_ms, has_end, expected) in [
            (5, 200, false, (0, 1)),
            (0, 0, false, (1, 2)),
            (1, NEAR_MS - 1, false, (0, 3)),
            (1, NEAR_MS, false, (0, 0)),
            (0, 0, false, (1, 1)),
            (0, 0, true, (0, 0)),
        ] {
            own.note(Found { records, lag_ms, has_end });
            assert_eq!((own.quiet, own.near), expected, "{records} {lag_ms} {has_end}");
        }
    }

    #[test]
    fn shards_at_their_end_are_forgotten_with_the_source_and_new_ones_read_from_their_beginning() {
        let mut own = progress(&[("old", shard(None, Place::End)), ("kept", shard(None, Place::End))]);
        let described = |id: &str, parent: Option<&str>| Described {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
        };
        add_new(&mut own, vec![described("kept", None), described("new", Some("kept"))]);
        let expected =
            progress(&[("kept", shard(None, Place::End)), ("new", shard(Some("kept"), Place::Beginning))]);
        assert_eq!(own, expected);
    }
}
