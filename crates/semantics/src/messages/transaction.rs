//! What clients read when a transaction's request is wrong, whatever the tables.
//!
//! Source: the service's answers in us-east-1 as public compatibility suites recorded them in 2026.

/// One element of a transaction with several actions.
pub const SEVERAL_ACTIONS: &str = "TransactItems can only contain one of Check, Put, Update or Delete";

/// One element of a transaction without an action (seen less often than the others).
pub const NO_ACTION: &str =
    "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request";
