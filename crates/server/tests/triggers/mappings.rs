//! Mappings as clients see them, and where records may go.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::function::{Answer, Function, eventually};
use crate::scene::{Scene, TABLE};
use crate::support::management::{get, sample};
use crate::support::without_aws_settings;

#[tokio::test(flavor = "multi_thread")]
async fn a_function_gets_the_changes_of_a_table_in_their_order() {
    let function = Function::taking_all();
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    let uuid = scene.trigger("orders", json!({})).await;
    for number in 0..30 {
        scene.put_number("p", &format!("{:02}", number % 10), number).await;
    }
    eventually("delivery", || (function.records().len() == 30).then_some(()));
    let records = function.records();
    let numbers: Vec<&str> =
        records.iter().map(|record| record["dynamodb"]["NewImage"]["n"]["N"].as_str().unwrap()).collect();
    assert_eq!(numbers, (0..30).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(records[29]["eventName"], "MODIFY");
    assert_eq!(records[0]["eventSourceARN"], scene.stream(TABLE).await);
    let invocation = &function.invocations()[0];
    assert_eq!(invocation.path, "/2015-03-31/functions/orders/invocations");
    assert!(invocation.headers.iter().all(|header| !header.starts_with("authorization")), "there is no key");
    eventually("the note of it", || (scene.figures()["delivered"] == 30).then_some(()));
    let mapping = scene.get(&uuid);
    assert_eq!((&mapping["State"], &mapping["LastProcessingResult"]), (&json!("Enabled"), &json!("OK")));
    assert_eq!(mapping["FunctionArn"], "arn:aws:lambda:us-east-1:123456789012:function:orders");
    let (_, metrics) = get(&scene.server, "/metrics");
    assert_eq!(
        sample(
            &metrics,
            &format!(
                "keywright_trigger_records_total{{trigger=\"{uuid}\",table=\"Orders\",outcome=\"delivered\"}}"
            )
        ),
        Some(30.0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_sent_when_it_is_full_or_its_window_is_over() {
    let function = Function::taking_all();
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    scene.trigger("f", json!({"BatchSize": 4, "MaximumBatchingWindowInSeconds": 2})).await;
    let begun = Instant::now();
    for number in 0..10 {
        scene.put("p", &number.to_string()).await;
    }
    let sizes = eventually("delivery", || {
        let sizes: Vec<usize> = function.invocations().iter().map(|one| one.records().len()).collect();
        (sizes.iter().sum::<usize>() == 10).then_some(sizes)
    });
    assert_eq!(sizes, [4, 4, 2]);
    assert!(begun.elapsed() >= Duration::from_secs(2), "the last one waited for its window");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_trigger_delivers_nothing_and_goes_on_where_it_stopped() {
    let function = Function::taking_all();
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    let uuid = scene.trigger("f", json!({"Enabled": false})).await;
    assert_eq!(scene.get(&uuid)["State"], "Disabled");
    scene.put("p", "1").await;
    let change = |body: Value| {
        let changed = scene.ask("PUT", &format!("/{uuid}/"), &body);
        assert_eq!(changed.status, 202, "{}", changed.text());
    };
    change(json!({"Enabled": true}));
    eventually("delivery", || (function.records().len() == 1).then_some(()));
    eventually("the note of it", || (scene.figures()["delivered"] == 1).then_some(()));
    change(json!({"Enabled": false}));
    // What is written after the answer is not delivered.
    scene.put("p", "2").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(function.records().len(), 1);
    assert!(scene.figures()["lag"].as_u64().unwrap() >= 900, "{}", scene.figures());
    change(
        json!({"Enabled": true, "FilterCriteria": {"Filters": [{"Pattern": "{\"eventName\":[\"REMOVE\"]}"}]}}),
    );
    eventually("passing over", || (scene.figures()["filtered"] == 1).then_some(()));
    assert_eq!(function.records().len(), 1);
    let deleted = scene.ask("DELETE", &format!("/{uuid}"), &Value::Null);
    assert_eq!((deleted.status, &deleted.json()["State"]), (202, &json!("Deleting")));
    assert_eq!(scene.ask("GET", &format!("/{uuid}"), &Value::Null).status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_setting_no_target_may_be_named_and_no_connection_is_made() {
    let function = Function::taking_all();
    let scene = Scene::start(&["--in-memory"]);
    scene.create(TABLE).await;
    scene.put("p", "1").await;
    let host = function.url.clone();
    for (target, setting) in
        [("f", "--lambda-endpoint"), (host.as_str(), "trigger-hosts"), ("s3://archive/x", "--s3-endpoint")]
    {
        let refused = scene.try_trigger(target, json!({})).await;
        assert_eq!(
            (refused.status, refused.header("x-amzn-errortype")),
            (400, Some("InvalidParameterValueException"))
        );
        assert!(refused.json()["message"].as_str().unwrap().contains(setting), "{}", refused.text());
    }
    let scene = Scene::calling(&Function::taking_all().url, &[]);
    scene.create(TABLE).await;
    let uuid = scene.trigger("f", json!({"Enabled": false})).await;
    let report = json!({"DestinationConfig": {"OnFailure": {"Destination": host}}});
    assert_eq!(scene.ask("PUT", &format!("/{uuid}"), &report).status, 400);
    assert!(function.invocations().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_of_the_settings_file_waits_for_its_table() {
    let function = Function::taking_all();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.toml");
    let section = |more: &str| {
        let text = format!("[[trigger]]\ntable = \"Orders\"\ntarget = \"{}/hook\"\n{more}", function.url);
        std::fs::write(&file, text).unwrap();
    };
    section("");
    let scene = Scene::start(&["--in-memory", "--config", file.to_str().unwrap()]);
    scene.create(TABLE).await;
    scene.put("p", "1").await;
    eventually("delivery", || (function.records().len() == 1).then_some(()));
    assert_eq!(function.invocations()[0].path, "/hook");
    let listed = scene.ask("GET", "/?FunctionName=x", &Value::Null).json();
    assert_eq!(listed["EventSourceMappings"], json!([]));
    let listed = scene.ask("GET", "/", &Value::Null).json();
    let mapping = &listed["EventSourceMappings"][0];
    assert_eq!(mapping["StateTransitionReason"], "The settings file");
    let path = format!("/{}", mapping["UUID"].as_str().unwrap());
    for refused in
        [scene.ask("PUT", &path, &json!({"Enabled": false})), scene.ask("DELETE", &path, &Value::Null)]
    {
        assert_eq!(
            (refused.status, refused.header("x-amzn-errortype")),
            (400, Some("InvalidParameterValueException"))
        );
        let text = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(text.contains("[[trigger]] \"Orders to http://"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_hangs_delays_neither_requests_nor_other_triggers_nor_items_of_other_lanes() {
    let function = Function::answering(|invocation| {
        let hangs = invocation.path.contains("slow") && invocation.keys("pk").iter().any(|key| key == "p0");
        if hangs { Answer::Hang } else { Answer::done() }
    });
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    let slow = scene.trigger("slow", json!({"ParallelizationFactor": 10, "BatchSize": 1})).await;
    scene.trigger("quick", json!({})).await;
    scene.put("p0", "1").await;
    eventually("the hanging call", || {
        function.invocations().iter().any(|one| one.path.contains("slow")).then_some(())
    });
    let begun = Instant::now();
    for number in 1..100 {
        scene.put(&format!("p{number}"), "1").await;
    }
    let of = |name: &str| {
        let invocations = function.invocations();
        let of_it = invocations.iter().filter(|one| one.path.contains(name));
        of_it.map(|one| one.records().len()).sum::<usize>()
    };
    // One lane of ten has the item that hangs.
    eventually("the other deliveries", || (of("quick") == 100 && of("slow") > 50).then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(of("slow") < 101);
    let (_, metrics) = get(&scene.server, "/metrics");
    let call = format!("keywright_trigger_call_seconds{{trigger=\"{slow}\",table=\"Orders\"}}");
    assert!(sample(&metrics, &call).is_some_and(|seconds| seconds > 0.0), "its call is under way");
    assert!(!metrics.contains("table=\"\""), "a call that hangs has its table");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_is_shown_with_its_target_and_a_deleted_table_has_no_lag() {
    let function = Function::answering(|_| Answer::Hang);
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    let uuid = scene.trigger("slow", json!({})).await;
    assert!(scene.figures().get("call").is_none());
    scene.put("p", "1").await;
    let call = eventually("the call", || scene.figures().get("call").cloned());
    assert_eq!((&call["target"], &call["calls"]), (&json!("slow"), &json!(1)));
    assert!(call["since"].is_u64() && call["age"].is_u64(), "{call}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    let ended = command.args(["triggers", "--endpoint", &scene.server.endpoint]).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(said.contains("    calls slow since 20"), "{said}");
    let lag = || {
        let (_, metrics) = get(&scene.server, "/metrics");
        sample(&metrics, &format!("keywright_trigger_lag_seconds{{trigger=\"{uuid}\",table=\"Orders\"}}"))
    };
    eventually("the lag", || lag().filter(|seconds| *seconds > 0.0));
    scene.client.delete_table().table_name(TABLE).send().await.unwrap();
    eventually("the end of the lag", || lag().filter(|seconds| *seconds == 0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_names_the_port_and_an_answer_without_a_text() {
    let function = Function::answering(|_| Answer::Status(418));
    let scene = Scene::start(&["--in-memory", "--trigger-hosts", &function.url]);
    scene.create(TABLE).await;
    scene.trigger(&format!("{}/tea", function.url), json!({})).await;
    scene.put("p", "1").await;
    let text = eventually("the failure", || scene.figures()["failure"]["text"].as_str().map(str::to_owned));
    let host = function.url.strip_prefix("http://").unwrap();
    assert_eq!(text, format!("{host} answers 418 without a text"));
}
