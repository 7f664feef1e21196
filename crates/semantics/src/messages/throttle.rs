//! Messages of throttled requests.
//!
//! Source: answers of the service quoted in public issues (apache/hadoop#1814, grailbio/reflow#101,
//! awslabs/dynein#195, BrighterCommand/Brighter#2810), and the developer guide where there is none.

/// A provisioned table is over its units.
pub const PROVISIONED_TABLE: &str = "The level of configured provisioned throughput for the table was exceeded. \
    Consider increasing your provisioning level with the UpdateTable API.";
/// An index of a provisioned table is over its units. The service ends this one without a period.
pub const PROVISIONED_INDEX: &str = "The level of configured provisioned throughput for one or more global secondary \
    indexes of the table was exceeded. Consider increasing your provisioning level for the under-provisioned global \
    secondary indexes with the UpdateTable API";
/// An on-demand table is over what it can serve now.
pub const ON_DEMAND_TABLE: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB is \
    automatically scaling your table or index so please try again shortly. If exceptions persist, check if you have a \
    hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";
/// An index of an on-demand table is over what it can serve now.
pub const ON_DEMAND_INDEX: &str = "Throughput exceeds the current capacity for one or more global secondary indexes. \
    DynamoDB is automatically scaling your index so please try again shortly.";
/// A ceiling of an on-demand table or index is reached.
pub const ON_DEMAND_MAXIMUM: &str =
    "Throughput exceeds the maximum OnDemandThroughput configured on table or index";
/// A quota of the account is used up (developer guide).
pub const ACCOUNT_LIMIT: &str = "Throughput exceeds the current throughput limit for your account. To request a limit \
    increase, contact AWS Support at https://aws.amazon.com/support";
