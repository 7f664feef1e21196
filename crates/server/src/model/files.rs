//! Model files and those beside them, read and written for the commands.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use keywright_model::data;
use keywright_model::exchange::fault::ExchangeFault;
use keywright_model::exchange::import::import;
use keywright_model::exchange::of_model::{Items, stored_items};
use keywright_model::{self as model, Model};

use crate::banner;

/// The largest file that is read.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The text of a file; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let explain = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut text = String::new();
    let mut input: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(fs::File::open(path).map_err(explain)?)
    };
    let read = input.by_ref().take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(explain)?;
    if u64::try_from(read).is_ok_and(|read| read > FILE_BYTES_MAX) {
        return Err(format!("{} is larger than {} MiB", path.display(), FILE_BYTES_MAX >> 20));
    }
    Ok(text)
}

/// Whether a file may be written: one that exists only if asked to. Of files that go together all are asked about before
/// the first is written.
pub(super) fn may_write(path: &Path, force: bool) -> Result<(), String> {
    if path.exists() && !force {
        return Err(format!("{} exists; --force overwrites it", path.display()));
    }
    Ok(())
}

/// Writes a file; one that exists only if asked to.
pub(super) fn write(path: &Path, text: &str, force: bool) -> Result<(), String> {
    write_all(&[(path, text)], force)
}

/// Writes files that go together: all of them or none. Each is written beside its place first and takes it when all are
/// whole.
pub(super) fn write_all(files: &[(&Path, &str)], force: bool) -> Result<(), String> {
    for (path, _) in files {
        may_write(path, force)?;
    }
    let mut waiting: Vec<(PathBuf, PathBuf)> = Vec::new();
    let written = files.iter().try_for_each(|(path, text)| {
        let explain = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        // What is no file, such as a terminal, takes what it gets at once; a link stays a link.
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
        waiting.iter().try_for_each(|(partial, place)| {
            fs::rename(partial, place).map_err(|error| format!("cannot write {}: {error}", place.display()))
        })
    });
    if placed.is_err() {
        for (partial, _) in &waiting {
            // What was never begun is not there either.
            let _ = fs::remove_file(partial);
        }
    }
    placed
}

/// Where a file is written until it is whole: in the same folder, as a name can be taken at once only within a disk.
fn partial(place: &Path) -> PathBuf {
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    place.with_file_name(format!(".{name}.{}.partial", std::process::id()))
}

/// The file beside another with the same name and another ending: `shop.workbench.json` for `shop.yaml`.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

/// Whether a document and a model that lie beside each other by their files' names are of two designs, and then how the
/// document differs: its name is another, or none of its tables is the model's.
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
pub(super) fn read_model(path: &Path) -> Result<Model, String> {
    model::parse(&read(path)?).map_err(|faults| {
        let file = path.display().to_string();
        let told: Vec<String> = faults.iter().map(|fault| fault.in_file(&file)).collect();
        told.join("\n")
    })
}

/// A model and its items as they are stored, from a model file or a file that `import` reads.
pub(super) fn load(path: &Path) -> Result<(Model, Items), String> {
    let text = read(path)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model");
    if let Ok(imported) = import(stem, &text, None) {
        for note in &imported.notes {
            banner::note(note);
        }
        let items = stored_items(&imported.model);
        return Ok((imported.model, items));
    }
    let model = read_model(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let samples = data::load(&model, &|name: &str| read(&folder.join(name))).map_err(|faults| {
        let file = path.display().to_string();
        let told: Vec<String> = faults.iter().map(|fault| fault.in_file(&file)).collect();
        told.join("\n")
    })?;
    let mut items = Items::new();
    for sample in samples {
        items.entry(sample.table).or_default().push(sample.item);
    }
    Ok((model, items))
}

/// Faults of a file, one a line.
pub(super) fn faults(path: &Path, faults: &[ExchangeFault]) -> String {
    let told: Vec<String> = faults.iter().map(|fault| format!("{}: {fault}", path.display())).collect();
    told.join("\n")
}
