//! EnableKinesisStreamingDestination, DisableKinesisStreamingDestination, UpdateKinesisStreamingDestination
//! and DescribeKinesisStreamingDestination: their typed requests.
//!
//! An ARN of a stream is taken as it is: whether there is such a stream shows later (observed).

use super::parts::{
    ApproximateCreationDateTimePrecision as Precision, DescribeKinesisStreamingDestinationParts,
    DisableKinesisStreamingDestinationParts, UpdateKinesisStreamingDestinationParts,
};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::messages::destination as messages;

/// A DescribeKinesisStreamingDestination.
#[derive(Clone, Debug)]
pub struct DescribeKinesisStreamingDestination {
    /// The table, by name or ARN.
    pub table: TableRef,
}

impl DescribeKinesisStreamingDestination {
    /// Validates the parts.
    pub fn validate(parts: &DescribeKinesisStreamingDestinationParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}

/// A DisableKinesisStreamingDestination.
#[derive(Clone, Debug)]
pub struct DisableKinesisStreamingDestination {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The stream that gets no more changes.
    pub stream_arn: String,
}

impl DisableKinesisStreamingDestination {
    /// Validates the parts.
    pub fn validate(parts: DisableKinesisStreamingDestinationParts) -> Result<Self, Error> {
        if parts.enable_kinesis_streaming_configuration.is_some() {
            return Err(Error::validation(messages::DISABLED_WITH_CONFIGURATION));
        }
        Ok(Self { table: TableRef::parse(&parts.table_name)?, stream_arn: parts.stream_arn })
    }
}

/// An EnableKinesisStreamingDestination.
#[derive(Clone, Debug)]
pub struct EnableKinesisStreamingDestination {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The stream that gets the changes.
    pub stream_arn: String,
    /// The precision of their times, if the client chooses one.
    pub precision: Option<Precision>,
}

impl EnableKinesisStreamingDestination {
    /// Validates the parts, which have the same shape as those of DisableKinesisStreamingDestination.
    pub fn validate(parts: DisableKinesisStreamingDestinationParts) -> Result<Self, Error> {
        let configuration = parts.enable_kinesis_streaming_configuration;
        Ok(Self {
            table: TableRef::parse(&parts.table_name)?,
            stream_arn: parts.stream_arn,
            precision: configuration.and_then(|given| given.approximate_creation_date_time_precision),
        })
    }
}

/// An UpdateKinesisStreamingDestination.
#[derive(Clone, Debug)]
pub struct UpdateKinesisStreamingDestination {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The stream.
    pub stream_arn: String,
    /// The new precision of times.
    pub precision: Precision,
}

impl UpdateKinesisStreamingDestination {
    /// Validates the parts.
    pub fn validate(parts: UpdateKinesisStreamingDestinationParts) -> Result<Self, Error> {
        let configuration = parts.update_kinesis_streaming_configuration;
        let precision = configuration.and_then(|given| given.approximate_creation_date_time_precision);
        let nothing = || Error::validation(messages::UPDATE_WITHOUT_CHANGE);
        Ok(Self {
            precision: precision.ok_or_else(nothing)?,
            table: TableRef::parse(&parts.table_name)?,
            stream_arn: parts.stream_arn,
        })
    }
}
