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
