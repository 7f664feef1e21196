//! moto, in memory: DynamoDB, and a store of buckets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use keywright_objects::{Bucket, S3Keys, S3Settings};
use keywright_wire::files::DataFormat;

use super::{Foreign, program};
use crate::command::{command, said};
use crate::endpoint::items;
use crate::exports::{Exports, order};
use crate::live;
use crate::support::Server;

fn moto() -> Foreign {
    Foreign::start(|address, _| {
        let mut moto = program("moto", "moto_server");
        moto.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
        moto
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn a_table_of_moto_is_equal_after_a_migration_under_writes() {
    println!("{}", live::scene(&moto().endpoint(), 2, Duration::from_millis(10)).await);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn exports_are_read_from_a_bucket() {
    let (store, server, exports) = (moto(), Server::in_memory(), Exports::new());
    exports.full("0full", DataFormat::Json, &[(0..50).map(|sk| order("a", sk, 1)).collect()]);
    upload(&store, &exports.path(".")).await;
    let folder = tempfile::tempdir().unwrap();
    let from = "aws://Orders?export=s3://exports/deep/AWSDynamoDB/0full";
    let endpoint = store.endpoint();
    let arguments = ["--from", from, "--key", "pk:S", "--sort", "sk:N", "--endpoint", &server.endpoint];
    let without = command(folder.path(), &arguments).output().unwrap();
    assert!(said(&without).contains("--s3-endpoint"), "{}", said(&without));
    let mut migrate = command(folder.path(), &[&arguments[..], &["--s3-endpoint", &endpoint]].concat());
    migrate.env("KEYWRIGHT_S3_ACCESS_KEY_ID", "x").env("KEYWRIGHT_S3_SECRET_ACCESS_KEY", "y");
    let output = migrate.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(items(&server.endpoint, "Orders").len(), 50);
}

/// Puts the files of a folder into a new bucket, below a prefix.
async fn upload(store: &Foreign, folder: &Path) {
    let mut stream = TcpStream::connect(store.address).unwrap();
    let head = format!(
        "PUT /exports HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: \
         AWS4-HMAC-SHA256 Credential=x/20261121/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00\r\n\r\n",
        store.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    let keys =
        S3Keys { access_key_id: "x".to_owned(), secret_access_key: "y".to_owned(), session_token: None };
    let settings = S3Settings {
        endpoint: Some(store.endpoint()),
        region: "us-east-1".to_owned(),
        keys: Some(keys),
        allow_http: true,
        ..S3Settings::default()
    };
    let bucket = Bucket::in_s3("exports", &settings).unwrap();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let key = format!("deep/AWSDynamoDB/{}", path.strip_prefix(folder).unwrap().display());
                bucket.put(&key, std::fs::read(&path).unwrap().into()).await.unwrap();
            }
        }
    }
}
