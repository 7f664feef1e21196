//! DescribeTable, DescribeLimits, DescribeEndpoints, and the table description in the responses of other
//! operations.

use keywright_semantics::error::Error;
use keywright_semantics::limits::{
    INITIAL_ON_DEMAND_READ_UNITS, INITIAL_ON_DEMAND_WRITE_UNITS, TABLE_UNITS_MAX,
};
use keywright_semantics::request::DescribeTable;
use keywright_semantics::request::parts::{BillingMode, ProjectionType, SseType};
use keywright_semantics::response::{
    BillingModeSummary, DescribeLimitsOutput, Endpoint, GlobalSecondaryIndexDescription,
    IndexStatus as IndexStatusName, LocalSecondaryIndexDescription, OnDemandThroughputDescription,
    ProjectionDescription, ProvisionedThroughputDescription, Response, RestoreSummary, SseDescription,
    StreamSpecification, TableClassSummary, TableDescription, TableStatus as TableStatusName, TimestampMs,
    WarmThroughputDescription,
};
use keywright_semantics::schema::{IndexKind, IndexSchema, Projection};
use keywright_store::Store;

use crate::catalogue::names::{index_status_name, key_schema, status_name};
use crate::catalogue::{
    Backfill, EncryptionState, Filling, IndexState, IndexStatus, OnDemandLimits, Table, TableStatus,
    Throughput, Warm,
};
use crate::state::Engine;
use crate::state::stats::{Counted, Stats};
use crate::support::env::Namespace;

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
    now_ms: u64,
}

impl<'a> View<'a> {
    pub(crate) fn of<S: Store>(engine: &'a Engine<S>) -> Self {
        Self { stats: engine.stats(), now_ms: engine.env().now_ms() }
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
        table_status: status_name(shown_status(table)),
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
        restore_summary: table.filling.as_ref().and_then(restore_summary),
        sse_description: table.encryption.as_ref().map(sse),
        table_class_summary: table.class.map(|state| TableClassSummary {
            table_class: state.class,
            last_update_date_time: state.changed_ms.map(TimestampMs),
        }),
        deletion_protection_enabled: Some(table.deletion_protection),
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
