//! Authentication: maps a request's signature to the account and region whose tables it can use.
//!
//! With keys configured every signature is verified; without, every well-formed signature is accepted. The
//! claim is checked before the body is read. The signature is checked after it, because it covers the body.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_engine::{AccountId, Caller, Namespace, Principal, Region};
use keywright_semantics::error::Error;
use keywright_semantics::place::{DEFAULT_ACCOUNT, RegionName, is_account};
use keywright_wire::sigv4::{
    Claim, Keyring, SignedRequest, SigningKeys, TimeCheck, TimeMs, check_key, read_claim, verify_signature,
};

use super::credentials::Credential;

/// How requests are authenticated.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// Signatures must be well-formed. An access key of twelve digits names its account.
    Unverified,
    /// Signatures are verified with these keys.
    Keys { credentials: Credentials, signing_keys: SigningKeys },
}

/// The keys by their ids.
#[derive(Debug)]
pub(crate) struct Credentials(BTreeMap<String, Credential>);

impl Keyring for Credentials {
    fn secret(&self, access_key_id: &str) -> Option<&str> {
        self.0.get(access_key_id).map(|credential| credential.secret_access_key.as_str())
    }
}

impl Authenticator {
    pub(crate) fn with_keys(credentials: BTreeMap<String, Credential>) -> Self {
        Self::Keys { credentials: Credentials(credentials), signing_keys: SigningKeys::default() }
    }

    pub(crate) const fn verifies(&self) -> bool {
        matches!(self, Self::Keys { .. })
    }

    /// Checks the claim in a request's head. Without keys it reads neither the clock nor any header but those
    /// of the claim.
    pub(crate) fn check_claim<'a>(
        &'a self,
        request: &SignedRequest<'a>,
        service: &'static str,
        now: impl FnOnce() -> TimeMs,
    ) -> Result<CheckedClaim<'a>, Error> {
        match self {
            Self::Unverified => {
                let claim = read_claim(request, service, TimeCheck::Skip)?;
                let account = account_of_open_key(claim.access_key_id());
                Ok(CheckedClaim::Trusted(Caller::account(namespace(account, claim.region()))))
            }
            Self::Keys { credentials, signing_keys } => {
                let claim = read_claim(request, service, TimeCheck::Now(now()))?;
                let secret = check_key(request, &claim, credentials)?;
                let credential = credentials.0.get(claim.access_key_id());
                let account = credential.map_or(DEFAULT_ACCOUNT, |credential| credential.account.as_str());
                Ok(CheckedClaim::Signed(Box::new(Signed { claim, secret, account, signing_keys })))
            }
        }
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
    secret: &'a str,
    account: &'a str,
    signing_keys: &'a SigningKeys,
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
    pub(crate) fn verify(self, request: &SignedRequest<'_>) -> Result<Caller, Error> {
        match self {
            Self::Trusted(caller) => Ok(caller),
            Self::Signed(signed) => {
                let Signed { claim, secret, account, signing_keys } = *signed;
                verify_signature(request, &claim, secret, signing_keys)?;
                let principal = Principal::AccessKey(Arc::from(claim.access_key_id()));
                Ok(Caller { namespace: namespace(account, claim.region()), principal })
            }
        }
    }
}

fn namespace(account: &str, region: RegionName<'_>) -> Namespace {
    Namespace { account: AccountId::from(account), region: Region::from(region) }
}

fn account_of_open_key(access_key_id: &str) -> &str {
    if is_account(access_key_id) { access_key_id } else { DEFAULT_ACCOUNT }
}
