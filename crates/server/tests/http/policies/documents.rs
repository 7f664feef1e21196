//! Which documents are taken, each fault's text, and the form in which documents are read.

use serde_json::json;

use super::{OTHER, OWNER, Refused, Scene, arn, error, invalid, policy, refused, root, table};

/// One statement that everything is accepted of.
const STATEMENT: &str =
    r#"{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"dynamodb:GetItem","Resource":"*"}"#;

fn fault(scene: &Scene, text: &str) -> Refused {
    let body = json!({"ResourceArn": arn("Tab"), "Policy": text});
    refused(scene.call(&scene.owner, "PutResourcePolicy", &body))
}

/// Puts a document on a table of its own and reads it.
fn read_back(scene: &Scene, number: usize, text: &str) -> String {
    let name = format!("Canonical{number}");
    scene.owner("CreateTable", &table(&name));
    scene.owner("PutResourcePolicy", &json!({"ResourceArn": arn(&name), "Policy": text}));
    let read = scene.owner("GetResourcePolicy", &json!({"ResourceArn": arn(&name)}));
    read["Policy"].as_str().unwrap().to_owned()
}

#[test]
fn each_fault_of_a_document_has_its_text() {
    let scene = Scene::new();
    scene.table();
    let of = |text: &str| invalid(format!("Invalid policy document: {text}"));
    let one = |members: &str| format!(r#"{{"Version":"2012-10-17","Statement":[{{{members}}}]}}"#);
    let owner = format!(r#""Principal":{{"AWS":"{OWNER}"}}"#);
    let streams = one(&format!(
        r#""Effect":"Allow",{owner},"Action":["dynamodb:GetRecords","dynamodb:GetItem","dynamodb:ListStreams"],
           "Resource":"*""#
    ));
    let twice = format!(
        r#"{{"Statement":[{s},{s}]}}"#,
        s = STATEMENT.replace("{\"Effect\"", "{\"Sid\":\"a\",\"Effect\"")
    );
    let backup = format!("{}/backup/01", arn("Tab"));
    for (text, expected) in [
        (String::new(), of("This policy contains invalid Json")),
        ("[]".to_owned(), of("This policy contains invalid Json")),
        ("{\"a\":1,\"a\":2}".to_owned(), of("This policy contains invalid Json")),
        ("{}".to_owned(), of("Syntax error at position (1,3)")),
        ("null".to_owned(), of("This text appears not to be a policy")),
        (r#"{"Statement":[]}"#.to_owned(), of("Could not parse the policy: Statement is empty!")),
        (
            one(&format!(r#"{owner},"Action":"dynamodb:GetItem","Resource":"*""#)),
            of("Missing required field Effect"),
        ),
        (
            one(&format!(r#""Effect":"Allow",{owner},"Action":"dynamodb:GetItem""#)),
            of("Missing required field Resource"),
        ),
        (
            one(r#""Effect":"Allow","Action":"dynamodb:GetItem","Resource":"*""#),
            of("Missing required field Principal"),
        ),
        (one(&format!(r#""Effect":"Allow",{owner},"Resource":"*""#)), of("Missing required field Action")),
        (twice, of("The Statement Ids in the policy are not unique")),
        (
            streams,
            of(r#"The following action names are invalid: "dynamodb:GetRecords", "dynamodb:ListStreams""#),
        ),
        (
            one(&format!(
                r#""Effect":"Allow",{owner},"Action":"dynamodb:GetItem","Resource":["*","{backup}"]"#
            )),
            of(&format!(r#"The relative-id "table/Tab/backup/01" is invalid for ARN "{backup}""#)),
        ),
        (
            one(r#""Effect":"Allow","Principal":{"AWS":"ann"},"Action":"dynamodb:GetItem","Resource":"*""#),
            invalid("Invalid principal in policy document."),
        ),
        (
            format!("{}{}", " ".repeat(20_481 - one("").len()), one("")),
            invalid("Maximum policy size of 20480 bytes exceeded"),
        ),
    ] {
        assert_eq!(fault(&scene, &text), expected, "{text}");
    }
    let body = json!({"ResourceArn": arn("Tab")});
    let none = refused(scene.call(&scene.owner, "GetResourcePolicy", &body));
    let text = format!("Resource-based policy not found for the provided ResourceArn: {}", arn("Tab"));
    assert_eq!(none, error("PolicyNotFoundException", text), "nothing was stored");
}

#[test]
fn the_largest_document_is_taken() {
    let scene = Scene::new();
    scene.table();
    let document = format!(r#"{{"Statement":{STATEMENT}}}"#);
    let padded = format!("{}{document}", " ".repeat(20_480 - document.len()));
    scene.owner("PutResourcePolicy", &json!({"ResourceArn": arn("Tab"), "Policy": padded}));
}

#[test]
fn a_document_is_read_in_its_canonical_form() {
    let scene = Scene::new();
    let own = root(OWNER);
    let get = r#""Action":"dynamodb:GetItem""#;
    let plain =
        |inside: &str| format!(r#"{{"Version":"2008-10-17","Statement":[{{"Effect":"Allow",{inside}}}]}}"#);
    let whole = plain(&format!(r#""Principal":{{"AWS":"{own}"}},{get},"Resource":"*""#));
    let of = |members: &str| format!(r#"{{"Statement":{{{members}}}}}"#);
    let effect = r#""Effect":"Allow""#;
    let principal = format!(r#""Principal":{{"AWS":"{OWNER}"}}"#);
    let other = root(OTHER);
    let table = arn("Tab");
    let spelled = [
        (of(&format!(r#"{effect},{principal},{get},"Resource":"*""#)), whole.clone()),
        (of(&format!(r#""Resource":"*",{get},{principal},{effect}"#)), whole.clone()),
        (of(&format!(" {effect} ,\n{principal},\t{get} , \"Resource\" : \"*\" ")), whole.clone()),
        (of(&format!(r#""Effect":"allow",{principal},{get},"Resource":"*""#)), whole.clone()),
        (of(&format!(r#""Effect":"ALLOW",{principal},{get},"Resource":["*"]"#)), whole.clone()),
        (of(&format!(r#"{effect},{principal},"Action":["dynamodb:GetItem"],"Resource":"*""#)), whole.clone()),
        (of(&format!(r#"{effect},"Principal":{{"AWS":["{OWNER}"]}},{get},"Resource":"*""#)), whole.clone()),
        (
            of(&format!(r#"{effect},"Principal":{{"AWS":["{OWNER}","{own}"]}},{get},"Resource":"*""#)),
            whole.clone(),
        ),
        (of(&format!(r#"{effect},"Principal":{{"AWS":"{own}"}},{get},"Resource":"*""#)), whole.clone()),
        (format!(r#"{{"Statement":[{STATEMENT}],"Version":"2008-10-17"}}"#), whole.clone()),
        (
            of(&format!(r#"{effect},"Principal":{{"AWS":["{OTHER}","{OWNER}"]}},{get},"Resource":"*""#)),
            plain(&format!(r#""Principal":{{"AWS":["{other}","{own}"]}},{get},"Resource":"*""#)),
        ),
        (
            of(&format!(
                r#"{effect},{principal},"Action":["dynamodb:Query","dynamodb:GetItem"],"Resource":"*""#
            )),
            plain(&format!(
                r#""Principal":{{"AWS":"{own}"}},"Action":["dynamodb:Query","dynamodb:GetItem"],"Resource":"*""#
            )),
        ),
        (
            of(&format!(r#"{effect},{principal},{get},"Resource":["{table}","{table}/index/*"]"#)),
            plain(&format!(
                r#""Principal":{{"AWS":"{own}"}},{get},"Resource":["{table}","{table}/index/*"]"#
            )),
        ),
        (
            format!(r#"{{"Id":"x","Version":"2012-10-17","Statement":{STATEMENT}}}"#),
            whole.replacen("2008-10-17\"", "2012-10-17\",\"Id\":\"x\"", 1),
        ),
        (
            of(&format!(r#"{get},"Sid":"s",{effect},{principal},"Resource":"*""#)),
            whole.replacen(r#"{"Effect""#, r#"{"Sid":"s","Effect""#, 1),
        ),
        (
            of(&format!(r#""Effect":"deny","Principal":"*",{get},"Resource":"*""#)),
            plain(&format!(r#""Principal":"*",{get},"Resource":"*""#)).replacen("Allow", "Deny", 1),
        ),
        (
            of(&format!(r#""Effect":"Deny","NotPrincipal":{{"AWS":["{OWNER}"]}},{get},"Resource":"*""#)),
            plain(&format!(r#""NotPrincipal":{{"AWS":"{own}"}},{get},"Resource":"*""#))
                .replacen("Allow", "Deny", 1),
        ),
        (
            of(&format!(
                r#"{effect},{principal},"NotAction":["dynamodb:PutItem"],"NotResource":["{table}"]"#
            )),
            plain(&format!(
                r#""Principal":{{"AWS":"{own}"}},"NotAction":"dynamodb:PutItem","NotResource":"{table}""#
            )),
        ),
        (
            of(&format!(
                r#""Condition":{{"Bool":{{"aws:SecureTransport":[true]}}}},{effect},{principal},{get},"Resource":"*""#
            )),
            whole.replacen(r#""*"}]"#, r#""*","Condition":{"Bool":{"aws:SecureTransport":"true"}}}]"#, 1),
        ),
        (
            of(&format!(
                r#"{effect},{principal},{get},"Resource":"*",
                   "Condition":{{"StringEquals":{{"aws:PrincipalTag/a":["1","2"],"aws:username":["ann"]}}}}"#
            )),
            whole.replacen(
                r#""*"}]"#,
                r#""*","Condition":{"StringEquals":{"aws:PrincipalTag/a":["1","2"],"aws:username":"ann"}}}]"#,
                1,
            ),
        ),
        (
            of(&format!(r#"{effect},"Principal":{{"Service":["a.amazonaws.com"]}},{get},"Resource":"*""#)),
            plain(&format!(r#""Principal":{{"Service":"a.amazonaws.com"}},{get},"Resource":"*""#)),
        ),
    ];
    assert!(spelled.len() >= 20);
    for (number, (sent, expected)) in spelled.into_iter().enumerate() {
        assert_eq!(read_back(&scene, number, &sent), expected, "{sent}");
    }
}

#[test]
fn a_policy_for_everyone_must_be_narrowed_by_a_fixed_value() {
    let scene = Scene::new();
    scene.table();
    let public = error(
        "ValidationException",
        "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to \
         ensure least-privilege form of access",
    );
    let with = |condition: &serde_json::Value| {
        policy(&json!({
            "Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*",
            "Condition": condition,
        }))
    };
    let open = json!({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "dynamodb:*", "Resource": "*"});
    assert_eq!(fault(&scene, &policy(&open)), public);
    for condition in [
        json!({"StringEquals": {"aws:username": "ann"}}),
        json!({"StringLike": {"aws:PrincipalArn": "arn:aws:iam::*:user/ann"}}),
        json!({"StringEquals": {"aws:PrincipalAccount": "${aws:PrincipalAccount}"}}),
        json!({"StringEqualsIfExists": {"aws:PrincipalAccount": OWNER}}),
        json!({"StringNotEquals": {"aws:PrincipalAccount": OWNER}}),
        json!({"Bool": {"aws:PrincipalIsAWSService": "false"}}),
        json!({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}),
    ] {
        assert_eq!(fault(&scene, &with(&condition)), public, "{condition}");
    }
    let put = |text: &str| {
        scene.owner("PutResourcePolicy", &json!({"ResourceArn": arn("Tab"), "Policy": text}));
    };
    for key in [
        "aws:PrincipalAccount",
        "aws:PrincipalArn",
        "aws:PrincipalOrgID",
        "aws:PrincipalOrgPaths",
        "aws:SourceAccount",
        "aws:SourceArn",
        "aws:SourceVpc",
        "aws:SourceVpce",
        "aws:userid",
        "aws:PrincipalServiceName",
        "aws:Ec2InstanceSourceVpc",
        "aws:SourceOrgID",
        "aws:SourceOrgPaths",
    ] {
        put(&with(&json!({"StringEquals": {key: "fixed"}})));
    }
    put(&with(&json!({"ForAnyValue:StringEquals": {"aws:PrincipalServiceNamesList": "a.amazonaws.com"}})));
    put(&with(&json!({"Bool": {"aws:PrincipalIsAWSService": "true"}})));
    put(&policy(
        &json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:DeleteItem", "Resource": "*"}),
    ));
}

#[test]
fn principals_must_exist_where_accounts_are_held() {
    let scene = Scene::new();
    scene.table();
    scene.user("ann");
    scene.session("reader");
    let put = |principal: &str| {
        let body = json!({
            "ResourceArn": arn("Tab"),
            "Policy": policy(&super::allows(principal, &json!("dynamodb:GetItem"))),
        });
        scene.call(&scene.owner, "PutResourcePolicy", &body)
    };
    let unknown = invalid("Invalid principal in policy document.");
    for principal in [
        "111122223333",
        "arn:aws:iam::111122223333:root",
        "arn:aws:iam::123456789012:user/bob",
        "arn:aws:iam::123456789012:user/team/ann",
        "arn:aws:iam::123456789012:role/ann",
        "arn:aws:sts::123456789012:assumed-role/nobody/s",
        "arn:aws:iam::999988887777:user/ann",
    ] {
        assert_eq!(refused(put(principal)), unknown, "{principal}");
    }
    for principal in [
        OTHER,
        "arn:aws:iam::123456789012:root",
        "arn:aws:iam::123456789012:user/ann",
        "arn:aws:iam::123456789012:role/reader",
        "arn:aws:sts::123456789012:assumed-role/reader/anything",
    ] {
        put(principal).unwrap_or_else(|refused| panic!("{principal}: {refused:?}"));
    }
    let mut new = table("New");
    new["ResourcePolicy"] = policy(&super::allows("111122223333", &json!("dynamodb:GetItem"))).into();
    assert_eq!(refused(scene.call(&scene.owner, "CreateTable", &new)), unknown);
}
