//! What clients read when a request fails before or beside its operation.

/// The request itself is beyond the service's 16 MB (developer guide: Constraints).
pub const REQUEST_TOO_LARGE: &str = "Request size exceeded the maximum allowed size";

/// A defect of ours (API reference: Common errors).
pub const INTERNAL: &str = "The request processing has failed because of an unknown error, exception or failure.";
