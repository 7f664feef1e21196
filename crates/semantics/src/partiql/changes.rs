//! From SET and REMOVE clauses to the update type of the native requests.

use std::sync::Arc;

use super::PartiqlFault;
use super::condition::document_path;
use super::syntax::{Binary, RawChange, Term, TermKind};
use super::values::Scope;
use crate::expression::{Action, Arithmetic, Change, DocumentPath, SetOperand, SetValue, Update};
use crate::messages::item::EMPTY_ATTRIBUTE_NAME;
use crate::messages::{expression as expression_messages, partiql as messages};
use crate::value::AttributeValue;

impl Scope<'_> {
    /// The update of all clauses together.
    pub(super) fn update(&self, changes: &[RawChange]) -> Result<Update, PartiqlFault> {
        let actions = changes.iter().map(|change| match change {
            RawChange::Remove(target) => Ok(Action { path: self.target(target)?, change: Change::Remove }),
            RawChange::Set(target, value) => {
                let path = self.target(target)?;
                let change = self.set_change(&path, value)?;
                Ok(Action { path, change })
            }
        });
        let actions = actions.collect::<Result<Vec<_>, PartiqlFault>>()?;
        Ok(Update::of(actions)?)
    }

    fn target(&self, term: &Term) -> Result<DocumentPath, PartiqlFault> {
        match &term.kind {
            TermKind::Path(path) if path.first.is_empty() => Err(PartiqlFault::new(EMPTY_ATTRIBUTE_NAME)),
            TermKind::Path(path) => document_path(path),
            _ => Err(PartiqlFault::new(messages::unexpected_path_component(&self.place(term.span)))),
        }
    }

    fn set_change(&self, target: &DocumentPath, term: &Term) -> Result<Change, PartiqlFault> {
        match &term.kind {
            TermKind::Call { name, arguments } => match name.to_ascii_uppercase().as_str() {
                function @ "SET_ADD" => {
                    self.set_members(target, term, function, arguments).map(Arc::new).map(Change::Add)
                }
                function @ "SET_DELETE" => {
                    self.set_members(target, term, function, arguments).map(Arc::new).map(Change::Delete)
                }
                _ => self.set_operand(term).map(|operand| Change::Set(SetValue::Operand(operand))),
            },
            TermKind::Binary { operator: operator @ (Binary::Plus | Binary::Minus), left, right } => {
                let operator = if *operator == Binary::Plus { Arithmetic::Plus } else { Arithmetic::Minus };
                let (left, right) = (self.set_operand(left)?, self.set_operand(right)?);
                for operand in [&left, &right] {
                    check_literal(operator.symbol(), operand, "N")?;
                }
                Ok(Change::Set(SetValue::Arithmetic { operator, left, right }))
            }
            _ => self.set_operand(term).map(|operand| Change::Set(SetValue::Operand(operand))),
        }
    }

    /// The members that `set_add` or `set_delete` adds to or removes from the target.
    fn set_members(
        &self,
        target: &DocumentPath,
        call: &Term,
        function: &str,
        arguments: &[Term],
    ) -> Result<AttributeValue, PartiqlFault> {
        let place = self.place(call.span);
        let [first, members] = arguments else {
            return Err(PartiqlFault::new(messages::set_function_arguments(function, &place)));
        };
        let is_target = match &first.kind {
            TermKind::Path(path) => document_path(path)? == *target,
            _ => false,
        };
        if !is_target {
            return Err(PartiqlFault::new(messages::set_function_target(function, &place)));
        }
        let value = self.value(members)?;
        if matches!(value, AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_)) {
            return Ok(value);
        }
        // The service's message has the position of the first argument here.
        let place = self.place(first.span);
        Err(PartiqlFault::new(messages::set_function_value(function, &place)))
    }

    fn set_operand(&self, term: &Term) -> Result<SetOperand, PartiqlFault> {
        let TermKind::Call { name, arguments } = &term.kind else {
            return match &term.kind {
                TermKind::Path(path) => document_path(path).map(SetOperand::Path),
                _ => self.value(term).map(Arc::new).map(SetOperand::Value),
            };
        };
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), arguments.as_slice()) {
            ("list_append", [first, second]) => {
                let (first, second) = (self.set_operand(first)?, self.set_operand(second)?);
                for operand in [&first, &second] {
                    check_literal(&lower, operand, "L")?;
                }
                Ok(SetOperand::ListAppend(Box::new(first), Box::new(second)))
            }
            ("if_not_exists", [first, second]) => match self.set_operand(first)? {
                SetOperand::Path(path) => {
                    Ok(SetOperand::IfNotExists(path, Box::new(self.set_operand(second)?)))
                }
                _ => Err(PartiqlFault::new(expression_messages::operand_not_a_path(&lower))),
            },
            ("list_append" | "if_not_exists", _) => {
                Err(PartiqlFault::new(expression_messages::operand_count(&lower, arguments.len())))
            }
            _ => {
                let place = self.place(term.span);
                Err(PartiqlFault::new(messages::unrecognized_function(&lower, &place)))
            }
        }
    }
}

/// Checks that a literal has the type that the operator or function takes.
fn check_literal(operator: &str, operand: &SetOperand, wanted: &str) -> Result<(), PartiqlFault> {
    match operand {
        SetOperand::Value(value) if value.type_name() != wanted => {
            Err(PartiqlFault::new(expression_messages::operand_type(operator, value.type_name())))
        }
        _ => Ok(()),
    }
}
