//! The folder of a store: its modes, and copies without lock files.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Snapshot as _, Store as _, Transaction as _};
use keywright_store_local::{LocalOptions, LocalStore};

use crate::form;

fn open(folder: &Path) -> LocalStore {
    form::open(folder, LocalOptions::default()).expect("the store opens")
}

fn write_row(store: &LocalStore) {
    let mut transaction = block_on(store.begin()).expect("a transaction begins");
    transaction.put(Bytes::from_static(b"key"), Bytes::from_static(b"value"));
    block_on(transaction.commit()).expect("nothing conflicts");
}

#[test]
fn a_folder_copied_without_its_lock_file_opens() {
    let folder = tempfile::tempdir().expect("a folder is made");
    write_row(&open(folder.path()));
    fs::remove_file(folder.path().join("LOCK")).expect("a store has its lock file");
    let store = open(folder.path());
    let view = block_on(store.snapshot()).expect("a snapshot opens");
    let value = block_on(view.get(b"key")).expect("a read succeeds");
    assert_eq!(value, Some(Bytes::from_static(b"value")));
}

#[cfg(unix)]
mod modes {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
    }

    #[test]
    fn a_new_store_belongs_to_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder is made");
        let data = folder.path().join("above/data");
        write_row(&open(&data));
        for made in ["above", "above/data", "above/data/journal", "above/data/tables"] {
            assert_eq!(mode(&folder.path().join(made)), 0o700, "{made}");
        }
        for file in ["LOCK", "FORMAT", "acknowledged", "journal/00000001"] {
            assert_eq!(mode(&data.join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn an_older_store_is_closed_to_others_when_it_is_opened() {
        let folder = tempfile::tempdir().expect("a folder is made");
        drop(open(folder.path()));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("the folder is ours");
        drop(open(folder.path()));
        assert_eq!(mode(folder.path()), 0o700);
    }

    #[test]
    fn a_folder_of_something_else_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a folder is made");
        fs::write(folder.path().join("letter.txt"), "text").expect("a file is written");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("the folder is ours");
        assert!(form::open(folder.path(), LocalOptions::default()).is_err());
        assert_eq!(mode(folder.path()), 0o755);
    }
}
