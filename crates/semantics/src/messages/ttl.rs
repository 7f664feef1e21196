//! Messages about time to live.

/// Observed (us-east-1).
pub const ALREADY_ENABLED: &str = "TimeToLive is already enabled";

/// Observed (us-east-1).
pub const ALREADY_DISABLED: &str = "TimeToLive is already disabled";

/// Observed (us-east-1).
pub const CHANGED_TOO_OFTEN: &str = "Time to live has been modified multiple times within a fixed interval";

/// Observed (us-east-1).
pub fn other_attribute(current: &str) -> String {
    format!("TimeToLive is active on a different AttributeName: current AttributeName is {current}")
}

/// Observed (us-east-1): the order of words differs from [`super::table::being_created`].
pub fn being_created(table: &str) -> String {
    format!("Attempt to change a resource which is still in use: Table {table} is being created")
}

/// Observed (us-east-1): a table that is being created or deleted.
pub fn not_describable(state: &str) -> String {
    format!("Cannot describe time to live while table is in {state} state: Current table state is {state}")
}
