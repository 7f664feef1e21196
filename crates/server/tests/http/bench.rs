//! `keywright bench` against the real binary: it fills a table, sends the requests, and writes a report for
//! programs.

use std::process::Command;

use serde_json::Value;

use crate::support::Server;
use crate::support::machine::exclusive;
use crate::support::snapshot::assert_names;

fn bench(arguments: &[&str]) -> Value {
    let _alone = exclusive();
    let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
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
    let arguments = ["--endpoint", &server.endpoint, "--operation", "put-item", "--rate", "100"];
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
