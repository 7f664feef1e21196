//! One table as the engine knows it: schema, indexes and their states, billing, and what DescribeTable
//! reports.
//!
//! Those that are serialized are also the stored format (`record`): existing databases depend on their
//! fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;

use keywright_semantics::request::OnDemandThroughput;
use keywright_semantics::schema::{BillingMode, IndexSchema, KeyAttribute, TableClass, TableSchema};
use serde::{Deserialize, Serialize};

use super::bulk_put::BulkPutting;
use super::change_log::{ChangeLog, StreamState};
use super::destination::Destinations;
use super::filling::Filling;
use super::history::History;
use super::insights::Insights;
use super::policies::Policies;
use super::remote::Remote;
use super::replicas::Replication;
use super::stored::TableClassRecord;
use super::strong::StrongGroup;
use super::table_state::{EncryptionState, KeyChange, TableStatus};
use super::ttl::TtlState;
use crate::support::layout::{IndexId, TableId};
use crate::support::member_row::MemberId;
use crate::support::stamp::DAY_MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum IndexStatus {
    Creating,
    Updating,
    Active,
    Deleting,
}

/// Provisioned capacity and its history. All zero for on-demand tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Throughput {
    pub read_units: u64,
    pub write_units: u64,
    pub last_increase_ms: Option<u64>,
    pub last_decrease_ms: Option<u64>,
    pub decreases_today: u64,
}

impl Throughput {
    /// Decreases on the day of this time, in UTC.
    pub(crate) fn decreases_on(&self, now_ms: u64) -> u64 {
        let same_day = self.last_decrease_ms.is_some_and(|last| last / DAY_MS == now_ms / DAY_MS);
        if same_day { self.decreases_today } else { 0 }
    }
}

/// Times of changes that the service counts, as far back as it counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModeChanges {
    /// Switches to on-demand mode.
    pub to_on_demand_ms: Vec<u64>,
    /// Changes of the table class.
    pub class_ms: Vec<u64>,
}

impl ModeChanges {
    pub(crate) const fn is_empty(&self) -> bool {
        self.to_on_demand_ms.is_empty() && self.class_ms.is_empty()
    }
}

/// Notes a change at this time, and forgets those that no longer count.
pub(crate) fn note_change(times: &mut Vec<u64>, now_ms: u64, counted_ms: u64) {
    times.retain(|time| time.saturating_add(counted_ms) > now_ms);
    times.push(now_ms);
}

/// Ceilings of on-demand capacity, as the client set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OnDemandLimits {
    pub read_units_max: Option<i64>,
    pub write_units_max: Option<i64>,
}

impl OnDemandLimits {
    /// Changes the ceilings that the request has, and no others. Those that it removes become absent.
    pub(crate) fn change(&mut self, asked: OnDemandThroughput) {
        let ceiling = |units: i64| (units > 0).then_some(units);
        if let Some(units) = asked.read_units_max {
            self.read_units_max = ceiling(units);
        }
        if let Some(units) = asked.write_units_max {
            self.write_units_max = ceiling(units);
        }
    }

    pub(crate) const fn is_unset(&self) -> bool {
        self.read_units_max.is_none() && self.write_units_max.is_none()
    }
}

/// Warm throughput: the units that a table or index can serve at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Warm {
    pub read_units: u64,
    pub write_units: u64,
}

impl Warm {
    /// The greater of each.
    fn or_more(self, other: Self) -> Self {
        Self {
            read_units: self.read_units.max(other.read_units),
            write_units: self.write_units.max(other.write_units),
        }
    }
}

/// A raise of warm throughput that is under way. The old units hold until it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WarmJob {
    /// The index; `None` for the table itself.
    pub index: Option<IndexId>,
    pub wanted: Warm,
    pub done_ms: u64,
}

/// The phase of a new index's backfill. Its progress is a row of its own: a change of the table's record
/// would make writers conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Backfill {
    /// Announced: no item has been read yet.
    Allocating,
    /// Items are read, and their entries are written.
    Scanning,
}

/// The state of one index. Local indexes are always active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexState {
    pub id: IndexId,
    pub status: IndexStatus,
    /// Only while an index that was added to a live table is being built.
    pub backfill: Option<Backfill>,
    pub throughput: Throughput,
    pub on_demand: OnDemandLimits,
    pub warm: Option<Warm>,
}

/// A deleted index, until its entries are gone. No operation sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoomedIndex {
    pub schema: IndexSchema,
    pub state: IndexState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassState {
    #[serde(with = "TableClassRecord")]
    pub class: TableClass,
    pub changed_ms: Option<u64>,
}

/// A section of a table's record that this release does not know and may ignore. It is written again as it
/// was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaterSection {
    pub tag: u16,
    pub bytes: Vec<u8>,
}

/// A table. Invariant: `states` runs parallel to `schema.indexes`; `definitions` holds each key attribute of
/// table and indexes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub id: TableId,
    /// Increases with every change of the record.
    pub version: u64,
    /// The universally unique id that clients see.
    pub public_id: String,
    pub account: String,
    pub region: String,
    pub name: String,
    pub status: TableStatus,
    /// When background work may end the present status.
    pub status_until_ms: u64,
    pub created_ms: u64,
    /// Live indexes only; `states` has each one's state.
    pub schema: TableSchema,
    pub states: Vec<IndexState>,
    pub doomed_indexes: Vec<DoomedIndex>,
    pub next_index_id: u32,
    pub definitions: Vec<KeyAttribute>,
    pub billing: BillingMode,
    /// When the table last became on-demand; present once it ever was.
    pub on_demand_since_ms: Option<u64>,
    pub throughput: Throughput,
    pub on_demand: OnDemandLimits,
    pub warm: Option<Warm>,
    pub stream: StreamState,
    /// The open change logs, and closed ones whose records can still be read.
    pub logs: Vec<ChangeLog>,
    pub next_shard: u32,
    pub destinations: Destinations,
    pub ttl: TtlState,
    pub class: Option<ClassState>,
    pub encryption: Option<EncryptionState>,
    /// The last change of it that took time.
    pub key_change: Option<KeyChange>,
    /// Whether it may have replicas in other accounts, whose settings are all the same.
    pub replicates_settings: bool,
    pub deletion_protection: bool,
    pub deletion_protection_changed_ms: Option<u64>,
    pub tags: BTreeMap<String, String>,
    pub mode_changes: ModeChanges,
    pub insights: Insights,
    /// At most one for the table and each index.
    pub warm_jobs: Vec<WarmJob>,
    /// What a branch copied into the table, as `BranchLimits` counts it; nothing if no branch made the table.
    pub copied_bytes: Option<u64>,
    /// Only in a shared store, while this process copies a branch into the table, which has no name yet.
    pub copied_by: Option<MemberId>,
    pub history: History,
    /// Only while the table is being restored; its status is `Creating` then.
    pub filling: Option<Filling>,
    /// Only while a bulk put is at work.
    pub bulk_put: Option<BulkPutting>,
    pub policies: Policies,
    /// The group of tables in several regions that it is a member of.
    pub replication: Option<Replication>,
    /// The members of that group that other servers own.
    pub remote: Remote,
    /// Whether versions of items that an earlier group left are to be purged.
    pub has_old_versions: bool,
    /// The strongly consistent group whose rows the record is of.
    pub strong: Option<Box<StrongGroup>>,
    /// Optional sections of the record that a later release wrote, in ascending order of their tags.
    pub later: Vec<LaterSection>,
    /// Not stored.
    pub seen: Seen,
}

/// The newest store version at which this copy was found to agree with the stored record; 0 if it never was.
/// A clone starts at 0. Comparisons of tables ignore it.
#[derive(Debug, Default)]
pub(crate) struct Seen(pub(super) AtomicU64);

impl Clone for Seen {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Seen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Seen {}

/// The ARN of a table of an account and region.
pub(crate) fn table_arn((account, region): (&str, &str), name: &str) -> String {
    format!("arn:aws:dynamodb:{region}:{account}:table/{name}")
}

impl Table {
    /// Checks the table's invariants before its record is written.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub(super) fn check(&self) {
        assert_eq!(self.states.len(), self.schema.indexes.len(), "every index has a state");
        let ids_below_next = self.states.iter().all(|state| state.id.0 < self.next_index_id);
        assert!(ids_below_next, "the next index id is unused");
        let known = |(index, _): &_| self.observed(*index).is_some();
        let places: BTreeSet<_> = self.warm_jobs.iter().map(|job| job.index).collect();
        assert_eq!(places.len(), self.warm_jobs.len(), "a table or index has one raise under way");
        assert!(self.insights.iter().all(known), "insights are those of the table or of its indexes");
        assert!(self.ttl.enabled().is_some() || !self.ttl.filling, "only an enabled time to live is filled");
        self.logs.iter().for_each(ChangeLog::check);
        self.check_destinations();
        self.check_replication();
        self.check_remote();
        self.check_strong();
        self.history.check();
        self.policies.check();
        assert!(
            self.copied_by.is_none() || self.copied_bytes.is_some(),
            "only a branch is copied by a process"
        );
        assert!(
            self.filling.is_none() || self.status == TableStatus::Creating,
            "a table that is being restored is still being created"
        );
        let enabled = self.streams().filter(|stream| stream.log.is_open()).count();
        assert!(enabled <= 1, "a table has one enabled stream at most");
    }

    /// Checks that this record may follow another of the same table.
    ///
    /// # Panics
    ///
    /// If it may not.
    pub(super) fn check_follows(&self, before: &Self) {
        assert_eq!(self.id, before.id, "a change keeps the table's id");
        assert!(self.version > before.version, "versions of a table's record increase");
        assert!(self.next_index_id >= before.next_index_id, "index ids are never reused");
        assert!(self.next_shard >= before.next_shard, "shard numbers are never reused");
    }

    pub(crate) fn arn(&self) -> String {
        table_arn((&self.account, &self.region), &self.name)
    }

    /// Live indexes with their positions and ids.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (usize, IndexId, &IndexSchema)> {
        self.schema
            .indexes
            .iter()
            .zip(&self.states)
            .enumerate()
            .map(|(place, (schema, state))| (place, state.id, schema))
    }

    /// Live indexes with their states.
    pub(crate) fn indexes_with_states(&self) -> impl Iterator<Item = (&IndexSchema, &IndexState)> {
        self.schema.indexes.iter().zip(&self.states)
    }

    pub(crate) fn index(&self, name: &str) -> Option<(&IndexSchema, &IndexState)> {
        self.indexes_with_states().find(|(schema, _)| schema.name == name)
    }

    /// Whether the index at this position has all its entries.
    pub(crate) fn index_readable(&self, place: usize) -> bool {
        let status = self.states.get(place).map(|state| state.status);
        matches!(status, Some(IndexStatus::Active | IndexStatus::Updating))
    }

    /// Whether a raise of the warm throughput of the table, or of an index, is under way.
    pub(crate) fn is_warming(&self, index: Option<IndexId>) -> bool {
        self.warm_jobs.iter().any(|job| job.index == index)
    }

    /// Ends the raises of warm throughput that are done.
    pub(crate) fn end_warm_jobs(&mut self, now_ms: u64) {
        for job in self.warm_jobs.extract_if(.., |job| job.done_ms <= now_ms) {
            let warm = match job.index {
                None => Some(&mut self.warm),
                Some(id) => self.states.iter_mut().find(|state| state.id == id).map(|state| &mut state.warm),
            };
            if let Some(warm) = warm {
                // It may have risen meanwhile, and never falls.
                *warm = Some(warm.map_or(job.wanted, |reached| reached.or_more(job.wanted)));
            }
        }
    }

    /// The position of an index in `schema.indexes` and `states`.
    pub(crate) fn index_place(&self, name: &str) -> Option<usize> {
        self.schema.indexes.iter().position(|schema| schema.name == name)
    }

    /// Whether it is being filled from elsewhere, as a restored table or as a replica: to most operations on
    /// settings it does not exist yet (observed).
    pub(crate) fn is_being_filled(&self) -> bool {
        self.filling.is_some() || self.is_joining()
    }

    /// Whether items may be read and written.
    pub(crate) const fn takes_data(&self) -> bool {
        matches!(self.status, TableStatus::Active | TableStatus::Updating)
    }
}
