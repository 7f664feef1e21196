//! Lanes of a bulk put: each reads its objects one after the other and gives their records to the engine.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::future::join_all;
use keywright_engine::{BulkPutLane, BulkPutStep, BulkPutWork, ObjectJob, Piece};
use keywright_objects::Bucket;
use keywright_wire::files::Contents;

use super::super::load::wait;
use super::super::source::{Limits, read};
use super::super::{Stop, Tools};
use super::pace::Pace;
use super::{Halt, WAIT_MAX};

/// Records of one batch.
const BATCH_RECORDS: usize = 200;
/// Objects that are taken from the list at a time.
const OBJECTS: usize = 2_000;

/// Reads all objects. No lane is dropped while it writes: after a fault of one, the others end at the next
/// batch.
pub(super) async fn read_all(
    tools: &Tools,
    job: &ObjectJob,
    (bucket, work): (&Bucket, &BulkPutWork),
    objects: u32,
) -> Result<(), Halt> {
    let lanes = tools.engine()?.bulk_put_lanes(job).await?;
    if lanes.is_empty() {
        return Err(Stop::Overtaken.into());
    }
    let readers = Readers {
        tools,
        job,
        bucket,
        work,
        objects,
        pace: Pace::new(work.units_per_second),
        is_halted: AtomicBool::new(false),
    };
    let ends = join_all(lanes.into_iter().map(|lane| readers.read(lane))).await;
    readers.pace.wait(tools).await;
    ends.into_iter().filter_map(Result::err).max_by_key(weight).map_or(Ok(()), Err)
}

/// Which of the faults of several lanes is the job's.
const fn weight(halt: &Halt) -> u8 {
    match halt {
        Halt::Stop(Stop::Later(_)) => 0,
        Halt::Stop(Stop::Failed { .. }) => 1,
        Halt::Cancelled => 2,
        Halt::Stop(Stop::Overtaken) => 3,
    }
}

/// What all lanes use.
struct Readers<'j> {
    tools: &'j Tools,
    job: &'j ObjectJob,
    bucket: &'j Bucket,
    work: &'j BulkPutWork,
    /// How many objects there are.
    objects: u32,
    pace: Pace,
    /// Whether a lane cannot go on.
    is_halted: AtomicBool,
}

impl Readers<'_> {
    async fn read(&self, lane: BulkPutLane) -> Result<(), Halt> {
        let ended = self.objects_of(lane).await;
        if ended.is_err() {
            self.is_halted.store(true, Ordering::Relaxed);
        }
        ended
    }

    async fn objects_of(&self, mut lane: BulkPutLane) -> Result<(), Halt> {
        let lanes = u64::from(self.work.lanes.max(1));
        loop {
            let (object, record) = lane.from();
            if object >= self.objects || self.is_halted.load(Ordering::Relaxed) {
                return Ok(());
            }
            let some: Vec<Bytes> = self.tools.engine()?.listed_objects(self.job, object, OBJECTS).await?;
            let own = (object..).zip(some).step_by(usize::try_from(lanes).unwrap_or(usize::MAX));
            let limits = Limits {
                memory_bytes: self.tools.job_memory_bytes / lanes,
                pieces_max: self.tools.engine()?.load_rows_at_once().min(BATCH_RECORDS),
            };
            let source = (self.bucket, &self.work.source);
            let mut batches = read(source, Contents::ConditionalPuts, own.collect(), record, limits)?;
            while let Some(pieces) = batches.next().await? {
                if self.is_halted.load(Ordering::Relaxed) {
                    return Ok(());
                }
                lane = self.put(lane, &pieces).await?;
                wait(self.tools).await;
            }
        }
    }

    /// Puts some records, one commit after the other.
    async fn put(&self, mut lane: BulkPutLane, pieces: &[Piece]) -> Result<BulkPutLane, Halt> {
        let mut rest = pieces;
        while !rest.is_empty() {
            let (count, expected) = self.pace.first_of(rest, Piece::write_units);
            let some = rest.get(..count).unwrap_or(rest);
            self.pace.take(self.tools, expected).await;
            match self.tools.engine()?.bulk_put(self.job, &lane, some).await? {
                BulkPutStep::Done { lane: after, pieces, units } => {
                    self.pace.correct(expected, units);
                    lane = *after;
                    rest = rest.get(pieces..).unwrap_or_default();
                }
                BulkPutStep::Later => {
                    self.pace.correct(expected, 0);
                    tokio::time::sleep(WAIT_MAX).await;
                }
                stopped => return Err(Halt::of(stopped).unwrap_or_else(|| Stop::Overtaken.into())),
            }
        }
        Ok(lane)
    }
}
