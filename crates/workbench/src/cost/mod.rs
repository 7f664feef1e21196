//! The monthly cost of a workload: metered units × rate × a dated price, by table, index and feature, in each
//! billing mode, with the break-even points between modes.
//!
//! Units come from the engine's meter; this module only multiplies. Sums are
//! exact integers.

mod bill;
mod json;
mod markdown;
mod parts;
mod provision;
mod stored;
mod text;
mod workload;

pub use bill::{Bill, Feature, Line, Modes, Saving, Storage, Target, Written, bill};
pub use json::json;
pub use markdown::markdown;
pub use parts::Parts;
pub use provision::{Capacity, Provision};
pub use stored::ENTRY_OVERHEAD_BYTES;
pub use text::{open, taken, text};
pub use workload::{BreakEvens, Demand, Workload};

use std::fmt;

use crate::price::{Item, Money, Prices};
use keywright_model::{HalfUnits, MicroPerSecond};
use keywright_semantics::schema::TableClass;
use keywright_semantics::share::MICRO_WIDE;

#[cfg(test)]
mod tests;

/// Seconds in an hour.
const HOUR_SECONDS: i128 = 3600;
/// The usual target of auto scaling.
const USED_PPM: u64 = 700_000;
/// Hours in a year, over which an upfront payment is spread.
const YEAR_HOURS: i128 = 8760;

/// How long a month is. AWS's calculator takes 730 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    /// Its hours.
    pub hours: u32,
}

impl Month {
    /// The month of AWS's calculator.
    pub const CALCULATOR: Self = Self { hours: 730 };

    /// Its length in seconds.
    #[expect(clippy::as_conversions, reason = "`From` is not const, and the value grows")]
    pub const fn seconds(self) -> i128 {
        self.hours as i128 * HOUR_SECONDS
    }
}

impl Default for Month {
    fn default() -> Self {
        Self::CALCULATOR
    }
}

/// How large a gigabyte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gigabyte {
    /// 2³⁰ bytes, as storage is metered.
    #[default]
    Binary,
    /// 10⁹ bytes.
    Decimal,
}

impl Gigabyte {
    /// Its bytes.
    pub const fn bytes(self) -> i128 {
        match self {
            Self::Binary => 1 << 30,
            Self::Decimal => 1_000_000_000,
        }
    }
}

/// The settings on which public calculators disagree, and how the tables are run, which a model file does not
/// say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The month.
    pub month: Month,
    /// The gigabyte.
    pub gigabyte: Gigabyte,
    /// Whether the free tier is taken off.
    pub free_tier: bool,
    /// The share of provisioned units used on average if a model does not say, in parts per million.
    pub used_ppm: u64,
    /// How the tables are run.
    pub habits: Habits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            month: Month::default(),
            gigabyte: Gigabyte::default(),
            free_tier: false,
            used_ppm: USED_PPM,
            habits: Habits::default(),
        }
    }
}

/// How every table is run, in addition to its patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Habits {
    /// `GetRecords` calls on each stream by readers that are neither function triggers nor replication, which
    /// are free.
    pub stream_reads: MicroPerSecond,
    /// Whether every change is also sent to a Kinesis stream.
    pub change_capture: bool,
    /// Full on-demand backups that are kept.
    pub backups: u32,
    /// Restores a month.
    pub restores: u32,
    /// Full exports a month.
    pub exports: u32,
}

/// The name of a table class as AWS's pages write it.
pub const fn class_name(class: TableClass) -> &'static str {
    match class {
        TableClass::Standard => "Standard",
        TableClass::StandardInfrequentAccess => "Standard-IA",
    }
}

/// A table class and a billing mode as texts name them.
pub fn class_and_mode(class: TableClass, mode: Mode) -> String {
    format!("{}, {mode}", class_name(class))
}

/// How capacity is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Per request.
    OnDemand,
    /// Per unit and hour: fixed units that hold the peak, of which this share is then used, in parts per
    /// million.
    Provisioned {
        /// The share used.
        used_ppm: u64,
    },
    /// Per unit and hour: scaled units that follow the load, of which this share is used, in parts per
    /// million.
    Autoscaled {
        /// The share used.
        used_ppm: u64,
    },
    /// Provisioned and paid for a year ahead.
    ReservedOneYear {
        /// The share used.
        used_ppm: u64,
    },
    /// Provisioned and paid for three years ahead.
    ReservedThreeYears {
        /// The share used.
        used_ppm: u64,
    },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnDemand => "on-demand",
            Self::Provisioned { .. } => "provisioned",
            Self::Autoscaled { .. } => "provisioned with auto scaling",
            Self::ReservedOneYear { .. } => "reserved for 1 year",
            Self::ReservedThreeYears { .. } => "reserved for 3 years",
        })
    }
}

/// Average units per second of one table or index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Millionths of half read units per second.
    pub read_micro_halves: u128,
    /// Millionths of half write units per second.
    pub write_micro_halves: u128,
}

impl Load {
    /// The load of one operation that consumes these units each time.
    pub fn of(rate: MicroPerSecond, read: HalfUnits, write: HalfUnits) -> Self {
        let rate = u128::from(rate.0);
        Self { read_micro_halves: rate * u128::from(read.0), write_micro_halves: rate * u128::from(write.0) }
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            read_micro_halves: self.read_micro_halves + other.read_micro_halves,
            write_micro_halves: self.write_micro_halves + other.write_micro_halves,
        }
    }
}

/// The unused rest of an account's monthly free tier in one region: once for all tables and indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// Provisioned units of Standard tables; replicated write units are not included.
    pub units: Load,
    /// Bytes of Standard storage.
    pub storage_bytes: u128,
    /// Millionths of stream reads.
    pub stream_reads_micro: i128,
}

/// The price table lacks a price that is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing(pub Item);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the price file has no price of {:?}", self.0)
    }
}

impl std::error::Error for Missing {}

/// Monthly cost of reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throughput {
    /// Reads.
    pub reads: Money,
    /// Writes.
    pub writes: Money,
}

impl Throughput {
    /// Both.
    pub fn total(&self) -> Money {
        self.reads + self.writes
    }
}

/// Prices, and the settings to apply them with.
#[derive(Debug, Clone, Copy)]
pub struct Costing<'a> {
    /// The prices.
    pub prices: &'a Prices,
    /// The settings.
    pub settings: Settings,
}

impl Costing<'_> {
    fn price(&self, item: Item) -> Result<Money, Missing> {
        self.prices.of(item).ok_or(Missing(item))
    }

    fn hours(&self) -> i128 {
        i128::from(self.settings.month.hours)
    }

    /// The monthly cost of a load in a class and a mode. Reserved capacity exists for the Standard class
    /// only; the other class pays its hourly price.
    pub fn throughput(&self, load: Load, class: TableClass, mode: Mode) -> Result<Throughput, Missing> {
        let (read, write) = match class {
            TableClass::Standard => (Item::ReadRequest, Item::WriteRequest),
            TableClass::StandardInfrequentAccess => {
                (Item::InfrequentReadRequest, Item::InfrequentWriteRequest)
            }
        };
        let halves = |micro: u128| i128::try_from(micro).unwrap_or(i128::MAX / MICRO_WIDE / MICRO_WIDE);
        let (reads, writes) = (halves(load.read_micro_halves), halves(load.write_micro_halves));
        let (read_hour, write_hour, used_ppm) = match mode {
            Mode::OnDemand => {
                let seconds = self.hours() * HOUR_SECONDS;
                let monthly = |each: Money, micro: i128| each.times(micro * seconds, 2 * MICRO_WIDE);
                return Ok(Throughput {
                    reads: monthly(self.price(read)?, reads),
                    writes: monthly(self.price(write)?, writes),
                });
            }
            Mode::Provisioned { used_ppm } | Mode::Autoscaled { used_ppm } => {
                (self.hour(class, true)?, self.hour(class, false)?, used_ppm)
            }
            Mode::ReservedOneYear { used_ppm } => (
                self.reserved(Item::ReservedOneYearReadUpfront, Item::ReservedOneYearReadHour, 1)?,
                self.reserved(Item::ReservedOneYearWriteUpfront, Item::ReservedOneYearWriteHour, 1)?,
                used_ppm,
            ),
            Mode::ReservedThreeYears { used_ppm } => (
                self.reserved(Item::ReservedThreeYearsReadUpfront, Item::ReservedThreeYearsReadHour, 3)?,
                self.reserved(Item::ReservedThreeYearsWriteUpfront, Item::ReservedThreeYearsWriteHour, 3)?,
                used_ppm,
            ),
        };
        let used = i128::from(used_ppm.max(1));
        let monthly = |each: Money, micro: i128| each.times(micro * self.hours(), 2 * used);
        Ok(Throughput { reads: monthly(read_hour, reads), writes: monthly(write_hour, writes) })
    }

    fn hour(&self, class: TableClass, read: bool) -> Result<Money, Missing> {
        self.price(match (class, read) {
            (TableClass::Standard, true) => Item::ReadHour,
            (TableClass::Standard, false) => Item::WriteHour,
            (TableClass::StandardInfrequentAccess, true) => Item::InfrequentReadHour,
            (TableClass::StandardInfrequentAccess, false) => Item::InfrequentWriteHour,
        })
    }

    /// The price of a read unit, without reservation.
    pub fn read_price(class: TableClass, mode: Mode) -> Item {
        match (class, mode) {
            (TableClass::Standard, Mode::OnDemand) => Item::ReadRequest,
            (TableClass::StandardInfrequentAccess, Mode::OnDemand) => Item::InfrequentReadRequest,
            (TableClass::Standard, _) => Item::ReadHour,
            (TableClass::StandardInfrequentAccess, _) => Item::InfrequentReadHour,
        }
    }

    /// The price of a write unit, without reservation.
    pub fn write_price(class: TableClass, mode: Mode, replicated: bool) -> Item {
        match (class, mode, replicated) {
            (TableClass::Standard, Mode::OnDemand, false) => Item::WriteRequest,
            (TableClass::Standard, Mode::OnDemand, true) => Item::ReplicatedWriteRequest,
            (TableClass::StandardInfrequentAccess, Mode::OnDemand, _) => Item::InfrequentWriteRequest,
            (TableClass::Standard, _, false) => Item::WriteHour,
            (TableClass::Standard, _, true) => Item::ReplicatedWriteHour,
            (TableClass::StandardInfrequentAccess, _, _) => Item::InfrequentWriteHour,
        }
    }

    /// The hourly price of a reserved unit, its upfront payment spread over the term.
    fn reserved(&self, upfront: Item, hour: Item, years: i128) -> Result<Money, Missing> {
        Ok(self.price(hour)? + self.price(upfront)?.times(1, years * YEAR_HOURS))
    }

    /// The monthly price of storage.
    pub fn storage(&self, bytes: u128, class: TableClass) -> Result<Money, Missing> {
        let item = match class {
            TableClass::Standard => Item::Storage,
            TableClass::StandardInfrequentAccess => Item::InfrequentStorage,
        };
        self.gigabytes(item, bytes)
    }

    /// The monthly price of storage, after the rest of the free tier.
    pub fn storage_after(
        &self,
        bytes: u128,
        class: TableClass,
        free: &mut Allowance,
    ) -> Result<Money, Missing> {
        let taken = if class == TableClass::Standard { bytes.min(free.storage_bytes) } else { 0 };
        free.storage_bytes -= taken;
        self.storage(bytes - taken, class)
    }

    /// An account's monthly free tier in one region.
    pub fn allowance(&self) -> Allowance {
        if !self.settings.free_tier {
            return Allowance::default();
        }
        let gigabyte = self.settings.gigabyte.bytes().unsigned_abs();
        let units = |number: u64| u128::from(number) * workload::UNIT_MICRO_HALVES;
        Allowance {
            units: Load {
                read_micro_halves: units(self.prices.free.read_units),
                write_micro_halves: units(self.prices.free.write_units),
            },
            storage_bytes: u128::from(self.prices.free.storage_gb) * gigabyte,
            stream_reads_micro: i128::from(self.prices.free.stream_reads) * MICRO_WIDE,
        }
    }

    /// A month, or one run, of a feature charged by the gigabyte: continuous and on-demand backups, restores,
    /// exports, imports.
    pub fn gigabytes(&self, item: Item, bytes: u128) -> Result<Money, Missing> {
        let bytes = i128::try_from(bytes).unwrap_or(i128::MAX / MICRO_WIDE / MICRO_WIDE);
        Ok(self.price(item)?.times(bytes, self.settings.gigabyte.bytes()))
    }

    /// A month of stream reads at this rate, after the rest of the free reads.
    pub fn stream(&self, reads: MicroPerSecond, free: &mut Allowance) -> Result<Money, Missing> {
        let micro = i128::from(reads.0) * self.hours() * HOUR_SECONDS;
        let taken = micro.min(free.stream_reads_micro);
        free.stream_reads_micro -= taken;
        Ok(self.price(Item::StreamRead)?.times(micro - taken, MICRO_WIDE))
    }

    /// A month of sending every change to a Kinesis stream.
    pub fn change_capture(&self, changes: MicroPerSecond) -> Result<Money, Missing> {
        let micro = i128::from(changes.0) * self.hours() * HOUR_SECONDS;
        Ok(self.price(Item::ChangeCapture)?.times(micro, MICRO_WIDE))
    }

    /// A month of one region's replicated writes: every write to a table with replicas (local indexes
    /// included) is one in each of its regions. Writes to global indexes remain ordinary writes (developer
    /// guide: billing for global tables). Reservations do not cover replicated writes. No separate price is
    /// published for Standard-IA; the guide says that replicated units cost the same as ordinary ones.
    pub fn replicated(&self, load: Load, class: TableClass, mode: Mode) -> Result<Money, Missing> {
        let writes = Load { read_micro_halves: 0, ..load };
        if class == TableClass::StandardInfrequentAccess {
            return Ok(self.throughput(writes, class, mode)?.total());
        }
        let halves = i128::try_from(load.write_micro_halves).unwrap_or(i128::MAX / MICRO_WIDE / MICRO_WIDE);
        let used = match mode {
            Mode::OnDemand => {
                let monthly = halves * self.hours() * HOUR_SECONDS;
                return Ok(self.price(Item::ReplicatedWriteRequest)?.times(monthly, 2 * MICRO_WIDE));
            }
            Mode::Provisioned { used_ppm }
            | Mode::Autoscaled { used_ppm }
            | Mode::ReservedOneYear { used_ppm }
            | Mode::ReservedThreeYears { used_ppm } => i128::from(used_ppm.max(1)),
        };
        Ok(self.price(Item::ReplicatedWriteHour)?.times(halves * self.hours(), 2 * used))
    }

    /// The share of provisioned units that must be used for provisioned capacity to cost the same as
    /// on-demand.
    pub fn break_even_ppm(&self, class: TableClass) -> Result<u64, Missing> {
        let request = match class {
            TableClass::Standard => Item::WriteRequest,
            TableClass::StandardInfrequentAccess => Item::InfrequentWriteRequest,
        };
        let hour = self.hour(class, false)?.as_nanos();
        let full = self.price(request)?.as_nanos() * HOUR_SECONDS;
        Ok(u64::try_from(hour * MICRO_WIDE / full.max(1)).unwrap_or(u64::MAX))
    }
}

/// Writes caused by one write of an item: its own, and one for each index that holds the item.
pub fn write_amplification(indexes: u64) -> u64 {
    1 + indexes
}
