//! ListTables: its typed request.

use super::parts::ListTablesParts;

/// Names on a page when the client does not say (API reference: ListTables).
const PAGE_NAMES_MAX: usize = 100;

/// A ListTables.
#[derive(Clone, Debug)]
pub struct ListTables {
    /// The last table name of the previous page.
    pub exclusive_start: Option<String>,
    /// Names on a page at most.
    pub limit: usize,
}

impl ListTables {
    /// The shape has bounded the limit already.
    pub fn validate(parts: ListTablesParts) -> Self {
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE_NAMES_MAX);
        Self { exclusive_start: parts.exclusive_start_table_name, limit: limit.clamp(1, PAGE_NAMES_MAX) }
    }
}
