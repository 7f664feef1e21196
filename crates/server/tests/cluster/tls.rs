//! TLS between servers and PostgreSQL: every connection has it, and what cannot be trusted is refused before
//! anything is written.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use serde_json::json;

use super::refusals::refusal;
use crate::support::Server;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::postgres::{PostgresServer, url_or_say};
use crate::tables::create;

/// `certified` needs a certificate with this name, and `secret` a password; others may come as they are.
const ACCESS: &str = "\
    local all all trust
    hostssl all certified 127.0.0.1/32 cert
    hostssl all secret 127.0.0.1/32 scram-sha-256
    hostssl all encrypted 127.0.0.1/32 trust
    hostnossl all open 127.0.0.1/32 trust
    host all postgres 127.0.0.1/32 trust
";

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut wanted = CertificateParams::default();
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(wanted, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key, for a host and user of this name.
fn signed(authority: &Authority, name: &str, last_year: i32) -> (String, String) {
    let mut wanted = CertificateParams::new(vec![name.to_owned()]).unwrap();
    wanted.distinguished_name.push(DnType::CommonName, name);
    wanted.not_after = date_time_ymd(last_year, 1, 1);
    wanted.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    (wanted.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

/// A PostgreSQL server with TLS on a port, and the files of its clients.
struct Secured {
    postgres: PostgresServer,
    authority: Authority,
    port: u16,
    folder: tempfile::TempDir,
}

impl Secured {
    /// `None` without PostgreSQL's programs.
    fn start() -> Option<Self> {
        url_or_say("tls")?;
        let authority = authority();
        let (certificate, key) = signed(&authority, "localhost", 4000);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let root = authority.pem();
        let files = [
            ("server.crt", certificate.as_str()),
            ("server.key", &key),
            ("root.crt", &root),
            ("pg_hba.conf", ACCESS),
        ];
        let settings = "-c listen_addresses=127.0.0.1 -c ssl_ca_file=root.crt";
        // Those that a test changes are not arguments.
        let files = [&files[..], &[("postgresql.auto.conf", "ssl = on\n")]].concat();
        let postgres = PostgresServer::start(port, &files, settings).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let secured = Self { postgres, authority, port, folder };
        secured.write("root.crt", &root);
        for user in ["certified", "encrypted", "open"] {
            secured.postgres.execute(&format!("CREATE ROLE {user} LOGIN SUPERUSER"));
        }
        Some(secured)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
        self.allow(name, 0o600);
    }

    /// Sets the mode of a file.
    fn allow(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(Path::new(name)).to_str().unwrap().to_owned()
    }

    /// `at` is `USER@HOST`.
    fn url(&self, at: &str, schema: &str, parameters: &str) -> String {
        let parameters = parameters.replace("$FOLDER", self.folder.path().to_str().unwrap());
        format!("postgres://{at}:{}/postgres?schema={schema}&{parameters}", self.port)
    }

    /// How many connections of servers are encrypted, and how many are not.
    fn connections(&self, user: &str) -> (u64, u64) {
        let found = self.postgres.query(
            &format!(
                "SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl) FROM pg_stat_ssl \
                 JOIN pg_stat_activity USING (pid) WHERE application_name = 'keywright' AND usename = '{user}'"
            ),
        );
        let (encrypted, open) = found.split_once('|').unwrap();
        (encrypted.parse().unwrap(), open.parse().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_connection_is_encrypted_and_those_that_replace_lost_ones_too() {
    let Some(secured) = Secured::start() else { return };
    let parameters = "sslmode=verify-full&sslrootcert=$FOLDER/root.crt";
    let server = Server::on_store(&secured.url("postgres@localhost", "secured", parameters));
    let http = Http::new(server.address());
    http.call("CreateTable", &create("tab")).await.good();
    let put = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}, "n": {"N": "1"}}});
    http.call("PutItem", &put).await.good();
    let (encrypted, open) = secured.connections("postgres");
    assert!(encrypted > 0 && open == 0, "{encrypted} encrypted, {open} open");
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE application_name = 'keywright'";
    assert_ne!(secured.postgres.query(ended), "0");
    let get = json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "ConsistentRead": true});
    let found = async {
        loop {
            if let Answer::Good(found) = http.call("GetItem", &get).await {
                break found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(30), found).await.expect("it connects again");
    assert_eq!(found["Item"]["n"]["N"], "1");
    let (encrypted, open) = secured.connections("postgres");
    assert!(encrypted > 0 && open == 0, "{encrypted} encrypted, {open} open");
}

#[test]
fn modes_mean_what_they_mean_to_libpq() {
    let Some(secured) = Secured::start() else { return };
    let (certificate, key) = signed(&secured.authority, "certified", 4000);
    secured.write("client.crt", &certificate);
    secured.write("client.key", &key);
    secured.write("other.crt", &authority().pem());
    let with_certificate = "sslmode=require&sslcert=$FOLDER/client.crt&sslkey=$FOLDER/client.key";
    for (user, parameters, is_encrypted) in [
        ("postgres", "sslmode=disable", false),
        ("postgres", "", true),
        // Those that trust nobody in particular take any certificate, and any name.
        ("encrypted", "sslmode=require", true),
        ("encrypted", "sslmode=verify-ca&sslrootcert=$FOLDER/root.crt", true),
        // The server refuses this user with TLS, and the client this server.
        ("open", "sslmode=prefer", false),
        ("postgres", "sslmode=prefer&sslrootcert=$FOLDER/other.crt", false),
        ("certified", with_certificate, true),
    ] {
        let at = format!("{user}@127.0.0.1");
        let server = Server::on_store(&secured.url(&at, "modes", parameters));
        let (encrypted, open) = secured.connections(user);
        let (expected, other) = if is_encrypted { (encrypted, open) } else { (open, encrypted) };
        assert!(expected > 0 && other == 0, "{user} {parameters}: {encrypted} encrypted, {open} open");
        server.kill();
        wait_until_gone(&secured, user);
    }
}

#[test]
fn a_password_is_bound_to_the_connection_that_it_was_sent_on() {
    let Some(secured) = Secured::start() else { return };
    secured.postgres.execute("CREATE ROLE secret LOGIN SUPERUSER PASSWORD 'right'");
    secured.write("right", "right\n");
    secured.write("wrong", "wrong\n");
    let url = secured.url("secret@localhost", "secret", "sslmode=require&channel_binding=require");
    let server = Server::start(&["--store", &url, "--store-password-file", &secured.path("right")]);
    let (encrypted, open) = secured.connections("secret");
    assert!(encrypted > 0 && open == 0, "{encrypted} encrypted, {open} open");
    drop(server);
    let url = secured.url("secret@localhost", "secret", "");
    let said = refusal(&["--store", &url, "--store-password-file", &secured.path("wrong")]);
    let advice =
        "check the user in --store, and the password in --store-password-file or KEYWRIGHT_STORE_PASSWORD";
    assert!(said.contains(advice) && !said.contains("wrong"), "{said}");
    let twice = url.replace("/postgres?", &format!(",127.0.0.1:{}/postgres?", secured.port));
    for at in [&url, &twice] {
        let said = refusal(&["--store", at]);
        let advice = "there is none: pass --store-password-file FILE or set KEYWRIGHT_STORE_PASSWORD";
        assert!(said.contains(advice), "{said}");
        assert_eq!(said.matches("password, and there is none").count(), 1, "{said}");
    }
    secured.allow("right", 0o644);
    let said = refusal(&["--store", &url, "--store-password-file", &secured.path("right")]);
    assert!(said.contains("0644") && said.contains("chmod 600"), "{said}");
}

fn wait_until_gone(secured: &Secured, user: &str) {
    for _ in 0..200 {
        if secured.connections(user) == (0, 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("connections of a killed server stay");
}

#[test]
fn servers_that_cannot_be_trusted_are_refused_with_advice() {
    let Some(secured) = Secured::start() else { return };
    secured.write("other.crt", &authority().pem());
    secured.write("empty.crt", "");
    let full = "sslmode=verify-full&sslrootcert=$FOLDER/root.crt";
    let check = |at: &str, parameters: &str, advice: &str| {
        let said = refusal(&["--store", &secured.url(at, "refused", parameters)]);
        assert!(said.contains(advice), "{parameters}: {said}");
    };
    let at = "postgres@localhost";
    check(
        at,
        "sslmode=verify-full&sslrootcert=$FOLDER/other.crt",
        "not signed by an authority of sslrootcert",
    );
    check(at, "sslmode=require&sslrootcert=$FOLDER/other.crt", "not signed by an authority of sslrootcert");
    check("postgres@127.0.0.1", full, "connect by a name that it lists");
    check(at, "sslmode=verify-full&sslrootcert=$FOLDER/missing.crt", "missing.crt");
    check(at, "sslmode=verify-full&sslrootcert=$FOLDER/empty.crt", "it holds no certificate");
    check(at, "sslmode=always", "write one of disable, prefer, require, verify-ca, verify-full");
    check("certified@localhost", full, "certificate");
    let (certificate, key) = signed(&secured.authority, "localhost", 2020);
    secured.postgres.write("server.crt", &certificate).unwrap();
    secured.postgres.write("server.key", &key).unwrap();
    secured.postgres.restart().unwrap();
    check(at, full, "has expired: renew it");
    check(at, "sslmode=verify-ca&sslrootcert=$FOLDER/root.crt", "has expired: renew it");
    secured.postgres.write("postgresql.auto.conf", "ssl = off\n").unwrap();
    secured.postgres.restart().unwrap();
    check("postgres@127.0.0.1", "sslmode=require", "does not offer TLS: set `ssl = on`");
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'refused'";
    assert_eq!(secured.postgres.query(schemas), "0");
}
