//! The error messages that clients see, one file for each area, each with its source.
//!
//! DynamoDB's messages are kept byte for byte. This module does not decide when a message is used.

pub mod access;
pub mod auth;
pub mod backup;
pub mod bulk;
pub mod cancellation;
pub mod data_plane;
pub mod destination;
pub mod export;
pub mod expression;
pub mod files;
pub mod global;
pub mod hash_order;
pub mod import;
pub mod item;
pub mod kms;
pub mod partiql;
pub mod resource_policy;
pub mod shape;
pub mod stream;
pub mod table;
pub mod tags;
pub mod throttle;
pub mod transaction;
pub mod transport;
pub mod ttl;
pub mod value;

/// The generation of the validator whose wording an operation has. The service is moving its operations to
/// the present one (observed in us-east-1 in October 2026).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, Query.
    Present,
    /// Scan, BatchWriteItem, transactions.
    Legacy,
}
