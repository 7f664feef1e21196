//! Reads a stopped store's folder whole and names everything that is damaged. It changes nothing.
//!
//! It goes on after each fault: what `open` would refuse at the first damaged byte is reported place by
//! place, with the keys that each may hold. Rows that a caller wants, such as those that name its tables, are
//! collected from all that is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use keywright_store::KeyRange;

use crate::damage::{Damage, DamagedPart, Holds};
use crate::error::OpenFault;
use crate::file_reader::read_whole;
use crate::files::Files;
use crate::folder::{Folder, Marker};
use crate::journal::{self, Checked, segment_files, segment_name};
use crate::key_use::stranger;
use crate::keys::{ROWS_END, VERSION_KEY, caller_part, row_key};
use crate::options::Durability;
use crate::scrub::{
    damaged_record, foreign_segment, list_damage, table_damage, unreadable, unreadable_table,
};
use crate::table_check::{self, Listed};
use crate::watermark::{Mark, read_marks};

/// What [`verify`] found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Damaged places, in the order in which they were read.
    pub damaged: Vec<Damage>,
    /// What is worth a look and loses nothing.
    pub notes: Vec<String>,
    /// Files that were read.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The newest values of wanted rows, from everything that is whole.
    pub rows: BTreeMap<Bytes, Bytes>,
}

/// Values of rows with the commits that wrote them.
type Collected = BTreeMap<Bytes, (u64, Option<Bytes>)>;

struct Verification<'p> {
    files: &'p Files,
    found: Verified,
    rows: Collected,
    /// Stored keys of the wanted rows.
    wanted: (Vec<u8>, Vec<u8>),
    /// The newest commit in tables.
    flushed: u64,
    progress: &'p mut dyn FnMut(u64),
}

/// Reads the folder of a store that nobody has open: format marker, watermark, list of tables, tables and
/// journal. `progress` is called with the bytes read so far. The fault says why the folder cannot be
/// verified: it is in use, holds no store, has an unknown format, or its keys are older than its files.
pub fn verify(
    path: &Path,
    files: &Files,
    wanted: &KeyRange,
    progress: &mut dyn FnMut(u64),
) -> Result<Verified, OpenFault> {
    let (folder, marker) = Folder::lock_to_read(path, files)?;
    if let Files::Encrypted(keyring) = files
        && let Some((file, key)) = stranger(path, &keyring.keys())
    {
        return Err(OpenFault::UnknownKey { file, key });
    }
    let end = wanted.end.as_ref().map_or_else(|| ROWS_END.to_vec(), |end| row_key(end).to_vec());
    let mut verification = Verification {
        files,
        found: Verified::default(),
        rows: Collected::new(),
        wanted: (row_key(&wanted.start).to_vec(), end),
        flushed: 0,
        progress,
    };
    match marker {
        Marker::Whole => verification.found.files += 1,
        Marker::Unfinished => {
            verification
                .found
                .notes
                .push("the creation of the store was interrupted: it has no data yet".to_owned());
            return Ok(verification.found);
        }
        Marker::Damaged { file, detail } => {
            verification.damage_of_file(file, DamagedPart::Format, detail);
        }
    }
    let mark = verification.watermark(&folder.watermark());
    verification.tables(&folder.tables());
    verification.journal(&folder.journal(), mark);
    Ok(verification.finish())
}

impl Verification<'_> {
    fn count(&mut self, bytes: usize) {
        self.found.files += 1;
        self.found.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        (self.progress)(self.found.bytes);
    }

    /// Damage of a file that concerns all keys.
    fn damage_of_file(&mut self, file: PathBuf, part: DamagedPart, detail: String) {
        let holds = Holds::Everything;
        self.found.damaged.push(Damage { file, part, offset: None, bytes: None, detail, holds });
    }

    fn watermark(&mut self, path: &Path) -> Option<Mark> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.damage_of_file(
                    path.to_owned(),
                    DamagedPart::Watermark,
                    "the file is missing".to_owned(),
                );
                return None;
            }
            Err(error) => {
                let detail = format!("it cannot be read: {error}");
                self.damage_of_file(path.to_owned(), DamagedPart::Watermark, detail);
                return None;
            }
        };
        self.count(bytes.len());
        let (newest, has_damaged) = read_marks(&bytes);
        match newest {
            None => {
                let detail = "neither of its two records is whole".to_owned();
                self.damage_of_file(path.to_owned(), DamagedPart::Watermark, detail);
            }
            Some(_) if has_damaged => self.found.notes.push(format!(
                "{}: one of its two records is not whole, as after a crash; the other one counts",
                path.display()
            )),
            Some(_) => {}
        }
        newest
    }

    fn tables(&mut self, folder: &Path) {
        match table_check::list(folder, self.files) {
            Ok(tables) => {
                let listed: BTreeSet<PathBuf> = tables.iter().map(|table| table.path.clone()).collect();
                for table in &tables {
                    self.table(&table.path, Some(table));
                }
                let others = table_files(folder).into_iter().filter(|path| !listed.contains(path)).count();
                if others > 0 {
                    let place = folder.display();
                    self.found.notes.push(format!(
                        "{place}: {others} files are not in the list of tables; the next start removes them"
                    ));
                }
            }
            Err(fault) => {
                self.found.damaged.push(list_damage(folder, &fault).damage);
                // Without the list, each table that is there may be one of the store's.
                for path in table_files(folder) {
                    self.table(&path, None);
                }
            }
        }
    }

    fn table(&mut self, path: &Path, listed: Option<&Listed>) {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let bytes = match read_whole(path, self.files) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.found.damaged.push(unreadable_table(path, &error, &all));
                return;
            }
        };
        self.count(bytes.len());
        let (damaged, file) =
            table_damage((path, self.files.start()), &bytes, listed.map(|table| table.checksum), &all);
        self.found.damaged.extend(damaged.into_iter().map(|(damage, _)| damage));
        self.flushed = self.flushed.max(file.newest_commit().unwrap_or(0));
        for row in file.rows_in((&VERSION_KEY, &[VERSION_KEY.as_slice(), &[0]].concat())) {
            let version = row.value.and_then(|value| value.as_ref().try_into().ok()).map(u64::from_be_bytes);
            self.flushed = self.flushed.max(version.unwrap_or(0));
        }
        for row in file.rows_in((&self.wanted.0, &self.wanted.1)) {
            let value = row.value.map(|value| Bytes::copy_from_slice(&value));
            keep(&mut self.rows, row.sequence, &row.key, value);
        }
    }

    fn journal(&mut self, folder: &Path, mark: Option<Mark>) {
        let files = segment_files(folder).unwrap_or_default();
        let mut checked = Checked::default();
        for (number, path) in &files {
            match read_whole(path, self.files) {
                Ok(bytes) => {
                    self.count(bytes.len());
                    let (wanted, rows) = (&self.wanted, &mut self.rows);
                    checked.segment((*number, path), &bytes, |commit, key, value| {
                        if key >= wanted.0.as_slice() && key < wanted.1.as_slice() {
                            keep(rows, commit, key, value.map(Bytes::copy_from_slice));
                        }
                    });
                }
                Err(error) => {
                    self.damage_of_file(path.clone(), DamagedPart::Journal, unreadable(&error));
                }
            }
        }
        let before = self.found.damaged.len();
        self.found.damaged.extend(checked.foreign.iter().map(|(_, path)| foreign_segment(path).damage));
        let is_relaxed = mark.is_some_and(|mark| mark.durability == Durability::Relaxed);
        let acknowledged = mark.map_or(0, |mark| mark.version);
        // After a loss of power a relaxed store may lack commits that were never synced.
        let gaps = checked.gaps().filter(|place| !is_relaxed || place.commits.0 <= acknowledged);
        self.found.damaged.extend(gaps.map(|place| damaged_record(place, self.files.start()).damage));
        if self.found.damaged.len() == before
            && let Some(missing) = checked.first_missing(self.flushed, acknowledged)
        {
            if let Some(file) = missing_segment(folder, &files) {
                self.damage_of_file(file, DamagedPart::Journal, "the file is missing".to_owned());
            } else if let Some(place) = checked.place_of(missing) {
                self.found.damaged.push(damaged_record(place, self.files.start()).damage);
            }
        }
        // What `open` would refuse is damage, for any reason.
        if self.found.damaged.is_empty()
            && let Some(mark) = mark
            && let Some(fault) = journal::refusal((folder, self.files), self.flushed, mark)
        {
            let (file, detail) = match fault {
                OpenFault::Corrupt { file, detail } => (file, detail),
                other => (folder.to_owned(), other.to_string()),
            };
            self.damage_of_file(file, DamagedPart::Journal, detail);
        }
    }

    fn finish(mut self) -> Verified {
        let rows = self.rows.into_iter().filter_map(|(key, (_, value))| Some((key, value?)));
        self.found.rows = rows.collect();
        self.found
    }
}

/// The segment that is missing in the order of numbers, or the first one if there is none.
fn missing_segment(folder: &Path, files: &[(u64, PathBuf)]) -> Option<PathBuf> {
    let numbers = files.iter().map(|(number, _)| *number);
    let mut pairs = numbers.clone().zip(numbers.skip(1));
    let after = if files.is_empty() {
        Some(0)
    } else {
        pairs.find(|(one, next)| one + 1 != *next).map(|pair| pair.0)
    };
    after.map(|number| folder.join(segment_name(number + 1)))
}

/// Keeps the newest value of a row.
fn keep(rows: &mut Collected, commit: u64, stored: &[u8], value: Option<Bytes>) {
    let Some(key) = caller_part(stored) else { return };
    let newest = rows.entry(Bytes::copy_from_slice(key)).or_default();
    if commit >= newest.0 {
        *newest = (commit, value);
    }
}

/// The files that look like tables.
fn table_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join(crate::tables::FILES)).into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| Some((entry.file_name().to_str()?.parse::<u64>().ok()?, entry.path()));
    let mut files: Vec<_> = entries.filter_map(number).collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}
