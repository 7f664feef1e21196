//! Throughput settings of tables and indexes, as a client asks for them.

use super::parts::{OnDemandThroughputParts, ProvisionedThroughputParts, WarmThroughputParts};
use crate::error::Error;
use crate::messages::table;

/// The greatest number of units that is a number of units at all (the service's own bound).
const UNITS_MAX: u64 = 1_000_000_000_000;

/// Provisioned units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    pub read_units: u64,
    pub write_units: u64,
}

impl Throughput {
    pub(super) fn sense(parts: &ProvisionedThroughputParts) -> Result<Self, Error> {
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

/// Ceilings of on-demand capacity; -1 takes one away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDemandThroughput {
    pub read_units_max: Option<i64>,
    pub write_units_max: Option<i64>,
}

impl OnDemandThroughput {
    /// `place` is `table` or `index: NAME`, for the message.
    pub(super) fn sense(parts: &OnDemandThroughputParts, place: &str) -> Result<Self, Error> {
        for (units, name) in [
            (parts.max_read_request_units, "MaxReadRequestUnits"),
            (parts.max_write_request_units, "MaxWriteRequestUnits"),
        ] {
            if units.is_some_and(|units| units < 1 && units != -1) {
                return Err(Error::validation(table::on_demand_out_of_range(name, place)));
            }
        }
        Ok(Self {
            read_units_max: parts.max_read_request_units,
            write_units_max: parts.max_write_request_units,
        })
    }
}

/// What a table or index shall be able to take at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmThroughput {
    pub read_units: Option<u64>,
    pub write_units: Option<u64>,
}

impl WarmThroughput {
    pub(super) fn sense(parts: &WarmThroughputParts) -> Self {
        let units = |units: Option<i64>| units.and_then(|units| u64::try_from(units).ok());
        Self {
            read_units: units(parts.read_units_per_second),
            write_units: units(parts.write_units_per_second),
        }
    }
}
