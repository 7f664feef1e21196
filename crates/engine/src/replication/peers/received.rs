//! How far a member here has what a remote member sends, as a row of the table here.
//!
//! ```text
//! places of replicas | table id | number of the remote member | 'r'     how often the sender's place has moved
//! ```
//!
//! The commit that writes what arrives writes the row too, so what was acknowledged and what is there are one
//! in every case.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Snapshot, Store, Transaction};
use serde::{Deserialize, Serialize};

use crate::changes::replicated::{Mark, Way};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::TableId;

/// The first byte of a row: its format.
const FORMAT: u8 = 2;
/// The format of a row without a mark.
const FORMAT_UNMARKED: u8 = 1;

/// How far a member here has what a remote member sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Received {
    /// How often the sender's place has moved.
    pub moves: u64,
    /// How often the row was written: no two values of it are equal.
    pub writes: u64,
    /// The last record of the sender's log in the last batch; `None` if that was of a pass.
    pub mark: Option<Mark>,
}

impl Received {
    pub(crate) fn encode(self) -> Bytes {
        postcard::to_extend(&self, vec![FORMAT]).expect("a row of numbers encodes into a vector").into()
    }

    fn decode(row: &Bytes) -> Result<Self, Error> {
        let read = match row.split_first() {
            Some((&FORMAT, row)) => postcard::from_bytes(row),
            Some((&FORMAT_UNMARKED, row)) => postcard::from_bytes::<(u64, u64)>(row)
                .map(|(moves, writes)| Self { moves, writes, mark: None }),
            _ => return Err(fault::internal()),
        };
        read.map_err(|_fault| fault::internal())
    }
}

/// The key of the row of a member here and a remote one.
pub(crate) fn key(here: TableId, remote: TableId) -> Bytes {
    assert_ne!(here, remote, "a member receives from others");
    let mut key = Way { sender: here, receiver: remote }.key().to_vec();
    key.push(b'r');
    key.into()
}

/// Reads the row, and makes it if there is none, as in a copy of a store.
pub(super) async fn read<S: Store>(
    engine: &Engine<S>,
    (here, remote): (TableId, TableId),
) -> Result<(Received, Bytes), Error> {
    let key = key(here, remote);
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    if let Some(row) = view.get(&key).await.map_err(|error| fault::storage(&error))? {
        return Ok((Received::decode(&row)?, row));
    }
    drop(view);
    let begun = engine.store().begin_with(std::slice::from_ref(&key)).await;
    let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
    if let Some(row) = rows.into_iter().next().flatten() {
        return Ok((Received::decode(&row)?, row));
    }
    let first = Received::default();
    txn.put(key, first.encode());
    match txn.commit().await {
        Ok(_) => Ok((first, first.encode())),
        // The sender repeats what it sent.
        Err(CommitError::Conflict | CommitError::Unknown | CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::RecordPlace;
    use crate::support::stamp::Stamp;

    #[test]
    fn a_row_is_read_as_it_was_written_also_one_without_a_mark() {
        let place = RecordPlace { version: 9, index: 1 };
        let mark = Some(Mark { place, at: Stamp::first_of(3) });
        let received = Received { moves: 7, writes: 300, mark };
        assert_eq!(Received::decode(&received.encode()).expect("it is whole"), received);
        let unmarked = postcard::to_extend(&(7_u64, 300_u64), vec![FORMAT_UNMARKED]).expect("numbers");
        let unmarked = Received::decode(&Bytes::from(unmarked)).expect("it is whole");
        assert_eq!(unmarked, Received { mark: None, ..received });
    }
}
