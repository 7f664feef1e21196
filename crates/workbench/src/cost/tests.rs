//! Cost: the published break-evens, the guides' figures, exact sums.

use super::*;
use crate::price::{Item, TODAY};

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

fn workload(load: Load, bytes: u128) -> Workload {
    Workload {
        demands: vec![Demand { average: load, peak: load, replicated: false }],
        bytes,
        replicas: 0,
        free: Vec::new(),
    }
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
        costing(&prices).throughput(load, TableClass::Standard, Mode::OnDemand).expect("priced").reads
    };
    assert_eq!(cost(2), cost(1) + cost(1));
    assert_eq!(cost(2), Money::nanos(125 * 10 * 730 * 3600));
}

#[test]
fn r75_provisioned_breaks_even_at_28_9_percent() {
    let prices = prices(TODAY);
    let costing = costing(&prices);
    assert_eq!(costing.break_even_ppm(TableClass::Standard), Ok(288_888));
    let at = |used_ppm| {
        let of =
            |mode| costing.throughput(load(0, 1000), TableClass::Standard, mode).expect("priced").total();
        of(Mode::Provisioned { used_ppm }) < of(Mode::OnDemand)
    };
    assert!(at(289_000) && !at(288_000));
}

#[test]
fn r75_reservations_save_54_and_77_percent() {
    let prices = prices(TODAY);
    let cost =
        |mode| costing(&prices).throughput(load(0, 100), TableClass::Standard, mode).expect("priced").total();
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
        let all = costing(&prices).cheapest(&workload(load, gigabytes << 30), 1).expect("priced");
        all.first().map(|(class, mode, _)| (*class, *mode))
    };
    assert_eq!(best(load(1, 1), 10_000), Some((TableClass::StandardInfrequentAccess, Mode::OnDemand)));
    assert_eq!(best(load(100, 100), 10), Some((TableClass::Standard, Mode::OnDemand)));
}

#[test]
fn r76_the_older_prices_reproduce_the_guides_dollars_per_million() {
    let prices = prices("us-east-1@2024-10");
    let settings = Settings { month: Month { hours: 1 }, ..Settings::default() };
    let costing = Costing { prices: &prices, settings };
    // A million of each in the one hour of this month.
    let million =
        Load { read_micro_halves: 2_000_000_000_000 / 3600, write_micro_halves: 2_000_000_000_000 / 3600 };
    let cost = costing.throughput(million, TableClass::Standard, Mode::OnDemand).expect("priced");
    assert_eq!((cost.reads.to_string(), cost.writes.to_string()), ("$0.25".to_owned(), "$1.25".to_owned()));
    // The guide's figures of about $0.65 and $0.13 assume full use; these include the usual unused part.
    let used = costing
        .throughput(million, TableClass::Standard, Mode::Provisioned { used_ppm: 277_778 })
        .expect("priced");
    assert_eq!((used.reads.to_string(), used.writes.to_string()), ("$0.13".to_owned(), "$0.65".to_owned()));
}

#[test]
fn storage_and_features_are_charged_by_the_gigabyte_after_the_free_part() {
    let prices = prices(TODAY);
    let gigabytes = 125_u128 << 30;
    let plain = costing(&prices);
    let free = Costing { settings: Settings { free_tier: true, ..Settings::default() }, ..plain };
    assert_eq!(plain.storage(gigabytes, TableClass::Standard), Ok(Money::nanos(31_250_000_000)));
    let mut left = free.allowance();
    assert_eq!(
        free.storage_after(gigabytes, TableClass::StandardInfrequentAccess, &mut left),
        Ok(Money::nanos(12_500_000_000))
    );
    assert_eq!(free.storage_after(gigabytes, TableClass::Standard, &mut left), Ok(Money::dollars(25)));
    assert_eq!(
        free.storage_after(gigabytes, TableClass::Standard, &mut left),
        Ok(Money::nanos(31_250_000_000)),
        "once"
    );
    assert_eq!(plain.gigabytes(Item::PointInTimeRecovery, gigabytes), Ok(Money::dollars(25)));
    assert_eq!(
        plain.stream(MicroPerSecond(1_000_000), &mut plain.allowance()),
        Ok(Money::nanos(200 * 730 * 3600))
    );
}

#[test]
fn replicated_writes_cost_as_much_as_ordinary_ones_now_and_half_more_at_older_prices() {
    let cost = |name: &str, mode| {
        let prices = prices(name);
        let costing = costing(&prices);
        let plain = costing.throughput(load(0, 7), TableClass::Standard, mode).expect("priced").total();
        let replicated = costing.replicated(load(3, 7), TableClass::Standard, mode).expect("priced");
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
    let found = costing.break_evens(&workload(load, 0), TableClass::Standard).expect("priced");
    let cost = |mode| costing.throughput(load, TableClass::Standard, mode).expect("priced").total();
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
    assert!(total(TableClass::StandardInfrequentAccess, even - 1) > total(TableClass::Standard, even - 1));
    assert!(total(TableClass::StandardInfrequentAccess, even + 1) < total(TableClass::Standard, even + 1));
}

#[test]
fn a_missing_price_is_reported_and_never_taken_as_zero() {
    let mut prices = prices(TODAY);
    prices.items.remove(&Item::Storage);
    assert_eq!(costing(&prices).storage(1, TableClass::Standard), Err(Missing(Item::Storage)));
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
    at(TODAY, text, settings)
}

fn at(price_file: &str, text: &str, settings: Settings) -> Bill {
    let model = keywright_model::parse(text).expect("a model");
    let samples = keywright_model::data::load(&model, &|_| Err("no files".to_owned())).expect("its data");
    let measured = crate::run::measure(&model, &samples).expect("it runs");
    let prices = prices(price_file);
    bill(&model, &measured, &Costing { prices: &prices, settings }).expect("priced")
}

/// A pattern's consumption on a table or index, and its monthly cost.
fn taken(bill: &Bill, pattern: &str, index: Option<&str>) -> Option<(String, String)> {
    let here = |line: &&Line| line.pattern == pattern && line.target.index.as_deref() == index;
    let line = bill.lines.iter().find(here)?;
    Some((super::text::taken(line), line.monthly.total().to_string()))
}

fn pair(units: &str, cost: &str) -> (String, String) {
    (units.to_owned(), cost.to_owned())
}

fn feature(bill: &Bill, name: &str) -> Option<Money> {
    bill.features.iter().find(|own| own.name == name).map(|own| own.monthly)
}

#[test]
fn r74_writes_are_amplified_as_the_meter_says() {
    let bill = billed(&SHOP.replace("REPLICAS", ""), Settings::default());
    let written = bill.written.first().expect("the table");
    assert_eq!(written.percent(), Some(400), "the table and three indexes");
    assert_eq!(bill.amplification.first().map(|(_, writes)| *writes), Some(4));
    let prices = prices(TODAY);
    let costing = costing(&prices);
    for report in [super::text(&bill, &costing), super::markdown("shop", &bill, &costing)] {
        assert!(report.contains("Each write unit of Shop becomes 4.00 with its indexes"), "{report}");
        assert!(report.contains("A write of Order is 4 writes"), "{report}");
    }
}

#[test]
fn streams_backups_and_exports_are_charged_when_they_are_used() {
    let text = SHOP.replace("REPLICAS", "");
    let idle = billed(&text, Settings::default());
    let names: Vec<_> = idle.features.iter().map(|own| own.name).collect();
    assert_eq!(names, ["point-in-time recovery"]);
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
    let continuous = feature(&used, "point-in-time recovery").expect("it is on");
    // 0.20 per gigabyte continuously; 0.10 for each backup kept, 0.15 per restore, 0.10 per export.
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
    // The table and its local index; the two global indexes are written as in a single-region table.
    assert_eq!(feature(&one, "replicated writes"), Some(Money::nanos(625 * 2 * 10 * 730 * 3600)));
    assert_eq!(feature(&one, "replicas' indexes"), Some(Money::nanos(625 * 2 * 10 * 730 * 3600)));
}

const LARGE: &str = r#"
format: 1
model: sz
tables:
  Orders: {key: {pk: S}}
entities:
  Order: {count: 10000000, size: 5000, key: {pk: "o#{id}"}, attrs: {id: S}}
patterns:
  - {id: R1, text: get, get: Order, given: {id: eq}, consistency: strong, rate: 100}
  - {id: W1, text: put, put: Order, if: not-exists, rate: 10}
DATA
"#;

/// 5000 bytes are 2 read and 5 write units, 5100 × 10⁷ bytes 47.5 GB: 65.70 + 82.13 + 11.87.
#[test]
fn items_are_billed_at_their_declared_size_with_any_data() {
    for data in ["data: {generate: {seed: 1, sample: 20}}", "data: {inline: {Order: [{id: \"1\"}]}}", ""] {
        let bill = billed(&LARGE.replace("DATA", data), Settings::default());
        assert_eq!(taken(&bill, "R1", None), Some(pair("2 R", "$65.70")), "{data}");
        assert_eq!(taken(&bill, "W1", None), Some(pair("5 W", "$82.13")), "{data}");
        assert_eq!(bill.total().to_string(), "$159.70", "{data}");
        assert!(bill.notes.is_empty() && bill.is_whole(), "{:?}", bill.notes);
    }
}

const QUESTIONS: &str = r#"
format: 1
model: c2
tables:
  Orders:
    key: {pk: S}
    indexes: {byCust: {pk: cust, sk: at, project: all}}
entities:
  Order:
    count: 10000000
    size: 1500
    key: {pk: "o#{id}"}
    byCust: {cust: "c#{cid}", at: "{placed}#{id}"}
    attrs: {id: S, cid: S, placed: {type: S, format: iso8601}}
patterns:
  - {id: Q2, text: by customer, query: Order, given: {cid: eq, placed: between}, RETURNS, rate: 10}
DATA
"#;

/// 100 × 1500 bytes are 37 blocks of 4 KB read at once, half a unit each; in pages of 10 they are 10 × 4
/// blocks.
#[test]
fn reads_are_billed_for_the_declared_number_of_items() {
    let inline = "data: {inline: {Order: [{id: a, cid: \"1\", placed: \"2026-01-01\"}, {id: b, cid: \"1\", placed: \"2026-01-02\"}]}}";
    for data in ["", "data: {generate: {seed: 3, sample: 50}}", inline] {
        let text = |returns: &str| QUESTIONS.replace("DATA", data).replace("RETURNS", returns);
        let bill = billed(&text("returns: {avg: 100, max: 1000}"), Settings::default());
        assert_eq!(taken(&bill, "Q2", Some("byCust")), Some(pair("18.5 R", "$60.77")), "{data}");
        let bill = billed(&text("returns: {avg: 100, page: 10}"), Settings::default());
        assert_eq!(taken(&bill, "Q2", Some("byCust")), Some(pair("20 R", "$65.70")), "{data}");
    }
}

/// 60 pages of 100 items of a kilobyte, 25 blocks each, whether all of them are loaded or not.
#[test]
fn a_collection_too_large_to_load_is_metered_in_whole_pages_and_extrapolated() {
    let text = |items: u64| {
        QUESTIONS
            .replace("DATA", "")
            .replace("size: 1500", "size: 100000")
            .replace("RETURNS", &format!("returns: {{avg: {items}, page: 10}}"))
    };
    let bill = billed(&text(6000), Settings::default());
    // A page is ten items of 100,000 bytes: 245 blocks of 4 KB, half a unit each; 600 of them.
    assert_eq!(taken(&bill, "Q2", Some("byCust")).map(|(units, _)| units).as_deref(), Some("73500 R"));
    let extended = |note: &crate::run::Note| matches!(note, crate::run::Note::Extended { wanted: 6000, .. });
    assert!(bill.notes.iter().any(extended), "{:?}", bill.notes);
}

#[test]
fn assumptions_of_a_bill_are_listed() {
    let text = LARGE.replace("DATA", "").replace("count: 10000000, size: 5000, ", "");
    let text = text.replace("rate: 10}", "rate: 10}\n  - {id: Q, query: Order, given: {id: eq}, rate: 1}");
    let bill = billed(&text, Settings::default());
    let said: Vec<String> = bill.notes.iter().map(ToString::to_string).collect();
    for part in
        ["Order has no count", "Order has neither `size` nor data", "Q does not say how much it returns"]
    {
        assert!(said.iter().any(|note| note.starts_with(part)), "{part}: {said:?}");
    }
    assert!(!bill.is_whole() && bill.storage.is_empty());
}

/// 60 items of 390,000 bytes are 23 MB: the part that exceeds one response is not billed as returned.
#[test]
fn a_batch_that_one_answer_does_not_hold_is_named_and_not_billed_in_part() {
    let batch = |items: u64| {
        let step = format!("  - {{id: B, batch: [{{get: Order, n: {items}}}], rate: 1}}");
        let text = LARGE.replace("DATA", &format!("{step}\ndata: {{generate: {{seed: 1, sample: 5}}}}"));
        billed(&text.replace("size: 5000", "size: 390000"), Settings::default())
    };
    let fits = batch(40);
    assert_eq!(
        taken(&fits, "B", None).map(|(units, _)| units).as_deref(),
        Some("1920 R"),
        "{:?}",
        fits.notes
    );
    let bill = batch(60);
    assert_eq!(taken(&bill, "B", None), None);
    let said = bill.notes.iter().map(ToString::to_string).find(|note| note.starts_with("B did not run"));
    let said = said.expect("a note");
    assert!(said.contains("its items have 23 MB, and one answer holds at most 16 MB"), "{said}");
    assert!(!bill.is_whole());
}

const STATUS: &str = r#"
format: 1
model: upd
tables:
  Tab: {key: {pk: S}, indexes: {byStatus: {pk: status, project: all}}}
entities:
  Order: {count: 1000, key: {pk: "o#{id}"}, byStatus: {status: "{status}"}, attrs: {id: S, status: {type: S, values: [NEW, PAID, DONE]}}}
patterns:
  - {id: W1, text: u, update: Order, set: "status = :status", if: exists, rate: 10}
data: {inline: {Order: [{id: "1", status: NEW}, {id: "2", status: PAID}]}}
"#;

#[test]
fn an_update_without_an_example_changes_its_index_key_and_pays_for_both_entries() {
    let bill = billed(STATUS, Settings::default());
    assert_eq!(taken(&bill, "W1", None), Some(pair("1 W", "$16.43")));
    assert_eq!(taken(&bill, "W1", Some("byStatus")), Some(pair("2 W", "$32.85")));
    assert_eq!(bill.written.first().and_then(Written::percent), Some(300));
}

const FIXED: &str = r#"
format: 1
model: sh
tables:
  Tab: {key: {pk: S, sk: S}, billing: {provisioned: {UNITS}}INDEXES}
entities:
  A: {count: 10, size: 100, key: {pk: "a#{id}", sk: a}, attrs: {id: S}}
patterns:
  - {id: R1, text: get, get: A, given: {id: eq}, rate: {avg: 10, peak: 100}}
"#;

fn provisioned(units: &str, indexes: &str) -> Bill {
    billed(&FIXED.replace("UNITS", units).replace("INDEXES", indexes), Settings::default())
}

/// 5000 × 0.00013 × 730 + 5000 × 0.00065 × 730, in use or not, and the same for each global index.
#[test]
fn fixed_units_are_billed_whether_they_are_used_or_not() {
    let bill = provisioned("rcu: 5000, wcu: 5000", "");
    assert_eq!(bill.total().to_string(), "$2847.00");
    assert_eq!(taken(&bill, "R1", None), Some(pair("0.5 R", "$0.47")));
    assert_eq!(bill.shortages().count(), 0);
    let indexed = provisioned("rcu: 5000, wcu: 5000", ", indexes: {byId: {pk: id, project: all}}");
    assert_eq!(indexed.total().to_string(), "$5694.00");
    let saving = bill.savings.first().expect("fewer would do");
    assert_eq!((saving.now.2.to_string(), saving.best.1), ("$2847.00".to_owned(), Mode::OnDemand));
}

/// Each line is rounded by itself: the sum may exceed the provisioned cost, and the unused rest is then zero.
#[test]
fn rounding_leaves_no_unused_cost_when_all_units_are_used() {
    for rate in 1..40 {
        let more = format!(
            "  - {{id: R2, get: A, given: {{id: eq}}, rate: {rate}.3}}\n  - {{id: R3, get: A, given: {{id: eq}}, rate: 7.{rate}}}\n"
        );
        let text = FIXED.replace("UNITS", "rcu: 3, wcu: 1").replace("INDEXES", "") + &more;
        let bill = billed(&text, Settings::default());
        let unused = bill.capacity.first().map(|own| own.unused.reads);
        assert_eq!(unused.map(|own| (0..9).contains(&own.as_nanos())), Some(true), "{rate}: {unused:?}");
    }
}

/// 5 read units on average, 50 at the peak.
#[test]
fn a_bill_names_units_too_small_for_the_peak_and_the_units_needed() {
    for (units, short) in [
        ("rcu: 50, wcu: 1", false),
        ("rcu: 49, wcu: 1", true),
        ("rcu: 1, wcu: 1", true),
        ("rcu: 1, wcu: 1, autoscale: {min: 1, max: 50, target: 70}", false),
        ("rcu: 1, wcu: 1, autoscale: {min: 1, max: 49, target: 70}", true),
    ] {
        let bill = provisioned(units, "");
        let found: Vec<_> = bill.shortages().map(|own| own.read).collect();
        assert_eq!(!found.is_empty(), short, "{units}");
        if let Some(own) = found.first() {
            assert_eq!((own.average_units(), own.peak_units()), (5, 50), "{units}");
        }
    }
}

/// 100 strong reads at a target of 50 % are 200 units: 18.98; without load the minimum is paid for.
#[test]
fn scaled_units_follow_the_average_between_their_bounds() {
    let bill = |scale: &str, rate: &str| {
        let text = FIXED
            .replace("UNITS", &format!("rcu: 1, wcu: 1, autoscale: {scale}"))
            .replace("INDEXES", "")
            .replace("count: 10, ", "")
            .replace("rate: {avg: 10, peak: 100}", &format!("consistency: strong, rate: {rate}"));
        let units = billed(&text, Settings::default());
        units.capacity.first().map(|own| (own.monthly.reads.to_string(), own.read.most_units()))
    };
    let found = |cost: &str, most| Some((cost.to_owned(), most));
    assert_eq!(bill("{min: 1, max: 1000, target: 50}", "100"), found("$18.98", 1000));
    assert_eq!(bill("{min: 500, max: 1000, target: 50}", "100"), found("$47.45", 1000));
    assert_eq!(bill("{min: 1, max: 150, target: 50}", "100"), found("$14.24", 150));
}

#[test]
fn fixed_units_hold_the_peak_and_scaled_ones_follow_the_average_in_every_mode() {
    let prices = prices(TODAY);
    let demand = Demand { average: load(10, 0), peak: load(70, 0), replicated: false };
    let asked = Workload { demands: vec![demand], bytes: 0, replicas: 0, free: Vec::new() };
    let cost = |mode| costing(&prices).month(&asked, TableClass::Standard, mode).expect("priced");
    let hour = |units: i128| Money::nanos(130_000 * 730 * units) + Money::nanos(650_000 * 730);
    assert_eq!(cost(Mode::Provisioned { used_ppm: 700_000 }), hour(100));
    assert_eq!(cost(Mode::Autoscaled { used_ppm: 500_000 }), hour(20));
    assert_eq!(cost(Mode::OnDemand), Money::nanos(125 * 10 * 730 * 3600));
}

/// The bill of an on-demand table equals the mode table's figure for on-demand, in all regions, also at older
/// prices.
#[test]
fn the_mode_table_and_break_evens_have_replicated_writes_and_storage() {
    let text = SHOP.replace("REPLICAS", "replicas: [eu-west-1, ap-south-1]").replace("pitr: true", "");
    for file in [TODAY, "us-east-1@2024-10"] {
        let bill = at(file, &text, Settings::default());
        let modes = &bill.modes.first().expect("a table").1;
        let on_demand =
            modes.iter().find(|(class, mode, _)| (*class, *mode) == (TableClass::Standard, Mode::OnDemand));
        let difference = on_demand.expect("on-demand").2.as_nanos() - bill.total().as_nanos();
        assert!(difference.abs() < 100, "{file}: {on_demand:?} {}", bill.total());
    }
    let even =
        |file| at(file, &text, Settings::default()).break_evens.first().map(|(_, own)| own.provisioned_ppm);
    assert_eq!(even(TODAY), Some(288_889));
}

/// A transaction writes an item twice and changes it once; its checks change nothing. 1.5 KB are two units.
#[test]
fn change_capture_is_charged_once_for_each_change() {
    let text = LARGE.replace("DATA", "").replace("size: 5000", "size: 1500").replace(
        "put: Order, if: not-exists, rate: 10}",
        "transact: [{put: Order, if: not-exists}, {check: Order, if: exists}], rate: 10}",
    );
    let habits = Habits { change_capture: true, ..Habits::default() };
    let bill = billed(&text, Settings { habits, ..Settings::default() });
    assert_eq!(feature(&bill, "change capture"), Some(Money::nanos(100 * 2 * 10 * 730 * 3600)));
    let alone = billed(&LARGE.replace("DATA", ""), Settings { habits, ..Settings::default() });
    assert_eq!(feature(&alone, "change capture"), Some(Money::nanos(100 * 5 * 10 * 730 * 3600)));
}

/// One of a hundred items is in the index: it receives a hundredth of the writes and of the storage.
#[test]
fn an_index_that_few_items_are_in_is_written_and_stored_as_rarely() {
    let text = STATUS
        .replace("values: [NEW, PAID, DONE]", "values: [OPEN], present: 0.01")
        .replace("update: Order, set: \"status = :status\", if: exists", "put: Order")
        .replace("count: 1000,", "count: 1000000, size: 924,")
        .replace("data: {inline: {Order: [{id: \"1\", status: NEW}, {id: \"2\", status: PAID}]}}", "");
    let bill = billed(&text, Settings::default());
    assert_eq!(taken(&bill, "W1", Some("byStatus")), Some(pair("1 W × 1.0 %", "$0.16")));
    let bytes: Vec<u128> = bill.storage.iter().map(|own| own.bytes).collect();
    assert_eq!(bytes, [1_024_000_000, 10_240_000]);
}

#[test]
fn a_bill_names_the_prices_it_used_and_marks_those_nobody_confirmed() {
    let text = LARGE.replace("DATA", "").replace(
        "Orders: {key: {pk: S}}",
        "Orders: {key: {pk: S}, class: infrequent-access, billing: {provisioned: {rcu: 200, wcu: 50}}}",
    );
    let model = keywright_model::parse(&text).expect("a model");
    let measured = crate::run::measure(&model, &[]).expect("it runs");
    let prices = prices(TODAY);
    let costing = costing(&prices);
    let bill = bill(&model, &measured, &costing).expect("priced");
    let items = [Item::InfrequentReadHour, Item::InfrequentWriteHour, Item::InfrequentStorage];
    assert!(
        items.iter().all(|item| bill.prices.contains(item)) && bill.prices.len() == 3,
        "{:?}",
        bill.prices
    );
    let shown = super::text(&bill, &costing);
    let line = |name: &str| shown.lines().find(|line| line.trim().starts_with(name)).expect(name).to_owned();
    assert!(line("infrequent-write-hour").contains("not confirmed"), "{shown}");
    assert!(
        line("infrequent-storage").contains("2026-08")
            && !line("infrequent-storage").contains("not confirmed")
    );
    let document = super::json(&model.name, &bill, &costing);
    let read: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let nanos = read["total"]["nanoDollars"].as_i64().map(i128::from);
    assert_eq!(nanos, Some(bill.total().as_nanos()));
    assert_eq!(read["prices"]["used"].as_array().map(Vec::len), Some(3));
    assert_eq!(read["patterns"][0]["readUnits"].as_i64(), Some(2));
    assert!(super::markdown(&model.name, &bill, &costing).contains("| infrequent-storage | $0.10 |"));
}

#[test]
fn break_evens_are_rounded_not_cut() {
    assert_eq!(super::text::percent(288_888), "28.9 %");
    assert_eq!(super::text::percent(288_449), "28.8 %");
}

const SCANNED: &str = r#"
format: 1
model: scan
tables:
  Tab: {key: {pk: S, sk: S}, indexes: {gix: {pk: k, project: all}}}
entities:
  Doc: {count: 5000000, size: 2000, key: {pk: "d#{id}", sk: x}, attrs: {id: S, k: {type: S, distinct: 2000, present: 0.1}, body: S}, gix: {k: "{k}"}}
  Note: {COUNTsize: 1000, key: {pk: "n#{nid}", sk: x}, attrs: {nid: S, text: S}}
patterns:
  - {id: S, scan: Doc, admin: true, rate: 0.01}
  - {id: R, scan: Doc, admin: true, returns: {avg: 5}, rate: 0.01}
  - {id: I, scan: Doc, uses: gix, admin: true, rate: 0.01}
data: {generate: {seed: 1, sample: 100}}
"#;

/// 10¹⁰ bytes of documents and as many of notes, in blocks of 4 KB of half a unit: 2,441,406 units in all,
/// each page of a megabyte rounded up. The index has a tenth of the documents.
#[test]
fn a_scan_is_billed_for_all_that_its_table_holds() {
    let units = |bill: &Bill, pattern: &str| {
        let line = bill.lines.iter().find(|line| line.pattern == pattern).expect("a line");
        line.read.0 / 2
    };
    let bill = billed(&SCANNED.replace("COUNT", "count: 10000000, "), Settings::default());
    for (pattern, wanted) in [("S", 2_441_406), ("R", 2_441_406), ("I", 122_070)] {
        let found = units(&bill, pattern);
        assert!(found.abs_diff(wanted) * 200 < wanted, "{pattern}: {found}");
    }
    let of = |id: &str| {
        let own = |note: &&crate::run::Note| matches!(note, crate::run::Note::Extended { pattern, .. } if pattern == id);
        bill.notes.iter().any(|note| own(&note))
    };
    assert!(of("S") && of("R") && of("I") && bill.is_whole(), "{:?}", bill.notes);
    let uncounted = billed(&SCANNED.replace("COUNT", ""), Settings::default());
    assert!(units(&uncounted, "S").abs_diff(1_220_703) < 6000 && !uncounted.is_whole());
}

const SPARSE: &str = r#"
format: 1
model: pres
tables:
  Tab: {key: {pk: S}, indexes: {open: {pk: assignee, sk: due, project: all}}}
entities:
  Task: {count: 1000000, size: 900, key: {pk: "t#{id}"}, open: {assignee: "{assignee}", due: "{due}"}, attrs: {id: {type: S, format: uuid}, assignee: {type: S, VALUES, present: 0.02}, due: {type: S, format: date}, txt: S}}
patterns:
  - {id: A, update: Task, set: "assignee = :a", if: exists, rate: 50}
  - {id: F, update: Task, remove: assignee, if: exists, rate: 50}
  - {id: N, put: Task, if: not-exists, example: {assignee: joe, due: "2026-01-01"}, rate: 50}
  - {id: O, put: Task, if: not-exists, rate: 50}
  - {id: T, update: Task, set: "txt = :t", if: exists, rate: 50}
  - {id: C, update: Task, set: "txt = :t", if: "attribute_exists(assignee)", rate: 50}
data: {generate: {seed: 1, sample: SAMPLE}}
"#;

#[test]
fn writes_that_enter_leave_or_stay_in_a_sparse_index_are_billed_whole_and_others_by_its_share() {
    for (values, sample) in [("distinct: 2000", "500"), ("values: [joe]", "200"), ("values: [joe]", "1")] {
        let bill = billed(&SPARSE.replace("VALUES", values).replace("SAMPLE", sample), Settings::default());
        for (pattern, whole) in
            [("A", true), ("F", true), ("N", true), ("O", false), ("T", false), ("C", true)]
        {
            let wanted = if whole { pair("1 W", "$82.13") } else { pair("1 W × 2.0 %", "$1.64") };
            assert_eq!(taken(&bill, pattern, Some("open")), Some(wanted), "{pattern} {values} {sample}");
        }
    }
}

const TWO: &str = r#"
format: 1
model: two
tables:
  Tab: {key: {pk: S}, indexes: {gix: {pk: flag, project: all}}}
entities:
  A: {count: 1000000, size: 900, key: {pk: "a#{id}"}, gix: {flag: "{flag}"}, attrs: {id: S, flag: {type: S, distinct: 1000, present: 0.1}, body: S}}
  B: {count: 1000000, size: 1900, key: {pk: "b#{bid}"}, gix: {flag: "b#{bflag}"}, attrs: {bid: S, bflag: {type: S, distinct: 1000, present: 0.4}, body: S}}
patterns:
  - {id: A1, put: A, if: not-exists, rate: 100}
  - {id: B1, put: B, if: not-exists, rate: 100}
  - {id: T, transact: [{put: A, if: not-exists}, {put: B, if: not-exists}], rate: 100}
  - {id: L, batch: [{put: A, n: 2}, {put: B}], rate: 100}
"#;

/// A tenth of one unit and four tenths of two.
#[test]
fn each_step_of_a_transaction_or_batch_reaches_a_sparse_index_as_often_as_its_own_items_do() {
    let bill = billed(TWO, Settings::default());
    let cost = |pattern: &str| taken(&bill, pattern, Some("gix")).expect("a line").1;
    assert_eq!((cost("A1"), cost("B1")), ("$16.43".to_owned(), "$131.40".to_owned()));
    assert_eq!(cost("T"), "$147.83");
    assert_eq!(cost("L"), "$164.25");
}

#[test]
fn the_free_tier_goes_off_the_storage_of_each_region_once_and_the_mode_table_agrees() {
    let free = Settings { free_tier: true, ..Settings::default() };
    let text = LARGE.replace("DATA", "").replace("size: 5000", "size: 2584");
    let two = text
        .replace("tables:", "tables:\n  Others: {key: {pk: S}}")
        .replace("patterns:", "  Other: {table: Others, count: 10000000, size: 2584, key: {pk: \"x#{id}\"}, attrs: {id: S}}\npatterns:")
        .replace("Order: {count", "Order: {table: Orders, count");
    let stored = |bill: &Bill| bill.storage.iter().map(|own| own.monthly.as_nanos()).sum::<i128>();
    let plain = stored(&billed(&two, Settings::default()));
    // 25 GB at 0.25.
    assert!((plain - stored(&billed(&two, free)) - 6_250_000_000).abs() < 10);
    // Each region has its own.
    let region = text.replace(
        "key: {pk: S}",
        "key: {pk: S}, replicas: [eu-west-1], indexes: {byId: {pk: id, project: all}}",
    );
    let (bill, plain) = (billed(&region, free), billed(&region, Settings::default()));
    assert!((plain.total().as_nanos() - bill.total().as_nanos() - 12_500_000_000).abs() < 10);
    let modes = &bill.modes.first().expect("a table").1;
    let on_demand =
        modes.iter().find(|(class, mode, _)| (*class, *mode) == (TableClass::Standard, Mode::OnDemand));
    assert!((on_demand.expect("on-demand").2.as_nanos() - bill.total().as_nanos()).abs() < 100);
}

#[test]
fn a_failure_that_does_not_happen_is_named_and_the_bill_is_not_whole() {
    let text = LARGE.replace("DATA", "").replace(
        "if: not-exists, rate: 10}",
        "if: not-exists, rate: 10, expect: {fails-when: null, reason: ConditionalCheckFailed}}",
    );
    let bill = billed(&text, Settings::default());
    let named = |note: &crate::run::Note| note.to_string().starts_with("W1 is expected to fail and does not");
    assert!(bill.notes.iter().any(named) && !bill.is_whole(), "{:?}", bill.notes);
}

const DUES: &str = r#"
format: 1
model: dues
tables:
  Tab: {key: {pk: S}, indexes: {mine: {pk: assignee, sk: due, project: all}, two: {pk: aa, sk: bb, project: keys}}}
entities:
  Ticket: {count: 1000000, size: 900, key: {pk: "t#{id}"}, mine: {assignee: "{assignee}", due: "{due}"}, two: {aa: "{aa}", bb: "{bb}"}, attrs: {id: {type: S, format: uuid}, assignee: {type: S, distinct: 2000, present: 0.02}, due: {type: S, format: date}, aa: {type: S, distinct: 1000, present: 0.5}, bb: {type: S, distinct: 1000, present: 0.5}, txt: S}}
patterns:
  - {id: D, update: Ticket, set: "due = :d", if: exists, rate: 100}
  - {id: M, update: Ticket, set: "due = :d", if: "attribute_exists(assignee)", rate: 100}
  - {id: A, update: Ticket, set: "assignee = :a", if: exists, rate: 100}
  - {id: R, update: Ticket, set: "assignee = :a", if: "attribute_exists(assignee)", rate: 100}
  - {id: T, update: Ticket, set: "txt = :t", if: exists, rate: 100}
  - {id: P, put: Ticket, if: not-exists, rate: 100}
  - {id: B, update: Ticket, set: "aa = :a", if: exists, rate: 100}
data: {generate: {seed: 1, sample: 500}}
"#;

/// A write changes a part of the key that all items have: it reaches the index for the items in it. 2 % × 2 W
/// × 100/s are $6.57.
#[test]
fn a_write_of_an_always_present_key_part_reaches_a_sparse_index_by_its_share_of_items() {
    let bill = billed(DUES, Settings::default());
    for (pattern, units, cost) in [
        ("D", "2 W × 2.0 %", "$6.57"),
        ("M", "2 W", "$328.50"),
        ("A", "1 W", "$164.25"),
        ("R", "2 W", "$328.50"),
        ("T", "1 W × 2.0 %", "$3.29"),
        ("P", "1 W × 2.0 %", "$3.29"),
    ] {
        assert_eq!(taken(&bill, pattern, Some("mine")), Some(pair(units, cost)), "{pattern}");
    }
}

/// Half of the items have `aa` and half have `bb`: a quarter has both. Of the half with `bb`, half have `aa`
/// already: they move, which is two writes; the others enter, which is one.
#[test]
fn attributes_that_half_of_the_items_have_are_together_in_a_quarter() {
    let bill = billed(DUES, Settings::default());
    assert_eq!(taken(&bill, "P", Some("two")), Some(pair("1 W × 25.0 %", "$41.06")));
    assert_eq!(taken(&bill, "B", Some("two")), Some(pair("2 W × 37.5 %", "$123.19")));
}

/// The same without declared shares: the data show them.
#[test]
fn shares_shown_by_the_data_count_like_declared_ones() {
    let data = "data: {inline: {Ticket: [{id: a, assignee: joe, due: \"2026-01-01\", txt: x}, {id: b, due: \"2026-01-01\", txt: x}]}}";
    let text = DUES
        .replace("present: 0.02", "")
        .replace("data: {generate: {seed: 1, sample: 500}}", data)
        .replace(", two: {pk: aa, sk: bb, project: keys}", "")
        .replace(", two: {aa: \"{aa}\", bb: \"{bb}\"}", "");
    let bill = billed(&text, Settings::default());
    assert_eq!(taken(&bill, "D", Some("mine")), Some(pair("2 W × 50.0 %", "$164.25")));
    assert_eq!(taken(&bill, "M", Some("mine")), Some(pair("2 W", "$328.50")));
}

const SMALL: &str = r#"
format: 1
model: small
tables:
  Tab: {key: {pk: S}, billing: {provisioned: {rcu: 20, wcu: 20}}}
entities:
  X: {count: 1000, size: 900, key: {pk: "x#{id}"}, attrs: {id: {type: S, format: uuid}, body: S}}
patterns:
  - {id: G, get: X, given: {id: eq}, rate: 10}
  - {id: P, put: X, if: not-exists, rate: 10}
data: {generate: {seed: 1, sample: 20}}
"#;

fn of_mode(bill: &Bill, wanted: &str) -> String {
    let modes = &bill.modes.first().expect("a table").1;
    let own = modes.iter().find(|(class, mode, _)| class_and_mode(*class, *mode) == wanted);
    own.expect(wanted).2.to_string()
}

/// 20 × 0.00013 × 730 and 20 × 0.00065 × 730 dollars are free, because 25 units of each are.
#[test]
fn twenty_five_provisioned_units_are_free_in_each_region() {
    let free = Settings { free_tier: true, ..Settings::default() };
    assert_eq!(billed(SMALL, Settings::default()).total().to_string(), "$11.39");
    let bill = billed(SMALL, free);
    assert_eq!(feature(&bill, "free provisioned units"), Some(Money::nanos(-11_388_000_000)));
    assert_eq!(bill.total().to_string(), "$0.00");
    assert_eq!(of_mode(&bill, "Standard, provisioned"), "$0.00");
    // Two tables share them: 40 units of each, 15 of which are paid for.
    let two = SMALL
        .replace("entities:", "  Two: {key: {pk: S}, billing: {provisioned: {rcu: 20, wcu: 20}}}\nentities:")
        .replace(
            "patterns:",
            "  Y: {table: Two, count: 1000, size: 900, key: {pk: \"y#{id}\"}, attrs: {id: S}}\npatterns:",
        )
        .replace("X: {count", "X: {table: Tab, count");
    assert_eq!(billed(&two, free).total().to_string(), "$8.54");
    // On-demand requests are not covered by the free units.
    let asked = SMALL.replace(", billing: {provisioned: {rcu: 20, wcu: 20}}", "");
    assert_eq!(
        billed(&asked, free).total().to_string(),
        billed(&asked, Settings::default()).total().to_string()
    );
}

/// 100 million items of 1000 bytes: point-in-time recovery is $18.63 of the month.
#[test]
fn the_total_is_the_cost_in_the_declared_mode_with_every_feature() {
    let text = SMALL
        .replace(", billing: {provisioned: {rcu: 20, wcu: 20}}", ", pitr: true")
        .replace("count: 1000,", "count: 100000000,");
    let bill = billed(&text, Settings::default());
    let recovery = feature(&bill, "point-in-time recovery").expect("it is on");
    assert!(recovery > Money::dollars(15), "{recovery}");
    assert_eq!(of_mode(&bill, "Standard, on-demand"), bill.total().to_string());
    for saving in &bill.savings {
        assert_eq!(saving.now.2, bill.total());
    }
    assert!(!bill.savings.is_empty(), "a flat load is cheaper provisioned");
}

/// 8 read and 15 write units hold the peak; a block of 100 of each is $2.17 and $10.91 for three years.
#[test]
fn units_are_reserved_in_blocks_of_a_hundred() {
    let bill = billed(SMALL, Settings::default());
    assert_eq!(of_mode(&bill, "Standard, provisioned"), "$7.88");
    assert_eq!(of_mode(&bill, "Standard, reserved for 3 years"), "$13.08");
    assert!(bill.savings.iter().all(|saving| saving.reserved.is_none()), "{:?}", bill.savings);
    // 1010 write units: ten blocks, and ten units by the hour, which cost less than another block.
    let many = SMALL.replace("put: X, if: not-exists, rate: 10", "put: X, if: not-exists, rate: 707");
    assert_eq!(of_mode(&billed(&many, Settings::default()), "Standard, reserved for 3 years"), "$116.04");
}

#[test]
fn a_failed_write_causes_no_change_capture() {
    let habits = Habits { change_capture: true, ..Habits::default() };
    let settings = Settings { habits, ..Settings::default() };
    let text = SMALL
        .replace("data: {generate: {seed: 1, sample: 20}}", "data: {inline: {X: [{id: a, body: b}]}}")
        .replace("not-exists, rate: 10", "not-exists, rate: 10, example: {id: c}");
    assert!(feature(&billed(&text, settings), "change capture").is_some());
    let fails = "example: {id: a}, expect: {fails-when: null, reason: ConditionalCheckFailed}";
    assert_eq!(feature(&billed(&text.replace("example: {id: c}", fails), settings), "change capture"), None);
}

#[test]
fn a_bill_notes_a_peak_without_an_average_and_the_transfer_between_regions() {
    let said = |text: &str| super::text::open(&billed(text, Settings::default())).join("\n");
    let plain = said(SMALL);
    assert!(!plain.contains("peak") && !plain.contains("regions"), "{plain}");
    let peak = said(&SMALL.replace("if: not-exists, rate: 10", "if: not-exists, rate: {peak: 10}"));
    assert!(
        peak.contains("P has a peak and no average rate: it is billed as if it were at its peak always"),
        "{peak}"
    );
    let regions = said(
        &SMALL
            .replace("key: {pk: S},", "key: {pk: S}, replicas: [eu-west-1],")
            .replace("wcu: 20}", "wcu: 20, autoscale: {max: 20}}"),
    );
    assert!(regions.contains("Tab is in several regions"), "{regions}");
}

/// Numbers of different lengths, each counted up from its own start, would overlap.
#[test]
fn a_read_of_all_seats_reads_the_declared_number_for_every_seed() {
    let model = |seed: u32, key: &str, seat: &str| {
        format!(
            r#"
format: 1
model: seats
tables: {{Box: {{key: {{pk: S, sk: {key}}}}}}}
entities:
  Event: {{count: 3000, size: 900, key: {{pk: "e#{{eventId}}", sk: {first}}}, attrs: {{eventId: S, {more}name: S}}}}
  Seat: {{count: 1500000, size: 120, parent: Event, key: {{pk: "e#{{eventId}}", sk: "{seat}"}}, attrs: {{eventId: S, seatNo: {{type: {kind}, distinct: 500{form}}}, holder: S}}}}
patterns:
  - {{id: Q5, text: seats, query: Seat, given: {{eventId: eq}}, returns: {{avg: 500, max: 500, page: 500}}, rate: 4}}
data: {{generate: {{seed: {seed}, sample: 500}}}}
"#,
            first = if key == "S" { "\"e#\"" } else { "\"{zero}\"" },
            more = if key == "S" { "" } else { "zero: {type: N, values: [0]}, " },
            kind = if seat.contains("pad(5)") { "S" } else { "N" },
            form = if seat.contains("pad(5)") { ", format: sequence" } else { "" },
        )
    };
    for seed in 1..=8 {
        for (key, seat) in [
            ("S", "s#{seatNo:pad(4)}"),
            ("S", "s#{seatNo:pad(3)}"),
            ("S", "s#{seatNo:pad(5)}"),
            ("N", "{seatNo}"),
        ] {
            let bill = billed(&model(seed, key, seat), Settings::default());
            let (units, _) = taken(&bill, "Q5", None).expect("a line");
            assert_eq!(units, "7.5 R", "60,000 bytes are 15 blocks: seed {seed}, {seat}");
            let notes: Vec<String> = bill.notes.iter().map(ToString::to_string).collect();
            assert!(!notes.iter().any(|note| note.contains("leave")), "{notes:?}");
        }
    }
}
