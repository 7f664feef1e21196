//! What this process has delivered, and what waits: figures in memory, and their metrics.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Place;
use crate::management::exposition::{Exposition, Kind, Millionths};

/// The figures of one process.
#[derive(Default)]
pub(crate) struct Figures {
    delivered: AtomicU64,
    dropped: AtomicU64,
    skipped: AtomicU64,
    /// The time of the oldest record that waits, of each shard that this process delivers.
    oldest_ms: Mutex<HashMap<Place, Option<u64>>>,
}

impl Figures {
    pub(super) fn note_sent(&self, delivered: u64, dropped: u64, skipped: u64) {
        self.delivered.fetch_add(delivered, Ordering::Relaxed);
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        self.skipped.fetch_add(skipped, Ordering::Relaxed);
    }

    pub(super) fn note_oldest(&self, place: Place, oldest_ms: Option<u64>) {
        self.oldest_ms.lock().unwrap_or_else(PoisonError::into_inner).insert(place, oldest_ms);
    }

    pub(super) fn keep_only(&self, is_wanted: impl Fn(&Place) -> bool) {
        let mut oldest_ms = self.oldest_ms.lock().unwrap_or_else(PoisonError::into_inner);
        oldest_ms.retain(|place, _| is_wanted(place));
    }

    /// The metrics at this time of the database.
    pub(crate) fn describe(&self, exposition: &mut Exposition, now_ms: u64) {
        let oldest_ms = self.oldest_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = oldest_ms.values().flatten().min().copied();
        let shards = oldest_ms.len();
        drop(oldest_ms);
        exposition.single(
            Kind::Gauge,
            "keywright_destination_shards",
            "Shards of change logs that this server delivers to Kinesis streams.",
            shards,
        );
        let lag_ms = oldest.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms));
        exposition.single(
            Kind::Gauge,
            "keywright_destination_lag_seconds",
            "The age of the oldest change that this server has not yet delivered to a Kinesis stream.",
            Millionths(lag_ms.saturating_mul(1_000)),
        );
        let counted = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        exposition
            .metric(
                Kind::Counter,
                "keywright_destination_records_total",
                "Changes for Kinesis streams: delivered; dropped after 24 hours; skipped because of their size.",
            )
            .sample(&[("outcome", "delivered")], counted(&self.delivered))
            .sample(&[("outcome", "dropped")], counted(&self.dropped))
            .sample(&[("outcome", "skipped")], counted(&self.skipped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_that_of_the_oldest_change_of_all_shards() {
        let figures = Figures::default();
        figures.note_oldest(((1, 0), Some(1)), Some(5_000));
        figures.note_oldest(((1, 0), Some(2)), Some(2_000));
        figures.note_oldest(((2, 0), Some(1)), None);
        figures.note_sent(3, 2, 1);
        let shown = |figures: &Figures| {
            let mut exposition = Exposition::default();
            figures.describe(&mut exposition, 6_500);
            exposition.into_text()
        };
        for line in [
            "keywright_destination_lag_seconds 4.5",
            "keywright_destination_shards 3",
            "keywright_destination_records_total{outcome=\"delivered\"} 3",
            "keywright_destination_records_total{outcome=\"dropped\"} 2",
            "keywright_destination_records_total{outcome=\"skipped\"} 1",
        ] {
            assert!(shown(&figures).contains(line), "{line}");
        }
        figures.keep_only(|place| place.0 == (2, 0));
        assert!(shown(&figures).contains("keywright_destination_lag_seconds 0"));
    }
}
