//! What is added up in memory within one minute: cells, a histogram of durations, and the figures of one
//! table.
//!
//! Values are thousandths of the metric's unit. It knows neither the names of metrics nor rows of the store.

use keywright_semantics::capacity::{HALVES_PER_UNIT, HalfUnits, Usage};
use keywright_semantics::throttle::{Direction, Limit};

use crate::support::layout::IndexId;

/// Values are kept in this part of a unit.
pub(crate) const PER_UNIT: u64 = 1000;
const PER_HALF_UNIT: u64 = PER_UNIT / HALVES_PER_UNIT;

/// The values of one metric in one stretch of time.
///
/// Invariant: without values all members are zero; otherwise `min <= max` and `max <= sum`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The values added up, in thousandths.
    pub sum: u64,
    /// The number of values.
    pub count: u64,
    /// The smallest value, in thousandths.
    pub min: u64,
    /// The largest value, in thousandths.
    pub max: u64,
}

impl Cell {
    /// Adds one value, in thousandths.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value);
        self.count += 1;
    }

    /// Adds several values of one.
    pub(crate) fn add_events(&mut self, events: u64) {
        if events > 0 {
            self.merge(&Self {
                sum: events.saturating_mul(PER_UNIT),
                count: events,
                min: PER_UNIT,
                max: PER_UNIT,
            });
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.count = self.count.saturating_add(other.count);
        assert!(self.min <= self.max, "the smallest value is not above the largest");
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Classes per doubling of a duration: percentiles are exact within an eighth.
const PER_DOUBLING: usize = 8;
const PER_DOUBLING_BITS: u32 = 3;
/// Doublings above eight microseconds: the last class begins after four minutes.
const DOUBLINGS: usize = 25;
/// Durations below eight microseconds have a class each.
const CLASSES: usize = PER_DOUBLING * (DOUBLINGS + 1);

/// How many values fell into each class of size, in thousandths of the unit. Of thousands of tables most have
/// few values in a minute, so only classes with values take memory.
///
/// Invariant: `filled` is in the order of classes, each once, and none is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    filled: Vec<(u8, u32)>,
}

const _: () = assert!(CLASSES <= 256, "a class is one byte");

impl Histogram {
    fn class(value: u64) -> usize {
        let Some(bits) = value.checked_ilog2().filter(|bits| *bits >= PER_DOUBLING_BITS) else {
            return usize::try_from(value).unwrap_or_default();
        };
        let shift = bits - PER_DOUBLING_BITS;
        let within = usize::try_from(value >> shift).unwrap_or_default() - PER_DOUBLING;
        let doubling = usize::try_from(shift).unwrap_or_default() + 1;
        (doubling * PER_DOUBLING + within).min(CLASSES - 1)
    }

    /// The smallest value of a class.
    pub(crate) fn floor(class: usize) -> u64 {
        let (doubling, within) = (class / PER_DOUBLING, class % PER_DOUBLING);
        let within = u64::try_from(within).unwrap_or_default();
        match doubling.checked_sub(1) {
            None => within,
            Some(shift) => (within + (1 << PER_DOUBLING_BITS)) << shift,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.add_class(Self::class(value), 1);
    }

    /// Adds to one class what a row says of it.
    #[inline]
    pub(crate) fn add_class(&mut self, class: usize, values: u32) {
        let Some(class) = u8::try_from(class).ok().filter(|_| class < CLASSES && values > 0) else { return };
        match self.filled.binary_search_by_key(&class, |(filled, _)| *filled) {
            Ok(place) => {
                if let Some((_, count)) = self.filled.get_mut(place) {
                    *count = count.saturating_add(values);
                }
            }
            Err(place) => self.filled.insert(place, (class, values)),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (class, values) in other.filled() {
            self.add_class(class, values);
        }
    }

    /// The classes that have values, with their numbers.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (usize, u32)> {
        self.filled.iter().map(|(class, values)| (usize::from(*class), *values))
    }
}

/// The capacity and throttles of a table or one of its global indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arm {
    /// Consumed units, by direction.
    pub consumed: [Cell; Direction::ALL.len()],
    /// Refused items, by direction and limit.
    pub throttled: [[u64; Limit::ALL.len()]; Direction::ALL.len()],
}

impl Arm {
    #[inline]
    pub(crate) fn add_consumed(&mut self, usage: Usage) {
        let [read, write] = &mut self.consumed;
        if usage.read > HalfUnits(0) {
            read.add(usage.read.0.saturating_mul(PER_HALF_UNIT));
        }
        if usage.write > HalfUnits(0) {
            write.add(usage.write.0.saturating_mul(PER_HALF_UNIT));
        }
    }

    pub(crate) fn add_throttled(&mut self, limit: Limit, direction: Direction) {
        let by_limit = self.throttled.get_mut(direction.place());
        let count = by_limit.and_then(|limits| limits.get_mut(limit.place()));
        *count.expect("every limit and direction has a place") += 1;
    }
}

/// The figures of one table in one minute.
#[derive(Clone, Debug)]
pub(crate) struct TableFigures {
    /// Minutes since 1970.
    pub minute: u64,
    pub account: String,
    pub region: String,
    pub name: String,
    pub base: Arm,
    /// Global indexes that were touched, with their names.
    pub indexes: Vec<(IndexId, String, Arm)>,
    pub operations: Vec<(&'static str, Facet, Box<OperationFigures>)>,
    pub events: TableEvents,
    /// How long changes took to each replica, by its region: thousandths of a millisecond.
    pub replication: Vec<(String, Cell)>,
}

/// What tells figures of one operation apart, in addition to the operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Facet {
    /// Nothing.
    #[default]
    Plain,
    /// The stream's label.
    Stream(String),
    /// Whether statements read or write.
    Type(&'static str),
    /// The kind of a statement.
    Verb(&'static str),
}

/// The figures of one operation on one table in one minute.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationFigures {
    /// Durations of successful requests: thousandths of a millisecond.
    pub latency: Cell,
    pub latencies: Histogram,
    pub returned_items: Cell,
    pub returned_bytes: Cell,
    pub returned_records: Cell,
    pub throttled: u64,
    pub system_errors: u64,
}

impl OperationFigures {
    #[inline]
    pub(crate) fn succeeded(&mut self, elapsed_us: u64) {
        self.latency.add(elapsed_us);
        self.latencies.add(elapsed_us);
    }
}

/// Numbers of events on one table in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableEvents {
    pub failed_conditions: u64,
    pub conflicts: u64,
    pub expired_items: u64,
    pub user_errors: u64,
}

impl TableFigures {
    /// A change took so long until the replica in this region had it.
    pub(crate) fn replicated(&mut self, region: &str, latency_ms: u64) {
        let latency = latency_ms.saturating_mul(PER_UNIT);
        if let Some((_, cell)) = self.replication.iter_mut().find(|(known, _)| known == region) {
            cell.add(latency);
        } else {
            let mut cell = Cell::default();
            cell.add(latency);
            self.replication.push((region.to_owned(), cell));
        }
    }

    /// The figures of one operation.
    #[inline]
    pub(crate) fn operation(&mut self, name: &'static str, facet: &Facet) -> &mut OperationFigures {
        let known = self.operations.iter().position(|(known, other, _)| *known == name && other == facet);
        let place = known.unwrap_or_else(|| {
            self.operations.push((name, facet.clone(), Box::default()));
            self.operations.len() - 1
        });
        let found = self.operations.get_mut(place);
        found.map(|(_, _, figures)| &mut **figures).expect("the operation was found or added")
    }
}
