//! Requests that are signed with one access key: DynamoDB's in JSON, those of IAM and STS in forms. And an
//! account with one user, whose policies a test sets.

use std::fmt::Write as _;

use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};
use serde_json::{Value, json};

use super::raw::{Answer, Connection};
use super::{Server, add_key};

pub const REGION: &str = "eu-west-1";
pub const ACCOUNT: &str = "123456789012";

/// One access key with a connection of its own.
pub struct Signed {
    connection: Connection,
    database: Signer,
    identity: Signer,
    sessions: Signer,
    /// Of a session.
    token: Option<String>,
}

impl Signed {
    pub fn new(server: &Server, id: &str, secret: &str) -> Self {
        let of = |service| Signer::for_service(id, secret, REGION, service);
        Self {
            connection: Connection::open(server),
            database: of("dynamodb"),
            identity: of("iam"),
            sessions: of("sts"),
            token: None,
        }
    }

    /// The same with the token of a session.
    #[must_use]
    pub fn with_token(self, token: String) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The same key or session at another server.
    #[must_use]
    pub fn at(self, server: &Server) -> Self {
        Self { connection: Connection::open(server), ..self }
    }

    /// A request to DynamoDB.
    pub fn call(&mut self, operation: &str, body: &Value) -> Answer {
        self.send(&format!("DynamoDB_20120810.{operation}"), body.to_string().as_bytes())
    }

    /// A request to DynamoDB that succeeds.
    pub fn good(&mut self, operation: &str, body: &Value) -> Value {
        let answer = self.call(operation, body);
        assert_eq!(answer.status, 200, "{operation} {body}: {}", answer.text());
        answer.json()
    }

    /// A request to DynamoDB's streams.
    pub fn call_streams(&mut self, operation: &str, body: &Value) -> Answer {
        self.send(&format!("DynamoDBStreams_20120810.{operation}"), body.to_string().as_bytes())
    }

    /// A request with this body to this target.
    pub fn send(&mut self, target: &str, body: &[u8]) -> Answer {
        let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", target)];
        send(&mut self.connection, &mut self.database, &headers, (body, self.token.as_deref()))
    }

    /// A request to IAM.
    pub fn iam(&mut self, action: &str, parameters: &[(&str, &str)]) -> Answer {
        let body = form(action, "2010-05-08", parameters);
        let headers = [("content-type", FORM)];
        send(&mut self.connection, &mut self.identity, &headers, (body.as_bytes(), self.token.as_deref()))
    }

    /// A request to STS.
    pub fn sts(&mut self, action: &str, parameters: &[(&str, &str)]) -> Answer {
        let body = form(action, "2011-06-15", parameters);
        let headers = [("content-type", FORM)];
        send(&mut self.connection, &mut self.sessions, &headers, (body.as_bytes(), self.token.as_deref()))
    }
}

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// The body of a request in the query protocol.
pub fn form(action: &str, version: &str, parameters: &[(&str, &str)]) -> String {
    let mut body = format!("Action={action}&Version={version}");
    for (name, value) in parameters {
        write!(body, "&{name}=").unwrap();
        value.bytes().for_each(|byte| write!(body, "%{byte:02X}").unwrap());
    }
    body
}

#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn send(
    connection: &mut Connection,
    signer: &mut Signer,
    headers: &[(&str, &str)],
    (body, token): (&[u8], Option<&str>),
) -> Answer {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let time = TimeMs(u64::try_from(since.as_millis()).unwrap());
    let date = time.to_basic();
    let mut all: Vec<(&str, &str)> = vec![("host", "localhost"), ("x-amz-date", &date)];
    all.extend(headers);
    all.extend(token.map(|token| ("x-amz-security-token", token)));
    all.sort_unstable();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let unsigned = SignedRequest { method: "POST", path: "/", query: "", headers: &all, body };
    let authorization = signer.authorization(&unsigned, &names, time);
    let mut sent: Vec<(&str, &str)> = all.into_iter().filter(|(name, _)| *name != "host").collect();
    sent.push(("authorization", &authorization));
    connection.send("POST", &sent, body)
}

/// The text of an element of an XML answer.
pub fn element(answer: &Answer, name: &str) -> String {
    let text = answer.text();
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let rest = text.split_once(start.as_str()).unwrap_or_else(|| panic!("no {name} in {text}")).1;
    rest.split_once(end.as_str()).unwrap().0.to_owned()
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
    assert_eq!(root.iam("CreateUser", &[("UserName", name)]).status, 200);
    let made = root.iam("CreateAccessKey", &[("UserName", name)]);
    (element(&made, "AccessKeyId"), element(&made, "SecretAccessKey"))
}

/// Gives a user these statements and no others.
pub fn put_policy(root: &mut Signed, name: &str, statements: &Value) {
    let document = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
    let parameters = [("UserName", name), ("PolicyName", "p"), ("PolicyDocument", document.as_str())];
    let answer = root.iam("PutUserPolicy", &parameters);
    assert_eq!(answer.status, 200, "{}", answer.text());
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
