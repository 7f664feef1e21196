//! How the files of the log lie on disk: as they are, or encrypted in an encrypted data folder.
//!
//! A file that is read may have the other form than new ones: a folder can be encrypted later. It does not
//! know records.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use keywright_encryption::{ContentReader, ContentWriter, Keyring, key_of};

use super::backwards::Backwards;
use crate::storage::file_lock;

/// How new files lie on disk.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Plain,
    /// Under the keys of the data folder that the log lies in.
    Encrypted(Keyring),
}

impl Form {
    pub(super) const fn keyring(&self) -> Option<&Keyring> {
        match self {
            Self::Plain => None,
            Self::Encrypted(keyring) => Some(keyring),
        }
    }

    /// Whether a file does not have this form. A damaged one has it.
    pub(super) fn is_foreign(&self, path: &Path) -> io::Result<bool> {
        Ok(match key_of(path) {
            Ok(key) => key.is_some() != self.keyring().is_some() && fs::metadata(path)?.len() > 0,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.keyring().is_none(),
            Err(error) => return Err(error),
        })
    }

    /// Begins a new file. It is locked, so that nobody writes it anew under another key meanwhile.
    fn create(&self, path: &Path) -> io::Result<ContentWriter<File>> {
        let file = File::create(path)?;
        if !file_lock::is_taken(&file)? {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "another process makes this file"));
        }
        match self {
            Self::Plain => Ok(ContentWriter::plain(file)),
            Self::Encrypted(keyring) => ContentWriter::encrypted(file, keyring),
        }
    }

    /// The content of a file as it is.
    pub(super) fn open(&self, path: &Path) -> io::Result<ContentReader> {
        ContentReader::open(path, self.keyring())
    }

    /// The lines of a file of the log, also of a compressed one.
    pub(super) fn read(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        let content = self.open(path)?;
        if path.extension().is_some_and(|extension| extension == "gz") {
            return Ok(Box::new(MultiGzDecoder::new(BufReader::new(content))));
        }
        Ok(Box::new(content))
    }

    /// The lines of a file of the log that is not compressed, from its end.
    pub(super) fn read_backwards(&self, path: &Path) -> io::Result<Backwards<ContentReader>> {
        Backwards::of(self.open(path)?)
    }

    /// Compresses a closed file for good, and removes what it was. `false` if the file is just written anew
    /// under another key.
    pub(super) fn compress(&self, closed: &Path, draft: &Path, compressed: &Path) -> io::Result<bool> {
        let Some(mut from) = self.held(closed)? else { return Ok(false) };
        let mut encoder = GzEncoder::new(self.create(draft)?, Compression::default());
        io::copy(&mut from, &mut encoder)?;
        let file = encoder.finish()?.into_inner();
        file.sync_all()?;
        fs::rename(draft, compressed)?;
        sync_folder_of(compressed)?;
        fs::remove_file(closed)?;
        Ok(true)
    }

    /// Gives a closed file this form, for good.
    pub(super) fn adopt(&self, closed: &Path, draft: &Path) -> io::Result<()> {
        let Some(mut from) = self.held(closed)? else { return Ok(()) };
        let mut to = self.create(draft)?;
        io::copy(&mut from, &mut to)?;
        let file = to.into_inner();
        file.sync_all()?;
        fs::rename(draft, closed)?;
        sync_folder_of(closed)
    }

    /// A closed file that nobody else replaces while it is read.
    fn held(&self, closed: &Path) -> io::Result<Option<ContentReader>> {
        let file = File::open(closed)?;
        let is_held = file_lock::is_taken(&file)? && file_lock::is_at(&file, closed);
        is_held.then(|| ContentReader::of(file, self.keyring())).transpose()
    }
}

/// Makes the names in the folder of a file durable.
#[cfg(unix)]
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_folder_of(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use keywright_encryption::MasterKey;

    use super::*;

    #[test]
    fn a_closed_file_is_read_in_either_form_and_takes_that_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Keyring::create(folder.path(), &MasterKey::random(), None, 1).unwrap();
        let encrypted = Form::Encrypted(keyring);
        let [closed, draft, compressed] = ["log", "draft", "log.gz"].map(|name| folder.path().join(name));
        fs::write(&closed, "one\ntwo\n").unwrap();
        assert_eq!(
            (encrypted.is_foreign(&closed).unwrap(), Form::Plain.is_foreign(&closed).unwrap()),
            (true, false)
        );
        encrypted.adopt(&closed, &draft).unwrap();
        assert_eq!(
            (encrypted.is_foreign(&closed).unwrap(), Form::Plain.is_foreign(&closed).unwrap()),
            (false, true)
        );
        assert!(Form::Plain.read(&closed).is_err(), "without the key");
        assert!(encrypted.compress(&closed, &draft, &compressed).unwrap());
        assert!(key_of(&compressed).unwrap().is_some() && !closed.exists() && !draft.exists());
        let mut text = String::new();
        encrypted.read(&compressed).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }
}
