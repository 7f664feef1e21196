//! What a store knows of an object.

use std::fmt;

use object_store::ObjectMeta;

/// What a store says of the content of an object: another content has another one. It is without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Etag(String);

impl Etag {
    /// As it was written down.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn of(text: &str) -> Self {
        Self(text.trim_matches('"').to_owned())
    }

    /// As a condition of a request.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An object of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its key.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// What the store says of its content.
    pub etag: Etag,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: u64,
}

impl Object {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        let modified_ms = u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0);
        let etag = match &meta.e_tag {
            Some(etag) => Etag::of(etag),
            // A store that says nothing of the content.
            None => Etag(format!("{modified_ms:x}-{:x}", meta.size)),
        };
        Self { key: meta.location.to_string(), bytes: meta.size, etag, modified_ms }
    }
}
