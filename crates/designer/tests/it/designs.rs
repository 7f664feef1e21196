//! Models designed, proved by running them, and billed.

use std::sync::OnceLock;

use keywright_designer::design::{self, Proof, Same};
use keywright_model::{HalfUnits, Model, ReadKind, parse};
use keywright_workbench::price::Money;
use keywright_workbench::run::{Outcome, run};

use crate::support::{billed, example, model, no_files, prices, problem};

const TEN_PATTERNS: &str = include_str!("../../../model/tests/models/ten-patterns.yaml");
const SHOP: &str = include_str!("../../../model/tests/models/shop.yaml");

fn designed() -> (Model, design::Design) {
    let model = model(TEN_PATTERNS);
    let design = design::solve(&problem(&model), &prices()).expect("a design");
    let table = model.tables.first().expect("a table");
    (design::to_model(&model, &table.name, &design).expect("templates"), design)
}

#[test]
fn r72_a_model_without_keys_is_designed_with_two_indexes_and_one_is_proved_impossible() {
    let (model, design) = designed();
    assert_eq!(design.gsis, 2);
    assert!(
        matches!(
            design.proof,
            Proof::Impossible { gsis: 1, .. } | Proof::Possible { gsis: 1, same: Same::Impossible(_), .. }
        ),
        "{:?}",
        design.proof
    );
    assert_eq!(model.tables.first().map(|table| table.indexes.len()), Some(2));
}

#[test]
fn a_designed_model_written_as_yaml_reads_back_with_its_keys() {
    let (model, _) = designed();
    let text = keywright_model::write(&model);
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
        let prices = prices();
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
    let bill = billed(&model);
    let read = bill.lines.iter().find(|line| line.pattern == "P6").expect("the read is billed");
    assert_eq!(read.target.index.as_deref(), Some("gsi1"));
    // Fifty order items of about 170 bytes, five times a second for 730 hours at 125 nano-dollars a unit.
    assert_eq!(read.read, HalfUnits(3));
    assert_eq!(read.monthly.reads, Money::nanos(3 * 5 * 730 * 3600 * 125 / 2));
    let order_items = bill.amplification.iter().find(|(entity, _)| entity == "OrderItem");
    assert_eq!(order_items.map(|(_, writes)| *writes), Some(3), "its table and two indexes");
    assert!(bill.total() > bill.lines.iter().map(|line| line.monthly.total()).sum());
    assert!(bill.without_rate.is_empty());
}

/// The tables of the published models of the guides and the imported ones that declare enough to be designed.
fn published() -> &'static [(String, Model, design::Problem, design::Problem)] {
    static PUBLISHED: OnceLock<Vec<(String, Model, design::Problem, design::Problem)>> = OnceLock::new();
    PUBLISHED.get_or_init(read_published)
}

/// The cheapest design of each of them, in order.
fn cheapest() -> &'static [design::Design] {
    static CHEAPEST: OnceLock<Vec<design::Design>> = OnceLock::new();
    CHEAPEST.get_or_init(|| {
        let solved = |(name, _, free, _): &(String, Model, design::Problem, design::Problem)| {
            design::solve(free, &prices()).expect(name)
        };
        published().iter().map(solved).collect()
    })
}

fn read_published() -> Vec<(String, Model, design::Problem, design::Problem)> {
    let mut found = Vec::new();
    for (name, model) in crate::support::examples() {
        for table in &model.tables {
            let Ok(free) = design::from_model(model, table) else { continue };
            if free.entities.is_empty() || free.patterns.is_empty() {
                continue;
            }
            let mut kept = free.clone();
            design::keep(&mut kept, model, table);
            found.push((format!("{name}/{}", table.name), model.clone(), free, kept));
        }
    }
    found
}

#[test]
fn no_design_costs_more_or_has_more_indexes_than_the_published_one_at_the_same_prices() {
    let prices = prices();
    let published = published();
    assert!(published.len() >= 13, "{}", published.len());
    for ((name, _, _, kept), ours) in published.iter().zip(cheapest()) {
        let theirs = design::solve(kept, &prices).expect(name);
        assert!(ours.monthly.total() <= theirs.monthly.total(), "{name}: {:?}", ours.monthly);
        assert!(ours.gsis <= theirs.gsis, "{name}");
    }
}

#[test]
fn every_redesigned_published_model_answers_its_reads_at_the_predicted_units() {
    let mut wrong = Vec::new();
    for ((name, model, _, _), found) in published().iter().zip(cheapest()) {
        let table = name.rsplit('/').next().expect("a table");
        let designed = design::to_model(model, table, found).expect(name);
        let text = keywright_model::write(&designed);
        let verified = design::verify(&self::model(&text)).expect(name);
        wrong.extend(verified.into_iter().filter(|own| !own.agrees()).map(|own| format!("{name}: {own:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const MANY_TO_MANY: &str = r"
format: 1
model: b3
tables: {Orders: {key: {pk: S, sk: S}}}
entities:
  Customer: {count: 1000, size: 200, unique: [[customerId]], attrs: {customerId: S, name: S}}
  Product: {count: 1000, size: 300, unique: [[productId]], attrs: {productId: S, name: S}}
  Order: {count: 10000, size: 150, unique: [[orderId]], attrs: {orderId: S, customerId: S, date: {type: S, format: iso8601}}}
  OrderItem: {count: 30000, size: 150, parent: [Order, Product], unique: [[orderId, productId]], attrs: {orderId: S, productId: S, qty: N}}
patterns:
  - {id: P1, get: Customer, given: {customerId: eq}, rate: 20}
  - {id: P2, get: Product, given: {productId: eq}, rate: 50}
  - {id: P3, query: Order, given: {customerId: eq}, returns: {avg: 10, max: 100}, order: desc, rate: 10}
  - {id: P4, query: [Order, OrderItem], given: {orderId: eq}, returns: {avg: 4, max: 100}, rate: 10}
  - {id: P5, query: OrderItem, given: {productId: eq}, returns: {avg: 30, max: 1000, page: 50}, rate: 5}
";

const STATUS_AND_SALES: &str = r"
format: 1
model: b5
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  User: {count: 100000, size: 200, unique: [[userId], [email]], attrs: {userId: S, email: {type: S, format: email}, name: S}}
  Order: {count: 1000000, size: 300, unique: [[orderId]], attrs: {orderId: S, userId: S, status: {type: S, values: [NEW, PAID, SHIPPED, DONE]}, createdAt: {type: S, format: iso8601}}}
  Product: {count: 10000, size: 300, unique: [[productId]], attrs: {productId: S, category: {type: S, distinct: 100}, sales: N}}
patterns:
  - {id: P1, get: User, given: {userId: eq}, rate: 20}
  - {id: P2, query: User, given: {email: eq}, returns: {avg: 1, max: 1}, rate: 5}
  - {id: P3, get: Order, given: {orderId: eq}, rate: 20}
  - {id: P4, query: Order, given: {userId: eq}, order: desc, returns: {avg: 10, page: 20}, rate: 20}
  - {id: P5, query: Order, given: {status: eq, createdAt: between}, returns: {avg: 50, page: 50}, rate: 1}
  - {id: P6, get: Product, given: {productId: eq}, rate: 50}
  - {id: P7, query: Product, given: {category: eq, sales: ge}, order: desc, returns: {avg: 10, page: 10}, rate: 10}
  - {id: W1, put: Order, if: not-exists, rate: {avg: 2, peak: 20}}
";

/// The designer predicts, the engine meters: both agree on the bill of a file.
#[test]
fn the_predicted_cost_of_a_design_is_the_bill_of_its_written_model() {
    let mut wrong = Vec::new();
    for (name, text) in [("b1", TEN_PATTERNS), ("b3", MANY_TO_MANY), ("b5", STATUS_AND_SALES)] {
        let (found, model) = crate::support::designed(text);
        let bill = billed(&model);
        let (predicted, billed) = (found.monthly.total(), bill.total());
        if (predicted - billed).as_nanos().abs() > CENT.as_nanos() {
            let lines: Vec<String> = bill
                .lines
                .iter()
                .map(|own| {
                    format!(
                        "{} {} {:?} {:?} {}",
                        own.pattern,
                        own.target,
                        own.read,
                        own.write,
                        own.monthly.total()
                    )
                })
                .chain(bill.storage.iter().map(|own| format!("{} {} {}", own.target, own.bytes, own.monthly)))
                .collect();
            let asked: Vec<String> =
                found.asked.iter().map(|own| format!("{} {}", own.pattern, own.monthly)).collect();
            wrong.push(format!(
                "{name}: {predicted} {:?} and {billed}\n{}\n{}",
                found.monthly,
                lines.join("\n"),
                asked.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const CENT: Money = Money::nanos(10_000_000);

/// 6000 shipments in 60 pages, each of 100 items of some 230 bytes, which are 6 blocks of 4 KB: 180 units.
#[test]
fn the_long_read_of_the_published_shop_is_billed_for_all_its_pages() {
    let bill = billed(&example("online-shop.yaml"));
    let line = bill.lines.iter().find(|line| line.pattern == "P13").expect("the question");
    assert_eq!((line.read, line.monthly.total().to_string()), (HalfUnits(360), "$5.91".to_owned()));
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
    let (found, model) = crate::support::designed(
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
fn a_derived_item_is_an_entity_of_its_own_that_the_same_transaction_writes() {
    let (found, model) = crate::support::designed(
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

const BY_ID_AND_BY_X: &str = r"
format: 1
model: one
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  A: {count: 1000, size: 100, unique: [[id]], attrs: {id: S, x: S}}
patterns:
  - {id: P1, query: A, given: {id: eq}, returns: {avg: 1, max: 1}, rate: 5}
  - {id: P2, query: A, given: {x: eq}, returns: {avg: 10, max: 10}, rate: 5}
  - {id: W1, put: A, rate: 1}
";

/// Eventually consistent reads can use everything that strong ones can use.
#[test]
fn the_proof_of_one_index_less_is_not_refuted_by_stronger_reads() {
    let (found, _) = crate::support::designed(BY_ID_AND_BY_X);
    assert_eq!(found.gsis, 1);
    let Proof::Possible { gsis: 0, by, with, same } = found.proof else { panic!("{:?}", found.proof) };
    assert_eq!(with.second_items.len(), 1);
    assert!(matches!(same, Same::Impossible(_)));
    let (strong, _) =
        crate::support::designed(&BY_ID_AND_BY_X.replace("rate: 5", "consistency: strong, rate: 5"));
    assert_eq!(strong.gsis, 0);
    // A strong read takes twice the units; the rest is the difference between the derived item and the index.
    let (eventual, strong) = (found.monthly.indexes, strong.monthly.indexes);
    assert_eq!(by, strong - eventual);
}

#[test]
fn without_writes_a_derived_item_costs_what_an_index_does_and_the_index_is_taken() {
    let text = BY_ID_AND_BY_X.replace("  - {id: W1, put: A, rate: 1}\n", "");
    let (found, _) = crate::support::designed(&text);
    assert_eq!(found.gsis, 1);
    assert!(matches!(found.proof, Proof::Possible { gsis: 0, by: Money::ZERO, .. }), "{:?}", found.proof);
}

/// An updater knows the identity only, so it cannot compute another key of the item or of a derived item.
#[test]
fn fewer_indexes_are_impossible_where_no_derived_item_can_be_maintained() {
    let text = format!("{BY_ID_AND_BY_X}  - {{id: W2, update: A, set: \"x = :x\", rate: 1}}\n");
    let (found, _) = crate::support::designed(&text);
    let Proof::Impossible { gsis: 0, unless, .. } = found.proof else { panic!("{:?}", found.proof) };
    let said = unless.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(said, ["derived items of A by x would do if also W2 knew x before the change"]);
}

fn not_designed(text: &str) -> String {
    let faults = design::solve(&problem(&model(text)), &prices()).expect_err("no design");
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn where_strong_reads_leave_no_design_it_is_not_said_that_more_indexes_would_help() {
    let text = BY_ID_AND_BY_X.replace("rate: 5", "consistency: strong, rate: 5");
    let fault = not_designed(&format!("{text}  - {{id: W2, update: A, set: \"x = :x\", rate: 1}}\n"));
    assert!(
        fault.starts_with(
            "no number of indexes lets one request answer every pattern of A, even with derived items: "
        ),
        "{fault}"
    );
    assert!(fault.contains("global indexes are not strongly consistent, as P1, P2 must be"), "{fault}");
    assert!(
        fault.ends_with("derived items of A by x would do if also W2 knew x before the change"),
        "{fault}"
    );
}

const FLAGGED: &str = r#"
format: 1
model: flagged
tables:
  Store:
    key: {pk: S, sk: S}
    indexes: {Flagged: {pk: flaggedBy, project: keys}}
entities:
  Order:
    count: 1000
    size: 900
    key: {pk: "USER#{userId}", sk: "ORDER#{orderId}"}
    attrs: {userId: S, orderId: S, flaggedBy: {type: S, present: 0.01}, note: S}
patterns:
  - {id: P1, query: Order, given: {flaggedBy: eq}, attributes: [orderId, userId], returns: {avg: 5, max: 9}, rate: 1}
  - {id: W1, put: Order, rate: 1}
"#;

fn kept(text: &str) -> design::Design {
    let model = model(text);
    let table = model.tables.first().expect("a table");
    let mut problem = design::from_model(&model, table).expect("a problem");
    design::keep(&mut problem, &model, table);
    design::solve(&problem, &prices()).expect("a design")
}

#[test]
fn attributes_that_are_whole_in_a_kept_indexs_keys_need_no_projection() {
    let found = kept(FLAGGED);
    assert_eq!((found.gsis, found.proof), (1, Proof::AllKept));
}

#[test]
fn a_kept_index_that_lacks_an_attribute_is_supplemented_by_another_without_a_false_fault() {
    let found = kept(&FLAGGED.replace("[orderId, userId]", "[orderId, note]"));
    assert_eq!(found.gsis, 2);
}

/// The published keys and nothing else, for the patterns that are not scans.
fn closed(kept: &design::Problem, model: &Model) -> design::Problem {
    let mut closed = kept.clone();
    closed.gsi_max = closed.kept.globals.len();
    closed.kept.globals.iter_mut().chain(&mut closed.kept.locals).for_each(|index| index.open = false);
    closed.patterns.retain(|own| {
        let read = model.pattern(&own.id).and_then(|own| own.read());
        read.is_none_or(|read| read.kind != ReadKind::Scan)
    });
    closed
}

#[test]
fn kept_published_keys_answer_their_patterns_and_never_need_or_cost_more() {
    let prices = prices();
    for (name, model, _, kept) in published() {
        let closed = closed(kept, model);
        let theirs = design::solve(&closed, &prices).expect(name);
        assert_eq!(theirs.gsis, kept.kept.globals.len(), "{name}");
        let asked = design::Problem { patterns: closed.patterns, ..kept.clone() };
        let ours = design::solve(&asked, &prices).expect(name);
        assert!(ours.monthly.total() <= theirs.monthly.total(), "{name}: {:?}", ours.monthly);
        assert_eq!(ours.gsis, theirs.gsis, "{name}: {:?}", ours.placed);
    }
}

const NEWEST_FIRST: &str = r"
format: 1
model: newest
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 1000, size: 200, unique: [[orderId]], attrs: {orderId: S, userId: {type: S, distinct: 10}, createdAt: {type: S, format: iso8601}}}
patterns:
  - {id: P1, get: Order, given: {orderId: eq}, rate: 10}
  - {id: P2, query: Order, given: {userId: eq}, order: {by: createdAt, direction: desc}, returns: {avg: 9, max: 50}, rate: 10}
  - {id: W1, put: Order, rate: 1}
  - {id: W2, delete: Order, rate: 1}
";

#[test]
fn the_order_attribute_is_in_the_sort_key_and_results_come_in_that_order() {
    let (found, model) = crate::support::designed(NEWEST_FIRST);
    let named = design::name(&found);
    let index = named.iter().find(|own| matches!(own.slot, design::Slot::Global(1))).expect("an index");
    assert_eq!(index.sort, "{createdAt}");
    assert_eq!(design::unordered(&model, &found), Vec::<&str>::new());
    runs(&model);
}

#[test]
fn an_order_of_one_item_asks_nothing_of_the_key() {
    let made = |unique: &str| {
        crate::support::designed(&format!(
            "
format: 1
model: posts
tables: {{Blog: {{key: {{pk: S, sk: S}}}}}}
entities:
  Post: {{count: 1000, size: 100, unique: [{unique}], attrs: {{post: S, slug: S, placed: {{type: S, format: iso8601}}}}}}
patterns:
  - {{id: Q, query: Post, given: {{slug: eq}}, order: {{by: placed, direction: desc}}, rate: 1}}
  - {{id: G, get: Post, given: {{post: eq}}, rate: 1}}
"
        ))
    };
    let sorts = |(found, _): &(design::Design, Model)| -> Vec<bool> {
        found.placed.iter().map(|own| own.view.sort.contains(&"placed".to_owned())).collect()
    };
    assert!(!sorts(&made("[post], [slug]")).contains(&true));
    assert!(sorts(&made("[post]")).contains(&true));
}

#[test]
fn an_order_of_nothing_is_said_and_not_made_up() {
    let text = NEWEST_FIRST.replace("{by: createdAt, direction: desc}", "desc");
    let (found, model) = crate::support::designed(&text);
    assert_eq!(design::unordered(&model, &found), ["P2"]);
}

#[test]
fn a_range_of_one_attribute_and_an_order_by_another_is_a_fault_that_says_why() {
    let text = NEWEST_FIRST.replace("given: {userId: eq}", "given: {userId: eq, orderId: gt}");
    let model = model(&text);
    let faults = design::from_model(&model, model.tables.first().expect("a table")).expect_err("no such key");
    let text = &faults.first().expect("a fault").text;
    assert!(text.contains("come by `orderId` and not by `createdAt`"), "{text}");
}

#[test]
fn items_without_the_order_attribute_are_not_in_the_result() {
    let (found, model) = crate::support::designed(&NEWEST_FIRST.replace("format: iso8601", "present: 0.5"));
    assert_eq!(found.gsis, 1);
    runs(&model);
}

const ORDERED: &str = r#"
format: 1
model: ordered
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 10, key: {pk: "u#{userId}", sk: "o#{orderId}"}, attrs: {userId: S, orderId: S, createdAt: S}}
patterns:
  - {id: P1, query: Order, given: {userId: eq}, order: {by: createdAt, direction: desc}, returns: {avg: 2, max: 9}, rate: 1, example: {userId: a}}
data: {inline: {Order: [{userId: a, orderId: "1", createdAt: "2026-01-02"}, {userId: a, orderId: "2", createdAt: "2026-01-01"}]}}
"#;

#[test]
fn a_run_reports_items_that_come_in_another_order_than_required() {
    let outcome = |text: &str| {
        let report = run(&model(text), &no_files, &mut |_| {}).expect("it runs");
        report.pattern("P1").expect("it ran").outcome.clone()
    };
    let Outcome::Unmet(reasons) = outcome(ORDERED) else { panic!("{:?}", outcome(ORDERED)) };
    assert_eq!(
        reasons,
        ["the items did not come in descending order of `createdAt`: put it into the sort key that is read"]
    );
    assert_eq!(outcome(&ORDERED.replace("o#{orderId}", "o#{createdAt}#{orderId}")), Outcome::Ran);
}

#[test]
fn an_order_by_an_attribute_is_read_and_written_and_must_name_one() {
    let model = model(ORDERED);
    let again = self::model(&keywright_model::write(&model));
    let order = |model: &Model| {
        let read = model.pattern("P1").and_then(|own| own.read().cloned()).expect("a read");
        (read.order, read.order_by.map(|by| by.attribute))
    };
    assert_eq!(order(&again), order(&model));
    assert_eq!(order(&model).1.as_deref(), Some("createdAt"));
    let faults = parse(&ORDERED.replace("by: createdAt", "by: creation")).expect_err("no such attribute");
    assert!(faults.iter().any(|fault| fault.text.contains("creation")), "{faults:?}");
}

#[test]
fn the_shards_of_the_bank_payments_are_found_from_their_rate() {
    let model = example("bank-payments.yaml");
    let table = model.tables.first().expect("a table");
    let found = design::solve(&problem(&model), &prices()).expect("a design");
    let designed = design::to_model(&model, &table.name, &found).expect("templates");
    assert_eq!(found.gsis, 1);
    assert!(keywright_model::write(&designed).contains("|shard(5)}\""));
}

#[test]
fn a_designed_model_passes_its_check_on_generated_items_of_every_size_of_sample() {
    for sample in [20, 200, 2000] {
        let (mut model, _) = designed();
        model.data = keywright_model::DataSource {
            generate: Some(keywright_model::Generate { seed: 1, sample }),
            ..keywright_model::DataSource::default()
        };
        let checked = crate::support::check(&model);
        let twins = checked.findings.iter().filter(|finding| finding.rule == "L010");
        assert_eq!(twins.map(|finding| &finding.text).collect::<Vec<_>>(), Vec::<&String>::new(), "{sample}");
    }
}

const STRONG: &str = r"
format: 1
model: strong
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Acct: {count: 1000, size: 200, unique: [[acct]], attrs: {acct: S, balance: N}}
  Post: {count: 10000, size: 200, parent: Acct, unique: [[acct, seq]], attrs: {acct: S, seq: S, day: {type: S, format: date}}}
patterns:
  - {id: P1, get: Acct, given: {acct: eq}, consistency: strong, rate: 5}
  - {id: P2, query: Post, given: {acct: eq, seq: between}, consistency: strong, returns: {avg: 10, max: 5000, page: 20}, rate: 1}
  - {id: P3, query: Post, given: {acct: eq, day: ge}, consistency: strong, returns: {avg: 10, max: 5000, page: 20}, rate: 1}
  - {id: W1, transact: [{put: Post, if: not-exists}, {update: Acct, set: 'balance = balance + :a', if: exists}], rate: 5}
";

#[test]
fn a_designed_local_index_says_its_sort_key_and_takes_its_partition_from_the_table() {
    // The day itself; if other entities have one too, a template text keeps them out.
    for (text, key) in
        [(STRONG.to_owned(), "day"), (STRONG.replace("balance: N}", "balance: N, day: S}"), "lsi1sk")]
    {
        let (_, model) = crate::support::designed(&text);
        let index = model.tables.first().and_then(|table| table.index("lsi1")).expect("a local index");
        assert_eq!(index.sort.first().map(|part| part.name.as_str()), Some(key));
        let post = model.entity("Post").expect("a post");
        assert_eq!(post.slot("lsi1").map(|slot| slot.templates.len()), (key != "day").then_some(1));
        runs(&model);
    }
}

#[test]
fn a_kept_local_index_is_left_as_it_was_written() {
    for (said, templates) in [(r#"pk: "T#{id}", due: "{due}""#, 2), (r#"due: "{due}""#, 1)] {
        let text = format!(
            r#"
format: 1
model: keepme
tables: {{Main: {{key: {{pk: S, sk: S}}, indexes: {{loc: {{local: true, sk: due, project: all}}}}}}}}
entities:
  One: {{count: 1000, size: 500, key: {{pk: "T#{{id}}", sk: "M"}}, loc: {{{said}}}, attrs: {{id: S, due: S, c: {{type: S, distinct: 100}}}}}}
patterns:
  - {{id: P1, get: One, given: {{id: eq}}, rate: 1}}
  - {{id: P2, query: One, given: {{c: eq}}, returns: {{avg: 10, max: 20}}, rate: 1}}
  - {{id: W1, put: One, rate: 1}}
"#
        );
        let written = design::to_model(&model(&text), "Main", &kept(&text)).expect("templates");
        let again = self::model(&keywright_model::write(&written));
        let slot = again.entity("One").and_then(|one| one.slot("loc")).expect("kept");
        assert_eq!(slot.templates.len(), templates, "{slot:?}");
        runs(&again);
    }
}

const ADDRESSES: &str = r"
format: 1
model: emb
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  User: {count: 1000, size: 200, unique: [[userId]], attrs: {userId: S, name: S}}
  Address: {count: 3000, size: 100, parent: User, unique: [[userId, label]], attrs: {userId: S, label: {type: S, values: [home, work]}, street: S}}
patterns:
  - {id: P1, query: [User, Address], given: {userId: eq}, returns: {avg: 4, max: 4}, rate: 50}
  - {id: W1, put: Address, rate: 5}
";

#[test]
fn an_element_appended_to_a_list_has_the_attributes_of_the_embedded_item() {
    let (found, model) = crate::support::designed(ADDRESSES);
    assert_eq!(found.embedded.first().map(|own| own.list.as_str()), Some("addresses"));
    let written = keywright_model::write(&model);
    assert!(written.contains("more: [{label: home, street: street}]"), "{written}");
}

#[test]
fn an_item_whose_write_is_conditional_or_changes_one_alone_is_not_taken_into_a_list() {
    for write in
        ["put: Address, if: not-exists", "update: Address, set: 'street = :street'", "delete: Address"]
    {
        let (found, model) = crate::support::designed(&ADDRESSES.replace("put: Address", write));
        assert_eq!(found.embedded, [], "{write}");
        assert!(model.entity("Address").is_some(), "{write}");
        let why = design::unlisted(&model, &found);
        assert_eq!(why.len(), 1, "{why:?}");
        assert!(why[0].starts_with("Address is not a list in its User, as W1 writes one alone"), "{why:?}");
    }
    let unbounded = ADDRESSES.replace("{avg: 4, max: 4}", "{avg: 4}");
    let (found, model) = crate::support::designed(&unbounded);
    let why = design::unlisted(&model, &found);
    assert!(why[0].contains("as P1 does not say how many there are at the most"), "{why:?}");
}

#[test]
fn a_number_below_zero_or_with_a_fraction_is_the_sort_key_of_an_index_as_it_is() {
    let (found, model) = crate::support::designed(SCORES);
    assert_eq!(found.gsis, 1, "{:?}", found.placed);
    let index =
        model.tables[0].indexes.iter().find(|index| index.sort.iter().any(|part| part.name == "score"));
    let part = index.and_then(|index| index.sort.first()).expect("a key");
    assert_eq!(part.key_type, keywright_model::KeyType::N);
    assert!(!keywright_model::write(&model).contains("score:pad"), "{:?}", model.entities);
    runs(&model);
    let checked = crate::support::check(&model);
    let best = checked.report.patterns.iter().find(|own| own.id == "P1").expect("it ran");
    assert_eq!(best.returned.len(), 3, "{best:?}");
    let order: Vec<String> = best.returned.iter().map(|key| key.join(" ")).collect();
    assert!(order[0].contains('c') && order[1].contains('a') && order[2].contains('b'), "{order:?}");
}

/// Another entity has the same attributes and needs an index too.
const SCORES: &str = r"
format: 1
model: scores
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Score: {count: 1000, size: 200, unique: [[match, id]], attrs: {match: {type: S, distinct: 10}, id: S, score: N}}
  Draft: {count: 1000, size: 200, unique: [[draftId]], attrs: {draftId: S, match: {type: S, distinct: 10}, score: N}}
patterns:
  - {id: P1, query: Score, given: {match: eq}, order: {by: score}, returns: {avg: 10, max: 20}, rate: 1, example: {match: m}}
  - {id: P2, get: Draft, given: {draftId: eq}, rate: 1}
data: {inline: {Score: [{match: m, id: a, score: -5}, {match: m, id: b, score: 1.5}, {match: m, id: c, score: -70}], Draft: [{draftId: d, match: m, score: 3}]}}
";

#[test]
fn a_number_below_zero_or_with_a_fraction_that_identifies_is_a_text_in_the_tables_key_and_sorts_in_an_index()
{
    for value in ["-5", "1.5"] {
        let text = format!(
            r"
format: 1
model: scores
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  Score: {{count: 1000, size: 200, unique: [[match, score]], attrs: {{match: {{type: S, distinct: 10}}, id: S, score: N}}}}
patterns:
  - {{id: P1, query: Score, given: {{match: eq}}, order: {{by: score}}, returns: {{avg: 10, max: 20}}, rate: 1}}
data: {{inline: {{Score: [{{match: m, id: a, score: {value}}}]}}}}
"
        );
        let (found, model) = crate::support::designed(&text);
        assert!(found.placed.iter().any(|own| own.number), "{:?}", found.placed);
        assert!(!keywright_model::write(&model).contains("score:pad"), "{:?}", model.entities);
        runs(&model);
    }
}
