//! Random requests over so few keys and values that they interact.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::action::Action;
use super::condition::Condition;
use super::projection::Shown;
use super::reading::{Range, Reading};
use super::update::Update;
use super::{Item, Key, number, text};

/// One request.
#[derive(Clone, Debug)]
pub enum Op {
    /// A single write and its `ReturnValues`.
    Write(Action, &'static str),
    Statement(Action),
    Get(Key, Option<Vec<Shown>>),
    BatchGet(Vec<Key>, Option<Vec<Shown>>),
    BatchWrite(Vec<Action>),
    BatchStatement(Vec<Action>),
    TransactGet(Vec<Key>, Option<Vec<Shown>>),
    TransactWrite(Vec<Action>),
    TransactStatement(Vec<Action>),
    Read(Reading),
    Select(Reading),
}

pub fn ops() -> impl Strategy<Value = Op> {
    let write = || {
        keys().prop_flat_map(action_on).prop_filter("a check stands in transactions only", |action| {
            !matches!(action, Action::Check { .. })
        })
    };
    prop_oneof![
        8 => (write(), 0..5_usize).prop_map(|(action, wanted)| {
            let wanted = values_of(&action).get(wanted).copied().unwrap_or("ALL_OLD");
            Op::Write(action, wanted)
        }),
        2 => write().prop_map(|action| Op::Statement(action.without_condition())),
        2 => (keys(), projections()).prop_map(|(key, shown)| Op::Get(key, shown)),
        1 => (several(6), projections()).prop_map(|(keys, shown)| Op::BatchGet(keys, shown)),
        2 => plain(6).prop_map(Op::BatchWrite),
        1 => plain(4).prop_map(Op::BatchStatement),
        1 => (several(4), projections()).prop_map(|(keys, shown)| Op::TransactGet(keys, shown)),
        3 => actions(4).prop_map(Op::TransactWrite),
        1 => plain(4).prop_map(Op::TransactStatement),
        4 => readings().prop_map(Op::Read),
        1 => readings().prop_map(|reading| Op::Select(reading.as_statement())),
    ]
}

/// The `ReturnValues` that a write supports.
fn values_of(action: &Action) -> &'static [&'static str] {
    match action {
        Action::Update { .. } => &["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"],
        _ => &["NONE", "ALL_OLD"],
    }
}

fn keys() -> impl Strategy<Value = Key> {
    (0..3_u8, 0..5_u8).prop_map(|(pk, sk)| (format!("p{pk}"), format!("s{sk}")))
}

/// Several distinct keys.
fn several(max: usize) -> impl Strategy<Value = Vec<Key>> {
    proptest::collection::btree_set(keys(), 1..=max).prop_map(|keys| keys.into_iter().collect())
}

fn values() -> impl Strategy<Value = String> {
    (0..3_u8).prop_map(|value| format!("v{value}"))
}

fn elements() -> impl Strategy<Value = BTreeSet<String>> {
    proptest::collection::btree_set(values(), 1..3)
}

fn conditions() -> impl Strategy<Value = Condition> {
    let texts = || prop_oneof![Just("g"), Just("l"), Just("sk")];
    let types = vec![("g", "S"), ("n", "N"), ("n", "S"), ("t", "L"), ("u", "SS"), ("m", "M")];
    let atom = prop_oneof![
        prop_oneof![Just("pk"), Just("g"), Just("t"), Just("u"), Just("m")].prop_map(Condition::Exists),
        proptest::sample::select(types).prop_map(|(name, kind)| Condition::OfType(name, kind)),
        (texts(), values()).prop_map(|(name, value)| Condition::TextIs(name, value)),
        (texts(), proptest::collection::vec(values(), 1..3))
            .prop_map(|(name, values)| Condition::TextIn(name, values)),
        (texts(), prop_oneof![values(), Just("v".to_owned()), Just("s1".to_owned())])
            .prop_map(|(name, prefix)| Condition::BeginsWith(name, prefix)),
        (prop_oneof![Just("u"), Just("l")], values())
            .prop_map(|(name, part)| Condition::Contains(name, part)),
        (-2..5_i64).prop_map(Condition::LessThan),
        (-2..5_i64, 0..3_i64).prop_map(|(least, more)| Condition::Between(least, least + more)),
        (0..3_usize).prop_map(Condition::LongerThan),
        (0..3_i64).prop_map(Condition::NestedIs),
        Just(Condition::NestedIsGreater),
    ];
    atom.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| Condition::Not(Box::new(one))),
            (inner.clone(), inner.clone())
                .prop_map(|(one, two)| Condition::And(Box::new(one), Box::new(two))),
            (inner.clone(), inner).prop_map(|(one, two)| Condition::Or(Box::new(one), Box::new(two))),
        ]
    })
}

fn perhaps_condition() -> impl Strategy<Value = Option<Condition>> {
    proptest::option::of(conditions())
}

fn rests() -> impl Strategy<Value = Item> {
    let optional_text = || proptest::option::of(values().prop_map(text));
    let n = proptest::option::of((-3..5_i64).prop_map(number));
    let list = proptest::option::of(
        (0..3_i64).prop_map(|length| json!({"L": (0..length).map(number).collect::<Vec<_>>()})),
    );
    let set = proptest::option::of(elements().prop_map(|set| json!({ "SS": set })));
    let map = proptest::option::of(proptest::option::of(0..3_i64).prop_map(|a| {
        a.map_or_else(|| json!({"M": {"b": text("v0")}}), |a| json!({"M": {"a": number(a), "b": text("v0")}}))
    }));
    (optional_text(), optional_text(), n, list, set, map).prop_map(|(g, l, n, t, u, m)| {
        let pairs = [("g", g), ("l", l), ("n", n), ("t", t), ("u", u), ("m", m)];
        pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

fn updates() -> impl Strategy<Value = Update> {
    let name = prop_oneof![Just("g"), Just("n"), Just("l"), Just("t"), Just("u"), Just("m")];
    prop_oneof![
        (prop_oneof![Just("l"), Just("g")], values())
            .prop_map(|(name, value)| Update::Set(name, text(value))),
        (0..3_i64).prop_map(|a| Update::Set("m", json!({"M": {"a": number(a)}}))),
        (-2..3_i64).prop_map(Update::Add),
        (-2..3_i64).prop_map(Update::Subtract),
        (0..5_i64).prop_map(Update::SetUnlessThere),
        (0..5_i64).prop_map(Update::Append),
        (0..3_i64).prop_map(Update::SetNested),
        Just(Update::RemoveNested),
        elements().prop_map(Update::AddToSet),
        elements().prop_map(Update::DeleteFromSet),
        name.prop_map(Update::Remove),
    ]
}

/// Changes of different attributes.
fn changes() -> impl Strategy<Value = Vec<Update>> {
    proptest::collection::vec(updates(), 1..4).prop_map(|mut changes| {
        let mut touched = BTreeSet::new();
        changes.retain(|change| touched.insert(change.attribute()));
        changes
    })
}

/// A write of this key.
fn action_on(key: Key) -> impl Strategy<Value = Action> {
    let (put, update, delete, check) = (key.clone(), key.clone(), key.clone(), key);
    prop_oneof![
        4 => (rests(), perhaps_condition())
            .prop_map(move |(rest, condition)| Action::Put { key: put.clone(), rest, condition }),
        4 => (changes(), perhaps_condition())
            .prop_map(move |(changes, condition)| Action::Update { key: update.clone(), changes, condition }),
        2 => perhaps_condition().prop_map(move |condition| Action::Delete { key: delete.clone(), condition }),
        1 => conditions().prop_map(move |condition| Action::Check { key: check.clone(), condition }),
    ]
}

fn actions(max: usize) -> impl Strategy<Value = Vec<Action>> {
    several(max).prop_flat_map(|keys| keys.into_iter().map(action_on).collect::<Vec<_>>())
}

/// Without conditions.
fn plain(max: usize) -> impl Strategy<Value = Vec<Action>> {
    actions(max).prop_map(|actions| actions.into_iter().map(Action::without_condition).collect())
}

fn projections() -> impl Strategy<Value = Option<Vec<Shown>>> {
    let attributes = proptest::sample::subsequence(vec!["pk", "sk", "g", "l", "n", "u"], 0..4);
    let list = prop_oneof![
        2 => Just(vec![]),
        1 => Just(vec![Shown::Attribute("t")]),
        1 => Just(vec![Shown::Element(1)]),
        1 => Just(vec![Shown::Element(1), Shown::Element(0)]),
    ];
    let map = prop_oneof![2 => Just(vec![]), 1 => Just(vec![Shown::Attribute("m")]), 1 => Just(vec![Shown::Nested])];
    let shown = (attributes, list, map).prop_map(|(attributes, list, map)| {
        let attributes = attributes.into_iter().map(Shown::Attribute);
        attributes.chain(list).chain(map).collect::<Vec<Shown>>()
    });
    proptest::option::of(shown).prop_map(|shown| shown.filter(|shown| !shown.is_empty()))
}

fn ranges() -> impl Strategy<Value = Range> {
    let signs = prop_oneof![Just("<"), Just("<="), Just(">"), Just(">="), Just("=")];
    prop_oneof![
        3 => (signs, 0..5_u8).prop_map(|(sign, place)| Range::Compared(sign, place)),
        1 => (0..5_u8, 0..3_u8).prop_map(|(least, more)| Range::Between(least, least + more)),
        1 => (0..5_u8).prop_map(Range::Prefix),
    ]
}

fn readings() -> impl Strategy<Value = Reading> {
    let index = prop_oneof![Just(None), Just(Some("gsi")), Just(Some("lsi"))];
    let hash = proptest::option::weighted(0.7, 0..3_u8);
    let range = proptest::option::of(ranges());
    let limit = proptest::option::of(1..4_usize);
    let shown = (projections(), proptest::bool::weighted(0.1));
    (index, hash, range, any::<bool>(), limit, perhaps_condition(), shown, 1..4_u32).prop_map(
        |(index, hash, range, forward, limit, filter, (projection, count_only), segments)| Reading {
            index,
            hash: hash.map(|hash| if index == Some("gsi") { format!("v{hash}") } else { format!("p{hash}") }),
            range,
            forward,
            limit,
            filter,
            projection,
            count_only,
            segments,
        },
    )
}
