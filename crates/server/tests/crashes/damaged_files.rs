//! Damaged files of a data folder: a running server says so, and `keywright verify` names them or they are
//! harmless.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use serde_json::Value;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::{Dice, wanted};
use crate::support::folders;
use crate::support::in_process::Http;
use crate::support::ledger::{TABLE, Table, enable_stream, row, scan};
use crate::support::management::{get as get_path, readiness, sample, wait_for_state};

/// `KEYWRIGHT_DAMAGED_FOLDERS` sets another number.
const FOLDERS_DEFAULT: u64 = 12;
const ITEMS: u64 = 1_500;
const LONG: Duration = Duration::from_mins(1);

fn verify(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["verify", "--data", folder.to_str().unwrap()])
        .args(more)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The report and the exit status.
fn report(folder: &Path) -> (Value, Option<i32>) {
    let output = verify(folder, &["--format", "json"]);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    (report, output.status.code())
}

async fn fill(client: &Client) {
    for first in (0..ITEMS).step_by(25) {
        let put = |number: u64| {
            let item = row(&format!("p{}", number % 97), number, number, &"x".repeat(300));
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let batch = (first..first + 25).map(put).collect();
        client.batch_write_item().request_items(TABLE, batch).send().await.unwrap();
    }
}

/// A stopped server's folder with tables, a journal, an index and a stream.
async fn stopped_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with_small_buffer(folder.path());
    let client = client(&server.endpoint, Caller::default());
    create_indexed_table(&client, TABLE).await;
    enable_stream(&client).await;
    fill(&client).await;
    // Until tables are written and merged.
    let tables = || {
        let (_, metrics) = get_path(&server, "/metrics");
        ["keywright_store_tables", "keywright_store_unmerged_runs", "keywright_store_full_buffers"]
            .map(|name| sample(&metrics, name))
    };
    let mut before = tables();
    loop {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let now = tables();
        if now == before && now[2] == Some(0.0) {
            break;
        }
        before = now;
    }
    assert!(server.stop());
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for file in files(from) {
        let target = to.path().join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, &target).unwrap();
    }
    to
}

/// Flips a bit of a block of items in the largest table; returns its file.
fn damage_a_block(folder: &Path) -> PathBuf {
    let tables = files(&folder.join("tables/tables"));
    let table = tables.into_iter().max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
    let (content, start) = folders::content(folder, &table);
    let is_block_of_rows = |place: &usize| content[*place..].starts_with(b"LSM\x03\x00");
    let blocks: Vec<usize> = (0..content.len()).filter(is_block_of_rows).collect();
    let mut bytes = fs::read(&table).unwrap();
    // Items come first, then the entries of both indexes.
    bytes[start + blocks[blocks.len() / 6] + 200] ^= 1;
    fs::write(&table, bytes).unwrap();
    table
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_block_of_a_running_server_is_in_log_metrics_and_readiness() {
    let folder = stopped_folder().await;
    let sound = verify(folder.path(), &[]);
    assert_eq!(sound.status.code(), Some(0), "{}", said(&sound));
    assert!(said(&sound).contains("everything is whole"), "{}", said(&sound));
    let server = Server::on(folder.path());
    assert_eq!(readiness(&server), (200, serde_json::json!({"state": "serving"})));
    let in_use = verify(folder.path(), &[]);
    assert_eq!(in_use.status.code(), Some(2), "{}", said(&in_use));
    assert!(said(&in_use).contains("is open in another process"), "{}", said(&in_use));
    let table = damage_a_block(folder.path());
    let asking = client(&server.endpoint, Caller::default());
    let mut failed = 0;
    // Many requests meet the place, and more than once.
    for _ in 0..2 {
        for number in 0..ITEMS {
            let item = row(&format!("p{}", number % 97), number, number, "");
            let get = asking.get_item().table_name(TABLE);
            let got = get.key("pk", item["pk"].clone()).key("sk", item["sk"].clone()).send().await;
            match got {
                Ok(got) => assert!(got.item.is_some(), "a damaged block never hides an item"),
                Err(_) => failed += 1,
            }
        }
    }
    assert!(failed > 1 && failed < ITEMS, "{failed} requests failed");
    let (status, report) = wait_for_state(&server, "degraded", LONG);
    assert_eq!(status, 200, "{report}");
    let (reason, advice) = (report["reason"].as_str().unwrap(), report["advice"].as_str().unwrap());
    assert!(reason.contains(table.to_str().unwrap()) && reason.contains("block of rows at byte"), "{report}");
    assert!(advice.contains("keywright verify --data"), "{report}");
    let (_, metrics) = get_path(&server, "/metrics");
    assert_eq!(sample(&metrics, "keywright_ready"), Some(1.0));
    assert_eq!(sample(&metrics, "keywright_state_info{state=\"degraded\"}"), Some(1.0));
    assert_eq!(sample(&metrics, "keywright_store_damaged_places"), Some(1.0));
    let counted = sample(&metrics, "keywright_store_failed_reads_total").unwrap();
    assert!(counted >= f64::from(u32::try_from(failed).unwrap()), "{counted}");
    let log = server.stop_and_read_log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("is damaged")).collect();
    let [line] = lines.as_slice() else { panic!("{log}") };
    assert!(line.contains(table.to_str().unwrap()) && line.contains("block of rows at byte"), "{line}");
    assert!(line.contains(&format!("of table {TABLE} (123456789012, us-east-1)")), "{line}");
    let (report, status) = self::report(folder.path());
    assert_eq!(status, Some(1), "{report}");
    let [place] = report["damaged"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&place["file"], &place["part"]), (&table.to_str().unwrap().into(), &"block of rows".into()));
    assert_eq!(place["affected"][0]["table"], TABLE, "{report}");
    let text = verify(folder.path(), &[]);
    assert!(
        said(&text).contains("1 damaged place") && said(&text).contains("partition hash"),
        "{}",
        said(&text)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scrub_reports_its_round_and_damage_that_no_request_has_met() {
    let folder = stopped_folder().await;
    let arguments = ["--data", folder.path().to_str().unwrap(), "--scrub", "1s", "--log-level", "info"];
    let server = Server::start(&arguments);
    let ended = |server: &Server| {
        sample(&get_path(server, "/metrics").1, "keywright_store_scrub_last_round_timestamp_seconds").unwrap()
    };
    let mut waited = Duration::ZERO;
    while ended(&server) == 0.0 {
        assert!(waited < LONG, "no round in {waited:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        waited += Duration::from_millis(100);
    }
    let (_, metrics) = get_path(&server, "/metrics");
    assert!(sample(&metrics, "keywright_store_scrub_read_bytes_total").unwrap() > 1_000_000.0, "{metrics}");
    assert_eq!(sample(&metrics, "keywright_store_damaged_places"), Some(0.0));
    damage_a_block(folder.path());
    let (status, _) = wait_for_state(&server, "degraded", LONG);
    assert_eq!(status, 200);
    assert_eq!(sample(&get_path(&server, "/metrics").1, "keywright_store_failed_reads_total"), Some(0.0));
    let log = server.stop_and_read_log();
    assert!(log.contains("the scrub has read all") && log.contains("all are whole"), "{log}");
    assert!(log.contains("the data folder is damaged"), "{log}");
}

/// The table and its indexes; an error if something cannot be read.
async fn everything(http: &Http) -> Result<[Table; 3], String> {
    Ok([scan(http, None).await?, scan(http, Some("gsi")).await?, scan(http, Some("lsi")).await?])
}

/// A flipped bit at a random place of a random file.
fn harm(dice: &mut Dice, folder: &Path) -> (PathBuf, usize) {
    let all: Vec<PathBuf> = files(folder).into_iter().filter(|file| !file.ends_with("LOCK")).collect();
    let file = all[usize::try_from(dice.roll(u64::try_from(all.len()).unwrap())).unwrap()].clone();
    let mut bytes = fs::read(&file).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    let place = usize::try_from(dice.roll(u64::try_from(used).unwrap())).unwrap();
    if let Some(byte) = bytes.get_mut(place) {
        *byte ^= 1 << dice.roll(8);
    }
    fs::write(&file, bytes).unwrap();
    (file, place)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_random_damage_is_named_by_the_command_or_harmless() {
    let count = wanted("KEYWRIGHT_DAMAGED_FOLDERS", FOLDERS_DEFAULT);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let folder = stopped_folder().await;
    let expected = {
        let copied = copy(folder.path());
        let server = Server::on(copied.path());
        everything(&Http::new(server.address())).await.unwrap()
    };
    let mut found = 0;
    for number in 0..count {
        let damaged = copy(folder.path());
        let (file, place) = harm(&mut dice, damaged.path());
        let about = format!("seed {seed}, damage {number}: byte {place} of {}", file.display());
        let output = verify(damaged.path(), &["--format", "json"]);
        let is_found = output.status.code() != Some(0);
        assert!(!is_found || said(&output).contains(file.to_str().unwrap()), "{about}: {}", said(&output));
        found += u64::from(is_found);
        let read = match Server::try_start(&["--data", damaged.path().to_str().unwrap()]) {
            Ok(server) => everything(&Http::new(server.address())).await,
            Err(fault) => Err(fault),
        };
        let is_harmless = read.as_ref().is_ok_and(|read| *read == expected);
        assert!(is_harmless || is_found, "{about}: {:?}", read.err());
    }
    println!("seed {seed}: {count} damaged folders, {found} found by verify, the others harmless");
    assert!(found > 0);
}
