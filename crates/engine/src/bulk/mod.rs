//! The operations on bulk puts. How records become items is the matter of their job (`jobs::bulk_put`).
//!
//! - `begin`: StartBulkPutItems.
//! - `describe`: DescribeBulkOperation and ListBulkOperations.
//! - `cancel`: CancelBulkOperation.
//!
//! Layers: describe < begin, cancel

mod begin;
mod cancel;
mod describe;

pub(crate) use begin::begin;
pub(crate) use cancel::cancel;
pub(crate) use describe::{describe, list};
