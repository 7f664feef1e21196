//! The rows of metrics in the store.
//!
//! `space | kind | series hash | minute or hour | process`: the points of one series are one contiguous range
//! in the order of time. Each process writes rows of its own, and readers add them up. A row per series says
//! which series a hash stands for.

use bytes::Bytes;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use serde::{Deserialize, Serialize};

use super::figures::{Cell, Histogram};
use super::series::{Place, Series};
use crate::support::layout::Space;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// The hash of a series: account, region, metric and dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SeriesHash(pub [u8; 16]);

impl SeriesHash {
    pub(crate) fn of(series: &Series) -> Self {
        let place = [&series.place.account, &series.place.region, &series.metric];
        let dimensions = series.dimensions.iter().flat_map(|(name, value)| [name, value]);
        Self(partition_hash(place.into_iter().chain(dimensions).map(|text| KeyValueRef::S(text))).0)
    }
}

/// The time that one point covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    Minute,
    Hour,
}

impl Grain {
    const fn kind(self) -> u8 {
        match self {
            Self::Minute => 1,
            Self::Hour => 2,
        }
    }
}

const DIRECTORY_KIND: u8 = 0;

/// The prefix of the rows that name series.
pub(crate) fn directory_prefix() -> Vec<u8> {
    vec![Space::Metrics.byte(), DIRECTORY_KIND]
}

pub(crate) fn directory_key(series: SeriesHash) -> Bytes {
    let mut key = directory_prefix();
    key.extend_from_slice(&series.0);
    key.into()
}

/// The hash in the key of a row that names a series.
pub(crate) fn read_directory_key(key: &[u8]) -> Option<SeriesHash> {
    key.get(2..)?.try_into().ok().map(SeriesHash)
}

/// The start of all points of a series at or after a time, in minutes or hours.
pub(crate) fn point_prefix(grain: Grain, series: SeriesHash, time: u64) -> Vec<u8> {
    let mut key = vec![Space::Metrics.byte(), grain.kind()];
    key.extend_from_slice(&series.0);
    key.extend_from_slice(&time.to_be_bytes());
    key
}

/// The key of what one process counted; hours belong to no process.
pub(crate) fn point_key(grain: Grain, series: SeriesHash, time: u64, process: u128) -> Bytes {
    let mut key = point_prefix(grain, series, time);
    key.extend_from_slice(&process.to_be_bytes());
    key.into()
}

/// The minute or hour in the key of a point.
pub(crate) fn read_time(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.get(18..)?.first_chunk::<8>()?))
}

#[derive(Serialize, Deserialize)]
struct PointRecord {
    sum: u64,
    count: u64,
    min: u64,
    max: u64,
    /// Classes with their numbers of values; empty for metrics without percentiles.
    classes: Vec<(u16, u32)>,
}

pub(crate) fn encode_point(cell: &Cell, histogram: Option<&Histogram>) -> Bytes {
    let classes = histogram.into_iter().flat_map(Histogram::filled);
    let classes = classes.map(|(class, values)| (u16::try_from(class).unwrap_or(u16::MAX), values));
    let record = PointRecord {
        sum: cell.sum,
        count: cell.count,
        min: cell.min,
        max: cell.max,
        classes: classes.collect(),
    };
    let bytes = postcard::to_extend(&record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

/// A point; `None` for a row of another format.
pub(crate) fn decode_point(row: &[u8]) -> Option<(Cell, Option<Box<Histogram>>)> {
    let record: PointRecord = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    let cell = Cell { sum: record.sum, count: record.count, min: record.min, max: record.max };
    let mut histogram: Option<Box<Histogram>> = None;
    for (class, values) in record.classes {
        histogram.get_or_insert_default().add_class(usize::from(class), values);
    }
    Some((cell, histogram))
}

#[derive(Serialize, Deserialize)]
struct SeriesRecord {
    account: String,
    region: String,
    metric: String,
    dimensions: Vec<(String, String)>,
    last_hour: u64,
}

/// The row of a series that had values in this hour.
pub(crate) fn encode_series(series: &Series, last_hour: u64) -> Bytes {
    let record = SeriesRecord {
        account: series.place.account.clone(),
        region: series.place.region.clone(),
        metric: series.metric.clone(),
        dimensions: series.dimensions.clone(),
        last_hour,
    };
    let bytes = postcard::to_extend(&record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

/// A series and the last hour in which it had values.
pub(crate) fn decode_series(row: &[u8]) -> Option<(Series, u64)> {
    let record: SeriesRecord = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    let place = Place { account: record.account, region: record.region };
    Some((Series { place, metric: record.metric, dimensions: record.dimensions }, record.last_hour))
}
