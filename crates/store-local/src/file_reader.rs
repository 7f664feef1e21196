//! Reads files of the store whole, in order: at open, by `verify` and by the scrub.
//!
//! Everything that checks a file reads it here: offsets and pieces are those of its content, also where it is
//! encrypted. It does not know what a file holds.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use keywright_encryption::{FileCipher, HEADER_BYTES, HEADER_LENGTH};

use crate::files::Files;

/// Bytes that one call of [`FileReader::next`] reads at most.
pub(crate) const PIECE_BYTES: usize = 1024 * 1024;
/// Direct reads need buffers, offsets and lengths that are multiples of the disk's block.
const ALIGNMENT: usize = 4096;

/// Where the bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// From the disk, where the system can do that (`O_DIRECT` of Linux): memory may hold a sound copy of a
    /// page that is damaged on disk, and reading everything must not drop the pages that requests need.
    Disk,
    /// From the operating system's memory, if it has them.
    Memory,
}

/// A file that is read in order.
pub(crate) struct FileReader {
    path: PathBuf,
    file: File,
    is_direct: bool,
    files: Files,
    /// Of an encrypted file whose header was read.
    cipher: Option<FileCipher>,
    /// In the file, with its header.
    offset: u64,
    /// Room for a piece at an aligned address.
    buffer: Vec<u8>,
}

impl FileReader {
    pub(crate) fn open(path: &Path, files: &Files, from: ReadFrom) -> io::Result<Self> {
        let direct = if from == ReadFrom::Disk { open_direct(path) } else { None };
        let is_direct = direct.is_some();
        let file = direct.map_or_else(|| File::open(path), Ok)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            is_direct,
            files: files.clone(),
            cipher: None,
            offset: 0,
            buffer: vec![0; PIECE_BYTES + ALIGNMENT],
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next piece; empty at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<&[u8]> {
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let mut filled = 0;
        while filled < PIECE_BYTES {
            let room = self.buffer.get_mut(start + filled..start + PIECE_BYTES).unwrap_or_default();
            match self.file.read(room) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The file system knows direct reads but cannot do this one.
                Err(error) if self.is_direct && error.kind() == ErrorKind::InvalidInput => {
                    self.read_through_memory(filled)?;
                }
                Err(error) => return Err(error),
            }
            // A direct read that ends within a block has come to the end of the file.
            if self.is_direct && !filled.is_multiple_of(ALIGNMENT) {
                break;
            }
        }
        let begin = self.offset;
        self.offset += u64::try_from(filled).unwrap_or(u64::MAX);
        let piece = self.buffer.get_mut(start..start + filled).unwrap_or_default();
        if begin == 0 {
            self.cipher = self.files.cipher(piece)?;
        }
        let Some(cipher) = &self.cipher else { return Ok(piece) };
        let content = if begin == 0 { piece.get_mut(HEADER_BYTES..).unwrap_or_default() } else { piece };
        cipher.apply(begin.saturating_sub(HEADER_LENGTH), content);
        Ok(content)
    }

    fn read_through_memory(&mut self, filled: usize) -> io::Result<()> {
        self.is_direct = false;
        self.file = File::open(&self.path)?;
        let offset = self.offset + u64::try_from(filled).unwrap_or(u64::MAX);
        self.file.seek(SeekFrom::Start(offset)).map(|_| ())
    }
}

#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> Option<File> {
    let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).ok()?;
    let mut options = std::fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    options.read(true).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_path: &Path) -> Option<File> {
    None
}

/// The whole content of a file, from the disk.
pub(crate) fn read_whole(path: &Path, files: &Files) -> io::Result<Vec<u8>> {
    let mut reader = FileReader::open(path, files, ReadFrom::Disk)?;
    let mut bytes = Vec::new();
    loop {
        let piece = reader.next()?;
        if piece.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use keywright_encryption::{Keyring, MasterKey};

    use super::*;

    #[test]
    fn a_file_of_any_length_is_read_whole_from_disk_and_from_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let keyring = Keyring::create(folder.path(), &MasterKey::random(), None, 1).unwrap();
        let lengths = [0, 1, ALIGNMENT - 1, ALIGNMENT, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES - 7];
        let forms = [Files::Plain, Files::Encrypted(keyring.clone())];
        for (length, files) in lengths.into_iter().flat_map(|length| forms.clone().map(|form| (length, form)))
        {
            let content: Vec<u8> = (0_u8..251).cycle().take(length).collect();
            let bytes = match files {
                Files::Plain => content.clone(),
                Files::Encrypted(_) => keyring.encrypted(&content),
            };
            std::fs::write(&path, &bytes).unwrap();
            assert!(read_whole(&path, &files).unwrap() == content, "{length}");
            let mut reader = FileReader::open(&path, &files, ReadFrom::Memory).unwrap();
            let mut found = Vec::new();
            while let piece @ [_, ..] = reader.next().unwrap() {
                found.extend_from_slice(piece);
            }
            assert!(found == content, "{length}");
        }
    }
}
