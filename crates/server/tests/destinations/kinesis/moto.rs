//! moto: many services in one process, for quick runs.

use std::process::Command;

use super::{Kinesis, free_address, installed, scenes};

fn start() -> Kinesis {
    let address = free_address();
    let mut moto = Command::new(installed("moto").join("bin/moto_server"));
    moto.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
    Kinesis::start(moto, address)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn all_changes_are_in_the_stream_in_both_precisions() {
    scenes::contents(&start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn a_stream_that_is_missing_is_told_from_one_that_is_there() {
    scenes::first_contact(&start()).await;
}
