//! The rows of sets and of restores: what each holds, and until when.
//!
//! ```text
//! sets | 0 | the set's id
//!     its account, its stamp, when it began and expires, its tables
//! sets | 1 | the restore's id
//!     its account, what is restored, when it expires, its tables
//! sets | 2 | the restore's id | the table's number (u64)
//!     how far the table has come, and what it gets at the end
//! ```

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, KeyRange, Store, Transaction as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::SetFault;
use crate::catalogue::{OtherRows, StreamState, Table};
use crate::state::Engine;
use crate::support::env::AccountId;
use crate::support::fault;
use crate::support::layout::{self, Space, TableId};
use crate::support::stamp::Stamp;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// The longest id.
const ID_BYTES_MAX: usize = 64;

/// The tables of a set, each with the stamp from which on its changes are read; `None` for all its items.
pub(super) type Tables = Vec<(u64, Option<Stamp>)>;

/// What a set is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    /// Whose it is; anybody's if `None`.
    pub account: Option<String>,
    pub stamp: Stamp,
    pub created_ms: u64,
    pub expires_ms: u64,
    pub tables: Tables,
}

const SETS: u8 = 0;
const RESTORES: u8 = 1;
const PROGRESS: u8 = 2;

pub(super) fn key(id: &str) -> Bytes {
    [&[Space::Sets.byte(), SETS][..], id.as_bytes()].concat().into()
}

/// The key of a restore's row.
pub(super) fn restore_key(id: &str) -> Bytes {
    [&[Space::Sets.byte(), RESTORES][..], id.as_bytes()].concat().into()
}

/// The range of the rows of all restores.
pub(super) fn restores() -> KeyRange {
    layout::prefix_range(vec![Space::Sets.byte(), RESTORES])
}

/// The id in the key of a restore's row.
pub(super) fn restore_of(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[Space::Sets.byte(), RESTORES])?).ok()
}

/// The key of the row that says how far a table of a restore has come.
pub(super) fn progress_key(id: &str, table: u64) -> Bytes {
    [&[Space::Sets.byte(), PROGRESS][..], id.as_bytes(), &table.to_be_bytes()].concat().into()
}

/// The owner of a set's holds, and of a restore's tables.
pub(super) fn owner(id: &str) -> String {
    format!("{OWNER}{id}")
}

/// The id of the set that has a hold; `None` if it is not a set's.
pub(super) fn set_of(owner: &str) -> Option<&str> {
    owner.strip_prefix(OWNER)
}

const OWNER: &str = "set ";

/// What a restore is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RestoreRow {
    /// Whose it is; anybody's if `None`.
    pub account: Option<String>,
    /// What is restored, as its reader names it.
    pub source: String,
    pub expires_ms: u64,
    /// The numbers of its tables.
    pub tables: Vec<u64>,
}

/// How far a table of a restore has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The key of the last item, within the table; empty at the beginning.
    pub after: Vec<u8>,
    pub items: u64,
    /// What the table gets once all items are there: its time to live, its stream, its recovery.
    pub ttl: Option<String>,
    pub stream: StreamState,
    pub recovery_days: Option<u8>,
}

/// The stored form of one of these rows.
pub(super) trait Stored: Serialize + DeserializeOwned {
    fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a row of owned values encodes into a vector").into()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes.strip_prefix(&[FORMAT])?).ok()
    }
}

impl Stored for Row {}
impl Stored for RestoreRow {}
impl Stored for Progress {}

/// The row of a set that this account may read.
pub(super) async fn read<S: Store>(
    engine: &Engine<S>,
    reader: Option<&AccountId>,
    id: &str,
) -> Result<Row, SetFault> {
    let gone = || SetFault::Gone(id.to_owned());
    if id.len() > ID_BYTES_MAX {
        return Err(gone());
    }
    let row: Row = find(engine, &key(id)).await?.ok_or_else(gone)?;
    if may_use(reader, row.account.as_deref()) { Ok(row) } else { Err(gone()) }
}

/// Whether an account may use what is of another or the same; one that is not known may use everything.
pub(super) fn may_use(reader: Option<&AccountId>, owner: Option<&str>) -> bool {
    reader.is_none_or(|reader| owner == Some(reader.as_str()))
}

/// A row; `None` if it is not there any more.
pub(super) async fn find<S: Store, R: Stored>(engine: &Engine<S>, key: &Bytes) -> Result<Option<R>, Error> {
    let row = engine.store().get(key).await.map_err(|error| fault::storage(&error))?;
    row.map(|row| R::decode(&row).ok_or_else(fault::internal)).transpose()
}

/// Changes a row on its own, for instance to let it expire later. If another commit changes it at the same
/// time, it is as that one leaves it.
pub(super) async fn renew<S: Store, R: Stored>(
    engine: &Engine<S>,
    key: Bytes,
    change: impl Fn(&mut R) + Send,
) -> Result<(), Error> {
    let storage = |error| fault::storage(&error);
    let mut txn = engine.store().begin().await.map_err(storage)?;
    let rows = txn.get_for_write(std::slice::from_ref(&key)).await.map_err(storage)?;
    let Some(mut row) = rows.into_iter().next().flatten().and_then(|row| R::decode(&row)) else {
        return Ok(());
    };
    change(&mut row);
    txn.put(key, row.encode());
    match txn.commit().await {
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}

/// Changes the tables and the row of a set in one commit, unless the set has ended meanwhile. All its tables
/// are there, deleted ones too: the hold keeps their rows and with them their records.
pub(super) async fn change_held<S: Store>(
    engine: &Engine<S>,
    id: &str,
    row: &Row,
    change: impl Fn(&mut [Table], &mut OtherRows, Bytes),
) -> Result<(), Error> {
    let ids: Vec<TableId> = row.tables.iter().map(|(number, _)| TableId(*number)).collect();
    let key = key(id);
    let apply = |tables: &mut [Table], others: &mut OtherRows| {
        if others.found(0).and_then(|found| Row::decode(found)).is_some_and(|found| found.stamp == row.stamp)
        {
            change(tables, others, key.clone());
        }
        Ok(())
    };
    engine.catalogue().change_all(&ids, std::slice::from_ref(&key), || Ok(()), apply).await.map(|_| ())
}
