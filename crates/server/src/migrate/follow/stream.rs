//! The changes: every shard read in order, its records applied, its place noted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::super::writes::{self, Change, last_of_each};
use super::follower::{Event, Follower, Interruption, NEAR_MS, Until};
use super::progress::{Place, Progress, Shard};
use super::shard_reader::{ShardReader, add_new, readable, source_now_ms};
use super::shards::{Batch, Described, Record};
use crate::client::endpoint::Client;
use crate::process::environment::{instant, now};
use crate::process::failure::Failure;

/// Connections that read shards side by side.
const LANES: usize = 4;

/// The pause after a round that found nothing. The service lets a shard be read five times a second.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// The time between two looks for new shards. A shard that ends is followed by others at once.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The time between two notes of a place that does not change, so that its age is known.
pub(crate) const NOTE_EVERY_MS: u64 = 60_000;

/// Rounds in a row without a record before a stream counts as read, or without an old one before it counts as
/// nearly read: a shard may answer with an empty page before its tip.
const ROUNDS: u32 = 3;

/// A connection on each side.
struct Lane {
    streams: Client,
    target: Client,
}

/// What a round has found.
#[derive(Clone, Copy, Debug, Default)]
struct RoundCounts {
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
    fn note(&mut self, found: RoundCounts) {
        let count = |rounds: u32, is_so: bool| if is_so { rounds.saturating_add(1) } else { 0 };
        self.quiet = count(self.quiet, found.records == 0 && !found.has_end);
        self.near = count(self.near, found.lag_ms < NEAR_MS && !found.has_end);
    }
}

/// Reads a stream whose positions are noted, and applies its records.
pub(super) struct Applier<'r, 'f> {
    follower: &'r Follower<'f>,
    lanes: RefCell<Vec<Lane>>,
    shards: ShardReader,
    /// Whether the source is a server whose clock stands until it is moved.
    has_standing_clock: bool,
}

impl<'r, 'f> Applier<'r, 'f> {
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
        let shards = ShardReader::new(follower.stream.clone());
        let own = Self { follower, lanes: RefCell::new(lanes), shards, has_standing_clock };
        if follower.progress.borrow().shards.is_empty() {
            own.begin().await?;
        } else {
            own.go_on().await?;
        }
        Ok(own)
    }

    /// Begins every shard at its tip, which of a closed one is its end. Without a Scan, at its beginning.
    async fn begin(&self) -> Result<(), Interruption> {
        if self.follower.progress.borrow().from_ms.is_some() {
            // Before the shards are noted with it: a process that finds them goes on by this time.
            self.follower.progress.borrow_mut().read_ms = now().0;
            return Ok(self.look_for_new().await?);
        }
        let mut lane = self.take_lane()?;
        let (mut places, mut batches) = (BTreeMap::new(), Vec::new());
        for Described { id, parent, .. } in self.shards.shards(&mut lane.streams).await? {
            // A place that is taken when the iterator is first used comes before the Scan, too.
            batches.push((id.clone(), self.shards.at_tip(&mut lane.streams, &id).await?));
            places.insert(id, Shard { parent, place: Place::Tip });
        }
        // Those that have begun meanwhile are read as a whole.
        for Described { id, parent, first } in self.shards.shards(&mut lane.streams).await? {
            places.entry(id).or_insert(Shard { parent, place: Place::Beginning(first) });
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

    /// Goes on at the places of an earlier process.
    async fn go_on(&self) -> Result<(), Interruption> {
        let mut lane = self.take_lane()?;
        let progress = self.follower.progress();
        let described = self.shards.go_on(&mut lane.streams, self.follower.source, &progress).await?;
        self.lanes.borrow_mut().push(lane);
        Ok(self.follower.note(|progress| add_new(progress, described))?)
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
            let (changes, expiries) = self.follower.applied();
            nearness.note(found);
            if found.records > 0 {
                (self.follower.show)(Event::Applied { changes, expiries, lag_ms: found.lag_ms });
            }
            let is_quiet = nearness.quiet >= ROUNDS;
            if nearness.near >= ROUNDS && self.follower.is_scanned() {
                if !has_caught_up && (is_quiet || found.records > 0) {
                    (self.follower.show)(Event::CaughtUp { changes, expiries, is_quiet });
                    has_caught_up = true;
                }
                if until == Until::Near {
                    return self.number_tips().await;
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

    /// Gives shards that were begun at their tip, and have shown nothing since, a place with a number.
    async fn number_tips(&self) -> Result<(), Interruption> {
        let tips: Vec<String> = {
            let progress = self.follower.progress.borrow();
            let tips = progress.shards.iter().filter(|(_, shard)| shard.place == Place::Tip);
            tips.map(|(id, _)| id.clone()).collect()
        };
        let mut lane = self.take_lane()?;
        for id in tips {
            self.number_tip(&mut lane, &id).await?;
        }
        self.lanes.borrow_mut().push(lane);
        Ok(self.follower.note(|progress| progress.read_ms = now().0)?)
    }

    /// Looks for the last record before the tip of a shard. As the shard shows nothing afterwards, the place
    /// is exact. A shard without a record stays at its tip.
    async fn number_tip(&self, lane: &mut Lane, id: &str) -> Result<(), Interruption> {
        let history = ShardReader::new(self.follower.stream.clone());
        let mut past = Progress::new(0);
        past.shards.insert(id.to_owned(), Shard { parent: None, place: Place::Tip });
        let mut quiet = 0;
        while quiet < ROUNDS {
            if quiet > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            quiet += 1;
            if let Some(place) = past.shards.get(id).map(|shard| shard.place.clone())
                && place != Place::End
            {
                let Batch { records, next } =
                    history.next(&mut lane.streams, id, (&place, None), None).await?;
                let last = records.last().map(|record| Place::After(record.mark()));
                if last.is_some() {
                    quiet = 0;
                }
                history.moved(&mut past, id, (last, next));
            }
            let batch = self.batch(lane, id).await?;
            let has_moved = !batch.records.is_empty() || batch.next.is_none();
            self.take(lane, id, batch).await?;
            if has_moved {
                return Ok(());
            }
        }
        let before = past.shards.remove(id).filter(|before| before.place != Place::End);
        if let (Some(shard), Some(before)) = (self.follower.progress.borrow_mut().shards.get_mut(id), before)
        {
            shard.place = before.place;
        }
        Ok(())
    }

    /// Reads every readable shard once.
    async fn round(&self) -> Result<RoundCounts, Interruption> {
        let readable = readable(&self.follower.progress.borrow());
        let mut lanes = std::mem::take(&mut *self.lanes.borrow_mut());
        let share = readable.len().div_ceil(lanes.len().max(1)).max(1);
        let parts = lanes.iter_mut().zip(readable.chunks(share));
        let found = try_join_all(parts.map(|(lane, shards)| self.read_each(lane, shards))).await?;
        *self.lanes.borrow_mut() = lanes;
        let found = found.into_iter().fold(RoundCounts::default(), |sum, one| RoundCounts {
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

    async fn read_each(&self, lane: &mut Lane, shards: &[String]) -> Result<RoundCounts, Interruption> {
        let mut found = RoundCounts::default();
        for shard in shards {
            let batch = self.batch(lane, shard).await?;
            found.records += u64::try_from(batch.records.len()).unwrap_or(u64::MAX);
            found.has_end |= batch.next.is_none();
            let is_empty = batch.records.is_empty();
            let last_ms = batch.records.last().and_then(|record| record.made_ms);
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
        if self.has_standing_clock { source_now_ms(&mut lane.streams).await } else { now().0 }
    }

    /// Applies the records of a shard, and moves its place after them; the caller keeps it.
    async fn take(&self, lane: &mut Lane, shard: &str, batch: Batch) -> Result<(), Failure> {
        let Batch { mut records, next } = batch;
        let last = records.last().map(Record::mark);
        let older = self.older(shard, &records);
        let place =
            if older > 0 && older == records.len() { last.map(Place::Older) } else { last.map(Place::After) };
        records.drain(..older);
        let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
        let expiries = records.iter().filter(|record| record.is_expiry).count();
        let own = |change: Change| Change {
            image: change.image.map(|item| self.follower.for_target(item)),
            ..change
        };
        let changes = records.into_iter().map(|record| own(record.change)).collect();
        self.apply(&mut lane.target, changes).await?;
        let mut progress = self.follower.progress.borrow_mut();
        progress.changes += count;
        progress.expiries += u64::try_from(expiries).unwrap_or(u64::MAX);
        self.shards.moved(&mut progress, shard, (place, next));
        Ok(())
    }

    /// How many of the next records of a shard are older than the time that the follower begins with. Once a
    /// shard has shown a record that is not, none is: what is applied of it has no gap, however exact the
    /// times are.
    fn older(&self, shard: &str, records: &[Record]) -> usize {
        let progress = self.follower.progress.borrow();
        let place = progress.shards.get(shard).map(|shard| &shard.place);
        let Some(from_ms) =
            progress.from_ms.filter(|_| matches!(place, Some(Place::Beginning(_) | Place::Older(_))))
        else {
            return 0;
        };
        records.iter().take_while(|record| record.made_ms.is_some_and(|made_ms| made_ms < from_ms)).count()
    }

    /// The next records of a shard.
    async fn batch(&self, lane: &mut Lane, shard: &str) -> Result<Batch, Interruption> {
        let (place, from_ms) = {
            let progress = self.follower.progress.borrow();
            let place = progress.shards.get(shard).map(|shard| shard.place.clone());
            (place.unwrap_or(Place::Beginning(None)), progress.from_ms)
        };
        self.shards.next(&mut lane.streams, shard, (&place, from_ms), None).await
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
        let described = self.shards.shards(&mut lane.streams).await?;
        self.lanes.borrow_mut().push(lane);
        self.follower.note(|progress| add_new(progress, described))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            own.note(RoundCounts { records, lag_ms, has_end });
            assert_eq!((own.quiet, own.near), expected, "{records} {lag_ms} {has_end}");
        }
    }
}
