//! Policies of tables and streams: what a server with the keys of two accounts answers.
//!
//! - `documents`: which documents are taken, and in which form they are read. `changes`: revisions, waits and
//!   states. `judged`: users, sessions and the account itself. `accounts`: tables of another account.
//!   `streams`. `kept`: what outlives what.

#![allow(clippy::disallowed_methods, reason = "signatures have the real time")]

mod accounts;
mod changes;
mod documents;
mod judged;
mod kept;
mod streams;

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};
use serde_json::{Value, json};

use crate::support::client::{Caller, client};
use crate::support::raw::Connection;
use crate::support::{Server, add_key};

pub(crate) const OWNER: &str = "123456789012";
pub(crate) const OTHER: &str = "999988887777";
const REGION: &str = "us-east-1";

/// An error: its name without the service's, and its text.
pub(crate) type Refused = (String, String);

/// An access key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) secret: String,
    /// Of a session.
    token: Option<String>,
}

/// A server with the keys of two accounts.
pub(crate) struct Scene {
    pub(crate) server: Server,
    /// The owner of the tables.
    pub(crate) owner: Key,
    pub(crate) other: Key,
    folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(&["--in-memory"])
    }

    pub(crate) fn with(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.toml");
        let add = |account| {
            let (id, secret) = add_key(&file, &["--account", account]);
            Key { id, secret, token: None }
        };
        let (owner, other) = (add(OWNER), add(OTHER));
        let server = Server::start(&[&["--credentials", file.to_str().unwrap()], arguments].concat());
        Self { server, owner, other, folder }
    }

    /// The credentials file.
    pub(crate) fn keys(&self) -> String {
        self.folder.path().join("keys.toml").to_str().unwrap().to_owned()
    }

    /// A request to DynamoDB.
    pub(crate) fn call(&self, key: &Key, operation: &str, body: &Value) -> Result<Value, Refused> {
        call_on(&self.server, key, operation, body)
    }

    /// The same by the owner, which must be answered.
    pub(crate) fn owner(&self, operation: &str, body: &Value) -> Value {
        self.call(&self.owner, operation, body).unwrap_or_else(|refused| panic!("{operation}: {refused:?}"))
    }

    /// A table `Tab` of the owner, with an index and an item.
    pub(crate) fn table(&self) -> String {
        self.owner("CreateTable", &table("Tab"));
        self.owner("PutItem", &json!({"TableName": "Tab", "Item": item("a")}));
        arn("Tab")
    }

    /// Puts a policy of one statement on table `Tab`.
    pub(crate) fn put(&self, statement: &Value) {
        self.owner("PutResourcePolicy", &json!({"ResourceArn": arn("Tab"), "Policy": policy(statement)}));
    }

    /// A request to IAM by the account of a key.
    pub(crate) fn iam(&self, key: &Key, action: &str, parameters: &[(&str, &str)]) -> String {
        form_on(&self.server, key, ("iam", "2010-05-08"), (action, parameters))
    }

    /// A new user of the owner, and its key.
    pub(crate) fn user(&self, name: &str) -> Key {
        self.iam(&self.owner, "CreateUser", &[("UserName", name)]);
        let made = self.iam(&self.owner, "CreateAccessKey", &[("UserName", name)]);
        Key { id: element(&made, "AccessKeyId"), secret: element(&made, "SecretAccessKey"), token: None }
    }

    /// Gives a user of the owner an inline policy of one statement.
    pub(crate) fn allow(&self, user: &str, statement: &Value) {
        let document = policy(statement);
        let parameters = [("UserName", user), ("PolicyName", "p"), ("PolicyDocument", document.as_str())];
        self.iam(&self.owner, "PutUserPolicy", &parameters);
    }

    /// A role of the owner, and a session of it that a user of the owner has taken.
    pub(crate) fn session(&self, role: &str) -> Key {
        let trust = policy(&json!({
            "Effect": "Allow", "Principal": {"AWS": OWNER}, "Action": "sts:AssumeRole",
        }));
        let parameters = [("RoleName", role), ("AssumeRolePolicyDocument", trust.as_str())];
        self.iam(&self.owner, "CreateRole", &parameters);
        let role_arn = format!("arn:aws:iam::{OWNER}:role/{role}");
        let parameters = [("RoleArn", role_arn.as_str()), ("RoleSessionName", "sess")];
        let taker = self.user("taker");
        self.allow("taker", &json!({"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}));
        let session = form_on(&self.server, &taker, ("sts", "2011-06-15"), ("AssumeRole", &parameters));
        Key {
            id: element(&session, "AccessKeyId"),
            secret: element(&session, "SecretAccessKey"),
            token: Some(element(&session, "SessionToken")),
        }
    }

    /// The official client of a key.
    pub(crate) fn sdk(&self, key: &Key) -> aws_sdk_dynamodb::Client {
        let caller = Caller { access_key_id: &key.id, secret: &key.secret, region: REGION };
        client(&self.server.endpoint, caller)
    }
}

/// A request to DynamoDB or its streams.
pub(crate) fn call_on(server: &Server, key: &Key, operation: &str, body: &Value) -> Result<Value, Refused> {
    let is_of_streams = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];
    let api =
        if is_of_streams.contains(&operation) { "DynamoDBStreams_20120810" } else { "DynamoDB_20120810" };
    let target = format!("{api}.{operation}");
    let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", target.as_str())];
    let answer = send(server, (key, "dynamodb"), &headers, &body.to_string());
    let text = if answer.1.is_empty() { "{}" } else { answer.1.as_str() };
    let json: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{operation}: {text}"));
    if answer.0 == 200 {
        return Ok(json);
    }
    let kind = json["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    let text = json["message"].as_str().or_else(|| json["Message"].as_str()).unwrap_or_default();
    Err((kind, text.to_owned()))
}

fn form_on(
    server: &Server,
    key: &Key,
    (service, version): (&'static str, &str),
    (action, parameters): (&str, &[(&str, &str)]),
) -> String {
    let mut body = format!("Action={action}&Version={version}");
    for (name, value) in parameters {
        write!(body, "&{name}=").unwrap();
        value.bytes().for_each(|byte| write!(body, "%{byte:02X}").unwrap());
    }
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let (status, text) = send(server, (key, service), &headers, &body);
    assert_eq!(status, 200, "{action}: {text}");
    text
}

/// Sends a signed request: the status and the body of its answer.
fn send(
    server: &Server,
    (key, service): (&Key, &'static str),
    more: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let time = TimeMs(u64::try_from(since.as_millis()).unwrap());
    let date = time.to_basic();
    let mut headers = vec![("host", "localhost"), ("x-amz-date", date.as_str())];
    headers.extend(key.token.as_deref().map(|token| ("x-amz-security-token", token)));
    headers.extend(more);
    headers.sort_unstable();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let unsigned =
        SignedRequest { method: "POST", path: "/", query: "", headers: &headers, body: body.as_bytes() };
    let mut signer = Signer::for_service(&key.id, &key.secret, REGION, service);
    let authorization = signer.authorization(&unsigned, &names, time);
    headers.retain(|(name, _)| *name != "host");
    headers.push(("authorization", &authorization));
    let answer = Connection::open(server).send("POST", &headers, body.as_bytes());
    (answer.status, answer.text().to_owned())
}

/// The text of an element of XML.
fn element(xml: &str, name: &str) -> String {
    let (_, rest) = xml.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("no {name} in {xml}"));
    rest.split_once('<').unwrap().0.to_owned()
}

/// A document of one statement.
pub(crate) fn policy(statement: &Value) -> String {
    json!({"Version": "2012-10-17", "Statement": statement}).to_string()
}

/// A statement of a table's policy that allows one principal something.
pub(crate) fn allows(principal: &str, action: &Value) -> Value {
    json!({"Effect": "Allow", "Principal": {"AWS": principal}, "Action": action, "Resource": "*"})
}

/// The same that denies it.
pub(crate) fn denies(principal: &str, action: &Value) -> Value {
    json!({"Effect": "Deny", "Principal": {"AWS": principal}, "Action": action, "Resource": "*"})
}

/// The ARN of a table of the owner.
pub(crate) fn arn(name: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{OWNER}:table/{name}")
}

pub(crate) fn root(account: &str) -> String {
    format!("arn:aws:iam::{account}:root")
}

/// A table with an index `Ind`.
pub(crate) fn table(name: &str) -> Value {
    json!({
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "Ind",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

pub(crate) fn item(pk: &str) -> Value {
    json!({"pk": {"S": pk}, "g": {"S": "g"}})
}

pub(crate) fn key(pk: &str) -> Value {
    json!({"pk": {"S": pk}})
}

/// The error with which a request must be refused.
pub(crate) fn refused(answer: Result<Value, Refused>) -> Refused {
    match answer {
        Ok(answer) => panic!("it was answered: {answer}"),
        Err(refused) => refused,
    }
}

/// An error as it is compared.
pub(crate) fn error(kind: &str, text: impl Into<String>) -> Refused {
    (kind.to_owned(), text.into())
}

pub(crate) fn denied(text: impl Into<String>) -> Refused {
    error("AccessDeniedException", text)
}

pub(crate) fn invalid(text: impl std::fmt::Display) -> Refused {
    error("ValidationException", format!("One or more parameter values were invalid: {text}"))
}
