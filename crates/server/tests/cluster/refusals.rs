//! Stores that cannot be opened: one sentence says what to do, and nothing is written.

use crate::support::Server;
use crate::support::postgres::{server, url_or_say};

pub(super) fn refusal(arguments: &[&str]) -> String {
    let Err(ended) = Server::start_or_end(arguments) else { panic!("{arguments:?} started") };
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let sentences: Vec<&str> = said.lines().filter(|line| line.starts_with("keywright: ")).collect();
    assert_eq!(sentences.len(), 1, "{said}");
    sentences[0].to_owned()
}

#[test]
fn contradicting_settings_are_refused_before_anything_is_opened() {
    let both = refusal(&["--store", "memory:", "--in-memory"]);
    assert!(both.contains("leave out --data and --in-memory"), "{both}");
    let password = refusal(&["--store", "postgres://me:secret@localhost/shop"]);
    assert!(password.contains("--store-password-file") && !password.contains("secret"), "{password}");
    let schema = refusal(&["--store", "postgres://me@localhost/shop?schema=A-B"]);
    assert!(schema.contains("lower-case letters"), "{schema}");
}

#[test]
fn a_store_that_does_not_answer_is_named() {
    let nobody = refusal(&["--store", "postgres://me@127.0.0.1:9/shop"]);
    assert!(nobody.contains("check the address, user and password"), "{nobody}");
}

#[test]
fn a_schema_of_others_is_left_as_it_is() {
    let Some(url) = url_or_say("foreign") else { return };
    server().unwrap().execute("CREATE SCHEMA foreign_things; CREATE TABLE foreign_things.orders (id int)");
    let foreign = refusal(&["--store", &url.replace("schema=foreign", "schema=foreign_things")]);
    assert!(foreign.contains("tables that are not Keywright's"), "{foreign}");
    let unknown = refusal(&["--store", &url.replace("postgres@", "nobody_here@")]);
    assert!(unknown.contains("nobody_here"), "{unknown}");
}
