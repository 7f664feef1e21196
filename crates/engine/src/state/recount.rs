//! The recount of a counter, as it stands between two steps.

use std::sync::{Mutex, PoisonError};

use super::stats::{RecountNumber, Tally};
use crate::support::rows::Pages;

/// The recount under way: at most one.
pub(crate) struct Recounting<Snap>(Mutex<Option<PartialCount<Snap>>>);

/// A count of one snapshot's rows; each step counts some of them.
pub(crate) struct PartialCount<Snap> {
    pub number: RecountNumber,
    pub snapshot: Snap,
    /// The rows not yet counted.
    pub rest: Pages,
    pub found: Tally,
}

impl<Snap> Default for Recounting<Snap> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<Snap> Recounting<Snap> {
    pub(crate) fn take(&self) -> Option<PartialCount<Snap>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn put(&self, count: PartialCount<Snap>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(count);
    }
}
