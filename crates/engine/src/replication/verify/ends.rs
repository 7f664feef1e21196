//! The two members that are compared.

use std::sync::Arc;

use crate::catalogue::Table;

/// The two members that are compared.
pub(super) struct Ends {
    pub base: Arc<Table>,
    pub other: Arc<Table>,
}
