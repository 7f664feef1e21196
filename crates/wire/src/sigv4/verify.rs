//! Whether a claim's signature holds.
//!
//! Signing keys are derived once a day for each key, region and service and kept, because deriving one costs more than
//! everything else here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::auth;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::SignedRequest;
use super::canonical::{canonical_request, push_hex};
use super::claim::{ALGORITHM, Claim};

/// Derived keys kept at once; past it the table is emptied.
const SIGNING_KEYS_MAX: usize = 1024;

/// Where secrets come from.
pub trait Keyring {
    /// The secret of that access key, or `None` if there is no such key.
    fn secret(&self, access_key_id: &str) -> Option<&str>;
}

type SigningKey = [u8; 32];

/// Derived signing keys by access key and scope.
#[derive(Debug, Default)]
pub struct SigningKeys {
    keys: Mutex<HashMap<(String, String), SigningKey>>,
}

impl SigningKeys {
    fn derived(&self, claim: &Claim, secret: &str) -> SigningKey {
        let place = (claim.access_key_id.clone(), claim.scope());
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = keys.get(&place) {
            return *key;
        }
        if keys.len() >= SIGNING_KEYS_MAX {
            keys.clear();
        }
        let key = derive(secret, claim);
        keys.insert(place, key);
        key
    }
}

fn derive(secret: &str, claim: &Claim) -> SigningKey {
    let seed = format!("AWS4{secret}");
    [claim.date.as_str(), &claim.region, &claim.service, "aws4_request"]
        .iter()
        .fold(None, |key: Option<SigningKey>, part| {
            Some(match key {
                None => sign(seed.as_bytes(), part.as_bytes()),
                Some(key) => sign(&key, part.as_bytes()),
            })
        })
        .unwrap_or_default()
}

fn sign(key: &[u8], message: &[u8]) -> SigningKey {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Checks the key, then the signature, of a claim that `read_claim` found current.
pub fn verify(
    request: &SignedRequest<'_>,
    claim: &Claim,
    keyring: &impl Keyring,
    signing_keys: &SigningKeys,
) -> Result<(), Error> {
    let secret = keyring
        .secret(&claim.access_key_id)
        .ok_or_else(|| Error::new(ErrorKind::UnrecognizedClient, auth::UNKNOWN_KEY))?;
    let canonical = canonical_request(request, claim);
    let mut to_sign = format!("{ALGORITHM}\n{}\n{}\n", claim.time_text, claim.scope());
    push_hex(&mut to_sign, &Sha256::digest(canonical.as_bytes()));
    let mut expected = String::with_capacity(64);
    push_hex(&mut expected, &sign(&signing_keys.derived(claim, secret), to_sign.as_bytes()));
    if bool::from(expected.as_bytes().ct_eq(claim.signature.as_bytes())) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidSignature, auth::SIGNATURE_MISMATCH))
}
