//! Messages about exports.
//!
//! Source: answers of the service that public probes recorded in October 2026; a text marked as inferred was
//! not seen.

use super::backup::{invalid_request, shown_time};
use super::table::invalid;

/// A `TableArn` that is not the ARN of a table.
pub fn not_a_table_arn() -> String {
    invalid("tableArn is not a valid ARN")
}

/// A `TableArn` that is the ARN of an index.
pub fn arn_of_index() -> String {
    invalid_request("Table ARN is invalid.")
}

/// An export of a table that does not exist or is being created.
pub fn table_not_found(arn: &str) -> String {
    format!("Table not found: {arn}")
}

/// An incremental specification without `ExportType`.
pub fn specification_without_type() -> String {
    invalid_request(
        "Export Type expected to be Incremental Export when incremental export specification is provided",
    )
}

/// An incremental specification of a full export.
pub fn full_with_specification() -> String {
    invalid_request(
        "When Export Type is Full Export , Incremental Export Specification should not be provided",
    )
}

/// An incremental export without its specification.
pub fn increment_without_specification() -> String {
    invalid_request("Incremental Export Specification expected when export type is set as Incremental Export")
}

/// An incremental export without its beginning.
pub fn no_from_time() -> String {
    invalid_request("ExportFromTime must be provided in IncrementalExportSpecification")
}

/// A key of a key service with another encryption.
pub fn key_without_kms() -> String {
    invalid_request("KMS Key Id is not supported for this encryption type")
}

/// A filter without an expression.
pub fn empty_filter() -> String {
    invalid_request("Invalid FilterSpecification: The specification can not be empty")
}

/// An increment that begins before the table was created.
pub fn from_before_creation(created_ms: u64) -> String {
    let created = shown_time(created_ms);
    format!("Incremental export period from time cannot be less than the table creation time : {created}")
}

/// An increment that is shorter than the service allows; a server may be set to allow shorter ones.
pub fn window_too_short(least_ms: u64) -> String {
    let least = match (least_ms / MS_PER_MINUTE, least_ms / 1000) {
        (minutes, _) if minutes > 0 && least_ms.is_multiple_of(MS_PER_MINUTE) => format!("{minutes} minutes"),
        (_, seconds) if least_ms.is_multiple_of(1000) => format!("{seconds} seconds"),
        _ => format!("{least_ms} milliseconds"),
    };
    format!("Difference between export period from time and export period to time is less than {least}")
}

const MS_PER_MINUTE: u64 = 60_000;

/// An increment that is longer than a day. Inferred from the text about short ones.
pub const WINDOW_TOO_LONG: &str =
    "Difference between export period from time and export period to time is greater than 24 hours";

/// An increment that ends in the future.
pub fn to_in_future(now_ms: u64) -> String {
    let now = shown_time(now_ms);
    format!("Incremental export period to time cannot be greater than the current time : {now}")
}

/// A time in the future, or before the window of recovery.
pub const TIME_INVALID: &str = "Export Time is invalid";

/// A time that is too near to the present.
pub const TIME_TOO_RECENT: &str = "Point in Time Recovery is not available for specified export time";

/// A token that was used for another export.
pub const CONFLICT: &str = "Export conflict: Duplicate request detected with conflicting parameters";

/// An export beyond [`crate::limits::EXPORTS_MAX`]. Inferred from the text about restores.
pub fn too_many(exports_max: usize) -> String {
    format!("Subscriber limit exceeded: Only {exports_max} export operations can be done simultaneously")
}

/// A text that is not the ARN of an export.
pub const INVALID_ARN: &str = "Invalid Export ARN";

/// No export has this ARN.
pub fn not_found(arn: &str) -> String {
    format!("Export not found: Export not found: {arn}")
}

/// The ARN of an export in another region.
pub const ARN_OF_OTHER_REGION: &str = "Export not found: Invalid export arn";

/// A token of ListExports that it has not given out.
pub fn invalid_next_token(token: &str) -> String {
    invalid_request(format_args!("Provided nextToken is invalid: {token}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_window_is_shown_in_its_largest_unit() {
        let start = "Difference between export period from time and export period to time is less than ";
        for (ms, least) in [(900_000, "15 minutes"), (2_000, "2 seconds"), (1_500, "1500 milliseconds")] {
            assert_eq!(window_too_short(ms), format!("{start}{least}"));
        }
    }
}
