//! Messages about Kinesis destinations.
//!
//! Source: answers of the service in us-west-2 that a public project recorded in October 2026. Where it says
//! that a text is ours, the service has no such case.

/// The beginning of most messages. The service has it also where nothing is enabled (observed).
const NOT_VALID: &str = "Table is not in a valid state to enable Kinesis Streaming Destination: ";

/// A destination is to be enabled, and the table has one that is neither disabled nor failed.
pub fn not_to_be_enabled() -> String {
    format!(
        "{NOT_VALID}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
    )
}

/// A destination is to be disabled that is not active, or that the table does not have.
pub fn not_to_be_disabled() -> String {
    format!("{NOT_VALID}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.")
}

/// A destination is to be changed that is not active.
pub fn not_to_be_updated(table: &str, stream_arn: &str) -> String {
    format!(
        "{NOT_VALID}Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. \
         TableName: {table}, kdsArn: {stream_arn}"
    )
}

/// A destination is to be changed that the table does not have.
pub fn not_found(table: &str, stream_arn: &str) -> String {
    format!(
        "{NOT_VALID}No streaming destination with streamArn: {stream_arn} found for table with tableName: {table}"
    )
}

/// A change to the precision that the destination has.
pub fn same_precision(precision: &str, table_id: &str, stream_arn: &str) -> String {
    format!(
        "Invalid Request: Precision is already set to the desired value of {precision} for tableId: {table_id}, \
         kdsArn: {stream_arn}"
    )
}

/// A destination is to be disabled with a configuration.
pub const DISABLED_WITH_CONFIGURATION: &str =
    "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters";
/// A change that changes nothing.
pub const UPDATE_WITHOUT_CHANGE: &str = "Streaming destination cannot be updated with given parameters: \
    UpdateKinesisStreamingConfiguration cannot be null or contain only null values";

/// Why a destination could not be enabled: the stream is missing, or may not be used.
pub const NO_PERMISSION: &str = "User does not have a permission to use kinesis stream";
/// Why a destination could not be enabled: the stream is elsewhere.
pub const OTHER_REGION: &str = "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in the current region";
/// Why a destination could not be enabled: the stream is being made or deleted.
pub const STREAM_NOT_ACTIVE: &str =
    "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in Active state";
/// Why a destination could not be enabled: this server has no endpoint. Ours.
pub const NO_ENDPOINT: &str = "No Kinesis endpoint is configured: start the server with --kinesis-endpoint URL, \
    or --kinesis-endpoint aws, and enable the destination again";
/// Why a destination could not be enabled: the endpoint does not answer. Ours.
pub const NO_ANSWER: &str = "The endpoint of the setting kinesis-endpoint does not answer: check that it can be \
    reached from the server, and enable the destination again";

/// A change to the destinations of a table while a server of an older release serves the store. Ours.
pub fn older_servers(table: &str) -> String {
    format!(
        "Kinesis destinations of the table {table} can be changed once every server over the store runs a \
         release that knows them: a server of an older release would not log the table's changes"
    )
}
