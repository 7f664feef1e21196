//! Sequence numbers of stream records: decimal texts of one length, so that they sort as texts and as
//! numbers.
//!
//! This file knows how a position in the change log becomes a number. It does not know shards.

use std::fmt;

/// Added to every number, so that all have 23 digits (API reference: 21 to 40).
const BASE: u128 = 10_u128.pow(22);
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
        let number = BASE + u128::from(commit_version) * PER_COMMIT + u128::from(index);
        assert!(number < 10 * BASE, "sequence numbers have 23 digits");
        Self(number)
    }

    /// Parses a number that a client sent. It need not be the number of a record.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().map(Self)
    }

    /// The commit version and the index within the commit. Numbers below the first one count as the first.
    pub fn place(self) -> (u64, u32) {
        let offset = self.0.saturating_sub(BASE);
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
        let places =
            [(0, 0), (0, 1), (1, 0), (1, 99), (2, 0), (1 << 40, 3), (9_999_999_999_999_999, 999_999)];
        let numbers: Vec<SequenceNumber> = places.iter().map(|(v, i)| SequenceNumber::new(*v, *i)).collect();
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        assert!(numbers.is_sorted() && texts.is_sorted());
        for ((place, number), text) in places.iter().zip(&numbers).zip(&texts) {
            assert_eq!(text.len(), 23);
            assert_eq!(SequenceNumber::parse(text), Some(*number));
            assert_eq!(number.place(), *place);
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
