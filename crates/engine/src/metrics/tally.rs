//! What one series has in one stretch of time, and the statistics of it: counted by the engine, or reported
//! by clients.
//!
//! It does not know times, rows of the store or requests.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use keywright_semantics::monitoring::statistic::{Statistic, WHOLE};
use keywright_semantics::monitoring::unit::Unit;

use super::figures::{Cell, Histogram};

/// The values of a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tally {
    /// Counted by the engine, in thousandths; with classes where percentiles are kept.
    Counted(Cell, Option<Box<Histogram>>),
    /// Reported by clients, by unit.
    Reported(BTreeMap<Unit, Reported>),
}

impl Tally {
    /// Adds the values of the same series in another stretch of time.
    pub(crate) fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Counted(cell, histogram), Self::Counted(more, classes)) => {
                cell.merge(&more);
                if let Some(classes) = classes {
                    histogram.get_or_insert_default().merge(&classes);
                }
            }
            (Self::Reported(units), Self::Reported(more)) => {
                for (unit, reported) in more {
                    units.entry(unit).and_modify(|known| known.merge(&reported)).or_insert(reported);
                }
            }
            (Self::Counted(..), Self::Reported(_)) | (Self::Reported(_), Self::Counted(..)) => {
                panic!("a series is counted or reported, never both")
            }
        }
    }

    /// Adds to what a map has for a key.
    pub(crate) fn add_to<K: Ord>(self, sums: &mut BTreeMap<K, Self>, key: K) {
        use std::collections::btree_map::Entry;
        match sums.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(self);
            }
            Entry::Occupied(mut entry) => entry.get_mut().merge(self),
        }
    }

    /// Drops what clients reported in other units.
    pub(crate) fn keep_unit(&mut self, wanted: &str) {
        if let Self::Reported(units) = self {
            units.retain(|unit, _| unit.name() == wanted);
        }
    }

    /// The values of each unit; `own` is the unit of what the engine counts.
    pub(crate) fn by_unit(self, own: &'static str) -> Vec<(&'static str, Self)> {
        match self {
            counted @ Self::Counted(..) => vec![(own, counted)],
            Self::Reported(units) => {
                let single = |(unit, reported): (Unit, Reported)| {
                    (unit.name(), Self::Reported(BTreeMap::from([(unit, reported)])))
                };
                units.into_iter().map(single).collect()
            }
        }
    }

    /// A statistic of the values; none of no value. A percentile only where the values are known one by one.
    pub(crate) fn value(&self, statistic: Statistic) -> Option<f64> {
        match self {
            Self::Counted(cell, histogram) => counted_value(cell, histogram.as_deref(), statistic),
            Self::Reported(units) => {
                let mut all = units.values();
                let first = all.next()?;
                if all.len() == 0 {
                    return first.value(statistic);
                }
                let mut sum = first.clone();
                all.for_each(|reported| sum.merge(reported));
                sum.value(statistic)
            }
        }
    }

    /// What the engine counted, in thousandths.
    pub(crate) const fn counted_sum(&self) -> u64 {
        match self {
            Self::Counted(cell, _) => cell.sum,
            Self::Reported(_) => 0,
        }
    }
}

/// A whole number of thousandths as the double that clients read.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients read doubles")]
pub(crate) fn double(thousandths: u64) -> f64 {
    thousandths as f64 / 1000.0
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients read doubles")]
const fn count(number: u64) -> f64 {
    number as f64
}

fn counted_value(cell: &Cell, histogram: Option<&Histogram>, statistic: Statistic) -> Option<f64> {
    if cell.is_empty() {
        return None;
    }
    Some(match statistic {
        Statistic::SampleCount => count(cell.count),
        Statistic::Sum => double(cell.sum),
        Statistic::Average => double(cell.sum) / count(cell.count),
        Statistic::Minimum => double(cell.min),
        Statistic::Maximum => double(cell.max),
        Statistic::Percentile(part) => percentile(cell, histogram?, part),
    })
}

/// The value of the class in which this part of all values ends, between the smallest and the largest.
fn percentile(cell: &Cell, histogram: &Histogram, part: u32) -> f64 {
    let wanted = u128::from(cell.count) * u128::from(part);
    let mut passed: u128 = 0;
    for (class, values) in histogram.filled() {
        let within = u128::from(values) * u128::from(WHOLE);
        if passed + within >= wanted {
            let (floor, next) = (Histogram::floor(class), Histogram::floor(class + 1));
            let share = u128::from(next - floor) * wanted.saturating_sub(passed) / within.max(1);
            let value = floor.saturating_add(u64::try_from(share).unwrap_or_default());
            return double(value.clamp(cell.min, cell.max));
        }
        passed += within;
    }
    double(cell.max)
}

/// Classes that the values of one series, unit and minute can fall into before percentiles are given up.
pub(crate) const REPORTED_CLASSES_MAX: usize = 256;

/// Values of one unit that clients reported.
///
/// Invariant: `count` is above zero and `min <= max`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reported {
    pub sum: f64,
    pub count: f64,
    pub min: f64,
    pub max: f64,
    /// The classes of the values, in their order, with their numbers; `None` if some values are known in sum
    /// only.
    pub classes: Option<Vec<(ValueClass, f64)>>,
}

/// A class of doubles, a sixteenth wide: sign, exponent and four bits of the fraction, in the order of the
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ValueClass(pub u16);

const SIGN: u16 = 1 << 15;
const CLASS_SHIFT: u32 = 48;

impl ValueClass {
    fn of(value: f64) -> Self {
        // Minus zero is zero.
        let bits = u16::try_from((value + 0.0).to_bits() >> CLASS_SHIFT).expect("sixteen bits are left");
        Self(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }

    /// The values at its two ends, the smaller first.
    fn ends(self) -> (f64, f64) {
        let bits = if self.0 & SIGN == 0 { !self.0 } else { self.0 & !SIGN };
        let near = f64::from_bits(u64::from(bits) << CLASS_SHIFT);
        let far = f64::from_bits(u64::from(bits.saturating_add(1)) << CLASS_SHIFT);
        if self.0 & SIGN == 0 { (far, near) } else { (near, far) }
    }
}

impl Reported {
    /// Values, each with its number; `None` without any.
    pub(crate) fn of_values(values: &[(f64, f64)]) -> Option<Self> {
        let mut all = values.iter().filter(|(_, count)| *count > 0.0).map(|(value, count)| Self {
            sum: value * count,
            count: *count,
            min: *value,
            max: *value,
            classes: Some(vec![(ValueClass::of(*value), *count)]),
        });
        let mut sum = all.next()?;
        all.for_each(|one| sum.merge(&one));
        Some(sum)
    }

    /// Values of which only these figures are known. If they are one value, all are known.
    pub(crate) fn of_set(sum: f64, count: f64, (min, max): (f64, f64)) -> Self {
        let is_one = count <= 1.0 || min.total_cmp(&max) == Ordering::Equal;
        let classes = is_one.then(|| vec![(ValueClass::of(min), count)]);
        Self { sum, count, min, max, classes }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        assert!(self.count > 0.0 && other.count > 0.0, "reported values are some");
        self.sum += other.sum;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        let merged = match (self.classes.take(), &other.classes) {
            (Some(mut classes), Some(more)) => {
                for (class, count) in more {
                    match classes.binary_search_by_key(class, |(known, _)| *known) {
                        Ok(place) => {
                            if let Some((_, known)) = classes.get_mut(place) {
                                *known += count;
                            }
                        }
                        Err(place) => classes.insert(place, (*class, *count)),
                    }
                }
                Some(classes)
            }
            _ => None,
        };
        self.classes = merged.filter(|classes| classes.len() <= REPORTED_CLASSES_MAX);
    }

    fn value(&self, statistic: Statistic) -> Option<f64> {
        Some(match statistic {
            Statistic::SampleCount => self.count,
            Statistic::Sum => self.sum,
            Statistic::Average => self.sum / self.count,
            Statistic::Minimum => self.min,
            Statistic::Maximum => self.max,
            Statistic::Percentile(part) => self.percentile(f64::from(part) / f64::from(WHOLE))?,
        })
    }

    /// The value below which this part of all values lies: between the ends of the class in which it ends.
    fn percentile(&self, part: f64) -> Option<f64> {
        let wanted = self.count * part;
        let mut passed = 0.0;
        for (class, count) in self.classes.as_ref()? {
            if passed + count >= wanted {
                let (low, high) = class.ends();
                let share = ((wanted - passed) / count).clamp(0.0, 1.0);
                return Some((low + (high - low) * share).clamp(self.min, self.max));
            }
            passed += count;
        }
        Some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_doubles_hold_their_values_and_keep_their_order() {
        let values = [-1e100, -3.5, -1.0, -1e-100, 0.0, 1e-100, 0.3, 1.0, 1.04, 1.07, 2.0, 1e100];
        let mut last = None;
        for value in values {
            let class = ValueClass::of(value);
            let (low, high) = class.ends();
            assert!(low <= value && value <= high, "{value}: {low} to {high}");
            assert!(high - low <= value.abs() / 16.0 + f64::MIN_POSITIVE, "{value}: {low} to {high}");
            assert!(last <= Some(class), "{value}");
            last = Some(class);
        }
        assert_eq!(ValueClass::of(-0.0), ValueClass::of(0.0));
    }

    #[test]
    fn a_percentile_is_exact_within_a_class_and_absent_where_values_are_unknown() {
        let values: Vec<(f64, f64)> = (1..=100).map(|value| (f64::from(value), 1.0)).collect();
        let known = Reported::of_values(&values).unwrap();
        for part in [1, 25, 50, 99] {
            let value = known.value(Statistic::Percentile(part * 1000)).unwrap();
            let exact = f64::from(part);
            assert!((value - exact).abs() <= exact / 16.0 + 1.0, "p{part}: {value}");
        }
        assert_eq!(known.value(Statistic::Percentile(WHOLE)), Some(100.0));
        let mut sum = known.clone();
        sum.merge(&Reported::of_set(7.0, 2.0, (3.0, 4.0)));
        assert_eq!(sum.value(Statistic::Percentile(50_000)), None);
        assert_eq!(sum.value(Statistic::Sum), Some(5057.0));
        let one = Reported::of_set(6.0, 2.0, (3.0, 3.0));
        assert_eq!(one.value(Statistic::Percentile(50_000)), Some(3.0));
    }

    #[test]
    fn percentiles_are_given_up_before_a_row_grows_without_bound() {
        let mut sum = Reported::of_set(1.0, 1.0, (1.0, 1.0));
        for exponent in 0..300 {
            sum.merge(&Reported::of_values(&[(2_f64.powi(exponent), 1.0)]).unwrap());
        }
        assert_eq!((sum.classes.as_ref(), sum.count), (None, 301.0));
    }
}
