//! Sequence numbers of stream records: decimal texts of one length, so that they sort as texts and as
//! numbers. Stores that count their commits have shorter ones than those whose versions are timestamps.
//!
//! This file knows how a position in the change log becomes a number. It does not know shards.

use std::fmt;

/// Added to the number of a counted commit, so that all have 23 digits (API reference: 21 to 40).
const BASE: u128 = 10_u128.pow(22);
/// Added to that of a greater version, as TiKV's timestamps are, so that all of these have 26 digits.
const BASE_OF_GREAT: u128 = 10_u128.pow(25);
/// The first version that is not counted: 23 digits hold no greater one.
const GREAT: u64 = 90_000_000_000_000_000;
/// Numbers reserved for the records of one commit.
const PER_COMMIT: u128 = 1_000_000;

/// The sequence number of a stream record. Later records of a shard have greater numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(u128);

impl SequenceNumber {
    /// The number of a commit's record with this index. One commit writes at most a hundred items, so indexes
    /// stay far below a million.
    pub fn new(commit_version: u64, index: u32) -> Self {
        assert!(u128::from(index) < PER_COMMIT, "a commit has fewer records than reserved numbers");
        let base = if commit_version < GREAT { BASE } else { BASE_OF_GREAT };
        Self(base + u128::from(commit_version) * PER_COMMIT + u128::from(index))
    }

    /// Parses a number that a client sent. It need not be the number of a record.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().map(Self)
    }

    /// The commit version and the index within the commit. Numbers below the first one count as the first,
    /// and those between the two lengths as the end of the shorter ones.
    pub fn place(self) -> (u64, u32) {
        let first_of_great = Self::new(GREAT, 0);
        if (10 * BASE..first_of_great.0).contains(&self.0) {
            return (GREAT - 1, u32::MAX);
        }
        let offset = self.0.saturating_sub(if self < first_of_great { BASE } else { BASE_OF_GREAT });
        let version = u64::try_from(offset / PER_COMMIT).unwrap_or(u64::MAX);
        (version, u32::try_from(offset % PER_COMMIT).unwrap_or(u32::MAX))
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_their_places_and_as_texts() {
        let counted = [(0, 0), (0, 1), (1, 0), (1, 99), (2, 0), (1 << 40, 3), (GREAT - 1, 999_999)];
        // A timestamp of TiKV: milliseconds since 1970, and 18 bits.
        let timestamps =
            [(GREAT, 0), (1_796_000_000_000 << 18, 0), (1_796_000_000_000 << 18, 7), (u64::MAX, 0)];
        for (places, length) in [(&counted[..], 23), (&timestamps[..], 26)] {
            let numbers: Vec<SequenceNumber> =
                places.iter().map(|(version, index)| SequenceNumber::new(*version, *index)).collect();
            let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            assert!(numbers.is_sorted() && texts.is_sorted());
            for ((place, number), text) in places.iter().zip(&numbers).zip(&texts) {
                assert_eq!(text.len(), length);
                assert_eq!(SequenceNumber::parse(text), Some(*number));
                assert_eq!(number.place(), *place);
            }
        }
    }

    #[test]
    fn a_number_between_the_lengths_is_between_their_places() {
        let (last, first) = (SequenceNumber::new(GREAT - 1, 999_999), SequenceNumber::new(GREAT, 0));
        for between in [SequenceNumber(last.0 + 1), SequenceNumber(first.0 - 1)] {
            assert!(last.place() < between.place() && between.place() < first.place());
        }
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for text in ["", "-1", "1e9", "12a", " 1", &"9".repeat(40)] {
            assert_eq!(SequenceNumber::parse(text), None, "{text}");
        }
        assert_eq!(SequenceNumber::parse("000000000000000000001").map(SequenceNumber::place), Some((0, 0)));
    }
}
