//! DescribeTable, DescribeLimits, DescribeEndpoints, and the table description in the responses of other
//! operations.

use keywright_semantics::error::Error;
use keywright_semantics::limits::{
    INITIAL_ON_DEMAND_READ_UNITS, INITIAL_ON_DEMAND_WRITE_UNITS, TABLE_UNITS_MAX,
};
use keywright_semantics::request::DescribeTable;
use keywright_semantics::request::parts::{
    BillingMode, GlobalTableSettingsReplicationMode, ProjectionType, SseType,
};
use keywright_semantics::response::{
    BillingModeSummary, DescribeLimitsOutput, Endpoint, GlobalSecondaryIndexDescription,
    IndexStatus as IndexStatusName, LocalSecondaryIndexDescription, OnDemandThroughputDescription,
    ProjectionDescription, ProvisionedThroughputDescription, ReplicaDescription, ReplicaIndexDescription,
    ReplicaStatus, Response, RestoreSummary, SseDescription, StreamSpecification, StrongDescription,
    TableClassSummary, TableDescription, TableStatus as TableStatusName, TimestampMs,
    WarmThroughputDescription, WitnessDescription,
};
use keywright_semantics::schema::{IndexKind, IndexSchema, Projection};
use keywright_store::Store;

use crate::catalogue::names::{index_status_name, key_schema, status_name};
use crate::catalogue::{
    Backfill, EncryptionState, Filling, IndexState, IndexStatus, Member, MemberStatus, OnDemandLimits,
    RemoteMember, StrongGroup, Table, TableStatus, Throughput, Warm, WitnessStatus,
};
use crate::state::Engine;
use crate::state::stats::{Counted, Stats};
use crate::support::env::Namespace;
use crate::support::links::Links;
use crate::support::simulation::Inaccessible;

/// The warm throughput of a new on-demand table (developer guide: on-demand capacity mode).
pub(crate) const INITIAL_ON_DEMAND: Warm =
    Warm { read_units: INITIAL_ON_DEMAND_READ_UNITS, write_units: INITIAL_ON_DEMAND_WRITE_UNITS };

pub(crate) fn run<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeTable,
) -> Result<Response, Error> {
    let table = engine.catalogue().lookup_any(namespace, &request.table)?;
    Ok(Response::DescribeTable(Box::new(describe(&table, View::of(engine)))))
}

/// The quotas of an account.
pub(crate) fn limits<S: Store>(engine: &Engine<S>) -> Response {
    let account_units_max = engine.config().throughput.account_units_max;
    Response::DescribeLimits(DescribeLimitsOutput {
        account_max_read_capacity_units: account_units_max,
        account_max_write_capacity_units: account_units_max,
        table_max_read_capacity_units: TABLE_UNITS_MAX,
        table_max_write_capacity_units: TABLE_UNITS_MAX,
    })
}

pub(crate) fn endpoints(namespace: &Namespace) -> Response {
    let address = format!("dynamodb.{}.amazonaws.com", namespace.region);
    Response::DescribeEndpoints(vec![Endpoint { address, cache_period_in_minutes: 1440 }])
}

/// What a description needs apart from the table's record.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    stats: &'a Stats,
    links: &'a Links,
    now_ms: u64,
}

impl<'a> View<'a> {
    pub(crate) fn of<S: Store>(engine: &'a Engine<S>) -> Self {
        Self { stats: engine.stats(), links: engine.links(), now_ms: engine.env().now_ms() }
    }
}

/// A table as DescribeTable reports it.
pub(crate) fn describe(table: &Table, view: View<'_>) -> TableDescription {
    let items = view.stats.get(Counted::Items(table.id));
    let arn = table.arn();
    let labelled = table.stream.label.as_ref();
    TableDescription {
        attribute_definitions: Some(definitions(table)),
        table_name: table.name.clone(),
        key_schema: Some(key_schema(&table.schema.key)),
        table_status: described_status(table, view),
        creation_date_time: Some(TimestampMs(table.created_ms)),
        provisioned_throughput: Some(throughput(table.throughput, view.now_ms)),
        table_size_bytes: unsigned(items.bytes),
        item_count: unsigned(items.rows),
        table_id: table.public_id.clone(),
        billing_mode_summary: billing_summary(table),
        local_secondary_indexes: locals(table, view, &arn),
        global_secondary_indexes: globals(table, view, &arn),
        stream_specification: table
            .stream
            .view
            .map(|view| StreamSpecification { stream_enabled: true, stream_view_type: Some(view) }),
        latest_stream_label: labelled.cloned(),
        latest_stream_arn: labelled.map(|label| format!("{arn}/stream/{label}")),
        replicas: match &table.strong {
            Some(_) => Some(strong_replicas(table, view)),
            None => table.replication.as_ref().map(|_| replicas(table, view)),
        },
        strong: table.strong.as_ref().map(|group| StrongDescription { witness: witness(group, view) }),
        restore_summary: table.filling.as_ref().and_then(restore_summary),
        sse_description: sse_description(table, view.now_ms),
        table_class_summary: table.class.map(|state| TableClassSummary {
            table_class: state.class,
            last_update_date_time: state.changed_ms.map(TimestampMs),
        }),
        deletion_protection_enabled: Some(table.deletion_protection),
        settings_replication: settings_replication(table),
        disassociation_protection_enabled: table.as_member().map(|member| member.is_protected),
        on_demand_throughput: on_demand(table.on_demand),
        warm_throughput: Some(warm(
            table.warm,
            table.billing,
            table.throughput,
            if table.is_warming(None) { TableStatusName::Updating } else { TableStatusName::Active },
        )),
        table_arn: arn,
    }
}

/// How a table's settings follow those of replicas: of one with replicas, and of one that may have some in
/// other accounts.
fn settings_replication(table: &Table) -> Option<GlobalTableSettingsReplicationMode> {
    if table.replicates_settings {
        return Some(GlobalTableSettingsReplicationMode::Enabled);
    }
    let is_group = table.replication.is_some() || table.strong.is_some();
    is_group.then_some(GlobalTableSettingsReplicationMode::EnabledWithOverrides)
}

/// The other members of a table's group, in the order in which they joined, with what they set differently.
fn replicas(table: &Table, view: View<'_>) -> Vec<ReplicaDescription> {
    let remote: Vec<Member> = table.remote.members.iter().map(RemoteMember::as_member).collect();
    let shown = table.replicas().chain(&remote).filter(|member| member.shown_from_ms <= view.now_ms);
    shown.map(|member| replica(table, member, inaccessible(table, member, view))).collect()
}

/// The other members of a strongly consistent group, in the order of its request.
fn strong_replicas(table: &Table, view: View<'_>) -> Vec<ReplicaDescription> {
    let shown = table.other_strong_members().filter(|(member, _)| member.shown_from_ms <= view.now_ms);
    let described = shown.map(|(member, status)| ReplicaDescription {
        replica_arn: None,
        settings_replication: GlobalTableSettingsReplicationMode::EnabledWithOverrides,
        region_name: member.region.clone(),
        replica_status: strong_status(status),
        inaccessible_since: None,
        kms_master_key_id: None,
        read_capacity_units_override: None,
        max_read_request_units_override: None,
        warm_throughput: warm(table.warm, table.billing, table.throughput, TableStatusName::Active),
        global_secondary_indexes: None,
        table_class: None,
    });
    described.collect()
}

/// The state of a strongly consistent table as the other regions describe it.
pub(crate) const fn strong_status(status: TableStatus) -> ReplicaStatus {
    match status {
        TableStatus::Creating => ReplicaStatus::Creating,
        TableStatus::Active | TableStatus::Updating => ReplicaStatus::Active,
        TableStatus::Deleting => ReplicaStatus::Deleting,
    }
}

/// The witness of a group, from the time on from which its members are described.
fn witness(group: &StrongGroup, view: View<'_>) -> Option<WitnessDescription> {
    let is_shown = group.members.iter().all(|member| member.shown_from_ms <= view.now_ms);
    let witness = group.witness.as_ref().filter(|_| is_shown)?;
    Some(WitnessDescription {
        region_name: witness.region.clone(),
        witness_status: match witness.status {
            WitnessStatus::Creating => ReplicaStatus::Creating,
            WitnessStatus::Active => ReplicaStatus::Active,
            WitnessStatus::Deleting => ReplicaStatus::Deleting,
        },
    })
}

/// Why a member takes no part in replication, and since when.
fn inaccessible(table: &Table, member: &Member, view: View<'_>) -> Option<(Inaccessible, u64)> {
    let of = (member.account.as_str(), table.name.as_str());
    view.links.inaccessible(of, &member.region, view.now_ms)
}

/// The status of a table. An active replica that takes no part in replication says so itself, except where
/// its region is disabled: there nobody can ask.
fn described_status(table: &Table, view: View<'_>) -> TableStatusName {
    let shown = shown_status(table);
    let own = table.as_member().filter(|_| shown == TableStatus::Active);
    match own.and_then(|member| inaccessible(table, member, view)) {
        Some((Inaccessible::EncryptionCredentials, _)) => TableStatusName::InaccessibleEncryptionCredentials,
        Some((Inaccessible::NotAuthorized, _)) => TableStatusName::ReplicationNotAuthorized,
        Some((Inaccessible::RegionDisabled, _)) | None => status_name(shown),
    }
}

fn replica(table: &Table, member: &Member, inaccessible: Option<(Inaccessible, u64)>) -> ReplicaDescription {
    let overrides = &member.overrides;
    let indexes = overrides.indexes.iter().filter_map(|(name, own)| {
        let (_, state) = table.index(name)?;
        let status = IndexStatusName::Active;
        Some(ReplicaIndexDescription {
            index_name: name.clone(),
            read_capacity_units_override: own.read_units,
            max_read_request_units_override: own.read_units_max,
            warm_throughput: warm(
                state.warm,
                table.billing,
                with_reads(state.throughput, own.read_units),
                status,
            ),
        })
    });
    let indexes: Vec<ReplicaIndexDescription> = indexes.collect();
    let throughput = with_reads(table.throughput, overrides.read_units);
    let mode = settings_replication(table);
    ReplicaDescription {
        // In one account the region says which table it is.
        replica_arn: (member.account != table.account).then(|| member.arn(&table.name)),
        settings_replication: mode.unwrap_or(GlobalTableSettingsReplicationMode::EnabledWithOverrides),
        region_name: member.region.clone(),
        replica_status: match inaccessible {
            Some((Inaccessible::RegionDisabled, _)) => ReplicaStatus::RegionDisabled,
            Some((Inaccessible::EncryptionCredentials, _)) => {
                ReplicaStatus::InaccessibleEncryptionCredentials
            }
            Some((Inaccessible::NotAuthorized, _)) => ReplicaStatus::ReplicationNotAuthorized,
            None => replica_status(member),
        },
        inaccessible_since: inaccessible.map(|(_, since_ms)| TimestampMs(since_ms)),
        kms_master_key_id: overrides.key_arn.clone(),
        read_capacity_units_override: overrides.read_units,
        max_read_request_units_override: overrides.read_units_max,
        warm_throughput: warm(table.warm, table.billing, throughput, TableStatusName::Active),
        global_secondary_indexes: (!indexes.is_empty()).then_some(indexes),
        table_class: overrides.class.map(|own| own.class),
    }
}

/// The state of a member as the others describe it.
pub(crate) const fn replica_status(member: &Member) -> ReplicaStatus {
    match member.status {
        MemberStatus::Creating => ReplicaStatus::Creating,
        MemberStatus::Updating | MemberStatus::Disassociating => ReplicaStatus::Updating,
        MemberStatus::Active => ReplicaStatus::Active,
        MemberStatus::Deleting => ReplicaStatus::Deleting,
    }
}

fn with_reads(units: Throughput, own: Option<u64>) -> Throughput {
    Throughput { read_units: own.unwrap_or(units.read_units), ..units }
}

/// How a table is encrypted; nothing for the service's own key.
fn sse_description(table: &Table, now_ms: u64) -> Option<SseDescription> {
    let Some(change) = table.key_change.as_ref().filter(|change| now_ms < change.until_ms) else {
        return table.encryption.as_ref().map(sse);
    };
    let shown = if change.shows_old_key(now_ms) { &change.before } else { &table.encryption };
    Some(sse_while_updated(shown.as_ref().map(sse)))
}

/// The same while the key changes: without a key of the account there is only the status (observed).
pub(super) fn sse_while_updated(shown: Option<SseDescription>) -> SseDescription {
    let nothing = SseDescription { status: "", sse_type: None, kms_master_key_arn: None };
    SseDescription { status: "UPDATING", ..shown.unwrap_or(nothing) }
}

/// How a key of the account encrypts a table.
pub(crate) fn sse(encryption: &EncryptionState) -> SseDescription {
    SseDescription {
        status: "ENABLED",
        sse_type: Some(SseType::Kms),
        kms_master_key_arn: Some(encryption.key_arn.clone()),
    }
}

/// What a table is restored from. An import restores nothing.
fn restore_summary(filling: &Filling) -> Option<RestoreSummary> {
    Some(RestoreSummary {
        source_backup_arn: filling.source_backup_arn.clone(),
        source_table_arn: filling.source_table_arn.clone()?,
        restored_to: TimestampMs(filling.restore_ms),
    })
}

/// The service lists definitions by name if the table has indexes, and otherwise in the order of the request.
fn definitions(table: &Table) -> Vec<keywright_semantics::schema::KeyAttribute> {
    let mut definitions = table.definitions.clone();
    if !table.schema.indexes.is_empty() || !table.doomed_indexes.is_empty() {
        definitions.sort_by(|one, other| one.name.cmp(&other.name));
    }
    definitions
}

pub(crate) fn projection(projection: &Projection) -> ProjectionDescription {
    let (projection_type, non_key_attributes) = match projection {
        Projection::All => (ProjectionType::All, None),
        Projection::KeysOnly => (ProjectionType::KeysOnly, None),
        Projection::Include(names) => (ProjectionType::Include, Some(names.iter().cloned().collect())),
    };
    ProjectionDescription { projection_type, non_key_attributes }
}

fn throughput(throughput: Throughput, now_ms: u64) -> ProvisionedThroughputDescription {
    ProvisionedThroughputDescription {
        last_increase_date_time: throughput.last_increase_ms.map(TimestampMs),
        last_decrease_date_time: throughput.last_decrease_ms.map(TimestampMs),
        number_of_decreases_today: throughput.decreases_on(now_ms),
        read_capacity_units: throughput.read_units,
        write_capacity_units: throughput.write_units,
    }
}

/// Absent for tables that were never on-demand.
fn billing_summary(table: &Table) -> Option<BillingModeSummary> {
    let since = table.on_demand_since_ms?;
    Some(BillingModeSummary {
        billing_mode: table.billing,
        last_update_to_pay_per_request_date_time: Some(TimestampMs(since)),
    })
}

pub(crate) fn on_demand(limits: OnDemandLimits) -> Option<OnDemandThroughputDescription> {
    (!limits.is_unset()).then_some(OnDemandThroughputDescription {
        max_read_request_units: limits.read_units_max,
        max_write_request_units: limits.write_units_max,
    })
}

fn warm<Status>(
    asked: Option<Warm>,
    billing: BillingMode,
    throughput: Throughput,
    status: Status,
) -> WarmThroughputDescription<Status> {
    let floor = match billing {
        BillingMode::PayPerRequest => INITIAL_ON_DEMAND,
        BillingMode::Provisioned => {
            Warm { read_units: throughput.read_units, write_units: throughput.write_units }
        }
    };
    let warm = asked.unwrap_or(floor);
    WarmThroughputDescription {
        read_units_per_second: warm.read_units.max(floor.read_units),
        write_units_per_second: warm.write_units.max(floor.write_units),
        status,
    }
}

fn locals(table: &Table, view: View<'_>, arn: &str) -> Option<Vec<LocalSecondaryIndexDescription>> {
    let described: Vec<_> = table
        .indexes_with_states()
        .filter(|(schema, _)| schema.kind == IndexKind::Local)
        .map(|(schema, state)| {
            let tally = view.stats.get(Counted::Entries(table.id, state.id));
            LocalSecondaryIndexDescription {
                index_name: schema.name.clone(),
                key_schema: key_schema(&schema.key),
                projection: projection(&schema.projection),
                index_size_bytes: unsigned(tally.bytes),
                item_count: unsigned(tally.rows),
                index_arn: format!("{arn}/index/{}", schema.name),
            }
        })
        .collect();
    (!described.is_empty()).then_some(described)
}

fn globals(table: &Table, view: View<'_>, arn: &str) -> Option<Vec<GlobalSecondaryIndexDescription>> {
    let live = table.indexes_with_states().filter(|(schema, _)| schema.kind == IndexKind::Global);
    let doomed = table.doomed_indexes.iter().map(|index| (&index.schema, &index.state));
    let described: Vec<_> =
        live.chain(doomed).map(|(schema, state)| global(table, (schema, state), view, arn)).collect();
    (!described.is_empty()).then_some(described)
}

fn global(
    table: &Table,
    (schema, state): (&IndexSchema, &IndexState),
    view: View<'_>,
    arn: &str,
) -> GlobalSecondaryIndexDescription {
    let tally = view.stats.get(Counted::Entries(table.id, state.id));
    let active = state.status == IndexStatus::Active;
    GlobalSecondaryIndexDescription {
        index_name: schema.name.clone(),
        key_schema: key_schema(&schema.key),
        projection: projection(&schema.projection),
        index_status: index_status_name(state.status),
        backfilling: state.backfill.map(|phase| phase == Backfill::Scanning),
        provisioned_throughput: throughput(state.throughput, view.now_ms),
        index_size_bytes: unsigned(tally.bytes),
        item_count: unsigned(tally.rows),
        index_arn: format!("{arn}/index/{}", schema.name),
        on_demand_throughput: on_demand(state.on_demand),
        warm_throughput: active.then(|| {
            let is_warming = table.is_warming(Some(state.id));
            let status = if is_warming { IndexStatusName::Updating } else { IndexStatusName::Active };
            warm(state.warm, table.billing, state.throughput, status)
        }),
    }
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// A table is UPDATING while an index is allocated or deleted, and ACTIVE while one is filled (observed).
fn shown_status(table: &Table) -> TableStatus {
    let is_placed = |state: &IndexState| state.backfill != Some(Backfill::Allocating);
    match table.status {
        TableStatus::Active if table.doomed_indexes.is_empty() && table.states.iter().all(is_placed) => {
            TableStatus::Active
        }
        TableStatus::Active => TableStatus::Updating,
        status => status,
    }
}
