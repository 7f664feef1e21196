//! What encrypts items before they are sent: the AWS Database Encryption SDK for Rust, against a real server.
//!
//! `encrypting_client SCENE ENDPOINT SENT [KMS-ENDPOINT]`: every acknowledged write is appended to the file
//! SENT as it went over the wire, so that another client can compare it with what it reads.

mod beacons;
mod connection;
mod items;

use connection::{Connection, Fault};

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, endpoint, sent, more @ ..] = arguments.as_slice() else {
        return Err("name the scene, the endpoint and the file of what is sent".into());
    };
    let connection = Connection::new(endpoint.clone(), sent.into());
    match (scene.as_str(), more) {
        ("items", []) => items::Items::new(&connection).await?.run().await,
        ("read", []) => items::Items::new(&connection).await?.read_all().await,
        ("beacons", [kms]) => beacons::run(&connection, kms).await,
        _ => Err(format!("there is no scene {scene}").into()),
    }
}
