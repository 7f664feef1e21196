//! Measuring what history and jobs take, once a minute while there is something to measure.

use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::jobs::row::{State, ended, open};
use crate::state::Engine;
use crate::state::keeping::KeepingFigures;
use crate::support::env::MINUTE_MS;
use crate::support::fault;
use crate::support::layout::{Space, prefix_range, table_prefix};
use crate::support::wake::NextWake;

/// Jobs that a measurement reads.
const JOBS_MAX: usize = 1_000;

/// Measures, if it is time. If nothing was found it asks for no step of its own: the next one that something
/// else asks for measures again.
pub(super) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let due = &engine.due().measurement;
    if now_ms >= due.at_ms() {
        due.begin(now_ms.saturating_add(MINUTE_MS));
        engine.keeping().set(measured(engine).await?);
    }
    let has_found = engine.keeping_figures() != KeepingFigures::default();
    Ok(NextWake { at_ms: has_found.then(|| due.at_ms()) })
}

async fn measured<S: Store>(engine: &Engine<S>) -> Result<KeepingFigures, Error> {
    let mut figures = KeepingFigures::default();
    for table in engine.catalogue().all() {
        let history = &table.history;
        if !history.is_on() && history.doomed.is_empty() {
            continue;
        }
        figures.tables += u64::from(history.is_on());
        let range = prefix_range(table_prefix(Space::History, table.id));
        let bytes = engine.store().size_estimate_bytes(&range).await;
        figures.history_bytes += bytes.map_err(|error| fault::storage(&error))?;
    }
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    for job in open(&view, JOBS_MAX).await? {
        match job.state {
            State::Waiting => figures.waiting_jobs += 1,
            _ => figures.running_jobs += 1,
        }
        figures.oldest_job_ms =
            Some(figures.oldest_job_ms.map_or(job.created_ms, |ms| ms.min(job.created_ms)));
    }
    let failed =
        ended(&view, JOBS_MAX).await?.into_iter().filter(|job| matches!(job.state, State::Failed { .. }));
    figures.failed_jobs = u64::try_from(failed.count()).unwrap_or(u64::MAX);
    Ok(figures)
}
