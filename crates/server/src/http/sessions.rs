//! Sessions: what a session token says, and how it is sealed.
//!
//! Nothing is stored: the token holds all of the session, sealed under the server's key of sessions with the
//! id of its access key, and the secret of the access key follows from both. So sessions outlive a restart
//! and are known to every process over one store. It does not know whether a session's user or role still
//! exists.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keywright_engine::SessionKey;
use keywright_wire::sigv4::TimeMs;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use serde::{Deserialize, Serialize};

use crate::process::environment;
use crate::process::failure::Failure;
use crate::storage::private_file;

/// The beginning of the id of a session's access key.
const KEY_PREFIX: &str = "ASIA";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const KEY_CHARACTERS: usize = 16;
/// Characters of a token. Sessions of ten policies and fifty tags have less.
const TOKEN_CHARACTERS_MAX: usize = 32 * 1024;

/// Whose session it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Holder {
    /// The account itself, by a key of the credentials file.
    Root {
        key: String,
    },
    User {
        name: String,
        id: String,
    },
    Role {
        name: String,
        id: String,
        session: String,
    },
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) account: String,
    pub(crate) holder: Holder,
    pub(crate) issued_ms: u64,
    pub(crate) expires_ms: u64,
    pub(crate) tags: Vec<(String, String)>,
    /// The keys of those tags that sessions of this session inherit.
    pub(crate) transitive: Vec<String>,
    pub(crate) policy: Option<String>,
    pub(crate) policy_arns: Vec<String>,
    pub(crate) source_identity: Option<String>,
}

/// The access key of a session.
#[derive(Clone)]
pub(crate) struct SessionAccess {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) token: String,
}

/// Why a token opens no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSession {
    /// Another server sealed it, or for another key, or it was altered.
    Foreign,
    Expired,
}

/// Seals and opens sessions.
pub(crate) struct Sessions {
    sealing: LessSafeKey,
    secrets: hmac::Key,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sessions").finish_non_exhaustive()
    }
}

/// A key for one purpose, made of the key of sessions.
fn derived(key: &SessionKey, purpose: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), purpose.as_bytes())
}

impl Sessions {
    pub(crate) fn new(key: &SessionKey) -> Self {
        let sealing = UnboundKey::new(&AES_256_GCM, derived(key, "seal").as_ref());
        let secrets = hmac::Key::new(hmac::HMAC_SHA256, derived(key, "secret").as_ref());
        Self { sealing: LessSafeKey::new(sealing.expect("a key of AES-256 has 32 bytes")), secrets }
    }

    /// Those under the key in a file, which nobody else can read: 32 bytes in base64.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Failure> {
        let failed = |fault: &str| {
            Failure::new(format!("cannot read the session token key {}: {fault}", path.display()))
        };
        let text = private_file::read(path).map_err(|fault| failed(&fault))?;
        let text = text.ok_or_else(|| failed("the file does not exist"))?;
        let key = STANDARD.decode(text.trim()).ok().and_then(|bytes| SessionKey::try_from(bytes).ok());
        let key = key
            .ok_or_else(|| failed("it is not 32 bytes in base64; make one with `openssl rand -base64 32`"))?;
        Ok(Self::new(&key))
    }

    /// Begins a session: a new access key, and the token that goes with it.
    pub(crate) fn begin(&self, session: &Session) -> SessionAccess {
        let access_key_id = access_key_id(environment::random_u128());
        let session = serde_json::to_vec(session).expect("a session of texts and numbers is JSON");
        let token = self.seal(&access_key_id, session);
        SessionAccess { secret_access_key: self.secret(&access_key_id), access_key_id, token }
    }

    /// The token of a session's bytes.
    pub(crate) fn seal(&self, access_key_id: &str, mut session: Vec<u8>) -> String {
        let mut nonce = [0; NONCE_LEN];
        for (byte, random) in nonce.iter_mut().zip(environment::random_u128().to_be_bytes()) {
            *byte = random;
        }
        let aad = Aad::from(access_key_id.as_bytes());
        self.sealing
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut session)
            .expect("a session is shorter than the cipher takes");
        STANDARD.encode([&nonce[..], &session].concat())
    }

    /// The session of a token at a time: from the millisecond of its end on it is over.
    pub(crate) fn open_at(
        &self,
        access_key_id: &str,
        token: &str,
        now: TimeMs,
    ) -> Result<Session, NoSession> {
        let session = self.open(access_key_id, token).ok_or(NoSession::Foreign)?;
        if session.expires_ms <= now.0 { Err(NoSession::Expired) } else { Ok(session) }
    }

    /// The session of a token; none if another server sealed it, for another key, or if it was altered.
    pub(crate) fn open(&self, access_key_id: &str, token: &str) -> Option<Session> {
        if token.len() > TOKEN_CHARACTERS_MAX {
            return None;
        }
        let mut bytes = STANDARD.decode(token).ok()?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let aad = Aad::from(access_key_id.as_bytes());
        let opened = self.sealing.open_in_place(nonce, aad, sealed).ok()?;
        serde_json::from_slice(opened).ok()
    }

    /// The secret of a session's access key.
    pub(crate) fn secret(&self, access_key_id: &str) -> String {
        let tag = hmac::sign(&self.secrets, access_key_id.as_bytes());
        STANDARD.encode(tag.as_ref().get(..30).unwrap_or_default())
    }
}

/// A new id of an access key, of the bits of a random number.
fn access_key_id(mut bits: u128) -> String {
    let mut id = KEY_PREFIX.to_owned();
    for _ in 0..KEY_CHARACTERS {
        let place = usize::try_from(bits % 32).unwrap_or_default();
        id.extend(BASE32.get(place).copied().map(char::from));
        bits /= 32;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session {
            account: "123456789012".to_owned(),
            holder: Holder::Role { name: "r".to_owned(), id: "AROA".to_owned(), session: "s".to_owned() },
            issued_ms: 1,
            expires_ms: 2,
            tags: vec![("k".to_owned(), "v".to_owned())],
            transitive: Vec::new(),
            policy: None,
            policy_arns: Vec::new(),
            source_identity: None,
        }
    }

    #[test]
    fn a_session_opens_with_its_key_and_its_access_key_alone() {
        let sessions = Sessions::new(&[7; 32]);
        let access = sessions.begin(&session());
        assert_eq!(sessions.open(&access.access_key_id, &access.token), Some(session()));
        assert_eq!(Sessions::new(&[7; 32]).secret(&access.access_key_id), access.secret_access_key);
        assert_eq!(sessions.open("ASIAOTHER", &access.token), None);
        assert_eq!(Sessions::new(&[8; 32]).open(&access.access_key_id, &access.token), None);
    }

    #[test]
    fn a_session_is_over_from_its_end_on() {
        let sessions = Sessions::new(&[7; 32]);
        let session = Session { issued_ms: 1_000, expires_ms: 901_000, ..session() };
        let access = sessions.begin(&session);
        let at = |now| sessions.open_at(&access.access_key_id, &access.token, TimeMs(now));
        assert_eq!(at(1_000), Ok(session.clone()));
        assert_eq!(at(900_999), Ok(session));
        assert_eq!(at(901_000), Err(NoSession::Expired));
        assert_eq!(at(u64::MAX), Err(NoSession::Expired));
        // Who cannot open a token does not learn whether it has expired.
        assert_eq!(sessions.open_at("ASIAOTHER", &access.token, TimeMs(u64::MAX)), Err(NoSession::Foreign));
    }

    #[test]
    fn a_token_with_one_altered_byte_does_not_open() {
        let sessions = Sessions::new(&[7; 32]);
        let access = sessions.begin(&session());
        let bytes = STANDARD.decode(&access.token).expect("a token is base64");
        for place in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[place] ^= 1;
            assert_eq!(sessions.open(&access.access_key_id, &STANDARD.encode(altered)), None, "{place}");
        }
        for token in ["", "A", "AAAA", &"A".repeat(TOKEN_CHARACTERS_MAX + 4)] {
            assert_eq!(sessions.open(&access.access_key_id, token), None);
        }
    }
}
