//! The rows of sets: what each holds, and until when.
//!
//! ```text
//! sets | the set's id
//!     its account, its stamp, when it began and expires, its tables
//! ```

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Store, Transaction as _};
use serde::{Deserialize, Serialize};

use super::SetFault;
use crate::catalogue::{OtherRows, Table};
use crate::state::Engine;
use crate::support::env::AccountId;
use crate::support::fault;
use crate::support::layout::{Space, TableId};
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

pub(super) fn key(id: &str) -> Bytes {
    [&[Space::Sets.byte()], id.as_bytes()].concat().into()
}

/// The owner of a set's holds.
pub(super) fn owner(id: &str) -> String {
    format!("{OWNER}{id}")
}

/// The id of the set that has a hold; `None` if it is not a set's.
pub(super) fn set_of(owner: &str) -> Option<&str> {
    owner.strip_prefix(OWNER)
}

const OWNER: &str = "set ";

impl Row {
    pub(super) fn encode(&self) -> Bytes {
        let mut bytes = vec![FORMAT];
        let row = postcard::to_allocvec(self).expect("a row of owned values encodes into a vector");
        bytes.extend_from_slice(&row);
        bytes.into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes.strip_prefix(&[FORMAT])?).ok()
    }
}

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
    let row = find(engine, id).await?.ok_or_else(gone)?;
    let is_own = reader.is_none_or(|reader| row.account.as_deref() == Some(reader.as_str()));
    if is_own { Ok(row) } else { Err(gone()) }
}

/// The row of a set; `None` if it has ended.
pub(super) async fn find<S: Store>(engine: &Engine<S>, id: &str) -> Result<Option<Row>, Error> {
    let row = engine.store().get(&key(id)).await.map_err(|error| fault::storage(&error))?;
    row.map(|row| Row::decode(&row).ok_or_else(fault::internal)).transpose()
}

/// Lets a set expire later.
pub(super) async fn renew<S: Store>(engine: &Engine<S>, id: &str, expires_ms: u64) -> Result<(), SetFault> {
    let storage = |error| fault::storage(&error);
    let mut txn = engine.store().begin().await.map_err(storage)?;
    let rows = txn.get_for_write(&[key(id)]).await.map_err(storage)?;
    let row = rows.into_iter().next().flatten().and_then(|row| Row::decode(&row));
    let row = row.ok_or_else(|| SetFault::Gone(id.to_owned()))?;
    txn.put(key(id), Row { expires_ms, ..row }.encode());
    match txn.commit().await {
        // Then another page has renewed it, or the next one does.
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
        Err(CommitError::TooLarge) => Err(fault::internal().into()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error).into()),
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
