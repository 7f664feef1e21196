//! Backups in a folder of the machine.

use std::fs;
use std::path::Path;

use keywright_archive::{Access, Address, Chain, Fault, Place, delete, list, remove_orphans, verify};
use keywright_objects::S3Settings;
use pollster::block_on;

use crate::support::{SMALL, all, backup, full, random_state, write};

const BACKUP: &str = "000000000000/us-east-1/orders/1-a";

fn open(folder: &Path, access: Access) -> Result<Place, Fault> {
    let address = Address::Folder(folder.to_owned());
    Place::open(&address, &S3Settings::default(), access)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder that can be read");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name());
    let mut names: Vec<_> = entries.flat_map(name).map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_has_the_layout_that_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("some/backups");
    let missing = open(&root, Access::Read).unwrap_err();
    let kind = missing.io_error().map(std::io::Error::kind);
    assert_eq!(kind, Some(std::io::ErrorKind::NotFound));
    assert!(missing.to_string().starts_with(&format!("cannot open {}: ", root.display())), "{missing}");

    let place = open(&root, Access::Create).unwrap();
    let state = random_state(&mut fastrand::Rng::with_seed(1), 30);
    let manifest = write(&place, &backup("orders", "1-a"), SMALL, &all(&state), full(1));
    let mut expected: Vec<_> = manifest.chunks.iter().map(|chunk| chunk.name.clone()).collect();
    expected.push("manifest.json".to_owned());
    expected.sort();
    assert!(expected.len() > 2);
    assert_eq!(names(&root.join(BACKUP)), expected);

    let again = open(&root, Access::Read).unwrap();
    let verified = block_on(verify(&again, &manifest.summary.path, &mut |_| {}));
    assert!(verified.faults.is_empty() && verified.rows == 30, "{:?}", verified.faults);
    block_on(delete(&again, &manifest.summary.path)).unwrap();
    assert!(names(&root).is_empty(), "empty folders go with the backup");
}

#[test]
fn what_a_killed_process_was_writing_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let place = open(folder.path(), Access::Create).unwrap();
    let path = backup("orders", "1-a");
    write(&place, &path, SMALL, &all(&random_state(&mut fastrand::Rng::with_seed(1), 10)), full(1));
    let own = folder.path().join(BACKUP);
    let whole = names(&own);
    for name in ["chunk-7.kwb#1", "manifest.json#12"] {
        fs::write(own.join(name), "half").unwrap();
    }
    assert!(matches!(block_on(list(&place)).unwrap().backups.len(), 1));
    assert_eq!(block_on(remove_orphans(&place, &path, &[])).unwrap(), 2);
    assert_eq!(names(&own), whole);
    fs::write(own.join("chunk-0.kwb#1"), "half").unwrap();
    block_on(delete(&place, &path)).unwrap();
    assert!(!own.join("chunk-0.kwb#1").exists());
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = open(folder.path(), Access::Create).unwrap();
    let elsewhere = open(outside.path(), Access::Create).unwrap();
    let path = backup("orders", "1-a");
    let rows = all(&random_state(&mut fastrand::Rng::with_seed(1), 10));
    write(&elsewhere, &path, SMALL, &rows, full(1));
    let before = names(&outside.path().join(BACKUP));

    // A folder and an object that are links.
    let table = folder.path().join("000000000000/us-east-1");
    fs::create_dir_all(&table).unwrap();
    symlink(outside.path().join("000000000000/us-east-1/orders"), table.join("orders")).unwrap();
    assert!(block_on(list(&place)).unwrap().backups.is_empty());
    let refused = [
        block_on(Chain::read(&place, &path)).map(|_| ()),
        block_on(delete(&place, &path)),
        block_on(remove_orphans(&place, &path, &[])).map(|_| ()),
        block_on(keywright_archive::Writer::new(place.clone(), path.clone(), SMALL).finish(full(2)))
            .map(|_| ()),
    ];
    for refused in refused {
        let fault = refused.unwrap_err();
        assert!(matches!(&fault, Fault::Link { path } if path.ends_with("orders")), "{fault}");
    }
    fs::remove_file(table.join("orders")).unwrap();
    write(&place, &path, SMALL, &rows, full(1));
    let chunk = folder.path().join(BACKUP).join("chunk-0.kwb");
    fs::remove_file(&chunk).unwrap();
    symlink(outside.path().join(BACKUP).join("chunk-0.kwb"), &chunk).unwrap();
    let faults = block_on(verify(&place, &path, &mut |_| {})).faults;
    assert!(faults.iter().any(|fault| matches!(fault, Fault::Link { .. })), "{faults:?}");
    assert_eq!(names(&outside.path().join(BACKUP)), before);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = open(folder.path(), Access::Create).unwrap();
    // A file where the account's folder would be.
    fs::write(folder.path().join("000000000000"), "x").unwrap();
    let writer = keywright_archive::Writer::new(place, backup("orders", "1-a"), SMALL);
    let fault = block_on(writer.finish(full(1))).unwrap_err();
    assert!(fault.to_string().contains(&format!("cannot write {}", folder.path().display())), "{fault}");
    assert!(fault.io_error().is_some());
}
