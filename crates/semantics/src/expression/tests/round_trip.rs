//! Printing an expression and parsing it again gives the same expression.

use proptest::prelude::*;

use super::*;
use crate::expression::{
    CanonicalText, Condition, ConditionKind, Projection, Update, parse_condition, parse_key_condition,
    parse_projection, parse_update,
};

fn placeholders_of(canonical: &CanonicalText) -> Placeholders<'_> {
    let names = (!canonical.names.is_empty()).then_some(canonical.names.as_slice());
    let values = (!canonical.values.is_empty()).then_some(&canonical.values);
    Placeholders::new(names, values, crate::messages::Wording::Present)
        .expect("canonical placeholders are well-formed")
}

fn condition_again(condition: &Condition) -> Condition {
    let canonical = condition.canonical();
    let mut placeholders = placeholders_of(&canonical);
    let again = parse_condition(&canonical.text, ConditionKind::Condition, &mut placeholders);
    placeholders.finish().expect("a canonical text uses its placeholders");
    again.expect(&canonical.text)
}

fn update_again(update: &Update) -> Update {
    let canonical = update.canonical();
    let mut placeholders = placeholders_of(&canonical);
    let again = parse_update(&canonical.text, &mut placeholders).expect(&canonical.text);
    placeholders.finish().expect("a canonical text uses its placeholders");
    again
}

fn projection_again(projection: &Projection) -> Projection {
    let canonical = projection.canonical();
    parse_projection(&canonical.text, &mut placeholders_of(&canonical)).expect(&canonical.text)
}

const NAMES: [(&str, &str); 3] = [("#s", "status"), ("#d", "a.b"), ("#n", "plain")];

fn values() -> Vec<(&'static str, AttributeValue)> {
    vec![(":a", n(1)), (":b", s("text")), (":t", s("SS"))]
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof!["[a-c]", Just("#s".to_owned()), Just("#d".to_owned()), Just("#n".to_owned())];
    let step = prop_oneof![name.clone().prop_map(|name| format!(".{name}")), "\\[[1-9]\\]"];
    (name, prop::collection::vec(step, 0..3)).prop_map(|(name, steps)| name + &steps.concat())
}

fn operand() -> impl Strategy<Value = String> {
    prop_oneof![
        path(),
        Just(":a".to_owned()),
        Just(":b".to_owned()),
        path().prop_map(|path| format!("size({path})")),
        path().prop_map(|path| format!("({path})")),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (operand(), prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]), operand())
            .prop_map(|(left, comparator, right)| format!("{left} {comparator} {right}")),
        (operand(), operand(), operand())
            .prop_map(|(subject, lower, upper)| format!("{subject} between {lower} and {upper}")),
        (operand(), prop::collection::vec(operand(), 1..4))
            .prop_map(|(subject, list)| format!("{subject} In ({})", list.join(","))),
        path().prop_map(|path| format!("attribute_exists({path})")),
        path().prop_map(|path| format!("attribute_not_exists({path})")),
        operand().prop_map(|operand| format!("attribute_type({operand}, :t)")),
        (path(), path()).prop_map(|(first, second)| format!("begins_with({first}, {second})")),
        (operand(), operand()).prop_map(|(first, second)| format!("contains({first}, {second})")),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} AND {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left}) OR {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} or ({right})")),
            inner.clone().prop_map(|inner| format!("not {inner}")),
            inner.prop_map(|inner| format!("NOT ({inner})")),
        ]
    })
}

fn set_operand() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![path(), Just(":a".to_owned())];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (path(), inner.clone()).prop_map(|(path, inner)| format!("if_not_exists({path}, {inner})")),
            inner.prop_map(|inner| format!("({inner})")),
        ]
    })
}

fn update() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        set_operand(),
        (set_operand(), set_operand()).prop_map(|(left, right)| format!("{left} + {right}")),
        (set_operand(), set_operand()).prop_map(|(left, right)| format!("({left} - {right})")),
        (path(), path()).prop_map(|(left, right)| format!("list_append({left}, {right})")),
    ];
    let set = (path(), value).prop_map(|(path, value)| format!("{path} = {value}"));
    let sets = prop::collection::vec(set, 1..4).prop_map(|sets| format!("SET {}", sets.join(", ")));
    (sets, prop::option::of(path()), prop::option::of(path())).prop_map(|(sets, removed, added)| {
        let removed = removed.map(|path| format!(" remove {path}")).unwrap_or_default();
        let added = added.map(|path| format!(" ADD {path} :a")).unwrap_or_default();
        format!("{added}{removed} {sets}")
    })
}

proptest! {
    #[test]
    fn conditions_survive_printing(text in condition()) {
        let parsed = parse_condition(&text, ConditionKind::Condition, &mut placeholders(&NAMES, &values()));
        if let Ok(parsed) = parsed {
            prop_assert_eq!(condition_again(&parsed), parsed);
        }
    }

    #[test]
    fn updates_survive_printing(text in update()) {
        if let Ok(parsed) = parse_update(&text, &mut placeholders(&NAMES, &values())) {
            prop_assert_eq!(update_again(&parsed), parsed);
        }
    }

    #[test]
    fn projections_survive_printing(paths in prop::collection::vec(path(), 1..5)) {
        if let Ok(parsed) = parse_projection(&paths.join(", "), &mut placeholders(&NAMES, &[])) {
            prop_assert_eq!(projection_again(&parsed), parsed);
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "[ab#:.,()\\[\\]=<>+ 0-9]{0,40}|\\PC{0,40}") {
        for kind in [ConditionKind::Condition, ConditionKind::Key] {
            let _ = parse_condition(&text, kind, &mut placeholders(&NAMES, &values()));
        }
        let _ = parse_update(&text, &mut placeholders(&NAMES, &values()));
        let _ = parse_projection(&text, &mut placeholders(&NAMES, &values()));
    }
}

#[test]
fn canonical_texts_are_readable() {
    let parsed = parse_condition(
        "((#s=:a) and not(a.#d[1]<:b)) or size( #n ) in (:a,:b)",
        ConditionKind::Condition,
        &mut placeholders(&NAMES, &values()),
    );
    let parsed = parsed.expect("it is valid");
    assert_eq!(parsed.to_string(), "#n0 = :v0 AND NOT a.#n1[1] < :v1 OR size(plain) IN (:v2, :v3)");
    assert_eq!(condition_again(&parsed), parsed);
    let parsed = parse_update("add c :a remove #s set b=((a)+:a)", &mut placeholders(&NAMES, &values()));
    let parsed = parsed.expect("it is valid");
    assert_eq!(parsed.to_string(), "ADD c :v0 REMOVE #n0 SET b = a + :v1");
    let parsed = parse_key_condition("(a=:a) and begins_with(#s,:b)", &mut placeholders(&NAMES, &values()));
    assert_eq!(parsed.expect("it is valid").to_string(), "a = :v0 AND begins_with(#n0, :v1)");
}
