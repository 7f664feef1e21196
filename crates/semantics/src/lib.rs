//! What DynamoDB means, pure: values, 38-digit numbers, keys, sizes, schemas, expressions, operations, typed
//! requests and what they touch, responses, capacity units, limits and error texts.
//!
//! It deliberately does not know: sockets, JSON, clocks, threads, storage.

pub mod capacity;
pub mod codec;
pub mod error;
pub mod event_sources;
pub mod expression;
pub mod iam;
pub mod key;
pub mod limits;
pub mod messages;
pub mod monitoring;
pub mod name_map;
pub mod number;
pub mod operation;
pub mod partiql;
pub mod place;
pub mod request;
pub mod response;
pub mod scaling;
pub mod schema;
pub mod sequence;
pub mod share;
pub mod size;
pub mod sts;
pub mod throttle;
pub mod touches;
pub mod value;
