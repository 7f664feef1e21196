//! Keys of tables that a key management service is asked for: which are refused, and what a table shows.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::raw::{Answer, Connection};
use crate::support::stores::moto;

const REGION: &str = "us-east-1";
const MANAGED: &str = "alias/aws/dynamodb";

fn arn(id: &str) -> String {
    format!("arn:aws:kms:{REGION}:123456789012:key/{id}")
}

fn key(id: &str, state: &str, spec: &str) -> (u16, Value) {
    let usage = if spec.starts_with("HMAC") { "GENERATE_VERIFY_MAC" } else { "ENCRYPT_DECRYPT" };
    let metadata =
        json!({"KeyId": id, "Arn": arn(id), "KeyState": state, "KeySpec": spec, "KeyUsage": usage});
    (200, json!({"KeyMetadata": metadata}))
}

fn refusal(name: &str, message: &str) -> (u16, Value) {
    (400, json!({"__type": name, "message": message}))
}

/// A key management service with these answers, by what a client calls the key.
struct Fake {
    address: SocketAddr,
    keys: Arc<Mutex<BTreeMap<String, (u16, Value)>>>,
    /// Authorizations and bodies of the calls.
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Fake {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let fake =
            Self { address: listener.local_addr().unwrap(), keys: Arc::default(), calls: Arc::default() };
        for (name, answer) in [
            (MANAGED, key("managed", "Enabled", "SYMMETRIC_DEFAULT")),
            ("one", key("one", "Enabled", "SYMMETRIC_DEFAULT")),
            (arn("one").as_str(), key("one", "Enabled", "SYMMETRIC_DEFAULT")),
            ("alias/mine", key("one", "Enabled", "SYMMETRIC_DEFAULT")),
            ("off", key("off", "Disabled", "SYMMETRIC_DEFAULT")),
            ("alias/off", key("off", "Disabled", "SYMMETRIC_DEFAULT")),
            ("going", key("going", "PendingDeletion", "SYMMETRIC_DEFAULT")),
            ("rsa", key("rsa", "Enabled", "RSA_2048")),
            ("mac", key("mac", "Enabled", "HMAC_256")),
            (
                "secret",
                refusal("AccessDeniedException", "User: u is not authorized to perform: kms:DescribeKey"),
            ),
        ] {
            fake.keys.lock().unwrap().insert(name.to_owned(), answer);
        }
        let (keys, calls) = (Arc::clone(&fake.keys), Arc::clone(&fake.calls));
        std::thread::Builder::new()
            .spawn(move || {
                for stream in listener.incoming() {
                    serve(stream.unwrap(), &keys, &calls);
                }
            })
            .unwrap();
        fake
    }

    fn set(&self, name: &str, answer: (u16, Value)) {
        self.keys.lock().unwrap().insert(name.to_owned(), answer);
    }

    fn server(&self, arguments: &[&str]) -> Server {
        server_with(&format!("http://{}", self.address), arguments)
    }
}

/// Answers the calls of one connection.
fn serve(
    stream: TcpStream,
    keys: &Mutex<BTreeMap<String, (u16, Value)>>,
    calls: &Mutex<Vec<(String, Value)>>,
) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut authorization, mut target) = (0, String::new(), String::new());
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                if line.trim().is_empty() {
                    break;
                }
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => value.clone_into(&mut authorization),
                "x-amz-target" => value.clone_into(&mut target),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        assert_eq!(target, "TrentService.DescribeKey");
        let body: Value = serde_json::from_slice(&body).unwrap();
        let name = body["KeyId"].as_str().unwrap().to_owned();
        let unknown = || match name.strip_prefix("alias/") {
            Some(_) => refusal(
                "NotFoundException",
                &format!("Alias arn:aws:kms:{REGION}:123456789012:{name} is not found."),
            ),
            None => refusal("NotFoundException", &format!("Key '{}' does not exist", arn(&name))),
        };
        let (status, answer) = keys.lock().unwrap().get(&name).cloned().unwrap_or_else(unknown);
        calls.lock().unwrap().push((authorization, body));
        let answer = answer.to_string();
        write!(
            stream.get_mut(),
            "HTTP/1.1 {status} X\r\nx-amzn-RequestId: id-of-the-call\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        )
        .unwrap();
    }
}

fn server_with(endpoint: &str, arguments: &[&str]) -> Server {
    let mut runner = Command::new("env");
    runner.args(["AWS_ACCESS_KEY_ID=AKKMS", "AWS_SECRET_ACCESS_KEY=secret"]);
    let all = [&["--in-memory", "--kms-endpoint", endpoint], arguments].concat();
    Server::under(runner, &all).unwrap()
}

fn table(name: &str, sse: &Value) -> Value {
    let mut table = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    if !sse.is_null() {
        table["SSESpecification"] = sse.clone();
    }
    table
}

fn by(key: &str) -> Value {
    json!({"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": key})
}

fn call(connection: &mut Connection, operation: &str, body: &Value) -> Answer {
    connection.call(operation, body.to_string().as_bytes())
}

fn good(connection: &mut Connection, operation: &str, body: &Value) -> Value {
    let answer = call(connection, operation, body);
    assert_eq!(answer.status, 200, "{operation} {body}: {}", answer.text());
    answer.json()
}

/// Status, exception and text of a refused request.
fn refused(connection: &mut Connection, operation: &str, body: &Value) -> (u16, String, String) {
    let answer = call(connection, operation, body);
    let json = answer.json();
    let text = json["message"].as_str().or(json["Message"].as_str()).unwrap_or_default().to_owned();
    let kind = json["__type"].as_str().unwrap_or_default();
    (answer.status, kind.rsplit('#').next().unwrap_or_default().to_owned(), text)
}

fn shown(connection: &mut Connection, name: &str) -> Value {
    good(connection, "DescribeTable", &json!({"TableName": name}))["Table"]["SSEDescription"].clone()
}

fn enabled(arn: &str) -> Value {
    json!({"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": arn})
}

/// The texts are those that were recorded in October 2026; ids of calls are those of this endpoint.
#[test]
fn a_key_that_cannot_be_used_is_refused_and_nothing_is_changed() {
    let fake = Fake::start();
    let server = fake.server(&[]);
    let mut connection = Connection::open(&server);
    let made = good(&mut connection, "CreateTable", &table("Plain", &Value::Null));
    let plain_arn = made["TableDescription"]["TableArn"].as_str().unwrap().to_owned();
    let named = json!({"TableName": "Plain", "BackupName": "first"});
    let backup = good(&mut connection, "CreateBackup", &named)["BackupDetails"]["BackupArn"].clone();
    let model = "com.amazonaws.services.kms.model";
    let rest = |code: &str, id: &str| {
        format!("(Service: AWSKMS; Status Code: 400; Error Code: {code}; Request ID: {id}; Proxy: null)")
    };
    let disabled = format!(
        "KMS key disabled error: {model}.DisabledException: {} is disabled. {}",
        arn("off"),
        rest("DisabledException", "null")
    );
    let unsuitable = format!(
        "KMS internal error: {model}.AWSKMSException: EncryptionContext is supported only when creating a grant for \
         a symmetric encryption KMS key. {}",
        rest("ValidationException", "null")
    );
    let not_found = |message: &str, id: &str| {
        format!(
            "KMS validation error: {model}.NotFoundException: {message} {}",
            rest("NotFoundException", id)
        )
    };
    let id = "id-of-the-call";
    for (key, status, exception, text) in [
        ("off", 400, "ValidationException", disabled.clone()),
        ("alias/off", 400, "ValidationException", disabled),
        (
            "going",
            400,
            "ValidationException",
            format!(
                "KMS validation error: {model}.KMSInvalidStateException: {} is pending deletion. {}",
                arn("going"),
                rest("KMSInvalidStateException", "null")
            ),
        ),
        ("nope", 400, "ValidationException", not_found(&format!("Key '{}' does not exist", arn("nope")), id)),
        (
            "alias/nope",
            400,
            "ValidationException",
            not_found("Alias arn:aws:kms:us-east-1:123456789012:alias/nope is not found.", id),
        ),
        (
            "arn:aws:kms:eu-west-1:123456789012:key/one",
            400,
            "ValidationException",
            not_found("Invalid arn eu-west-1", "null"),
        ),
        (
            "secret",
            400,
            "AccessDeniedException",
            format!(
                "KMS key access denied error: {model}.AWSKMSException: User: u is not authorized to perform: \
                 kms:DescribeKey {}",
                rest("AccessDeniedException", id)
            ),
        ),
        ("rsa", 500, "InternalServerError", unsuitable.clone()),
        ("mac", 500, "InternalServerError", unsuitable),
    ] {
        let expected = (status, exception.to_owned(), text);
        let over = by(key);
        let import = json!({"S3BucketSource": {"S3Bucket": "bucket"}, "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table("Imported", &over)});
        for (operation, body) in [
            ("CreateTable", table("Made", &over)),
            ("UpdateTable", json!({"TableName": "Plain", "SSESpecification": over})),
            ("UpdateTable", json!({"TableName": plain_arn, "SSESpecification": over})),
            (
                "RestoreTableFromBackup",
                json!({"TargetTableName": "Restored", "BackupArn": backup, "SSESpecificationOverride": over}),
            ),
            (
                "RestoreTableToPointInTime",
                json!({"TargetTableName": "Restored", "SourceTableName": "Plain",
                    "UseLatestRestorableTime": true, "SSESpecificationOverride": over}),
            ),
            ("ImportTable", import),
        ] {
            assert_eq!(refused(&mut connection, operation, &body), expected, "{operation} {key}");
        }
        let tables = good(&mut connection, "ListTables", &json!({}));
        assert_eq!(tables["TableNames"], json!(["Plain"]), "{key}");
        assert_eq!(shown(&mut connection, "Plain"), Value::Null, "{key}");
    }
    let calls = fake.calls.lock().unwrap();
    assert!(calls.iter().all(|(authorization, _)| {
        authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKKMS/")
            && authorization.contains("/us-east-1/kms/aws4_request")
    }));
}

#[test]
fn an_alias_is_the_key_of_that_moment_and_the_managed_key_has_an_arn_of_its_own() {
    let fake = Fake::start();
    let server = fake.server(&[]);
    let mut connection = Connection::open(&server);
    let connection = &mut connection;
    let update = |sse: Value| json!({"TableName": "Tab", "SSESpecification": sse});
    let made = good(connection, "CreateTable", &table("Tab", &by("alias/mine")));
    assert_eq!(made["TableDescription"]["SSEDescription"], enabled(&arn("one")));
    fake.set("alias/mine", key("two", "Enabled", "SYMMETRIC_DEFAULT"));
    fake.set("one", key("one", "Disabled", "SYMMETRIC_DEFAULT"));
    assert_eq!(shown(connection, "Tab"), enabled(&arn("one")), "nobody looks again");
    let answer = good(connection, "UpdateTable", &update(by("alias/mine")));
    let updating = json!({"Status": "UPDATING", "SSEType": "KMS", "KMSMasterKeyArn": arn("one")});
    assert_eq!(answer["TableDescription"]["SSEDescription"], updating);
    assert_eq!(shown(connection, "Tab"), enabled(&arn("two")));
    good(connection, "UpdateTable", &update(by("alias/mine")));
    fake.set(&arn("two"), key("two", "Enabled", "SYMMETRIC_DEFAULT"));
    let (status, _, text) = refused(connection, "UpdateTable", &update(by(&arn("two"))));
    assert!(status == 400 && text.contains("Table is already encrypted with given KMSMasterKeyId"), "{text}");
    for managed in [json!({"Enabled": true}), json!({"SSEType": "KMS"}), by(MANAGED)] {
        good(connection, "UpdateTable", &update(managed));
        assert_eq!(shown(connection, "Tab"), enabled(&arn("managed")));
    }
    good(connection, "UpdateTable", &update(json!({"Enabled": false})));
    assert_eq!(shown(connection, "Tab"), Value::Null);
}

#[test]
fn a_restored_table_takes_over_a_key_only_if_it_can_be_used() {
    let fake = Fake::start();
    let server = fake.server(&[]);
    let mut connection = Connection::open(&server);
    let connection = &mut connection;
    good(connection, "CreateTable", &table("Own", &by("one")));
    good(connection, "CreateTable", &table("Managed", &json!({"Enabled": true})));
    fake.set(&arn("managed"), key("managed", "Enabled", "SYMMETRIC_DEFAULT"));
    let mut restores = Vec::new();
    for source in ["Own", "Managed"] {
        let recovery = json!({"PointInTimeRecoveryEnabled": true});
        let on = json!({"TableName": source, "PointInTimeRecoverySpecification": recovery});
        good(connection, "UpdateContinuousBackups", &on);
        let named = json!({"TableName": source, "BackupName": "first"});
        let backup = good(connection, "CreateBackup", &named)["BackupDetails"]["BackupArn"].clone();
        restores.push([
            ("RestoreTableFromBackup", json!({"BackupArn": backup})),
            (
                "RestoreTableToPointInTime",
                json!({"SourceTableName": source, "UseLatestRestorableTime": true}),
            ),
        ]);
    }
    let to = |target: &str, body: &Value| {
        let mut body = body.clone();
        body["TargetTableName"] = json!(target);
        body
    };
    fake.set(&arn("one"), key("one", "Disabled", "SYMMETRIC_DEFAULT"));
    for (operation, body) in &restores[0] {
        let (status, kind, text) = refused(connection, operation, &to("Restored", body));
        assert_eq!((status, kind.as_str()), (400, "ValidationException"), "{text}");
        assert!(text.contains(&format!("DisabledException: {} is disabled. (", arn("one"))), "{text}");
        let taken = to("Managed", body);
        assert_eq!(refused(connection, operation, &taken).1, "TableAlreadyExistsException");
        let mut without = to(&format!("Without{operation}"), body);
        without["SSESpecificationOverride"] = json!({"Enabled": false});
        good(connection, operation, &without);
        wait_until_active(connection, &format!("Without{operation}"));
    }
    fake.set(&arn("one"), key("one", "Enabled", "SYMMETRIC_DEFAULT"));
    for ((operation, body), (place, shown_arn)) in
        restores.iter().flatten().zip([(0, "one"), (1, "one"), (2, "managed"), (3, "managed")])
    {
        let name = format!("Restored{place}");
        good(connection, operation, &to(&name, body));
        assert_eq!(shown(connection, &name), enabled(&arn(shown_arn)));
        wait_until_active(connection, &name);
    }
}

/// A backup makes one table at a time.
fn wait_until_active(connection: &mut Connection, name: &str) {
    for _ in 0..1_000 {
        let described = good(connection, "DescribeTable", &json!({"TableName": name}));
        if described["Table"]["TableStatus"] == "ACTIVE" {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{name} is not restored");
}

#[test]
fn a_request_that_is_refused_anyway_says_so_first() {
    let fake = Fake::start();
    let server = fake.server(&[]);
    let mut connection = Connection::open(&server);
    good(&mut connection, "CreateTable", &table("Tab", &Value::Null));
    let (_, kind, _) = refused(&mut connection, "CreateTable", &table("Tab", &by("nope")));
    assert_eq!(kind, "ResourceInUseException");
    let missing = json!({"TableName": "Missing", "SSESpecification": by("nope")});
    assert_eq!(refused(&mut connection, "UpdateTable", &missing).1, "ResourceNotFoundException");
    let without_type =
        json!({"TableName": "Tab", "SSESpecification": {"Enabled": true, "KMSMasterKeyId": "nope"}});
    let (_, _, text) = refused(&mut connection, "UpdateTable", &without_type);
    assert!(text.ends_with("SSEType KMS is required if KMSMasterKeyId is specified"), "{text}");
    assert_eq!(fake.calls.lock().unwrap().len(), 2, "what is not well-formed is not asked for");
}

#[test]
fn an_endpoint_that_does_not_answer_refuses_no_table_without_a_key() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = server_with(&format!("http://{unused}"), &[]);
    let mut connection = Connection::open(&server);
    good(&mut connection, "CreateTable", &table("Plain", &Value::Null));
    let (status, kind, text) = refused(&mut connection, "CreateTable", &table("Tab", &by("one")));
    assert_eq!((status, kind.as_str()), (503, "ServiceUnavailableException"), "{text}");
    assert!(text.contains("the KMS endpoint does not answer: "), "{text}");
    let fault = Server::try_start(&["--in-memory", "--kms-endpoint", "http://127.0.0.1:1"]).err().unwrap();
    assert!(fault.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{fault}");
}

/// Calls KMS of moto.
fn moto_kms(address: SocketAddr, operation: &str, body: &Value) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {address}\r\nX-Amz-Target: TrentService.{operation}\r\n\
         Content-Type: application/x-amz-json-1.1\r\nContent-Length: {}\r\nConnection: close\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=AK/20260101/{REGION}/kms/aws4_request, \
         SignedHeaders=host, Signature=0\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap_or(Value::Null)
}

mod stores {
    mod moto {
        use super::super::*;

        #[test]
        #[ignore = "needs moto: run `cargo xtask test`"]
        fn keys_of_moto_are_used_and_refused_by_their_state() {
            let store = moto::start();
            let address = store.line.address;
            let new = || {
                let made = moto_kms(address, "CreateKey", &json!({}));
                let text = |name: &str| made["KeyMetadata"][name].as_str().unwrap().to_owned();
                (text("KeyId"), text("Arn"))
            };
            let [good_key, off, going] = [new(), new(), new()];
            moto_kms(address, "DisableKey", &json!({"KeyId": off.0}));
            moto_kms(address, "ScheduleKeyDeletion", &json!({"KeyId": going.0}));
            moto_kms(address, "CreateAlias", &json!({"AliasName": "alias/mine", "TargetKeyId": good_key.0}));
            let server = server_with(&store.endpoint(), &[]);
            let mut connection = Connection::open(&server);
            for (place, given) in ["alias/mine", &good_key.0, &good_key.1].into_iter().enumerate() {
                let name = format!("Tab{place}");
                good(&mut connection, "CreateTable", &table(&name, &by(given)));
                assert_eq!(shown(&mut connection, &name), enabled(&good_key.1), "{given}");
            }
            for (key, part) in [
                (off.0.as_str(), format!("DisabledException: {} is disabled. (", off.1)),
                (going.1.as_str(), format!("KMSInvalidStateException: {} is pending deletion. (", going.1)),
                ("alias/nope", "NotFoundException: Alias arn:aws:kms:us-east-1:".to_owned()),
                ("00000000-0000-4000-8000-000000000000", "NotFoundException: Key 'arn:aws:kms:".to_owned()),
            ] {
                let (status, kind, text) =
                    refused(&mut connection, "CreateTable", &table("Refused", &by(key)));
                assert_eq!((status, kind.as_str()), (400, "ValidationException"), "{text}");
                assert!(text.contains(&part), "{text}");
            }
        }

        #[test]
        #[ignore = "needs moto: run `cargo xtask test`"]
        fn a_key_of_moto_keeps_the_master_key_of_a_folder() {
            let store = moto::start();
            let address = store.line.address;
            let made = moto_kms(address, "CreateKey", &json!({}));
            let id = made["KeyMetadata"]["KeyId"].as_str().unwrap().to_owned();
            let (folder, endpoint) = (tempfile::tempdir().unwrap(), store.endpoint());
            let data = folder.path().join("data").to_str().unwrap().to_owned();
            let start = || {
                let mut runner = Command::new("env");
                runner.args(["AWS_ACCESS_KEY_ID=AKKMS", "AWS_SECRET_ACCESS_KEY=secret"]);
                runner.arg("AWS_REGION=us-east-1");
                Server::under(runner, &["--data", &data, "--kms-endpoint", &endpoint, "--kms-key-id", &id])
            };
            let server = start().unwrap();
            good(&mut Connection::open(&server), "CreateTable", &table("Tab", &Value::Null));
            assert!(server.stop());
            let server = start().unwrap();
            assert_eq!(shown(&mut Connection::open(&server), "Tab"), Value::Null);
            assert!(server.stop());
            // moto decrypts under a disabled key too; the service refuses that.
            drop(store);
            let said = start().err().unwrap();
            assert!(said.contains(&id) && said.contains("does not answer"), "{said}");
        }
    }
}
