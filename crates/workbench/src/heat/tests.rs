//! Heat: the shard calculator, shares of the busiest key, verdicts at the limits.

use keywright_model::Skew;
use keywright_model::distribution::busiest;

use super::*;

fn writes(units_per_second: u64) -> Heat {
    Heat { writes: Exact::of(units_per_second), reads: Exact::ZERO }
}

#[test]
fn r77_20_000_writes_a_second_on_one_key_need_20_shards() {
    assert_eq!(shards_for_writes(20_000), 20);
    assert_eq!([0, 1, 1000, 1001, 20_001].map(shards_for_writes), [1, 1, 1, 2, 21]);
}

#[test]
fn a_key_is_warm_over_half_and_hot_over_the_whole_limit() {
    assert_eq!(
        [500, 501, 1000, 1001].map(|units| writes(units).verdict()),
        [Verdict::Cool, Verdict::Warm, Verdict::Warm, Verdict::Hot]
    );
    let reads = |units: u64| Heat { reads: Exact::of(units), writes: Exact::ZERO };
    assert_eq!(
        [1500, 3000, 3001].map(|units| reads(units).verdict()),
        [Verdict::Cool, Verdict::Warm, Verdict::Hot]
    );
}

#[test]
fn a_skewed_key_of_a_moderate_table_can_still_be_hot() {
    let table = writes(10_000);
    let share = busiest(Skew::Zipf { exponent_milli: 1100 }, 100_000);
    assert_eq!(table.of_busiest(share).verdict(), Verdict::Hot);
    assert_eq!(table.of_busiest(busiest(Skew::Uniform, 100_000)).verdict(), Verdict::Cool);
}

fn heat_of(text: &str) -> Vec<HotKey> {
    let model = keywright_model::parse(text).expect("a model");
    let no_files = |_: &str| Err("no files".to_owned());
    let report = crate::run::run(&model, &no_files, &mut |_| {}).expect("it runs");
    of_model(&model, &report)
}

/// Two attributes together identify a repository: keys of both are spread as the repositories are, with any
/// distribution of each attribute.
#[test]
fn attributes_that_identify_a_parent_together_have_as_many_keys_as_parents() {
    let text = r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: gpk, sk: gsk}}}}
entities:
  Repo: {count: 300, size: 500, key: {pk: "r#{owner}#{repo}", sk: "r"}, attrs: {owner: {type: S, distinct: 100}, repo: S, n: N}}
  Issue: {count: 6000, size: 500, parent: Repo, key: {pk: "r#{owner}#{repo}", sk: "i#{no:pad(6)}"}, gsi1: {gpk: "{owner}#{repo}#{kind}", gsk: "{no:pad(6)}"}, attrs: {owner: {type: S, distinct: 100}, repo: S, no: N, kind: {type: S, values: [a, b]}}}
patterns:
  - {id: W1, update: Repo, add: "n :one", if: exists, example: {one: 1}, rate: 300}
  - {id: W2, put: Issue, if: not-exists, rate: 600}
data: {generate: {seed: 1, sample: 100}}
"#;
    let shares: Vec<(String, Option<u64>)> =
        heat_of(text).into_iter().map(|own| (own.key, own.share_ppm)).collect();
    let of = |template: &str| shares.iter().find(|(own, _)| own == template).and_then(|(_, share)| *share);
    assert_eq!(of("r#{owner}#{repo}"), Some(3334), "one of 300: {shares:?}");
    assert_eq!(of("{owner}#{repo}#{kind}"), Some(1667), "one of 600: {shares:?}");
}

#[test]
fn an_attribute_that_is_the_tables_key_itself_identifies_its_entity() {
    let text = r#"
format: 1
model: m
tables: {Media: {key: {id: S}}}
entities: {Photo: {count: 500, size: 300, attrs: {id: {type: S, format: uuid}, n: N}}}
patterns: [{id: W, update: Photo, set: "n = :n", if: exists, rate: 1}]
data: {generate: {seed: 1, sample: 10}}
"#;
    assert_eq!(heat_of(text).first().and_then(|own| own.share_ppm), Some(2000), "one of 500");
}

const VOTES: &str = r#"
format: 1
model: votes
tables:
  Main: {key: {pk: S, sk: S}, indexes: {byVoter: {pk: gsi1pk, sk: gsi1sk, project: all}}}
entities:
  Vote:
    count: 1000000
    key: {pk: "v#{candidate}", sk: "{voter}"}
    byVoter: {gsi1pk: "{voter}", gsi1sk: "{candidate}"}
    attrs: {candidate: {type: S, values: [A, B]}, voter: {type: S, distinct: 1000000}}
    skew: {candidate: hottest(1.0)}
patterns:
  - {id: W, put: Vote, rate: {avg: 10, peak: 20000}}
  - {id: P, query: Vote, given: {candidate: eq}, rate: {avg: 1, peak: 100}, returns: {avg: 1}}
data: {generate: {seed: 1, sample: 5}}
"#;

#[test]
fn r77_20_000_writes_a_second_on_a_models_key_need_20_shards_there_and_none_in_a_cool_index() {
    let heat = heat_of(VOTES);
    let [table, index] = heat.as_slice() else { panic!("{heat:?}") };
    assert_eq!(
        (table.index.as_deref(), table.share_ppm, table.heat.verdict()),
        (None, Some(1_000_000), Verdict::Hot)
    );
    assert_eq!((table.heat.write_units(), table.heat.read_units(), table.needed), (20_000, 50, 20));
    assert_eq!(
        (index.index.as_deref(), index.heat.verdict(), index.needed),
        (Some("byVoter"), Verdict::Cool, 1)
    );
}

#[test]
fn enough_shards_cool_a_key_whose_gathered_reads_still_reach_each_of_them() {
    let text = VOTES
        .replace("v#{candidate}\"", "v#{candidate}#{voter|shard(40)}\"")
        .replace("query: Vote", "scatter-gather: Vote");
    let heat = heat_of(&text);
    let table = heat.iter().find(|own| own.index.is_none()).expect("the table");
    assert_eq!((table.shards, table.needed, table.heat.verdict()), (40, 20, Verdict::Cool));
    assert_eq!((table.heat.write_units(), table.heat.read_units()), (500, 50));
}

#[test]
fn entities_of_one_partition_warm_it_together_and_a_read_of_both_counts_once() {
    let heat = heat_of(
        r#"
format: 1
model: orders
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 1, key: {pk: "o#{orderId}", sk: "o"}, attrs: {orderId: S}}
  Item: {count: 3, parent: Order, key: {pk: "o#{orderId}", sk: "p#{productId}"}, attrs: {orderId: S, productId: S}}
patterns:
  - {id: W, transact: [{put: Order}, {put: Item, n: 3}], rate: 100}
  - {id: P, query: [Order, Item], given: {orderId: eq}, rate: 10}
data: {generate: {seed: 1, sample: 3}}
"#,
    );
    let [table] = heat.as_slice() else { panic!("{heat:?}") };
    assert_eq!(table.entities, ["Order", "Item"]);
    // Four items, billed twice each in a transaction; half a unit for the collection.
    assert_eq!(
        (table.heat.write_units(), table.heat.read_units(), table.heat.verdict()),
        (800, 5, Verdict::Warm)
    );
}

#[test]
fn a_key_without_declared_values_is_unknown_and_not_cool() {
    let heat = heat_of(&VOTES.replace(", distinct: 1000000", ""));
    let last = heat.last().expect("the index");
    assert_eq!((last.index.as_deref(), last.share_ppm), (Some("byVoter"), None));
}

/// Heat from the metered declared workload, as the command computes it.
fn metered_heat_of(text: &str) -> Vec<HotKey> {
    let model = keywright_model::parse(text).expect("a model");
    let no_files = |_: &str| Err("no files".to_owned());
    let samples = crate::run::run(&model, &no_files, &mut |_| {}).expect("it runs").samples;
    of_model(&model, &crate::run::measure(&model, &samples).expect("it is metered").report)
}

fn of_index<'a>(keys: &'a [HotKey], index: Option<&str>) -> &'a HotKey {
    keys.iter().find(|own| own.index.as_deref() == index).expect("the key")
}

#[test]
fn a_key_receives_its_metered_units_and_not_its_whole_items() {
    let heat = metered_heat_of(
        r#"
format: 1
model: states
tables: {Tab: {key: {pk: S}, indexes: {byState: {pk: state, sk: at, project: keys}}}}
entities:
  Doc:
    count: 1000000
    size: 20000
    key: {pk: "d#{id}"}
    byState: {state: "{state}", at: "{at}"}
    attrs: {id: {type: S, format: uuid, distinct: 1000000}, state: {type: S, distinct: 200}, at: {type: S, format: iso8601}, body: S}
    skew: {state: hottest(0.6)}
patterns:
  - {id: Q, query: Doc, given: {state: eq}, order: desc, attributes: [id, at], returns: {avg: 5, page: 100, max: 100}, rate: {avg: 10, peak: 40}}
  - {id: W, put: Doc, if: not-exists, rate: {avg: 10, peak: 100}}
data: {generate: {seed: 7, sample: 40}}
"#,
    );
    let index = of_index(&heat, Some("byState"));
    // Half a unit per read and one unit per put; the hottest state has 60 % of them.
    assert_eq!((index.heat.read_units(), index.heat.write_units()), (12, 60));
}

#[test]
fn a_sparse_index_is_warmed_by_the_items_in_it_and_by_all_that_enter_and_leave() {
    let heat = |change: &str| {
        let keys = metered_heat_of(&format!(
            r#"
format: 1
model: sparse
tables: {{Tab: {{key: {{pk: S}}, indexes: {{open: {{pk: flag, sk: at, project: all}}}}}}}}
entities:
  Job:
    count: 1000000
    size: 900
    key: {{pk: "j#{{id}}"}}
    open: {{flag: "{{flag}}", at: "{{at}}"}}
    attrs: {{id: S, flag: {{type: S, values: [open], present: 0.05}}, at: {{type: S, format: iso8601}}, note: S}}
patterns:
  - {{id: W, {change}, rate: 400}}
data: {{generate: {{seed: 3, sample: 100}}}}
"#
        ));
        of_index(&keys, Some("open")).heat.write_units()
    };
    assert_eq!(heat("put: Job, if: not-exists"), 20);
    assert_eq!(heat("update: Job, set: \"note = :n\", if: exists"), 20);
    assert_eq!(heat("update: Job, remove: flag, if: exists"), 400);
}

#[test]
fn a_shard_computed_from_the_key_itself_spreads_nothing() {
    let text = VOTES.replace("v#{candidate}\"", "v#{candidate}#{candidate|shard(20)}\"");
    let heat = heat_of(&text);
    let table = of_index(&heat, None);
    assert_eq!((table.share_ppm, table.shards, table.needed), (Some(1_000_000), 1, 20));
    assert_eq!((table.heat.write_units(), table.heat.verdict()), (20_000, Verdict::Hot));
    let said = super::text(&heat);
    assert!(said.contains("`{candidate|shard(20)}` spreads nothing"), "{said}");
}

#[test]
fn a_key_is_spread_over_no_more_shards_than_their_attribute_has_values() {
    let text = |who: &str| {
        format!(
            r#"
format: 1
model: boards
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  Ev: {{count: 1000000, size: 100, key: {{pk: "b#{{board}}#{{who|shard(50)}}", sk: "{{id}}"}}, attrs: {{board: {{type: S, distinct: 3}}, who: {{type: S, {who}}}, id: {{type: S, format: uuid}}}}, skew: {{{skew}}}}}
patterns: [{{id: W, put: Ev, if: not-exists, rate: 9000}}]
data: {{generate: {{seed: 1, sample: 20}}}}
"#,
            skew = if who.contains("1000") { "who: hottest(0.5)" } else { "" }
        )
    };
    let (few, skewed) = (heat_of(&text("distinct: 2")), heat_of(&text("distinct: 1000")));
    assert_eq!((of_index(&few, None).shards, of_index(&few, None).heat.write_units()), (2, 1500));
    // The hottest value is in one shard, however many there are.
    assert_eq!((of_index(&skewed, None).shards, of_index(&skewed, None).heat.write_units()), (50, 1500));
}

const ROOMS: &str = r#"
format: 1
model: rooms
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  User: {count: 1000000, size: 300, key: {pk: "u#{id}", sk: "u#"}, attrs: {id: S}}
  Room: {count: 10, size: 300, key: {pk: "r#{id}", sk: "r#"}, attrs: {id: S, n: N}}
  Msg: {count: 50000000, size: 300, parent: Room, key: {pk: "r#{id}", sk: "m#{mid}"}, attrs: {id: S, mid: {type: S, format: ulid}}}
patterns:
  - {id: U, update: Room, set: "n = n + :one", if: exists, rate: {avg: 100, peak: 20000}}
  - {id: M, put: Msg, if: not-exists, rate: {avg: 100, peak: 20000}}
data: {generate: {seed: 3, sample: 50}}
"#;

#[test]
fn a_namesake_attribute_of_another_entity_does_not_cool_a_key() {
    let heat = metered_heat_of(ROOMS);
    let rooms = heat.iter().find(|own| own.key == "r#{id}").expect("the rooms");
    // 40,000 writes to ten rooms.
    assert_eq!((rooms.share_ppm, rooms.heat.write_units()), (Some(100_000), 4000));
    assert_eq!(rooms.heat.verdict(), Verdict::Hot);
}
