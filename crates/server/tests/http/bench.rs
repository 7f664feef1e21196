//! `keywright bench` against the real binary: it fills a table, sends the requests, and writes a report for
//! programs.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::client::{Caller, client};
use crate::support::machine::exclusive;
use crate::support::snapshot::assert_names;
use crate::support::{Server, without_aws_settings};

fn bench(arguments: &[&str]) -> Value {
    let _alone = exclusive();
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    let output = command
        .args(["bench", "--format", "json", "--rounds", "2", "--items", "200"])
        .args(["--warm-up-ms", "50", "--connections", "4"])
        .args(if arguments.contains(&"--seconds") { &[][..] } else { &["--seconds", "1"] })
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_target_of_a_run_is_measured_and_compared_with_the_first() {
    let server = Server::in_memory();
    let report = bench(&["--endpoint", &server.endpoint, "--operation", "get-item,query-10", "--limits"]);
    assert_eq!(report["loads"][0]["items"], 200);
    let results = report["results"].as_array().unwrap();
    let targets: Vec<_> = results.iter().map(|result| result["target"].as_str().unwrap()).collect();
    assert_eq!(targets[1..3], ["bare HTTP", "bare store"]);
    assert_eq!(results.len(), 6);
    for result in results {
        assert!(result["answered"].as_u64().unwrap() > 0, "{result}");
        assert_eq!(result["fault_count"], 0, "{result}");
        assert!(result["latency_ns"]["p99"].as_u64().unwrap() > 0, "{result}");
        assert!(result["first_as_share_of_this"]["median"].is_string(), "{result}");
    }
    assert_eq!(results[0]["answer_bytes"], results[1]["answer_bytes"], "the bare server answers as much");
}

#[test]
fn an_open_loop_keeps_its_rate_and_a_filled_table_is_reused() {
    let server = Server::in_memory();
    let arguments =
        ["--endpoint", &server.endpoint, "--operation", "put-item", "--rate", "100", "--keep-table"];
    for loads in [1, 0] {
        let report = bench(&arguments);
        assert_eq!(report["loads"].as_array().unwrap().len(), loads);
        let result = &report["results"][0];
        // Counts every due request, including those that a busy machine did not send or answer in time.
        // Rounding at the end of a round can add or drop one.
        let due = result["latencies"].as_u64().unwrap();
        assert!((98..=102).contains(&due), "{result}");
        assert!(result["answered"].as_u64().unwrap() > 0, "{result}");
    }
}

#[test]
fn latency_over_time_is_reported_and_plotted() {
    let server = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trend.svg");
    let report = bench(&[
        "--endpoint",
        &server.endpoint,
        "--operation",
        "put-item",
        "--rate",
        "100",
        "--seconds",
        "4",
        "--trend",
        file.to_str().unwrap(),
    ]);
    let seconds = report["results"][0]["trend"].as_array().unwrap();
    let requests: Vec<u64> = seconds.iter().map(|second| second["requests"].as_u64().unwrap()).collect();
    // Two rounds of two seconds. Rounding at the end of a round can add a second with one request.
    assert!(requests.len() >= 4 && requests.iter().sum::<u64>() >= 396, "{requests:?}");
    assert!(seconds[0]["p99.9_ns"].as_u64().unwrap() > 0);
    let plot = std::fs::read_to_string(file).unwrap();
    assert_eq!(plot.matches("<path").count(), 5, "a line for each percentile");
}

#[tokio::test]
async fn a_run_removes_the_table_that_it_made_and_no_other() {
    let server = Server::in_memory();
    let tables = async || {
        let listed = client(&server.endpoint, Caller::default()).list_tables().send().await.unwrap();
        listed.table_names().to_vec()
    };
    let run = |more: &[&str]| {
        let own = ["--endpoint", &server.endpoint, "--operation", "get-item"];
        bench(&[&own[..], more].concat())
    };
    run(&[]);
    assert!(tables().await.is_empty());
    run(&["--keep-table"]);
    assert_eq!(tables().await, ["keywright-bench"]);
    // The table was there before: it stays without the flag, too.
    run(&[]);
    assert_eq!(tables().await, ["keywright-bench"]);
}

#[test]
fn a_run_says_how_long_it_measures_and_asks_before_it_fills_a_table_that_a_variable_leads_to() {
    let run = |variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
        without_aws_settings(&mut command);
        command.args(["bench", "--operation", "get-item", "--seconds", "60", "--rounds", "2"]);
        let output = command.env("AWS_ENDPOINT_URL", variable).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_names(
        &run("http://127.0.0.1:1"),
        &["about 1 min 1 s", "10000 items", "cannot prepare 127.0.0.1:1"],
    );
    let said = run("http://192.0.2.1:8000");
    assert_names(&said, &["AWS_ENDPOINT_URL", "pass --endpoint http://192.0.2.1:8000"]);
    assert!(!said.contains("cannot prepare"), "{said}");
}

#[test]
fn an_unreachable_endpoint_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["bench", "--endpoint", "gone=http://127.0.0.1:1"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_names(&said, &["gone", "127.0.0.1:1"]);
}
