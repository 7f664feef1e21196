//! The studio's model files: in one folder, or in memory. Names are plain and no link is followed, so that no
//! other file can be read or written.
//!
//! A save says which text it replaces, because an editor may have the file open too. Each account that signs
//! in has files of its own, unless the folder is one that all share; what an account has saved since the
//! start is bounded, so that it leaves room for others. It does not know what a model means.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use keywright_exchange::item_file;
use keywright_model::data::ItemFile;
use keywright_process::environment;
use keywright_process::io_fault::{Explained, cannot};

use super::refusal::{Kind, Refusal};
use crate::limits::{
    MODEL_BYTES_MAX, MODELS_BYTES_EACH_MAX, MODELS_BYTES_MAX, MODELS_EACH_MAX, MODELS_LISTED_MAX,
    SAMPLE_BYTES_MAX,
};
use crate::{FileForm, ModelsIn, PlainFiles};

/// The ending of model files.
const ENDING: &str = ".yaml";
const NAME_BYTES_MAX: usize = 100;
/// Bytes that a file may have more than its text.
const FORM_BYTES_MAX: u64 = 1024;

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

    fn listed(&self) -> Listed {
        Listed {
            name: self.name.clone(),
            bytes: self.text.len(),
            hash: self.hash(),
            changed_ms: self.changed_ms,
        }
    }
}

/// What a list says about a file: all texts together can have megabytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: usize,
    pub(super) hash: String,
    pub(super) changed_ms: u64,
}

/// A save of a text over the one with this hash; over none if it is `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Save<'s> {
    pub(super) name: &'s str,
    pub(super) text: &'s str,
    pub(super) over: Option<&'s str>,
    /// The account that signed in, if that is needed here.
    pub(super) by: Option<&'s str>,
}

/// A file's name and its owner: an account, or nobody where all share the files.
type Id = (String, String);

/// Who saved a file last, and its bytes then.
type Saved = BTreeMap<Id, (String, u64)>;

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
    Memory(BTreeMap<Id, ModelFile>),
    /// The files of nobody; those of an account are in a folder of its name there.
    Folder(PathBuf),
}

struct Kept {
    place: Place,
    /// The files that accounts have saved since the start.
    saved: Saved,
}

/// All model files.
pub(super) struct ModelFiles {
    kept: Mutex<Kept>,
    /// How files lie on disk.
    form: Arc<dyn FileForm>,
    /// Whether all accounts have the same files.
    is_shared: bool,
}

impl ModelFiles {
    /// Files that lie on disk as they are.
    pub(super) fn new(kept: ModelsIn) -> Self {
        Self::in_form(kept, Arc::new(PlainFiles::default()))
    }

    /// Files that lie on disk in this form, unless all share them.
    pub(super) fn in_form(kept: ModelsIn, form: Arc<dyn FileForm>) -> Self {
        let is_shared = matches!(kept, ModelsIn::Shared(_));
        let form = if is_shared { Arc::new(PlainFiles::default()) } else { form };
        let place = match kept {
            ModelsIn::Memory => Place::Memory(BTreeMap::new()),
            ModelsIn::Folder(folder) | ModelsIn::Shared(folder) => Place::Folder(folder),
        };
        Self { kept: Mutex::new(Kept { place, saved: Saved::new() }), form, is_shared }
    }

    /// One save or listing at a time.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose files an account that signed in has; nobody's where all share them.
    fn owner<'a>(&self, account: Option<&'a str>) -> &'a str {
        let owner = if self.is_shared { "" } else { account.unwrap_or_default() };
        assert!(!owner.contains(['/', '.']), "an account is no path");
        owner
    }

    /// The folder of an account's files, if they are in one.
    pub(super) fn folder(&self, account: Option<&str>) -> Option<PathBuf> {
        let folder = self.kept().place.folder(self.owner(account))?;
        Some(std::path::absolute(&folder).unwrap_or(folder))
    }

    /// All files of an account that can be read, by name.
    pub(super) fn list(&self, account: Option<&str>) -> Result<Vec<Listed>, Refusal> {
        let (owner, kept) = (self.owner(account), self.kept());
        match &kept.place {
            Place::Memory(files) => {
                let own = files.iter().filter(|((of, _), _)| of == owner);
                Ok(own.map(|(_, file)| file.listed()).collect())
            }
            Place::Folder(base) => {
                let folder = &folder_of(base, owner);
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
                // One text at a time.
                let listed = |name: &String| Some(read(folder, name, &*self.form).ok().flatten()?.listed());
                Ok(names.iter().filter_map(listed).collect())
            }
        }
    }

    pub(super) fn read(&self, name: &str, account: Option<&str>) -> Result<Option<ModelFile>, Refusal> {
        check_name(name)?;
        self.kept().place.get(&id(self.owner(account), name), &*self.form)
    }

    pub(super) fn write(&self, Save { name, text, over, by }: Save<'_>) -> Result<ModelFile, NotSaved> {
        check_name(name)?;
        if text.len() > MODEL_BYTES_MAX {
            return Err(too_large().into());
        }
        let id = id(self.owner(by), name);
        let mut kept = self.kept();
        let Kept { place, saved } = &mut *kept;
        let now = place.get(&id, &*self.form)?;
        if now.as_ref().map(ModelFile::hash).as_deref() != over {
            return Err(NotSaved::Changed(now));
        }
        let file =
            ModelFile { name: name.to_owned(), text: text.to_owned(), changed_ms: environment::now().0 };
        has_room(place.kept(&id.0), now.as_ref(), text)?;
        if let Some(by) = by {
            if has_room_for(saved, by, &id, text).is_err() {
                // Other programs may have deleted some.
                saved.retain(|id, _| place.has(id));
            }
            has_room_for(saved, by, &id, text)?;
        }
        match place {
            Place::Memory(files) => drop(files.insert(id.clone(), file.clone())),
            Place::Folder(base) => {
                let folder = folder_of(base, &id.0);
                save(&folder, name, text, &*self.form).map_err(|error| unwritable(&folder, name, &error))?;
            }
        }
        if let Some(by) = by {
            saved.insert(id, (by.to_owned(), bytes(text)));
        }
        Ok(file)
    }

    /// Deletes the file that has the text with this hash.
    pub(super) fn delete(&self, name: &str, hash: &str, account: Option<&str>) -> Result<(), NotSaved> {
        check_name(name)?;
        let id = id(self.owner(account), name);
        let mut kept = self.kept();
        let Kept { place, saved } = &mut *kept;
        let now = place.get(&id, &*self.form)?;
        if now.as_ref().map(ModelFile::hash).as_deref() != Some(hash) {
            return Err(NotSaved::Changed(now));
        }
        match place {
            Place::Memory(files) => drop(files.remove(&id)),
            Place::Folder(base) => {
                let folder = folder_of(base, &id.0);
                fs::remove_file(folder.join(name)).map_err(|error| unwritable(&folder, name, &error))?;
            }
        }
        saved.remove(&id);
        Ok(())
    }

    /// A file of items that a model names. It stands next to the models.
    pub(super) fn data_file(&self, name: &str) -> Result<ItemFile, String> {
        if !is_plain(name) {
            return Err(
                "a name of small letters, digits, `-`, `_` and `.` without a folder is needed".to_owned()
            );
        }
        match &self.kept().place {
            Place::Memory(_) => {
                Err("models in memory have no files: start the server with --models DIR".to_owned())
            }
            Place::Folder(folder) => {
                let text = read_text(&folder.join(name), SAMPLE_BYTES_MAX, &*self.form)
                    .map_err(|error| Explained(&error).to_string())?;
                text.map(|(text, _)| item_file(text))
                    .ok_or_else(|| format!("there is no such file in {}", folder.display()))
            }
        }
    }
}

fn id(owner: &str, name: &str) -> Id {
    (owner.to_owned(), name.to_owned())
}

/// The folder of an owner's files.
fn folder_of(base: &Path, owner: &str) -> PathBuf {
    if owner.is_empty() { base.to_owned() } else { base.join(owner) }
}

impl Place {
    fn folder(&self, owner: &str) -> Option<PathBuf> {
        match self {
            Self::Memory(_) => None,
            Self::Folder(base) => Some(folder_of(base, owner)),
        }
    }

    fn get(&self, id: &Id, form: &dyn FileForm) -> Result<Option<ModelFile>, Refusal> {
        match self {
            Self::Memory(files) => Ok(files.get(id).cloned()),
            Self::Folder(base) => read(&folder_of(base, &id.0), &id.1, form),
        }
    }

    fn has(&self, id: &Id) -> bool {
        match self {
            Self::Memory(files) => files.contains_key(id),
            Self::Folder(base) => folder_of(base, &id.0).join(&id.1).exists(),
        }
    }

    /// The number of model files, and their bytes: of an owner's folder, or all that are in memory.
    fn kept(&self, owner: &str) -> (usize, u64) {
        match self {
            Self::Memory(files) => {
                let bytes = files.values().map(|file| bytes(&file.text)).sum();
                (files.len(), bytes)
            }
            Self::Folder(base) => kept(&folder_of(base, owner)).unwrap_or_default(),
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

/// Refuses a text for which the account has no room. A file counts for the account that saved it last.
fn has_room_for(saved: &Saved, account: &str, id: &Id, text: &str) -> Result<(), Refusal> {
    let of_account = saved.iter().filter(|(other, (by, _))| by == account && *other != id);
    let (files, all) =
        of_account.fold((1, bytes(text)), |(files, all), (_, (_, bytes))| (files + 1, all + bytes));
    let before = saved.get(id).filter(|(by, _)| by == account).map(|(_, bytes)| *bytes);
    let is_shorter = before.is_some_and(|before| bytes(text) <= before);
    if (files > MODELS_EACH_MAX || all > MODELS_BYTES_EACH_MAX) && !is_shorter {
        let most = MODELS_BYTES_EACH_MAX >> 20;
        let text = format!(
            "an account saves at most {MODELS_EACH_MAX} models with {most} MiB in all here: delete one of yours"
        );
        return Err(Refusal::new(Kind::TooLarge, text));
    }
    Ok(())
}

fn read(folder: &Path, name: &str, form: &dyn FileForm) -> Result<Option<ModelFile>, Refusal> {
    let limit = u64::try_from(MODEL_BYTES_MAX).unwrap_or(u64::MAX);
    let read =
        read_text(&folder.join(name), limit, form).map_err(|error| unreadable(&folder.join(name), &error))?;
    Ok(read.map(|(text, changed_ms)| ModelFile { name: name.to_owned(), text, changed_ms }))
}

/// The text of a file and the time of its last change; `None` if there is none.
fn read_text(path: &Path, bytes_max: u64, form: &dyn FileForm) -> std::io::Result<Option<(String, u64)>> {
    // A link may lead out of the folder. Who can replace the file between the two calls can write the folder.
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(std::io::Error::other("it is not a plain file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = fs::File::open(path)?;
    let changed = file.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut stored = Vec::new();
    file.take(bytes_max.saturating_add(FORM_BYTES_MAX + 1)).read_to_end(&mut stored)?;
    let text = String::from_utf8(form.decode(stored)?)
        .map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "it is not a text of UTF-8"))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > bytes_max {
        return Err(std::io::Error::other(format!("it is larger than {bytes_max} bytes")));
    }
    Ok(Some((text, u64::try_from(changed.as_millis()).unwrap_or(u64::MAX))))
}

/// Writes to a temporary file and renames it, so that a reader finds one text or the other.
fn save(folder: &Path, name: &str, text: &str, form: &dyn FileForm) -> std::io::Result<()> {
    let _alone = form.hold();
    fs::create_dir_all(folder)?;
    let partial = folder.join(format!(".{name}.{}.partial", std::process::id()));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(&form.encode(text.as_bytes()))?;
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
    Refusal::fault(cannot("read", path, error))
}

fn unwritable(folder: &Path, name: &str, error: &std::io::Error) -> Refusal {
    Refusal::fault(cannot("write", &folder.join(name), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(files: &ModelFiles, name: &str, text: &str, over: Option<&str>) -> Result<ModelFile, NotSaved> {
        files.write(Save { name, text, over, by: None })
    }

    fn both(test: impl Fn(&ModelFiles)) {
        test(&ModelFiles::new(ModelsIn::Memory));
        let folder = tempfile::tempdir().unwrap();
        test(&ModelFiles::new(ModelsIn::Folder(folder.path().join("models"))));
    }

    #[test]
    fn a_save_replaces_only_the_text_that_was_read() {
        both(|files| {
            assert_eq!(files.list(None), Ok(Vec::new()));
            let first = save(files, "shop.yaml", "one", None).unwrap();
            assert_eq!(files.read("shop.yaml", None).unwrap().unwrap().text, "one");
            assert!(matches!(save(files, "shop.yaml", "two", None), Err(NotSaved::Changed(Some(_)))));
            let second = save(files, "shop.yaml", "two", Some(&first.hash())).unwrap();
            let stale = save(files, "shop.yaml", "three", Some(&first.hash()));
            assert!(matches!(stale, Err(NotSaved::Changed(Some(theirs))) if theirs.text == "two"));
            assert!(files.delete("shop.yaml", &first.hash(), None).is_err());
            files.delete("shop.yaml", &second.hash(), None).unwrap();
            assert_eq!(save(files, "shop.yaml", "x", Some(&second.hash())), Err(NotSaved::Changed(None)));
        });
    }

    #[test]
    fn all_models_together_are_bounded_when_one_is_replaced_too() {
        both(|files| {
            let whole = "x".repeat(MODEL_BYTES_MAX);
            let count = MODELS_BYTES_MAX / bytes(&whole);
            for number in 1..count {
                save(files, &format!("m{number}.yaml"), &whole, None).unwrap();
            }
            let small = save(files, "small.yaml", "x", None).unwrap();
            let half = save(files, "small.yaml", &whole[..MODEL_BYTES_MAX / 2], Some(&small.hash())).unwrap();
            let other = save(files, "other.yaml", &whole[..MODEL_BYTES_MAX / 2], None).unwrap();
            let refused =
                |saved| matches!(saved, Err(NotSaved::Refused(Refusal { kind: Kind::TooLarge, .. })));
            assert!(refused(save(files, "more.yaml", "x", None)), "a new one");
            assert!(refused(save(files, "small.yaml", &whole, Some(&half.hash()))), "a longer text");
            save(files, "other.yaml", "y", Some(&other.hash())).unwrap();
        });
    }

    #[test]
    fn an_account_leaves_room_for_others_in_a_shared_folder() {
        let folder = tempfile::tempdir().unwrap();
        let files = &ModelFiles::new(ModelsIn::Shared(folder.path().join("models")));
        {
            let by = |account: &'static str, name: &str, text: &str, over: Option<&str>| {
                files.write(Save { name, text, over, by: Some(account) })
            };
            let refused = |saved: Result<ModelFile, NotSaved>| {
                matches!(saved, Err(NotSaved::Refused(Refusal { kind: Kind::TooLarge, .. })))
            };
            let whole = "x".repeat(MODEL_BYTES_MAX);
            let count = MODELS_BYTES_EACH_MAX / bytes(&whole);
            for number in 0..count {
                by("a", &format!("m{number}.yaml"), &whole, None).unwrap();
            }
            assert!(refused(by("a", "more.yaml", "x", None)));
            let theirs = by("b", "more.yaml", "x", None).unwrap();
            assert!(refused(by("a", "more.yaml", "xx", Some(&theirs.hash()))), "it becomes a's");
            let own = files.read("m0.yaml", Some("a")).unwrap().unwrap();
            let shorter = by("a", "m0.yaml", "x", Some(&own.hash())).unwrap();
            files.delete("m0.yaml", &shorter.hash(), Some("b")).unwrap();
            for number in 1..MODELS_EACH_MAX {
                by("b", &format!("b{number}.yaml"), "x", None).unwrap();
            }
            assert!(refused(by("b", "one.yaml", "", None)));
            by("a", "one.yaml", "", None).unwrap();
        }
    }

    #[test]
    fn an_account_has_files_of_its_own_and_no_others() {
        both(|files| {
            let (one, other) = (Some("111111111111"), Some("222222222222"));
            let by = |by, text: &str, over: Option<&str>| {
                files.write(Save { name: "shop.yaml", text, over, by }).unwrap()
            };
            let (mine, theirs) = (by(one, "mine", None), by(other, "theirs", None));
            let text = |account| files.read("shop.yaml", account).unwrap().map(|file| file.text);
            assert_eq!(
                (text(one), text(other), text(None)),
                (Some("mine".to_owned()), Some("theirs".to_owned()), None)
            );
            assert_eq!((files.list(one).unwrap().len(), files.list(None)), (1, Ok(Vec::new())));
            assert!(files.delete("shop.yaml", &theirs.hash(), one).is_err());
            files.delete("shop.yaml", &mine.hash(), one).unwrap();
            assert_eq!((text(one), text(other)), (None, Some("theirs".to_owned())));
            let folder = files.folder(one);
            assert!(folder.is_none_or(|folder| folder.ends_with("models/111111111111")));
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
                assert!(files.read(name, None).is_err(), "{name}");
                assert!(save(files, name, "", None).is_err(), "{name}");
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
        assert!(files.read("a.yaml", None).is_err());
        assert_eq!(files.list(None), Ok(Vec::new()));
        assert!(files.data_file("a.yaml").is_err());
        assert!(save(&files, "a.yaml", "x", None).is_err());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    }
}
