//! Up to which day the undo rows of each table are trimmed, in memory only.
//!
//! Losing it costs the removal of a range that is empty already.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::catalogue::HistoryGeneration;
use crate::support::layout::TableId;
use crate::support::stamp::Day;

type Span = (TableId, HistoryGeneration);

/// The first day that is kept of each span.
#[derive(Default)]
pub(crate) struct TrimmedHistory(Mutex<BTreeMap<Span, Day>>);

impl TrimmedHistory {
    /// Whether days before this one may still have rows.
    pub(crate) fn is_due(&self, span: Span, day: Day) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&span).is_none_or(|kept| *kept < day)
    }

    pub(crate) fn note(&self, span: Span, day: Day) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(span, day);
    }
}
