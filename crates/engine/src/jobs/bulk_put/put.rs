//! The next records of a lane become items, in one commit of the write core with the lane's row.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keywright_semantics::capacity::{WriteMode, write_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::messages::bulk as messages;
use keywright_semantics::request::FileRecord;
use keywright_store::Store;

use super::batch::{Batch, Batcher, COMMIT_ITEMS_MAX, Refused, units};
use super::lane::{BulkPutLane, Lane};
use crate::catalogue::Table;
use crate::jobs::object_job::{ObjectJob, ObjectWork};
use crate::jobs::row::{BulkPut, Job, Work, lane_key};
use crate::jobs::source::{Piece, Read};
use crate::jobs::table_of;
use crate::state::Engine;
use crate::support::fault;
use crate::write::change::{Action, Effect, Outcome};
use crate::write::group::{GroupEnd, GroupKind, binding_steps, run};
use crate::write::own_row::{NewProgress, OwnRow};

/// Tries of one commit. Each that fails leaves records out, halves the batch, or has a newer table.
const TRIES_MAX: usize = 200;

/// What became of some records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BulkPutStep {
    /// So many of the first pieces are done.
    Done {
        /// The lane as it is now.
        lane: Box<BulkPutLane>,
        /// How many.
        pieces: usize,
        /// Write units that they took.
        units: u64,
    },
    /// Limits of throughput or other writers are in the way: the same pieces may be tried again soon.
    Later,
    /// Another process does the work, or it has ended.
    Overtaken,
    /// A client has cancelled it.
    Cancelled,
    /// It cannot go on.
    Failed {
        /// A word for the cause.
        code: &'static str,
        /// What went wrong.
        message: String,
    },
}

impl Piece {
    /// The write units that putting it takes at least.
    pub fn write_units(&self) -> u64 {
        match &self.read {
            Read::Record(record) => {
                let bytes = EncodedItem::encode(&record.item).size_bytes();
                write_units(bytes, WriteMode::Plain).0.div_ceil(2)
            }
            Read::Invalid(_) | Read::End { .. } => 0,
        }
    }

    fn record(&self) -> Option<&FileRecord> {
        match &self.read {
            Read::Record(record) => Some(record),
            Read::Invalid(_) | Read::End { .. } => None,
        }
    }
}

/// Whether a job may write to its table.
enum Standing {
    May(Arc<Table>),
    MayNot(BulkPutStep),
}

/// The table of a job, if it may be written to.
async fn standing<S: Store>(engine: &Engine<S>, job: &Job, bulk_put: BulkPut) -> Result<Standing, Error> {
    let names_job = |table: &Table| table.bulk_put.as_ref().is_some_and(|at_work| at_work.job == job.id);
    let mut table = table_of(engine, job.owner()).await?;
    if engine.is_shared() && table.as_ref().is_some_and(|table| !names_job(table)) {
        // This copy of the table may be older than the job.
        engine.catalogue().follow(engine.env().now_ms()).await?;
        table = table_of(engine, job.owner()).await?;
    }
    let failed = |code, message| Standing::MayNot(BulkPutStep::Failed { code, message });
    let Some(table) = table.filter(|table| table.takes_data()) else {
        return Ok(failed(messages::TABLE_DELETED, messages::deleted(&job.table_name)));
    };
    let Some(at_work) = table.bulk_put.as_ref().filter(|at_work| at_work.job == job.id) else {
        return Ok(Standing::MayNot(BulkPutStep::Overtaken));
    };
    if at_work.is_cancelled {
        return Ok(Standing::MayNot(BulkPutStep::Cancelled));
    }
    if table.next_index_id != bulk_put.next_index_id {
        // An older release, which knows of no bulk puts, has added it.
        return Ok(failed(messages::INDEX_ADDED, messages::index_added(&job.table_name)));
    }
    Ok(Standing::May(table))
}

impl<S: Store> Engine<S> {
    /// Whether a bulk put may go on; if not, why. A caller asks before it does anything else.
    pub async fn bulk_put_stop(&self, job: &ObjectJob) -> Result<Option<BulkPutStep>, Error> {
        let Work::BulkPut(bulk_put) = job.job.work else { return Ok(Some(BulkPutStep::Overtaken)) };
        match standing(self, &job.job, bulk_put).await? {
            Standing::May(_) => Ok(None),
            Standing::MayNot(step) => Ok(Some(step)),
        }
    }

    /// Writes the next pieces of a lane, in their order, as many as one commit takes.
    pub async fn bulk_put(
        &self,
        job: &ObjectJob,
        lane: &BulkPutLane,
        pieces: &[Piece],
    ) -> Result<BulkPutStep, Error> {
        let (Work::BulkPut(bulk_put), ObjectWork::BulkPut(work)) = (&job.job.work, &job.work) else {
            return Ok(BulkPutStep::Overtaken);
        };
        let mut most = COMMIT_ITEMS_MAX;
        let mut refused: BTreeMap<usize, Refused> = BTreeMap::new();
        for _ in 0..TRIES_MAX {
            let table = match standing(self, &job.job, *bulk_put).await? {
                Standing::May(table) => table,
                Standing::MayNot(step) => return Ok(step),
            };
            let batcher = Batcher {
                id: &job.id,
                table: &table,
                lane: &lane.lane,
                lanes: bulk_put.lanes,
                pieces,
                reports: &work.output.reports,
            };
            let batch = batcher.batch(most, &refused);
            let Some(end) = self.attempt(job, lane, (&table, pieces), &batch).await? else { continue };
            match end {
                GroupEnd::Written(outcomes) => {
                    let refusals = refused.range(..batch.taken).map(|(_, refused)| refused.units().0);
                    let halves = outcomes.iter().map(|outcome| units(outcome).0).chain(refusals);
                    let units = halves.sum::<u64>().div_ceil(2);
                    assert!(batch.taken > 0, "a commit takes a record at least");
                    assert_eq!(outcomes.len(), batch.puts.len(), "each put of a batch has an outcome");
                    self.load_pace().note(batch.puts.len(), self.env().now_us());
                    let after = BulkPutLane { lane: batch.after()(&outcomes), ..lane.clone() };
                    return Ok(BulkPutStep::Done { lane: Box::new(after), pieces: batch.taken, units });
                }
                GroupEnd::Refused(refusals) => {
                    let places = batch.puts.iter().map(|(place, _)| *place);
                    let refusals = places.zip(refusals);
                    refused
                        .extend(refusals.filter_map(|(place, refusal)| Some((place, Refused::of(refusal?)))));
                }
                GroupEnd::TooLarge if batch.taken == 1 => return Err(fault::internal()),
                GroupEnd::TooLarge => most = (batch.puts.len() / 2).max(1),
                GroupEnd::Throttled(refusals) => {
                    // Those before the first that limits refuse.
                    most = refusals.iter().take_while(|refusal| refusal.is_none()).count();
                    if most == 0 {
                        return Ok(BulkPutStep::Later);
                    }
                }
                GroupEnd::Conflict(_) => return Ok(BulkPutStep::Later),
                GroupEnd::Overtaken => return Ok(BulkPutStep::Overtaken),
                GroupEnd::Replayed(_) => return Err(fault::internal()),
            }
        }
        Ok(BulkPutStep::Later)
    }

    /// One try of a commit; `None` if the table is not as the batch was made for.
    async fn attempt(
        &self,
        job: &ObjectJob,
        lane: &BulkPutLane,
        (table, pieces): (&Arc<Table>, &[Piece]),
        batch: &Batch,
    ) -> Result<Option<GroupEnd>, Error> {
        let after = batch.after();
        let own = OwnRow::Progress(NewProgress {
            key: lane_key(&job.id, lane.number),
            before: lane.lane.encode(),
            after: Box::new(move |outcomes: &[Outcome]| Lane::encode(&after(outcomes))),
            others: batch.findings.clone(),
        });
        let steps = binding_steps(batch.puts.iter().map(|(_, put)| put.item.as_bytes().len()).sum());
        let is_stale = AtomicBool::new(false);
        let bind = || {
            let newest = self.catalogue().newest(table);
            if newest.version != table.version {
                is_stale.store(true, Ordering::Relaxed);
                return Err(fault::internal());
            }
            let action = |(place, put): &(usize, crate::bind::item::BoundPut)| {
                let record = pieces.get(*place).and_then(Piece::record);
                Action {
                    table: Arc::clone(&newest),
                    key: put.key.clone(),
                    effect: Effect::Put(put.item.clone()),
                    condition: record.and_then(|record| record.condition.as_ref()),
                    given: record.map(|record| &record.item),
                }
            };
            Ok(batch.puts.iter().map(action).collect())
        };
        match run(self, GroupKind::Single, Some(&own), steps, bind).await {
            Ok(end) => Ok(Some(end)),
            Err(_) if is_stale.into_inner() => Ok(None),
            // The table is gone: the next look says so.
            Err(_) if self.catalogue().with_id(table.id).is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
