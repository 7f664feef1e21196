//! UpdateTimeToLive and DescribeTimeToLive.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::TTL_CHANGE_INTERVAL_MS;
use keywright_semantics::messages::{global, ttl as messages};
use keywright_semantics::request::{DescribeTimeToLive, TtlChange, UpdateTimeToLive};
use keywright_semantics::response::{
    Response, TimeToLiveDescription, TimeToLiveSpecification, TimeToLiveStatus,
};
use keywright_store::Store;

use super::group::{change_group, check_nothing_joins};
use crate::catalogue::{OtherRows, Table, TableStatus};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::ttl;

pub(crate) async fn update<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UpdateTimeToLive,
) -> Result<Response, Error> {
    let found = engine.catalogue().lookup_settled(namespace, &request.table)?;
    let now_ms = engine.env().now_ms();
    let settled_ms = now_ms.saturating_add(engine.config().transition_ms);
    // Replicas have the setting of their group.
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        tables.first().map_or(Ok(()), check_nothing_joins)?;
        for table in tables {
            check(table, request, now_ms)?;
            match request.change {
                TtlChange::Enable => table.ttl.enable(&request.attribute, now_ms, settled_ms),
                TtlChange::Disable => table.ttl.disable(now_ms, settled_ms),
            }
        }
        Ok(())
    };
    let (tables, ()) = change_group(engine, &found, change).await?;
    for table in &tables {
        if let Some((generation, attribute)) = table.ttl.enabled() {
            // A small table has its rows at once and becomes ENABLED, as at the service. A later step fills
            // the others, and tries again after a fault.
            let _ = ttl::fill(engine, table, generation, attribute).await;
        }
    }
    Ok(Response::UpdateTimeToLive(TimeToLiveSpecification {
        enabled: request.change == TtlChange::Enable,
        attribute_name: request.attribute.clone(),
    }))
}

/// Faults of the change itself are reported before the limit on its frequency.
fn check(table: &Table, request: &UpdateTimeToLive, now_ms: u64) -> Result<(), Error> {
    if table.strong.is_some() {
        return Err(Error::validation(global::STRONG_WITHOUT_TTL));
    }
    // A table that is being deleted accepts the change (observed).
    if table.status == TableStatus::Creating {
        return Err(Error::new(ErrorKind::ResourceInUse, messages::being_created(&table.name)));
    }
    match (request.change, table.ttl.enabled()) {
        (_, Some((_, current))) if current != request.attribute => {
            return Err(Error::validation(messages::other_attribute(current)));
        }
        (TtlChange::Enable, Some(_)) => return Err(Error::validation(messages::ALREADY_ENABLED)),
        (TtlChange::Disable, None) => return Err(Error::validation(messages::ALREADY_DISABLED)),
        (TtlChange::Enable, None) | (TtlChange::Disable, Some(_)) => {}
    }
    let next_ms = table.ttl.changed_ms.map(|changed| changed.saturating_add(TTL_CHANGE_INTERVAL_MS));
    if next_ms.is_some_and(|next| now_ms < next) {
        return Err(Error::validation(messages::CHANGED_TOO_OFTEN));
    }
    Ok(())
}

pub(crate) fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeTimeToLive,
) -> Result<Response, Error> {
    let table = engine.catalogue().lookup_settled(namespace, &request.table)?;
    match table.status {
        TableStatus::Creating => return Err(Error::validation(messages::not_describable("CREATING"))),
        TableStatus::Deleting => return Err(Error::validation(messages::not_describable("DELETING"))),
        TableStatus::Active | TableStatus::Updating => {}
    }
    let ttl = &table.ttl;
    let is_settled = ttl.settled_ms <= engine.env().now_ms() && !ttl.filling;
    let (status, attribute) = match (ttl.enabled(), is_settled) {
        (Some((_, attribute)), true) => (TimeToLiveStatus::Enabled, Some(attribute)),
        (Some((_, attribute)), false) => (TimeToLiveStatus::Enabling, Some(attribute)),
        (None, true) => (TimeToLiveStatus::Disabled, None),
        (None, false) => (TimeToLiveStatus::Disabling, ttl.attribute.as_deref()),
    };
    let attribute_name = attribute.map(str::to_owned);
    Ok(Response::DescribeTimeToLive(TimeToLiveDescription { status, attribute_name }))
}
