//! PostgreSQL that fails over: Patroni over three servers with a synchronous standby, with etcd, and HAProxy
//! if it is wanted. Everything is on this machine, on free ports and in a temporary folder. It does not know
//! Keywright.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) const NODES: usize = 3;
/// How long the primary may be silent before another one takes its place, in seconds. Short, because it is
/// part of the time of every kill; Patroni's default is 30.
const TTL_S: u64 = 8;
/// To start, to fail over, to become whole again: much longer than it takes on a busy machine.
const READY_WITHIN: Duration = Duration::from_mins(3);
const PASSWORD: &str = "secret";

/// One node: Patroni's own process, and its ports.
struct Node {
    patroni: Option<Child>,
    postgres: u16,
    rest: u16,
}

/// Three nodes, and what they need. All of it ends when this is dropped.
pub(crate) struct Cluster {
    folder: PathBuf,
    nodes: Vec<Node>,
    others: Vec<Child>,
    haproxy: u16,
}

/// A member's name and role, as Patroni says them.
#[derive(Debug)]
struct Member {
    node: usize,
    role: String,
    is_running: bool,
    timeline: u64,
}

impl Cluster {
    /// Starts everything; the error names what is not installed.
    pub(crate) fn start(with_haproxy: bool) -> Result<Self, String> {
        let mut needed = vec![("patroni", "patroni"), ("etcd", "etcd-server")];
        if with_haproxy {
            needed.push(("haproxy", "haproxy"));
        }
        let missing: Vec<&str> =
            needed.iter().filter(|(name, _)| program(name).is_none()).map(|(_, package)| *package).collect();
        let postgres = postgres_programs().ok_or("postgresql is not installed: nothing fails over");
        if !missing.is_empty() {
            return Err(format!(
                "not installed: {} (apt-get install {})",
                missing.join(", "),
                missing.join(" ")
            ));
        }
        let postgres = postgres?;
        let ports = free_ports(2 * NODES + 3);
        let folder = tempfile::Builder::new().prefix("keywright-patroni-").tempdir().unwrap().keep();
        let nodes =
            (0..NODES).map(|at| Node { patroni: None, postgres: ports[2 * at], rest: ports[2 * at + 1] });
        let [client, peer, haproxy] = [0, 1, 2].map(|more| ports[2 * NODES + more]);
        let mut cluster = Self { folder, nodes: nodes.collect(), others: Vec::new(), haproxy };
        cluster.watch();
        for at in 0..NODES {
            std::fs::write(cluster.file(at, "yml"), cluster.settings(at, client, &postgres).to_string())
                .unwrap();
        }
        std::fs::write(cluster.folder.join("haproxy.cfg"), cluster.haproxy_settings()).unwrap();
        if is_root() {
            let owned = Command::new("chown").args(["-R", "postgres"]).arg(&cluster.folder).status();
            assert!(owned.unwrap().success());
        }
        let (urls, peers) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let data = cluster.folder.join("etcd");
        let mut etcd = cluster.command("etcd", "etcd");
        etcd.arg("--data-dir").arg(&data);
        etcd.args(["--listen-client-urls", &urls, "--advertise-client-urls", &urls]);
        etcd.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        etcd.args(["--initial-cluster", &format!("default={peers}")]);
        cluster.others.push(etcd.spawn().unwrap());
        for at in 0..NODES {
            cluster.start_node(at);
        }
        if with_haproxy {
            let mut haproxy = cluster.command("haproxy", "haproxy");
            haproxy.arg("-db").arg("-f").arg(cluster.folder.join("haproxy.cfg"));
            cluster.others.push(haproxy.spawn().unwrap());
        }
        cluster.wait_until_whole();
        Ok(cluster)
    }

    fn file(&self, node: usize, kind: &str) -> PathBuf {
        self.folder.join(format!("node{node}.{kind}"))
    }

    fn data(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node{node}"))
    }

    /// JSON is YAML.
    fn settings(&self, at: usize, etcd: u16, programs: &Path) -> Value {
        let Node { postgres, rest, .. } = &self.nodes[at];
        let address = |port: &u16| {
            json!({
                "listen": format!("127.0.0.1:{port}"), "connect_address": format!("127.0.0.1:{port}"),
            })
        };
        let mut server = address(postgres);
        server["data_dir"] = json!(self.data(at));
        server["bin_dir"] = json!(programs);
        server["pgpass"] = json!(self.file(at, "pgpass"));
        server["authentication"] = json!({
            "superuser": {"username": "postgres", "password": PASSWORD},
            "replication": {"username": "replicator", "password": PASSWORD},
        });
        server["parameters"] = json!({"unix_socket_directories": self.folder});
        server["pg_hba"] = json!([
            "host all all 127.0.0.1/32 scram-sha-256",
            "host replication replicator 127.0.0.1/32 scram-sha-256",
        ]);
        json!({
            "scope": "keywright", "name": format!("node{at}"), "restapi": address(rest),
            "etcd3": {"host": format!("127.0.0.1:{etcd}")}, "postgresql": server,
            "bootstrap": {
                "dcs": {
                    "ttl": TTL_S, "loop_wait": 1, "retry_timeout": 3,
                    "synchronous_mode": true, "synchronous_mode_strict": true,
                    "postgresql": {
                        "use_pg_rewind": true,
                        "parameters": {"max_connections": 300, "wal_keep_size": "512MB"},
                    },
                },
                "initdb": [{"encoding": "UTF8"}, "data-checksums"],
            },
        })
    }

    fn haproxy_settings(&self) -> String {
        let servers = self.nodes.iter().enumerate().map(|(at, node)| {
            format!("  server node{at} 127.0.0.1:{} check port {}\n", node.postgres, node.rest)
        });
        format!(
            "defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 60m\n  timeout server 60m\n\
             listen postgresql\n  bind 127.0.0.1:{}\n  option httpchk OPTIONS /primary\n  \
             http-check expect status 200\n  \
             default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n{}",
            self.haproxy,
            servers.collect::<String>()
        )
    }

    /// A program as a user whom PostgreSQL does not refuse, with its output in a file.
    fn command(&self, name: &str, log: &str) -> Command {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("{log}.log")))
            .unwrap();
        let program = program(name).unwrap();
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    pub(crate) fn start_node(&mut self, at: usize) {
        let mut patroni = self.command("patroni", &format!("patroni{at}"));
        let patroni = patroni.arg(self.file(at, "yml")).spawn().unwrap();
        self.nodes[at].patroni = Some(patroni);
    }

    /// SIGKILL for Patroni and every process of the PostgreSQL server on a node.
    pub(crate) fn kill_node(&mut self, at: usize) {
        if let Some(mut patroni) = self.nodes[at].patroni.take() {
            patroni.kill().unwrap();
            patroni.wait().unwrap();
        }
        self.kill_postgres(at);
    }

    /// SIGKILL for every process of the PostgreSQL server on a node.
    pub(crate) fn kill_postgres(&self, at: usize) {
        let Ok(text) = std::fs::read_to_string(self.data(at).join("postmaster.pid")) else { return };
        let Some(postmaster) = text.lines().next() else { return };
        // The file stays when the process is killed, and its number may be another one's by now.
        let called = std::fs::read_to_string(format!("/proc/{postmaster}/cmdline")).unwrap_or_default();
        if !called.contains(self.data(at).to_str().unwrap()) {
            return;
        }
        // The children end with their parent, but not at once.
        let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
        let children = children.unwrap_or_default();
        let all = std::iter::once(postmaster).chain(children.split_whitespace());
        let _ = Command::new("kill").arg("-9").args(all).stderr(Stdio::null()).status();
    }

    /// Has another node become the primary in an orderly way.
    pub(crate) fn switch_over(&self) -> usize {
        let leader = self.leader().unwrap();
        let candidate = self.synchronous().unwrap();
        let names = ["--master", &format!("node{leader}"), "--candidate", &format!("node{candidate}")]
            .map(str::to_owned);
        let mut switchover = self.command("patronictl", "patronictl");
        switchover.arg("-c").arg(self.file(candidate, "yml")).args(["switchover", "keywright", "--force"]);
        assert!(switchover.args(names).status().unwrap().success(), "patronictl switchover");
        candidate
    }

    /// What each of the nodes that answer says of the cluster: the answer of the first one.
    fn members(&self) -> Vec<Member> {
        let mut answers = self.nodes.iter().filter(|node| node.patroni.is_some());
        let told = answers.find_map(|node| rest(node.rest, "/cluster")).unwrap_or_default();
        let member = |member: &Value| {
            Some(Member {
                node: member["name"].as_str()?.strip_prefix("node")?.parse().ok()?,
                role: member["role"].as_str()?.to_owned(),
                is_running: matches!(member["state"].as_str()?, "running" | "streaming"),
                timeline: member["timeline"].as_u64()?,
            })
        };
        told["members"].as_array().into_iter().flatten().filter_map(member).collect()
    }

    /// The primary.
    pub(crate) fn leader(&self) -> Option<usize> {
        self.members()
            .iter()
            .find(|member| member.role == "leader" && member.is_running)
            .map(|member| member.node)
    }

    fn synchronous(&self) -> Option<usize> {
        self.members().iter().find(|member| member.role == "sync_standby").map(|member| member.node)
    }

    /// Waits until all nodes run on one timeline, one of them as the primary and one as its synchronous
    /// standby.
    pub(crate) fn wait_until_whole(&self) {
        let began = Instant::now();
        loop {
            let members = self.members();
            let timelines: BTreeSet<u64> = members.iter().map(|member| member.timeline).collect();
            let count = |role: &str| members.iter().filter(|member| member.role == role).count();
            let running = members.iter().filter(|member| member.is_running).count();
            if (running, timelines.len(), count("leader"), count("sync_standby")) == (NODES, 1, 1, 1) {
                return;
            }
            assert!(began.elapsed() < READY_WITHIN, "{members:?}: see {}", self.folder.display());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The address of all servers, or of HAProxy.
    pub(crate) fn url(&self, by_haproxy: bool) -> String {
        let hosts = if by_haproxy {
            format!("127.0.0.1:{}", self.haproxy)
        } else {
            let hosts = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.postgres));
            hosts.collect::<Vec<String>>().join(",")
        };
        format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write")
    }

    /// The file with the password.
    pub(crate) fn password(&self) -> PathBuf {
        let file = self.folder.join("password");
        std::fs::write(&file, PASSWORD).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        file
    }

    /// Ends everything when this process ends without dropping it.
    fn watch(&self) {
        let script = "while kill -0 \"$1\" 2>/dev/null; do sleep 1; done; for p in /proc/[0-9]*; do \
                      [ \"$(readlink \"$p/cwd\")\" = \"$2\" ] && kill -9 \"${p##*/}\"; done; \
                      for f in \"$2\"/node?/postmaster.pid; do p=$(head -1 \"$f\"); \
                      grep -q \"$2\" \"/proc/$p/cmdline\" && kill -QUIT \"$p\"; done; \
                      sleep 2; rm -rf \"$2\"";
        let watcher = Command::new("setsid")
            .args(["bash", "-c", script, "watch", &std::process::id().to_string()])
            .arg(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        watcher.map(|_watcher| ()).unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for at in 0..NODES {
            if let Some(mut patroni) = self.nodes[at].patroni.take() {
                let _ = patroni.kill();
                let _ = patroni.wait();
            }
            self.kill_postgres(at);
        }
        for other in &mut self.others {
            let _ = other.kill();
            let _ = other.wait();
        }
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// What Patroni's interface answers.
fn rest(port: u16, path: &str) -> Option<Value> {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let wait = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&address, wait).ok()?;
    stream.set_read_timeout(Some(wait)).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
}

/// Ports that nobody listens at now.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// A program, also where only administrators look for it.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/usr/local/sbin"]);
    folders.map(|folder| Path::new(folder).join(name)).find(|program| program.exists())
}

/// The newest installed server's programs.
fn postgres_programs() -> Option<PathBuf> {
    let found = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    found.map(|entry| entry.path().join("bin")).filter(|folder| folder.join("initdb").exists()).max()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
