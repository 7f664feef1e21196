//! On which resources requests to CloudWatch, Application Auto Scaling and Lambda are judged.

use serde_json::{Value, json};

use crate::policies::Scene;
use crate::support::signing::{self, Ask, Key};

const SCOPE: &str = "us-east-1:123456789012";
const MAPPINGS: &str = "/2015-03-31/event-source-mappings/";

/// The action and the resource of a denial; none if the request was not denied.
fn denied(scene: &Scene, key: &Key, (service, target): (&str, &str), body: &Value) -> Option<String> {
    let answer = signing::json(&scene.server, key, (service, target), &body.to_string());
    resource_in(answer.text())
}

/// The same of a request on a mapping.
fn mapping_denied(scene: &Scene, key: &Key, (method, path): (&str, &str)) -> Option<String> {
    let headers = vec![("content-type", "application/json")];
    let body = if method == "PUT" { r#"{"Enabled": false}"# } else { "" };
    let ask = Ask { service: "lambda", method, path: &format!("{MAPPINGS}{path}"), headers, body };
    resource_in(signing::send(&scene.server, key, &ask).text())
}

fn resource_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("is not authorized to perform: ")?;
    Some(rest.split(" because").next()?.replace(" on resource:", ""))
}

#[test]
fn alarms_are_judged_by_their_names_and_each_of_several() {
    let scene = Scene::new();
    let ann = scene.user("ann");
    let own = format!("arn:aws:cloudwatch:{SCOPE}:alarm:ann-*");
    scene.allow("ann", &json!({"Effect": "Allow", "Action": "cloudwatch:*", "Resource": own}));
    let of = |operation: &str, body: &Value| {
        denied(&scene, &ann, ("monitoring", &format!("GraniteServiceVersion20100801.{operation}")), body)
    };
    let alarm = |name: &str| {
        json!({
            "AlarmName": name, "Namespace": "AWS/DynamoDB", "MetricName": "ConsumedReadCapacityUnits",
            "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1, "Threshold": 1.0,
            "ComparisonOperator": "GreaterThanThreshold", "StateValue": "OK", "StateReason": "r",
        })
    };
    let on = |operation: &str, resource: &str| {
        Some(format!("cloudwatch:{operation} arn:aws:cloudwatch:{SCOPE}:alarm:{resource}"))
    };
    for operation in ["PutMetricAlarm", "SetAlarmState", "DescribeAlarmHistory"] {
        assert_eq!(of(operation, &alarm("ann-a")), None, "{operation}");
        assert_eq!(of(operation, &alarm("ben-a")), on(operation, "ben-a"));
    }
    for operation in ["DescribeAlarms", "DisableAlarmActions", "EnableAlarmActions", "DeleteAlarms"] {
        assert_eq!(of(operation, &json!({"AlarmNames": ["ann-a", "ben-a"]})), on(operation, "ben-a"));
        assert_eq!(of(operation, &json!({"AlarmNames": ["ann-a"]})), None, "{operation}");
    }
    assert_eq!(of("DescribeAlarms", &json!({})), on("DescribeAlarms", "*"));
    assert_eq!(of("ListMetrics", &json!({})), Some("cloudwatch:ListMetrics *".to_owned()));
    let tags = |name: &str| json!({"ResourceARN": format!("arn:aws:cloudwatch:{SCOPE}:alarm:{name}")});
    assert_eq!(of("ListTagsForResource", &tags("ann-a")), None);
    assert_eq!(of("ListTagsForResource", &tags("ben-a")), on("ListTagsForResource", "ben-a"));
}

#[test]
fn scalable_targets_and_mappings_are_judged_by_their_arns() {
    let scene = Scene::new();
    let ann = scene.user("ann");
    let target = format!("arn:aws:application-autoscaling:{SCOPE}:scalable-target/");
    let mapping = format!("arn:aws:lambda:{SCOPE}:event-source-mapping:");
    let (own, other) = ("6f2b8d1e-0000-4000-8000-000000000000", "6f2b8d1e-0000-4000-8000-000000000001");
    scene.allow("ann", &json!([
        {"Effect": "Allow", "Action": "application-autoscaling:*", "Resource": format!("{target}*")},
        {"Effect": "Deny", "Action": "application-autoscaling:TagResource", "Resource": format!("{target}2")},
        {"Effect": "Allow", "Action": "lambda:*", "Resource": format!("{mapping}{own}")},
    ]));
    let scaling = |operation: &str, body: &Value| {
        denied(
            &scene,
            &ann,
            ("application-autoscaling", &format!("AnyScaleFrontendService.{operation}")),
            body,
        )
    };
    let table = json!({
        "ServiceNamespace": "dynamodb", "ResourceId": "table/Tab", "MinCapacity": 1, "MaxCapacity": 2,
        "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
    });
    assert_eq!(scaling("RegisterScalableTarget", &table), None);
    assert_eq!(
        scaling("DescribeScalableTargets", &table),
        Some("application-autoscaling:DescribeScalableTargets *".to_owned())
    );
    let tag = |id: &str| json!({"ResourceARN": format!("{target}{id}"), "Tags": {"a": "b"}});
    assert_eq!(scaling("TagResource", &tag("1")), None);
    assert!(scaling("TagResource", &tag("2")).is_some_and(|text| text.contains("scalable-target/2")));
    for (method, action) in [
        ("GET", "GetEventSourceMapping"),
        ("PUT", "UpdateEventSourceMapping"),
        ("DELETE", "DeleteEventSourceMapping"),
    ] {
        assert_eq!(mapping_denied(&scene, &ann, (method, own)), None, "{method}");
        let expected = format!("lambda:{action} {mapping}{other}");
        assert_eq!(mapping_denied(&scene, &ann, (method, other)), Some(expected));
    }
    let listed = mapping_denied(&scene, &ann, ("GET", ""));
    assert_eq!(listed, Some("lambda:ListEventSourceMappings *".to_owned()));
}
