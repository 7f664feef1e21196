//! How the operations that the service has moved to its present validation word and choose their violations.
//!
//! Observed in us-east-1 in October 2026: an empty table name hides all others, `ReturnValues` has a text without a
//! place, and UpdateItem stops at it. A request that lacks a required member is still judged the former way.

use keywright_semantics::messages::shape as text;

use super::violations::Violation;
use crate::operation::Operation;
use crate::shapes::Constraint;

/// The texts to answer, in order.
pub(super) fn reworded(operation: Operation, mut found: Vec<Violation>) -> Vec<String> {
    let moved = matches!(
        operation,
        Operation::PutItem
            | Operation::UpdateItem
            | Operation::DeleteItem
            | Operation::GetItem
            | Operation::Query
    );
    let lacks_a_member = found.iter().any(|violation| violation.constraint.is_none());
    if moved && !lacks_a_member {
        if found.iter().any(is_empty_name) {
            return vec![text::unechoed_violation("TableName", &text::length_at_least(1))];
        }
        for violation in found.iter_mut().filter(|violation| is_return_values(violation)) {
            text::RETURN_VALUES_UNKNOWN.clone_into(&mut violation.text);
        }
        if operation == Operation::UpdateItem && found.iter().any(is_return_values) {
            found.retain(is_return_values);
        }
    }
    found.into_iter().map(|violation| violation.text).collect()
}

/// An empty name is the only one that is too short; it violates the pattern of no operation here.
fn is_empty_name(violation: &Violation) -> bool {
    violation.member == "TableName" && violation.text.ends_with(&text::length_at_least(1))
}

fn is_return_values(violation: &Violation) -> bool {
    violation.member == "ReturnValues" && violation.constraint == Some(Constraint::Enum)
}
