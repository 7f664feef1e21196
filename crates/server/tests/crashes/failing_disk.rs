//! A full or failing disk: clients get an error, no acknowledged write is lost, and a restart repairs the
//! server.
//!
//! `strace` injects most failures between the server and the kernel, by call and by file.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::folders;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::ledger::{TABLE, Workload, check, check_stream, enable_stream, generation_of};
use crate::support::strace;

#[tokio::test]
async fn a_full_disk_is_an_error_to_clients_and_costs_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    assert!(server.stop());
    let server = Server::on_full_disk(folder.path(), 2048).unwrap();
    let http = Http::new(server.address());
    let put = |number: u64| {
        let note = "x".repeat(4000);
        json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}, "sk": {"S": format!("{number:06}")}, "note": {"S": note}}})
    };
    let mut acknowledged = 0;
    let fault = loop {
        match http.call("PutItem", &put(acknowledged)).await {
            Answer::Good(_) => acknowledged += 1,
            other => break other,
        }
        assert!(acknowledged < 10_000, "the disk never filled");
    };
    assert_eq!(fault, Answer::Unknown("InternalServerError".to_owned()));
    let later = http.call("PutItem", &put(acknowledged)).await;
    assert_eq!(later, Answer::Unknown("InternalServerError".to_owned()), "it must not recover by itself");
    let read = async |http: &Http, number: u64| {
        let key = json!({"pk": {"S": "a"}, "sk": {"S": format!("{number:06}")}});
        http.call("GetItem", &json!({"TableName": "Tab", "Key": key})).await.good().get("Item").cloned()
    };
    assert_eq!(read(&http, 0).await, Some(put(0)["Item"].clone()), "reads go on");
    server.kill();
    let again = Server::on(folder.path());
    let http = Http::new(again.address());
    for number in 0..acknowledged {
        assert_eq!(read(&http, number).await, Some(put(number)["Item"].clone()), "{number}");
    }
    assert_eq!(http.call("PutItem", &put(acknowledged)).await, Answer::Good(json!({})));
    println!("{acknowledged} writes acknowledged before the disk was full, all found");
}

/// A system call that fails on one file from some call on.
struct Failing {
    call: &'static str,
    error: &'static str,
    /// Path in the data folder.
    file: &'static str,
    first: u64,
}

/// The calls of a store that can fail during writes: on the journal, the high-water mark, the tables and
/// their manifests.
const FAILING: [Failing; 8] = [
    Failing { call: "fdatasync", error: "EIO", file: "journal/00000001", first: 20 },
    Failing { call: "pwrite64", error: "EIO", file: "journal/00000001", first: 30 },
    Failing { call: "pwrite64", error: "ENOSPC", file: "journal/00000001", first: 30 },
    Failing { call: "write", error: "EIO", file: "acknowledged", first: 20 },
    Failing { call: "fsync", error: "EIO", file: "tables/tables/2", first: 1 },
    Failing { call: "write", error: "ENOSPC", file: "tables/tables/2", first: 2 },
    Failing { call: "fsync", error: "EIO", file: "tables", first: 3 },
    Failing { call: "renameat", error: "EIO", file: "tables/current", first: 3 },
];

impl Failing {
    /// Starts the server on this folder under the failure; also returns the failure's name.
    fn start(&self, folder: &Path) -> (Result<Server, String>, String) {
        let Self { call, error, file, first } = self;
        let runner = strace::saboteur(call, &folder.join(file), error, *first);
        let server = Server::under(runner, &["--data", folder.to_str().unwrap(), "--write-buffer-kib", "64"]);
        (server, format!("{error} of {call} {first} on {file}"))
    }
}

/// An empty store.
fn empty_store() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    folders::open(folder.path()).unwrap().close();
    folder
}

/// Puts new versions of one item until one fails. Returns the number of puts.
async fn put_until_refused(http: &Http, what: &str) -> u64 {
    for number in 0..3000 {
        if let Answer::Unknown(name) = http.call("PutItem", &numbered_put(number)).await {
            assert_eq!(name, "InternalServerError", "{what}");
            return number + 1;
        }
    }
    panic!("{what}: never seen by a client");
}

fn numbered_put(number: u64) -> Value {
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "a"}, "g": {"S": "g"}, "l": {"S": "l"},
        "generation": {"N": number.to_string()}});
    json!({"TableName": TABLE, "Item": item})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_disk_is_an_error_to_clients_and_costs_nothing_that_was_acknowledged() {
    if !strace::is_allowed("failing disks") {
        return;
    }
    for failing in FAILING {
        let folder = empty_store();
        let (server, what) = failing.start(folder.path());
        let server = server.unwrap();
        let asking = client(&server.endpoint, Caller::default());
        create_indexed_table(&asking, TABLE).await;
        enable_stream(&asking).await;
        let workload = Workload::new(0, 700);
        let writers = workload.start(&server.endpoint);
        let http = Http::new(server.address());
        let tried = put_until_refused(&http, &what).await;
        // The other writers continue for a while and fail in the same way.
        tokio::time::sleep(Duration::from_millis(100)).await;
        workload.stop(writers).await;
        let names = workload.refused();
        let acknowledged = workload.acknowledged_writes();
        // After a full disk it opens the store again by itself, see `full_disk`.
        if failing.error != "ENOSPC" {
            assert!(names.keys().eq(["InternalServerError"]), "{what}: {names:?}");
            let refused = Answer::Unknown("InternalServerError".to_owned());
            let later = http.call("PutItem", &numbered_put(tried)).await;
            assert_eq!(later, refused, "{what}: it must not recover by itself");
            check(&http, &acknowledged).await.unwrap_or_else(|fault| panic!("{what}, reads go on: {fault}"));
        }
        server.end_under("KILL");
        let again = Server::on(folder.path());
        let http = Http::new(again.address());
        let table = check(&http, &acknowledged).await.unwrap_or_else(|fault| panic!("{what}: {fault}"));
        check_stream(&http, &table).await.unwrap_or_else(|fault| panic!("{what}: {fault}"));
        // All puts but the last were acknowledged; the failed one may still be there.
        let own = table.get(&("a".to_owned(), "a".to_owned())).map(generation_of);
        let (acknowledged_last, refused_first) = (tried.checked_sub(2), tried - 1);
        assert!(own == acknowledged_last || own == Some(refused_first), "{what}: {own:?} of {tried} tried");
        let later = http.call("PutItem", &numbered_put(tried + 1)).await;
        assert_eq!(later, Answer::Good(json!({})), "{what}");
        println!("{what}: {} keys acknowledged and found", acknowledged.len());
    }
}

#[tokio::test]
async fn a_disk_that_fails_while_a_folder_is_opened_keeps_the_server_from_starting() {
    if !strace::is_allowed("failing disks") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    create_indexed_table(&client(&server.endpoint, Caller::default()), TABLE).await;
    server.kill();
    for (call, file) in [("fdatasync", "journal/00000001"), ("write", "acknowledged")] {
        let (server, what) = Failing { call, error: "EIO", file, first: 1 }.start(folder.path());
        let fault = server.err().unwrap_or_else(|| panic!("{what}: it started"));
        assert!(fault.contains(folder.path().to_str().unwrap()), "{what}: {fault}");
    }
    let again = Server::on(folder.path());
    let http = Http::new(again.address());
    assert_eq!(check(&http, &BTreeMap::new()).await, Ok(BTreeMap::new()));
}
