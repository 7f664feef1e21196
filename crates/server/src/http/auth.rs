//! Authentication: maps a request's signature to the account and region whose tables it can use, and to who
//! made it.
//!
//! With keys configured every signature is verified; without, every well-formed signature is accepted. The
//! claim is checked before the body is read. The signature is checked after it, because it covers the body.
//! Keys of the file are those of the accounts themselves; `signers` finds all others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_engine::{AccountId, Caller, Namespace, Principal, Region};
use keywright_semantics::error::Error;
use keywright_semantics::place::{DEFAULT_ACCOUNT, RegionName, is_account};
use keywright_wire::sigv4::{
    Claim, Keyring, SignedRequest, SigningKeys, TimeCheck, TimeMs, check_key, read_claim, verify_signature,
};
use ring::hmac;

use super::credentials::Credential;
use super::governing::Accounts;
use super::known_claim::KnownClaim;
use super::rights::Rights;
use crate::process::environment;

/// How requests are authenticated.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// Signatures must be well-formed. An access key of twelve digits names its account.
    Unverified,
    /// Signatures are verified with these keys, and with those of users and sessions.
    Keys { credentials: Credentials, accounts: Accounts, signing_keys: SigningKeys },
}

/// The keys of the file by their ids.
#[derive(Debug)]
pub(crate) struct Credentials(BTreeMap<String, Credential>);

impl Keyring for Credentials {
    fn secret(&self, access_key_id: &str) -> Option<&str> {
        self.0.get(access_key_id).map(|credential| credential.secret_access_key.as_str())
    }
}

/// A claim whose key is not in the file.
pub(super) struct Unknown<'a> {
    pub(super) claim: Claim<'a>,
    signing_keys: &'a SigningKeys,
}

/// What the head of a request is worth as far as the file goes.
pub(super) enum Begun<'a> {
    /// The caller is known.
    Checked(CheckedClaim<'a>),
    /// The key may be one of a user or a session.
    Unknown(Unknown<'a>),
}

impl Authenticator {
    pub(crate) fn with_keys(credentials: BTreeMap<String, Credential>) -> Self {
        let accounts = credentials.values().map(|credential| credential.account.clone()).collect();
        Self::Keys {
            credentials: Credentials(credentials),
            accounts: Arc::new(accounts),
            signing_keys: SigningKeys::default(),
        }
    }

    pub(crate) const fn verifies(&self) -> bool {
        matches!(self, Self::Keys { .. })
    }

    /// Whether the file has a key.
    pub(crate) fn has_keys(&self) -> bool {
        matches!(self, Self::Keys { credentials, .. } if !credentials.0.is_empty())
    }

    /// The accounts of the keys of the file.
    pub(super) fn accounts(&self) -> Accounts {
        match self {
            Self::Unverified => Accounts::default(),
            Self::Keys { accounts, .. } => Arc::clone(accounts),
        }
    }

    /// The account of a key of the file.
    pub(super) fn account_of(&self, access_key_id: &str) -> Option<&str> {
        match self {
            Self::Unverified => None,
            Self::Keys { credentials, .. } => {
                credentials.0.get(access_key_id).map(|credential| credential.account.as_str())
            }
        }
    }

    /// The account of a key of the file, if this is its secret.
    pub(super) fn account_by_secret(&self, access_key_id: &str, secret: &str) -> Option<&str> {
        let Self::Keys { credentials, .. } = self else { return None };
        let credential = credentials.0.get(access_key_id)?;
        is_same(&credential.secret_access_key, secret).then_some(credential.account.as_str())
    }

    /// Checks the claim in a request's head. Without keys it reads neither the clock nor any header but those
    /// of the claim.
    pub(super) fn begin<'a>(
        &'a self,
        request: &SignedRequest<'a>,
        service: &'static str,
        known: &KnownClaim,
        now: impl FnOnce() -> TimeMs,
    ) -> Result<Begun<'a>, Error> {
        match self {
            Self::Unverified => {
                if let Some(caller) = known.caller(request, service) {
                    return Ok(Begun::Checked(CheckedClaim::Trusted(caller)));
                }
                let claim = read_claim(request, service, TimeCheck::Skip)?;
                let account = account_of_open_key(claim.access_key_id());
                let caller = Caller::account(namespace(account, claim.region()));
                known.note(request, &claim, service, &caller);
                Ok(Begun::Checked(CheckedClaim::Trusted(caller)))
            }
            Self::Keys { credentials, signing_keys, .. } => {
                let claim = read_claim(request, service, TimeCheck::Now(now()))?;
                let Some(credential) = credentials.0.get(claim.access_key_id()) else {
                    return Ok(Begun::Unknown(Unknown { claim, signing_keys }));
                };
                let secret = Cow::Borrowed(check_key(request, &claim, credentials)?);
                let (account, rights) = (Cow::Borrowed(credential.account.as_str()), None);
                Ok(Begun::Checked(CheckedClaim::Signed(Box::new(Signed {
                    claim,
                    secret,
                    account,
                    rights,
                    signing_keys,
                }))))
            }
        }
    }
}

/// What is known of a key's holder.
pub(super) struct SignerKey<'a> {
    pub(super) secret: Cow<'a, str>,
    pub(super) account: Cow<'a, str>,
    /// None for the account itself.
    pub(super) rights: Option<Arc<Rights>>,
}

impl<'a> Unknown<'a> {
    /// The claim of a key that was found.
    pub(super) fn with(self, key: SignerKey<'a>) -> CheckedClaim<'a> {
        let (Self { claim, signing_keys }, SignerKey { secret, account, rights }) = (self, key);
        CheckedClaim::Signed(Box::new(Signed { claim, secret, account, rights, signing_keys }))
    }
}

/// The claim of a request's head, checked.
#[derive(Debug)]
pub(crate) enum CheckedClaim<'a> {
    Trusted(Caller),
    /// Made with a known key; the signature is not verified yet.
    Signed(Box<Signed<'a>>),
}

/// A claim made with a known key.
#[derive(Debug)]
pub(crate) struct Signed<'a> {
    claim: Claim<'a>,
    secret: Cow<'a, str>,
    account: Cow<'a, str>,
    rights: Option<Arc<Rights>>,
    signing_keys: &'a SigningKeys,
}

/// A caller whose signature is verified, where signatures are.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    pub(crate) caller: Caller,
    /// What a user or session may do; none for the account itself.
    pub(crate) rights: Option<Arc<Rights>>,
}

impl CheckedClaim<'_> {
    /// The signature as sent, which is not verified yet; `None` without keys.
    pub(crate) fn signature(&self) -> Option<&str> {
        match self {
            Self::Trusted(_) => None,
            Self::Signed(signed) => Some(&signed.claim.signature),
        }
    }

    /// Verifies the signature of a request whose body has been read, and returns the caller.
    pub(crate) fn verify(self, request: &SignedRequest<'_>) -> Result<Signer, Error> {
        match self {
            Self::Trusted(caller) => Ok(Signer { caller, rights: None }),
            Self::Signed(signed) => {
                let Signed { claim, secret, account, rights, signing_keys } = *signed;
                verify_signature(request, &claim, &secret, signing_keys)?;
                let principal = match &rights {
                    None => Principal::AccessKey(Arc::from(claim.access_key_id())),
                    Some(rights) => Principal::Limited(Arc::new(rights.limited(claim.access_key_id()))),
                };
                let caller = Caller { principal, ..Caller::account(namespace(&account, claim.region())) };
                Ok(Signer { caller, rights })
            }
        }
    }
}

/// Compares secrets in a time that does not say where they differ.
pub(super) fn is_same(secret: &str, given: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &environment::random_u128().to_be_bytes());
    hmac::verify(&key, given.as_bytes(), hmac::sign(&key, secret.as_bytes()).as_ref()).is_ok()
}

fn namespace(account: &str, region: RegionName<'_>) -> Namespace {
    Namespace { account: AccountId::from(account), region: Region::from(region) }
}

fn account_of_open_key(access_key_id: &str) -> &str {
    if is_account(access_key_id) { access_key_id } else { DEFAULT_ACCOUNT }
}
