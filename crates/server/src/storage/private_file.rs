//! Files that only their owner may read: sets the umask, checks modes before reading, replaces files
//! atomically, and locks them against concurrent writers.
//!
//! It does not know what the files contain. Its errors are reasons only; the caller adds the file's name.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::environment;
use crate::process::io_fault::Explained;

/// Larger files are rejected.
const BYTES_MAX: u64 = 1024 * 1024;
/// Number and length of the waits for another writer: five seconds in all.
const LOCK_TRIES: u32 = 250;
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Restricts every file and folder that this process creates to its user, with any umask of the shell: the
/// storage engine sets no mode. The umask belongs to the process, so this runs before any thread starts.
pub(crate) fn restrict_umask() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// The text of a file that no other user can read or replace; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, String> {
    let Some(file) = open(path)? else { return Ok(None) };
    let metadata = file.metadata().map_err(|error| Explained(&error).to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    check_mode(&metadata, path)?;
    let mut text = String::new();
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
    let length = read.map_err(|error| Explained(&error).to_string())?;
    if length > usize::try_from(BYTES_MAX).unwrap_or(usize::MAX) {
        return Err(format!("it is larger than {BYTES_MAX} bytes"));
    }
    Ok(Some(text))
}

/// Writes a temporary file in the same folder and renames it. A reader sees the old text or the new one, also
/// after a loss of power.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = sibling(path, ".", &format!(".{:032x}.new", environment::random_u128()));
    let replaced = write_new(&draft, text)
        .and_then(|()| fs::rename(&draft, path))
        .and_then(|()| sync_folder(&folder_of(path)));
    if replaced.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    replaced
}

/// Writes a new file; fails if there is one of this name.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    write_new(path, text).and_then(|()| sync_folder(&folder_of(path)))
}

/// Locks out other writers between a read and the following write. The lock file stays: removing it would let
/// two writers lock two files.
pub(crate) fn lock(path: &Path) -> Result<File, String> {
    let name = lock_of(path);
    let explain = |error: io::Error| format!("{}: {}", name.display(), Explained(&error));
    let lock = open_lock(&name).map_err(explain)?;
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(explain(error)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY),
        }
    }
    Err(format!("another command is changing it and holds {}: try again", name.display()))
}

/// The file that `lock` locks.
pub(crate) fn lock_of(path: &Path) -> PathBuf {
    sibling(path, "", ".lock")
}

/// A file next to `path` whose name is that of `path` with a prefix and a suffix.
fn sibling(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Fails if the name exists, even as a symbolic link.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
mod unix {
    use super::{Explained, File, Path, fs, io};
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    use std::os::unix::fs::PermissionsExt as _;

    /// The permissions of group and others.
    const OTHERS: u32 = 0o077;

    /// Opens without blocking on a pipe.
    pub(crate) fn open(path: &Path) -> Result<Option<File>, String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            // FreeBSD returns `MLINK`.
            Err(Errno::LOOP | Errno::MLINK) => {
                Err("it is a symbolic link, whose target another user might change: name the file itself"
                    .to_owned())
            }
            Err(errno) => Err(Explained(&io::Error::from(errno)).to_string()),
        }
    }

    pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
    }

    pub(crate) fn check_mode(metadata: &fs::Metadata, path: &Path) -> Result<(), String> {
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & OTHERS == 0 {
            return Ok(());
        }
        Err(format!(
            "its mode {mode:04o} gives other users of this machine access to it: run `chmod 600 {}`",
            keywright_model::shell::word(&path.to_string_lossy())
        ))
    }

    pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

/// Windows has neither modes nor a sync of folders; files inherit the permissions of their folder.
#[cfg(not(unix))]
mod other {
    use super::{Explained, File, Path, fs, io};

    pub(crate) fn open(path: &Path) -> Result<Option<File>, String> {
        match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Explained(&error).to_string()),
        }
    }

    pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
        fs::OpenOptions::new().create(true).truncate(false).write(true).open(path)
    }

    pub(crate) fn check_mode(_metadata: &fs::Metadata, _path: &Path) -> Result<(), String> {
        Ok(())
    }

    pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(unix))]
pub(crate) use other::open_lock;
#[cfg(not(unix))]
use other::{check_mode, open, sync_folder};
#[cfg(unix)]
pub(crate) use unix::open_lock;
#[cfg(unix)]
use unix::{check_mode, open, sync_folder};

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_replaced_file_is_private_and_leaves_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        for text in ["one", "another"] {
            replace(&path, text).unwrap();
            assert_eq!(read(&path).unwrap().as_deref(), Some(text));
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/keys.toml"), "").is_err());
    }

    #[test]
    fn a_file_that_others_can_read_or_replace_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        assert_eq!(read(&path), Ok(None));
        replace(&path, "text").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let fault = read(&path).unwrap_err();
            assert!(fault.contains(&format!("chmod 600 {}", path.display())), "{fault}");
        }
        let link = folder.path().join("link.toml");
        symlink(&path, &link).unwrap();
        assert!(read(&link).unwrap_err().starts_with("it is a symbolic link"));
        symlink(folder.path().join("none"), sibling(&path, "", ".lock")).unwrap();
        assert!(lock(&path).is_err());
        assert_eq!(read(folder.path()).unwrap_err(), "it is not a regular file");
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read(&pipe).unwrap_err(), "it is not a regular file");
    }
}
