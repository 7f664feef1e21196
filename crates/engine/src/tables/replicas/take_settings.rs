//! Settings that all members of a group share, as another server has changed them: the billing mode, units
//! and ceilings of writes, global indexes, time to live.
//!
//! They were checked where a client changed them, so limits on the frequency of changes do not hold here.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_semantics::request::create_table::NewIndex;
use keywright_semantics::request::{IndexUpdate, TableRef, Throughput as Units, UpdateTable};
use keywright_semantics::schema::{BillingMode, IndexKind};
use keywright_store::Store;

use super::ScaledWrites;
use crate::catalogue::{
    CAPACITY, INDEX, Lifted, OtherRows, TIME_TO_LIVE, Table, Throughput, owner, read_settings,
};
use crate::state::Engine;
use crate::tables::group::change_group;
use crate::tables::update;
use crate::ttl;

/// Takes the settings of these names as a record of another server has them; false if it is to be asked
/// again. One that was changed here too, since the servers agreed, is taken if `wins`.
pub(crate) async fn take<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    (names, record): (&[String], &[u8]),
    wins: bool,
) -> Result<bool, Error> {
    let unknown = |_fault| Error::validation(messages::UNKNOWN_SETTINGS);
    let theirs = read_settings(record).map_err(unknown)?;
    let (own, wanted) = (found.shared_settings(), theirs.shared_settings());
    let changed_here = found.unshared_settings(&theirs.region);
    let is_taken =
        |name: &&String| own.get(*name) != wanted.get(*name) && (wins || !changed_here.contains(name));
    let mut is_whole = true;
    for name in names.iter().filter(is_taken) {
        match name.as_str() {
            CAPACITY => take_capacity(engine, found, &theirs).await?,
            TIME_TO_LIVE => take_time_to_live(engine, found, &theirs).await?,
            other => match other.strip_prefix(INDEX) {
                Some(index) => is_whole &= take_index(engine, found, &theirs, index).await?,
                None => return Err(Error::validation(messages::UNKNOWN_SETTINGS)),
            },
        }
    }
    Ok(is_whole)
}

async fn take_capacity<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    theirs: &Table,
) -> Result<(), Error> {
    let now_ms = engine.env().now_ms();
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        let lifted = Lifted::lift(tables);
        for table in tables.iter_mut() {
            let is_switch = table.billing != theirs.billing;
            if is_switch && theirs.billing == BillingMode::PayPerRequest {
                table.on_demand_since_ms = Some(now_ms);
            }
            table.billing = theirs.billing;
            table.on_demand.write_units_max = theirs.on_demand.write_units_max;
            take_units(&mut table.throughput, theirs.throughput, is_switch);
            let names: Vec<String> = table.schema.indexes.iter().map(|index| index.name.clone()).collect();
            for (name, state) in names.iter().zip(&mut table.states) {
                let Some((_, of_index)) = theirs.index(name) else { continue };
                state.on_demand.write_units_max = of_index.on_demand.write_units_max;
                take_units(&mut state.throughput, of_index.throughput, is_switch);
            }
        }
        lifted.lay(tables);
        assert!(tables.iter().all(|table| table.billing == theirs.billing), "one mode for all");
        Ok(())
    };
    change_group(engine, found, change).await.map(drop)
}

/// Read units are each member's own, except where another billing mode sets them anew.
const fn take_units(own: &mut Throughput, theirs: Throughput, is_switch: bool) {
    own.write_units = theirs.write_units;
    if is_switch {
        own.read_units = theirs.read_units;
    }
}

async fn take_time_to_live<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    theirs: &Table,
) -> Result<(), Error> {
    let now_ms = engine.env().now_ms();
    let settled_ms = now_ms.saturating_add(engine.config().transition_ms);
    let wanted = theirs.ttl.enabled().map(|(_, attribute)| attribute);
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        for table in tables {
            if table.ttl.enabled().map(|(_, attribute)| attribute) == wanted {
                continue;
            }
            table.ttl.disable(now_ms, settled_ms);
            if let Some(attribute) = wanted {
                table.ttl.enable(attribute, now_ms, settled_ms);
            }
        }
        Ok(())
    };
    let (tables, ()) = change_group(engine, found, change).await?;
    for table in &tables {
        if let Some((generation, attribute)) = table.ttl.enabled() {
            // A later step fills the others, and tries again after a fault.
            let _ = ttl::fill(engine, table, generation, attribute).await;
        }
    }
    Ok(())
}

/// Makes or deletes an index, by the rules of UpdateTable; false while another one is made or deleted.
async fn take_index<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    theirs: &Table,
    name: &str,
) -> Result<bool, Error> {
    let (own, wanted) = (found.index(name), theirs.index(name));
    let update = match (own, wanted) {
        (None, Some((schema, state))) if schema.kind == IndexKind::Global => {
            let Throughput { read_units, write_units, .. } = state.throughput;
            let units = Units { read_units, write_units };
            IndexUpdate::Create(NewIndex {
                schema: schema.clone(),
                throughput: (theirs.billing == BillingMode::Provisioned).then_some(units),
                on_demand: None,
                warm: None,
            })
        }
        // It is another one of the name: the old one goes first.
        (Some(_), _) => IndexUpdate::Delete { name: name.to_owned() },
        _ => return Ok(true),
    };
    let is_replaced = own.is_some() && wanted.is_some();
    let request = UpdateTable {
        table: TableRef::named(found.name.clone()),
        definitions: theirs.definitions.clone(),
        billing: None,
        throughput: None,
        index_updates: vec![update],
        stream: None,
        encryption: None,
        class: None,
        deletion_protection: None,
        on_demand: None,
        warm: None,
        disassociation_protection: None,
        replicas: None,
        settings_replication: None,
    };
    let namespace = owner(found);
    let updated = Box::pin(update::run(engine, &namespace, (&request, &ScaledWrites::default()))).await;
    Ok(updated.is_ok() && !is_replaced)
}
