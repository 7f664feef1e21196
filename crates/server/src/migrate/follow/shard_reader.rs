//! Reads shards from their places on: what all readers of a stream share.
//!
//! It has the iterators. The places are the caller's, who keeps them once it has kept what the records lead
//! to.

use std::cell::RefCell;
use std::collections::HashMap;

use super::follower::{Interruption, TRIMMED};
use super::progress::{Mark, Place, Progress, Shard};
use super::shards::{self, Batch, Described, Start, Stream};
use crate::client::endpoint::{Client, Refusal};
use crate::migrate::side::Side;
use crate::process::environment::now;

/// How long a stream keeps its records (developer guide: change data capture for DynamoDB Streams).
pub(super) const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// What an endpoint answers to an iterator that is older than 15 minutes.
const EXPIRED: &str = "ExpiredIteratorException";

const VALIDATION: &str = "ValidationException";

/// Why a stream that lacks its last record cannot be followed.
const SET_BACK: &str = "the stream lacks the change that was read last, as after its server was restored from an \
                        older copy";

/// The iterators of a stream's shards.
pub(crate) struct ShardReader {
    stream: Stream,
    /// By the shards' ids.
    iterators: RefCell<HashMap<String, String>>,
}

impl ShardReader {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, iterators: RefCell::default() }
    }

    /// Goes on at the places of an earlier process. Returns all shards that there are.
    ///
    /// # Errors
    ///
    /// If the stream no longer has what comes after one of the places, or has never had what is before it.
    pub(crate) async fn go_on(
        &self,
        client: &mut Client,
        side: &Side,
        progress: &Progress,
    ) -> Result<Vec<Described>, Interruption> {
        if now().0.saturating_sub(progress.read_ms) >= KEPT_MS {
            return Err(Interruption::Lost("the stream was last read more than 24 hours ago".to_owned()));
        }
        let described = self.shards(client).await?;
        for (id, shard) in progress.shards.iter().filter(|(_, shard)| shard.place != Place::End) {
            if !described.iter().any(|known| known.id == *id) {
                return Err(Interruption::Lost(format!("the shard {id} is gone")));
            }
            if let Place::After(last) | Place::Older(last) = &shard.place
                && !side.is_of_service()
                && self.is_set_back(client, id, last).await?
            {
                return Err(Interruption::Lost(SET_BACK.to_owned()));
            }
            let iterator = self.iterator(client, id, (&shard.place, progress.from_ms)).await?;
            self.iterators.borrow_mut().insert(id.clone(), iterator);
        }
        Ok(described)
    }

    /// Whether a shard lacks the record that was read last: its server has been restored from an older copy,
    /// and may have made another record with its number since. The service restores into a new table, with
    /// another stream.
    async fn is_set_back(&self, client: &mut Client, id: &str, last: &Mark) -> Result<bool, Refusal> {
        let iterator = match shards::iterator(client, &self.stream, id, Start::At(&last.number)).await {
            Ok(iterator) => iterator,
            Err(refusal) if refusal.kind == TRIMMED => return Ok(false),
            Err(refusal) => return Err(refusal),
        };
        let Batch { records, .. } = shards::records(client, &iterator, Some(1)).await?;
        Ok(records.first().is_none_or(|record| !record.is(last)))
    }

    /// All shards that there are.
    pub(crate) async fn shards(&self, client: &mut Client) -> Result<Vec<Described>, Refusal> {
        shards::shards(client, &self.stream).await
    }

    /// The records of a shard from its tip on.
    pub(super) async fn at_tip(&self, client: &mut Client, id: &str) -> Result<Batch, Refusal> {
        let iterator = shards::iterator(client, &self.stream, id, Start::Tip).await?;
        shards::records(client, &iterator, None).await
    }

    /// The next records of a shard, at most so many. An iterator that has expired is taken anew at the place.
    pub(crate) async fn next(
        &self,
        client: &mut Client,
        id: &str,
        (place, from_ms): (&Place, Option<u64>),
        count: Option<u32>,
    ) -> Result<Batch, Interruption> {
        let known = self.iterators.borrow().get(id).cloned();
        if let Some(iterator) = known {
            match shards::records(client, &iterator, count).await {
                Err(refusal) if refusal.kind == EXPIRED => {}
                answer => return Ok(answer?),
            }
        }
        let iterator = self.iterator(client, id, (place, from_ms)).await?;
        Ok(shards::records(client, &iterator, count).await?)
    }

    /// An iterator at a place. Of a shard that was not begun, the source must have all records, or all since
    /// the time that the caller begins with.
    async fn iterator(
        &self,
        client: &mut Client,
        id: &str,
        (place, from_ms): (&Place, Option<u64>),
    ) -> Result<String, Interruption> {
        let refusal = match shards::iterator(client, &self.stream, id, Start::at(place)).await {
            Ok(iterator) => return Ok(iterator),
            Err(refusal) => refusal,
        };
        let takes_oldest = matches!(place, Place::Beginning(_))
            && match refusal.kind.as_str() {
                TRIMMED => match from_ms {
                    Some(from_ms) => source_now_ms(client).await < from_ms.saturating_add(KEPT_MS),
                    None => false,
                },
                // Some endpoints take only the numbers of records.
                kind => kind == VALIDATION,
            };
        if !takes_oldest {
            return Err(refusal.into());
        }
        Ok(shards::iterator(client, &self.stream, id, Start::Oldest).await?)
    }

    /// Moves the place of a shard after records that were read: to `place` if there were any, and to the
    /// shard's end if nothing is `next`.
    pub(crate) fn moved(
        &self,
        progress: &mut Progress,
        id: &str,
        (place, next): (Option<Place>, Option<String>),
    ) {
        let place = if next.is_none() { Some(Place::End) } else { place };
        if let (Some(shard), Some(place)) = (progress.shards.get_mut(id), place) {
            shard.place = place;
        }
        let mut iterators = self.iterators.borrow_mut();
        match next {
            Some(next) => iterators.insert(id.to_owned(), next),
            None => iterators.remove(id),
        };
    }
}

/// The time by which a source dates its records.
pub(super) async fn source_now_ms(client: &mut Client) -> u64 {
    client.standing_clock_ms().await.unwrap_or_else(|| now().0)
}

/// Adds shards that are new, and forgets those at their end that the source has forgotten.
pub(crate) fn add_new(progress: &mut Progress, described: Vec<Described>) {
    progress
        .shards
        .retain(|id, shard| shard.place != Place::End || described.iter().any(|known| known.id == *id));
    for Described { id, parent, first } in described {
        progress.shards.entry(id).or_insert(Shard { parent, place: Place::Beginning(first) });
    }
}

/// The shards that have more to read and whose parents have not.
pub(crate) fn readable(progress: &Progress) -> Vec<String> {
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
        let after = || Place::After(Mark { number: "1".to_owned(), made_ms: None });
        let own = progress(&[
            ("done", shard(None, Place::End)),
            ("parent", shard(Some("forgotten"), after())),
            ("child", shard(Some("parent"), Place::Beginning(None))),
            ("other", shard(Some("done"), Place::Beginning(None))),
        ]);
        assert_eq!(readable(&own), ["other", "parent"]);
    }

    #[test]
    fn shards_at_their_end_are_forgotten_with_the_source_and_new_ones_read_from_their_first_record() {
        let mut own = progress(&[("old", shard(None, Place::End)), ("kept", shard(None, Place::End))]);
        let described = |id: &str, parent: Option<&str>| Described {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            first: Some("7".to_owned()),
        };
        add_new(&mut own, vec![described("kept", None), described("new", Some("kept"))]);
        let new = Place::Beginning(Some("7".to_owned()));
        let expected = progress(&[("kept", shard(None, Place::End)), ("new", shard(Some("kept"), new))]);
        assert_eq!(own, expected);
    }

    #[test]
    fn a_place_moves_with_records_and_to_the_end_of_the_shard() {
        let reader = ShardReader::new(Stream("arn".to_owned()));
        let mut own = progress(&[("a", shard(None, Place::Tip))]);
        let after = || Place::After(Mark { number: "1".to_owned(), made_ms: Some(7) });
        let mut place_after = |place, next: Option<&str>| {
            reader.moved(&mut own, "a", (place, next.map(str::to_owned)));
            own.shards["a"].place.clone()
        };
        assert_eq!(place_after(None, Some("i")), Place::Tip, "an empty answer moves nothing");
        assert_eq!(place_after(Some(after()), Some("i")), after());
        assert_eq!(place_after(Some(after()), None), Place::End);
    }
}
