//! How the operations that the service has moved to its present validation word and choose their violations.
//!
//! Observed in us-east-1 in October 2026: an empty table name hides all others, `ReturnValues` has a text without a
//! place, and UpdateItem stops at it. A request that lacks a required member is still judged the former way, and so is one
//! nested too deeply to be read.

use std::borrow::Cow;

use keywright_semantics::messages::{item, shape as text};

use super::violations::Violation;
use crate::json::{Node, member};
use crate::operation::Operation;
use crate::shapes::Constraint;

const fn is_moved(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::PutItem
            | Operation::UpdateItem
            | Operation::DeleteItem
            | Operation::GetItem
            | Operation::Query
    )
}

/// Whether the former validation answers a request of an operation that has moved: it lacks a required member, or it is
/// a write of one item too deep for the present one to read.
pub(super) fn is_answered_formerly(operation: Operation, found: &[Violation], body: &Node<'_>) -> bool {
    let is_write = matches!(operation, Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem);
    found.iter().any(|violation| violation.constraint.is_none())
        || (is_write && !found.is_empty() && body.is_cut())
}

/// What is told of an unknown `ConditionalOperator`, alone: the operations that have moved look at it together with the
/// conditions that it joins, and only then.
pub(super) fn conditional_operator(
    operation: Operation,
    found: &[Violation],
    formerly: bool,
    entries: &[(Cow<'_, str>, Node<'_>)],
) -> Option<String> {
    let unknown = found.iter().any(|violation| violation.member == "ConditionalOperator");
    if !unknown || !is_moved(operation) || formerly || found.iter().any(is_empty_name) {
        return None;
    }
    let conditions = ["Expected", "QueryFilter"].iter().find_map(|name| member(entries, name));
    let fault = match conditions {
        Some(Node::Object(conditions)) if conditions.len() > 1 => text::CONDITIONAL_OPERATOR_UNKNOWN,
        Some(Node::Object(conditions)) if conditions.len() == 1 => item::OPERATOR_WITH_ONE_CONDITION,
        _ => item::OPERATOR_WITHOUT_CONDITIONS,
    };
    // Observed of Query, which puts no envelope around such faults; the others do around all that need no table.
    Some(if operation == Operation::Query { fault.to_owned() } else { item::enveloped(fault) })
}

/// The texts to answer, in order.
pub(super) fn reworded(operation: Operation, mut found: Vec<Violation>, formerly: bool) -> Vec<String> {
    if is_moved(operation) && !formerly {
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
    order_table_names(operation, &mut found);
    found.into_iter().map(|violation| violation.text).collect()
}

/// Bad names of tables in a batch. Observed: BatchGetItem tells them before an unknown choice, BatchWriteItem only
/// without one.
fn order_table_names(operation: Operation, found: &mut Vec<Violation>) {
    let is_name = |violation: &Violation| violation.constraint == Some(Constraint::Keys);
    let is_choice = |violation: &Violation| violation.constraint == Some(Constraint::Enum);
    match operation {
        Operation::BatchGetItem => found.sort_by_key(|violation| !is_name(violation)),
        Operation::BatchWriteItem if found.iter().any(is_choice) => {
            found.retain(|violation| !is_name(violation));
        }
        _ => {}
    }
}

/// An empty name is the only one that is too short; it violates the pattern of no operation here.
fn is_empty_name(violation: &Violation) -> bool {
    violation.member == "TableName" && violation.text.ends_with(&text::length_at_least(1))
}

fn is_return_values(violation: &Violation) -> bool {
    violation.member == "ReturnValues" && violation.constraint == Some(Constraint::Enum)
}
