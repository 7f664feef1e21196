//! Clients that write in all regions at once, and what they know: of each key its last acknowledged write,
//! and one that may have happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::db::Db;
use crate::support::dice::Dice;

/// What a write leaves: a number, or nothing.
type Left = Option<u64>;

/// What may be there of a key.
#[derive(Clone, Debug, Default)]
struct Known {
    acknowledged: Left,
    /// The outcome of this write is unknown.
    open: Option<Left>,
}

/// What one client has written. No other client writes its keys, so the rule for concurrent writes does not
/// blur what has to be there.
#[derive(Debug)]
pub(crate) struct Client {
    name: String,
    region: &'static str,
    keys: u64,
    /// Writes begin at least so far apart, on average.
    every: Duration,
    known: BTreeMap<String, Known>,
    pub(crate) acknowledged: u64,
}

/// Clients at work.
pub(crate) struct Writers {
    threads: Vec<JoinHandle<Client>>,
    is_stopping: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
}

impl Client {
    pub(crate) fn new(name: &str, region: &'static str, keys: u64) -> Self {
        let (name, every) = (name.to_owned(), Duration::ZERO);
        Self { name, region, keys, every, known: BTreeMap::new(), acknowledged: 0 }
    }

    pub(crate) fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// Writes until it is stopped, or the server does not answer, or answers a fault of its own.
    fn work(
        mut self,
        table: &str,
        address: &str,
        mut dice: Dice,
        is_stopping: &AtomicBool,
        count: &AtomicU64,
    ) -> Self {
        let Ok(mut db) = Db::to(address, self.region) else { return self };
        let mut due = Instant::now();
        while !is_stopping.load(Ordering::Relaxed) {
            let key = format!("{}-{}", self.name, dice.roll(self.keys));
            let number = self.acknowledged + 1;
            let left = (dice.roll(6) > 0).then_some(number);
            let known = self.known.entry(key.clone()).or_default();
            known.open = Some(left);
            let answer = match left {
                Some(number) => {
                    let g = format!("g{}", number % 5);
                    let item = json!({"k": {"S": key}, "g": {"S": g}, "n": {"N": number.to_string()}});
                    db.try_call("PutItem", &json!({"TableName": table, "Item": item}))
                }
                None => db.try_call("DeleteItem", &json!({"TableName": table, "Key": {"k": {"S": key}}})),
            };
            match answer {
                Ok((200, _)) => {
                    *known = Known { acknowledged: left, open: None };
                    self.acknowledged += 1;
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Ok((status, answer)) if status < 500 => panic!("{status}: {answer}"),
                Ok(_) | Err(_) => return self,
            }
            due += self.every;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        self
    }

    /// Checks what is there of its keys, and knows it from now on.
    fn check(&mut self, items: &BTreeMap<String, Value>) {
        for (key, known) in &mut self.known {
            let found = items.get(key).map(|item| item["n"]["N"].as_str().unwrap().parse::<u64>().unwrap());
            let may_be = found == known.acknowledged || Some(found) == known.open;
            assert!(may_be, "{key}: {found:?} is there, and should be {known:?}");
            *known = Known { acknowledged: found, open: None };
        }
        let prefix = format!("{}-", self.name);
        let invented = items.keys().find(|key| key.starts_with(&prefix) && !self.known.contains_key(*key));
        assert_eq!(invented, None, "nobody wrote it");
    }
}

impl Writers {
    pub(crate) fn start(address: &str, table: &str, clients: Vec<Client>, seed: u64) -> Self {
        let (is_stopping, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads = (seed..).zip(clients).map(|(seed, client)| {
            let (address, table) = (address.to_owned(), table.to_owned());
            let (is_stopping, count) = (Arc::clone(&is_stopping), Arc::clone(&count));
            std::thread::Builder::new()
                .spawn(move || client.work(&table, &address, Dice::new(seed), &is_stopping, &count))
                .unwrap()
        });
        Self { threads: threads.collect(), is_stopping, count }
    }

    /// Writes acknowledged so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(self) -> Vec<Client> {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

/// Checks that each region has what was written to any of them.
pub(crate) fn check(clients: &mut [Client], regions: &mut [Db], table: &str) {
    let mut all = regions.iter_mut().map(|db| db.scan(table, None));
    let first = all.next().unwrap();
    for other in all {
        assert_eq!(first, other, "all regions have the same items");
    }
    for client in clients {
        client.check(&first);
    }
    for db in regions {
        assert_eq!(db.scan(table, Some("by_g")), first, "the index in {} has the items", db.region);
    }
}
