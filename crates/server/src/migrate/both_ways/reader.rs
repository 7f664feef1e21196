//! The records of one table's stream, shard by shard, in bounded pieces.
//!
//! It notes its places in memory; the caller keeps them once it has kept what the records lead to.

use std::time::{Duration, Instant};

use super::super::follow::progress::{Place, Progress};
use super::super::follow::{Batch, Interruption, LOOK_EVERY, Record, ShardReader, Stream, add_new, readable};
use super::super::side::Side;
use crate::client::endpoint::Client;
use crate::process::environment::{instant, now};

/// Shards that are read in one round, and records of each.
const SHARDS_MAX: usize = 8;
const RECORDS_MAX: u32 = 250;

/// A read of a shard with more records may have been cut.
const CALM_RECORDS: usize = 25;

/// Reads of each shard near its end, with pauses between, that have shown everything that was written before
/// them; of the service, whose streams lag.
const LAST_READS: u32 = 3;
const LAST_READS_OF_SERVICE: u32 = 20;
pub(super) const LAST_PAUSE: Duration = Duration::from_millis(100);

/// What a round has found.
#[derive(Debug, Default)]
pub(super) struct RoundRecords {
    pub(super) records: Vec<Record>,
    /// Whether all shards have probably been read to their present ends.
    pub(super) is_near: bool,
    /// Rounds that read each shard once.
    pub(super) cycle: u32,
    /// Whether a place has changed.
    pub(super) has_moved: bool,
}

/// The reader of a stream.
pub(super) struct Reader {
    client: Client,
    /// For the reason of a gap.
    table: String,
    shards: ShardReader,
    last_reads: u32,
    pub(super) places: Progress,
    /// The shard that the next round begins with.
    turn: usize,
    /// Reads of shards in a row that have found little.
    calm: usize,
    looked: Instant,
}

impl Reader {
    /// Goes on at these places, if the stream still has what comes after them.
    pub(super) async fn open(side: &Side, stream: Stream, places: Progress) -> Result<Self, Interruption> {
        let mut own = Self {
            client: side.connect_to_streams().await?,
            table: side.place(),
            shards: ShardReader::new(stream),
            last_reads: last_reads(side),
            places,
            turn: 0,
            calm: 0,
            looked: instant(),
        };
        let described = own.shards.go_on(&mut own.client, side, &own.places).await;
        let described = described.map_err(|fault| own.of_table(fault))?;
        add_new(&mut own.places, described);
        Ok(own)
    }

    /// Begins with the oldest records that the stream has; what came before them does not count.
    pub(super) async fn from_oldest(side: &Side, stream: Stream) -> Result<Self, Interruption> {
        let mut places = Progress::new(0);
        places.read_ms = now().0;
        let mut own = Self::open(side, stream, places).await?;
        for shard in own.places.shards.values_mut() {
            shard.place = Place::Tip;
        }
        Ok(own)
    }

    /// Names the table whose stream has a gap.
    fn of_table(&self, interruption: Interruption) -> Interruption {
        match interruption {
            Interruption::Lost(reason) => Interruption::Lost(format!("{}: {reason}", self.table)),
            failed @ Interruption::Failed(_) => failed,
        }
    }

    /// Reads to the end that the stream has had until now. `take` says whether it has seen enough.
    pub(super) async fn read_to_end(
        &mut self,
        mut take: impl FnMut(&Record) -> bool,
    ) -> Result<(), Interruption> {
        let mut near = 0;
        loop {
            let found = self.round().await?;
            if found.records.iter().any(&mut take) {
                return Ok(());
            }
            near = if found.is_near { near + 1 } else { 0 };
            if near >= self.last_rounds(found.cycle) {
                return Ok(());
            }
            if near > 0 {
                tokio::time::sleep(LAST_PAUSE).await;
            }
        }
    }

    /// So many rounds near the end of the stream, with pauses, show everything that was written before them.
    pub(super) fn last_rounds(&self, cycle: u32) -> u32 {
        self.last_reads.saturating_mul(cycle)
    }

    /// Reads some records of some shards.
    pub(super) async fn round(&mut self) -> Result<RoundRecords, Interruption> {
        let readable = readable(&self.places);
        let count = readable.len().min(SHARDS_MAX);
        let cycle = u32::try_from(readable.len().div_ceil(SHARDS_MAX)).unwrap_or(u32::MAX).max(1);
        let mut found = RoundRecords { cycle, ..RoundRecords::default() };
        let mut has_end = false;
        let first = self.turn.checked_rem(readable.len()).unwrap_or_default();
        self.turn = first + count;
        for id in readable.iter().cycle().skip(first).take(count) {
            let Batch { records, next } = self.batch(id).await?;
            let last = records.last().map(Record::mark);
            has_end |= next.is_none();
            self.calm = if records.len() <= CALM_RECORDS && next.is_some() { self.calm + 1 } else { 0 };
            found.has_moved |= last.is_some() || next.is_none();
            self.shards.moved(&mut self.places, id, (last.map(Place::After), next));
            found.records.extend(records);
        }
        if has_end || self.looked.elapsed() >= LOOK_EVERY {
            let described = self.shards.shards(&mut self.client).await?;
            add_new(&mut self.places, described);
            self.looked = instant();
        }
        found.is_near = self.calm >= readable.len();
        self.places.read_ms = now().0;
        Ok(found)
    }

    /// The next records of a shard.
    async fn batch(&mut self, id: &str) -> Result<Batch, Interruption> {
        let place = self.places.shards.get(id).map_or(&Place::Beginning(None), |shard| &shard.place);
        let batch = self.shards.next(&mut self.client, id, (place, None), Some(RECORDS_MAX)).await;
        batch.map_err(|fault| self.of_table(fault))
    }
}

fn last_reads(side: &Side) -> u32 {
    if side.is_of_service() { LAST_READS_OF_SERVICE } else { LAST_READS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::endpoint::Credentials;

    #[test]
    fn a_stream_of_the_service_is_read_longer_before_its_end_counts() {
        let reads = |endpoint: &str| {
            let keys = (String::new(), String::new());
            let credentials = Credentials::new(keys, None, None);
            last_reads(&Side { endpoint: endpoint.parse().unwrap(), credentials, table: "T".to_owned() })
        };
        assert_eq!(reads("http://localhost:8000"), LAST_READS);
        assert_eq!(reads("https://dynamodb.eu-west-1.amazonaws.com"), LAST_READS_OF_SERVICE);
    }
}
