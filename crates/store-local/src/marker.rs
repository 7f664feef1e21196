//! The files beside fjall's: which format this is, and whether damage was found.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::open::OpenFault;

const FORMAT: u32 = 1;
const MARK_BYTES: usize = 16;

/// What every group's last row begins with: drawn at random for each database, so that no stored value can be mistaken
/// for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub [u8; MARK_BYTES]);

fn format_path(folder: &Path) -> PathBuf {
    folder.join("keywright.toml")
}

fn damage_path(folder: &Path) -> PathBuf {
    folder.join("DAMAGED")
}

/// Reads the format file of a folder, or makes one if the folder is new.
pub(crate) fn open(folder: &Path) -> Result<Mark, OpenFault> {
    std::fs::create_dir_all(folder).map_err(|error| OpenFault::io(folder, &error))?;
    let damage = damage_path(folder);
    if let Ok(text) = std::fs::read_to_string(&damage) {
        return Err(OpenFault::Damaged { file: damage, text: text.trim().to_owned() });
    }
    let path = format_path(folder);
    match std::fs::read_to_string(&path) {
        Ok(text) => read(&path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(folder, &path),
        Err(error) => Err(OpenFault::io(&path, &error)),
    }
}

fn read(path: &Path, text: &str) -> Result<Mark, OpenFault> {
    let value = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
        })
    };
    let format = value("format").and_then(|format| format.parse::<u32>().ok());
    match format {
        Some(FORMAT) => {}
        Some(format) => return Err(OpenFault::UnknownFormat { file: path.to_owned(), format }),
        None => return Err(OpenFault::Unreadable { file: path.to_owned() }),
    }
    value("mark")
        .and_then(|hex| u128::from_str_radix(&hex, 16).ok())
        .map(|mark| Mark(mark.to_be_bytes()))
        .ok_or_else(|| OpenFault::Unreadable { file: path.to_owned() })
}

fn make(folder: &Path, path: &Path) -> Result<Mark, OpenFault> {
    let in_use = std::fs::read_dir(folder).map_err(|error| OpenFault::io(folder, &error))?.next().is_some();
    if in_use {
        return Err(OpenFault::ForeignFolder { folder: folder.to_owned() });
    }
    let mut mark = [0; MARK_BYTES];
    getrandom::fill(&mut mark).map_err(|_| OpenFault::NoRandomness)?;
    let text = format!(
        "# A Keywright database. Do not edit.\nformat = {FORMAT}\nmark = \"{:032x}\"\n",
        u128::from_be_bytes(mark)
    );
    write_whole(folder, path, &text)?;
    Ok(Mark(mark))
}

/// Notes that acknowledged data is lost, so that a later start does not pass over it.
pub(crate) fn note_damage(folder: &Path, text: &str) -> OpenFault {
    let file = damage_path(folder);
    let note = format!(
        "{text}\n\nRestore the folder from a backup. To open it with what is left, delete this file; what is missing stays \
         missing.\n"
    );
    match write_whole(folder, &file, &note) {
        Ok(()) => OpenFault::Damaged { file, text: text.to_owned() },
        Err(fault) => fault,
    }
}

/// Writes a file under another name, syncs it, and puts it in place.
fn write_whole(folder: &Path, path: &Path, text: &str) -> Result<(), OpenFault> {
    let draft = path.with_extension("new");
    let written = File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&draft, path))
        .and_then(|()| File::open(folder)?.sync_all());
    written.map_err(|error| OpenFault::io(path, &error))
}
