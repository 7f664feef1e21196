//! The network between one server and the store is cut: that server answers errors in time and is not ready,
//! the others go on, and nothing is wrong afterwards.

use std::time::Duration;

use serde_json::json;

use super::proxy::Wire;
#[cfg(feature = "tikv")]
use super::wires::Wires;
use crate::support::Server;
use crate::support::fleet::{Kind, kind};
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::management::wait_for_state;
use crate::support::postgres;
#[cfg(feature = "tikv")]
use crate::support::{shared_store::tikv_prefix, tikv};
use crate::tables::create;

/// The network between one server and the store.
enum Network {
    PostgreSql(Wire),
    #[cfg(feature = "tikv")]
    Tikv(Wires),
}

/// A store, and a way to it that can be cut.
struct Scene {
    network: Network,
    /// The address by which the store is reached over the network.
    through: String,
    direct: String,
}

impl Scene {
    /// If there is no such store, says so.
    async fn open_or_say(name: &str) -> Option<Self> {
        match kind() {
            Kind::PostgreSql => {
                let direct = postgres::url_or_say(name)?;
                let wire = Wire::to_socket(postgres::server().unwrap().socket()).await;
                let through = format!("postgres://postgres@{}/postgres?schema={name}", wire.address);
                Some(Self { network: Network::PostgreSql(wire), through, direct })
            }
            #[cfg(feature = "tikv")]
            Kind::Tikv => {
                let engine = tikv::engine().inspect_err(|reason| eprintln!("PASSED OVER: {reason}")).ok()?;
                let (wires, prefix) = (Wires::to(engine, None).await, tikv_prefix(name));
                let through = format!("tikv://{}/{prefix}", wires.pd);
                Some(Self { network: Network::Tikv(wires), through, direct: engine.url(&prefix) })
            }
            #[cfg(not(feature = "tikv"))]
            Kind::Tikv => panic!("build the tests with --features keywright-server/tikv"),
        }
    }

    fn cut(&self) {
        match &self.network {
            Network::PostgreSql(wire) => wire.cut(),
            #[cfg(feature = "tikv")]
            Network::Tikv(wires) => wires.cut(),
        }
    }

    fn restore(&self) {
        match &self.network {
            Network::PostgreSql(wire) => wire.restore(),
            #[cfg(feature = "tikv")]
            Network::Tikv(wires) => wires.restore(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_cut_off_fails_in_time_and_the_others_go_on() {
    let Some(scene) = Scene::open_or_say("cuts").await else { return };
    let (cut_off, other) = (Server::on_store(&scene.through), Server::on_store(&scene.direct));
    let (lost, http) = (Http::new(cut_off.address()), Http::new(other.address()));
    lost.call("CreateTable", &create("tab")).await.good();
    let add = json!({
        "TableName": "tab", "Key": {"pk": {"S": "count"}}, "ReturnValues": "ALL_NEW",
        "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}},
    });
    let mut certain = 0;
    for _ in 0..5 {
        lost.call("UpdateItem", &add).await.good();
        http.call("UpdateItem", &add).await.good();
        certain += 2;
    }
    scene.cut();
    let answered = tokio::time::timeout(Duration::from_mins(1), lost.call("UpdateItem", &add)).await;
    let answer = answered.expect("an error comes in time");
    assert!(matches!(answer, Answer::Unknown(_)), "{answer:?}");
    let (status, _) = wait_for_state(&cut_off, "store_silent", Duration::from_secs(20));
    assert_eq!(status, 503);
    for _ in 0..5 {
        http.call("UpdateItem", &add).await.good();
        certain += 1;
    }
    scene.restore();
    assert_eq!(wait_for_state(&cut_off, "serving", Duration::from_mins(1)).0, 200);
    let counted = lost.call("UpdateItem", &add).await.good()["Attributes"]["n"]["N"].clone();
    let counted: u64 = counted.as_str().unwrap().parse().unwrap();
    certain += 1;
    // The request during the cut may have been carried out.
    assert!((certain..=certain + 1).contains(&counted), "{counted} of {certain}");
    let get = json!({"TableName": "tab", "Key": {"pk": {"S": "count"}}, "ConsistentRead": true});
    for server in [&lost, &http] {
        let found = server.call("GetItem", &get).await.good()["Item"]["n"]["N"].clone();
        assert_eq!(found, counted.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_cut_off_in_the_middle_of_a_commit_keeps_others_from_changing_its_table_for_seconds_only()
 {
    let Some(url) = postgres::url_or_say("cut_commits") else { return };
    let wire = Wire::to_socket(postgres::server().unwrap().socket()).await;
    let through = format!("postgres://postgres@{}/postgres?schema=cut_commits", wire.address);
    let (cut_off, other) = (Server::on_store(&through), Server::on_store(&url));
    let (lost, http) = (Http::new(cut_off.address()), Http::new(other.address()));
    http.call("CreateTable", &create("tab")).await.good();
    let item = |key: &str, bytes: usize| json!({"pk": {"S": key}, "s": {"S": "x".repeat(bytes)}});
    let put = |key: &str, bytes| json!({"TableName": "tab", "Item": item(key, bytes)});
    for key in ["a", "b", "c"] {
        lost.call("PutItem", &put(key, 1)).await.good();
    }
    wire.cut_in_a_large_message();
    let puts = ["a", "b", "c"].map(|key| json!({"Put": put(key, 390_000)}));
    let all = json!({"TransactItems": puts});
    let cut = async {
        let answered = lost.call("TransactWriteItems", &all);
        tokio::time::timeout(Duration::from_mins(1), answered).await.expect("an error comes in time")
    };
    let meanwhile = async {
        wire.wait_until_cut().await;
        let begun = tokio::time::Instant::now();
        let protect = json!({"TableName": "tab", "DeletionProtectionEnabled": true});
        http.call("UpdateTable", &protect).await.good();
        let waited = begun.elapsed();
        wire.restore();
        waited
    };
    let (answer, waited) = tokio::join!(cut, meanwhile);
    assert!(waited < Duration::from_secs(12), "it waited for {waited:?}");
    println!("a change of the table at another server took {} ms", waited.as_millis());
    http.call("PutItem", &put("a", 2)).await.good();
    let scanned = http.call("Scan", &json!({"TableName": "tab", "ConsistentRead": true})).await.good();
    let sizes =
        scanned["Items"].as_array().unwrap().iter().map(|item| item["s"]["S"].as_str().unwrap().len());
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    // It may have been tried again since.
    let expected = if matches!(answer, Answer::Good(_)) { [2, 390_000, 390_000] } else { [1, 1, 2] };
    assert_eq!(sizes, expected, "all of the transaction was carried out or nothing: {answer:?}");
}
