//! Messages of the operations on policies of tables and streams. Those about documents stand in `access`.
//!
//! Sources: a public catalogue of live measurements of resource policies (2026); moto's texts of revisions
//! that do not fit, verified against the service. The last words of [`no_policy_of_revision`] are not
//! recorded exactly.

use super::table::in_use;

const NOT_FOUND: &str = "Resource-based policy not found for the provided ResourceArn: ";

/// An ARN of another partition or region, or one that names no table.
pub fn invalid_arn(arn: &str) -> String {
    format!("Invalid resource Arn: {arn}")
}

/// A table or stream without a policy.
pub fn not_found(arn: &str) -> String {
    format!("{NOT_FOUND}{arn}")
}

/// A policy of another revision than the client expects.
pub fn other_revision(table: &str, expected: &str, found: &str) -> String {
    format!(
        "{NOT_FOUND}Requested update for policy with revision id {expected}, but the policy associated to target \
         table {table} has revision id {found}."
    )
}

/// No policy where the client expects one.
pub fn no_policy_of_revision(table: &str, expected: &str) -> String {
    format!(
        "{NOT_FOUND}Requested update for policy with revision id {expected}, but table {table} has no associated \
         policy"
    )
}

/// A policy where the client expects none.
pub fn policy_exists(table: &str, found: &str) -> String {
    format!(
        "{NOT_FOUND}Requested policy update expecting none to be present for table {table}, but a policy exists \
         with revision id {found}."
    )
}

/// A stream that the table does not have.
pub fn stream_not_found(table: &str, label: &str) -> String {
    format!("Requested resource not found: Stream: {label} not found for Table: {table}")
}

/// A change that comes right after another.
pub fn pending(table: &str) -> String {
    in_use(format_args!("Table is pending previous resource-based policy update: {table}"))
}

/// A change that comes too soon after another. The time is in ISO 8601, with milliseconds.
pub fn too_soon(table: &str, wait_ms: u64, until: &str) -> String {
    format!(
        "Resource-based policy for table {table} modified within the previous {wait_ms} milliseconds. Please try \
         again after {until}."
    )
}

/// A document that denies its author the next change.
pub const LOCKED_OUT: &str =
    "The new resource policy will not allow you to update the resource policy in the future.";

/// A table with a policy, while a process of an earlier release serves the same store. Keywright's own.
pub fn older_servers(table: &str) -> String {
    format!(
        "The resource policy of the table {table} can be changed once every server over the store runs a release \
         that knows it: a server of an older release would not judge requests by it"
    )
}
