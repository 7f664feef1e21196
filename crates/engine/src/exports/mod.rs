//! The operations on exports. What is exported, and how far that is, is the matter of its job
//! (`jobs::export`).
//!
//! - `begin`: ExportTableToPointInTime.
//! - `describe`: DescribeExport and ListExports.

mod begin;
mod describe;

pub(crate) use begin::begin;
pub(crate) use describe::{describe, list};

use keywright_semantics::request::ArnScope;

use crate::support::env::Namespace;

/// Where a caller's ARNs are.
fn scope(namespace: &Namespace) -> ArnScope {
    ArnScope { region: namespace.region.to_string(), account: namespace.account.to_string() }
}
