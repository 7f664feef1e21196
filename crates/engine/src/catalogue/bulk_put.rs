//! A bulk put that is at work on a table, as stored in the table's record.

use serde::{Deserialize, Serialize};

/// A bulk put. Its writers are bound to the record, so none of them commits anything after a change of this
/// was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BulkPutting {
    /// The id of the job.
    pub job: String,
    /// Whether a client has cancelled it. It ends then.
    pub is_cancelled: bool,
}
