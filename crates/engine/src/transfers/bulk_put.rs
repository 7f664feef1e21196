//! What a bulk put's request asked for, as it is stored.

use serde::{Deserialize, Serialize};

/// What was asked for. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BulkPut;
