//! Simulations of small models whose answers can be worked out by hand.

use keywright_model::{Model, data};
use keywright_semantics::share::ALL_PPM;

use super::*;
use crate::cost::{Costing, Mode, Settings, bill};
use crate::heat::of_model;
use crate::price::{Money, Prices, TODAY};
use crate::run::{Measured, measure};

const SHARDED: &str = "format: 1
model: votes
tables:
  Votes: {key: {pk: S, sk: S}}
entities:
  Tally:
    count: 1
    size: 200
    key: {pk: \"VOTES#{candidate}#{shard|shard(SHARDS)}\", sk: TOTAL}
    attrs:
      candidate: {type: S, distinct: 1}
      shard: {type: N, distinct: SHARDS}
      votes: N
patterns:
  - {id: vote, text: Somebody votes, update: Tally, add: \"votes :one\", rate: RATE, example: {candidate: ann, shard: 0, one: 1}}
data: {generate: {seed: 1, sample: 1}}
";

fn sharded(shards: u64, rate: u64) -> Model {
    let text = SHARDED.replace("SHARDS", &shards.to_string()).replace("RATE", &rate.to_string());
    keywright_model::parse(&text).expect("a model")
}

const ORDERS: &str = "format: 1
model: orders
tables:
  Orders:
    key: {pk: S, sk: S}
    indexes: {byState: {pk: state, sk: orderId, project: all}}
entities:
  Order:
    count: 100000
    size: 900
    key: {pk: \"CUSTOMER#{customerId}\", sk: \"ORDER#{orderId}\"}
    attrs:
      customerId: {type: S, distinct: 10000}
      orderId: {type: S, format: uuid}
      state: {type: S, distinct: 5000}
patterns:
  - {id: place, text: An order, put: Order, rate: 20}
  - {id: read, text: An order by key, get: Order, given: {customerId: eq, orderId: eq}, rate: 30}
data: {generate: {seed: 1, sample: 50}}
";

fn measured(model: &Model) -> Measured {
    let samples = data::load(model, &|_| Err("no files".to_owned())).expect("data");
    measure(model, &samples).expect("a workload")
}

fn simulated(model: &Model, profile: &str) -> Simulation {
    let text = format!("start: 2026-11-27T17:00:00Z\n{profile}");
    let profile = parse(&text, model).unwrap_or_else(|faults| panic!("{faults:?}"));
    let prices = Prices::built_in(TODAY).expect("prices");
    let costing = Costing { prices: &prices, settings: Settings::default() };
    simulate(model, &measured(model), &profile, &costing, &mut |_, _| {}).expect("a simulation")
}

fn refusals(simulation: &Simulation, place: usize) -> Vec<u64> {
    simulation.minutes[place].iter().map(Minute::refusals).collect()
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let profile =
        "length: 5m\nseed: 3\narrivals: poisson\ntables: {Orders: {mode: provisioned, read: 5, write: 15}}\n";
    let model = keywright_model::parse(ORDERS).expect("a model");
    let (one, other) = (simulated(&model, profile), simulated(&model, profile));
    assert!(one.throttled.iter().sum::<u64>() > 0, "it is busy enough to differ");
    assert_eq!(
        (text(&one), json(&one), csv(&one), svg(&one)),
        (text(&other), json(&other), csv(&other), svg(&other))
    );
    assert_ne!(csv(&one), csv(&simulated(&model, &profile.replace("seed: 3", "seed: 4"))));
}

#[test]
fn partitions_of_changed_units_are_those_of_the_paper() {
    let profile = "length: 3m\nretries: 0\ntables:\n  Votes:\n    mode: provisioned\n    read: 1\n    write: 3200\n    changes: [{at: 60s, write: 3600}, {at: 120s, write: 6000}]\n";
    let found = simulated(&sharded(4, 10), profile);
    let partitions: Vec<usize> = found.minutes[0].iter().map(|minute| minute.partitions).collect();
    assert_eq!(partitions, [4, 4, 8]);
}

#[test]
fn one_item_is_refused_above_one_partitions_units_for_ever() {
    let profile = "length: 12m\nretries: 0\ntables: {Votes: {mode: provisioned, read: 1, write: 5000}}\n";
    let found = simulated(&sharded(1, 1200), profile);
    let refused = refusals(&found, 0);
    // The first second may use a second's units twice: those saved and those that come in.
    assert!((11_000..=12_000).contains(&refused[0]), "{refused:?}");
    assert!(refused[1..].iter().all(|refused| (11_990..=12_010).contains(refused)), "{refused:?}");
    let reasons: Vec<&String> = found.minutes[0].iter().flat_map(|minute| minute.refused.keys()).collect();
    assert!(reasons.iter().all(|reason| *reason == "TableWriteKeyRangeThroughputExceeded"));
    let heaviest = found.minutes[0][11].heaviest.clone().expect("there is load");
    assert_eq!(heaviest.key.map(|(key, _)| key), Some("VOTES#0#0".to_owned()));
    let whole =
        |event: &&Event| matches!(event.what, What::Whole { why: keywright_engine::Whole::OneItem, .. });
    assert!(found.events.iter().any(|event| whole(&event)), "{:?}", found.events);
    assert_eq!(found.lost, refused.iter().sum::<u64>());
}

#[test]
fn the_shards_of_heat_are_the_fewest_that_are_not_refused_after_healing() {
    // 2,500 units a second, in few writes: each writes an item of five units whole.
    let update =
        "update: Tally, add: \"votes :one\", rate: RATE, example: {candidate: ann, shard: 0, one: 1}";
    let large = SHARDED.replace(update, "put: Tally, rate: 500").replace("size: 200", "size: 5000");
    let votes =
        |shards: u64| keywright_model::parse(&large.replace("SHARDS", &shards.to_string())).expect("a model");
    let model = votes(1);
    let needed = of_model(&model, &measured(&model).report)[0].needed;
    let at_the_end = |shards: u64| {
        let profile = "length: 20m\nretries: 0\ntables: {Votes: {mode: provisioned, read: 1, write: 9000}}\n";
        let found = simulated(&votes(shards), profile);
        refusals(&found, 0)[15..].iter().sum::<u64>()
    };
    assert_eq!(needed, 3);
    assert_eq!(at_the_end(needed), 0);
    assert!(at_the_end(needed - 1) > 0);
}

/// Provisioned write units of the first resource, minute by minute.
fn write_units(simulation: &Simulation) -> Vec<u64> {
    simulation.minutes[0].iter().map(|minute| minute.provisioned.expect("provisioned")[1]).collect()
}

/// 20 writes of one unit a second for half an hour, then nothing.
const RISE: &str =
    "length: 70m\nretries: 0\npatterns: {vote: {rate: [{at: 0s, rate: 20}, {at: 30m, rate: 0}]}}\n";

#[test]
fn capacity_follows_the_load_up_within_minutes_and_down_later() {
    let scaling = "tables: {Votes: {mode: provisioned, read: 1, write: 5, scaling: {target: 50%, write: {min: 5, max: 100}}}}\n";
    let found = simulated(&sharded(4, 20), &format!("{RISE}{scaling}"));
    let units = write_units(&found);
    assert_eq!((units[0], units[10], units[69]), (5, 40, 5), "{units:?}");
    let rise = units.iter().position(|units| *units == 40).expect("it rises");
    // What is refused is not consumed: the first alarms see no more than the units that there are.
    assert!(units[2] > 5 && rise <= 8, "{units:?}");
    let refused = refusals(&found, 0);
    assert!(refused[1] > 0 && refused[rise + 1..].iter().all(|refused| *refused == 0), "{refused:?}");
    let texts: Vec<String> = found
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Scaled { text } => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(texts.last().map(String::as_str), Some("Setting write capacity units to 5."), "{texts:?}");
    assert!(text(&found).contains("scaling: Setting write capacity units to 40."));
}

#[test]
fn a_models_own_bounds_scale_it_and_its_indexes() {
    let declared = "billing: {provisioned: {rcu: 5, wcu: 5, autoscale: {min: 5, max: 30, target: 50}}}";
    let model = ORDERS.replace(
        "key: {pk: S, sk: S}\n    indexes",
        &format!("key: {{pk: S, sk: S}}\n    {declared}\n    indexes"),
    );
    let found = simulated(&keywright_model::parse(&model).expect("a model"), "length: 15m\nretries: 0\n");
    let last = |place: usize| found.minutes[place][14].provisioned.expect("provisioned");
    assert_eq!((last(0), last(1)), ([30, 30], [5, 30]));
}

#[test]
fn a_small_index_refuses_the_writes_of_a_large_table() {
    let model = keywright_model::parse(ORDERS).expect("a model");
    let profile = "length: 2m\nretries: 0\ntables:\n  Orders: {mode: provisioned, read: 100, write: 100, indexes: {byState: {write: 1, read: 1}}}\n";
    let found = simulated(&model, profile);
    let names: Vec<String> = found.resources.iter().map(Resource::name).collect();
    assert_eq!(names, ["Orders", "Orders/byState"]);
    assert_eq!(refusals(&found, 0), [0, 0]);
    assert!(refusals(&found, 1)[1] > 1000, "{:?}", refusals(&found, 1));
    let reasons: Vec<&String> = found.minutes[1].iter().flat_map(|minute| minute.refused.keys()).collect();
    assert!(reasons.iter().all(|reason| *reason == "IndexWriteProvisionedThroughputExceeded"), "{reasons:?}");
}

#[test]
fn an_on_demand_table_has_grown_half_an_hour_after_a_peak() {
    // Five units for each order: few requests are enough.
    let model = keywright_model::parse(&ORDERS.replace("size: 900", "size: 4900")).expect("a model");
    let profile = "length: 34m\nretries: 0\npatterns:\n  read: 0\n  place:\n    keys: uniform\n    rate: [{at: 0, rate: 500}, {at: 60s, rate: 0}, {at: 32m, rate: 900}]\n";
    let found = simulated(&model, profile);
    let units: Vec<u64> = found.minutes[0].iter().map(|minute| minute.units[1]).collect();
    assert_eq!((units[0], units[33]), (4000, 5000), "{units:?}");
    assert_eq!(refusals(&found, 0)[33], 0);
}

#[test]
fn a_flat_load_costs_what_the_model_costs() {
    let model = keywright_model::parse(ORDERS).expect("a model");
    let found = simulated(&model, "length: 10m\nretries: 0\n");
    let prices = Prices::built_in(TODAY).expect("prices");
    let costing = Costing { prices: &prices, settings: Settings::default() };
    let whole = bill(&model, &measured(&model), &costing).expect("a bill");
    let lines: Money = whole.lines.iter().map(|line| line.monthly.total()).sum();
    // Each line of a bill is rounded to a nano-dollar.
    assert!(found.bill.total().as_nanos().abs_diff(lines.as_nanos()) <= 10, "{} {lines}", found.bill.total());
    let other = &found.bill.tables[0].others[0];
    assert_eq!(other.0, Mode::Provisioned { used_ppm: ALL_PPM });
    assert!(other.1 < lines && other.1 > Money::ZERO, "a flat load is cheaper provisioned: {}", other.1);
}

#[test]
fn retries_save_what_a_short_peak_refuses() {
    let model = sharded(1, 10);
    let profile = |retries: u32| {
        format!(
            "length: 2m\nretries: {retries}\nexpect: {{lost: 0, throttled-minutes: 0}}\ntables: {{Votes: {{mode: provisioned, read: 1, write: 20}}}}\npatterns: {{vote: {{rate: [{{at: 0, rate: 1}}, {{at: 90s, rate: 700}}, {{at: 91s, rate: 1}}]}}}}\n"
        )
    };
    // 20 a second with 1 in use save some 1700: 700 at once pass without any retry.
    assert_eq!(simulated(&model, &profile(0)).lost, 0);
    let short = |retries| simulated(&model, &profile(retries).replace("write: 20", "write: 5"));
    let (none, many) = (short(0), short(8));
    assert!(none.lost > many.lost, "{} {}", none.lost, many.lost);
    assert!(many.retries > 0 && none.retries == 0);
    assert_eq!(none.broken.len(), 2, "{:?}", none.broken);
    assert!(!none.passes());
}

#[test]
fn faults_of_a_profile_say_where_and_what_to_write() {
    let model = keywright_model::parse(ORDERS).expect("a model");
    let text = "start: tomorrow\nlength: 60m\nsped: 1\ntables:\n  Order: {}\n  Orders: {mode: fast, scaling: {}}\npatterns:\n  place: {rate: [{at: 5m, rate: 1}, {at: 1m, rate: 2}], keys: {zipf: x}}\n";
    let faults = parse(text, &model).expect_err("faults");
    let found: Vec<String> = faults.iter().map(|fault| fault.in_file("p.yaml")).collect();
    let places: Vec<(usize, usize)> = faults.iter().map(|fault| (fault.at.line, fault.at.column)).collect();
    assert_eq!(places, [(1, 8), (3, 1), (5, 10), (6, 18), (6, 33), (8, 37), (8, 70)], "{found:#?}");
    assert!(
        found.iter().all(|text| text.contains("write")
            || text.contains("known are")
            || text.contains("did you mean")),
        "{found:#?}"
    );
}
