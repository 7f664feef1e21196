//! The operations on global tables of version 2017, of which there are none: the service makes no new ones.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global as messages, table};
use keywright_semantics::request::LegacyGlobalTable;

/// The error of CreateGlobalTable, and of an UpdateGlobalTable with new regions: they do not look for the
/// table.
pub(crate) fn no_new_region() -> Error {
    Error::validation(table::invalid(messages::VERSION_2017))
}

/// The error of UpdateGlobalTable.
pub(crate) fn update(request: &LegacyGlobalTable) -> Error {
    if request.added.is_empty() { no_table(request) } else { no_new_region() }
}

/// The error of DescribeGlobalTable.
pub(crate) fn no_table(request: &LegacyGlobalTable) -> Error {
    Error::new(ErrorKind::GlobalTableNotFound, messages::no_global_table(&request.name))
}

/// The error of DescribeGlobalTableSettings and UpdateGlobalTableSettings.
pub(crate) fn no_settings(request: &LegacyGlobalTable) -> Error {
    Error::new(ErrorKind::GlobalTableNotFound, messages::no_global_table_with_settings(&request.name))
}
