//! The rows of metrics in the store.
//!
//! `space | kind | series hash | minute or hour | process`: the points of one series are one contiguous range
//! in the order of time. Each process writes rows of its own, and readers add them up. A row per series says
//! which series a hash stands for.

use bytes::Bytes;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::monitoring::unit::Unit;
use serde::{Deserialize, Serialize};

use super::figures::{Cell, Histogram};
use super::series::{Place, Series};
use super::tally::{REPORTED_CLASSES_MAX, Reported, Tally, ValueClass};
use crate::support::layout::Space;

/// The first byte of a row: its format. What the engine counts itself.
const FORMAT: u8 = 1;
/// What clients report: other values, and series with a namespace.
const REPORTED_FORMAT: u8 = 2;

/// The hash of a series: account, region, metric and dimensions, and before them the namespace of a client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SeriesHash(pub [u8; 16]);

impl SeriesHash {
    pub(crate) fn of(series: &Series) -> Self {
        let place = [&series.place.account, &series.place.region, &series.metric];
        let dimensions = series.dimensions.iter().flat_map(|(name, value)| [name, value]);
        // Of another type than the other parts, so that no series of a client has the parts of one of ours.
        let namespace = series.client_namespace().map(|namespace| KeyValueRef::B(namespace.as_bytes()));
        let parts = place.into_iter().chain(dimensions).map(|text| KeyValueRef::S(text));
        Self(partition_hash(namespace.into_iter().chain(parts)).0)
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

#[derive(Serialize, Deserialize)]
struct ReportedRecord {
    unit: u8,
    sum: f64,
    count: f64,
    min: f64,
    max: f64,
    classes: Option<Vec<(u16, f64)>>,
}

fn encode(format: u8, record: &impl Serialize) -> Bytes {
    let bytes = postcard::to_extend(record, vec![format]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

/// The row of a point.
pub(crate) fn encode_point(tally: &Tally) -> Bytes {
    match tally {
        Tally::Counted(cell, histogram) => {
            let classes = histogram.iter().flat_map(|histogram| histogram.filled());
            let classes = classes.map(|(class, values)| (u16::try_from(class).unwrap_or(u16::MAX), values));
            let record = PointRecord {
                sum: cell.sum,
                count: cell.count,
                min: cell.min,
                max: cell.max,
                classes: classes.collect(),
            };
            encode(FORMAT, &record)
        }
        Tally::Reported(units) => {
            let record = |(unit, reported): (&Unit, &Reported)| ReportedRecord {
                unit: unit.stored(),
                sum: reported.sum,
                count: reported.count,
                min: reported.min,
                max: reported.max,
                classes: reported
                    .classes
                    .as_ref()
                    .map(|classes| classes.iter().map(|(class, count)| (class.0, *count)).collect()),
            };
            let records: Vec<ReportedRecord> = units.iter().map(record).collect();
            assert!(!records.is_empty(), "a point has values");
            encode(REPORTED_FORMAT, &records)
        }
    }
}

/// A point; `None` for a row of another format.
pub(crate) fn decode_point(row: &[u8]) -> Option<Tally> {
    let (format, record) = row.split_first()?;
    match *format {
        FORMAT => {
            let record: PointRecord = postcard::from_bytes(record).ok()?;
            let cell = Cell { sum: record.sum, count: record.count, min: record.min, max: record.max };
            let mut histogram: Option<Box<Histogram>> = None;
            for (class, values) in record.classes {
                histogram.get_or_insert_default().add_class(usize::from(class), values);
            }
            Some(Tally::Counted(cell, histogram))
        }
        REPORTED_FORMAT => {
            let records: Vec<ReportedRecord> = postcard::from_bytes(record).ok()?;
            Some(Tally::Reported(records.into_iter().map(reported).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn reported(record: ReportedRecord) -> Option<(Unit, Reported)> {
    let ReportedRecord { unit, sum, count, min, max, classes } = record;
    let is_whole = count > 0.0 && classes.as_ref().is_none_or(|all| all.len() <= REPORTED_CLASSES_MAX);
    let classes =
        classes.map(|all| all.into_iter().map(|(class, count)| (ValueClass(class), count)).collect());
    let reported = Reported { sum, count, min, max, classes };
    is_whole.then_some((Unit::from_stored(unit)?, reported))
}

#[derive(Serialize, Deserialize)]
struct SeriesRecord {
    account: String,
    region: String,
    metric: String,
    dimensions: Vec<(String, String)>,
    last_hour: u64,
}

#[derive(Serialize, Deserialize)]
struct ClientSeriesRecord {
    namespace: String,
    series: SeriesRecord,
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
    match series.client_namespace() {
        None => encode(FORMAT, &record),
        Some(namespace) => {
            encode(REPORTED_FORMAT, &ClientSeriesRecord { namespace: namespace.to_owned(), series: record })
        }
    }
}

/// A series and the last hour in which it had values.
pub(crate) fn decode_series(row: &[u8]) -> Option<(Series, u64)> {
    let (format, record) = row.split_first()?;
    let (namespace, record) = match *format {
        FORMAT => (None, postcard::from_bytes(record).ok()?),
        REPORTED_FORMAT => {
            let ClientSeriesRecord { namespace, series } = postcard::from_bytes(record).ok()?;
            (Some(namespace), series)
        }
        _ => return None,
    };
    let SeriesRecord { account, region, metric, dimensions, last_hour } = record;
    let place = Place { account, region };
    Some((Series::named(&place, namespace.as_deref(), &metric, dimensions), last_hour))
}

/// Whether a row of the directory names a series of a client.
pub(crate) fn names_clients_series(row: &[u8]) -> bool {
    row.first() == Some(&REPORTED_FORMAT)
}
