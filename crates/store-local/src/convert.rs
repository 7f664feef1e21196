//! Copies a stopped store into another folder, whose files are encrypted in another way, or not at all.
//!
//! The copy gets its format marker last. One that was interrupted has none, and the next try begins it anew.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::error::OpenFault;
use crate::file_reader::{FileReader, ReadFrom};
use crate::files::Files;
use crate::folder::{Contents, Folder, Marker, create_private};
use crate::journal::segment_files;
use crate::table_check;
use crate::tables::{FILES, LIST};

/// Two folders, of which nobody opens the stores until this is dropped.
pub struct Converted {
    _source: Folder,
    _target: Folder,
}

/// Copies the store of a folder that nobody has open into a folder without a store, which may hold the keys
/// of the copy. Nothing in the first folder changes.
pub fn convert(from: &Path, from_files: &Files, to: &Path, to_files: &Files) -> Result<(), OpenFault> {
    convert_with((from, from_files), (to, to_files), &mut || Ok(())).map(drop)
}

/// The same for a folder that holds more than a store: `rest` copies that, before the copy gets its marker.
pub fn convert_with(
    (from, from_files): (&Path, &Files),
    (to, to_files): (&Path, &Files),
    rest: &mut dyn FnMut() -> io::Result<()>,
) -> Result<Converted, OpenFault> {
    let (source, marker) = Folder::lock_to_read(from, from_files)?;
    match marker {
        Marker::Whole => {}
        Marker::Unfinished => return Err(OpenFault::NotAStore { folder: from.to_owned() }),
        Marker::Damaged { file, detail } => return Err(OpenFault::Corrupt { file, detail }),
    }
    let (target, contents) = Folder::lock(to, to_files)?;
    if contents == Contents::Store {
        let error = io::Error::new(ErrorKind::AlreadyExists, "it holds a database already");
        return Err(OpenFault::Io { file: to.to_owned(), error });
    }
    target.begin_creation(to_files)?;
    let copy = |from: PathBuf, folder: PathBuf| {
        let to = folder.join(from.file_name().unwrap_or_default());
        recode((&from, from_files), (&to, to_files))
    };
    for (_, segment) in segment_files(&source.journal()).map_err(OpenFault::io(&source.journal()))? {
        copy(segment, target.journal())?;
    }
    let (list, tables) = table_check::list_with_path(&source.tables(), from_files)?;
    copy(list, target.tables())?;
    let files = target.tables().join(FILES);
    fs::create_dir(&files).map_err(OpenFault::io(&files))?;
    for table in tables {
        copy(table.path, files.clone())?;
    }
    copy_plain(&source.tables().join(LIST), &target.tables().join(LIST))?;
    copy_plain(&source.watermark(), &target.watermark())?;
    rest().map_err(OpenFault::io(to))?;
    target.sync_all_names()?;
    target.finish_creation()?;
    Ok(Converted { _source: source, _target: target })
}

/// Copies the content of a file, durably but for its name.
fn recode((from, from_files): (&Path, &Files), (to, to_files): (&Path, &Files)) -> Result<(), OpenFault> {
    let mut reader = FileReader::open(from, from_files, ReadFrom::Memory).map_err(OpenFault::read(from))?;
    let mut file = create_private(to).map_err(OpenFault::io(to))?;
    let begun = to_files.begin();
    if let Some(begun) = &begun {
        file.write_all(&begun.header).map_err(OpenFault::io(to))?;
    }
    let mut offset = 0;
    loop {
        let mut piece = reader.next().map_err(OpenFault::read(from))?.to_vec();
        if piece.is_empty() {
            return file.sync_all().map_err(OpenFault::io(to));
        }
        if let Some(begun) = &begun {
            begun.cipher.apply(offset, &mut piece);
        }
        file.write_all(&piece).map_err(OpenFault::io(to))?;
        offset += u64::try_from(piece.len()).unwrap_or(u64::MAX);
    }
}

/// Copies a file that is never encrypted.
fn copy_plain(from: &Path, to: &Path) -> Result<(), OpenFault> {
    let bytes = fs::read(from).map_err(OpenFault::io(from))?;
    let mut file = create_private(to).map_err(OpenFault::io(to))?;
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(OpenFault::io(to))
}
