//! Documents that are refused, each with its exact fault and the text that clients read.

use keywright_access::document::{Document, DocumentFault, PolicyKind};

const TABLE: &str = "arn:aws:dynamodb:us-west-2:123456789012:table/T";

/// A document of one statement with these members.
fn one(members: &str) -> String {
    format!(r#"{{"Version": "2012-10-17", "Statement": {{{members}}}}}"#)
}

fn fault(text: &str, kind: PolicyKind) -> DocumentFault {
    match Document::parse(text, kind) {
        Ok(_) => panic!("a document: {text}"),
        Err(fault) => fault,
    }
}

fn identity(text: &str) -> String {
    fault(text, PolicyKind::Identity).message(PolicyKind::Identity)
}

fn table(text: &str) -> String {
    fault(text, PolicyKind::Table).message(PolicyKind::Table)
}

#[test]
fn malformed_documents_of_identities_have_the_texts_of_iam() {
    let syntax = "Syntax errors in policy.";
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"Version": "2012-10-17"}"#,
        r#"{"Version": "2012-10-18", "Statement": []}"#,
        r#"{"Version": 2012, "Statement": []}"#,
        r#"{"Version": "2012-10-17", "Statement": []}"#,
        r#"{"Version": "2012-10-17", "Statement": ["x"]}"#,
        r#"{"Version": "2012-10-17", "Statement": {}, "Extra": 1}"#,
        r#"{"Version": "2012-10-17", "Version": "2012-10-17", "Statement": {}}"#,
        &one(r#""Effect": "allow", "Action": "*", "Resource": "*""#),
        &one(r#""Effect": "Allow", "Effect": "Deny", "Action": "*", "Resource": "*""#),
        &one(r#""Effect": "Allow", "Action": "*", "NotAction": "*", "Resource": "*""#),
        &one(r#""Effect": "Allow", "Action": 1, "Resource": "*""#),
        &one(r#""Effect": "Allow", "Action": "*", "Resource": "*", "Conditions": {}"#),
        &one(r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Equals": {"aws:a": "b"}}"#),
        &one(r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Bool": {"nokey": "b"}}"#),
        &one(
            r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"NumericEquals": {"a:b": "x"}}"#,
        ),
        &one(
            r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"DateEquals": {"a:b": "now"}}"#,
        ),
        &one(
            r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"a:b": "1.2.3"}}"#,
        ),
        &one(r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Null": {"a:b": "maybe"}}"#),
        &one(
            r#""Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"a:b": "${x"}}"#,
        ),
        &one("\"Effect\": \"Allow\", \"Action\": \"*\", \"Resource\": \"*\", \"Sid\": \"\u{20ac}\""),
    ] {
        assert_eq!(identity(text), syntax, "{text}");
    }
    assert_eq!(
        identity(&one(r#""Effect": "Allow", "Resource": "*""#)),
        "Policy statement must contain actions."
    );
    assert_eq!(
        identity(&one(r#""Effect": "Allow", "Action": "*""#)),
        "Policy statement must contain resources."
    );
    assert_eq!(identity(&one(r#""Action": "*", "Resource": "*""#)), "Missing required field Effect");
    assert_eq!(
        identity(&one(r#""Effect": "Allow", "Action": "GetItem", "Resource": "*""#)),
        "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc."
    );
    assert_eq!(
        identity(&one(r#""Effect": "Allow", "Action": "*", "Resource": "table/T""#)),
        "Resource table/T must be in ARN format or \"*\"."
    );
    assert_eq!(
        identity(&one(r#""Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*""#)),
        "Policy document should not specify a principal."
    );
    let twice = r#"{"Effect": "Allow", "Action": "*", "Resource": "*", "Sid": "S"}"#;
    assert_eq!(
        identity(&format!(r#"{{"Statement": [{twice}, {twice}]}}"#)),
        "Statement IDs (SID) in a single policy must be unique."
    );
}

#[test]
fn malformed_documents_of_tables_have_the_texts_of_the_service() {
    let invalid = |detail: &str| {
        format!("One or more parameter values were invalid: Invalid policy document: {detail}")
    };
    for text in ["", "{", "[]", "\"\"", "7"] {
        assert_eq!(table(text), invalid("This policy contains invalid Json"), "{text}");
    }
    assert_eq!(table("{}"), invalid("Syntax error at position (1,3)"));
    assert_eq!(table("null"), invalid("This text appears not to be a policy"));
    assert_eq!(
        table(r#"{"Version": "2012-10-17", "Statement": []}"#),
        invalid("Could not parse the policy: Statement is empty!")
    );
    let everyone = r#""Principal": {"AWS": "123456789012"}, "Action": "dynamodb:GetItem""#;
    assert_eq!(
        table(&one(&format!(r#"{everyone}, "Resource": "{TABLE}""#))),
        invalid("Missing required field Effect")
    );
    assert_eq!(
        table(&one(&format!(r#"{everyone}, "Effect": "Allow""#))),
        invalid("Missing required field Resource")
    );
    assert_eq!(
        table(&one(&format!(
            r#""Effect": "Allow", "Principal": "*", "Resource": "{TABLE}",
               "Action": ["dynamodb:GetItem", "dynamodb:GetRecords", "s3:GetObject"]"#
        ))),
        invalid("The following action names are invalid: \"dynamodb:GetRecords\", \"s3:GetObject\"")
    );
    let principal = "One or more parameter values were invalid: Invalid principal in policy document.";
    for name in [
        r#""x""#,
        r#"{"AWS": "1234"}"#,
        r#"{"AWS": "arn:aws:iam::123456789012:user/*"}"#,
        r#"{"Robot": "*"}"#,
    ] {
        let text = one(&format!(
            r#""Effect": "Allow", "Principal": {name}, "Action": "dynamodb:*", "Resource": "{TABLE}""#
        ));
        assert_eq!(table(&text), principal, "{name}");
    }
    let long =
        one(&format!(r#"{everyone}, "Effect": "Allow", "Resource": "*", "Sid": "{}""#, "x".repeat(20_480)));
    assert_eq!(
        table(&long),
        "One or more parameter values were invalid: Maximum policy size of 20480 bytes exceeded"
    );
    let allow = one(&format!(r#"{everyone}, "Effect": "allow", "Resource": "{TABLE}""#));
    assert!(Document::parse(&allow, PolicyKind::Table).is_ok(), "Effect has no case here");
}

#[test]
fn trust_policies_are_about_sessions_and_have_no_resource() {
    let message = |text: &str| fault(text, PolicyKind::Trust).message(PolicyKind::Trust);
    let trust = r#""Effect": "Allow", "Principal": {"AWS": "123456789012"}"#;
    assert!(
        Document::parse(&one(&format!(r#"{trust}, "Action": "sts:AssumeRole""#)), PolicyKind::Trust).is_ok()
    );
    assert_eq!(
        message(&one(&format!(r#"{trust}, "Action": "sts:AssumeRole", "Resource": "*""#))),
        "Has prohibited field Resource"
    );
    assert_eq!(
        message(&one(&format!(r#"{trust}, "Action": "dynamodb:GetItem""#))),
        "AssumeRole policy may only specify STS AssumeRole actions."
    );
    assert_eq!(
        message(&one(r#""Effect": "Allow", "Action": "sts:AssumeRole""#)),
        "Missing required field Principal"
    );
    assert!(matches!(
        fault(
            &one(r#""Effect": "Allow", "NotPrincipal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole""#),
            PolicyKind::Trust
        ),
        DocumentFault::Syntax(_)
    ));
}

#[test]
fn deep_and_huge_texts_are_refused_without_harm() {
    let deep = format!("{}{}", "[".repeat(60_000), "]".repeat(60_000));
    assert_eq!(identity(&one(&format!(r#""Effect": {deep}"#))), "Syntax errors in policy.");
    let huge = "x".repeat(131_073);
    assert!(matches!(fault(&huge, PolicyKind::Identity), DocumentFault::TooLong { .. }));
}

#[test]
fn a_policy_for_everyone_is_public_unless_a_fixed_value_narrows_it() {
    let is_public = |condition: &str| {
        let text = one(&format!(
            r#""Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "{TABLE}"{condition}"#
        ));
        Document::parse(&text, PolicyKind::Table).unwrap().is_public()
    };
    assert!(is_public(""));
    for key in [
        "aws:PrincipalAccount",
        "aws:PrincipalArn",
        "aws:PrincipalOrgID",
        "aws:PrincipalOrgPaths",
        "aws:SourceAccount",
        "aws:SourceArn",
        "aws:SourceVpc",
        "aws:SourceVpce",
        "aws:UserId",
        "aws:PrincipalServiceName",
        "aws:PrincipalServiceNamesList",
        "aws:Ec2InstanceSourceVpc",
        "aws:SourceOrgID",
        "aws:SourceOrgPaths",
    ] {
        assert!(!is_public(&format!(r#", "Condition": {{"StringEquals": {{"{key}": "v"}}}}"#)), "{key}");
        assert!(is_public(&format!(r#", "Condition": {{"StringLike": {{"{key}": "v*"}}}}"#)), "{key}");
        assert!(is_public(&format!(r#", "Condition": {{"StringEquals": {{"{key}": "${{aws:userid}}"}}}}"#)));
        assert!(is_public(&format!(r#", "Condition": {{"StringNotEquals": {{"{key}": "v"}}}}"#)), "{key}");
        assert!(
            is_public(&format!(r#", "Condition": {{"StringEqualsIfExists": {{"{key}": "v"}}}}"#)),
            "{key}"
        );
    }
    assert!(!is_public(r#", "Condition": {"Bool": {"aws:PrincipalIsAWSService": "true"}}"#));
    assert!(is_public(r#", "Condition": {"Bool": {"aws:PrincipalIsAWSService": "false"}}"#));
    assert!(is_public(r#", "Condition": {"IpAddress": {"aws:SourceIp": "192.0.2.1"}}"#));
}
