//! Clients that encrypt items before they send them: the AWS Database Encryption SDK for Java and for Rust,
//! and the older DynamoDB Encryption Client for Python. The server sees ciphertexts, signatures and beacons
//! as ordinary attributes. It must give each back as it came, since the clients refuse an item with another
//! byte.
//!
//! A client writes down each request that was answered. Afterwards a client without encryption compares what
//! was sent with what the server gives back in every way, before and after the server is killed.
//!
//! `cargo xtask test` installs the clients. The one for Rust takes minutes to compile: it is there with
//! `--long`, or with `cargo xtask test … -- rust_encryption`.

mod comparison;
mod record;

use std::path::PathBuf;
use std::process::Command;

use comparison::Plain;
use record::Record;

use crate::foreign_clients::{installed, run, scripts};
use crate::support::{Server, stores};

/// Where exports go.
const BUCKET: &str = "exports";
/// What the AWS Database Encryption SDK adds to each item.
const NEWER: [&str; 2] = ["aws_dbe_head", "aws_dbe_foot"];
/// What the older client adds.
const OLDER: [&str; 2] = ["*amzn-ddb-map-desc*", "*amzn-ddb-map-sig*"];
/// More settings of the server: none for a folder that is not encrypted itself.
const PLAIN_FOLDER: &[&str] = &[];
/// Those of a folder that is.
const ENCRYPTED_FOLDER: &[&str] =
    &["--encryption-key-command", "echo AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "--plain-exports"];
/// Set for `--long`.
const LONG: &str = "KEYWRIGHT_TEST_LONG";

/// A scene on a plain folder, and with `--long` one on an encrypted folder.
fn scenes() -> impl Iterator<Item = Scene> {
    let encrypted = std::env::var_os(LONG).map(|_| ENCRYPTED_FOLDER);
    std::iter::once(PLAIN_FOLDER).chain(encrypted).map(Scene::new)
}

/// A scene on each kind of folder, also without `--long`: for a client of seconds.
fn scenes_of_both() -> impl Iterator<Item = Scene> {
    [PLAIN_FOLDER, ENCRYPTED_FOLDER].into_iter().map(Scene::new)
}

/// A server on a folder, and the file of what clients sent to it.
struct Scene {
    folder: tempfile::TempDir,
    settings: &'static [&'static str],
    server: Server,
}

impl Scene {
    fn new(settings: &'static [&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("buckets").join(BUCKET)).unwrap();
        let server = Self::server(&folder, settings);
        Self { folder, settings, server }
    }

    fn server(folder: &tempfile::TempDir, settings: &[&str]) -> Server {
        let [data, buckets] = ["data", "buckets"].map(|name| folder.path().join(name));
        let own = ["--data", data.to_str().unwrap(), "--s3-folder", buckets.to_str().unwrap()];
        Server::start(&[&own, settings].concat())
    }

    fn restart(self) -> Self {
        let Self { folder, settings, server } = self;
        server.kill();
        let server = Self::server(&folder, settings);
        Self { folder, settings, server }
    }

    /// Runs a client's scene; it says what it misses and ends with another code.
    fn play(&self, mut client: Command, scene: &str, more: &[String]) {
        run(client.arg(scene).arg(&self.server.endpoint).arg(self.folder.path().join("sent")).args(more));
    }

    /// Everything that clients sent comes back as it was: from tables, indexes, streams and exports.
    fn compare(&self) -> Record {
        let record = Record::read(&self.folder.path().join("sent"));
        Plain::of(&self.server).compare(&record, &self.bucket());
        record
    }

    fn bucket(&self) -> PathBuf {
        self.folder.path().join("buckets").join(BUCKET)
    }
}

/// Makes the command of a client.
type Client = fn() -> Command;

fn java() -> Command {
    let folder = installed("java_encryption");
    let classes = std::env::join_paths([folder.join("lib/*"), folder.join("classes")]).unwrap();
    let mut java = Command::new("java");
    // Programs of seconds spend half of them on optimising themselves.
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
    java.arg("-classpath").arg(classes).arg("Main");
    java
}

fn python() -> Command {
    let mut python = Command::new(installed("python_encryption/bin/python"));
    python.arg("-B").arg(scripts().join("encryption/python/run_encryption.py"));
    python
}

fn rust() -> Command {
    Command::new(installed("rust_encryption/debug/encrypting_client"))
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn java_encryption_writes_reads_and_verifies() {
    for scene in scenes() {
        scene.play(java(), "items", &[]);
        assert!(scene.compare().images_with("Vault", &NEWER) > 30);
        let scene = scene.restart();
        scene.play(java(), "read", &[]);
        scene.compare();
        // Signatures are about the name of the first table, so this client is given it.
        let bucket = scene.bucket();
        let mut plain = Plain::of(&scene.server);
        plain.restore("Vault", "Restored");
        plain.import("Vault", "Imported", &bucket);
        for copy in ["Restored", "Imported"] {
            scene.play(java(), "copy", &[copy.to_owned()]);
        }
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn java_encryption_replaces_plaintext_and_the_older_format() {
    for scene in scenes() {
        scene.play(java(), "migrations", &[]);
        let record = scene.compare();
        assert_eq!((record.images_with("Plain", &NEWER), record.images_with("Plain", &[])), (3, 5));
        assert_eq!((record.images_with("Older", &NEWER), record.images_with("Older", &OLDER)), (3, 4));
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn python_encryption_of_the_older_client_writes_reads_and_verifies() {
    for scene in scenes_of_both() {
        scene.play(python(), "items", &[]);
        assert!(scene.compare().images_with("OldVault", &OLDER) > 12);
        let scene = scene.restart();
        scene.play(python(), "read", &[]);
        scene.compare();
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn java_encryption_reads_what_python_encryption_of_the_older_client_wrote() {
    for scene in scenes() {
        scene.play(python(), "items", &[]);
        scene.play(java(), "python", &[]);
        assert_eq!(scene.compare().images_with("OlderOfPython", &OLDER), 3);
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test --long`"]
fn rust_encryption_writes_reads_and_verifies() {
    for scene in scenes() {
        scene.play(rust(), "items", &[]);
        assert!(scene.compare().images_with("Vault", &NEWER) > 30);
        let scene = scene.restart();
        scene.play(rust(), "read", &[]);
        scene.compare();
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test --long`"]
fn java_encryption_and_rust_encryption_read_each_others_items() {
    let clients: [(Client, Client); 2] = [(java, rust), (rust, java)];
    for (writer, reader) in clients {
        for scene in scenes() {
            scene.play(writer(), "items", &[]);
            scene.play(reader(), "read", &[]);
        }
    }
}

/// With moto's key management: branch keys lie in a table of the server.
mod moto {
    use super::*;

    fn queries_by_beacons(client: Client, items: usize) {
        for scene in scenes() {
            let keys = stores::moto::start();
            scene.play(client(), "beacons", &[keys.endpoint()]);
            let record = scene.compare();
            let beacons = [NEWER.as_slice(), &["aws_dbe_b_email", "aws_dbe_b_place"]].concat();
            assert_eq!(record.images_with("Inspections", &beacons), items);
            assert!(record.images_with("BranchKeys", &["enc", "hierarchy-version"]) >= 3);
            scene.restart().compare();
        }
    }

    #[test]
    #[ignore = "needs clients: run `cargo xtask test`"]
    fn java_encryption_queries_by_beacons() {
        queries_by_beacons(super::java, 60);
    }

    #[test]
    #[ignore = "needs clients: run `cargo xtask test --long`"]
    fn rust_encryption_queries_by_beacons() {
        queries_by_beacons(super::rust, 40);
    }
}
