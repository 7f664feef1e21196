//! TLS: a client that trusts the certificate is served, and wrong files are named.

use std::io::{ErrorKind, Read as _};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertifiedKey, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, DEFAULT_VERSIONS, RootCertStore, SupportedProtocolVersion};

use crate::audit::{folder, records};
use crate::support::Server;
use crate::support::raw::request;

/// A certificate for localhost, in a folder with the files that the server reads.
struct Identity {
    made: CertifiedKey<KeyPair>,
    folder: tempfile::TempDir,
}

impl Identity {
    fn make() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.path().join("k.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { made, folder }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn start(&self, arguments: &[&str]) -> Server {
        let (certificate, key) = (self.file("c.pem"), self.file("k.pem"));
        let files = ["--in-memory", "--tls-certificate", &certificate, "--tls-key", &key];
        Server::start(&[files.as_slice(), arguments].concat())
    }

    /// Makes a handshake on the connection, and a request. Returns the response.
    async fn ask(&self, stream: std::net::TcpStream) -> std::io::Result<String> {
        let get = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        self.ask_by(DEFAULT_VERSIONS, stream, get).await
    }

    /// The same by one of these versions, with a request that ends the connection.
    async fn ask_by(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        stream: std::net::TcpStream,
        request: &[u8],
    ) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(self.made.cert.der().clone()).unwrap();
        let config = ClientConfig::builder_with_protocol_versions(versions)
            .with_root_certificates(roots)
            .with_no_client_auth();
        stream.set_nonblocking(true)?;
        let stream = tokio::net::TcpStream::from_std(stream)?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut secure = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        secure.write_all(request).await?;
        let mut answer = String::new();
        secure.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

#[tokio::test]
async fn a_client_that_trusts_the_certificate_is_served() {
    let identity = Identity::make();
    let server = identity.start(&[]);
    assert!(server.endpoint.starts_with("https://"));
    let stream = std::net::TcpStream::connect(server.address()).unwrap();
    let answer = identity.ask(stream).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("healthy: localhost"), "{answer}");

    let key = identity.file("k.pem");
    let fault =
        Server::try_start(&["--in-memory", "--tls-certificate", &key, "--tls-key", &key]).err().unwrap();
    assert!(fault.contains("k.pem"), "{fault}");
}

#[tokio::test]
async fn a_record_of_the_audit_log_has_the_version_suite_and_host_of_its_connection() {
    let identity = Identity::make();
    let (_folder, log) = folder();
    let server = identity.start(&["--audit-log", log.to_str().unwrap()]);
    let request = String::from_utf8(request("ListTables", "{}")).unwrap();
    let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    for version in [&TLS12, &TLS13] {
        let stream = std::net::TcpStream::connect(server.address()).unwrap();
        let answer = identity.ask_by(&[version], stream, request.as_bytes()).await.unwrap();
        assert!(answer.contains("TableNames"), "{answer}");
    }
    assert!(server.stop());
    let all = records(&log);
    let shown: Vec<_> = all.iter().map(|record| &record["tlsDetails"]).collect();
    let details = |version: &str, suite: &str| {
        let host = request.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap();
        serde_json::json!({"tlsVersion": version, "cipherSuite": suite, "clientProvidedHostHeader": host})
    };
    let (old, new) = ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_AES_256_GCM_SHA384");
    assert_eq!(shown, [&details("TLSv1.2", old), &details("TLSv1.3", new)]);
}

#[tokio::test]
async fn unfinished_handshakes_take_a_quarter_of_an_addresss_connections() {
    let identity = Identity::make();
    let server = identity.start(&["--connections-per-address", "8"]);
    let connect = || std::net::TcpStream::connect(server.address()).unwrap();
    let mut streams = vec![connect(), connect(), connect()];
    let is_closed = |mut stream: &std::net::TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0; 16]).map_err(|error| error.kind());
        matches!(read, Ok(0) | Err(ErrorKind::ConnectionReset))
    };
    // Their tasks begin in any order.
    for _ in 0..250 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        streams.retain(|stream| !is_closed(stream));
        if streams.len() < 3 {
            break;
        }
    }
    assert_eq!(streams.len(), 2, "one of them is closed");
    let finishing = streams.remove(0);
    assert!(identity.ask(finishing).await.unwrap().starts_with("HTTP/1.1 200 OK"));
    assert!(identity.ask(connect()).await.unwrap().starts_with("HTTP/1.1 200 OK"), "a place is free again");
}

#[tokio::test]
async fn unfinished_handshakes_make_room_for_new_clients() {
    let identity = Identity::make();
    let server = identity.start(&["--connections-max", "64"]);
    let connect = || std::net::TcpStream::connect(server.address()).unwrap();
    let silent: Vec<std::net::TcpStream> = (0..40).map(|_| connect()).collect();
    assert!(identity.ask(connect()).await.unwrap().starts_with("HTTP/1.1 200 OK"));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let is_open = |mut stream: &std::net::TcpStream| {
        stream.set_nonblocking(true).unwrap();
        stream.read(&mut [0; 16]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    let open = silent.iter().filter(|stream| is_open(stream)).count();
    // The client that was served may have counted as one of them.
    assert!((15..=16).contains(&open), "a quarter of all connections: {open}");
}
