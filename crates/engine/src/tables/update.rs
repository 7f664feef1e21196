//! UpdateTable: capacity, indexes, stream, class, encryption and deletion protection of a table.
//!
//! All changes of one request are written in one commit, or none is: those of settings that replicas share
//! are in their records too. `background/index_backfill.rs` fills new
//! indexes.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::GLOBAL_INDEXES_MAX;
use keywright_semantics::messages::bulk::being_bulk_put;
use keywright_semantics::messages::global;
use keywright_semantics::messages::table as messages;
use keywright_semantics::messages::table::UnitsChange;
use keywright_semantics::request::create_table::EncryptionKey;
use keywright_semantics::request::parts::{BillingMode, TableClass};
use keywright_semantics::request::{
    EncryptionChange, IndexUpdate, NewIndex, OnDemandThroughput, StreamChange, Throughput as Units,
    UpdateTable, WarmThroughput,
};
use keywright_semantics::response::{
    GlobalSecondaryIndexDescription, IndexStatus as IndexStatusName, OnDemandThroughputDescription, Response,
    TableDescription, TableStatus as TableStatusName, WarmThroughputDescription,
};
use keywright_semantics::schema::{IndexKind, KeyAttribute, KeySchema};
use keywright_store::Store;

use super::capacity_changes::{
    CLASS_COUNTED_MS, SWITCHES_COUNTED_MS, check_account, check_class_change, check_decrease, check_switch,
    keep_warm,
};
use super::create::{
    check_ceilings, check_index_ceilings, check_index_units, check_units, check_warm, encryption_state,
    on_demand_limits, provisioned, warm_state,
};
use super::describe::{INITIAL_ON_DEMAND, View, describe, sse_while_updated};
use super::group::{change_group, check_group_settled};
use super::replicas::{self, ScaledWrites};
use crate::catalogue::{
    Backfill, ClassState, DoomedIndex, IndexState, IndexStatus, KeyChange, Lifted, OnDemandLimits, OtherRows,
    Table, TableStatus, Throughput, Warm, WarmJob, note_change, owner,
};
use crate::state::Engine;
use crate::streams;
use crate::support::env::{Namespace, Region};
use crate::support::fault;
use crate::support::layout::IndexId;

pub(crate) async fn run<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (request, scaled): (&UpdateTable, &ScaledWrites),
) -> Result<Response, Error> {
    if let Some(updates) = &request.replicas {
        return Box::pin(replicas::run(engine, namespace, (&request.table, updates, scaled))).await;
    }
    let found = engine.catalogue().lookup_settled(namespace, &request.table)?;
    check_accounts(engine, &found, request)?;
    engine.check_reachable(&found)?;
    let moment = streams::Moment::now(engine).await?;
    let of_replicas = for_replicas(request);
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        let before = tables.first().ok_or_else(fault::internal)?.clone();
        check_group_settled(&before)?;
        check_in_group(&before, request)?;
        let lifted = Lifted::lift(tables);
        for (place, table) in tables.iter_mut().enumerate() {
            let request = if place == 0 { request } else { &of_replicas };
            let namespace = owner(table);
            let has_stream = |label: &str| engine.catalogue().has_stream(&namespace, &found.name, label);
            let update = Update {
                request,
                namespace: &namespace,
                now_ms: moment.now_ms(),
                transition_ms: engine.config().transition_ms,
                warm_ms: engine.config().throughput.warm_s.saturating_mul(1000),
                moment,
                counts_changes: engine.is_limited(table),
                has_stream: &has_stream,
            };
            update.apply(table)?;
            table.spread_update();
            spread_encryption(table, request.encryption.as_ref());
        }
        lifted.lay(tables);
        Ok(before)
    };
    let (tables, before) = change_group(engine, &found, change).await?;
    let table = tables.first().ok_or_else(fault::internal)?;
    let description = answer(request, describe(&before, View::of(engine)), describe(table, View::of(engine)));
    Ok(Response::UpdateTable(Box::new(description)))
}

/// Checks the quotas of the account in the regions of a table and its replicas.
fn check_accounts<S: Store>(engine: &Engine<S>, found: &Table, request: &UpdateTable) -> Result<(), Error> {
    let units = request.index_updates.iter().filter_map(|update| match update {
        IndexUpdate::Create(index) => index.throughput,
        IndexUpdate::Update { throughput, .. } => *throughput,
        IndexUpdate::Delete { .. } => None,
    });
    let asked: Vec<Units> = request.throughput.into_iter().chain(units).collect();
    check_account(engine, &owner(found), Some(found), &asked)?;
    let replicas = found.replicas().filter_map(|member| engine.catalogue().with_id(member.table));
    let mut all = replicas.map(|replica| check_account(engine, &owner(&replica), Some(&replica), &asked));
    all.try_for_each(|checked| checked)
}

/// What a request changes in the replicas of its table. Source: developer guide, global tables, settings.
fn for_replicas(request: &UpdateTable) -> UpdateTable {
    // Each setting stands here, so that a new one is not forgotten.
    let UpdateTable {
        table,
        // The same in every region.
        definitions,
        billing,
        index_updates,
        stream,
        warm,
        // The same, except where a replica has a value of its own (`Lifted`): read units, the ceiling of
        // reads, the table class.
        throughput,
        on_demand,
        class,
        // The same kind of key in every region.
        encryption,
        // Of one region alone.
        deletion_protection: _,
        disassociation_protection: _,
        // It does not change while there are replicas.
        settings_replication: _,
        replicas: _,
    } = request.clone();
    let encryption = encryption.map(|change| match change {
        // The key that the service manages is another one in each region.
        EncryptionChange::OwnKey(key) => EncryptionChange::OwnKey(EncryptionKey { found_arn: None, ..key }),
        EncryptionChange::ServiceKey => EncryptionChange::ServiceKey,
    });
    UpdateTable {
        table,
        definitions,
        billing,
        throughput,
        index_updates,
        stream,
        encryption,
        class,
        deletion_protection: None,
        on_demand,
        warm,
        disassociation_protection: None,
        settings_replication: None,
        replicas: None,
    }
}

/// Refuses what a table with replicas cannot do.
fn check_in_group(table: &Table, request: &UpdateTable) -> Result<(), Error> {
    let is_alone = table.replicas().next().is_none() && table.remote.members.is_empty();
    if is_alone && table.strong.is_none() {
        return Ok(());
    }
    if request.settings_replication.is_some_and(|mode| mode != table.replicates_settings) {
        return Err(invalid(global::SETTINGS_MODE_OF_REPLICAS));
    }
    let names_key = match &request.encryption {
        Some(EncryptionChange::OwnKey(key)) => key.key_id.is_some(),
        Some(EncryptionChange::ServiceKey) | None => false,
    };
    if names_key {
        return Err(invalid(global::KEY_OF_EACH_REPLICA));
    }
    match request.stream {
        Some(StreamChange::Disable) if table.strong.is_none() => Err(invalid(global::STREAM_NEEDED)),
        Some(StreamChange::Enable(_) | StreamChange::Disable) | None => Ok(()),
    }
}

/// Gives the other members of a strongly consistent group the kind of key that the table has now.
fn spread_encryption(table: &mut Table, change: Option<&EncryptionChange>) {
    let own = owner(table);
    match change {
        None => {}
        Some(EncryptionChange::ServiceKey) => table.spread_encryption(|_| None),
        Some(EncryptionChange::OwnKey(key)) => table.spread_encryption(|region| {
            let key = EncryptionKey { found_arn: None, ..key.clone() };
            Some(encryption_state(&key, &Namespace { region: Region::stored(region), ..own.clone() }))
        }),
    }
}

/// The service's response shows old values of capacity, and UPDATING for what changes.
fn answer(request: &UpdateTable, before: TableDescription, mut after: TableDescription) -> TableDescription {
    if shows_updating(request) {
        after.table_status = TableStatusName::Updating;
    }
    if request.billing.is_some() || request.throughput.is_some() {
        after.provisioned_throughput = before.provisioned_throughput;
        after.billing_mode_summary = before.billing_mode_summary;
    }
    if after.warm_throughput != before.warm_throughput {
        after.warm_throughput = before
            .warm_throughput
            .map(|warm| WarmThroughputDescription { status: TableStatusName::Updating, ..warm });
    }
    if request.encryption.is_some() {
        after.sse_description = Some(sse_while_updated(before.sse_description));
    }
    echo_removed(&mut after.on_demand_throughput, request.on_demand);
    let old = before.global_secondary_indexes.unwrap_or_default();
    for update in &request.index_updates {
        let IndexUpdate::Update { name, on_demand, .. } = update else { continue };
        let old = old.iter().find(|old| old.index_name == *name);
        let new = after.global_secondary_indexes.iter_mut().flatten().find(|new| new.index_name == *name);
        if let (Some(old), Some(new)) = (old, new) {
            show_changed_index(new, old, *on_demand);
        }
    }
    after
}

/// Whether the service reports the table as UPDATING after the request.
fn shows_updating(request: &UpdateTable) -> bool {
    let structural = request.index_updates.iter().any(|update| !matches!(update, IndexUpdate::Update { .. }));
    request.billing.is_some()
        || request.throughput.is_some()
        || structural
        || request.stream.is_some()
        || request.class.is_some()
}

/// One request against one table.
struct Update<'a> {
    request: &'a UpdateTable,
    namespace: &'a Namespace,
    now_ms: u64,
    transition_ms: u64,
    /// How long a raise of warm throughput takes.
    warm_ms: u64,
    moment: streams::Moment,
    /// Whether decreases and switches are limited.
    counts_changes: bool,
    /// Whether a table of that name has a stream of this label, or had one that is still kept.
    has_stream: &'a (dyn Fn(&str) -> bool + Sync),
}

fn invalid(text: impl std::fmt::Display) -> Error {
    Error::validation(messages::invalid(text))
}

fn over_limit(text: String) -> Error {
    Error::new(ErrorKind::LimitExceeded, text)
}

fn in_use(text: String) -> Error {
    Error::new(ErrorKind::ResourceInUse, text)
}

impl Update<'_> {
    /// Applies all changes, or refuses.
    fn apply(&self, table: &mut Table) -> Result<(), Error> {
        check_state(table)?;
        self.check_indexes(table)?;
        self.change_capacity(table)?;
        for update in &self.request.index_updates {
            self.change_index(table, update)?;
        }
        self.change_stream(table)?;
        self.change_rest(table)?;
        if shows_updating(self.request) && self.transition_ms > 0 {
            table.status = TableStatus::Updating;
            table.status_until_ms = self.now_ms.saturating_add(self.transition_ms);
        }
        Ok(())
    }

    /// Checks the names of indexes, and that at most one index is created or deleted at a time.
    fn check_indexes(&self, table: &Table) -> Result<(), Error> {
        let updates = &self.request.index_updates;
        let asked = updates.iter().filter(|update| !matches!(update, IndexUpdate::Update { .. })).count();
        let too_many = || Error::new(ErrorKind::LimitExceeded, messages::ONE_INDEX_CHANGE);
        if asked > 1 {
            return Err(too_many());
        }
        for update in updates {
            check_index_name(table, update)?;
        }
        let building = table.states.iter().filter(|state| state.backfill.is_some()).count();
        if asked > 0 && building + table.doomed_indexes.len() > 0 && !self.cancels_a_build(table) {
            return Err(too_many());
        }
        let creates = updates.iter().any(|update| matches!(update, IndexUpdate::Create(_)));
        if creates && table.bulk_put.is_some() {
            return Err(in_use(being_bulk_put(&table.name)));
        }
        let globals = table.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global).count();
        if creates && globals >= GLOBAL_INDEXES_MAX {
            return Err(Error::new(ErrorKind::LimitExceeded, messages::INDEX_LIMIT));
        }
        Ok(())
    }

    /// Deleting an index while it is built is allowed once its items are read (`doom_index`).
    fn cancels_a_build(&self, table: &Table) -> bool {
        table.doomed_indexes.is_empty()
            && self.request.index_updates.iter().all(|update| match update {
                IndexUpdate::Delete { name } => {
                    table.index(name).is_some_and(|(_, state)| state.backfill.is_some())
                }
                IndexUpdate::Create(_) | IndexUpdate::Update { .. } => false,
            })
    }

    fn change_capacity(&self, table: &mut Table) -> Result<(), Error> {
        match (self.request.billing, self.request.throughput) {
            (Some(BillingMode::PayPerRequest), _) => {
                if table.billing != BillingMode::PayPerRequest {
                    if self.counts_changes {
                        check_switch(table, self.now_ms)?;
                    }
                    self.make_on_demand(table);
                }
                Ok(())
            }
            (Some(BillingMode::Provisioned), Some(units)) if table.billing == BillingMode::PayPerRequest => {
                self.make_provisioned(table, units)
            }
            (_, Some(_)) if table.billing == BillingMode::PayPerRequest => {
                Err(invalid(messages::NO_UNITS_ON_DEMAND))
            }
            (_, Some(units)) => self.change_units(table, units),
            (_, None) => Ok(()),
        }
    }

    fn make_on_demand(&self, table: &mut Table) {
        table.billing = BillingMode::PayPerRequest;
        table.on_demand_since_ms = Some(self.now_ms);
        note_change(&mut table.mode_changes.to_on_demand_ms, self.now_ms, SWITCHES_COUNTED_MS);
        keep_warm(&mut table.warm, table.throughput);
        table.throughput = Throughput::default();
        for state in &mut table.states {
            keep_warm(&mut state.warm, state.throughput);
            state.throughput = Throughput::default();
        }
    }

    /// The request must have units for every global index.
    fn make_provisioned(&self, table: &mut Table, units: Units) -> Result<(), Error> {
        check_units(units, self.namespace).map_err(over_limit)?;
        let given = |name: &str| {
            self.request.index_updates.iter().any(|update| {
                matches!(update, IndexUpdate::Update { name: updated, throughput: Some(_), .. } if updated == name)
            })
        };
        let globals = table.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global);
        let missing: Vec<&str> =
            globals.map(|index| index.name.as_str()).filter(|name| !given(name)).collect();
        if !missing.is_empty() {
            return Err(invalid(messages::index_units_required_to_update(&missing.join(","))));
        }
        table.billing = BillingMode::Provisioned;
        table.on_demand = OnDemandLimits::default();
        table.states.iter_mut().for_each(|state| state.on_demand = OnDemandLimits::default());
        table.throughput = provisioned(units);
        Ok(())
    }

    fn change_units(&self, table: &mut Table, units: Units) -> Result<(), Error> {
        let current = (table.throughput.read_units, table.throughput.write_units);
        let requested = (units.read_units, units.write_units);
        let changes_indexes =
            self.request.index_updates.iter().any(|update| matches!(update, IndexUpdate::Update { .. }));
        if current == requested && !changes_indexes {
            return Err(Error::validation(messages::table_units_unchanged(UnitsChange {
                current,
                requested,
            })));
        }
        if let Some((index, _)) = table.indexes_with_states().find(|(_, state)| state.backfill.is_some()) {
            return Err(in_use(messages::units_while_index_created(&table.name, &index.name)));
        }
        check_units(units, self.namespace).map_err(over_limit)?;
        if current != requested {
            self.move_units(&mut table.throughput, &mut table.warm, units)?;
        }
        Ok(())
    }

    /// Changes provisioned units, unless a decrease comes too early. What was provisioned once stays warm.
    fn move_units(
        &self,
        throughput: &mut Throughput,
        warm: &mut Option<Warm>,
        units: Units,
    ) -> Result<(), Error> {
        if self.counts_changes {
            check_decrease(throughput, units, self.now_ms)?;
        }
        keep_warm(warm, *throughput);
        moved_units(throughput, units, self.now_ms);
        Ok(())
    }

    fn change_index(&self, table: &mut Table, update: &IndexUpdate) -> Result<(), Error> {
        match update {
            IndexUpdate::Create(index) => self.add_index(table, index),
            IndexUpdate::Delete { name } => doom_index(table, name),
            IndexUpdate::Update { name, throughput, on_demand, warm } => self.change_index_capacity(
                table,
                name,
                &IndexCapacity { units: *throughput, on_demand: *on_demand, warm: *warm },
            ),
        }
    }

    fn add_index(&self, table: &mut Table, index: &NewIndex) -> Result<(), Error> {
        let name = &index.schema.name;
        match (table.billing, index.throughput) {
            (BillingMode::PayPerRequest, Some(_)) => {
                return Err(invalid(messages::index_units_on_demand(name)));
            }
            (BillingMode::Provisioned, None) => return Err(invalid(messages::index_units_required(name))),
            (BillingMode::PayPerRequest, None) => {}
            (BillingMode::Provisioned, Some(units)) => {
                check_index_units(name, units, self.namespace).map_err(over_limit)?;
            }
        }
        check_index_ceilings(index, self.namespace).map_err(over_limit)?;
        let schema = index.schema.clone();
        check_types_kept(table, &schema.key)?;
        for attribute in schema.key.attributes() {
            if table.definitions.iter().all(|definition| definition.name != attribute.name) {
                table.definitions.push(attribute.clone());
            }
        }
        let indexes = table.schema.indexes.iter().chain([&schema]);
        keywright_semantics::request::create_table::check_projected_attributes(indexes)?;
        table.schema.indexes.push(schema);
        table.states.push(IndexState {
            id: IndexId(table.next_index_id),
            status: IndexStatus::Creating,
            backfill: Some(Backfill::Allocating),
            throughput: index.throughput.map(provisioned).unwrap_or_default(),
            on_demand: index.on_demand.map(on_demand_limits).unwrap_or_default(),
            warm: index.warm.map(|asked| warm_state(asked, index.throughput)),
        });
        assert_eq!(table.states.len(), table.schema.indexes.len(), "every index has a state");
        table.next_index_id += 1;
        Ok(())
    }

    fn change_index_capacity(
        &self,
        table: &mut Table,
        name: &str,
        asked: &IndexCapacity,
    ) -> Result<(), Error> {
        let billing = table.billing;
        let table_name = table.name.clone();
        let becomes_provisioned = self.request.billing == Some(BillingMode::Provisioned);
        let Some(state) = table.index_place(name).and_then(|place| table.states.get_mut(place)) else {
            return Ok(());
        };
        if state.status != IndexStatus::Active {
            return Err(in_use(messages::index_being("updated", &table_name, name)));
        }
        match (billing, asked.units) {
            (BillingMode::PayPerRequest, Some(_)) => {
                return Err(invalid(messages::index_units_on_demand_to_update(name)));
            }
            (BillingMode::PayPerRequest, None) if asked.is_empty() => {
                return Err(invalid(messages::nothing_to_update_in_index(name)));
            }
            (_, Some(units)) => {
                check_index_units(name, units, self.namespace).map_err(over_limit)?;
                let current = (state.throughput.read_units, state.throughput.write_units);
                let requested = (units.read_units, units.write_units);
                if current == requested && !becomes_provisioned {
                    let change = UnitsChange { current, requested };
                    return Err(Error::validation(messages::index_units_unchanged(name, change)));
                }
                self.move_units(&mut state.throughput, &mut state.warm, units)?;
            }
            (_, None) => {}
        }
        if let Some(limits) = asked.on_demand {
            if let (BillingMode::Provisioned, Some((_, member))) = (billing, limits.named().next()) {
                return Err(invalid(messages::index_on_demand_on_provisioned(member, name)));
            }
            check_ceilings(limits, &format!("index : {name}"), self.namespace).map_err(over_limit)?;
            state.on_demand.change(limits);
        }
        if let Some(warm) = asked.warm {
            let place = format!("index {name}");
            check_warm(warm, &place, self.namespace).map_err(over_limit)?;
            let floor = match billing {
                BillingMode::PayPerRequest => INITIAL_ON_DEMAND,
                BillingMode::Provisioned => Warm {
                    read_units: state.throughput.read_units,
                    write_units: state.throughput.write_units,
                },
            };
            let current = state.warm.unwrap_or(floor);
            let wanted = warmer(current, warm, &place)?;
            let id = state.id;
            self.raise_warm(table, Some(id), (current, wanted));
        }
        Ok(())
    }

    /// Begins a raise of warm throughput; a later one takes its place. The present units are there at once.
    fn raise_warm(&self, table: &mut Table, index: Option<IndexId>, (current, wanted): (Warm, Warm)) {
        table.warm_jobs.retain(|job| job.index != index);
        let warm_ms = if wanted == current { 0 } else { self.warm_ms };
        let done_ms = self.now_ms.saturating_add(warm_ms);
        table.warm_jobs.push(WarmJob { index, wanted, done_ms });
        table.end_warm_jobs(self.now_ms);
    }

    fn change_stream(&self, table: &mut Table) -> Result<(), Error> {
        match (self.request.stream, table.stream.view) {
            (None, _) => Ok(()),
            (Some(StreamChange::Enable(_)), Some(_)) => {
                Err(Error::validation(messages::stream_already_enabled(&table.name)))
            }
            (Some(StreamChange::Enable(view)), None) => {
                if streams::are_too_many(table, self.moment) {
                    let text = messages::too_many_streams(&table.name);
                    return Err(Error::new(ErrorKind::LimitExceeded, text));
                }
                streams::enable(table, self.has_stream, view, self.moment);
                Ok(())
            }
            (Some(StreamChange::Disable), Some(_)) => {
                streams::disable(table, self.moment);
                Ok(())
            }
            (Some(StreamChange::Disable), None) => {
                Err(Error::validation(messages::no_stream_to_disable(&table.name)))
            }
        }
    }

    /// The present key is refused by its ARN alone: by its id or an alias, or as that which the service
    /// manages, it counts as a change (observed).
    fn change_encryption(&self, table: &mut Table, change: &EncryptionChange) -> Result<(), Error> {
        let wanted = match change {
            EncryptionChange::OwnKey(key) => Some(encryption_state(key, self.namespace)),
            EncryptionChange::ServiceKey => None,
        };
        if table.key_change.as_ref().is_some_and(|change| self.now_ms < change.until_ms) {
            // The same request once more is accepted meanwhile (observed).
            let is_same = table.encryption == wanted;
            return if is_same { Ok(()) } else { Err(in_use(messages::encryption_being_updated())) };
        }
        match (change, &table.encryption) {
            (EncryptionChange::OwnKey(key), Some(present))
                if key.key_id.as_ref() == Some(&present.key_arn) =>
            {
                return Err(invalid(messages::ALREADY_ENCRYPTED_WITH_KEY));
            }
            (EncryptionChange::ServiceKey, None) => return Err(invalid(messages::ALREADY_ENCRYPTED)),
            (EncryptionChange::OwnKey(_) | EncryptionChange::ServiceKey, _) => {}
        }
        let before = std::mem::replace(&mut table.encryption, wanted);
        let until_ms = self.now_ms.saturating_add(self.transition_ms);
        let change = KeyChange { began_ms: self.now_ms, until_ms, before };
        table.key_change = (self.transition_ms > 0).then_some(change);
        Ok(())
    }

    fn change_rest(&self, table: &mut Table) -> Result<(), Error> {
        if let Some(class) = self.request.class {
            let current = table.class.map_or(TableClass::Standard, |state| state.class);
            if class != current {
                if self.counts_changes {
                    check_class_change(table, self.now_ms)?;
                }
                note_change(&mut table.mode_changes.class_ms, self.now_ms, CLASS_COUNTED_MS);
                table.class = Some(ClassState { class, changed_ms: Some(self.now_ms) });
            }
        }
        if let Some(change) = &self.request.encryption {
            self.change_encryption(table, change)?;
        }
        if let Some(protection) =
            self.request.deletion_protection.filter(|asked| *asked != table.deletion_protection)
        {
            table.deletion_protection = protection;
            table.deletion_protection_changed_ms = Some(self.now_ms);
        }
        if let Some(mode) = self.request.settings_replication {
            table.replicates_settings = mode;
        }
        self.change_ceilings(table)
    }

    fn change_ceilings(&self, table: &mut Table) -> Result<(), Error> {
        if let Some(limits) = self.request.on_demand {
            if table.billing == BillingMode::Provisioned {
                let name = limits.named().next().map_or("MaxReadRequestUnits", |(_, name)| name);
                return Err(invalid(messages::on_demand_on_provisioned(name)));
            }
            check_ceilings(limits, "table", self.namespace).map_err(over_limit)?;
            table.on_demand.change(limits);
        }
        if let Some(asked) = self.request.warm {
            let floor = match table.billing {
                BillingMode::PayPerRequest => INITIAL_ON_DEMAND,
                BillingMode::Provisioned => Warm {
                    read_units: table.throughput.read_units,
                    write_units: table.throughput.write_units,
                },
            };
            check_warm(asked, "table", self.namespace).map_err(over_limit)?;
            let current = table.warm.unwrap_or(floor);
            let wanted = warmer(current, asked, "table")?;
            self.raise_warm(table, None, (current, wanted));
        }
        Ok(())
    }
}

/// The capacity that an index update asks for.
struct IndexCapacity {
    units: Option<Units>,
    on_demand: Option<OnDemandThroughput>,
    warm: Option<WarmThroughput>,
}

impl IndexCapacity {
    fn is_empty(&self) -> bool {
        let no_ceiling = self
            .on_demand
            .is_none_or(|limits| limits.read_units_max.is_none() && limits.write_units_max.is_none());
        no_ceiling && self.warm.is_none()
    }
}

/// An index whose capacity changes is shown with its old values, except for ceilings, which change at once.
fn show_changed_index(
    shown: &mut GlobalSecondaryIndexDescription,
    old: &GlobalSecondaryIndexDescription,
    asked: Option<OnDemandThroughput>,
) {
    let mut on_demand_throughput = shown.on_demand_throughput;
    echo_removed(&mut on_demand_throughput, asked);
    *shown = GlobalSecondaryIndexDescription {
        index_status: IndexStatusName::Updating,
        on_demand_throughput,
        warm_throughput: None,
        ..old.clone()
    };
}

/// Observed: the response to the request that removes a ceiling shows it as -1; later ones leave it out.
fn echo_removed(described: &mut Option<OnDemandThroughputDescription>, asked: Option<OnDemandThroughput>) {
    let Some(removed) = asked.map(OnDemandThroughput::removed) else { return };
    if removed.named().next().is_some() {
        let shown = described.get_or_insert_default();
        shown.max_read_request_units = removed.read_units_max.or(shown.max_read_request_units);
        shown.max_write_request_units = removed.write_units_max.or(shown.max_write_request_units);
    }
}

fn check_state(table: &Table) -> Result<(), Error> {
    match table.status {
        TableStatus::Active => Ok(()),
        TableStatus::Creating => Err(in_use(messages::being_created(&table.name))),
        TableStatus::Updating => Err(in_use(messages::being_updated(&table.name))),
        TableStatus::Deleting => Err(in_use(messages::being_deleted(&table.name))),
    }
}

fn check_index_name(table: &Table, update: &IndexUpdate) -> Result<(), Error> {
    let name = update.name();
    let doomed = table.doomed_indexes.iter().any(|index| index.schema.name == name);
    let found = table.index(name).map(|(schema, _)| schema.kind);
    let verb = match update {
        IndexUpdate::Create(_) if found.is_some() || doomed => {
            return Err(Error::validation(messages::INDEX_EXISTS));
        }
        IndexUpdate::Create(_) => return Ok(()),
        IndexUpdate::Update { .. } => "update",
        IndexUpdate::Delete { .. } => "delete",
    };
    match found {
        Some(IndexKind::Global) => Ok(()),
        Some(IndexKind::Local) => Err(Error::validation(messages::not_a_global_index(verb, name))),
        None if doomed => Err(in_use(messages::index_being("deleted", &table.name, name))),
        None => Err(Error::new(ErrorKind::ResourceNotFound, messages::index_not_found(name, &table.name))),
    }
}

/// Hides an index. Its entries are purged in the background; attribute definitions that no other key uses are
/// removed.
fn doom_index(table: &mut Table, name: &str) -> Result<(), Error> {
    let Some(place) = table.index_place(name) else { return Ok(()) };
    if table.states.get(place).is_some_and(|state| state.backfill == Some(Backfill::Allocating)) {
        return Err(in_use(messages::index_in_allocation(&table.name, name)));
    }
    let schema = table.schema.indexes.remove(place);
    let mut state = table.states.remove(place);
    table.warm_jobs.retain(|job| job.index != Some(state.id));
    state.status = IndexStatus::Deleting;
    state.backfill = None;
    table.doomed_indexes.push(DoomedIndex { schema, state });
    let used = |name: &str| {
        table.schema.key.contains(name) || table.schema.indexes.iter().any(|index| index.key.contains(name))
    };
    let kept = table.definitions.iter().filter(|definition| used(&definition.name)).cloned().collect();
    table.definitions = kept;
    Ok(())
}

/// An attribute that is already a key has the same type in a new one.
fn check_types_kept(table: &Table, new: &KeySchema) -> Result<(), Error> {
    let differs = |known: &KeyAttribute| {
        new.attributes().any(|asked| asked.name == known.name && asked.key_type != known.key_type)
    };
    let keys = std::iter::once(&table.schema.key).chain(table.schema.indexes.iter().map(|index| &index.key));
    match keys.into_iter().find(|key| key.attributes().any(differs)) {
        Some(existing) => Err(invalid(messages::attributes_redefined(existing, new))),
        None => Ok(()),
    }
}

fn moved_units(throughput: &mut Throughput, units: Units, now_ms: u64) {
    if units.read_units > throughput.read_units || units.write_units > throughput.write_units {
        throughput.last_increase_ms = Some(now_ms);
    }
    if units.read_units < throughput.read_units || units.write_units < throughput.write_units {
        throughput.decreases_today = throughput.decreases_on(now_ms) + 1;
        throughput.last_decrease_ms = Some(now_ms);
    }
    throughput.read_units = units.read_units;
    throughput.write_units = units.write_units;
}

/// Warm throughput can only be raised.
fn warmer(current: Warm, asked: WarmThroughput, place: &str) -> Result<Warm, Error> {
    let wanted = Warm {
        read_units: asked.read_units.unwrap_or(current.read_units),
        write_units: asked.write_units.unwrap_or(current.write_units),
    };
    for (wanted, current, name) in [
        (wanted.read_units, current.read_units, "ReadUnitsPerSecond"),
        (wanted.write_units, current.write_units, "WriteUnitsPerSecond"),
    ] {
        if wanted < current {
            return Err(invalid(messages::warm_below_current(name, place)));
        }
    }
    Ok(wanted)
}
