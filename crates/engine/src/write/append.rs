//! Logging changes: in the transaction that changes the item, and nowhere else.
//!
//! Each open log of the table gets a record, with the images that its purpose keeps; a log for replicas gets
//! a version instead.

use bytes::Bytes;
use keywright_semantics::capacity::{WriteMode, write_units};
use keywright_semantics::response::StreamIdentity;
use keywright_store::{Store, Transaction};

use crate::catalogue::{ChangeLog, Purpose, Shard, ShardHash};
use crate::changes::record::ChangeRecord;
use crate::state::Engine;
use crate::support::env::Env;
use crate::support::layout;
use crate::write::change::{Action, Change, Effect};
use crate::write::version_record::VersionRecord;
use crate::write::versions::NewVersion;

const US_PER_MS: u64 = 1000;

/// The author and the time of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author {
    pub identity: StreamIdentity,
    pub now_ms: u64,
}

/// Appends a record of the change to each open log of the table, if the item changed.
pub(crate) fn append<T: Transaction>(
    txn: &mut T,
    action: &Action<'_>,
    (change, version): (&Change, Option<&NewVersion>),
    (author, env): (Author, &dyn Env),
) {
    let (table, row) = (&*action.table, &action.key.row);
    let is_key = |name: &str| table.schema.key.attributes().any(|attribute| attribute.name == name);
    let images = (change.old.as_ref(), change.new.as_ref());
    append_version(txn, action, version);
    for log in table.open_logs() {
        let Some(kept) = log.purpose.images() else { continue };
        if let Some(mut record) = ChangeRecord::of(images, kept, is_key, (author.identity, author.now_ms)) {
            if matches!(log.purpose, Purpose::Destination(_)) {
                refine(&mut record, env);
            }
            txn.append(layout::log_of(table.id, shard_of(log, row).number), record.encode());
        }
    }
}

/// Logs a change for the table's replicas. What comes from one of them goes to all others from there.
pub(crate) fn append_version<T: Transaction>(txn: &mut T, action: &Action<'_>, version: Option<&NewVersion>) {
    let (table, row) = (&*action.table, &action.key.row);
    let Some(version) = version.filter(|version| version.is_own) else { return };
    for log in table.open_logs().filter(|log| log.purpose == Purpose::Replication) {
        let record = VersionRecord::of(version, layout::within_items(row));
        txn.append(layout::log_of(table.id, shard_of(log, row).number), record.encode());
    }
}

/// Gives a record the time of its commit to the microsecond.
fn refine(record: &mut ChangeRecord, env: &dyn Env) {
    let now_us = env.now_us().max(record.at_ms.saturating_mul(US_PER_MS));
    record.at_ms = now_us / US_PER_MS;
    record.extra_us = Some(u16::try_from(now_us % US_PER_MS).expect("a millisecond has a thousand of them"));
}

/// The shard of an open log that takes changes of this item.
fn shard_of<'t>(log: &'t ChangeLog, row: &Bytes) -> &'t Shard {
    let hash = ShardHash(layout::hash_head(row));
    let shard = log.shard_for(hash);
    assert!(shard.covers(hash), "a record goes to the shard that covers its hash");
    shard
}

/// Adds a committed write to the loads of the shards that took it.
pub(crate) fn note_load<S: Store>(engine: &Engine<S>, action: &Action<'_>, change: &Change, now_ms: u64) {
    if matches!(action.effect, Effect::Check) || !change.changes_item() {
        return;
    }
    let table = &action.table;
    for log in table.open_logs() {
        let units = write_units(change.larger_image_bytes(), WriteMode::Plain).0 / 2;
        engine.shard_loads().add(table.id, shard_of(log, &action.key.row).number, units, now_ms);
    }
}
