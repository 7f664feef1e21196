//! Which keys requests touch, for tables whose contributor insights are on.
//!
//! All calls return at once for other tables, before a key is looked at.

use keywright_semantics::capacity::Usage;
use keywright_semantics::throttle::{Direction, Throttled};
use keywright_store::Store;

use super::Engine;
use super::admission::ReadOf;
use crate::catalogue::{InsightsState, Table};
use crate::insights::Event;
use crate::insights::contributor::KeySource;
use crate::support::env::MINUTE_MS;
use crate::support::layout::IndexId;

/// Whether the insights of tables count a request. They do not count PartiQL (developer guide: contributor
/// insights).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    Yes,
    No,
}

/// A written unit counts as three units (developer guide: contributor insights).
const WRITE_WEIGHT: u64 = 3;

impl<S: Store> Engine<S> {
    /// The same database for a request that contributor insights do not count.
    #[must_use]
    pub(crate) fn unobserved(&self) -> Self {
        Self { observed: Observed::No, ..self.clone() }
    }

    /// Whether keys of this table or of its indexes may be counted.
    #[inline]
    pub(crate) fn observes_keys(&self, table: &Table) -> bool {
        !table.insights.is_empty() && self.observed == Observed::Yes
    }

    /// The insights of a table or index, if they are on.
    #[inline]
    fn insights_state<'t>(&self, table: &'t Table, index: Option<IndexId>) -> Option<&'t InsightsState> {
        if !self.observes_keys(table) {
            return None;
        }
        table.insights_of(index).filter(|state| state.is_on())
    }

    /// A request has consumed units of a table or global index for this key.
    #[inline]
    pub(crate) fn note_key(&self, of: ReadOf<'_>, usage: Usage, key: KeySource<'_>) {
        if let Some(state) = self.insights_state(of.table, of.index) {
            let weighted = usage.read.0.saturating_add(usage.write.0.saturating_mul(WRITE_WEIGHT));
            self.note_event(of, state, Event::Consumed(weighted), key);
        }
    }

    /// A limit has refused a request or an item with this key. The limits of an index to which a write would
    /// add do not count (developer guide: contributor insights).
    #[inline]
    pub(crate) fn note_refused_key(&self, of: ReadOf<'_>, throttled: &Throttled, key: KeySource<'_>) {
        if let Some(state) = self.insights_state(of.table, of.index) {
            let own = |direction, of_index: bool| direction == Direction::Read || !of_index;
            if throttled.reasons.iter().any(|reason| own(reason.direction, reason.of_index)) {
                self.note_event(of, state, Event::Throttled, key);
            }
        }
    }

    #[cold]
    fn note_event(&self, of: ReadOf<'_>, state: &InsightsState, event: Event, key: KeySource<'_>) {
        let schema = of.table.observed(of.index).map(|(_, schema)| schema);
        let Some(contributors) = schema.and_then(|schema| key.contributors(schema)) else { return };
        let minute = self.env().now_ms() / MINUTE_MS;
        self.insights().add(of.table, of.index, state, (minute, event, &contributors));
    }
}
