//! A server is frozen by SIGSTOP between the reads of a write and its commit, for longer than the time after
//! which it is counted out, while another server changes the table. When it goes on, its commit must not land
//! with the table as it was. The servers guard writers by slots, as over TiKV.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::unix::{OwnedReadHalf as SocketReadHalf, OwnedWriteHalf as SocketWriteHalf};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::support::Server;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::postgres::{server, url_or_say};

/// Less than PostgreSQL's answer is waited for.
const FROZEN_MAX: Duration = Duration::from_secs(11);
const GONE_MS: &str = "3000";
const DONE_WITHIN: Duration = Duration::from_secs(30);
/// The sort key of the item whose write is frozen: it stands in the keys of its rows.
const LATE: &str = "the-late-one";

/// How far the frozen write has come.
const WAITING: u8 = 0;
const READING: u8 = 1;
const FROZEN: u8 = 2;
const COMMITTING: u8 = 3;

/// Whether the late commit has the guard of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    Kept,
    /// The fault that the test must find: the proxy takes the slot out of the commit.
    LeftOut,
}

/// A way to PostgreSQL on which one write is frozen.
struct Freezer {
    address: SocketAddr,
    stage: Arc<AtomicU8>,
    is_frozen: Arc<Notify>,
}

struct Frozen {
    process: Arc<std::sync::OnceLock<u32>>,
    stage: Arc<AtomicU8>,
    stopped: Arc<Notify>,
    guard: Guard,
}

fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Stops a process, and waits until none of its threads runs: the signal alone does not wait for that.
fn stop(process: u32) {
    signal(process, "-STOP");
    let is_stopped = |thread: std::io::Result<std::fs::DirEntry>| {
        let status = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("stat")));
        status.map_or(true, |status| status.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")))
    };
    let threads = || std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    while !threads().all(is_stopped) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The beginning of the keys of all slots of tables with small numbers.
const SLOT: [u8; 8] = [0x1f, 0, 0, 0, 0, 0, 0, 0];
const SLOT_KEY_BYTES: usize = 1 + 8 + 16 + 2;

/// Lets a commit protect other rows than its slots; returns how many slots it had.
fn leave_out_slots(bytes: &mut [u8]) -> usize {
    let mut found = 0;
    for at in 0..bytes.len().saturating_sub(SLOT_KEY_BYTES) {
        if bytes[at..].starts_with(&SLOT) {
            bytes[at + SLOT_KEY_BYTES - 2] = 0xff;
            found += 1;
        }
    }
    found
}

impl Frozen {
    /// What the server sends: the reads of the late write, and its commit.
    async fn ask(self: Arc<Self>, mut from: OwnedReadHalf, mut to: SocketWriteHalf, own: Arc<AtomicU8>) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let sent = &mut bytes[..count];
            let is_late = sent.windows(LATE.len()).any(|window| window == LATE.as_bytes());
            let moves = |stage: u8, next: u8| {
                self.stage.compare_exchange(stage, next, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            };
            if is_late && self.process.get().is_some() && moves(WAITING, READING) {
                own.store(1, Ordering::SeqCst);
            } else if own.load(Ordering::SeqCst) == 1
                && moves(FROZEN, COMMITTING)
                && self.guard == Guard::LeftOut
            {
                assert!(leave_out_slots(sent) > 0, "the commit protects its slot");
            }
            if to.write_all(sent).await.is_err() {
                break;
            }
        }
        let _closed = to.shutdown().await;
    }

    /// What PostgreSQL answers: the server is stopped before it has the answer to the reads.
    async fn answer(self: Arc<Self>, mut from: SocketReadHalf, mut to: OwnedWriteHalf, own: Arc<AtomicU8>) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let is_read = own.load(Ordering::SeqCst) == 1;
            if is_read
                && self.stage.compare_exchange(READING, FROZEN, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            {
                stop(*self.process.get().unwrap());
                self.stopped.notify_one();
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
        let _closed = to.shutdown().await;
    }
}

impl Freezer {
    async fn to_socket(socket: PathBuf, process: &Arc<std::sync::OnceLock<u32>>, guard: Guard) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stage, is_frozen) = (Arc::new(AtomicU8::new(WAITING)), Arc::new(Notify::new()));
        let frozen = Arc::new(Frozen {
            process: Arc::clone(process),
            stage: Arc::clone(&stage),
            stopped: Arc::clone(&is_frozen),
            guard,
        });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (socket, frozen) = (socket.clone(), Arc::clone(&frozen));
                tokio::spawn(async move {
                    let Ok(server) = UnixStream::connect(socket).await else { return };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    let own = Arc::<AtomicU8>::default();
                    tokio::join!(
                        Arc::clone(&frozen).ask(from_client, to_server, Arc::clone(&own)),
                        frozen.answer(from_server, to_client, own),
                    );
                });
            }
        });
        Self { address, stage, is_frozen }
    }
}

fn create() -> Value {
    json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    })
}

fn put(sk: &str) -> Value {
    json!({"TableName": "tab", "Item": {"pk": {"S": "p"}, "sk": {"S": sk}, "g": {"S": "g"}}})
}

async fn count(http: &Http, table: &str, index: Option<&str>) -> usize {
    let mut scan = json!({"TableName": table});
    match index {
        Some(index) => scan["IndexName"] = index.into(),
        None => scan["ConsistentRead"] = true.into(),
    }
    http.call("Scan", &scan).await.good()["Items"].as_array().unwrap().len()
}

async fn wait_for(what: &str, mut is_there: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_there().await {
        assert!(began.elapsed() < DONE_WITHIN, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Freezes a write, changes its table meanwhile, and lets it go on. Returns the servers' address of the other
/// one, and the answer to the write.
async fn freeze(schema: &str, guard: Guard, change: impl AsyncFnOnce(&Http)) -> (Server, Server, Answer) {
    let postgres = server().unwrap();
    let process = Arc::new(std::sync::OnceLock::new());
    let freezer = Freezer::to_socket(postgres.socket(), &process, guard).await;
    let through = format!("postgres://postgres@{}/postgres?schema={schema}", freezer.address);
    let start = |url: &str| Server::start(&["--store", url, "--guard-slots", "--gone-ms", GONE_MS]);
    let (frozen, other) = (start(&through), start(&postgres.url(schema)));
    let (late, http) = (Http::new(frozen.address()), Http::new(other.address()));
    http.call("CreateTable", &create()).await.good();
    late.call("PutItem", &put("first")).await.good();
    http.call("PutItem", &put("second")).await.good();
    let members = format!(
        "SELECT count(*) FROM {schema}.keywright_rows \
         WHERE get_byte(key, 0) = 9 AND length(key) = 17 AND value IS NOT NULL"
    );
    assert_eq!(postgres.query(&members), "2");
    process.set(frozen.id()).unwrap();
    let written = async { late.call("PutItem", &put(LATE)).await };
    let meanwhile = async {
        freezer.is_frozen.notified().await;
        let began = Instant::now();
        change(&http).await;
        wait_for("the removal of its rows", async || postgres.query(&members) == "1").await;
        assert!(began.elapsed() < FROZEN_MAX, "it was frozen for {:?}", began.elapsed());
        signal(frozen.id(), "-CONT");
    };
    let (answer, ()) = tokio::join!(written, meanwhile);
    assert_eq!(freezer.stage.load(Ordering::SeqCst), COMMITTING, "its commit was sent");
    (frozen, other, answer)
}

/// The items of the table and of its new index.
async fn with_new_index(schema: &str) -> (usize, usize) {
    let add_index = json!({
        "TableName": "tab", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    let change = async |http: &Http| {
        http.call("UpdateTable", &add_index).await.good();
        // Its backfill passes the place of the late item.
        wait_for("the new index", async || {
            let described = http.call("DescribeTable", &json!({"TableName": "tab"})).await.good();
            described["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
        })
        .await;
    };
    let (_frozen, other, answer) = freeze(schema, Guard::Kept, change).await;
    answer.good();
    let http = Http::new(other.address());
    (count(&http, "tab", None).await, count(&http, "tab", Some("by-g")).await)
}

/// The items of a table that is restored from a backup that was answered before the late commit.
async fn with_backup(schema: &str, guard: Guard) -> usize {
    let mut arn = Value::Null;
    let change = async |http: &Http| {
        let wish = json!({"TableName": "tab", "BackupName": "backup"});
        arn = http.call("CreateBackup", &wish).await.good()["BackupDetails"]["BackupArn"].clone();
    };
    let (_frozen, other, answer) = freeze(schema, guard, change).await;
    answer.good();
    let http = Http::new(other.address());
    assert_eq!(count(&http, "tab", None).await, 3);
    let restore = json!({"TargetTableName": "restored", "BackupArn": arn});
    http.call("RestoreTableFromBackup", &restore).await.good();
    wait_for("the restored table", async || {
        let described = http.call("DescribeTable", &json!({"TableName": "restored"})).await.good();
        described["Table"]["TableStatus"] == "ACTIVE"
    })
    .await;
    count(&http, "restored", None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commit_of_a_server_that_was_frozen_does_not_miss_an_index_that_was_added_meanwhile() {
    if url_or_say("frozen_index").is_none() {
        return;
    }
    assert_eq!(with_new_index("frozen_index").await, (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commit_of_a_server_that_was_frozen_is_not_in_a_backup_that_was_answered_before() {
    if url_or_say("frozen_backup").is_none() {
        return;
    }
    assert_eq!(with_backup("frozen_backup", Guard::Kept).await, 2);
    assert_eq!(with_backup("unguarded_backup", Guard::LeftOut).await, 3, "the planted fault shows");
}
