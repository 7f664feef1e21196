//! moto, in memory.

use std::time::Duration;

use super::{Foreign, program};
use crate::live;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn a_table_of_moto_is_equal_after_a_migration_under_writes() {
    let server = Foreign::start(|address, _| {
        let mut moto = program("moto", "moto_server");
        moto.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
        moto
    });
    println!("{}", live::scene(&server.endpoint(), 2, Duration::from_millis(10)).await);
}
