//! Real servers of other makers as sources. `cargo xtask test` installs them.

#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]

mod dynoxide;
mod moto;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A running server.
struct Foreign {
    process: Child,
    address: SocketAddr,
    /// Where it runs and logs.
    folder: tempfile::TempDir,
}

impl Foreign {
    /// Starts a program that listens on the address that it is given.
    fn start(program: impl FnOnce(SocketAddr, &std::path::Path) -> Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut program = program(address, folder.path());
        let mut process =
            program.current_dir(folder.path()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let log = || std::fs::read_to_string(folder.path().join("log"));
            assert!(process.try_wait().unwrap().is_none(), "the server has ended: {:?}", log());
            assert!(begun.elapsed() < START_TIME_MAX, "the server does not listen: {:?}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { process, address, folder }
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait().map(drop));
    }
}

/// A program that `cargo xtask test` has installed.
fn program(environment: &str, name: &str) -> Command {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    Command::new(PathBuf::from(clients).join(environment).join("bin").join(name))
}
