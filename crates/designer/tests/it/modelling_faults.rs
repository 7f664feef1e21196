//! Small models whose check, design or simulation came out wrong. One test for each file of
//! `tests/data/modelling-faults` says what is right.

use keywright_designer::design::{Choice, KeyStyle, NoChoice, Wanted, check_design, choose, try_out};
use keywright_model::{HalfUnits, KeyType, Model, data};
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::heat::{HotKey, Verdict, of_model};
use keywright_workbench::lint::{Finding, Severity};
use keywright_workbench::report::text;
use keywright_workbench::run::{Outcome, measure};
use keywright_workbench::simulate::{self, Simulation, simulate};

use crate::support::{check, model, no_files, prices};

fn file(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/modelling-faults");
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn tried(text: &str) -> Result<Choice, NoChoice> {
    let wanted = Wanted { table: None, indexes: 5, keep: false, explain: false, style: KeyStyle::default() };
    choose(&model(text), &wanted, &prices(), &no_files, &mut |_| {})
}

/// The design of a model, which behaves as predicted.
fn designed(text: &str) -> Choice {
    let choice = tried(text).unwrap_or_else(|reason| panic!("{reason}"));
    let trial = try_out(&choice.billed.model).expect("it runs");
    assert!(trial.agrees(), "{}\n{}", trial.text(), choice.billed.text);
    choice
}

/// A design whose check on the model's own data finds no error.
fn passing(text: &str) -> Choice {
    let choice = designed(text);
    let checked = check_design(&choice.billed.model, &no_files).expect("it runs");
    assert_eq!(checked.lines(), Vec::<String>::new(), "{}", choice.billed.text);
    choice
}

fn found(model: &Model, rule: &str) -> Vec<Finding> {
    check(model).findings.into_iter().filter(|own| own.rule == rule).collect()
}

fn heat(model: &Model) -> Vec<HotKey> {
    let samples = data::load(model, &no_files).expect("items");
    of_model(model, &measure(model, &samples).expect("a workload").report)
}

fn simulated(model: &Model, profile: &str) -> Simulation {
    let profile = simulate::parse(profile, model).unwrap_or_else(|faults| panic!("{faults:?}"));
    let samples = data::load(model, &no_files).expect("items");
    let measured = measure(model, &samples).expect("a workload");
    let prices = prices();
    let costing = Costing { prices: &prices, settings: Settings::default() };
    simulate(model, &measured, &profile, &costing, &mut |_, _| {}).expect("a simulation")
}

/// The partition key of the table that was asked for most in the first minute, with its units.
fn heaviest(simulation: &Simulation) -> (String, HalfUnits) {
    let minute = simulation.minutes.first().and_then(|minutes| minutes.first()).expect("a minute");
    minute.heaviest.clone().and_then(|own| own.key).expect("there is load")
}

/// The template of an entity's partition key in its table.
fn partition(model: &Model, entity: &str) -> String {
    let own = model.entity(entity).expect(entity);
    let table = model.table(&own.table).expect("its table");
    own.template(&table.partition.name).expect("a template").to_string()
}

#[test]
fn skew_of_an_attribute_holds_for_every_entity_that_carries_it() {
    let text = file("skew-of-a-child.yaml");
    let original = model(&text);
    let keys = heat(&original);
    let own = keys.first().expect("a key");
    assert_eq!(own.entities, ["Show", "Section"]);
    assert_eq!((own.share_ppm, own.heat.write_units()), (Some(800_000), 4000));
    assert_eq!((own.heat.verdict(), own.needed_to_cool), (Verdict::Hot, Some(8)));
    let found = found(&original, "L021");
    assert!(matches!(found.as_slice(), [own] if own.severity == Severity::Error), "{found:?}");
    let simulation = simulated(
        &original,
        "start: 2026-11-27T17:00:00Z\nlength: 1m\nretries: 0\npatterns: {W1: {rate: 1000}}\n",
    );
    let (key, units) = heaviest(&simulation);
    assert_eq!(key, "s#0");
    // Four fifths of 60,000 writes of one unit, in halves.
    assert!((94_000..=98_000).contains(&units.0), "{units:?}");
}

#[test]
fn items_of_a_busy_parent_are_designed_under_it_with_the_shards_that_check_asks_for() {
    let choice = passing(&file("skew-of-a-child.yaml"));
    let written = &choice.billed.model;
    assert_eq!(partition(written, "Section"), "s#{showId}#{no|shard(8)}");
    for rule in ["L021", "L022", "L025"] {
        assert_eq!(found(written, rule), [], "{rule}");
    }
}

#[test]
fn a_refusal_the_design_and_check_name_one_number_of_shards() {
    let text = file("skew-of-a-child.yaml");
    let query = "  - {id: Q1, text: sections, query: Section, given: {showId: eq}, returns: {avg: 50, max: 200}, rate: 1}\n";
    let with = |read: &str| text.replace("patterns:\n", &format!("patterns:\n{read}"));
    let refusal = tried(&with(query)).expect_err("one key takes too many writes").to_string();
    assert!(refusal.contains("needs 8 shards"), "{refusal}");
    let gathered = designed(&with(&query.replace("query: Section", "scatter-gather: Section")));
    assert!(partition(&gathered.billed.model, "Section").contains("shard(8)"), "{}", gathered.billed.text);
    let asked = found(&model(&text), "L021");
    assert!(asked.iter().all(|own| own.fix.contains("over 8 shards")), "{asked:?}");
}

#[test]
fn keys_that_a_design_finds_keep_the_declared_names() {
    let choice = passing(&file("names-of-keys.yaml"));
    let table = choice.billed.model.table("App").expect("the table");
    let parts: Vec<_> = table.key_parts().map(|part| (part.name.as_str(), part.key_type)).collect();
    assert_eq!(parts, [("PK", KeyType::S), ("SK", KeyType::S)]);
    assert_eq!(partition(&choice.billed.model, "User"), "u#{userId}");
    assert_eq!(choice.billed.model.data.records.len(), 1, "the item of the model is kept");
    // A key attribute of another type cannot hold the design's texts.
    let numbers = file("names-of-keys.yaml").replace("SK: S", "SK: N");
    let said = passing(&numbers).billed.notices;
    assert!(said.iter().any(|own| own.contains("PK (S) and SK (N)")), "{said:?}");
}

#[test]
fn a_scan_of_a_shared_table_is_designed_and_costs_what_it_reads() {
    let choice = passing(&file("scan-of-a-shared-table.yaml"));
    let trial = try_out(&choice.billed.model).expect("it runs");
    let scan = trial.reads.iter().find(|own| own.pattern == "Q1").expect("the scan");
    assert_eq!((scan.returned, scan.expected, scan.strangers), (60, 60, 0));
    let line = choice.billed.bill.lines.iter().find(|own| own.pattern == "Q1").expect("its cost");
    let items = 2000_u64;
    // Both entities' items, of 80 to 100 bytes each, at half a unit for 4 KB.
    let halves = line.read.0;
    assert!((items * 80 / 4096..=items * 100 / 4096).contains(&halves), "{line:?}");
}

#[test]
fn items_are_made_that_meet_a_condition_between_two_attributes() {
    let text = file("condition-on-another-attribute.yaml");
    let choice = passing(&text);
    let trial = try_out(&choice.billed.model).expect("it runs");
    assert!(trial.writes.iter().all(|own| !own.refused), "{}", trial.text());
    assert_eq!(choice.billed.left_out(), Vec::<&str>::new());
    // The same with texts, and the other way round.
    for condition in ["createdAt > name", "projectLimit >= projectCount and plan <> name", "name = plan"] {
        let choice = passing(&text.replace("projectCount < projectLimit", condition));
        assert_eq!(choice.billed.left_out(), Vec::<&str>::new(), "{condition}");
    }
}

#[test]
fn a_generated_sample_has_an_item_with_each_rare_attribute_that_a_pattern_needs() {
    let original = model(&file("sparse-generated.yaml"));
    let checked = check(&original);
    assert!(checked.passes(), "{}", text(&checked, "sparse-generated.yaml"));
    assert_eq!(
        checked.report.pattern("Q1").map(|own| (&own.outcome, own.items_returned)),
        Some((&Outcome::Ran, 1))
    );
    let having = checked.report.samples.iter().filter(|own| own.item.contains_key("heldIn")).count();
    assert_eq!((having, checked.report.samples.len()), (1, 100));
}

#[test]
fn a_number_below_zero_sorts_in_a_key_of_its_own() {
    let choice = designed(&file("signed-numbers.yaml"));
    let written = &choice.billed.model;
    let uses = written.pattern("Q1").and_then(|own| own.uses.as_deref()).expect("an index");
    let index = written.table("App").and_then(|own| own.index(uses)).expect("the index");
    let sort: Vec<_> = index.sort.iter().map(|own| (own.name.as_str(), own.key_type)).collect();
    assert_eq!(sort, [("lat", KeyType::N)]);
    assert!(!choice.billed.text.contains("lat:pad"), "{}", choice.billed.text);
}

#[test]
fn declared_sizes_of_attributes_beyond_an_item_are_an_error() {
    let text = file("declared-size.yaml");
    let severity = |text: &str| found(&model(text), "L030").into_iter().map(|own| own.severity).next();
    assert_eq!(severity(&text), Some(Severity::Error));
    let several = text.replace("size: 900_000}", "size: 205_000}, more: {type: B, size: 205_000}");
    let several = several.lines().filter(|line| !line.starts_with("data:")).collect::<Vec<_>>().join("\n");
    assert_eq!(severity(&several), Some(Severity::Error), "together they are too large");
    assert_eq!(severity(&text.replace("900_000", "200_000")), Some(Severity::Warning));
    assert_eq!(severity(&text.replace("900_000", "2_000")), None);
}

#[test]
fn an_upper_bound_in_the_last_minute_of_a_day_cuts_that_minute() {
    let text = file("upper-bound-of-a-day.yaml");
    let short = found(&model(&text), "L006");
    assert!(matches!(short.as_slice(), [own] if own.fix.contains("`2026-11-27T23:59:59.999Z`")), "{short:?}");
    let right = text.replace("2026-11-27T23:59:00Z", "2026-11-27T23:59:59.999Z");
    let checked = check(&model(&right));
    assert_eq!(checked.report.pattern("Q1").map(|own| &own.outcome), Some(&Outcome::Met));
    assert_eq!(found(&model(&right), "L006"), []);
}

#[test]
fn the_heaviest_key_has_one_figure_alone_and_with_other_traffic() {
    let original = model(&file("heaviest-key.yaml"));
    let profile = file("heaviest-key.profile.yaml");
    let all = heaviest(&simulated(&original, &profile));
    let alone = heaviest(&simulated(&original, &profile.replace(", Q2: {rate: 20000}", ", Q2: {rate: 0}")));
    assert_eq!(all, alone);
    assert_eq!(all.0, "s#0");
    // W1 alone takes two of four units of 400 writes a second there, four fifths of the time.
    assert!(all.1.0 > 2 * 60 * 400 * 2 * 4 / 5, "{all:?}");
}

const LOCKS: &str = "format: 1
model: locks
tables: {App: {key: {pk: S, sk: S}}}
entities:
  Lock: {count: 1000, size: 200, unique: lockId, attrs: {lockId: {type: S, format: ulid}, owner: S, until: {type: N, format: epoch-seconds}, seen: {type: S, format: iso8601}, info: M}}
patterns:
  - {id: Q1, text: a lock, get: Lock, given: {lockId: eq}, rate: 1}
  - {id: W1, text: take, update: Lock, set: \"owner = :owner, until = :until\", if: \"until < :now\", rate: 1}
  - {id: W2, text: touch, update: Lock, set: \"seen = :now\", if: \"seen < :now\", rate: 1}
  - {id: W3, text: note, update: Lock, set: \"info.at = :now\", if: exists, rate: 1}
";

#[test]
fn a_time_without_a_value_does_not_stop_a_design() {
    let known: Vec<&str> = LOCKS.lines().filter(|line| !line.contains("id: W3")).collect();
    let known = format!("{}\n", known.join("\n"));
    let choice = passing(&known);
    assert_eq!(choice.billed.left_out(), Vec::<&str>::new());
    // Nothing says what type a part of a document has: the write is left open.
    let choice = designed(LOCKS);
    assert_eq!(choice.billed.left_out(), ["W3"]);
    let trial = try_out(&choice.billed.model).expect("it runs").text();
    assert!(trial.contains("W3: not tested: no value for `:now`: write `example: {now: …}`"), "{trial}");
}

#[test]
fn records_that_lack_an_attribute_of_a_new_key_are_left_out_and_named() {
    let text = "format: 1
model: part
tables: {App: {key: {pk: S, sk: S}}}
entities:
  User: {count: 1000, size: 200, unique: userId, attrs: {userId: S, name: S}}
patterns:
  - {id: Q1, text: a user, get: User, given: {userId: eq}, rate: 1, example: {userId: ada}, expect: {count: 1}}
data:
  inline: {User: [{userId: ada, name: Ada}, {name: Bob}, {name: Eve}]}
";
    let choice = passing(text);
    assert_eq!(
        choice.billed.notices,
        [
            "Records of User are left out (2), because their new keys cannot be made, such as: `u#{userId}` needs `userId`: write `userId: …`."
        ]
    );
    assert_eq!(data::load(&choice.billed.model, &no_files).expect("items").len(), 1);
}
