//! Changes for which there is no plan that keeps all data, each in its smallest case.

use super::plans::{clauses, subject};
use crate::diff::*;

const TABLE: &str = "Shop: {key: {pk: S, sk: S}}";
const ORDER: &str = "Order: {count: 1000, size: 700, key: {pk: \"u#{userId}\", sk: \"o#{orderId}\"}, attrs: {userId: S, orderId: S, body: S}}";
const ASKED: &str = "  - {id: R1, query: Order, given: {userId: eq}, rate: 5}
  - {id: W1, put: Order, if: not-exists, rate: 2}
  - {id: W2, update: Order, set: \"body = :b\", if: exists, rate: 2}
";

fn orders(order: &str) -> Subject {
    subject(TABLE, &[order], ASKED)
}

/// The plan is refused for one reason, whose sentence contains all the words.
fn assert_refused(before: &Subject, after: &Subject, words: &[&str]) {
    let plan = diff(before, after).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
    let reasons: Vec<&String> = plan.summary.iter().filter(|line| line.starts_with("no plan: ")).collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    for word in words {
        assert!(reasons[0].contains(word), "{word}: {reasons:?}");
    }
}

#[test]
fn an_index_without_room_next_to_its_predecessor_is_not_created_before_that_is_dropped() {
    let with = |names: std::ops::RangeInclusive<u8>| {
        let indexes: Vec<String> = names.map(|at| format!("gsi{at}: {{pk: userId}}")).collect();
        subject(
            &format!("Shop: {{key: {{pk: S}}, indexes: {{{}}}}}", indexes.join(", ")),
            &["User: {count: 10, size: 100, key: {pk: \"{userId}\"}, attrs: {userId: S}}"],
            "  []\n",
        )
    };
    assert_refused(
        &with(1..=20),
        &with(3..=22),
        &["would have 22 global indexes", "at most 20", "a model without gsi1 and gsi2"],
    );
    assert_refused(&with(1..=19), &with(3..=21), &["without 1 of gsi1 and gsi2"]);
    assert_eq!(diff(&with(1..=19), &with(2..=20)).plan.extent, Extent::Whole);
}

#[test]
fn keys_that_may_be_the_same_text_before_and_after_are_not_passed_over_nor_deleted() {
    let sharded = |shards: u8| {
        let key = format!("u#{{userId}}#{{orderId|shard({shards})}}");
        orders(&ORDER.replace("u#{userId}", &key))
    };
    assert_refused(
        &sharded(20),
        &sharded(40),
        &["one and the same key", "give the new key a word of its own"],
    );
    let other = orders(&ORDER.replace("o#{orderId}", "o#{body}"));
    assert_refused(&orders(ORDER), &other, &["one and the same key"]);
    // A key with more parts than the other is never equal.
    let longer = orders(&ORDER.replace("o#{orderId}", "o#{body}#{orderId}"));
    assert_eq!(diff(&orders(ORDER), &longer).plan.extent, Extent::Whole);
}

#[test]
fn a_key_of_absent_attributes_comes_after_they_are_filled() {
    let with_shop = ORDER.replace("body: S", "body: S, shopId: S");
    let moved = with_shop.replace("u#{userId}", "shop#{shopId}");
    assert_refused(&orders(ORDER), &orders(&moved), &["made of shopId", "a model that only adds shopId"]);
    assert_eq!(diff(&orders(&with_shop), &orders(&moved)).plan.extent, Extent::Whole);
    let filled = diff(&orders(ORDER), &orders(&with_shop)).plan;
    assert!(clauses(&filled, StepKind::Backfill)[0].contains("set shopId"), "{filled:#?}");
}

#[test]
fn a_counter_that_starts_from_an_absent_value_does_not_count_as_filled() {
    let after = ORDER.replace("body: S", "body: S, views: N, tags: SS, seen: M");
    for counts in [
        "add: \"views :one\"",
        "set: \"views = views + :one\"",
        "set: \"body = :b, views = if_not_exists(views, :zero) + :one\"",
        "add: \"tags :new\"",
        "set: \"seen.last = :now\"",
    ] {
        let patterns = format!("{ASKED}  - {{id: W3, update: Order, {counts}, rate: 1}}\n");
        assert_refused(&orders(ORDER), &subject(TABLE, &[&after], &patterns), &["W3 goes on from what"]);
    }
    let patterns =
        format!("{ASKED}  - {{id: W3, update: Order, set: \"views = :n, body = :views\", rate: 1}}\n");
    assert_eq!(diff(&orders(ORDER), &subject(TABLE, &[&after], &patterns)).plan.extent, Extent::Whole);
}

#[test]
fn an_optional_attribute_is_not_filled_in_all_items() {
    let table = "Shop: {key: {pk: S, sk: S}, indexes: {open: {pk: openFor}}}";
    let with = |kind: &str| ORDER.replace("body: S", &format!("body: S, openFor: {kind}"));
    let asked = format!("{ASKED}  - {{id: R2, query: Order, given: {{openFor: eq}}, uses: open, rate: 1}}\n");
    let sparse = subject(table, &[&with("{type: S, present: 0.1}")], &asked);
    assert_refused(&orders(ORDER), &sparse, &["have openFor neither model tells", "not every item has it"]);
    let removed =
        format!("{asked}  - {{id: W3, update: Order, set: \"body = :b\", remove: \"openFor\", rate: 1}}\n");
    let removed = subject(table, &[&with("S")], &removed);
    assert_refused(&orders(ORDER), &removed, &["have openFor neither model tells", "W3 removes it"]);
    // The same for a key with an attribute that some items lack.
    let due = ORDER.replace("body: S", "body: S, due: {type: S, present: 0.1}");
    let keyed = due.replace("attrs:", "open: {openFor: \"due#{due}\"}, attrs:");
    let keyed = subject(table, &[&keyed], ASKED);
    assert_refused(&orders(&due), &keyed, &["have due neither model tells", "a key made of it"]);
}

#[test]
fn items_that_leave_one_index_and_enter_another_are_paid_in_both() {
    let table = "Shop: {key: {pk: S, sk: S}, indexes: {one: {pk: a1}, two: {pk: a2}}}";
    let with = |index: &str, key: &str| {
        let keys = format!("{index}: {{{key}: \"b#{{body}}\"}}, attrs:");
        let user = "User: {count: 1, size: 90, key: {pk: \"v#{userId}\", sk: \"v\"}, one: {a1: \"u#{userId}\"}, two: {a2: \"u#{userId}\"}, attrs: {userId: S}}";
        subject(table, &[&ORDER.replace("attrs:", &keys), user], ASKED)
    };
    let plan = diff(&with("one", "a1"), &with("two", "a2")).plan;
    let writes = |kind: StepKind| {
        let step = plan.steps.iter().find(|step| step.kind == kind);
        step.and_then(|step| step.units).map(Units::writes)
    };
    // The item, its entry in the old index and its entry in the new one, twice.
    assert_eq!(writes(StepKind::Backfill), Some(3000), "{plan:#?}");
    assert_eq!(writes(StepKind::DeleteItems), Some(3000), "{plan:#?}");
}
