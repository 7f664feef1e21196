//! What many groups cost in which nothing is written, and how late the changes of one among them are.
//! `KEYWRIGHT_TABLES`, `KEYWRIGHT_IDLE_SECONDS` and `KEYWRIGHT_LAG_WRITES` set the sizes.

use std::time::{Duration, Instant};

use crate::db::{Db, HERE, THERE};
use crate::support::Server;
use crate::support::dice::wanted;

const FAR: &str = "ap-northeast-1";
const TABLES: u64 = 3;
const IDLE_SECONDS: u64 = 2;
const WRITES: u64 = 200;
/// No test is about speed: a change is late only if nobody sends it.
const LAG_MAX: Duration = Duration::from_secs(10);

/// Processor time that the server has used, in hundredths of a second.
fn used(server: &Server) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    // The name before may have spaces; user and system time are the 14th and the 15th field.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn during(server: &Server, seconds: u64) -> u64 {
    let before = used(server);
    std::thread::sleep(Duration::from_secs(seconds));
    used(server) - before
}

#[test]
fn a_change_of_one_table_among_many_idle_groups_arrives_in_all_regions() {
    let (tables, seconds) =
        (wanted("KEYWRIGHT_TABLES", TABLES), wanted("KEYWRIGHT_IDLE_SECONDS", IDLE_SECONDS));
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut here = Db::of(&server, HERE);
    let name = |table: u64| format!("Carts{table}");
    let none = during(&server, seconds);
    for table in 0..tables {
        here.create(&name(table));
        here.replicate(&name(table), THERE);
        here.replicate(&name(table), FAR);
    }
    let idle = during(&server, seconds);
    let mut others = [Db::of(&server, THERE), Db::of(&server, FAR)];
    let mut lags: Vec<Duration> = Vec::new();
    let before = used(&server);
    let begun = Instant::now();
    for number in 0..wanted("KEYWRIGHT_LAG_WRITES", WRITES) {
        here.put(&name(0), "k", number);
        let written = Instant::now();
        let is_there = |db: &mut Db| {
            let read =
                serde_json::json!({"TableName": name(0), "Key": {"k": {"S": "k"}}, "ConsistentRead": true});
            db.call("GetItem", &read)["Item"]["n"]["N"] == number.to_string().as_str()
        };
        for db in &mut others {
            while !is_there(db) {
                assert!(written.elapsed() < LAG_MAX, "write {number} does not arrive in {}", db.region);
            }
        }
        lags.push(written.elapsed());
    }
    let (busy, writing) = (used(&server) - before, begun.elapsed());
    lags.sort();
    let at = |part: usize| lags[(lags.len() - 1) * part / 100];
    println!(
        "{tables} tables with 3 replicas each: idle for {seconds} s the server used {} ms of processor time, {} ms \
         without tables; {} writes one by one, each in all regions after {:.1?} in the median, {:.1?} at 99 %, {:.1?} at \
         most; {} ms used in {writing:.1?}",
        idle * 10,
        none * 10,
        lags.len(),
        at(50),
        at(99),
        at(100),
        busy * 10
    );
}
