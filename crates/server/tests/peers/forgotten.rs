//! A server that is restored from an older copy of its folder knows nothing of a member that has joined
//! since.

use std::fs;
use std::path::Path;

use crate::db::global;
use crate::pair::{HERE, TABLE};
use crate::trio::{REGIONS, Trio};

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &copy);
        } else {
            fs::copy(entry.path(), copy).unwrap();
        }
    }
}

/// A group on three servers. The second one is restored to before the third member joined, and has no
/// `[[peer]]` for it.
fn with_a_server_that_has_forgotten() -> Trio {
    let mut trio = Trio::start();
    trio.db(0).create(TABLE);
    trio.add(TABLE, 1);
    trio.db(1).put(TABLE, "early", 1);
    trio.stop(1);
    let (data, old) = (trio.data(1), trio.data(1).with_extension("old"));
    copy_folder(&data, &old);
    trio.start_server(1, &[0, 1, 2]);
    trio.add(TABLE, 2);
    trio.db(1).put(TABLE, "late", 2);
    for own in [0, 2] {
        trio.db(own).wait("it has what is lost by the restore", |db| db.get(TABLE, "late") == Some(2));
    }
    trio.stop(1);
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&old, &data).unwrap();
    trio.start_server(1, &[0, 1]);
    assert_eq!(trio.db(1).replicas(TABLE), [(HERE.to_owned(), "ACTIVE".to_owned())]);
    trio
}

#[test]
fn a_server_that_has_forgotten_a_member_learns_of_it_again_and_both_get_what_they_lack() {
    let mut trio = with_a_server_that_has_forgotten();
    trio.db(1).put(TABLE, "from", 3);
    trio.db(2).put(TABLE, "to", 4);
    trio.stop(1);
    trio.start_server(1, &[0, 1, 2]);
    trio.db(1).wait("it knows both others", |db| db.replicas(TABLE).len() == 2);
    for own in 0..3 {
        trio.db(own).wait("all have all", |db| db.scan(TABLE, None).len() == 4);
    }
    assert_eq!(trio.db(1).get(TABLE, "late"), Some(2), "also what was lost by the restore");
    trio.db(1).put(TABLE, "from", 5);
    trio.db(2).wait("what is written later arrives", |db| db.get(TABLE, "from") == Some(5));
    let (status, said) = global(trio.server(1), REGIONS[1], &["verify", TABLE]);
    assert_eq!((status, said.matches("equal up to").count()), (Some(0), 2), "{said}");
}
