//! Of three servers with restores, rollbacks and copies of backups under way, one gets SIGKILL and one
//! SIGSTOP: the third one takes their jobs over and ends them exactly. The one that was stopped goes on when
//! all is done, and changes nothing any more.

#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::desk::{Desk, Items};
use super::takeover::wait_until_it_knows;
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::raw::{Connection, signed};
use crate::support::shared_store::url_or_say;

/// With a restore, a rollback and a backup each: so many that the first two servers certainly own some.
const TABLES: usize = 3;
const ITEMS: u64 = 300;
const BATCH: u64 = 25;
/// Of an item: so that a backup has several chunks.
const PADDING_BYTES: usize = 4_000;
/// Maximum delay of the signals after the jobs were ordered.
const WORKING_MS_MAX: u64 = 400;
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(10);
const DONE_WITHIN: Duration = Duration::from_mins(1);
/// How long the server that was stopped is watched when it goes on.
const GOING_ON: Duration = Duration::from_secs(2);

/// Text that does not compress.
fn padding(number: u64) -> String {
    let mut dice = Dice::new(number);
    (0..PADDING_BYTES).map(|_| char::from(b'!' + u8::try_from(dice.roll(90)).unwrap())).collect()
}

fn item(number: u64, generation: u64) -> Value {
    json!({
        "pk": {"S": format!("p{number:04}")}, "g": {"S": format!("g{}", number % 7)},
        "generation": {"N": generation.to_string()}, "padding": {"S": padding(number)},
    })
}

/// The items of a generation.
fn generation(numbers: impl Iterator<Item = u64>, generation: u64) -> Items {
    numbers.map(|number| (format!("p{number:04}"), item(number, generation))).collect()
}

async fn write(desk: &Desk, table: &str, items: &Items) {
    for some in items.values().collect::<Vec<_>>().chunks(usize::try_from(BATCH).unwrap()) {
        let puts: Vec<Value> = some.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
        let written = desk.call("BatchWriteItem", &json!({"RequestItems": {table: puts}})).await;
        assert_eq!(written["UnprocessedItems"], json!({}));
    }
}

fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The answer to one of our own calls.
fn ask(server: &Server, path: &str, body: &Value) -> Value {
    let headers = signed("");
    let answer = Connection::open(server).send_to(path, "POST", &headers, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// The jobs by their ids.
fn jobs(server: &Server) -> BTreeMap<String, Value> {
    let answer = ask(server, "/_keywright/jobs", &json!({}));
    let jobs = answer["jobs"].as_array().unwrap();
    jobs.iter().map(|job| (job["id"].as_str().unwrap().to_owned(), job.clone())).collect()
}

fn signal(server: &Server, signal: &str) {
    assert!(Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap().success());
}

fn backup_command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keywright")).arg("backup").args(arguments).output().unwrap()
}

/// Files of backups of a table.
fn files_of(backups: &Path, table: &str) -> usize {
    let mut find = Command::new("find");
    let found = find.arg(backups).args(["-path", &format!("*/{table}/*"), "-type", "f"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().lines().count()
}

/// A table with three states: as it was, as it is backed up, and rolled back to the first again.
struct Case {
    table: String,
    first: Items,
    second: Items,
    to_ms: u64,
    backup: String,
}

impl Case {
    async fn prepare(desk: &Desk, table: String) -> Self {
        desk.create(&table).await;
        let first = generation(0..ITEMS, 1);
        write(desk, &table, &first).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The beginning of a second after all of this.
        let to_ms = (now_ms() / 1000 + 1) * 1000;
        tokio::time::sleep(Duration::from_millis(1_010)).await;
        let mut second = first.clone();
        second.extend(generation((0..ITEMS).filter(|number| number % 3 == 0), 2));
        second.extend(generation(ITEMS..ITEMS + ITEMS / 4, 2));
        let changed: Items =
            second.iter().filter(|(key, item)| first.get(*key) != Some(*item)).map(own).collect();
        write(desk, &table, &changed).await;
        while desk.latest(&table).await * 1000 < to_ms {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Self { table, first, second, to_ms, backup: String::new() }
    }

    fn restored(&self) -> String {
        format!("{}-restored", self.table)
    }

    /// Orders all three jobs.
    async fn order(&mut self, server: &Server) {
        let desk = Desk::of(server);
        self.backup = desk.back_up(&self.table).await;
        desk.restore_to(&self.table, &self.restored(), Some(self.to_ms / 1000)).await;
        ask(server, "/_keywright/rollback", &json!({"table": self.table, "to": self.to_ms}));
    }

    async fn check(&self, desk: &Desk) {
        assert!(desk.items(&self.restored()).await == self.first, "{} is restored", self.table);
        assert!(desk.items(&self.table).await == self.first, "{} is rolled back", self.table);
    }

    /// Nothing was written twice: an item has the versions that it was given.
    fn check_versions(&self, server: &Server) {
        // The oldest of them is that there was no item.
        for (number, expected) in [(1, 2), (3, 4), (ITEMS, 3)] {
            let key = json!({"pk": {"S": format!("p{number:04}")}});
            let answer = ask(server, "/_keywright/history", &json!({"table": self.table, "key": key}));
            let versions = answer["versions"].as_array().unwrap();
            assert_eq!(versions.len(), expected, "versions of {number} in {}", self.table);
        }
    }
}

fn own((key, item): (&String, &Value)) -> (String, Value) {
    (key.clone(), item.clone())
}

/// Waits until all jobs have ended. Returns how long it took until those that had not at the beginning were
/// seen to go on, at most, and how long until all had ended.
async fn wait_for_jobs(server: &Server) -> (Duration, Duration) {
    let begun = Instant::now();
    let at_first = jobs(server);
    let mut taken_over = BTreeMap::new();
    loop {
        let now = jobs(server);
        for (id, job) in &now {
            if !job["ended"].is_null() || at_first.get(id) != Some(job) {
                taken_over.entry(id.clone()).or_insert(begun.elapsed());
            }
        }
        if now.values().all(|job| !job["ended"].is_null()) {
            for job in now.values() {
                assert_eq!(job["state"], "completed", "{job}");
            }
            return (taken_over.into_values().max().unwrap(), begun.elapsed());
        }
        assert!(begun.elapsed() < DONE_WITHIN, "not done: {now:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_killed_and_of_stopped_servers_are_taken_over_and_end_once() {
    let Some(url) = url_or_say("jobs") else { return };
    let rounds = wanted("KEYWRIGHT_TEST_LONG", 1);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().to_str().unwrap();
    // Chunks of a MiB.
    let start = || {
        let sizes = ["--job-threads", "16", "--job-memory-mib", "32"];
        Server::start(&[&["--store", &url, "--backup-to", backups], &sizes[..]].concat())
    };
    let mut servers: Vec<Server> = (0..3).map(|_| start()).collect();
    for round in 0..rounds {
        for server in &servers {
            wait_until_it_knows(server, servers.len()).await;
        }
        let desks: Vec<Desk> = servers.iter().map(Desk::of).collect();
        let prepare =
            |table: usize| Case::prepare(&desks[table % desks.len()], format!("Tab{round}-{table}"));
        let mut cases = join_all((0..TABLES).map(prepare)).await;
        for (place, case) in cases.iter_mut().enumerate() {
            case.order(&servers[place % servers.len()]).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.roll(WORKING_MS_MAX))).await;
        servers.remove(usize::try_from(dice.roll(3)).unwrap()).kill();
        let stopped = servers.remove(usize::try_from(dice.roll(2)).unwrap());
        signal(&stopped, "-STOP");
        let left = &servers[0];
        let desk = Desk::of(left);
        let open = jobs(left).values().filter(|job| job["ended"].is_null()).count();
        let (taken_over, done) = wait_for_jobs(left).await;
        assert!(taken_over < TAKEN_OVER_WITHIN, "seed {seed}, round {round}: {taken_over:?}");
        for case in &cases {
            case.check(&desk).await;
        }
        // A backup is deleted while a server that may have been copying it is stopped.
        let deleted = &cases[0];
        desk.call("DeleteBackup", &json!({"BackupArn": deleted.backup})).await;
        wait_for_jobs(left).await;
        signal(&stopped, "-CONT");
        tokio::time::sleep(GOING_ON).await;
        wait_for_jobs(&stopped).await;
        assert_eq!(files_of(folder.path(), &deleted.table), 0, "seed {seed}, round {round}");
        let verified = backup_command(&["verify", backups]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        for case in &cases {
            case.check(&Desk::of(&stopped)).await;
            case.check_versions(&stopped);
        }
        for case in &cases[1..] {
            let target = format!("{}-backup", case.table);
            desk.restore_backup(&case.backup, &target).await;
            desk.wait_until_active(&target).await;
            assert!(desk.items(&target).await == case.second, "{} is backed up", case.table);
        }
        println!(
            "seed {seed}, round {round}: {open} jobs had not ended; all had gone on {} ms after the signals, \
             and ended {} ms after them",
            taken_over.as_millis(),
            done.as_millis()
        );
        servers.extend([stopped, start()]);
    }
}
