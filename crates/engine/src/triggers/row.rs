//! Mappings and their places as they are stored.
//!
//! ```text
//! triggers | id                          a mapping
//! places | id                            the version of the store after which LATEST begins
//! places | id | shard | lane             how far a lane of a shard has come
//! ```
//!
//! An id has 36 characters. Places are not copied into another store, where records have others: a mapping
//! without its start begins at the oldest record.

use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::event_sources::request::Start;
use keywright_semantics::event_sources::settings::Settings;
use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::{Counts, Failure, State};
use keywright_store::{CommitVersion, Direction, Entry, LogPosition, Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::support::env::{AccountId, Namespace, Region};
use crate::support::fault;
use crate::support::layout::{Space, TableId, prefix_range};
use crate::support::rows::{each_row_until, is_empty};

/// Why a mapping is disabled whose section of the settings file is gone.
pub(super) const NO_SECTION: &str = "No section of the settings file names it any more";

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// A mapping. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    pub uuid: String,
    pub account: String,
    pub region: String,
    /// The number of the table whose owner delivers.
    pub table: u64,
    pub table_name: String,
    pub stream_label: String,
    pub is_latest: bool,
    pub settings: StoredSettings,
    pub is_enabled: bool,
    /// A state that ends by itself.
    pub transition: Option<Transition>,
    pub reason: String,
    pub modified_ms: u64,
    /// The section of a settings file that made it.
    pub section: Option<String>,
    /// Raised by every change.
    pub generation: u64,
}

/// A state that ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Transition {
    pub state: StoredTransition,
    pub until_ms: u64,
}

/// Stored as its place in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StoredTransition {
    Creating,
    Enabling,
    Disabling,
    Updating,
    Deleting,
}

/// Settings as they are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSettings {
    target: StoredTarget,
    batch_size: u32,
    batching_window_s: u32,
    parallelization: u32,
    filters: Vec<String>,
    retries_max: Option<u32>,
    record_age_s_max: Option<u32>,
    bisects: bool,
    reports_failures: bool,
    tumbling_window_s: u32,
    on_failure: Option<StoredTarget>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum StoredTarget {
    Function(String),
    Http(String),
    Bucket { bucket: String, prefix: String },
}

impl From<Target> for StoredTarget {
    fn from(target: Target) -> Self {
        match target {
            Target::Function(name) => Self::Function(name),
            Target::Http(url) => Self::Http(url),
            Target::Bucket { bucket, prefix } => Self::Bucket { bucket, prefix },
        }
    }
}

impl From<StoredTarget> for Target {
    fn from(stored: StoredTarget) -> Self {
        match stored {
            StoredTarget::Function(name) => Self::Function(name),
            StoredTarget::Http(url) => Self::Http(url),
            StoredTarget::Bucket { bucket, prefix } => Self::Bucket { bucket, prefix },
        }
    }
}

impl From<Settings> for StoredSettings {
    fn from(settings: Settings) -> Self {
        Self {
            target: settings.target.into(),
            batch_size: settings.batch_size,
            batching_window_s: settings.batching_window_s,
            parallelization: settings.parallelization,
            filters: settings.filters,
            retries_max: settings.retries_max,
            record_age_s_max: settings.record_age_s_max,
            bisects: settings.bisects,
            reports_failures: settings.reports_failures,
            tumbling_window_s: settings.tumbling_window_s,
            on_failure: settings.on_failure.map(StoredTarget::from),
        }
    }
}

impl From<StoredSettings> for Settings {
    fn from(stored: StoredSettings) -> Self {
        Self {
            target: stored.target.into(),
            batch_size: stored.batch_size,
            batching_window_s: stored.batching_window_s,
            parallelization: stored.parallelization,
            filters: stored.filters,
            retries_max: stored.retries_max,
            record_age_s_max: stored.record_age_s_max,
            bisects: stored.bisects,
            reports_failures: stored.reports_failures,
            tumbling_window_s: stored.tumbling_window_s,
            on_failure: stored.on_failure.map(Target::from),
        }
    }
}

impl Stored {
    pub(super) fn namespace(&self) -> Namespace {
        let (account, region) = (AccountId::from(self.account.as_str()), Region::stored(&self.region));
        Namespace { account, region }
    }

    pub(super) const fn owner(&self) -> TableId {
        TableId(self.table)
    }

    pub(super) const fn start(&self) -> Start {
        if self.is_latest { Start::Latest } else { Start::TrimHorizon }
    }

    pub(super) fn settings(&self) -> Settings {
        self.settings.clone().into()
    }

    /// Lanes of each shard.
    pub(super) fn lanes(&self) -> u32 {
        self.settings.parallelization.max(1)
    }

    pub(super) fn stream_arn(&self) -> String {
        format!(
            "arn:aws:dynamodb:{}:{}:table/{}/stream/{}",
            self.region, self.account, self.table_name, self.stream_label
        )
    }

    /// Its state at a time; `None`: it is gone.
    pub(super) fn state(&self, now_ms: u64) -> Option<State> {
        match self.transition {
            Some(Transition { state, until_ms }) if until_ms > now_ms => Some(match state {
                StoredTransition::Creating => State::Creating,
                StoredTransition::Enabling => State::Enabling,
                StoredTransition::Disabling => State::Disabling,
                StoredTransition::Updating => State::Updating,
                StoredTransition::Deleting => State::Deleting,
            }),
            Some(Transition { state: StoredTransition::Deleting, .. }) => None,
            _ if self.is_enabled => Some(State::Enabled),
            _ => Some(State::Disabled),
        }
    }

    pub(super) fn key(&self) -> Bytes {
        key(&self.uuid)
    }

    pub(super) fn encode(&self) -> Bytes {
        encode(self)
    }

    pub(super) fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(row)
    }
}

/// How far a lane of a shard has come. Its fields are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The last record that is done.
    pub after: Option<(u64, u32)>,
    /// The last record of the batch that was begun: it is sent again as it was.
    pub until: Option<(u64, u32)>,
    /// How often that batch has failed.
    pub attempts: u32,
    /// The window that is open: its first moment, and the state in it.
    pub window: Option<(u64, String)>,
    /// Whether the shard has ended.
    pub is_done: bool,
    pub counts: StoredCounts,
    pub failure: Option<StoredFailure>,
}

/// Counts as they are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredCounts {
    delivered: u64,
    filtered: u64,
    discarded: u64,
    retries: u64,
}

/// What failed last, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredFailure {
    at_ms: u64,
    text: String,
    is_present: bool,
}

impl From<Counts> for StoredCounts {
    fn from(counts: Counts) -> Self {
        let Counts { delivered, filtered, discarded, retries } = counts;
        Self { delivered, filtered, discarded, retries }
    }
}

impl From<StoredCounts> for Counts {
    fn from(stored: StoredCounts) -> Self {
        let StoredCounts { delivered, filtered, discarded, retries } = stored;
        Self { delivered, filtered, discarded, retries }
    }
}

impl From<Failure> for StoredFailure {
    fn from(failure: Failure) -> Self {
        let Failure { at_ms, text, is_present } = failure;
        Self { at_ms, text, is_present }
    }
}

impl From<StoredFailure> for Failure {
    fn from(stored: StoredFailure) -> Self {
        let StoredFailure { at_ms, text, is_present } = stored;
        Self { at_ms, text, is_present }
    }
}

impl Place {
    pub(super) fn encode(&self) -> Bytes {
        encode(self)
    }

    pub(super) fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(row)
    }
}

pub(super) const fn position((version, index): (u64, u32)) -> LogPosition {
    LogPosition { version: CommitVersion(version), index }
}

pub(super) const fn stored_position(position: LogPosition) -> (u64, u32) {
    (position.version.0, position.index)
}

fn encode<T: Serialize>(record: &T) -> Bytes {
    let bytes = postcard::to_extend(record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

fn decode<'r, T: Deserialize<'r>>(row: &'r [u8]) -> Result<T, Error> {
    let record = row.strip_prefix(&[FORMAT]).and_then(|record| postcard::from_bytes(record).ok());
    record.ok_or_else(fault::internal)
}

/// The key of a mapping.
pub(super) fn key(uuid: &str) -> Bytes {
    [&[Space::Triggers.byte()], uuid.as_bytes()].concat().into()
}

/// The key of the version after which LATEST begins, and the prefix of a mapping's places.
pub(super) fn start_key(uuid: &str) -> Bytes {
    [&[Space::TriggerPlaces.byte()], uuid.as_bytes()].concat().into()
}

/// The key of a lane's place.
pub(super) fn place_key(uuid: &str, shard: u32, lane: u32) -> Bytes {
    [&start_key(uuid)[..], &shard.to_be_bytes(), &lane.to_be_bytes()].concat().into()
}

/// The version of a start.
pub(super) fn start_row(version: CommitVersion) -> Bytes {
    Bytes::copy_from_slice(&version.0.to_be_bytes())
}

/// The place after which LATEST begins.
pub(super) fn read_start(row: &[u8]) -> Option<(u64, u32)> {
    row.first_chunk::<8>().map(|version| (u64::from_be_bytes(*version), u32::MAX))
}

/// Whether there is no mapping.
pub(super) async fn there_are_none<S: Store>(store: &S) -> Result<bool, Error> {
    let range = prefix_range(vec![Space::Triggers.byte()]);
    is_empty(store, range).await.map_err(|error| fault::storage(&error))
}

/// All mappings, in the order of their ids.
pub(super) async fn all(view: &impl Snapshot) -> Result<Vec<Stored>, Error> {
    let mut found = Vec::new();
    let mut fault = None;
    let take = |entry: &Entry| match Stored::decode(&entry.value) {
        Ok(stored) => {
            found.push(stored);
            ControlFlow::Continue(())
        }
        Err(error) => {
            fault = Some(error);
            ControlFlow::Break(())
        }
    };
    let range = prefix_range(vec![Space::Triggers.byte()]);
    each_row_until(view, (range, Direction::Forward), take).await.map_err(|error| fault::storage(&error))?;
    fault.map_or(Ok(found), Err)
}

/// A lane's place with its row.
pub(super) struct Kept {
    pub shard: u32,
    pub lane: u32,
    pub row: Bytes,
    pub place: Place,
}

/// The places of a mapping, and after which it begins.
pub(super) async fn places(
    view: &impl Snapshot,
    uuid: &str,
) -> Result<(Option<(u64, u32)>, Vec<Kept>), Error> {
    let prefix = start_key(uuid);
    let (mut start, mut kept, mut fault) = (None, Vec::new(), None);
    let take = |entry: &Entry| {
        let rest = entry.key.strip_prefix(&prefix[..]).unwrap_or_default();
        match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (Some(shard), Some(lane)) if rest.len() == 8 => match Place::decode(&entry.value) {
                Ok(place) => kept.push(Kept {
                    shard: u32::from_be_bytes(*shard),
                    lane: u32::from_be_bytes(*lane),
                    row: entry.value.clone(),
                    place,
                }),
                Err(error) => fault = Some(error),
            },
            _ => start = read_start(&entry.value),
        }
        ControlFlow::Continue(())
    };
    let range = prefix_range(prefix.to_vec());
    each_row_until(view, (range, Direction::Forward), take).await.map_err(|error| fault::storage(&error))?;
    fault.map_or(Ok((start, kept)), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_bytes_that_existing_databases_have() {
        let mut settings = Settings::new(Target::Bucket { bucket: "b".to_owned(), prefix: "p".to_owned() });
        settings.retries_max = Some(3);
        settings.filters = vec!["{}".to_owned()];
        let stored = Stored {
            uuid: "u".to_owned(),
            account: "a".to_owned(),
            region: "r".to_owned(),
            table: 7,
            table_name: "t".to_owned(),
            stream_label: "l".to_owned(),
            is_latest: true,
            settings: settings.clone().into(),
            is_enabled: true,
            transition: Some(Transition { state: StoredTransition::Deleting, until_ms: 5 }),
            reason: "x".to_owned(),
            modified_ms: 9,
            section: None,
            generation: 1,
        };
        let bytes: &[u8] = &[
            1, 1, b'u', 1, b'a', 1, b'r', 7, 1, b't', 1, b'l', 1, 2, 1, b'b', 1, b'p', 100, 0, 1, 1, 2, b'{',
            b'}', 1, 3, 0, 0, 0, 0, 0, 1, 1, 4, 5, 1, b'x', 9, 0, 1,
        ];
        assert_eq!(stored.encode(), bytes);
        assert_eq!(Stored::decode(bytes).expect("it is of this format"), stored);
        assert_eq!(stored.settings(), settings);
        assert_eq!((stored.state(4), stored.state(5)), (Some(State::Deleting), None));
        let failure = Failure { at_ms: 3, text: "f".to_owned(), is_present: true };
        let place = Place {
            after: Some((1, 2)),
            until: None,
            attempts: 4,
            window: Some((6, "{}".to_owned())),
            is_done: false,
            counts: Counts { delivered: 1, filtered: 2, discarded: 3, retries: 4 }.into(),
            failure: Some(failure.into()),
        };
        let bytes: &[u8] = &[1, 1, 1, 2, 0, 4, 1, 6, 2, b'{', b'}', 0, 1, 2, 3, 4, 1, 3, 1, b'f', 1];
        assert_eq!(place.encode(), bytes);
        assert_eq!(Place::decode(bytes).expect("it is of this format"), place);
    }
}
