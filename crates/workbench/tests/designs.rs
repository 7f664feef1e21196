//! Models designed, proved by running them, and billed.

use keywright_workbench::cost::{Costing, Settings, bill};
use keywright_workbench::design::{self, Proof};
use keywright_workbench::model::{Model, parse};
use keywright_workbench::price::{Money, Prices, TODAY};
use keywright_workbench::run::run;

fn model(text: &str) -> Model {
    match parse(text) {
        Ok(model) => model,
        Err(faults) => {
            panic!("{}", faults.iter().map(|fault| fault.in_file("x.yaml") + "\n").collect::<String>())
        }
    }
}

const TEN_PATTERNS: &str = include_str!("models/ten-patterns.yaml");
const SHOP: &str = include_str!("models/shop.yaml");

fn designed() -> (Model, design::Design) {
    let model = model(TEN_PATTERNS);
    let table = model.tables.first().expect("a table").clone();
    let problem = design::from_model(&model, &table).expect("a problem");
    let prices = Prices::built_in(TODAY).expect("built in");
    let design = design::solve(&problem, &prices).expect("a design");
    let model = design::to_model(&model, &table.name, &design).expect("templates");
    (model, design)
}

#[test]
fn r72_a_model_without_keys_is_designed_with_two_indexes_and_one_is_proved_impossible() {
    let (model, design) = designed();
    assert_eq!(design.gsis, 2);
    assert!(matches!(design.proof, Proof::Infeasible { gsis: 1, .. }));
    assert_eq!(model.tables.first().map(|table| table.indexes.len()), Some(2));
}

#[test]
fn a_designed_model_written_as_yaml_reads_back_with_its_keys() {
    let (model, _) = designed();
    let text = keywright_workbench::model::write(&model);
    let again = self::model(&text);
    let keys = |model: &Model| {
        model
            .entities
            .iter()
            .map(|own| own.key.templates.iter().map(|(_, it)| it.to_string()).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&again), keys(&model));
}

#[test]
fn ranges_open_at_one_end_are_evaluated_as_the_engine_reads_them() {
    for op in ["ge", "le", "begins-with"] {
        let text = TEN_PATTERNS
            .replace("productId: eq, orderDate: between", &format!("productId: eq, orderDate: {op}"));
        let model = model(&text);
        let table = model.tables.first().expect("a table").clone();
        let problem = design::from_model(&model, &table).expect("a problem");
        let prices = Prices::built_in(TODAY).expect("built in");
        let design = design::solve(&problem, &prices).expect("a design");
        let model = design::to_model(&model, &table.name, &design).expect("templates");
        for own in design::verify(&model).expect("it runs") {
            assert!(own.agrees(), "{op}: {own:?}");
        }
    }
}

#[test]
fn a_design_run_on_generated_items_returns_what_a_plain_evaluation_finds_at_the_predicted_units() {
    let (model, _) = designed();
    let verified = design::verify(&model).expect("it runs");
    assert_eq!(verified.len(), 10);
    for own in &verified {
        assert!(own.agrees(), "{own:?}");
        assert!(own.expected > 0, "{own:?}");
    }
}

#[test]
fn r66_a_pattern_without_a_rate_is_a_fault_of_the_design_and_not_taken_as_zero() {
    let text = TEN_PATTERNS.replace("given: {productId: eq}, rate: 200", "given: {productId: eq}");
    let model = model(&text);
    let faults = design::from_model(&model, model.tables.first().expect("a table")).expect_err("no rate");
    assert_eq!(
        faults.first().map(|fault| fault.text.as_str()),
        Some("pattern `P2` has no rate: write `rate: 5` for five times a second")
    );
}

#[test]
fn r74_a_bill_names_every_pattern_on_every_table_and_index_and_adds_up() {
    let model = model(SHOP);
    let no_files = |name: &str| Err(format!("no {name} in this test"));
    let report = run(&model, &no_files, &mut |_| {}).expect("it runs");
    let prices = Prices::built_in(TODAY).expect("built in");
    let bill =
        bill(&model, &report, &Costing { prices: &prices, settings: Settings::default() }).expect("priced");
    let read = bill.lines.iter().find(|line| line.pattern == "P6").expect("the read is billed");
    assert_eq!(read.target.index.as_deref(), Some("gsi1"));
    // Five half units a second for 730 hours at 125 nano-dollars a unit.
    assert_eq!(read.monthly.reads, Money::nanos(5 * 730 * 3600 * 125 / 2));
    let order_items = bill.amplification.iter().find(|(entity, _)| entity == "OrderItem");
    assert_eq!(order_items.map(|(_, writes)| *writes), Some(3), "its table and two indexes");
    assert!(bill.total() > bill.lines.iter().map(|line| line.monthly.total()).sum());
    assert!(bill.without_rate.is_empty());
}

/// The published models of the guides and the imported ones, table by table, that say enough to be designed.
fn published() -> Vec<(String, Model, design::Problem, design::Problem)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut found = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let Ok(model) = parse(&std::fs::read_to_string(path).expect("readable")) else { continue };
        for table in &model.tables {
            let Ok(free) = design::from_model(&model, table) else { continue };
            if free.entities.is_empty() || free.patterns.is_empty() {
                continue;
            }
            let mut kept = free.clone();
            design::keep(&mut kept, &model, table);
            found.push((format!("{name}/{}", table.name), model.clone(), free, kept));
        }
    }
    found
}

#[test]
fn no_design_costs_more_or_has_more_indexes_than_the_published_one_at_the_same_prices() {
    let prices = Prices::built_in(TODAY).expect("built in");
    let published = published();
    assert!(published.len() >= 13, "{}", published.len());
    for (name, _, free, kept) in published {
        let ours = design::solve(&free, &prices).expect(&name);
        let theirs = design::solve(&kept, &prices).expect(&name);
        assert!(ours.monthly.total() <= theirs.monthly.total(), "{name}: {:?}", ours.monthly);
        assert!(ours.gsis <= theirs.gsis, "{name}");
    }
}

#[test]
fn every_published_model_designed_anew_answers_its_questions_at_the_predicted_units() {
    let prices = Prices::built_in(TODAY).expect("built in");
    let mut wrong = Vec::new();
    for (name, model, free, _) in published() {
        let table = name.rsplit('/').next().expect("a table").to_owned();
        let found = design::solve(&free, &prices).expect(&name);
        let designed = design::to_model(&model, &table, &found).expect(&name);
        let text = keywright_workbench::model::write(&designed);
        let verified = design::verify(&self::model(&text)).expect(&name);
        wrong.extend(verified.into_iter().filter(|own| !own.agrees()).map(|own| format!("{name}: {own:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn redesigned(text: &str) -> (design::Design, Model) {
    let model = model(text);
    let table = model.tables.first().expect("a table").clone();
    let problem = design::from_model(&model, &table).expect("a problem");
    let found = design::solve(&problem, &Prices::built_in(TODAY).expect("built in")).expect("a design");
    let written = design::to_model(&model, &table.name, &found).expect("templates");
    // What is written must be a model that reads back and runs.
    (found, self::model(&keywright_workbench::model::write(&written)))
}

fn runs(model: &Model) {
    let verified = design::verify(model).expect("it runs");
    assert!(!verified.is_empty());
    for own in &verified {
        assert!(own.agrees() && own.expected > 0, "{own:?}");
    }
}

#[test]
fn items_taken_into_their_parent_are_a_list_of_it_in_the_model_and_its_reads_run() {
    let (found, model) = redesigned(
        r"
format: 1
model: orders
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 1000, size: 200, unique: [[orderId]], attrs: {orderId: S, note: S}}
  Item: {count: 3000, size: 100, parent: Order, unique: [[orderId, productId]], attrs: {orderId: S, productId: S}}
patterns:
  - {id: P1, query: [Order, Item], given: {orderId: eq}, returns: {avg: 4, max: 20}, rate: 10}
  - {id: W1, transact: [{put: Order}, {put: Item, n: 3}], rate: 10}
  - {id: W2, put: Item, rate: 1}
",
    );
    assert_eq!(found.embedded.len(), 1);
    assert_eq!(model.entities.len(), 1);
    assert!(model.entity("Order").and_then(|order| order.attribute("items")).is_some());
    runs(&model);
}

#[test]
fn a_second_item_is_an_entity_of_its_own_that_the_same_transaction_writes() {
    let (found, model) = redesigned(
        r"
format: 1
model: follows
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Follow: {count: 1000, size: 100, unique: [[followerId, followedId]], attrs: {followerId: {type: S, distinct: 100}, followedId: {type: S, distinct: 100}}}
patterns:
  - {id: P1, query: Follow, given: {followerId: eq}, consistency: strong, returns: {avg: 5}, rate: 10}
  - {id: P2, query: Follow, given: {followedId: eq}, consistency: strong, returns: {avg: 5}, rate: 10}
  - {id: W1, put: Follow, rate: 1}
",
    );
    assert_eq!(found.gsis, 0);
    assert_eq!(model.entities.len(), 2);
    assert_eq!(model.pattern("W1").map(|own| own.steps().len()), Some(2));
    runs(&model);
}
