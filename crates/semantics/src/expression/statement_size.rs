//! The size of an update statement, which `UpdateItem` limits in addition to the item's size.
//!
//! All figures are measured at the service. A value that an update reads from the item counts with its path
//! only; a value of the request counts with its bytes at every use.

use super::path::{DocumentPath, PathStep};
use super::syntax::Arithmetic;
use super::update::{Action, Change, SetOperand, SetValue};
use crate::size::value_bytes;

const STATEMENT_BYTES: usize = 3;
/// Each SET or ADD action.
const WRITE_BYTES: usize = 19;
/// Each REMOVE or DELETE action.
const CLEAR_BYTES: usize = 1;
/// Each step of a target below its attribute.
const TARGET_STEP_BYTES: usize = 4;
/// Each path that is read.
const OPERAND_PATH_BYTES: usize = 1;
/// Each step of a path that is read, its attribute included.
const OPERAND_STEP_BYTES: usize = 14;
const PLUS_BYTES: usize = 34;
const MINUS_BYTES: usize = 37;
const IF_NOT_EXISTS_BYTES: usize = 39;
const LIST_APPEND_BYTES: usize = 37;

pub(super) fn of_update(actions: &[Action]) -> usize {
    actions.iter().map(of_action).sum::<usize>() + STATEMENT_BYTES
}

fn of_action(action: &Action) -> usize {
    let target = of_target(&action.path);
    match &action.change {
        Change::Set(SetValue::Operand(operand)) => WRITE_BYTES + target + of_operand(operand),
        Change::Set(SetValue::Arithmetic { operator, left, right }) => {
            let operator = match operator {
                Arithmetic::Plus => PLUS_BYTES,
                Arithmetic::Minus => MINUS_BYTES,
            };
            WRITE_BYTES + target + operator + of_operand(left) + of_operand(right)
        }
        Change::Add(value) => WRITE_BYTES + target + value_bytes(value),
        Change::Remove | Change::Delete(_) => CLEAR_BYTES + target,
    }
}

fn of_target(path: &DocumentPath) -> usize {
    path.steps.iter().map(|step| TARGET_STEP_BYTES + of_step(step)).sum::<usize>() + path.attribute.len()
}

fn of_operand(operand: &SetOperand) -> usize {
    match operand {
        SetOperand::Path(path) => of_read(path),
        SetOperand::Value(value) => value_bytes(value),
        SetOperand::IfNotExists(path, otherwise) => {
            IF_NOT_EXISTS_BYTES + of_read(path) + of_operand(otherwise)
        }
        SetOperand::ListAppend(first, second) => LIST_APPEND_BYTES + of_operand(first) + of_operand(second),
    }
}

fn of_read(path: &DocumentPath) -> usize {
    let steps = path.steps.iter().map(|step| OPERAND_STEP_BYTES + of_step(step)).sum::<usize>();
    OPERAND_PATH_BYTES + OPERAND_STEP_BYTES + path.attribute.len() + steps
}

/// A name's bytes, or the digits of an index.
fn of_step(step: &PathStep) -> usize {
    match step {
        PathStep::Field(name) => name.len(),
        PathStep::Index(index) => index.to_string().len(),
    }
}
