//! The change logs of a table's Kinesis destinations.

use super::change_log::{ChangeLog, Purpose};
use super::destination::{DestinationId, DestinationTerms, Phase, Rest};
use super::table::Table;

impl Table {
    /// Logs of destinations, each with its terms, the oldest first.
    pub(crate) fn destination_logs(&self) -> impl Iterator<Item = (&ChangeLog, &DestinationTerms)> {
        self.logs.iter().filter_map(|log| match &log.purpose {
            Purpose::Destination(terms) => Some((log, terms)),
            Purpose::Stream(_) | Purpose::Replication => None,
        })
    }

    /// The log of an enabling takes no more changes. What it holds is still delivered, or is discarded.
    pub(crate) fn close_destination(&mut self, id: DestinationId, now_ms: u64, rest: Rest) {
        for log in &mut self.logs {
            let Purpose::Destination(terms) = &mut log.purpose else { continue };
            if terms.id == id {
                terms.is_discarded |= rest == Rest::Discarded;
                if log.is_open() {
                    log.close(now_ms);
                }
            }
        }
    }

    /// Ends all destinations, because the table is deleted.
    pub(crate) fn end_destinations(&mut self, now_ms: u64, rest: Rest) {
        let on: Vec<(DestinationId, bool)> = self
            .destinations
            .all
            .iter_mut()
            .filter(|destination| destination.is_on())
            .map(|destination| {
                let is_reached = destination.phase != Phase::Enabling;
                destination.phase = Phase::Disabled;
                destination.settled_ms = now_ms;
                (destination.id, is_reached)
            })
            .collect();
        for (id, is_reached) in on {
            // Nobody knows whether a stream that was never reached takes records.
            self.close_destination(id, now_ms, if is_reached { rest } else { Rest::Discarded });
        }
    }

    /// Checks the invariant on destinations.
    ///
    /// # Panics
    ///
    /// If it does not hold.
    pub(super) fn check_destinations(&self) {
        let on = self.destinations.all.iter().filter(|destination| destination.is_on());
        let on: Vec<DestinationId> = on.map(|destination| destination.id).collect();
        assert!(on.len() <= 1, "a table has one live destination at most");
        let open = self.destination_logs().filter(|(log, _)| log.is_open()).map(|(_, terms)| terms.id);
        assert_eq!(open.collect::<Vec<_>>(), on, "the live destination has the one open log");
    }
}
