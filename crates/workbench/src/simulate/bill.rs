//! What a month of the simulated traffic costs, in the mode of each table and in the other ones.

use keywright_model::Model;
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::schema::TableClass;
use keywright_semantics::share::{ALL_PPM, MICRO_WIDE};

use super::profile::TableMode;
use super::program::Resource;
use super::report::Minute;
use crate::cost::{Costing, Load, Missing, Mode};
use crate::price::Money;

/// Half units in a unit.
const HALVES: u128 = 2;
const MINUTE_SECONDS: u64 = 60;

/// What a month of this traffic costs: requests and capacity, without storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonthlyBill {
    /// The price file.
    pub prices: String,
    /// Each table with its global indexes.
    pub tables: Vec<TableBill>,
}

/// A table with its global indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableBill {
    /// The table.
    pub table: String,
    /// Its mode.
    pub mode: Mode,
    /// What it costs in that mode.
    pub monthly: Money,
    /// The other modes, with what they would cost.
    pub others: Vec<(Mode, Money)>,
}

impl MonthlyBill {
    /// All tables in their modes.
    pub fn total(&self) -> Money {
        self.tables.iter().map(|own| own.monthly).sum()
    }
}

/// Bills the minutes of all resources.
pub(super) fn bill(
    model: &Model,
    table_modes: &[TableMode],
    (resources, minutes): (&[Resource], &[Vec<Minute>]),
    length_s: u64,
    costing: &Costing<'_>,
) -> Result<MonthlyBill, Missing> {
    let mut tables = Vec::new();
    for (table, mode) in model.tables.iter().zip(table_modes) {
        let class =
            if table.infrequent_access { TableClass::StandardInfrequentAccess } else { TableClass::Standard };
        let own = || resources.iter().zip(minutes).filter(|(resource, _)| resource.table == table.name);
        let cost = |mode: Mode| {
            let mut sum = Money::ZERO;
            for (_, minutes) in own() {
                sum += costing.units(load(minutes, length_s, mode), false, class, mode)?.total();
            }
            Ok::<Money, Missing>(sum)
        };
        let full = Mode::Provisioned { used_ppm: ALL_PPM };
        let (now, mut others) = match mode {
            TableMode::OnDemand => (Mode::OnDemand, vec![full]),
            TableMode::Provisioned => (full, vec![Mode::OnDemand]),
        };
        if class == TableClass::Standard {
            others.push(Mode::ReservedOneYear { used_ppm: ALL_PPM });
            others.push(Mode::ReservedThreeYears { used_ppm: ALL_PPM });
        }
        let others =
            others.into_iter().map(|mode| Ok((mode, cost(mode)?))).collect::<Result<_, Missing>>()?;
        tables.push(TableBill { table: table.name.clone(), mode: now, monthly: cost(now)?, others });
    }
    Ok(MonthlyBill { prices: costing.prices.name.clone(), tables })
}

/// The load that is paid for: on demand what was consumed, else the units that were provisioned, or on an
/// on-demand table those that its highest minute would have needed.
fn load(minutes: &[Minute], length_s: u64, mode: Mode) -> Load {
    let of = |place: usize| -> u128 {
        if mode == Mode::OnDemand {
            let demanded: u128 = minutes.iter().map(|minute| halves(minute.consumed, place)).sum();
            return demanded * MICRO_WIDE_UNSIGNED / u128::from(length_s.max(1));
        }
        let units: u128 = minutes.iter().map(|minute| paid(minute, minutes, place)).sum();
        let count = u128::try_from(minutes.len()).unwrap_or(1).max(1);
        units * HALVES * MICRO_WIDE_UNSIGNED / count
    };
    Load { read_micro_halves: of(0), write_micro_halves: of(1) }
}

const MICRO_WIDE_UNSIGNED: u128 = MICRO_WIDE.unsigned_abs();

fn halves(units: [HalfUnits; 2], place: usize) -> u128 {
    units.get(place).map_or(0, |units| u128::from(units.0))
}

/// The provisioned units of a minute; for an on-demand table those of its highest minute.
fn paid(minute: &Minute, all: &[Minute], place: usize) -> u128 {
    if let Some(units) = minute.provisioned {
        return units.get(place).copied().map_or(0, u128::from);
    }
    let highest = all.iter().map(|minute| halves(minute.demanded, place)).max().unwrap_or(0);
    highest.div_ceil(HALVES * u128::from(MINUTE_SECONDS)).max(1)
}
