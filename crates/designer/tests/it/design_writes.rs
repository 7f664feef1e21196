//! The writes of designed models keep every derived key and derived item current, shown by running them.

use keywright_designer::design::{self, VerifiedWrite};
use keywright_model::expression::{Effect, Section};
use keywright_model::{Model, Operation, write};

use crate::support::prices;

fn designed(text: &str) -> Model {
    crate::support::designed(text).1
}

fn set_of(model: &Model, id: &str) -> String {
    let step = model.pattern(id).and_then(|own| own.steps().first().cloned()).expect("a step");
    step.section_text(Section::Set).unwrap_or_default()
}

fn verified(model: &Model) -> Vec<VerifiedWrite> {
    let found = design::verify_writes(model).expect("it runs");
    assert!(!found.is_empty());
    found
}

fn all_agree(model: &Model) {
    for own in verified(model) {
        assert!(own.agrees() && !own.refused, "{own:?}");
        assert!(!own.reads.is_empty(), "{own:?}");
    }
}

const ORDERS: &str = r"
format: 1
model: orders
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Order:
    count: 1000
    size: 300
    unique: [[orderId]]
    attrs:
      orderId: S
      status: {type: S, values: [NEW, PAID, DONE]}
      createdAt: {type: S, format: iso8601}
      total: N
      flaggedBy: {type: S, present: 0.5}
  Task: {count: 1000, size: 300, unique: [[taskId]], attrs: {taskId: S, kind: {type: S, distinct: 200}, owner: {type: S, distinct: 200}}}
patterns:
  - {id: P1, get: Order, given: {orderId: eq}, rate: 10}
  - {id: P2, query: Order, given: {status: eq}, order: {by: createdAt, direction: desc}, returns: {avg: 20, page: 50}, rate: 5}
  - {id: P3, query: Order, given: {flaggedBy: eq}, returns: {avg: 2, page: 50}, rate: 5}
  - {id: P6, get: Task, given: {taskId: eq}, rate: 100}
  - {id: P4, query: Task, given: {kind: eq}, returns: {avg: 5, page: 50}, rate: 5}
  - {id: P5, query: Task, given: {owner: eq}, returns: {avg: 5, page: 50}, rate: 5}
  - {id: W1, put: Order, if: not-exists, rate: 1}
  - {id: W2, update: Order, set: 'status = :status', if: exists, rate: 1}
  - {id: W3, update: Order, remove: flaggedBy, rate: 1}
  - {id: W4, update: Order, set: 'total = total + :more', rate: 1}
  - {id: W5, delete: Order, rate: 1}
";

#[test]
fn an_update_of_an_index_keys_variable_sets_the_key_and_the_reads_find_it_there() {
    let model = designed(ORDERS);
    let set = set_of(&model, "W2");
    assert!(set.starts_with("status = :status, gsi") && set.matches("pk").count() == 2, "{set}");
    let step = model.pattern("W3").and_then(|own| own.steps().first()).expect("a step");
    let removed = step.section_text(Section::Remove).expect("a removal");
    assert!(removed.starts_with("flaggedBy, gsi"), "{removed}");
    assert_eq!(set_of(&model, "W4"), "total = total + :more", "no key is made of it");
    all_agree(&model);
}

#[test]
fn an_index_of_one_entity_has_its_attributes_as_keys_which_every_write_keeps_as_they_are() {
    let alone: Vec<&str> = ORDERS.lines().filter(|line| !line.contains("Task")).collect();
    let alone = alone.join("\n");
    let model = designed(&alone);
    assert_eq!(set_of(&model, "W2"), "status = :status");
    let keys: Vec<&str> = model.tables[0]
        .indexes
        .iter()
        .flat_map(|index| index.partition.iter().chain(&index.sort))
        .map(|part| part.name.as_str())
        .collect();
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(["status", "createdAt", "flaggedBy"].iter().all(|name| keys.contains(name)), "{keys:?}");
    all_agree(&model);
}

#[test]
fn a_write_that_leaves_a_key_as_it_was_is_found_by_the_key_and_by_the_reads() {
    let mut model = designed(ORDERS);
    for pattern in model.patterns.iter_mut().filter(|own| own.id == "W2") {
        let Operation::Write(step) = &mut pattern.operation else { continue };
        step.effects = vec![Effect::set("status", "status")];
    }
    let found = verified(&model);
    let stale = found.iter().find(|own| own.pattern == "W2").expect("it ran");
    assert!(!stale.agrees());
    assert!(
        stale.stale.iter().all(|name| name.starts_with("Order.gsi")) && !stale.stale.is_empty(),
        "{stale:?}"
    );
    assert!(stale.reads.iter().any(|read| read.pattern == "P2" && !read.agrees()), "{stale:?}");
}

#[test]
fn a_key_made_of_a_counted_number_is_what_the_update_leaves_padded() {
    let text = ORDERS
        .replace("given: {flaggedBy: eq}", "given: {status: eq, total: ge}")
        .replace("flaggedBy: {type: S, present: 0.5}", "flaggedBy: S")
        // Another entity with the same attributes would be in an index with these as plain keys.
        .replace(
            "attrs: {taskId: S,",
            "attrs: {taskId: S, orderId: S, status: S, total: N, createdAt: S, flaggedBy: S,",
        );
    let model = designed(&text);
    let set = set_of(&model, "W4");
    assert!(set.starts_with("total = total + :more, gsi"), "{set}");
    all_agree(&model);
}

#[test]
fn derived_items_equal_their_source_after_every_write() {
    let text = r"
format: 1
model: follows
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Follow: {count: 1000, size: 100, unique: [[followerId, followedId]], attrs: {followerId: {type: S, distinct: 100}, followedId: {type: S, distinct: 100}, since: S}}
patterns:
  - {id: P1, query: Follow, given: {followerId: eq}, consistency: strong, returns: {avg: 5}, rate: 10}
  - {id: P2, query: Follow, given: {followedId: eq}, consistency: strong, returns: {avg: 5}, rate: 10}
  - {id: W1, put: Follow, rate: 1}
  - {id: W2, update: Follow, set: 'since = :since', rate: 1}
  - {id: W3, delete: Follow, rate: 1}
";
    let mut model = designed(text);
    assert_eq!(model.entities.len(), 2);
    all_agree(&model);
    // Without the transaction the derived item would stay behind.
    for pattern in model.patterns.iter_mut().filter(|own| own.id == "W2") {
        if let Operation::Transact(steps) = &mut pattern.operation {
            steps.truncate(1);
        }
    }
    let found = verified(&model);
    let alone = found.iter().find(|own| own.pattern == "W2").expect("it ran");
    assert!(alone.reads.iter().any(|read| !read.agrees()) || !alone.stale.is_empty(), "{alone:?}");
}

/// Accounts found by their number, and strongly by something else, with further patterns.
fn accounts(more: &str) -> Model {
    let text = r"
format: 1
model: accounts
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Account: {count: 1000, size: 1200, unique: [[accountId], [email]], attrs: {accountId: S, email: S, holder: {type: S, distinct: 400}, balance: N}}
patterns:
  - {id: Q1, get: Account, given: {accountId: eq}, rate: 5}
"
    .to_owned();
    designed(&(text + more))
}

#[test]
fn an_update_of_a_unique_attribute_is_verified_with_a_value_that_no_item_has() {
    let by_email = "  - {id: Q2, query: Account, given: {email: eq}, attributes: [accountId, email], consistency: strong, returns: {avg: 1, max: 1}, rate: 2}\n";
    for write in [
        "  - {id: W1, update: Account, set: 'email = :new', if: 'email = :old', rate: 0.01}",
        "  - {id: W1, update: Account, set: 'email = :new', if: 'email = :old', rate: 0.01, example: {old: one@x}}",
        "  - {id: W1, transact: [{update: Account, n: 2, set: 'email = :new', if: 'email = :old'}], rate: 0.01}",
    ] {
        let model = accounts(&format!("{by_email}{write}"));
        assert!(model.entity("AccountByEmail").is_some(), "{:?}", model.entities);
        all_agree(&model);
    }
}

#[test]
fn changes_of_several_items_in_one_transaction_change_the_derived_item_of_each() {
    let model = accounts(
        "  - {id: Q2, query: Account, given: {holder: eq}, attributes: [accountId, balance], consistency: strong, returns: {avg: 2, max: 20}, rate: 20}
  - {id: W1, transact: [{update: Account, set: 'balance = balance - :x', if: 'balance >= :x AND holder = :from'}, {update: Account, set: 'balance = balance + :x', if: 'holder = :to'}], rate: 1, example: {x: 1}}
  - {id: W2, transact: [{update: Account, set: 'holder = :new', if: 'holder = :old AND balance = :b'}, {update: Account, set: 'email = :e'}, {update: Account, set: 'balance = balance + :x', if: 'holder = :to'}], rate: 0.1, example: {x: 1}}
  - {id: W3, transact: [{put: Account, if: not-exists}, {put: Account, if: not-exists}], rate: 0.1}
",
    );
    assert!(model.entity("AccountByHolder").is_some(), "{:?}", model.entities);
    all_agree(&model);
}

#[test]
fn a_put_over_an_item_is_tried_on_one_of_which_its_condition_holds() {
    for example in ["", ", example: {h: ann}", ", example: {accountId: a1, holder: bob, h: ann}"] {
        let model = accounts(&format!(
            "  - {{id: W1, put: Account, if: 'holder = :h AND balance >= :b', rate: 1{example}}}"
        ));
        all_agree(&model);
    }
}

#[test]
fn an_update_does_not_remove_a_key_that_has_the_name_of_a_previous_one() {
    let model = designed(
        r#"
format: 1
model: recipes
tables: {Tab: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: gsi1pk, sk: gsi1sk, project: all}}}}
entities:
  Recipe:
    count: 1000
    size: 300
    key: {pk: "r#{recipeId}", sk: "r#"}
    gsi1: {gsi1pk: "p#{patient}", gsi1sk: "{active}"}
    unique: [[recipeId]]
    attrs: {recipeId: S, patient: {type: S, distinct: 100}, issuedAt: S, active: {type: S, present: 0.5}}
  Visit:
    count: 1000
    size: 300
    key: {pk: "v#{visitId}", sk: "v#"}
    gsi1: {gsi1pk: "p#{patient}", gsi1sk: "v#{at}"}
    unique: [[visitId]]
    attrs: {visitId: S, patient: {type: S, distinct: 100}, at: S}
patterns:
  - {id: Q1, get: Recipe, given: {recipeId: eq}, rate: 5}
  - {id: Q2, query: Recipe, given: {patient: eq}, order: {by: issuedAt}, returns: {avg: 10, max: 50}, rate: 5}
  - {id: Q3, get: Visit, given: {visitId: eq}, rate: 5}
  - {id: Q4, query: Visit, given: {patient: eq}, order: {by: at}, returns: {avg: 10, max: 50}, rate: 5}
  - {id: W1, update: Recipe, remove: 'active, gsi1sk', rate: 1}
"#,
    );
    let step = model.pattern("W1").and_then(|own| own.steps().first().cloned()).expect("a step");
    assert_eq!(step.section_text(Section::Remove).as_deref(), Some("active"));
    all_agree(&model);
}

#[test]
fn the_writes_of_every_redesigned_published_model_run_as_predicted() {
    let mut wrong = Vec::new();
    let mut ran = 0;
    for (name, mut model) in crate::support::examples().iter().cloned() {
        for table in model.tables.clone() {
            let Ok(problem) = design::from_model(&model, &table) else { continue };
            if problem.entities.is_empty() || problem.patterns.is_empty() {
                continue;
            }
            let found = design::solve(&problem, &prices()).expect("a design");
            model = design::to_model(&model, &table.name, &found).expect("templates");
        }
        let model = crate::support::model(&write(&model));
        for own in design::verify_writes(&model).expect("it runs") {
            ran += usize::from(!own.refused);
            if !own.agrees() {
                wrong.push(format!("{name}: {own:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran >= 15, "{ran}");
}

#[test]
fn the_filler_of_a_derived_item_is_no_copy() {
    let text = r"
format: 1
model: by-two
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  A: {count: 1000, size: 100, unique: [[id]], attrs: {id: S, x: {type: S, distinct: 100}, y: S}}
patterns:
  - {id: P1, query: A, given: {id: eq}, consistency: strong, returns: {avg: 1, max: 1}, rate: 5}
  - {id: P2, query: A, given: {x: eq}, consistency: strong, returns: {avg: 10, max: 10}, rate: 5}
  - {id: W1, put: A, if: not-exists, rate: 1}
";
    for text in [text.to_owned(), text.replace("size: 100", "size: 5000")] {
        let model = designed(&text);
        assert!(model.entity("AByX").is_some() || model.entity("AById").is_some(), "{:?}", model.entities);
        all_agree(&model);
    }
}
