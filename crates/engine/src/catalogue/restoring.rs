//! A table that is being restored, as stored in its record: it stays CREATING until the restore has ended.

use serde::{Deserialize, Serialize};

/// The restore that fills a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restoring {
    /// The id of the job.
    pub job: String,
    pub source_table_arn: Option<String>,
    pub source_backup_arn: Option<String>,
    /// The time as of which the table is restored.
    pub restore_ms: u64,
}
