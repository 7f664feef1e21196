//! Verifies the checksums of the list of tables and of the newest tables before they are opened.
//!
//! `lsm_tree` verifies each block that it reads. But it opens a list of tables without verifying its
//! checksum, and it makes a new tree where there is no list. This file knows where the pinned version keeps
//! these files, and nothing of their rows.

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::error::OpenFault;
use crate::file_reader::{FileReader, ReadFrom};
use crate::files::Files;
use crate::tables::FILES;

/// A table as the list names it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) id: u64,
    pub(crate) path: PathBuf,
    /// Of the whole file.
    pub(crate) checksum: u128,
}

/// Verifies the list, the presence of all tables, and the content of the newest tables up to
/// `verify_bytes_max`.
pub(crate) fn verify(folder: &Path, files: &Files, verify_bytes_max: u64) -> Result<(), OpenFault> {
    let mut bytes_left = verify_bytes_max;
    let mut tables = list(folder, files)?;
    tables.sort_by_key(|table| std::cmp::Reverse(table.id));
    for table in tables {
        let bytes = require(&table.path)?;
        files.check(&table.path).map_err(OpenFault::read(&table.path))?;
        if bytes <= bytes_left {
            bytes_left -= bytes;
            check_content(&table, files)?;
        }
    }
    Ok(())
}

/// The length of a file that must exist.
fn require(file: &Path) -> Result<u64, OpenFault> {
    match fs::metadata(file) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(OpenFault::corrupt(file, "the file is missing"))
        }
        Err(error) => Err(OpenFault::Io { file: file.to_owned(), error }),
    }
}

/// The tables in a folder, from the list that its `current` file names.
pub(crate) fn list(tree: &Path, files: &Files) -> Result<Vec<Listed>, OpenFault> {
    list_with_path(tree, files).map(|(_, tables)| tables)
}

/// The list of tables and what it lists.
pub(crate) fn list_with_path(tree: &Path, files: &Files) -> Result<(PathBuf, Vec<Listed>), OpenFault> {
    let current = tree.join("current");
    require(&current)?;
    let pointer = fs::read(&current).map_err(OpenFault::io(&current))?;
    let Some((id, checksum)) = parse_pointer(&pointer) else {
        return Err(OpenFault::corrupt(&current, "it does not name a list of tables"));
    };
    let path = tree.join(format!("v{id}"));
    if !path.try_exists().map_err(OpenFault::io(&path))? {
        return Err(OpenFault::corrupt(&current, format!("it names {}, which is missing", path.display())));
    }
    let list = files.read(&path).map_err(OpenFault::read(&path))?;
    if xxh3_128(&list) != checksum {
        let detail =
            format!("the list of tables does not have the checksum that {} gives", current.display());
        return Err(OpenFault::corrupt(&path, detail));
    }
    let entries =
        parse_list(&list).ok_or_else(|| OpenFault::corrupt(&path, "the list of tables is malformed"))?;
    let file = |id: u64| tree.join(FILES).join(id.to_string());
    let tables = entries.into_iter().map(|(id, checksum)| Listed { id, path: file(id), checksum });
    Ok((path, tables.collect()))
}

fn parse_pointer(bytes: &[u8]) -> Option<(u64, u128)> {
    let (id, rest) = bytes.split_first_chunk::<8>()?;
    let (checksum, rest) = rest.split_first_chunk::<16>()?;
    (rest == [0]).then(|| (u64::from_le_bytes(*id), u128::from_le_bytes(*checksum)))
}

/// Ids and checksums of the tables in a list. The list has levels, levels have runs, runs have tables.
fn parse_list(list: &[u8]) -> Option<Vec<(u64, u128)>> {
    let archive = sfa::Reader::from_reader(&mut std::io::Cursor::new(list)).ok()?;
    let section = archive.toc().section(b"tables")?;
    let start = usize::try_from(section.pos()).ok()?;
    let end = start.checked_add(usize::try_from(section.len()).ok()?)?;
    let mut rest = list.get(start..end)?;
    let mut tables = Vec::new();
    for _ in 0..take::<1>(&mut rest)?[0] {
        for _ in 0..take::<1>(&mut rest)?[0] {
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                let id = u64::from_le_bytes(take(&mut rest)?);
                let _kind = take::<1>(&mut rest)?;
                let checksum = u128::from_le_bytes(take(&mut rest)?);
                let _sequence = take::<8>(&mut rest)?;
                tables.push((id, checksum));
            }
        }
    }
    Some(tables)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*field)
}

fn check_content(table: &Listed, files: &Files) -> Result<(), OpenFault> {
    let reader = FileReader::open(&table.path, files, ReadFrom::Memory);
    let mut reader = reader.map_err(OpenFault::io(&table.path))?;
    let mut hasher = Xxh3::new();
    loop {
        let piece = reader.next().map_err(OpenFault::read(&table.path))?;
        if piece.is_empty() {
            break;
        }
        hasher.update(piece);
    }
    if hasher.digest128() == table.checksum {
        Ok(())
    } else {
        Err(OpenFault::corrupt(&table.path, "the table does not have its checksum"))
    }
}
