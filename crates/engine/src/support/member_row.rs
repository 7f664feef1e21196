//! A process that serves a shared store: its number, and the row with its sign of life and which records it
//! can read.
//!
//! ```text
//! format, number of the sign of life (u64)           every release reads these
//! newest format of records, number of known sections (u16), their tags (u16 each)
//! ```
//!
//! A process of a release before the tagged records writes the first part only.

use bytes::Bytes;

use super::layout::Space;

/// A process: drawn at random when it opens the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MemberId(pub u128);

impl MemberId {
    /// The key of this process's row in a space that has one for each.
    pub(crate) fn row_key(self, space: Space) -> Bytes {
        let mut key = vec![space.byte()];
        key.extend_from_slice(&self.0.to_be_bytes());
        key.into()
    }

    /// The key of the row that is there while this process may commit with stamps.
    pub(crate) fn joined_key(self) -> Bytes {
        [&self.row_key(Space::Members)[..], &[JOINED]].concat().into()
    }

    /// The process of a row's key.
    pub(crate) fn of_row(key: &[u8]) -> Option<Self> {
        let (_, id) = key.split_first()?;
        Some(Self(u128::from_be_bytes(id.try_into().ok()?)))
    }
}

/// The last byte of the key of a process's row that allows its stamps.
const JOINED: u8 = 2;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// Which records of tables a process can read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knows {
    /// The newest format of records, and so of the store; 0 where the row does not say.
    pub format: u8,
    /// The tags of the sections that it knows, in ascending order.
    pub sections: Vec<u16>,
}

/// A process's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberRow {
    pub beat: u64,
    pub knows: Knows,
}

impl MemberRow {
    /// Whether this is the key of such a row: the space and the process's number. What else a process
    /// publishes has longer keys.
    pub(crate) fn is_at(key: &[u8]) -> bool {
        key.len() == 1 + size_of::<u128>()
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut row = vec![FORMAT];
        row.extend_from_slice(&self.beat.to_be_bytes());
        row.push(self.knows.format);
        let count = u16::try_from(self.knows.sections.len()).expect("there are fewer sections than tags");
        row.extend_from_slice(&count.to_be_bytes());
        row.extend(self.knows.sections.iter().flat_map(|tag| tag.to_be_bytes()));
        row.into()
    }

    /// Reads a row of any format: rows of other formats belong to newer processes; their work is theirs.
    pub(crate) fn decode(row: &[u8]) -> Option<Self> {
        let (_format, rest) = row.split_first()?;
        let (beat, rest) = rest.split_first_chunk::<8>()?;
        Some(Self { beat: u64::from_be_bytes(*beat), knows: knows(rest).unwrap_or_default() })
    }
}

/// The second part of a row; `None` if it is not there.
fn knows(part: &[u8]) -> Option<Knows> {
    let (format, rest) = part.split_first()?;
    let (count, tags) = rest.split_first_chunk::<2>()?;
    let (tags, _) = tags.as_chunks::<2>();
    let tags = tags.get(..usize::from(u16::from_be_bytes(*count)))?;
    Some(Knows { format: *format, sections: tags.iter().map(|tag| u16::from_be_bytes(*tag)).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_and_its_beginning_is_the_row_of_an_older_release() {
        let knows = Knows { format: 3, sections: vec![1, 2, 300] };
        let row = MemberRow { beat: 7, knows };
        assert_eq!(MemberRow::decode(&row.encode()), Some(row.clone()));
        let older = row.encode().slice(..9);
        assert_eq!(MemberRow::decode(&older), Some(MemberRow { beat: 7, knows: Knows::default() }));
        assert_eq!(MemberRow::decode(&older[..8]), None);
    }
}
