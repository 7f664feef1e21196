//! The row that says that a member has left with its data, so that those that remain are repaired.
//!
//! ```text
//! places of replicas | table id | "g"     the member that has left last
//! ```
//!
//! The commit that removes the member writes it, so no kill comes between. The keys of places are longer. The
//! row goes with the table, and with its group. It does not know the repair (`verify::loss`).

use bytes::Bytes;

use crate::catalogue::{OtherRows, Table};
use crate::support::layout::{Space, TableId, table_prefix};

pub(super) fn left_key(table: TableId) -> Bytes {
    let mut key = table_prefix(Space::ReplicaCursors, table);
    key.push(b'g');
    key.into()
}

/// Notes for the tables that remain in a group that a member has left it with its data.
pub(super) fn note_left(tables: &[Table], gone: TableId, rows: &mut OtherRows) {
    for table in tables.iter().filter(|table| table.id != gone && table.replication.is_some()) {
        rows.put(left_key(table.id), Bytes::copy_from_slice(&gone.0.to_be_bytes()));
    }
}
