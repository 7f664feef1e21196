//! Cost: the published break-evens, the guides' figures, exact sums.

use super::*;
use crate::price::TODAY;

fn prices(name: &str) -> Prices {
    Prices::built_in(name).expect("built in")
}

fn costing(prices: &Prices) -> Costing<'_> {
    Costing { prices, settings: Settings::default() }
}

fn load(reads_per_second: u64, writes_per_second: u64) -> Load {
    let read = Load::of(MicroPerSecond(reads_per_second * 1_000_000), HalfUnits(2), HalfUnits(0));
    read.and(Load::of(MicroPerSecond(writes_per_second * 1_000_000), HalfUnits(0), HalfUnits(2)))
}

#[test]
fn r74_five_indexes_mean_six_writes() {
    assert_eq!(write_amplification(5), 6);
}

#[test]
fn r74_strong_reads_cost_twice_eventual_ones() {
    let prices = prices(TODAY);
    let cost = |halves| {
        let load = Load::of(MicroPerSecond(10_000_000), HalfUnits(halves), HalfUnits(0));
        costing(&prices).throughput(load, Class::Standard, Mode::OnDemand).expect("priced").reads
    };
    assert_eq!(cost(2), cost(1) + cost(1));
    assert_eq!(cost(2), Money::nanos(125 * 10 * 730 * 3600));
}

#[test]
fn r75_provisioned_breaks_even_at_28_9_percent_and_on_demand_is_3_46_times_full_use() {
    let prices = prices(TODAY);
    let costing = costing(&prices);
    assert_eq!(costing.break_even_ppm(Class::Standard), Ok(288_888));
    assert_eq!(costing.on_demand_percent_of_full_use(Class::Standard), Ok(346));
    let at = |used_ppm| {
        let of = |mode| costing.throughput(load(0, 1000), Class::Standard, mode).expect("priced").total();
        of(Mode::Provisioned { used_ppm }) < of(Mode::OnDemand)
    };
    assert!(at(289_000) && !at(288_000));
}

#[test]
fn r75_reservations_save_54_and_77_percent() {
    let prices = prices(TODAY);
    let cost =
        |mode| costing(&prices).throughput(load(0, 100), Class::Standard, mode).expect("priced").total();
    let used_ppm = 1_000_000;
    let full = cost(Mode::Provisioned { used_ppm }).as_nanos();
    let saved = |mode| 100 - (cost(mode).as_nanos() * 100 + full / 2) / full;
    assert_eq!(saved(Mode::ReservedOneYear { used_ppm }), 54);
    assert_eq!(saved(Mode::ReservedThreeYears { used_ppm }), 77);
}

#[test]
fn r75_infrequent_access_wins_where_storage_outweighs_throughput() {
    let prices = prices(TODAY);
    let best = |load, gigabytes: u128| {
        let all = costing(&prices).cheapest(load, gigabytes << 30, 1).expect("priced");
        all.first().map(|(class, mode, _)| (*class, *mode))
    };
    assert_eq!(best(load(1, 1), 10_000), Some((Class::Infrequent, Mode::OnDemand)));
    assert_eq!(best(load(100, 100), 10), Some((Class::Standard, Mode::OnDemand)));
}

#[test]
fn r76_the_older_prices_reproduce_the_guides_dollars_per_million() {
    let prices = prices("us-east-1@2024-10");
    let settings = Settings { month: Month { hours: 1 }, ..Settings::default() };
    let costing = Costing { prices: &prices, settings };
    // A million of each in the one hour of this month.
    let million =
        Load { read_micro_halves: 2_000_000_000_000 / 3600, write_micro_halves: 2_000_000_000_000 / 3600 };
    let cost = costing.throughput(million, Class::Standard, Mode::OnDemand).expect("priced");
    assert_eq!((cost.reads.to_string(), cost.writes.to_string()), ("$0.25".to_owned(), "$1.25".to_owned()));
    // Provisioned at full use the guide says about $0.65 and $0.13; that is with the usual part of units unused.
    let used = costing
        .throughput(million, Class::Standard, Mode::Provisioned { used_ppm: 277_778 })
        .expect("priced");
    assert_eq!((used.reads.to_string(), used.writes.to_string()), ("$0.13".to_owned(), "$0.65".to_owned()));
}

#[test]
fn storage_and_features_are_charged_by_the_gigabyte_after_the_free_part() {
    let prices = prices(TODAY);
    let gigabytes = 125_u128 << 30;
    let plain = costing(&prices);
    let free = Costing { settings: Settings { free_tier: true, ..Settings::default() }, ..plain };
    assert_eq!(plain.storage(gigabytes, Class::Standard), Ok(Money::nanos(31_250_000_000)));
    assert_eq!(free.storage(gigabytes, Class::Standard), Ok(Money::dollars(25)));
    assert_eq!(free.storage(gigabytes, Class::Infrequent), Ok(Money::nanos(12_500_000_000)));
    assert_eq!(plain.gigabytes(Item::PointInTimeRecovery, gigabytes), Ok(Money::dollars(25)));
    assert_eq!(plain.stream(MicroPerSecond(1_000_000)), Ok(Money::nanos(200 * 730 * 3600)));
}

#[test]
fn every_region_of_a_global_table_is_charged_for_every_write() {
    let prices = prices(TODAY);
    let costing = costing(&prices);
    let one = costing.replicas(load(0, 7), 1).expect("priced");
    assert_eq!(costing.replicas(load(0, 7), 2), Ok(one + one));
    assert_eq!(one, Money::nanos(625 * 7 * 730 * 3600));
}

#[test]
fn a_missing_price_is_reported_and_never_taken_as_zero() {
    let mut prices = prices(TODAY);
    prices.items.remove(&Item::Storage);
    assert_eq!(costing(&prices).storage(1, Class::Standard), Err(Missing(Item::Storage)));
}
