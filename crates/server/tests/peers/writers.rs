//! Clients that write to both servers at once, and what they know: of each key its last acknowledged write,
//! and one that may have happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::db::{Db, item};
use crate::pair::{CLIENT, Pair, REGIONS, TABLE};
use crate::support::dice::Dice;

/// What a write leaves: a number, or nothing.
type Left = Option<u64>;

/// What may be there of a key.
#[derive(Clone, Debug, Default)]
struct Known {
    acknowledged: Left,
    /// The outcome of these writes is unknown.
    open: Vec<Left>,
}

/// What one client has written. No other client writes its keys.
#[derive(Debug)]
pub(crate) struct Client {
    name: String,
    server: usize,
    known: BTreeMap<String, Known>,
    number: u64,
    pub(crate) acknowledged: u64,
}

/// Keys of one client.
const KEYS: u64 = 40;

impl Client {
    pub(crate) fn new(name: usize) -> Self {
        Self {
            name: format!("c{name}"),
            server: name % 2,
            known: BTreeMap::new(),
            number: 0,
            acknowledged: 0,
        }
    }

    /// Whether the outcome of each write is known: all were acknowledged.
    pub(crate) fn knows_all(&self) -> bool {
        self.known.values().all(|known| known.open.is_empty())
    }

    fn work(mut self, address: &str, mut dice: Dice, is_stopping: &AtomicBool) -> Self {
        let Ok(mut db) = Db::to(address, CLIENT, REGIONS[self.server]) else { return self };
        while !is_stopping.load(Ordering::Relaxed) {
            let key = format!("{}-{}", self.name, dice.roll(KEYS));
            self.number += 1;
            let left = (dice.roll(6) > 0).then_some(self.number);
            let known = self.known.entry(key.clone()).or_default();
            known.open.push(left);
            let answer = match left {
                Some(number) => {
                    db.try_call("PutItem", &json!({"TableName": TABLE, "Item": item(&key, number)}))
                }
                None => db.try_call("DeleteItem", &json!({"TableName": TABLE, "Key": {"k": {"S": key}}})),
            };
            match answer {
                Ok((200, _)) => {
                    *known = Known { acknowledged: left, open: Vec::new() };
                    self.acknowledged += 1;
                }
                Ok((status, answer)) if status < 500 => panic!("{status}: {answer}"),
                Ok(_) | Err(_) => return self,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self
    }

    /// Checks what is there of its keys, and knows it from now on.
    fn check(&mut self, items: &BTreeMap<String, Value>) {
        for (key, known) in &mut self.known {
            let found = items.get(key).map(|item| item["n"]["N"].as_str().unwrap().parse::<u64>().unwrap());
            let may_be = found == known.acknowledged || known.open.contains(&found);
            assert!(may_be, "{key}: {found:?} is there, and should be {known:?}");
            *known = Known { acknowledged: found, open: Vec::new() };
        }
    }
}

/// Clients at work.
pub(crate) struct Writers {
    threads: Vec<JoinHandle<Client>>,
    is_stopping: Arc<AtomicBool>,
}

impl Writers {
    pub(crate) fn start(pair: &Pair, clients: Vec<Client>, seed: u64) -> Self {
        let is_stopping = Arc::<AtomicBool>::default();
        let threads = (seed..).zip(clients).map(|(seed, client)| {
            let address = pair.server(client.server).address().to_owned();
            let is_stopping = Arc::clone(&is_stopping);
            std::thread::Builder::new()
                .spawn(move || client.work(&address, Dice::new(seed), &is_stopping))
                .unwrap()
        });
        Self { threads: threads.collect(), is_stopping }
    }

    pub(crate) fn stop(self) -> Vec<Client> {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

/// Checks that both servers have what was written to either.
pub(crate) fn check(pair: &Pair, clients: &mut [Client]) {
    pair.wait_quiet(TABLE);
    let first = pair.db(0).scan(TABLE, None);
    assert_eq!(first, pair.db(1).scan(TABLE, None), "both servers have the same items");
    for own in 0..2 {
        assert_eq!(pair.db(own).scan(TABLE, Some("by_g")), first, "the index of server {own} has the items");
    }
    for client in clients {
        client.check(&first);
    }
}
