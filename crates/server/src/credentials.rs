//! The file of access keys: reading, writing, and one key's life.
//!
//! It does not know signatures; `auth` looks keys up here.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One access key. Invariant: `account` is twelve digits.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credential {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) account: String,
}

/// The whole file: `[[credential]]` tables.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CredentialFile {
    #[serde(default)]
    credential: Vec<Credential>,
}

impl CredentialFile {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            format!(
                "cannot read the credentials file {}: {error}; make one with `keywright credentials add`",
                path.display()
            )
        })?;
        let file: Self = toml::from_str(&text)
            .map_err(|error| format!("the credentials file {} is not valid:\n{error}", path.display()))?;
        for credential in &file.credential {
            check_account(&credential.account)?;
        }
        Ok(file)
    }

    pub(crate) fn read_or_new(path: &Path) -> Result<Self, String> {
        if path.exists() { Self::read(path) } else { Ok(Self::default()) }
    }

    /// Writes to a file beside it and renames, readable by its owner only.
    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        let text = toml::to_string(self).map_err(|error| format!("cannot write the credentials: {error}"))?;
        let draft = path.with_extension("new");
        write_private(&draft, &text)
            .and_then(|()| std::fs::rename(&draft, path))
            .map_err(|error| format!("cannot write the credentials file {}: {error}", path.display()))
    }

    pub(crate) fn add(&mut self, account: &str) -> Result<Credential, String> {
        check_account(account)?;
        let credential = Credential {
            access_key_id: format!("AKIA{}", random_text(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)?),
            secret_access_key: random_text(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                40,
            )?,
            account: account.to_owned(),
        };
        self.credential.push(credential.clone());
        Ok(credential)
    }

    pub(crate) fn remove(&mut self, access_key_id: &str, path: &Path) -> Result<(), String> {
        let before = self.credential.len();
        self.credential.retain(|credential| credential.access_key_id != access_key_id);
        if self.credential.len() == before {
            return Err(format!("{access_key_id} is not in {}", path.display()));
        }
        Ok(())
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.credential
            .iter()
            .map(|credential| format!("{}  account {}", credential.access_key_id, credential.account))
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, Credential> {
        self.credential.into_iter().map(|credential| (credential.access_key_id.clone(), credential)).collect()
    }
}

fn check_account(account: &str) -> Result<(), String> {
    if account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(format!("\"{account}\" is not an account: it takes twelve digits"))
}

#[cfg(unix)]
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(not(unix))]
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Characters drawn evenly from an alphabet whose length is a power of two.
fn random_text(alphabet: &[u8], length: usize) -> Result<String, String> {
    let mut bytes = vec![0_u8; length];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gave no random bytes: {error}"))?;
    let text = bytes
        .iter()
        .filter_map(|byte| alphabet.get(usize::from(*byte) % alphabet.len()))
        .map(|&byte| char::from(byte));
    Ok(text.collect())
}

/// What `credentials add` prints: the only time the secret is shown.
pub(crate) fn describe_added(credential: &Credential, path: &Path) -> String {
    format!(
        "added to {}; serve with: keywright serve --credentials {}\n\
         export AWS_ACCESS_KEY_ID={}\nexport AWS_SECRET_ACCESS_KEY={}\n# account {}",
        path.display(),
        path.display(),
        credential.access_key_id,
        credential.secret_access_key,
        credential.account
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_the_file_and_can_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let mut file = CredentialFile::read_or_new(&path).unwrap();
        let added = file.add("123456789012").unwrap();
        file.write(&path).unwrap();
        let mut again = CredentialFile::read(&path).unwrap();
        assert_eq!(again.clone().into_map()[&added.access_key_id].secret_access_key, added.secret_access_key);
        assert_eq!((added.access_key_id.len(), added.secret_access_key.len()), (20, 40));
        again.remove(&added.access_key_id, &path).unwrap();
        assert!(again.remove(&added.access_key_id, &path).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        CredentialFile::default().write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn an_account_is_twelve_digits() {
        assert!(CredentialFile::default().add("12345").is_err());
    }
}
