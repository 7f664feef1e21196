//! Over `SeaweedFS`.

use keywright_objects::FaultKind;

use super::{objects, scenes};
use crate::support::stores::seaweedfs;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn the_commands_do_the_same_in_seaweedfs_as_in_a_folder() {
    scenes::commands(&seaweedfs::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn encrypted_backups_in_seaweedfs_need_the_key_and_nothing_else() {
    scenes::encrypted(&seaweedfs::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn a_dropped_table_comes_back_from_seaweedfs_and_a_deleted_backup_leaves_it() {
    scenes::copies(&seaweedfs::start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn a_copy_to_seaweedfs_that_was_cut_or_killed_ends_whole_and_with_nothing_else() {
    println!("{}", scenes::cuts(&seaweedfs::start()).await);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn what_seaweedfs_refuses_is_named_with_what_helps() {
    scenes::refusals(&seaweedfs::start(), ["does not allow this to the access key", "allow it to list"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn a_bucket_of_seaweedfs_lists_streams_and_removes_as_a_folder_does() {
    let store = seaweedfs::start();
    objects::uses(&store).await;
    objects::ranges(&store).await;
    objects::pages(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn what_seaweedfs_refuses_of_an_object_is_known_by_its_kind() {
    objects::refusals(&seaweedfs::start(), FaultKind::AccessDenied).await;
}
