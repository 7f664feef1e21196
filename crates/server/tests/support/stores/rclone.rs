//! rclone: a small store over a folder.

use std::path::{Path, PathBuf};

use super::{BUCKET, KEY, SECRET, Store, free_address, program, text};

/// A store whose bucket is empty.
pub fn start() -> Store {
    start_with(&[])
}

/// The same, with more arguments.
pub fn start_with(more: &[&str]) -> Store {
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let objects = folder.path().join("objects");
    std::fs::create_dir_all(objects.join(BUCKET)).unwrap();
    let mut rclone = program("rclone", "rclone");
    let key = format!("{KEY},{SECRET}");
    rclone.args(["serve", "s3", text(&objects), "--addr", &address.to_string(), "--auth-key", &key]);
    rclone.args(["--config", "", "--cache-dir", text(&folder.path().join("cache"))]).args(more);
    Store::start(rclone, (address, folder), |store| {
        let bucket = file(store, "");
        let names = files(&bucket);
        names.iter().map(|file| text(file.strip_prefix(&bucket).unwrap()).to_owned()).collect()
    })
}

/// The file of an object.
pub fn file(store: &Store, key: &str) -> PathBuf {
    store.folder.path().join("objects").join(BUCKET).join(key)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
