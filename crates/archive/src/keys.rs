//! The data keys of an encrypted place. Each lies in it as a file of its own, sealed under a master key that
//! comes from outside: `<root>/=keys/<id>.json`. A place without such a file is not encrypted.

use std::path::Path;

use keywright_encryption::{KeyFile, KeyId};

use crate::fault::Fault;
use crate::names::{KEYS, Scope};
use crate::place::Place;

/// The largest file of a key that is read.
const KEY_BYTES_MAX: u64 = 64 * 1024;

impl Place {
    /// The files of its data keys.
    pub async fn key_files(&self) -> Result<Vec<KeyFile>, Fault> {
        let mut files = Vec::new();
        // A place that does not answer is named as itself.
        if !self.plain_entries("").await?.folders.iter().any(|folder| folder == KEYS) {
            return Ok(files);
        }
        for (name, _) in self.plain_entries(KEYS).await?.objects {
            let path = format!("{KEYS}/{name}");
            let bytes = self.read_plain(&path, KEY_BYTES_MAX).await?;
            files.push(KeyFile::parse(Path::new(&self.shown(&path)), &bytes).map_err(Fault::Keys)?);
        }
        Ok(files)
    }

    /// Writes the file of a data key, also in place of the one that is there.
    pub async fn put_key_file(&self, key: KeyId, text: Vec<u8>) -> Result<(), Fault> {
        self.put_plain(&format!("{KEYS}/{key}.json"), vec![text.into()]).await
    }

    /// Whether it has anything of a backup.
    pub async fn has_backups(&self) -> Result<bool, Fault> {
        for account in self.plain_entries("").await?.folders {
            for region in self.plain_entries(&account).await?.folders {
                // What no backup can be called is none.
                if let Ok(scope) = Scope::new(account.as_str(), region)
                    && self.has_objects(&scope.folder()).await?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
