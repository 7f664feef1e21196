//! Keys that change while writers go on and the server is killed: nothing is lost, and the old keys open
//! nothing.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{ScopedJoinHandle, sleep};
use std::time::Duration;

use crate::scene::{Scene, create, errors, get, keywright, refused};
use crate::support::Server;
use crate::support::management;
use crate::support::raw::{Connection, request};

const WRITERS: usize = 3;
/// A small buffer has tables written and merged all the time.
const SMALL: [&str; 2] = ["--write-buffer-kib", "96"];

/// The key of an item that a writer of a load puts.
fn key(load: usize, writer: usize, number: usize) -> String {
    format!("{load}-{writer}-{number}")
}

/// Puts items until it is stopped or the server is gone; returns the numbers that were acknowledged.
fn write(address: &str, (load, writer): (usize, usize), is_over: &AtomicBool) -> Vec<usize> {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut stream = BufReader::new(stream);
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let item = format!(
            r#"{{"TableName": "Tab", "Item": {{"pk": {{"S": "{}"}}, "v": {{"S": "{number}-{}"}}}}}}"#,
            key(load, writer, number),
            "x".repeat(600)
        );
        if stream.get_mut().write_all(&request("PutItem", &item)).is_err() {
            break;
        }
        let mut length = 0;
        let mut status = String::new();
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap_or(0) > 2 {
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if !status.contains(" 200 ") || stream.read_exact(&mut body).is_err() {
            assert!(status.is_empty(), "{status}");
            break;
        }
        acknowledged.push(number);
    }
    acknowledged
}

/// A load, while this work is done: what each of its writers has put.
fn with_writers(server: &Server, load: usize, work: impl FnOnce()) -> Vec<Vec<usize>> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let start = |writer: usize| {
            let (address, is_over) = (server.address(), &is_over);
            scope.spawn(move || write(address, (load, writer), is_over))
        };
        let writers: Vec<ScopedJoinHandle<'_, Vec<usize>>> = (0..WRITERS).map(start).collect();
        work();
        is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    })
}

fn at(server: &Server, command: &str) -> String {
    let endpoint = server.endpoint.as_str();
    let variables =
        [("AWS_ACCESS_KEY_ID", "local"), ("AWS_SECRET_ACCESS_KEY", "local"), ("AWS_REGION", "us-east-1")];
    let done = crate::scene::keywright_with(&variables, &["encryption", command, "--endpoint", endpoint]);
    assert!(done.status.success(), "{command}: {}", errors(&done));
    String::from_utf8(done.stdout).unwrap()
}

fn ids(scene: &Scene) -> BTreeSet<String> {
    let status = scene.status();
    let keys = status["keys"].as_array().unwrap();
    keys.iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect()
}

/// Reads what each load has put; returns the number of items.
fn check(server: &Server, written: &[Vec<Vec<usize>>]) -> usize {
    let mut connection = Connection::open(server);
    let mut count = 0;
    for (load, writers) in written.iter().enumerate() {
        for (writer, numbers) in writers.iter().enumerate() {
            for number in numbers {
                let key = key(load, writer, *number);
                let found = get(&mut connection, "Tab", &key).unwrap_or_else(|| panic!("{key} is lost"));
                assert!(found.starts_with(&format!("{number}-x")), "{key}");
                count += 1;
            }
        }
    }
    count
}

#[test]
fn rotations_under_load_and_a_kill_lose_nothing_and_leave_nothing_under_old_keys() {
    let scene = Scene::new();
    let server = scene.server(&SMALL);
    create(&mut Connection::open(&server), "Tab");
    let first = ids(&scene);
    assert_eq!(first.len(), 1);
    scene.make_key("new");
    let old_key = fs::read(scene.path("key")).unwrap();
    let mut written = Vec::new();
    written.push(with_writers(&server, 0, || {
        sleep(Duration::from_millis(500));
        let rotated = scene.encryption(&["rotate-master", "--new-key-file", &scene.text("new")]);
        assert!(rotated.status.success(), "{}", errors(&rotated));
        // The server asks its source again: until that has the new key, its keys cannot be changed.
        let variables =
            [("AWS_ACCESS_KEY_ID", "local"), ("AWS_SECRET_ACCESS_KEY", "local"), ("AWS_REGION", "us-east-1")];
        let rotate = ["encryption", "rotate-data", "--endpoint", &server.endpoint];
        let said = refused(&crate::scene::keywright_with(&variables, &rotate));
        assert!(said.contains("put the new key where the server takes it from"), "{said}");
        fs::rename(scene.path("new"), scene.path("key")).unwrap();
        at(&server, "rotate-data");
        assert_eq!(ids(&scene).len(), 2);
        sleep(Duration::from_millis(300));
        let steps = std::thread::scope(|scope| {
            let rewriting = scope.spawn(|| {
                crate::scene::keywright_with(
                    &variables,
                    &["encryption", "rewrite", "--endpoint", &server.endpoint],
                )
            });
            sleep(Duration::from_millis(700));
            // In the middle of it.
            let killed = std::process::Command::new("kill").args(["-9", &server.id().to_string()]).status();
            assert!(killed.unwrap().success());
            rewriting.join().unwrap()
        });
        drop(steps);
    }));
    drop(server);

    fs::write(scene.path("old"), &old_key).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(scene.path("old"), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (data, old) = (scene.text("data"), scene.text("old"));
    let said = refused(&keywright(&["serve", "--port", "0", "--data", &data, "--encryption-key-file", &old]));
    assert!(said.contains("is not the key that it was encrypted with"), "{said}");

    let server = scene.server(&SMALL);
    let first_rows = check(&server, &written);
    assert!(first_rows > 100, "{first_rows} rows");
    let second = with_writers(&server, 1, || {
        at(&server, "rewrite");
    });
    written.push(second);
    let left = ids(&scene);
    assert!(left.len() == 1 && left.is_disjoint(&first), "{left:?} after {first:?}");
    let status = scene.status();
    assert_eq!((status["plain"]["bytes"].as_u64(), status["plain"]["files"].as_u64()), (Some(0), Some(0)));
    assert!(status["keys"][0]["bytes"].as_u64().unwrap() > 0, "{status}");
    // Those of before the kill too, which were written anew under the new key.
    assert!(check(&server, &written) > first_rows, "both loads are read");
    let metrics = management::get(&server, "/metrics").1;
    assert_eq!(management::sample(&metrics, "keywright_encrypted"), Some(1.0));
    assert!(at(&server, "status").contains("the master key is that of --encryption-key-file"));
    assert!(server.stop());
    let verified = keywright(&["verify", "--data", &data, "--encryption-key-file", &scene.text("key")]);
    assert!(verified.status.success(), "{}", errors(&verified));
}

#[test]
fn a_stopped_folder_gets_new_data_keys_too() {
    let scene = Scene::new();
    let server = scene.server(&SMALL);
    create(&mut Connection::open(&server), "Tab");
    let written = with_writers(&server, 0, || sleep(Duration::from_millis(500)));
    let said = refused(&scene.encryption(&["rotate-data"]));
    assert!(said.contains("pass --endpoint URL instead of --data"), "{said}");
    assert!(server.stop());
    let first = ids(&scene);
    let rotated = scene.encryption(&["rotate-data"]);
    assert!(rotated.status.success(), "{}", errors(&rotated));
    assert_eq!(ids(&scene).len(), 2);
    let rewritten = scene.encryption(&["rewrite"]);
    assert!(rewritten.status.success(), "{}", errors(&rewritten));
    let left = ids(&scene);
    assert!(left.len() == 1 && left.is_disjoint(&first), "{left:?} after {first:?}");
    let server = scene.server(&SMALL);
    check(&server, &[written]);
    assert!(server.stop());
}
