//! ExportTableToPointInTime: its typed request.
//!
//! Observed: the service looks for the table before it compares the members with each other. So what an
//! export is of, and its filter, are checked by methods that are called once the table is found.

use super::filter::ExportFilter;
use super::{check_table, table_of_arn};
use crate::error::Error;
use crate::messages::export;
use crate::request::fingerprint::Digest;
use crate::request::parts::{
    ExportFormat, ExportTableToPointInTimeParts, ExportType, ExportViewType, FilterSpecificationParts,
    IncrementalExportSpecificationParts, S3SseAlgorithm,
};
use crate::request::table_ref::{ArnScope, TableRef};
use crate::request::transact_write_items::Fingerprint;

/// What of a table's life an export is of. Times are in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportWindow {
    /// The table as of a time; absent: that of the request.
    Full {
        /// The time.
        at_ms: Option<u64>,
    },
    /// What changed.
    Increment {
        /// The first time that belongs to it.
        from_ms: u64,
        /// The first time that does not; absent: that of the request.
        to_ms: Option<u64>,
        /// Which images of a changed item.
        view: ExportViewType,
    },
}

/// How the bucket is to encrypt the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum S3Encryption {
    /// With a key of the store's own.
    Aes256,
    /// With a key of a key service.
    Kms {
        /// The key, if the client named one.
        key: Option<String>,
    },
}

/// An ExportTableToPointInTime.
#[derive(Clone, Debug)]
pub struct ExportTable {
    /// The table, by ARN.
    pub table: TableRef,
    /// The client's token.
    pub token: Option<String>,
    /// What the request said, except its token.
    pub fingerprint: Fingerprint,
    /// The bucket that the objects are written to.
    pub bucket: String,
    /// The account whose bucket it is.
    pub bucket_owner: Option<String>,
    /// What precedes the keys of the objects.
    pub prefix: Option<String>,
    /// The format of the items.
    pub format: ExportFormat,
    export_time: Option<i64>,
    export_type: Option<ExportType>,
    incremental: Option<IncrementalExportSpecificationParts>,
    algorithm: Option<S3SseAlgorithm>,
    kms_key: Option<String>,
    /// The filter, as the client sent it.
    pub filter: Option<FilterSpecificationParts>,
}

impl ExportTable {
    /// Validates the ARN. What the members say together is checked later.
    pub fn validate(parts: ExportTableToPointInTimeParts) -> Result<Self, Error> {
        let table = table_of_arn(&parts.table_arn)?;
        let fingerprint = fingerprint(&parts);
        Ok(Self {
            table,
            token: parts.client_token,
            fingerprint,
            bucket: parts.s3_bucket,
            bucket_owner: parts.s3_bucket_owner,
            prefix: parts.s3_prefix,
            format: parts.export_format.unwrap_or(ExportFormat::DynamodbJson),
            export_time: parts.export_time,
            export_type: parts.export_type,
            incremental: parts.incremental_export_specification,
            algorithm: parts.s3_sse_algorithm,
            kms_key: parts.s3_sse_kms_key_id,
            filter: parts.filter_specification,
        })
    }

    /// Checks that the table is one of the caller's region and account.
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        check_table(&self.table, caller)
    }

    /// What the export is of.
    pub fn window(&self) -> Result<ExportWindow, Error> {
        let is_increment = self.export_type == Some(ExportType::IncrementalExport);
        let Some(incremental) = &self.incremental else {
            if is_increment {
                return Err(Error::validation(export::increment_without_specification()));
            }
            return Ok(ExportWindow::Full { at_ms: self.export_time.map(since_1970) });
        };
        match self.export_type {
            None => return Err(Error::validation(export::specification_without_type())),
            Some(ExportType::FullExport) => return Err(Error::validation(export::full_with_specification())),
            Some(ExportType::IncrementalExport) => {}
        }
        let from = incremental.export_from_time.ok_or_else(|| Error::validation(export::no_from_time()))?;
        Ok(ExportWindow::Increment {
            from_ms: since_1970(from),
            to_ms: incremental.export_to_time.map(since_1970),
            view: incremental.export_view_type.unwrap_or(ExportViewType::NewAndOldImages),
        })
    }

    /// How the objects are to be encrypted.
    pub fn encryption(&self) -> Result<S3Encryption, Error> {
        match (self.algorithm, &self.kms_key) {
            (Some(S3SseAlgorithm::Kms), key) => Ok(S3Encryption::Kms { key: key.clone() }),
            (Some(S3SseAlgorithm::Aes256) | None, None) => Ok(S3Encryption::Aes256),
            (Some(S3SseAlgorithm::Aes256) | None, Some(_)) => {
                Err(Error::validation(export::key_without_kms()))
            }
        }
    }

    /// The filter, if there is one.
    pub fn filter(&self) -> Result<Option<ExportFilter>, Error> {
        self.filter.clone().map(|parts| ExportFilter::parse(parts, &self.table)).transpose()
    }
}

/// No table has a state of before 1970.
fn since_1970(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

fn fingerprint(parts: &ExportTableToPointInTimeParts) -> Fingerprint {
    let mut digest = Digest::new();
    let text = |digest: &mut Digest, text: Option<&str>| {
        digest.optional(text.as_ref(), |digest, text| digest.text(text));
    };
    let time = |digest: &mut Digest, time: Option<i64>| {
        digest.optional(time.as_ref(), |digest, time| digest.bytes(&time.to_be_bytes()));
    };
    for member in [
        Some(parts.table_arn.as_str()),
        Some(parts.s3_bucket.as_str()),
        parts.s3_bucket_owner.as_deref(),
        parts.s3_prefix.as_deref(),
        parts.s3_sse_algorithm.map(S3SseAlgorithm::name),
        parts.s3_sse_kms_key_id.as_deref(),
        parts.export_format.map(ExportFormat::name),
        parts.export_type.map(ExportType::name),
    ] {
        text(&mut digest, member);
    }
    time(&mut digest, parts.export_time);
    digest.optional(parts.incremental_export_specification.as_ref(), |digest, incremental| {
        time(digest, incremental.export_from_time);
        time(digest, incremental.export_to_time);
        text(digest, incremental.export_view_type.map(ExportViewType::name));
    });
    digest.optional(parts.filter_specification.as_ref(), |digest, filter| {
        text(digest, filter.key_condition_expression.as_deref());
        text(digest, filter.filter_expression.as_deref());
        text(digest, filter.projection_expression.as_deref());
        digest.optional(filter.expression_attribute_names.as_ref(), |digest, names| digest.names(names));
        digest.optional(filter.expression_attribute_values.as_ref(), Digest::values);
    });
    Fingerprint(digest.finish())
}
