//! Promises of a design besides its keys: an impossibility claim holds, nothing declared is lost silently,
//! and a price covers everything.

use std::collections::BTreeMap;

use keywright_designer::design::{self, Billed, Design, Slot, carry, verify, verify_writes};
use keywright_model::{MilliItems, Model, write};
use keywright_workbench::cost::Bill;
use keywright_workbench::report::text;
use keywright_workbench::run::Note;

use crate::support::{all_designed, check, designed, model, no_files, prices, problem};

/// A ranking by a number that may be negative.
fn ranking(entities: &str, patterns: &str) -> String {
    format!(
        "format: 1\nmodel: ranking\ntables: {{Tab: {{key: {{pk: S, sk: S}}}}}}\nentities:\n{entities}\npatterns:\n{patterns}\n"
    )
}

const MEMBER: &str = "  M: {count: 1000, size: 100, unique: [[id]], attrs: {id: S, grp: {type: S, distinct: 10}, score: {type: N, values: [-5, 2, 12.5, 40]}}}";
const STRONG: &str = "  - {id: P1, get: M, given: {id: eq}, consistency: strong, rate: 1}
  - {id: P2, query: M, given: {grp: eq}, order: {by: score, direction: desc}, consistency: strong, returns: {avg: 10, max: 100, page: 20}, rate: 1}
  - {id: W1, put: M, if: not-exists, rate: 1}";

/// The written model runs as predicted.
fn proved(model: &Model) {
    for own in verify(model).expect("it runs") {
        assert!(own.agrees(), "{own:?}\n{}", write(model));
    }
    for own in verify_writes(model).expect("they run") {
        assert!(own.agrees() && !own.refused, "{own:?}\n{}", write(model));
    }
}

fn slots(design: &Design, entity: &str) -> Vec<Slot> {
    let entities = &design.problem.entities;
    let named = |own: &&design::Placed| entities.get(own.view.entity).is_some_and(|own| own.name == entity);
    design.placed.iter().filter(named).map(|own| own.slot).collect()
}

#[test]
fn a_strong_ranking_by_a_negative_number_is_a_local_index_next_to_a_derived_item() {
    let (found, written) = designed(&ranking(MEMBER, STRONG));
    assert_eq!(slots(&found, "M"), [Slot::Table, Slot::Copy, Slot::Local(1)]);
    proved(&written);
}

#[test]
fn another_entity_with_the_same_number_does_not_make_the_local_index_impossible() {
    let two =
        format!("{MEMBER}\n  N: {{count: 1000, size: 100, unique: [[nid]], attrs: {{nid: S, score: N}}}}");
    let more = format!(
        "{STRONG}\n  - {{id: P3, get: N, given: {{nid: eq}}, rate: 1}}\n  - {{id: W2, put: N, if: not-exists, rate: 1}}"
    );
    let (found, written) = designed(&ranking(&two, &more));
    assert_eq!(slots(&found, "M"), [Slot::Table, Slot::Copy, Slot::Local(1)]);
    proved(&written);
}

#[test]
fn a_negative_number_can_identify_an_item_and_be_read_by() {
    let (_, written) = designed(&ranking(
        "  M: {count: 1000, size: 100, unique: [[grp, level]], attrs: {grp: S, level: {type: N, values: [-2, -1, 0.5, 3]}}}",
        "  - {id: P1, get: M, given: {grp: eq, level: eq}, rate: 1}
  - {id: P2, query: M, given: {level: eq}, returns: {avg: 10, max: 100, page: 20}, rate: 1}
  - {id: P3, query: M, given: {grp: eq, level: ge}, returns: {avg: 2, max: 4}, rate: 1}
  - {id: W1, put: M, if: not-exists, rate: 1}",
    ));
    proved(&written);
}

#[test]
fn rare_attributes_are_verified_too_and_can_be_in_a_writes_condition() {
    let original = model(&ranking(
        "  A: {count: 40000, size: 250, unique: [[id]], attrs: {id: S, site: {type: S, distinct: 400}, at: {type: S, format: iso8601}, open: {type: S, values: [Y], present: 0.001}}}",
        "  - {id: P1, query: A, given: {site: eq, open: eq}, order: {by: at, direction: desc}, returns: {avg: 5, max: 100, page: 20}, rate: 5}
  - {id: W1, update: A, remove: open, if: 'attribute_exists(open)', rate: 0.2}
data: {generate: {seed: 5, sample: 40}}",
    ));
    let (mut made, embedded) = all_designed(&original);
    assert_eq!(verify(&made).expect("it runs").len(), 1);
    proved(&made);
    carry(&original, &no_files, &embedded, &mut made).expect("it runs");
    let checked = check(&model(&write(&made)));
    assert!(checked.report.is_good(), "{}", text(&checked, "x.yaml"));
    assert!(
        checked.report.samples.iter().any(|own| own.item.contains_key("open")),
        "one in a thousand is open"
    );
}

#[test]
fn a_read_that_no_item_can_be_made_for_is_counted_and_fails() {
    let (_, written) = designed(&ranking(
        "  M: {count: 1, size: 100, unique: [[id]], attrs: {id: {type: S, values: [a]}, rare: {type: S, present: 0}}}",
        "  - {id: P1, get: M, given: {id: eq}, rate: 1}
  - {id: P2, query: M, given: {rare: eq}, returns: {avg: 1, max: 1}, rate: 1}",
    ));
    let tried = verify(&written).expect("it runs");
    let failed: Vec<&str> =
        tried.iter().filter(|own| !own.agrees()).map(|own| own.pattern.as_str()).collect();
    assert_eq!((tried.len(), failed), (2, vec!["P2"]), "{tried:?}");
}

#[test]
fn a_put_of_a_unique_pair_if_it_is_not_there_has_a_key_of_the_pair_alone() {
    let follow = |indexes: usize, more: &str| -> (Design, Model) {
        let original = model(&ranking(
            "  F: {count: 90000, size: 90, unique: [[follower, followee]], attrs: {follower: S, followee: S, since: {type: S, format: iso8601}}}",
            &format!("  - {{id: P1, query: F, given: {{follower: eq}}, order: {{by: since, direction: desc}}, returns: {{avg: 30, max: 5000, page: 100}}, rate: 5{more}}}
  - {{id: W1, put: F, if: not-exists, rate: 3}}"),
        ));
        let mut problem = problem(&original);
        problem.gsi_max = indexes;
        let found = design::solve(&problem, &prices()).expect("a design");
        let made = design::to_model(&original, "Tab", &found).expect("templates");
        (found, model(&write(&made)))
    };
    for (indexes, more) in [(5, ""), (0, ""), (5, ", consistency: strong")] {
        let (found, written) = follow(indexes, more);
        let identity = |own: &&design::Placed| {
            own.slot.location() == Slot::Table && !own.view.names().any(|name| name == "since")
        };
        assert!(found.placed.iter().any(|own| identity(&own)), "{:?}", found.placed);
        proved(&written);
        let rules: Vec<&str> = check(&written).findings.iter().map(|own| own.rule).collect();
        assert!(!rules.contains(&"L057"), "{rules:?}");
    }
}

#[test]
fn of_equal_designs_the_one_that_the_rules_have_nothing_against_is_taken() {
    let (_, written) = designed(&ranking(
        "  B: {count: 400000, size: 500, unique: [[id]], owner: org, attrs: {id: {type: S, format: uuid}, org: S, hotel: S, arrives: {type: S, format: date}, task: S}}
  T: {count: 400000, size: 500, unique: [[org, task]], owner: org, attrs: {org: S, task: S}}",
        "  - {id: P1, query: B, given: {hotel: eq, arrives: eq}, returns: {avg: 4, max: 60}, rate: 1}
  - {id: P2, get: B, given: {id: eq}, rate: 1}
  - {id: P3, get: T, given: {org: eq, task: eq}, rate: 1}
  - {id: W1, put: B, if: not-exists, rate: 1}
  - {id: W2, put: T, if: not-exists, rate: 1}",
    ));
    let mut found: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for finding in check(&written).findings {
        *found.entry((finding.rule, finding.subject)).or_default() += 1;
    }
    let rules: Vec<&(&str, String)> =
        found.keys().filter(|(rule, _)| ["L023", "L058"].contains(rule)).collect();
    // B is read by its own identity and by its hotel; neither contains the owner.
    assert!(
        rules.iter().all(|(rule, subject)| *rule == "L058" && subject == "B"),
        "{rules:?}\n{}",
        write(&written)
    );
}

#[test]
fn expectations_and_results_go_with_an_entity_into_its_parents_list() {
    let original = model(
        r#"
format: 1
model: people
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  User: {count: 100000, size: 200, key: {pk: "u#{userId}", sk: info}, attrs: {userId: S, name: S}}
  Counts: {count: 100000, size: 100, parent: User, key: {pk: "u#{userId}", sk: count}, attrs: {userId: S, posts: N}}
patterns:
  - {id: P1, query: [User, Counts], given: {userId: eq}, returns: {avg: 2, max: 2}, rate: 5, example: {userId: a}, expect: {items: [["u#a", count], ["u#a", info]], exact: true, rcu: 0.5}}
  - {id: P2, query: [User, Counts], given: {userId: eq}, returns: {avg: 2, max: 2}, rate: 5, example: {userId: a}, expect: {count: 2}}
data:
  inline:
    User: [{userId: a, name: Ann}]
    Counts: [{userId: a, posts: 3}]
"#,
    );
    let (mut made, embedded) = all_designed(&original);
    assert_eq!(embedded.len(), 1);
    let notices = carry(&original, &no_files, &embedded, &mut made).expect("it runs");
    let pattern = made.pattern("P1").expect("P1");
    let expect = pattern.expect.as_ref().expect("it is carried over");
    assert_eq!(expect.items.as_ref().map(Vec::len), Some(1));
    assert!(expect.exact && expect.read_units.is_some(), "{expect:?}");
    assert_eq!(pattern.returns.and_then(|returns| returns.average), Some(MilliItems::of(1)));
    assert_eq!(made.pattern("P2").and_then(|own| own.expect.as_ref()?.count), Some(1));
    assert!(notices.iter().any(|said| said.contains("P2 expected 2 items")), "{notices:?}");
    assert!(check(&model(&write(&made))).passes());
}

#[test]
fn a_bill_without_a_write_that_did_not_run_is_no_price() {
    let original = model(&ranking(MEMBER, STRONG));
    let of = |notes: Vec<Note>| -> Option<String> {
        let bill = Bill { notes, ..Bill::default() };
        Billed { text: String::new(), model: original.clone(), bill, notices: Vec::new() }.unmetered()
    };
    let not_run =
        Note::NotRun { pattern: "W1".to_owned(), reason: "two puts of `M` have one key".to_owned() };
    let said = of(vec![not_run, Note::NoAverage { pattern: "P1".to_owned(), items: 3 }]);
    assert_eq!(said.as_deref(), Some("W1 did not run and is not in the total: two puts of `M` have one key"));
    assert_eq!(of(vec![Note::NoAverage { pattern: "P1".to_owned(), items: 3 }]), None);
}

#[test]
fn a_local_index_excludes_entities_that_merely_share_its_attribute() {
    let (_, written) = designed(
        "format: 1\nmodel: blog\ntables: {Blog: {key: {pk: S, sk: S}}}\nentities:
  Post: {count: 5000, size: 4000, unique: [[postId]], attrs: {postId: {type: S, format: ulid}, publishedAt: {type: S, format: iso8601}, views: N, body: S}}
  Photo: {count: 20000, size: 300, unique: [[album, photoId]], attrs: {album: {type: S, distinct: 300}, photoId: {type: S, format: ulid}, publishedAt: {type: S, format: iso8601}}}
patterns:
  - {id: Q1, get: Post, given: {postId: eq}, rate: 10}
  - {id: Q2, get: Photo, given: {album: eq, photoId: eq}, rate: 5}
  - {id: Q3, query: Photo, given: {album: eq}, order: {by: publishedAt, direction: desc}, consistency: strong, returns: {avg: 20, max: 1000, page: 20}, rate: 5}
  - {id: W1, put: Photo, if: not-exists, rate: 1}
  - {id: W2, update: Photo, set: \"publishedAt = :t\", if: exists, rate: 0.1}
  - {id: W3, update: Post, add: \"views :one\", if: exists, example: {one: 1}, rate: 10}
data: {generate: {seed: 2, sample: 100}}
",
    );
    proved(&written);
    let table = written.tables.first().expect("the table");
    let entity = |name: &str| written.entities.iter().find(|own| own.name == name).expect("it is there");
    for index in &table.indexes {
        let post = entity("Post");
        let stands = index
            .key_parts()
            .all(|part| post.template(&part.name).is_some() || post.attribute(&part.name).is_some());
        assert!(
            !stands,
            "{}: each view of a post would be written to it too\n{}",
            index.name,
            write(&written)
        );
    }
}

/// Orders whose state changes often, read by state over all shards.
const STATES: &str = "format: 1
model: hot
tables: {Hot: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 20000000, size: 600, unique: [[orderId]], attrs: {orderId: {type: S, format: uuid}, status: {type: S, values: [new, paid, sent, done, void]}, placedAt: {type: S, format: iso8601}}}
patterns:
  - {id: Q1, get: Order, given: {orderId: eq}, rate: 100}
  - {id: Q2, scatter-gather: Order, given: {status: eq}, order: {by: placedAt}, returns: {avg: 100, max: 5000, page: 100}, rate: 0.5}
  - {id: W1, put: Order, if: not-exists, rate: {avg: 300, peak: PEAK}}
  - {id: W2, update: Order, set: 'status = :s', if: 'status = :o', rate: {avg: 300, peak: 3000}}
data: {generate: {seed: 3, sample: 400}}
";

#[test]
fn a_key_whose_entries_move_is_spread_for_both_writes_of_a_move() {
    for peak in ["1000", "6000"] {
        let (_, written) = designed(&STATES.replace("PEAK", peak));
        let checked = check(&written);
        let hot: Vec<&str> =
            checked.findings.iter().filter(|own| own.rule == "L021").map(|own| own.text.as_str()).collect();
        assert!(hot.is_empty(), "{hot:?}");
    }
}
