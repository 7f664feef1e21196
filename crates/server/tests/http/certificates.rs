//! Certificates of clients, certificates that are replaced while the server runs, and policies about TLS.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, date_time_ymd,
};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::management::{get, sample};
use crate::support::raw::{AUTHORIZATION, Answer, DATE};
use crate::support::signed::{REGION, Scene, allowing, element, form};
use crate::support::{Server, add_key};
use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM form.
#[derive(Clone)]
struct Pair {
    certificate: String,
    key: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate of this authority for a server or client of this name.
    fn issue(&self, name: &str, purpose: ExtendedKeyUsagePurpose, until: i32) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Acme");
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        params.extended_key_usages = vec![purpose];
        Pair { certificate: params.signed_by(&key, &self.0).unwrap().pem(), key: key.serialize_pem() }
    }

    fn server(&self, name: &str) -> Pair {
        self.issue(name, ExtendedKeyUsagePurpose::ServerAuth, 2090)
    }

    fn client(&self, name: &str) -> Pair {
        self.issue(name, ExtendedKeyUsagePurpose::ClientAuth, 2090)
    }
}

/// The files of a server, and whom its clients trust.
struct Place {
    folder: tempfile::TempDir,
    authority: Authority,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), authority: Authority::new("Servers") };
        place.write(&place.authority.server("first"));
        std::fs::write(place.path("roots.pem"), place.authority.pem()).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Puts a new certificate in the place of the old one, as a tool that renews certificates does.
    fn write(&self, pair: &Pair) {
        for (name, text) in [("c.pem", &pair.certificate), ("k.pem", &pair.key)] {
            self.replace(name, text);
        }
    }

    fn replace(&self, name: &str, text: &str) {
        std::fs::write(self.path("new"), text).unwrap();
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn start(&self, arguments: &[&str]) -> Server {
        let (certificate, key) = (self.file("c.pem"), self.file("k.pem"));
        let files = ["--in-memory", "--tls-certificate", &certificate, "--tls-key", &key];
        Server::start(&[files.as_slice(), arguments].concat())
    }

    fn connect(&self, server: &Server, client: Option<&Pair>) -> std::io::Result<Secure> {
        connect(server.address(), &self.authority.pem(), client)
    }

    /// The name in the certificate that a new connection sees.
    fn seen(&self, server: &Server) -> String {
        let secure = self.connect(server, None).unwrap();
        let chain = secure.0.get_ref().conn.peer_certificates().unwrap().to_vec();
        let der = String::from_utf8_lossy(&chain[0]).into_owned();
        let names = ["first", "second", "third"].into_iter().filter(|name| der.contains(name));
        names.collect::<Vec<_>>().join(",")
    }

    /// Waits until new connections see a certificate of this name.
    fn wait_for(&self, server: &Server, name: &str) {
        for _ in 0..200 {
            if self.seen(server) == name {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{name} is not served");
    }
}

/// A connection after its handshake to a server that this authority vouches for, whose client has this
/// certificate.
fn connect(server: &str, authority: &str, client: Option<&Pair>) -> std::io::Result<Secure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let config = match client {
        None => builder.with_no_client_auth(),
        Some(Pair { certificate, key }) => builder
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut secure = Secure(BufReader::new(StreamOwned::new(session, stream)));
    // With TLS 1.3 a client learns with the first answer whether the server takes its certificate.
    secure.call("ListTables", "{}")?;
    Ok(secure)
}

/// A connection with TLS.
struct Secure(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Secure {
    /// The status and body of the answer to a request without a valid signature.
    fn call(&mut self, operation: &str, body: &str) -> std::io::Result<(u16, String)> {
        let target = format!("DynamoDB_20120810.{operation}");
        self.send(
            &[
                ("Content-Type", "application/x-amz-json-1.0"),
                ("X-Amz-Target", &target),
                ("X-Amz-Date", DATE),
                ("Authorization", AUTHORIZATION),
            ],
            body,
        )
    }

    fn send(&mut self, headers: &[(&str, &str)], body: &str) -> std::io::Result<(u16, String)> {
        let headers: String =
            headers.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat()).collect();
        let head =
            format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        let stream = self.0.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line)?;
        let ended = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(ended)?;
        while line.trim() != "" {
            line.clear();
            self.0.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body).unwrap()))
    }
}

#[test]
fn required_certificates_are_those_of_the_authority_and_of_the_present() {
    let place = Place::new();
    let clients = Authority::new("Clients");
    std::fs::write(place.path("ca.pem"), clients.pem()).unwrap();
    let server = place.start(&["--tls-client-ca", &place.file("ca.pem"), "--studio-port", "0"]);
    let connect = |client: Option<&Pair>| place.connect(&server, client);
    let worker = clients.client("worker");
    assert!(connect(Some(&worker)).is_ok());
    let studio = server.banner.lines().find_map(|line| line.trim().strip_prefix("studio")).unwrap();
    let studio = studio.trim().strip_prefix("https://").unwrap();
    let to_studio = |client: Option<&Pair>| self::connect(studio, &place.authority.pem(), client);
    assert!(to_studio(Some(&worker)).is_ok() && to_studio(None).is_err());
    assert!(connect(None).is_err(), "no certificate, no request");
    let expired = clients.issue("worker", ExtendedKeyUsagePurpose::ClientAuth, 2021);
    for (refused, why) in [
        (Authority::new("Clients").client("worker"), "another authority of the same name"),
        (place.authority.client("worker"), "the authority of the server"),
        (expired, "it has expired"),
        (clients.server("worker"), "it is for servers"),
    ] {
        assert!(connect(Some(&refused)).is_err(), "{why}");
    }

    // The authority is replaced too: what is open goes on.
    let mut open = connect(Some(&worker)).unwrap();
    let others = Authority::new("Others");
    place.replace("ca.pem", &others.pem());
    let other = others.client("other");
    let taken = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        connect(Some(&other)).is_ok()
    });
    assert!(taken, "the new authority is served");
    assert!(connect(Some(&worker)).is_err());
    assert_eq!(open.call("ListTables", "{}").unwrap().0, 200);
}

#[test]
fn a_certificate_that_is_replaced_is_served_to_new_connections_and_no_request_fails() {
    let place = Place::new();
    let server = place.start(&[]);
    assert_eq!(place.seen(&server), "first");
    let mut old = place.connect(&server, None).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|worker| {
            // Half of them keep their connection, half make a new one for each request.
            let mut kept = place.connect(&server, None).unwrap();
            let (address, is_over) = (server.address().to_owned(), Arc::clone(&is_over));
            let authority = place.authority.pem();
            std::thread::Builder::new()
                .spawn(move || {
                    let mut count = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        if worker % 2 == 0 {
                            assert_eq!(kept.call("ListTables", "{}").unwrap().0, 200);
                        } else {
                            connect(&address, &authority, None).unwrap();
                        }
                        count += 1;
                    }
                    count
                })
                .unwrap()
        })
        .collect();
    place.write(&place.authority.server("second"));
    place.wait_for(&server, "second");
    for _ in 0..3 {
        for name in ["third", "second"] {
            place.write(&place.authority.server(name));
            let sent = Command::new("kill").args(["-HUP", &server.id().to_string()]).status().unwrap();
            assert!(sent.success());
            place.wait_for(&server, name);
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let counts: Vec<u32> = load.into_iter().map(|worker| worker.join().unwrap()).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(old.call("ListTables", "{}").unwrap().0, 200, "the oldest connection goes on");
}

#[test]
fn a_bad_replacement_is_named_and_what_was_served_stays() {
    let place = Place::new();
    let server = place.start(&[]);
    let other = place.authority.server("second");
    place.replace("k.pem", &other.key);
    let failing = |server: &Server| {
        let (_, metrics) = get(server, "/metrics");
        sample(&metrics, "keywright_tls_reload_failing").unwrap()
    };
    assert!((0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        failing(&server) > 0.5
    }));
    assert_eq!(place.seen(&server), "first");
    place.replace("c.pem", &other.certificate);
    place.wait_for(&server, "second");
    assert!(failing(&server) < 0.5);
    let (_, metrics) = get(&server, "/metrics");
    let expiry = sample(&metrics, "keywright_tls_certificate_expiry_timestamp_seconds").unwrap();
    assert!((expiry - 3_786_912_000.0).abs() < 1.0, "the first of January of 2090: {expiry}");
    let log = server.stop_and_read_log();
    let said = "the TLS files have changed and cannot be used, so the old ones stay: the certificate in ";
    assert_eq!(log.matches(said).count(), 1, "{log}");
    assert!(log.contains("c.pem") && log.contains("k.pem do not belong together"), "{log}");
}

#[test]
fn files_that_cannot_be_used_are_named_at_start_and_dates_are_reported() {
    let place = Place::new();
    let (certificate, key) = (place.file("c.pem"), place.file("k.pem"));
    std::fs::write(place.path("empty.pem"), "").unwrap();
    std::fs::write(place.path("other.pem"), place.authority.server("other").key).unwrap();
    let (empty, other) = (place.file("empty.pem"), place.file("other.pem"));
    let missing = place.file("missing.pem");
    let pair = ["--tls-certificate", &certificate, "--tls-key", &key];
    for (arguments, parts) in [
        (
            vec!["--tls-certificate", &certificate, "--tls-key", &other],
            ["other.pem", "do not belong together"],
        ),
        (vec!["--tls-certificate", &empty, "--tls-key", &key], ["empty.pem", "holds no certificate"]),
        ([&pair[..], &["--tls-client-ca", &empty]].concat(), ["empty.pem", "holds no certificate"]),
        (
            [&pair[..], &["--tls-client-ca", &missing]].concat(),
            ["missing.pem", "cannot read certificate authorities"],
        ),
        (
            [&pair[..], &["--tls-client-auth", "optional"]].concat(),
            ["--tls-client-auth needs", "--tls-client-ca"],
        ),
        (vec!["--tls-client-ca", &certificate], ["--tls-client-ca needs", "--tls-certificate"]),
    ] {
        let all = [&["--in-memory"], arguments.as_slice()].concat();
        let fault = Server::try_start(&all).err().unwrap();
        assert!(parts.iter().all(|part| fault.contains(part)), "{arguments:?}: {fault}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let exposed = "every user of this machine can read the private key in";
        for (mode, is_reported) in [(0o640, false), (0o644, true)] {
            std::fs::set_permissions(place.path("k.pem"), std::fs::Permissions::from_mode(mode)).unwrap();
            let log = place.start(&[]).stop_and_read_log();
            assert_eq!(log.contains(exposed), is_reported, "{mode:o}: {log}");
        }
    }
    place.write(&place.authority.issue("old", ExtendedKeyUsagePurpose::ServerAuth, 2021));
    let log = place.start(&[]).stop_and_read_log();
    assert!(log.contains("c.pem has expired at 2021-01-01T00:00:00.000Z, so clients refuse it"), "{log}");
}

#[test]
fn credentials_in_the_clear_are_reported_beyond_this_machine_alone() {
    let place = Place::new();
    let keys = place.path("keys.toml");
    add_key(&keys, &[]);
    let keys = keys.to_str().unwrap();
    let (certificate, key) = (place.file("c.pem"), place.file("k.pem"));
    let everywhere = ["--in-memory", "--credentials", keys, "--host", "0.0.0.0"];
    let reported = |arguments: &[&str]| {
        let log = Server::start(arguments).stop_and_read_log();
        log.contains("without TLS")
    };
    assert!(reported(&everywhere));
    assert!(!reported(&["--in-memory", "--credentials", keys]));
    let secure = ["--tls-certificate", &certificate, "--tls-key", &key];
    assert!(!reported(&[&everywhere[..], &secure].concat()));
    let management = ["--management-host", "0.0.0.0", "--management-port", "0"];
    let log = Server::start(&[&everywhere[..], &secure, &management].concat()).stop_and_read_log();
    assert!(log.contains("the management port"), "{log}");
}

/// A request that a key signs, over a connection with TLS.
#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn signed(
    secure: &mut Secure,
    (id, secret): &(String, String),
    service: &'static str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let time = TimeMs(u64::try_from(since.as_millis()).unwrap());
    let date = time.to_basic();
    let mut all: Vec<(&str, &str)> = vec![("host", "localhost"), ("x-amz-date", &date)];
    all.extend(headers);
    all.sort_unstable();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let request =
        SignedRequest { method: "POST", path: "/", query: "", headers: &all, body: body.as_bytes() };
    let mut signer = Signer::for_service(id, secret, REGION, service);
    let authorization = signer.authorization(&request, &names, time);
    let mut sent: Vec<(&str, &str)> = all.into_iter().filter(|(name, _)| *name != "host").collect();
    sent.push(("authorization", &authorization));
    secure.send(&sent, body).unwrap()
}

/// A request of the account to IAM, which must be answered.
fn iam(secure: &mut Secure, root: &(String, String), action: &str, parameters: &[(&str, &str)]) -> Answer {
    let body = form(action, "2010-05-08", parameters);
    let headers = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
    let (status, text) = signed(secure, root, "iam", &headers, &body);
    assert_eq!(status, 200, "{text}");
    Answer { status, headers: Vec::new(), body: text.into_bytes() }
}

/// A new user's key.
fn user(secure: &mut Secure, root: &(String, String)) -> (String, String) {
    iam(secure, root, "CreateUser", &[("UserName", "Ann")]);
    let made = iam(secure, root, "CreateAccessKey", &[("UserName", "Ann")]);
    (element(&made, "AccessKeyId"), element(&made, "SecretAccessKey"))
}

/// Gives the user these statements and no others.
fn allow(secure: &mut Secure, root: &(String, String), statements: &Value) {
    let document = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
    let policy = [("UserName", "Ann"), ("PolicyName", "p"), ("PolicyDocument", document.as_str())];
    iam(secure, root, "PutUserPolicy", &policy);
}

/// The status of a list of tables.
fn list(secure: &mut Secure, key: &(String, String)) -> u16 {
    let target = ("x-amz-target", "DynamoDB_20120810.ListTables");
    signed(secure, key, "dynamodb", &[("content-type", "application/x-amz-json-1.0"), target], "{}").0
}

#[test]
fn a_policy_tells_requests_with_tls_from_those_without() {
    let place = Place::new();
    let keys = place.path("keys.toml");
    let root = add_key(&keys, &[]);
    let server = place.start(&["--credentials", keys.to_str().unwrap()]);
    let mut secure = place.connect(&server, None).unwrap();
    let ann = user(&mut secure, &root);
    let mut in_the_clear = Scene::new(&[]);
    let secured = |value: &str| json!({"Bool": {"aws:SecureTransport": value}});
    let deny = json!({"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": secured("false")});
    for (statements, with, without) in [
        (json!([allowing(&["dynamodb:*"], secured("true"))]), 200, 400),
        (json!([allowing(&["dynamodb:*"], secured("false"))]), 400, 200),
        (json!([allowing(&["dynamodb:*"], Value::Null), deny]), 200, 400),
    ] {
        allow(&mut secure, &root, &statements);
        in_the_clear.allow(&statements);
        let found = [list(&mut secure, &ann), in_the_clear.ann.call("ListTables", &json!({})).status];
        assert_eq!(found, [with, without], "{statements}");
    }
    let denied = in_the_clear.denied("ListTables", &json!({}));
    assert!(denied.ends_with("with an explicit deny in an identity-based policy"), "{denied}");
}

#[test]
fn the_subject_of_a_clients_certificate_is_a_key_of_conditions() {
    let place = Place::new();
    let clients = Authority::new("Clients");
    std::fs::write(place.path("ca.pem"), clients.pem()).unwrap();
    let keys = place.path("keys.toml");
    let root = add_key(&keys, &[]);
    let (ca, keys) = (place.file("ca.pem"), keys.to_str().unwrap());
    let server =
        place.start(&["--credentials", keys, "--tls-client-ca", &ca, "--tls-client-auth", "optional"]);
    let connect = |client: Option<&Pair>| place.connect(&server, client).unwrap();
    let mut plain = connect(None);
    let ann = user(&mut plain, &root);
    let (worker, other) = (clients.client("worker-7"), clients.client("other"));
    for (operator, value, expected) in [
        // With this certificate, with another one, without any.
        ("StringEquals", "CN=worker-7,O=Acme", [200, 400, 400]),
        ("StringLike", "CN=worker-*", [200, 400, 400]),
        ("StringNotEquals", "CN=worker-7,O=Acme", [400, 200, 200]),
        ("StringEqualsIfExists", "CN=other,O=Acme", [400, 200, 200]),
        ("Null", "true", [400, 400, 200]),
    ] {
        let condition = json!({operator: {"keywright:ClientCertificateSubject": value}});
        allow(&mut plain, &root, &json!([allowing(&["*"], condition)]));
        let found = [Some(&worker), Some(&other), None].map(|client| list(&mut connect(client), &ann));
        assert_eq!(found, expected, "{operator} {value}");
    }
    let nobody = ("AKIANOBODY0000000000".to_owned(), "secret".to_owned());
    assert_eq!(list(&mut connect(Some(&worker)), &nobody), 400, "a certificate replaces no signature");
}

/// Runs a command that is a client of the server.
fn command(place: &Place, server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    crate::support::without_aws_settings(&mut command);
    let endpoint = server.endpoint.replace("127.0.0.1", "localhost");
    command
        .args(["data", "dump", "--table", "Missing", "--endpoint", &endpoint])
        .args(arguments)
        .env("SSL_CERT_FILE", place.path("roots.pem"))
        .output()
        .unwrap()
}

#[test]
fn commands_have_a_certificate_for_servers_that_ask_for_one() {
    let place = Place::new();
    let clients = Authority::new("Clients");
    std::fs::write(place.path("ca.pem"), clients.pem()).unwrap();
    let server = place.start(&["--tls-client-ca", &place.file("ca.pem")]);
    let worker = clients.client("worker");
    std::fs::write(place.path("w.pem"), &worker.certificate).unwrap();
    std::fs::write(place.path("w.key"), &worker.key).unwrap();
    let (certificate, key, wrong) = (place.file("w.pem"), place.file("w.key"), place.file("k.pem"));
    let said = |arguments: &[&str]| String::from_utf8(command(&place, &server, arguments).stderr).unwrap();
    let pair = ["--client-certificate", &certificate, "--client-key", &key];
    let whole = said(&pair);
    assert!(whole.contains("has no table Missing"), "{whole}");
    let none = said(&[]);
    assert!(!none.contains("has no table") && none.contains("CertificateRequired"), "{none}");
    assert!(none.contains("pass --client-certificate FILE and --client-key FILE"), "{none}");
    let half = said(&pair[..2]);
    assert!(half.contains("--client-certificate") && half.contains("--client-key"), "{half}");
    let mixed = said(&["--client-certificate", &certificate, "--client-key", &wrong]);
    assert!(mixed.contains("do not belong together"), "{mixed}");
}

#[test]
fn an_endpoint_that_is_not_trusted_or_named_without_tls_is_explained() {
    let place = Place::new();
    let server = place.start(&[]);
    let plain = server.endpoint.replace("https:", "http:");
    let said = |endpoint: &str, roots: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
        crate::support::without_aws_settings(&mut command);
        command.args(["data", "dump", "--table", "T", "--endpoint", endpoint]);
        let output = command.env("SSL_CERT_FILE", place.path(roots)).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let fault = said(&plain, "roots.pem");
    assert!(fault.contains("if it has TLS, write https:// before its name"), "{fault}");
    // Another authority, and another one of the same name: two errors of the library.
    for name in ["Others", "Servers"] {
        std::fs::write(place.path("others.pem"), Authority::new(name).pem()).unwrap();
        let fault = said(&server.endpoint.replace("127.0.0.1", "localhost"), "others.pem");
        assert!(fault.contains("set SSL_CERT_FILE to a PEM file with the authority"), "{name}: {fault}");
    }
}
