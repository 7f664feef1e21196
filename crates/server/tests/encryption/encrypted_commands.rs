//! Folders that are encrypted and decrypted by command.

use serde_json::json;

use crate::http;
use crate::scene::{Scene, create, errors, files, get, keywright, put, refused};
use crate::support::raw::Connection;

/// A folder with a table of one item, and a model.
fn filled(scene: &Scene, is_encrypted: bool) {
    let more = ["--studio-port", "0"];
    let server = if is_encrypted { scene.server(&more) } else { scene.plain_server(&more) };
    let mut connection = Connection::open(&server);
    create(&mut connection, "Tab");
    put(&mut connection, "Tab", "a", "one");
    let model = json!({"name": "shop.yaml", "text": "# a model\n", "hash": null});
    assert_eq!(http::call(&server, "models/write", &model).status, 200);
    drop(connection);
    assert!(server.stop());
}

fn check(server: &crate::support::Server) {
    assert_eq!(get(&mut Connection::open(server), "Tab", "a").as_deref(), Some("one"));
    let read = http::call(server, "models/read", &json!({"name": "shop.yaml"})).json();
    assert_eq!(read["text"], "# a model\n", "{read}");
}

#[test]
fn a_folder_is_encrypted_and_decrypted_as_a_whole() {
    let scene = Scene::new();
    filled(&scene, false);
    let said = refused(&scene.encryption(&["disable", "--yes"]));
    assert!(said.contains("is not encrypted: nothing was changed"), "{said}");

    let enabled = scene.encryption(&["enable"]);
    assert!(enabled.status.success(), "{}", errors(&enabled));
    assert!(errors(&enabled).contains("may still hold old bytes"), "{}", errors(&enabled));
    assert!(!scene.path("data.converting").exists(), "no plain copy is left");
    let status = scene.status();
    assert_eq!((status["encrypted"].as_bool(), status["plain"]["files"].as_u64()), (Some(true), Some(0)));
    let said = refused(&scene.encryption(&["enable"]));
    assert!(said.contains("is encrypted already: nothing was changed"), "{said}");
    let server = scene.server(&["--studio-port", "0"]);
    check(&server);
    let said = refused(&scene.encryption(&["disable", "--yes"]));
    assert!(said.contains("a server uses"), "{said}");
    assert!(server.stop());

    let said = refused(&scene.encryption(&["disable"]));
    assert!(said.contains("pass --yes"), "it asks first: {said}");
    let disabled = scene.encryption(&["disable", "--yes"]);
    assert!(disabled.status.success(), "{}", errors(&disabled));
    let status = scene.status();
    assert_eq!((status["encrypted"].as_bool(), status["keys"].clone()), (Some(false), json!([])));
    assert!(!scene.path("data/KEYS").exists());
    let server = scene.plain_server(&["--studio-port", "0"]);
    check(&server);
    assert!(server.stop());
}

#[test]
fn a_command_that_was_interrupted_goes_on_and_no_server_begins_an_empty_folder_meanwhile() {
    let scene = Scene::new();
    filled(&scene, false);
    // Killed while it copied.
    std::fs::create_dir_all(scene.path("data.converting/journal")).unwrap();
    std::fs::write(scene.path("data.converting/FORMAT.new"), "keywright store 2 encrypted\n").unwrap();
    assert!(scene.encryption(&["enable"]).status.success());
    // Killed before the folder before was removed.
    std::fs::create_dir(scene.path("data.converting")).unwrap();
    std::fs::write(scene.path("data.converting/FORMAT"), "keywright store 2\n").unwrap();
    // As long as nothing says that the command made it, it is the user's.
    let said = refused(&scene.encryption(&["enable"]));
    assert!(said.contains("is encrypted already: nothing was changed"), "{said}");
    assert!(scene.path("data.converting/FORMAT").exists());
    let mark = "made or left by keywright encryption enable or disable\n";
    std::fs::write(scene.path("data.converting/CONVERTED"), mark).unwrap();
    let server = scene.server(&[]);
    let log = server.stop_and_read_log();
    assert!(log.contains("data.converting is what an interrupted"), "{log}");
    let finished = scene.encryption(&["enable"]);
    assert!(
        errors(&finished).contains("the rest of an interrupted command was done"),
        "{}",
        errors(&finished)
    );
    assert!(!scene.path("data.converting").exists());
    // Killed between two renames, on a system that cannot let folders change places.
    std::fs::rename(scene.path("data"), scene.path("data.converting")).unwrap();
    std::fs::write(scene.path("data.converting/CONVERTED"), mark).unwrap();
    let (data, key) = (scene.text("data"), scene.text("key"));
    let said = refused(&keywright(&["serve", "--port", "0", "--data", &data, "--encryption-key-file", &key]));
    assert!(said.contains("was left by a command that was interrupted"), "{said}");
    assert!(scene.encryption(&["enable"]).status.success());
    let server = scene.server(&["--studio-port", "0"]);
    check(&server);
    assert!(server.stop());
}

#[test]
fn copies_and_checks_of_an_encrypted_folder_need_its_key_and_plain_ones_a_yes() {
    let scene = Scene::new();
    filled(&scene, true);
    let (data, key) = (scene.text("data"), scene.text("key"));
    let with_key = |arguments: &[&str]| keywright(&[arguments, &["--encryption-key-file", &key]].concat());
    let said = refused(&keywright(&["verify", "--data", &data]));
    assert!(said.contains("is encrypted: pass --encryption-key-file FILE"), "{said}");
    let verified = with_key(&["verify", "--data", &data]);
    assert!(verified.status.success(), "{}", errors(&verified));

    let backups = scene.text("backups");
    let made = with_key(&["backup", "--data", &data, "--to", &backups, "--plain"]);
    assert!(made.status.success(), "{}", errors(&made));
    let into = scene.text("restored");
    let restored = with_key(&["restore", &backups, "--into", &into]);
    assert!(restored.status.success(), "{}", errors(&restored));
    assert!(scene.path("restored/KEYS").exists(), "a new folder with a key is encrypted");

    let from = format!("embedded:{data}");
    let to = |name: &str| format!("embedded:{}", scene.text(name));
    let copied = with_key(&["copy", "--from", &from, "--to", &to("copy")]);
    assert!(copied.status.success(), "{}", errors(&copied));
    assert!(scene.path("copy/KEYS").exists(), "the copy is encrypted too");
    let copied = with_key(&["copy", "--from", &from, "--to", &to("plain-copy"), "--plain"]);
    assert!(copied.status.success(), "{}", errors(&copied));
    let plain = files(&scene.path("plain-copy"));
    assert!(plain.iter().all(|path| !path.ends_with("KEYS")), "{plain:?}");
    let said = refused(&keywright(&["copy", "--from", &from, "--to", &to("other")]));
    assert!(said.contains("is encrypted: pass --encryption-key-file"), "{said}");
    assert!(!scene.path("other").exists());
}
