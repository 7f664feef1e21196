//! Verifies the signature of a claim.
//!
//! Derived signing keys are cached per access key, day, region and service, because deriving one costs more
//! than the rest of the verification.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::auth;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::SignedRequest;
use super::canonical::{canonical_request, push_hex};
use super::claim::{ALGORITHM, Claim, query_value};

/// Derived keys in the cache; when it is full, it is cleared.
const SIGNING_KEYS_MAX: usize = 1024;

/// Bytes allocated for the text to sign; it needs no second allocation.
const TO_SIGN_BYTES: usize = 192;

/// The source of secrets.
pub trait Keyring {
    /// The secret of an access key; `None` if there is no such key.
    fn secret(&self, access_key_id: &str) -> Option<&str>;
}

pub(super) type SigningKey = [u8; 32];

/// Two hexadecimal digits per byte.
const SIGNATURE_DIGITS: usize = 2 * size_of::<SigningKey>();

/// A cache of derived signing keys by credential, which is the access key with its scope.
#[derive(Debug, Default)]
pub struct SigningKeys {
    keys: Mutex<HashMap<String, SigningKey>>,
}

impl SigningKeys {
    fn derived(&self, claim: &Claim<'_>, secret: &str) -> SigningKey {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = keys.get(claim.credential()) {
            return *key;
        }
        if keys.len() >= SIGNING_KEYS_MAX {
            keys.clear();
        }
        let key = derive(secret, claim.scope());
        keys.insert(claim.credential().to_owned(), key);
        assert!(keys.len() <= SIGNING_KEYS_MAX, "the cache holds so many keys at most");
        key
    }
}

/// Derives the signing key: signs each part of the scope with the result of the previous part.
pub(super) fn derive(secret: &str, scope: &str) -> SigningKey {
    let seed = format!("AWS4{secret}");
    let key = scope.split('/').fold(None, |key: Option<SigningKey>, part| {
        Some(sign(key.as_ref().map_or(seed.as_bytes(), |key| key.as_slice()), part.as_bytes()))
    });
    key.unwrap_or_default()
}

fn sign(key: &[u8], message: &[u8]) -> SigningKey {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// The signature of a canonical request, in hexadecimal.
pub(super) fn signature(key: &SigningKey, canonical: &str, time_text: &str, scope: &str) -> String {
    let mut to_sign = String::with_capacity(TO_SIGN_BYTES);
    for line in [ALGORITHM, time_text, scope] {
        to_sign.push_str(line);
        to_sign.push('\n');
    }
    push_hex(&mut to_sign, &Sha256::digest(canonical.as_bytes()).into());
    let mut signature = String::with_capacity(SIGNATURE_DIGITS);
    push_hex(&mut signature, &sign(key, to_sign.as_bytes()));
    assert_eq!(signature.len(), SIGNATURE_DIGITS, "a signature has two digits a byte");
    signature
}

/// Checks the access key, then the signature, of a claim whose time `read_claim` has checked.
pub fn verify(
    request: &SignedRequest<'_>,
    claim: &Claim<'_>,
    keyring: &impl Keyring,
    signing_keys: &SigningKeys,
) -> Result<(), Error> {
    let secret = check_key(request, claim, keyring)?;
    verify_signature(request, claim, secret, signing_keys)
}

/// The secret of a claim's access key. It does not read the body, which the server may not have received yet.
pub fn check_key<'k>(
    request: &SignedRequest<'_>,
    claim: &Claim<'_>,
    keyring: &'k impl Keyring,
) -> Result<&'k str, Error> {
    let secret = keyring
        .secret(claim.access_key_id())
        .ok_or_else(|| Error::new(ErrorKind::UnrecognizedClient, auth::UNKNOWN_KEY))?;
    // These are long-term keys, which have no session token.
    if session_token(request).is_some() {
        return Err(Error::new(ErrorKind::UnrecognizedClient, auth::FOREIGN_TOKEN));
    }
    Ok(secret)
}

/// Whether a name occurs twice. Clients sort the names.
fn repeats(names: &[&str]) -> bool {
    if names.is_sorted_by(|one, next| one < next) {
        return false;
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair.first() == pair.last())
}

/// Checks the signature of a claim with the secret that `check_key` found. The request must have its body
/// now.
pub fn verify_signature(
    request: &SignedRequest<'_>,
    claim: &Claim<'_>,
    secret: &str,
    signing_keys: &SigningKeys,
) -> Result<(), Error> {
    let signed_headers: Vec<&str> = claim.signed_headers().collect();
    // Each name brings its header's value into the canonical request: repeated ones would make it any size.
    if repeats(&signed_headers) {
        return Err(Error::new(ErrorKind::InvalidSignature, auth::SIGNATURE_MISMATCH));
    }
    let canonical = canonical_request(request, &signed_headers, claim.placement);
    let key = signing_keys.derived(claim, secret);
    let expected = signature(&key, &canonical, &claim.time_text, claim.scope());
    if bool::from(expected.as_bytes().ct_eq(claim.signature.as_bytes())) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidSignature, auth::SIGNATURE_MISMATCH))
}

/// The token of a session that a request brings with its key.
pub fn session_token<'a>(request: &SignedRequest<'a>) -> Option<Cow<'a, str>> {
    let header = request.header("x-amz-security-token").map(Cow::Borrowed);
    header.or_else(|| query_value(request.query, "X-Amz-Security-Token").map(Cow::Owned))
}
