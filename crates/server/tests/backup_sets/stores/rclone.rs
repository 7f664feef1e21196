//! rclone: a small store over a folder.

use super::{BUCKET, KEY, SECRET, Store, free_address, program, scenes};
use crate::bank::text;
use crate::sealed::files;

fn store() -> Store {
    store_with(&[])
}

fn store_with(more: &[&str]) -> Store {
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let objects = folder.path().join("objects");
    std::fs::create_dir_all(objects.join(BUCKET)).unwrap();
    let mut rclone = program("rclone", "rclone");
    let key = format!("{KEY},{SECRET}");
    rclone.args(["serve", "s3", text(&objects), "--addr", &address.to_string(), "--auth-key", &key]);
    rclone.args(["--config", "", "--cache-dir", text(&folder.path().join("cache"))]).args(more);
    Store::start(rclone, (address, folder), |store| {
        let bucket = store.folder.path().join("objects").join(BUCKET);
        let names = files(&bucket);
        names.iter().map(|file| text(file.strip_prefix(&bucket).unwrap()).to_owned()).collect()
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn the_commands_do_the_same_in_a_bucket_as_in_a_folder() {
    scenes::commands(&store()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_dropped_table_comes_back_from_the_bucket_and_a_deleted_backup_leaves_it() {
    scenes::copies(&store()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_copy_that_the_store_or_a_kill_has_cut_ends_whole_and_with_nothing_else() {
    println!("{}", scenes::cuts(&store()).await);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn what_a_store_refuses_is_named_with_what_helps() {
    scenes::refusals(&store(), ["has no such bucket", "make the bucket"]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn a_damaged_object_fails_the_restore_by_its_name() {
    // It looks at its folder again for what is changed there.
    let store = store_with(&["--dir-cache-time", "1ms"]);
    scenes::damage(&store, |store, name, content| {
        let object = store.folder.path().join("objects").join(BUCKET).join(name);
        match content {
            Some(content) => std::fs::write(object, content).unwrap(),
            None => std::fs::remove_file(object).unwrap(),
        }
    })
    .await;
}
