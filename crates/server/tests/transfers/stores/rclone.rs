//! rclone: a small store over a folder.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::json;

use super::line::Line;
use crate::db::Db;
use crate::folder::{self, files_below};
use crate::support::Server;
use crate::table::{BUCKET, TABLE, create, id_of, row};

const KEY: &str = "AKSTORE";
const SECRET: &str = "a/secret+of the store";
const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A store with one bucket, behind a line that can be cut.
struct Store {
    process: Child,
    folder: tempfile::TempDir,
    line: Line,
}

impl Store {
    fn start() -> Self {
        let address: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("objects");
        std::fs::create_dir_all(objects.join(BUCKET)).unwrap();
        let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
        let mut rclone = Command::new(PathBuf::from(clients).join("rclone/bin/rclone"));
        rclone.args(["serve", "s3"]).arg(&objects).args(["--addr", &address.to_string()]);
        rclone.args(["--auth-key", &format!("{KEY},{SECRET}"), "--config", ""]);
        rclone.arg("--cache-dir").arg(folder.path().join("cache")).env("HOME", folder.path());
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut process = rclone.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(process.try_wait().unwrap().is_none(), "the store has ended");
            assert!(begun.elapsed() < START_TIME_MAX, "the store does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, folder, line: Line::to(address) }
    }

    /// A server with a table of a hundred items, which reaches the store with this secret.
    fn server(&self, secret: &str) -> (Server, Db) {
        let endpoint = format!("http://{}", self.line.address);
        let variables =
            [("S3_ENDPOINT", endpoint.as_str()), ("S3_ACCESS_KEY_ID", KEY), ("S3_SECRET_ACCESS_KEY", secret)];
        let mut runner = Command::new("env");
        runner.args(variables.map(|(name, value)| format!("KEYWRIGHT_{name}={value}")));
        let server = Server::under(runner, &["--in-memory"]).unwrap();
        let mut db = Db::of(&server);
        create(&mut db);
        db.put_all(TABLE, &(0..100).map(|number| row(number, 0)).collect::<Vec<_>>());
        (server, db)
    }

    fn bucket(&self) -> PathBuf {
        self.folder.path().join("objects").join(BUCKET)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ended = (self.process.kill(), self.process.wait());
    }
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_into_a_bucket_is_the_table_and_a_wrong_secret_fails_it() {
    let store = Store::start();
    let (_server, mut db) = store.server(SECRET);
    let expected = db.items();
    let (_, folder) = db.export(&store.bucket(), &json!({"S3Prefix": "some/where"}));
    assert_eq!(folder.items(), expected);
    let (_server, mut db) = store.server("another");
    let begun = db.begin_export(&json!({"S3Prefix": "other"}));
    let ended = db.end_of(&begun);
    assert_eq!((&ended["ExportStatus"], &ended["FailureCode"]), (&json!("FAILED"), &json!("S3AccessDenied")));
    assert!(!store.bucket().join("other").exists());
    let begun = db.begin_export(&json!({"S3Bucket": "nowhere"}));
    assert_eq!(db.end_of(&begun)["ExportStatus"], "FAILED");
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_waits_while_the_store_does_not_answer_and_then_goes_on() {
    let store = Store::start();
    let (_server, mut db) = store.server(SECRET);
    let expected = db.items();
    store.line.cut_after(3_000);
    let begun = db.begin_export(&json!({}));
    db.wait("the line is cut", |_| store.line.is_cut());
    let before = store.line.connections();
    db.wait("it is tried again", |_| store.line.connections() > before + 1);
    assert_eq!(db.describe_export(&begun["ExportArn"])["ExportStatus"], "IN_PROGRESS");
    store.line.make_whole();
    let ended = db.end_of(&begun);
    assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
    assert_eq!(folder::read(&store.bucket(), "", id_of(&ended)).items(), expected);
    assert_eq!(files_below(&store.bucket()).len(), 9, "a marker, four files, two manifests and their sums");
}
