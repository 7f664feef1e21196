//! Time of parsing expressions, evaluating them on stored items, and updating items.
//! `cargo bench -p keywright-semantics`.

use divan::{Bencher, black_box};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::expression::{
    ConditionKind, Placeholders, parse_condition, parse_projection, parse_update,
};
use keywright_semantics::messages::Wording;
use keywright_semantics::request::parts::AttributeMapPart;
use keywright_semantics::value::{AttributeValue, Item};

const CONDITIONS: [&str; 3] = [
    "attribute_not_exists(pk)",
    "pk = :p AND sk BETWEEN :from AND :to",
    "#s IN (:open, :paid) AND (size(note) < :n OR contains(note, :open)) AND NOT begins_with(sk, :from)",
];

fn main() {
    divan::main();
}

fn names() -> Vec<(String, String)> {
    vec![("#s".to_owned(), "status".to_owned())]
}

fn values() -> AttributeMapPart {
    let text = |name: &str, value: &str| (name.to_owned(), Ok(value.into()));
    vec![
        text(":p", "customer#0000000042"),
        text(":from", "order#2026-01"),
        text(":to", "order#2026-12"),
        text(":open", "OPEN"),
        text(":paid", "PAID"),
        (":n".to_owned(), AttributeValue::number("100")),
    ]
}

fn item() -> Item {
    Item::from([
        ("pk".to_owned(), "customer#0000000042".into()),
        ("sk".to_owned(), "order#2026-11-21".into()),
        ("status".to_owned(), "PAID".into()),
        ("note".to_owned(), AttributeValue::S("please ring twice; ".repeat(20))),
        ("version".to_owned(), AttributeValue::number("7").expect("it is a number")),
    ])
}

#[divan::bench(args = CONDITIONS)]
fn read_condition(bencher: Bencher<'_, '_>, text: &str) {
    let (names, values) = (names(), values());
    bencher.bench(|| {
        let mut placeholders =
            Placeholders::new(Some(&names), Some(&values), Wording::Present).expect("they are right");
        parse_condition(black_box(text), ConditionKind::Filter, &mut placeholders)
    });
}

#[divan::bench(args = CONDITIONS)]
fn judge_item(bencher: Bencher<'_, '_>, text: &str) {
    let (names, values) = (names(), values());
    let mut placeholders =
        Placeholders::new(Some(&names), Some(&values), Wording::Present).expect("they are right");
    let condition =
        parse_condition(text, ConditionKind::Filter, &mut placeholders).expect("the condition is right");
    let item = EncodedItem::encode(&item());
    bencher.bench(|| condition.evaluate(Some(black_box(&item).view())));
}

#[divan::bench]
fn read_and_apply_update(bencher: Bencher<'_, '_>) {
    let (names, values, item) = (names(), values(), item());
    bencher.bench(|| {
        let mut placeholders =
            Placeholders::new(Some(&names), Some(&values), Wording::Present).expect("they are right");
        let update =
            parse_update(black_box("SET #s = :paid, version = version + :n REMOVE note"), &mut placeholders)
                .expect("the update is right");
        update.apply(Some(&item), &item).expect("it can be applied")
    });
}

#[divan::bench]
fn project_item(bencher: Bencher<'_, '_>) {
    let names = names();
    let mut placeholders = Placeholders::new(Some(&names), None, Wording::Present).expect("they are right");
    let projection = parse_projection("pk, #s, version", &mut placeholders).expect("the projection is right");
    let item = EncodedItem::encode(&item());
    bencher.bench(|| projection.project(black_box(&item).view()));
}
