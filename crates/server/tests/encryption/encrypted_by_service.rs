//! A master key that a key management service keeps.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::scene::{Scene, create, errors, get, keywright_with, put, refused};
use crate::support::Server;
use crate::support::raw::Connection;

const ARN: &str = "arn:aws:kms:us-east-1:123456789012:key/one";
const AWS: [(&str, &str); 3] =
    [("AWS_ACCESS_KEY_ID", "AK"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "us-east-1")];
/// Stands for the service's encryption, and must not be found in a folder in the clear.
const MASK: u8 = 0x5A;

/// Data keys made by all services.
static MADE: AtomicU8 = AtomicU8::new(0);

/// A service with one key, whose data keys are the same each time but for their first byte.
struct Fake {
    address: SocketAddr,
    is_disabled: Arc<AtomicBool>,
}

impl Fake {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let fake = Self { address: listener.local_addr().unwrap(), is_disabled: Arc::default() };
        let is_disabled = Arc::clone(&fake.is_disabled);
        std::thread::Builder::new()
            .spawn(move || listener.incoming().for_each(|stream| serve(stream.unwrap(), &is_disabled)))
            .unwrap();
        fake
    }

    fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn answer(target: &str, body: &Value, is_disabled: bool) -> (u16, Value) {
    assert_eq!(body["EncryptionContext"], json!({"keywright": "data folder"}), "{body}");
    let masked = |bytes: &[u8]| STANDARD.encode(bytes.iter().map(|byte| byte ^ MASK).collect::<Vec<u8>>());
    if is_disabled {
        let refusal = json!({"__type": "DisabledException", "message": format!("{ARN} is disabled.")});
        return (400, refusal);
    }
    match target {
        "TrentService.GenerateDataKey" => {
            assert_eq!(body["KeySpec"], "AES_256");
            let key: Vec<u8> = [MADE.fetch_add(1, Ordering::SeqCst)].into_iter().chain(1..32).collect();
            (200, json!({"KeyId": ARN, "Plaintext": STANDARD.encode(&key), "CiphertextBlob": masked(&key)}))
        }
        "TrentService.Decrypt" => {
            assert_eq!(body["KeyId"], ARN);
            let sealed = STANDARD.decode(body["CiphertextBlob"].as_str().unwrap()).unwrap();
            (200, json!({"KeyId": ARN, "Plaintext": masked(&sealed)}))
        }
        other => panic!("{other}"),
    }
}

/// Answers the calls of one connection.
fn serve(stream: TcpStream, is_disabled: &AtomicBool) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut target, mut first) = (0, String::new(), String::new());
        if stream.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap();
                }
                Some((name, value)) if name.eq_ignore_ascii_case("x-amz-target") => {
                    value.clone_into(&mut target);
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let body = serde_json::from_slice(&body).unwrap();
        let (status, answer) = answer(&target, &body, is_disabled.load(Ordering::SeqCst));
        let answer = answer.to_string();
        let length = answer.len();
        write!(stream.get_mut(), "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{answer}").unwrap();
    }
}

fn try_server(arguments: &[&str]) -> Result<Server, String> {
    let mut runner = Command::new("env");
    runner.args(AWS.map(|(name, value)| format!("{name}={value}")));
    Server::under(runner, arguments)
}

fn done(ended: &Output) -> String {
    assert!(ended.status.success(), "{}", errors(ended));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

#[test]
fn backups_under_a_key_of_a_service_are_restored_elsewhere_after_it_was_changed() {
    let (scene, fake) = (Scene::new(), Fake::start());
    let (data, place, endpoint) = (scene.text("data"), scene.text("place"), fake.endpoint());
    let keys = ["--kms-endpoint", &endpoint, "--kms-key-id", ARN];
    let with_keys = |command: &[&str]| keywright_with(&AWS, &[command, &keys].concat());
    let server = try_server(&[&["--data", &data], &keys[..]].concat()).unwrap();
    let mut connection = Connection::open(&server);
    create(&mut connection, "Tab");
    put(&mut connection, "Tab", "a", "one");
    done(&with_keys(&["backup", "--to", &place, "--endpoint", &server.endpoint]));
    put(&mut connection, "Tab", "a", "two");
    drop(connection);
    assert!(server.stop());

    // The master key is sealed anew, in the folder and in the place, and a second backup takes it.
    let before = std::fs::read(scene.path("data/KEYS")).unwrap();
    let rotate =
        ["encryption", "rotate-master", "--data", &data, "--new-kms-key-id", ARN, "--backups", &place];
    done(&with_keys(&rotate));
    assert_ne!(std::fs::read(scene.path("data/KEYS")).unwrap(), before);
    done(&with_keys(&["encryption", "rotate-data", "--data", &data]));
    done(&with_keys(&["backup", "--to", &place, "--data", &data]));
    let listed: Value =
        serde_json::from_str(&done(&with_keys(&["backup", "list", &place, "--json"]))).unwrap();
    let ids: Vec<&str> =
        listed["backups"].as_array().unwrap().iter().map(|backup| backup["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{listed}");

    // Elsewhere: the place and the service are all that is needed.
    std::fs::remove_dir_all(scene.path("data")).unwrap();
    let said = refused(&crate::scene::keywright(&["backup", "list", &place]));
    assert!(said.contains(&format!("pass --kms-endpoint URL and --kms-key-id {ARN}")), "{said}");
    fake.is_disabled.store(true, Ordering::SeqCst);
    let said = refused(&with_keys(&["restore", &place, "--into", &scene.text("none")]));
    assert!(said.contains("DisabledException"), "{said}");
    fake.is_disabled.store(false, Ordering::SeqCst);
    for (id, value) in ids.iter().zip(["one", "two"]) {
        let into = scene.text(id);
        done(&with_keys(&["restore", &place, id, "--into", &into]));
        let server = try_server(&[&["--data", &into], &keys[..]].concat()).unwrap();
        assert_eq!(get(&mut Connection::open(&server), "Tab", "a").as_deref(), Some(value), "{id}");
        assert!(server.stop());
    }
}

#[test]
fn a_key_whose_name_has_no_region_needs_one() {
    let (scene, fake) = (Scene::new(), Fake::start());
    let (data, endpoint) = (scene.text("data"), fake.endpoint());
    let serve =
        ["serve", "--port", "0", "--data", &data, "--kms-endpoint", &endpoint, "--kms-key-id", "alias/mine"];
    let said = refused(&keywright_with(&AWS[..2], &serve));
    assert!(
        said.contains(
            "the key alias/mine names no region: write its ARN, pass --kms-region, or set AWS_REGION"
        ),
        "{said}"
    );
    assert!(!scene.path("data").exists());
    let region = [&serve[1..], &["--kms-region", "eu-west-1"]].concat();
    let mut runner = Command::new("env");
    runner.args(AWS[..2].iter().map(|(name, value)| format!("{name}={value}")));
    assert!(Server::under(runner, &region[2..]).unwrap().stop());
}

#[test]
fn a_service_keeps_the_master_key_and_a_disabled_key_is_refused_by_its_name() {
    let (scene, fake) = (Scene::new(), Fake::start());
    let (data, endpoint) = (scene.text("data"), fake.endpoint());
    let keys = ["--kms-endpoint", &endpoint, "--kms-key-id", "alias/mine"];
    let serve = [&["--data", &data], &keys[..]].concat();
    let server = try_server(&serve).unwrap();
    assert!(server.banner.contains("encryption  by --kms-key-id alias/mine"), "{}", server.banner);
    let mut connection = Connection::open(&server);
    create(&mut connection, "Tab");
    put(&mut connection, "Tab", "a", "one");
    drop(connection);
    // The test that the server is stopped under `env`: it replaces itself by the server.
    assert!(server.stop());
    assert_eq!(scene.status()["kmsKey"], ARN);

    fake.is_disabled.store(true, Ordering::SeqCst);
    let said = try_server(&serve).err().unwrap();
    assert!(said.contains(&format!("the master key cannot be had from the key {ARN}")), "{said}");
    assert!(said.contains(&format!("DisabledException: {ARN} is disabled.")), "{said}");
    fake.is_disabled.store(false, Ordering::SeqCst);
    let said = refused(&crate::scene::keywright(&["serve", "--port", "0", "--data", &data]));
    assert!(said.contains(&format!("--kms-key-id {ARN}, which keeps its key")), "{said}");
    let said = refused(&scene.encryption(&["rotate-data"]));
    assert!(said.contains("is not the key that it was encrypted with"), "{said}");

    // From the service to a file: then the service is not asked any more.
    let rotate = ["encryption", "rotate-master", "--data", &data, "--new-key-file", &scene.text("key")];
    let rotated = keywright_with(&AWS, &[&rotate[..], &keys].concat());
    assert!(rotated.status.success(), "{}", errors(&rotated));
    fake.is_disabled.store(true, Ordering::SeqCst);
    let server = scene.server(&[]);
    assert_eq!(get(&mut Connection::open(&server), "Tab", "a").as_deref(), Some("one"));
    assert!(server.stop());
    let said = try_server(&serve).err().unwrap();
    assert!(said.contains("are not kept by a key management service"), "{said}");
    // And back.
    fake.is_disabled.store(false, Ordering::SeqCst);
    let rotate = ["rotate-master", "--new-kms-key-id", "alias/mine", "--kms-endpoint", &endpoint];
    let all = [&["encryption"], &rotate[..], &["--data", &data, "--encryption-key-file", &scene.text("key")]];
    let rotated = keywright_with(&AWS, &all.concat());
    assert!(rotated.status.success(), "{}", errors(&rotated));
    let server = try_server(&serve).unwrap();
    assert_eq!(get(&mut Connection::open(&server), "Tab", "a").as_deref(), Some("one"));
}
