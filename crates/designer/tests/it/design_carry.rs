//! A designed model keeps the items and the expectations of the one it was made of, under its new keys.

use keywright_designer::design::carry;
use keywright_model::data::Sample;
use keywright_model::{Model, write};
use keywright_workbench::report::{Checked, text};
use keywright_workbench::run::Outcome;

use crate::support::{all_designed, model, no_files};

/// The model designed again and read back, with the notices about its data.
fn redesigned(text: &str) -> (Model, Vec<String>) {
    let original = model(text);
    let (mut model, embedded) = all_designed(&original);
    let notices = carry(&original, &no_files, &embedded, &mut model).expect("it runs");
    (crate::support::model(&write(&model)), notices)
}

/// The result of a model's check; it must pass.
fn checked(model: &Model) -> Checked {
    let checked = crate::support::check(model);
    assert!(checked.passes(), "{}\n{}", text(&checked, "x.yaml"), write(model));
    checked
}

fn returned(checked: &Checked, pattern: &str) -> Vec<Vec<String>> {
    let ran = checked.report.patterns.iter().find(|own| own.id == pattern).expect("the pattern");
    assert_eq!(ran.outcome, Outcome::Met, "{ran:?}");
    ran.returned.clone()
}

#[test]
fn every_redesigned_example_meets_its_expectations_on_its_own_items() {
    for path in crate::support::example_paths() {
        let (model, _) = redesigned(&std::fs::read_to_string(&path).expect("readable"));
        let checked = checked(&model);
        assert!(checked.report.patterns.iter().any(|own| own.outcome == Outcome::Met), "{}", path.display());
    }
}

#[test]
fn attributes_of_a_previous_key_are_kept_in_the_item_unless_the_new_keys_have_them_and_expected_items_have_new_keys()
 {
    let (model, notices) = redesigned(
        r#"
format: 1
model: orders
tables: {Shop: {key: {PK: S, SK: S}, indexes: {byDay: {pk: D, sk: SK, project: all}, byShelf: {pk: shelfKey, sk: SK, project: all}}}}
entities:
  Order:
    count: 1000
    size: 100
    key: {PK: "u#{user}", SK: "o#{number:pad(4)}"}
    byDay: {D: "d#{day}", SK: "o#{number:pad(4)}"}
    byShelf: {shelfKey: "s#{shelf}", SK: "o#{number:pad(4)}"}
    attrs: {user: S, number: N, day: S, shelf: S}
patterns:
  - {id: P1, query: Order, given: {day: eq}, returns: {avg: 10, page: 10}, rate: 5, example: {day: monday}, expect: {items: [["u#ann", "o#0007"]], exact: true, rcu: 0.5}}
  - {id: P2, query: Order, given: {user: eq}, returns: {avg: 10, page: 10}, rate: 5, example: {user: bob}, expect: {items: [["u#eve", "o#0001"]]}}
data:
  items:
    Shop:
      - {PK: {S: "u#ann"}, SK: {S: "o#0007"}, D: {S: "d#monday"}, shelfKey: {S: "s#7a"}}
      - {PK: {S: "u#bob"}, SK: {S: "o#0008"}, D: {S: "d#friday"}, shelfKey: {S: "s#7a"}}
"#,
    );
    let checked = checked(&model);
    assert_eq!(returned(&checked, "P1").len(), 1);
    let ann = |own: &&Sample| own.item.values().any(|value| *value == "u#ann".into());
    let ann = checked.report.samples.iter().find(ann).expect("ann's");
    assert_eq!(ann.item.get("shelf"), Some(&"7a".into()), "no key tells it now: {ann:?}");
    assert_eq!(ann.item.get("day"), Some(&"monday".into()), "it is a key itself: {ann:?}");
    for name in ["user", "number", "D", "shelfKey"] {
        assert!(!ann.item.contains_key(name), "{name} is in the keys, or was a key: {ann:?}");
    }
    assert_eq!(
        notices,
        [
            "The expectation of P2 is removed: it names items that the model does not have, and their new keys cannot be derived."
        ]
    );
}

#[test]
fn items_taken_into_their_parent_come_with_it_in_a_list() {
    let (model, notices) = redesigned(
        r"
format: 1
model: orders
tables: {Main: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 1000, size: 200, unique: [[orderId]], key: {pk: '{orderId}', sk: o}, attrs: {orderId: S, note: S}}
  Item: {count: 3000, size: 100, parent: Order, unique: [[orderId, productId]], key: {pk: '{orderId}', sk: 'p#{productId}'}, attrs: {orderId: S, productId: S}}
patterns:
  - {id: P1, query: [Order, Item], given: {orderId: eq}, returns: {avg: 4, max: 20}, rate: 10, example: {orderId: '1'}}
  - {id: W1, transact: [{put: Order}, {put: Item, n: 3}], rate: 10}
data:
  inline:
    Order: [{orderId: '1', note: x}]
    Item: [{orderId: '1', productId: a}, {orderId: '1', productId: b}, {orderId: '2', productId: c}]
",
    );
    let samples = checked(&model).report.samples;
    assert_eq!(samples.len(), 1, "{samples:?}");
    let list = samples[0].item.get("items").map(|list| format!("{list:?}")).expect("its list");
    assert!(list.contains("\"a\"") && list.contains("\"b\"") && !list.contains("\"c\""), "{list}");
    assert_eq!(notices, ["An item of Item has no Order among the items and is left out."]);
}

#[test]
fn derived_items_come_with_their_source_and_their_reads_expect_them() {
    let (model, notices) = redesigned(
        r"
format: 1
model: follows
tables: {Main: {key: {a: S, b: S}}}
entities:
  Follow: {count: 1000, size: 100, key: {a: 'r#{followerId}', b: 'd#{followedId}'}, attrs: {followerId: {type: S, distinct: 100}, followedId: {type: S, distinct: 100}}}
patterns:
  - {id: P1, query: Follow, given: {followerId: eq}, consistency: strong, returns: {avg: 5}, rate: 10, example: {followerId: x}, expect: {items: [['r#x', 'd#y']], exact: true}}
  - {id: P2, query: Follow, given: {followedId: eq}, consistency: strong, returns: {avg: 5}, rate: 10, example: {followedId: y}, expect: {items: [['r#x', 'd#y'], ['r#z', 'd#y']], exact: true}}
  - {id: W1, put: Follow, rate: 1}
data: {inline: {Follow: [{followerId: x, followedId: y}, {followerId: z, followedId: y}]}}
",
    );
    let checked = checked(&model);
    assert_eq!(checked.report.samples.len(), 4);
    assert_eq!((returned(&checked, "P1").len(), returned(&checked, "P2").len()), (1, 2));
    assert_eq!(notices, Vec::<String>::new());
}

#[test]
fn a_model_without_items_gets_generated_ones_on_which_its_design_is_checked() {
    let (model, notices) = redesigned(
        r"
format: 1
model: one
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  A: {count: 1000, size: 100, unique: [[id]], attrs: {id: S, x: {type: S, distinct: 100}}}
patterns:
  - {id: P1, query: A, given: {id: eq}, returns: {avg: 1, max: 1}, rate: 5}
  - {id: P2, query: A, given: {x: eq}, returns: {avg: 10, max: 10}, rate: 5}
",
    );
    assert_eq!(
        notices,
        ["The model has no items of its own: `data` generates 60 of the most numerous entity."]
    );
    let checked = checked(&model);
    assert!(checked.report.patterns.iter().all(|own| own.items_returned > 0), "{}", text(&checked, "x.yaml"));
}

#[test]
fn items_of_a_model_without_keys_are_identified_by_their_attributes_and_get_the_new_keys() {
    let (model, _) = redesigned(
        r"
format: 1
model: ranking
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  M: {count: 1000, size: 100, unique: [[id]], attrs: {id: S, grp: {type: S, distinct: 10}, score: N}}
patterns:
  - {id: One, get: M, given: {id: eq}, rate: 1, example: {id: a}, expect: {count: 1}}
  - {id: Best, query: M, given: {grp: eq}, order: {by: score, direction: desc}, returns: {avg: 10, max: 100, page: 20}, rate: 1, example: {grp: x}, expect: {count: 3}}
data:
  inline:
    M: [{id: a, grp: x, score: 5}, {id: b, grp: x, score: 12}, {id: c, grp: x, score: 7}]
",
    );
    let checked = checked(&model);
    let met = checked.report.patterns.iter().filter(|own| own.outcome == Outcome::Met).count();
    assert_eq!(met, 2, "{}", text(&checked, "x.yaml"));
}

#[test]
fn an_item_on_which_a_condition_holds_with_its_example_is_added_where_the_sample_has_none() {
    let text = "format: 1
model: projects
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Project: {count: 20000, size: 100, unique: [[projectId]], attrs: {projectId: {type: S, format: uuid}, status: {type: S, values: [STATES]}}}
patterns:
  - {id: Q1, get: Project, given: {projectId: eq}, rate: 5}
  - {id: W1, update: Project, set: 'status = :c', if: 'status = :o', example: {c: closed, o: open}, rate: 1}
data: {generate: {seed: 6, sample: 10}}
";
    // None of ten projects is open: most states have other values.
    let states = (1..400).map(|state| format!("s{state}")).chain(["open".to_owned(), "closed".to_owned()]);
    let text = text.replace("STATES", &states.collect::<Vec<_>>().join(", "));
    let (written, notices) = redesigned(&text);
    assert!(notices.iter().any(|own| own.contains("an item of Project on which W1 can run")), "{notices:?}");
    checked(&written);
}
