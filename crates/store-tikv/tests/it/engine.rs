//! PD and three stores of TiKV's protocol with Raft, in a temporary folder on free ports. The tests of
//! `server` use it too.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const STORES: usize = 3;
const LISTEN_TRIES: usize = 600;
const LISTEN_PAUSE: Duration = Duration::from_millis(100);

/// A running cluster. It is started once for all tests of the program, and stopped by a watcher that outlives
/// the program: statics are not dropped.
pub struct TikvEngine {
    /// `HOST:PORT` of PD.
    pd: String,
}

/// The cluster, or why there is none.
pub fn engine() -> Result<&'static TikvEngine, &'static str> {
    static ENGINE: OnceLock<Result<TikvEngine, String>> = OnceLock::new();
    ENGINE.get_or_init(start).as_ref().map_err(String::as_str)
}

/// The address of a prefix of a running cluster; if there is none, says so.
pub fn url_or_say(prefix: &str) -> Option<String> {
    match engine() {
        Ok(engine) => Some(format!("tikv://{}/{prefix}", engine.pd)),
        Err(reason) => {
            eprintln!("PASSED OVER: {reason}");
            None
        }
    }
}

fn start() -> Result<TikvEngine, String> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tikv-engine");
    let (pd_server, store_server) = (programs.join("pd-server"), programs.join("unistore-server"));
    if !pd_server.exists() || !store_server.exists() {
        return Err("the test engine is not built (crates/store-tikv/tests/engine/build.sh)".to_owned());
    }
    let folder = tempfile::Builder::new().prefix("keywright-tikv-").tempdir();
    let folder = folder.map_err(|error| error.to_string())?.keep();
    let mut ports = free_ports(2 + 2 * STORES)?.into_iter();
    let mut address = || format!("127.0.0.1:{}", ports.next().unwrap_or_default());
    let pd = address();
    let mut processes = Vec::new();
    processes.push(spawn(
        Command::new(pd_server)
            // The etcd within this PD registers patterns that Go's router refuses since 1.22.
            .env("GODEBUG", "httpmuxgo121=1")
            .arg("--name=pd")
            .arg(format!("--data-dir={}", folder.join("pd").display()))
            .arg(format!("--client-urls=http://{pd}"))
            .arg(format!("--peer-urls=http://{}", address())),
        &folder.join("pd.log"),
    )?);
    wait_for(&pd)?;
    for number in 0..STORES {
        let data = folder.join(format!("store{number}"));
        std::fs::create_dir(&data).map_err(|error| error.to_string())?;
        let store = address();
        processes.push(spawn(
            Command::new(&store_server)
                // Its protocol's definitions are linked twice.
                .env("GOLANG_PROTOBUF_REGISTRATION_CONFLICT", "ignore")
                .args(["-pd", &pd, "-addr", &store, "-status-addr", &address(), "-data-dir"])
                .arg(&data),
            &folder.join(format!("store{number}.log")),
        )?);
        wait_for(&store)?;
    }
    watch(&processes, &folder)?;
    Ok(TikvEngine { pd })
}

fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    let listeners: Result<Vec<_>, _> = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect();
    let listeners = listeners.map_err(|error| error.to_string())?;
    let ports: Result<Vec<_>, _> =
        listeners.iter().map(|listener| listener.local_addr().map(|address| address.port())).collect();
    ports.map_err(|error| error.to_string())
}

fn spawn(command: &mut Command, log: &Path) -> Result<u32, String> {
    let log = std::fs::File::create(log).map_err(|error| error.to_string())?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).current_dir("/").spawn();
    child.map(|child| child.id()).map_err(|error| format!("{command:?}: {error}"))
}

fn wait_for(address: &str) -> Result<(), String> {
    for _ in 0..LISTEN_TRIES {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        std::thread::sleep(LISTEN_PAUSE);
    }
    Err(format!("nobody listens on {address}"))
}

/// Stops the processes and removes their folder when this process has ended.
fn watch(processes: &[u32], folder: &Path) -> Result<(), String> {
    let script = "while kill -0 \"$1\" 2>/dev/null; do sleep 1; done; folder=$2; shift 2; \
                  kill -KILL \"$@\"; rm -rf \"$folder\"";
    Command::new("setsid")
        .args(["bash", "-c", script, "watch", &std::process::id().to_string()])
        .arg(folder)
        .args(processes.iter().map(u32::to_string))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|_watcher| ())
        .map_err(|error| error.to_string())
}
