//! Random policies and requests, small enough that they often meet.
//!
//! It does not know how anything is decided.

use fastrand::Rng;
use serde_json::{Map, Value as Json, json};

const ACTIONS: [&str; 8] = [
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:*Item",
    "dynamodb:Get*",
    "dynamodb:*",
    "*",
];
const RESOURCES: [&str; 7] = [
    "*",
    "arn:aws:dynamodb:us-west-2:123456789012:table/T",
    "arn:aws:dynamodb:us-west-2:123456789012:table/T/index/I",
    "arn:aws:dynamodb:us-west-2:123456789012:table/T*",
    "arn:aws:dynamodb:*:123456789012:table/*",
    "arn:aws:dynamodb:us-west-2:*:table/?",
    "arn:aws:dynamodb:us-west-2:123456789012:table/${aws:username}",
];
const TEXTS: [&str; 7] = ["a", "b", "A", "ab", "a*", "?", "${aws:username}"];
const TAG_KEYS: [&str; 4] = ["a", "b", "ab", "c"];
const ARNS: [&str; 4] = [
    "arn:aws:sns:us-west-2:123456789012:a",
    "arn:aws:sns:eu-west-1:123456789012:a:b",
    "arn:aws:sns:*:123456789012:a",
    "arn:aws:sns:us-west-2:*:*",
];

/// Which statements a policy has.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    /// None names principals.
    Identity,
    /// All do.
    Table,
}

fn pick<'t>(rng: &mut Rng, texts: &[&'t str]) -> &'t str {
    texts[rng.usize(..texts.len())]
}

fn some<'t>(rng: &mut Rng, texts: &[&'t str]) -> Vec<&'t str> {
    (0..rng.usize(1..=2)).map(|_| pick(rng, texts)).collect()
}

/// A document.
pub(crate) fn document(rng: &mut Rng, owner: Owner) -> Json {
    let statements: Vec<Json> = (0..rng.usize(1..=3)).map(|_| statement(rng, owner)).collect();
    json!({ "Version": pick(rng, &["2012-10-17", "2012-10-17", "2008-10-17"]), "Statement": statements })
}

fn statement(rng: &mut Rng, owner: Owner) -> Json {
    let mut statement = Map::new();
    statement.insert("Effect".into(), pick(rng, &["Allow", "Allow", "Deny"]).into());
    let not =
        |rng: &mut Rng, name: &str| if rng.u8(..8) == 0 { format!("Not{name}") } else { name.to_owned() };
    statement.insert(not(rng, "Action"), some(rng, &ACTIONS).into());
    statement.insert(not(rng, "Resource"), some(rng, &RESOURCES).into());
    if let Owner::Table = owner {
        let names = [
            "*",
            "123456789012",
            "arn:aws:iam::123456789012:user/a",
            "arn:aws:iam::123456789012:role/R",
            "arn:aws:sts::123456789012:assumed-role/R/s",
        ];
        statement.insert("Principal".into(), json!({ "AWS": some(rng, &names) }));
    }
    let conditions = rng.usize(..=2);
    if conditions > 0 {
        let mut block: Map<String, Json> = Map::new();
        for _ in 0..conditions {
            let (operator, key, values) = condition(rng);
            block.insert(operator, json!({ key: values }));
        }
        statement.insert("Condition".into(), block.into());
    }
    statement.into()
}

/// An operator, a key and values.
fn condition(rng: &mut Rng) -> (String, &'static str, Json) {
    let strings = [
        "StringEquals",
        "StringNotEquals",
        "StringLike",
        "StringNotLike",
        "StringEqualsIgnoreCase",
        "StringNotEqualsIgnoreCase",
    ];
    let orders = ["Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan", "GreaterThanEquals"];
    let if_exists = pick(rng, &["", "", "IfExists"]);
    match rng.u8(..9) {
        0 | 1 => (format!("{}{if_exists}", pick(rng, &strings)), "aws:UserAgent", some(rng, &TEXTS).into()),
        2..=4 => {
            let set = pick(rng, &["ForAllValues:", "ForAnyValue:", "ForAllValues:", ""]);
            let key = pick(rng, &["dynamodb:LeadingKeys", "dynamodb:Attributes", "aws:TagKeys"]);
            (format!("{set}{}", pick(rng, &strings)), key, some(rng, &TEXTS).into())
        }
        5 => {
            let values = some(rng, &["9", "10", "10.5"]).into();
            (format!("Numeric{}{if_exists}", pick(rng, &orders)), "s3:max-keys", values)
        }
        6 => {
            let values = some(rng, &["2025-06-01T00:00:00Z", "2026-01-01T00:00:00Z"]).into();
            (format!("Date{}{if_exists}", pick(rng, &orders)), "aws:CurrentTime", values)
        }
        7 => {
            let operators = ["ArnEquals", "ArnNotEquals", "ArnLike", "ArnNotLike"];
            (format!("{}{if_exists}", pick(rng, &operators)), "aws:SourceArn", some(rng, &ARNS).into())
        }
        _ => match rng.u8(..3) {
            0 => {
                let key = pick(rng, &["aws:UserAgent", "aws:TagKeys", "dynamodb:LeadingKeys"]);
                ("Null".to_owned(), key, pick(rng, &["true", "false"]).into())
            }
            1 => (format!("Bool{if_exists}"), "aws:SecureTransport", pick(rng, &["true", "false"]).into()),
            _ => {
                let values = some(rng, &["192.0.2.0/24", "192.0.2.7", "0.0.0.0/0"]).into();
                (pick(rng, &["IpAddress", "NotIpAddress"]).to_owned(), "aws:SourceIp", values)
            }
        },
    }
}

/// What is done to what.
pub(crate) fn request(rng: &mut Rng) -> (&'static str, &'static str) {
    let action = pick(rng, &ACTIONS[..4]);
    let resource = pick(
        rng,
        &[
            "arn:aws:dynamodb:us-west-2:123456789012:table/T",
            "arn:aws:dynamodb:us-west-2:123456789012:table/T/index/I",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/a",
        ],
    );
    (action, resource)
}

/// The values of keys; a key is absent one time in four.
pub(crate) fn context(rng: &mut Rng) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut context = Vec::new();
    let mut give = |rng: &mut Rng, key: &'static str, values: Vec<&'static str>| {
        if rng.u8(..4) > 0 {
            context.push((key, values));
        }
    };
    let one = |rng: &mut Rng, texts: &[&'static str]| vec![pick(rng, texts)];
    let agent = one(rng, &TEXTS[..4]);
    give(rng, "aws:UserAgent", agent);
    let number = one(rng, &["9", "10", "10.25", "11"]);
    give(rng, "s3:max-keys", number);
    let time = one(rng, &["2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-05-01T00:00:00Z"]);
    give(rng, "aws:CurrentTime", time);
    let arn = one(rng, &ARNS[..2]);
    give(rng, "aws:SourceArn", arn);
    let address = one(rng, &["192.0.2.7", "192.0.2.8", "198.51.100.1"]);
    give(rng, "aws:SourceIp", address);
    let secure = one(rng, &["true", "false"]);
    give(rng, "aws:SecureTransport", secure);
    for key in ["dynamodb:LeadingKeys", "dynamodb:Attributes", "aws:TagKeys"] {
        let values = some(rng, &TAG_KEYS);
        give(rng, key, values);
    }
    context
}
