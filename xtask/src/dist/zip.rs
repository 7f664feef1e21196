//! Archives of the zip format, as wheels are.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::tarball::Entry;

/// 1 January 1980, the format's first day.
const DATE: u16 = 0x0021;
/// Unix, whose modes the archive keeps; version 2.0 of the format.
const MADE_BY: u16 = 0x0300 | VERSION_NEEDED;
const VERSION_NEEDED: u16 = 20;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// The bit of a regular file in a mode.
const REGULAR: u32 = 0o100_000;

/// A zip archive of these files, in this order.
pub(super) fn compressed(entries: &[Entry], compression: Compression) -> Result<Vec<u8>, String> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let start = length(archive.len())?;
        let common = common_header(entry, &deflate(entry, compression)?, &mut archive)?;
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(common);
        // No comment, first disk, no internal attributes.
        directory.extend([0; 6]);
        directory.extend(((REGULAR | entry.mode) << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(entry.path.as_bytes());
    }
    let (start, size) = (length(archive.len())?, length(directory.len())?);
    let count = u16::try_from(entries.len()).map_err(|_| "too many files for a zip archive".to_owned())?;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(size.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0; 2]);
    Ok(archive)
}

fn deflate(entry: &Entry, compression: Compression) -> Result<Vec<u8>, String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), compression);
    let written = encoder.write_all(&entry.bytes).and_then(|()| encoder.finish());
    written.map_err(|error| format!("cannot compress {}: {error}", entry.path))
}

/// Appends a file to the archive and returns the fields that the directory repeats.
fn common_header(entry: &Entry, deflated: &[u8], archive: &mut Vec<u8>) -> Result<Vec<u8>, String> {
    let mut sum = Crc::new();
    sum.update(&entry.bytes);
    let name = u16::try_from(entry.path.len()).map_err(|_| format!("the path {} is too long", entry.path))?;
    let mut common = Vec::new();
    for field in [VERSION_NEEDED, FLAGS, DEFLATED, 0, DATE] {
        common.extend(field.to_le_bytes());
    }
    for field in [sum.sum(), length(deflated.len())?, length(entry.bytes.len())?] {
        common.extend(field.to_le_bytes());
    }
    common.extend(name.to_le_bytes());
    // No extra field.
    common.extend([0; 2]);
    archive.extend(b"PK\x03\x04");
    archive.extend(&common);
    archive.extend(entry.path.as_bytes());
    archive.extend(deflated);
    Ok(common)
}

fn length(bytes: usize) -> Result<u32, String> {
    u32::try_from(bytes).map_err(|_| "larger than a zip archive may be".to_owned())
}
