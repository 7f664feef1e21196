//! PD and three stores of TiKV's protocol with Raft, in a temporary folder on free ports. The tests of
//! `server` use it too.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

pub const STORES: usize = 3;
/// Rows with a lower prefix lie in one region, which all stores have: the test engine splits its regions at
/// `m`, and leaves one beyond it on a single store.
pub const REGION_OF_ALL_ENDS: &str = "m";
const LISTEN_TRIES: usize = 600;
const LISTEN_PAUSE: Duration = Duration::from_millis(100);

/// A running cluster. It is stopped when it is dropped, and by a watcher that outlives the program: statics
/// are not dropped.
pub struct TikvEngine {
    /// `HOST:PORT` of PD.
    pub pd: String,
    pd_peer: String,
    /// `HOST:PORT` of each store and of its status.
    stores: Vec<(String, String)>,
    folder: PathBuf,
    processes: Mutex<Vec<Option<Child>>>,
}

/// The place of PD among the processes; the stores come after it.
const PD: usize = 0;

/// The cluster, or why there is none.
pub fn engine() -> Result<&'static TikvEngine, &'static str> {
    static ENGINE: OnceLock<Result<TikvEngine, String>> = OnceLock::new();
    ENGINE.get_or_init(TikvEngine::start).as_ref().map_err(String::as_str)
}

/// Names another cluster for the tests that disturb none: `tikv://PD:PORT,PD:PORT?ca=FILE&cert=FILE&key=FILE`.
const OTHER: &str = "KEYWRIGHT_TEST_TIKV";

/// Whether the tests use a cluster of the user's.
pub fn is_other() -> bool {
    std::env::var_os(OTHER).is_some()
}

/// The address of a prefix of a running cluster; if there is none, says so.
pub fn url_or_say(prefix: &str) -> Option<String> {
    if let Ok(other) = std::env::var(OTHER) {
        let (pds, parameters) = other.split_once('?').unwrap_or((&other, ""));
        // Each run of a program has prefixes of its own.
        return Some(format!("{}/{prefix}-{}?{parameters}", pds.trim_end_matches('/'), std::process::id()));
    }
    match engine() {
        Ok(engine) => Some(engine.url(prefix)),
        Err(reason) => {
            eprintln!("PASSED OVER: {reason}");
            None
        }
    }
}

impl TikvEngine {
    /// Another cluster than the tests share, for those that disturb it; if there is none, says so.
    pub fn start_or_say() -> Option<Self> {
        Self::start().map_err(|reason| eprintln!("PASSED OVER: {reason}")).ok()
    }

    /// A cluster whose regions have their replicas on all stores.
    pub fn start() -> Result<Self, String> {
        if !program("pd-server").exists() || !program("unistore-server").exists() {
            return Err("the test engine is not built (crates/store-tikv/tests/engine/build.sh)".to_owned());
        }
        let folder = tempfile::Builder::new().prefix("keywright-tikv-").tempdir();
        let folder = folder.map_err(|error| error.to_string())?.keep();
        let ports = free_ports(2 + 2 * STORES)?;
        let address = |place: usize| format!("127.0.0.1:{}", ports.get(place).copied().unwrap_or_default());
        let engine = Self {
            pd: address(0),
            pd_peer: address(1),
            stores: (0..STORES).map(|store| (address(2 + 2 * store), address(3 + 2 * store))).collect(),
            processes: Mutex::new((0..=STORES).map(|_| None).collect()),
            folder,
        };
        watch(&engine.folder)?;
        engine.start_pd()?;
        for store in 0..STORES {
            engine.start_store(store)?;
        }
        engine.wait_for_replicas()?;
        Ok(engine)
    }

    pub fn url(&self, prefix: &str) -> String {
        format!("tikv://{}/{prefix}", self.pd)
    }

    pub fn store_address(&self, store: usize) -> &str {
        &self.stores[store].0
    }

    pub fn start_pd(&self) -> Result<(), String> {
        let mut command = Command::new(program("pd-server"));
        command
            // The etcd within this PD registers patterns that Go's router refuses since 1.22.
            .env("GODEBUG", "httpmuxgo121=1")
            .arg("--name=pd")
            .arg(format!("--data-dir={}", self.folder.join("pd").display()))
            .arg(format!("--client-urls=http://{}", self.pd))
            .arg(format!("--peer-urls=http://{}", self.pd_peer));
        self.run(PD, &mut command)?;
        self.wait_for(&self.pd, || {
            self.ask_pd("/pd/api/v1/leader").is_some_and(|said| said.contains("\"name\""))
        })
    }

    pub fn start_store(&self, store: usize) -> Result<(), String> {
        let (address, status) = self.stores[store].clone();
        self.start_store_at(store, &address, &status)
    }

    /// Starts a store at another address than before.
    pub fn start_store_at(&self, store: usize, address: &str, status: &str) -> Result<(), String> {
        let data = self.folder.join(format!("store{store}"));
        std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
        let mut command = Command::new(program("unistore-server"));
        command
            // Its protocol's definitions are linked twice.
            .env("GOLANG_PROTOBUF_REGISTRATION_CONFLICT", "ignore")
            .args(["-pd", &self.pd, "-addr", address, "-status-addr", status, "-data-dir"])
            .arg(&data);
        self.run(1 + store, &mut command)?;
        self.wait_for(address, || TcpStream::connect(address).is_ok())
    }

    pub fn kill_pd(&self) {
        self.kill(PD);
    }

    pub fn kill_store(&self, store: usize) {
        self.kill(1 + store);
    }

    fn kill(&self, place: usize) {
        if let Some(mut process) = self.processes.lock().unwrap()[place].take() {
            let _ended = process.kill();
            let _ended = process.wait();
        }
    }

    /// Which store leads the region of the tests' rows.
    pub fn leading_store(&self) -> Option<usize> {
        let regions = self.ask_pd("/pd/api/v1/regions")?;
        let first = regions.split("\"start_key\":\"\"").nth(1)?;
        let leader = number_after(first.split("\"leader\":").nth(1)?, "\"store_id\":")?;
        let stores = self.ask_pd("/pd/api/v1/stores")?;
        let own = stores.split("\"store\":").find(|store| number_after(store, "\"id\":") == Some(leader))?;
        (0..STORES).find(|store| own.contains(&format!("\"{}\"", self.stores[*store].0)))
    }

    fn wait_for_replicas(&self) -> Result<(), String> {
        let peers = |region: &str| {
            region.split("\"leader\":").next().map(|own| own.matches("\"role_name\":\"Voter\"").count())
        };
        self.wait_for("three replicas", || {
            self.ask_pd("/pd/api/v1/regions").is_some_and(|regions| {
                regions
                    .split("\"start_key\":")
                    .filter(|region| region.starts_with("\"\"") || region.starts_with("\"6D"))
                    .all(|region| peers(region) == Some(STORES))
            })
        })
    }

    /// The bytes that each store's folder takes.
    pub fn sizes(&self) -> String {
        let size = |store: usize| bytes_in(&self.folder.join(format!("store{store}")));
        format!("bytes of the stores: {:?}", (0..STORES).map(size).collect::<Vec<u64>>())
    }

    /// The answer to a GET of PD's.
    pub fn ask_pd(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.pd).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        let head = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.pd);
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).split_whitespace().collect())
    }

    fn run(&self, place: usize, command: &mut Command) -> Result<(), String> {
        let name = if place == PD { "pd".to_owned() } else { format!("store{}", place - 1) };
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("{name}.log")))
            .map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).current_dir("/").spawn();
        let child = child.map_err(|error| format!("{command:?}: {error}"))?;
        let pid = self.folder.join(format!("{name}.pid"));
        std::fs::write(pid, format!("{}\n", child.id())).map_err(|error| error.to_string())?;
        self.processes.lock().unwrap()[place] = Some(child);
        Ok(())
    }

    fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) -> Result<(), String> {
        for _ in 0..LISTEN_TRIES {
            if is_there() {
                return Ok(());
            }
            let mut processes = self.processes.lock().unwrap();
            if processes.iter_mut().flatten().any(|process| !matches!(process.try_wait(), Ok(None))) {
                return Err(format!("a process of the test engine ended: see {}", self.folder.display()));
            }
            drop(processes);
            std::thread::sleep(LISTEN_PAUSE);
        }
        Err(format!("the test engine has no {what}"))
    }
}

impl Drop for TikvEngine {
    fn drop(&mut self) {
        (0..=STORES).for_each(|place| self.kill(place));
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}

/// Files are as large as the engine will need them; only what is written takes room.
fn bytes_in(folder: &Path) -> u64 {
    const BLOCK_BYTES: u64 = 512;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.blocks() * BLOCK_BYTES,
        Err(_gone) => 0,
    });
    bytes.sum()
}

fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.split(name).nth(1)?;
    rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tikv-engine").join(name)
}

pub fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    let listeners: Result<Vec<_>, _> = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect();
    let listeners = listeners.map_err(|error| error.to_string())?;
    let ports: Result<Vec<_>, _> =
        listeners.iter().map(|listener| listener.local_addr().map(|address| address.port())).collect();
    ports.map_err(|error| error.to_string())
}

/// Stops the processes and removes their folder when this process has ended.
fn watch(folder: &Path) -> Result<(), String> {
    let script = "while kill -0 \"$1\" 2>/dev/null; do sleep 1; done; \
                  [ -d \"$2\" ] || exit 0; kill -KILL $(cat \"$2\"/*.pid); rm -rf \"$2\"";
    Command::new("setsid")
        .args(["bash", "-c", script, "watch", &std::process::id().to_string()])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|_watcher| ())
        .map_err(|error| error.to_string())
}
