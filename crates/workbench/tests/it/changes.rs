//! How the run builds writes: new keys for puts, and items for which a condition holds. Each on the engine.

use crate::support::{fault_lines, model, no_files};
use keywright_workbench::run::{Outcome, Report, run};

/// Runs entities and patterns on one table with a partition and a sort key, and an index if there is an
/// entity in it.
fn ran(entities: &str, patterns: &str, seed: u64, sample: u64) -> Report {
    let indexes =
        if entities.contains("mine:") { ", indexes: {mine: {pk: who, sk: due, project: all}}" } else { "" };
    let text = format!(
        "
format: 1
model: m
tables: {{Tab: {{key: {{pk: S, sk: S}}{indexes}}}}}
entities:
{entities}
patterns:
{patterns}
data: {{generate: {{seed: {seed}, sample: {sample}}}}}
"
    );
    run(&model(&text), &no_files, &mut |_| {}).unwrap_or_else(|faults| panic!("{}", fault_lines(&faults)))
}

fn all_ran(report: &Report) {
    for pattern in &report.patterns {
        assert!(pattern.outcome.is_good(), "{}: {:?}", pattern.id, pattern.outcome);
    }
}

const TICKET: &str = "  Ticket: {count: 1000000, size: 800, key: {pk: \"t#{id}\", sk: \"t#\"}, \
mine: {who: \"{who}\", due: \"{due}\"}, attrs: {id: {type: S, format: uuid}, \
who: {type: S, distinct: 2000, present: 0.02}, due: {type: S, format: date}}}";

#[test]
fn a_put_has_a_new_key_for_every_seed() {
    let patterns = "  - {id: One, put: Ticket, if: not-exists, rate: 1}
  - {id: Two, transact: [{put: Ticket, n: 2, if: not-exists}], rate: 1}
  - {id: Batch, batch: [{put: Ticket, n: 25}], rate: 1}";
    for seed in 0..5 {
        let report = ran(TICKET, patterns, seed, 20);
        all_ran(&report);
        assert_eq!(report.pattern("Two").map(|own| own.write_units().0), Some(8), "seed {seed}");
    }
}

#[test]
fn a_put_finds_an_unused_key_among_few_values() {
    let slot = |pad: &str| {
        format!(
            "  Slot: {{count: 1000, key: {{pk: \"d#{{dev{pad}}}\", sk: \"s#{{slot:pad(4)}}\"}}, \
             attrs: {{dev: {{type: N, distinct: 10}}, slot: {{type: N, distinct: 100}}}}}}"
        )
    };
    let put = "  - {id: Put, put: Slot, if: not-exists, rate: 1}\n  - {id: Two, transact: [{put: Slot, n: 2, if: not-exists}], rate: 1}";
    // A tenth of the keys is used, then all of them: then one item is removed and restored.
    for sample in [100, 1000] {
        all_ran(&ran(&slot(":pad(2)"), put, 1, sample));
    }
}

#[test]
fn a_change_is_tried_on_an_item_that_its_condition_holds_for() {
    let patterns = "  - {id: Move, update: Ticket, set: \"due = :d\", if: \"attribute_exists(who)\", rate: 1}
  - {id: Drop, update: Ticket, remove: who, if: \"attribute_exists(who)\", rate: 1}
  - {id: Free, delete: Ticket, if: \"attribute_not_exists(who)\", rate: 1}
  - {id: Pair, transact: [{update: Ticket, set: \"due = :d\", if: \"attribute_exists(who)\"}, {check: Ticket, if: \"attribute_not_exists(who)\"}], rate: 1}";
    let report = ran(TICKET, patterns, 1, 500);
    all_ran(&report);
    let units = |id: &str| report.pattern(id).map(|own| own.write_units().0 / 2);
    // The table, and one index entry deleted and another written.
    assert_eq!((units("Move"), units("Drop"), units("Free")), (Some(3), Some(2), Some(1)));
    let none = ran(
        TICKET,
        "  - {id: Never, delete: Ticket, if: \"who = :w\", example: {w: nobody}, rate: 1}",
        1,
        50,
    );
    let outcome = &none.patterns.first().expect("Never").outcome;
    assert!(
        matches!(outcome, Outcome::Failed(text) if text.contains("a condition does not hold")),
        "{outcome:?}"
    );
}

#[test]
fn a_sample_has_as_many_items_as_one_request_takes() {
    let entities = "  Cust: {count: 100000, key: {pk: \"c#{c}\", sk: \"c#\"}, attrs: {c: S}}
  Item: {count: 100000000, parent: Cust, key: {pk: \"c#{c}\", sk: \"i#{i}\"}, attrs: {c: S, i: {type: S, format: ulid}}}";
    let patterns = "  - {id: Get, batch: [{get: Cust, n: 20}], rate: 1}
  - {id: Delete, transact: [{delete: Cust, n: 3, if: exists}], rate: 1}";
    let report = ran(entities, patterns, 1, 1000);
    all_ran(&report);
    assert_eq!(report.pattern("Get").map(|own| own.items_returned), Some(20));
}

#[test]
fn an_example_of_a_range_alone_is_asked_of_an_item_in_that_range() {
    let entity = "  Order: {count: 1000, key: {pk: \"c#{c}\", sk: \"{at}#{id}\"}, attrs: {c: {type: S, distinct: 100}, \
                  id: {type: S, format: ulid}, at: {type: S, format: iso8601}}}";
    let patterns = "  - {id: Between, query: Order, given: {c: eq, at: between}, example: {at: [\"2000\", \"2999\"]}, rate: 1}
  - {id: From, query: Order, given: {c: eq, at: ge}, example: {at: \"2000\"}, rate: 1}
  - {id: Never, query: Order, given: {c: eq, at: lt}, example: {at: \"1000\"}, rate: 1}";
    let report = ran(entity, patterns, 3, 200);
    for id in ["Between", "From"] {
        let pattern = report.pattern(id).expect(id);
        assert!(pattern.outcome.is_good() && pattern.items_returned > 0, "{id}: {pattern:?}");
    }
    let never = &report.pattern("Never").expect("Never").outcome;
    assert!(
        matches!(never, Outcome::Failed(text) if text.contains("`c`") && text.contains("agrees with")),
        "{never:?}"
    );
}
