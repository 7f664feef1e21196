//! Branches over HTTP: a suite is seeded once, and each test has a copy of its own.

use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};
use serde_json::json;

use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::ledger::row;
use crate::support::raw::{Answer, Connection};
use crate::support::{Server, add_key};

const PATH: &str = "/_keywright/branch";
const OWN: (&str, &str) = ("X-Keywright", "branch");

fn call(server: &Server, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    Connection::open(server).send_to(PATH, method, headers, body.as_bytes())
}

#[tokio::test]
async fn each_test_of_a_suite_has_a_copy_of_the_seeded_tables() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let seeded = client(&server.endpoint, Caller::default());
    create_indexed_table(&seeded, "Tab").await;
    for number in 0..20 {
        let put = seeded.put_item().table_name("Tab").set_item(Some(row("a", number, number, "")));
        put.send().await.unwrap();
    }
    for account in ["000000000001", "000000000002"] {
        let body = format!(r#"{{"from": "us-east-1", "to": "{account}/us-east-1"}}"#);
        let made = call(&server, "POST", &[OWN], &body);
        assert_eq!((made.status, made.json()), (200, json!({"items": 20, "tables": ["Tab"]})));
        assert_eq!(call(&server, "POST", &[OWN], &body).status, 409);
        let own = client(&server.endpoint, Caller { access_key_id: account, ..Caller::default() });
        assert_eq!(own.scan().table_name("Tab").index_name("gsi").send().await.unwrap().count(), 20);
        own.put_item().table_name("Tab").set_item(Some(row("b", 1, 1, ""))).send().await.unwrap();
        assert_eq!(own.scan().table_name("Tab").send().await.unwrap().count(), 21);
    }
    assert_eq!(seeded.scan().table_name("Tab").send().await.unwrap().count(), 20);
    assert!(server.stop());

    let again = Server::on(folder.path());
    let first = Caller { access_key_id: "000000000001", ..Caller::default() };
    let own = client(&again.endpoint, first);
    assert_eq!(own.scan().table_name("Tab").send().await.unwrap().count(), 21);
    let dropped = call(&again, "DELETE", &[OWN], r#"{"branch": "000000000001/us-east-1"}"#);
    assert_eq!((dropped.status, dropped.json()), (200, json!({"tables": ["Tab"]})));
    assert_eq!(own.list_tables().send().await.unwrap().table_names().len(), 0);
    assert_eq!(call(&again, "DELETE", &[OWN], r#"{"branch": "us-east-1"}"#).status, 404);
}

#[test]
fn without_credentials_a_branch_needs_its_header_and_a_page_must_be_of_this_machine() {
    let server = Server::in_memory();
    let body = r#"{"from": "us-east-1", "to": "test-1"}"#;
    assert_eq!(call(&server, "POST", &[], body).status, 403);
    assert_eq!(call(&server, "POST", &[("X-Keywright", "other")], body).status, 403);
    let foreign = call(&server, "POST", &[OWN, ("Origin", "https://example.com")], body);
    assert_eq!(foreign.status, 400, "{}", foreign.text());
    assert!(foreign.header("access-control-allow-origin").is_none());
    let nothing = call(&server, "POST", &[OWN], body);
    assert_eq!(nothing.status, 404, "{}", nothing.text());
    assert_eq!(call(&server, "POST", &[OWN], "{").status, 400);
    assert_eq!(call(&server, "POST", &[OWN], &" ".repeat(5_000)).status, 400);
    assert_eq!(call(&server, "GET", &[OWN], "").status, 404);
}

#[tokio::test]
async fn with_credentials_a_branch_is_signed_and_stays_in_the_signers_account() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let (id, secret) = add_key(&file, &[]);
    let server = Server::start(&["--in-memory", "--credentials", file.to_str().unwrap()]);
    let seeded =
        client(&server.endpoint, Caller { access_key_id: &id, secret: &secret, region: "us-east-1" });
    create_indexed_table(&seeded, "Tab").await;
    let body = r#"{"from": "us-east-1", "to": "test-1"}"#;
    assert!(matches!(call(&server, "POST", &[OWN], body).status, 400 | 403));
    assert_eq!(call_signed(&server, &id, "wrong", body), 400);
    let foreign = r#"{"from": "us-east-1", "to": "999999999999/test-1"}"#;
    assert_eq!(call_signed(&server, &id, &secret, foreign), 403);
    assert_eq!(call_signed(&server, &id, &secret, body), 200);
    let own = client(&server.endpoint, Caller { access_key_id: &id, secret: &secret, region: "test-1" });
    assert_eq!(own.list_tables().send().await.unwrap().table_names(), ["Tab"]);
}

#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn call_signed(server: &Server, id: &str, secret: &str, body: &str) -> u16 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let time = TimeMs(u64::try_from(since.as_millis()).unwrap());
    let date = time.to_basic();
    let headers = [("host", "localhost"), ("x-amz-date", date.as_str())];
    let unsigned =
        SignedRequest { method: "POST", path: PATH, query: "", headers: &headers, body: body.as_bytes() };
    let authorization =
        Signer::new(id, secret, "us-east-1").authorization(&unsigned, &["host", "x-amz-date"], time);
    let sent = [("X-Amz-Date", date.as_str()), ("Authorization", authorization.as_str())];
    call(server, "POST", &sent, body).status
}

/// A table with its index, and so many items of about 100 KB.
async fn create_filled(server: &Server, region: &str, items: u64) {
    let caller = Caller { region, ..Caller::default() };
    let seeded = client(&server.endpoint, caller);
    create_indexed_table(&seeded, "Tab").await;
    for number in 0..items {
        let text = "x".repeat(100_000);
        seeded
            .put_item()
            .table_name("Tab")
            .set_item(Some(row("a", number, number, &text)))
            .send()
            .await
            .unwrap();
    }
}

fn make(server: &Server, to: &str) -> Answer {
    call(server, "POST", &[OWN], &json!({"from": "us-east-1", "to": to}).to_string())
}

fn drop_branch(server: &Server, branch: &str) -> u16 {
    call(server, "DELETE", &[OWN], &json!({ "branch": branch }).to_string()).status
}

#[track_caller]
fn assert_refused(answer: &Answer, setting: &str) {
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert!(answer.text().contains(setting), "{}", answer.text());
}

#[tokio::test]
async fn branches_beyond_their_number_are_refused_until_one_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--data", folder.path().to_str().unwrap(), "--branches-per-account", "2"];
    let server = Server::start(&arguments);
    create_filled(&server, "us-east-1", 0).await;
    assert_eq!(make(&server, "test-1").status, 200);
    // Without credentials a client can name any account: all share the limit.
    assert_eq!(make(&server, "000000000007/test-2").status, 200);
    assert_refused(&make(&server, "test-3"), "--branches-per-account");
    assert_refused(&make(&server, "000000000008/test-3"), "--branches-per-account");
    server.kill();
    let again = Server::start(&arguments);
    assert_refused(&make(&again, "test-3"), "--branches-per-account");
    assert_eq!(drop_branch(&again, "000000000007/test-2"), 200);
    assert_eq!(make(&again, "test-3").status, 200);
    // A branch whose tables were all deleted holds nothing.
    let own = client(&again.endpoint, Caller { region: "test-3", ..Caller::default() });
    own.delete_table().table_name("Tab").send().await.unwrap();
    assert_eq!(make(&again, "test-4").status, 200);
}

#[tokio::test]
async fn branches_beyond_their_bytes_are_refused_until_one_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--data", folder.path().to_str().unwrap(), "--branch-mib-per-account", "2"];
    let server = Server::start(&arguments);
    // 300 KB, and as much in each of the two indexes: two branches fit.
    create_filled(&server, "us-east-1", 3).await;
    assert_eq!(make(&server, "test-1").status, 200);
    assert_eq!(make(&server, "test-2").status, 200);
    assert_refused(&make(&server, "test-3"), "--branch-mib-per-account allows 2 MiB");
    server.kill();
    let again = Server::start(&arguments);
    assert_refused(&make(&again, "test-3"), "--branch-mib-per-account");
    // The share comes back at once, however long the rows take to be purged.
    for _ in 0..10 {
        assert_eq!(drop_branch(&again, "test-2"), 200);
        let made = make(&again, "test-2");
        assert_eq!(made.status, 200, "{}", made.text());
    }
    // A branch of a branch counts like any other.
    let of_branch = call(&again, "POST", &[OWN], r#"{"from": "test-2", "to": "test-3"}"#);
    assert_refused(&of_branch, "--branch-mib-per-account");
    let unlimited = ["--data", folder.path().to_str().unwrap(), "--branch-mib-per-account", "0"];
    assert!(again.stop());
    assert_eq!(make(&Server::start(&unlimited), "test-3").status, 200);
}

#[tokio::test]
async fn with_credentials_each_account_has_its_own_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let keys = ["111111111111", "222222222222"].map(|account| add_key(&file, &["--account", account]));
    let server = Server::start(&[
        "--in-memory",
        "--credentials",
        file.to_str().unwrap(),
        "--branches-per-account",
        "1",
    ]);
    for (id, secret) in &keys {
        let seeded = client(&server.endpoint, Caller { access_key_id: id, secret, region: "us-east-1" });
        create_indexed_table(&seeded, "Tab").await;
        assert_eq!(call_signed(&server, id, secret, r#"{"from": "us-east-1", "to": "test-1"}"#), 200);
        assert_eq!(call_signed(&server, id, secret, r#"{"from": "us-east-1", "to": "test-2"}"#), 409);
    }
}
