//! `SeaweedFS`: a store that spreads objects over volumes.

use crate::support::stores::seaweedfs::start;

#[test]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
fn an_export_into_a_bucket_is_imported_from_there() {
    super::an_export_is_imported(&start());
}
