//! Requests with their signature in the query, made by the official signer and sent over HTTP.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;

use crate::support::{Server, add_key};

const TARGET: &str = "DynamoDB_20120810.ListTables";

struct Key {
    access_key_id: String,
    secret: String,
}

fn key_in(file: &Path) -> Key {
    let (access_key_id, secret) = add_key(file, &[]);
    Key { access_key_id, secret }
}

/// The query of a ListTables that is valid for a minute from `time` on.
fn presigned(server: &Server, key: &Key, time: SystemTime, body: &[u8]) -> String {
    let identity =
        aws_credential_types::Credentials::new(&key.access_key_id, &key.secret, None, None, "test").into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(Duration::from_mins(1));
    let params: SigningParams<'_> = v4::SigningParams::builder()
        .identity(&identity)
        .region("us-east-1")
        .name("dynamodb")
        .time(time)
        .settings(settings)
        .build()
        .unwrap()
        .into();
    let url = format!("{}/", server.endpoint);
    let headers = [("host", server.address()), ("x-amz-target", TARGET)];
    let request = SignableRequest::new("POST", url, headers.into_iter(), SignableBody::Bytes(body)).unwrap();
    let (instructions, _signature) = sign(request, &params).unwrap().into_parts();
    let (_headers, parameters) = instructions.into_parts();
    let mut query = String::new();
    for (name, value) in parameters {
        query.push_str(if query.is_empty() { "" } else { "&" });
        write!(query, "{name}=").unwrap();
        value.bytes().for_each(|byte| write!(query, "%{byte:02X}").unwrap());
    }
    query
}

fn send(server: &Server, query: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /?{query} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: {TARGET}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        server.address(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_presigned_request_is_answered_until_it_expires_and_only_for_the_signed_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let key = key_in(&file);
    let server = Server::start(&["--in-memory", "--credentials", file.to_str().unwrap()]);
    let now = SystemTime::now();
    let query = presigned(&server, &key, now, b"{}");

    let good = send(&server, &query, b"{}");
    assert!(good.starts_with("HTTP/1.1 200") && good.ends_with(r#"{"TableNames":[]}"#), "{good}");

    let tampered = send(&server, &query, br#"{"Limit":1}"#);
    assert!(
        tampered.starts_with("HTTP/1.1 400") && tampered.contains("InvalidSignatureException"),
        "{tampered}"
    );

    let late = presigned(&server, &key, now - Duration::from_mins(2), b"{}");
    let late = send(&server, &late, b"{}");
    assert!(late.contains("InvalidSignatureException") && late.contains("expired"), "{late}");

    let stranger = Key { access_key_id: "AKIANOBODY".to_owned(), secret: key.secret.clone() };
    let unknown = send(&server, &presigned(&server, &stranger, now, b"{}"), b"{}");
    assert!(unknown.contains("UnrecognizedClientException"), "{unknown}");

    let wrong = Key { access_key_id: key.access_key_id, secret: "wrong".to_owned() };
    let refused = send(&server, &presigned(&server, &wrong, now, b"{}"), b"{}");
    assert!(refused.contains("InvalidSignatureException"), "{refused}");
}
