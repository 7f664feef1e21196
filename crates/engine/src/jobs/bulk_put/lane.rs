//! A lane of a bulk put, as it is stored: how far it is, and what it has done.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};
use serde::{Deserialize, Serialize};

use super::BulkPutCounts;
use crate::jobs::object_job::ObjectJob;
use crate::jobs::row::{Work, lane_key};
use crate::state::Engine;
use crate::support::fault;
use crate::transfers::bulk_put::Usage;
use crate::transfers::row::Counts;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// A lane. Its fields are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lane {
    /// The object of the next record.
    pub object: u32,
    /// How many records of it come before.
    pub record: u64,
    pub counts: Counts,
    pub usage: Usage,
}

impl Lane {
    /// A lane before its first record.
    pub(crate) fn first(number: u32) -> Self {
        Self { object: number, ..Self::default() }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a lane of owned values encodes into a vector").into()
    }

    fn decode(row: &[u8]) -> Result<Self, Error> {
        let row = row.strip_prefix(&[FORMAT]).ok_or_else(fault::internal)?;
        postcard::from_bytes(row).map_err(|_fault| fault::internal())
    }
}

/// A lane as its caller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkPutLane {
    pub(super) number: u32,
    pub(super) lane: Lane,
}

impl BulkPutLane {
    /// The next record: the number of its object, and how many records of that come before it.
    pub const fn from(&self) -> (u32, u64) {
        (self.lane.object, self.lane.record)
    }
}

/// The rows of lanes, in their order.
pub(crate) fn decode_all<'r>(rows: impl Iterator<Item = Option<&'r Bytes>>) -> Result<Vec<Lane>, Error> {
    rows.map(|row| Lane::decode(row.ok_or_else(fault::internal)?)).collect()
}

/// The keys of all lanes.
pub(crate) fn keys(id: &str, lanes: u32) -> Vec<Bytes> {
    (0..lanes).map(|number| lane_key(id, number)).collect()
}

/// The lanes of a job that has not ended.
pub(crate) async fn lanes_of(view: &impl Snapshot, id: &str, lanes: u32) -> Result<Vec<Lane>, Error> {
    let rows = view.get_many(&keys(id, lanes)).await.map_err(|error| fault::storage(&error))?;
    decode_all(rows.iter().map(Option::as_ref))
}

/// What all lanes together have done.
pub(crate) fn sum(lanes: &[Lane]) -> (Counts, Usage) {
    let (mut counts, mut usage) = (Counts::default(), Usage::default());
    for lane in lanes {
        counts.processed += lane.counts.processed;
        counts.written += lane.counts.written;
        counts.failed += lane.counts.failed;
        counts.bytes += lane.counts.bytes;
        usage.add(&lane.usage);
    }
    (counts, usage)
}

impl<S: Store> Engine<S> {
    /// The lanes of a bulk put, in their order. None if it has ended.
    pub async fn bulk_put_lanes(&self, job: &ObjectJob) -> Result<Vec<BulkPutLane>, Error> {
        let Work::BulkPut(bulk_put) = &job.job.work else { return Ok(Vec::new()) };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let rows = view.get_many(&keys(&job.id, bulk_put.lanes)).await;
        let rows = rows.map_err(|error| fault::storage(&error))?;
        if rows.iter().any(Option::is_none) {
            return Ok(Vec::new());
        }
        let lanes = decode_all(rows.iter().map(Option::as_ref))?;
        Ok((0..).zip(lanes).map(|(number, lane)| BulkPutLane { number, lane }).collect())
    }

    /// What a bulk put has done so far.
    pub async fn bulk_put_counts(&self, job: &ObjectJob) -> Result<BulkPutCounts, Error> {
        let lanes: Vec<Lane> = self.bulk_put_lanes(job).await?.into_iter().map(|lane| lane.lane).collect();
        let (Counts { processed, written, failed, .. }, _) = sum(&lanes);
        Ok(BulkPutCounts { processed, written, failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_read_back_as_it_was_written() {
        let lane = Lane { record: 7, usage: Usage { table: 5, ..Usage::default() }, ..Lane::first(3) };
        assert_eq!(decode_all([Some(&lane.encode())].into_iter()).expect("it is a lane"), [lane]);
        assert!(decode_all([None].into_iter()).is_err());
        assert!(Lane::decode(&[9]).is_err());
    }
}
