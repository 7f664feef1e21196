//! Servers are restarted one after the other under load: a client of the official SDK with its default
//! retries sees no error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::AttributeValue;

use super::proxy::Balancer;
use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::shared_store::url_or_say;

const CLIENTS: u64 = 6;

fn with_default_retries(endpoint: &str) -> Client {
    let config = client(endpoint, Caller::default()).config().to_builder();
    Client::from_conf(config.retry_config(RetryConfig::standard()).build())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_shows_no_error_to_a_client_that_retries() {
    let Some(url) = url_or_say("rolling") else { return };
    let mut servers: Vec<Server> = (0..3).map(|_| Server::on_store(&url)).collect();
    let balancer = Balancer::new().await;
    let lead = |servers: &[Server]| {
        balancer.lead_to(&servers.iter().map(Server::address).collect::<Vec<_>>());
    };
    lead(&servers);
    let endpoint = format!("http://{}", balancer.address);
    create_indexed_table(&with_default_retries(&endpoint), "tab").await;
    let (done, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let (client, done, written) =
            (with_default_retries(&endpoint), Arc::clone(&done), Arc::clone(&written));
        clients.spawn(async move {
            let text = |text: String| AttributeValue::S(text);
            let mut round = 0_u64;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                let (pk, sk) = (text(format!("p{number}")), text(format!("s{}", round % 50)));
                let put = client.put_item().table_name("tab").item("pk", pk.clone()).item("sk", sk.clone());
                put.item("v", text(round.to_string())).send().await.map_err(|error| format!("{error:?}"))?;
                let get = client.get_item().table_name("tab").key("pk", pk).key("sk", sk);
                let found = get.consistent_read(true).send().await.map_err(|error| format!("{error:?}"))?;
                let found = found.item().and_then(|item| item.get("v")?.as_s().ok().cloned());
                if found != Some(round.to_string()) {
                    return Err(format!("{found:?} instead of {round}"));
                }
                written.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let oldest = servers.remove(0);
        servers.push(Server::on_store(&url));
        // As a load balancer does that asks for readiness: the server that stops gets no new connections.
        lead(&servers);
        assert!(oldest.stop(), "the server stops cleanly");
    }
    done.store(true, Ordering::Relaxed);
    for outcome in clients.join_all().await {
        assert_eq!(outcome, Ok(()));
    }
    println!("{} writes read back during three restarts", written.load(Ordering::Relaxed));
}
