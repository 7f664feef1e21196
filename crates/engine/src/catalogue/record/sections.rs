//! What each section of a table's record holds.
//!
//! A section's struct never changes: a later release adds a section of its own, with a tag of its own. It is
//! critical if a release that ignored it would serve the table wrongly: then such a release refuses the
//! table. An optional section may be ignored; it is kept when the record is written again.

use std::collections::BTreeMap;

use keywright_semantics::schema::{BillingMode, TableSchema};
use serde::{Deserialize, Serialize};

use super::RecordFault;
use super::framing::{self, Section};
use super::schema::{AttributeRecord, IndexRecord, KeyRecord, index_of_record, index_record};
use crate::catalogue::bulk_put::BulkPutting;
use crate::catalogue::change_log::{
    ChangeLog, DestinationLogRecord, MemberStreamRecord, ReplicationLogRecord, StreamRecord, StreamState,
};
use crate::catalogue::destination::Destinations;
use crate::catalogue::filling::Filling;
use crate::catalogue::history::History;
use crate::catalogue::insights::Insights;
use crate::catalogue::policies::{Governed, Policies, StoredPolicy};
use crate::catalogue::refused::RefusedTable;
use crate::catalogue::remote::Remote;
use crate::catalogue::replicas::Replication;
use crate::catalogue::stored::BillingModeRecord;
use crate::catalogue::strong::StrongGroup;
use crate::catalogue::table::{
    ClassState, DoomedIndex, LaterSection, ModeChanges, OnDemandLimits, Seen, Table, Throughput, Warm,
    WarmJob,
};
use crate::catalogue::table_state::{EncryptionState, KeyChange, TableStatus};
use crate::catalogue::ttl::TtlState;
use crate::support::layout::TableId;
use crate::support::member_row::MemberId;

/// A section that this release knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Identity,
    Status,
    Schema,
    Capacity,
    Streams,
    TimeToLive,
    Protection,
    Class,
    Encryption,
    Tags,
    ModeChanges,
    Insights,
    WarmJobs,
    Copied,
    History,
    Filling,
    Policies,
    Replicas,
    Destinations,
    BulkPut,
    RemovedPolicies,
    KeyChange,
    SettingsReplication,
    Strong,
    Remote,
    CopiedBy,
}

impl Tag {
    /// All sections that this release knows, in ascending order.
    const ALL: [Self; 26] = [
        Self::Identity,
        Self::Status,
        Self::Schema,
        Self::Capacity,
        Self::Streams,
        Self::TimeToLive,
        Self::Protection,
        Self::Class,
        Self::Encryption,
        Self::Tags,
        Self::ModeChanges,
        Self::Insights,
        Self::WarmJobs,
        Self::Copied,
        Self::History,
        Self::Policies,
        Self::Replicas,
        Self::Filling,
        Self::Destinations,
        Self::BulkPut,
        Self::RemovedPolicies,
        Self::KeyChange,
        Self::SettingsReplication,
        Self::Strong,
        Self::Remote,
        Self::CopiedBy,
    ];

    /// The stored number: never renumber.
    const fn number(self) -> u16 {
        match self {
            Self::Identity => 1,
            Self::Status => 2,
            Self::Schema => 3,
            Self::Capacity => 4,
            Self::Streams => 5,
            Self::TimeToLive => 6,
            Self::Protection => 7,
            Self::Class => 8,
            Self::Encryption => 9,
            Self::Tags => 10,
            Self::ModeChanges => 11,
            Self::Insights => 12,
            Self::WarmJobs => 13,
            Self::Copied => 14,
            Self::History => 32,
            Self::Policies => 33,
            Self::Replicas => 34,
            Self::Filling => 35,
            Self::Destinations => 36,
            Self::BulkPut => 37,
            Self::RemovedPolicies => 38,
            Self::KeyChange => 39,
            Self::SettingsReplication => 40,
            Self::Strong => 41,
            Self::Remote => 42,
            Self::CopiedBy => 43,
        }
    }

    /// Whether a release that ignored the section would serve the table wrongly.
    const fn is_critical(self) -> bool {
        match self {
            Self::Identity
            | Self::Status
            | Self::Schema
            | Self::Capacity
            | Self::Streams
            | Self::TimeToLive
            | Self::Protection
            | Self::History
            | Self::Policies
            | Self::Replicas
            | Self::Filling
            | Self::Destinations
            | Self::Strong
            | Self::Remote
            | Self::CopiedBy => true,
            Self::Class
            | Self::Encryption
            | Self::Tags
            | Self::ModeChanges
            | Self::Insights
            | Self::WarmJobs
            | Self::Copied
            | Self::BulkPut
            | Self::RemovedPolicies
            | Self::KeyChange
            | Self::SettingsReplication => false,
        }
    }

    fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.number() == number)
    }
}

/// What a section that this release does not know holds, for people.
fn contents(tag: u16) -> String {
    format!("section {tag}")
}

#[derive(Serialize, Deserialize)]
struct Identity {
    id: u64,
    public_id: String,
    account: String,
    region: String,
    name: String,
    created_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Status {
    status: TableStatus,
    until_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Schema {
    key: KeyRecord,
    indexes: Vec<IndexRecord>,
    doomed_indexes: Vec<IndexRecord>,
    next_index_id: u32,
    definitions: Vec<AttributeRecord>,
}

#[derive(Serialize, Deserialize)]
struct Capacity {
    #[serde(with = "BillingModeRecord")]
    billing: BillingMode,
    on_demand_since_ms: Option<u64>,
    throughput: Throughput,
    on_demand: OnDemandLimits,
    warm: Option<Warm>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Streams {
    state: StreamState,
    all: Vec<StreamRecord>,
    next_shard: u32,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct OfDestinations {
    all: Destinations,
    logs: Vec<DestinationLogRecord>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct OfReplicas {
    group: Option<Replication>,
    has_old_versions: bool,
    logs: Vec<ReplicationLogRecord>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct OfStrong {
    group: Option<Box<StrongGroup>>,
    streams: Vec<MemberStreamRecord>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Protection {
    is_on: bool,
    changed_ms: Option<u64>,
}

/// The tags of all sections that this release knows.
pub(in crate::catalogue) fn known_tags() -> impl Iterator<Item = u16> {
    Tag::ALL.into_iter().map(Tag::number)
}

/// The tags of the critical sections that this release writes: every reader of its records must know them.
pub(in crate::catalogue) fn critical_tags() -> impl Iterator<Item = u16> {
    Tag::ALL.into_iter().filter(|tag| tag.is_critical()).map(Tag::number)
}

/// The sections of a record while it is written.
#[derive(Default)]
struct Written(Vec<(u16, bool, Vec<u8>)>);

impl Written {
    fn add(&mut self, tag: Tag, content: &impl Serialize) {
        let bytes = postcard::to_allocvec(content).expect("a section of owned values encodes into a vector");
        self.0.push((tag.number(), tag.is_critical(), bytes));
    }

    /// Adds a section that is left out when it says nothing.
    fn add_unless<T: Serialize + PartialEq>(&mut self, nothing: &T, tag: Tag, content: &T) {
        if content != nothing {
            self.add(tag, content);
        }
    }
}

/// Appends a table's sections, those of later releases as they were read.
pub(super) fn encode(table: &Table, out: &mut Vec<u8>) {
    let mut written = Written::default();
    add_required(table, &mut written);
    add_others(table, &mut written);
    written.0.extend(table.later.iter().map(|later| (later.tag, false, later.bytes.clone())));
    written.0.sort_by_key(|(tag, ..)| *tag);
    let sections: Vec<Section<'_>> = written
        .0
        .iter()
        .map(|(tag, is_critical, bytes)| Section { tag: *tag, is_critical: *is_critical, bytes })
        .collect();
    framing::write(&sections, out);
}

/// The sections that every record has.
fn add_required(table: &Table, written: &mut Written) {
    let doomed = table.doomed_indexes.iter().map(|index| index_record(&index.schema, &index.state));
    written.add(
        Tag::Identity,
        &Identity {
            id: table.id.0,
            public_id: table.public_id.clone(),
            account: table.account.clone(),
            region: table.region.clone(),
            name: table.name.clone(),
            created_ms: table.created_ms,
        },
    );
    written.add(Tag::Status, &Status { status: table.status, until_ms: table.status_until_ms });
    written.add(
        Tag::Schema,
        &Schema {
            key: (&table.schema.key).into(),
            indexes: table.indexes_with_states().map(|(schema, state)| index_record(schema, state)).collect(),
            doomed_indexes: doomed.collect(),
            next_index_id: table.next_index_id,
            definitions: table.definitions.iter().map(Into::into).collect(),
        },
    );
    written.add(
        Tag::Capacity,
        &Capacity {
            billing: table.billing,
            on_demand_since_ms: table.on_demand_since_ms,
            throughput: table.throughput,
            on_demand: table.on_demand,
            warm: table.warm,
        },
    );
}

/// The sections that are left out when they say nothing.
fn add_others(table: &Table, written: &mut Written) {
    let streams = Streams {
        state: table.stream.clone(),
        all: StreamRecord::of_streams(&table.logs),
        next_shard: table.next_shard,
    };
    written.add_unless(&Streams::default(), Tag::Streams, &streams);
    written.add_unless(&TtlState::default(), Tag::TimeToLive, &table.ttl);
    let protection =
        Protection { is_on: table.deletion_protection, changed_ms: table.deletion_protection_changed_ms };
    written.add_unless(&Protection::default(), Tag::Protection, &protection);
    written.add_unless(&None, Tag::Class, &table.class);
    written.add_unless(&None, Tag::Encryption, &table.encryption);
    written.add_unless(&None, Tag::KeyChange, &table.key_change);
    written.add_unless(&false, Tag::SettingsReplication, &table.replicates_settings);
    written.add_unless(&BTreeMap::new(), Tag::Tags, &table.tags);
    written.add_unless(&ModeChanges::default(), Tag::ModeChanges, &table.mode_changes);
    written.add_unless(&Vec::new(), Tag::Insights, &table.insights);
    written.add_unless(&Vec::new(), Tag::WarmJobs, &table.warm_jobs);
    written.add_unless(&None, Tag::Copied, &table.copied_bytes);
    written.add_unless(&None, Tag::CopiedBy, &table.copied_by.map(|member| member.0));
    written.add_unless(&History::default(), Tag::History, &table.history);
    written.add_unless(&None, Tag::Filling, &table.filling);
    written.add_unless(&None, Tag::BulkPut, &table.bulk_put);
    let nothing = Policies::default();
    written.add_unless(&nothing.in_force, Tag::Policies, &table.policies.in_force);
    written.add_unless(&nothing.removed, Tag::RemovedPolicies, &table.policies.removed);
    let destinations = OfDestinations {
        all: table.destinations.clone(),
        logs: DestinationLogRecord::of_destinations(&table.logs),
    };
    written.add_unless(&OfDestinations::default(), Tag::Destinations, &destinations);
    let replicas = OfReplicas {
        group: table.replication.clone(),
        has_old_versions: table.has_old_versions,
        logs: ReplicationLogRecord::of_replicas(&table.logs),
    };
    written.add_unless(&OfReplicas::default(), Tag::Replicas, &replicas);
    let strong =
        OfStrong { group: table.strong.clone(), streams: MemberStreamRecord::of_members(&table.logs) };
    written.add_unless(&OfStrong::default(), Tag::Strong, &strong);
    written.add_unless(&Remote::default(), Tag::Remote, &table.remote);
}

/// The sections of a record while it is read.
#[derive(Default)]
struct Parts {
    identity: Option<Identity>,
    status: Option<Status>,
    schema: Option<Schema>,
    capacity: Option<Capacity>,
    streams: Streams,
    ttl: TtlState,
    protection: Protection,
    class: Option<ClassState>,
    encryption: Option<EncryptionState>,
    key_change: Option<KeyChange>,
    replicates_settings: bool,
    tags: BTreeMap<String, String>,
    mode_changes: ModeChanges,
    insights: Insights,
    warm_jobs: Vec<WarmJob>,
    copied_bytes: Option<u64>,
    copied_by: Option<u128>,
    history: History,
    filling: Option<Filling>,
    bulk_put: Option<BulkPutting>,
    policies: BTreeMap<Governed, StoredPolicy>,
    removed_policies: BTreeMap<Governed, u64>,
    destinations: OfDestinations,
    replicas: OfReplicas,
    strong: OfStrong,
    remote: Remote,
}

impl Parts {
    fn read(&mut self, tag: Tag, bytes: &[u8]) -> Result<(), RecordFault> {
        match tag {
            Tag::Identity => self.identity = Some(whole(bytes)?),
            Tag::Status => self.status = Some(whole(bytes)?),
            Tag::Schema => self.schema = Some(whole(bytes)?),
            Tag::Capacity => self.capacity = Some(whole(bytes)?),
            Tag::Streams => self.streams = whole(bytes)?,
            Tag::TimeToLive => self.ttl = whole(bytes)?,
            Tag::Protection => self.protection = whole(bytes)?,
            Tag::Class => self.class = whole(bytes)?,
            Tag::Encryption => self.encryption = whole(bytes)?,
            Tag::KeyChange => self.key_change = whole(bytes)?,
            Tag::SettingsReplication => self.replicates_settings = whole(bytes)?,
            Tag::Tags => self.tags = whole(bytes)?,
            Tag::ModeChanges => self.mode_changes = whole(bytes)?,
            Tag::Insights => self.insights = whole(bytes)?,
            Tag::WarmJobs => self.warm_jobs = whole(bytes)?,
            Tag::Copied => self.copied_bytes = whole(bytes)?,
            Tag::CopiedBy => self.copied_by = whole(bytes)?,
            Tag::History => self.history = whole(bytes)?,
            Tag::Filling => self.filling = whole(bytes)?,
            Tag::BulkPut => self.bulk_put = whole(bytes)?,
            Tag::Policies => self.policies = whole(bytes)?,
            Tag::RemovedPolicies => self.removed_policies = whole(bytes)?,
            Tag::Destinations => self.destinations = whole(bytes)?,
            Tag::Replicas => self.replicas = whole(bytes)?,
            Tag::Strong => self.strong = whole(bytes)?,
            Tag::Remote => self.remote = whole(bytes)?,
        }
        Ok(())
    }
}

/// The content of a section, which is nothing else.
fn whole<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, RecordFault> {
    let malformed = |error: postcard::Error| RecordFault::Malformed(error.to_string());
    let (content, rest) = postcard::take_from_bytes(bytes).map_err(malformed)?;
    if rest.is_empty() {
        return Ok(content);
    }
    Err(RecordFault::Malformed("a section is longer than its content".to_owned()))
}

/// The table of these sections; a fault that names it if one of them is critical and not known.
pub(super) fn decode(version: u64, bytes: &[u8]) -> Result<Table, RecordFault> {
    let mut parts = Parts::default();
    let (mut later, mut unknown) = (Vec::new(), Vec::new());
    for section in framing::read(bytes)? {
        match Tag::of(section.tag) {
            Some(tag) => parts.read(tag, section.bytes)?,
            None if section.is_critical => unknown.push(section.tag),
            None => later.push(LaterSection { tag: section.tag, bytes: section.bytes.to_vec() }),
        }
    }
    let lacks = |what: &str| RecordFault::Malformed(format!("the section of its {what} is missing"));
    let identity = parts.identity.ok_or_else(|| lacks("name"))?;
    if !unknown.is_empty() {
        return Err(RecordFault::Refused(Box::new(RefusedTable {
            id: TableId(identity.id),
            account: identity.account,
            region: identity.region,
            name: identity.name,
            unknown: unknown.into_iter().map(contents).collect(),
        })));
    }
    let Status { status, until_ms } = parts.status.ok_or_else(|| lacks("status"))?;
    let schema = parts.schema.ok_or_else(|| lacks("keys"))?;
    let capacity = parts.capacity.ok_or_else(|| lacks("capacity"))?;
    let (indexes, index_states) = schema.indexes.into_iter().map(index_of_record).unzip();
    let doomed = schema.doomed_indexes.into_iter().map(index_of_record);
    let of_streams = parts.streams.all.into_iter().map(ChangeLog::from);
    let of_destinations = parts.destinations.logs.into_iter().map(ChangeLog::from);
    let of_replicas = parts.replicas.logs.into_iter().map(ChangeLog::from);
    let of_members = parts.strong.streams.into_iter().map(ChangeLog::from);
    let logs = of_streams.chain(of_destinations).chain(of_replicas).chain(of_members).collect();
    let mut table = Table {
        id: TableId(identity.id),
        version,
        public_id: identity.public_id,
        account: identity.account,
        region: identity.region,
        name: identity.name,
        status,
        status_until_ms: until_ms,
        created_ms: identity.created_ms,
        schema: TableSchema { key: schema.key.into(), indexes },
        states: index_states,
        doomed_indexes: doomed.map(|(schema, state)| DoomedIndex { schema, state }).collect(),
        next_index_id: schema.next_index_id,
        definitions: schema.definitions.into_iter().map(Into::into).collect(),
        billing: capacity.billing,
        on_demand_since_ms: capacity.on_demand_since_ms,
        throughput: capacity.throughput,
        on_demand: capacity.on_demand,
        warm: capacity.warm,
        stream: parts.streams.state,
        logs,
        next_shard: parts.streams.next_shard,
        destinations: parts.destinations.all,
        ttl: parts.ttl,
        class: parts.class,
        encryption: parts.encryption,
        key_change: parts.key_change,
        replicates_settings: parts.replicates_settings,
        deletion_protection: parts.protection.is_on,
        deletion_protection_changed_ms: parts.protection.changed_ms,
        tags: parts.tags,
        mode_changes: parts.mode_changes,
        insights: parts.insights,
        warm_jobs: parts.warm_jobs,
        copied_bytes: parts.copied_bytes,
        copied_by: parts.copied_by.map(MemberId),
        history: parts.history,
        filling: parts.filling,
        bulk_put: parts.bulk_put,
        policies: Policies { in_force: parts.policies, removed: parts.removed_policies },
        replication: parts.replicas.group,
        remote: parts.remote,
        has_old_versions: parts.replicas.has_old_versions,
        strong: parts.strong.group,
        later,
        seen: Seen::default(),
    };
    // Also what follows from the parts of the other members.
    table.stand_as(0);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_sections_ascend_and_none_is_used_twice() {
        assert!(Tag::ALL.into_iter().map(Tag::number).is_sorted_by(|one, next| one < next));
    }
}
