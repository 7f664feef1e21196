//! Writers at several servers, of which one dies and another one joins, while yet another server restores
//! and backs up their tables: every state is one that the tables had together.

#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]
#![allow(clippy::large_futures, reason = "calls of the SDK are large, and few are under way")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::desk::{Desk, Items};
use crate::support::Server;
use crate::support::client::{Caller, client};
use crate::support::dice::{Dice, wanted};
use crate::support::shared_store::url_or_say;

/// Written by transactions over both.
const TABLES: [&str; 2] = ["Here", "There"];
/// Grows by one item with each write, and is backed up.
const LOG: &str = "Log";
const SERVERS: usize = 3;
const WRITERS_OF_A_SERVER: u64 = 2;
/// Keys of a writer.
const KEYS: u64 = 10;
const ACCOUNTS: u64 = 8;
const UNITS: u64 = 100;
/// With `--long` so many times as long.
const WRITING: Duration = Duration::from_secs(7);
/// A backup lets the stamps of its writers run ahead of the clock for so long at most; so much later than
/// written, a write is restored.
const AHEAD_MS: u64 = 400;
/// On a machine that is busy with other work too.
const ROUNDS_MIN: u64 = 3;
/// Longer than the first transfers take.
const PATIENCE: Duration = Duration::from_mins(1);

fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A write as its client knows it.
#[derive(Clone, Debug)]
struct Write {
    begun_ms: u64,
    /// `None` if it was not answered: it may have happened or not.
    answered_ms: Option<u64>,
    /// What it leaves: a number, or nothing.
    leaves: Option<u64>,
}

/// The writes of a key, one after the other: each has one writer.
type Writes = Vec<Write>;

/// The writes of each table and key.
type Log = BTreeMap<(&'static str, String), Writes>;

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// The item of a key; the index has it too.
fn put(table: &str, key: &str, value: u64) -> Put {
    let put = Put::builder().table_name(table).item("pk", text(key)).item("g", text("all"));
    put.item("n", number(value)).build().unwrap()
}

struct Writer {
    client: Client,
    name: u64,
    dice: Dice,
    next: u64,
    log: Log,
}

impl Writer {
    /// Writes until it has to stop, or its server is gone.
    async fn run(mut self, is_over: Arc<AtomicBool>) -> Log {
        while !is_over.load(Ordering::Relaxed) {
            self.next += 1;
            let key = format!("w{}-{}", self.name, self.dice.roll(KEYS));
            let table = TABLES[usize::try_from(self.dice.roll(2)).unwrap()];
            let lives = match self.dice.roll(8) {
                0 | 1 => {
                    let of = put(table, &key, self.next);
                    let sent = self.client.put_item().table_name(table).set_item(Some(of.item)).send();
                    self.note(&[(table, &key)], Some(self.next), async { sent.await.is_ok() }).await
                }
                2 => self.update(table, &key).await,
                3 => {
                    let sent = self.client.delete_item().table_name(table).key("pk", text(&key)).send();
                    self.note(&[(table, &key)], None, async { sent.await.is_ok() }).await
                }
                4 => self.put_pair().await,
                5 | 6 => self.move_units().await,
                _ => {
                    let key = format!("w{}-{}", self.name, self.next);
                    let of = put(LOG, &key, self.next);
                    let sent = self.client.put_item().table_name(LOG).set_item(Some(of.item)).send();
                    self.note(&[(LOG, &key)], Some(self.next), async { sent.await.is_ok() }).await
                }
            };
            if !lives {
                break;
            }
        }
        self.log
    }

    /// Notes a write of these keys. False if it was not answered.
    async fn note(
        &mut self,
        keys: &[(&'static str, &str)],
        leaves: Option<u64>,
        sent: impl Future<Output = bool>,
    ) -> bool {
        let begun_ms = now_ms();
        let is_answered = sent.await;
        let answered_ms = is_answered.then(now_ms);
        for (table, key) in keys {
            let writes = self.log.entry((*table, (*key).to_owned())).or_default();
            writes.push(Write { begun_ms, answered_ms, leaves });
        }
        is_answered
    }

    async fn update(&mut self, table: &'static str, key: &str) -> bool {
        let update = self.client.update_item().table_name(table).key("pk", text(key));
        let sent = update
            .update_expression("SET n = :n, g = :g")
            .expression_attribute_values(":n", number(self.next))
            .expression_attribute_values(":g", text("all"))
            .send();
        self.note(&[(table, key)], Some(self.next), async { sent.await.is_ok() }).await
    }

    /// The same number in both tables.
    async fn put_pair(&mut self) -> bool {
        let key = format!("pair{}", self.name);
        let puts = TABLES.map(|table| TransactWriteItem::builder().put(put(table, &key, self.next)).build());
        let sent = self.client.transact_write_items().set_transact_items(Some(puts.into())).send();
        let keys = TABLES.map(|table| (table, key.as_str()));
        self.note(&keys, Some(self.next), async { sent.await.is_ok() }).await
    }

    /// From an account of one table to one of the other. False if it was not answered.
    async fn move_units(&mut self) -> bool {
        let units = 1 + self.dice.roll(5);
        let from = usize::try_from(self.dice.roll(2)).unwrap();
        let mut change = |table: &str, sign: &str| {
            let key = format!("account{}", self.dice.roll(ACCOUNTS));
            let update = Update::builder().table_name(table).key("pk", text(key));
            update
                .update_expression(format!("SET n = n {sign} :u"))
                .condition_expression("n >= :u")
                .expression_attribute_values(":u", number(units))
        };
        let changes = [change(TABLES[from], "-"), change(TABLES[1 - from], "+")];
        let actions =
            changes.map(|change| TransactWriteItem::builder().update(change.build().unwrap()).build());
        match self.client.transact_write_items().set_transact_items(Some(actions.into())).send().await {
            Ok(_) => true,
            Err(error) => error.code() == Some("TransactionCanceledException"),
        }
    }
}

/// The writers at all servers.
struct Writers {
    is_over: Arc<AtomicBool>,
    tasks: JoinSet<Log>,
    seed: u64,
    next: AtomicU64,
}

impl Writers {
    fn start_at(&mut self, server: &Server) {
        for _ in 0..WRITERS_OF_A_SERVER {
            let name = self.next.fetch_add(1, Ordering::Relaxed);
            let client = client(&server.endpoint, Caller::default());
            let dice = Dice::new(self.seed * 1_000 + name);
            let writer = Writer { client, name, dice, next: 0, log: Log::new() };
            self.tasks.spawn(writer.run(Arc::clone(&self.is_over)));
        }
    }

    async fn stop(self) -> Log {
        self.is_over.store(true, Ordering::Relaxed);
        self.tasks.join_all().await.into_iter().flatten().collect()
    }
}

/// What was found of a table, and the time of it: everything that was answered before `from_ms` has to be
/// there, and nothing that began at `to_ms` or later.
struct Found {
    story: String,
    table: &'static str,
    items: Items,
    from_ms: u64,
    to_ms: u64,
}

impl Found {
    /// Returns how many writes had to be there, and how many must not be.
    fn check(&self, log: &Log) -> (usize, usize) {
        let mut counted = (0, 0);
        for ((_, key), writes) in log.iter().filter(|((table, _), _)| *table == self.table) {
            let is_certain = |write: &&Write| write.answered_ms.is_some_and(|ms| ms < self.from_ms);
            let certain = writes.iter().filter(is_certain).count();
            let may_be = writes.iter().filter(|write| write.begun_ms < self.to_ms).count();
            counted = (counted.0 + certain, counted.1 + writes.len() - may_be);
            let found = self.items.get(key).map(value_of);
            let nothing_yet = certain == 0 && found.is_none();
            let candidates = &writes[certain.saturating_sub(1)..may_be];
            let is_possible = nothing_yet || candidates.iter().any(|write| write.leaves == found);
            assert!(
                is_possible,
                "{}: {key} is {found:?}; of its writes the first {certain} have to be there and the first \
                 {may_be} may: {candidates:?}",
                self.story
            );
        }
        counted
    }

    fn units(&self) -> u64 {
        self.items.iter().filter(|(key, _)| key.starts_with("account")).map(|(_, item)| value_of(item)).sum()
    }

    fn pairs(&self) -> BTreeMap<&String, u64> {
        let pairs = self.items.iter().filter(|(key, _)| key.starts_with("pair"));
        pairs.map(|(key, item)| (key, value_of(item))).collect()
    }
}

fn value_of(item: &serde_json::Value) -> u64 {
    item["n"]["N"].as_str().unwrap().parse().unwrap()
}

async fn open_accounts(desk: &Desk, client: &Client) {
    for table in TABLES.into_iter().chain([LOG]) {
        desk.create(table).await;
    }
    for table in TABLES {
        for account in 0..ACCOUNTS {
            let of = put(table, &format!("account{account}"), UNITS);
            client.put_item().table_name(table).set_item(Some(of.item)).send().await.unwrap();
        }
    }
}

/// Restores both tables to one second, and one of them to the latest time.
async fn restore_some(desk: &Desk, dice: &mut Dice, (round, first): (u64, u64), found: &mut Vec<Found>) {
    let mut latest = u64::MAX;
    for table in TABLES {
        latest = latest.min(desk.latest(table).await);
    }
    let second = latest.saturating_sub(dice.roll(3)).max(first);
    let last = TABLES[usize::try_from(round % 2).unwrap()];
    let mut ordered = Vec::new();
    for table in TABLES {
        let target = format!("{table}-{round}");
        desk.restore_to(table, &target, Some(second)).await;
        ordered.push((table, target, (second * 1000 - AHEAD_MS, second * 1000)));
    }
    let target = format!("{last}-{round}-latest");
    desk.restore_to(last, &target, None).await;
    ordered.push((last, target, (latest * 1000 - AHEAD_MS, now_ms())));
    for (table, target, (from_ms, to_ms)) in ordered {
        desk.wait_until_active(&target).await;
        let items = desk.items(&target).await;
        desk.delete_table(&target).await;
        found.push(Found { story: target, table, items, from_ms, to_ms });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restores_and_backups_at_one_server_are_exact_while_others_write_die_and_join() {
    let Some(url) = url_or_say("points_in_time") else { return };
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let writing = WRITING * u32::try_from(wanted("KEYWRIGHT_TEST_LONG", 1)).unwrap();
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::on_store(&url)).collect();
    let restoring = Server::on_store(&url);
    let desk = Desk::of(&restoring);
    open_accounts(&desk, &client(&restoring.endpoint, Caller::default())).await;
    // The first second that has all accounts.
    let first = now_ms() / 1000 + 1;
    while desk.latest(TABLES[0]).await.min(desk.latest(TABLES[1]).await) < first {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut writers =
        Writers { is_over: Arc::default(), tasks: JoinSet::new(), seed, next: AtomicU64::new(0) };
    for server in &servers {
        writers.start_at(server);
    }
    let (mut found, mut backups, mut dice) = (Vec::new(), Vec::new(), Dice::new(seed));
    let (begun, mut changed, mut round) = (Instant::now(), Instant::now(), 0);
    // Until both tables were restored to a second after units had moved: the first seconds are too early.
    let is_moved = |found: &Found| {
        found.table != LOG && !found.story.ends_with("-latest") && found.units() != ACCOUNTS * UNITS
    };
    while begun.elapsed() < writing || round < ROUNDS_MIN || !found.iter().any(is_moved) {
        assert!(begun.elapsed() < PATIENCE + writing, "seed {seed}: no units move between the tables");
        restore_some(&desk, &mut dice, (round, first), &mut found).await;
        let asked_ms = now_ms();
        backups.push((desk.back_up(LOG).await, asked_ms, now_ms() + 1));
        if changed.elapsed() > WRITING / 3 {
            // One dies, and another one joins and writes at once.
            servers.remove(usize::try_from(dice.roll(3)).unwrap()).kill();
            servers.push(Server::on_store(&url));
            writers.start_at(servers.last().unwrap());
            let asked_ms = now_ms();
            backups.push((desk.back_up(LOG).await, asked_ms, now_ms() + 1));
            changed = Instant::now();
        }
        round += 1;
    }
    let log = writers.stop().await;
    for (place, (arn, from_ms, to_ms)) in backups.into_iter().enumerate() {
        let story = format!("{LOG}-{place}");
        desk.restore_backup(&arn, &story).await;
        desk.wait_until_active(&story).await;
        let items = desk.items(&story).await;
        desk.delete_table(&story).await;
        found.push(Found { story, table: LOG, items, from_ms, to_ms });
    }
    let counted: Vec<(usize, usize)> = found.iter().map(|found| found.check(&log)).collect();
    let (before, after) = counted.iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    assert!(before > 0 && after > 0, "seed {seed}: {before} before and {after} after");
    for round in 0..round {
        let of = |table| found.iter().find(|found| found.story == format!("{table}-{round}")).unwrap();
        let [here, there] = TABLES.map(of);
        assert_eq!(here.units() + there.units(), 2 * ACCOUNTS * UNITS, "seed {seed}, round {round}");
        assert_eq!(here.pairs(), there.pairs(), "seed {seed}, round {round}");
    }
    let total: usize = log.values().map(Vec::len).sum();
    println!(
        "seed {seed}: {total} writes; {} restores and backups had {before} that they must have, and none of \
         {after} that they must not",
        found.len()
    );
}
