//! Stores that cannot be opened: one sentence says what to do, and nothing is written.

use std::time::Duration;

use crate::support::management::wait_for_state;
use crate::support::postgres::{PostgresServer, server, url_or_say};
use crate::support::signing::{self, Key};
use crate::support::{Server, add_key};

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
    let target = refusal(&["--store", "postgres://me@one,two/shop?target_session_attrs=standby"]);
    assert!(target.contains("target_session_attrs=standby cannot work"), "{target}");
}

#[test]
fn a_store_that_does_not_answer_is_named() {
    let nobody = refusal(&["--store", "postgres://me@127.0.0.1:9/shop"]);
    assert!(nobody.contains("PostgreSQL at 127.0.0.1:9: "), "{nobody}");
    assert!(nobody.contains("check the host and port in the address, and that the server runs"), "{nobody}");
    let named = refusal(&["--store", "postgres://me@/shop?host=nobody.invalid"]);
    assert!(named.contains("PostgreSQL at nobody.invalid:5432: "), "{named}");
}

#[test]
fn several_servers_that_refuse_alike_are_one_sentence_with_the_advice_of_one() {
    let Some(url) = url_or_say("alike") else { return };
    let postgres = server().unwrap();
    for statement in [
        "CREATE ROLE alike_guest LOGIN",
        "CREATE ROLE alike_few LOGIN CONNECTION LIMIT 0",
        "CREATE ROLE alike_reader LOGIN SUPERUSER",
        "ALTER ROLE alike_reader SET default_transaction_read_only = on",
    ] {
        postgres.execute(statement);
    }
    for (user, database, said, advice) in [
        ("nobody_here", "postgres", "role \"nobody_here\" does not exist", "check the user in the address"),
        ("postgres", "nothing", "\"nothing\" does not exist", "run CREATE DATABASE nothing OWNER postgres"),
        (
            "alike_guest",
            "postgres",
            "permission denied for database",
            "run GRANT CREATE ON DATABASE postgres TO alike_guest",
        ),
        ("alike_few", "postgres", "too many connections", "each server of Keywright opens up to 58"),
        (
            "alike_reader",
            "postgres",
            "default_transaction_read_only is on",
            "ALTER DATABASE postgres SET default_transaction_read_only = off",
        ),
    ] {
        let host = postgres.host();
        for hosts in [host.clone(), [&*host, &host, &host].join(",")] {
            let refused =
                refusal(&["--store", &format!("postgres://{user}@{hosts}/{database}?schema=alike")]);
            assert_eq!(refused.matches(said).count(), 1, "{refused}");
            assert!(refused.contains(advice), "{refused}");
            for wrong in ["name the server", "user and password"] {
                assert!(!refused.contains(wrong), "{refused}");
            }
        }
    }
    assert!(url.ends_with("alike") && content("alike").is_empty(), "nothing was made");
}

#[test]
fn a_server_that_starts_during_a_fail_over_waits_and_its_log_says_when_the_store_was_lost() {
    let Some(_url) = url_or_say("waits") else { return };
    let primary = PostgresServer::start(5435, &[], "-c listen_addresses=").unwrap();
    let standby = primary.standby(5436).unwrap();
    primary.crash().unwrap();
    let url = format!("postgres://postgres@{},{}/postgres?schema=waits", primary.host(), standby.host());
    let starting = std::thread::Builder::new().spawn(move || Server::on_store(&url)).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(!starting.is_finished(), "no server takes writes");
    standby.promote().unwrap();
    let started = starting.join().unwrap();
    standby.crash().unwrap();
    let (_, report) = wait_for_state(&started, "store_silent", Duration::from_mins(1));
    assert!(report["reason"].as_str().unwrap().contains("PostgreSQL at "), "{report}");
    standby.restart().unwrap();
    wait_for_state(&started, "serving", Duration::from_mins(1));
    // The log is looked after five times a second.
    std::thread::sleep(Duration::from_secs(1));
    let log = started.stop_and_read_log();
    for once in [
        "a fail-over may be under way",
        "trying again for 30 s",
        "a fail-over to it would not be followed",
        "takes no requests: ",
        "the store answers again after ",
    ] {
        assert_eq!(log.matches(once).count(), 1, "{once}: {log}");
    }
}

/// The rows of all tables of a schema, and their number.
fn content(schema: &str) -> Vec<String> {
    let postgres = server().unwrap();
    let tables = "SELECT coalesce(string_agg(tablename, ' ' ORDER BY tablename), '') FROM pg_tables \
                  WHERE schemaname = ";
    let tables = postgres.query(&format!("{tables}'{schema}'"));
    let rows = |table: &str| postgres.query(&format!("SELECT * FROM {schema}.{table} ORDER BY 1"));
    tables.split_whitespace().map(|table| format!("{table}: {}", rows(table))).collect()
}

#[test]
fn a_schema_of_others_is_left_as_it_is() {
    let Some(url) = url_or_say("foreign") else { return };
    server().unwrap().execute("CREATE SCHEMA foreign_things; CREATE TABLE foreign_things.orders (id int)");
    let before = content("foreign_things");
    let foreign = refusal(&["--store", &url.replace("schema=foreign", "schema=foreign_things")]);
    assert!(foreign.contains("tables that are not Keywright's"), "{foreign}");
    assert_eq!(content("foreign_things"), before);
    let unknown = refusal(&["--store", &url.replace("postgres@", "nobody_here@")]);
    assert!(unknown.contains("nobody_here"), "{unknown}");
    assert!(content("foreign").is_empty(), "nothing was made");
}

#[test]
fn a_store_that_a_newer_keywright_wrote_is_left_as_it_is() {
    let Some(url) = url_or_say("newer") else { return };
    assert!(Server::on_store(&url).stop());
    server().unwrap().execute("UPDATE newer.keywright_layout SET layout = 'keywright rows 2'");
    let before = content("newer");
    let newer = refusal(&["--store", &url]);
    assert!(newer.contains("the schema has the layout `keywright rows 2`"), "{newer}");
    assert!(newer.contains("use the version that wrote it"), "{newer}");
    assert_eq!(content("newer"), before);
}

#[test]
fn secrets_of_users_are_sealed_under_a_key_that_all_servers_have() {
    let Some(url) = url_or_say("sealed_users") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (credentials, key, other) = (file("keys.toml"), file("key"), file("other"));
    for key in [&key, &other] {
        let made = std::process::Command::new(env!("CARGO_BIN_EXE_keywright"))
            .args(["encryption", "new-key", "--file", key])
            .status();
        assert!(made.unwrap().success());
    }
    let root = Key::from(add_key(std::path::Path::new(&credentials), &[]));
    let with = |more: &[&str]| -> Vec<String> {
        let always = ["--store", &url, "--credentials", &credentials];
        always.iter().chain(more).map(|argument| (*argument).to_owned()).collect()
    };
    let started = |more: &[&str]| {
        let arguments = with(more);
        Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let refused = |more: &[&str]| {
        let arguments = with(more);
        refusal(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap();
    let hex = |text: &str| -> String {
        text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    };
    let plain = started(&[]);
    let ann = signing::user(&plain, &root, "ann");
    assert!(content("sealed_users").iter().any(|rows| rows.contains(&hex(&ann.secret))), "the test can fail");
    assert!(plain.stop());

    let sealed = started(&["--encryption-key-file", &key]);
    assert!(sealed.banner.contains("encryption  of users and policies, by"), "{}", sealed.banner);
    let ben = signing::user(&sealed, &root, "ben");
    let rows = content("sealed_users");
    for secret in [&ann.secret, &ben.secret] {
        assert!(!rows.iter().any(|rows| rows.contains(&hex(secret))), "a secret is in the clear");
    }
    let second = started(&["--encryption-key-file", &key]);
    let denied = signing::dynamodb(&second, &ben, "ListTables", "{}");
    assert!(denied.text().contains("user/ben is not authorized"), "ben is known there: {}", denied.text());
    let without = refused(&[]);
    assert!(without.contains("start this server with the --encryption-key-file"), "{without}");
    let wrong = refused(&["--encryption-key-file", &other]);
    assert!(wrong.contains("another encryption key"), "{wrong}");
}

#[test]
fn a_port_of_something_else_is_no_store() {
    let other = Server::in_memory();
    for mode in ["disable", "prefer"] {
        let url = format!("postgres://me@{}/shop?sslmode={mode}", other.address());
        let wrong = refusal(&["--store", &url]);
        let advice =
            format!("what answers at {} is not PostgreSQL: check the host and port", other.address());
        assert!(wrong.contains(&advice), "{wrong}");
    }
}

/// Makes a user for whom this function comes before PostgreSQL's own one.
fn for_user(user: &str, function: &str) {
    let postgres = server().unwrap();
    postgres.execute(&format!("CREATE SCHEMA {user}; CREATE FUNCTION {user}.{function}"));
    postgres.execute(&format!("CREATE ROLE {user} SUPERUSER LOGIN"));
    postgres.execute(&format!("ALTER ROLE {user} SET search_path = {user}, pg_catalog"));
}

#[test]
fn too_old_a_server_is_named_with_the_version_that_is_needed() {
    let Some(url) = url_or_say("old") else { return };
    for_user(
        "antique",
        "current_setting(name text) RETURNS text LANGUAGE sql AS \
         $$ SELECT CASE name WHEN 'server_version_num' THEN '120019' ELSE '12.19' END $$",
    );
    let old = refusal(&["--store", &url.replace("postgres@", "antique@")]);
    assert!(old.contains("PostgreSQL 12.19 is too old: version 13 or newer is needed"), "{old}");
    assert!(content("old").is_empty(), "nothing was made");
}

#[test]
fn a_server_that_lacks_features_is_refused_with_their_list() {
    let Some(url) = url_or_say("lacking") else { return };
    let missing = "RAISE undefined_function; END $$";
    for_user(
        "limited",
        &format!("pg_current_snapshot() RETURNS text LANGUAGE plpgsql AS $$ BEGIN {missing}"),
    );
    server().unwrap().execute(&format!(
        "CREATE FUNCTION limited.pg_try_advisory_xact_lock(key integer) RETURNS boolean LANGUAGE plpgsql AS \
         $$ BEGIN {missing}"
    ));
    let lacking = refusal(&["--store", &url.replace("postgres@", "limited@")]);
    let features = ": snapshots as text (pg_current_snapshot), visibility of transactions (pg_visible_in_snapshot), \
                    advisory locks (pg_advisory_xact_lock); use PostgreSQL 13 or newer itself";
    assert!(lacking.contains(features), "{lacking}");
    assert!(lacking.contains("PostgreSQL 1"), "it is named: {lacking}");
    assert!(content("lacking").is_empty(), "nothing was made");
}

#[test]
fn clocks_may_be_seconds_apart_and_not_minutes() {
    let Some(url) = url_or_say("clocks") else { return };
    let later_by = |by: &str| {
        format!(
            "clock_timestamp() RETURNS timestamptz LANGUAGE sql AS \
             $$ SELECT pg_catalog.clock_timestamp() + interval '{by}' $$"
        )
    };
    for_user("ahead", &later_by("2 minutes"));
    let apart = refusal(&["--store", &url.replace("postgres@", "ahead@")]);
    assert!(apart.contains("seconds apart") && apart.contains("set the clock that is wrong"), "{apart}");
    assert!(content("clocks").is_empty(), "nothing was made");
    for_user("nearly", &later_by("-20 seconds"));
    assert!(Server::on_store(&url.replace("postgres@", "nearly@")).stop());
}
