//! A look at fjall's journal files before fjall opens them: which group was the last that they mention.
//!
//! fjall cuts a journal at the first entry it cannot read, which is right for the torn end that a power loss leaves and
//! wrong for damage in the middle. Each group's last row names the group, and a group is written only after the one
//! before it is on disk. So if more than one group mentioned in the files is gone after recovery, acknowledged groups
//! are gone.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use memchr::memmem;

use crate::marker::Mark;
use crate::open::OpenFault;

const CHUNK_BYTES: usize = 1024 * 1024;

/// One group's number, and the version of its last commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    pub number: u64,
    pub version: u64,
}

/// Bytes of a group's row: mark, number, version, and their checksum.
pub(crate) const ROW_BYTES: usize = 16 + 8 + 8 + 4;

impl Group {
    pub(crate) fn encode(self, mark: Mark) -> Vec<u8> {
        let mut row = mark.0.to_vec();
        row.extend_from_slice(&self.number.to_be_bytes());
        row.extend_from_slice(&self.version.to_be_bytes());
        row.extend_from_slice(&checksum(&row).to_be_bytes());
        row
    }

    pub(crate) fn decode(row: &[u8], mark: Mark) -> Option<Self> {
        let (body, sum) = row.split_at_checked(ROW_BYTES - 4)?;
        let sum = u32::from_be_bytes(sum.first_chunk::<4>().copied()?);
        let rest = body.strip_prefix(&mark.0)?;
        let (number, version) = rest.split_first_chunk::<8>()?;
        let version = u64::from_be_bytes(version.try_into().ok()?);
        (checksum(body) == sum).then_some(Self { number: u64::from_be_bytes(*number), version })
    }
}

/// FNV-1a: enough to tell a row from a torn one.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811C_9DC5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The last group that any journal file in the folder mentions.
pub(crate) fn last_group(folder: &Path, mark: Mark) -> Result<Option<Group>, OpenFault> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenFault::io(folder, &error)),
    };
    let mut last = None;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let found = scan(&path, mark).map_err(|error| OpenFault::io(&path, &error))?;
            last = last.max(found);
        }
    }
    Ok(last)
}

fn scan(path: &Path, mark: Mark) -> std::io::Result<Option<Group>> {
    let finder = memmem::Finder::new(&mark.0);
    let mut file = File::open(path)?;
    let mut window: Vec<u8> = Vec::with_capacity(CHUNK_BYTES + ROW_BYTES);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut last = None;
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(last);
        }
        window.extend_from_slice(chunk.get(..read).unwrap_or_default());
        for place in finder.find_iter(&window) {
            let row = window.get(place..place + ROW_BYTES);
            last = last.max(row.and_then(|row| Group::decode(row, mark)));
        }
        // A row may go on in the next chunk.
        let kept = window.len().saturating_sub(ROW_BYTES - 1);
        window.drain(..kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark(*b"0123456789abcdef");

    #[test]
    fn the_last_group_is_found_across_chunks_and_torn_rows_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![0; CHUNK_BYTES - 10];
        bytes.extend(Group { number: 1, version: 5 }.encode(MARK));
        bytes.extend(vec![7; 3 * CHUNK_BYTES]);
        bytes.extend(Group { number: 2, version: 9 }.encode(MARK));
        let mut torn = Group { number: 3, version: 11 }.encode(MARK);
        torn[20] ^= 1;
        bytes.extend(torn);
        std::fs::write(folder.path().join("0.jnl"), bytes).unwrap();
        assert_eq!(last_group(folder.path(), MARK).unwrap(), Some(Group { number: 2, version: 9 }));
        assert_eq!(last_group(&folder.path().join("none"), MARK).unwrap(), None);
    }
}
