//! UpdateTable that changes what replicas set differently from their group.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::request::{ReplicaIndexSettings, ReplicaSettings, Throughput as Units};
use keywright_semantics::response::{TableDescription, TableStatus as TableStatusName};
use keywright_semantics::schema::{BillingMode, TableClass};
use keywright_store::Store;

use super::there::answered;
use super::{check_region, member_in};
use crate::catalogue::{
    ClassOverride, IndexOverrides, MemberStatus, OtherRows, Overrides, RemoteMember, Table, TableStatus,
    Values, note_change, owner, read_settings, set_overrides, stored_settings,
};
use crate::replication::peers::{
    Answer, Message, ask, change_remote, ends, values_here, with_values_of_group,
};
use crate::state::Engine;
use crate::streams;
use crate::support::env::{Namespace, Region};
use crate::support::fault;
use crate::tables::capacity_changes::{CLASS_COUNTED_MS, check_class_change};
use crate::tables::create::{check_index_units, check_units};
use crate::tables::describe::{View, describe};
use crate::tables::group::{begin_update, change_group, check_group_settled, in_use};

/// Changes overrides of replicas. The response shows them as they will be.
pub(super) async fn update<S: Store>(
    engine: &Engine<S>,
    (found, asked): (&Arc<Table>, &[ReplicaSettings]),
) -> Result<TableDescription, Error> {
    for settings in asked {
        check_region(found, &settings.region)?;
    }
    if found.is_joining() {
        return Err(Error::validation(messages::being_added(&found.name, &found.region)));
    }
    for settings in asked {
        check(found, settings)?;
    }
    let is_there = |settings: &&ReplicaSettings| found.remote_in(&settings.region).is_some();
    let (there, here): (Vec<_>, Vec<_>) = asked.iter().partition(is_there);
    if !there.is_empty() {
        check_group_settled(found)?;
    }
    for settings in there {
        override_there(engine, found, settings).await?;
    }
    let asked: Vec<ReplicaSettings> = here.into_iter().cloned().collect();
    let asked = asked.as_slice();
    let moment = streams::Moment::now(engine).await?;
    let counts_changes = engine.is_limited(found);
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        check_states(tables, asked)?;
        for settings in asked {
            apply(tables, settings, (moment, counts_changes))?;
        }
        begin_updates(tables, asked, moment);
        Ok(())
    };
    let (tables, ()) = change_group(engine, found, change).await?;
    for table in &tables {
        engine.shipping().note(table.id);
    }
    let own = tables.first().unwrap_or(found);
    let mut description = describe(own, View::of(engine));
    description.table_status = TableStatusName::Updating;
    Ok(description)
}

/// Has the server of a replica change its overrides.
async fn override_there<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    settings: &ReplicaSettings,
) -> Result<(), Error> {
    let Some(member) = found.remote_in(&settings.region) else { return Err(fault::internal()) };
    let values = values_here(engine, found);
    let overrides = merged(member.overrides.clone(), &values, settings);
    let record = stored_settings(&with_values_of_group(engine, found));
    let message = Message::Override { ends: ends(found, member)?, overrides: overrides.clone(), record };
    match answered(&member.region, ask(engine, &member.region, &message).await)? {
        Answer::Done => {
            let change = |member: &mut RemoteMember| member.overrides = overrides.clone();
            change_remote(engine, found, &member.public_id, change).await
        }
        _ => Err(in_use(messages::REPLICA_CHANGES.to_owned())),
    }
}

/// Sets what a table here sets differently from its group, as another server's client wants it. The record
/// has the group's values.
pub(crate) async fn take_overrides<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    (overrides, record): (&Overrides, &[u8]),
) -> Result<(), Error> {
    let theirs = read_settings(record).map_err(|_fault| Error::validation(messages::UNKNOWN_SETTINGS))?;
    let values = Values::of_group(std::slice::from_ref(&theirs)).with(overrides);
    let moment = streams::Moment::now(engine).await?;
    let counts_changes = engine.is_limited(found);
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        check_states(tables, &[])?;
        let table = tables.first_mut().ok_or_else(fault::internal)?;
        let present = table.class.map_or(TableClass::Standard, |state| state.class);
        if values.class() != present {
            count_class_change(table, counts_changes, moment)?;
        }
        values.put_into(table);
        begin_update(table, moment);
        let id = table.id;
        set_overrides(tables, id, overrides);
        Ok(())
    };
    let (tables, ()) = change_group(engine, found, change).await?;
    for table in &tables {
        engine.shipping().note(table.id);
    }
    Ok(())
}

/// Counts a change of a table's class, or refuses it after too many.
fn count_class_change(table: &mut Table, counts_changes: bool, moment: streams::Moment) -> Result<(), Error> {
    if counts_changes && check_class_change(table, moment.now_ms()).is_err() {
        let text = messages::too_many_class_changes(&table.region);
        return Err(Error::new(ErrorKind::LimitExceeded, text));
    }
    note_change(&mut table.mode_changes.class_ms, moment.now_ms(), CLASS_COUNTED_MS);
    Ok(())
}

/// Sets the read units of a replica and of no other, as its policy wants them.
pub(crate) async fn scale_reads<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    (index, read_units): (Option<&str>, u64),
) -> Result<(), Error> {
    let mut settings = ReplicaSettings { region: found.region.clone(), ..ReplicaSettings::default() };
    match index {
        None => settings.read_units = Some(read_units),
        Some(name) => settings.indexes.push(ReplicaIndexSettings {
            name: name.to_owned(),
            read_units: Some(read_units),
            read_units_max: None,
        }),
    }
    let moment = streams::Moment::now(engine).await?;
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        check_states(tables, &[])?;
        apply(tables, &settings, (moment, false))?;
        begin_update(tables.first_mut().ok_or_else(fault::internal)?, moment);
        Ok(())
    };
    change_group(engine, found, change).await.map(drop)
}

/// The read units that a table's group has where no replica overrides them.
pub(crate) fn shared_reads<S: Store>(engine: &Engine<S>, found: &Table, index: Option<&str>) -> u64 {
    let values = values_here(engine, found);
    match index {
        None => values.read_units,
        Some(name) => values.indexes.get(name).map_or(0, |index| index.read_units),
    }
}

/// Checks a change against the table's members and its billing.
fn check(table: &Table, settings: &ReplicaSettings) -> Result<(), Error> {
    if table.remote_in(&settings.region).is_none() {
        member_in(table, &settings.region)?;
    }
    if settings.is_empty() {
        return Err(Error::validation(messages::NO_REPLICA_ACTION));
    }
    let has_units =
        settings.read_units.is_some() || settings.indexes.iter().any(|index| index.read_units.is_some());
    if has_units && table.billing == BillingMode::PayPerRequest {
        return Err(Error::validation(table_messages::NO_UNITS_ON_DEMAND));
    }
    let has_ceilings = settings.read_units_max.is_some()
        || settings.indexes.iter().any(|index| index.read_units_max.is_some());
    if has_ceilings && table.billing == BillingMode::Provisioned {
        return Err(Error::validation(table_messages::on_demand_on_provisioned("MaxReadRequestUnits")));
    }
    if settings.key_id.is_some() {
        return Err(Error::validation(table_messages::invalid(messages::KEY_OF_EACH_REPLICA)));
    }
    for index in &settings.indexes {
        if table.index(&index.name).is_none() {
            let text = table_messages::index_not_found(&index.name, &table.name);
            return Err(Error::new(ErrorKind::ResourceNotFound, text));
        }
    }
    check_units_of(&Namespace { region: Region::stored(&settings.region), ..owner(table) }, settings)
}

/// Checks a replica's own read units against the limits of a table and of an index.
pub(super) fn check_units_of(target: &Namespace, settings: &ReplicaSettings) -> Result<(), Error> {
    let over = |text: String| Error::new(ErrorKind::LimitExceeded, text);
    let units = |read_units: Option<u64>| Units { read_units: read_units.unwrap_or(0), write_units: 0 };
    check_units(units(settings.read_units), target).map_err(over)?;
    for index in &settings.indexes {
        check_index_units(&index.name, units(index.read_units), target).map_err(over)?;
    }
    Ok(())
}

/// Checks that the table and the replicas to be changed are not changing.
fn check_states(tables: &[Table], asked: &[ReplicaSettings]) -> Result<(), Error> {
    let Some((own, others)) = tables.split_first() else { return Err(fault::internal()) };
    check_group_settled(own)?;
    let is_asked = |table: &&Table| asked.iter().any(|settings| settings.region == table.region);
    let concerned = others.iter().filter(is_asked).chain([own]);
    match concerned.into_iter().find(|table| table.status != TableStatus::Active) {
        Some(_) => Err(in_use(messages::REPLICA_CHANGES.to_owned())),
        None => Ok(()),
    }
}

/// Applies one change to the records of the group.
fn apply(
    tables: &mut [Table],
    settings: &ReplicaSettings,
    (moment, counts_changes): (streams::Moment, bool),
) -> Result<(), Error> {
    let values = Values::of_group(tables);
    let id = member_in(tables.first().ok_or_else(fault::internal)?, &settings.region)?;
    let table = tables.iter_mut().find(|table| table.id == id).ok_or_else(fault::internal)?;
    let before = table.as_member().map(|member| member.overrides.clone()).unwrap_or_default();
    let present = values.with(&before).class();
    if settings.class.is_some_and(|class| class != present) {
        count_class_change(table, counts_changes, moment)?;
    }
    let overrides = merged(before, &values, settings);
    values.with(&overrides).put_into(table);
    set_overrides(tables, id, &overrides);
    Ok(())
}

/// The table and the changed replicas are UPDATING for the transition.
fn begin_updates(tables: &mut [Table], asked: &[ReplicaSettings], moment: streams::Moment) {
    if moment.settled_ms() <= moment.now_ms() {
        return;
    }
    let is_asked = |region: &str| asked.iter().any(|settings| settings.region == region);
    for (place, table) in tables.iter_mut().enumerate() {
        if place == 0 || is_asked(&table.region) {
            begin_update(table, moment);
        }
        let members = table.replication.iter_mut().flat_map(|group| &mut group.members);
        for member in members.filter(|member| is_asked(&member.region)) {
            member.status = MemberStatus::Updating;
            member.until_ms = moment.settled_ms();
        }
    }
}

/// The overrides of a new replica. Those that its source's billing or indexes do not allow have no effect
/// (observed: they are accepted).
pub(super) fn asked_overrides(source: &Table, values: &Values, settings: &ReplicaSettings) -> Overrides {
    let on_demand = source.billing == BillingMode::PayPerRequest;
    let mut allowed = settings.clone();
    allowed.read_units = allowed.read_units.filter(|_| !on_demand);
    allowed.read_units_max = allowed.read_units_max.filter(|_| on_demand);
    allowed.indexes.retain(|index| source.index(&index.name).is_some());
    for index in &mut allowed.indexes {
        index.read_units = index.read_units.filter(|_| !on_demand);
        index.read_units_max = index.read_units_max.filter(|_| on_demand);
    }
    merged(Overrides::default(), values, &allowed)
}

/// Overrides after a change. What equals the group's value is no override any more (observed), and neither is
/// a ceiling that is removed. What the request does not name stays.
fn merged(mut overrides: Overrides, values: &Values, settings: &ReplicaSettings) -> Overrides {
    if let Some(units) = settings.read_units {
        overrides.read_units = Some(units).filter(|units| *units != values.read_units);
    }
    if let Some(ceiling) = settings.read_units_max {
        overrides.read_units_max = own_ceiling(ceiling, values.read_units_max);
    }
    if let Some(class) = settings.class {
        overrides.class = (class != values.class()).then_some(ClassOverride { class });
    }
    for index in &settings.indexes {
        let group = values.indexes.get(&index.name).copied().unwrap_or_default();
        let mut own = overrides.indexes.remove(&index.name).unwrap_or_default();
        if let Some(units) = index.read_units {
            own.read_units = Some(units).filter(|units| *units != group.read_units);
        }
        if let Some(ceiling) = index.read_units_max {
            own.read_units_max = own_ceiling(ceiling, group.read_units_max);
        }
        if own != IndexOverrides::default() {
            overrides.indexes.insert(index.name.clone(), own);
        }
    }
    let is_empty = |own: &IndexOverrides| *own == IndexOverrides::default();
    assert!(!overrides.indexes.values().any(is_empty), "an index without overrides is not listed");
    overrides
}

/// The overrides of a new replica of a group with the values of this table.
pub(super) fn overrides_of(source: &Table, settings: &ReplicaSettings) -> Overrides {
    asked_overrides(source, &Values::of_group(std::slice::from_ref(source)), settings)
}

fn own_ceiling(asked: i64, group: Option<i64>) -> Option<i64> {
    Some(asked).filter(|asked| *asked > 0 && Some(*asked) != group)
}
