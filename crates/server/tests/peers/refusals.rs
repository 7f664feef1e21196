//! Who may call whom: keys, signatures, certificates, tables, versions. What is refused is logged.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::db::{Db, replica_update};
use crate::pair::{CLIENT, Files, HERE, PEER, PLAIN, Pair, REGIONS, TABLE, THERE};
use crate::support::Server;
use crate::support::raw::Connection;
use crate::support::signing::{Ask, Key, signature_at};

const PATH: &str = "/_keywright/replication/2";

fn call(pair: &Pair, key: (&str, &str), service: &str, path: &str) -> (u16, String) {
    let mut db = Db::to(pair.server(1).address(), key, THERE).unwrap();
    let ask = Ask { service, method: "POST", path, headers: Vec::new(), body: "x" };
    let (status, answer) = db.send(&ask).unwrap();
    (status, answer["message"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn only_keys_for_replication_call_and_they_do_nothing_else() {
    let mut pair = Pair::start();
    let service = "keywright-replication";
    let (status, said) = call(&pair, CLIENT, service, PATH);
    assert_eq!(status, 403);
    assert!(said.contains("not one of this server's for replication"), "{said}");
    let (status, said) = call(&pair, (PEER.0, "wrong"), service, PATH);
    assert_eq!(status, 403);
    assert!(said.contains("signature"), "{said}");
    let (status, said) = call(&pair, PEER, "dynamodb", PATH);
    assert_eq!(status, 403);
    assert!(said.contains("Credential should be scoped to correct service"), "{said}");
    let (status, said) = call(&pair, PEER, service, "/_keywright/replication/7");
    assert_eq!(status, 400);
    assert!(said.contains("version 2") && said.contains("version 7"), "{said}");
    // A whole call whose message is none.
    assert_eq!(call(&pair, PEER, service, PATH).0, 200);
    let mut data = Db::to(pair.server(1).address(), PEER, THERE).unwrap();
    let (status, answer) = data.try_call("ListTables", &json!({})).unwrap();
    assert_eq!(
        (status, answer["__type"].as_str().unwrap().contains("UnrecognizedClient")),
        (400, true),
        "{answer}"
    );
    let log = pair.stop(1);
    for part in
        ["not one of this server's for replication", "version 7", "not one of Keywright's replication"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[test]
fn a_call_by_a_clock_that_is_an_hour_off_is_refused_with_both_times() {
    const HOUR: Duration = Duration::from_hours(1);
    let mut pair = Pair::start();
    let key = Key { region: THERE.to_owned(), ..Key::from((PEER.0.to_owned(), PEER.1.to_owned())) };
    let ask =
        Ask { service: "keywright-replication", method: "POST", path: PATH, headers: Vec::new(), body: "x" };
    let signed = |time| signature_at(&key, "localhost", &ask, time);
    let date_of = |headers: &[(String, String)]| {
        headers.iter().find(|(name, _)| name == "x-amz-date").map(|(_, date)| date.clone()).unwrap()
    };
    let mut said_times = Vec::new();
    let now = SystemTime::now();
    for (time, fault) in [(now - HOUR, "Signature expired: "), (now + HOUR, "Signature not yet current: ")] {
        let headers = signed(time);
        let from = date_of(&signed(SystemTime::now()));
        let sent: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = Connection::open(pair.server(1)).send_to(PATH, "POST", &sent, b"x");
        let until = date_of(&signed(SystemTime::now()));
        let said = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, 403, "{said}");
        let its_own = said.split_once('(').and_then(|(_, rest)| rest.split_once(' ')).unwrap().0.to_owned();
        assert!(from <= its_own && its_own <= until, "the server's time: {said}");
        assert!(said.starts_with(&format!("{fault}{} ", date_of(&headers))), "the caller's time: {said}");
        said_times.extend([date_of(&headers), its_own]);
    }
    let log = pair.stop(1);
    for time in said_times {
        assert!(log.contains(&time), "{time}: {log}");
    }
}

#[test]
fn a_replica_at_a_server_that_is_down_is_refused_and_nothing_is_changed() {
    let mut pair = Pair::start();
    let mut here = pair.db(0);
    here.create(TABLE);
    pair.stop(1);
    let said = here.refusal("UpdateTable", &replica_update(TABLE, "Create", THERE));
    assert!(said.starts_with("The Keywright server of region eu-west-1 cannot be asked: "), "{said}");
    assert!(said.ends_with(". Nothing was changed."), "{said}");
    let table = here.call("DescribeTable", &json!({"TableName": TABLE}))["Table"].clone();
    assert_eq!(table["TableStatus"], "ACTIVE");
    for key in ["Replicas", "GlobalTableVersion", "LatestStreamArn"] {
        assert!(table.get(key).is_none(), "{key}: {table}");
    }
    here.put(TABLE, "a", 1);
    pair.start_server(1);
    assert_eq!(pair.db(1).status(TABLE), "", "nothing is there");
    here.wait("it is taken", |db| {
        db.try_call("UpdateTable", &replica_update(TABLE, "Create", THERE)).unwrap().0 == 200
    });
    pair.db(1).wait("the item is there", |db| db.status(TABLE) == "ACTIVE" && db.get(TABLE, "a") == Some(1));
}

#[test]
fn a_request_for_a_region_of_the_other_server_and_a_table_outside_the_list_are_refused() {
    let pair = Pair::start();
    let mut wrong = Db::to(pair.server(0).address(), CLIENT, THERE).unwrap();
    let said = wrong.refusal("ListTables", &json!({}));
    assert!(said.contains("owned by another Keywright server"), "{said}");
    let mut here = pair.db(0);
    here.create("private");
    let said = here.refusal("UpdateTable", &replica_update("private", "Create", THERE));
    assert!(said.contains("not among the tables"), "{said}");
    let mut narrow = Pair::start_with([PLAIN, Files { tables: "[\"other\"]", ..PLAIN }]);
    let mut here = narrow.db(0);
    here.create(TABLE);
    let said = here.refusal("UpdateTable", &replica_update(TABLE, "Create", THERE));
    assert!(said.contains("not among the tables"), "the other server refuses it too: {said}");
    assert!(here.replicas(TABLE).is_empty());
    assert!(narrow.stop(1).contains("not among the tables"), "it logs that");
}

#[test]
fn a_wrong_secret_or_authority_stops_the_way_and_says_why() {
    let pair = Pair::start_with([Files { peer_secret: "wrong", ..PLAIN }, PLAIN]);
    let mut here = pair.db(0);
    here.create(TABLE);
    let said = here.refusal("UpdateTable", &replica_update(TABLE, "Create", THERE));
    assert!(said.contains("cannot be asked") && said.contains("signature"), "{said}");
    let (right, wrong) = (identity(), identity());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (certificate, key) = (file("c.pem", &right.0), file("k.pem", &right.1));
    let other = file("other.pem", &wrong.0);
    for (ca, works) in [(&certificate, true), (&other, false)] {
        let more = format!("ca = \"{ca}\"");
        let secure = Files { scheme: "https", more: &more, ..PLAIN };
        let mut pair = Pair::prepare([secure, secure]);
        for own in 0..2 {
            pair.set_arguments(own, &["--tls-certificate", &certificate, "--tls-key", &key]);
            pair.start_server(own);
        }
        let text = tls_call(&pair, &right.0, &replica_update(TABLE, "Create", THERE));
        if works {
            assert!(text.contains("200 OK"), "{text}");
        } else {
            assert!(text.contains("cannot be asked") && text.contains("certificate"), "{text}");
        }
    }
}

#[test]
fn settings_that_cannot_work_keep_a_server_from_starting() {
    let pair = Pair::prepare([PLAIN, PLAIN]);
    let config = pair.path("server-0.toml").to_str().unwrap().to_owned();
    let keys = pair.path("keys-0.toml").to_str().unwrap().to_owned();
    let start = |more: &[&str]| {
        let arguments = ["--config", &config, "--in-memory"];
        Server::try_start(&[arguments.as_slice(), more].concat()).err().unwrap_or_default()
    };
    assert!(start(&[]).contains("--credentials"));
    let whole = std::fs::read_to_string(pair.path("server-0.toml")).unwrap();
    std::fs::write(pair.path("server-0.toml"), whole.replace(THERE, "eu-wset-1")).unwrap();
    assert!(start(&["--credentials", &keys]).contains("\"eu-wset-1\" of a [[peer]] is none"));
    std::fs::write(pair.path("server-0.toml"), whole).unwrap();
    let manual = ["--credentials", &keys, "--clock", "manual@2026-11-27T16:00:00Z"];
    assert!(start(&manual).contains("must agree on the time"));
    std::fs::write(&keys, std::fs::read_to_string(&keys).unwrap().replace("for = \"replication\"", ""))
        .unwrap();
    assert!(start(&["--credentials", &keys]).contains("--for replication"));
    // A folder that has a table in the other server's region.
    let data = pair.path("data").to_str().unwrap().to_owned();
    let keys = pair.path("keys-1.toml").to_str().unwrap().to_owned();
    let server = Server::start(&["--data", &data, "--credentials", &keys]);
    Db::to(server.address(), CLIENT, THERE).unwrap().create(TABLE);
    assert!(server.stop());
    let said =
        Server::try_start(&["--config", &config, "--data", &data, "--credentials", &keys]).err().unwrap();
    assert!(said.contains(REGIONS[1]) && said.contains("[[peer]]"), "{said}");
}

/// A certificate for localhost with its key.
fn identity() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Makes a table on the first server, and sends it a request, by TLS; the answers.
fn tls_call(pair: &Pair, certificate: &str, update: &Value) -> String {
    use std::fmt::Write as _;
    use std::io::{Read as _, Write as _};
    use std::sync::Arc;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let config = Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
    let create = json!({"TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]});
    let mut last = String::new();
    for (operation, body) in [("CreateTable", &create), ("UpdateTable", update)] {
        let key = crate::support::signing::Key::from((CLIENT.0.to_owned(), CLIENT.1.to_owned()));
        let key = crate::support::signing::Key { region: HERE.to_owned(), ..key };
        let (target, body) = (format!("DynamoDB_20120810.{operation}"), body.to_string());
        let ask = Ask::json("dynamodb", &target, &body);
        let mut request = "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".to_owned();
        let signed = crate::support::signing::signature(&key, "localhost", &ask);
        let own = ask.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        for (name, value) in signed.into_iter().chain(own) {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        write!(request, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let stream = std::net::TcpStream::connect(pair.server(0).address()).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut secure = StreamOwned::new(connection, stream);
        secure.write_all(request.as_bytes()).unwrap();
        last.clear();
        let _ = secure.read_to_string(&mut last);
    }
    last
}
