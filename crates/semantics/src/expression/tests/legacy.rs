//! Legacy members are equivalent to expressions.

use super::*;
use crate::expression::KeyPredicate;
use crate::expression::legacy::{attribute_updates, expected, filter, key_conditions};
use crate::messages::Wording;
use crate::request::parts::{
    AttributeAction, AttributeValueUpdateParts, ComparisonOperator, ConditionParts, ConditionalOperator,
    ExpectedAttributeValueParts,
};

const NOTHING: ExpectedAttributeValueParts = ExpectedAttributeValueParts {
    value: None,
    exists: None,
    comparison_operator: None,
    attribute_value_list: None,
};

fn parts(operator: ComparisonOperator, values: &[AttributeValue]) -> ConditionParts {
    ConditionParts {
        attribute_value_list: Some(values.iter().cloned().map(Ok).collect()),
        comparison_operator: operator,
    }
}

fn holds(operator: ComparisonOperator, values: &[AttributeValue], subject: &Item) -> bool {
    let condition =
        filter(&[("a".to_owned(), parts(operator, values))], None, Wording::Present).expect("it is valid");
    condition.expect("there is one").evaluate(Some(encoded(subject).view()))
}

fn filter_fault(operator: ComparisonOperator, values: &[AttributeValue]) -> String {
    filter(&[("a".to_owned(), parts(operator, values))], None, Wording::Present)
        .expect_err("it is wrong")
        .message
}

fn expected_fault(parts: ExpectedAttributeValueParts) -> String {
    expected(&[("a".to_owned(), parts)], None).expect_err("it is wrong").message
}

#[test]
fn legacy_operators_equal_their_expressions() {
    let number = item(&[("a", n(5))]);
    let text = item(&[("a", s("hello"))]);
    let list = item(&[("a", l(&[n(1), n(2)]))]);
    let missing = item(&[]);
    for (operator, values, subject, wanted) in [
        (ComparisonOperator::Eq, vec![n(5)], &number, true),
        (ComparisonOperator::Eq, vec![l(&[n(1), n(2)])], &list, true),
        (ComparisonOperator::Ne, vec![n(5)], &missing, true),
        (ComparisonOperator::Lt, vec![n(6)], &number, true),
        (ComparisonOperator::Le, vec![s("6")], &number, false),
        (ComparisonOperator::Ge, vec![n(5)], &number, true),
        (ComparisonOperator::Gt, vec![n(5)], &number, false),
        (ComparisonOperator::In, vec![n(4), n(5)], &number, true),
        (ComparisonOperator::Between, vec![n(5), n(9)], &number, true),
        (ComparisonOperator::NotNull, vec![], &number, true),
        (ComparisonOperator::Null, vec![], &number, false),
        (ComparisonOperator::Null, vec![], &missing, true),
        (ComparisonOperator::Contains, vec![s("ell")], &text, true),
        (ComparisonOperator::Contains, vec![n(2)], &list, true),
        (ComparisonOperator::NotContains, vec![n(2)], &text, true),
        (ComparisonOperator::NotContains, vec![s("ell")], &text, false),
        (ComparisonOperator::NotContains, vec![n(2)], &missing, false),
        (ComparisonOperator::BeginsWith, vec![s("he")], &text, true),
    ] {
        assert_eq!(holds(operator, &values, subject), wanted, "{operator:?} {values:?}");
    }
}

#[test]
fn operands_are_counted_and_typed() {
    for (operator, values, message) in [
        (ComparisonOperator::Eq, vec![], "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (
            ComparisonOperator::Null,
            vec![n(1)],
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            ComparisonOperator::Between,
            vec![n(1)],
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (ComparisonOperator::In, vec![], "Invalid number of argument(s) for the IN ComparisonOperator"),
        (
            ComparisonOperator::In,
            vec![n(1), s("a")],
            "AttributeValues inside AttributeValueList must be of same type",
        ),
        (
            ComparisonOperator::BeginsWith,
            vec![n(1)],
            "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type",
        ),
        (
            ComparisonOperator::Contains,
            vec![l(&[])],
            "ComparisonOperator CONTAINS is not valid for L AttributeValue type",
        ),
    ] {
        let message = format!("One or more parameter values were invalid: {message}");
        assert_eq!(filter_fault(operator, &values), message, "{operator:?}");
    }
    assert_eq!(
        filter_fault(ComparisonOperator::Between, &[n(2), n(1)]),
        "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    );
}

#[test]
fn expected_takes_a_value_or_an_operator() {
    let value = || Some(Ok(n(1)));
    let list = || Some(vec![Ok(n(1))]);
    let operator = Some(ComparisonOperator::Eq);
    for (parts, message) in [
        (
            ExpectedAttributeValueParts { value: value(), attribute_value_list: list(), ..NOTHING },
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            ExpectedAttributeValueParts { exists: Some(true), comparison_operator: operator, ..NOTHING },
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            ExpectedAttributeValueParts { comparison_operator: operator, ..NOTHING },
            "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (
            ExpectedAttributeValueParts { attribute_value_list: list(), ..NOTHING },
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (NOTHING, "Value must be provided when Exists is null for Attribute: a"),
        (
            ExpectedAttributeValueParts { exists: Some(true), ..NOTHING },
            "Value must be provided when Exists is true for Attribute: a",
        ),
        (
            ExpectedAttributeValueParts { exists: Some(false), value: value(), ..NOTHING },
            "Value cannot be used when Exists is false for Attribute: a",
        ),
    ] {
        assert_eq!(expected_fault(parts), format!("One or more parameter values were invalid: {message}"));
    }
}

#[test]
fn clauses_are_joined_by_the_conditional_operator() {
    let wanted = |value| ExpectedAttributeValueParts { value: Some(Ok(n(value))), ..NOTHING };
    let clauses = [("a".to_owned(), wanted(1)), ("b".to_owned(), wanted(2))];
    let subject = encoded(&item(&[("a", n(1))]));
    for (operator, holds) in
        [(None, false), (Some(ConditionalOperator::And), false), (Some(ConditionalOperator::Or), true)]
    {
        let condition = expected(&clauses, operator).expect("it is valid").expect("there is one");
        assert_eq!(condition.evaluate(Some(subject.view())), holds, "{operator:?}");
    }
    assert_eq!(expected(&[], None).expect("it is valid"), None);
}

#[test]
fn key_conditions_are_the_indexable_ones() {
    let one = [("pk".to_owned(), parts(ComparisonOperator::Eq, &[n(1)]))];
    let parsed = key_conditions(&one).expect("it is valid");
    assert_eq!(parsed.clauses.len(), 1);
    assert_eq!(parsed.clauses[0].predicate, KeyPredicate::Eq(n(1)));
    let two = [one[0].clone(), ("sk".to_owned(), parts(ComparisonOperator::Between, &[s("a"), s("b")]))];
    assert_eq!(
        key_conditions(&two).expect("it is valid").clauses[1].predicate,
        KeyPredicate::Between(s("a"), s("b"))
    );
    let wrong = [("pk".to_owned(), parts(ComparisonOperator::Ne, &[n(1)]))];
    assert_eq!(
        key_conditions(&wrong).expect("the key decides").clauses[0].predicate,
        KeyPredicate::NotIndexable
    );
    assert_eq!(
        key_conditions(&[]).expect_err("it is empty").message,
        "Conditions can be of length 1 or 2 only"
    );
}

fn change(action: Option<AttributeAction>, value: Option<AttributeValue>) -> AttributeValueUpdateParts {
    AttributeValueUpdateParts { value: value.map(Ok), action }
}

fn updated(
    action: Option<AttributeAction>,
    value: Option<AttributeValue>,
    old: &Item,
) -> Result<Item, String> {
    let update =
        attribute_updates(&[("a".to_owned(), change(action, value))]).map_err(|error| error.message)?;
    update.apply(Some(old), &item(&[])).map(|updated| updated.new).map_err(|error| error.message)
}

#[test]
fn attribute_updates_put_add_and_delete() {
    let old = |value: AttributeValue| item(&[("a", value)]);
    let (add, delete) = (Some(AttributeAction::Add), Some(AttributeAction::Delete));
    for (action, value, before, after) in [
        (None, Some(n(1)), old(n(0)), old(n(1))),
        (Some(AttributeAction::Put), Some(s("x")), old(n(0)), old(s("x"))),
        (add, Some(n(2)), old(n(3)), old(n(5))),
        (add, Some(n(2)), item(&[]), old(n(2))),
        (add, Some(ss(&["a"])), old(ss(&["b"])), old(ss(&["a", "b"]))),
        (add, Some(l(&[n(1)])), old(l(&[n(1)])), old(l(&[n(1), n(1)]))),
        (delete, None, old(n(1)), item(&[])),
        (delete, Some(ss(&["a"])), old(ss(&["a", "b"])), old(ss(&["b"]))),
        (delete, Some(ss(&["a"])), old(ss(&["a"])), item(&[])),
    ] {
        assert_eq!(updated(action, value.clone(), &before), Ok(after), "{action:?} {value:?}");
    }
    for (action, value) in [(delete, ns(&[1])), (add, ns(&[1])), (add, n(1))] {
        assert_eq!(
            updated(action, Some(value), &old(ss(&["a"]))),
            Err("Type mismatch for attribute to update".to_owned())
        );
    }
}

#[test]
fn attribute_updates_are_checked_by_action() {
    for (action, value, message) in [
        (None, None, "Only DELETE action is allowed when no attribute value is specified"),
        (
            Some(AttributeAction::Add),
            None,
            "Only DELETE action is allowed when no attribute value is specified",
        ),
        (Some(AttributeAction::Add), Some(s("a")), "ADD action is not supported for the type S"),
        (
            Some(AttributeAction::Delete),
            Some(n(1)),
            "DELETE action with value is not supported for the type N",
        ),
    ] {
        assert_eq!(
            updated(action, value, &item(&[])),
            Err(format!("One or more parameter values were invalid: {message}"))
        );
    }
    assert!(attribute_updates(&[]).expect("it is valid").creates_item());
}
