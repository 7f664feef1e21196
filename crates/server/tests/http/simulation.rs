//! The simulator of policies over HTTP: the rows of published examples are decided as their pages say, and
//! results have the service's shape.

use serde_json::{Value, json};

use crate::support::signed::{Scene, Signed, element};

const OWNER: &str = "123456789012";
/// Rows that the simulator can express at least.
const SIMULATED_MIN: usize = 280;

/// The rows and their policies.
pub(crate) fn table() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../access/tests/decisions.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The resource of a row.
fn resource(row: &Value) -> String {
    match row["resource"].as_str().unwrap() {
        "*" => "*".to_owned(),
        arn if arn.starts_with("arn:") => arn.to_owned(),
        short => format!("arn:aws:dynamodb:us-west-2:{OWNER}:{short}"),
    }
}

/// The parameters of a simulation of a row; none if it cannot say who asks, or has policies of a session.
fn parameters(table: &Value, row: &Value) -> Option<Vec<(String, String)>> {
    let user = row["caller"].as_str()?.strip_prefix("user/")?;
    if row.get("session").is_some() {
        return None;
    }
    let document = |name: &Value| table["policies"][name.as_str().unwrap()]["document"].to_string();
    let mut all = Vec::new();
    let mut add = |name: String, value: String| all.push((name, value));
    let account = row["account"].as_str().unwrap_or(OWNER);
    add("CallerArn".to_owned(), format!("arn:aws:iam::{account}:user/{user}"));
    add("ActionNames.member.1".to_owned(), row["action"].as_str()?.to_owned());
    add("ResourceArns.member.1".to_owned(), resource(row));
    let nothing = r#"{"Statement":{"Effect":"Deny","Action":"none:None","Resource":"*"}}"#.to_owned();
    let identity = row["identity"].as_array().into_iter().flatten().map(document);
    for (place, text) in (1..).zip(std::iter::once(nothing).chain(identity)) {
        add(format!("PolicyInputList.member.{place}"), text);
    }
    if let Some(name) = row.get("boundary") {
        add("PermissionsBoundaryPolicyInputList.member.1".to_owned(), document(name));
    }
    if let Some(name) = row.get("resource_policy") {
        add("ResourcePolicy".to_owned(), document(name));
    }
    let tags = row["tags"].as_object().into_iter().flatten();
    let tags = tags.map(|(key, value)| (format!("aws:PrincipalTag/{key}"), value.clone()));
    let context = row["context"].as_object().into_iter().flatten();
    let context = context.map(|(key, value)| (key.clone(), value.clone()));
    for (place, (key, value)) in (1..).zip(tags.chain(context)) {
        let at = format!("ContextEntries.member.{place}");
        add(format!("{at}.ContextKeyName"), key);
        let (kind, values) = match value {
            Value::Array(list) => ("stringList", list),
            one => ("string", vec![one]),
        };
        add(format!("{at}.ContextKeyType"), kind.to_owned());
        for (place, value) in (1..).zip(values) {
            add(format!("{at}.ContextKeyValues.member.{place}"), value.as_str()?.to_owned());
        }
    }
    Some(all)
}

fn simulate(root: &mut Signed, parameters: &[(String, String)]) -> crate::support::raw::Answer {
    let borrowed: Vec<(&str, &str)> =
        parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    root.iam("SimulateCustomPolicy", &borrowed)
}

#[test]
fn rows_of_published_examples_are_simulated_as_their_pages_say() {
    let table = table();
    let mut scene = Scene::new(&[]);
    let (mut simulated, mut wrong) = (0, Vec::new());
    for row in table["rows"].as_array().unwrap() {
        let Some(parameters) = parameters(&table, row) else { continue };
        let answer = simulate(&mut scene.root, &parameters);
        assert_eq!(answer.status, 200, "{row}: {}", answer.text());
        let expected = match row["decision"].as_str().unwrap().split(' ').next().unwrap() {
            "allow" => "allowed",
            "explicit" => "explicitDeny",
            _ => "implicitDeny",
        };
        let decision = element(&answer, "EvalDecision");
        assert_eq!(decision, element(&answer, "EvalResourceDecision"), "{row}");
        if decision != expected {
            wrong.push(format!("{row}: {decision}"));
        }
        simulated += 1;
    }
    assert_eq!(wrong, [""; 0]);
    assert!(simulated >= SIMULATED_MIN, "only {simulated} rows");
}

#[test]
fn a_simulation_names_statements_missing_keys_and_the_boundary() {
    let mut scene = Scene::new(&[]);
    let policy = "{\n  \"Statement\": [{\"Effect\": \"Allow\", \"Action\": \"dynamodb:GetItem\",\n    \"Resource\": \
                  \"*\"},\n  {\"Effect\": \"Deny\", \"Action\": \"*\", \"Resource\": \"arn:aws:dynamodb:*:*:table/B\",\n   \
                  \"Condition\": {\"IpAddress\": {\"aws:SourceIp\": \"10.0.0.0/8\"}}}]\n}";
    let (a, b) = (
        "arn:aws:dynamodb:eu-west-1:123456789012:table/A",
        "arn:aws:dynamodb:eu-west-1:123456789012:table/B",
    );
    let answer = scene.root.iam(
        "SimulateCustomPolicy",
        &[
            ("PolicyInputList.member.1", policy),
            (
                "PermissionsBoundaryPolicyInputList.member.1",
                r#"{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}"#,
            ),
            ("ActionNames.member.1", "dynamodb:GetItem"),
            ("ActionNames.member.2", "dynamodb:PutItem"),
            ("ResourceArns.member.1", a),
            ("ResourceArns.member.2", b),
            ("ContextEntries.member.1.ContextKeyName", "aws:SourceIp"),
            ("ContextEntries.member.1.ContextKeyValues.member.1", "10.1.2.3"),
            ("ContextEntries.member.1.ContextKeyType", "ip"),
            ("MaxItems", "1"),
        ],
    );
    let text = answer.text();
    assert_eq!(answer.status, 200, "{text}");
    // One result for the action, the severest first, then one for each resource.
    assert_eq!(element(&answer, "EvalDecision"), "explicitDeny", "{text}");
    assert_eq!(text.matches("<EvalResourceDecision>").count(), 2, "{text}");
    assert!(text.contains("<EvalResourceDecision>allowed</EvalResourceDecision>"), "{text}");
    assert_eq!(element(&answer, "StartPosition"), "<Line>4</Line><Column>3</Column>", "{text}");
    assert_eq!(element(&answer, "AllowedByPermissionsBoundary"), "true");
    assert_eq!(
        (element(&answer, "IsTruncated"), element(&answer, "Marker")),
        ("true".to_owned(), "00000".to_owned())
    );

    let answer = scene.root.iam(
        "SimulateCustomPolicy",
        &[("PolicyInputList.member.1", policy), ("ActionNames.member.1", "dynamodb:GetItem")],
    );
    assert_eq!(element(&answer, "EvalDecision"), "allowed");
    assert!(
        answer.text().contains("<MissingContextValues><member>aws:SourceIp</member>"),
        "{}",
        answer.text()
    );

    scene.allow(&json!([{"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": a}]));
    let ann = "arn:aws:iam::123456789012:user/Ann";
    let principal = [
        ("PolicySourceArn", ann),
        ("ActionNames.member.1", "dynamodb:GetItem"),
        ("ResourceArns.member.1", a),
    ];
    let answer = scene.root.iam("SimulatePrincipalPolicy", &principal);
    assert_eq!(element(&answer, "EvalDecision"), "allowed", "{}", answer.text());
    assert_eq!(element(&answer, "SourcePolicyId"), "user_Ann_p");
    assert_eq!(scene.ann.iam("SimulatePrincipalPolicy", &principal).status, 403);
    for (parameters, code) in [
        (vec![("ActionNames.member.1", "dynamodb:GetItem")], "ValidationError"),
        (
            vec![("PolicyInputList.member.1", "{}"), ("ActionNames.member.1", "dynamodb:GetItem")],
            "InvalidInput",
        ),
        (
            vec![
                ("PolicyInputList.member.1", policy),
                ("ActionNames.member.1", "dynamodb:GetItem"),
                ("CallerArn", "arn:aws:sts::123456789012:assumed-role/R/s"),
            ],
            "InvalidInput",
        ),
    ] {
        assert_eq!(element(&scene.root.iam("SimulateCustomPolicy", &parameters), "Code"), code);
    }
    let unknown =
        [("PolicySourceArn", "arn:aws:iam::123456789012:user/Nobody"), ("ActionNames.member.1", "a:B")];
    assert_eq!(element(&scene.root.iam("SimulatePrincipalPolicy", &unknown), "Code"), "NoSuchEntity");
}
