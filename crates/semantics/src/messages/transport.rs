//! What clients read when a request fails before or beside its operation.

/// A defect of ours (API reference: Common errors).
pub const INTERNAL: &str =
    "The request processing has failed because of an unknown error, exception or failure.";
