//! Signed requests of any principal to any of the APIs, byte by byte; and users made by IAM's API.

use std::fmt::Write as _;
use std::time::SystemTime;

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningParams, SigningSettings, sign};
use aws_sigv4::sign::v4;

use super::Server;
use super::raw::{Answer, Connection};

/// The region of keys that name none.
const REGION: &str = "us-east-1";

/// Operations of the API of streams.
const OF_STREAMS: [&str; 4] = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];

/// An access key, with the token of its session and the region of its requests.
#[derive(Clone, Debug)]
pub struct Key {
    pub id: String,
    pub secret: String,
    pub token: Option<String>,
    pub region: String,
}

impl From<(String, String)> for Key {
    fn from((id, secret): (String, String)) -> Self {
        Self { id, secret, token: None, region: REGION.to_owned() }
    }
}

/// A request before it is signed.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    pub service: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    pub headers: Vec<(&'a str, &'a str)>,
    pub body: &'a str,
}

/// The headers of a signature over a request to this host.
#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
pub fn signature(key: &Key, host: &str, ask: &Ask<'_>) -> Vec<(String, String)> {
    signature_at(key, host, ask, SystemTime::now())
}

/// The headers of a signature by a clock that shows this time.
pub fn signature_at(key: &Key, host: &str, ask: &Ask<'_>, time: SystemTime) -> Vec<(String, String)> {
    let token = key.token.clone();
    let identity = aws_credential_types::Credentials::new(&key.id, &key.secret, token, None, "test").into();
    let params: SigningParams<'_> = v4::SigningParams::builder()
        .identity(&identity)
        .region(&key.region)
        .name(ask.service)
        .time(time)
        .settings(SigningSettings::default())
        .build()
        .unwrap()
        .into();
    let headers = ask.headers.iter().copied().chain([("host", host)]);
    let url = format!("http://{host}{}", ask.path);
    let body = SignableBody::Bytes(ask.body.as_bytes());
    let request = SignableRequest::new(ask.method, url, headers, body).unwrap();
    let (instructions, _signature) = sign(request, &params).unwrap().into_parts();
    let (headers, _parameters) = instructions.into_parts();
    headers.into_iter().map(|header| (header.name().to_owned(), header.value().to_owned())).collect()
}

/// Signs a request and sends it to the API's port.
pub fn send(server: &Server, key: &Key, ask: &Ask<'_>) -> Answer {
    send_on(&mut Connection::open(server), key, ask)
}

/// The same on this connection.
pub fn send_on(connection: &mut Connection, key: &Key, ask: &Ask<'_>) -> Answer {
    let signed = signature(key, "localhost", ask);
    let signed = signed.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<(&str, &str)> = ask.headers.iter().copied().chain(signed).collect();
    connection.send_to(ask.path, ask.method, &headers, ask.body.as_bytes())
}

impl<'a> Ask<'a> {
    /// A request in a JSON protocol.
    pub fn json(service: &'a str, target: &'a str, body: &'a str) -> Self {
        let headers = vec![("content-type", "application/x-amz-json-1.0"), ("x-amz-target", target)];
        Self { service, method: "POST", path: "/", headers, body }
    }

    /// A form of the query protocol.
    pub fn form(service: &'a str, body: &'a str) -> Self {
        let headers = vec![("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
        Self { service, method: "POST", path: "/", headers, body }
    }
}

/// The target of an operation of DynamoDB or its streams.
pub fn target(operation: &str) -> String {
    let api = if OF_STREAMS.contains(&operation) { "DynamoDBStreams" } else { "DynamoDB" };
    format!("{api}_20120810.{operation}")
}

/// The body of a request in the query protocol.
pub fn form_body(version: &str, parts: &[(&str, &str)]) -> String {
    let mut body = format!("Version={version}");
    for (name, value) in parts {
        write!(body, "&{name}=").unwrap();
        value.bytes().for_each(|byte| write!(body, "%{byte:02X}").unwrap());
    }
    body
}

/// A request in a JSON protocol.
pub fn json(server: &Server, key: &Key, (service, target): (&str, &str), body: &str) -> Answer {
    send(server, key, &Ask::json(service, target, body))
}

/// A request of DynamoDB or its streams.
pub fn dynamodb(server: &Server, key: &Key, operation: &str, body: &str) -> Answer {
    json(server, key, ("dynamodb", &target(operation)), body)
}

/// A form of the query protocol.
pub fn form(server: &Server, key: &Key, (service, version): (&str, &str), parts: &[(&str, &str)]) -> Answer {
    send(server, key, &Ask::form(service, &form_body(version, parts)))
}

/// A request to IAM that succeeds.
pub fn iam(server: &Server, key: &Key, parts: &[(&str, &str)]) -> String {
    let answer = form(server, key, ("iam", "2010-05-08"), parts);
    assert_eq!(answer.status, 200, "{parts:?}: {}", answer.text());
    answer.text().to_owned()
}

/// The text of an element.
pub fn element(xml: &str, name: &str) -> String {
    let (_, rest) = xml.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("no {name} in {xml}"));
    rest.split_once(&format!("</{name}>")).unwrap().0.to_owned()
}

/// Makes a user without rights, and a key of it.
pub fn user(server: &Server, root: &Key, name: &str) -> Key {
    iam(server, root, &[("Action", "CreateUser"), ("UserName", name)]);
    let made = iam(server, root, &[("Action", "CreateAccessKey"), ("UserName", name)]);
    Key::from((element(&made, "AccessKeyId"), element(&made, "SecretAccessKey")))
}

/// Gives a user a policy.
pub fn allow(server: &Server, root: &Key, (user, policy): (&str, &str), document: &str) {
    let parts = [("UserName", user), ("PolicyName", policy), ("PolicyDocument", document)];
    iam(server, root, &[&[("Action", "PutUserPolicy")], &parts[..]].concat());
}

/// Makes a role with these rights that the account's own users may take.
pub fn role(server: &Server, root: &Key, name: &str, document: &str) {
    let trust = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow",
        "Principal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole"}}"#;
    let made = [("Action", "CreateRole"), ("RoleName", name), ("AssumeRolePolicyDocument", trust)];
    iam(server, root, &made);
    let policy = [("RoleName", name), ("PolicyName", "own"), ("PolicyDocument", document)];
    iam(server, root, &[&[("Action", "PutRolePolicy")], &policy[..]].concat());
}

/// Begins a session of a role.
pub fn assume(server: &Server, key: &Key, role: &str, session: &str) -> Key {
    let arn = format!("arn:aws:iam::123456789012:role/{role}");
    let parts = [("Action", "AssumeRole"), ("RoleArn", arn.as_str()), ("RoleSessionName", session)];
    let answer = form(server, key, ("sts", "2011-06-15"), &parts);
    session_in(&answer)
}

/// The session that an answer of STS gives.
pub fn session_in(answer: &Answer) -> Key {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let of = |name| element(answer.text(), name);
    let own = Key::from((of("AccessKeyId"), of("SecretAccessKey")));
    Key { token: Some(of("SessionToken")), ..own }
}
