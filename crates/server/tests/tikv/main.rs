//! Several servers over one store on TiKV. Without the test engine the tests say so and pass over.

#![cfg(all(feature = "tikv", unix))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::Server;
use support::in_process::{Api as _, Http};
use support::management::{get, sample};
use support::tikv::{STORES, TikvEngine, url_or_say};

const SERVERS: usize = 3;
const ITEMS: usize = 30;

fn refusal(arguments: &[&str]) -> String {
    let Err(said) = Server::try_start(arguments) else { panic!("{arguments:?} started") };
    let sentences: Vec<&str> = said.lines().filter(|line| line.starts_with("keywright: ")).collect();
    assert_eq!(sentences.len(), 1, "{said}");
    sentences[0].to_owned()
}

#[test]
fn what_cannot_be_opened_is_refused_in_one_sentence() {
    let prefix = refusal(&["--store", "tikv://127.0.0.1:9/A"]);
    assert!(prefix.contains("lower-case letters"), "{prefix}");
    let nobody = refusal(&["--store", "tikv://127.0.0.1:9/shop"]);
    assert!(nobody.contains("check the addresses of PD"), "{nobody}");
}

/// Kills the node that leads the region of the tests' rows, and another one: no majority is left.
fn kill_two(engine: &TikvEngine) -> [usize; 2] {
    let leader = engine.leading_store().unwrap();
    let killed = [leader, (leader + 1) % STORES];
    killed.into_iter().for_each(|store| engine.kill_store(store));
    killed
}

/// On a cluster of its own, because its nodes are killed.
#[test]
fn a_start_waits_for_a_leader_of_its_region_and_not_for_pd() {
    let Some(engine) = TikvEngine::start_or_say() else { return };
    let url = engine.url("leaders");
    assert!(Server::on_store(&url).stop());
    let killed = kill_two(&engine);
    let log = std::thread::scope(|scope| {
        let starting = scope.spawn(|| Server::on_store(&url));
        // Longer than the store itself waits for an answer.
        std::thread::sleep(Duration::from_secs(15));
        assert!(!starting.is_finished(), "it waits");
        killed.into_iter().for_each(|store| engine.start_store(store).unwrap());
        starting.join().unwrap().stop_and_read_log()
    });
    assert!(log.contains("does not answer as a whole") && log.contains("trying again for 30 s"), "{log}");
    kill_two(&engine);
    let gave_up = refusal(&["--store", &url]);
    assert!(gave_up.contains("start again when PD and all regions have a leader"), "{gave_up}");
    engine.kill_pd();
    let silent = refusal(&["--store", &url]);
    assert!(silent.contains("check the addresses of PD"), "{silent}");
}

async fn create_table(server: &Server) {
    let create = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    Http::new(server.address()).call("CreateTable", &create).await.good();
}

fn key(number: usize) -> Value {
    json!({"pk": {"S": format!("item {number}")}})
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_give_the_same_answers_and_one_can_be_killed() {
    let Some(url) = url_or_say("servers") else { return };
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::on_store(&url)).collect();
    create_table(&servers[0]).await;
    // Each server counts on items that the other ones count on too.
    for number in 0..ITEMS * SERVERS {
        let add = json!({
            "TableName": "tab", "Key": key(number % ITEMS),
            "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}},
        });
        Http::new(servers[number / ITEMS].address()).call("UpdateItem", &add).await.good();
    }
    servers.remove(0).kill();
    for server in &servers {
        let http = Http::new(server.address());
        for number in 0..ITEMS {
            let get = json!({"TableName": "tab", "Key": key(number), "ConsistentRead": true});
            let answer = http.call("GetItem", &get).await.good();
            assert_eq!(answer["Item"]["n"]["N"], json!(SERVERS.to_string()), "item {number}");
        }
    }
}

const WRITERS: usize = 8;
const WRITES: usize = 20;

/// How often tries of writes met others, over all servers, while each has so many writers of these items of
/// `tab`.
async fn conflicts(servers: &[Server], item: impl Fn(usize, usize) -> String) -> f64 {
    let counted = || -> f64 {
        let of =
            |server| sample(&get(server, "/metrics").1, "keywright_write_conflicts_total").unwrap_or(0.0);
        servers.iter().map(of).sum()
    };
    let before = counted();
    let write = async |server: usize, writer: usize| {
        let http = Http::new(servers[server].address());
        let key = json!({"pk": {"S": item(server, writer)}});
        for _ in 0..WRITES {
            let add = json!({
                "TableName": "tab", "Key": key,
                "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}},
            });
            http.call("UpdateItem", &add).await.good();
        }
    };
    let all = (0..servers.len()).flat_map(|server| (0..WRITERS).map(move |writer| (server, writer)));
    join_all(all.map(|(server, writer)| write(server, writer))).await;
    counted() - before
}

/// Each commit depends on the table's record. On TiKV, commits that protect one row conflict.
#[tokio::test(flavor = "multi_thread")]
async fn writers_of_one_table_at_several_servers_do_not_wait_for_each_other() {
    let Some(url) = url_or_say("writers") else { return };
    let servers: Vec<Server> = (0..SERVERS).map(|_| Server::on_store(&url)).collect();
    create_table(&servers[0]).await;
    let own = |server: usize, writer: usize| format!("of {writer} at {server}");
    // The first writers of a server make what its later ones use.
    let first = conflicts(&servers, own).await;
    let apart = conflicts(&servers, own).await;
    let together = conflicts(&servers, |_, writer| format!("of {writer} everywhere")).await;
    let writes = f64::from(u32::try_from(SERVERS * WRITERS * WRITES).unwrap());
    println!("{writes} writes: {first} conflicts at first, {apart} later, {together} of writers of one item");
    assert!(together > 0.0, "writers of one item at several servers meet: conflicts are counted");
    assert!(apart <= writes / 100.0, "{apart} of {writes}");
}
