//! The rows of contributor insights in the store.
//!
//! `space | table id | index | time of the rules | kind | minute | process`: the minutes of one rule are one
//! contiguous range in the order of time, and those of a table go with the table. Each process writes rows of
//! its own, and readers add them up.

use bytes::Bytes;
use keywright_semantics::limits::CONTRIBUTORS_MAX;
use serde::{Deserialize, Serialize};

use super::contributor::Contributor;
use super::sketch::{Count, Sketch};
use crate::catalogue::Rule;
use crate::support::layout::{IndexId, Space, TableId, table_prefix};

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// Keys of one minute that are kept; of long keys as many as a report has.
const KEPT_MAX: usize = 100;
const KEPT_BYTES_MAX: usize = 16 * 1024;

/// What a rule counted in one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Minutes since 1970.
    pub number: u64,
    /// Of all keys.
    pub all: Count,
    /// The number of keys; exact up to some thousands.
    pub keys: u64,
    /// The heaviest keys, the heaviest first.
    pub heaviest: Vec<(Contributor, Count)>,
}

impl Minute {
    pub(crate) fn of(minute: u64, sketch: &Sketch) -> Self {
        Self {
            number: minute,
            all: sketch.all,
            keys: u64::try_from(sketch.keys()).unwrap_or(u64::MAX),
            heaviest: sketch.heaviest((CONTRIBUTORS_MAX, KEPT_MAX), KEPT_BYTES_MAX),
        }
    }

    /// Its memory.
    pub(crate) fn bytes(&self) -> usize {
        let keys = self.heaviest.iter().map(|(key, _)| key.bytes() + size_of::<(Contributor, Count)>());
        size_of::<Self>() + keys.sum::<usize>()
    }
}

/// The table itself stands before its indexes.
const TABLE_ITSELF: u8 = 0;
const AN_INDEX: u8 = 1;
/// Bytes of a key up to the minute.
const RULE_BYTES: usize = 1 + 8 + 1 + 4 + 8 + 1;
const MINUTE_BYTES: usize = 8;

/// The prefix of all minutes of a rule.
pub(crate) fn rule_prefix(table: TableId, rule: Rule) -> Vec<u8> {
    let mut key = table_prefix(Space::Insights, table);
    let (place, index) = rule.index.map_or((TABLE_ITSELF, 0), |IndexId(index)| (AN_INDEX, index));
    key.push(place);
    key.extend_from_slice(&index.to_be_bytes());
    key.extend_from_slice(&rule.rules_ms.to_be_bytes());
    key.push(rule.kind.number());
    key
}

/// The start of a rule's minutes at or after this one.
pub(crate) fn minute_prefix(table: TableId, rule: Rule, minute: u64) -> Vec<u8> {
    let mut key = rule_prefix(table, rule);
    key.extend_from_slice(&minute.to_be_bytes());
    key
}

/// The key of what one process counted.
pub(crate) fn minute_key(table: TableId, rule: Rule, minute: u64, process: u128) -> Bytes {
    let mut key = minute_prefix(table, rule, minute);
    key.extend_from_slice(&process.to_be_bytes());
    key.into()
}

/// A row's prefix of all minutes of its rule, and its minute.
pub(crate) fn read_key(key: &[u8]) -> Option<(&[u8], u64)> {
    let (rule, rest) = key.split_at_checked(RULE_BYTES)?;
    Some((rule, u64::from_be_bytes(*rest.first_chunk::<MINUTE_BYTES>()?)))
}

/// The table and index of a rule's prefix.
pub(crate) fn place_of(rule: &[u8]) -> Option<(TableId, Option<IndexId>)> {
    let (_, rest) = rule.split_first()?;
    let (table, rest) = rest.split_first_chunk::<8>()?;
    let (place, rest) = rest.split_first()?;
    let index = IndexId(u32::from_be_bytes(*rest.first_chunk::<4>()?));
    Some((TableId(u64::from_be_bytes(*table)), (*place == AN_INDEX).then_some(index)))
}

#[derive(Serialize, Deserialize)]
struct CountRecord {
    sum: u64,
    samples: u64,
    min: u64,
    max: u64,
}

impl From<Count> for CountRecord {
    fn from(Count { sum, samples, min, max }: Count) -> Self {
        Self { sum, samples, min, max }
    }
}

impl From<CountRecord> for Count {
    fn from(CountRecord { sum, samples, min, max }: CountRecord) -> Self {
        Self { sum, samples, min, max }
    }
}

#[derive(Serialize, Deserialize)]
struct MinuteRecord<'r> {
    all: CountRecord,
    keys: u64,
    #[serde(borrow)]
    heaviest: Vec<(&'r str, Option<&'r str>, CountRecord)>,
}

pub(crate) fn encode(minute: &Minute) -> Bytes {
    let heaviest = minute.heaviest.iter().map(|(contributor, count)| {
        let (partition, sort) = contributor.parts();
        (partition, sort, CountRecord::from(*count))
    });
    let record = MinuteRecord { all: minute.all.into(), keys: minute.keys, heaviest: heaviest.collect() };
    let bytes = postcard::to_extend(&record, vec![FORMAT]);
    bytes.expect("a record of texts encodes into a vector").into()
}

/// A minute; `None` for a row of another format.
pub(crate) fn decode(minute: u64, row: &[u8]) -> Option<Minute> {
    let record: MinuteRecord<'_> = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    let heaviest = record
        .heaviest
        .into_iter()
        .map(|(partition, sort, count)| (Contributor::new(partition, sort), Count::from(count)));
    Some(Minute { number: minute, all: record.all.into(), keys: record.keys, heaviest: heaviest.collect() })
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;
    use crate::catalogue::RuleKind;
    use crate::insights::sketch::Memory;

    #[test]
    fn a_minute_reads_back_and_its_key_tells_rule_and_minute() {
        let mut sketch = Sketch::default();
        for (partition, sort) in [("a", "1"), ("b", "2"), ("b", "2")] {
            sketch.add(&Contributor::new(partition, Some(sort)), 3, Memory::Free, &DefaultHasher::new());
        }
        let minute = Minute::of(77, &sketch);
        assert_eq!(decode(77, &encode(&minute)), Some(minute));
        let rule = Rule { index: Some(IndexId(3)), kind: RuleKind::ItemThrottled, rules_ms: 5 };
        let key = minute_key(TableId(9), rule, 77, 1);
        assert_eq!(read_key(&key), Some((rule_prefix(TableId(9), rule).as_slice(), 77)));
        assert_eq!(place_of(&key), Some((TableId(9), Some(IndexId(3)))));
    }
}
