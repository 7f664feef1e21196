//! The sweep: finds expired items by their expiry rows and deletes them through the write core, a bounded
//! number in each step.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Snapshot, Store, Transaction};

use super::due_rows::{Row, rows_from, start_of};
use super::fill::fill;
use super::replicas;
use crate::bind::expiry::{Due, EpochSeconds, expiry};
use crate::bind::key::bind_item_key;
use crate::catalogue::{Begun, Table, TableGuard, TtlGeneration};
use crate::state::Engine;
use crate::support::fault;
use crate::support::wake::NextWake;
use crate::write::change::{Action, Effect, Outcome};
use crate::write::group::{GroupEnd, GroupKind, run};

/// Items of one commit.
const GROUP_ITEMS_MAX: usize = 25;

/// Does one step for a table: fills missing expiry rows, or deletes items that are due.
pub(crate) async fn maintain<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let Some((generation, attribute)) = table.ttl.enabled().filter(|_| table.takes_data()) else {
        return Ok(NextWake::default());
    };
    let at_once = NextWake { at_ms: Some(now_ms) };
    if table.ttl.filling {
        fill(engine, table, generation, attribute).await?;
        return Ok(at_once);
    }
    let delay_ms = engine.config().ttl_delay_ms;
    let next_expiry = engine.next_expiry();
    let scan_ms = next_expiry.next_scan_ms(table.id, generation, delay_ms);
    if now_ms < scan_ms {
        return Ok(NextWake { at_ms: Some(scan_ms) });
    }
    next_expiry.begin_scan(table.id, generation, now_ms);
    let swept = sweep(engine, table, (generation, attribute), now_ms).await;
    if !matches!(swept, Ok(Swept::All)) {
        next_expiry.forget(table.id);
    }
    swept.map(|swept| match swept {
        Swept::Some => at_once,
        Swept::All => NextWake { at_ms: Some(next_expiry.next_scan_ms(table.id, generation, delay_ms)) },
    })
}

/// Whether due items are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swept {
    Some,
    All,
}

/// Deletes some of the items that are due, and notes when the next one is due.
async fn sweep<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    (generation, attribute): (TtlGeneration, &str),
    now_ms: u64,
) -> Result<Swept, Error> {
    let first = EpochSeconds(Due::at(now_ms, 0).map_or(0, |due| due.first.0));
    let start = start_of(table, generation, first);
    let due = Due::at(now_ms, engine.config().ttl_delay_ms);
    let expired = match due {
        Some(due) if table.replication.is_some() => {
            replicas::expired(engine, table, (generation, start), due, now_ms).await?
        }
        _ => {
            let rows = rows_from(engine, table, (generation, start)).await?;
            if let Some(row) = rows.first() {
                engine.next_expiry().note(table.id, generation, row.time);
            }
            rows.into_iter().filter(|row| due.is_some_and(|due| due.contains(row.time))).collect()
        }
    };
    let Some(due) = due else { return Ok(Swept::All) };
    if expired.is_empty() {
        return Ok(Swept::All);
    }
    for group in expired.chunks(GROUP_ITEMS_MAX) {
        expire(engine, table, attribute, due, group).await?;
    }
    Ok(Swept::Some)
}

/// Deletes a group of items; those that are no longer due when the delete is evaluated stay.
async fn expire<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    attribute: &str,
    due: Due,
    group: &[Row],
) -> Result<(), Error> {
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let keys: Vec<Bytes> = group.iter().map(|row| row.item.clone()).collect();
    let items = snapshot.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    drop(snapshot);
    let mut expiring = Vec::with_capacity(group.len());
    for (row, item) in group.iter().zip(items) {
        let item = item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        match item.filter(|item| expiry(item.view(), attribute) == Some(row.time)) {
            // Only the key: a decoded item takes many times its stored size, and a group has many items.
            Some(item) => {
                let key = item.view().encode_subset(|name| table.schema.key.contains(name));
                expiring.push(key.decode());
            }
            None => forget_row(engine, table, attribute, row).await?,
        }
    }
    if expiring.is_empty() {
        return Ok(());
    }
    let bind = || {
        let table = engine.catalogue().newest(table);
        let action = |item| {
            let key = bind_item_key(table.id, &table.schema, item)?;
            Ok(Action {
                table: Arc::clone(&table),
                key,
                effect: Effect::Expire(due),
                condition: None,
                given: None,
            })
        };
        expiring.iter().map(action).collect()
    };
    let GroupEnd::Written(outcomes) = run(engine, GroupKind::Expiry, None, 0, bind).await? else {
        return Ok(());
    };
    let is_deleted = |outcome: &&Outcome| outcome.change.old.is_some() && outcome.change.new.is_none();
    let deleted = u64::try_from(outcomes.iter().filter(is_deleted).count()).unwrap_or(u64::MAX);
    let now_ms = engine.env().now_ms();
    engine.metrics().add_to(table, now_ms, |figures| figures.events.expired_items += deleted);
    Ok(())
}

/// Removes a row whose item is gone or has another expiry time. Writers leave no such row; every step would
/// find it again.
async fn forget_row<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    attribute: &str,
    row: &Row,
) -> Result<(), Error> {
    let keys = vec![row.item.clone(), row.key.clone()];
    let begun = TableGuard::of([table]).begin(engine.catalogue(), keys).await;
    let (mut txn, stored) = match begun.map_err(|error| fault::storage(&error))? {
        Begun::Current(txn, stored) => (txn, stored),
        Begun::Changed(table) => return engine.catalogue().refresh(table).await,
    };
    let item = stored.into_iter().next().flatten();
    let item = item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
    if item.is_some_and(|item| expiry(item.view(), attribute) == Some(row.time)) || table.ttl.filling {
        return Ok(());
    }
    txn.delete(row.key.clone());
    match txn.commit().await {
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown | CommitError::TooLarge) => Ok(()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}
