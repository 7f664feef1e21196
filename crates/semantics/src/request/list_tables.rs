//! ListTables: its typed request.

use super::parts::ListTablesParts;
use crate::limits::TABLES_PER_PAGE_MAX;

/// A ListTables.
#[derive(Clone, Debug)]
pub struct ListTables {
    /// The last table name of the previous page.
    pub exclusive_start: Option<String>,
    /// Names on a page at most.
    pub limit: usize,
}

impl ListTables {
    /// Takes the limit of the request, or the service's default. The shape check has bounded it.
    pub fn validate(parts: ListTablesParts) -> Self {
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(TABLES_PER_PAGE_MAX);
        Self { exclusive_start: parts.exclusive_start_table_name, limit: limit.clamp(1, TABLES_PER_PAGE_MAX) }
    }
}
