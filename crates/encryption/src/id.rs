//! Names of data keys.

use std::fmt;

use crate::bytes::{hex, of_hex, random};

/// Names a data key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 16]);

impl KeyId {
    pub(crate) fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub(crate) fn random() -> Self {
        Self(random())
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id that [`fmt::Display`] shows.
    pub fn parse(text: &str) -> Option<Self> {
        of_hex(text).map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(&self.0))
    }
}
