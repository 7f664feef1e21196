//! Violation texts and precedence of the operations that AWS migrated to its 2026 validator.
//!
//! Observed in us-east-1 in October 2026: an empty table name hides all other violations, the text for
//! `ReturnValues` names no place, and UpdateItem reports only that one. The legacy validator still answers
//! requests that lack a required member, and writes nested too deeply for the 2026 validator to parse.

use keywright_semantics::messages::{item, shape as text};

use super::violations::{Violation, ViolationKind};
use crate::json::{Node, member};
use crate::operation::Operation;

/// The service's two validators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validator {
    Legacy,
    V2026,
}

impl Validator {
    /// The validator that answers a request with these violations.
    pub(super) fn of(operation: Operation, found: &[Violation], body: &Node<'_>) -> Self {
        let is_write =
            matches!(operation, Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem);
        let is_migrated = is_write || matches!(operation, Operation::GetItem | Operation::Query);
        let lacks_member = found.iter().any(|violation| violation.kind == ViolationKind::Absent);
        let is_too_deep = is_write && !found.is_empty() && body.is_cut();
        if is_migrated && !lacks_member && !is_too_deep { Self::V2026 } else { Self::Legacy }
    }
}

/// The one message for an unknown `ConditionalOperator` under the 2026 validator. It checks the operator
/// together with the conditions that it joins, and then reports nothing else.
pub(super) fn conditional_operator(
    operation: Operation,
    validator: Validator,
    found: &[Violation],
    body: &Node<'_>,
) -> Option<String> {
    let is_unknown = found.iter().any(|violation| violation.member == "ConditionalOperator");
    if !is_unknown || validator == Validator::Legacy || found.iter().any(is_empty_name) {
        return None;
    }
    let Node::Object(entries) = body else { return None };
    let conditions = ["Expected", "QueryFilter"].iter().find_map(|name| member(entries, name));
    let fault = match conditions {
        Some(Node::Object(conditions)) if conditions.len() > 1 => text::CONDITIONAL_OPERATOR_UNKNOWN,
        Some(Node::Object(conditions)) if conditions.len() == 1 => item::OPERATOR_WITH_ONE_CONDITION,
        _ => item::OPERATOR_WITHOUT_CONDITIONS,
    };
    // Observed: Query has no envelope around such faults; the others have one around all faults that need no
    // table.
    Some(if operation == Operation::Query { fault.to_owned() } else { item::enveloped(fault) })
}

/// The texts of the violations to report, in order.
pub(super) fn reworded(operation: Operation, validator: Validator, mut found: Vec<Violation>) -> Vec<String> {
    if validator == Validator::V2026 {
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

/// Moves or drops violations of table names in a batch. Observed: BatchGetItem reports them before unknown
/// enumeration values, BatchWriteItem only if there are no such values.
fn order_table_names(operation: Operation, found: &mut Vec<Violation>) {
    let is_name = |violation: &Violation| violation.kind == ViolationKind::Keys;
    let is_choice = |violation: &Violation| violation.kind == ViolationKind::Enum;
    match operation {
        Operation::BatchGetItem => found.sort_by_key(|violation| !is_name(violation)),
        Operation::BatchWriteItem if found.iter().any(is_choice) => {
            found.retain(|violation| !is_name(violation));
        }
        _ => {}
    }
}

/// The migrated operations accept table names from one character on, so that only an empty one is too short.
fn is_empty_name(violation: &Violation) -> bool {
    violation.member == "TableName" && violation.kind == ViolationKind::TooShort
}

fn is_return_values(violation: &Violation) -> bool {
    violation.member == "ReturnValues" && violation.kind == ViolationKind::Enum
}
