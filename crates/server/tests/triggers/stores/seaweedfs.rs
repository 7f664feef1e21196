//! `SeaweedFS`: a store that spreads objects over volumes.

use super::old_data_is_archived;
use crate::support::stores::seaweedfs::start;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn r65_old_data_is_archived_by_a_program_and_expired_items_by_a_trigger() {
    old_data_is_archived(&start()).await;
}
