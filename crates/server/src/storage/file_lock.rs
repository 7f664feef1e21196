//! A file that one writer has at a time, by the system's lock on it.
//!
//! Who replaces such a file locks it first, and looks whether it still has its name: a file that was replaced
//! meanwhile is nobody's any more.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// Takes the lock of a file, unless another one has it. It is freed when the file is closed.
pub(crate) fn is_taken(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether an open file is what stands under a name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let Ok(named) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (named.dev(), named.ino()))
    }
    #[cfg(not(unix))]
    named.is_file()
}
