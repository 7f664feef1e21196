//! What clients read when a request fails before or beside its operation.

/// Ours alone: the service lets every page in, because it verifies every signature.
pub const FOREIGN_PAGE: &str =
    "Web pages of this origin may not use the database: name it with --cors-origin";

/// A request for which there is no memory now (API reference: Common errors). Clients send it again.
pub const BUSY: &str = "The request has failed due to a temporary failure of the server.";

/// A defect of ours (API reference: Common errors).
pub const INTERNAL: &str =
    "The request processing has failed because of an unknown error, exception or failure.";
