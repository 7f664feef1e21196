//! Enabling and disabling a stream, in a change of its table.

use keywright_semantics::error::Error;
use keywright_semantics::limits::PARTITION_WRITE_UNITS_MAX;
use keywright_semantics::schema::StreamView;
use keywright_store::{Snapshot, Store};

use crate::catalogue::{NewLog, Purpose, StreamState, StreamTerms, Table, Throughput};
use crate::state::Engine;
use crate::support::fault;

/// The number of shards of a new stream: one for each partition that the table's provisioned throughput
/// needs. The stream of an on-demand table begins with one shard, which is split under load.
fn first_shards(throughput: Throughput, shards_max: u32) -> u32 {
    let partitions = throughput.write_units.div_ceil(PARTITION_WRITE_UNITS_MAX);
    u32::try_from(partitions).unwrap_or(u32::MAX).clamp(1, shards_max.max(1))
}

/// The time and the limits for a stream that begins or ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    now_ms: u64,
    /// When the transition ends.
    settled_ms: u64,
    shards_max: u32,
    shards_kept_max: usize,
    /// The newest commit. Records of a new stream are of later commits.
    version: u64,
}

impl Moment {
    pub(crate) const fn now_ms(self) -> u64 {
        self.now_ms
    }

    /// When a transition that begins now ends.
    pub(crate) const fn settled_ms(self) -> u64 {
        self.settled_ms
    }

    /// The newest commit.
    pub(crate) const fn version(self) -> u64 {
        self.version
    }

    /// Begins a log, with a shard for each partition that the table's throughput needs.
    pub(crate) fn open_log(self, table: &mut Table, purpose: Purpose) {
        let shards = first_shards(table.throughput, self.shards_max);
        table.open_log(NewLog { purpose, opened_ms: self.now_ms, after: self.version }, shards);
    }

    pub(crate) async fn now<S: Store>(engine: &Engine<S>) -> Result<Self, Error> {
        let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let now_ms = engine.env().now_ms();
        Ok(Self {
            now_ms,
            settled_ms: now_ms.saturating_add(engine.config().transition_ms),
            shards_max: engine.config().stream_shards_max,
            shards_kept_max: engine.config().stream_shards_kept_max,
            version: snapshot.version().0,
        })
    }
}

/// Whether a table keeps too many shards for a new stream; shards are forgotten a day after they close. The
/// table's record, which every writer depends on, has them all.
pub(crate) fn are_too_many(table: &Table, moment: Moment) -> bool {
    table.shards().count() >= moment.shards_kept_max
}

/// Enables a stream of a table that has none enabled. `is_taken` says whether a table of that name, live or
/// deleted, has a stream of a label: a stream's ARN has the table's name and the label only.
pub(crate) fn enable(table: &mut Table, is_taken: impl Fn(&str) -> bool, view: StreamView, moment: Moment) {
    let label = new_label(table, is_taken, moment.now_ms);
    table.stream = StreamState { view: Some(view), label: Some(label.clone()) };
    let (settled_ms, owner) = (moment.settled_ms, table.stream_owner());
    moment.open_log(table, Purpose::Stream(StreamTerms { label, view, settled_ms, owner }));
}

/// Disables the enabled stream, if there is one; its records are kept for a day.
pub(crate) fn disable(table: &mut Table, moment: Moment) {
    table.stream.view = None;
    table.close_stream(moment.now_ms, moment.settled_ms);
}

/// The first label from this time on that no stream of a table of that name has.
fn new_label(table: &Table, is_taken: impl Fn(&str) -> bool, now_ms: u64) -> String {
    let is_new = |label: &String| {
        table.stream.label.as_ref() != Some(label)
            && table.stream_labelled(label).is_none()
            && !is_taken(label)
    };
    (now_ms..=u64::MAX).map(label).find(is_new).expect("there are more milliseconds than streams")
}

/// A stream's label: the time it was enabled, to the millisecond, as ISO 8601.
pub(crate) fn label(now_ms: u64) -> String {
    let (seconds, ms) = (now_ms / 1000, now_ms % 1000);
    let date = time::OffsetDateTime::from_unix_timestamp(i64::try_from(seconds).unwrap_or(0))
        .unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{ms:03}",
        date.year(),
        u8::from(date.month()),
        date.day(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_times_to_the_millisecond() {
        assert_eq!(label(1_440_938_160_007), "2015-08-30T12:36:00.007");
    }
}
