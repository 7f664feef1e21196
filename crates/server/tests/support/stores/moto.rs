//! moto: it remembers in memory what it is asked for, and checks no signature.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{BUCKET, Store, free_address, program};

/// A store whose bucket is empty.
pub fn start() -> Store {
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let mut moto = program("moto", "moto_server");
    moto.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
    let store = Store::start(moto, (address, folder), objects);
    let made = ask(&store, "PUT", &format!("/{BUCKET}"));
    assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    store
}

/// A signature that is none.
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 \
    Credential=AK/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// Sends a request without a body; returns head and body of the answer.
pub fn ask(store: &Store, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(store.line.address).unwrap();
    let host = store.line.address;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn objects(store: &Store) -> Vec<String> {
    let listed = ask(store, "GET", &format!("/{BUCKET}?list-type=2"));
    let keys = listed.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
    keys.map(|(key, _)| key.to_owned()).collect()
}
