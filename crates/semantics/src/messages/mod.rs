//! The texts of the errors that clients see, one file for each area, each with its source.
//!
//! It does not know when a text is used.

pub mod auth;
pub mod cancellation;
pub mod data_plane;
pub mod expression;
pub mod hash_order;
pub mod item;
pub mod partiql;
pub mod shape;
pub mod stream;
pub mod table;
pub mod tags;
pub mod transaction;
pub mod transport;
pub mod ttl;
pub mod value;

/// Which of its two generations of texts the service answers an operation with: it is moving one operation after the
/// other (observed in us-east-1 in October 2026).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, Query.
    Present,
    /// Scan, BatchWriteItem, transactions.
    Legacy,
}
