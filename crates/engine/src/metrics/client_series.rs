//! How many series clients report: each has a row, and clients can name any number of them.
//!
//! A process counts the rows once, and then what it adds itself. With several processes each can add as many
//! as the bound leaves until it counts anew, which the hourly look for old points has it do.

use std::collections::HashMap;

use super::series::Place;

/// Series of one account and region.
const PLACE_SERIES_MAX: usize = 10_000;
/// Series of all accounts and regions.
const SERIES_MAX: usize = 100_000;

/// The number of series of clients.
#[derive(Debug, Default)]
pub(crate) struct ClientSeries {
    by_place: HashMap<Place, usize>,
    all: usize,
    is_counted: bool,
}

impl ClientSeries {
    /// Begins a count.
    pub(crate) fn counting() -> Self {
        Self { is_counted: true, ..Self::default() }
    }

    /// Whether the rows have to be counted before the next series is added.
    pub(crate) const fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Adds series of an account and region.
    pub(crate) fn add(&mut self, place: &Place, series: usize) {
        if series > 0 {
            *self.by_place.entry(place.clone()).or_default() += series;
            self.all += series;
        }
    }

    /// Whether an account and region can have so many more.
    pub(crate) fn has_room(&self, place: &Place, more: usize) -> bool {
        let its = self.by_place.get(place).copied().unwrap_or_default();
        more == 0 || (its + more <= PLACE_SERIES_MAX && self.all + more <= SERIES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_account_and_all_together_have_a_bound() {
        let place = |number: usize| Place { account: number.to_string(), region: "r".to_owned() };
        let mut series = ClientSeries::counting();
        series.add(&place(0), PLACE_SERIES_MAX - 1);
        assert!(series.has_room(&place(0), 1) && !series.has_room(&place(0), 2));
        for number in 1..SERIES_MAX / PLACE_SERIES_MAX {
            series.add(&place(number), PLACE_SERIES_MAX);
        }
        assert!(series.has_room(&place(99), 1) && !series.has_room(&place(99), 2));
        assert!(series.has_room(&place(1), 0) && !series.has_room(&place(1), 1));
    }
}
