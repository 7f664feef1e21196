//! Conditions evaluated on items.

use super::*;
use crate::expression::{Condition, ConditionKind, parse_condition};

fn condition(text: &str, values: &[(&str, AttributeValue)]) -> Condition {
    parse_condition(text, ConditionKind::Condition, &mut placeholders(&[], values)).expect(text)
}

fn subject() -> AttributeValue {
    n(5)
}

/// An item with every type of attribute.
fn sample() -> Item {
    item(&[
        ("txt", s("hello")),
        ("num", subject()),
        ("bin", b(b"hi there")),
        ("yes", AttributeValue::Bool(true)),
        ("nil", AttributeValue::Null),
        ("lst", l(&[n(2), s("dog"), ss(&["x"]), l(&[n(3)])])),
        ("doc", m(&[("x", n(1)), ("y", l(&[n(-1), n(2), n(0)]))])),
        ("sst", ss(&["a", "b"])),
        ("nst", ns(&[2, 4, 7])),
        ("bst", AttributeValue::Bs(vec![b"p".to_vec(), b"q".to_vec()])),
        ("emoji", s("a😀")),
    ])
}

/// A condition, its values and whether it holds for the sample.
type Case<'a> = (&'a str, &'a [(&'a str, AttributeValue)], bool);

fn check(cases: &[Case<'_>]) {
    let stored = encoded(&sample());
    for (text, values, wanted) in cases {
        assert_eq!(condition(text, values).evaluate(Some(stored.view())), *wanted, "{text}");
    }
}

#[test]
fn equality_holds_for_values_of_every_type() {
    for (name, value) in sample() {
        let values = [(":v", value)];
        let stored = encoded(&sample());
        assert!(condition(&format!("{name} = :v"), &values).evaluate(Some(stored.view())), "{name}");
        assert!(!condition(&format!("{name} <> :v"), &values).evaluate(Some(stored.view())), "{name}");
        assert!(!condition(&format!("{name} = :v"), &[(":v", s("other"))]).evaluate(Some(stored.view())));
    }
}

#[test]
fn missing_attributes_equal_nothing_and_have_no_order() {
    check(&[
        ("q = z", &[], false),
        ("q <> z", &[], true),
        ("q = :v", &[(":v", n(1))], false),
        ("q <> :v", &[(":v", n(1))], true),
        ("q < :v", &[(":v", n(1))], false),
        (":v > q", &[(":v", n(1))], false),
        ("q BETWEEN :v AND :v", &[(":v", n(1))], false),
        ("q IN (:v)", &[(":v", n(1))], false),
        ("begins_with(q, :v)", &[(":v", s(""))], false),
        ("contains(q, :v)", &[(":v", s(""))], false),
        ("size(q) = :v", &[(":v", n(0))], false),
        ("attribute_type(q, :v)", &[(":v", s("NULL"))], false),
    ]);
}

#[test]
fn order_exists_within_strings_numbers_and_binaries_only() {
    check(&[
        ("num < :v", &[(":v", n(6))], true),
        ("num < :v", &[(":v", n(5))], false),
        ("num <= :v", &[(":v", n(5))], true),
        ("num > :v", &[(":v", n(-10))], true),
        ("num >= :v", &[(":v", n(6))], false),
        ("txt > :v", &[(":v", s("hell"))], true),
        ("txt < :v", &[(":v", s("hellp"))], true),
        ("bin > :v", &[(":v", b(b"hi"))], true),
        ("num < :v", &[(":v", s("6"))], false),
        ("num >= :v", &[(":v", s("0"))], false),
        ("lst < :v", &[(":v", n(1))], false),
        ("doc.x < doc.y[1]", &[], true),
        ("doc.x < doc.y[0]", &[], false),
        ("num BETWEEN :a AND :b", &[(":a", n(5)), (":b", n(5))], true),
        ("num BETWEEN :a AND :b", &[(":a", s("0")), (":b", s("9"))], false),
        ("num BETWEEN doc.x AND :b", &[(":b", n(9))], true),
    ]);
}

#[test]
fn functions_depend_on_the_types_of_their_operands() {
    check(&[
        ("attribute_exists(doc.y[2])", &[], true),
        ("attribute_exists(doc.y[3])", &[], false),
        ("attribute_exists(nil)", &[], true),
        ("attribute_not_exists(doc.z)", &[], true),
        ("attribute_not_exists(txt.x)", &[], true),
        ("begins_with(txt, :v)", &[(":v", s("he"))], true),
        ("begins_with(:v, txt)", &[(":v", s("hello there"))], true),
        ("begins_with(bin, :v)", &[(":v", b(b"hi"))], true),
        ("begins_with(num, :v)", &[(":v", s("5"))], false),
        ("contains(txt, :v)", &[(":v", s("ell"))], true),
        ("contains(bin, :v)", &[(":v", b(b"here"))], true),
        ("contains(bin, :v)", &[(":v", b(b"dog"))], false),
        ("contains(sst, :v)", &[(":v", s("b"))], true),
        ("contains(nst, :v)", &[(":v", n(4))], true),
        ("contains(nst, :v)", &[(":v", s("4"))], false),
        ("contains(bst, :v)", &[(":v", b(b"q"))], true),
        ("contains(lst, :v)", &[(":v", s("dog"))], true),
        ("contains(lst, :v)", &[(":v", ss(&["x"]))], true),
        ("contains(lst, :v)", &[(":v", l(&[n(3)]))], true),
        ("contains(lst, :v)", &[(":v", n(9))], false),
        ("attribute_type(doc, :v)", &[(":v", s("M"))], true),
        ("attribute_type(bst, :v)", &[(":v", s("BS"))], true),
        ("attribute_type(num, :v)", &[(":v", s("S"))], false),
    ]);
}

#[test]
fn size_counts_the_members_or_units_of_each_type() {
    check(&[
        ("size(txt) = :v", &[(":v", n(5))], true),
        ("size(emoji) = :v", &[(":v", n(3))], true),
        ("size(bin) = :v", &[(":v", n(8))], true),
        ("size(lst) = :v", &[(":v", n(4))], true),
        ("size(doc) = :v", &[(":v", n(2))], true),
        ("size(sst) = :v", &[(":v", n(2))], true),
        ("size(nst) > :v", &[(":v", n(2))], true),
        ("size(txt) = num", &[], true),
        ("size(num) = :v", &[(":v", n(1))], false),
        ("size(yes) = :v", &[(":v", n(1))], false),
        ("size(txt) = :v", &[(":v", s("5"))], false),
        (":v IN (size(txt), num)", &[(":v", n(5))], true),
    ]);
}

#[test]
fn not_binds_before_and_before_or() {
    let (yes, no) = ("num = :five", "num = :six");
    let values = [(":five", n(5)), (":six", n(6))];
    let stored = encoded(&sample());
    for (text, wanted) in [
        (format!("{yes} OR {yes} AND {no}"), true),
        (format!("({yes} OR {yes}) AND {no}"), false),
        (format!("NOT {no} AND {yes}"), true),
        (format!("NOT ({yes} AND {no})"), true),
        (format!("NOT {yes} OR {yes}"), true),
        (format!("NOT NOT {yes} AND NOT {no}"), true),
    ] {
        assert_eq!(condition(&text, &values).evaluate(Some(stored.view())), wanted, "{text}");
    }
}

#[test]
fn a_missing_item_has_no_attributes() {
    for (text, wanted) in [
        ("attribute_not_exists(pk)", true),
        ("attribute_exists(pk)", false),
        ("NOT attribute_exists(pk)", true),
        ("pk = :v", false),
        ("pk <> :v", true),
        (":v = :v", true),
    ] {
        assert_eq!(condition(text, &[(":v", n(1))]).evaluate(None), wanted, "{text}");
    }
}

#[test]
fn paths_and_attributes_are_listed_in_the_order_written() {
    let parsed = condition("b.c = :v AND size(a[1]) > d OR attribute_exists(b)", &[(":v", n(1))]);
    assert_eq!(parsed.attributes(), ["b", "a", "d"]);
    let paths: Vec<String> = parsed.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["[b, c]", "[a, [1]]", "[d]", "[b]"]);
}
