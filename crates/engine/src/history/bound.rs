//! The rows that say how far the stamps of commits can have come: no commit has a stamp at or above them.
//!
//! ```text
//! stamps                     of all commits, in a store of one process; of a copy, above what was copied
//! processes | member | 3     of the commits of this process over a shared store
//! processes | 3              of the commits of processes that are gone
//! ```

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store, StoreError, Transaction};

use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{Space, prefix_range};
use crate::support::member_row::MemberId;
use crate::support::rows::each_row;
use crate::support::stamp::Stamp;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// The last byte of the keys of processes.
const BOUND: u8 = 3;

/// The key of the bound of a store.
pub(crate) fn key() -> Bytes {
    vec![Space::Stamps.byte()].into()
}

/// The key of a process's bound.
fn key_of(member: MemberId) -> Bytes {
    [&member.row_key(Space::Members)[..], &[BOUND]].concat().into()
}

fn key_of_gone() -> Bytes {
    vec![Space::Members.byte(), BOUND].into()
}

/// The key of the bound that the commits of this process raise.
pub(crate) fn own_key<S: Store>(engine: &Engine<S>) -> Bytes {
    if engine.is_shared() { key_of(engine.members().own()) } else { key() }
}

pub(crate) fn encode(bound: Stamp) -> Bytes {
    [&[FORMAT][..], &bound.to_bytes()].concat().into()
}

fn decode(row: &[u8]) -> Result<Stamp, StoreError> {
    let bytes = row.strip_prefix(&[FORMAT]).and_then(<[u8]>::first_chunk::<8>);
    let unread = || StoreError::Corrupt("the bound of the stamps cannot be read".to_owned());
    bytes.map(|bytes| Stamp::of_bytes(*bytes)).ok_or_else(unread)
}

/// The stored bound of a store; the least stamp if none is stored.
pub(crate) async fn read(view: &impl Snapshot) -> Result<Stamp, StoreError> {
    view.get(&key()).await?.map_or_else(|| Ok(Stamp::default()), |row| decode(&row))
}

/// A stamp that is above those of all commits over a shared store that were answered before this was asked.
pub(crate) async fn of_all<S: Store>(engine: &Engine<S>) -> Result<Stamp, Error> {
    let mut greatest = Ok(Stamp::default());
    if engine.is_shared() {
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let read = each_row(&view, prefix_range(vec![Space::Members.byte()]), |entry| {
            let of_process =
                entry.key.strip_suffix(&[BOUND]).is_some_and(|key| MemberId::of_row(key).is_some());
            if of_process || entry.key == key_of_gone() {
                greatest = greatest.clone().and_then(|greatest| Ok(greatest.max(decode(&entry.value)?)));
            }
        });
        read.await.map_err(|error| fault::storage(&error))?;
    }
    greatest.map_err(|error| fault::storage(&error))
}

/// Removes the bounds of processes that are gone, and keeps the greatest of what they said. If one of them
/// lives, its commits conflict with this. All are read at once: a transaction does not see what it has put.
pub(crate) async fn bequeath(txn: &mut impl Transaction, gone: &[MemberId]) -> Result<(), StoreError> {
    if gone.is_empty() {
        return Ok(());
    }
    let own = gone.iter().map(|member| key_of(*member));
    let keys: Vec<Bytes> = own.clone().chain([key_of_gone()]).collect();
    let rows = txn.get_for_write(&keys).await?;
    let bounds = rows.iter().flatten().map(|row| decode(row)).collect::<Result<Vec<_>, _>>()?;
    if let Some(greatest) = bounds.into_iter().max() {
        txn.put(key_of_gone(), encode(greatest));
    }
    own.for_each(|key| txn.delete(key));
    Ok(())
}
