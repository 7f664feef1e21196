//! Real S3-compatible stores, each with one bucket. `cargo xtask test` installs them: the tests that need one
//! are in a module of its name below one called `stores`.

#![allow(clippy::disallowed_methods, reason = "the stores have the real time")]

mod line;
pub mod moto;
pub mod rclone;
pub mod seaweedfs;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use keywright_objects::{S3Keys, S3Settings};

pub use self::line::Line;
use super::Server;

pub const BUCKET: &str = "shop";
pub const KEY: &str = "AKSTORE";
pub const SECRET: &str = "a/secret+of the store";
const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A store with one bucket, behind a line that can be cut.
pub struct Store {
    process: Child,
    pub folder: tempfile::TempDir,
    pub line: Line,
    /// The keys of the bucket.
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

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.line.address)
    }

    /// What a server or a command is given to reach it.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("KEYWRIGHT_S3_ENDPOINT", self.endpoint()),
            ("KEYWRIGHT_S3_ACCESS_KEY_ID", KEY.to_owned()),
            ("KEYWRIGHT_S3_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// What a client is given to reach it.
    pub fn settings(&self) -> S3Settings {
        let keys = S3Keys {
            access_key_id: KEY.to_owned(),
            secret_access_key: SECRET.to_owned(),
            session_token: None,
        };
        S3Settings {
            endpoint: Some(self.endpoint()),
            region: "us-east-1".to_owned(),
            keys: Some(keys),
            allow_http: true,
            ..S3Settings::default()
        }
    }

    /// Starts a server that knows how to reach the store.
    pub fn server(&self, arguments: &[&str]) -> Server {
        let mut runner = Command::new("env");
        runner.args(self.variables().map(|(name, value)| format!("{name}={value}")));
        Server::under(runner, arguments).unwrap()
    }

    /// The keys of the bucket, past our own client.
    pub fn objects(&self) -> Vec<String> {
        (self.objects)(self)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ended = (self.process.kill(), self.process.wait());
    }
}

/// An address that nobody has.
pub fn free_address() -> SocketAddr {
    let [address] = free_addresses();
    address
}

/// Addresses that nobody has, each another one.
fn free_addresses<const COUNT: usize>() -> [SocketAddr; COUNT] {
    let held = [(); COUNT].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.each_ref().map(|listener| listener.local_addr().unwrap())
}

/// A program of a store that `cargo xtask test` has installed.
fn program(environment: &str, name: &str) -> Command {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    Command::new(PathBuf::from(clients).join(environment).join("bin").join(name))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
