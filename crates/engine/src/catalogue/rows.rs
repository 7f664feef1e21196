//! Keys of the catalogue's rows.
//!
//! ```text
//! 0x01 0x00 0 (u64)                       the format of the catalogue (`format`)
//! 0x01 0x00 table id                      a table's record (`record`)
//! 0x01 0x01 account 0x00 region 0x00 name the id of the table of that name
//! 0x01 0x02                               the next table id
//! 0x01 0x03 table id, index id            how far an index's backfill has come
//! 0x01 0x04 table id, generation          how far the filling of expiry rows has come
//! 0x01 0x05 account 0x00 region           the ids of a branch's tables
//! 0x01 0x06                               how often the catalogue of a shared store was changed
//! ```

use bytes::Bytes;

use super::read_u64;
use super::ttl::TtlGeneration;
use crate::support::env::Namespace;
use crate::support::layout::{IndexId, Space, TableId};

pub(super) const RECORDS: u8 = 0x00;
pub(super) const NAMES: u8 = 0x01;
const NEXT_ID: u8 = 0x02;
const BACKFILLS: u8 = 0x03;
const TTL_FILLS: u8 = 0x04;
const BRANCHES: u8 = 0x05;
const EPOCH: u8 = 0x06;

pub(super) fn name_key(namespace: &Namespace, name: &str) -> Bytes {
    let mut key = name_prefix(namespace);
    key.extend_from_slice(name.as_bytes());
    key.into()
}

/// The prefix of the names of all tables of an account and region.
pub(super) fn name_prefix(namespace: &Namespace) -> Vec<u8> {
    let mut key = place_key(NAMES, namespace);
    key.push(0);
    key
}

/// A part of the catalogue, then an account and region.
fn place_key(part: u8, namespace: &Namespace) -> Vec<u8> {
    let mut key = vec![Space::Catalogue.byte(), part];
    for text in [namespace.account.as_str(), "\0", namespace.region.as_str()] {
        key.extend_from_slice(text.as_bytes());
    }
    key
}

/// The key of the row that lists the tables of a branch.
pub(super) fn branch_key(namespace: &Namespace) -> Bytes {
    place_key(BRANCHES, namespace).into()
}

/// The key of the next table id, which every CreateTable reads and writes.
pub(crate) fn next_id_key() -> Bytes {
    Bytes::from_static(&[0x01, NEXT_ID])
}

/// The key of the catalogue's epoch.
pub(crate) fn epoch_key() -> Bytes {
    Bytes::from_static(&[0x01, EPOCH])
}

/// The key of a table's record.
pub(super) fn record_key(table: TableId) -> Bytes {
    Bytes::copy_from_slice(&record_key_bytes(table))
}

/// The same where it is only looked at.
pub(super) const fn record_key_bytes(table: TableId) -> [u8; 10] {
    let mut key = [Space::Catalogue.byte(), RECORDS, 0, 0, 0, 0, 0, 0, 0, 0];
    if let Some(number) = key.last_chunk_mut() {
        *number = table.0.to_be_bytes();
    }
    key
}

/// The number in the key of the catalogue's format, among those of tables, which begin with 1.
const FORMAT_NUMBER: TableId = TableId(0);

/// The key of the catalogue's format.
pub(crate) fn format_key() -> Bytes {
    record_key(FORMAT_NUMBER)
}

/// The number in the row of the catalogue's epoch.
pub(super) fn read_epoch(row: Option<Bytes>) -> u64 {
    row.and_then(|row| read_u64(&row)).unwrap_or(0)
}

/// The key of a backfill's progress.
pub(crate) fn backfill_key(table: TableId, index: IndexId) -> Bytes {
    let mut key = vec![Space::Catalogue.byte(), BACKFILLS];
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&index.0.to_be_bytes());
    key.into()
}

/// The key of the progress of filling expiry rows.
pub(crate) fn ttl_fill_key(table: TableId, generation: TtlGeneration) -> Bytes {
    let mut key = vec![Space::Catalogue.byte(), TTL_FILLS];
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&generation.0.to_be_bytes());
    key.into()
}

/// The prefixes of all progress rows of a table.
pub(crate) fn progress_prefixes(table: TableId) -> [Vec<u8>; 2] {
    [BACKFILLS, TTL_FILLS].map(|part| {
        let mut key = vec![Space::Catalogue.byte(), part];
        key.extend_from_slice(&table.0.to_be_bytes());
        key
    })
}

/// The version of a stored table record, without reading the rest of it.
pub(super) fn record_version(record: &[u8]) -> Option<u64> {
    let (_format, rest) = record.split_first()?;
    rest.first_chunk::<8>().map(|version| u64::from_be_bytes(*version))
}
