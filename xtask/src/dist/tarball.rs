//! Archives of `tar`, with the same time and owner for every file.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};

const BLOCK_BYTES: usize = 512;
const MODE_FILE: u32 = 0o644;
const MODE_PROGRAM: u32 = 0o755;
/// Zeros at the end of an archive.
const END_BLOCKS: usize = 2;

/// One file or folder of a package.
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) bytes: Vec<u8>,
    is_folder: bool,
}

impl Entry {
    pub(super) fn file(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), mode: MODE_FILE, bytes, is_folder: false }
    }

    pub(super) fn program(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), mode: MODE_PROGRAM, bytes, is_folder: false }
    }

    pub(super) fn folder(path: &str) -> Self {
        Self { path: format!("{path}/"), mode: MODE_PROGRAM, bytes: Vec::new(), is_folder: true }
    }

    /// The same entry in a folder.
    pub(super) fn below(self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self }
    }
}

/// A `.tar.gz` of these entries, in this order.
pub(super) fn compressed(entries: &[Entry], compression: Compression) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    for entry in entries {
        plain.extend(header(entry)?);
        plain.extend(&entry.bytes);
        plain.resize(plain.len().next_multiple_of(BLOCK_BYTES), 0);
    }
    plain.resize(plain.len() + END_BLOCKS * BLOCK_BYTES, 0);
    gzip(&plain, compression)
}

pub(super) fn gzip(bytes: &[u8], compression: Compression) -> Result<Vec<u8>, String> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), compression);
    let written = writer.write_all(bytes).and_then(|()| writer.finish());
    written.map_err(|error| format!("cannot compress: {error}"))
}

/// The header of POSIX's ustar format.
fn header(entry: &Entry) -> Result<[u8; BLOCK_BYTES], String> {
    let mut header = [0; BLOCK_BYTES];
    let mut put = |at: usize, text: &str| {
        for (place, byte) in header.iter_mut().skip(at).zip(text.bytes()) {
            *place = byte;
        }
    };
    let (folder, name) =
        divided(&entry.path).ok_or_else(|| format!("the path {} is too long", entry.path))?;
    put(0, name);
    put(100, &format!("{:07o}", entry.mode));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{:011o}", entry.bytes.len()));
    put(136, "00000000000");
    put(148, "        ");
    put(156, if entry.is_folder { "5" } else { "0" });
    put(257, "ustar\u{0}00root");
    put(297, "root");
    put(345, folder);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    for (place, byte) in header.iter_mut().skip(148).zip(format!("{sum:06o}\u{0} ").bytes()) {
        *place = byte;
    }
    Ok(header)
}

/// A path as folder and name: up to 155 and 100 bytes.
fn divided(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    let mut cuts = path.match_indices('/').map(|(at, _)| path.split_at(at));
    cuts.find_map(|(folder, name)| {
        let name = name.strip_prefix('/')?;
        (folder.len() <= 155 && name.len() <= 100 && !name.is_empty()).then_some((folder, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_divided_at_a_folder() {
        let long = format!("{}/{}", "d".repeat(90), "n".repeat(30));
        assert_eq!(divided(&long), Some((&*"d".repeat(90), &*"n".repeat(30))));
        assert_eq!(divided("a/b"), Some(("", "a/b")));
        assert_eq!(divided(&"n".repeat(101)), None);
    }
}
