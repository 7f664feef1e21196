//! How far a migration has come: a small file by which it goes on after a stop.
//!
//! It is written with a sync after what it says has been done, and replaced as a whole, so that a kill or a
//! loss of power at any moment leaves a record that says too little and never too much. It does not know what
//! a migration does.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use keywright_model::json::Json;

use super::state_lock::StateLock;
use crate::process::failure::Failure;
use crate::process::io_fault::{cannot, failed};
use crate::storage::private_file;

/// The version of the record. A later program that changes its meaning counts it up.
const FORMAT: u64 = 1;

/// The file of one migration. One command at a time holds it.
pub(crate) struct StateFile {
    path: PathBuf,
    /// What the migration is, in words: from where to where.
    migration: String,
    /// Released when the command ends, however it does.
    _lock: StateLock,
}

impl StateFile {
    /// Takes the file, whether or not there is one yet.
    pub(crate) fn hold(path: &Path, migration: String) -> Result<Self, Failure> {
        let lock = StateLock::take(path).map_err(|reason| {
            Failure::new(format!("cannot take the state file {}: {reason}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), migration, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The record of an earlier run of the same migration; `None` if there was none.
    pub(crate) fn read(&self) -> Result<Option<Json>, Failure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot("read the state file", &self.path, &error).into()),
        };
        let shown = self.path.display();
        let record = Json::parse(&text)
            .map_err(|fault| Failure::new(format!("{shown} is no state of a migration: {fault}")))?;
        match record.get("format").and_then(Json::as_u64) {
            Some(FORMAT) => {}
            Some(format) => {
                return Err(Failure::new(format!(
                    "{shown} has the format {format}, which this version does not know: go on with the version \
                     that began the migration"
                )));
            }
            None => return Err(Failure::new(format!("{shown} is no state of a migration"))),
        }
        if record.str_at("migration") == Some(self.migration.as_str()) {
            return Ok(Some(record));
        }
        let other = record.str_at("migration").unwrap_or("another one");
        Err(Failure::new(format!(
            "{shown} is the state of {}, and this is {}: name another file with --state",
            crate::process::foreign::inline(other),
            self.migration
        )))
    }

    /// Replaces the record. What it says must have been done.
    pub(crate) fn write(&self, members: &Json) -> Result<(), Failure> {
        let mut record =
            Json::object([("format", Json::number(FORMAT)), ("migration", Json::text(&self.migration))]);
        for (name, value) in members.members() {
            record.set(name, value.clone());
        }
        private_file::replace(&self.path, &record.compact())
            .map_err(failed("write the state file", &self.path))
    }

    /// Removes the record of a migration that has ended.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(cannot("remove the state file", &self.path, &error).into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_by_its_own_migration_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("T.migrate.json");
        let own = StateFile::hold(&path, "a to b".to_owned()).unwrap();
        assert_eq!(own.read().unwrap(), None);
        own.write(&Json::object([("rows", Json::number(7))])).unwrap();
        assert_eq!(own.read().unwrap().unwrap().get("rows").and_then(Json::as_u64), Some(7));
        drop(own);
        let other = StateFile::hold(&path, "a to c".to_owned()).unwrap();
        let fault = other.read().unwrap_err().to_string();
        assert!(fault.contains("a to b") && fault.contains("a to c") && fault.contains("--state"), "{fault}");
        fs::write(&path, r#"{"format": 2, "migration": "a to c"}"#).unwrap();
        assert!(other.read().unwrap_err().to_string().contains("the format 2"));
        fs::write(&path, "rows").unwrap();
        assert!(other.read().unwrap_err().to_string().contains("no state of a migration"));
        other.remove().unwrap();
        assert_eq!(other.read().unwrap(), None);
        drop(other);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "nothing stays of a migration that ended"
        );
    }
}
