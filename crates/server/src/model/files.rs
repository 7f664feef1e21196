//! Reads and writes model files and the files that go with them.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use keywright_exchange::fault::ExchangeFault;
use keywright_exchange::import::import;
use keywright_exchange::item_file;
use keywright_exchange::of_model::{Items, stored_items};
use keywright_model::data::{self, ItemFile};
use keywright_model::{self as model, Fault, Model};

use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::process::output;

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The text of a file; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    read_as(path, &path.display().to_string())
}

/// The text of a file that users know by this name.
fn read_as(path: &Path, shown: &str) -> Result<String, Failure> {
    let explain = failed("read", Path::new(shown));
    let mut text = String::new();
    let mut input: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(fs::File::open(path).map_err(explain)?)
    };
    let read = input.by_ref().take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(explain)?;
    if u64::try_from(read).is_ok_and(|read| read > FILE_BYTES_MAX) {
        return Err(Failure::new(format!("{shown} is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    Ok(text)
}

/// Fails if a file exists and may not be overwritten. For files that are written together, check all before
/// writing the first.
pub(super) fn may_write(path: &Path, force: bool) -> Result<(), Failure> {
    if path.exists() && !force {
        return Err(Failure::new(format!("{} exists; pass --force to overwrite it", path.display())));
    }
    Ok(())
}

/// Writes a file; an existing one only if `force` is set.
pub(super) fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    write_all(&[(path, text)], force)
}

/// Writes several files: all of them or none. Each is written to a temporary file first, and all are renamed
/// when all are complete.
pub(super) fn write_all(files: &[(&Path, &str)], force: bool) -> Result<(), Failure> {
    for (path, _) in files {
        may_write(path, force)?;
    }
    let mut waiting: Vec<(PathBuf, PathBuf)> = Vec::new();
    let written = files.iter().try_for_each(|(path, text)| {
        let explain = failed("write", path);
        // A target that is not a file, such as a terminal, is written directly; a link stays a link.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if place.exists() && !place.is_file() {
            return fs::write(&place, text).map_err(explain);
        }
        let partial = partial(&place);
        waiting.push((partial.clone(), place.clone()));
        fs::write(&partial, text).map_err(explain)?;
        if let Ok(known) = fs::metadata(&place) {
            fs::set_permissions(&partial, known.permissions()).map_err(explain)?;
        }
        Ok(())
    });
    let placed = written.and_then(|()| {
        waiting
            .iter()
            .try_for_each(|(partial, place)| fs::rename(partial, place).map_err(failed("write", place)))
    });
    if placed.is_err() {
        for (partial, _) in &waiting {
            // A temporary file that was never created cannot be removed.
            let _ = fs::remove_file(partial);
        }
    }
    placed
}

/// The temporary file: in the same folder, because a rename is atomic only within a file system.
fn partial(place: &Path) -> PathBuf {
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    place.with_file_name(format!(".{name}.{}.partial", std::process::id()))
}

/// The file next to another one with a different extension: `shop.workbench.json` for `shop.yaml`.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

/// How a document differs from the model whose name it has: another model name, or no table in common. `None`
/// if they belong together.
pub(super) fn another(model: &Model, name: &str, tables: &[&str]) -> Option<String> {
    let shared = model.tables.iter().any(|table| tables.contains(&table.name.as_str()));
    let empty = model.tables.is_empty() || tables.is_empty();
    if model.name == name && (shared || empty) {
        return None;
    }
    Some(format!("the document is `{name}` with {}, the model `{}`", listed(tables), model.name))
}

fn listed(tables: &[&str]) -> String {
    match tables {
        [] => "no tables".to_owned(),
        [one] => format!("the table {one}"),
        several => format!("the tables {}", several.join(", ")),
    }
}

/// A model file's model.
pub(super) fn read_model(path: &Path) -> Result<Model, Failure> {
    Source::read(path).map(|source| source.model)
}

/// A model as it was read. Its faults name its file; files that it names are read next to it.
pub(crate) struct Source {
    pub(crate) model: Model,
    /// The file as the user names it.
    file: String,
    folder: PathBuf,
    /// No file outside of this folder is read, if there is one.
    within: Option<PathBuf>,
}

impl Source {
    /// Reads a model file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Self::parse(&read(path)?, path.display().to_string(), folder, None)
    }

    /// Reads a model file in a folder, which must be a canonical path.
    pub(crate) fn read_within(folder: &Path, file: &str) -> Result<Self, String> {
        let text = read_within(folder, folder, file)?;
        let own = folder.join(file);
        let beside = own.parent().unwrap_or(folder).to_path_buf();
        Self::parse(&text, file.to_owned(), beside, Some(folder.to_path_buf())).map_err(String::from)
    }

    /// A model's text, as if it were a file of this name in a folder, which must be a canonical path.
    pub(crate) fn of_text(folder: &Path, file: &str, text: &str) -> Result<Self, String> {
        Self::parse(text, file.to_owned(), folder.to_path_buf(), Some(folder.to_path_buf()))
            .map_err(String::from)
    }

    fn parse(text: &str, file: String, folder: PathBuf, within: Option<PathBuf>) -> Result<Self, Failure> {
        let model = model::parse(text).map_err(|faults| in_file(&file, &faults))?;
        Ok(Self { model, file, folder, within })
    }

    /// Its faults, one per line.
    pub(crate) fn faults(&self, faults: &[Fault]) -> String {
        in_file(&self.file, faults)
    }

    /// Reads a file that the model names.
    pub(crate) fn read_file(&self, name: &str) -> Result<ItemFile, String> {
        let text = match &self.within {
            Some(within) => read_within(within, &self.folder, name),
            None => read(&self.folder.join(name)).map_err(String::from),
        };
        text.map(item_file)
    }

    /// Whether no file outside of its folder is read.
    pub(crate) const fn is_confined(&self) -> bool {
        self.within.is_some()
    }

    /// As users name its file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

/// Reads a file of a folder, if it lies in the folder `within`, which must be a canonical path. Nothing tells
/// whether there is a file outside of it: all that cannot be found inside gets one answer.
pub(crate) fn read_within(within: &Path, folder: &Path, name: &str) -> Result<String, String> {
    let found = fs::canonicalize(without_steps_up(&folder.join(name)));
    let found = found.ok().filter(|place| place.starts_with(within));
    let place = found.ok_or_else(|| {
        format!("there is no {name} in {}, and nothing outside of it is read", within.display())
    })?;
    read_as(&place, name).map_err(String::from)
}

/// The path with each `..` taken back by name. The file system would look whether the folder before it is
/// there.
fn without_steps_up(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Faults of a file, one per line.
pub(crate) fn in_file(file: &str, faults: &[Fault]) -> String {
    faults.iter().map(|fault| fault.in_file(file)).collect::<Vec<_>>().join("\n")
}

/// A model and its stored items, from a model file or a file that `import` reads.
pub(super) fn load(path: &Path) -> Result<(Model, Items), Failure> {
    let text = read(path)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model");
    if let Ok(imported) = import(stem, &text, None) {
        for note in &imported.notes {
            output::note(note);
        }
        let items = stored_items(&imported.model);
        return Ok((imported.model, items));
    }
    let source = Source::read(path)?;
    let samples = data::load(&source.model, &|name: &str| source.read_file(name))
        .map_err(|faults| source.faults(&faults))?;
    let mut items = Items::new();
    for sample in samples {
        items.entry(sample.table).or_default().push(sample.item);
    }
    Ok((source.model, items))
}

/// The errors of a file, one per line.
pub(super) fn faults(path: &Path, faults: &[ExchangeFault]) -> String {
    let messages: Vec<String> = faults.iter().map(|fault| format!("{}: {fault}", path.display())).collect();
    messages.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_over_other_folders_gets_one_answer_whether_they_exist_or_not() {
        let outer = tempfile::tempdir().unwrap();
        let outer = fs::canonicalize(outer.path()).unwrap();
        let (within, there) = (outer.join("in"), outer.join("there"));
        fs::create_dir(&within).unwrap();
        fs::create_dir(&there).unwrap();
        fs::write(within.join("model.yaml"), "text").unwrap();
        for other in ["there", "missing"] {
            let over = |rest: &str| read_within(&within, &within, &format!("../{other}/{rest}"));
            assert_eq!(over("../in/model.yaml").as_deref(), Ok("text"), "{other}");
            assert!(over("model.yaml").unwrap_err().contains("nothing outside of it is read"), "{other}");
        }
    }
}
