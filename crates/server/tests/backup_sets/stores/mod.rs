//! Backups in real S3-compatible stores, which check signatures.
//!
//! `cargo xtask test` installs rclone's, and with `--long` also `SeaweedFS`.

#![allow(clippy::disallowed_methods, reason = "the stores have the real time")]

mod line;
mod rclone;
mod scenes;
mod seaweedfs;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use self::line::Line;
use crate::bank::{command, said};
use crate::support::Server;

pub(crate) const BUCKET: &str = "backups";
const KEY: &str = "AKSTORE";
const SECRET: &str = "a/secret+of the store";
const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A store with one bucket, behind a line that can be cut.
struct Store {
    process: Child,
    folder: tempfile::TempDir,
    line: Line,
    /// The objects of the bucket.
    objects: fn(&Self) -> Vec<String>,
}

impl Store {
    /// Starts a store, which is to listen on this address.
    fn start(
        mut program: Command,
        (address, folder): (SocketAddr, tempfile::TempDir),
        objects: fn(&Self) -> Vec<String>,
    ) -> Self {
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut process =
            program.stdout(log.try_clone().unwrap()).stderr(log).env("HOME", folder.path()).spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = || std::fs::read_to_string(folder.path().join("log"));
            assert!(process.try_wait().unwrap().is_none(), "the store has ended: {:?}", log());
            assert!(begun.elapsed() < START_TIME_MAX, "the store does not listen: {:?}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, folder, line: Line::to(address), objects }
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.line.address)
    }

    fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("KEYWRIGHT_S3_ENDPOINT", self.endpoint()),
            ("KEYWRIGHT_S3_ACCESS_KEY_ID", KEY.to_owned()),
            ("KEYWRIGHT_S3_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// Runs a command that knows how to reach the store.
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        said(&command(arguments).envs(self.variables()).output().unwrap())
    }

    /// Starts a server that copies backups to this place.
    fn server(&self, to: &str, arguments: &[&str]) -> Server {
        let mut runner = Command::new("env");
        runner.args(self.variables().map(|(name, value)| format!("{name}={value}")));
        Server::under(runner, &[&["--backup-to", to][..], arguments].concat()).unwrap()
    }

    fn objects(&self) -> Vec<String> {
        (self.objects)(self)
    }

    fn manifests(&self) -> usize {
        self.objects().iter().filter(|name| name.ends_with("/manifest.json")).count()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ended = (self.process.kill(), self.process.wait());
    }
}

/// A place of the bucket.
fn place(prefix: &str) -> String {
    format!("s3://{BUCKET}/{prefix}")
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
