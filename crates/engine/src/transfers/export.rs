//! What an export's request asked for, as it is stored.

use keywright_semantics::request::S3Encryption;
use keywright_semantics::request::parts::{ExportFormat, ExportViewType};
use serde::{Deserialize, Serialize};

/// Where the objects of an export are written to, in which form, and what they are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportTarget {
    /// The bucket.
    pub bucket: String,
    /// The account whose bucket it is.
    pub bucket_owner: Option<String>,
    /// What precedes the keys of the objects.
    pub prefix: Option<String>,
    /// How the bucket is to encrypt them.
    pub encryption: S3Encryption,
    /// The format of the items.
    pub format: ExportFormat,
    /// What is exported.
    pub span: ExportSpan,
}

/// What of a table's life is exported. Times are in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportSpan {
    /// The table as of a time.
    Full {
        /// All commits before it.
        at_ms: u64,
    },
    /// What changed.
    Increment {
        /// The first time that belongs to it.
        from_ms: u64,
        /// The first time that does not.
        to_ms: u64,
        /// Which images of a changed item.
        view: ExportViewType,
    },
}

/// The format of the data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    Json,
    Ion,
}

impl Format {
    pub(crate) const fn of(format: ExportFormat) -> Self {
        match format {
            ExportFormat::DynamodbJson => Self::Json,
            ExportFormat::Ion => Self::Ion,
        }
    }
}

/// Which images an increment has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum View {
    New,
    NewAndOld,
}

impl View {
    pub(crate) const fn of(view: ExportViewType) -> Self {
        match view {
            ExportViewType::NewImage => Self::New,
            ExportViewType::NewAndOldImages => Self::NewAndOld,
        }
    }

    pub(crate) const fn named(self) -> ExportViewType {
        match self {
            Self::New => ExportViewType::NewImage,
            Self::NewAndOld => ExportViewType::NewAndOldImages,
        }
    }
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

impl Encryption {
    pub(crate) fn of(encryption: S3Encryption) -> Self {
        match encryption {
            S3Encryption::Aes256 => Self::Aes256,
            S3Encryption::Kms { key } => Self::Kms { key },
        }
    }
}

/// The texts of a filter, as the client sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilterTexts {
    pub key_condition: Option<String>,
    pub filter: Option<String>,
    pub projection: Option<String>,
    pub names: Option<Vec<(String, String)>>,
    /// An item of the values, in its stored form.
    pub values: Option<Vec<u8>>,
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

impl Export {
    pub(crate) const fn span(&self) -> ExportSpan {
        match self.extent {
            Extent::Full { at_ms } => ExportSpan::Full { at_ms },
            Extent::Increment { from_ms, to_ms, view } => {
                ExportSpan::Increment { from_ms, to_ms, view: view.named() }
            }
        }
    }

    /// What a caller has to know to write the objects.
    pub(crate) fn target(&self) -> ExportTarget {
        ExportTarget {
            bucket: self.bucket.clone(),
            bucket_owner: self.bucket_owner.clone(),
            prefix: self.prefix.clone(),
            encryption: match &self.encryption {
                Encryption::Aes256 => S3Encryption::Aes256,
                Encryption::Kms { key } => S3Encryption::Kms { key: key.clone() },
            },
            format: match self.format {
                Format::Json => ExportFormat::DynamodbJson,
                Format::Ion => ExportFormat::Ion,
            },
            span: self.span(),
        }
    }
}
