//! kinesalite: Kinesis alone.

use std::process::Command;

use super::{Kinesis, free_address, installed, scenes};

fn start() -> Kinesis {
    let address = free_address();
    let mut kinesalite = Command::new("node");
    kinesalite.arg(installed("kinesalite").join("node_modules/kinesalite/cli.js"));
    kinesalite.args(["--port", &address.port().to_string(), "--createStreamMs", "50"]);
    Kinesis::start(kinesalite, address)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kinesalite: run `cargo xtask test`"]
async fn all_changes_are_in_the_stream_in_both_precisions() {
    scenes::contents(&start()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kinesalite: run `cargo xtask test`"]
async fn a_stream_that_is_missing_is_told_from_one_that_is_there() {
    scenes::first_contact(&start()).await;
}
