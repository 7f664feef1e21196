//! The schema stage: a typed request and a table's schema become key bytes, ranges and plans.
//!
//! It checks only what needs the schema, and it does not read the store.

pub(crate) mod expiry;
pub(crate) mod item;
pub(crate) mod key;
pub(crate) mod range;
pub(crate) mod source;
pub(crate) mod start_key;
pub(crate) mod transaction;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::value::AttributeValue;

/// How a fault in one action of a transaction is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultScope {
    /// The whole request is refused before anything runs.
    Request,
    /// The transaction is cancelled, and the action's cancellation reason is the fault.
    Action,
}

/// A fault in one item, key or action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BindFault {
    pub scope: FaultScope,
    pub message: String,
}

impl BindFault {
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self { scope: FaultScope::Request, message: message.into() }
    }

    pub(crate) fn action(message: impl Into<String>) -> Self {
        Self { scope: FaultScope::Action, message: message.into() }
    }
}

impl From<BindFault> for Error {
    fn from(fault: BindFault) -> Self {
        Self::new(ErrorKind::Validation, fault.message)
    }
}

/// The service's name of a value's type.
pub(crate) fn type_name(value: &AttributeValue) -> &'static str {
    value.type_name()
}
