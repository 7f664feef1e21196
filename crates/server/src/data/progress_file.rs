//! How far a load or dump has come: a small file next to the data, by which it goes on after a stop.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use keywright_model::json::Json;

use crate::process::failure::Failure;
use crate::process::io_fault::{cannot, failed};

/// The file of a command's progress: `items.jsonl.progress`.
pub(super) struct ProgressFile {
    path: PathBuf,
}

impl ProgressFile {
    pub(super) fn next_to(data: &Path) -> Self {
        let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self { path: data.with_file_name(format!("{name}.progress")) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The progress of an earlier run; `None` if there was none.
    pub(super) fn read(&self) -> Result<Option<Json>, Failure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot("read", &self.path, &error).into()),
        };
        let unreadable = |fault: &dyn std::fmt::Display| {
            format!("{} is no record of progress ({fault}): remove it and start again", self.path.display())
        };
        Json::parse(&text).map(Some).map_err(|fault| Failure::new(unreadable(&fault)))
    }

    /// Replaces the record as a whole, so that a stop at any moment leaves a whole one.
    pub(super) fn write(&self, progress: &Json) -> Result<(), Failure> {
        let explain = failed("write", &self.path);
        let new = self.path.with_extension("progress.new");
        fs::write(&new, progress.compact()).map_err(explain)?;
        fs::rename(&new, &self.path).map_err(explain)
    }

    /// Removes the record of a run that ended well.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(cannot("remove", &self.path, &error).into())
            }
            _ => Ok(()),
        }
    }
}
