//! Over rclone.

use keywright_objects::FaultKind;

use super::{objects, scenes};
use crate::support::stores::rclone;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn the_commands_do_the_same_in_a_bucket_as_in_a_folder() {
    scenes::commands(&rclone::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn encrypted_backups_in_a_bucket_need_the_key_and_nothing_else() {
    scenes::encrypted(&rclone::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_dropped_table_comes_back_from_the_bucket_and_a_deleted_backup_leaves_it() {
    scenes::copies(&rclone::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_copy_that_the_store_or_a_kill_has_cut_ends_whole_and_with_nothing_else() {
    println!("{}", scenes::cuts(&rclone::start()).await);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn what_a_store_refuses_is_named_with_what_helps() {
    scenes::refusals(&rclone::start(), ["has no such bucket", "make the bucket"]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_damaged_object_fails_the_restore_by_its_name() {
    // It looks at its folder again for what is changed there.
    let store = rclone::start_with(&["--dir-cache-time", "1ms"]);
    scenes::damage(&store, |store, name, content| {
        let object = rclone::file(store, name);
        match content {
            Some(content) => std::fs::write(object, content).unwrap(),
            None => std::fs::remove_file(object).unwrap(),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_bucket_of_rclone_lists_streams_and_removes_as_a_folder_does() {
    // To a range it answers 200, which our client refuses.
    let store = rclone::start();
    objects::uses(&store).await;
    objects::pages(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn what_rclone_refuses_of_an_object_is_known_by_its_kind() {
    objects::refusals(&rclone::start(), FaultKind::NoSuchBucket).await;
}
