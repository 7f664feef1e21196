//! The programs of articles, and an archive, in real S3-compatible stores that check signatures (requirement
//! `r65`).
//!
//! `cargo xtask test` installs rclone's, and with `--long` also `SeaweedFS`.

mod rclone;
mod seaweedfs;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::clients::{python, run};
use crate::function::eventually;
use crate::scene::{Scene, TABLE};
use crate::support::Server;

const BUCKET: &str = "archive";
const KEY: &str = "AKSTORE";
const SECRET: &str = "a/secret+of the store";
const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A store with one bucket.
struct Store {
    process: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Store {
    /// Starts a store, which is to listen on this address.
    fn start(mut program: Command, address: SocketAddr, folder: tempfile::TempDir) -> Self {
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let program = program.stdout(log.try_clone().unwrap()).stderr(log).env("HOME", folder.path());
        let mut process = program.spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = || std::fs::read_to_string(folder.path().join("log"));
            assert!(process.try_wait().unwrap().is_none(), "the store has ended: {:?}", log());
            assert!(begun.elapsed() < START_TIME_MAX, "the store does not listen: {:?}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, address, _folder: folder }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ended = (self.process.kill(), self.process.wait());
    }
}

/// An address that nobody has.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A program of a store that `cargo xtask test` has installed.
fn program(environment: &str, name: &str) -> Command {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    Command::new(PathBuf::from(clients).join(environment).join("bin").join(name))
}

/// `archive_old_data` and `set_ttl` run unchanged, what expires then is archived, and both are in the store.
async fn old_data_is_archived(store: &Store) {
    let endpoint = format!("http://{}", store.address);
    let mut runner = Command::new("env");
    runner.args([
        format!("KEYWRIGHT_S3_ENDPOINT={endpoint}"),
        format!("KEYWRIGHT_S3_ACCESS_KEY_ID={KEY}"),
        format!("KEYWRIGHT_S3_SECRET_ACCESS_KEY={SECRET}"),
    ]);
    let scene = Scene::of(Server::under(runner, &["--in-memory", "--ttl-delay-ms", "0"]).unwrap());
    let mut programs = python("archival.py");
    programs.args([&scene.server.endpoint, &endpoint, BUCKET, KEY, SECRET]);
    run(programs);
    scene.create(TABLE).await;
    scene.enable_ttl().await;
    let names: Vec<String> = (0..40).map(|number| format!("e{number}")).collect();
    scene
        .trigger(
            &format!("s3://{BUCKET}/expired"),
            json!({
                "BatchSize": 7,
                "FilterCriteria": {"Filters": [{"Pattern": "{\"userIdentity\":{\"type\":[\"Service\"]}}"}]},
            }),
        )
        .await;
    scene.put_expiring(&names, 1_790_000_000).await;
    eventually("the archive", || (scene.figures()["archived"] == 40).then_some(()));
    let mut check = python("archival.py");
    check.args([&scene.server.endpoint, &endpoint, BUCKET, KEY, SECRET, "40"]);
    run(check);
}
