//! rclone: a small store over a folder.

use super::{BUCKET, KEY, SECRET, Store, free_address, old_data_is_archived, program};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn r65_old_data_is_archived_by_a_program_and_expired_items_by_a_trigger() {
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let objects = folder.path().join("objects");
    std::fs::create_dir_all(objects.join(BUCKET)).unwrap();
    let mut rclone = program("rclone", "rclone");
    rclone.args(["serve", "s3"]).arg(&objects).args(["--addr", &address.to_string(), "--config", ""]);
    rclone
        .arg("--auth-key")
        .arg(format!("{KEY},{SECRET}"))
        .arg("--cache-dir")
        .arg(folder.path().join("cache"));
    old_data_is_archived(&Store::start(rclone, address, folder)).await;
}
