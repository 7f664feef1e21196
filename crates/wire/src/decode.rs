//! Bytes to a typed request: JSON, the shape of the operation's input, its parts, their sense.

use keywright_semantics::error::Error;
use keywright_semantics::request::Request;

use crate::operation::Operation;
use crate::render::unknown_operation;

/// The request that the body says, or the error that the service answers for it.
pub fn decode(operation: Operation, body: &[u8]) -> Result<Request, Error> {
    let _ = (operation, body);
    Err(unknown_operation())
}
