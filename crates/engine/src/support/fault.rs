//! Faults of the store as errors for the client.
//!
//! The cause goes to the server's log; the client gets the service's one text.

use keywright_semantics::codec::CodecFault;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::transport::INTERNAL;
use keywright_store::StoreError;

/// The error of a request that the store could not execute, or whose outcome is unknown.
pub(crate) fn internal() -> Error {
    Error::new(ErrorKind::InternalServerError, INTERNAL)
}

/// The error for a fault of the store.
pub(crate) fn storage(fault: &StoreError) -> Error {
    match fault {
        StoreError::Io(_) | StoreError::Corrupt(_) | StoreError::Poisoned => internal(),
        StoreError::Closed => Error::new(ErrorKind::ServiceUnavailable, INTERNAL),
    }
}

/// The error for stored bytes that are not an item.
pub(crate) fn corrupt(_: CodecFault) -> Error {
    internal()
}
