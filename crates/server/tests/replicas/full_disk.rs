//! A disk that is full while regions send each other changes.

use std::time::Duration;

use crate::db::{Db, HERE, TABLE, THERE};
use crate::support::Server;
use crate::support::management::wait_for_state;
use crate::support::small_disk::SmallDisk;
use crate::writers::{Client, Writers, check};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

#[test]
fn after_a_full_disk_replication_goes_on_and_nothing_is_lost() {
    let Some(disk) = SmallDisk::mount(40) else { return };
    let (data, filler) = (disk.path().join("data"), disk.path().join("filler"));
    std::fs::create_dir(&data).unwrap();
    std::fs::write(&filler, vec![0; 24 << 20]).unwrap();
    let server = Server::start(&["--data", data.to_str().unwrap(), "--write-buffer-kib", "256"]);
    let mut here = Db::of(&server, HERE);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    let client = |number: usize| Client::new(&number.to_string(), [HERE, THERE][number % 2], 500);
    let writers = Writers::start(server.address(), TABLE, (0..4).map(client).collect(), 9);
    let (status, report) = wait_for_state(&server, "disk_full", LONG);
    assert_eq!(status, 503, "{report}");
    let mut clients = writers.stop();
    std::fs::remove_file(&filler).unwrap();
    wait_for_state(&server, "serving", LONG);
    let mut here = Db::of(&server, HERE);
    here.assert_equal(TABLE);
    let mut regions = [here, Db::of(&server, THERE)];
    check(&mut clients, &mut regions, TABLE);
    let [here, _] = &mut regions;
    here.put(TABLE, "after", 1);
    here.assert_equal(TABLE);
    assert!(Db::of(&server, THERE).scan(TABLE, None).contains_key("after"), "new changes arrive");
    let acknowledged: u64 = clients.iter().map(|client| client.acknowledged).sum();
    println!("{acknowledged} writes acknowledged before the disk was full, none lost");
}
