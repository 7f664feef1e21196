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
fn a_replicated_write_costs_what_an_ordinary_one_does_today_and_half_as_much_again_before() {
    let cost = |name: &str, mode| {
        let prices = prices(name);
        let costing = costing(&prices);
        let plain = costing.throughput(load(0, 7), Class::Standard, mode).expect("priced").total();
        let replicated = costing.replicated(load(3, 7), Class::Standard, mode).expect("priced");
        (plain.as_nanos() * 2, replicated.as_nanos() * 2)
    };
    let (plain, replicated) = cost(TODAY, Mode::OnDemand);
    assert_eq!((plain, replicated), (2 * 625 * 7 * 730 * 3600, plain));
    let (plain, replicated) = cost("us-east-1@2024-10", Mode::OnDemand);
    assert_eq!(replicated * 2, plain * 3);
    let provisioned = Mode::Provisioned { used_ppm: 500_000 };
    assert_eq!(cost(TODAY, provisioned).0, cost(TODAY, provisioned).1);
}

#[test]
fn r75_the_break_evens_of_a_load_are_where_both_ways_cost_the_same() {
    type ModeOf = fn(u64) -> Mode;
    let prices = prices(TODAY);
    let costing = costing(&prices);
    let load = load(100, 100);
    let found = costing.break_evens(load, Class::Standard).expect("priced");
    let cost = |mode| costing.throughput(load, Class::Standard, mode).expect("priced").total();
    let modes: [(u64, ModeOf); 3] = [
        (found.provisioned_ppm, |used_ppm| Mode::Provisioned { used_ppm }),
        (found.one_year_ppm, |used_ppm| Mode::ReservedOneYear { used_ppm }),
        (found.three_years_ppm, |used_ppm| Mode::ReservedThreeYears { used_ppm }),
    ];
    for (ppm, mode) in modes {
        assert!(cost(mode(ppm - 100)) > cost(Mode::OnDemand), "{ppm}");
        assert!(cost(mode(ppm + 100)) < cost(Mode::OnDemand), "{ppm}");
    }
    let total = |class, gigabytes: u64| {
        costing.throughput(load, class, Mode::OnDemand).expect("priced").total()
            + costing.storage(u128::from(gigabytes) << 30, class).expect("priced")
    };
    let even = found.infrequent_gigabytes;
    assert!(total(Class::Infrequent, even) >= total(Class::Standard, even));
    assert!(total(Class::Infrequent, even + 2) < total(Class::Standard, even + 2));
}

#[test]
fn a_missing_price_is_reported_and_never_taken_as_zero() {
    let mut prices = prices(TODAY);
    prices.items.remove(&Item::Storage);
    assert_eq!(costing(&prices).storage(1, Class::Standard), Err(Missing(Item::Storage)));
}

const SHOP: &str = r#"
format: 1
model: shop
tables:
  Shop:
    key: {pk: S, sk: S}
    stream: new-and-old
    pitr: true
    REPLICAS
    indexes:
      gsi1: {pk: g1, sk: g2, project: all}
      gsi2: {pk: g2, sk: g1, project: keys}
      local: {local: true, sk: g2}
entities:
  Order:
    count: 1000000
    size: 1000
    key: {pk: "o#{orderId}", sk: "o"}
    gsi1: {g1: "c#{customerId}", g2: "{date}"}
    attrs: {orderId: S, customerId: S, date: {type: S, format: iso8601}}
patterns:
  - {id: W, put: Order, rate: 10}
data: {generate: {seed: 1, sample: 5}}
"#;

fn billed(text: &str, settings: Settings) -> Bill {
    let model = crate::model::parse(text).expect("a model");
    let no_files = |_: &str| Err("no files".to_owned());
    let report = crate::run::run(&model, &no_files, &mut |_| {}).expect("it runs");
    let prices = prices(TODAY);
    bill(&model, &report, &Costing { prices: &prices, settings }).expect("priced")
}

fn feature(bill: &Bill, name: &str) -> Option<Money> {
    bill.features.iter().find(|(_, own, _)| *own == name).map(|(_, _, cost)| *cost)
}

#[test]
fn r74_writes_are_amplified_as_the_meter_says() {
    let bill = billed(&SHOP.replace("REPLICAS", ""), Settings::default());
    let written = bill.written.first().expect("the table");
    assert_eq!(written.percent(), Some(400), "the table and three indexes");
    assert_eq!(bill.amplification.first().map(|(_, writes)| *writes), Some(4));
}

#[test]
fn streams_backups_and_exports_are_charged_when_they_are_used() {
    let text = SHOP.replace("REPLICAS", "");
    let idle = billed(&text, Settings::default());
    let names: Vec<_> = idle.features.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(names, ["continuous backups"]);
    let habits = Habits {
        stream_reads: MicroPerSecond(4_000_000),
        change_capture: true,
        backups: 2,
        restores: 1,
        exports: 3,
    };
    let used = billed(&text, Settings { habits, ..Settings::default() });
    assert_eq!(feature(&used, "stream reads"), Some(Money::nanos(200 * 4 * 730 * 3600)));
    assert_eq!(feature(&used, "change capture"), Some(Money::nanos(100 * 10 * 730 * 3600)));
    let continuous = feature(&used, "continuous backups").expect("it is on");
    // 0.20 a gigabyte continuously; 0.10 for each kept, 0.15 a restore, 0.10 an export.
    let near = |name, percent: i128| {
        let cost = feature(&used, name).expect(name);
        (cost.as_nanos() - continuous.times(percent, 100).as_nanos()).abs() <= 1
    };
    assert!(near("kept backups", 100) && near("restores", 75) && near("exports", 150), "{:?}", used.features);
}

#[test]
fn every_region_of_a_global_table_pays_for_writes_indexes_and_storage() {
    let one = billed(&SHOP.replace("REPLICAS", "replicas: [eu-west-1]"), Settings::default());
    let two = billed(&SHOP.replace("REPLICAS", "replicas: [eu-west-1, eu-central-1]"), Settings::default());
    for name in ["replicated writes", "replicas' indexes", "replicas' storage"] {
        let cost = feature(&one, name).expect(name);
        assert_eq!(feature(&two, name), Some(cost + cost), "{name}");
    }
    // The table and its local index; the two global indexes are written as in a table of one region.
    assert_eq!(feature(&one, "replicated writes"), Some(Money::nanos(625 * 2 * 10 * 730 * 3600)));
    assert_eq!(feature(&one, "replicas' indexes"), Some(Money::nanos(625 * 2 * 10 * 730 * 3600)));
}
