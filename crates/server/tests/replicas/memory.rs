//! Many tables whose replicas are not reached for a day: what waits for them is on disk, not in memory.

use serde_json::json;

use crate::db::{Db, HERE, THERE};
use crate::support::Server;
use crate::support::dice::wanted;

const HOURS: u64 = 24;
const HOUR_MS: u64 = 60 * 60 * 1000;
/// An hour is passed in so many requests, each of which may take long.
const PIECES: u64 = 12;
const KEYS: u64 = 100;
const BATCH: u64 = 25;
/// By how much the second half of the day may add to the server's memory: what its allocator and its buffers
/// take, with changes of many times that size waiting.
const GROWTH_MIB_MAX: u64 = 32;

/// `KEYWRIGHT_TABLES` and `KEYWRIGHT_HOURLY_WRITES` (of each table) set other numbers; with `--long` there
/// are a hundred tables.
const TABLES: u64 = 2;
const TABLES_LONG: u64 = 100;
const HOURLY_WRITES: u64 = 100;

fn name(table: u64) -> String {
    format!("Carts{table}")
}

/// Writes to each table for one hour.
fn write(db: &mut Db, tables: u64, hour: u64, writes: u64) {
    for table in 0..tables {
        for batch in 0..writes.div_ceil(BATCH) {
            // Another number each time: a write that changes nothing would not wait.
            let number = hour * writes + batch;
            let put = |place: u64| {
                let key = format!("k{}", (batch * BATCH + place) % KEYS);
                let item = json!({"k": {"S": key}, "g": {"S": "g"}, "n": {"N": number.to_string()}});
                json!({"PutRequest": {"Item": item}})
            };
            let puts: Vec<_> = (0..BATCH).map(put).collect();
            db.call("BatchWriteItem", &json!({"RequestItems": {name(table): puts}}));
        }
    }
}

#[test]
fn what_waits_for_replicas_of_many_tables_for_a_day_is_not_in_memory() {
    let is_long = wanted("KEYWRIGHT_TEST_LONG", 1) > 1;
    let tables = wanted("KEYWRIGHT_TABLES", if is_long { TABLES_LONG } else { TABLES });
    let writes = wanted("KEYWRIGHT_HOURLY_WRITES", HOURLY_WRITES);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[
        "--data",
        folder.path().to_str().unwrap(),
        "--write-buffer-kib",
        "1024",
        "--cache-mib",
        "8",
        "--simulate",
        "--clock",
        "manual@2026-11-27T16:00:00Z",
        "--replication-verify-hours",
        "0",
    ]);
    let mut here = Db::moving(&server, HERE, 1_000);
    for table in 0..tables {
        here.create(&name(table));
        here.replicate(&name(table), THERE);
    }
    here.cut(true);
    let mut half_mib = 0;
    for hour in 0..HOURS {
        write(&mut here, tables, hour, writes);
        (0..PIECES).for_each(|_| here.advance(HOUR_MS / PIECES));
        if hour == HOURS / 2 {
            half_mib = server.resident_mib();
        }
    }
    let full_mib = server.resident_mib();
    let standing = here.standing(&name(0));
    let (waits, bytes) = (standing["waits"].as_u64().unwrap(), standing["bytes"].as_u64().unwrap());
    assert!(waits >= (HOURS - 1) * HOUR_MS && standing["dropped"].is_null(), "{standing}");
    assert!(bytes >= HOURS * writes * 40, "{bytes} bytes wait for one table");
    assert!(
        full_mib <= half_mib + GROWTH_MIB_MAX,
        "{half_mib} MiB at half of the day, {full_mib} at its end"
    );

    here.cut(false);
    for table in 0..tables {
        here.wait("the replica has everything", |db| db.standing(&name(table))["backlog"] == 0);
    }
    let last = here.assert_equal(&name(tables - 1));
    assert_eq!(last["replicas"][0]["items"], KEYS.min(writes.div_ceil(BATCH) * BATCH), "{last}");
    println!(
        "{tables} tables, {writes} writes of each in an hour, for a day: {} KiB wait for each replica; the server has \
         {half_mib} MiB at half of the day and {full_mib} MiB at its end",
        bytes / 1024
    );
}
