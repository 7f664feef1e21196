//! Distinguishable changes of every kind, a register of those that were acknowledged, and the invariants of a
//! table and its stream after any failure of the server.
//!
//! Every change has a unique, rising number, which the item that it writes holds as its generation. Each key
//! has one writer, so its changes are sequential. This module does not know how the server fails.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, PutRequest, ReturnValue, TransactWriteItem, WriteRequest,
};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::support::client::{Caller, client};
use crate::support::dice::Dice;
use crate::support::ledger::{Item, Place, TABLE, Table, generation_of, row};

const WRITERS: u64 = 4;
/// Sort keys of each partition.
const KEYS: u64 = 20;
/// All keys of a partition.
const BATCH: u64 = 20;

/// The state of the key after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Item,
    Nothing,
}

/// The changes of one key, by number.
#[derive(Clone, Debug, Default)]
struct Key {
    tried: BTreeMap<u64, Left>,
    acknowledged: BTreeSet<u64>,
    /// Generations removed by acknowledged deletes, as their responses say or as the key's only writer knows.
    removed: BTreeSet<u64>,
}

impl Key {
    /// The generation that the key certainly has: the last change was acknowledged and left an item.
    fn certain(&self) -> Option<u64> {
        let (last, left) = self.tried.last_key_value()?;
        (*left == Left::Item && self.acknowledged.contains(last)).then_some(*last)
    }

    /// Whether the key can have this generation: from the last acknowledged change, or from a later one
    /// without a response.
    fn may_hold(&self, found: Option<u64>) -> bool {
        let last = self.acknowledged.last().copied();
        if let Some(generation) = found {
            return self.tried.get(&generation) == Some(&Left::Item)
                && last.is_none_or(|last| generation >= last);
        }
        let deleted = self.tried.iter().rev().find(|(_, left)| **left == Left::Nothing);
        last.is_none_or(|last| deleted.is_some_and(|(number, _)| *number >= last))
    }
}

/// The attempted and the acknowledged changes of all keys.
#[derive(Default)]
pub struct Register {
    clock: AtomicU64,
    done: AtomicBool,
    keys: Mutex<BTreeMap<Place, Key>>,
}

impl Register {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn try_change(&self, place: &Place, left: Left) -> u64 {
        let number = self.clock.fetch_add(1, Ordering::Relaxed);
        self.try_as(number, place, left);
        number
    }

    fn try_as(&self, number: u64, place: &Place, left: Left) {
        self.keys.lock().unwrap().entry(place.clone()).or_default().tried.insert(number, left);
    }

    pub fn acknowledge(&self, number: u64, place: &Place) {
        self.keys.lock().unwrap().entry(place.clone()).or_default().acknowledged.insert(number);
    }

    /// Numbers of acknowledged and of attempted changes.
    pub fn counts(&self) -> (usize, usize) {
        let keys = self.keys.lock().unwrap();
        let sum = |count: fn(&Key) -> usize| keys.values().map(count).sum();
        (sum(|key| key.acknowledged.len()), sum(|key| key.tried.len()))
    }

    /// Starts the writers on this endpoint.
    pub fn start(self: &Arc<Self>, endpoint: &str, seed: u64) -> JoinSet<()> {
        self.start_at(&[endpoint], seed)
    }

    /// Starts the writers; each sends every change to one of these endpoints.
    pub fn start_at(self: &Arc<Self>, endpoints: &[&str], seed: u64) -> JoinSet<()> {
        self.done.store(false, Ordering::Relaxed);
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let asking: Vec<Client> =
                endpoints.iter().map(|endpoint| client(endpoint, Caller::default())).collect();
            let dice = Dice::new(seed.wrapping_mul(WRITERS) + writer);
            writers.spawn(Arc::clone(self).write(asking, writer, dice));
        }
        writers
    }

    pub async fn stop(&self, writers: JoinSet<()>) {
        self.done.store(true, Ordering::Relaxed);
        writers.join_all().await;
    }

    async fn write(self: Arc<Self>, clients: Vec<Client>, writer: u64, mut dice: Dice) {
        while !self.done.load(Ordering::Relaxed) {
            let at = dice.roll(u64::try_from(clients.len()).unwrap());
            let client = &clients[usize::try_from(at).unwrap()];
            let sort = dice.roll(KEYS);
            let single = place("single", writer, sort);
            match dice.roll(6) {
                0 => self.put(client, &single).await,
                1 => self.update(client, &single).await,
                2 => self.delete(client, &single).await,
                3 => self.put_batch(client, writer, sort).await,
                4 => self.delete_pair(client, writer, sort).await,
                _ => self.put_pair(client, writer, sort).await,
            }
        }
    }

    async fn put(&self, client: &Client, place: &Place) {
        let number = self.try_change(place, Left::Item);
        let sent = client.put_item().table_name(TABLE).set_item(Some(item(place, number))).send().await;
        if sent.is_ok() {
            self.acknowledge(number, place);
        }
    }

    async fn update(&self, client: &Client, place: &Place) {
        let number = self.try_change(place, Left::Item);
        let of = item(place, number);
        let sent = client
            .update_item()
            .table_name(TABLE)
            .set_key(Some(key(place)))
            .update_expression("SET generation = :n, g = :g, l = :l")
            .expression_attribute_values(":n", of["generation"].clone())
            .expression_attribute_values(":g", of["g"].clone())
            .expression_attribute_values(":l", of["l"].clone())
            .send()
            .await;
        if sent.is_ok() {
            self.acknowledge(number, place);
        }
    }

    async fn delete(&self, client: &Client, place: &Place) {
        let number = self.try_change(place, Left::Nothing);
        let sent = client
            .delete_item()
            .table_name(TABLE)
            .set_key(Some(key(place)))
            .return_values(ReturnValue::AllOld)
            .send()
            .await;
        if let Ok(answer) = sent {
            self.acknowledge(number, place);
            let old = answer.attributes().and_then(|old| old.get("generation")?.as_n().ok()?.parse().ok());
            if let Some(old) = old {
                self.keys.lock().unwrap().entry(place.clone()).or_default().removed.insert(old);
            }
        }
    }

    /// A batch is not a transaction: each of its puts can fail on its own.
    async fn put_batch(&self, client: &Client, writer: u64, sort: u64) {
        let places: Vec<Place> = (0..BATCH).map(|more| place("many", writer, (sort + more) % KEYS)).collect();
        let tried: Vec<(u64, &Place)> =
            places.iter().map(|place| (self.try_change(place, Left::Item), place)).collect();
        let request = |(number, place): &(u64, &Place)| {
            let put = PutRequest::builder().set_item(Some(item(place, *number))).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let requests = tried.iter().map(request).collect();
        let sent = client.batch_write_item().request_items(TABLE, requests).send().await;
        if sent.is_ok_and(|answer| answer.unprocessed_items().is_none_or(HashMap::is_empty)) {
            for (number, place) in tried {
                self.acknowledge(number, place);
            }
        }
    }

    async fn put_pair(&self, client: &Client, writer: u64, sort: u64) {
        let (left, right) = (place("left", writer, sort), place("right", writer, sort));
        let number = self.try_change(&left, Left::Item);
        self.try_as(number, &right, Left::Item);
        let put = |place: &Place| {
            let put = Put::builder().table_name(TABLE).set_item(Some(item(place, number))).build().unwrap();
            TransactWriteItem::builder().put(put).build()
        };
        let _ = self.transact(client, number, [&left, &right], put).await;
    }

    async fn delete_pair(&self, client: &Client, writer: u64, sort: u64) {
        let (left, right) = (place("left", writer, sort), place("right", writer, sort));
        let certain =
            [&left, &right].map(|place| self.keys.lock().unwrap().get(place).and_then(Key::certain));
        let number = self.try_change(&left, Left::Nothing);
        self.try_as(number, &right, Left::Nothing);
        let delete = |place: &Place| {
            let delete = Delete::builder().table_name(TABLE).set_key(Some(key(place))).build().unwrap();
            TransactWriteItem::builder().delete(delete).build()
        };
        if self.transact(client, number, [&left, &right], delete).await {
            for (place, removed) in [&left, &right].into_iter().zip(certain) {
                self.keys.lock().unwrap().entry(place.clone()).or_default().removed.extend(removed);
            }
        }
    }

    /// Whether it was acknowledged.
    async fn transact(
        &self,
        client: &Client,
        number: u64,
        pair: [&Place; 2],
        action: impl Fn(&Place) -> TransactWriteItem,
    ) -> bool {
        let actions = pair.iter().map(|place| action(place)).collect();
        let good = client.transact_write_items().set_transact_items(Some(actions)).send().await.is_ok();
        for place in pair.into_iter().filter(|_| good) {
            self.acknowledge(number, place);
        }
        good
    }

    /// Every key has the state of its last acknowledged change or of a later attempt, and no other keys
    /// exist.
    pub fn check_table(&self, table: &Table) -> Result<(), String> {
        let keys = self.keys.lock().unwrap();
        for (place, key) in keys.iter() {
            let found = table.get(place).map(generation_of);
            if !key.may_hold(found) {
                let (last, tried) = (key.acknowledged.last(), key.tried.last_key_value());
                return Err(format!(
                    "{place:?} holds {found:?}; the last acknowledged change is {last:?}, the last tried {tried:?}"
                ));
            }
        }
        match table.keys().find(|place| !keys.contains_key(*place)) {
            Some(place) => Err(format!("{place:?} exists, and nobody wrote it")),
            None => Ok(()),
        }
    }

    /// Every acknowledged change is in the stream exactly once, and no change that was never attempted.
    pub fn check_history(&self, history: &History) -> Result<(), String> {
        for (place, key) in self.keys.lock().unwrap().iter() {
            let written = |number: &&u64| key.tried.get(*number) == Some(&Left::Item);
            let missing = key
                .acknowledged
                .iter()
                .filter(written)
                .find(|number| history.written.get(&(place.clone(), **number)) != Some(&1));
            if let Some(number) = missing {
                return Err(format!(
                    "{place:?}: the acknowledged change {number} is not in the stream exactly once"
                ));
            }
            let kept =
                key.removed.iter().find(|number| !history.removed.contains(&(place.clone(), **number)));
            if let Some(number) = kept {
                return Err(format!(
                    "{place:?}: the stream does not have the acknowledged delete of {number}"
                ));
            }
        }
        let keys = self.keys.lock().unwrap();
        let tried = |(place, number): &(Place, u64)| {
            keys.get(place).is_some_and(|key| key.tried.get(number) == Some(&Left::Item))
        };
        match history.written.keys().find(|change| !tried(change)) {
            Some(change) => Err(format!("the stream has {change:?}, which nobody attempted")),
            None => Ok(()),
        }
    }
}

/// The changes in a stream's records.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Written generations and their counts.
    pub written: BTreeMap<(Place, u64), u64>,
    pub removed: BTreeSet<(Place, u64)>,
}

impl History {
    pub fn note(&mut self, place: &Place, change: &Value) {
        if let Some(new) = change.get("NewImage") {
            *self.written.entry((place.clone(), generation_of(new))).or_default() += 1;
        } else if let Some(old) = change.get("OldImage") {
            self.removed.insert((place.clone(), generation_of(old)));
        }
    }
}

pub fn place(side: &str, writer: u64, sort: u64) -> Place {
    (format!("{side}{writer}"), format!("{sort:06}"))
}

fn item((partition, sort): &Place, number: u64) -> Item {
    row(partition, sort.parse().unwrap(), number, "")
}

fn key((partition, sort): &Place) -> Item {
    let text = |text: &String| AttributeValue::S(text.clone());
    Item::from([("pk".to_owned(), text(partition)), ("sk".to_owned(), text(sort))])
}
