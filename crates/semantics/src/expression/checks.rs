//! The first pass over a parsed expression: reserved words, list indexes, which functions exist and where
//! they may stand.
//!
//! It runs over a whole expression, in the order written, before any placeholder is looked up.

use super::fault::Fault;
use super::functions::{Function, FunctionPlace};
use super::reserved::is_reserved;
use super::syntax::{RawAction, RawChange};
use super::syntax::{RawCall, RawCondition, RawOperand, RawPath, RawSetValue, RawStep, RawUpdate, Section};
use crate::limits::DOCUMENT_PATH_INDEX_MAX;
use crate::messages::expression as messages;

pub(super) fn check_condition(condition: &RawCondition<'_>) -> Result<(), Fault> {
    match condition {
        RawCondition::And(left, right) | RawCondition::Or(left, right) => {
            check_condition(left)?;
            check_condition(right)
        }
        RawCondition::Not(inner) => check_condition(inner),
        RawCondition::Compare { left, right, .. } => check_operands([left, right]),
        RawCondition::Between { subject, lower, upper } => check_operands([subject, lower, upper]),
        RawCondition::In { subject, list } => check_operands(std::iter::once(subject).chain(list)),
        RawCondition::Call(call) => check_condition_call(call, FunctionPlace::Condition),
    }
}

fn check_operands<'o, 't: 'o>(operands: impl IntoIterator<Item = &'o RawOperand<'t>>) -> Result<(), Fault> {
    operands.into_iter().try_for_each(|operand| match operand {
        RawOperand::Path(path) => check_path(path),
        RawOperand::Value(_) => Ok(()),
        RawOperand::Call(call) => check_condition_call(call, FunctionPlace::ConditionOperand),
    })
}

fn check_condition_call(call: &RawCall<'_>, place: FunctionPlace) -> Result<(), Fault> {
    let function = known_function(call)?;
    if function.place() == FunctionPlace::Update {
        return Err(Fault::new(messages::function_not_in_condition(&call.name)));
    }
    if function.place() != place {
        return Err(Fault::new(messages::function_misplaced(&call.name)));
    }
    check_operands(&call.arguments)
}

fn known_function(call: &RawCall<'_>) -> Result<Function, Fault> {
    Function::from_name(&call.name).ok_or_else(|| Fault::new(messages::function_unknown(&call.name)))
}

pub(super) fn check_path(path: &RawPath<'_>) -> Result<(), Fault> {
    path.steps().try_for_each(|step| match step {
        RawStep::Name(name) if is_reserved(name) => Err(Fault::new(messages::reserved_keyword(name))),
        RawStep::Index(digits) if index_value(digits).is_none() => {
            Err(Fault::new(messages::list_index_out_of_range(digits)))
        }
        RawStep::Name(_) | RawStep::Placeholder(_) | RawStep::Index(_) => Ok(()),
    })
}

/// The value of a list index's digits, if it is within range.
pub(super) fn index_value(digits: &str) -> Option<usize> {
    digits.parse().ok().filter(|index| *index <= DOCUMENT_PATH_INDEX_MAX)
}

/// Each section may be used once. Sections are read in the order in which they first appear, with their
/// repetitions.
pub(super) fn check_update(update: &RawUpdate<'_>) -> Result<(), Fault> {
    let mut seen: Vec<Section> = Vec::new();
    for (section, _) in &update.sections {
        if seen.contains(section) {
            continue;
        }
        seen.push(*section);
        let mut uses = 0;
        for (_, actions) in update.sections.iter().filter(|(other, _)| other == section) {
            uses += 1;
            actions.iter().try_for_each(check_action)?;
        }
        if uses > 1 {
            return Err(Fault::new(messages::section_repeated(section.name())));
        }
    }
    Ok(())
}

fn check_action(action: &RawAction<'_>) -> Result<(), Fault> {
    check_path(&action.path)?;
    match &action.change {
        RawChange::Set(RawSetValue::Operand(operand)) => check_set_operand(operand, Nesting::Outermost),
        RawChange::Set(RawSetValue::Arithmetic { left, right, .. }) => {
            check_set_operand(left, Nesting::Outermost)?;
            check_set_operand(right, Nesting::Outermost)
        }
        RawChange::Remove | RawChange::Add(_) | RawChange::Delete(_) => Ok(()),
    }
}

/// Whether an operand of SET stands inside a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Outermost,
    InFunction,
}

fn check_set_operand(operand: &RawOperand<'_>, nesting: Nesting) -> Result<(), Fault> {
    match operand {
        RawOperand::Path(path) => check_path(path),
        RawOperand::Value(_) => Ok(()),
        RawOperand::Call(call) => {
            let function = known_function(call)?;
            if function.place() != FunctionPlace::Update {
                return Err(Fault::new(messages::function_not_in_update(&call.name)));
            }
            // Observed: only if_not_exists may be an argument of another function, list_append may not.
            if function == Function::ListAppend && nesting == Nesting::InFunction {
                return Err(Fault::new(messages::function_misplaced(&call.name)));
            }
            call.arguments.iter().try_for_each(|argument| check_set_operand(argument, Nesting::InFunction))
        }
    }
}
