//! Functions that fail: retries, halves, partial failures, old records, reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::function::{Answer, Function, Invocation, eventually, key};
use crate::scene::{Scene, TABLE};

/// The items of ten records, of which one is bad.
const BAD: &str = "06";

fn has_bad(invocation: &Invocation) -> bool {
    invocation.keys("sk").iter().any(|sk| sk == BAD)
}

async fn ten(scene: &Scene) {
    for number in 0..10 {
        scene.put("p", &format!("{number:02}")).await;
    }
}

/// A server whose buckets are folders of this one.
async fn with_bucket(function: &Function, more: &[&str]) -> (Scene, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("failures")).unwrap();
    let arguments = [&["--s3-folder", folder.path().to_str().unwrap()], more].concat();
    let scene = Scene::calling(&function.url, &arguments);
    scene.create(TABLE).await;
    (scene, folder)
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_in_all_tries_is_reported_with_its_event_and_passed_over() {
    let function = Function::answering(|one| if has_bad(one) { Answer::Error } else { Answer::done() });
    let (scene, folder) = with_bucket(&function, &[]).await;
    ten(&scene).await;
    let destination = json!({"OnFailure": {"Destination": "arn:aws:s3:::failures"}});
    let uuid = scene
        .trigger("f", json!({"BatchSize": 5, "MaximumRetryAttempts": 2, "DestinationConfig": destination}))
        .await;
    eventually("passing over", || (scene.figures()["discarded"] == 5).then_some(()));
    let sizes: Vec<usize> = function.invocations().iter().map(|one| one.records().len()).collect();
    assert_eq!(sizes, [5, 5, 5, 5], "one batch, and the other three times");
    let [report] = files(folder.path()).try_into().expect("one report");
    let report: std::path::PathBuf = report;
    let name = report.strip_prefix(folder.path().join("failures")).unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with(&format!("aws/lambda/{uuid}/shardId-")), "{name}");
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["requestContext"]["condition"], "RetryAttemptsExhausted");
    assert_eq!(report["requestContext"]["approximateInvokeCount"], 3);
    assert_eq!(report["requestContext"]["functionArn"], "arn:aws:lambda:us-east-1:123456789012:function:f");
    assert_eq!(
        report["responseContext"],
        json!({"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"})
    );
    let info = &report["DDBStreamBatchInfo"];
    assert_eq!((&info["batchSize"], &info["streamArn"]), (&json!(5), &json!(scene.stream(TABLE).await)));
    let event: Value = serde_json::from_str(report["payload"].as_str().unwrap()).unwrap();
    assert_eq!(event["Records"], json!(function.invocations()[1].records()));
    assert_eq!(info["startSequenceNumber"], event["Records"][0]["dynamodb"]["SequenceNumber"]);
    let figures = scene.figures();
    assert_eq!((&figures["delivered"], &figures["retries"]), (&json!(5), &json!(2)));
    assert!(figures["failure"]["text"].as_str().unwrap().contains("Unhandled"), "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn halving_isolates_the_one_bad_record() {
    let function = Function::answering(|one| if has_bad(one) { Answer::Error } else { Answer::done() });
    let (scene, folder) = with_bucket(&function, &[]).await;
    ten(&scene).await;
    let more = json!({
        "BisectBatchOnFunctionError": true,
        "MaximumRetryAttempts": 1,
        "DestinationConfig": {"OnFailure": {"Destination": "s3://failures/orders"}},
    });
    scene.trigger("f", more).await;
    eventually("the end", || (scene.figures()["delivered"] == 9).then_some(()));
    assert_eq!(scene.figures()["discarded"], 1);
    let batches: Vec<Vec<String>> = function.invocations().iter().map(|one| one.keys("sk")).collect();
    let tries = batches.iter().filter(|batch| **batch == [BAD]).count();
    assert_eq!(tries, 2, "halves count as no retry: {batches:?}");
    let mut good: Vec<&String> =
        batches.iter().filter(|batch| !batch.iter().any(|sk| sk == BAD)).flatten().collect();
    good.sort();
    assert_eq!(good.len(), 9, "no good record is taken twice: {batches:?}");
    let [report] = files(&folder.path().join("failures/orders")).try_into().expect("one report");
    let report: std::path::PathBuf = report;
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let event: Value = serde_json::from_str(report["payload"].as_str().unwrap()).unwrap();
    assert_eq!(
        (event["Records"].as_array().unwrap().len(), key(&event["Records"][0], "sk")),
        (1, BAD.to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_rest_of_a_batch_is_sent_again_and_all_of_it_after_an_unknown_identifier() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let function = Function::answering(move |one| {
        let number = |sk: &str| {
            let record = one.records().iter().find(|record| key(record, "sk") == sk);
            record.map(|record| record["dynamodb"]["SequenceNumber"].clone())
        };
        let failed = match counted.fetch_add(1, Ordering::Relaxed) {
            0 => json!([{"itemIdentifier": number("07")}, {"itemIdentifier": number("04")}]),
            1 => json!([{"itemIdentifier": "1"}]),
            _ => json!([]),
        };
        Answer::Body(json!({"batchItemFailures": failed}).to_string())
    });
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    ten(&scene).await;
    let more = json!({"FunctionResponseTypes": ["ReportBatchItemFailures"]});
    scene.trigger("f", more).await;
    eventually("delivery", || (scene.figures()["delivered"] == 10).then_some(()));
    let batches: Vec<(String, usize)> =
        function.invocations().iter().map(|one| (one.keys("sk").remove(0), one.records().len())).collect();
    assert_eq!(batches, [("00".to_owned(), 10), ("04".to_owned(), 6), ("04".to_owned(), 6)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_too_old_are_passed_over_and_newer_ones_delivered() {
    let fails = Arc::new(AtomicBool::new(true));
    let failing = Arc::clone(&fails);
    let function =
        Function::answering(
            move |_| {
                if failing.load(Ordering::Relaxed) { Answer::Error } else { Answer::done() }
            },
        );
    // A minute is a second.
    let (scene, _folder) = with_bucket(&function, &["--time-scale", "60"]).await;
    scene.trigger("f", json!({"MaximumRecordAgeInSeconds": 60})).await;
    scene.put("p", "old").await;
    eventually("passing over", || (scene.figures()["discarded"] == 1).then_some(()));
    assert!(function.invocations().len() > 1, "it was tried again and again before");
    fails.store(false, Ordering::Relaxed);
    scene.put("p", "new").await;
    eventually("delivery", || (scene.figures()["delivered"] == 1).then_some(()));
    assert_eq!(function.invocations().last().unwrap().keys("sk"), ["new"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_without_room_for_calls_costs_no_try_and_gets_the_same_batch_again() {
    let calls = AtomicUsize::new(0);
    let function = Function::answering(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::Status(429),
        1 => Answer::Status(503),
        _ => Answer::done(),
    });
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    ten(&scene).await;
    scene.trigger("f", json!({"MaximumRetryAttempts": 0})).await;
    eventually("delivery", || (scene.figures()["delivered"] == 10).then_some(()));
    let figures = scene.figures();
    assert_eq!((&figures["discarded"], &figures["retries"]), (&json!(0), &json!(0)));
    assert_eq!(function.invocations().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_away_costs_no_try_and_is_shown() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let scene = Scene::calling(&format!("http://{address}"), &[]);
    scene.create(TABLE).await;
    let uuid = scene.trigger("f", json!({"MaximumRetryAttempts": 0})).await;
    scene.put("p", "1").await;
    let text = eventually("the failure", || {
        let result = scene.get(&uuid)["LastProcessingResult"].as_str().unwrap().to_owned();
        result.starts_with("PROBLEM: ").then_some(result)
    });
    assert!(text.contains("cannot be reached"), "{text}");
    assert_eq!(
        (&scene.figures()["discarded"], &scene.figures()["failure"]["present"]),
        (&json!(0), &json!(true))
    );
}
