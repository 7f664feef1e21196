//! The master key, which comes from outside and is never stored.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroize as _;

use crate::bytes::{hex, random};

/// The purpose of the bytes by which keys are compared.
const FINGERPRINT: &str = "keywright 2026-11-29 fingerprint of a master key";
const FINGERPRINT_BYTES: usize = 8;

/// The key under which the data keys of a folder are sealed. Its bytes are wiped when it is dropped.
#[derive(Clone)]
pub struct MasterKey([u8; Self::BYTES]);

impl MasterKey {
    /// Its length.
    pub const BYTES: usize = 32;

    /// A key of these bytes.
    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// A new key.
    pub fn random() -> Self {
        Self(random())
    }

    /// A key as text: 32 bytes in base64. Space around it does not count.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = STANDARD.decode(text.trim()).ok()?;
        let key = bytes.as_slice().try_into().ok().map(Self);
        bytes.zeroize();
        key
    }

    /// The text that [`Self::parse`] reads.
    pub fn text(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// What tells this key from others, and nothing else of it.
    pub fn fingerprint(&self) -> String {
        let derived = self.derived(FINGERPRINT);
        hex(derived.first_chunk::<FINGERPRINT_BYTES>().unwrap_or(&[0; FINGERPRINT_BYTES]))
    }

    /// A key for one purpose, made from this one. Keys for different purposes reveal nothing of each other.
    pub(crate) fn derived(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.0)
    }
}

impl Drop for MasterKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("MasterKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_32_bytes_in_base64() {
        let key = MasterKey::random();
        let text = key.text();
        assert_eq!(MasterKey::parse(&format!(" {text}\n")).unwrap().text(), text);
        for wrong in ["", "c2hvcnQ=", "no base64", &STANDARD.encode([1; 33])] {
            assert!(MasterKey::parse(wrong).is_none(), "{wrong}");
        }
        assert_ne!(MasterKey::random().text(), text);
        assert!(!format!("{key:?}").contains(&text));
        assert_eq!(MasterKey::parse(&text).unwrap().fingerprint(), key.fingerprint());
        assert_ne!(MasterKey::random().fingerprint(), key.fingerprint());
        assert_eq!(key.fingerprint().len(), 16);
    }
}
