//! The traffic profile: when the simulation begins, how long it runs, what capacity each table has, and how
//! often each pattern runs on which keys.
//!
//! It owns the file format and its faults. It does not know how requests are made of it.

mod read;
mod units;

pub use read::parse;
pub(super) use units::minute_text;

use std::collections::BTreeMap;

use keywright_model::{At, Skew};
use keywright_semantics::share::MICRO;

/// Seconds in a day.
pub(super) const DAY_SECONDS: u64 = 86_400;
const HOUR_SECONDS: u64 = 3600;
const PERCENT: u64 = 100;

/// A profile as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Milliseconds since 1970.
    pub start_ms: u64,
    /// How long it runs.
    pub length_s: u64,
    /// The seed of all random choices.
    pub seed: u64,
    /// How requests follow each other.
    pub arrivals: Arrivals,
    /// Further attempts after a throttled one.
    pub retries: u32,
    /// Seconds of its provisioned units that each table has saved at the start.
    pub saved_s: u64,
    /// Tables that differ from the model, by name.
    pub tables: BTreeMap<String, TableProfile>,
    /// Patterns that differ from the model, by id.
    pub patterns: BTreeMap<String, PatternProfile>,
    /// What must hold.
    pub expect: Expect,
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Even,
    /// At random, independent of each other.
    Poisson,
}

/// Read and write units a second; what is left out is as before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Read units.
    pub read: Option<u64>,
    /// Write units.
    pub write: Option<u64>,
}

/// A table's billing mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableMode {
    /// Per request.
    OnDemand,
    /// Units that are paid by the hour.
    Provisioned,
}

/// A table's capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableProfile {
    /// Else the model's.
    pub mode: Option<TableMode>,
    /// Provisioned units.
    pub units: Units,
    /// Warm throughput.
    pub warm: Units,
    /// The highest minute that an on-demand table has served before the start.
    pub peak: Units,
    /// The maximum of an on-demand table.
    pub max: Units,
    /// Provisioned units of global indexes; else the table's.
    pub indexes: BTreeMap<String, Units>,
    /// Changes of provisioned units, in the order of their times.
    pub changes: Vec<Change>,
    /// How the table and its global indexes scale; else as the model says.
    pub scaling: Option<Scaling>,
}

/// Target tracking of a table and its global indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// The share of the provisioned units that is to be used, in percent.
    pub target_percent: u64,
    /// Bounds of the read units; `None` if they do not scale.
    pub read: Option<Bounds>,
    /// Bounds of the write units; `None` if they do not scale.
    pub write: Option<Bounds>,
}

/// The least and the most units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// A change of provisioned units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Seconds after the start.
    pub at_s: u64,
    /// The table's units.
    pub units: Units,
}

/// How often a pattern runs, and on which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternProfile {
    /// Where it stands.
    pub at: At,
    /// The rate over time, in order; empty for the model's average rate.
    pub points: Vec<Point>,
    /// The rate of each hour of the day, in percent.
    pub day: Option<Vec<u64>>,
    /// How the requests spread over keys; else as the model says.
    pub keys: Option<Keys>,
    /// The attribute whose values they spread over; else those of the partition key.
    pub by: Option<String>,
    /// Its different values; else as the model says.
    pub values: Option<u64>,
}

/// A rate from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Seconds after the start.
    pub at_s: u64,
    /// Millionths of requests a second.
    pub rate_micro: u64,
    /// Whether the rate changes evenly from the point before, or at once.
    pub is_linear: bool,
}

/// How requests spread over keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// As one of the model's skews.
    Skewed(Skew),
    /// This share, in millionths, falls on so many keys, and the rest on all others.
    Hot {
        /// Millionths.
        share_ppm: u64,
        /// The number of hot keys.
        keys: u64,
    },
    /// One collection whose sort key grows with each request.
    Sequence,
}

/// What must hold, else the command fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The most refusals in one minute.
    pub throttled_per_minute: Option<u64>,
    /// The longest stretch of minutes with refusals.
    pub throttled_minutes: Option<u64>,
    /// The most requests that are given up.
    pub lost: Option<u64>,
    /// The highest cost of a month of this traffic, in nano-dollars.
    pub monthly_nanos: Option<i128>,
}

impl PatternProfile {
    /// The rate at a second after the start, in millionths a second. `otherwise` is the model's.
    pub(super) fn rate_micro(&self, second: u64, start_ms: u64, otherwise: u64) -> u64 {
        let rate = if self.points.is_empty() { otherwise } else { self.of_points(second) };
        let Some(day) = &self.day else { return rate };
        let in_day = (start_ms / 1000).saturating_add(second) % DAY_SECONDS;
        let hour = usize::try_from(in_day / HOUR_SECONDS).unwrap_or(0);
        day.get(hour).map_or(rate, |percent| rate.saturating_mul(*percent) / PERCENT)
    }

    fn of_points(&self, second: u64) -> u64 {
        let next = self.points.partition_point(|point| point.at_s <= second);
        let Some(from) = next.checked_sub(1).and_then(|place| self.points.get(place)) else { return 0 };
        let Some(to) = self.points.get(next).filter(|to| to.is_linear) else { return from.rate_micro };
        let (passed, whole) = (u128::from(second - from.at_s), u128::from(to.at_s - from.at_s).max(1));
        assert!(passed <= whole, "points are in the order of their times");
        let (low, high) = (u128::from(from.rate_micro), u128::from(to.rate_micro));
        let rate = (low * (whole - passed) + high * passed) / whole;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

/// The highest rate that a profile may have, in millionths a second.
const RATE_MICRO_MAX: u64 = 1_000_000 * MICRO;

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(points: &[(u64, u64, bool)]) -> PatternProfile {
        let point = |(at_s, rate_micro, is_linear): &(u64, u64, bool)| Point {
            at_s: *at_s,
            rate_micro: *rate_micro,
            is_linear: *is_linear,
        };
        PatternProfile {
            at: At::default(),
            points: points.iter().map(point).collect(),
            day: None,
            keys: None,
            by: None,
            values: None,
        }
    }

    #[test]
    fn rates_step_or_change_evenly() {
        let own = pattern(&[(10, 100, false), (20, 300, true), (30, 50, false)]);
        assert_eq!(
            [0, 9, 10, 15, 20, 29, 30, 99].map(|second| own.rate_micro(second, 0, 7)),
            [0, 0, 100, 200, 300, 300, 50, 50]
        );
        assert_eq!(pattern(&[]).rate_micro(5, 0, 7), 7);
    }

    #[test]
    fn hours_of_the_day_scale_the_rate() {
        let mut own = pattern(&[(0, 1000, false)]);
        own.day = Some((0..24).map(|hour| hour * 10).collect());
        assert_eq!([0, 3600, 90_000].map(|second| own.rate_micro(second, 3_600_000, 0)), [100, 200, 200]);
    }
}
