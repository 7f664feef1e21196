//! Every source of a key, and what is said where a key is wrong, missing, or given for nothing.

use std::fs;

use crate::scene::{Scene, create, errors, get, keywright, keywright_with, put, refused};
use crate::support::Server;
use crate::support::raw::Connection;

fn serve(scene: &Scene, more: &[&str]) -> String {
    let data = scene.text("data");
    let all = [&["serve", "--port", "0", "--management-port", "0", "--data", &data], more].concat();
    refused(&keywright(&all))
}

fn filled(scene: &Scene) {
    let server = scene.server(&[]);
    let mut connection = Connection::open(&server);
    create(&mut connection, "Tab");
    put(&mut connection, "Tab", "a", "one");
    drop(connection);
    assert!(server.stop());
}

#[test]
fn a_server_warns_of_tables_that_ask_for_encryption_in_a_plain_folder() {
    let scene = Scene::new();
    let server = scene.plain_server(&[]);
    let mut connection = Connection::open(&server);
    create(&mut connection, "Tab");
    let change = r#"{"TableName": "Tab", "SSESpecification": {"Enabled": true}}"#;
    assert_eq!(connection.call("UpdateTable", change.as_bytes()).status, 200);
    drop(connection);
    assert!(!server.stop_and_read_log().contains("ask for encryption"));
    let log = scene.plain_server(&[]).stop_and_read_log();
    assert!(
        log.contains("tables that ask for encryption (SSESpecification): 1; the data folder is not"),
        "{log}"
    );
}

#[test]
fn a_folder_and_its_key_must_agree_and_nothing_is_changed_where_they_do_not() {
    let scene = Scene::new();
    filled(&scene);
    scene.make_key("other");
    let (key, other) = (scene.text("key"), scene.text("other"));
    let keys = fs::read(scene.path("data/KEYS")).unwrap();
    let said = serve(&scene, &[]);
    assert!(
        said.contains("is encrypted: pass --encryption-key-file FILE, --encryption-key-command"),
        "{said}"
    );
    let said = serve(&scene, &["--encryption-key-file", &other]);
    assert!(said.contains("is not the key that it was encrypted with: give the right one"), "{said}");
    let wrong = "vault is sealed";
    let said = serve(&scene, &["--encryption-key-command", &format!("echo {wrong} >&2; exit 2")]);
    assert!(said.contains(wrong) && said.contains("exit status: 2"), "{said}");
    let said = serve(&scene, &["--encryption-key-command", "echo no key"]);
    assert!(said.contains("prints no key: write 32 bytes in base64"), "{said}");
    let said = serve(&scene, &["--encryption-key-file", &scene.text("missing")]);
    assert!(said.contains("there is no such file: put the file back: a new key does not open"), "{said}");
    let (new, missing) = (scene.text("new"), scene.text("missing"));
    let arguments = ["serve", "--port", "0", "--data", &new, "--encryption-key-file", &missing];
    let said = refused(&keywright(&arguments));
    assert!(said.contains("there is no such file: make a key with `keywright encryption new-key"), "{said}");
    assert_eq!(fs::read(scene.path("data/KEYS")).unwrap(), keys, "nothing was changed");

    fs::create_dir(scene.path("foreign")).unwrap();
    for name in ["LOCK", "KEYSTONE.txt"] {
        fs::write(scene.path("foreign").join(name), "").unwrap();
    }
    let foreign = scene.text("foreign");
    let arguments = ["serve", "--port", "0", "--data", &foreign, "--encryption-key-file", &key];
    let said = refused(&keywright(&arguments));
    assert!(said.contains("holds files, and no store"), "no plain store is made with a key: {said}");

    fs::write(scene.path("data/KEYS"), &keys[..keys.len() / 2]).unwrap();
    let said = serve(&scene, &["--encryption-key-file", &key]);
    assert!(said.contains("KEYS is damaged") && said.contains("put back KEYS from a copy"), "{said}");
    fs::remove_file(scene.path("data/KEYS")).unwrap();
    let said = serve(&scene, &["--encryption-key-file", &key]);
    assert!(said.contains("KEYS is missing: put back KEYS from a copy"), "{said}");
    fs::write(scene.path("data/KEYS"), &keys).unwrap();
    for command in ["rotate-data", "rewrite"] {
        let done = scene.encryption(&[command]);
        assert!(done.status.success(), "{}", errors(&done));
    }
    let newest = fs::read(scene.path("data/KEYS")).unwrap();
    fs::write(scene.path("data/KEYS"), &keys).unwrap();
    let said = serve(&scene, &["--encryption-key-file", &key]);
    assert!(said.contains("which KEYS does not have") && said.contains("put back the newest KEYS"), "{said}");
    assert!(!said.contains("damaged"), "{said}");
    let data = scene.text("data");
    let verified = keywright(&["verify", "--data", &data, "--encryption-key-file", &key]);
    let said = refused(&verified);
    assert_eq!(verified.status.code(), Some(2), "{said}");
    assert!(said.contains("which KEYS does not have") && said.contains("put back the newest KEYS"), "{said}");
    fs::write(scene.path("data/KEYS"), &newest).unwrap();
    let server = scene.server(&[]);
    assert_eq!(get(&mut Connection::open(&server), "Tab", "a").as_deref(), Some("one"));
    assert!(server.stop());
}

#[test]
fn a_plain_folder_is_not_encrypted_by_the_way() {
    let scene = Scene::new();
    assert!(scene.plain_server(&[]).stop());
    let said = serve(&scene, &["--encryption-key-file", &scene.text("key")]);
    assert!(said.contains("is not encrypted, but --encryption-key-file"), "{said}");
    assert!(said.contains("run `keywright encryption enable --data DIR`"), "{said}");
    assert!(!scene.path("data/KEYS").exists());
    let said = serve(&scene, &["--require-encryption"]);
    assert!(said.contains("--require-encryption needs a key"), "{said}");
    let said = refused(&scene.encryption(&["rotate-data"]));
    assert!(said.contains("is not encrypted: run `keywright encryption enable"), "{said}");
    // Files of somebody else stay as they are.
    fs::create_dir(scene.path("home")).unwrap();
    fs::write(scene.path("home/letter"), "dear").unwrap();
    let key = scene.text("key");
    let home = scene.text("home");
    let said = refused(&keywright(&["serve", "--port", "0", "--data", &home, "--encryption-key-file", &key]));
    assert!(said.contains("home"), "{said}");
    assert_eq!(fs::read_dir(scene.path("home")).unwrap().count(), 1, "no KEYS among them");
}

#[test]
fn the_key_comes_from_exactly_one_of_file_variable_and_command() {
    let scene = Scene::new();
    filled(&scene);
    let (data, key) = (scene.text("data"), scene.text("key"));
    let command = format!("cat '{key}'");
    let server = Server::start_one(&["--data", &data, "--encryption-key-command", &command]);
    assert!(server.banner.contains("encryption  by --encryption-key-command"), "{}", server.banner);
    assert_eq!(get(&mut Connection::open(&server), "Tab", "a").as_deref(), Some("one"));
    assert!(server.stop());
    let text = fs::read_to_string(scene.path("key")).unwrap();
    let variable = [("KEYWRIGHT_ENCRYPTION_KEY", text.trim())];
    let verify = ["verify", "--data", data.as_str()];
    let verified = keywright_with(&variable, &verify);
    assert!(verified.status.success(), "{}", errors(&verified));
    let both = [&verify[..], &["--encryption-key-file", &key]].concat();
    let said = refused(&keywright_with(&variable, &both));
    assert!(
        said.contains("--encryption-key-file and KEYWRIGHT_ENCRYPTION_KEY exclude each other: choose one"),
        "{said}"
    );
    let said = refused(&keywright_with(&[("KEYWRIGHT_ENCRYPTION_KEY", "short")], &verify));
    assert!(said.contains("KEYWRIGHT_ENCRYPTION_KEY holds no key") && !said.contains("short"), "{said}");
    let said = refused(&keywright(&["serve", "--in-memory", "--encryption-key-file", &key]));
    assert!(said.contains("with --in-memory there is no file to encrypt"), "{said}");
    let said = refused(&keywright(&["serve", "--data", &data, "--kms-key-id", "alias/a"]));
    assert!(said.contains("--kms-key-id alias/a needs --kms-endpoint URL"), "{said}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(scene.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
        let said = refused(&scene.encryption(&["status"]));
        assert!(said.contains("chmod 600"), "{said}");
    }
}
