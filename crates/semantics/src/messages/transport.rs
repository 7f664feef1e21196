//! Messages about requests that fail outside of their operation.

/// Our own message: the service permits every origin, because it verifies every signature.
pub const FOREIGN_PAGE: &str =
    "Web pages of this origin may not use the database: name it with --cors-origin";

/// Our own message. A page can give its own host name this machine's address (DNS rebinding); only the name
/// shows it.
pub const FOREIGN_HOST: &str = "The database is not known by the host name of this request: if the name is yours, allow it with --allowed-host";

/// Our own message: it must not depend on the server which of two headers counts.
pub const REPEATED_HEADER: &str =
    "The request has more than one Host, Origin or Sec-Fetch-Site header: send each at most once";
/// The server has no memory for the request now (API reference: Common errors). Clients retry.
pub const BUSY: &str = "The request has failed due to a temporary failure of the server.";

/// A change that is refused, as its record in the audit log is required and cannot be written.
pub const UNRECORDED: &str =
    "The audit log cannot be written, and the server must record every change. Nothing was changed.";
/// The answer to a change that was executed before it was seen that its record cannot be written.
pub const EXECUTED_UNRECORDED: &str = "The audit log cannot be written, and the server must record every \
    change. This one was executed and may have been made, without a record.";

/// A defect of ours (API reference: Common errors).
pub const INTERNAL: &str =
    "The request processing has failed because of an unknown error, exception or failure.";
