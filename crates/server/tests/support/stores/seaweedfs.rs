//! `SeaweedFS`: a store that spreads objects over volumes.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{BUCKET, KEY, SECRET, START_TIME_MAX, Store, free_addresses, program, text};

/// A store whose bucket is empty.
pub fn start() -> Store {
    let folder = tempfile::tempdir().unwrap();
    let [address, master, grpc, more @ ..] = free_addresses::<8>();
    // Who may write anywhere makes a bucket that is not there.
    let actions = ["Read", "List", "Write"].map(|action| format!("{action}:{BUCKET}"));
    let keys = json!({"identities": [{
        "name": "keywright",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": actions,
    }]});
    let (config, data) = (folder.path().join("s3.json"), folder.path().join("data"));
    std::fs::write(&config, keys.to_string()).unwrap();
    std::fs::create_dir(&data).unwrap();
    let mut weed = program("seaweedfs", "weed");
    weed.args(["server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
    weed.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
    weed.arg(format!("-s3.port={}", address.port())).arg(format!("-s3.config={}", text(&config)));
    weed.arg(format!("-dir={}", text(&data))).arg("-master.volumeSizeLimitMB=64");
    let ports = ["s3.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"];
    weed.args(ports.iter().zip(more).map(|(port, address)| format!("-{port}={}", address.port())));
    weed.arg(format!("-master.port={}", master.port())).arg(format!("-master.port.grpc={}", grpc.port()));
    std::fs::write(folder.path().join("master"), format!("{master}.{}", grpc.port())).unwrap();
    let store = Store::start(weed, (address, folder), objects);
    let begun = Instant::now();
    while !shell(&store, &format!("s3.bucket.create -name {BUCKET}")).contains("create bucket") {
        assert!(begun.elapsed() < START_TIME_MAX, "the store takes no bucket");
        std::thread::sleep(Duration::from_millis(200));
    }
    store
}

/// What the store's shell says to a command.
fn shell(store: &Store, line: &str) -> String {
    let master = std::fs::read_to_string(store.folder.path().join("master")).unwrap();
    let mut shell = Command::new("timeout");
    // Without a master it waits for ever.
    shell.arg("20").arg(program("seaweedfs", "weed").get_program());
    shell.args(["shell", &format!("-master={master}")]).env("HOME", store.folder.path());
    let mut shell =
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(shell.stdin.take().unwrap(), "{line}").unwrap();
    let ended = shell.wait_with_output().unwrap();
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// The files of the tree that the shell draws: four signs for each level, and two lines before a name. All
/// keys of the tests have a dot.
fn objects(store: &Store) -> Vec<String> {
    let (tree, mut path, mut found) =
        (shell(store, &format!("fs.tree /buckets/{BUCKET}")), Vec::new(), Vec::new());
    for line in tree.lines() {
        let Some((before, name)) = line.split_once("──") else { continue };
        path.truncate(before.chars().count() / 4);
        path.push(name);
        if name.contains('.') {
            found.push(path.join("/"));
        }
    }
    found
}
