//! Throughput settings of tables and indexes, as a client asks for them.

use super::parts::{OnDemandThroughputParts, ProvisionedThroughputParts, WarmThroughputParts};
use crate::error::Error;
use crate::messages::table;

/// The greatest number of units that is a number of units at all (the service's own bound).
const UNITS_MAX: u64 = 1_000_000_000_000;
/// What every new on-demand table or index can take at once (developer guide: on-demand capacity mode).
const INITIAL_ON_DEMAND: Throughput = Throughput { read_units: 12_000, write_units: 4_000 };
/// The ceiling that takes a ceiling away (API reference: `OnDemandThroughput`).
const TAKE_AWAY: i64 = -1;

/// Provisioned units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// Read capacity units per second.
    pub read_units: u64,
    /// Write capacity units per second.
    pub write_units: u64,
}

impl Throughput {
    pub(super) fn validate(parts: &ProvisionedThroughputParts) -> Result<Self, Error> {
        Ok(Self {
            read_units: bounded(parts.read_capacity_units, "ReadCapacityUnits")?,
            write_units: bounded(parts.write_capacity_units, "WriteCapacityUnits")?,
        })
    }
}

fn bounded(units: i64, name: &str) -> Result<u64, Error> {
    u64::try_from(units)
        .ok()
        .filter(|units| *units <= UNITS_MAX)
        .ok_or_else(|| Error::validation(table::units_out_of_bounds(units, name)))
}

/// Ceilings of on-demand capacity; in an update -1 takes one away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDemandThroughput {
    /// Read units per second at most; absent: not mentioned.
    pub read_units_max: Option<i64>,
    /// Write units per second at most; absent: not mentioned.
    pub write_units_max: Option<i64>,
}

impl OnDemandThroughput {
    /// Ceilings of a new table or index. `place` is `table` or `index : NAME`, for the message.
    pub(super) fn sense_new(parts: &OnDemandThroughputParts, place: &str) -> Result<Self, Error> {
        Self::validate(parts, place, |units| units >= 1)
    }

    /// Ceilings of a table or index that exists.
    pub(super) fn sense_change(parts: &OnDemandThroughputParts, place: &str) -> Result<Self, Error> {
        Self::validate(parts, place, |units| units >= 1 || units == TAKE_AWAY)
    }

    fn validate(
        parts: &OnDemandThroughputParts,
        place: &str,
        is_allowed: impl Fn(i64) -> bool,
    ) -> Result<Self, Error> {
        let asked = Self {
            read_units_max: parts.max_read_request_units,
            write_units_max: parts.max_write_request_units,
        };
        match asked.named().find(|(units, _)| !is_allowed(*units)) {
            Some((_, name)) => Err(Error::validation(table::on_demand_out_of_range(name, place))),
            None => Ok(asked),
        }
    }

    /// What was asked for, each with its member's name.
    pub fn named(self) -> impl Iterator<Item = (i64, &'static str)> {
        let read = self.read_units_max.map(|units| (units, "MaxReadRequestUnits"));
        read.into_iter().chain(self.write_units_max.map(|units| (units, "MaxWriteRequestUnits")))
    }
}

/// What a table or index shall be able to take at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmThroughput {
    /// Read units per second; absent: not mentioned.
    pub read_units: Option<u64>,
    /// Write units per second; absent: not mentioned.
    pub write_units: Option<u64>,
}

impl WarmThroughput {
    /// Of a new table or index: no less than what it can take anyway; `units` are its provisioned ones, if any.
    pub(super) fn sense_new(
        parts: &WarmThroughputParts,
        units: Option<Throughput>,
        place: &str,
    ) -> Result<Self, Error> {
        let asked = Self::validate(parts);
        let floor = units.unwrap_or(INITIAL_ON_DEMAND);
        for (warm, least, name, unit) in [
            (asked.read_units, floor.read_units, "ReadUnitsPerSecond", "ReadCapacityUnits"),
            (asked.write_units, floor.write_units, "WriteUnitsPerSecond", "WriteCapacityUnits"),
        ] {
            if warm.is_some_and(|warm| warm < least) {
                return Err(Error::validation(table::invalid(match units {
                    None => table::warm_below_initial(name, place),
                    Some(_) => table::warm_below_provisioned(name, place, unit),
                })));
            }
        }
        Ok(asked)
    }

    /// What was asked for, each with its member's name.
    pub fn named(self) -> impl Iterator<Item = (u64, &'static str)> {
        let read = self.read_units.map(|units| (units, "ReadUnitsPerSecond"));
        read.into_iter().chain(self.write_units.map(|units| (units, "WriteUnitsPerSecond")))
    }

    pub(super) fn validate(parts: &WarmThroughputParts) -> Self {
        let units = |units: Option<i64>| units.and_then(|units| u64::try_from(units).ok());
        Self {
            read_units: units(parts.read_units_per_second),
            write_units: units(parts.write_units_per_second),
        }
    }
}
