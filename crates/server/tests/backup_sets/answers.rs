//! What is made of a store's answers, and who is asked at all. The store here gives one answer to everything.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::bank::{command, run, said, text};
use crate::support::Server;

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:9";
const PLACE: &str = "s3://bucket/prefix";

/// A store that gives one answer.
struct Answers {
    address: SocketAddr,
    /// The heads of all requests.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    fn with(status: &str, headers: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&heads);
        let answer_all = move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && matches!(client.read(&mut byte), Ok(1)) {
                    head.push(byte[0]);
                }
                seen.lock().unwrap().push(String::from_utf8(head).unwrap());
                let _ = client.write_all(answer.as_bytes());
            }
        };
        std::thread::Builder::new().spawn(answer_all).unwrap();
        Self { address, heads }
    }

    fn error(status: &str, code: &str) -> Self {
        let body = format!("<Error><Code>{code}</Code><Message>In its words</Message></Error>");
        Self::with(status, "", &body)
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// What the list of backups says, with these variables more.
    fn list(&self, variables: &[(&str, &str)]) -> Result<String, String> {
        let mut command = command(&["backup", "list", PLACE, "--s3-endpoint", &self.endpoint()]);
        command.env("AWS_ACCESS_KEY_ID", "AK").env("AWS_SECRET_ACCESS_KEY", "secret");
        said(&command.envs(variables.iter().copied()).output().unwrap())
    }
}

const NO_BACKUPS: &str =
    "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated></ListBucketResult>";

#[test]
fn each_refusal_of_a_store_is_a_sentence_with_its_place_and_what_helps() {
    for (status, code, parts) in [
        ("403 Forbidden", "AccessDenied", ["does not allow this to the access key", "allow it to list"]),
        ("403 Forbidden", "RequestTimeTooSkewed", ["too far from that of this machine", "set the clock"]),
        ("400 Bad Request", "AuthorizationHeaderMalformed", ["in another region", "--s3-region"]),
        ("301 Moved Permanently", "PermanentRedirect", ["in another region", "--s3-region"]),
        ("400 Bad Request", "NotOurs", ["answers NotOurs: In its words", ""]),
    ] {
        let store = Answers::error(status, code);
        let refused = store.list(&[]).unwrap_err();
        assert!(parts.iter().all(|part| refused.contains(part)), "{code}: {refused}");
        assert!(
            refused.contains(&format!("cannot list {PLACE}: the store at {}", store.endpoint())),
            "{refused}"
        );
        assert_eq!(store.heads().len(), 1, "{code}: it does not pass");
    }
    let busy = Answers::error("503 Slow Down", "SlowDown");
    let refused = busy.list(&[]).unwrap_err();
    assert!(refused.contains("answers SlowDown: In its words"), "{refused}");
    assert!(busy.heads().len() > 2, "it is asked again");
}

#[test]
fn nobody_is_asked_but_the_store_that_is_named() {
    let elsewhere = Answers::with("200 OK", "", NO_BACKUPS);
    let redirects = Answers::with("307 Moved", &format!("location: {}/bucket\r\n", elsewhere.endpoint()), "");
    let refused = redirects.list(&[]).unwrap_err();
    assert!(refused.contains("in another region"), "{refused}");

    // Without a named store, variables of AWS name none.
    let mut unnamed = command(&["backup", "list", PLACE]);
    unnamed.env("AWS_ENDPOINT_URL_S3", elsewhere.endpoint()).env("AWS_ENDPOINT_URL", elsewhere.endpoint());
    unnamed.env("AWS_ACCESS_KEY_ID", "AK").env("AWS_SECRET_ACCESS_KEY", "secret");
    let refused = said(&unnamed.output().unwrap()).unwrap_err();
    assert!(refused.contains("--s3-endpoint"), "{refused}");

    // A store on this machine is not reached through a proxy, nor does it need certificates.
    let proxy = elsewhere.endpoint();
    let none = Path::new("/nonexistent");
    let store = Answers::with("200 OK", "", NO_BACKUPS);
    let listed = store.list(&[
        ("HTTP_PROXY", &proxy),
        ("http_proxy", &proxy),
        ("HTTPS_PROXY", &proxy),
        ("ALL_PROXY", &proxy),
        ("AWS_CA_BUNDLE", text(none)),
        ("SSL_CERT_FILE", text(none)),
        ("SSL_CERT_DIR", text(none)),
        ("AWS_ENDPOINT_URL_S3", NOBODY),
        ("AWS_SESSION_TOKEN", "a-token"),
    ]);
    assert_eq!(listed.unwrap(), format!("there are no backups in {PLACE}"));
    assert_eq!(elsewhere.heads(), Vec::<String>::new());
    let head = store.heads()[0].to_lowercase();
    assert!(head.starts_with("get /bucket?") && head.contains("user-agent: keywright/"), "{head}");
    assert!(head.contains("x-amz-security-token: a-token") && head.contains("credential=ak/"), "{head}");
    assert!(!head.contains("secret"), "{head}");
}

#[test]
fn the_keys_of_a_role_are_asked_for_directly_and_aws_through_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "of-the-pod").unwrap();
    let keys =
        r#"{"AccessKeyId":"AK","SecretAccessKey":"s","Token":"t","Expiration":"2099-01-01T00:00:00Z"}"#;
    let role = Answers::with("200 OK", "", keys);
    // AWS itself is never reached.
    let proxy = Answers::with("403 Forbidden", "", "");
    let mut list = command(&["backup", "list", PLACE, "--s3-endpoint", "aws", "--s3-region", "eu-west-1"]);
    list.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{}/keys", role.endpoint()));
    list.env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token);
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        list.env(variable, proxy.endpoint());
    }
    let refused = said(&list.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap()).unwrap_err();
    assert!(refused.contains("the store at AWS in eu-west-1 cannot be reached"), "{refused}");
    let (role, proxy) = (role.heads(), proxy.heads());
    assert!(role[0].starts_with("GET /keys ") && role[0].contains("authorization: of-the-pod"), "{role:?}");
    assert!(
        proxy.iter().all(|head| head.starts_with("CONNECT s3.eu-west-1.amazonaws.com:443 ")),
        "{proxy:?}"
    );
    assert!(!proxy.is_empty());
}

#[test]
fn a_store_over_tls_is_trusted_by_the_certificates_of_the_machine_or_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let (authority, none) = (file("authority.pem", &authority.pem()), folder.path().join("none"));
    let (certificate, key) =
        (file("certificate.pem", &certificate.pem()), file("key.pem", &key.serialize_pem()));
    // A server of another kind, which knows no buckets.
    let server =
        Server::start(&["--in-memory", "--tls-certificate", text(&certificate), "--tls-key", text(&key)]);
    let endpoint = format!("https://localhost:{}", server.address().rsplit(':').next().unwrap());
    let list = |trusted: Option<&Path>| {
        let mut list = command(&["backup", "list", PLACE, "--s3-endpoint", &endpoint]);
        list.env("AWS_ACCESS_KEY_ID", "AK").env("AWS_SECRET_ACCESS_KEY", "secret");
        if let Some(file) = trusted {
            list.env("SSL_CERT_FILE", file).env("SSL_CERT_DIR", &none);
        }
        said(&list.output().unwrap()).unwrap_err()
    };
    let nobody = list(Some(&none));
    assert!(nobody.contains("this machine has none") && nobody.contains("SSL_CERT_FILE"), "{nobody}");
    let other = file("other.pem", &rcgen::generate_simple_self_signed(Vec::new()).unwrap().cert.pem());
    let untrusted = list(Some(&other));
    assert!(untrusted.contains("is not trusted") && untrusted.contains("SSL_CERT_FILE"), "{untrusted}");
    let trusted = list(Some(&authority));
    assert!(trusted.contains(&format!("the store at {endpoint} answers")), "{trusted}");
}

#[test]
fn a_secret_is_no_flag() {
    for flag in ["--s3-secret-access-key", "--s3-session-token"] {
        let refused = run(&["backup", "list", PLACE, flag, "x"]).unwrap_err();
        assert!(refused.contains("unexpected argument"), "{refused}");
    }
}
