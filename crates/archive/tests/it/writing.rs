//! What a writer leaves: the rows as they were added, in the same bytes however often it was stopped.

use std::sync::Arc;

use keywright_archive::{BackupRows, Chunk, Fault, Manifest, Place, Sizes, Writer, remove_orphans};
use keywright_objects::Bucket;
use pollster::block_on;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::faulty_store::FaultyStore;
use crate::support::{
    Rows, SMALL, add, all, as_rows, backup, full, memory, objects, put, random_state, read, write,
};

fn rows() -> impl Strategy<Value = Rows> {
    let value = proptest::option::of(vec(any::<u8>(), 0..80));
    btree_map(vec(0..4_u8, 0..6), value, 0..80)
}

fn sizes() -> impl Strategy<Value = Sizes> {
    (1..2000_usize, 1..500_usize).prop_map(|(chunk_bytes, block_bytes)| Sizes { chunk_bytes, block_bytes })
}

proptest! {
    #[test]
    fn rows_come_back_as_they_were_added(
        rows in rows(),
        sizes in sizes(),
        held_bytes_max in prop_oneof![Just(0), Just(700), Just(u64::MAX)],
        after in proptest::option::of(vec(0..4_u8, 0..6)),
    ) {
        let (place, _) = memory();
        let path = backup("orders", "1-a");
        let manifest = write(&place, &path, sizes, &rows, full(7));
        prop_assert_eq!(&block_on(Manifest::read(&place, &path)).unwrap(), &manifest);
        prop_assert_eq!(manifest.summary.rows, u64::try_from(rows.len()).unwrap());

        let expected: Vec<_> = as_rows(&rows)
            .into_iter()
            .filter(|row| after.as_ref().is_none_or(|after| row.key > *after))
            .collect();
        let after = after.map(Into::into);
        let (found, fault) = read(BackupRows::new(place, &manifest, after, held_bytes_max));
        prop_assert!(fault.is_none(), "{fault:?}");
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn chunks_keep_to_their_size(rows in rows(), sizes in sizes()) {
        let (place, _) = memory();
        let manifest = write(&place, &backup("orders", "1-a"), sizes, &rows, full(7));
        for Chunk { bytes, rows, .. } in manifest.chunks {
            // One block may be larger than a chunk, and one row larger than a block.
            let is_small = bytes <= u64::try_from(sizes.chunk_bytes).unwrap();
            prop_assert!(is_small || bytes < 700 || rows == 1, "{bytes} bytes in {rows} rows");
        }
    }

    #[test]
    fn a_writer_that_was_stopped_ends_with_the_bytes_of_an_undisturbed_one(
        rows in rows(),
        room in vec(0..4_usize, 1..12),
        forgets in vec(any::<bool>(), 12),
    ) {
        let path = backup("orders", "1-a");
        let (undisturbed, expected) = memory();
        write(&undisturbed, &path, SMALL, &rows, full(7));

        let (_, store) = memory();
        let faulty = Arc::new(FaultyStore::new(Arc::clone(&store)));
        let place = Place::over(Bucket::over(faulty.clone(), "memory:"));
        let mut sealed = Vec::new();
        for (room, forgets) in room.iter().chain([&usize::MAX]).zip(forgets.iter().chain([&false])) {
            faulty.allow(*room);
            let mut writer = Writer::resume(place.clone(), path.clone(), SMALL, sealed.clone());
            let added = add(&mut writer, &rows);
            sealed = writer.sealed().to_vec();
            // The caller may have been killed before it wrote the last chunk down.
            sealed.truncate(sealed.len().saturating_sub(usize::from(*forgets)));
            let ended = added.and_then(|()| block_on(writer.finish(full(7))));
            let manifest = objects(&store).contains_key(&"000000000000/us-east-1/orders/1-a/manifest.json".into());
            prop_assert_eq!(manifest, ended.is_ok());
            match ended {
                Ok(_) => break,
                Err(fault) => {
                    let full = fault.io_error().map(std::io::Error::kind);
                    prop_assert_eq!(full, Some(std::io::ErrorKind::StorageFull));
                }
            }
        }
        prop_assert_eq!(objects(&store), objects(&expected));
    }
}

#[test]
fn what_a_full_store_refuses_is_named() {
    let (_, store) = memory();
    let place = Place::over(Bucket::over(Arc::new(FaultyStore::new(store)), "/srv/backups"));
    let writer = Writer::new(place, backup("orders", "1-a"), SMALL);
    let fault = block_on(writer.finish(full(7))).unwrap_err();
    assert!(!fault.is_damage());
    let text = fault.to_string();
    assert!(
        text.starts_with("cannot write /srv/backups/000000000000/us-east-1/orders/1-a/manifest.json: "),
        "{text}"
    );
}

#[test]
fn rows_out_of_order_and_rows_larger_than_a_block_are_refused() {
    let (place, _) = memory();
    let mut writer = Writer::new(place, backup("orders", "1-a"), SMALL);
    for key in [b"b", b"c"] {
        block_on(writer.add(key, Some(&[0; 150]))).unwrap();
    }
    for key in [b"c", b"a"] {
        let refused = block_on(writer.add(key, None)).map(Option::<&Chunk>::cloned);
        assert!(matches!(refused, Err(Fault::Unordered { .. })), "{refused:?}");
    }
    let large = vec![0; keywright_archive::BLOCK_BYTES_MAX];
    let refused = block_on(writer.add(b"d", Some(&large))).map(Option::<&Chunk>::cloned);
    assert!(matches!(refused, Err(Fault::RowTooLarge { .. })), "{refused:?}");
    // A row that just fits goes through the whole way.
    let fits = large.get(9..).unwrap();
    block_on(writer.add(b"d", Some(fits))).unwrap();
    let manifest = block_on(writer.finish(full(7))).unwrap();
    assert_eq!(manifest.summary.rows, 3);
}

#[test]
fn a_backup_of_no_rows_is_a_manifest_alone() {
    let (place, store) = memory();
    let manifest = write(&place, &backup("orders", "1-a"), SMALL, &Rows::new(), full(7));
    assert_eq!((manifest.chunks.len(), objects(&store).len()), (0, 1));
    assert!(read(BackupRows::new(place, &manifest, None, 0)).0.is_empty());
}

#[test]
fn orphans_of_a_killed_writer_are_removed_and_nothing_else_is() {
    let (place, store) = memory();
    let path = backup("orders", "1-a");
    let state = random_state(&mut fastrand::Rng::with_seed(1), 40);
    let other = write(&place, &backup("orders", "1-b"), SMALL, &all(&state), full(7));
    let manifest = write(&place, &path, SMALL, &all(&state), full(7));
    let complete = objects(&store);
    put(&store, &"000000000000/us-east-1/orders/1-a/chunk-99.kwb".into(), "left");
    assert_eq!(block_on(remove_orphans(&place, &path, &[])).unwrap(), 1);
    assert_eq!(objects(&store), complete);

    // Without a manifest, the chunks that a job knows stay.
    let known = manifest.chunks.get(..1).unwrap();
    block_on(object_store::ObjectStoreExt::delete(
        &*store,
        &"000000000000/us-east-1/orders/1-a/manifest.json".into(),
    ))
    .unwrap();
    let removed = block_on(remove_orphans(&place, &path, known)).unwrap();
    assert_eq!(removed, u64::try_from(manifest.chunks.len() - 1).unwrap());
    assert_eq!(objects(&store).len(), 1 + other.chunks.len() + 1);
}

#[test]
fn a_chunk_is_written_down_and_read_again() {
    let (place, _) = memory();
    let state = random_state(&mut fastrand::Rng::with_seed(1), 10);
    let manifest = write(&place, &backup("orders", "1-a"), SMALL, &all(&state), full(7));
    for chunk in manifest.chunks {
        assert_eq!(Chunk::from_bytes(&chunk.to_bytes()), Some(chunk));
    }
    assert_eq!(Chunk::from_bytes(b"{}"), None);
}
