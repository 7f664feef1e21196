//! The file that records are appended to.
//!
//! It does not know records, or when a file is closed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use keywright_encryption::{Appending, ContentReader, HEADER_LENGTH, Keyring};

use super::backwards::length;
use super::form::{Form, sync_folder_of};
use crate::storage::file_lock;

const MS_PER_DAY: u64 = 86_400_000;
/// Bytes that are copied at a time.
const BLOCK_BYTES: u64 = 64 * 1024;
/// Ends the name of a file while it is begun.
const BEGUN: &str = ".begun";

/// A block of file systems: less may fit into what a file has already.
const PROBE_BYTES: usize = 4096;

/// The file that records are appended to.
///
/// Invariant: `bytes` is the length of its content as far as whole lines were appended. No byte of an
/// encrypted file was written twice: after a write that failed nothing follows.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    /// Of an encrypted file.
    encryption: Option<Appending>,
    bytes: u64,
    /// The day since 1970 of its last change before it was opened, or on which it was made.
    day: u64,
    is_broken: bool,
}

impl LogFile {
    /// Opens a file for appending, or makes it. Two processes cannot have it open. `None` for a file that
    /// must be closed as it is, because its last line is torn or it has another form: the process before was
    /// killed while it wrote, or the folder was encrypted.
    pub(super) fn open(path: &Path, form: &Form, now_ms: u64) -> io::Result<Option<Self>> {
        let found = match form {
            Form::Plain => Some(appendable().create(true).open(path)?),
            Form::Encrypted(_) => match appendable().open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                found => Some(found?),
            },
        };
        let today = now_ms / MS_PER_DAY;
        let mut day = today;
        if let Some(file) = &found {
            taken(file)?;
            if !can_go_on(file, form)? {
                return Ok(None);
            }
            day = last_day(file).unwrap_or(today);
        }
        let opened = match (form, found) {
            (Form::Encrypted(keyring), found) => Self::begin(path, keyring, found)?,
            (Form::Plain, Some(file)) => {
                let bytes = file.metadata()?.len();
                Self { file, encryption: None, bytes, day, is_broken: false }
            }
            (Form::Plain, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        sync_folder_of(path)?;
        Ok(Some(Self { day: if opened.bytes == 0 { today } else { day }, ..opened }))
    }

    /// Begins an encrypted file under the newest key, with the content of the one that is there: what a crash
    /// may have taken back of its end must not be encrypted again with other bytes.
    fn begin(path: &Path, keyring: &Keyring, found: Option<File>) -> io::Result<Self> {
        let begun = begun_name(path);
        match fs::remove_file(&begun) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = appendable().create_new(true).open(&begun)?;
        taken(&file)?;
        let encryption = Some(keyring.begin_appending());
        let mut new = Self { file, encryption, bytes: 0, day: 0, is_broken: false };
        let written = new.copy_of(found, keyring).and_then(|()| fs::rename(&begun, path));
        if written.is_err() {
            // The fault that came first is reported.
            let _ = fs::remove_file(&begun);
        }
        written.map(|()| new)
    }

    /// Writes the header, and the content of a file.
    fn copy_of(&mut self, found: Option<File>, keyring: &Keyring) -> io::Result<()> {
        if let Some(encryption) = &self.encryption {
            self.file.write_all(&encryption.header.encode())?;
        }
        if let Some(found) = found {
            let mut from = ContentReader::of(found, Some(keyring))?;
            let mut block = Vec::new();
            while from.by_ref().take(BLOCK_BYTES).read_to_end(&mut block)? > 0 {
                self.write(&block)?;
                block.clear();
            }
        }
        self.file.sync_all()
    }

    /// Whether it is still what stands under its name.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        file_lock::is_at(&self.file, path)
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it has lines of a day before this time.
    pub(super) const fn is_of_earlier_day(&self, now_ms: u64) -> bool {
        self.bytes > 0 && self.day < now_ms / MS_PER_DAY
    }

    /// Whether it is under an older key than new files are.
    pub(super) fn is_outdated(&self, form: &Form) -> bool {
        let keyring = form.keyring().zip(self.encryption.as_ref());
        keyring.is_some_and(|(keyring, encryption)| !keyring.is_newest(encryption.header))
    }

    /// Appends whole lines. If that fails none of them stays.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        assert!(lines.is_empty() || lines.last() == Some(&b'\n'), "only whole lines are appended");
        let written = self.write(lines);
        if written.is_err() {
            let start = if self.encryption.is_some() { HEADER_LENGTH } else { 0 };
            self.file.set_len(start + self.bytes)?;
        }
        written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        assert!(!self.is_broken, "nothing follows a write that failed");
        let written = match &self.encryption {
            None => self.file.write_all(bytes),
            Some(encryption) => self.file.write_all(&encryption.encrypted(self.bytes, bytes)),
        };
        self.is_broken = written.is_err();
        written?;
        self.bytes += length(bytes.len());
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn appendable() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).read(true);
    options
}

/// Takes the lock of a file for its writer.
fn taken(file: &File) -> io::Result<()> {
    if file_lock::is_taken(file)? {
        return Ok(());
    }
    let text = "another server writes it: give each server a file of its own";
    Err(io::Error::new(io::ErrorKind::WouldBlock, text))
}

/// Whether lines can follow: the file has the form of the log, and neither its header nor its last line is
/// torn.
fn can_go_on(file: &File, form: &Form) -> io::Result<bool> {
    let mut content = match ContentReader::of(file.try_clone()?, form.keyring()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        opened => opened?,
    };
    if content.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    content.seek(SeekFrom::End(-1))?;
    content.read_exact(&mut last)?;
    Ok(last == *b"\n" && content.is_encrypted() == form.keyring().is_some())
}

fn last_day(file: &File) -> Option<u64> {
    let modified = file.metadata().ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_secs() / (MS_PER_DAY / 1_000))
}

fn begun_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BEGUN);
    PathBuf::from(name)
}

/// Whether nothing was appended to a file.
pub(super) fn is_empty(path: &Path, form: &Form) -> bool {
    let start = if form.keyring().is_some() { HEADER_LENGTH } else { 0 };
    fs::metadata(path).is_ok_and(|metadata| metadata.len() <= start)
}

/// Writes a block into a new file, durably.
pub(super) fn write_probe(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&[0; PROBE_BYTES])?;
    file.sync_all()
}

/// Gives a file another name, for good.
pub(super) fn set_aside(path: &Path, closed: &Path) -> io::Result<()> {
    fs::rename(path, closed)?;
    sync_folder_of(path)
}

#[cfg(test)]
mod tests {
    use keywright_encryption::MasterKey;

    use super::*;

    /// A crash may take back the end of a file, also behind a whole line.
    #[test]
    fn an_encrypted_file_goes_on_under_another_key_and_a_torn_or_foreign_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let master = MasterKey::random();
        let keyring = Keyring::create(folder.path(), &master, None, 1).unwrap();
        let (path, form) = (folder.path().join("log"), Form::Encrypted(keyring.clone()));
        let open = || LogFile::open(&path, &form, MS_PER_DAY);
        let header = || fs::read(&path).unwrap()[..64].to_vec();
        let text = || {
            let mut text = String::new();
            form.read(&path).unwrap().read_to_string(&mut text).unwrap();
            text
        };
        let mut file = open().unwrap().unwrap();
        file.append(b"one\n").unwrap();
        file.append(b"two\n").unwrap();
        assert!(open().unwrap_err().to_string().contains("another server writes it"));
        drop(file);
        let first = header();
        File::options().write(true).open(&path).unwrap().set_len(64 + 4).unwrap();
        let mut file = open().unwrap().unwrap();
        assert_eq!((file.bytes(), text().as_str()), (4, "one\n"));
        assert_ne!(header(), first, "the bytes after it were written before");
        file.append(b"three\n").unwrap();
        assert_eq!(text(), "one\nthree\n");
        assert!(file.is_at(&path) && !file.is_outdated(&form));
        keyring.add_data_key(&master, 2).unwrap();
        assert!(file.is_outdated(&form));
        drop(file);
        let second = header();
        assert!(!open().unwrap().unwrap().is_outdated(&form));
        assert_ne!(header(), second);

        File::options().write(true).open(&path).unwrap().set_len(64 + 6).unwrap();
        assert!(open().unwrap().is_none(), "torn");
        File::options().write(true).open(&path).unwrap().set_len(30).unwrap();
        assert!(open().unwrap().is_none(), "its header is torn");
        fs::write(&path, "plain\n").unwrap();
        assert!(open().unwrap().is_none(), "not encrypted");
        fs::write(&path, keyring.encrypted(b"one\n")).unwrap();
        assert!(LogFile::open(&path, &Form::Plain, 0).unwrap().is_none(), "encrypted, for a plain log");
        fs::write(&path, "").unwrap();
        assert_eq!(open().unwrap().unwrap().bytes(), 0);
        assert!(is_empty(&path, &form));
    }
}
