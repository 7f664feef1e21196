//! Key conditions: allowed forms, faults and their messages.

use super::*;
use crate::expression::{KeyPredicate, parse_key_condition};

fn fault(text: &str) -> String {
    let values = [(":a", n(1)), (":b", n(2)), (":s", s("S"))];
    parse_key_condition(text, &mut placeholders(&[], &values)).expect_err(text).message
}

#[test]
fn operators_that_no_key_supports_are_named() {
    for (text, operator) in [
        ("a > b and size(b) > c or a > c", "OR"),
        ("a in (b, size(c), d)", "IN"),
        ("attribute_exists(a)", "attribute_exists"),
        ("attribute_not_exists(a)", "attribute_not_exists"),
        ("attribute_type(a, :s)", "attribute_type"),
        ("contains(a.d, b)", "contains"),
        ("not a > b", "NOT"),
        ("a <> b", "<>"),
    ] {
        assert_eq!(
            fault(text),
            format!("Invalid operator used in KeyConditionExpression: {operator}"),
            "{text}"
        );
    }
}

#[test]
fn each_condition_is_about_one_top_level_attribute() {
    for (text, message) in [
        ("size(b) > a AND a.b > b AND b > c", "KeyConditionExpressions cannot contain nested operations"),
        ("a between size(b) and size(a)", "KeyConditionExpressions cannot contain nested operations"),
        (
            "b > a.b",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
        ),
        (
            "a between b and size(a)",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
        ),
        (
            "begins_with(a, b)",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
        ),
        ("b.d > a AND c.d > e.f", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("b[0] > a", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (":b > :a AND a < :b", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        (
            "b > :a AND b < :a and c = :a and d = :a",
            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
        ),
        (
            "begins_with(:s, b) and a > :b",
            "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its \
             first operand",
        ),
        (
            ":a between size(b) and size(a)",
            "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its \
             first operand",
        ),
    ] {
        assert_eq!(fault(text), message, "{text}");
    }
}

#[test]
fn faults_of_any_condition_come_with_the_introduction() {
    assert_eq!(fault(""), "Invalid KeyConditionExpression: The expression can not be empty;");
    assert_eq!(fault("a = :a,"), "Invalid KeyConditionExpression: Syntax error; token: \",\", near: \":a,\"");
}

#[test]
fn clauses_keep_their_order_and_have_the_attribute_on_the_left() {
    let values = [(":a", n(1)), (":b", n(2)), (":s", s("p"))];
    let parse = |text| {
        let parsed = parse_key_condition(text, &mut placeholders(&[("#k", "status")], &values)).expect(text);
        parsed.clauses.into_iter().map(|clause| (clause.attribute, clause.predicate)).collect::<Vec<_>>()
    };
    assert_eq!(
        parse("((:a < sk) AND (#k = :s))"),
        [("sk".to_owned(), KeyPredicate::Gt(n(1))), ("status".to_owned(), KeyPredicate::Eq(s("p"))),]
    );
    assert_eq!(
        parse("pk = :a AND sk BETWEEN :a AND :b"),
        [("pk".to_owned(), KeyPredicate::Eq(n(1))), ("sk".to_owned(), KeyPredicate::Between(n(1), n(2))),]
    );
    assert_eq!(parse("begins_with(sk, :s)"), [("sk".to_owned(), KeyPredicate::BeginsWith(s("p")))]);
    assert_eq!(parse(":a >= sk"), [("sk".to_owned(), KeyPredicate::Le(n(1)))]);
}
