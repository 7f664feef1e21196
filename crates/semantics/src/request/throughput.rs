//! Throughput settings of tables and indexes in requests.

use super::parts::{OnDemandThroughputParts, ProvisionedThroughputParts, WarmThroughputParts};
use crate::error::Error;
use crate::limits::{INITIAL_ON_DEMAND_READ_UNITS, INITIAL_ON_DEMAND_WRITE_UNITS, REQUESTED_UNITS_MAX};
use crate::messages::table;

/// The initial throughput of an on-demand table or index.
const INITIAL_ON_DEMAND: Throughput =
    Throughput { read_units: INITIAL_ON_DEMAND_READ_UNITS, write_units: INITIAL_ON_DEMAND_WRITE_UNITS };
/// The value that removes a ceiling (API reference: `OnDemandThroughput`).
const NO_CEILING: i64 = -1;

/// Provisioned capacity of a table or index.
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
        .filter(|units| *units <= REQUESTED_UNITS_MAX)
        .ok_or_else(|| Error::validation(table::units_out_of_bounds(units, name)))
}

/// Ceilings of on-demand capacity. In an update, -1 removes a ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDemandThroughput {
    /// Read units per second at most; absent: not mentioned.
    pub read_units_max: Option<i64>,
    /// Write units per second at most; absent: not mentioned.
    pub write_units_max: Option<i64>,
}

impl OnDemandThroughput {
    /// Ceilings of a new table or index. `place` is `table` or `index : NAME`, as the message has it.
    pub(super) fn validate_new(parts: &OnDemandThroughputParts, place: &str) -> Result<Self, Error> {
        Self::validate(parts, place, |units| units >= 1)
    }

    /// Ceilings of an existing table or index. `place` is as in [`Self::validate_new`].
    pub(super) fn validate_change(parts: &OnDemandThroughputParts, place: &str) -> Result<Self, Error> {
        Self::validate(parts, place, |units| units >= 1 || units == NO_CEILING)
    }

    /// A replica's own ceiling of reads; -1 gives it the group's again.
    pub(super) fn validate_read_ceiling(units: Option<i64>, place: &str) -> Result<Option<i64>, Error> {
        let parts = OnDemandThroughputParts { max_read_request_units: units, max_write_request_units: None };
        Self::validate_change(&parts, place).map(|asked| asked.read_units_max)
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

    /// The members that the request removes.
    #[must_use]
    pub fn removed(self) -> Self {
        assert!(self.named().all(|(units, _)| units >= 1 || units == NO_CEILING), "ceilings are validated");
        let only_removed = |units: Option<i64>| units.filter(|units| *units == NO_CEILING);
        Self {
            read_units_max: only_removed(self.read_units_max),
            write_units_max: only_removed(self.write_units_max),
        }
    }

    /// The ceilings that the request has, each with its member's name.
    pub fn named(self) -> impl Iterator<Item = (i64, &'static str)> {
        let read = self.read_units_max.map(|units| (units, "MaxReadRequestUnits"));
        read.into_iter().chain(self.write_units_max.map(|units| (units, "MaxWriteRequestUnits")))
    }
}

/// Warm throughput: the load that a table or index is to sustain at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmThroughput {
    /// Read units per second; absent: not mentioned.
    pub read_units: Option<u64>,
    /// Write units per second; absent: not mentioned.
    pub write_units: Option<u64>,
}

impl WarmThroughput {
    /// Warm throughput of a new table or index, at least its initial throughput. `units` are its provisioned
    /// units.
    pub(super) fn validate_new(
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

    /// The units that the request has, each with its member's name.
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
