//! The studio's model files: in one folder, or in memory. Names are plain and no link is followed, so that no
//! other file can be read or written.
//!
//! A save says which text it replaces, because an editor may have the file open too. It does not know what a
//! model means.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use super::refusal::{Kind, Refusal};
use crate::config::ModelsIn;
use crate::environment;
use crate::limits::{MODEL_BYTES_MAX, MODELS_BYTES_MAX, MODELS_LISTED_MAX, SAMPLE_BYTES_MAX};

/// The ending of model files.
const ENDING: &str = ".yaml";
const NAME_BYTES_MAX: usize = 100;

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelFile {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) changed_ms: u64,
}

impl ModelFile {
    /// Identifies the text.
    pub(super) fn hash(&self) -> String {
        hash(&self.text)
    }
}

/// A save that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotSaved {
    /// The file is not as it was read; its text now, or `None` if it is gone.
    Changed(Option<ModelFile>),
    Refused(Refusal),
}

impl From<Refusal> for NotSaved {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

enum Place {
    Memory(BTreeMap<String, ModelFile>),
    Folder(PathBuf),
}

/// All model files.
pub(super) struct ModelFiles(Mutex<Place>);

impl ModelFiles {
    pub(super) fn new(kept: ModelsIn) -> Self {
        Self(Mutex::new(match kept {
            ModelsIn::Memory => Place::Memory(BTreeMap::new()),
            ModelsIn::Folder(folder) => Place::Folder(folder),
        }))
    }

    /// One save or listing at a time.
    fn place(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder, if there is one.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match &*self.place() {
            Place::Memory(_) => None,
            Place::Folder(folder) => Some(std::path::absolute(folder).unwrap_or_else(|_| folder.clone())),
        }
    }

    /// All files that can be read, by name.
    pub(super) fn list(&self) -> Result<Vec<ModelFile>, Refusal> {
        match &*self.place() {
            Place::Memory(files) => Ok(files.values().cloned().collect()),
            Place::Folder(folder) => {
                let entries = match fs::read_dir(folder) {
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                    entries => entries.map_err(|error| unreadable(folder, &error))?,
                };
                let mut names: Vec<String> = entries
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                    .filter(|name| check_name(name).is_ok())
                    .collect();
                names.sort();
                names.truncate(MODELS_LISTED_MAX);
                Ok(names.iter().filter_map(|name| read(folder, name).ok().flatten()).collect())
            }
        }
    }

    pub(super) fn read(&self, name: &str) -> Result<Option<ModelFile>, Refusal> {
        check_name(name)?;
        self.place().get(name)
    }

    /// Saves a text over the one with this hash; over none if it is `None`.
    pub(super) fn write(&self, name: &str, text: &str, over: Option<&str>) -> Result<ModelFile, NotSaved> {
        check_name(name)?;
        if text.len() > MODEL_BYTES_MAX {
            return Err(too_large().into());
        }
        let mut place = self.place();
        let now = place.get(name)?;
        if now.as_ref().map(ModelFile::hash).as_deref() != over {
            return Err(NotSaved::Changed(now));
        }
        let file =
            ModelFile { name: name.to_owned(), text: text.to_owned(), changed_ms: environment::now().0 };
        has_room(place.kept(), now.as_ref(), text)?;
        match &mut *place {
            Place::Memory(files) => drop(files.insert(name.to_owned(), file.clone())),
            Place::Folder(folder) => {
                save(folder, name, text).map_err(|error| unwritable(folder, name, &error))?;
            }
        }
        Ok(file)
    }

    /// Deletes the file that has the text with this hash.
    pub(super) fn delete(&self, name: &str, hash: &str) -> Result<(), NotSaved> {
        check_name(name)?;
        let mut place = self.place();
        let now = place.get(name)?;
        if now.as_ref().map(ModelFile::hash).as_deref() != Some(hash) {
            return Err(NotSaved::Changed(now));
        }
        match &mut *place {
            Place::Memory(files) => drop(files.remove(name)),
            Place::Folder(folder) => {
                fs::remove_file(folder.join(name)).map_err(|error| unwritable(folder, name, &error))?;
            }
        }
        Ok(())
    }

    /// A file of items that a model names. It stands next to the models.
    pub(super) fn data_file(&self, name: &str) -> Result<String, String> {
        if !is_plain(name) {
            return Err(
                "a name of small letters, digits, `-`, `_` and `.` without a folder is needed".to_owned()
            );
        }
        match &*self.place() {
            Place::Memory(_) => {
                Err("models in memory have no files: start the server with --models DIR".to_owned())
            }
            Place::Folder(folder) => {
                let text =
                    read_text(&folder.join(name), SAMPLE_BYTES_MAX).map_err(|error| error.to_string())?;
                text.map(|(text, _)| text)
                    .ok_or_else(|| format!("there is no such file in {}", folder.display()))
            }
        }
    }
}

impl Place {
    fn get(&self, name: &str) -> Result<Option<ModelFile>, Refusal> {
        match self {
            Self::Memory(files) => Ok(files.get(name).cloned()),
            Self::Folder(folder) => read(folder, name),
        }
    }

    /// The number of model files, and their bytes.
    fn kept(&self) -> (usize, u64) {
        match self {
            Self::Memory(files) => {
                let bytes = files.values().map(|file| bytes(&file.text)).sum();
                (files.len(), bytes)
            }
            Self::Folder(folder) => kept(folder).unwrap_or_default(),
        }
    }
}

fn bytes(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Refuses a text for which there is no room. One that is no longer than the text it replaces has room: the
/// folder may hold files of others.
fn has_room((files, all): (usize, u64), now: Option<&ModelFile>, text: &str) -> Result<(), Refusal> {
    let (before, after) = (now.map_or(0, |file| bytes(&file.text)), bytes(text));
    if now.is_none() && files >= MODELS_LISTED_MAX {
        return Err(Refusal::new(Kind::TooLarge, "there are too many models: delete one"));
    }
    if after > before && all.saturating_sub(before) + after > MODELS_BYTES_MAX {
        let most = MODELS_BYTES_MAX >> 20;
        let text = format!("all models together have at most {most} MiB: delete one");
        return Err(Refusal::new(Kind::TooLarge, text));
    }
    Ok(())
}

fn read(folder: &Path, name: &str) -> Result<Option<ModelFile>, Refusal> {
    let limit = u64::try_from(MODEL_BYTES_MAX).unwrap_or(u64::MAX);
    let read =
        read_text(&folder.join(name), limit).map_err(|error| unreadable(&folder.join(name), &error))?;
    Ok(read.map(|(text, changed_ms)| ModelFile { name: name.to_owned(), text, changed_ms }))
}

/// The text of a file and the time of its last change; `None` if there is none.
fn read_text(path: &Path, bytes_max: u64) -> std::io::Result<Option<(String, u64)>> {
    // A link may lead out of the folder. Who can replace the file between the two calls can write the folder.
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(std::io::Error::other("it is not a plain file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = fs::File::open(path)?;
    let changed = file.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut text = String::new();
    file.take(bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > bytes_max {
        return Err(std::io::Error::other(format!("it is larger than {bytes_max} bytes")));
    }
    Ok(Some((text, u64::try_from(changed.as_millis()).unwrap_or(u64::MAX))))
}

/// Writes to a temporary file and renames it, so that a reader finds one text or the other.
fn save(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let partial = folder.join(format!(".{name}.{}.partial", std::process::id()));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&partial, folder.join(name)));
    if placed.is_err() {
        let _ = fs::remove_file(&partial);
    }
    placed
}

/// Identifies a text; a difference that somebody makes on purpose harms nobody but him.
fn hash(text: &str) -> String {
    format!("{:08x}-{:x}", crc32fast::hash(text.as_bytes()), text.len())
}

fn is_plain(name: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if is_plain(name) && name.len() > ENDING.len() && name.ends_with(ENDING) {
        return Ok(());
    }
    Err(Refusal::fault(format!(
        "a model's file is named with small letters, digits, `-`, `_` and `.`, as in shop{ENDING}"
    )))
}

pub(super) fn too_large() -> Refusal {
    Refusal::new(Kind::TooLarge, format!("a model has at most {MODEL_BYTES_MAX} bytes"))
}

/// The number of model files in a folder, and their bytes; `None` if there is no such folder.
fn kept(folder: &Path) -> Option<(usize, u64)> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let models =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| check_name(name).is_ok()));
    let sizes = models.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len());
    Some(sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size)))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::fault(format!("cannot read {}: {error}", path.display()))
}

fn unwritable(folder: &Path, name: &str, error: &std::io::Error) -> Refusal {
    Refusal::fault(format!("cannot write {}: {error}", folder.join(name).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(test: impl Fn(&ModelFiles)) {
        test(&ModelFiles::new(ModelsIn::Memory));
        let folder = tempfile::tempdir().unwrap();
        test(&ModelFiles::new(ModelsIn::Folder(folder.path().join("models"))));
    }

    #[test]
    fn a_save_replaces_only_the_text_that_was_read() {
        both(|files| {
            assert_eq!(files.list(), Ok(Vec::new()));
            let first = files.write("shop.yaml", "one", None).unwrap();
            assert_eq!(files.read("shop.yaml").unwrap().unwrap().text, "one");
            assert!(matches!(files.write("shop.yaml", "two", None), Err(NotSaved::Changed(Some(_)))));
            let second = files.write("shop.yaml", "two", Some(&first.hash())).unwrap();
            let stale = files.write("shop.yaml", "three", Some(&first.hash()));
            assert!(matches!(stale, Err(NotSaved::Changed(Some(theirs))) if theirs.text == "two"));
            assert!(files.delete("shop.yaml", &first.hash()).is_err());
            files.delete("shop.yaml", &second.hash()).unwrap();
            assert_eq!(files.write("shop.yaml", "x", Some(&second.hash())), Err(NotSaved::Changed(None)));
        });
    }

    #[test]
    fn all_models_together_are_bounded_when_one_is_replaced_too() {
        both(|files| {
            let whole = "x".repeat(MODEL_BYTES_MAX);
            let count = MODELS_BYTES_MAX / bytes(&whole);
            for number in 1..count {
                files.write(&format!("m{number}.yaml"), &whole, None).unwrap();
            }
            let small = files.write("small.yaml", "x", None).unwrap();
            let half = files.write("small.yaml", &whole[..MODEL_BYTES_MAX / 2], Some(&small.hash())).unwrap();
            let other = files.write("other.yaml", &whole[..MODEL_BYTES_MAX / 2], None).unwrap();
            let refused =
                |saved| matches!(saved, Err(NotSaved::Refused(Refusal { kind: Kind::TooLarge, .. })));
            assert!(refused(files.write("more.yaml", "x", None)), "a new one");
            assert!(refused(files.write("small.yaml", &whole, Some(&half.hash()))), "a longer text");
            files.write("other.yaml", "y", Some(&other.hash())).unwrap();
        });
    }

    #[test]
    fn names_lead_nowhere_else() {
        both(|files| {
            for name in [
                "",
                ".yaml",
                "../a.yaml",
                "a/b.yaml",
                "/a.yaml",
                "A.yaml",
                "a.yml",
                ".a.yaml",
                "a\0.yaml",
                "a\\b.yaml",
                "ä.yaml",
            ] {
                assert!(files.read(name).is_err(), "{name}");
                assert!(files.write(name, "", None).is_err(), "{name}");
            }
            for name in ["../a.json", "a/b.json", "", ".hidden"] {
                assert!(files.data_file(name).is_err(), "{name}");
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let models = folder.path().join("models");
        fs::create_dir(&models).unwrap();
        std::os::unix::fs::symlink(&secret, models.join("a.yaml")).unwrap();
        let files = ModelFiles::new(ModelsIn::Folder(models));
        assert!(files.read("a.yaml").is_err());
        assert_eq!(files.list(), Ok(Vec::new()));
        assert!(files.data_file("a.yaml").is_err());
        assert!(files.write("a.yaml", "x", None).is_err());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    }
}
