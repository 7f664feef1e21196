//! GetItem.

use keywright_semantics::request::parts::GetItemParts;
use keywright_semantics::request::{Consistency, GetItem};
use keywright_semantics::value::ValueFault;

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, check, map, names, some, text};

fn base() -> GetItemParts {
    GetItemParts {
        table_name: "Shop".to_owned(),
        key: map(&[("id", text("1"))]),
        attributes_to_get: None,
        consistent_read: None,
        return_consumed_capacity: None,
        projection_expression: None,
        expression_attribute_names: None,
    }
}

fn with_projection(parts: &mut GetItemParts) -> &mut GetItemParts {
    parts.projection_expression.get_or_insert_with(|| "id".to_owned());
    parts
}

#[rustfmt::skip]
const ROWS: &[Row<GetItemParts>] = &[
    (Any, |p| p.table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| (p.attributes_to_get, p.projection_expression) = (Some(vec!["a".to_owned()]), some("")),
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"),
    (Legacy, |p| p.expression_attribute_names = names(&[]),
        "ExpressionAttributeNames can only be specified when using expressions"),
    (Any, |p| p.key.push((String::new(), text("x"))),
        "Empty attribute name"),
    (Any, |p| p.key.push(("a".to_owned(), Err(ValueFault::Empty))),
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Legacy, |p| p.attributes_to_get = Some(vec![String::new()]),
        "Empty attribute name"),
    (Legacy, |p| p.attributes_to_get = Some(vec!["a".to_owned(), "b".to_owned(), "a".to_owned()]),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames must not be empty"),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[("a", "b")]),
        "ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\""),
    (Expression, |p| p.projection_expression = some(""),
        "Invalid ProjectionExpression: The expression can not be empty;"),
    (Expression, |p| p.projection_expression = some("!!! INVALID !!!"),
        "Invalid ProjectionExpression: Syntax error; token: \"!\", near: \"!!\""),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[("#unused", "a")]),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), GetItem::validate, ROWS);
}

#[test]
fn a_name_is_shorter_than_64_kb_wherever_it_stands() {
    let too_large = "Attribute name is too large, must be less than 65536 bytes";
    for (bytes, fault) in [(65_535, None), (65_536, Some(too_large))] {
        let name = "n".repeat(bytes);
        let mut in_key = base();
        in_key.key.push((name.clone(), text("x")));
        let listed = GetItemParts { attributes_to_get: Some(vec![name.clone()]), ..base() };
        for parts in [in_key, listed] {
            assert_eq!(GetItem::validate(parts).err().map(|error| error.message).as_deref(), fault);
        }
        let mut behind_a_placeholder = base();
        behind_a_placeholder.projection_expression = some("#n");
        behind_a_placeholder.expression_attribute_names = names(&[("#n", &name)]);
        let message = GetItem::validate(behind_a_placeholder).err().map(|error| error.message);
        assert_eq!(message.is_some_and(|message| message.contains(too_large)), fault.is_some());
    }
}

#[test]
fn reads_are_eventually_consistent_by_default() {
    assert_eq!(GetItem::validate(base()).unwrap().consistency, Consistency::Eventual);
    let strong = GetItem::validate(GetItemParts { consistent_read: Some(true), ..base() });
    assert_eq!(strong.unwrap().consistency, Consistency::Strong);
}

#[test]
fn both_dialects_project_the_same_attributes() {
    let legacy = GetItemParts { attributes_to_get: Some(vec!["a".to_owned(), "b".to_owned()]), ..base() };
    let expression = GetItemParts { projection_expression: some("a, b"), ..base() };
    let projection = |parts| GetItem::validate(parts).unwrap().projection;
    assert_eq!(projection(legacy), projection(expression));
}
