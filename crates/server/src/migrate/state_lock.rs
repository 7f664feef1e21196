//! The lock of a state file: one command at a time holds it, and says by which process.
//!
//! The lock's file goes with the command, unless that is killed. So a command that has waited for it looks
//! whether it holds the file that has the name now.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::foreign::inline;
use crate::process::io_fault::Explained;
use crate::storage::private_file;

/// Number and length of the waits for a command that is ending: two seconds in all.
const TRIES: u32 = 100;
const RETRY: Duration = Duration::from_millis(20);

/// Characters of a holder's name that are shown.
const HOLDER_CHARS_MAX: usize = 40;

pub(super) struct StateLock {
    /// The state file.
    record: PathBuf,
    _file: File,
}

impl StateLock {
    /// Takes the lock of a state file, whether or not that is there.
    ///
    /// # Errors
    ///
    /// A sentence, if another command holds it, or no lock can be made there.
    pub(super) fn take(record: &Path) -> Result<Self, String> {
        let name = private_file::lock_of(record);
        let explain = |error: std::io::Error| format!("{}: {}", name.display(), Explained(&error));
        for _ in 0..TRIES {
            let mut file = private_file::open_lock(&name).map_err(explain)?;
            match file.try_lock() {
                Ok(()) if has_name(&file, &name) => {
                    let holder = format!("process {}", std::process::id());
                    file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).map_err(explain)?;
                    return Ok(Self { record: record.to_owned(), _file: file });
                }
                // The command that held it has removed it.
                Ok(()) => {}
                Err(TryLockError::Error(error)) => return Err(explain(error)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY),
            }
        }
        let holder = fs::read_to_string(&name).unwrap_or_default();
        let holder: String = inline(&holder).chars().take(HOLDER_CHARS_MAX).collect();
        let holder = if holder.is_empty() { "another command".to_owned() } else { holder };
        Err(format!("{holder} works with it: stop that one, or name another file with --state"))
    }
}

impl Drop for StateLock {
    /// While it still holds the lock. Elsewhere than on Unix nobody could tell that the file has gone: there
    /// it stays as long as there is a record that two commands could both change.
    fn drop(&mut self) {
        if cfg!(unix) || !self.record.exists() {
            let _stays = fs::remove_file(private_file::lock_of(&self.record));
        }
    }
}

/// Whether an open file is the one that has this name.
#[cfg(unix)]
fn has_name(file: &File, name: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::symlink_metadata(name)) {
        (Ok(own), Ok(named)) => (own.dev(), own.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn has_name(_file: &File, _name: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_its_holder_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("T.replicate.json");
        fs::write(&record, "{}").unwrap();
        let own = StateLock::take(&record).unwrap();
        let refused = StateLock::take(&record).map(drop).unwrap_err();
        assert!(refused.starts_with(&format!("process {} works with it", std::process::id())), "{refused}");
        drop(own);
        assert_eq!(cfg!(unix), !private_file::lock_of(&record).exists());
        drop(StateLock::take(&record).unwrap());
        fs::remove_file(&record).unwrap();
        drop(StateLock::take(&record).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_whose_file_was_removed_is_not_the_one_that_has_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("lock");
        let old = private_file::open_lock(&name).unwrap();
        assert!(has_name(&old, &name));
        fs::remove_file(&name).unwrap();
        assert!(!has_name(&old, &name));
        let new = private_file::open_lock(&name).unwrap();
        assert!(has_name(&new, &name) && !has_name(&old, &name));
    }
}
