//! Faults of the store as the client sees them.
//!
//! The operator reads the cause in the log of the server; the client gets the service's one text.

use keywright_semantics::codec::CodecFault;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::transport::INTERNAL;
use keywright_store::StoreError;

/// The answer to a request that the store could not carry out, or whose outcome nobody knows.
pub(crate) fn internal() -> Error {
    Error::new(ErrorKind::InternalServerError, INTERNAL)
}

/// A fault of the store.
pub(crate) fn storage(fault: &StoreError) -> Error {
    match fault {
        StoreError::Io(_) | StoreError::Corrupt(_) | StoreError::Poisoned => internal(),
        StoreError::Closed => Error::new(ErrorKind::ServiceUnavailable, INTERNAL),
    }
}

/// A stored item that does not read as one.
pub(crate) fn corrupt(_: CodecFault) -> Error {
    internal()
}
