//! What a folder of objects needs next to its object store: links are not followed, and files that a killed
//! process was writing are found.
//!
//! The object store follows links, so every path is looked at before it is used. Who may write into the
//! folder can do anything to its objects anyway: this keeps out links that were there before.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::{fs, io};

use object_store::path::Path;

/// The root of a folder of objects.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder with this root.
    pub const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The file of a path.
    pub fn file(&self, path: &Path) -> PathBuf {
        self.root.join(path.as_ref())
    }

    /// Refuses a path of which a part below the root is a link, which it returns.
    pub fn check(&self, path: &Path) -> Result<(), PathBuf> {
        let mut at = self.root.clone();
        for part in path.parts() {
            at.push(part.as_ref());
            match fs::symlink_metadata(&at) {
                Ok(metadata) if metadata.is_symlink() => return Err(at),
                Ok(_) => {}
                // What is not there is no link. Any other error comes again when the object is used.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// The files of a folder that a killed process was writing: `name#1`, which the object store renames to
    /// `name` at the end, and which it neither lists nor removes.
    pub fn unfinished(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.file(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.file_name().is_some_and(is_unfinished) {
                found.push(path);
            }
        }
        Ok(found)
    }
}

fn is_unfinished(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.rsplit_once('#'));
    number.is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
