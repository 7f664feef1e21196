//! What a folder of objects needs next to its object store: links are not followed, files that a killed
//! process was writing are found, and keys are listed in their order.
//!
//! The object store follows links, so every path is looked at before it is used. Who may write into the
//! folder can do anything to its objects anyway: this keeps out links that were there before.

use std::fs::{self, DirEntry, FileType};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use object_store::Error;
use object_store::path::Path;

use crate::fault::Cause;
use crate::key;
use crate::s3::Refusal;

/// A folder of objects.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    /// The folder of buckets in which it is one, for people.
    of_buckets: Option<String>,
}

impl Folder {
    /// Any folder. It is made again if it is removed.
    pub(crate) const fn new(root: PathBuf) -> Self {
        Self { root, of_buckets: None }
    }

    /// A folder that is a bucket: if it is removed, there is no such bucket.
    pub(crate) const fn of_bucket(root: PathBuf, buckets: String) -> Self {
        Self { root, of_buckets: Some(buckets) }
    }

    pub(crate) const fn root(&self) -> &PathBuf {
        &self.root
    }

    fn file(&self, path: &Path) -> PathBuf {
        self.root.join(path.as_ref())
    }

    /// Refuses a bucket that is not there.
    pub(crate) fn check_root(&self) -> Result<(), Cause> {
        let Some(buckets) = &self.of_buckets else { return Ok(()) };
        match fs::symlink_metadata(&self.root) {
            Ok(metadata) if metadata.is_symlink() => Err(Cause::Link(self.root.clone())),
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(cause(error)),
            Ok(_) | Err(_) => {
                let refusal = Refusal::NoFolder(self.root.display().to_string());
                Err(Cause::Refused { store: buckets.clone(), refusal })
            }
        }
    }

    /// Refuses a path of which a part below the root is a link.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Cause> {
        self.check_root()?;
        let mut at = self.root.clone();
        for part in path.parts() {
            at.push(part.as_ref());
            match fs::symlink_metadata(&at) {
                Ok(metadata) if metadata.is_symlink() => return Err(Cause::Link(at)),
                Ok(_) => {}
                // What is not there is no link. Any other error comes again when the object is used.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Removes the files directly in a folder that a killed process was writing; returns how many. With a
    /// name, those of this object.
    pub(crate) fn remove_unfinished(&self, folder: &Path, of: Option<&str>) -> io::Result<u64> {
        let entries = match fs::read_dir(self.file(folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let object = name.to_str().and_then(key::of_unfinished);
            if object.is_none() || of.is_some_and(|of| object != Some(of)) {
                continue;
            }
            match fs::remove_file(entry.path()) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// At most so many keys with this start that come after one, in the order of their bytes. Only folders
    /// that may have such keys are read.
    pub(crate) fn keys(&self, prefix: &str, after: &str, max: usize) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        // The folders from the root to the present one, each with the names that are still to be looked at.
        let mut open = vec![self.names("")?];
        while let Some(names) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            if found.len() == max {
                break;
            }
            if name.ends_with('/') {
                let may_have_prefix = name.starts_with(prefix) || prefix.starts_with(&name);
                let may_come_after = name.as_str() > after || after.starts_with(&name);
                if may_have_prefix && may_come_after {
                    open.push(self.names(&name)?);
                }
            } else if name.starts_with(prefix) && name.as_str() > after {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// The keys of the files of a folder, and those of the folders in it with `/` at their end. The last
    /// comes first. What no key can name and what is being written is left out, and so are links.
    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.root.join(folder)) {
            // It was removed meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.is_empty() => {
                return Ok(Vec::new());
            }
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(name(&entry?, folder));
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
    }
}

fn name(entry: &DirEntry, folder: &str) -> Option<String> {
    let file_type: FileType = entry.file_type().ok()?;
    let name = format!("{folder}{}", entry.file_name().to_str()?);
    let path = key::path(&name).ok()?;
    if file_type.is_dir() {
        Some(name + "/")
    } else {
        (file_type.is_file() && key::check_file(&path).is_ok()).then_some(name)
    }
}

/// An error of the file system.
pub(crate) fn cause(error: io::Error) -> Cause {
    Cause::Store(Error::Generic { store: "folder", source: Box::new(error) })
}
