//! Rows with secrets in a store that others can read: sealed, if the process has a key for them.
//!
//! ```text
//! 2 | the row, sealed for its key of the store
//! ```
//!
//! Rows of a store without a key stay as `record` writes them. It does not know how a row is sealed.

use std::sync::Arc;

use bytes::Bytes;

use crate::support::config::RowSeal;

/// The first byte of a sealed row. No other row of the directory begins so and is as long.
const SEALED: u8 = 2;
/// Bytes of the key of sessions, which has no format.
const SESSION_KEY_BYTES: usize = 32;

/// Seals and opens rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Seals(Option<Arc<dyn RowSeal>>);

impl Seals {
    pub(super) fn new(seal: Option<Arc<dyn RowSeal>>) -> Self {
        Self(seal)
    }

    /// Whether rows of this process are sealed.
    pub(super) fn are_on(&self) -> bool {
        self.0.is_some()
    }

    /// A row as it is stored.
    pub(super) fn stored(&self, key: &[u8], row: Bytes) -> Bytes {
        let Some(seal) = &self.0 else { return row };
        let mut stored = vec![SEALED];
        stored.extend_from_slice(&seal.seal(key, &row));
        assert_ne!(stored.len(), SESSION_KEY_BYTES, "a sealed row is not taken for the key of sessions");
        stored.into()
    }

    /// A row that was stored, or why it cannot be opened.
    pub(super) fn opened(&self, key: &[u8], stored: &Bytes) -> Result<Bytes, String> {
        if !is_sealed(stored) {
            return Ok(stored.clone());
        }
        let fault = |what: &str| format!("users and policies of this store are sealed under {what}");
        let Some(seal) = &self.0 else {
            return Err(fault(
                "an encryption key: start this server with the --encryption-key-file that the others have",
            ));
        };
        let sealed = stored.get(1..).unwrap_or_default();
        let opened = seal.open(key, sealed).map(Bytes::from);
        opened.ok_or_else(|| fault("another encryption key than that of this server, or were changed"))
    }
}

/// Whether a stored row is sealed.
pub(super) fn is_sealed(stored: &[u8]) -> bool {
    stored.first() == Some(&SEALED) && stored.len() != SESSION_KEY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns each byte around, and puts the key before it.
    #[derive(Debug)]
    struct Masked;

    impl RowSeal for Masked {
        fn seal(&self, key: &[u8], row: &[u8]) -> Vec<u8> {
            key.iter().copied().chain(row.iter().map(|byte| !byte)).collect()
        }

        fn open(&self, key: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
            Some(sealed.strip_prefix(key)?.iter().map(|byte| !byte).collect())
        }
    }

    #[test]
    fn a_row_is_opened_where_it_was_sealed_and_a_plain_one_as_it_is() {
        let (on, off) = (Seals::new(Some(Arc::new(Masked))), Seals::default());
        let row = Bytes::from_static(b"\x01 a row");
        assert_eq!(off.stored(b"k", row.clone()), row);
        let stored = on.stored(b"k", row.clone());
        assert!(is_sealed(&stored) && !stored.ends_with(b"a row"));
        assert_eq!(on.opened(b"k", &stored), Ok(row.clone()));
        assert_eq!(on.opened(b"k", &row), Ok(row), "of a time without a key");
        assert!(on.opened(b"other", &stored).unwrap_err().contains("another encryption key"));
        assert!(off.opened(b"k", &stored).unwrap_err().contains("--encryption-key-file"));
        assert!(!is_sealed(&[SEALED; SESSION_KEY_BYTES]), "that is a key of sessions");
    }
}
