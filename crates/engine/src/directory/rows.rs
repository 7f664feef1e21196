//! Keys of the directory's rows.
//!
//! ```text
//! principals | 0 | 0                     the epoch: every change raises it
//! principals | 0 | 1                     the key of session tokens
//! principals | account | 0               the epoch of the account's last change
//! principals | account | kind | name     a user, a group, a role, a managed policy
//! ```
//!
//! An account has twelve digits. Names are folded: they do not differ by case alone.

use bytes::Bytes;
use keywright_semantics::iam::names::Kind;

use crate::support::env::AccountId;
use crate::support::layout::Space;

/// Bytes of an account in keys.
const ACCOUNT_BYTES: usize = 12;
const INSTALLATION: u8 = 0;
const CHANGED: u8 = 0;
const POLICY: u8 = 4;

/// What a row of an account is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowOf {
    /// The epoch of its last change.
    Changed,
    /// An entity, by its folded name.
    Entity(Kind, String),
    /// A managed policy, by its folded name.
    Policy(String),
}

const fn byte(kind: Kind) -> u8 {
    match kind {
        Kind::User => 1,
        Kind::Group => 2,
        Kind::Role => 3,
    }
}

pub(crate) fn epoch_key() -> Bytes {
    Bytes::copy_from_slice(&[Space::Principals.byte(), INSTALLATION, 0])
}

pub(super) fn session_key_key() -> Bytes {
    Bytes::copy_from_slice(&[Space::Principals.byte(), INSTALLATION, 1])
}

/// The prefix of an account's rows.
pub(super) fn account_prefix(account: &AccountId) -> Vec<u8> {
    [&[Space::Principals.byte()], account.as_str().as_bytes()].concat()
}

/// The key of a row of an account.
pub(super) fn key(account: &AccountId, row: &RowOf) -> Bytes {
    assert_eq!(account.as_str().len(), ACCOUNT_BYTES, "an account has twelve digits");
    let mut key = account_prefix(account);
    match row {
        RowOf::Changed => key.push(CHANGED),
        RowOf::Entity(kind, name) => {
            key.push(byte(*kind));
            key.extend_from_slice(name.as_bytes());
        }
        RowOf::Policy(name) => {
            key.push(POLICY);
            key.extend_from_slice(name.as_bytes());
        }
    }
    key.into()
}

/// The account and the kind of row of a key; `None` for rows of the installation.
pub(super) fn read(key: &[u8]) -> Option<(AccountId, RowOf)> {
    let (account, rest) = key.get(1..)?.split_at_checked(ACCOUNT_BYTES)?;
    let account = std::str::from_utf8(account).ok().filter(|text| !text.starts_with('\0'))?;
    let (kind, name) = rest.split_first()?;
    let name = || std::str::from_utf8(name).ok().map(str::to_owned);
    let row = match *kind {
        CHANGED => RowOf::Changed,
        1 => RowOf::Entity(Kind::User, name()?),
        2 => RowOf::Entity(Kind::Group, name()?),
        3 => RowOf::Entity(Kind::Role, name()?),
        POLICY => RowOf::Policy(name()?),
        _ => return None,
    };
    Some((AccountId::from(account), row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_account_and_row() {
        let account = AccountId::from("123456789012");
        for row in [
            RowOf::Changed,
            RowOf::Entity(Kind::User, "ann".to_owned()),
            RowOf::Entity(Kind::Group, "ann".to_owned()),
            RowOf::Entity(Kind::Role, "ann".to_owned()),
            RowOf::Policy("ann".to_owned()),
        ] {
            assert_eq!(read(&key(&account, &row)), Some((account.clone(), row)));
        }
        assert_eq!(read(&epoch_key()), None);
        assert_eq!(read(&session_key_key()), None);
    }
}
