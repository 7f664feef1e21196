//! Ids of principals, and access keys with their secrets.

use keywright_semantics::iam::names::Kind;

use crate::support::env::Env;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Characters after the prefix of a principal's id, and of an access key's.
const ID_CHARACTERS: usize = 17;
const KEY_CHARACTERS: usize = 16;
/// Characters of a secret, and of half of it: one random number has the bits of half.
const SECRET_CHARACTERS: usize = 40;
const HALF: usize = SECRET_CHARACTERS / 2;

/// The beginning of an access key of a user.
const KEY_PREFIX: &str = "AKIA";

/// This many characters of an alphabet, whose size is a power of two, by the bits of a random number.
fn text(alphabet: &[u8], mut bits: u128, characters: usize) -> String {
    let base = u128::try_from(alphabet.len()).unwrap_or(1);
    let mut text = String::with_capacity(characters);
    for _ in 0..characters {
        let place = usize::try_from(bits % base).unwrap_or_default();
        text.extend(alphabet.get(place).copied().map(char::from));
        bits /= base;
    }
    assert_eq!(text.len(), characters, "an id has all its characters");
    text
}

/// The id of a new entity.
pub(super) fn of_entity(kind: Kind, env: &dyn Env) -> String {
    format!("{}{}", kind.id_prefix(), text(BASE32, env.random_u128(), ID_CHARACTERS))
}

/// The id of a new managed policy.
pub(super) fn of_policy(env: &dyn Env) -> String {
    format!("ANPA{}", text(BASE32, env.random_u128(), ID_CHARACTERS))
}

/// The id of a new access key.
pub(super) fn of_key(env: &dyn Env) -> String {
    format!("{KEY_PREFIX}{}", text(BASE32, env.random_u128(), KEY_CHARACTERS))
}

/// The secret of a new access key.
pub(super) fn secret(env: &dyn Env) -> String {
    let half = || text(BASE64, env.random_u128(), HALF);
    format!("{}{}", half(), half())
}
