//! Requests that are signed with one access key: DynamoDB's in JSON, those of IAM and STS in forms. And an
//! account with one user, whose policies a test sets.

use serde_json::{Value, json};

use super::raw::{Answer, Connection};
use super::signing::{self, Ask, Key, form_body, send_on, target};
use super::{Server, add_key};

pub const REGION: &str = "eu-west-1";
pub const ACCOUNT: &str = "123456789012";

/// One access key with a connection of its own.
pub struct Signed {
    connection: Connection,
    key: Key,
}

impl Signed {
    pub fn new(server: &Server, id: &str, secret: &str) -> Self {
        Self::on(Connection::open(server), (id, secret), REGION)
    }

    /// On this connection, for a region.
    pub fn on(connection: Connection, (id, secret): (&str, &str), region: &str) -> Self {
        let key = Key::from((id.to_owned(), secret.to_owned()));
        Self { connection, key: Key { region: region.to_owned(), ..key } }
    }

    /// The same with the token of a session.
    #[must_use]
    pub fn with_token(self, token: String) -> Self {
        Self { key: Key { token: Some(token), ..self.key }, ..self }
    }

    /// The same key or session at another server.
    #[must_use]
    pub fn at(self, server: &Server) -> Self {
        Self { connection: Connection::open(server), ..self }
    }

    /// A request to DynamoDB or its streams.
    pub fn call(&mut self, operation: &str, body: &Value) -> Answer {
        self.call_with(operation, body, &[])
    }

    /// The same with further headers.
    pub fn call_with(&mut self, operation: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let (target, body) = (target(operation), body.to_string());
        let mut ask = Ask::json("dynamodb", &target, &body);
        ask.headers.extend(headers);
        send_on(&mut self.connection, &self.key, &ask)
    }

    /// A request to DynamoDB that succeeds.
    pub fn good(&mut self, operation: &str, body: &Value) -> Value {
        let answer = self.call(operation, body);
        assert_eq!(answer.status, 200, "{operation} {body}: {}", answer.text());
        answer.json()
    }

    /// A request with this body to this target.
    pub fn send(&mut self, target: &str, body: &str) -> Answer {
        send_on(&mut self.connection, &self.key, &Ask::json("dynamodb", target, body))
    }

    /// A call of Keywright's own.
    pub fn own(&mut self, path: &str, body: &str) -> Answer {
        let headers = vec![("content-type", "application/json")];
        send_on(
            &mut self.connection,
            &self.key,
            &Ask { service: "dynamodb", method: "POST", path, headers, body },
        )
    }

    /// A request to IAM.
    pub fn iam(&mut self, action: &str, parameters: &[(&str, &str)]) -> Answer {
        let body = form(action, "2010-05-08", parameters);
        send_on(&mut self.connection, &self.key, &Ask::form("iam", &body))
    }

    /// A request to IAM that succeeds.
    pub fn good_iam(&mut self, action: &str, parameters: &[(&str, &str)]) -> Answer {
        let answer = self.iam(action, parameters);
        assert_eq!(answer.status, 200, "{action} {parameters:?}: {}", answer.text());
        answer
    }

    /// A request to STS.
    pub fn sts(&mut self, action: &str, parameters: &[(&str, &str)]) -> Answer {
        let body = form(action, "2011-06-15", parameters);
        send_on(&mut self.connection, &self.key, &Ask::form("sts", &body))
    }
}

/// The body of a request in the query protocol.
pub fn form(action: &str, version: &str, parameters: &[(&str, &str)]) -> String {
    form_body(version, &[&[("Action", action)], parameters].concat())
}

/// The text of an element of an XML answer.
pub fn element(answer: &Answer, name: &str) -> String {
    signing::element(answer.text(), name)
}

/// A user of an account, and the account's own key.
pub struct Scene {
    pub server: Server,
    pub root: Signed,
    pub ann: Signed,
    pub ann_key: (String, String),
    pub root_key: (String, String),
    _folder: tempfile::TempDir,
}

impl Scene {
    /// In memory, with a table `Tab` of keys `pk` and `sk` with an index `gsi` on `g`.
    pub fn new(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments: Vec<&str> = ["--in-memory"].iter().chain(arguments).copied().collect();
        let mut scene = Self::started(folder, &arguments);
        scene.root.good("CreateTable", &schema("Tab"));
        scene
    }

    /// Where the arguments say, without a table.
    pub fn started(folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        let file = folder.path().join("keys.toml");
        let root_key = add_key(&file, &[]);
        let all: Vec<&str> =
            arguments.iter().copied().chain(["--credentials", file.to_str().unwrap()]).collect();
        let server = Server::start(&all);
        let mut root = Signed::new(&server, &root_key.0, &root_key.1);
        let ann_key = user(&mut root, "Ann");
        let ann = Signed::new(&server, &ann_key.0, &ann_key.1);
        Self { server, root, ann, ann_key, root_key, _folder: folder }
    }

    /// Gives the user these statements and no others.
    pub fn allow(&mut self, statements: &Value) {
        put_policy(&mut self.root, "Ann", statements);
    }

    /// The text of the user's denied request.
    pub fn denied(&mut self, operation: &str, body: &Value) -> String {
        let answer = self.ann.call(operation, body);
        assert_eq!(answer.status, 400, "{operation} {body}: {}", answer.text());
        let json = answer.json();
        assert_eq!(
            json["__type"], "com.amazon.coral.service#AccessDeniedException",
            "{operation} {body}: {json}"
        );
        json["Message"].as_str().unwrap().to_owned()
    }

    /// Whether the user's request is denied. Any other fault is none of the policies.
    pub fn is_denied(&mut self, operation: &str, body: &Value) -> bool {
        let answer = self.ann.call(operation, body);
        answer.status == 400 && answer.text().contains("AccessDeniedException")
    }
}

/// A new user's key.
pub fn user(root: &mut Signed, name: &str) -> (String, String) {
    root.good_iam("CreateUser", &[("UserName", name)]);
    let made = root.good_iam("CreateAccessKey", &[("UserName", name)]);
    (element(&made, "AccessKeyId"), element(&made, "SecretAccessKey"))
}

/// Gives a user these statements and no others.
pub fn put_policy(root: &mut Signed, name: &str, statements: &Value) {
    let document = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
    let parameters = [("UserName", name), ("PolicyName", "p"), ("PolicyDocument", document.as_str())];
    root.good_iam("PutUserPolicy", &parameters);
}

/// A table of keys `pk` and `sk` with an index `gsi` on `g`.
pub fn schema(name: &str) -> Value {
    let text = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [text("pk"), text("sk"), text("g")],
        "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
        "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [key("g", "HASH")],
            "Projection": {"ProjectionType": "ALL"}}]})
}

/// A statement that allows these actions on everything, under these conditions.
pub fn allowing(actions: &[&str], condition: Value) -> Value {
    let mut statement = json!({"Effect": "Allow", "Action": actions, "Resource": "*"});
    if !condition.is_null() {
        statement["Condition"] = condition;
    }
    statement
}
