//! TLS: a client that trusts the certificate is served, and wrong files are named.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::support::Server;

#[tokio::test]
async fn a_client_that_trusts_the_certificate_is_served() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let server = Server::start(&["--in-memory", "--tls-certificate", files[0], "--tls-key", files[1]]);
    assert!(server.endpoint.starts_with("https://"));

    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut secure = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    secure.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    secure.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("healthy: localhost"), "{answer}");

    let swapped = ["--in-memory", "--tls-certificate", files[1], "--tls-key", files[1]];
    let fault = Server::try_start(&swapped).err().unwrap();
    assert!(fault.contains("k.pem"), "{fault}");
}
