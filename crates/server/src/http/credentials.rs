//! The file of access keys: reads and writes it, adds and removes keys.
//!
//! It does not know signatures; `auth` looks keys up here.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use keywright_model::shell;
use keywright_semantics::place::is_account;
use serde::{Deserialize, Serialize};

use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::storage::private_file;

/// The expected form. Error messages never quote the file, because any part of it may be a misplaced secret.
const SHAPE: &str = "the file must hold [[credential]] tables, each with three quoted strings: access_key_id, \
                     secret_access_key and account";

/// One access key. Invariant: `account` is twelve digits; id and secret are not empty.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credential {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) account: String,
    /// What the key is good for; `None` for requests of clients.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub(crate) purpose: Option<Purpose>,
}

/// What a key is good for, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Purpose {
    /// Calls of other Keywright servers that own regions
    Replication,
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credential").field("account", &self.account).finish_non_exhaustive()
    }
}

/// The whole file: `[[credential]]` tables. Invariant: ids are unique.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CredentialFile {
    #[serde(default)]
    credential: Vec<Credential>,
}

impl CredentialFile {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Self::read_existing(path)?.ok_or_else(|| {
            Failure::new(format!(
                "cannot read the credentials file {}: it does not exist; create it with `keywright credentials add`",
                path.display()
            ))
        })
    }

    fn read_existing(path: &Path) -> Result<Option<Self>, Failure> {
        let text = private_file::read(path).map_err(|fault| {
            Failure::new(format!("cannot read the credentials file {}: {fault}", path.display()))
        })?;
        text.map(|text| Self::parse(&text)).transpose().map_err(|fault| {
            Failure::new(format!("the credentials file {} is not valid{fault}", path.display()))
        })
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        // Syntax first: syntax errors name what the grammar expects, while type errors quote values.
        toml::from_str::<toml::Table>(text)
            .map_err(|error| Failure::new(format!("{}: {}", place(text, error.span()), error.message())))?;
        let file: Self = toml::from_str(text)
            .map_err(|error| Failure::new(format!("{}: {SHAPE}", place(text, error.span()))))?;
        file.check().map_err(|fault| Failure::new(format!(": {fault}")))?;
        Ok(file)
    }

    /// Rejects keys that could never be used and keys with the same id.
    fn check(&self) -> Result<(), Failure> {
        let mut seen = HashMap::new();
        for (number, credential) in (1..).zip(&self.credential) {
            for (name, text) in [
                ("access_key_id", &credential.access_key_id),
                ("secret_access_key", &credential.secret_access_key),
            ] {
                if text.trim().is_empty() {
                    return Err(Failure::new(format!("{name} of credential {number} is empty")));
                }
            }
            if !is_account(&credential.account) {
                return Err(Failure::new(format!("account of credential {number} is not twelve digits")));
            }
            if let Some(earlier) = seen.insert(&credential.access_key_id, number) {
                return Err(Failure::new(format!(
                    "credentials {earlier} and {number} have the same access_key_id"
                )));
            }
        }
        Ok(())
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = toml::to_string(self)
            .map_err(|error| Failure::new(format!("cannot write the credentials: {error}")))?;
        private_file::replace(path, &text).map_err(failed("write the credentials file", path))
    }

    /// Adds a new key to the file, creating the file if it is missing.
    pub(crate) fn add(path: &Path, account: &str, purpose: Option<Purpose>) -> Result<Credential, Failure> {
        let added = Credential { purpose, ..Credential::random(account)? };
        let _lock = lock(path)?;
        let mut file = Self::read_existing(path)?.unwrap_or_default();
        file.credential.push(added.clone());
        file.write(path)?;
        Ok(added)
    }

    /// Removes a key from the file.
    pub(crate) fn remove(path: &Path, access_key_id: &str) -> Result<(), Failure> {
        let _lock = lock(path)?;
        let mut file = Self::read(path)?;
        let before = file.credential.len();
        file.credential.retain(|credential| credential.access_key_id != access_key_id);
        if file.credential.len() == before {
            return Err(Failure::new(format!("{access_key_id} is not in {}", path.display())));
        }
        file.write(path)
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.credential.iter().map(|credential| {
            let purpose = match credential.purpose {
                None => "",
                Some(Purpose::Replication) => "  for replication",
            };
            format!("{}  account {}{purpose}", credential.access_key_id, credential.account)
        })
    }

    /// Whether it has the key of an id.
    pub(crate) fn has(&self, access_key_id: &str) -> bool {
        self.credential.iter().any(|credential| credential.access_key_id == access_key_id)
    }

    /// The keys of clients.
    pub(crate) fn into_map(self) -> BTreeMap<String, Credential> {
        self.with_purpose(None)
    }

    /// The keys of other servers.
    pub(crate) fn of_peers(&self) -> BTreeMap<String, Credential> {
        self.clone().with_purpose(Some(Purpose::Replication))
    }

    fn with_purpose(self, purpose: Option<Purpose>) -> BTreeMap<String, Credential> {
        let own = self.credential.into_iter().filter(|credential| credential.purpose == purpose);
        own.map(|credential| (credential.access_key_id.clone(), credential)).collect()
    }
}

impl Credential {
    fn random(account: &str) -> Result<Self, Failure> {
        if !is_account(account) {
            return Err(Failure::new(format!("\"{account}\" is not an account: write twelve digits")));
        }
        Ok(Self {
            access_key_id: format!("AKIA{}", random_text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)?),
            secret_access_key: random_text(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                40,
            )?,
            account: account.to_owned(),
            purpose: None,
        })
    }
}

/// Concurrent commands must not lose each other's keys.
fn lock(path: &Path) -> Result<std::fs::File, Failure> {
    private_file::lock(path).map_err(|fault| {
        Failure::new(format!("cannot change the credentials file {}: {fault}", path.display()))
    })
}

/// The line and column where an error begins.
fn place(text: &str, span: Option<std::ops::Range<usize>>) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else { return String::new() };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&character| character != '\n').count() + 1;
    format!(" at line {line}, column {column}")
}

/// Random characters of an alphabet whose length is a power of two.
fn random_text(alphabet: &[u8], length: usize) -> Result<String, Failure> {
    let mut bytes = vec![0_u8; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("the system gave no random bytes: {error}")))?;
    let text = bytes
        .iter()
        .filter_map(|byte| alphabet.get(usize::from(*byte) % alphabet.len()))
        .map(|&byte| char::from(byte));
    Ok(text.collect())
}

/// What `credentials add` says to people.
pub(crate) fn describe_added(credential: &Credential, path: &Path) -> String {
    if credential.purpose == Some(Purpose::Replication) {
        return format!(
            "added a key for replication of account {} to {}; copy its [[credential]] to the file of the other server, \
             and name it as key-id in [[peer]] on both",
            credential.account,
            path.display(),
        );
    }
    format!(
        "added a key of account {} to {}; serve with: keywright serve --credentials {}",
        credential.account,
        path.display(),
        shell::word(&path.to_string_lossy()),
    )
}

/// The data of `credentials add`, lines for a shell: the only place that shows the secret.
pub(crate) fn exports(credential: &Credential) -> String {
    if credential.purpose == Some(Purpose::Replication) {
        // Servers read the secret from the file.
        return format!("key-id = \"{}\"", credential.access_key_id);
    }
    format!(
        "export AWS_ACCESS_KEY_ID={}\nexport AWS_SECRET_ACCESS_KEY={}",
        credential.access_key_id, credential.secret_access_key
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "123456789012";

    #[test]
    fn a_key_survives_the_file_and_can_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let added = CredentialFile::add(&path, ACCOUNT, None).unwrap();
        let keys = CredentialFile::read(&path).unwrap().into_map();
        assert_eq!(keys[&added.access_key_id].secret_access_key, added.secret_access_key);
        assert_eq!((added.access_key_id.len(), added.secret_access_key.len()), (20, 40));
        CredentialFile::remove(&path, &added.access_key_id).unwrap();
        assert!(CredentialFile::remove(&path, &added.access_key_id).is_err());
    }

    #[test]
    fn keys_added_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| CredentialFile::add(&path, ACCOUNT, None).unwrap());
            }
        });
        assert_eq!(CredentialFile::read(&path).unwrap().credential.len(), 8);
    }

    #[test]
    fn an_account_is_twelve_digits() {
        assert!(
            CredentialFile::add(Path::new("none/keys.toml"), "12345", None)
                .unwrap_err()
                .to_string()
                .contains("\"12345\"")
        );
    }

    fn credential(id: &str, secret: &str, account: &str) -> String {
        format!(
            "[[credential]]\naccess_key_id = \"{id}\"\nsecret_access_key = \"{secret}\"\naccount = \"{account}\"\n"
        )
    }

    #[test]
    fn keys_that_cannot_be_used_are_reported() {
        let good = credential("AKIA1", "secret", ACCOUNT);
        assert!(CredentialFile::parse(&good).is_ok());
        for (text, fault) in [
            (credential("", "secret", ACCOUNT), ": access_key_id of credential 1 is empty"),
            (
                format!("{good}{}", credential("A", " ", ACCOUNT)),
                ": secret_access_key of credential 2 is empty",
            ),
            (credential("A", "s", "hunter2"), ": account of credential 1 is not twelve digits"),
            (format!("{good}{good}"), ": credentials 1 and 2 have the same access_key_id"),
        ] {
            assert_eq!(CredentialFile::parse(&text).unwrap_err().to_string(), fault);
        }
    }

    #[test]
    fn an_error_in_the_file_gives_its_position_and_never_quotes_the_file() {
        let good = credential("AKIA1", "secret", ACCOUNT);
        for (text, wanted) in [
            ("hunter2".to_owned(), " at line 1, column "),
            (format!("{good}secret_access_key = \"hunter2"), " at line 5, column "),
            (format!("{good}secret_access_key = \"hunter2\""), " at line 5, column 1: "),
            (format!("{good}secret_access_key = hunter2"), " at line 5, column "),
            (format!("{good}hunter2 = 1"), " at line 5, column 1: the file must hold"),
            (format!("{good}[hunter2]\n"), " at line 5, column 2: the file must hold"),
            ("credential = \"hunter2\"".to_owned(), " at line 1, column 14: the file must hold"),
            (
                "[[credential]]\naccess_key_id = [\"hunter2\"]".to_owned(),
                " at line 2, column 17: the file must hold",
            ),
            ("credential = \"hunter2\\q\"".to_owned(), " at line 1, column "),
            ("credential = 1hunter2".to_owned(), " at line 1, column "),
            ("credential = 0xhunter2".to_owned(), " at line 1, column "),
            ("credential = 1979-05-27Thunter2".to_owned(), " at line 1, column "),
            ("[hunter2]\n[hunter2]".to_owned(), " at line 2, column "),
            ("hunter2.a = 1\nhunter2.a.b = 1".to_owned(), " at line 2, column "),
        ] {
            let fault = CredentialFile::parse(&text).unwrap_err().to_string();
            assert!(fault.contains(wanted), "{text}: {fault}");
            assert!(!fault.contains("hunter2") && !fault.contains("hunter"), "{fault}");
        }
    }

    #[test]
    fn a_secret_is_not_shown_for_debugging() {
        assert!(
            !format!("{:?}", CredentialFile::parse(&credential("A", "hunter2", ACCOUNT)).unwrap())
                .contains("hunter2")
        );
    }
}
