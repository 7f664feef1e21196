//! Values that are sealed: nobody can read or change them without the key, or put them in another place.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroize as _;

use crate::bytes::random;
use crate::master::MasterKey;

/// Seals values under a key of its own, made from a master key for one purpose.
///
/// ```text
/// sealed value    nonce of 12 random bytes | the value under AES-256-GCM | tag of 16 bytes
/// ```
pub struct Sealer(LessSafeKey);

impl Sealer {
    /// Bytes by which a sealed value is longer.
    pub const OVERHEAD_BYTES: usize = NONCE_LEN + 16;

    /// Seals values of a purpose, a sentence that no other purpose uses.
    pub fn new(master: &MasterKey, purpose: &str) -> Self {
        let mut key = master.derived(purpose);
        let unbound = UnboundKey::new(&AES_256_GCM, &key).expect("a key of AES-256 has 32 bytes");
        key.zeroize();
        Self(LessSafeKey::new(unbound))
    }

    /// Seals a value for a place: only there it can be opened.
    pub fn seal(&self, place: &[u8], value: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = random();
        let mut sealed = value.to_vec();
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place), &mut sealed)
            .expect("values are shorter than the cipher takes");
        sealed.splice(..0, nonce);
        assert_eq!(sealed.len(), value.len() + Self::OVERHEAD_BYTES, "a nonce and a tag are added");
        sealed
    }

    /// The value, if it was sealed under this key for this place and nothing was changed.
    pub fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut value = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.0.open_in_place(nonce, Aad::from(place), &mut value).ok()?.len();
        value.truncate(length);
        Some(value)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Sealer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_opens_only_as_it_is_in_its_place_under_its_key() {
        let master = MasterKey::random();
        let seals = Sealer::new(&master, "a test");
        let sealed = seals.seal(b"here", b"secret");
        assert_eq!(seals.open(b"here", &sealed).as_deref(), Some(b"secret".as_slice()));
        assert_eq!(seals.open(b"there", &sealed), None);
        assert_eq!(Sealer::new(&master, "another test").open(b"here", &sealed), None);
        assert_eq!(Sealer::new(&MasterKey::random(), "a test").open(b"here", &sealed), None);
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert_eq!(seals.open(b"here", &changed), None, "byte {place}");
        }
        for length in 0..sealed.len() {
            assert_eq!(seals.open(b"here", &sealed[..length]), None, "{length} bytes");
        }
        assert_ne!(seals.seal(b"here", b"secret"), sealed, "each seal has a nonce of its own");
        assert_eq!(seals.open(b"", &seals.seal(b"", b"")).as_deref(), Some(b"".as_slice()));
    }
}
