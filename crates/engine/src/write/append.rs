//! Appending stream records: in the transaction that changes the item, and nowhere else.

use bytes::Bytes;
use keywright_semantics::capacity::{WriteMode, write_units};
use keywright_semantics::response::StreamIdentity;
use keywright_store::{Store, Transaction};

use crate::catalogue::{Shard, ShardHash, Stream, Table};
use crate::change_log::record::ChangeRecord;
use crate::state::Engine;
use crate::support::layout;
use crate::write::change::{Action, Change, Effect};

/// The author and the time of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author {
    pub identity: StreamIdentity,
    pub now_ms: u64,
}

/// Appends the record of a change to the shard of the item, if the table has a stream and the item changed.
pub(crate) fn append<T: Transaction>(
    txn: &mut T,
    table: &Table,
    row: &Bytes,
    change: &Change,
    author: Author,
) {
    let Some((stream, shard)) = shard_of(table, row) else { return };
    let is_key = |name: &str| table.schema.key.attributes().any(|attribute| attribute.name == name);
    if let Some(record) = ChangeRecord::of(change, stream.view, is_key, (author.identity, author.now_ms)) {
        txn.append(layout::log_of(table.id, shard.number), record.encode());
    }
}

/// The enabled stream, and its shard that takes changes of this item.
fn shard_of<'t>(table: &'t Table, row: &Bytes) -> Option<(&'t Stream, &'t Shard)> {
    let stream = table.live_stream()?;
    let hash = ShardHash(layout::hash_head(row));
    let shard = stream.shard_for(hash).expect("the open shards of an enabled stream cover every hash");
    assert!(shard.covers(hash), "a record goes to the shard that covers its hash");
    Some((stream, shard))
}

/// Adds a committed write to the load of its shard.
pub(crate) fn note_load<S: Store>(engine: &Engine<S>, action: &Action<'_>, change: &Change, now_ms: u64) {
    if matches!(action.effect, Effect::Check) || !change.changes_item() {
        return;
    }
    let table = &action.table;
    if let Some((_, shard)) = shard_of(table, &action.key.row) {
        let units = write_units(change.larger_image_bytes(), WriteMode::Plain).0 / 2;
        engine.shard_loads().add(table.id, shard.number, units, now_ms);
    }
}
