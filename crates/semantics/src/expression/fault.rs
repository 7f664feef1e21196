//! The fault of one expression, before it is known which parameter carried the expression.

use crate::error::Error;
use crate::messages::expression as messages;

/// The text of a fault, without the prefix that names the parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault(String);

impl Fault {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The error a client sees, with the parameter's name as its prefix.
    pub(super) fn in_parameter(self, parameter: &str) -> Error {
        Error::validation(messages::invalid_expression(parameter, &self.0))
    }

    /// The error a client sees, for texts that have no prefix.
    pub(super) fn without_parameter(self) -> Error {
        Error::validation(self.0)
    }
}

/// Whether the message about a long expression gives the size; only those about filters and conditions do
/// (observed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeText {
    Plain,
    WithSize,
}

/// Checks before parsing that an expression is neither empty nor too long.
pub(super) fn check_size(text: &str, size_text: SizeText) -> Result<(), Fault> {
    if text.is_empty() {
        return Err(Fault::new(messages::empty_expression()));
    }
    if text.len() <= crate::limits::EXPRESSION_BYTES_MAX {
        return Ok(());
    }
    Err(match size_text {
        SizeText::Plain => Fault::new(messages::update_too_large()),
        SizeText::WithSize => Fault::new(messages::expression_too_large(text.len())),
    })
}
