//! The watermark: a small file with the version of the newest acknowledged commit. It is rewritten in place
//! after every synced group and not synced itself while the store runs.
//!
//! The watermark is never ahead of the durable commits, because it is written after the sync. After a crash
//! of the process it is exact; after a power loss it may be some seconds old. At open it distinguishes an
//! unfinished commit at the end of the journal, which was never acknowledged, from a loss of acknowledged
//! commits.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::OpenFault;
use crate::folder::create_private;
use crate::options::Durability;

/// Two records are written in turn, each in a sector of its own, so that a torn write leaves the other whole.
const SECTOR_BYTES: usize = 512;
/// Version, durability and checksum.
const RECORD_BYTES: usize = 24;

/// One record: the newest acknowledged commit, and the durability of the store that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) version: u64,
    pub(crate) durability: Durability,
}

impl Mark {
    fn encode(self) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        let mode = match self.durability {
            Durability::Synced => 1_u64,
            Durability::Relaxed => 2,
        };
        let (fields, checksum) = record.split_at_mut(RECORD_BYTES - 8);
        let (version, mode_field) = fields.split_at_mut(8);
        version.copy_from_slice(&self.version.to_le_bytes());
        mode_field.copy_from_slice(&mode.to_le_bytes());
        checksum.copy_from_slice(&xxh3_64(fields).to_le_bytes());
        record
    }

    fn decode(sector: &[u8]) -> Option<Self> {
        let (fields, rest) = sector.split_at_checked(RECORD_BYTES - 8)?;
        let checksum = u64::from_le_bytes(*rest.first_chunk::<8>()?);
        let (version, mode) = fields.split_first_chunk::<8>()?;
        if xxh3_64(fields) != checksum {
            return None;
        }
        let durability = match u64::from_le_bytes(mode.try_into().ok()?) {
            1 => Durability::Synced,
            2 => Durability::Relaxed,
            _ => return None,
        };
        Some(Self { version: u64::from_le_bytes(*version), durability })
    }
}

/// The newest record of the file's content, and whether another one was written and is not whole.
pub(crate) fn read_marks(bytes: &[u8]) -> (Option<Mark>, bool) {
    let records = || bytes.chunks(SECTOR_BYTES).map(|sector| (Mark::decode(sector), sector));
    let newest = records().filter_map(|(mark, _)| mark).max_by_key(|mark| mark.version);
    let is_damaged =
        |(mark, sector): (Option<Mark>, &[u8])| mark.is_none() && sector.iter().any(|byte| *byte != 0);
    (newest, records().any(is_damaged))
}

/// The file, open for the life of the store.
pub(crate) struct Watermark {
    file: File,
    durability: Durability,
    /// The newest version written.
    version: u64,
    /// Whether the next record goes into the second sector.
    second_sector: bool,
}

impl Watermark {
    /// Creates the file of an empty store.
    pub(crate) fn create(path: &Path, durability: Durability) -> Result<Self, OpenFault> {
        let mut file = create_private(path).map_err(OpenFault::io(path))?;
        file.write_all(&[0; 2 * SECTOR_BYTES]).map_err(OpenFault::io(path))?;
        let mut created = Self { file, durability, version: 0, second_sector: false };
        created.write(0).and_then(|()| created.sync()).map_err(OpenFault::io(path))?;
        Ok(created)
    }

    /// Opens the file of an existing store and reads its newer record.
    pub(crate) fn open(path: &Path, durability: Durability) -> Result<(Self, Mark), OpenFault> {
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(OpenFault::corrupt(path, "the file is missing"));
            }
            Err(error) => return Err(OpenFault::Io { file: path.to_owned(), error }),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(OpenFault::io(path))?;
        let records = bytes.chunks(SECTOR_BYTES).map(Mark::decode);
        let newest = records
            .enumerate()
            .filter_map(|(sector, mark)| Some((mark?.version, sector, mark?)))
            .max_by_key(|(version, ..)| *version);
        let Some((_, sector, mark)) = newest else {
            return Err(OpenFault::corrupt(path, "neither of its two records is whole"));
        };
        Ok((Self { file, durability, version: mark.version, second_sector: sector == 0 }, mark))
    }

    /// Records that all commits up to `version` are durable.
    pub(crate) fn write(&mut self, version: u64) -> std::io::Result<()> {
        assert!(version >= self.version, "the watermark never goes back");
        self.version = version;
        let offset = if self.second_sector { SECTOR_BYTES } else { 0 };
        self.second_sector = !self.second_sector;
        self.file.seek(SeekFrom::Start(u64::try_from(offset).unwrap_or_default()))?;
        self.file.write_all(&Mark { version, durability: self.durability }.encode())
    }

    /// Records the version found at open. If the durability differs from the last one, both records are
    /// written and synced: after a power loss the durability decides which ends of a journal are legal.
    pub(crate) fn resume(&mut self, version: u64, before: Mark) -> std::io::Result<()> {
        self.write(version)?;
        if before.durability == self.durability {
            return Ok(());
        }
        self.write(version)?;
        self.sync()
    }

    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        (folder, path)
    }

    #[test]
    fn the_newer_record_counts() {
        let (_folder, path) = scratch();
        let mut file = Watermark::create(&path, Durability::Synced).unwrap();
        for version in [3, 4, 9] {
            file.write(version).unwrap();
        }
        let (mut file, mark) = Watermark::open(&path, Durability::Relaxed).unwrap();
        assert_eq!(mark, Mark { version: 9, durability: Durability::Synced });
        file.write(10).unwrap();
        let (_, mark) = Watermark::open(&path, Durability::Synced).unwrap();
        assert_eq!(mark, Mark { version: 10, durability: Durability::Relaxed });
    }

    #[test]
    fn a_changed_durability_is_in_both_records() {
        for writes in [1, 2] {
            let (_folder, path) = scratch();
            let mut file = Watermark::create(&path, Durability::Synced).unwrap();
            for _ in 0..writes {
                file.write(0).unwrap();
            }
            let (mut file, mark) = Watermark::open(&path, Durability::Relaxed).unwrap();
            file.resume(0, mark).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let modes = bytes.chunks(SECTOR_BYTES).map(|sector| Mark::decode(sector).unwrap().durability);
            assert_eq!(modes.collect::<Vec<_>>(), [Durability::Relaxed; 2]);
        }
    }

    #[test]
    fn a_torn_record_leaves_the_previous_one() {
        let (_folder, path) = scratch();
        let mut file = Watermark::create(&path, Durability::Synced).unwrap();
        file.write(5).unwrap();
        file.write(6).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let (_, mark) = Watermark::open(&path, Durability::Synced).unwrap();
        assert_eq!(mark.version, 5);
        bytes[SECTOR_BYTES] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let refused = Watermark::open(&path, Durability::Synced).err().unwrap();
        assert!(refused.to_string().contains("acknowledged"), "{refused}");
    }

    #[test]
    #[should_panic(expected = "never goes back")]
    fn a_watermark_that_would_go_back_is_caught() {
        let (_folder, path) = scratch();
        let mut file = Watermark::create(&path, Durability::Synced).unwrap();
        file.write(5).unwrap();
        let _ = file.write(4);
    }
}
