//! What history and jobs take, as last measured: figures for operators, in memory only.

use std::sync::{Mutex, PoisonError};

/// What history and jobs take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepingFigures {
    /// Tables that keep history, deleted ones included.
    pub tables: u64,
    /// Bytes of their undo rows, about.
    pub history_bytes: u64,
    /// Jobs that have not begun.
    pub waiting_jobs: u64,
    /// Jobs at work.
    pub running_jobs: u64,
    /// Jobs that have failed and are still listed.
    pub failed_jobs: u64,
    /// When the oldest job that has not ended was asked for.
    pub oldest_job_ms: Option<u64>,
}

/// The figures as last measured.
#[derive(Debug, Default)]
pub(crate) struct Keeping(Mutex<KeepingFigures>);

impl Keeping {
    pub(crate) fn get(&self) -> KeepingFigures {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, figures: KeepingFigures) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }
}
