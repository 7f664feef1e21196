//! The files of tables and of lists of tables: as they are, or encoded byte by byte.
//!
//! An encoded file begins with a header of [`HEADER_BYTES`]; offsets are those of the content after it. Blob
//! files are never encoded.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    panic::{RefUnwindSafe, UnwindSafe},
    path::Path,
    sync::Arc,
};

/// Bytes with which an encoded file begins.
pub const HEADER_BYTES: usize = 64;
const HEADER_LENGTH: u64 = 64;

/// Encodes and decodes files.
pub trait FileCodec: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// A header for a new file, and what encodes its content.
    fn begin(&self) -> ([u8; HEADER_BYTES], Box<dyn FileCipher>);

    /// What decodes the content of a file with this header.
    ///
    /// # Errors
    ///
    /// Will return `Err` if the header is not one of this codec.
    fn resume(&self, header: &[u8; HEADER_BYTES]) -> io::Result<Box<dyn FileCipher>>;
}

/// Encodes and decodes the content of one file. No byte of a file is encoded twice with different values.
pub trait FileCipher: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Encodes or decodes bytes at an offset of the content, in place.
    fn apply(&self, offset: u64, bytes: &mut [u8]);
}

/// How files are opened and made.
#[derive(Clone, Default)]
pub struct Fs(Option<Arc<dyn FileCodec>>);

impl Fs {
    /// Files that are encoded.
    #[must_use]
    pub fn encoded(codec: Arc<dyn FileCodec>) -> Self {
        Self(Some(codec))
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    ///
    /// Will return `Err` if an IO error occurs, or if the file has no header of the codec.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        let mut file = fs::File::open(path)?;
        let Some(codec) = &self.0 else {
            return Ok(File::plain(file));
        };
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header)?;
        let cipher = codec.resume(&header)?;
        Ok(File { cipher: Some(cipher), ..File::plain(file) })
    }

    /// Makes a file, which must not exist.
    pub(crate) fn create_new(&self, path: &Path) -> io::Result<File> {
        self.begin(fs::File::create_new(path)?)
    }

    /// Makes a file, or empties it.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        self.begin(fs::File::create(path)?)
    }

    fn begin(&self, mut file: fs::File) -> io::Result<File> {
        let Some(codec) = &self.0 else {
            return Ok(File::plain(file));
        };
        let (header, cipher) = codec.begin();
        file.write_all(&header)?;
        Ok(File { cipher: Some(cipher), ..File::plain(file) })
    }
}

/// An open file. Offsets and lengths are those of its content.
pub struct File {
    file: fs::File,
    cipher: Option<Box<dyn FileCipher>>,
    /// Where the next sequential read or write of an encoded file goes.
    position: u64,
    /// What is written next, encoded.
    encoded: Vec<u8>,
}

impl File {
    fn plain(file: fs::File) -> Self {
        Self { file, cipher: None, position: 0, encoded: Vec::new() }
    }

    /// Opens a file that is not encoded.
    ///
    /// # Errors
    ///
    /// Will return `Err` if an IO error occurs.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        fs::File::open(path).map(Self::plain)
    }

    /// Syncs the file.
    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The length of the content.
    pub(crate) fn len(&self) -> io::Result<u64> {
        let length = self.file.metadata()?.len();
        Ok(length.saturating_sub(if self.cipher.is_some() { HEADER_LENGTH } else { 0 }))
    }

    /// Reads bytes at an offset, without moving the position.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(cipher) = &self.cipher else {
            return read_at(&self.file, bytes, offset);
        };
        let read = read_at(&self.file, bytes, offset + HEADER_LENGTH)?;
        cipher.apply(offset, bytes.get_mut(..read).unwrap_or_default());
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        if let Some(cipher) = &self.cipher {
            cipher.apply(self.position, bytes.get_mut(..read).unwrap_or_default());
            self.position += read as u64;
        }
        Ok(read)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(cipher) = &self.cipher else {
            return self.file.write(bytes);
        };
        self.encoded.clear();
        self.encoded.extend_from_slice(bytes);
        cipher.apply(self.position, &mut self.encoded);
        let written = self.file.write(&self.encoded)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.cipher.is_none() {
            return self.file.seek(to);
        }
        let to = match to {
            SeekFrom::Start(offset) => SeekFrom::Start(offset + HEADER_LENGTH),
            other => other,
        };
        let place = self.file.seek(to)?;
        self.position = place
            .checked_sub(HEADER_LENGTH)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

/// Reads a section of an archive.
pub(crate) trait Section {
    fn buf_reader_of(&self, fs: &Fs, path: &Path) -> io::Result<impl BufRead>;
}

impl Section for sfa::TocEntry {
    fn buf_reader_of(&self, fs: &Fs, path: &Path) -> io::Result<impl BufRead> {
        let mut file = BufReader::new(fs.open(path)?);
        file.seek(SeekFrom::Start(self.pos()))?;
        Ok(file.take(self.len()))
    }
}
