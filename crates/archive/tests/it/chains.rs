//! A full backup and its increments, read as one table.

use bytes::Bytes;
use keywright_archive::{Chain, ChainRows, Fault, Kind, Manifest, Parts, Place, Wrong};
use object_store::ObjectStoreExt as _;
use pollster::block_on;

use crate::support::{
    Rows, SMALL, State, all, backup, full, memory, objects, on, put, random_change, random_state, write,
};

fn read(mut rows: ChainRows) -> Result<State, Fault> {
    let mut state = State::new();
    let mut last: Option<Bytes> = None;
    while let Some((key, value)) = block_on(rows.next())? {
        assert!(last.as_ref().is_none_or(|last| *last < key), "keys ascend");
        state.insert(key.to_vec(), value.to_vec());
        last = Some(key);
    }
    Ok(state)
}

/// A chain of random changes, with the state as of each of its backups.
fn random_chain(random: &mut fastrand::Rng, place: &Place, increments: u64) -> Vec<(Manifest, State)> {
    let items = random.usize(0..60);
    let mut state = random_state(random, items);
    let first = write(place, &backup("orders", "1-0"), SMALL, &all(&state), full(100));
    let mut chain = vec![(first, state.clone())];
    for number in 1..=increments {
        let changes = random.usize(0..30);
        let rows = random_change(random, &mut state, changes);
        let (parent, _) = chain.last().expect("a chain has a first backup");
        let path = backup("orders", &format!("1-{number}"));
        let manifest = write(place, &path, SMALL, &rows, on(parent, 100 + number));
        chain.push((manifest, state.clone()));
    }
    chain
}

#[test]
fn every_backup_of_a_chain_has_the_table_as_it_was() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (place, _) = memory();
        let increments = random.u64(0..6);
        for (manifest, expected) in random_chain(&mut random, &place, increments) {
            let chain = block_on(Chain::read(&place, &manifest.summary.path)).unwrap();
            assert_eq!(chain.newest(), &manifest.summary);
            for memory_bytes in [0, u64::MAX] {
                assert_eq!(read(chain.rows(&place, None, memory_bytes)).unwrap(), expected, "seed {seed}");
            }
            // A reader that was stopped goes on after the last key it has dealt with.
            let (after, _) = crate::support::random_item(&mut random);
            let rest = expected.into_iter().filter(|(key, _)| *key > after).collect::<State>();
            assert_eq!(read(chain.rows(&place, Some(&after.into()), 600)).unwrap(), rest, "seed {seed}");
        }
    }
}

#[test]
fn an_increment_whose_parent_does_not_fit_is_refused_by_name() {
    let mut random = fastrand::Rng::with_seed(3);
    let (place, store) = memory();
    let chain = random_chain(&mut random, &place, 2);
    let newest = &chain.last().unwrap().0.summary.path;
    let undisturbed = objects(&store);
    let manifest = "000000000000/us-east-1/orders/1-1/manifest.json".into();
    let parent = |change: fn(&mut Parts)| {
        let mut parts = on(&chain.first().unwrap().0, 101);
        change(&mut parts);
        parts
    };
    let rows = Rows::new();
    for (part, parts) in [
        ("is not there or incomplete", None),
        ("was replaced", Some(parent(|parts| parts.created_ms += 1))),
        ("was replaced", Some(parent(|parts| parts.stamp -= 1))),
    ] {
        match parts {
            None => block_on(store.delete(&manifest)).unwrap(),
            Some(parts) => drop(write(&place, &backup("orders", "1-1"), SMALL, &rows, parts)),
        }
        let fault = block_on(Chain::read(&place, newest)).unwrap_err().to_string();
        let start =
            "memory:/000000000000/us-east-1/orders/1-2/manifest.json: it is an increment of backup 1-1";
        assert!(fault.starts_with(start) && fault.contains(part), "{fault}");
        put(&store, &manifest, undisturbed[&manifest].clone());
    }
    block_on(Chain::read(&place, newest)).unwrap();
}

#[test]
fn an_increment_fits_its_parent_by_stamp_and_by_table() {
    let (place, _) = memory();
    let first = write(&place, &backup("orders", "1-0"), SMALL, &Rows::new(), full(100));
    let mut wrong_stamp = on(&first, 101);
    let Kind::Increment(parent) = &mut wrong_stamp.kind else { unreachable!("an increment") };
    parent.stamp = 99;
    let wrong_table = Parts { table_id: "other".to_owned(), ..on(&first, 101) };
    for (parts, reason) in [(wrong_stamp, "another stamp"), (wrong_table, "another table of the same name")] {
        let path = backup("orders", "1-1");
        write(&place, &path, SMALL, &Rows::new(), parts);
        let fault = block_on(Chain::read(&place, &path)).unwrap_err();
        let Fault::Damaged(damage) = &fault else { panic!("{fault}") };
        assert!(
            matches!(damage.wrong, Wrong::Parent { .. }) && fault.to_string().contains(reason),
            "{fault}"
        );
    }
}

#[test]
fn a_chunk_that_is_missing_or_cut_in_any_backup_of_a_chain_is_named_without_being_read() {
    let mut random = fastrand::Rng::with_seed(3);
    let (place, store) = memory();
    let chain = random_chain(&mut random, &place, 2);
    let chain = block_on(Chain::read(&place, &chain.last().unwrap().0.summary.path)).unwrap();
    block_on(chain.check_lengths(&place)).unwrap();
    let chunks: Vec<_> =
        objects(&store).into_iter().filter(|(path, _)| path.extension() == Some("kwb")).collect();
    assert!(chunks.iter().any(|(path, _)| path.as_ref().contains("/1-0/")), "{chunks:?}");
    for (path, bytes) in chunks {
        block_on(store.delete(&path)).unwrap();
        let fault = block_on(chain.check_lengths(&place)).unwrap_err();
        assert!(fault.is_missing() && fault.to_string().contains(path.as_ref()), "{fault}");
        put(&store, &path, bytes.slice(1..));
        let fault = block_on(chain.check_lengths(&place)).unwrap_err().to_string();
        assert!(fault.contains("is truncated") && fault.contains(path.as_ref()), "{fault}");
        put(&store, &path, bytes);
    }
    block_on(chain.check_lengths(&place)).unwrap();
}

#[test]
fn a_chain_that_is_longer_than_any_we_write_is_refused() {
    let (place, _) = memory();
    let mut last = write(&place, &backup("orders", "1-0"), SMALL, &Rows::new(), full(100));
    for number in 1..=keywright_archive::CHAIN_LENGTH_MAX {
        let parts = on(&last, 100);
        last = write(&place, &backup("orders", &format!("1-{number}")), SMALL, &Rows::new(), parts);
    }
    let fault = block_on(Chain::read(&place, &last.summary.path)).unwrap_err().to_string();
    assert!(fault.contains("the chain is longer"), "{fault}");
    let parent = backup("orders", &last.summary.parent().unwrap().id);
    block_on(Chain::read(&place, &parent)).unwrap();
}
