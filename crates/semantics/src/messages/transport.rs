//! What clients read when a request fails before or beside its operation.

/// Ours alone: the service lets every page in, because it verifies every signature.
pub const FOREIGN_PAGE: &str =
    "Web pages of this origin may not use the database: name it with --cors-origin";

/// Ours alone: a page that gives its own name this machine's address is recognised by that name alone.
pub const FOREIGN_HOST: &str = "The database is not known by the host name of this request: if the name is yours, allow it with --allowed-host";

/// Ours alone: which of two would count is not for the client to guess.
pub const REPEATED_HEADER: &str =
    "The request has more than one Host, Origin or Sec-Fetch-Site header: send each at most once";
/// A request for which there is no memory now (API reference: Common errors). Clients send it again.
pub const BUSY: &str = "The request has failed due to a temporary failure of the server.";

/// A defect of ours (API reference: Common errors).
pub const INTERNAL: &str =
    "The request processing has failed because of an unknown error, exception or failure.";
