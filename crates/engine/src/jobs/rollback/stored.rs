//! What is stored of a rollback.

use serde::{Deserialize, Serialize};

use super::plan::RollbackCounts;
use super::request::Scope;
use crate::support::stamp::Stamp;

/// A rollback. The table of the job is the one that is rolled back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rollback {
    /// The changes with stamps from `to` on and below `until` are undone.
    pub(super) to: Stamp,
    pub(super) until: Stamp,
    pub(super) scope: Scope,
    pub(super) counts: RollbackCounts,
}

impl Rollback {
    pub(in crate::jobs) const fn counts(&self) -> RollbackCounts {
        self.counts
    }
}
