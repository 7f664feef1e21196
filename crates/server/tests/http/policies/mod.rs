//! Policies of tables and streams: what a server with the keys of two accounts answers.
//!
//! - `documents`: which documents are taken, and in which form they are read. `changes`: revisions, waits and
//!   states. `judged`: users, sessions and the account itself. `accounts`: tables of another account.
//!   `streams`. `replicas`: those of several accounts. `kept`: what outlives what.

mod accounts;
mod changes;
mod documents;
mod judged;
mod kept;
mod replicas;
mod streams;

use serde_json::{Value, json};

use crate::support::client::{Caller, client};
use crate::support::signing::{self, Key};
use crate::support::{Server, add_key};

pub(crate) const OWNER: &str = "123456789012";
pub(crate) const OTHER: &str = "999988887777";
const REGION: &str = "us-east-1";

/// An error: its name without the service's, and its text.
pub(crate) type Refused = (String, String);

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
        let add = |account| Key::from(add_key(&file, &["--account", account]));
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
        signing::iam(&self.server, key, &[&[("Action", action)], parameters].concat())
    }

    /// A new user of the owner, and its key.
    pub(crate) fn user(&self, name: &str) -> Key {
        signing::user(&self.server, &self.owner, name)
    }

    /// Gives a user of the owner an inline policy of one statement.
    pub(crate) fn allow(&self, user: &str, statement: &Value) {
        let document = policy(statement);
        let parameters = [("UserName", user), ("PolicyName", "p"), ("PolicyDocument", document.as_str())];
        self.iam(&self.owner, "PutUserPolicy", &parameters);
    }

    /// Gives a role of the owner an inline policy of one statement.
    pub(crate) fn allow_role(&self, role: &str, statement: &Value) {
        let document = policy(statement);
        let parameters = [("RoleName", role), ("PolicyName", "p"), ("PolicyDocument", document.as_str())];
        self.iam(&self.owner, "PutRolePolicy", &parameters);
    }

    /// Deletes a user of the owner with its key.
    pub(crate) fn remove_user(&self, key: &Key, name: &str) {
        self.iam(&self.owner, "DeleteAccessKey", &[("UserName", name), ("AccessKeyId", &key.id)]);
        self.iam(&self.owner, "DeleteUser", &[("UserName", name)]);
    }

    /// A role of the owner, and a session of it that a user of the owner has taken.
    pub(crate) fn session(&self, role: &str) -> Key {
        let trust = policy(&json!({
            "Effect": "Allow", "Principal": {"AWS": OWNER}, "Action": "sts:AssumeRole",
        }));
        let parameters = [("RoleName", role), ("AssumeRolePolicyDocument", trust.as_str())];
        self.iam(&self.owner, "CreateRole", &parameters);
        let taker = self.user("taker");
        self.allow("taker", &json!({"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}));
        signing::assume(&self.server, &taker, role, "sess")
    }

    /// The official client of a key.
    pub(crate) fn sdk(&self, key: &Key) -> aws_sdk_dynamodb::Client {
        let caller = Caller { access_key_id: &key.id, secret: &key.secret, region: REGION };
        client(&self.server.endpoint, caller)
    }
}

/// A request to DynamoDB or its streams.
pub(crate) fn call_on(server: &Server, key: &Key, operation: &str, body: &Value) -> Result<Value, Refused> {
    let answer = signing::dynamodb(server, key, operation, &body.to_string());
    let text = if answer.body.is_empty() { "{}" } else { answer.text() };
    let json: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{operation}: {text}"));
    if answer.status == 200 {
        return Ok(json);
    }
    let kind = json["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    let text = json["message"].as_str().or_else(|| json["Message"].as_str()).unwrap_or_default();
    Err((kind, text.to_owned()))
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
