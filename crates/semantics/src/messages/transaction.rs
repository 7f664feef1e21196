//! Messages about requests of transactions, for faults that do not depend on tables.
//!
//! Source: messages of the service in us-east-1 that public compatibility suites recorded in 2026.

/// One element of a transaction with several actions.
pub const SEVERAL_ACTIONS: &str = "TransactItems can only contain one of Check, Put, Update or Delete";

/// One element of a transaction without an action (seen less often than the others).
pub const NO_ACTION: &str =
    "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request";
