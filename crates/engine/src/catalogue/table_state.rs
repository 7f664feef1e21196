//! States of a table that each member of a strongly consistent group has for itself. Their fields are stored.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TableStatus {
    Creating,
    Updating,
    Active,
    Deleting,
}

/// Server-side encryption with a key of the account's, as reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EncryptionState {
    pub key_arn: String,
}

/// A change of the key that encrypts a table, as reported while it is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyChange {
    pub began_ms: u64,
    pub until_ms: u64,
    pub before: Option<EncryptionState>,
}

impl KeyChange {
    /// Whether the table still shows the key that it had. The service shows it for 8 to 9 of 22 seconds
    /// (observed).
    pub(crate) fn shows_old_key(&self, now_ms: u64) -> bool {
        let all_ms = self.until_ms.saturating_sub(self.began_ms);
        now_ms < self.began_ms.saturating_add(all_ms.saturating_mul(2) / 5)
    }
}
