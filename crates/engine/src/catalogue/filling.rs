//! A table that a restore or an import fills, as stored in its record: it stays CREATING until the job has
//! ended.

use serde::{Deserialize, Serialize};

/// What fills a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filling {
    /// The id of the job.
    pub job: String,
    /// Every restore has a source table; an import has none.
    pub source_table_arn: Option<String>,
    pub source_backup_arn: Option<String>,
    /// The time as of which the table is restored.
    pub restore_ms: u64,
}

impl Filling {
    /// An import, by the id of its job.
    pub(crate) const fn by_import(job: String) -> Self {
        Self { job, source_table_arn: None, source_backup_arn: None, restore_ms: 0 }
    }

    /// Whether an import fills the table.
    pub(crate) const fn is_import(&self) -> bool {
        self.source_table_arn.is_none()
    }
}
