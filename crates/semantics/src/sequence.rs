//! Sequence numbers of stream records: decimal texts of one length, so that they sort as texts and as numbers.
//!
//! It knows how a place in a log becomes a number, and nothing of shards.

use std::fmt;

/// What every number begins with, so that all have 23 digits (API reference: 21 to 40).
const BASE: u128 = 10_u128.pow(22);
/// Numbers that one commit may take.
const PER_COMMIT: u128 = 1_000_000;

/// A number that a consumer sees: greater for later records of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(u128);

impl SequenceNumber {
    /// The number of a commit's record at a place within the commit. Places are far below a million: one commit writes
    /// at most a hundred items.
    pub fn new(commit_version: u64, index: u32) -> Self {
        let index = u128::from(index).min(PER_COMMIT - 1);
        Self(BASE + u128::from(commit_version) * PER_COMMIT + index)
    }

    /// A number of the client's; it need not be one that was given out.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().map(Self)
    }

    /// The commit and the place within it; numbers below all that are given out are at the very beginning.
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
    fn what_is_not_a_number_is_refused() {
        for text in ["", "-1", "1e9", "12a", " 1", &"9".repeat(40)] {
            assert_eq!(SequenceNumber::parse(text), None, "{text}");
        }
        assert_eq!(SequenceNumber::parse("000000000000000000001").map(SequenceNumber::place), Some((0, 0)));
    }
}
