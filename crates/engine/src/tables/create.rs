//! CreateTable.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::TABLE_UNITS_MAX;
use keywright_semantics::messages::{backup, table as messages};
use keywright_semantics::request::create_table::EncryptionKey;
use keywright_semantics::request::parts::BillingMode;
use keywright_semantics::request::{
    CreateTable, NewIndex, OnDemandThroughput, Throughput as Units, WarmThroughput,
};
use keywright_semantics::response::{
    BillingModeSummary, IndexStatus as IndexStatusName, Response, TableDescription,
    TableStatus as TableStatusName, WarmThroughputDescription,
};
use keywright_store::Store;

use super::capacity_changes::check_account;
use super::describe::{INITIAL_ON_DEMAND, View, describe};
use super::policies;
use super::tags::check_throttle_tag;
use crate::catalogue::{
    ClassState, Destinations, EncryptionState, History, IndexState, IndexStatus, ModeChanges, NewName,
    OnDemandLimits, Policies, RECOVERY_PERIOD_DAYS, Remote, Seen, StreamState, Table, TableStatus,
    Throughput, TtlState, Warm,
};
use crate::state::Engine;
use crate::streams;
use crate::support::env::Namespace;
use crate::support::layout::{IndexId, TableId};

pub(crate) async fn run<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &CreateTable,
) -> Result<Response, Error> {
    check_free(engine, namespace, &request.name)?;
    check_throttle_tag(&request.tags)?;
    check_new(engine, namespace, request)?;
    let now_ms = engine.env().now_ms();
    let public_id = uuid(engine.env().random_u128());
    let transition_ms = engine.config().transition_ms;
    let moment = streams::Moment::now(engine).await?;
    let policies = policies::of_new_table(engine, request.policy.as_ref(), now_ms)?;
    if request.policy.is_some() {
        engine.catalogue().check_knows_policies(&request.name).await?;
    }
    let build = |id: TableId| {
        let mut table = Table {
            policies: policies.clone(),
            public_id: public_id.clone(),
            status: if transition_ms == 0 { TableStatus::Active } else { TableStatus::Creating },
            status_until_ms: now_ms.saturating_add(transition_ms),
            ..new_table(namespace, request, id, now_ms)
        };
        if let Some(view) = request.stream {
            // Looked up at each try: a table of that name may have been created and deleted since the last
            // one.
            let is_taken = |label: &str| engine.catalogue().has_stream(namespace, &request.name, label);
            streams::enable(&mut table, is_taken, view, moment);
        }
        if engine.config().pitr_default {
            table.history.enable_recovery(now_ms, RECOVERY_PERIOD_DAYS, engine.stamps().beginning(now_ms));
        }
        table
    };
    // Once more in its turn: others may have been made meanwhile.
    let permit = || {
        engine.pace().check_presence()?;
        check_room(engine, namespace)
    };
    let new = NewName { namespace, name: &request.name, public_id: &public_id };
    let table = engine.catalogue().create(new, permit, build).await?;
    Ok(Response::CreateTable(Box::new(answer(&table, request, engine))))
}

/// Refuses the name of a table that is there.
pub(super) fn check_free<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    name: &str,
) -> Result<(), Error> {
    let Some(existing) = engine.catalogue().find(namespace, name) else { return Ok(()) };
    let text = match existing.status {
        TableStatus::Creating if existing.filling.is_some() => backup::table_in_use(name),
        TableStatus::Creating => messages::being_created(name),
        TableStatus::Deleting => messages::being_deleted(name),
        TableStatus::Active | TableStatus::Updating => messages::table_exists(name),
    };
    Err(Error::new(ErrorKind::ResourceInUse, text))
}

/// Checks that a table like this may be made.
pub(crate) fn check_new<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &CreateTable,
) -> Result<(), Error> {
    check_room(engine, namespace)?;
    check_units_of(namespace, request)?;
    let indexes = request.indexes.iter().filter_map(|index| index.throughput);
    let asked: Vec<Units> = request.throughput.into_iter().chain(indexes).collect();
    check_account(engine, namespace, None, &asked)
}

/// Checks that one more table may be made.
pub(crate) fn check_room<S: Store>(engine: &Engine<S>, namespace: &Namespace) -> Result<(), Error> {
    let over = |text: String| Err(Error::new(ErrorKind::LimitExceeded, text));
    if engine.catalogue().count(namespace) >= engine.config().tables_max {
        return over(messages::table_limit(engine.config().tables_max));
    }
    if engine.catalogue().record_bytes() >= engine.config().record_bytes_max {
        return over(messages::definitions_limit(engine.config().record_bytes_max));
    }
    Ok(())
}

fn check_units_of(namespace: &Namespace, request: &CreateTable) -> Result<(), Error> {
    let over = |text: String| Err(Error::new(ErrorKind::LimitExceeded, text));
    if let Some(units) = request.throughput {
        check_units(units, namespace).or_else(over)?;
    }
    if let Some(limits) = request.on_demand {
        check_ceilings(limits, "table", namespace).or_else(over)?;
    }
    if let Some(warm) = request.warm {
        check_warm(warm, "table", namespace).or_else(over)?;
    }
    for index in &request.indexes {
        if let Some(units) = index.throughput {
            check_index_units(&index.schema.name, units, namespace).or_else(over)?;
        }
        check_index_ceilings(index, namespace).or_else(over)?;
    }
    Ok(())
}

/// Checks the units of one index against its limit; the error is the service's text.
pub(super) fn check_index_units(index: &str, units: Units, namespace: &Namespace) -> Result<(), String> {
    for (count, name) in [(units.read_units, "ReadCapacityUnits"), (units.write_units, "WriteCapacityUnits")]
    {
        if count > TABLE_UNITS_MAX {
            return Err(messages::units_above_index_limit(name, index, count, namespace.region.as_str()));
        }
    }
    Ok(())
}

/// The ceilings and warm throughput of a new index.
pub(super) fn check_index_ceilings(index: &NewIndex, namespace: &Namespace) -> Result<(), String> {
    let name = &index.schema.name;
    if let Some(limits) = index.on_demand {
        check_ceilings(limits, &format!("index : {name}"), namespace)?;
    }
    match index.warm {
        Some(warm) => check_warm(warm, &format!("index {name}"), namespace),
        None => Ok(()),
    }
}

pub(super) fn check_ceilings(
    limits: OnDemandThroughput,
    place: &str,
    namespace: &Namespace,
) -> Result<(), String> {
    let above = |units: i64| u64::try_from(units).is_ok_and(|units| units > TABLE_UNITS_MAX);
    match limits.named().find(|(units, _)| above(*units)) {
        Some((_, name)) => Err(messages::on_demand_above_table_limit(name, place, namespace.region.as_str())),
        None => Ok(()),
    }
}

pub(super) fn check_warm(warm: WarmThroughput, place: &str, namespace: &Namespace) -> Result<(), String> {
    match warm.named().find(|(units, _)| *units > TABLE_UNITS_MAX) {
        Some((_, name)) => Err(messages::warm_above_table_limit(name, place, namespace.region.as_str())),
        None => Ok(()),
    }
}

/// Checks the units of one table against its limit; the error is the service's text.
pub(super) fn check_units(units: Units, namespace: &Namespace) -> Result<(), String> {
    for (count, name) in [(units.read_units, "ReadCapacityUnits"), (units.write_units, "WriteCapacityUnits")]
    {
        if count > TABLE_UNITS_MAX {
            return Err(messages::units_above_table_limit(name, count, namespace.region.as_str()));
        }
    }
    Ok(())
}

/// An empty table. It has no public id, and is being created.
pub(crate) fn new_table(namespace: &Namespace, request: &CreateTable, id: TableId, now_ms: u64) -> Table {
    let states: Vec<IndexState> =
        (1..).zip(&request.indexes).map(|(id, index)| first_state(IndexId(id), index)).collect();
    let on_demand = request.billing == BillingMode::PayPerRequest;
    Table {
        id,
        version: 1,
        public_id: String::new(),
        account: namespace.account.to_string(),
        region: namespace.region.to_string(),
        name: request.name.clone(),
        status: TableStatus::Creating,
        status_until_ms: now_ms,
        created_ms: now_ms,
        schema: request.schema(),
        next_index_id: u32::try_from(states.len()).unwrap_or(u32::MAX).saturating_add(1),
        states,
        doomed_indexes: Vec::new(),
        definitions: request.definitions.clone(),
        billing: if on_demand { BillingMode::PayPerRequest } else { BillingMode::Provisioned },
        on_demand_since_ms: on_demand.then_some(now_ms),
        throughput: request.throughput.map(provisioned).unwrap_or_default(),
        on_demand: request.on_demand.map(on_demand_limits).unwrap_or_default(),
        warm: request.warm.map(|asked| warm_state(asked, request.throughput)),
        stream: StreamState::default(),
        logs: Vec::new(),
        next_shard: 1,
        destinations: Destinations::default(),
        ttl: TtlState::default(),
        class: request.class.map(|class| ClassState { class, changed_ms: None }),
        encryption: request.encryption.as_ref().map(|key| encryption_state(key, namespace)),
        deletion_protection: request.deletion_protection,
        deletion_protection_changed_ms: None,
        tags: request.tags.clone(),
        mode_changes: ModeChanges::default(),
        insights: Vec::new(),
        warm_jobs: Vec::new(),
        copied_bytes: None,
        copied_by: None,
        history: History::default(),
        filling: None,
        bulk_put: None,
        key_change: None,
        replicates_settings: false,
        policies: Policies::default(),
        replication: None,
        remote: Remote::default(),
        has_old_versions: false,
        strong: None,
        later: Vec::new(),
        seen: Seen::default(),
    }
}

/// The state of an index that is complete from the start, because its table is empty.
fn first_state(id: IndexId, index: &NewIndex) -> IndexState {
    IndexState {
        id,
        status: IndexStatus::Active,
        backfill: None,
        throughput: index.throughput.map(provisioned).unwrap_or_default(),
        on_demand: index.on_demand.map(on_demand_limits).unwrap_or_default(),
        warm: index.warm.map(|asked| warm_state(asked, index.throughput)),
    }
}

pub(super) fn provisioned(units: Units) -> Throughput {
    Throughput { read_units: units.read_units, write_units: units.write_units, ..Throughput::default() }
}

pub(super) fn on_demand_limits(asked: OnDemandThroughput) -> OnDemandLimits {
    let mut limits = OnDemandLimits::default();
    limits.change(asked);
    limits
}

pub(super) fn warm_state(asked: WarmThroughput, units: Option<Units>) -> Warm {
    let floor = units.map_or(INITIAL_ON_DEMAND, |units| Warm {
        read_units: units.read_units,
        write_units: units.write_units,
    });
    Warm {
        read_units: asked.read_units.unwrap_or(floor.read_units),
        write_units: asked.write_units.unwrap_or(floor.write_units),
    }
}

/// A KMS key's ARN: as KMS says or as given, or one made from the key id or alias in the caller's account.
pub(super) fn encryption_state(key: &EncryptionKey, namespace: &Namespace) -> EncryptionState {
    let key_arn = match key.found_arn.as_deref().or(key.key_id.as_deref()) {
        Some(arn) if arn.starts_with("arn:") => arn.to_owned(),
        Some(alias) if alias.starts_with("alias/") => {
            format!("arn:aws:kms:{}:{}:{alias}", namespace.region, namespace.account)
        }
        Some(id) => format!("arn:aws:kms:{}:{}:key/{id}", namespace.region, namespace.account),
        None => format!("arn:aws:kms:{}:{}:alias/aws/dynamodb", namespace.region, namespace.account),
    };
    EncryptionState { key_arn }
}

/// A version 4 UUID of these bits.
pub(crate) fn uuid(bits: u128) -> String {
    let marked = bits & !(0xF << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{marked:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// The service's response: the table and its indexes are being created, and some values are not known yet.
fn answer<S: Store>(table: &Table, request: &CreateTable, engine: &Engine<S>) -> TableDescription {
    let mut description = describe(table, View::of(engine));
    description.table_status = TableStatusName::Creating;
    description.warm_throughput = request
        .warm
        .and(description.warm_throughput)
        .map(|warm| WarmThroughputDescription { status: TableStatusName::Updating, ..warm });
    if request.billing == BillingMode::PayPerRequest {
        description.billing_mode_summary = Some(BillingModeSummary {
            billing_mode: BillingMode::PayPerRequest,
            last_update_to_pay_per_request_date_time: None,
        });
    }
    for index in description.global_secondary_indexes.iter_mut().flatten() {
        index.index_status = IndexStatusName::Creating;
        index.warm_throughput = None;
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_4_uuids() {
        let id = uuid(u128::MAX);
        assert_eq!(id, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
