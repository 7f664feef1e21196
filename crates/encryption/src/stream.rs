//! Files that are read and written piece by piece, plain or encrypted: for logs and other long files outside
//! of the store that lie in an encrypted folder.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::cipher::FileCipher;
use crate::header::{HEADER_BYTES, HEADER_LENGTH, Header, is_encrypted};
use crate::keyring::Keyring;

/// The content of a file. Positions are those of the content.
///
/// Invariant: the file stands at `at`, counted after its header.
#[derive(Debug)]
pub struct ContentReader {
    file: File,
    /// `None` for a file that is not encrypted.
    cipher: Option<FileCipher>,
    at: u64,
}

impl ContentReader {
    /// Opens a file. One that is not encrypted is read as it is; an encrypted one needs the keys of its
    /// folder.
    pub fn open(path: &Path, keyring: Option<&Keyring>) -> io::Result<Self> {
        Self::of(File::open(path)?, keyring)
    }

    /// The same of an open file, from its first byte on.
    pub fn of(mut file: File, keyring: Option<&Keyring>) -> io::Result<Self> {
        file.seek(SeekFrom::Start(0))?;
        let mut begin = Vec::with_capacity(HEADER_BYTES);
        Read::by_ref(&mut file).take(HEADER_LENGTH).read_to_end(&mut begin)?;
        if !is_encrypted(&begin) {
            file.seek(SeekFrom::Start(0))?;
            return Ok(Self { file, cipher: None, at: 0 });
        }
        // A damaged header is named also where there is no key.
        Header::decode(&begin)?;
        let Some(keyring) = keyring else {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is encrypted, and no key is given"));
        };
        Ok(Self { file, cipher: Some(keyring.resume_file(&begin)?), at: 0 })
    }

    /// Whether the file is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.cipher.is_some()
    }

    fn start(&self) -> u64 {
        if self.cipher.is_some() { HEADER_LENGTH } else { 0 }
    }
}

impl Read for ContentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if let Some(cipher) = &self.cipher {
            cipher.apply(self.at, buffer.get_mut(..read).unwrap_or_default());
        }
        self.at += length(read);
        Ok(read)
    }
}

impl Seek for ContentReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let start = self.start();
        let place = match to {
            SeekFrom::Start(at) => self.file.seek(SeekFrom::Start(at.saturating_add(start)))?,
            SeekFrom::End(_) | SeekFrom::Current(_) => self.file.seek(to)?,
        };
        let Some(at) = place.checked_sub(start) else {
            self.file.seek(SeekFrom::Start(self.at + start))?;
            return Err(io::Error::new(ErrorKind::InvalidInput, "a position before the content"));
        };
        self.at = at;
        Ok(at)
    }
}

/// Writes the content of a new file from its first byte on.
///
/// Invariant: `at` bytes of content were written, all of them once.
#[derive(Debug)]
pub struct ContentWriter<W> {
    inner: W,
    /// `None` for a file that is not encrypted.
    cipher: Option<FileCipher>,
    at: u64,
    /// How much of a failed write arrived is not known, so nothing follows it.
    is_broken: bool,
}

impl<W: Write> ContentWriter<W> {
    /// A file that is not encrypted.
    pub fn plain(inner: W) -> Self {
        Self { inner, cipher: None, at: 0, is_broken: false }
    }

    /// A file under the newest key of a folder, with its header.
    pub fn encrypted(mut inner: W, keyring: &Keyring) -> io::Result<Self> {
        let (header, cipher) = keyring.begin_file();
        inner.write_all(&header.encode())?;
        Ok(Self { inner, cipher: Some(cipher), at: 0, is_broken: false })
    }

    /// What it writes to.
    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write> Write for ContentWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        let written = match &self.cipher {
            None => self.inner.write_all(bytes),
            Some(cipher) => {
                let mut encrypted = bytes.to_vec();
                cipher.apply(self.at, &mut encrypted);
                self.inner.write_all(&encrypted)
            }
        };
        self.is_broken = written.is_err();
        written?;
        self.at += length(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A file that is appended to, after its header.
#[derive(Clone, Debug)]
pub struct Appending {
    /// The bytes with which the file begins.
    pub header: Header,
    cipher: FileCipher,
}

impl Keyring {
    /// Begins a file that grows for long. Its writer appends each byte of its content once.
    pub fn begin_appending(&self) -> Appending {
        let (header, cipher) = self.begin_file();
        Appending { header, cipher }
    }

    /// Whether a file was begun under the newest key.
    pub fn is_newest(&self, header: Header) -> bool {
        self.keys().iter().any(|key| key.is_current && key.id == header.key)
    }
}

impl Appending {
    /// The bytes that stand at an offset of the content.
    pub fn encrypted(&self, offset: u64, content: &[u8]) -> Vec<u8> {
        let mut bytes = content.to_vec();
        self.cipher.apply(offset, &mut bytes);
        bytes
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::MasterKey;

    fn content() -> Vec<u8> {
        (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect()
    }

    #[test]
    fn a_file_that_is_written_in_pieces_is_read_from_any_place() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Keyring::create(folder.path(), &MasterKey::random(), None, 1).unwrap();
        let path = folder.path().join("file");
        for is_encrypted in [true, false] {
            let file = File::create(&path).unwrap();
            let mut writer = if is_encrypted {
                ContentWriter::encrypted(file, &keyring).unwrap()
            } else {
                ContentWriter::plain(file)
            };
            for piece in content().chunks(777) {
                writer.write_all(piece).unwrap();
            }
            writer.into_inner().sync_all().unwrap();
            assert_eq!(crate::key_of(&path).unwrap().is_some(), is_encrypted);
            let mut reader = ContentReader::open(&path, Some(&keyring)).unwrap();
            let mut found = Vec::new();
            reader.read_to_end(&mut found).unwrap();
            assert!(found == content());
            let mut part = [0; 100];
            for (to, at) in [
                (SeekFrom::Start(1), 1),
                (SeekFrom::End(-100), 199_900),
                (SeekFrom::Current(-200), 199_800),
                (SeekFrom::Start(77_777), 77_777),
            ] {
                assert_eq!(reader.seek(to).unwrap(), u64::try_from(at).unwrap());
                reader.read_exact(&mut part).unwrap();
                assert_eq!(part, content()[at..at + 100], "{to:?}");
            }
            assert!(reader.seek(SeekFrom::End(-200_001)).is_err());
            reader.read_exact(&mut part).unwrap();
            assert_eq!(part, content()[77_877..77_977], "a refused seek moves nothing");
            assert_eq!(ContentReader::open(&path, None).is_ok(), !is_encrypted);
        }
    }

    #[test]
    fn what_is_appended_is_the_content_and_knows_when_its_key_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let master = MasterKey::random();
        let keyring = Keyring::create(folder.path(), &master, None, 1).unwrap();
        let begun = keyring.begin_appending();
        let (one, other) = (begun.encrypted(0, b"one\n"), begun.encrypted(4, b"other\n"));
        let path = folder.path().join("file");
        std::fs::write(&path, [&begun.header.encode()[..], &one, &other].concat()).unwrap();
        let mut text = String::new();
        ContentReader::open(&path, Some(&keyring)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\nother\n");
        assert!(keyring.is_newest(begun.header));
        keyring.add_data_key(&master, 2).unwrap();
        assert!(!keyring.is_newest(begun.header));
    }

    #[test]
    fn nothing_follows_a_write_that_failed() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if bytes.len() > 70 { Err(ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let keyring = Keyring::create(folder.path(), &MasterKey::random(), None, 1).unwrap();
        let mut writer = ContentWriter::encrypted(Full, &keyring).unwrap();
        assert!(writer.write_all(&[0; 70]).is_ok());
        assert_eq!(writer.write_all(&[0; 71]).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(writer.write_all(&[0; 1]).unwrap_err().kind(), ErrorKind::Other);
    }
}
