//! The row that carries stamps over restarts, in a store of one process: no commit has a stamp at or above
//! it. A copy of a store carries it too, raised above the stamps of the rows that it has copied.

use bytes::Bytes;
use keywright_store::{Snapshot, StoreError};

use crate::support::layout::Space;
use crate::support::stamp::Stamp;

/// The first byte of the row: its format.
const FORMAT: u8 = 1;

pub(crate) fn key() -> Bytes {
    vec![Space::Stamps.byte()].into()
}

pub(crate) fn encode(bound: Stamp) -> Bytes {
    [&[FORMAT][..], &bound.to_bytes()].concat().into()
}

/// The stored bound; the least stamp if none is stored.
pub(crate) async fn read(view: &impl Snapshot) -> Result<Stamp, StoreError> {
    let Some(row) = view.get(&key()).await? else { return Ok(Stamp::default()) };
    let bytes = row.strip_prefix(&[FORMAT]).and_then(<[u8]>::first_chunk::<8>);
    let unread = || StoreError::Corrupt("the bound of the stamps cannot be read".to_owned());
    bytes.map(|bytes| Stamp::of_bytes(*bytes)).ok_or_else(unread)
}
