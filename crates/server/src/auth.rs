//! Who calls: from a signature's claim to the account and region whose tables the request sees.
//!
//! With keys configured every signature is verified; without, every well-formed one is taken at its word.

use std::collections::BTreeMap;

use keywright_engine::{AccountId, Caller, Region};
use keywright_semantics::error::Error;
use keywright_wire::sigv4::{Keyring, SignedRequest, SigningKeys, TimeCheck, TimeMs, read_claim, verify};

use crate::credentials::Credential;

/// The account of any access key that does not name one.
const DEFAULT_ACCOUNT: &str = "123456789012";

/// How requests are told apart.
#[derive(Debug)]
pub(crate) enum Gate {
    /// Signatures must be well-formed. An access key of twelve digits names its account.
    Open,
    /// Signatures must hold.
    Keys { credentials: BTreeMap<String, Credential>, signing_keys: SigningKeys },
}

struct Secrets<'a>(&'a BTreeMap<String, Credential>);

impl Keyring for Secrets<'_> {
    fn secret(&self, access_key_id: &str) -> Option<&str> {
        self.0.get(access_key_id).map(|credential| credential.secret_access_key.as_str())
    }
}

impl Gate {
    pub(crate) fn with_keys(credentials: BTreeMap<String, Credential>) -> Self {
        Self::Keys { credentials, signing_keys: SigningKeys::default() }
    }

    pub(crate) const fn verifies(&self) -> bool {
        matches!(self, Self::Keys { .. })
    }

    /// Lets a request in, or says why not. Without keys no header but those of the claim is looked at, nor the clock.
    pub(crate) fn admit(
        &self,
        request: &SignedRequest<'_>,
        now: impl FnOnce() -> TimeMs,
    ) -> Result<Caller, Error> {
        match self {
            Self::Open => {
                let claim = read_claim(request, TimeCheck::Skip)?;
                Ok(caller(account_of_open_key(claim.access_key_id()), claim.region()))
            }
            Self::Keys { credentials, signing_keys } => {
                let claim = read_claim(request, TimeCheck::Now(now()))?;
                verify(request, &claim, &Secrets(credentials), signing_keys)?;
                let credential = credentials.get(claim.access_key_id());
                let account = credential.map_or(DEFAULT_ACCOUNT, |credential| credential.account.as_str());
                Ok(caller(account, claim.region()))
            }
        }
    }
}

fn caller(account: &str, region: &str) -> Caller {
    Caller { account: AccountId::from(account), region: Region::from(region) }
}

fn account_of_open_key(access_key_id: &str) -> &str {
    let names_account = access_key_id.len() == 12 && access_key_id.bytes().all(|byte| byte.is_ascii_digit());
    if names_account { access_key_id } else { DEFAULT_ACCOUNT }
}
