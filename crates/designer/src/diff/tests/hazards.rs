//! Changes for which there is no plan that keeps all data, each in its smallest case.

use super::facts::facts;
use super::plans::subject;
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

/// The plan is refused for one reason.
fn assert_refused(before: &Subject, after: &Subject, reason: &Refusal) {
    let plan = diff(before, after).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
    let reasons = plan.summary.iter().filter_map(|remark| match remark {
        Remark::NoPlan(reason) => Some(reason),
        Remark::Note(_) | Remark::NotPlanned(_) => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), [reason]);
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
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
    let crowded = |number, surplus| Refusal::TooManyIndexes {
        table: "Shop".to_owned(),
        number,
        surplus,
        indexes: names(&["gsi1", "gsi2"]),
    };
    assert_refused(&with(1..=20), &with(3..=22), &crowded(22, 2));
    assert_refused(&with(1..=19), &with(3..=21), &crowded(21, 1));
    assert_eq!(diff(&with(1..=19), &with(2..=20)).plan.extent, Extent::Whole);
}

#[test]
fn keys_that_may_be_the_same_text_before_and_after_are_not_passed_over_nor_deleted() {
    let sharded = |shards: u8| {
        let key = format!("u#{{userId}}#{{orderId|shard({shards})}}");
        orders(&ORDER.replace("u#{userId}", &key))
    };
    let same = |old: [&str; 2], new: [&str; 2]| Refusal::SameKey {
        entity: "Order".to_owned(),
        old: names(&old),
        new: names(&new),
    };
    let (many, more) = ("u#{userId}#{orderId|shard(20)}", "u#{userId}#{orderId|shard(40)}");
    assert_refused(&sharded(20), &sharded(40), &same([many, "o#{orderId}"], [more, "o#{orderId}"]));
    let other = orders(&ORDER.replace("o#{orderId}", "o#{body}"));
    let reason = same(["u#{userId}", "o#{orderId}"], ["u#{userId}", "o#{body}"]);
    assert_refused(&orders(ORDER), &other, &reason);
    // A key with more parts than the other is never equal.
    let longer = orders(&ORDER.replace("o#{orderId}", "o#{body}#{orderId}"));
    assert_eq!(diff(&orders(ORDER), &longer).plan.extent, Extent::Whole);
}

#[test]
fn a_key_of_absent_attributes_comes_after_they_are_filled() {
    let with_shop = ORDER.replace("body: S", "body: S, shopId: S");
    let moved = with_shop.replace("u#{userId}", "shop#{shopId}");
    let reason = Refusal::UnknownKey {
        entity: "Order".to_owned(),
        key: names(&["shop#{shopId}", "o#{orderId}"]),
        attributes: names(&["shopId"]),
    };
    assert_refused(&orders(ORDER), &orders(&moved), &reason);
    assert_eq!(diff(&orders(&with_shop), &orders(&moved)).plan.extent, Extent::Whole);
    let filled = diff(&orders(ORDER), &orders(&with_shop)).plan;
    assert!(facts(&filled, StepKind::Backfill)[0].contains("values=shopId"), "{filled:#?}");
}

#[test]
fn a_counter_that_starts_from_an_absent_value_does_not_count_as_filled() {
    let after = ORDER.replace("body: S", "body: S, views: N, tags: SS, seen: M");
    for (attribute, counts) in [
        ("views", "add: \"views :one\""),
        ("views", "set: \"views = views + :one\""),
        ("views", "set: \"body = :b, views = if_not_exists(views, :zero) + :one\""),
        ("tags", "add: \"tags :new\""),
        ("seen", "set: \"seen.last = :now\""),
    ] {
        let patterns = format!("{ASKED}  - {{id: W3, update: Order, {counts}, rate: 1}}\n");
        let reason = Refusal::CountedAttribute {
            entity: "Order".to_owned(),
            attribute: attribute.to_owned(),
            patterns: names(&["W3"]),
        };
        assert_refused(&orders(ORDER), &subject(TABLE, &[&after], &patterns), &reason);
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
    let optional = |attribute: &str, patterns: &[&str]| Refusal::OptionalAttribute {
        entity: "Order".to_owned(),
        attribute: attribute.to_owned(),
        patterns: names(patterns),
    };
    assert_refused(&orders(ORDER), &sparse, &optional("openFor", &[]));
    let removed =
        format!("{asked}  - {{id: W3, update: Order, set: \"body = :b\", remove: \"openFor\", rate: 1}}\n");
    let removed = subject(table, &[&with("S")], &removed);
    assert_refused(&orders(ORDER), &removed, &optional("openFor", &["W3"]));
    // The same for a key with an attribute that some items lack.
    let due = ORDER.replace("body: S", "body: S, due: {type: S, present: 0.1}");
    let keyed = due.replace("attrs:", "open: {openFor: \"due#{due}\"}, attrs:");
    let keyed = subject(table, &[&keyed], ASKED);
    assert_refused(&orders(&due), &keyed, &optional("due", &[]));
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
