//! Histories stay linearizable while servers and the store are killed: a server every second, PostgreSQL or a
//! part of TiKV every tenth. `KEYWRIGHT_KILLS` sets the number of killed servers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::histories::{CLIENTS, Planted, Planting, STEPS, answers, create_table, is_linearizable, record};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::{Answer, Api, Http};
use crate::support::shared_store::{OwnStore, url_or_say};

const KILLS_DEFAULT: u64 = 5;
const KILL_EVERY: Duration = Duration::from_secs(1);
const KILLS_PER_RESTART: u64 = 10;
const SERVERS: usize = 3;
/// A server and the store have started again long before this.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);
/// Histories at a time, so that each kill meets several.
const AT_ONCE: u64 = 4;
/// A planted fault must show in so many histories.
const PLANTED_HISTORIES_MAX: u64 = 400;
/// Other servers than the tests share, because they are restarted.
const PORTS: [u16; 2] = [5433, 5434];

pub(super) type Addresses = Arc<Mutex<Vec<String>>>;

/// A client of servers that come and go: it asks one of them until a request fails, then another one.
pub(super) struct Moving {
    addresses: Addresses,
    at: Cell<usize>,
    http: RefCell<Option<Rc<Http>>>,
}

impl Moving {
    pub(super) fn new(addresses: &Addresses, at: usize) -> Self {
        Self { addresses: Arc::clone(addresses), at: Cell::new(at), http: RefCell::default() }
    }

    fn http(&self) -> Rc<Http> {
        let connect = || {
            let addresses = self.addresses.lock().unwrap();
            Rc::new(Http::new(&addresses[self.at.get() % addresses.len()]))
        };
        Rc::clone(self.http.borrow_mut().get_or_insert_with(connect))
    }

    /// Waits until a server answers. A client that called on would only collect calls of unknown outcome,
    /// which fit any history.
    async fn move_on(&self) {
        let asked = json!({"TableName": "tab", "Key": {"pk": {"S": "nobody's"}}});
        let answered = async {
            loop {
                self.at.set(self.at.get() + 1);
                self.http.take();
                if matches!(self.http().call("GetItem", &asked).await, Answer::Good(_)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(ANSWER_WITHIN, answered).await.expect("no server answered in time");
    }
}

impl Api for Moving {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        let answer = self.http().call(operation, body).await;
        if matches!(answer, Answer::Unknown(_)) {
            self.move_on().await;
        }
        answer
    }
}

/// Kills servers, and starts others in their place. Returns those that still serve when the kills are done.
fn kill(
    mut servers: Vec<Server>,
    store: &OwnStore,
    start: &(impl Fn() -> Server + Sync),
    kills: u64,
    addresses: &Addresses,
) -> Vec<Server> {
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    for number in 0..kills {
        std::thread::sleep(KILL_EVERY);
        let killed = usize::try_from(dice.roll(3)).unwrap();
        servers.remove(killed).kill();
        if number % KILLS_PER_RESTART == 2 {
            store.restart(number / KILLS_PER_RESTART);
        }
        servers.insert(killed, start());
        *addresses.lock().unwrap() = servers.iter().map(|server| server.address().to_owned()).collect();
    }
    servers
}

#[test]
fn histories_are_linearizable_while_servers_and_the_store_are_killed() {
    check_while_killed(PORTS[0], &[]);
}

#[test]
fn histories_are_linearizable_while_servers_are_killed_whose_writers_have_slots() {
    check_while_killed(PORTS[1], &["--guard-slots"]);
}

fn check_while_killed(port: u16, arguments: &[&str]) {
    let Some(store) = OwnStore::start_or_say(port) else { return };
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT);
    let url = store.url("killed");
    let start = || Server::start(&[&["--store", &url], arguments].concat());
    let servers: Vec<Server> = (0..SERVERS).map(|_| start()).collect();
    let addresses: Addresses = Arc::default();
    *addresses.lock().unwrap() = servers.iter().map(|server| server.address().to_owned()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Moving::new(&addresses, 0).call("CreateTable", &create_table())).good();
    let (mut histories, mut answered) = (0, 0);
    std::thread::scope(|scope| {
        let (store, start, addresses) = (&store, &start, &addresses);
        let killer = scope.spawn(move || kill(servers, store, start, kills, addresses));
        while !killer.is_finished() {
            let several = (histories..histories + AT_ONCE).map(|seed| {
                let first = usize::try_from(seed).unwrap();
                record(seed, move |client| Moving::new(addresses, first + client))
            });
            for history in runtime.block_on(futures_util::future::join_all(several)) {
                answered += answers(&history);
                assert!(is_linearizable(&history), "history {histories}: {history:#?}");
                histories += 1;
            }
        }
    });
    let asked = histories * CLIENTS * STEPS;
    assert!(u64::try_from(answered).unwrap() * 10 >= asked * 8, "{answered} answers of {asked}");
    println!(
        "{arguments:?}, {kills} kills: {histories} histories, {answered} answers of {asked}, all linearizable"
    );
}

#[test]
fn the_checker_finds_each_planted_fault_over_three_servers() {
    let Some(url) = url_or_say("planted") else { return };
    let servers = [Server::on_store(&url), Server::on_store(&url), Server::on_store(&url)];
    let addresses: Addresses = Arc::default();
    *addresses.lock().unwrap() = servers.iter().map(|server| server.address().to_owned()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Moving::new(&addresses, 0).call("CreateTable", &create_table())).good();
    let mut seeds = 0..;
    for planted in Planted::ALL {
        let found = seeds.by_ref().take(PLANTED_HISTORIES_MAX.try_into().unwrap()).position(|seed| {
            let api = |client| Planting::new(Moving::new(&addresses, client), Some(planted));
            !is_linearizable(&runtime.block_on(record(seed, api)))
        });
        let before = found.unwrap_or_else(|| panic!("{planted:?} went unnoticed"));
        println!("{planted:?}: found after {before} histories");
    }
}
