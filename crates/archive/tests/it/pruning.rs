//! Old backups go, and never one that a kept increment needs.

use std::collections::BTreeSet;

use keywright_archive::{
    BackupPath, Chain, Keep, Manifest, Parts, Place, SetManifest, State, delete, list, plan, plan_of_id,
    prune,
};
use object_store::ObjectStoreExt as _;
use pollster::block_on;

use crate::support::{Rows, SMALL, all, backup, full, memory, objects, on, put, random_state, write};

const DAY: u64 = 24 * 60 * 60 * 1000;
const WEEK: Keep = Keep { for_ms: 7 * DAY };

/// A backup made on a day.
fn make(place: &Place, table: &str, day: u64, parent: Option<&Manifest>) -> Manifest {
    let stamp = day * DAY;
    let parts = Parts { created_ms: stamp, ..parent.map_or_else(|| full(stamp), |parent| on(parent, stamp)) };
    write(place, &backup(table, &format!("{stamp:014}-00000000")), SMALL, &Rows::new(), parts)
}

fn restorable(place: &Place) -> BTreeSet<BackupPath> {
    let listing = block_on(list(place)).expect("memory lists");
    let paths = listing.backups.into_iter().map(|listed| listed.path);
    paths.filter(|path| block_on(Chain::read(place, path)).is_ok()).collect()
}

#[test]
fn random_chains_are_never_broken() {
    for seed in 0..150 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let (place, store) = memory();
        let mut made: Vec<Manifest> = Vec::new();
        for day in 1..random.u64(2..25) {
            let of_table = |manifest: &&Manifest| manifest.summary.path.table() == "orders";
            let parents: Vec<_> = made.iter().filter(of_table).collect();
            let parent = random.choice(&parents).filter(|_| random.u8(..) < 180).copied().cloned();
            made.push(make(&place, "orders", day, parent.as_ref()));
        }
        if random.bool() {
            made.push(make(&place, "users", 1, None));
        }
        if random.u8(..) < 60 {
            let lost = random.choice(&made).unwrap().summary.path.clone();
            let folder = format!("{lost}/manifest.json");
            block_on(store.delete(&folder.as_str().into())).unwrap();
            put(&store, &format!("{lost}/chunk-0.kwb").as_str().into(), "x");
        }
        let (before, now) = (restorable(&place), random.u64(1..40) * DAY);
        let planned = plan(&block_on(list(&place)).unwrap(), WEEK, now);
        let plan = block_on(prune(&place, WEEK, now)).unwrap();
        assert_eq!(plan, planned, "seed {seed}");
        let after = restorable(&place);

        let age = |path: &BackupPath| {
            let of_path = made.iter().find(|manifest| manifest.summary.path == *path);
            now.saturating_sub(of_path.unwrap().summary.parts.created_ms)
        };
        // What could be restored and was kept can still be restored.
        let removed: BTreeSet<_> = plan.backups.iter().cloned().collect();
        assert_eq!(after, before.difference(&removed).cloned().collect(), "seed {seed}");
        // What is young stays, and so does the newest one of each table that could be restored.
        assert!(removed.iter().all(|path| age(path) > 7 * DAY), "seed {seed}");
        for table in ["orders", "users"] {
            let newest = before.iter().rev().find(|path| path.table() == table);
            assert!(newest.is_none_or(|newest| after.contains(newest)), "seed {seed}");
        }
        // What is old and stays has a reason.
        let rest = block_on(list(&place)).unwrap();
        for path in &plan.needed {
            let is_newest = before.iter().rev().find(|other| other.table() == path.table()) == Some(path);
            let is_parent = !rest.needed_by(path).is_empty();
            assert!(age(path) > 7 * DAY && (is_newest || is_parent), "seed {seed}: {path}");
        }
        // A second time, there is nothing to do.
        assert!(block_on(prune(&place, WEEK, now)).unwrap().backups.is_empty(), "seed {seed}");
    }
}

#[test]
fn an_old_chain_goes_and_a_chain_with_a_young_increment_stays() {
    let (place, store) = memory();
    let old = make(&place, "orders", 1, None);
    let old_child = make(&place, "orders", 2, Some(&old));
    let base = make(&place, "orders", 3, None);
    let middle = make(&place, "orders", 4, Some(&base));
    let young = make(&place, "orders", 28, Some(&middle));
    let plan = block_on(prune(&place, WEEK, 30 * DAY)).unwrap();
    let path = |manifest: &Manifest| manifest.summary.path.clone();
    // An increment goes before what it builds on.
    assert_eq!(plan.backups, [path(&old_child), path(&old)]);
    assert_eq!(plan.needed, [path(&middle), path(&base)]);
    assert_eq!(objects(&store).len(), 3);
    block_on(Chain::read(&place, &path(&young))).unwrap();
}

#[test]
fn nothing_of_a_table_goes_while_a_manifest_of_it_cannot_be_read() {
    let (place, store) = memory();
    let base = make(&place, "orders", 1, None);
    let child = make(&place, "orders", 2, Some(&base));
    make(&place, "orders", 3, None);
    put(&store, &format!("{}/manifest.json", child.summary.path).as_str().into(), "{\"format\": 2}");
    let plan = block_on(prune(&place, WEEK, 30 * DAY)).unwrap();
    assert_eq!((plan.backups.as_slice(), plan.unreadable.as_slice()), (&[][..], &[child.summary.path][..]));
}

#[test]
fn an_incomplete_backup_goes_once_no_writer_can_be_at_it() {
    let (place, store) = memory();
    let chunk = format!("000000000000/us-east-1/orders/{:014}-00000000/chunk-0.kwb", 10 * DAY);
    put(&store, &chunk.as_str().into(), "x");
    put(&store, &"000000000000/us-east-1/orders/copied/chunk-0.kwb".into(), "x");
    let hour = Keep { for_ms: DAY / 24 };
    assert!(block_on(prune(&place, hour, 11 * DAY)).unwrap().backups.is_empty());
    assert_eq!(block_on(prune(&place, hour, 11 * DAY + 1)).unwrap().backups.len(), 1);
    // An id without a time is left alone.
    assert!(matches!(block_on(list(&place)).unwrap().backups[0].state, State::Incomplete { .. }));
}

#[test]
fn the_manifest_of_a_set_goes_with_its_backups() {
    let (place, store) = memory();
    let set = |tables: &[&str], day: u64| {
        let made: Vec<_> = tables.iter().map(|table| make(&place, table, day, None).summary).collect();
        block_on(SetManifest::of(&made).unwrap().write(&place)).unwrap();
    };
    set(&["orders", "users"], 1);
    set(&["orders", "users"], 29);
    let plan = block_on(prune(&place, WEEK, 30 * DAY)).unwrap();
    assert_eq!((plan.backups.len(), plan.sets.len()), (2, 1));
    // Two backups, and their set.
    assert_eq!(objects(&store).len(), 3);
    assert!(
        block_on(list(&place)).unwrap().backups.iter().all(|listed| listed.path.id().contains("2505600000"))
    );
}

#[test]
fn the_backups_of_an_id_go_unless_one_builds_on_them() {
    let (place, store) = memory();
    let base = make(&place, "orders", 1, None);
    let child = make(&place, "orders", 2, Some(&base)).summary;
    let base = base.summary;
    block_on(SetManifest::of(std::slice::from_ref(&child)).unwrap().write(&place)).unwrap();
    let plan = |id: &str| plan_of_id(&block_on(list(&place)).unwrap(), id);
    assert_eq!(plan(base.path.id()).unwrap_err(), child.path);
    block_on(plan(child.path.id()).unwrap().apply(&place)).unwrap();
    assert_eq!(objects(&store).len(), 1);
    block_on(plan(base.path.id()).unwrap().apply(&place)).unwrap();
    assert!(objects(&store).is_empty());
}

#[test]
fn a_removal_takes_the_manifest_first_and_may_be_repeated() {
    let (place, store) = memory();
    let path = backup("orders", "1-a");
    let rows = all(&random_state(&mut fastrand::Rng::with_seed(1), 40));
    write(&place, &path, SMALL, &rows, full(1));
    let other = write(&place, &backup("orders", "2-b"), SMALL, &rows, full(1));
    for _ in 0..2 {
        block_on(delete(&place, &path)).unwrap();
        assert_eq!(objects(&store).len(), other.chunks.len() + 1);
    }
}
