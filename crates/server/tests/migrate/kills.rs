//! SIGKILL of the command at random moments: the same command goes on, and both sides end equal.

use std::time::Duration;

use crate::command::{spawn, succeeds};
use crate::endpoint::{assert_equal, create_table};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::writers::{Writers, fill};

/// `KEYWRIGHT_TEST_LONG` multiplies it.
const KILLS: u64 = 3;
const KILLS_LONG: u64 = 20;
/// Copying and catching up takes about so long.
const WORK_MS: u64 = 1500;

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_killed_goes_on_and_ends_equal() {
    let is_long = std::env::var_os("KEYWRIGHT_TEST_LONG").is_some();
    let (kills, seed) = (if is_long { KILLS_LONG } else { KILLS }, wanted("KEYWRIGHT_SEED", 1));
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_AND_OLD_IMAGES"));
    fill(&source.endpoint, "Orders", 1500).await;
    let writers = Writers::start(&source.endpoint, "Orders", seed, Duration::from_millis(1));
    let from = format!("{}/Orders", source.endpoint);
    let arguments = ["--from", &from, "--live", "--endpoint", &target.endpoint];
    let mut dice = Dice::new(seed);
    for _ in 0..kills {
        let mut child = spawn(folder.path(), &arguments);
        tokio::time::sleep(Duration::from_millis(dice.roll(WORK_MS))).await;
        assert!(child.try_wait().unwrap().is_none(), "it follows until it is stopped");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let count = writers.stop().await;
    let said = succeeds(folder.path(), &[&arguments[..], &["--cutover"]].concat());
    assert!(said.contains("Both sides are equal"), "{said}");
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    println!("seed {seed}: {kills} kills during {count} writes");
}
