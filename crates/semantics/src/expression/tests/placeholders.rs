//! Faults of the maps of placeholders.

use super::*;
use crate::expression::{ConditionKind, parse_condition};

fn names(names: &[(&str, &str)]) -> String {
    let names: Vec<(String, String)> =
        names.iter().map(|(placeholder, name)| ((*placeholder).to_owned(), (*name).to_owned())).collect();
    Placeholders::new(Some(&names), None, crate::messages::Wording::Legacy)
        .expect_err("the names are wrong")
        .message
}

fn values(placeholders: &[&str]) -> String {
    let values = placeholders.iter().map(|placeholder| ((*placeholder).to_owned(), Ok(n(1)))).collect();
    Placeholders::new(None, Some(&values), crate::messages::Wording::Legacy)
        .expect_err("the values are wrong")
        .message
}

#[test]
fn maps_of_placeholders_are_not_empty() {
    assert_eq!(names(&[]), "ExpressionAttributeNames must not be empty");
    assert_eq!(values(&[]), "ExpressionAttributeValues must not be empty");
}

#[test]
fn placeholders_have_their_mark_and_a_word() {
    for key in ["a", "#", "#a-b", "#a b", ":a", "##a", ""] {
        assert_eq!(
            names(&[(key, "a")]),
            format!("ExpressionAttributeNames contains invalid key: Syntax error; key: \"{key}\"")
        );
    }
    for key in ["b", ":", ":a!", "#a"] {
        assert_eq!(
            values(&[key]),
            format!("ExpressionAttributeValues contains invalid key: Syntax error; key: \"{key}\"")
        );
    }
    assert_eq!(
        names(&[("#a", "")]),
        "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"
    );
    assert!(names(&[(&format!("#{}", "a".repeat(255)), "a")]).ends_with("size of key: 256"));
}

#[test]
fn unused_placeholders_are_reported_names_first() {
    let mut both = placeholders(&[("#a", "a"), ("#b", "b")], &[(":a", n(1)), (":b", n(2))]);
    parse_condition("#a = :a", ConditionKind::Condition, &mut both).expect("it is valid");
    assert_eq!(
        both.finish().expect_err("two are unused").message,
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"
    );
    parse_condition("#b = :a", ConditionKind::Condition, &mut both).expect("it is valid");
    assert_eq!(
        both.finish().expect_err("one is unused").message,
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"
    );
    parse_condition("#b = :b", ConditionKind::Condition, &mut both).expect("it is valid");
    assert!(both.finish().is_ok());
}
