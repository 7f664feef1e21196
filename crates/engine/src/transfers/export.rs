//! What an export's request asked for, as it is stored.

use serde::{Deserialize, Serialize};

/// The format of the data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    Json,
    Ion,
}

/// Which images an increment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum View {
    New,
    NewAndOld,
}

/// What is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Extent {
    /// The table as of a time: all commits before it.
    Full { at_ms: u64 },
    /// The items that changed from one time on, before another.
    Increment { from_ms: u64, to_ms: u64, view: View },
}

/// How the bucket is to encrypt the objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Encryption {
    /// With a key of the store's own.
    Aes256,
    /// With a key of a key service: this one, if the client named one.
    Kms { key: Option<String> },
}

/// The texts of a filter, as the client sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilterTexts {
    pub key_condition: Option<String>,
    pub filter: Option<String>,
    pub projection: Option<String>,
    pub names: Vec<(String, String)>,
    /// Values in their stored form.
    pub values: Vec<(String, Vec<u8>)>,
}

/// What was asked for. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Export {
    pub bucket: String,
    pub bucket_owner: Option<String>,
    pub prefix: Option<String>,
    pub encryption: Encryption,
    pub format: Format,
    pub extent: Extent,
    pub filter: Option<FilterTexts>,
    /// The key of the manifest; absent until it is written.
    pub manifest: Option<String>,
}
