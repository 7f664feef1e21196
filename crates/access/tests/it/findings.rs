//! What `check` finds, rule by rule, and what it leaves alone; what `explain` says.

use std::sync::Arc;

use keywright_access::action::Action;
use keywright_access::arn::Target;
use keywright_access::check::{CheckFault, check};
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::Question;
use keywright_access::document::{Document, PolicyKind};
use keywright_access::explain::explain;
use keywright_access::lint::{Known as Facts, Rule};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::{Named, Principal};

const TABLE: &str = "arn:aws:dynamodb:us-west-2:123456789012:table/T";

fn rules(text: &str, keys: &[&str]) -> Vec<Rule> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let checked = check(text, Facts { key_attributes: &keys }).unwrap();
    let mut rules: Vec<Rule> = checked
        .iter()
        .flat_map(|document| document.outcome.as_ref().unwrap())
        .map(|finding| finding.rule)
        .collect();
    rules.dedup();
    rules
}

/// A document that allows this, on the table and its indexes.
fn allow(actions: &str, condition: &str) -> String {
    format!(
        r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "Allow", "Action": {actions},
            "Resource": ["{TABLE}", "{TABLE}/index/*"], "Condition": {condition}}}}}"#
    )
}

#[test]
fn conditions_that_do_something_else_than_they_seem_are_found() {
    let keys = r#"{"StringEquals": {"dynamodb:LeadingKeys": "a"}}"#;
    assert_eq!(rules(&allow(r#""dynamodb:GetItem""#, keys), &[]), [Rule::PlainOperator]);
    let all = r#"{"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "a"}}"#;
    assert_eq!(rules(&allow(r#""dynamodb:GetItem""#, all), &[]), []);
    assert_eq!(
        rules(&allow(r#"["dynamodb:GetItem", "dynamodb:Scan"]"#, all), &[]),
        [Rule::ForAllValues, Rule::LeadingKeysWithScan]
    );
    let null = r#"{"ForAllValues:StringEquals": {"aws:TagKeys": "a"}, "Null": {"aws:TagKeys": "false"}}"#;
    assert_eq!(rules(&allow(r#""dynamodb:TagResource""#, null), &[]), []);
    let tags = r#"{"ForAllValues:StringEquals": {"aws:TagKeys": "a"}}"#;
    assert_eq!(rules(&allow(r#""dynamodb:TagResource""#, tags), &[]), [Rule::ForAllValues]);
    let names = r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "total"]}}"#;
    assert_eq!(rules(&allow(r#""dynamodb:GetItem""#, names), &["pk"]), [Rule::AttributesReturned]);
    assert_eq!(
        rules(&allow(r#""dynamodb:UpdateItem""#, names), &["pk", "sk"]),
        [Rule::AttributesReturned, Rule::AttributesWithoutKeys]
    );
    let bound = r#"{"ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk"]},
        "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}"#;
    assert_eq!(rules(&allow(r#""dynamodb:GetItem""#, bound), &["pk"]), []);
    assert_eq!(
        rules(&allow(r#""dynamodb:GetItem""#, r#"{"StringEquals": {"aws:PrincipalTags/a": "b"}}"#), &[]),
        [Rule::UnknownKey]
    );
    assert_eq!(
        rules(&allow(r#""dynamodb:GetItem""#, r#"{"StringEquals": {"aws:UserAgent": "${aws:user}"}}"#), &[]),
        [Rule::UnknownKey]
    );
}

#[test]
fn conditions_on_leading_keys_that_scans_and_mixed_batches_pass_are_found() {
    let statement = |effect: &str, actions: &str, operator: &str| {
        format!(
            r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "{effect}", "Action": {actions},
                "Resource": ["{TABLE}", "{TABLE}/index/*"],
                "Condition": {{"{operator}": {{"dynamodb:LeadingKeys": "a"}}}}}}}}"#
        )
    };
    let deny = |actions: &str, operator: &str| rules(&statement("Deny", actions, operator), &[]);
    let allow = |actions: &str, operator: &str| rules(&statement("Allow", actions, operator), &[]);
    // One allowed key is enough for a batch to pass.
    let all = "ForAllValues:StringNotEquals";
    assert_eq!(deny(r#""dynamodb:*""#, all), [Rule::MixedBatch]);
    assert_eq!(deny(r#"["dynamodb:BatchWriteItem"]"#, all), [Rule::MixedBatch]);
    assert_eq!(deny(r#"["dynamodb:GetItem", "dynamodb:PutItem"]"#, all), []);
    assert_eq!(allow(r#""dynamodb:BatchGetItem""#, "ForAnyValue:StringEquals"), [Rule::MixedBatch]);
    assert_eq!(allow(r#""dynamodb:GetItem""#, "ForAnyValue:StringEquals"), []);
    assert_eq!(allow(r#""dynamodb:BatchGetItem""#, "ForAllValues:StringEquals"), []);
    // What has no keys is not denied, or allowed.
    let any = "ForAnyValue:StringNotEquals";
    assert_eq!(deny(r#""dynamodb:*""#, any), [Rule::LeadingKeysWithScan]);
    assert_eq!(deny(r#""dynamodb:PartiQLSelect""#, any), [Rule::LeadingKeysWithScan]);
    assert_eq!(deny(r#"["dynamodb:GetItem", "dynamodb:BatchGetItem"]"#, any), []);
    for operator in ["StringNotEquals", "StringEqualsIfExists"] {
        let found = [Rule::PlainOperator, Rule::LeadingKeysWithScan];
        assert_eq!(allow(r#""dynamodb:Scan""#, operator), found, "{operator}");
        assert_eq!(allow(r#""dynamodb:PartiQLSelect""#, operator), found, "{operator}");
        assert_eq!(allow(r#""dynamodb:GetItem""#, operator), [Rule::PlainOperator], "{operator}");
    }
}

#[test]
fn statements_that_reach_nothing_or_too_little_are_found() {
    let document = |action: &str, resource: &str, version: &str| {
        format!(
            r#"{{"Version": "{version}", "Statement": [{{"Effect": "Allow", "Action": {action},
                "Resource": "{resource}"}}]}}"#
        )
    };
    let new = "2012-10-17";
    for action in ["TransactWriteItems", "BatchReadItem", "ExecuteStatement", "Frob*"] {
        let text = document(&format!(r#"["dynamodb:GetItem", "dynamodb:{action}"]"#), TABLE, new);
        assert_eq!(rules(&text, &[]), [Rule::UnknownAction], "{action}");
    }
    assert_eq!(rules(&document(r#""s3:GetObject""#, "arn:aws:s3:::b/*", new), &[]), []);
    assert_eq!(rules(&document(r#""dynamodb:Query""#, TABLE, new), &[]), [Rule::IndexMissing]);
    assert_eq!(rules(&document(r#""dynamodb:Query""#, &format!("{TABLE}*"), new), &[]), []);
    assert_eq!(rules(&document(r#""dynamodb:ListTables""#, TABLE, new), &[]), [Rule::NoEffect]);
    assert_eq!(rules(&document(r#""dynamodb:ListTables""#, "*", new), &[]), []);
    assert_eq!(rules(&document(r#""dynamodb:GetItem""#, "arn:aws:s3:::b/*", new), &[]), [Rule::NoEffect]);
    let old = format!("{TABLE}-${{aws:username}}");
    assert_eq!(rules(&document(r#""dynamodb:GetItem""#, &old, "2008-10-17"), &[]), [Rule::VariableIsText]);
    let hidden = format!(
        r#"{{"Statement": [{{"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "{TABLE}"}},
            {{"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"}}]}}"#
    );
    assert_eq!(rules(&hidden, &[]), [Rule::NoEffect]);
    let public = format!(
        r#"{{"Statement": {{"Effect": "Allow", "Principal": "*", "Action": "dynamodb:PutItem",
            "Resource": "{TABLE}"}}}}"#
    );
    assert_eq!(rules(&public, &[]), [Rule::Public]);
}

#[test]
fn documents_within_other_json_are_found_with_their_places() {
    let text = r#"{"users": [{"name": "ann", "policies": {"orders":
        {"Statement": {"Effect": "Allow", "Action": "dynamodb:Frob", "Resource": "*"}}}}],
        "roles": {"r": {"trust": {"Statement": {"Effect": "Allow", "Principal": {"AWS": "123456789012"},
        "Action": "sts:AssumeRole"}}, "boundary": {"Statement": []}}}}"#;
    let checked = check(text, Facts::default()).unwrap();
    let places: Vec<(&str, PolicyKind, bool)> =
        checked.iter().map(|one| (one.path.as_str(), one.kind, one.outcome.is_ok())).collect();
    assert_eq!(
        places,
        [
            ("users[0].policies.orders", PolicyKind::Identity, true),
            ("roles.r.trust", PolicyKind::Trust, true),
            ("roles.r.boundary", PolicyKind::Boundary, false),
        ]
    );
    let fault = check("{\n\"a\": 1,\n\"a\": 2}", Facts::default()).unwrap_err();
    let said = "not JSON: the member \"a\" is given twice at line 3";
    assert!(fault.to_string().starts_with(said), "{fault}");
    assert!(matches!(check("{", Facts::default()), Err(CheckFault::NotJson(_))));
    assert_eq!(check("{}", Facts::default()).unwrap_err(), CheckFault::NoDocument);
}

#[test]
fn an_explanation_names_the_statement_and_the_condition_that_failed() {
    let text = format!(
        r#"{{"Version": "2012-10-17", "Statement": [
            {{"Sid": "Own", "Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "{TABLE}",
              "Condition": {{"ForAllValues:StringEquals": {{"dynamodb:LeadingKeys": ["a", "b"]}}}}}},
            {{"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"}},
            {{"Effect": "Deny", "Action": "dynamodb:*", "Resource": "{TABLE}/index/*"}}]}}"#
    );
    let document = Document::parse(&text, PolicyKind::Identity).unwrap();
    let identity = [Arc::new(Policy::new("orders", document))];
    let policies = Policies { identity: &identity, ..Policies::default() };
    let principal = Principal::user("123456789012", Named { path: "/", name: "ann" }, "AIDA1");
    let target = Target::parse(TABLE).unwrap();
    let context = Context::default().with(Known::LeadingKeys, Value::Many(vec!["a".into(), "c".into()]));
    let question = |context| Question {
        principal: &principal,
        action: Action::parse("dynamodb:GetItem"),
        target: &target,
        context,
    };
    assert_eq!(
        explain(&question(&context), &policies).to_string(),
        "denied: no identity-based policy allows it\n  \
         statement 1 (Own) of policy orders, Allow: ForAllValues:StringEquals of dynamodb:LeadingKeys wants a \
         or b, the request has a, c\n  \
         statement 2 of policy orders, Allow: is about other actions\n  \
         statement 3 of policy orders, Deny: is about other resources\n"
    );
    let unbound = context.clone().unbound();
    let first = explain(&question(&unbound), &policies).to_string();
    assert!(first.starts_with("depends on the items"), "{first}");
    assert!(first.contains("depends on dynamodb:LeadingKeys"), "{first}");
}
