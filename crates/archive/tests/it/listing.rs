//! The catalogue is made of the place alone.

use keywright_archive::{Listing, Parts, SetManifest, SetState, State, list, list_of, verify_set};
use object_store::ObjectStoreExt as _;
use pollster::block_on;

use crate::support::{SMALL, all, backup, full, memory, on, put, random_state, scope, write};

fn shown(listing: &Listing) -> Vec<String> {
    let state = |state: &State| match state {
        State::Complete(_) => "complete",
        State::Incomplete { .. } => "incomplete",
        State::Unreadable(_) => "unreadable",
        State::Damaged(..) => "damaged",
    };
    let backups = listing.backups.iter().map(|listed| format!("{} {}", listed.path, state(&listed.state)));
    let sets = listing.sets.iter().map(|set| format!("{}/{}", set.scope, set.id));
    backups.chain(sets).collect()
}

#[test]
fn a_listing_finds_every_backup_and_set_and_nothing_else() {
    let (place, store) = memory();
    assert!(shown(&block_on(list(&place)).unwrap()).is_empty());
    let rows = all(&random_state(&mut fastrand::Rng::with_seed(1), 10));
    let of_set = Parts { of_set: true, ..full(7) };
    let first = write(&place, &backup("orders", "1-a"), SMALL, &rows, of_set.clone());
    let second = write(&place, &backup("users", "1-a"), SMALL, &rows, of_set);
    let child = write(&place, &backup("users", "2-b"), SMALL, &rows, on(&second, 9));
    put(&store, &"000000000000/us-east-1/orders/3-c/chunk-0.kwb".into(), "x");
    put(&store, &"000000000000/us-east-1/orders/notes.txt".into(), "x");
    put(&store, &"lost+found/us-east-1/orders/1-a/manifest.json".into(), "x");
    put(&store, &"000000000000/us-east-1/=sets/notes.txt".into(), "x");

    let listing = block_on(list(&place)).unwrap();
    let backups = [
        "000000000000/us-east-1/orders/1-a complete",
        "000000000000/us-east-1/orders/3-c incomplete",
        "000000000000/us-east-1/users/1-a complete",
        "000000000000/us-east-1/users/2-b complete",
    ];
    assert_eq!(shown(&listing), [backups.as_slice(), &["000000000000/us-east-1/1-a"]].concat());
    assert!(matches!(listing.sets[0].state, SetState::Incomplete));
    assert_eq!(listing.needed_by(&second.summary.path), [&child.summary.path]);
    assert!(listing.needed_by(&first.summary.path).is_empty());

    let set = SetManifest::of(&[second.summary, first.summary]).unwrap();
    assert_eq!(
        set.tables.iter().map(|member| member.table.as_str()).collect::<Vec<_>>(),
        ["orders", "users"]
    );
    block_on(set.write(&place)).unwrap();
    let listing = block_on(list(&place)).unwrap();
    assert!(matches!(&listing.sets[0].state, SetState::Complete(found) if *found == set));
    assert_eq!(block_on(verify_set(&place, &scope(), "1-a")).unwrap(), set);
}

#[test]
fn what_a_manifest_says_is_read_again() {
    let (place, _) = memory();
    let rows = all(&random_state(&mut fastrand::Rng::with_seed(1), 10));
    // A stamp that does not fit into the numbers of JavaScript.
    let manifest = write(&place, &backup("orders", "1-a"), SMALL, &rows, full(u64::MAX));
    let listing = block_on(list(&place)).unwrap();
    assert!(matches!(&listing.backups[0].state, State::Complete(found) if **found == manifest.summary));
    assert_eq!(manifest.summary.parts, full(u64::MAX));
}

#[test]
fn a_listing_names_the_place_where_a_chain_is_broken() {
    let (place, store) = memory();
    let rows = all(&random_state(&mut fastrand::Rng::with_seed(1), 10));
    let first = write(&place, &backup("orders", "1-a"), SMALL, &rows, full(1));
    let second = write(&place, &backup("orders", "2-b"), SMALL, &rows, on(&first, 2));
    write(&place, &backup("orders", "3-c"), SMALL, &rows, on(&second, 3));
    let faults = || {
        let listing = block_on(list_of(&place, &scope())).unwrap();
        let fault = |state: State| match state {
            State::Complete(_) => String::new(),
            State::Damaged(_, fault) => fault.to_string(),
            State::Incomplete { .. } => "incomplete".to_owned(),
            State::Unreadable(_) => "unreadable".to_owned(),
        };
        listing.backups.into_iter().map(|listed| fault(listed.state)).collect::<Vec<_>>()
    };
    assert_eq!(faults(), ["", "", ""]);
    let object = |name: &str| format!("000000000000/us-east-1/orders/{name}").into();
    let broken = |id: &str, parent: &str, reason: &str| {
        format!(
            "memory:/000000000000/us-east-1/orders/{id}/manifest.json: it is an increment of backup {parent}, and {reason}"
        )
    };
    put(&store, &object("1-a/chunk-0.kwb"), "short");
    let found = faults();
    assert!(found[0].contains("truncated"), "{found:?}");
    // Both say where: the chain of the third is broken at the second.
    assert_eq!(
        found[1..],
        [broken("2-b", "1-a", "that backup is damaged"), broken("2-b", "1-a", "that backup is damaged")]
    );
    write(&place, &backup("orders", "1-a"), SMALL, &rows, full(7));
    let replaced = broken("2-b", "1-a", "that backup was replaced by another one");
    assert_eq!(faults(), [String::new(), replaced.clone(), replaced]);
    block_on(store.delete(&object("2-b/manifest.json"))).unwrap();
    let gone = broken("3-c", "2-b", "that backup is not there or incomplete");
    assert_eq!(faults(), [String::new(), "incomplete".to_owned(), gone]);
}
