//! StartBulkPutItems, DescribeBulkOperation, ListBulkOperations and CancelBulkOperation: their typed
//! requests, and every rule that needs no table.

use super::fingerprint::Digest;
use super::parts::{
    BulkOperationInputFormat, BulkOperationPerformanceTier, CancelBulkOperationParts,
    DescribeBulkOperationParts, InputCompressionType, InputS3ConfigurationParts, ListBulkOperationsParts,
    OutputS3ConfigurationParts, OutputTypeEnum, S3SseAlgorithm, StartBulkPutItemsParts,
};
use super::table_ref::{ArnScope, TableRef};
use super::transact_write_items::Fingerprint;
use super::transfer_arn::TransferArn;
use crate::error::{Error, ErrorKind};
use crate::limits::BULK_OPERATIONS_PER_PAGE;
use crate::messages::{bulk, export, table};

/// The word in a bulk operation's ARN.
const KIND: &str = "bulk-operation";

/// Where the records of a bulk put are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkInput {
    /// The bucket.
    pub bucket: String,
    /// The account whose bucket it is.
    pub bucket_owner: Option<String>,
    /// What the keys of the objects begin with.
    pub prefix: Option<String>,
    /// The format of the records.
    pub format: BulkOperationInputFormat,
    /// How the objects are compressed.
    pub compression: InputCompressionType,
}

/// Where the reports of a bulk put are written to, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkOutput {
    /// The bucket.
    pub bucket: String,
    /// The account whose bucket it is.
    pub bucket_owner: Option<String>,
    /// What precedes the keys of the objects.
    pub prefix: Option<String>,
    /// How the objects are encrypted; absent: as the bucket does by default.
    pub algorithm: Option<S3SseAlgorithm>,
    /// The key of a key service.
    pub kms_key: Option<String>,
    /// The reports, each once.
    pub reports: Vec<OutputTypeEnum>,
}

/// A StartBulkPutItems.
#[derive(Clone, Debug)]
pub struct StartBulkPutItems {
    /// The table.
    pub table: TableRef,
    /// The client's token.
    pub token: Option<String>,
    /// What the request said, except its token.
    pub fingerprint: Fingerprint,
    /// Where the records are.
    pub input: BulkInput,
    /// Where the reports go.
    pub output: BulkOutput,
    /// Write units of a second at most.
    pub units_per_second: Option<u64>,
    /// The tier.
    pub tier: BulkOperationPerformanceTier,
}

impl StartBulkPutItems {
    /// Validates the parts, whose rate the shape check has bounded.
    pub fn validate(parts: StartBulkPutItemsParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
        let fingerprint = fingerprint(&parts);
        Ok(Self {
            table,
            token: parts.client_token,
            fingerprint,
            input: input(parts.input_s3_configuration),
            output: output(parts.output_s3_configuration)?,
            units_per_second: parts.max_write_request_units.and_then(|units| u64::try_from(units).ok()),
            tier: parts.performance_tier.unwrap_or(BulkOperationPerformanceTier::Standard),
        })
    }
}

fn input(parts: InputS3ConfigurationParts) -> BulkInput {
    BulkInput {
        bucket: parts.s3_bucket,
        bucket_owner: parts.s3_bucket_owner,
        prefix: parts.s3_key_prefix,
        format: parts.input_format,
        compression: parts.input_compression_type.unwrap_or(InputCompressionType::None),
    }
}

fn output(parts: OutputS3ConfigurationParts) -> Result<BulkOutput, Error> {
    let asked = parts.output_type;
    let reports: Vec<_> =
        OutputTypeEnum::ALL.iter().filter(|report| asked.contains(report)).copied().collect();
    if reports.is_empty() {
        return Err(Error::validation(bulk::no_output_type()));
    }
    if parts.s3_sse_kms_key_id.is_some() && parts.s3_sse_algorithm != Some(S3SseAlgorithm::Kms) {
        return Err(Error::validation(export::key_without_kms()));
    }
    Ok(BulkOutput {
        // The shape check requires it.
        bucket: parts.s3_bucket.unwrap_or_default(),
        bucket_owner: parts.s3_bucket_owner,
        prefix: parts.s3_key_prefix,
        algorithm: parts.s3_sse_algorithm,
        kms_key: parts.s3_sse_kms_key_id,
        reports,
    })
}

/// The hash of everything but the token.
fn fingerprint(parts: &StartBulkPutItemsParts) -> Fingerprint {
    let (input, output) = (&parts.input_s3_configuration, &parts.output_s3_configuration);
    let mut digest = Digest::new();
    for member in [
        Some(parts.table_name.as_str()),
        Some(input.s3_bucket.as_str()),
        input.s3_bucket_owner.as_deref(),
        input.s3_key_prefix.as_deref(),
        Some(input.input_format.name()),
        input.input_compression_type.map(InputCompressionType::name),
        output.s3_bucket.as_deref(),
        output.s3_bucket_owner.as_deref(),
        output.s3_key_prefix.as_deref(),
        output.s3_sse_algorithm.map(S3SseAlgorithm::name),
        output.s3_sse_kms_key_id.as_deref(),
        parts.performance_tier.map(BulkOperationPerformanceTier::name),
    ] {
        digest.optional(member.as_ref(), |digest, text| digest.text(text));
    }
    digest.optional(parts.max_write_request_units.as_ref(), |digest, units| {
        digest.bytes(&units.to_be_bytes());
    });
    digest.count(output.output_type.len());
    output.output_type.iter().for_each(|report| digest.text(report.name()));
    Fingerprint(digest.finish())
}

/// The bulk operation of an ARN.
fn operation_of_arn(arn: &str) -> Result<TransferArn, Error> {
    TransferArn::parse(arn, KIND).ok_or_else(|| Error::validation(bulk::INVALID_ARN))
}

/// Checks that a bulk operation is one of the caller's region and account.
pub fn check_caller(named: &TransferArn, caller: &ArnScope) -> Result<(), Error> {
    if named.scope.region != caller.region {
        return Err(Error::new(ErrorKind::ResourceNotFound, bulk::ARN_OF_OTHER_REGION));
    }
    if named.scope.account != caller.account {
        return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
    }
    Ok(())
}

/// A DescribeBulkOperation.
#[derive(Clone, Debug)]
pub struct DescribeBulkOperation {
    /// The bulk operation.
    pub operation: TransferArn,
}

impl DescribeBulkOperation {
    /// Validates the parts.
    pub fn validate(parts: &DescribeBulkOperationParts) -> Result<Self, Error> {
        Ok(Self { operation: operation_of_arn(&parts.bulk_operation_arn)? })
    }
}

/// A CancelBulkOperation.
#[derive(Clone, Debug)]
pub struct CancelBulkOperation {
    /// The bulk operation.
    pub operation: TransferArn,
}

impl CancelBulkOperation {
    /// Validates the parts.
    pub fn validate(parts: &CancelBulkOperationParts) -> Result<Self, Error> {
        Ok(Self { operation: operation_of_arn(&parts.bulk_operation_arn)? })
    }
}

/// A ListBulkOperations.
#[derive(Clone, Debug)]
pub struct ListBulkOperations {
    /// Bulk operations of a page.
    pub limit: usize,
    /// Where the page begins, as an earlier response said.
    pub token: Option<String>,
}

impl ListBulkOperations {
    /// Validates the parts, whose limit the shape check has bounded.
    pub fn validate(parts: ListBulkOperationsParts) -> Self {
        let limit = parts.max_results.and_then(|limit| usize::try_from(limit).ok());
        Self { limit: limit.unwrap_or(BULK_OPERATIONS_PER_PAGE), token: parts.next_token }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> StartBulkPutItemsParts {
        StartBulkPutItemsParts {
            client_token: None,
            input_s3_configuration: InputS3ConfigurationParts {
                s3_bucket_owner: None,
                s3_bucket: "in".to_owned(),
                s3_key_prefix: None,
                input_format: BulkOperationInputFormat::Ion,
                input_compression_type: None,
            },
            output_s3_configuration: OutputS3ConfigurationParts {
                s3_bucket: Some("out".to_owned()),
                output_type: vec![OutputTypeEnum::ConditionCheckFailure, OutputTypeEnum::Error],
                ..OutputS3ConfigurationParts::default()
            },
            table_name: "Shop".to_owned(),
            max_write_request_units: None,
            performance_tier: None,
        }
    }

    #[test]
    fn reports_are_wanted_once_each_and_in_the_order_of_the_model() {
        let mut twice = parts();
        twice.output_s3_configuration.output_type.push(OutputTypeEnum::Error);
        twice.output_s3_configuration.output_type.push(OutputTypeEnum::ConditionCheckFailure);
        for parts in [parts(), twice] {
            let reports = StartBulkPutItems::validate(parts).expect("it is valid").output.reports;
            assert_eq!(reports, OutputTypeEnum::ALL);
        }
        let mut none = parts();
        none.output_s3_configuration.output_type.clear();
        let error = StartBulkPutItems::validate(none).expect_err("it has no report");
        assert_eq!(error.message, bulk::no_output_type());
    }

    #[test]
    fn a_key_is_refused_with_another_encryption() {
        for algorithm in [None, Some(S3SseAlgorithm::Aes256)] {
            let mut parts = parts();
            parts.output_s3_configuration.s3_sse_algorithm = algorithm;
            parts.output_s3_configuration.s3_sse_kms_key_id = Some("key".to_owned());
            let error = StartBulkPutItems::validate(parts).expect_err("it has a key");
            assert_eq!(error.message, export::key_without_kms());
        }
    }

    #[test]
    fn the_token_is_no_part_of_what_a_request_says_and_all_else_is() {
        let fingerprint = |parts| StartBulkPutItems::validate(parts).expect("it is valid").fingerprint;
        let plain = fingerprint(parts());
        let with_token = StartBulkPutItemsParts { client_token: Some("t".to_owned()), ..parts() };
        assert_eq!(fingerprint(with_token), plain);
        let rate = StartBulkPutItemsParts { max_write_request_units: Some(2048), ..parts() };
        let mut prefix = parts();
        prefix.input_s3_configuration.s3_key_prefix = Some("a/".to_owned());
        let mut output = parts();
        output.output_s3_configuration.s3_key_prefix = Some("a/".to_owned());
        let mut report = parts();
        report.output_s3_configuration.output_type.pop();
        let others = [rate, prefix, output, report].map(fingerprint);
        for (place, other) in others.iter().enumerate() {
            assert_ne!(*other, plain);
            assert!(others.iter().skip(place + 1).all(|another| another != other));
        }
    }
}
