//! Closed files of the log: their names, their compression, and which of them are removed.
//!
//! `audit.log` becomes `audit.log.20261128T101500123Z`, then `audit.log.20261128T101500123Z.gz`. The names
//! sort by time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::form::Form;
use super::settings::Keep;
use crate::process::timestamp;

const COMPRESSED: &str = ".gz";
const DRAFT: &str = ".gz.draft";
/// Ends the name of a compressed file that gets the form of the log.
const ADOPTED: &str = ".draft";
const STAMP_CHARACTERS: usize = "20261128T101500123Z".len();
const MS_PER_DAY: u64 = 86_400_000;

/// A time in the names of closed files.
fn stamp(ms: u64) -> String {
    timestamp::of(ms).replace(['-', ':', '.'], "")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A name for a file that is closed now. No file has it.
pub(super) fn closed_name(path: &Path, now_ms: u64) -> PathBuf {
    let mut ms = now_ms;
    loop {
        let name = with_suffix(path, &format!(".{}", stamp(ms)));
        if !name.exists() && !with_suffix(&name, COMPRESSED).exists() {
            return name;
        }
        ms += 1;
    }
}

/// The stamp and the rest in the name of a closed file of this log.
fn parts<'n>(name: &'n str, log: &str) -> Option<(&'n str, &'n str)> {
    let (stamp, rest) = name.strip_prefix(log)?.strip_prefix('.')?.split_at_checked(STAMP_CHARACTERS)?;
    is_stamp(stamp).then_some((stamp, rest))
}

/// The name and folder of a log.
fn place(path: &Path) -> (&Path, &str) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (folder, path.file_name().and_then(|name| name.to_str()).unwrap_or_default())
}

/// The closed files of a log, the newest first. One that is compressed at this moment is there once.
pub(super) fn closed_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (folder, log) = place(path);
    let mut closed = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_str().and_then(|name| parts(name, log)) {
            Some((stamp, "")) => {
                closed.insert(stamp.to_owned(), entry.path());
            }
            Some((stamp, COMPRESSED)) => {
                closed.entry(stamp.to_owned()).or_insert_with(|| entry.path());
            }
            _ => {}
        }
    }
    Ok(closed.into_values().rev().collect())
}

/// Whether a text is the time in the name of a closed file.
fn is_stamp(text: &str) -> bool {
    let fits = |(place, byte): (usize, u8)| match place {
        8 => byte == b'T',
        18 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    text.len() == STAMP_CHARACTERS && text.bytes().enumerate().all(fits)
}

/// The name of a closed file without its compression, and the time in it; none for any other file.
fn closed_part(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(COMPRESSED).unwrap_or(name);
    let (_, stamp) = name.rsplit_once('.').filter(|(_, stamp)| is_stamp(stamp))?;
    // The same file has one name, also where its folder is written as `.`.
    let name = path.with_file_name(name);
    let name = name.components().filter(|part| *part != Component::CurDir).collect();
    Some((name, stamp.to_owned()))
}

/// The files to read for those that are named, in the order of time: a log with all of its closed files, each
/// file once. Files that are not named like closed ones come last, in the order in which they are named.
pub(crate) fn in_order(named: &[PathBuf]) -> Vec<PathBuf> {
    let (mut closed, mut others) = (BTreeMap::new(), Vec::new());
    for path in named {
        if let Some((name, stamp)) = closed_part(path) {
            closed.insert((stamp, name), path.clone());
            continue;
        }
        // A folder that cannot be listed is reported as the file is read.
        let of_log = closed_files(path).unwrap_or_default();
        if !others.contains(path) && (path.exists() || of_log.is_empty()) {
            others.push(path.clone());
        }
        for path in of_log {
            let Some((name, stamp)) = closed_part(&path) else { continue };
            closed.entry((stamp, name)).or_insert(path);
        }
    }
    closed.into_values().chain(others).collect()
}

/// A closed file under the name that it has now: it may have been compressed since it was listed.
pub(crate) fn as_it_is_now(path: &Path) -> PathBuf {
    let compressed = compressed_name(path);
    if !path.exists() && compressed.exists() { compressed } else { path.to_owned() }
}

/// What a closed file is called once it is compressed.
pub(super) fn compressed_name(closed: &Path) -> PathBuf {
    with_suffix(closed, COMPRESSED)
}

/// Compresses all closed files, gives them the form of the log, and removes those that are not to be kept.
pub(super) fn tidy_up(path: &Path, form: &Form, keep: Keep, now_ms: u64) -> io::Result<()> {
    let (folder, log) = place(path);
    let mut closed: Vec<(String, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some((stamp, rest)) = name.to_str().and_then(|name| parts(name, log)) else { continue };
        let file = entry.path();
        match rest {
            "" => {
                let compressed = compressed_name(&file);
                match form.compress(&file, &with_suffix(&file, DRAFT), &compressed) {
                    Ok(true) => closed.push((stamp.to_owned(), compressed)),
                    Ok(false) => {}
                    Err(error) => closed.push((stamp.to_owned(), unreadable(file, error)?)),
                }
            }
            COMPRESSED => {
                let adopted = if form.is_foreign(&file)? {
                    form.adopt(&file, &with_suffix(&file, ADOPTED))
                } else {
                    Ok(())
                };
                let file = match adopted {
                    Ok(()) => file,
                    Err(error) => unreadable(file, error)?,
                };
                closed.push((stamp.to_owned(), file));
            }
            DRAFT => match fs::remove_file(&file) {
                // The folder may list one that was made meanwhile, and has its name by now.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
            _ => {}
        }
    }
    closed.sort_unstable();
    closed.dedup();
    let surplus = match keep {
        Keep::Everything => 0,
        Keep::Files(files) => closed.len().saturating_sub(files),
        Keep::Days(days) => {
            let oldest = stamp(now_ms.saturating_sub(days.saturating_mul(MS_PER_DAY)));
            closed.iter().take_while(|(stamp, _)| *stamp < oldest).count()
        }
    };
    closed.iter().take(surplus).try_for_each(|(_, file)| fs::remove_file(file))
}

/// A file that stays as it is, because its content cannot be read: its header is torn or damaged, or it is
/// encrypted and the log is not.
fn unreadable(file: PathBuf, error: io::Error) -> io::Result<PathBuf> {
    if error.kind() != io::ErrorKind::InvalidData {
        return Err(error);
    }
    tracing::warn!("{} stays as it is: {error}", file.display());
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_files_are_compressed_and_the_oldest_removed() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.log");
        let day = |day: u64| day * MS_PER_DAY;
        for at in [1, 2, 3] {
            let closed = closed_name(&log, day(at));
            fs::write(closed, format!("{{\"day\":{at}}}\n")).unwrap();
        }
        fs::write(folder.path().join("audit.log.19700102T000000000Z.gz.draft"), "torn").unwrap();
        fs::write(folder.path().join("audit.log.other"), "is not ours").unwrap();
        let names = || {
            let mut names: Vec<_> = fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        tidy_up(&log, &Form::Plain, Keep::Days(2), day(4) + 1).unwrap();
        let (second, third) = ("audit.log.19700103T000000000Z.gz", "audit.log.19700104T000000000Z.gz");
        assert_eq!(names(), [third, "audit.log.other"]);
        let mut text = String::new();
        Form::Plain.read(&folder.path().join(third)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"day\":3}\n");
        fs::write(closed_name(&log, day(2)), "{}\n").unwrap();
        tidy_up(&log, &Form::Plain, Keep::Everything, day(4)).unwrap();
        assert_eq!(names(), [second, third, "audit.log.other"]);
        fs::write(folder.path().join("audit.log.19700103T000000000Z"), "{}\n").unwrap();
        let closed = closed_files(&log).unwrap();
        let of_paths = closed.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
        assert_eq!(of_paths.collect::<Vec<_>>(), [third, "audit.log.19700103T000000000Z"]);
        tidy_up(&log, &Form::Plain, Keep::Files(1), day(4)).unwrap();
        assert_eq!(names(), [third, "audit.log.other"]);
        let damaged = "audit.log.19700105T000000000Z";
        fs::write(folder.path().join(damaged), "KWENCR1\nits header is torn").unwrap();
        fs::write(closed_name(&log, day(5)), "{}\n").unwrap();
        tidy_up(&log, &Form::Plain, Keep::Files(2), day(6)).unwrap();
        let last = "audit.log.19700106T000000000Z.gz";
        assert!(names().iter().any(|name| name == last) && names().iter().any(|name| name == damaged));
    }
}
