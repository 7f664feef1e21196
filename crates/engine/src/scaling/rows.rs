//! Targets and activities in the store.
//!
//! A target with its policies and scheduled actions:
//! `space | 0 | hash of account and region | resource | 0 | dimension`. An activity: `space | 1 | time | number | id`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::scaling::decision::{Bounds, LastChange, NotScaled};
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::request::{Suspended, Tracking};
use keywright_semantics::scaling::response::{ActivityView, Progress};
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::throttle::Direction;
use keywright_store::{CommitError, Direction as Order, KeyRange, Store, Transaction};
use serde::{Deserialize, Serialize};

use super::{failed, time};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::layout::Space;
use crate::support::rows::{each_row_until, is_empty, keep};
use crate::support::{fault, layout};
use crate::tables::create::uuid;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
const TARGET_KIND: u8 = 0;
const ACTIVITY_KIND: u8 = 1;
/// Tries of a change that meets another one.
const ATTEMPTS_MAX: usize = 16;
/// Bytes of a target with its scheduled actions: a step reads all targets.
const TARGET_BYTES_MAX: usize = 128 * 1024;
/// Targets that are in memory at a time.
const TARGETS_AT_ONCE: usize = 100;

/// A target. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Target {
    pub account: String,
    pub region: String,
    pub table: String,
    pub index: Option<String>,
    pub scales_writes: bool,
    /// The last part of its ARN.
    pub public_id: String,
    pub created_ms: u64,
    pub min: u64,
    pub max: u64,
    pub suspended: StoredSuspended,
    pub tags: BTreeMap<String, String>,
    /// At most one: tables have one metric for each dimension.
    pub policy: Option<Policy>,
    pub actions: Vec<Action>,
    /// Why the capacity is to be moved into its bounds.
    pub move_cause: Option<String>,
    /// A change of capacity that has begun.
    pub change: Option<Change>,
    /// What failed last and why: it is not recorded again before something else happens.
    pub failure: Option<(String, String)>,
}

/// What is suspended, as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSuspended {
    scale_in: bool,
    scale_out: bool,
    scheduled: bool,
}

impl From<Suspended> for StoredSuspended {
    fn from(suspended: Suspended) -> Self {
        let Suspended { scale_in, scale_out, scheduled } = suspended;
        Self { scale_in, scale_out, scheduled }
    }
}

impl From<StoredSuspended> for Suspended {
    fn from(stored: StoredSuspended) -> Self {
        let StoredSuspended { scale_in, scale_out, scheduled } = stored;
        Self { scale_in, scale_out, scheduled }
    }
}

/// A policy of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Policy {
    pub name: String,
    pub arn: String,
    pub created_ms: u64,
    pub target_value: f64,
    pub scale_in_cooldown_s: Option<u64>,
    pub scale_out_cooldown_s: Option<u64>,
    pub disable_scale_in: Option<bool>,
    /// The names of its alarms, in the order of `Role::ALL`.
    pub alarms: [String; 4],
    /// The last change: when, from which capacity, to which.
    pub last: Option<(u64, u64, u64)>,
    /// Why the last alarm changed nothing, while that stays so: code and capacity.
    pub not_scaled: Option<(String, u64)>,
}

/// A scheduled action of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Action {
    pub name: String,
    pub arn: String,
    pub created_ms: u64,
    pub expression: String,
    pub zone: Option<String>,
    pub start_ms: Option<u64>,
    pub end_ms: Option<u64>,
    pub min: Option<u64>,
    pub max: Option<u64>,
    /// When it fires next.
    pub next_ms: Option<u64>,
}

/// A change of capacity that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Change {
    pub from: u64,
    pub to: u64,
    /// Whether the policy made it, not a change of bounds.
    pub is_by_policy: bool,
    pub activity: Activity,
}

/// An activity. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Activity {
    pub account: String,
    pub region: String,
    /// Orders activities that began in the same millisecond.
    pub number: u64,
    pub id: u128,
    pub resource: String,
    pub dimension: String,
    pub description: String,
    pub cause: String,
    pub start_ms: u64,
    pub end_ms: Option<u64>,
    pub progress: Standing,
    pub message: Option<String>,
    pub not_scaled: Option<(String, u64)>,
}

/// How an activity stands, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Standing {
    InProgress,
    Successful,
    Failed,
    NotScaled,
}

impl Target {
    pub(super) fn place(&self) -> Place {
        Place { account: self.account.clone(), region: self.region.clone() }
    }

    pub(super) fn id(&self) -> TargetId {
        let direction = if self.scales_writes { Direction::Write } else { Direction::Read };
        TargetId { table: self.table.clone(), index: self.index.clone(), direction }
    }

    pub(super) fn arn(&self) -> String {
        format!(
            "arn:aws:application-autoscaling:{}:{}:scalable-target/{}",
            self.region, self.account, self.public_id
        )
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds::new(self.min, self.max).expect("every change keeps the bounds in order")
    }

    pub(super) fn suspended(&self) -> Suspended {
        self.suspended.into()
    }

    /// Whether a change of capacity has begun or is wanted.
    pub(super) const fn is_changing(&self) -> bool {
        self.change.is_some() || self.move_cause.is_some()
    }

    /// A new activity of this target.
    pub(super) fn activity<S: Store>(
        &self,
        engine: &Engine<S>,
        description: String,
        cause: String,
    ) -> Activity {
        let id = self.id();
        Activity {
            account: self.account.clone(),
            region: self.region.clone(),
            number: engine.scaling().number_activity(),
            id: engine.env().random_u128(),
            resource: id.resource_id(),
            dimension: id.dimension().to_owned(),
            description,
            cause,
            start_ms: engine.env().now_ms(),
            end_ms: None,
            progress: Standing::InProgress,
            message: None,
            not_scaled: None,
        }
    }
}

impl Policy {
    pub(super) const fn tracking(&self) -> Tracking {
        Tracking {
            target_value: self.target_value,
            scale_in_cooldown_s: self.scale_in_cooldown_s,
            scale_out_cooldown_s: self.scale_out_cooldown_s,
            disable_scale_in: self.disable_scale_in,
        }
    }

    pub(super) fn last_change(&self) -> Option<LastChange> {
        self.last.map(|(at_ms, from, to)| LastChange { at: time(at_ms), from, to })
    }
}

/// A reason as it is stored.
pub(super) fn stored_reason(reason: NotScaled) -> (String, u64) {
    let (NotScaled::AtMax(capacity) | NotScaled::AtMin(capacity) | NotScaled::AtDesired(capacity)) = reason;
    (reason.code().to_owned(), capacity)
}

fn reason(stored: &(String, u64)) -> Option<NotScaled> {
    let all = [NotScaled::AtMax, NotScaled::AtMin, NotScaled::AtDesired];
    all.into_iter().map(|make| make(stored.1)).find(|reason| reason.code() == stored.0)
}

impl Activity {
    /// Ended in this way.
    #[must_use]
    pub(super) fn ended(self, now_ms: u64, progress: Standing, message: String) -> Self {
        Self { end_ms: Some(now_ms), progress, message: Some(message), ..self }
    }

    pub(super) fn view(self) -> ActivityView {
        ActivityView {
            id: uuid(self.id),
            resource: self.resource,
            dimension: self.dimension,
            description: self.description,
            cause: self.cause,
            start: time(self.start_ms),
            end: self.end_ms.map(time),
            progress: match self.progress {
                Standing::InProgress => Progress::InProgress,
                Standing::Successful => Progress::Successful,
                Standing::Failed => Progress::Failed,
                Standing::NotScaled => Progress::NotScaled,
            },
            message: self.message,
            not_scaled: self.not_scaled.as_ref().and_then(reason),
        }
    }

    fn key(&self) -> Bytes {
        let mut key = activity_start(self.start_ms);
        key.extend_from_slice(&self.number.to_be_bytes());
        key.extend_from_slice(&self.id.to_be_bytes());
        key.into()
    }
}

fn place_prefix(place: &Place) -> Vec<u8> {
    let hash = partition_hash([KeyValueRef::S(&place.account), KeyValueRef::S(&place.region)]);
    let mut key = vec![Space::Scaling.byte(), TARGET_KIND];
    key.extend_from_slice(&hash.0);
    key
}

/// Where a target is stored.
pub(super) fn target_key(place: &Place, target: &TargetId) -> Bytes {
    let mut key = place_prefix(place);
    key.extend_from_slice(target.resource_id().as_bytes());
    key.push(0);
    key.extend_from_slice(target.dimension().as_bytes());
    key.into()
}

fn activity_start(time_ms: u64) -> Vec<u8> {
    let mut key = vec![Space::Scaling.byte(), ACTIVITY_KIND];
    key.extend_from_slice(&time_ms.to_be_bytes());
    key
}

/// Activities that began from one moment to another.
pub(super) fn activities_between(start_ms: u64, end_ms: u64) -> KeyRange {
    KeyRange { start: activity_start(start_ms).into(), end: Some(activity_start(end_ms).into()) }
}

fn encode<T: Serialize>(record: &T) -> Bytes {
    let bytes = postcard::to_extend(record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

fn decode<'r, T: Deserialize<'r>>(row: &'r [u8]) -> Option<T> {
    postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()
}

/// Passes the rows of a range to `take`, in this direction, until it breaks.
pub(super) async fn each<S: Store>(
    engine: &Engine<S>,
    range: (KeyRange, Order),
    mut take: impl FnMut(&Bytes, &[u8]) -> ControlFlow<()> + Send,
) -> Result<(), Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let read = each_row_until(&view, range, |entry| take(&entry.key, &entry.value));
    read.await.map_err(|error| fault::storage(&error))
}

async fn each_target<S: Store>(
    engine: &Engine<S>,
    range: KeyRange,
    mut take: impl FnMut(Target) -> ControlFlow<()> + Send,
) -> Result<(), Error> {
    let mut is_whole = true;
    let decoded = |_: &Bytes, row: &[u8]| {
        let target = decode(row);
        is_whole &= target.is_some();
        target.map_or(ControlFlow::Break(()), &mut take)
    };
    each(engine, (range, Order::Forward), decoded).await?;
    if is_whole { Ok(()) } else { Err(fault::internal()) }
}

/// Whether there is no target in any account.
pub(super) async fn there_are_none<S: Store>(engine: &Engine<S>) -> Result<bool, Error> {
    let range = layout::prefix_range(vec![Space::Scaling.byte(), TARGET_KIND]);
    is_empty(engine.store(), range).await.map_err(|error| fault::storage(&error))
}

/// Some targets of every account and region: those after a target, or the first ones.
pub(super) async fn some_targets<S: Store>(
    engine: &Engine<S>,
    last: Option<&Target>,
) -> Result<Vec<Target>, Error> {
    let mut range = layout::prefix_range(vec![Space::Scaling.byte(), TARGET_KIND]);
    if let Some(last) = last {
        range.start = layout::after(&target_key(&last.place(), &last.id()));
    }
    let mut targets = Vec::new();
    let take = |target| keep(&mut targets, target, TARGETS_AT_ONCE);
    each_target(engine, range, take).await?;
    Ok(targets)
}

/// Passes the targets of one account and region to `take`, in the order of their resources, until it breaks.
pub(super) async fn each_target_of<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    take: impl FnMut(Target) -> ControlFlow<()> + Send,
) -> Result<(), Error> {
    each_target(engine, layout::prefix_range(place_prefix(place)), take).await
}

/// The target of a row.
pub(super) fn decode_target(row: &[u8]) -> Option<Target> {
    decode(row)
}

/// The row of a target.
pub(super) fn encode_target(target: &Target) -> Bytes {
    encode(target)
}

/// The activity of a row.
pub(super) fn decode_activity(row: &[u8]) -> Option<Activity> {
    decode(row)
}

/// What a change makes of a target.
pub(super) enum Becomes {
    /// Nothing is written.
    Same,
    /// The target goes.
    Gone,
    /// The target is now this one.
    This(Box<Target>),
}

/// What a change makes of an activity.
pub(super) enum Record {
    /// It is now this one.
    Put(Activity),
    /// It is not to be seen.
    Forget(Activity),
}

/// A change of one target, with what it says besides.
pub(super) type Changed<R> = (Becomes, Vec<Record>, R);

/// Changes one target, with its activities, in one commit. `change` is repeated after a conflict.
pub(super) async fn change<S: Store, R>(
    engine: &Engine<S>,
    (place, target): (&Place, &TargetId),
    change: impl Fn(Option<Target>) -> Result<Changed<R>, Fault>,
) -> Result<R, Fault> {
    let key = target_key(place, target);
    for _ in 0..ATTEMPTS_MAX {
        let mut txn = engine.store().begin().await.map_err(|error| failed(fault::storage(&error)))?;
        let rows = txn.get_for_write(std::slice::from_ref(&key)).await;
        let rows = rows.map_err(|error| failed(fault::storage(&error)))?;
        let before = match rows.into_iter().next().flatten() {
            Some(row) => Some(decode(&row).ok_or_else(|| failed(fault::internal()))?),
            None => None,
        };
        let (becomes, records, result) = change(before)?;
        match becomes {
            Becomes::Same if records.is_empty() => return Ok(result),
            Becomes::Same => {}
            Becomes::Gone => txn.delete(key.clone()),
            Becomes::This(target) => {
                assert!(target.min <= target.max, "the bounds of a target are in order");
                let row = encode(&*target);
                if row.len() > TARGET_BYTES_MAX {
                    return Err(Fault::new(FaultKind::LimitExceeded, messages::TARGET_TOO_LARGE));
                }
                txn.put(key.clone(), row);
            }
        }
        for record in records {
            match record {
                Record::Put(activity) => txn.put(activity.key(), encode(&activity)),
                Record::Forget(activity) => txn.delete(activity.key()),
            }
        }
        match txn.commit().await {
            Ok(_version) => return Ok(result),
            Err(CommitError::Conflict) => {}
            Err(CommitError::Failed(error)) => return Err(failed(fault::storage(&error))),
            Err(CommitError::TooLarge | CommitError::Unknown) => return Err(failed(fault::internal())),
        }
    }
    Err(Fault::new(FaultKind::ConcurrentUpdate, "Another request changes the scalable target."))
}

/// The target as it is stored.
pub(super) async fn find<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    target: &TargetId,
) -> Result<Option<Target>, Fault> {
    change(engine, (place, target), |before| Ok((Becomes::Same, Vec::new(), before))).await
}
