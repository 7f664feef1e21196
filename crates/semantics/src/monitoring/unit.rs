//! Units of values.

/// The units that the service knows (API reference: `MetricDatum`).
const NAMES: [&str; 27] = [
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
    "Percent",
    "Count",
    "Bytes/Second",
    "Kilobytes/Second",
    "Megabytes/Second",
    "Gigabytes/Second",
    "Terabytes/Second",
    "Bits/Second",
    "Kilobits/Second",
    "Megabits/Second",
    "Gigabits/Second",
    "Terabits/Second",
    "Count/Second",
    "None",
];

/// One of the units.
///
/// Invariant: the number is a place in the list, which stored rows hold: it only grows at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(u8);

impl Unit {
    /// The unit of values without one.
    pub const NONE: Self = Self(26);

    /// The unit of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let place = NAMES.iter().position(|known| *known == name)?;
        Some(Self(u8::try_from(place).expect("the list is short")))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).expect("a unit is a place in the list")
    }

    /// The number in stored rows.
    pub const fn stored(self) -> u8 {
        self.0
    }

    /// The unit of a number in a stored row.
    pub fn from_stored(number: u8) -> Option<Self> {
        NAMES.get(usize::from(number)).map(|_| Self(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_stored_numbers_read_back() {
        for (place, name) in NAMES.iter().enumerate() {
            let unit = Unit::from_name(name).unwrap();
            assert_eq!((unit.name(), usize::from(unit.stored())), (*name, place));
            assert_eq!(Unit::from_stored(unit.stored()), Some(unit));
        }
        assert_eq!(Unit::NONE.name(), "None");
        assert_eq!((Unit::from_name("seconds"), Unit::from_stored(27)), (None, None));
    }
}
