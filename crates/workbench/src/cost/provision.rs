//! The provisioned capacity of a table: the units that its `billing` declares for the table and each of its
//! global indexes, in use or not, and whether they suffice.

use super::workload::UNIT_MICRO_HALVES;
use super::{Demand, Target, Throughput};
use keywright_model::DeclaredCapacity;
use keywright_semantics::share::{ALL_PPM, PPM_PER_PERCENT};

/// The provisioned units of a table or a global index, in millionths of half units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// The table or index.
    pub target: Target,
    /// Read units.
    pub read: Provision,
    /// Write units.
    pub write: Provision,
    /// What they cost each month.
    pub monthly: Throughput,
    /// The part of the cost for units that no pattern uses.
    pub unused: Throughput,
}

/// Read or write units, in millionths of half units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provision {
    /// The average that is paid for.
    pub provided: u128,
    /// The maximum: the same for fixed units, the upper bound for scaled ones.
    pub most: u128,
    /// The patterns' average consumption.
    pub average: u128,
    /// The patterns' consumption at the peak.
    pub peak: u128,
}

impl Provision {
    /// Whether the patterns consume more than the maximum, if only at the peak.
    pub fn is_short(&self) -> bool {
        self.peak.max(self.average) > self.most
    }

    /// Whole units that hold the average.
    pub fn average_units(&self) -> u64 {
        whole(self.average)
    }

    /// Whole units that hold the peak.
    pub fn peak_units(&self) -> u64 {
        whole(self.peak.max(self.average))
    }

    /// The maximum in whole units.
    pub fn most_units(&self) -> u64 {
        whole(self.most)
    }
}

fn whole(micro_halves: u128) -> u64 {
    u64::try_from(micro_halves.div_ceil(UNIT_MICRO_HALVES)).unwrap_or(u64::MAX)
}

/// The read and write units of a table or global index; `None` for on-demand billing.
pub(super) fn provisions(billing: &DeclaredCapacity, demand: &Demand) -> Option<(Provision, Provision)> {
    let DeclaredCapacity::Provisioned { read_units, write_units, autoscale } = billing else { return None };
    let of = |units: u64, average: u128, peak: u128| {
        let units_of = |number: u64| u128::from(number) * UNIT_MICRO_HALVES;
        let Some(scale) = autoscale else {
            return Provision { provided: units_of(units), most: units_of(units), average, peak };
        };
        let target = u128::from((scale.target_percent * PPM_PER_PERCENT).max(1));
        let followed = (average * u128::from(ALL_PPM)).div_ceil(target);
        let (least, most) = (units_of(scale.min), units_of(scale.max.max(scale.min)));
        let provided = followed.clamp(least, most);
        assert!(provided <= most, "no more is paid for than scaling provides");
        Provision { provided, most, average, peak }
    };
    Some((
        of(*read_units, demand.average.read_micro_halves, demand.peak.read_micro_halves),
        of(*write_units, demand.average.write_micro_halves, demand.peak.write_micro_halves),
    ))
}
