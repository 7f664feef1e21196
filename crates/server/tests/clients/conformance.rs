//! The public conformance suite against a server with limits of throughput on a durable store.
//!
//! The suite passes on the service with tables of five provisioned units, so none of its tests may be refused
//! for throughput here. Its code is not part of this repository: `KEYWRIGHT_CONFORMANCE_SUITE` names a
//! checkout, whose packages `cargo xtask test --long` installs.

use std::fs::File;
use std::process::Command;

use serde_json::Value;

use crate::support::Server;

/// The suite has some 600 tests; those of operations that are not served fail.
const PASSED_MIN: u64 = 500;
/// What a failure of a test that was refused for its rate says.
const REFUSALS: [&str; 3] = ["ThroughputExceeded", "ThrottlingException", "RequestLimitExceeded"];

#[test]
#[ignore = "needs the suite: run `cargo xtask test --long` with KEYWRIGHT_CONFORMANCE_SUITE"]
fn no_test_of_the_public_suite_is_refused_for_throughput() {
    let suite = std::env::var("KEYWRIGHT_CONFORMANCE_SUITE").expect("xtask runs this only if it is set");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&["--data", data.to_str().unwrap(), "--throttle", "full"]);
    let report = folder.path().join("report.json");
    let run = Command::new("npx")
        .args(["vitest", "run", "--reporter=json"])
        .arg(format!("--outputFile={}", report.display()))
        .current_dir(&suite)
        .env("DYNAMODB_ENDPOINT", &server.endpoint)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    let report: Value =
        serde_json::from_reader(File::open(&report).unwrap_or_else(|_| panic!("{errors}"))).unwrap();
    let tests = report["testResults"].as_array().unwrap().iter().flat_map(|file| {
        let in_file = file["assertionResults"].as_array().unwrap().iter();
        in_file.map(|test| (test["fullName"].as_str().unwrap(), test["failureMessages"].to_string()))
    });
    let of_files = report["testResults"].as_array().unwrap().iter();
    let of_files = of_files.map(|file| (file["name"].as_str().unwrap(), file["message"].to_string()));
    let is_refused = |message: &str| REFUSALS.iter().any(|refusal| message.contains(refusal));
    let refused: Vec<&str> =
        tests.chain(of_files).filter(|(_, message)| is_refused(message)).map(|(name, _)| name).collect();
    let (passed, failed) = (&report["numPassedTests"], &report["numFailedTests"]);
    println!("{passed} tests of the public suite passed, {failed} failed for other reasons");
    assert_eq!(refused, Vec::<&str>::new());
    assert!(passed.as_u64().unwrap() >= PASSED_MIN, "{passed} passed, {failed} failed");
}
