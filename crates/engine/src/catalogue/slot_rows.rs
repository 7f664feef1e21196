//! The rows that writers of a table protect instead of its record, in a store where commits that protect one
//! row conflict.
//!
//! ```text
//! slots | table id                                   the register: empty
//! slots | table id | process (u128) | number (u16)   a slot: state (one byte), version of the record (u64)
//! ```
//!
//! A slot's state is 1 if it is open, and 2 if it is closed: a change of the table is under way.

use bytes::Bytes;
use keywright_store::{Snapshot, StoreError};

use crate::support::layout::{Space, TableId, prefix_range, table_prefix};
use crate::support::member_row::MemberId;
use crate::support::rows::{each_row, each_row_until, keep};

const OPEN: u8 = 1;
const CLOSED: u8 = 2;

/// A stored slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotRow {
    /// Whether a commit may rely on it.
    pub is_open: bool,
    /// The version of the table's record.
    pub version: u64,
}

impl SlotRow {
    /// An open slot of a table whose record has this version.
    pub(super) const fn open(version: u64) -> Self {
        Self { is_open: true, version }
    }

    pub(super) fn encode(self) -> Bytes {
        let state = if self.is_open { OPEN } else { CLOSED };
        [&[state][..], &self.version.to_be_bytes()].concat().into()
    }

    /// Reads a row; one in a state that this release does not know is closed.
    pub(super) fn decode(row: &[u8]) -> Option<Self> {
        let (state, version) = row.split_first()?;
        let version = version.first_chunk::<8>()?;
        Some(Self { is_open: *state == OPEN, version: u64::from_be_bytes(*version) })
    }
}

/// The key of a table's register, which each registration of slots writes and each change protects.
pub(super) fn register_key(table: TableId) -> Bytes {
    table_prefix(Space::Slots, table).into()
}

pub(super) fn slot_key(table: TableId, member: MemberId, number: u16) -> Bytes {
    let mut key = table_prefix(Space::Slots, table);
    key.extend_from_slice(&member.0.to_be_bytes());
    key.extend_from_slice(&number.to_be_bytes());
    key.into()
}

/// Where the process stands in a slot's key.
const MEMBER_AT: usize = 1 + size_of::<u64>();

/// The process of a slot; `None` for a register.
fn member_of(key: &[u8]) -> Option<MemberId> {
    let id = key.get(MEMBER_AT..)?.first_chunk::<16>()?;
    Some(MemberId(u128::from_be_bytes(*id)))
}

/// The slots of a table, of all processes.
pub(super) async fn of_table(view: &impl Snapshot, table: TableId) -> Result<Vec<Bytes>, StoreError> {
    let mut slots = Vec::new();
    let range = prefix_range(table_prefix(Space::Slots, table));
    each_row(view, range, |row| slots.extend(member_of(&row.key).map(|_| row.key.clone()))).await?;
    Ok(slots)
}

/// The slots of processes, in all tables; at most `most`.
pub(crate) async fn of_members(
    view: &impl Snapshot,
    members: &[MemberId],
    most: usize,
) -> Result<Vec<Bytes>, StoreError> {
    let mut slots = Vec::new();
    let all = (prefix_range(vec![Space::Slots.byte()]), keywright_store::Direction::Forward);
    each_row_until(view, all, |row| {
        if member_of(&row.key).is_some_and(|member| members.contains(&member)) {
            return keep(&mut slots, row.key.clone(), most);
        }
        std::ops::ControlFlow::Continue(())
    })
    .await?;
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_reads_back_and_its_key_names_its_process() {
        for is_open in [true, false] {
            let row = SlotRow { is_open, version: 7 };
            assert_eq!(SlotRow::decode(&row.encode()), Some(row));
        }
        assert_eq!(SlotRow::decode(&[OPEN, 0]), None);
        let later = SlotRow::decode(&[9, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(later, Some(SlotRow { is_open: false, version: 7 }));
        assert_eq!(member_of(&slot_key(TableId(3), MemberId(5), 1)), Some(MemberId(5)));
        assert_eq!(member_of(&register_key(TableId(3))), None);
    }
}
