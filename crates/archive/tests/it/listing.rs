//! The catalogue is made of the place alone.

use keywright_archive::{Listing, Parts, SetManifest, SetState, State, list, verify_set};
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
