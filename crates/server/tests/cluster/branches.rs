//! Branches over several servers: each is of one moment and whole, or not there, at every server, also when
//! the server that makes it is killed.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, PutRequest, TransactWriteItem, WriteRequest};
use serde_json::json;
use tokio::time::Instant;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::{Dice, wanted};
use crate::support::fleet::{Kind, kind};
use crate::support::ledger::row;
use crate::support::postgres;
use crate::support::raw::{Answer, Connection};
use crate::support::shared_store::url_or_say;

const PATH: &str = "/_keywright/branch";
const OWN: (&str, &str) = ("X-Keywright", "branch");
const TABLE: &str = "Tab";
const BATCH: u64 = 25;
/// In the rows of items and entries, and nowhere else in the store.
const MARK: &str = "row-of-a-branch-and-its-source";
/// A dead server is counted out after five seconds; then its rows are removed.
const REMOVED_WITHIN: Duration = Duration::from_secs(30);

fn at(server: &Server, region: &str) -> Client {
    client(&server.endpoint, Caller { region, ..Caller::default() })
}

fn call(server: &Server, method: &str, body: &serde_json::Value) -> Answer {
    Connection::open(server).send_to(PATH, method, &[OWN], body.to_string().as_bytes())
}

fn make(server: &Server, to: &str) -> Answer {
    call(server, "POST", &json!({"from": "us-east-1", "to": to}))
}

fn drop_branch(server: &Server, branch: &str) -> Answer {
    call(server, "DELETE", &json!({ "branch": branch }))
}

/// Puts items with this padding into the table.
async fn fill(client: &Client, count: u64, padding: &str) {
    for first in (0..count).step_by(usize::try_from(BATCH).unwrap()) {
        let puts = (first..count.min(first + BATCH)).map(|number| {
            let put = PutRequest::builder().set_item(Some(row("a", number, number, padding)));
            WriteRequest::builder().put_request(put.build().unwrap()).build()
        });
        let written = client.batch_write_item().request_items(TABLE, puts.collect()).send().await.unwrap();
        assert!(written.unprocessed_items().is_none_or(std::collections::HashMap::is_empty));
    }
}

/// The number of items of the table or of an index.
async fn count(client: &Client, index: Option<&str>) -> u64 {
    let (mut counted, mut last) = (0, None);
    loop {
        let scan = client.scan().table_name(TABLE).set_index_name(index.map(str::to_owned));
        let scan = scan.consistent_read(index.is_none()).set_exclusive_start_key(last);
        let page = scan.send().await.unwrap();
        counted += u64::try_from(page.count()).unwrap();
        last = page.last_evaluated_key().cloned();
        if last.is_none() {
            return counted;
        }
    }
}

async fn tables(client: &Client) -> Vec<String> {
    client.list_tables().send().await.unwrap().table_names().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_of_one_server_is_used_and_dropped_at_another() {
    let Some(url) = url_or_say("branches") else { return };
    let servers = [Server::on_store(&url), Server::on_store(&url)];
    let source = at(&servers[0], "us-east-1");
    create_indexed_table(&source, TABLE).await;
    fill(&source, 60, "").await;
    let made = make(&servers[0], "test-1");
    assert_eq!((made.status, made.json()), (200, json!({"items": 60, "tables": [TABLE]})), "{}", made.text());
    let other = at(&servers[1], "test-1");
    for index in [None, Some("gsi")] {
        assert_eq!(count(&other, index).await, 60, "{index:?}");
    }
    let described = other.describe_table().table_name(TABLE).send().await.unwrap();
    assert!(described.table().unwrap().table_arn().unwrap().contains(":test-1:"));
    other.put_item().table_name(TABLE).set_item(Some(row("b", 1, 1, ""))).send().await.unwrap();
    assert_eq!((count(&at(&servers[0], "test-1"), Some("gsi")).await, count(&source, None).await), (61, 60));
    assert_eq!(make(&servers[1], "test-1").status, 409, "the place has tables");
    let of_branch = call(&servers[1], "POST", &json!({"from": "test-1", "to": "test-2"}));
    assert_eq!(of_branch.json()["items"], 61);
    for (server, branch) in [(&servers[1], "test-1"), (&servers[0], "test-2")] {
        assert_eq!(drop_branch(server, branch).json(), json!({"tables": [TABLE]}));
    }
    for server in &servers {
        assert_eq!(tables(&at(server, "test-1")).await, Vec::<String>::new());
        assert_eq!(drop_branch(server, "test-1").status, 404);
    }
    let put = at(&servers[0], "test-1").put_item().table_name(TABLE).set_item(Some(row("b", 1, 1, "")));
    let refused = put.send().await.unwrap_err().into_service_error();
    assert!(refused.is_resource_not_found_exception(), "{refused:?}");
    assert_eq!(count(&source, None).await, 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_servers_that_make_a_branch_of_one_place_at_once_one_succeeds() {
    let Some(url) = url_or_say("branches_at_once") else { return };
    let servers = [Server::on_store(&url), Server::on_store(&url), Server::on_store(&url)];
    let source = at(&servers[0], "us-east-1");
    create_indexed_table(&source, TABLE).await;
    fill(&source, 100, "").await;
    for round in 0..5 {
        // A place of its own: for a second, a server may read the branch that was dropped there.
        let place = format!("test-{round}");
        let place = place.as_str();
        let answers: Vec<u16> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                servers.iter().map(|server| scope.spawn(move || make(server, place).status)).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        let made = answers.iter().filter(|status| **status == 200).count();
        let refused = answers.iter().filter(|status| **status == 409).count();
        assert_eq!((made, refused), (1, 2), "{answers:?}");
        for server in &servers {
            for index in [None, Some("gsi")] {
                assert_eq!(count(&at(server, place), index).await, 100);
            }
        }
        assert_eq!(drop_branch(&servers[1], place).status, 200);
    }
}

/// Two items of two tables that always have the same number.
const PAIR: [&str; 2] = ["Left", "Right"];

async fn number_of(client: &Client, table: &str) -> u64 {
    let key = AttributeValue::S("pair".to_owned());
    let get = client.get_item().table_name(table).key("pk", key.clone()).key("sk", key).consistent_read(true);
    get.send().await.unwrap().item().unwrap()["n"].as_n().unwrap().parse().unwrap()
}

async fn set_both(client: &Client, number: u64) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = |table: &&str| {
        let put = Put::builder().table_name(*table).item("pk", text("pair")).item("sk", text("pair"));
        let put = put.item("n", AttributeValue::N(number.to_string())).build().unwrap();
        TransactWriteItem::builder().put(put).build()
    };
    let actions = PAIR.iter().map(put).collect();
    client.transact_write_items().set_transact_items(Some(actions)).send().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_of_one_moment_while_another_server_writes() {
    let Some(url) = url_or_say("branches_written") else { return };
    let servers = [Server::on_store(&url), Server::on_store(&url)];
    let source = at(&servers[0], "us-east-1");
    for table in PAIR {
        create_indexed_table(&source, table).await;
    }
    set_both(&source, 0).await;
    let writing = at(&servers[1], "us-east-1");
    let written = Arc::new(AtomicU64::new(0));
    let noted = Arc::clone(&written);
    let writer = tokio::spawn(async move {
        for number in 1.. {
            set_both(&writing, number).await;
            noted.store(number, Ordering::Relaxed);
        }
    });
    let mut meanwhile = 0;
    for round in 1..=8 {
        while written.load(Ordering::Relaxed) < round {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // As above, a place of its own.
        let place = format!("test-{round}");
        let before = written.load(Ordering::Relaxed);
        let made = tokio::task::block_in_place(|| make(&servers[0], &place));
        let after = written.load(Ordering::Relaxed);
        meanwhile += after - before;
        assert_eq!(made.status, 200, "{}", made.text());
        let branch = at(&servers[1], &place);
        let (left, right) = (number_of(&branch, PAIR[0]).await, number_of(&branch, PAIR[1]).await);
        assert_eq!(left, right);
        // The last write may have been on its way when the branch was made.
        assert!((before..=after + 1).contains(&left), "{left} is not of {before} to {after}");
        let dropped = tokio::task::block_in_place(|| drop_branch(&servers[0], &place));
        assert_eq!(dropped.status, 200);
    }
    assert!(meanwhile > 0, "no write was acknowledged while a branch was made");
    writer.abort();
}

/// Rows with the mark; nothing where they cannot be asked for.
fn marked_rows(schema: &str) -> Option<u64> {
    if kind() != Kind::PostgreSql {
        return None;
    }
    let rows = format!(
        "SELECT count(*) FROM {schema}.keywright_rows WHERE position(convert_to('{MARK}', 'UTF8') in value) > 0"
    );
    Some(postgres::server().unwrap().query(&rows).parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_server_is_killed_is_whole_or_not_there_and_leaves_nothing() {
    const SCHEMA: &str = "branches_killed";
    const ITEMS: u64 = 2_000;
    let Some(url) = url_or_say(SCHEMA) else { return };
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let rounds_min = 3 * wanted("KEYWRIGHT_TEST_LONG", 1);
    let mut dice = Dice::new(seed);
    let left = Server::on_store(&url);
    let source = at(&left, "us-east-1");
    create_indexed_table(&source, TABLE).await;
    let padding = format!("{MARK}{}", "x".repeat(1_500));
    fill(&source, ITEMS, &padding).await;
    let own_rows = marked_rows(SCHEMA);
    let began = Instant::now();
    let made = make(&left, "test-1");
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap().max(1);
    assert_eq!(made.json()["items"], ITEMS, "{}", made.text());
    assert_eq!(drop_branch(&left, "test-1").status, 200);
    let (mut whole, mut half_made, mut round) = (0, 0, 0);
    // The first branch may have taken longer than those of a warm store: then some more are made.
    while round < rounds_min || (own_rows.is_some() && half_made == 0 && round < 10 * rounds_min) {
        wait_for_rows(SCHEMA, own_rows).await;
        let maker = Server::on_store(&url);
        let mut asking = TcpStream::connect(maker.address()).unwrap();
        let body = r#"{"from": "us-east-1", "to": "test-1"}"#;
        write!(
            asking,
            "POST {PATH} HTTP/1.1\r\nhost: {}\r\n{}: {}\r\ncontent-length: {}\r\n\r\n{body}",
            maker.address(),
            OWN.0,
            OWN.1,
            body.len()
        )
        .unwrap();
        // Each round another part of the time that a branch takes.
        let part_ms = took_ms / rounds_min.max(1);
        let after_ms = part_ms * (round % rounds_min) + dice.roll(part_ms.max(1));
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        maker.kill();
        let branch = at(&left, "test-1");
        if tables(&branch).await.is_empty() {
            half_made += u64::from(marked_rows(SCHEMA) > own_rows);
            assert!(branch.describe_table().table_name(TABLE).send().await.is_err());
            // At once, next to what the dead server has left.
            let again = make(&left, "test-1");
            assert_eq!(again.json()["items"], ITEMS, "seed {seed}, round {round}: {}", again.text());
        } else {
            whole += 1;
        }
        for index in [None, Some("gsi")] {
            assert_eq!(count(&branch, index).await, ITEMS, "seed {seed}, round {round}: {index:?}");
        }
        assert_eq!(drop_branch(&left, "test-1").status, 200);
        round += 1;
    }
    wait_for_rows(SCHEMA, own_rows).await;
    for index in [None, Some("gsi")] {
        assert_eq!(count(&source, index).await, ITEMS);
    }
    println!("seed {seed}: of {round} killed servers {half_made} left a part of a branch, {whole} the whole");
    assert!(half_made > 0 || own_rows.is_none(), "seed {seed}: no kill came in the middle of a branch");
}

/// Waits until only the source has rows.
async fn wait_for_rows(schema: &str, own: Option<u64>) {
    let began = Instant::now();
    while marked_rows(schema) != own {
        let rows = marked_rows(schema);
        assert!(began.elapsed() < REMOVED_WITHIN, "{rows:?} rows are there, {own:?} are the source's");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
