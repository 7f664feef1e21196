//! The cost of a whole table in each billing mode and class, and the break-even points between them.
//!
//! Average and peak have one meaning everywhere. On-demand and scaled units follow the average; fixed units
//! must hold the peak. Provisioned capacity has headroom: only the share from the settings is in use, on
//! average for scaled units and at the peak for fixed ones. A table or index has at least one unit.

use super::{Allowance, Costing, Load, Missing, Mode};
use crate::price::{Item, Money};
use keywright_semantics::schema::TableClass;
use keywright_semantics::share::{ALL_PPM, MICRO_WIDE};

/// Millionths of half units in a unit.
pub(super) const UNIT_MICRO_HALVES: u128 = 2_000_000;
/// Reserved units are sold in blocks of this size (developer guide: reserved capacity), which all provisioned
/// tables of an account share in a region.
pub(super) const RESERVED_BLOCK_UNITS: u128 = 100;

/// The load per second on one table, its local indexes included, or on one global index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// On average.
    pub average: Load,
    /// At the peak.
    pub peak: Load,
    /// Whether its writes are replicated: true for a table with replicas, but not for its global indexes.
    pub replicated: bool,
}

/// The load on a table and its indexes, and their storage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workload {
    /// The table and each global index.
    pub demands: Vec<Demand>,
    /// Bytes stored in one region, indexes included.
    pub bytes: u128,
    /// Regions other than the table's own.
    pub replicas: u32,
    /// The free part in the table's region and then in each of the others, for the Standard class.
    pub free: Vec<Allowance>,
}

/// The break-even points between billing modes and classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakEvens {
    /// Provisioned capacity is cheaper than on-demand if more than this share of it is used, in parts per
    /// million.
    pub provisioned_ppm: u64,
    /// The same for capacity reserved for a year.
    pub one_year_ppm: u64,
    /// The same for capacity reserved for three years.
    pub three_years_ppm: u64,
    /// Standard-IA is cheaper on-demand if more than this is stored.
    pub infrequent_gigabytes: u64,
}

impl Demand {
    /// The load on a replica: the table's writes. Reads of a replica are unknown.
    pub(super) fn unread(&self) -> Self {
        let unread = |load: Load| Load { read_micro_halves: 0, ..load };
        Self { average: unread(self.average), peak: unread(self.peak), ..*self }
    }

    /// The units paid for in a mode.
    fn paid(&self, mode: Mode) -> Load {
        let each = |load: Load, units: fn(u128, u64) -> u128, used_ppm: u64| Load {
            read_micro_halves: units(load.read_micro_halves, used_ppm),
            write_micro_halves: units(load.write_micro_halves, used_ppm),
        };
        match mode {
            Mode::OnDemand => self.average,
            Mode::Autoscaled { used_ppm } => each(self.average, scaled, used_ppm),
            Mode::Provisioned { used_ppm }
            | Mode::ReservedOneYear { used_ppm }
            | Mode::ReservedThreeYears { used_ppm } => each(self.peak, fixed, used_ppm),
        }
    }
}

fn scaled(micro_halves: u128, used_ppm: u64) -> u128 {
    let parts = micro_halves.saturating_mul(u128::from(ALL_PPM));
    parts.div_ceil(u128::from(used_ppm.max(1))).max(UNIT_MICRO_HALVES)
}

fn fixed(micro_halves: u128, used_ppm: u64) -> u128 {
    scaled(micro_halves, used_ppm).div_ceil(UNIT_MICRO_HALVES).saturating_mul(UNIT_MICRO_HALVES)
}

/// The same mode with every unit used.
fn in_full(mode: Mode) -> Mode {
    let used_ppm = ALL_PPM;
    match mode {
        Mode::OnDemand => Mode::OnDemand,
        Mode::Provisioned { .. } => Mode::Provisioned { used_ppm },
        Mode::Autoscaled { .. } => Mode::Autoscaled { used_ppm },
        Mode::ReservedOneYear { .. } => Mode::ReservedOneYear { used_ppm },
        Mode::ReservedThreeYears { .. } => Mode::ReservedThreeYears { used_ppm },
    }
}

impl Costing<'_> {
    /// A month of these units of a table or index, replicated writes at their own price.
    pub fn units(
        &self,
        load: Load,
        replicated: bool,
        class: TableClass,
        mode: Mode,
    ) -> Result<super::Throughput, Missing> {
        let mut cost = self.throughput(load, class, in_full(mode))?;
        if replicated {
            cost.writes = self.replicated(load, class, in_full(mode))?;
        }
        Ok(cost)
    }

    /// A month of a table in a class and mode: units and storage, in all its regions. Replicas have the
    /// table's writes; their reads are unknown, so they have the minimum of provisioned read units.
    pub fn month(&self, workload: &Workload, class: TableClass, mode: Mode) -> Result<Money, Missing> {
        let mut sum = Money::ZERO;
        for region in 0..=workload.replicas {
            let free = usize::try_from(region).ok().and_then(|region| workload.free.get(region));
            let mut free = free.copied().unwrap_or_default();
            let own = |demand: &Demand| if region == 0 { *demand } else { demand.unread() };
            let paid: Vec<(Load, bool)> =
                workload.demands.iter().map(|demand| (own(demand).paid(mode), demand.replicated)).collect();
            sum += self.storage_after(workload.bytes, class, &mut free)?;
            sum += self.of_region(&paid, class, mode)?;
            sum = sum - self.free_units(&paid, class, mode, &mut free)?;
        }
        Ok(sum)
    }

    /// A month of the units of one region.
    fn of_region(&self, paid: &[(Load, bool)], class: TableClass, mode: Mode) -> Result<Money, Missing> {
        let mut sum = Money::ZERO;
        if !matches!(mode, Mode::ReservedOneYear { .. } | Mode::ReservedThreeYears { .. }) {
            for (load, replicated) in paid {
                sum += self.units(*load, *replicated, class, mode)?.total();
            }
            return Ok(sum);
        }
        let mut reserved = Load::default();
        for (load, replicated) in paid {
            // Replicated writes cannot be reserved.
            let written = if *replicated { 0 } else { load.write_micro_halves };
            reserved = reserved.and(Load { write_micro_halves: written, ..*load });
            if *replicated {
                sum += self.replicated(*load, class, in_full(mode))?;
            }
        }
        Ok(sum + self.blocks(reserved, class, mode)?)
    }

    /// A month of reserved units, which are sold in blocks: at least one block; the last block costs at most
    /// what its units would cost by the hour.
    fn blocks(&self, load: Load, class: TableClass, mode: Mode) -> Result<Money, Missing> {
        let block = RESERVED_BLOCK_UNITS * UNIT_MICRO_HALVES;
        let split = |units: u128| match (units / block, units % block) {
            (0, rest) => (u128::from(rest > 0) * block, 0),
            (blocks, rest) => (blocks * block, rest),
        };
        let (reads, more_reads) = split(load.read_micro_halves);
        let (writes, more_writes) = split(load.write_micro_halves);
        let cost = |reads: u128, writes: u128, mode: Mode| {
            let load = Load { read_micro_halves: reads, write_micro_halves: writes };
            self.throughput(load, class, in_full(mode))
        };
        let whole = cost(reads, writes, mode)?;
        let next = cost(block, block, mode)?;
        let hourly = cost(more_reads, more_writes, Mode::Provisioned { used_ppm: ALL_PPM })?;
        Ok(whole.total() + hourly.reads.min(next.reads) + hourly.writes.min(next.writes))
    }

    /// The free part of provisioned units in one region, deducted from the rest of the free tier.
    pub(super) fn free_units(
        &self,
        paid: &[(Load, bool)],
        class: TableClass,
        mode: Mode,
        free: &mut Allowance,
    ) -> Result<Money, Missing> {
        let provisioned = matches!(mode, Mode::Provisioned { .. } | Mode::Autoscaled { .. });
        if class != TableClass::Standard || !provisioned {
            return Ok(Money::ZERO);
        }
        let sum = |units: &dyn Fn(&(Load, bool)) -> u128| paid.iter().map(units).sum::<u128>();
        let reads = sum(&|(load, _)| load.read_micro_halves).min(free.units.read_micro_halves);
        let writes = sum(&|(load, replicated)| if *replicated { 0 } else { load.write_micro_halves });
        let writes = writes.min(free.units.write_micro_halves);
        free.units.read_micro_halves -= reads;
        free.units.write_micro_halves -= writes;
        let load = Load { read_micro_halves: reads, write_micro_halves: writes };
        Ok(self.throughput(load, class, in_full(mode))?.total())
    }

    /// The modes and classes from the cheapest; provisioned units have headroom, so that this share is used.
    /// Reserved capacity exists for the Standard class only.
    pub fn cheapest(
        &self,
        workload: &Workload,
        used_ppm: u64,
    ) -> Result<Vec<(TableClass, Mode, Money)>, Missing> {
        let mut found = Vec::new();
        for class in [TableClass::Standard, TableClass::StandardInfrequentAccess] {
            let mut modes =
                vec![Mode::OnDemand, Mode::Provisioned { used_ppm }, Mode::Autoscaled { used_ppm }];
            if class == TableClass::Standard {
                modes.extend([Mode::ReservedOneYear { used_ppm }, Mode::ReservedThreeYears { used_ppm }]);
            }
            for mode in modes {
                found.push((class, mode, self.month(workload, class, mode)?));
            }
        }
        found.sort_by_key(|(_, _, cost)| *cost);
        Ok(found)
    }

    /// The break-even points for the average load on a table, in all its regions.
    pub fn break_evens(&self, workload: &Workload, class: TableClass) -> Result<BreakEvens, Missing> {
        let standard = self.asked(workload, TableClass::Standard, Mode::OnDemand)?;
        let on_demand = self.asked(workload, class, Mode::OnDemand)?;
        let infrequent = self.asked(workload, TableClass::StandardInfrequentAccess, Mode::OnDemand)?;
        let used_ppm = ALL_PPM;
        let share = |used: Money, of: Money| {
            let of = of.as_nanos().max(1);
            u64::try_from((used.as_nanos() * MICRO_WIDE + of / 2) / of).unwrap_or(u64::MAX)
        };
        let full = |class, mode| self.asked(workload, class, mode);
        let each = self.price(Item::Storage)? - self.price(Item::InfrequentStorage)?;
        let saved = each.times(i128::from(workload.replicas) + 1, 1).as_nanos().max(1);
        let more = (infrequent - standard).as_nanos();
        Ok(BreakEvens {
            provisioned_ppm: share(full(class, Mode::Provisioned { used_ppm })?, on_demand),
            one_year_ppm: share(full(TableClass::Standard, Mode::ReservedOneYear { used_ppm })?, standard),
            three_years_ppm: share(
                full(TableClass::Standard, Mode::ReservedThreeYears { used_ppm })?,
                standard,
            ),
            infrequent_gigabytes: u64::try_from((more + saved / 2) / saved).unwrap_or(0),
        })
    }

    /// A month of exactly the average load, every unit used.
    fn asked(&self, workload: &Workload, class: TableClass, mode: Mode) -> Result<Money, Missing> {
        let regions = i128::from(workload.replicas);
        let mut sum = Money::ZERO;
        for demand in &workload.demands {
            let cost = self.units(demand.average, demand.replicated, class, mode)?;
            sum += cost.total() + cost.writes.times(regions, 1);
        }
        Ok(sum)
    }
}
