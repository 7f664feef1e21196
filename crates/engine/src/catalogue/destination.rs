//! A table's Kinesis destinations, as stored in its record.
//!
//! Each enabling gets a number and a change log of its own (`Purpose::Destination`). How far a log is
//! delivered is in rows of their own (`destinations`): a change of the record would make writers conflict.

use keywright_semantics::request::parts::ApproximateCreationDateTimePrecision;
use keywright_semantics::response::DestinationStatus;
use serde::{Deserialize, Serialize};

/// Entries of a table that are disabled or have failed. The service keeps any number; here the oldest are
/// forgotten, because every writer depends on the record.
const ENDED_MAX: usize = 20;

/// The number of an enabling within its table. It is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct DestinationId(pub u32);

/// How exactly times are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Precision {
    Milliseconds,
    Microseconds,
}

impl From<ApproximateCreationDateTimePrecision> for Precision {
    fn from(precision: ApproximateCreationDateTimePrecision) -> Self {
        match precision {
            ApproximateCreationDateTimePrecision::Millisecond => Self::Milliseconds,
            ApproximateCreationDateTimePrecision::Microsecond => Self::Microseconds,
        }
    }
}

impl From<Precision> for ApproximateCreationDateTimePrecision {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::Milliseconds => Self::Millisecond,
            Precision::Microseconds => Self::Microsecond,
        }
    }
}

/// What was last done with a destination. Its status follows from this and from the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// The stream was not reached yet.
    Enabling,
    Active,
    Updating,
    Disabled,
    /// It could not be enabled, for this reason.
    Failed(String),
}

/// Records that were sent, given up because of their age, and passed over because of their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub delivered: u64,
    pub dropped: u64,
    pub skipped: u64,
}

impl Counts {
    pub(crate) const fn plus(self, more: Self) -> Self {
        Self {
            delivered: self.delivered.saturating_add(more.delivered),
            dropped: self.dropped.saturating_add(more.dropped),
            skipped: self.skipped.saturating_add(more.skipped),
        }
    }
}

/// A destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Destination {
    /// That of the last enabling.
    pub id: DestinationId,
    pub stream_arn: String,
    /// As the client set it since the last enabling.
    pub precision: Option<Precision>,
    pub phase: Phase,
    /// When it was last enabled.
    pub enabled_ms: u64,
    /// When the latest change takes effect for descriptions.
    pub settled_ms: u64,
    /// What was done with records of shards that are gone.
    pub ended: Counts,
}

impl Destination {
    pub(crate) fn status(&self, now_ms: u64) -> DestinationStatus {
        let is_settled = self.settled_ms <= now_ms;
        match &self.phase {
            Phase::Enabling => DestinationStatus::Enabling,
            Phase::Active | Phase::Failed(_) if !is_settled => DestinationStatus::Enabling,
            Phase::Failed(_) => DestinationStatus::EnableFailed,
            Phase::Updating if !is_settled => DestinationStatus::Updating,
            Phase::Active | Phase::Updating => DestinationStatus::Active,
            Phase::Disabled if !is_settled => DestinationStatus::Disabling,
            Phase::Disabled => DestinationStatus::Disabled,
        }
    }

    /// Whether it gets the changes that are made now, or will once its stream is reached.
    pub(super) const fn is_on(&self) -> bool {
        match self.phase {
            Phase::Enabling | Phase::Active | Phase::Updating => true,
            Phase::Disabled | Phase::Failed(_) => false,
        }
    }
}

/// A table's destinations, the newest first. Invariant: one at most is on; each stream stands once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Destinations {
    pub all: Vec<Destination>,
    next_id: u32,
}

impl Destinations {
    pub(crate) fn of_stream(&self, stream_arn: &str) -> Option<&Destination> {
        self.all.iter().find(|destination| destination.stream_arn == stream_arn)
    }

    pub(crate) fn with_id(&self, id: DestinationId) -> Option<&Destination> {
        self.all.iter().find(|destination| destination.id == id)
    }

    pub(crate) fn with_id_mut(&mut self, id: DestinationId) -> Option<&mut Destination> {
        self.all.iter_mut().find(|destination| destination.id == id)
    }

    /// Notes an enabling; the number that it gets. A destination that was enabled before keeps its place.
    pub(crate) fn enable(
        &mut self,
        (stream_arn, precision): (&str, Option<Precision>),
        (now_ms, settled_ms): (u64, u64),
    ) -> DestinationId {
        let id = DestinationId(self.next_id);
        self.next_id = self.next_id.checked_add(1).expect("a table enables fewer than 2^32 destinations");
        let enabled = Destination {
            id,
            stream_arn: stream_arn.to_owned(),
            precision,
            phase: Phase::Enabling,
            enabled_ms: now_ms,
            settled_ms,
            ended: Counts::default(),
        };
        match self.all.iter_mut().find(|destination| destination.stream_arn == stream_arn) {
            Some(known) => *known = enabled,
            None => self.all.insert(0, enabled),
        }
        let mut ended = 0;
        self.all.retain(|destination| {
            ended += usize::from(!destination.is_on());
            destination.is_on() || ended <= ENDED_MAX
        });
        id
    }
}

/// What becomes of the records that a closed log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Delivered,
    Discarded,
}

/// What a destination adds to its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DestinationTerms {
    pub id: DestinationId,
    pub stream_arn: String,
    pub precision: Option<Precision>,
    /// Whether nobody gets the records any more.
    pub is_discarded: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_follows_from_what_was_done_and_from_the_time() {
        use DestinationStatus::{Active, Disabled, Disabling, EnableFailed, Enabling, Updating};
        let mut destinations = Destinations::default();
        let id = destinations.enable(("a", None), (5, 10));
        for (phase, before, after) in [
            (Phase::Enabling, Enabling, Enabling),
            (Phase::Active, Enabling, Active),
            (Phase::Updating, Updating, Active),
            (Phase::Disabled, Disabling, Disabled),
            (Phase::Failed(String::new()), Enabling, EnableFailed),
        ] {
            let destination = destinations.with_id_mut(id).expect("it was just made");
            destination.phase = phase;
            assert_eq!((destination.status(9), destination.status(10)), (before, after));
        }
    }

    #[test]
    fn a_stream_is_listed_once_and_ended_entries_are_bounded() {
        let mut destinations = Destinations::default();
        for number in 0..40 {
            let id = destinations.enable((&format!("arn{number}"), None), (0, 0));
            destinations.with_id_mut(id).expect("it was just made").phase = Phase::Disabled;
        }
        assert_eq!(destinations.all.len(), ENDED_MAX + 1);
        assert_eq!(destinations.all[0].stream_arn, "arn39", "the newest is first");
        let id = destinations.enable(("arn30", Some(Precision::Microseconds)), (1, 1));
        assert_eq!(destinations.all[9].id, id, "one that is enabled again keeps its place");
        assert!(id > destinations.all[0].id, "with a number of its own");
    }
}
