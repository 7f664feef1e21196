//! rclone: a small store over a folder.

use super::old_data_is_archived;
use crate::support::stores::rclone::start;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs rclone: run `cargo xtask test`"]
async fn r65_old_data_is_archived_by_a_program_and_expired_items_by_a_trigger() {
    old_data_is_archived(&start()).await;
}
